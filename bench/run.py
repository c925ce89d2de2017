"""Whole scenarios compared with ns-3: same run, same core, in turn, medians. `make bench` runs this.

A ratio is printed only where both sides carry the same load, since a simulator that delivers less has less to
do. Rounds alternate over all scenarios, so that a slow minute of a shared machine affects both sides equally.
The result is written to `out/bench.json`.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

import airlane
import budgets
import cities
import hotspots
import journey
import micro
import peer
import scaling
import threads
from airlane import native
from airlane.runs import json_files
from airlane.validation.cell import LenaCell, positions

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
sys.path.append(str(DOCS))

import bench_tables  # noqa: E402

RECORD = DOCS / "results" / "bench.json"
SAME_LOAD = 0.03
QUIET_SHARE = 0.95
WARMUP_S = 2.0


@dataclass
class Scenario:
    """Cells that both sides run, and the results of the runs."""

    ues: int
    """The number of UEs in each cell."""
    traffic: str
    ours_s: float
    peer_s: float | None
    fading: str = "none"
    speed_kmph: float = 0.0
    rlc: str = "um"
    cells: int = 1
    """7 or 19 cells on one carrier, 500 m apart."""
    example: str | None = None
    """A bundled scenario, instead of a cell made from the rest."""
    file: str | None = None
    """A file of this folder, instead."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Settings of the bundled scenario."""
    budget: float | None = None
    """Target for the simulated seconds per second, where there is no peer to compare with."""
    ours: list[peer.Measured] = field(default_factory=list)
    theirs: list[peer.Measured] = field(default_factory=list)

    @property
    def name(self) -> str:
        if self.example or self.file:
            return self.example or f"nr-{Path(self.file).stem}"
        fading = f"-{self.fading}" if self.fading != "none" else ""
        cells = f"-{self.cells}cells" if self.cells > 1 else ""
        return f"{self.traffic}-{self.rlc}{cells}-{self.ues}ue{fading}"

    @property
    def sites(self) -> peer.Places:
        return cities.hexagon(self.cells)

    @property
    def places(self) -> peer.Places:
        return positions(self.ues) if self.cells == 1 else cities.around(self.sites, self.ues)

    @property
    def offered_mbps(self) -> float:
        """Load over UDP: twice the rate of a cell of 20 MHz, for each cell."""
        return 150.0 * self.cells

    def run_ours(self) -> None:
        resolved = self.resolved()
        busy = time.process_time()
        (output,) = native.run([(resolved, 1)], 1)
        busy = time.process_time() - busy
        flows, meta = output.tables["flows"], output.meta
        self.ours.append(
            peer.Measured(
                sim_s=meta["sim_s"],
                wall_s=meta["wall_s"],
                # A flow that ended before the measurement, or starts after the end, has none.
                goodput_mbps=sum(g for g in flows["goodput_mbps"].to_pylist() if not math.isnan(g)),
                events=meta["events"],
                cpu_s=busy,
            )
        )

    def resolved(self) -> native.Resolved:
        if self.example or self.file:
            place = airlane.example(self.example) if self.example else HERE / self.file
            scenario = airlane.load(place)
            return scenario.set({"run.duration": f"{self.ours_s:g} s", **self.settings}).resolved
        cell = LenaCell(
            places=self.places,
            sites=self.sites,
            traffic=self.traffic,
            offered_mbps=self.offered_mbps,
            rlc=self.rlc,
            fading=self.fading,
            speed_kmph=self.speed_kmph,
            warmup_s=WARMUP_S,
            duration_s=self.ours_s,
        )
        return cell.scenario().resolved

    def run_peer(self, limit_s: float) -> bool:
        """False when the time did not suffice."""
        if self.peer_s is None:
            return True
        measured = peer.run(
            self.sites, self.places, self.traffic, self.rlc, self.offered_mbps, self.peer_s, limit_s
        )
        if measured is not None:
            self.theirs.append(measured)
        return measured is not None

    def row(self) -> dict[str, object]:
        row: dict[str, object] = {
            "name": self.name,
            "ours_sim_s_per_s": median(m.sim_s_per_s for m in self.ours),
            "ns3_sim_s_per_s": median(m.sim_s_per_s for m in self.theirs),
            "ratio": None,
            "budget_sim_s_per_s": self.budget,
            "ours_sim_s_per_cpu_s": median(m.sim_s / m.cpu_s for m in self.ours),
            "ours_goodput_mbps": median(m.goodput_mbps for m in self.ours),
            "ns3_goodput_mbps": median(m.goodput_mbps for m in self.theirs),
            "ours_packets_per_s": median(m.packets_per_s for m in self.ours),
            "ns3_packets_per_s": median(m.packets_per_s for m in self.theirs),
            "ours_events_per_s": median(m.events / m.wall_s for m in self.ours),
            "ours_core_share": median(m.core_share for m in self.ours),
            "ns3_core_share": median(m.core_share for m in self.theirs),
            "ours_runs": [round(m.sim_s_per_s, 4) for m in self.ours],
            "ns3_runs": [round(m.sim_s_per_s, 4) for m in self.theirs],
            "note": "",
        }
        if not self.theirs:
            row["note"] = f"budget {self.budget:g}" if self.budget else "ours alone"
        elif abs(row["ours_goodput_mbps"] / row["ns3_goodput_mbps"] - 1) <= SAME_LOAD:
            row["ratio"] = row["ours_sim_s_per_s"] / row["ns3_sim_s_per_s"]
        else:
            row["note"] = "not the same load"
        return row


