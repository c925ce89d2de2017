"""Fail on a broken link of a site, and on anything that a reader's browser would fetch.

Sphinx checks its own references; this checks the finished pages. Pages of rustdoc are only link targets,
since rustdoc checks its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

SCENARIOS = Path(__file__).resolve().parent.parent / "scenarios"

FETCHED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "src")}
"""Elements that a browser loads automatically, unlike an anchor."""


class _Page(HTMLParser):
    """Collects the ids and links of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record a tag's id and links."""
        relation = dict(attrs).get("rel") or ""
        for name, value in attrs:
            if name == "id" and value:
                self.names.add(value)
            elif value and (tag, name) in FETCHED | {("a", "href")}:
                self.links.append((value, (tag, name) in FETCHED and relation != "canonical"))


def complaints(site: Path) -> Iterator[str]:
    """Yield one sentence for each broken link and each fetched resource."""
    files = [f for f in sorted(site.rglob("*.html")) if f.relative_to(site).parts[0] != "rust"]
    playground = (site / "playground.html").resolve()  # its fragments are states
    pages = {f.resolve(): _Page(f.read_text(encoding="utf-8")) for f in files}
    for file, page in pages.items():
        for link, fetched in page.links:
            parts = urlsplit(link)
            where = f"{file.relative_to(site.resolve())}: {link}"
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if fetched:
                    yield f"{where} is fetched from elsewhere"
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                yield f"{where} leads nowhere"
            elif target == playground != file:
                name = parts.fragment.removeprefix("scenario=")
                if parts.fragment and not (SCENARIOS / f"{name}.toml").exists():
                    yield f"{where}: there is no bundled scenario {name!r}"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
                yield f"{where}: that page has no such place"


def main() -> int:
    """Check the site in the arguments."""
    site = Path(sys.argv[1])
    found = list(complaints(site))
    for complaint in found:
        print(complaint)
    if not found:
        print(f"{site}/index.html: every link leads somewhere, nothing is fetched")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
