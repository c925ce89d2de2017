"""Results as JSON files: one result a line, nine digits, the same bytes from the same results."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from airlane.runs.files import read_text, write_text
from airlane.stats import Estimate

__all__ = ["estimate", "estimate_of", "number_of", "read", "write"]

_DIGITS = 9
"""Significant digits: more than any page shows, so that verdicts follow from the file as from the runs."""


def number_of(value: float | None) -> float:
    """A number as it was written; NaN for null."""
    return math.nan if value is None else value


def estimate(of: Estimate) -> dict[str, Any]:
    """Fields of an estimate: mean, half-width of its 95 % interval, number of repetitions, deviation."""
    fields = {
        "mean": of.mean,
        "half_width": of.half_width,
        "n": of.n,
        "deviation": of.deviation,
    }
    return fields if of.ends is None else fields | {"ends": of.ends}


def estimate_of(fields: dict[str, Any]) -> Estimate:
    """The estimate of such fields."""
    ends = fields.get("ends")
    return Estimate(
        number_of(fields["mean"]),
        fields["half_width"],
        fields["n"],
        fields["deviation"],
        None if ends is None else (ends[0], ends[1]),
    )


def write(path: Path, data: Any) -> None:
    """Write a file: numbers are rounded, and null where they are not finite.

    Raises
    ------
    OSError
        If it cannot be written; names it.
    """
    write_text(path, _text(_plain(data), "") + "\n")


def read(path: Path) -> Any:
    """Read a file.

    Raises
    ------
    OSError
        If it cannot be read; names it.
    ValueError
        If it is not JSON.
    """
    return json.loads(read_text(path))


def _plain(data: Any) -> Any:
    """The data as they are written."""
    if isinstance(data, dict):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_plain(value) for value in data]
    if isinstance(data, float):
        return float(f"{data:.{_DIGITS}g}") if math.isfinite(data) else None
    return data


def _text(data: Any, indent: str) -> str:
    """JSON in which each list or object without others inside is one line."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if not any(isinstance(one, dict | list) and one for one in inside):
        return json.dumps(data, ensure_ascii=False, allow_nan=False)
    deeper = indent + " "
    if isinstance(data, dict):
        parts = [f"{deeper}{json.dumps(key, ensure_ascii=False)}: {_text(data[key], deeper)}" for key in data]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    return "[\n" + ",\n".join(deeper + _text(one, deeper) for one in data) + f"\n{indent}]"
