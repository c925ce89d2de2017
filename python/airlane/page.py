"""What all HTML pages share: templates, style and scripts, all of them inside the page."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING

from airlane import terminal

if TYPE_CHECKING:
    import jinja2

__all__ = ["environment"]


def environment() -> jinja2.Environment:
    """Templates, with `asset` for files of `assets` and `inline` for JSON within a page."""
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
    # JSON within a page: no end of a script in it.
    found.filters["inline"] = lambda text: Markup(text.replace("<", "\\u003c"))
    found.globals["asset"] = lambda name: Markup(assets.joinpath(name).read_text(encoding="utf-8"))
    return found
