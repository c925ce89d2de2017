"""TCP when a cell fills up and when it is left."""
