"""A split-connection proxy."""
