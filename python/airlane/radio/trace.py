"""Delivery traces in Mahimahi's format, made from a measured download.

Mahimahi's trace is a text file with one whole millisecond per line, in order: at each, the link may
deliver 1500 bytes; after the last line it starts again (R. Netravali et al., "Mahimahi: Accurate
Record-and-Replay for HTTP", USENIX ATC 2015). Such a trace replays what a link *did* deliver.

A log holds what a sender knew, not what the link could carry. The assumptions are therefore:

- every packet up to the highest acknowledged one was delivered, and all have the same size;
- a packet was delivered half of the smallest round trip before its acknowledgement was logged;
- packets that one log line acknowledges together arrived evenly over the time since the line before;
  after a silence of more than 50 ms, which counts as an outage, over its last 50 ms;
- the sender kept the link busy. Where it did not (slow start, recovery), the trace shows the sender,
  not the link: exclude that part with `begin_s` and `end_s`.
"""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from airlane.runs.files import write_text
from airlane.user_error import UserError

__all__ = ["ExportError", "LogError", "PatternError", "Trace", "read_log", "trace_from_log", "write_trace"]

OPPORTUNITY_BYTES = 1500
"""Bytes that one line of a trace may deliver (Mahimahi, ATC 2015, section 3)."""

_SPREAD_LIMIT_US = 50_000
"""A longer silence is an outage: the packets after it are spread over its last 50 ms only."""

_COLUMNS = ("t_us", "highest_ack", "rtt_us")


class LogError(UserError):
    """A log that cannot be read, with the line and the valid form."""


class ExportError(UserError):
    """A UE whose deliveries cannot become a trace."""


class PatternError(UserError):
    """A rate pattern that cannot be read, with the line and the valid form."""


@dataclass(frozen=True)
class LogLine:
    """One line of a sender's log.

    Attributes
    ----------
    t_us
        Microseconds since the sender started.
    highest_ack
        Number of the highest packet acknowledged, from 0; -1 before the first.
    rtt_us
        Latest round-trip measurement; 0 before the first.
    """

    t_us: int
    highest_ack: int
    rtt_us: int


@dataclass(frozen=True)
class Trace:
    """Delivery opportunities and their origin.

    Attributes
    ----------
    stamps_ms
        One whole millisecond per 1500 bytes, in order.
    bytes_in
        Acknowledged bytes in the selected part.
    remainder
        Bytes that did not fill a last opportunity: `bytes_in = 1500 * len(stamps_ms) + remainder`.
    """

    stamps_ms: list[int]
    bytes_in: int
    remainder: int

    @property
    def mean_mbps(self) -> float:
        """Mean rate over one period of the trace."""
        return len(self.stamps_ms) * OPPORTUNITY_BYTES * 8 / (self.stamps_ms[-1] * 1000)


def read_log(path: Path) -> list[LogLine]:
    """Read a log: CSV with the columns `t_us`, `highest_ack` and `rtt_us`; others are ignored.

    Raises
    ------
    LogError
        For a missing column, a value that is not an integer, or a time or packet number that decreases.
    """
    # Bytes that are not UTF-8 become characters that occur in no column name or number.
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        try:
            return _log_lines(path, csv.DictReader(file))
        except csv.Error as error:  # an oversized field, as in files that are not text
            raise LogError(
                f"{path}: not a CSV file ({error}); a log needs the columns {', '.join(_COLUMNS)}"
            ) from error


def _log_lines(path: Path, reader: csv.DictReader[str]) -> list[LogLine]:
    missing = [c for c in _COLUMNS if c not in (reader.fieldnames or ())]
    if missing:
        raise LogError(
            f"{path}: the column {missing[0]!r} is missing; a log needs the columns {', '.join(_COLUMNS)}"
        )
    lines: list[LogLine] = []
    for row in reader:
        try:
            line = LogLine(*(int(row[c]) for c in _COLUMNS))
        except (TypeError, ValueError):
            raise LogError(
                f"{path}:{reader.line_num}: expected whole numbers in {', '.join(_COLUMNS)}"
            ) from None
        if lines and (line.t_us < lines[-1].t_us or line.highest_ack < lines[-1].highest_ack):
            raise LogError(f"{path}:{reader.line_num}: t_us and highest_ack must not decrease")
        lines.append(line)
    return lines


def trace_from_log(
    log: Sequence[LogLine], packet_bytes: int = 1440, begin_s: float = 0.0, end_s: float = math.inf
) -> Trace:
    """Turn acknowledged packets into delivery opportunities.

    Parameters
    ----------
    packet_bytes
        Bytes of each packet.
    begin_s, end_s
        Selected part, in seconds of delivery; the trace's clock starts at `begin_s`.

    Raises
    ------
    LogError
        When fewer than 1500 bytes were acknowledged in the selected part.
    """
    stamps: list[int] = []
    credit = 0
    packets = 0
    for t_us in _deliveries(log):
        if not begin_s * 1e6 <= t_us < end_s * 1e6:
            continue
        packets += 1
        credit += packet_bytes
        while credit >= OPPORTUNITY_BYTES:
            credit -= OPPORTUNITY_BYTES
            # The link may deliver from this millisecond on, and not before the packet existed.
            stamps.append(max(1, math.ceil((t_us - begin_s * 1e6) / 1000)))
    if not stamps:
        raise LogError(
            f"{packets} packets of {packet_bytes} bytes in this interval are less than one opportunity "
            "of 1500 bytes"
        )
    return Trace(stamps, packets * packet_bytes, credit)


def _deliveries(log: Iterable[LogLine]) -> Iterable[float]:
    """Microsecond at which each packet was delivered, in order."""
    lines = list(log)
    round_trips = [line.rtt_us for line in lines if line.rtt_us > 0]
    back_us = min(round_trips) / 2 if round_trips else 0.0
    for before, line in itertools.pairwise(lines):
        fresh = line.highest_ack - before.highest_ack
        span = min(line.t_us - before.t_us, _SPREAD_LIMIT_US)
        for i in range(fresh):
            yield max(0.0, line.t_us - span * (fresh - 1 - i) / fresh - back_us)


def write_trace(trace: Trace, path: Path) -> None:
    """Write the stamps, one per line."""
    write_text(path, "".join(f"{stamp}\n" for stamp in trace.stamps_ms))
