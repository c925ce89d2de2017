"""Loss discrimination from radio information."""
