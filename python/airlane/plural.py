"""Counts with their nouns."""

from __future__ import annotations

__all__ = ["counted"]


def counted(count: int, thing: str) -> str:
    """A count with its noun.

    Examples
    --------
    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{count:,} {thing}" + ("" if count == 1 else "s")
