"""Writes docs/live-tables.md from the reports of the live benchmarks. `make live-tables` runs this.

The reports are those of `make live-agreement` and `make bench-live`: `out/agreement.json`,
`out/agreement-packets.json`, `out/bench-live.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from agreement import BOUNDS, columns, read
from agreement_packets import INTERVAL_MS, PING_MS, DatagramRow, PingRow
from live import PAYLOAD_SHARE

HEAD = """# Tables of the live benchmarks

Written by `make live-tables` from the reports of `make live-agreement` and `make bench-live`.
[Real and virtual time](live-agreement.md) explains them.
"""
AGREEMENT = """
## TCP of the kernel, and of airlane

Each row is a scenario of `evidence/agreement`: the kernel's TCP through `airlane live`, and the TCP
of airlane in virtual time with the same seeds, each in eight simulations that begin within 40 ms.
Goodput in Mbit/s, one-way delay (OWD) in ms. The bounds are 3 % of goodput, and 5 % or 1 ms of mean
and 95th percentile of the delay; *n* is the number of live runs, and the intervals are 95 %.
"""
PACKETS = """
## Single packets

Ping every {ping} ms over an idle network. *Bias*: the mean round trip less the mean of both delays
of the same packets in virtual time. All in ms.

{pings}

UDP every {interval} ms: the delay of each datagram, less that of the same datagram in virtual time.

{trains}
"""
EMULATORS = """
## airlane, Mahimahi and Rattan

On {host}: a download by iperf3 with CUBIC over a link of the same rate, round trip and
queue, and ping while it is idle. *Of link*: goodput as a share of rate × 1448/1500. *Late*:
departures after their time, which only airlane reports; *valid*: whether it says that the run was
in real time.
"""


def table(headings: list[str], rows: list[list[str]], words: int = 1) -> str:
    lines = ["| " + " | ".join(headings) + " |"]
    lines.append("|" + "|".join("---" if i < words else "---:" for i in range(len(headings))) + "|")
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def agreement(report: Path) -> Iterator[str]:
    rows = read(report)
    yield AGREEMENT
    headings = ["scenario", "TCP", "n"]
    for name in ("goodput", "OWD", "OWD p95"):
        headings += [f"{name} live", "virtual", "difference"]
    cells = [
        [
            row.scenario,
            row.congestion,
            str(len(row.pairs)),
            *(cell for key in BOUNDS for cell in (columns(row, key) if row.pairs else ("–",) * 3)),
            row.overall,
        ]
        for row in rows
    ]
    yield table([*headings, "verdict"], cells, words=2)
    counts = Counter(row.overall for row in rows)
    yield "\n" + ", ".join(f"{count} × {word}" for word, count in counts.most_common()) + "."
    invalid = sum(row.invalid for row in rows)
    yield f"{invalid} live runs were disturbed by the host, do not count, and were repeated.\n"


def packets(file: Path) -> Iterator[str]:
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    pings = []
    for row in (PingRow(**one) for one in report["ping"]):
        figures = [f"{np.percentile(row.live, share):.1f}" for share in (50, 95)]
        figures += [f"{np.percentile(row.virtual, share):.1f}" for share in (50, 95)]
        pings.append([row.scenario, str(len(row.live)), *figures, f"{row.bias_ms:+.3f}"])
    trains = []
    for train in (DatagramRow(**one) for one in report["udp"]):
        figures = [f"{np.percentile(train.difference_ms, share):.3f}" for share in (50, 95, 99, 100)]
        trains.append([train.scenario, str(len(train.live)), str(train.lost), *figures])
    yield PACKETS.format(
        ping=f"{PING_MS:g}",
        interval=INTERVAL_MS,
        pings=table(["network", "n", "live p50", "p95", "virtual p50", "p95", "bias"], pings),
        trains=table(["network", "n", "lost", "p50", "p95", "p99", "max"], trains),
    )


def emulators(file: Path) -> Iterator[str]:
    report: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    host = report["host"]
    system, kernel = host["platform"].split("-")[:2]
    yield EMULATORS.format(host=f"{host['cores']} cores, {system} {'.'.join(kernel.split('.')[:2])}")
    rows = []
    for one in report["rows"]:
        rate, goodput = one["rate_mbps"], one["goodput_mbps"]
        share = goodput / (rate * PAYLOAD_SHARE) if rate and goodput else math.nan
        figures = [(goodput, ",.1f"), (share, ".1%"), (one["rtt_bias_min_ms"], ".3f")]
        figures += [(one["rtt_bias_mean_ms"], ".3f"), (one["cpu_s_per_gbit"], ".2f")]
        figures += [(one["core_share"], ".0%"), (one["late_us_p50"], ".0f"), (one["late_us_p99"], ".0f")]
        link = f"{rate} Mbit/s, {one['rtt_ms']} ms" if rate else ""
        valid = {True: "yes", False: "no", None: "–"}[one["valid"]]
        cells = ["–" if value is None or math.isnan(value) else f"{value:{form}}" for value, form in figures]
        rows.append([link, one["name"], *cells, valid, one["note"]])
    headings = ["link", "emulator", "Mbit/s", "of link", "RTT bias min, ms", "mean, ms", "CPU s/Gbit"]
    yield table([*headings, "core", "late p50, µs", "p99, µs", "valid", "note"], rows, words=2) + "\n"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument(
        "--from", dest="folder", type=Path, default=Path("out"), help="folder of the reports"
    )
    arguments.add_argument("-o", "--output", type=Path, default=Path("docs/live-tables.md"))
    chosen = arguments.parse_args()
    parts = [HEAD]
    files = (
        ("agreement.json", agreement),
        ("agreement-packets.json", packets),
        ("bench-live.json", emulators),
    )
    for name, write in files:
        file = chosen.folder / name
        if not file.exists():
            print(f"{file} is not there: run `make live-agreement` and `make bench-live`", file=sys.stderr)
            return 1
        parts += write(file)
    chosen.output.write_text(
        "\n".join(part.rstrip("\n") if part.startswith("|") else part for part in parts), encoding="utf-8"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
