"""Mistakes in what a user wrote or chose."""

from __future__ import annotations

__all__ = ["UserError"]


class UserError(Exception):
    """Wrong input; its message names the place and the remedy, and the command line prints it alone."""
