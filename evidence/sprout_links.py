"""Sprout over recorded links, compared with the figures that its authors published, and in an LTE cell.

    python evidence/sprout_links.py FOLDER [--write]

The links are delivery traces of ravinet/mahimahi ae477d43. Their licence is GPL-3.0, so that they are no
part of this project. FOLDER, or the environment variable AIRLANE_PUBLIC_FILES, has them under
ravinet/mahimahi/traces, as

    git clone https://github.com/ravinet/mahimahi FOLDER/ravinet/mahimahi

leaves them. A link whose trace is missing is left out, with a word. `evidence/sprout_links.csv` has the
published figures (keithw/dissertation 665d055e) and those that the project computed with the authors'
receiver and the law of their sender over these traces. A figure *holds* if the rate is within 10 % of the
published one and the delay within a factor of 2, a choice.

Conditions are those of the publication: 20 ms each way, no limit of the queue, data in both directions,
the first minute left out. The rate counts IP packets. The self-inflicted delay is the 95th percentile,
over the milliseconds, of the age of the newest packet that has arrived, less that of a sender that has a
fresh packet at each opportunity. The shorter of the two traces of a link begins again at its end. CUBIC has
one transfer in one direction.

The row of ATT-LTE-driving.up until 786 s was added after the row of the whole trace had missed the published
rate. It ends before a gap of 78 s, with which the trace carries 828 kbit/s after the first minute, while the
publication has 862 kbit/s for Sprout-EWMA. It is not counted.

In the cell, which needs no trace, Sprout and CUBIC have data in the downlink alone, by themselves or
together. `--write` writes docs/results/sprout-links.json, from which docs/field.md has its tables.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import airlane
from airlane import stats
from airlane.commands import terminal
from airlane.pages.markdown import table
from airlane.papers.field.setup import RAN_CELL
from airlane.runs import json_files
from pcapng import packets

ROOT = Path(__file__).resolve().parents[1]
FIGURES = Path(__file__).with_suffix(".csv")
RECORD = ROOT / "docs/results/sprout-links.json"
TRACES = "ravinet/mahimahi/traces"

SCENARIO = """
network = "wired"
[run]
duration = "{duration_ms} ms"
warmup = "60 s"
[internet]
trace = "{base}.down"
uplink_trace = "{base}.up"
delay = "20 ms"
queue = "4 GB"
uplink_queue = "4 GB"
[output]
pcap = ["server", "ue"]
snaplen = "64 B"
"""
CUBIC: Mapping[str, object] = {
    "app": "bulk",
    "transport": {"kind": "tcp", "receive_window": {"kind": "fixed", "size": "1 GB"}},
}
CELL: Mapping[str, object] = {
    "run.duration": "70 s",
    "run.warmup": "10 s",
    "cell.0.resource_blocks": 25,
    "channel.fading": {"model": "epa", "speed": "3 km/h"},
    "internet.delay": "10 ms",
    "ue": [{"name": name, "position": ["400 m", "0 m"]} for name in ("phone", "other")],
}
SITUATIONS: Mapping[str, Mapping[str, str]] = {
    "Sprout alone": {"sprout": "phone"},
    "CUBIC alone": {"cubic": "phone"},
    "CUBIC on another phone": {"sprout": "phone", "cubic": "other"},
    "CUBIC on the same phone": {"sprout": "phone", "cubic": "phone"},
}
"""The phone of each scheme."""
SEEDS = 10
SERVER = bytes((10, 0, 0, 1))
"""Its address in captures."""
WARMUP_NS = 60_000_000_000
MS = 1_000_000
WITHIN = 0.1
"""Share by which a rate may differ from the published one: that of a match in the tables of the papers."""
FACTOR = 2.0
"""Factor by which a delay may differ from the published one, a choice."""


@dataclass(frozen=True)
class Measured:
    """Figures of a direction of a link: rate of IP packets, and self-inflicted delay."""

    kbps: float
    delay_ms: float


def stamps(trace: Path) -> npt.NDArray[np.int64]:
    """The opportunities of a trace, in ms."""
    return np.array(trace.read_text().split(), dtype=np.int64)


def sprout(*, both: bool, confidence: str) -> Mapping[str, object]:
    """The application Sprout, with its transport; the confidence is in percent."""
    return {
        "transport": "udp",
        "app": {"kind": "sprout", "both": both, "confidence": f"{confidence} %"},
    }


def direction_of(folder: Path, direction: str) -> tuple[npt.NDArray[np.int64], ...]:
    """Times of sending and of arrival, in ns, and lengths of the packets of a direction, in their order."""
    server, ue = (
        np.array(
            [
                (at, length)
                for at, length, header in packets(folder / f"{end}.pcapng")
                if (header[12:16] == SERVER) == (direction == "downlink")
            ],
            dtype=np.int64,
        )
        for end in ("server", "ue")
    )
    sent, arrived = (server, ue) if direction == "downlink" else (ue, server)
    return sent[: len(arrived), 0], arrived[:, 0], arrived[:, 1]


def p95_of_age(fresh: npt.NDArray[np.int64], at: npt.NDArray[np.int64], end_ms: int) -> float:
    """The 95th percentile, in ms, of the age of the newest arrival at each ms after the warm-up."""
    clock = np.arange(max(WARMUP_NS, int(at[0])) // MS + 1, end_ms, dtype=np.int64) * MS
    newest = np.searchsorted(at, clock, side="right") - 1
    return float(np.quantile((clock - fresh[newest]) / MS, 0.95))


def measured(folder: Path, trace: Path, direction: str, until_s: str) -> Measured:
    """The figures of a direction of a run whose captures are in a folder, to this time or its trace's end."""
    sent, arrived, lengths = direction_of(folder, direction)
    opportunities = stamps(trace) * MS
    duration_ms = 1000 * int(until_s) if until_s else int(opportunities[-1]) // MS
    inflicted = p95_of_age(sent, arrived, duration_ms) - p95_of_age(
        opportunities, opportunities + 20 * MS, duration_ms
    )
    bits = 8 * lengths[(arrived >= WARMUP_NS) & (arrived < duration_ms * MS)].sum()
    return Measured(float(bits) / (duration_ms - WARMUP_NS // MS), inflicted)


def run(base: Path, scheme: str, direction: str, confidence: str, until_s: str) -> dict[str, Measured]:
    """The figures of both directions, or of the one that CUBIC has data in."""
    files = {"downlink": base.with_suffix(".down"), "uplink": base.with_suffix(".up")}
    duration_ms = max(int(stamps(file)[-1]) for file in files.values())
    scenario = airlane.loads(SCENARIO.format(base=base, duration_ms=duration_ms))
    sender = CUBIC if scheme == "cubic" else sprout(both=True, confidence=confidence)
    flow = {"name": "flow", "direction": direction, **sender}
    with tempfile.TemporaryDirectory() as scratch:
        scenario.set({"flow": [flow]}).run(pcap=Path(scratch))
        wanted = files if scheme == "sprout" else {direction: files[direction]}
        return {one: measured(Path(scratch), file, one, until_s) for one, file in wanted.items()}


def verdict(line: Mapping[str, str], ours: Measured) -> str:
    """Whether rate and delay are those that were published, unless the row was added afterwards."""
    if line["until_s"]:
        return "not counted"
    rate = abs(ours.kbps / float(line["published_kbps"]) - 1) <= WITHIN
    delay = 1 / FACTOR <= ours.delay_ms / float(line["published_delay_ms"]) <= FACTOR
    missed = [name for name, holds in (("rate", rate), ("delay", delay)) if not holds]
    return "holds" if not missed else f"{' and '.join(missed)} not"


def rows(folder: Path) -> list[dict[str, Any]]:
    """The comparison of each figure whose traces are in the folder."""
    done: dict[tuple[str, ...], dict[str, Measured]] = {}
    compared = []
    with FIGURES.open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line in lines:
        name, _, suffix = line["link"].rpartition(".")
        base = folder / TRACES / name
        missing = [
            str(one) for one in (base.with_suffix(".up"), base.with_suffix(".down")) if not one.is_file()
        ]
        if missing:
            print(f"{line['link']}: left out, since {' and '.join(missing)} is missing")
            continue
        direction = {"up": "uplink", "down": "downlink"}[suffix]
        data_in = direction if line["scheme"] == "cubic" else "both"
        key = (name, line["scheme"], line["confidence_percent"], line["until_s"], data_in)
        if key not in done:
            done[key] = run(base, line["scheme"], direction, line["confidence_percent"], line["until_s"])
        ours = done[key][direction]
        compared.append(
            line
            | {
                "kbps": round(ours.kbps, 1),
                "delay_ms": round(ours.delay_ms, 1),
                "verdict": verdict(line, ours),
            }
        )
    return compared


def in_cell() -> list[dict[str, str]]:
    """Goodput in Mbit/s and 95th percentile of the one-way delay in ms of each scheme: means of the seeds."""
    compared = []
    senders = {"sprout": sprout(both=False, confidence="95"), "cubic": CUBIC}
    for title, phones in SITUATIONS.items():
        entries = [{"name": scheme, "to": to, **senders[scheme]} for scheme, to in phones.items()]
        flows = airlane.load(RAN_CELL).set({**CELL, "flow": entries}).run(runs=SEEDS).flows.to_pylist()
        row = {"beside": title}
        for scheme in ("sprout", "cubic"):
            for column in ("goodput_mbps", "owd_p95_ms"):
                values = [flow[column] for flow in flows if flow["flow"] == scheme]
                row[f"{scheme}_{column}"] = terminal.interval(stats.estimate(values)) if values else ""
        compared.append(row)
    return compared


def main() -> None:
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("folder", nargs="?", default=os.environ.get("AIRLANE_PUBLIC_FILES"), type=Path)
    arguments.add_argument("--write", action="store_true", help="write docs/results/sprout-links.json")
    chosen = arguments.parse_args()
    if chosen.folder is None:
        arguments.error("expected the folder of the traces, or AIRLANE_PUBLIC_FILES")
    compared = rows(chosen.folder)
    columns = (
        "link", "until_s", "scheme", "confidence_percent", "published_kbps", "authors_code_kbps", "kbps",
        "published_delay_ms", "authors_code_delay_ms", "delay_ms", "verdict",
    )  # fmt: skip
    print(table(columns, [[str(row[name]) for name in columns] for row in compared], right=1))
    cell = in_cell()
    print(table(tuple(cell[0]), [list(row.values()) for row in cell]))
    if chosen.write:
        json_files.write(RECORD, {"links": compared, "cell": cell})


if __name__ == "__main__":
    main()
