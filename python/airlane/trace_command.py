"""The command `airlane trace`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from airlane.cli_common import (
    Example,
    File,
    FirstSeed,
    Settings,
    check_file,
    scenario_file,
    scenario_of,
    user_errors,
)

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
    from airlane.trace import read_log, trace_from_log, write_trace

    trace = trace_from_log(read_log(log), packet_bytes, begin, end)
    write_trace(trace, out)
    print(
        f"{out}: {len(trace.stamps_ms):,} opportunities of 1500 bytes "
        f"over {trace.stamps_ms[-1] / 1000:.3f} s, mean {trace.mean_mbps:.2f} Mbit/s; "
        f"{trace.bytes_in:,} bytes acknowledged, {trace.remainder} left over"
    )


@app.command(name="from-rates")
@user_errors
def trace_from_rates_command(
    pattern: Annotated[
        Path, typer.Argument(metavar="PATTERN.csv", help="Rates in kbit/s, one per line, as JENS reads them.")
    ],
    out: Annotated[Path, typer.Option("-o", "--out", help="Trace to write.")],
    scale: Annotated[float, typer.Option(metavar="N", min=0, help="Factor of all rates.")] = 1.0,
    floor: Annotated[float, typer.Option(metavar="KBPS", min=0, help="Lowest rate, in kbit/s.")] = 500.0,
    forward_only: Annotated[
        bool,
        typer.Option("--forward-only", help="Start again at the end, and do not play the pattern backward."),
    ] = False,
) -> None:
    """Make a trace from a pattern of link rates, such as those of Deutsche Telekom's JENS.

    By default, the pattern is played forward and then backward, with at least 500 kbit/s, as by JENS.
    """
    from airlane.rate_pattern import read_pattern, trace_from_pattern
    from airlane.trace import write_trace

    rates = read_pattern(pattern)
    trace = trace_from_pattern(rates, scale, floor, not forward_only)
    write_trace(trace, out)
    way = "forward" if forward_only else "forward and backward"
    print(
        f"{out}: {len(trace.stamps_ms):,} opportunities of 1500 bytes "
        f"over {trace.stamps_ms[-1] / 1000:.3f} s, mean {trace.mean_mbps:.2f} Mbit/s; "
        f"{len(rates.kbps):,} rates of {rates.interval_ms} ms, {way}"
    )


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
    from airlane import export
    from airlane.trace import write_trace

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
