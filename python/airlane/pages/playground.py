"""The playground: a page that runs scenarios in a browser, without a network or a server.

`make playground` builds the page. It is in the package of a wheel, and in `out/playground` of a checkout.
"""

from __future__ import annotations

import base64
import json
import webbrowser
import zlib
from importlib import resources
from pathlib import Path

from airlane import examples
from airlane.runs.files import read_text
from airlane.user_error import UserError

__all__ = ["NoPlaygroundError", "address", "page", "show"]

_FORM = 1
"""Version of the state in an address, as in `playground/src/share.ts`."""


class NoPlaygroundError(UserError):
    """No playground is installed."""


def page() -> Path:
    """File of the page.

    Raises
    ------
    NoPlaygroundError
        If it is not there.
    """
    file = Path(str(resources.files("airlane"))) / "playground.html"
    if not file.is_file():
        raise NoPlaygroundError(
            f"no such file: {file}; this installation was built without the playground: "
            "in a checkout, `make playground` builds it and names what it needs"
        )
    return file


def address(scenario: Path | None, example: str | None) -> str:
    """Address of the page with a scenario loaded; without one, with the page's first.

    Raises
    ------
    NoPlaygroundError
        If the page is not there.
    UnknownExampleError
        If there is no example of this name.
    OSError
        If the scenario cannot be read.
    """
    fragment = ""
    if example is not None:
        fragment = f"#scenario={examples.path(example).stem}"
    elif scenario is not None:
        state = {"form": _FORM, "toml": read_text(scenario), "name": scenario.name, "own": None, "seeds": 1}
        packed = zlib.compress(json.dumps(state).encode(), level=9, wbits=-15)
        fragment = f"#state={base64.urlsafe_b64encode(packed).decode().rstrip('=')}"
    return page().as_uri() + fragment


def show(url: str) -> bool:
    """Open the address in the user's browser; False if there is none."""
    return webbrowser.open(url)
