"""Mechanisms that papers on cellular congestion control compare with."""
