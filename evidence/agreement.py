"""The kernel's TCP in real time and this project's TCP in virtual time, compared. `make live-agreement`.

Each file of `evidence/agreement` runs twice with the same seed: in real time, where the flow `real` is
replaced by a connection of the kernel, and in virtual time with the flow. The flow starts and stops when the
connection did. Both are measured from begin to end, slow start included: a live run has no warm-up. Goodput
may differ by 3 %, mean and 95th percentile of the one-way delay by 5 % or 1 ms, whichever is more.

The program that sends writes 64 KiB at a time on both sides: the last segment of a write carries PSH, which
the receiver acknowledges at once.

A scenario runs with several seeds where fading or losses are drawn, and several times otherwise, because the
kernel's timing differs from run to run: it meets the slots and the grants of the uplink in another phase, and
can leave slow start early or late for it. A simulation repeats itself. Each live run is therefore compared
with several simulations, which begin up to 40 ms later. A row shows the difference of the
means of both, with the interval for two samples of equal variance. `agrees`: it is within the bound.
`undecided`: it is not, but its 95 % interval reaches the bound. `differs`: the whole interval is outside. A
live run that was not in real time does not count, nor does one in which the host stalled:
acknowledgments that wait for 10 ms arrive as a burst, which no link of the scenario made. Such a run is
repeated, at most three times.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.stats import ttest_ind

import airlane
import live_apps
from airlane import stats
from airlane.scenario import seconds

HERE = Path(__file__).resolve().parent
APPS = str(HERE / "live_apps.py")
NAMES = {"cubic": "cubic", "newreno": "reno", "bbr": "bbr"}
"""Ours, and the kernel's name."""
BEGINS = 8
"""Simulations of each live run."""
BEGIN_S = 0.04
"""They begin up to so much later."""
STALL_US = 10_000
"""Of the latest departure of a run that counts."""
TRIES = 4
BOUNDS = {"goodput_mbps": (0.03, 0.0), "owd_ms": (0.05, 1.0), "owd_p95_ms": (0.05, 1.0)}
"""Relative and absolute; the larger of both holds."""


class InvalidError(Exception):
    """A live run was not in real time, or the host stalled."""


@dataclass(frozen=True)
class Times:
    """When the kernel's connection began and ended, and the end of the run."""

    start_s: float
    stop_s: float
    end_s: float


@dataclass(frozen=True)
class Pair:
    """The same figures of a live run and of the run in virtual time."""

    seed: int
    times: Times
    live: dict[str, float]
    virtual: list[dict[str, float]]


@dataclass
class Row:
    """One scenario with one congestion controller."""

    scenario: str
    congestion: str
    pairs: list[Pair] = field(default_factory=list)
    invalid: int = 0
    failed: str = ""

    def values(self, key: str) -> tuple[list[float], list[float]]:
        """Of live and of virtual runs."""
        return [p.live[key] for p in self.pairs], [v[key] for p in self.pairs for v in p.virtual]

    def means(self, key: str) -> tuple[float, float]:
        live, virtual = self.values(key)
        return sum(live) / len(live), sum(virtual) / len(virtual)

    def difference(self, key: str) -> stats.Estimate:
        """Live less virtual: the difference of the means, with its interval."""
        live, virtual = self.values(key)
        mean = sum(live) / len(live) - sum(virtual) / len(virtual)
        if np.ptp(live) + np.ptp(virtual) < 1e-9 * abs(sum(virtual)):
            return stats.Estimate(mean, 0.0, len(live), None)
        low, high = ttest_ind(live, virtual, equal_var=True).confidence_interval(0.95)
        return stats.Estimate(mean, float(high - low) / 2, len(live), None)

    def bound(self, key: str) -> float:
        relative, absolute = BOUNDS[key]
        return max(relative * self.means(key)[1], absolute)

    def verdict(self, key: str) -> str:
        difference, bound = self.difference(key), self.bound(key)
        if abs(difference.mean) <= bound:
            return "agrees"
        half = difference.half_width
        if half is None or math.isnan(half):
            return "differs"
        return "undecided" if abs(difference.mean) - half <= bound else "differs"

    @property
    def overall(self) -> str:
        """The worst of the verdicts."""
        if not self.pairs:
            return self.failed or "not in real time"
        verdicts = [self.verdict(key) for key in BOUNDS]
        return next(word for word in ("differs", "undecided", "agrees") if word in verdicts)


