"""Rates of a link in tables: "time rate" in two columns, or named columns as in logs of phones and data sets.

Separators are commas, semicolons, tabs or spaces. A first line that is not numbers names the columns. A rate
holds until the time of the next one, the last one as long as the median of the others. Rows of the same time
share the time until the next one. Rows without a rate are left out and counted.

Units come from the option, else from the name of the column (`throughput_mbps`, `bits_per_second`), else from
`UNITS_BY_NAME`, else they are kbit/s.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from airlane.radio.trace import PatternError

__all__ = ["UNITS_KBPS", "RateOptions", "RateRows", "read_rows", "unit_of"]

UNITS_KBPS = {
    "bps": 1e-3,
    "kbps": 1.0,
    "Mbps": 1e3,
    "Gbps": 1e6,
    "B/s": 8e-3,
    "kB/s": 8.0,
    "MB/s": 8e3,
}
"""Kilobits per second of each unit."""

UNITS_BY_NAME = {"dl_bitrate": "kbps", "ul_bitrate": "kbps", "throughput": "Mbps"}
"""Units of columns whose names do not contain them: logs of G-NetTrack (`DL_bitrate`, as in the Irish 5G data
set, github.com/uccmisl/5Gdataset), and Lumos5G and SIGCOMM21-5G (`Throughput`)."""

_RATE_NAMES = (
    "dl_bitrate",
    "throughput_mbps",
    "throughput",
    "bits_per_second",
    "bandwidth",
    "bitrate",
    "datarate",
    "data_rate",
    "rate",
    "capacity",
)
"""Names of columns with rates, or their beginnings, the preferred ones first."""
_TIME_NAMES = ("seq_num", "_start", "elapsed", "seconds", "timestamp", "time", "t", "date")
_TIMES_S = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_STAMPS = ("%Y.%m.%d_%H.%M.%S", "%d/%m/%Y %H:%M:%S", "%H:%M:%S", "%H:%M:%S.%f")
"""Forms of times besides numbers and ISO 8601; the first one is G-NetTrack's."""
_NO_RATE = frozenset({"", "-", "na", "nan", "n/a", "null", "none", "inf"})
_LENGTH_MAX_MS = 24 * 3_600_000
"""Longest time of all rates."""


@dataclass(frozen=True)
class RateOptions:
    """How to read rates; what is None comes from the file.

    Attributes
    ----------
    unit
        A key of `UNITS_KBPS`.
    interval_ms
        Time from a rate to the next one; the times of the file are not used.
    column, time_column
        Names of columns, or their numbers from 1.
    time_unit
        `s`, `ms` or `us`, of times that are numbers.
    only
        Values that other columns must have, by name.
    """

    unit: str | None = None
    interval_ms: int | None = None
    column: str | None = None
    time_column: str | None = None
    time_unit: str | None = None
    only: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RateRows:
    """Rates in kbit/s, the time for which each holds, the unit of the file, and what was left out."""

    kbps: list[float]
    lengths_ms: list[int]
    unit: str
    notes: list[str]


@dataclass(frozen=True)
class _Line:
    number: int
    cells: list[str]


@dataclass(frozen=True)
class _Columns:
    rate: int
    time: int | None
    names: Sequence[str]


def unit_of(text: str) -> str | None:
    """The unit in the name of a column, such as `Mbps` for `throughput (Mbit/s)`."""
    low = text.lower()
    bits = re.search(r"(?<![a-z])([kmg]?)(?:bps|bits?/s(?:ec)?|bits?_per_sec(?:ond)?|b/s)(?![a-z])", low)
    whole = re.search(r"(?<![A-Za-z])([kKM]?)B/s", text)
    if whole:
        return {"": "B/s", "k": "kB/s", "m": "MB/s"}[whole.group(1).lower()]
    return {"": "bps", "k": "kbps", "m": "Mbps", "g": "Gbps"}[bits.group(1)] if bits else None


