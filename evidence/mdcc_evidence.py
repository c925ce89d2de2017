"""MD-CC with evidence for losses at the radio network, with an honest PEP and one that sends false reports.

    python evidence/mdcc_evidence.py [--runs N] [--write]

`--write` puts the table into docs/deploy/mdcc.md.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from airlane import examples, metrics, native
from airlane.cache import Cache
from airlane.commands import terminal
from airlane.experiments import Experiment, Measure, conduct
from airlane.metrics import Window
from airlane.pages import markdown
from airlane.papers.common import mean, ratio
from airlane.papers.mdcc.setup import ALL_MS, fill_up, jump_overrides, mdcc_overrides

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "bench"))

import document  # noqa: E402

PAGE = ROOT / "docs/deploy/mdcc.md"
MEASURED = Window(15.0, 60.0)
LIES = {"kind": "lies", "from": "2 s", "claim": "everything"}
QUEUES = {"-": {}, "4 ms": {"flow.0.transport.mdcc.wired_queue": "4 ms"}}


def wired(queue: str) -> dict[str, object]:
    """Two flows before a wired bottleneck of 20 Mbit/s, as in `mdcc/wired`."""
    tcp = {"kind": "tcp", "congestion": "cubic", "compressed_sack": False}
    flow = {"app": {"kind": "bulk"}, "transport": tcp}
    return {
        "flow": [
            {**flow, "name": "phone", "to": "phone"},
            {**flow, "name": "other", "to": "other", "start": "100 ms"},
        ],
        "ue.1.count": 1,
        "run.duration": "60 s",
        "internet.rate": "20 Mbit/s",
        "internet.queue": queue,
        "internet.delay": "20 ms",
    }


def grid() -> dict[str, dict[str, object]]:
    """All points by their names."""
    found: dict[str, dict[str, object]] = {"jump/cubic": jump_overrides("eva", 300, "cubic", ALL_MS)}
    for name, evidence in QUEUES.items():
        found[f"jump/{name}"] = {**jump_overrides("eva", 300, "mdcc", ALL_MS), **evidence}
        for buffer in ("150 kB", "38 kB"):
            found[f"{buffer}/honest/{name}"] = {**wired(buffer), **mdcc_overrides(), **evidence}
            found[f"{buffer}/false/{name}"] = {**wired(buffer), **mdcc_overrides(fault=LIES), **evidence}
    return found


def share(point: str) -> Measure:
    """Goodput of the phone divided by that of the CUBIC flow."""

    def of(to: str) -> Measure:
        return lambda draw: metrics.goodput_mbps(draw[point], to, MEASURED)

    return ratio(of("phone"), of("other"))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--runs", type=int, default=10)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--write", action="store_true", help="write the table into docs/deploy/mdcc.md")
    chosen = arguments.parse_args()
    experiment = Experiment(
        id="mdcc/evidence",
        title="evidence for losses at the radio network",
        source="not in the paper",
        scenario=examples.path("mdcc-jump"),
        grid=grid(),
        runs=chosen.runs,
        quick_runs=1,
    )
    draws = conduct(
        experiment, {}, Cache(ROOT / "out/cache", native.fingerprint()), threads=chosen.threads
    ).draws
    figure = {
        "wired bottleneck, 150 kB: share of a CUBIC flow's": lambda q: share(f"150 kB/honest/{q}"),
        "the same, the PEP claims to have seen all": lambda q: share(f"150 kB/false/{q}"),
        "wired bottleneck, 38 kB: share of a CUBIC flow's": lambda q: share(f"38 kB/honest/{q}"),
        "the same, the PEP claims to have seen all ": lambda q: share(f"38 kB/false/{q}"),
        "eight flows stop: fill-up time, s": lambda q: fill_up(f"jump/{q}"),
    }
    rows = [
        [name.strip(), *(terminal.interval(mean(draws, measure(queue))) for queue in QUEUES)]
        for name, measure in figure.items()
    ]
    cubic = terminal.interval(mean(draws, fill_up("jump/cubic")))
    rows.append(["the same with CUBIC", cubic, ""])
    headings = ["figure", "each report is believed", '`wired_queue = "4 ms"`']
    table = markdown.table(headings, rows)
    print(f"n = {chosen.runs}\n{table}")
    if chosen.write:
        document.write({"mdcc_evidence": table}, PAGE)


if __name__ == "__main__":
    main()