@dataclass(frozen=True)
class Case:
    """A file, and what the programs must know of it."""

    path: Path

    @property
    def scenario(self) -> airlane.Scenario:
        return airlane.load(self.path)

    @property
    def resolved(self) -> dict:
        return self.scenario.settings

    @property
    def seconds(self) -> float:
        return seconds(self.resolved["run"]["duration"])

    @property
    def flow(self) -> dict:
        return next(flow for flow in self.resolved["flow"] if flow["name"] == "real")

    @property
    def drawn(self) -> bool:
        """Whether chance decides: fading, or losses of the link."""
        text = self.path.read_text(encoding="utf-8")
        return 'model = "e' in text or "\nloss =" in text

    def commands(self, congestion: str) -> tuple[str, str]:
        """Of the server and of the UE."""
        uplink = self.flow["direction"] == "uplink"
        program, kernel = [sys.executable, APPS], NAMES[congestion]
        server = [*program, "serve", "receive" if uplink else "send", kernel]
        role = "send" if uplink else "receive"
        ue = [*program, "connect", "server", role, f"{self.seconds + 5:g}", kernel]
        return " ".join(server), " ".join(ue)


def parameters(case: Case) -> list[str]:
    """Of the kernel, as in the reference measurements of Linux (airlane/data/linux)."""
    values = [
        "net.ipv4.tcp_rmem=4096 131072 16777216",
        "net.ipv4.tcp_wmem=4096 16384 16777216",
        "net.ipv4.tcp_no_metrics_save=1",
        f"net.ipv4.tcp_ecn={1 if case.flow['transport'].get('ecn') else 2}",
    ]
    return [word for value in values for word in ("--sysctl", value)]


def live(case: Case, congestion: str, seed: int, options: list[str]) -> tuple[dict[str, float], Times]:
    """Figures of the kernel's connection, and its times."""
    server, ue = case.commands(congestion)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        command = [sys.executable, "-m", "airlane", "live", str(case.path), "--server", server, "--ue", ue]
        command += [
            "--seed",
            str(seed),
            "--json",
            "-o",
            str(place),
            "--duration",
            f"{case.seconds:g}",
            *parameters(case),
            *options,
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=300
        )
        if done.returncode == 3:
            raise InvalidError
        if done.returncode == 0 and json.loads(done.stdout)["real_time"]["late_us_max"] > STALL_US:
            raise InvalidError
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "failed")
        tables = airlane.Results.read(place).tables
    uplink = case.flow["direction"] == "uplink"
    wanted = (case.flow["to"] or "host") + (" (uplink)" if uplink else "")
    real = next(row for row in tables["flows"].to_pylist() if row["flow"] == wanted)
    (connection,) = (row for row in tables["connections"].to_pylist() if row["protocol"] == "tcp")
    times = Times(connection["first_s"], connection["last_s"], json.loads(done.stdout)["wall_s"])
    return {key: real[key] for key in BOUNDS}, times


def virtual(case: Case, congestion: str, seed: int, times: Times) -> list[dict[str, float]]:
    """Figures of the simulations that belong to a live run."""
    later = random.Random(seed)
    return [
        simulated(case, congestion, seed, times, number and later.uniform(0, BEGIN_S))
        for number in range(BEGINS)
    ]


def simulated(case: Case, congestion: str, seed: int, times: Times, later_s: float) -> dict[str, float]:
    keys = {
        "flow.0.transport.congestion": congestion,
        "flow.0.start": f"{round((times.start_s + later_s) * 1e9)} ns",
        "flow.0.stop": f"{round((times.stop_s + later_s) * 1e9)} ns",
        "run.duration": f"{round((times.end_s + later_s) * 1e9)} ns",
        "run.seed": seed,
        "run.warmup": "0 s",  # a live run has none
        "flow.0.transport.write_size": f"{len(live_apps.WRITE)} B",
    }
    flows = case.scenario.set(keys).run().tables["flows"].to_pylist()
    real = next(row for row in flows if row["flow"] == "real")
    return {key: real[key] for key in BOUNDS}


