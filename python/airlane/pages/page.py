"""The common parts of all HTML pages: templates, style and scripts, all embedded in the page."""

from __future__ import annotations

import math
from importlib import resources
from typing import TYPE_CHECKING

from airlane.commands import terminal

if TYPE_CHECKING:
    import jinja2

__all__ = ["cell_text", "environment"]


def cell_text(value: object) -> str:
    """A value of a table on a page."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value}"


def environment() -> jinja2.Environment:
    """Templates, with `asset` for files of `assets` and `inline` for JSON in a page."""
    import jinja2
    from markupsafe import Markup

    found = jinja2.Environment(
        loader=jinja2.PackageLoader("airlane", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    assets = resources.files("airlane").joinpath("assets")
    found.filters["interval"] = terminal.interval
    # JSON in a page must not end its script element.
    found.filters["inline"] = lambda text: Markup(text.replace("<", "\\u003c"))
    found.globals["asset"] = lambda name: Markup(assets.joinpath(name).read_text(encoding="utf-8"))
    return found
