"""Live emulation compared: airlane, Mahimahi and Rattan at one link, in turn. `make bench-live` runs this.

Each emulator carries the same programs over a link of the same rate, round trip and queue: `ping` while it
is idle, then a download by iperf3 with the kernel's CUBIC. Rounds alternate between the emulators, and each
figure is the median of the rounds. The result is written to `out/bench-live.json`. An emulator that is not
installed is named with what is missing; `evidence/peers` builds both.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import sys
from dataclasses import asdict, fields
from pathlib import Path

from rich.console import Console
from rich.table import Table

import live_ours
import live_peers
import live_world
from live_world import Measured, Setting

RATES_MBPS = (75, 150, 720, 1000)
RTTS_MS = (0, 40, 80)
# Share of a packet of 1500 bytes that is payload of TCP with timestamps.
PAYLOAD_SHARE = 1448 / 1500
OURS = "airlane"
NEEDED = ("iperf3", "ping", "ip", "nsenter", "unshare", "setpriv", "sysctl")


def emulators(chosen: list[str] | None) -> list[str]:
    names = [OURS, *(name for name in live_peers.PEERS if name != "nothing (veth)")]
    return [name for name in names if not chosen or any(text.lower() in name.lower() for text in chosen)]


def one(name: str, setting: Setting, options: list[str]) -> Measured:
    try:
        return live_ours.measure(setting, options) if name == OURS else live_peers.measure(name, setting)
    except RuntimeError as failed:
        return Measured(name, setting.rate_mbps, setting.rtt_ms, note=f"failed: {failed}")


def median(rounds: list[Measured]) -> Measured:
    """Field by field, of the rounds that have it. A run is valid if each round was."""
    result = Measured(rounds[0].name, rounds[0].rate_mbps, rounds[0].rtt_ms)
    for field in fields(Measured)[3:]:
        values = [getattr(m, field.name) for m in rounds if getattr(m, field.name) is not None]
        if field.name == "note":
            result.note = next((value for value in values if value), "")
        elif field.name == "valid":
            result.valid = all(values) if values else None
        elif values:
            setattr(result, field.name, statistics.median(values))
    return result


def text(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


COLUMNS = (
    "link",
    "emulator",
    "Mbit/s",
    "of link",
    "RTT bias min",
    "mean, ms",
    "CPU s/Gbit",
    "core",
    "late p50",
    "p99",
    "p99.9, µs",
    "",
)


def show(rows: list[Measured]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="TCP CUBIC over an emulated link, both directions alike", title_justify="left")
    for heading in COLUMNS:
        table.add_column(heading, justify="left" if heading in ("link", "emulator", "") else "right")
    previous = None
    for row in rows:
        link = f"{row.rate_mbps} Mbit/s, {row.rtt_ms} ms" if row.rate_mbps else ""
        if previous not in (None, link):
            table.add_section()
        share = (
            row.goodput_mbps / (row.rate_mbps * PAYLOAD_SHARE) if row.goodput_mbps and row.rate_mbps else None
        )
        table.add_row(
            link if link != previous else "",
            row.name,
            text(row.goodput_mbps, ",.1f"),
            text(share, ".1%"),
            text(row.rtt_bias_min_ms, ".3f"),
            text(row.rtt_bias_mean_ms, ".3f"),
            text(row.cpu_s_per_gbit, ".3f"),
            text(row.core_share, ".0%"),
            text(row.late_us_p50, ".0f"),
            text(row.late_us_p99, ".0f"),
            text(row.late_us_p999, ".0f"),
            row.note if row.valid is not False else (row.note or "not real time"),
        )
        previous = link
    console.print(table)
    console.print(
        "of link: goodput as a share of rate × 1448/1500. RTT bias: ping over the idle link, less the "
        "configured round trip. CPU: user and system time of the emulator's processes. late: a packet's "
        "departure after its time in the emulator, which only airlane reports."
    )


def measure(rounds: int, settings: list[Setting], names: list[str], options: list[str]) -> list[Measured]:
    """The median of each emulator at each setting; the emulators take turns within a round."""
    kept: dict[tuple[str, Setting], list[Measured]] = {}
    for turn in range(rounds):
        for setting in settings:
            for name in names:
                print(
                    f"round {turn + 1}: {setting.rate_mbps} Mbit/s, {setting.rtt_ms} ms, {name}",
                    file=sys.stderr,
                )
                kept.setdefault((name, setting), []).append(one(name, setting, options))
    return [median(kept[name, setting]) for setting in settings for name in names]


def absent() -> list[str]:
    return [name for name in NEEDED if shutil.which(name) is None]


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=1)
    arguments.add_argument("--rate", type=int, nargs="*", default=RATES_MBPS, metavar="MBPS")
    arguments.add_argument("--rtt", type=int, nargs="*", default=RTTS_MS, metavar="MS")
    arguments.add_argument("--only", nargs="*", help="emulators whose name contains one of these")
    arguments.add_argument("--seconds", type=int, default=live_world.MEASURED_S, help="length of a download")
    arguments.add_argument("--fifo", action="store_true", help="airlane with SCHED_FIFO")
    arguments.add_argument("--no-cell", action="store_true", help="without the cell with 19 simulated UEs")
    arguments.add_argument("-o", "--output", type=Path, default=Path("out/bench-live.json"))
    chosen = arguments.parse_args()
    if missing := absent():
        print(f"bench-live needs {', '.join(missing)}", file=sys.stderr)
        return 2
    live_world.MEASURED_S = chosen.seconds
    options = ["--fifo"] if chosen.fifo else []
    names = emulators(chosen.only)
    settings = [Setting(rate, rtt) for rate in chosen.rate for rtt in chosen.rtt]

    rows = measure(chosen.rounds, settings, names, options)
    if OURS in names and not chosen.no_cell:
        rows.append(live_ours.cell(options))
    bound = live_peers.measure("nothing (veth)", Setting(0, 0))
    rows.append(bound)
    show(rows)
    report = {
        "rows": [asdict(row) for row in rows],
        "queue_bytes": {f"{s.rate_mbps} Mbit/s, {s.rtt_ms} ms": s.queue_bytes for s in settings},
        "measured_s": chosen.seconds,
        "omitted_s": live_world.OMITTED_S,
        "sysctl": list(live_world.SETTINGS),
        "host": {"platform": platform.platform(), "cores": os.cpu_count()},
    }
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"written to {chosen.output}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
