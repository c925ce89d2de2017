"""The keys of the scenario format, read from its JSON Schema: description, unit, and values of each.

The starter files of `airlane init` and the manual's reference of the format are made from this, so both
agree with the reader of scenario files.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from airlane.native import schema

__all__ = ["Key", "keys"]

_UNIT = re.compile(r"with its unit \(([^)]+)\)")
_PLAIN = {"boolean": "true or false", "integer": "integer", "number": "number", "string": "text"}


@dataclass(frozen=True)
class Key:
    """One key of the scenario format.

    Attributes
    ----------
    path
        Keys from the top, such as `("cell", "rlc", "mode=am", "buffer")`: a step with `=` names the
        choice to which the rest belongs, `[]` represents the elements of a list.
    description
        Its description in the schema.
    form
        The type of its value: a quantity such as `a time`, `integer`, `table`, ...
    units
        Units of a quantity, separated by commas; empty without units.
    choices
        Names that are allowed as value, each with its description.
    tag
        For a choice with its own keys, the key that names it, such as `kind`.
    required
        Whether no preset sets it.
    """

    path: tuple[str, ...]
    description: str
    form: str
    units: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    tag: str = ""
    required: bool = False

    @property
    def dotted(self) -> str:
        """The path as written in a file, without the conditions."""
        return ".".join(step for step in self.path if "=" not in step).replace(".[]", "[]")

    @property
    def conditions(self) -> tuple[str, ...]:
        """The choices that have the key."""
        return tuple(step for step in self.path if "=" in step)


@functools.cache
def keys() -> tuple[Key, ...]:
    """All keys, each table before its keys.

    Raises
    ------
    ValueError
        If a key has no description.
    """
    tree = json.loads(schema())
    found = tuple(_Walk(tree["$defs"]).table(tree, ()))
    bare = [key.dotted for key in found if not key.description]
    if bare:
        raise ValueError(f"keys without a description: {', '.join(bare)}")
    return found


def _named(choices: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the allowed names, each with its description; the choice itself needs none."""
    for choice in choices:
        for name in choice.get("enum", [choice.get("const")]):
            yield str(name), " ".join(choice.get("description", "").split())


def _quantity(node: dict[str, Any]) -> str:
    """The type of a quantity: `a time`, `a ratio`."""
    return str(node["description"]).partition(" with ")[0].removesuffix(" in decibels").lower()


class _Walk:
    """Walks through a schema whose named types are `types`."""

    def __init__(self, types: dict[str, Any]) -> None:
        self._types = types

    def table(self, node: dict[str, Any], path: tuple[str, ...], but: str = "") -> Iterator[Key]:
        """Yield the keys of a table, except that called `but`."""
        required = node.get("required", [])
        for name, value in node["properties"].items():
            if name != but:
                yield from self.key(value, (*path, name), name in required)

    def key(self, node: dict[str, Any], path: tuple[str, ...], required: bool) -> Iterator[Key]:
        """Yield a key and the keys below it."""
        description = " ".join(node.get("description", "").split())
        node = self._target(node)

        def this(form: str, **more: Any) -> Key:
            return Key(path, description, form, required=required, **more)

        if "anyOf" in node:
            yield from self._choice(node["anyOf"], this, path)
        elif "oneOf" in node:
            yield this("one of", choices=tuple(_named(node["oneOf"])))
        elif "properties" in node:
            yield this("table")
            yield from self.table(node, path)
        elif "additionalProperties" in node:
            yield this("table with names of your own")
        elif "pattern" in node:
            unit = _UNIT.search(node["description"])
            assert unit, f"the schema gives no unit for {'.'.join(path)}"
            yield this(_quantity(node), units=unit[1])
        elif "enum" in node:
            yield this("one of", choices=tuple((str(value), "") for value in node["enum"]))
        elif "items" in node and "maxItems" in node and "pattern" not in self._target(node["items"]):
            yield this(f"[from, to], each {_PLAIN[self._target(node['items'])['type']]}")
        elif "items" in node and "maxItems" in node:
            item = self._target(node["items"])
            unit = _UNIT.search(item["description"])
            assert unit, f"the schema gives no unit for {'.'.join(path)}"
            yield this(f"[x, y], each {_quantity(item)}", units=unit[1])
        elif "items" in node and "oneOf" in self._target(node["items"]):
            yield this("list of", choices=tuple(_named(self._target(node["items"])["oneOf"])))
        elif "items" in node and "anyOf" in self._target(node["items"]):
            yield from self._choice(self._target(node["items"])["anyOf"], this, path)
        elif "items" in node and "properties" not in self._target(node["items"]):
            yield this(f"list of {_PLAIN[self._target(node['items'])['type']]}s")
        elif "items" in node:
            yield this("list of tables")
            inside = path if len(path) == 1 else (*path, "[]")  # `[[cell]]` has the key cell
            yield from self.table(self._target(node["items"]), inside)
        else:
            kind = node["type"]
            yield this(_PLAIN[kind if isinstance(kind, str) else kind[0]])

    def _choice(self, variants: list[dict[str, Any]], this: Any, path: tuple[str, ...]) -> Iterator[Key]:
        """Yield a choice with its own keys, and those keys."""
        tables = [v for v in variants if "properties" in v]
        tag = next(name for name, value in tables[0]["properties"].items() if "const" in value)
        named = [(str(v["properties"][tag]["const"]), v) for v in tables]
        yield this("choice", choices=tuple((name, str(v["description"])) for name, v in named), tag=tag)
        for name, variant in named:
            yield from self.table(variant, (*path, f"{tag}={name}"), but=tag)

    def _target(self, node: dict[str, Any]) -> dict[str, Any]:
        """Follow references, and ignore that a value may be absent."""
        while True:
            if "$ref" in node:
                node = self._types[node["$ref"].rpartition("/")[2]]
            elif "anyOf" in node and {"type": "null"} in node["anyOf"]:
                (node,) = (v for v in node["anyOf"] if v != {"type": "null"})
            else:
                return node
