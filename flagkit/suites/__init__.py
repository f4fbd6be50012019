"""Where an operator's benchmark is found."""