def read(report: Path) -> list[Row]:
    """The rows of a report."""
    rows = []
    for one in json.loads(report.read_text(encoding="utf-8")):
        pairs = [Pair(p["seed"], Times(**p["times"]), p["live"], p["virtual"]) for p in one["pairs"]]
        rows.append(Row(one["scenario"], one["congestion"], pairs, one["invalid"], one["failed"]))
    return rows


def compare(case: Case, row: Row, repeats: int, options: list[str]) -> Row:
    """Add pairs to a row."""
    congestion = row.congestion
    for number in range(len(row.pairs), len(row.pairs) + repeats):
        seed = 1 + (number if case.drawn else 0)
        for _ in range(TRIES):
            try:
                figures, times = live(case, congestion, seed, options)
            except InvalidError:
                row.invalid += 1
                continue
            except RuntimeError as failed:
                row.failed = str(failed)
                return row
            row.pairs.append(Pair(seed, times, figures, virtual(case, congestion, seed, times)))
            break
    return row


def show(rows: list[Row]) -> None:
    console = Console(width=None if sys.stdout.isatty() else 160)
    table = Table(
        title="kernel through airlane live, and airlane run: goodput in Mbit/s, one-way delay in ms"
    )
    headings = "scenario|TCP|n|goodput live|virtual|diff|OWD live|virtual|diff|p95 live|virtual|diff|"
    for heading in headings.split("|"):
        table.add_column(heading, justify="left" if heading in ("scenario", "TCP", "") else "right")
    for row in rows:
        cells = []
        for key in BOUNDS:
            cells += list(columns(row, key)) if row.pairs else ["–", "–", "–"]
        table.add_row(row.scenario, row.congestion, str(len(row.pairs)), *cells, row.overall)
    console.print(table)
    counted = {word: sum(row.overall == word for row in rows) for word in ("agrees", "undecided", "differs")}
    console.print(", ".join(f"{count} {word}" for word, count in counted.items()))
    if invalid := sum(row.invalid for row in rows):
        console.print(f"{invalid} live runs were disturbed by the host and do not count.")


def columns(row: Row, key: str) -> Iterator[str]:
    ours, theirs = row.means(key)
    difference = row.difference(key)
    relative = difference.mean / theirs if key == "goodput_mbps" else None
    yield f"{ours:.2f}"
    yield f"{theirs:.2f}"
    text = f"{relative:+.1%}" if relative is not None else f"{difference.mean:+.2f}"
    half = difference.half_width
    if half is not None and not math.isnan(half):
        text += f" ±{half / theirs:.1%}" if relative is not None else f" ±{half:.2f}"
    yield text


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", nargs="*", help="scenarios whose name contains one of these")
    arguments.add_argument("--congestion", nargs="*", default=list(NAMES), choices=list(NAMES))
    arguments.add_argument("--repeats", type=int, default=3, help="pairs of each row")
    arguments.add_argument("--fifo", action="store_true", help="live with SCHED_FIFO")
    arguments.add_argument("--add", type=Path, metavar="REPORT", help="add the pairs to those of a report")
    arguments.add_argument("-o", "--output", type=Path, default=Path("out/agreement.json"))
    chosen = arguments.parse_args()
    kept = {(row.scenario, row.congestion): row for row in (read(chosen.add) if chosen.add else [])}
    files = sorted((HERE / "agreement").glob("*.toml"))
    cases = [
        Case(path) for path in files if not chosen.only or any(text in path.stem for text in chosen.only)
    ]
    options = ["--fifo"] if chosen.fifo else []
    for case in cases:
        for congestion in chosen.congestion:
            print(f"{case.path.stem}, {congestion}", file=sys.stderr, flush=True)
            row = kept.setdefault((case.path.stem, congestion), Row(case.path.stem, congestion))
            compare(case, row, chosen.repeats, options)
    rows = list(kept.values())
    show(rows)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    report = [asdict(row) | {"verdict": row.overall} for row in rows]
    chosen.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"written to {chosen.output}", file=sys.stderr)
    return int(any(row.overall not in ("agrees", "undecided") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
