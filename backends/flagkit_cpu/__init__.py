"""Registered soon."""
