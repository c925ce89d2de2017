"""The field: mechanisms that papers on cellular congestion control compare with."""
