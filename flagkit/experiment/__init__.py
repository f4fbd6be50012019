"""From a request to two measured sides and their report."""
