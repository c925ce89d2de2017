"""The simulated Multipath TCP compared with that of a Linux kernel, over the same paths in virtual time.

    $ .venv/bin/python evidence/kernel_paths.py --seeds 3
    $ .venv/bin/python evidence/kernel_paths.py --only long --scheduler min-rtt --markdown

Each row is a situation with both as the two ends of one flow, with the same congestion control on each path:
the table of docs/paths.md. Linux couples no windows, and neither does the simulated one here, whose scheduler
is Linux's, or the one of `--scheduler`. It needs a
kernel with Multipath TCP (`airlane kernel build 6.12`), and some minutes.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Iterable
from dataclasses import dataclass

import airlane

LOST_S = 5.0
"""When a path is lost, in the situations in which one is."""

BASE = """\
network = "wired"
[run]
duration = "{duration}"
[internet]
rate = "{first_rate}"
delay = "{first_delay}"
queue = "{queue}"
uplink_rate = "500 Mbit/s"
[[link]]
name = "wifi"
rate = "{rate}"
delay = "{delay}"
queue = "{queue}"
uplink_rate = "500 Mbit/s"
{link}
[[flow]]
transport = {transport}
"""


@dataclass(frozen=True)
class Situation:
    """A situation.

    Attributes
    ----------
    name
        Its name on the command line.
    paths
        Rates and one-way delays of both paths, `internet` and `wifi`.
    order
        The paths of the connection, the first first.
    backup
        Whether the second of them is a backup.
    buffer
        Largest receive buffer in bytes; autotuned up to 6 MiB without.
    """

    name: str
    paths: tuple[tuple[str, str], tuple[str, str]]
    order: tuple[str, str] = ("internet", "wifi")
    backup: bool = False
    lost: bool = False
    buffer: int | None = None
    queue: str = "256 KiB"

    def scenario(self, scheduler: str | None, control: str) -> str:
        """The scenario with the simulated one at the ends of its flow, or the kernel without a scheduler."""
        (first_rate, first_delay), (rate, delay) = self.paths
        return BASE.format(
            duration="20 s",
            first_rate=first_rate,
            first_delay=first_delay,
            rate=rate,
            delay=delay,
            queue=self.queue,
            link=f'coverage = [{{ from = "0 s", until = "{LOST_S:g} s" }}]' if self.lost else "",
            transport=self._ours(scheduler, control) if scheduler else self._kernel(control),
        )

    def _paths(self) -> str:
        names = ", ".join(f'"{name}"' for name in self.order)
        backup = f', backup = ["{self.order[1]}"]' if self.backup else ""
        return f"paths = [{names}]{backup}"

    def _kernel(self, control: str) -> str:
        sysctl = f', sysctl = {{ tcp_rmem = "4096 131072 {self.buffer}" }}' if self.buffer else ""
        plain = "gro = false, gso = false"  # the simulated Multipath TCP has no offloads
        mptcp = f"mptcp = {{ {self._paths()} }}"
        return f'{{ kind = "kernel", congestion = "{control}", {plain}, {mptcp}{sysctl} }}'

    def _ours(self, scheduler: str, control: str) -> str:
        own = {"reno": "newreno"}.get(control, control)
        window = (
            f', receive_window = {{ kind = "autotuned", max = "{self.buffer} B" }}' if self.buffer else ""
        )
        tcp = f'{{ congestion = "{own}"{window} }}'
        return f'{{ kind = "mptcp", scheduler = "{scheduler}", {self._paths()}, tcp = {tcp} }}'


SITUATIONS = (
    Situation("equal", (("20 Mbit/s", "20 ms"), ("20 Mbit/s", "20 ms"))),
    Situation("unlike", (("10 Mbit/s", "20 ms"), ("50 Mbit/s", "10 ms"))),
    Situation(
        "long",
        (("10 Mbit/s", "100 ms"), ("50 Mbit/s", "10 ms")),
        buffer=1_000_000,
    ),
    Situation(
        "lost",
        (("20 Mbit/s", "20 ms"), ("20 Mbit/s", "20 ms")),
        lost=True,
    ),
    Situation(
        "backup",
        (("10 Mbit/s", "20 ms"), ("20 Mbit/s", "20 ms")),
        order=("wifi", "internet"),
        backup=True,
        lost=True,
    ),
)


@dataclass(frozen=True)
class Side:
    """The results of one of the two, in each run.

    Attributes
    ----------
    goodput
        Mbit/s of the connection.
    second
        Share of its second path in %.
    pause
        Longest time without new data in order, in ms.
    repeated
        Share of the data that was given to another path again, in %.
    """

    goodput: list[float]
    second: list[float]
    pause: list[float]
    repeated: list[float]


def measure(situation: Situation, scheduler: str | None, control: str, seeds: int) -> Side:
    """Run a situation with the simulated one, or with the kernel."""
    results = airlane.loads(situation.scenario(scheduler, control)).run(runs=seeds)
    rows = results.tables["paths"].to_pylist()
    flows = results.flows.to_pylist()
    by_run = [[row for row in rows if row["run"] == run] for run in range(seeds)]
    return Side(
        goodput=[flow["goodput_mbps"] for flow in flows],
        second=[paths[1]["share_percent"] for paths in by_run],
        pause=[max(path["pause_max_ms"] for path in paths) for paths in by_run],
        repeated=[
            100 * sum(path["reinjected_bytes"] for path in paths) / flow["bytes_delivered"]
            for paths, flow in zip(by_run, flows, strict=True)
        ],
    )


def shown(values: list[float], digits: int) -> str:
    """The median, and the range where it is one."""
    low, middle, high = (f"{one:.{digits}f}" for one in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low} to {high})"


def table(
    situations: Iterable[Situation], controls: Iterable[str], scheduler: str, seeds: int
) -> list[list[str]]:
    """The rows of the table, each as its cells: figures are those of Linux / ours."""
    rows = []
    for situation in situations:
        for control in controls:
            linux, ours = (measure(situation, of, control, seeds) for of in (None, scheduler))
            cells = [f"`{situation.name}`", control]
            for name, digits in (("goodput", 1), ("second", 0), ("pause", 0), ("repeated", 2)):
                cells.append(" / ".join(shown(getattr(of, name), digits) for of in (linux, ours)))
            rows.append(cells)
            print("  ".join(cells), flush=True)
    return rows


HEAD = (
    "paths",
    "control",
    "goodput, Mbit/s",
    "share of the second path, %",
    "longest pause, ms",
    "sent again on another path, %",
)


def _main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=[one.name for one in SITUATIONS], action="append")
    parser.add_argument("--control", choices=["reno", "cubic", "bbr"], action="append")
    parser.add_argument("--scheduler", default="linux", help="of the simulated one [default: linux]")
    parser.add_argument("--markdown", action="store_true", help="print the table of docs/paths.md")
    options = parser.parse_args()
    chosen = [one for one in SITUATIONS if not options.only or one.name in options.only]
    rows = table(chosen, options.control or ["reno", "cubic"], options.scheduler, options.seeds)
    if options.markdown:
        print(f"| {' | '.join(HEAD)} |\n|---|---|{'---:|' * (len(HEAD) - 2)}")
        for row in rows:
            print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    _main()