def median(values) -> float | None:
    values = list(values)
    return statistics.median(values) if values else None


# Runs in each round of a scenario that the peer does not run.
ALONE = 3

SCENARIOS = [
    Scenario(1, "udp", ours_s=200, peer_s=5),
    Scenario(1, "tcp", ours_s=200, peer_s=5),
    Scenario(20, "udp", ours_s=60, peer_s=4),
    Scenario(20, "tcp", ours_s=60, peer_s=4),
    Scenario(100, "udp", ours_s=40, peer_s=3),
    Scenario(100, "tcp", ours_s=40, peer_s=3),
    # Interference among the cells of a hexagonal grid.
    Scenario(10, "tcp", ours_s=20, peer_s=3, cells=7),
    Scenario(10, "tcp", ours_s=10, peer_s=3, cells=19),
    # ns-3's fading traces are not in its packages, so these have no peer.
    Scenario(20, "tcp", ours_s=40, peer_s=None, fading="eva", speed_kmph=60, budget=200),
    Scenario(100, "tcp", ours_s=20, peer_s=None, fading="eva", speed_kmph=60, budget=60),
    # Interference and handover among 19 cells.
    Scenario(190, "tcp", ours_s=60, peer_s=None, example="urban-19", budget=15),
    # 5G NR: 100 MHz with TDD and four layers.
    Scenario(1, "tcp", ours_s=20, peer_s=None, example="nr-download", budget=25),
    Scenario(20, "tcp", ours_s=20, peer_s=None, example="nr-20ue", budget=20),
    Scenario(1, "tcp", ours_s=6, peer_s=None, file="4carriers.toml", budget=10),
    Scenario(570, "cbr", ours_s=2, peer_s=None, example="nr-urban-57", budget=1),
    # quinn's QUIC at 15 Mbit/s over a wire.
    Scenario(1, "tcp", ours_s=100, peer_s=None, example="quic-wired", budget=300),
    # Ten thousand phones, two of them of the scenario itself, with a message a minute.
    Scenario(
        10_000,
        "udp",
        ours_s=60,
        peer_s=None,
        example="phones-asleep",
        settings={"ue.0.count": 9_998, "flow.0.app.off.mean": "60 s", "run.series_bin": "1 s"},
        budget=50,
    ),
]


def pin() -> int:
    """Keep this process and all it starts on one core; the last, since interrupts favour the first."""
    core = max(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {core})
    return core


def measure(rounds: int, budget_s: float, with_peer: bool) -> None:
    """Rounds over all scenarios, ours and the peer's in turn, until rounds or time are used up."""
    deadline = time.monotonic() + budget_s
    for turn in range(rounds):
        began = time.monotonic()
        for scenario in SCENARIOS:
            print(f"round {turn + 1}: {scenario.name}", file=sys.stderr, flush=True)
            # Without a peer, its part of a round is used for more runs: they last a fraction of a second to
            # some seconds, and other load on the machine lasts longer.
            for _ in range(1 if scenario.peer_s else ALONE):
                scenario.run_ours()
            if with_peer and not scenario.run_peer(max(10.0, deadline - time.monotonic())):
                print(f"  ns-3 stopped: over the time of the whole bench ({budget_s:g} s)", file=sys.stderr)
        if deadline - time.monotonic() < time.monotonic() - began:
            print(f"{turn + 1} of {rounds} rounds: no time for another in {budget_s:g} s", file=sys.stderr)
            break


