"""``python -m flagkit``."""

from flagkit.cli import program

program()
