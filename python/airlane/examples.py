"""Bundled scenario files: `scenarios/` of a checkout, the same files inside an installed package."""

from __future__ import annotations

import difflib
from importlib import resources
from pathlib import Path

from airlane.user_error import UserError

__all__ = ["UnknownExampleError", "folder", "names", "path", "title", "title_of"]


class UnknownExampleError(UserError, LookupError):
    """There is no bundled scenario of this name."""


def folder() -> Path:
    """Folder of the bundled scenario files."""
    package = Path(str(resources.files("airlane")))
    # In a checkout the package is in python/, and its copy, which the build makes, may be outdated.
    checkout = package.parent.parent
    if (checkout / "crates" / "py").is_dir():
        return checkout / "scenarios"
    return package / "scenarios"


def names() -> list[str]:
    """Names of the bundled scenarios, sorted.

    Examples
    --------
    >>> "lte-download" in names()
    True
    """
    return sorted(file.stem for file in folder().glob("*.toml"))


def path(name: str) -> Path:
    """File of a bundled scenario.

    Raises
    ------
    UnknownExampleError
        If it does not exist; names the existing ones.
    """
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), known, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise UnknownExampleError(f"unknown example {name!r}; {hint}known: {', '.join(known)}")
    return folder() / f"{name}.toml"


def title(file: Path) -> str:
    """First sentence of the comment at the beginning of a scenario file; empty if there is none."""
    return title_of(file.read_text(encoding="utf-8", errors="replace"))


def title_of(text: str) -> str:
    """The same of a scenario's text."""
    words: list[str] = []
    for line in text.lstrip().splitlines():
        if not line.startswith("#"):
            break
        words += line.removeprefix("#").split()
    for i, word in enumerate(words):
        # "et al." and "2.5" do not end a sentence; a full stop before a capital does.
        last = i + 1 == len(words)
        if word.endswith(".") and not word.endswith("al.") and (last or words[i + 1][0].isupper()):
            return " ".join(words[: i + 1])
    return " ".join(words)
