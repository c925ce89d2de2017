"""A spurious timeout."""
