"""Ways to show a report, each its own entry point."""
