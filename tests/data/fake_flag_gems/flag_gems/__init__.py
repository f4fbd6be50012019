"""Stands in for FlagGems where tuning is tested: same names, no device."""