def read_rows(text: str, file: str, options: RateOptions) -> RateRows | None:
    """Read a table of rates; None if the file has one column and no names, as patterns have.

    Raises
    ------
    PatternError
        For a table whose columns, times or rates cannot be meant; names the line.
    """
    lines = _lines(text)
    if not lines or (len(lines[0].cells) == 1 and _number(lines[0].cells[0]) is not None):
        return None
    header = (
        lines[0].cells
        if any(_number(cell) is None and not _is_stamp(cell) for cell in lines[0].cells)
        else []
    )
    if header and len(header) == 1 and len(lines) == 1:
        return None
    columns = _columns(header, lines[0], file, options)
    rows = _chosen(lines[1:] if header else lines, columns, file, options)
    name = columns.names[columns.rate] if header else ""
    unit = options.unit or unit_of(name) or UNITS_BY_NAME.get(name.strip().lower()) or "kbps"
    rates, kept, without = _rates(rows, columns.rate, file, UNITS_KBPS[unit])
    notes = []
    if header or len(lines[0].cells) > 2:
        used = f"column {name or columns.rate + 1} in {unit}"
        if columns.time is not None and options.interval_ms is None:
            used += f", times in {columns.names[columns.time] if header else columns.time + 1}"
        notes.append(f"{file}: {used}")
    if without:
        notes.append(f"{file}: left out {without} of {len(rows)} rows without a rate")
    lengths = _lengths(kept, columns, file, options)
    if sum(lengths) > _LENGTH_MAX_MS:
        raise PatternError(
            f"{file}: the rates hold for {sum(lengths) / 3.6e6:,.0f} hours, the limit is "
            f"{_LENGTH_MAX_MS / 3.6e6:.0f}; if the times are in ms, write --time-unit ms"
        )
    return RateRows(rates, lengths, unit, notes)


