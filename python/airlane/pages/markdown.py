"""Tables and names in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["code", "message", "plain", "table"]

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&#$]")
"""Characters that begin markup in GitHub's Markdown; a backslash escapes them (CommonMark 0.31, 2.4)."""


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """A table whose columns from `right` on are right-aligned. Cells must be Markdown."""
    rules = ["---" if i < right else "--:" for i in range(len(headings))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rules, *rows))


def plain(text: str) -> str:
    """Text escaped for Markdown and HTML: a name or a title may be a user's."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def message(text: str) -> str:
    """A message escaped as `plain` does, except the code between backquotes in it."""

    def escaped(found: re.Match[str]) -> str:
        return found[1].replace("|", r"\|") if found[1] else rf"\{found[0]}"

    return re.sub(rf"(`[^`]+`)|{_MARKUP.pattern}", escaped, " ".join(text.split()))


def code(name: str) -> str:
    """A name as code, or as text if it contains characters that code in a table cannot contain."""
    return f"`{name}`" if name == plain(name) else plain(name)
