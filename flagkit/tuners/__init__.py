"""Families of autotuners, each its own entry point."""
