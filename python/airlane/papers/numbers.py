"""Published numbers as trees: read from YAML or written in Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airlane.study.verdict import Published

__all__ = ["PublishedError", "read", "tree_of"]

_SCHEMA = 1


class PublishedError(Exception):
    """A tree that cannot be read; the message names the place."""


def read(tree: Any, within: str = "") -> dict[str, Published]:
    """Every number of a tree by its dotted id, after the name of its paper.

    A sibling `x_ci` of `x_<unit>` is its interval and not a separate number. Settings that are
    words or flags are left out.
    """
    if not isinstance(tree, Mapping):
        raise PublishedError("it has to be a tree of numbers")
    schema = tree.get("schema", _SCHEMA)
    if schema != _SCHEMA:
        raise PublishedError(f"schema = {schema}: this reader knows schema {_SCHEMA}")
    numbers: dict[str, Published] = {}
    rest = {key: value for key, value in tree.items() if key != "schema"}
    _collect(rest, f"{within}." if within else "", numbers)
    return numbers


def tree_of(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Make a tree from numbers by dotted id; a tuple of two is a range and `None` a lost number."""
    tree: dict[str, Any] = {}
    for name, value in numbers.items():
        *path, last = name.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = {"lost": True} if value is None else list(value) if isinstance(value, tuple) else value
    return tree


def _collect(node: Mapping[Any, Any], path: str, into: dict[str, Published]) -> None:
    if node.get("lost") is True:
        into[path.rstrip(".")] = Published(path.rstrip("."), None)
    for key, value in node.items():
        name = f"{path}{key}"
        if isinstance(value, Mapping):
            _collect(value, f"{name}.", into)
        elif isinstance(value, list):
            if len(value) == 2 and all(_is_number(v) for v in value):
                into[name] = Published(name, None, range=(float(value[0]), float(value[1])))
        elif _is_number(value) and not str(key).endswith("_ci"):
            interval = node.get(f"{str(key).rpartition('_')[0]}_ci")
            into[name] = Published(name, float(value), None if interval is None else float(interval))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
