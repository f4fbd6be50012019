"""Pairing and ranges: pure functions over facts."""
