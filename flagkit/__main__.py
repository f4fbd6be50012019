"""``python -m flagkit``."""

from flagkit.cli import main

main()
