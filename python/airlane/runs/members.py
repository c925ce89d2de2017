"""The names of the UEs of a group, from a resolved scenario."""

from __future__ import annotations

from typing import Any

__all__ = ["members", "suffixes"]


def suffixes(ue: dict[str, Any]) -> list[str]:
    """The ends of the names of a group's UEs: the ids of their positions, or numbers from 1.

    Examples
    --------
    >>> suffixes({"count": 2})
    ['1', '2']
    """
    points = (ue.get("placement") or {}).get("points") or ()
    ids = [point.get("id") for point in points]
    return [ids[k - 1] if k <= len(ids) and ids[k - 1] else str(k) for k in range(1, ue["count"] + 1)]


def members(ue: dict[str, Any]) -> list[str]:
    """The names of a group's UEs; a section with one UE has its name."""
    return [f"{ue['name']}-{end}" for end in suffixes(ue)] if ue["count"] > 1 else [ue["name"]]
