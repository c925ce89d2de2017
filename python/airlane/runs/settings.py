"""Settings by dotted key: the places of a scenario that a key means.

`cell.0.rlc.aqm` and `cell.a.rlc.aqm` name one cell, by its position or by its name; `cell.rlc.aqm` means
all cells, and so do `ue.count` and `flow.transport.congestion` for their lists. A key may begin below
`cell`, `ue` or `flow` where only one of them has such a key: `transport.congestion`.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Mapping
from typing import Any

from airlane import native
from airlane.keys import keys

__all__ = ["places", "spelled_out"]

_LISTS = ("cell", "ue", "flow")


def places(settings: Mapping[str, Any], key: str) -> list[str]:
    """The keys, each with its position in the list, that a key means in a resolved scenario.

    Examples
    --------
    >>> two = {"cell": [{"name": "a", "rlc": {}}, {"name": "b", "rlc": {}}], "ue": [], "flow": []}
    >>> places(two, "cell.rlc.aqm"), places(two, "cell.b.rlc.aqm"), places(two, "rlc.aqm")
    (['cell.0.rlc.aqm', 'cell.1.rlc.aqm'], ['cell.b.rlc.aqm'], ['cell.0.rlc.aqm', 'cell.1.rlc.aqm'])
    """
    head, _, rest = key.partition(".")
    if head not in settings:
        owners = [name for name in _LISTS if any(head in element for element in settings[name])]
        if len(owners) == 1:
            head, rest = owners[0], key
    second = rest.partition(".")[0]
    if head not in _LISTS or not rest or second.isdecimal():
        return [key]
    if second not in _keys_of(head) or any(element.get("name") == second for element in settings[head]):
        return [key]  # the name of an entry, or a mistake, which the scenario reader reports
    # Without an element there is nothing to set; the scenario reader then reports the missing first one.
    return [f"{head}.{i}.{rest}" for i in range(max(1, len(settings[head])))]


def spelled_out(text: str, file_name: str, overrides: Mapping[str, object]) -> dict[str, object]:
    """The same overrides with every key in full, in their order.

    The number of cells, UEs and flows follows from the text and the keys that name a position.
    """
    plain = {key: value for key, value in overrides.items() if _is_plain(key)}
    if len(plain) == len(overrides):
        return plain
    settings = _structure(text, file_name, plain)
    if settings is None:
        return dict(overrides)  # the scenario reader reports its mistake
    return {place: value for key, value in overrides.items() for place in places(settings, key)}


def _structure(text: str, file_name: str, plain: Mapping[str, object]) -> dict[str, Any] | None:
    """A resolved scenario with the cells, UEs and flows that the text and these keys have.

    The keys may be valid only with the others: `flow.0.transport.controller` needs a controller that
    `transport.congestion` asks for. Then the lists are those of the text, and what the keys add to them.
    """
    for given in (plain, {key: value for key, value in plain.items() if _makes_entries(key)}, {}):
        try:
            found: dict[str, Any] = json.loads(native.parse(text, file_name, given).json)
        except native.ScenarioError:
            continue
        if _has_layout(text, given):
            found["cell"] = found["cell"][:1]  # the only [[cell]] describes all cells of the layout
        for key in plain:
            head, _, rest = key.partition(".")
            number = rest.partition(".")[0]
            if head in _LISTS and number.isdecimal() and int(number) == len(found[head]):
                found[head].append({})
        return found
    return None


def _has_layout(text: str, given: Mapping[str, object]) -> bool:
    return "layout" in tomllib.loads(text) or any(key.partition(".")[0] == "layout" for key in given)


def _makes_entries(key: str) -> bool:
    """Whether a key decides which cells, UEs and flows there are."""
    head, _, rest = key.partition(".")
    return head in ("layout", "network") or (head in _LISTS and not rest)


def _is_plain(key: str) -> bool:
    """Whether a key names a single place without expansion."""
    head, _, rest = key.partition(".")
    if head in _LISTS:
        return not rest or rest.partition(".")[0].isdecimal()
    return head.partition("[")[0] in _heads()


@functools.cache
def _heads() -> frozenset[str]:
    return frozenset(json.loads(native.schema())["properties"])


@functools.cache
def _keys_of(section: str) -> frozenset[str]:
    """The keys of an entry of a list."""
    found = {key.path[1] for key in keys() if key.path[0] == section and len(key.path) > 1}
    return frozenset(found)
