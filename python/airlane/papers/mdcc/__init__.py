"""Multi-domain congestion control."""