def show(rows: list[dict[str, object]], cost: dict[str, object], core: int) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(
        title=f"simulated seconds per second of wall time, one core; peer: {peer.BUILD_NAME}",
        title_justify="left",
    )
    headings = "scenario|ours|ns-3|ratio|ours Mbit/s|ns-3 Mbit/s|ours packets/s|ns-3 packets/s|runs|"
    for heading in headings.split("|"):
        table.add_column(heading, justify="left" if heading in ("scenario", "") else "right")
    for row in rows:
        table.add_row(
            str(row["name"]),
            text(row["ours_sim_s_per_s"], ".1f"),
            text(row["ns3_sim_s_per_s"], ".3f"),
            text(row["ratio"], ".0f", "×"),
            text(row["ours_goodput_mbps"], ".2f"),
            text(row["ns3_goodput_mbps"], ".2f"),
            text(row["ours_packets_per_s"], ",.0f"),
            text(row["ns3_packets_per_s"], ",.0f"),
            f"{len(row['ours_runs'])}/{len(row['ns3_runs'])}",
            str(row["note"]),
        )
    console.print(table)
    instructions = text(cost["instructions_per_packet"], ",.0f")
    console.print(
        f"A packet, server to UE and its ACK back, with its share of the slots: {instructions} instructions, "
        f"{cost['events_per_packet']} events, {cost['ns_per_packet']} ns ({cost['method']}). "
        f"{cost.get('note', '')}"
    )
    if (share := shared(rows)) is not None:
        console.print(
            f"The core was not ours alone: some median run had only {share:.0%} of it. Both sides "
            "took turns, but measure again on a quiet machine."
        )
    console.print(f"core {core} of {platform.processor() or platform.machine()}, {os.cpu_count()} cores")


def shared(rows: list[dict]) -> float | None:
    """The least share of the core that a median run had; None if all had it for themselves."""
    keys = ("ours_core_share", "ns3_core_share")
    least = min(row[key] for row in rows for key in keys if row[key] is not None)
    return None if least >= QUIET_SHARE else least


def hot_modules() -> list[dict] | str:
    """Modules with the most instructions in a cell of 20 UEs with fading, or why they are not known."""
    cell = LenaCell(
        places=positions(20), traffic="tcp", fading="eva", speed_kmph=60, warmup_s=WARMUP_S, duration_s=6
    )
    found = hotspots.shares(cell)
    return found if isinstance(found, str) else [{"module": name, "share": share} for name, share in found]


def show_growth(growth: list[dict], memory: dict[str, int] | str) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    table = Table(title="CPU ms per simulated second, TCP to every UE of one cell", title_justify="left")
    table.add_column("fading")
    for ues in growth[0]["ues"]:
        table.add_column(f"{ues} UE", justify="right")
    table.add_column("exponent", justify="right")
    for line in growth:
        costs = [f"{cost:.2f}" for cost in line["cpu_ms_per_sim_s"]]
        table.add_row(line["fading"], *costs, f"{line['exponent']:.2f}")
    console.print(table)
    console.print(f"Exponent from {growth[0]['fitted_from_ues']} UEs on. Bytes for an idle UE: {memory}")


def show_towns(towns: list[dict]) -> None:
    for line in towns:
        pairs = zip(line["counts"], line["cpu_ms_per_sim_s"], strict=True)
        costs = ", ".join(f"{count}: {cost:,.0f}" for count, cost in pairs)
        print(f"CPU ms per simulated second over {line['over']}: {costs}; exponent {line['exponent']:.2f}")


def large_networks() -> dict[str, list[dict]]:
    """Measure and print the cost of cells, and the gain of threads."""
    towns = scaling.towns()
    show_towns(towns)
    several = threads.ratios()
    for row in several:
        print(f"{row['name']}: {row['threads']} threads are {row['ratio']:.2f} times as fast as one")
    return {"towns": towns, "threads": several}


