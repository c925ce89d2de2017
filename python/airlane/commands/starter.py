"""Starter scenario files: short, valid, each key under a comment with its meaning and unit.

The comments come from the JSON Schema, which is generated from the scenario reader.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from airlane import examples
from airlane.keys import Key, keys
from airlane.runs.files import FileInTheWayError, write_text
from airlane.scenario import load, loads

__all__ = ["Kind", "write_starter"]

_WIDTH = 100

_DOWNLOAD = {"app": {"kind": "bulk"}, "transport": {"kind": "tcp", "congestion": "cubic"}, "start": "500 ms"}
_RUN = {"duration": "30 s", "warmup": "5 s", "seed": 1}


class Kind(StrEnum):
    """The subject of a starter file."""

    CELL = "cell"
    NR = "nr"
    WIRED = "wired"
    TRACE = "trace"


_ABOUT = {
    Kind.CELL: "A phone downloads in an LTE cell. It sleeps when it has no data, as phones do.",
    Kind.NR: "A phone downloads in a 5G NR cell. It sleeps when it has no data, as phones do.",
    Kind.WIRED: "A download over one wired link.",
    Kind.TRACE: "A download over a link whose delivery opportunities were recorded.",
}

_CHOSEN: dict[Kind, dict[str, Any]] = {
    Kind.CELL: {
        "network": "typical-sleeping",
        "run": _RUN,
        "cell": [
            {
                "name": "a",
                "position": ["0 m", "0 m"],
                "resource_blocks": 50,
                "tx_power": "43 dBm",
                "scheduler": {"kind": "pf"},
                "rlc": {"mode": "am", "buffer": "512 KiB", "aqm": {"kind": "drop-tail"}},
            }
        ],
        "channel": {"fading": {"model": "epa", "speed": "3 km/h"}},
        "internet": {"rate": "1 Gbit/s", "delay": "10 ms"},
        "ue": [{"name": "phone", "count": 1, "position": ["300 m", "0 m"]}],
        "flow": [{"name": "download", "to": "phone", **_DOWNLOAD}],
    },
    Kind.NR: {
        "network": "nr-typical-fr1-sleeping",
        "run": {**_RUN, "duration": "10 s", "warmup": "2 s"},
        "cell": [
            {
                "name": "gnb",
                "radio": {
                    "kind": "nr",
                    "subcarrier_spacing": "30 kHz",
                    "duplex": {
                        "kind": "tdd",
                        "pattern": "DDDSU",
                        "special_downlink_symbols": 10,
                        "special_uplink_symbols": 2,
                    },
                    "mimo": {"layers": 4},
                },
                "position": ["0 m", "0 m"],
                "resource_blocks": 273,
                "scheduler": {"kind": "pf"},
                "rlc": {"mode": "nr-am", "buffer": "6 MiB", "aqm": {"kind": "drop-tail"}},
            }
        ],
        "internet": {"rate": "10 Gbit/s", "delay": "10 ms"},
        "ue": [{"name": "phone", "count": 1, "position": ["100 m", "0 m"]}],
        "flow": [{"name": "download", "to": "phone", **_DOWNLOAD}],
    },
    Kind.WIRED: {
        "network": "wired",
        "run": _RUN,
        "internet": {
            "rate": "50 Mbit/s",
            "delay": "20 ms",
            "queue": "256 KiB",
            "aqm": {"kind": "drop-tail"},
            "loss": "0 %",
        },
        "flow": [{"name": "download", **_DOWNLOAD}],
    },
    Kind.TRACE: {
        "network": "wired",
        "run": _RUN,
        "internet": {"trace": "", "delay": "20 ms", "queue": "256 KiB", "aqm": {"kind": "drop-tail"}},
        "flow": [{"name": "download", **_DOWNLOAD}],
    },
}


def write_starter(path: Path, kind: Kind, *, full: bool = False, force: bool = False) -> list[Path]:
    """Write a scenario file, and next to it the delivery trace if it names one; return the files.

    Parameters
    ----------
    full
        Write every key with its value in the preset, instead of only the keys that users change first.
    force
        Replace existing files.

    Raises
    ------
    FileInTheWayError
        Without `force`, when a file exists; nothing is written then.
    """
    chosen = dict(_CHOSEN[kind])
    files = [path]
    if kind is Kind.TRACE:
        trace = path.with_suffix(".down")
        trace = trace if trace != path else path.with_name(f"{path.name}.down")
        chosen["internet"] = {**chosen["internet"], "trace": trace.name}
        files.insert(0, trace)
    for file in files:
        if file.exists() and not force:
            raise FileInTheWayError(f"{file} exists; --force replaces it")
    if kind is Kind.TRACE:
        recorded = load(examples.path("trace-link")).settings["internet"]["trace"]
        files[0].write_bytes(Path(recorded).read_bytes())
    if full:
        resolved = loads(_text(chosen, kind), str(path)).settings
        if kind is Kind.TRACE:
            resolved["internet"]["trace"] = chosen["internet"]["trace"]
        chosen = resolved
    write_text(path, _text(chosen, kind))
    return files


def _text(tree: dict[str, Any], kind: Kind) -> str:
    head = (
        f"{_ABOUT[kind]} Run it with `airlane run FILE`. Every quantity has a unit. "
        "The preset of the network sets every other key."
    )
    lines = list(_Writer(kind).table(tree, (), ""))
    return "\n".join([*_comment(head), "", *lines]).rstrip("\n") + "\n"


class _Writer:
    """Writes a tree of settings as TOML under the descriptions of its keys."""

    def __init__(self, kind: Kind) -> None:
        self._keys = {key.path: key for key in keys()}
        self._kind = kind

    def table(self, tree: dict[str, Any], path: tuple[str, ...], written: str) -> Iterator[str]:
        """Yield the lines of a table: values first, then tables, as TOML requires.

        `path` is the path in the schema, `written` the dotted key in the file.
        """
        if path in self._keys and (tag := self._keys[path].tag):
            yield f"{tag} = {json.dumps(tree[tag])}"
            path, tree = (*path, f"{tag}={tree[tag]}"), {k: v for k, v in tree.items() if k != tag}
        tables = {k: v for k, v in tree.items() if _is_table(v)}
        for name, value in tree.items():
            if name not in tables:
                yield from _comment(_sentence(self._keys[(*path, name)]))
                yield f"# {name} is not set" if value is None else f"{name} = {json.dumps(value)}"
        for name, value in tables.items():
            dotted = f"{written}.{name}" if written else name
            inner = (*path, name)
            for element in value if isinstance(value, list) else [value]:
                yield ""
                yield from _comment(_sentence(self._keys[inner]))
                yield f"[[{dotted}]]" if isinstance(value, list) else f"[{dotted}]"
                yield from self.table(element, inner, dotted)


def _is_table(value: object) -> bool:
    return isinstance(value, dict) or (isinstance(value, list) and bool(value) and isinstance(value[0], dict))


def _sentence(key: Key) -> str:
    """Meaning, permitted values and units of a key."""
    names = [name for name, _ in key.choices if name not in key.description]
    if key.tag:
        may = f"{key.tag}: {', '.join(name for name, _ in key.choices)}."
    elif names:
        may = f"{key.form.capitalize()} {', '.join(name for name, _ in key.choices)}."
    elif key.units:
        *units, last = key.units.split(", ")
        in_units = f"{', '.join(units)} or {last}" if units else last
        may = f"{key.form[0].upper()}{key.form[1:]} in {in_units}."
    elif key.form in ("integer", "number", "true or false"):
        may = f"{key.form.capitalize()}."
    else:
        may = ""
    return f"{key.description} {may}".strip()


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)
