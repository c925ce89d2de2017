"""Features that need optional packages, and how to install these."""

from __future__ import annotations

import re
from importlib.metadata import requires

__all__ = ["how_to_install"]

_OF_EXTRA = re.compile(r"(?P<package>[^;]+?)\s*;\s*extra\s*==\s*['\"](?P<extra>\w+)['\"]")


def how_to_install(extra: str) -> str:
    """The command that installs the packages of an extra.

    It names the packages and not `airlane[...]`, because airlane is not in a package index.

    Examples
    --------
    >>> how_to_install("gym")
    "pip install 'gymnasium>=1.0'"
    """
    found = (_OF_EXTRA.fullmatch(line) for line in requires("airlane") or ())
    packages = [f"'{one['package']}'" for one in found if one is not None and one["extra"] == extra]
    assert packages, f"no extra {extra}"
    return " ".join(["pip install", *packages])
