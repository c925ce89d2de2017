"""Writes measurements into docs/performance.md, only between its marks."""

from __future__ import annotations

import re
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "performance.md"


def write(parts: dict[str, str], document: Path = DOCUMENT) -> None:
    """Replace the text between `<!-- bench NAME -->` and `<!-- end -->` for each name.

    Raises
    ------
    ValueError
        If the document has no such mark.
    """
    content = document.read_text(encoding="utf-8")
    for name, part in parts.items():
        pattern = rf"(<!-- bench {name} -->\n).*?(<!-- end -->)"
        content, count = re.subn(pattern, lambda m, p=part: f"{m[1]}{p}\n{m[2]}", content, flags=re.DOTALL)
        if count != 1:
            raise ValueError(f"{document}: no mark <!-- bench {name} -->")
    document.write_text(content, encoding="utf-8")