def _lines(text: str) -> list[_Line]:
    """The rows of the table, without comments and empty lines."""
    lines = [
        (number, line.strip("\ufeff\r ")) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    ]
    lines = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not lines:
        return []
    first = lines[0][1]
    separator = next((one for one in (",", ";", "\t") if one in first), None)
    if separator == "," and ";" in first:
        separator = ";"
    return [
        _Line(number, [cell.strip().strip('"') for cell in line.split(separator)]) for number, line in lines
    ]


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _stamp(text: str) -> float | None:
    """Seconds of a date or a time of day; a name of a time zone has no effect."""
    text = re.sub(r" [A-Z]{2,5}$", "", text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    for form in _STAMPS if moment is None else ():
        try:
            moment = datetime.strptime(text, form)
        except ValueError:
            continue
        break
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_stamp(text: str) -> bool:
    return _stamp(text) is not None


def _columns(header: Sequence[str], first: _Line, file: str, options: RateOptions) -> _Columns:
    known = [name.strip().lower() for name in header]
    count = len(first.cells)

    def chosen(option: str, wanted: str) -> int:
        if wanted.strip().lower() in known:
            return known.index(wanted.strip().lower())
        if wanted.isdigit() and 1 <= int(wanted) <= count:
            return int(wanted) - 1
        names = ", ".join(header) if header else f"numbers from 1 to {count}"
        raise PatternError(f"{file}:{first.number}: no column {wanted}; write {option} with one of: {names}")

    if options.column is not None:
        rate: int | None = chosen("--column", options.column)
    elif header:
        rate = next((known.index(name) for name in _RATE_NAMES if name in known), None)
        begun = (i for name in _RATE_NAMES for i, own in enumerate(known) if own.startswith(name))
        by_unit = (i for i, own in enumerate(header) if unit_of(own))
        rate = next(begun, next(by_unit, None)) if rate is None else rate
    else:
        rate = count - 1 if count <= 2 else None
    if rate is None:
        names = ", ".join(header) if header else f"{count} columns without names"
        raise PatternError(
            f"{file}:{first.number}: which column has the rates? write --column; there are: {names}"
        )
    if options.time_column is not None:
        time: int | None = chosen("--time-column", options.time_column)
    elif header:
        time = next((known.index(name) for name in _TIME_NAMES if name in known), None)
        begun_time = (i for i, own in enumerate(known) if own.startswith(("time", "t_", "t(", "t (", "t [")))
        time = next(begun_time, None) if time is None else time
    else:
        time = 0 if count == 2 and rate == 1 else None
    return _Columns(rate, None if time == rate else time, header)


def _chosen(lines: Sequence[_Line], columns: _Columns, file: str, options: RateOptions) -> list[_Line]:
    known = [name.strip().lower() for name in columns.names]
    rows = list(lines)
    for name, value in options.only.items():
        if name.strip().lower() not in known:
            raise PatternError(f"{file}: no column {name} for --only; there are: {', '.join(columns.names)}")
        index = known.index(name.strip().lower())
        rows = [row for row in rows if index < len(row.cells) and row.cells[index] == value]
    if not rows:
        raise PatternError(f"{file}: no rows with rates")
    return rows


def _rates(
    rows: Sequence[_Line], column: int, file: str, factor: float
) -> tuple[list[float], list[_Line], int]:
    rates, kept = [], []
    for row in rows:
        cell = row.cells[column] if column < len(row.cells) else ""
        value = _number(cell)
        if cell.lower() in _NO_RATE or (value is not None and value < 0):
            continue
        if value is None or value * factor > 1e8:
            raise PatternError(f"{file}:{row.number}: {cell!r}: expected a rate from 0 to 100 Gbit/s")
        rates.append(value * factor)
        kept.append(row)
    if not rates:
        raise PatternError(f"{file}: none of the {len(rows)} rows has a rate")
    return rates, kept, len(rows) - len(rates)


def _lengths(rows: Sequence[_Line], columns: _Columns, file: str, options: RateOptions) -> list[int]:
    """Milliseconds for which each rate holds."""
    if options.interval_ms is not None:
        return [options.interval_ms] * len(rows)
    if columns.time is None:
        raise PatternError(
            f"{file}: no column has times; write --interval for the time from a rate to the next"
        )
    seconds = _seconds(rows, columns, file, options)
    for (before, after), row in zip(itertools.pairwise(seconds), rows[1:], strict=True):
        if after < before:
            raise PatternError(
                f"{file}:{row.number}: the time goes back; of several runs, choose one with --only"
            )
    groups: list[tuple[float, int]] = []
    for second in seconds:
        if groups and groups[-1][0] == second:
            groups[-1] = (second, groups[-1][1] + 1)
        else:
            groups.append((second, 1))
    steps = [after - before for (before, _), (after, _) in itertools.pairwise(groups)]
    if not steps:
        raise PatternError(f"{file}: all rates have the same time; write --interval")
    ends = [second for second, _ in groups[1:]] + [groups[-1][0] + statistics.median(steps)]
    edges = [0.0]
    for (begin, count), end in zip(groups, ends, strict=True):
        edges += [begin + (end - begin) * (i + 1) / count - seconds[0] for i in range(count)]
    whole = [round(edge * 1000) for edge in edges]
    return [after - before for before, after in itertools.pairwise(whole)]


def _seconds(rows: Sequence[_Line], columns: _Columns, file: str, options: RateOptions) -> list[float]:
    assert columns.time is not None
    seconds, numbers = [], True
    for row in rows:
        cell = row.cells[columns.time] if columns.time < len(row.cells) else ""
        value = _number(cell)
        if value is None:
            value, numbers = _stamp(cell), False
        if value is None:
            raise PatternError(f"{file}:{row.number}: {cell!r}: expected a time, in s or as in ISO 8601")
        seconds.append(value)
    if not numbers:
        return seconds
    unit = options.time_unit
    if unit is None:
        name = columns.names[columns.time].lower() if columns.names else ""
        found = re.search(r"(?<![a-z])(ms|msec|us|s)(?![a-z])", name)
        unit = {"msec": "ms"}.get(found.group(1), found.group(1)) if found else None
    if unit is None:  # since 1970, by their sizes: 1e11 s are in the year 5138
        unit = "us" if seconds[0] > 1e14 else "ms" if seconds[0] > 1e11 else "s"
    # Differences first: times since 1970 in seconds have no digits left for microseconds.
    return [(value - seconds[0]) * _TIMES_S[unit] for value in seconds]