def show_instructions(rows: list[dict] | str) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    if isinstance(rows, str):
        console.print(f"Instructions: not counted ({rows})")
        return
    table = Table(title="instructions, by the difference of two run lengths", title_justify="left")
    for heading in ("work", "instructions", "budget", "aim"):
        table.add_column(heading, justify="left" if heading == "work" else "right")
    for cells in instruction_cells(rows):
        table.add_row(*cells)
    console.print(table)


def instruction_cells(rows: list[dict]) -> list[list[str]]:
    """The cells of the table of instructions."""
    keys = ("instructions", "budget", "aim")
    return [[str(row["name"]), *(bench_tables.count(row[key]) for key in keys)] for row in rows]


def in_place(known: list[dict], measured: list[dict]) -> list[dict]:
    """Known rows, those that were measured again replaced by name, and new ones after them."""
    new = {row["name"]: row for row in measured}
    return [new.pop(row["name"], row) for row in known] + list(new.values())


def show_micro(rows: list[dict] | str) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    if isinstance(rows, str):
        console.print(f"Small pieces of work: not measured ({rows})")
        return
    table = Table(
        title="small pieces of work (criterion), built without link-time optimisation", title_justify="left"
    )
    for heading in ("work", "median", "budget"):
        table.add_column(heading, justify="left" if heading == "work" else "right")
    for row in rows:
        table.add_row(str(row["name"]), nanoseconds(row["median_ns"]), nanoseconds(row["budget_ns"]))
    console.print(table)


def nanoseconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:,.1f} ns" if value < 1e3 else f"{value / 1e3:,.1f} µs"


def cpu_model() -> str:
    """The processor's model name."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else "processor unknown"


def text(value: object, form: str, suffix: str = "") -> str:
    return "–" if value is None else f"{value:{form}}{suffix}"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--budget", type=float, default=330.0, help="seconds for all rounds")
    arguments.add_argument("--no-ns3", action="store_true", help="ours alone")
    arguments.add_argument("--only", help="scenarios whose name contains this")
    arguments.add_argument("--write", action="store_true", help="write docs/results/bench.json, too")
    arguments.add_argument(
        "--instructions", action="store_true", help="only these: they do not depend on load"
    )
    arguments.add_argument("-o", "--output", type=Path, default=Path("out/bench.json"))
    chosen = arguments.parse_args()

    if chosen.instructions:
        counted = budgets.rows()
        show_instructions(counted)
        if chosen.write and not isinstance(counted, str):
            json_files.write(RECORD, json_files.read(RECORD) | {"instructions": counted})
        return 0
    absent = "left out by --no-ns3" if chosen.no_ns3 else peer.prepare()
    if absent:
        print(f"ns-3: {absent}; ours alone follows", file=sys.stderr)
    core = pin()
    cost = journey.cost()
    if chosen.only:
        SCENARIOS[:] = [s for s in SCENARIOS if chosen.only in s.name]
    measure(chosen.rounds, chosen.budget, with_peer=not absent)
    rows = [scenario.row() for scenario in SCENARIOS]
    show(rows, cost, core)
    growth = [scaling.series(fading) for fading in ("none", "eva")]
    memory = scaling.idle_ue_bytes()
    show_growth(growth, memory)
    large = large_networks()
    counted = budgets.rows()
    show_instructions(counted)
    small = micro.medians()
    show_micro(small)
    flow_bytes = micro.pep_flow_bytes()
    print(f"A PEP takes {flow_bytes or 'an unknown number of'} bytes for each flow that it watches.")
    report = {
        "scenarios": rows,
        "journey": cost,
        "scaling": growth,
        **large,
        "idle_ue_bytes": memory,
        "instructions": counted,
        "micro": small,
        "pep_flow_bytes": flow_bytes,
        "peer": absent or peer.BUILD_NAME,
        "same_load_within": SAME_LOAD,
        "core_share": shared(rows),
        "host": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "core": core,
            "cores": os.cpu_count(),
            "processor": cpu_model(),
        },
    }
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    print(f"written to {chosen.output}", file=sys.stderr)
    if chosen.write:
        known = json_files.read(RECORD)["scenarios"] if chosen.only else []
        scenarios = in_place(known, rows)
        json_files.write(RECORD, report | {"scenarios": scenarios, "hotspots": hot_modules()})
        print(f"written to {RECORD}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
