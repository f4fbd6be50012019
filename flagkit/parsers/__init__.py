"""One module a format, each its own entry point."""
