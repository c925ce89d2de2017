"""The command `airlane trace`."""

from __future__ import annotations

import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from airlane.commands.common import (
    Example,
    File,
    FirstSeed,
    Settings,
    check_file,
    fail,
    scenario_file,
    scenario_of,
    user_errors,
)
from airlane.plural import counted

__all__ = ["app"]

app = typer.Typer(help="Delivery traces (Mahimahi's format).", no_args_is_help=True, rich_markup_mode=None)


@app.command(name="from-log")
@user_errors
def trace_from_log_command(
    log: Annotated[Path, typer.Argument(metavar="RUN.csv", help="Log with t_us, highest_ack and rtt_us.")],
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")],
    packet_bytes: Annotated[int, typer.Option(metavar="N", min=1, help="Bytes of each packet.")] = 1440,
    begin: Annotated[
        float, typer.Option(metavar="S", min=0, help="Leave out deliveries before this time, in s.")
    ] = 0.0,
    end: Annotated[
        float, typer.Option(metavar="S", min=0, help="Leave out deliveries after this time, in s.")
    ] = float("inf"),
) -> None:
    """Make a trace from a sender's log of a measurement.

    Assumptions: every packet up to the highest acknowledged one arrived, half of the minimum round-trip
    time before its acknowledgement, and the sender saturated the link.
    """
    from airlane.radio.trace import read_log, trace_from_log, write_trace

    trace = trace_from_log(read_log(log), packet_bytes, begin, end)
    write_trace(trace, out)
    print(
        f"{out}: {len(trace.stamps_ms):,} opportunities of 1500 bytes "
        f"over {trace.stamps_ms[-1] / 1000:.3f} s, mean {trace.mean_mbps:.2f} Mbit/s; "
        f"{trace.bytes_in:,} bytes acknowledged, {trace.remainder} left over"
    )


_READ_MAX = 64 << 20
"""Maximum bytes of a trace that a scenario can name."""


class _TimeUnit(StrEnum):
    """Units of times."""

    S = "s"
    MS = "ms"
    US = "us"


def _unit(text: str) -> str:
    """A unit of rates, of which `Mbit/s` is another spelling of `Mbps`."""
    from airlane.radio.rate_table import UNITS_KBPS

    spelt = text.strip().lower()
    for bit in ("bits/s", "bit/s"):
        spelt = spelt.replace(bit, "bps")
    found = {name.lower(): name for name in UNITS_KBPS}.get(spelt)
    if found is None:
        raise typer.BadParameter(f"{text!r}: expected {', '.join(UNITS_KBPS)}; Mbit/s is Mbps")
    return found


_RateUnit = Annotated[
    str | None,
    typer.Option(
        parser=_unit,
        metavar="UNIT",
        help="Unit of the rates: bps, kbps, Mbps, Gbps, B/s, kB/s or MB/s [default: by the column's name, "
        "else kbps].",
    ),
]
_Interval = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="From a rate to the next, such as 1, 0.5s or 100ms "
        "[default: by the times in the file, else its frequency, else 100ms].",
    ),
]
_RateColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the rates, by name or by number from 1.")
]
_TimeColumn = Annotated[
    str | None, typer.Option(metavar="NAME", help="Column of the times, by name or by number from 1.")
]
_UnitOfTime = Annotated[_TimeUnit | None, typer.Option(help="Unit of times that are numbers [default: s].")]
_Only = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Only the rows with this value in a column; repeatable."),
]
_Begin = Annotated[
    float, typer.Option(metavar="S", min=0, help="Leave out rates before this time from the first, in s.")
]
_End = Annotated[
    float, typer.Option(metavar="S", min=0, help="Leave out rates after this time from the first, in s.")
]


@app.command(name="from-rates")
@user_errors
def trace_from_rates_command(
    pattern: Annotated[
        Path,
        typer.Argument(metavar="RATES", help="One rate per line, as JENS reads them, or a table with times."),
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")],
    unit: _RateUnit = None,
    interval: _Interval = None,
    column: _RateColumn = None,
    time_column: _TimeColumn = None,
    time_unit: _UnitOfTime = None,
    only: _Only = None,
    begin: _Begin = 0.0,
    end: _End = float("inf"),
    scale: Annotated[float, typer.Option(metavar="N", min=0, help="Factor of all rates.")] = 1.0,
    floor: Annotated[float, typer.Option(metavar="KBPS", min=0, help="Lowest rate, in kbit/s.")] = 500.0,
    forward_only: Annotated[
        bool,
        typer.Option("--forward-only", help="Start again at the end, and do not play the pattern backward."),
    ] = False,
) -> None:
    """Make a trace from recorded link rates, such as those of Deutsche Telekom's JENS or of a data set.

    By default, the rates are played forward and then backward, with at least 500 kbit/s, as by JENS.
    """
    from airlane.radio.rate_table import RateOptions
    from airlane.radio.trace import write_trace
    from airlane.rate_pattern import improbable_unit, read_pattern, trace_from_pattern

    options = RateOptions(
        unit=unit,
        interval_ms=None if interval is None else _interval_ms(interval),
        column=column,
        time_column=time_column,
        time_unit=None if time_unit is None else time_unit.value,
        only=dict(_pair(one) for one in only or []),
    )
    rates = read_pattern(pattern, options).part(begin, end)
    question = improbable_unit(rates, scale, floor)
    if question and unit is None:
        fail(f"error: {pattern}: {question}")
    if question:
        print(f"warning: {pattern}: {question}", file=sys.stderr)
    trace = trace_from_pattern(rates, scale, floor, not forward_only)
    write_trace(trace, out)
    way = "forward" if forward_only else "forward and backward"
    print(
        f"{out}: {len(trace.stamps_ms):,} opportunities of 1500 bytes "
        f"over {trace.stamps_ms[-1] / 1000:.3f} s, mean {trace.mean_mbps:.2f} Mbit/s; "
        f"{counted(len(rates.kbps), 'rate')} of {rates.intervals}, {way}"
    )
    raised = sum(rate * scale < floor for rate in rates.kbps)
    of_all = f"{raised:,} of {counted(len(rates.kbps), 'rate')} raised to {floor:g} kbit/s (--floor)"
    for note in [*rates.notes, *([f"{pattern}: {of_all}"] if raised else [])]:
        print(note)
    _check_size(out)


def _check_size(trace: Path) -> None:
    """Warn of a trace that no scenario can name."""
    if trace.is_file() and trace.stat().st_size > _READ_MAX:
        print(
            f"warning: {trace} has more than 64 MiB, the limit of internet.trace; --end makes it shorter",
            file=sys.stderr,
        )


def _interval_ms(text: str) -> int:
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) ?(ms|s|)", text.strip())
    ms = float(found.group(1)) * (1 if found.group(2) == "ms" else 1000) if found else 0.0
    if not 1 <= ms <= 3_600_000 or not ms.is_integer():
        fail(
            f"error: --interval {text}: expected a time in s from 0.001 to 3600, "
            "with a whole number of milliseconds, such as 1, 0.5s or 100ms"
        )
    return round(ms)


def _pair(setting: str) -> tuple[str, str]:
    name, separator, value = setting.partition("=")
    if not separator or not name:
        fail(f"error: --only {setting}: expected NAME=VALUE, such as run_num=1")
    return name, value


@app.command(name="export")
@user_errors
def trace_export_command(
    scenario: File = None,
    example: Example = None,
    settings: Settings = None,
    ue: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The UE, such as phone or phone-2; needed if there are several."),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")] = Path("trace.down"),
    uplink: Annotated[bool, typer.Option("--uplink", help="Uplink instead of downlink.")] = False,
    delivered: Annotated[
        bool,
        typer.Option("--delivered", help="Export what the UE's flows received, not the capacity."),
    ] = False,
    begin: Annotated[
        float | None,
        typer.Option(metavar="S", min=0, help="Leave out the time before, in s [default: the warm-up]."),
    ] = None,
    seed: FirstSeed = None,
    check: Annotated[
        bool, typer.Option("--check", help="Compare UDP and TCP over the trace and over the cell.")
    ] = False,
) -> None:
    """Make a trace of the link capacity of a UE in a scenario.

    Without --delivered, one flow that always has data replaces the flows of the UE. The other flows stay.
    The trace contains each 1500 bytes that the scheduler grants.
    """
    from airlane.radio import capacity as export
    from airlane.radio.trace import write_trace

    described = scenario_of(scenario_file(scenario, example), settings)
    check_file(out)
    direction: export.Direction = "uplink" if uplink else "downlink"
    exported = export.export(described, ue, direction, delivered=delivered, begin_s=begin, seed=seed)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_trace(exported.trace, out)
    print(f"{out}: {exported.describe()}")
    if check:
        for line in export.check(described, ue, direction, seed=seed):
            print(line)
