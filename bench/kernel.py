"""The cost of a guest kernel: `python bench/kernel.py`, with a kernel of `airlane kernel build`.

Each row is a run. Events are turns of the guest, notifications about packets that it has sent, interrupts
for packets to it, and messages of its clock; the last column is the wall time of each packet. A packet
between two ends in guests is counted twice, when it is sent and when it arrives.

The second table has the CPU time of each packet, which does not count the time that others used the core:
that of the run's own thread and of the guest's kernel, each in its code and in system calls. Of the
processes inside the guest, which are processes of the machine too, only those that have ended are counted.
Changes are those from the run's thread to another one: each turn and each notification needs one.
"""

from __future__ import annotations

import argparse
import resource
from dataclasses import astuple, dataclass
from typing import Any

import airlane

_LINK = """\
network = "wired"
[run]
duration = "{seconds} s"
[internet]
rate = "75 Mbit/s"
delay = "30 ms"
queue = "561694 B"
"""
_DRIVE = """\
network = "typical"
[run]
duration = "{seconds} s"
[[cell]]
name = "a"
resource_blocks = 100
rlc = {{ mode = "am", buffer = "512 KiB", aqm = "drop-tail" }}
[channel]
fading = {{ model = "eva", speed = "60 km/h" }}
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
mobility = {{ kind = "line", towards = ["1100 m", "0 m"], speed = "60 km/h" }}
"""
_FLOW = """\
[[flow]]
{to}start = "{start_ms} ms"
app = {app}
transport = {{ kind = "kernel", kernel = "{kernel}", congestion = "{congestion}" }}
"""


@dataclass(frozen=True)
class Case:
    """A run: flows over a link of 75 Mbit/s with a round trip of 60 ms and a queue of 371 packets.

    Or a flow to a phone that is driven through a fading LTE cell (`scenarios/lte-drive.toml`).
    """

    name: str
    seconds: int
    flows: int = 1
    congestion: str = "cubic"
    app: str = '"bulk"'
    drive: bool = False

    def text(self, kernel: str) -> str:
        """The scenario."""
        to = 'to = "phone"\n' if self.drive else ""
        flow = [
            _FLOW.format(to=to, start_ms=100 * turn, app=self.app, kernel=kernel, congestion=self.congestion)
            for turn in range(self.flows)
        ]
        network = _DRIVE if self.drive else _LINK
        return network.format(seconds=self.seconds) + "".join(flow)


CASES = (
    Case("one flow, CUBIC", 20),
    Case("one flow, BBR", 20, congestion="bbr"),
    Case("ten flows, CUBIC", 20, flows=10),
    Case("drive, CUBIC", 20, drive=True),
    Case("idle after 100 kB", 10_000, app='{ kind = "fixed", size = "100 kB" }'),
)


@dataclass(frozen=True)
class Usage:
    """CPU seconds of this process and of those that it has waited for, and changes to another thread."""

    own: float
    own_system: float
    guest: float
    guest_system: float
    changes: float

    @staticmethod
    def now() -> Usage:
        """Until now."""
        own = resource.getrusage(resource.RUSAGE_SELF)
        guest = resource.getrusage(resource.RUSAGE_CHILDREN)
        return Usage(own.ru_utime, own.ru_stime, guest.ru_utime, guest.ru_stime, own.ru_nvcsw)

    def since(self, begin: Usage) -> Usage:
        """The difference."""
        pairs = zip(astuple(self), astuple(begin), strict=True)
        return Usage(*(end - start for end, start in pairs))


@dataclass(frozen=True)
class Measured:
    """A run of a case."""

    case: Case
    meta: dict[str, Any]
    used: Usage

    @staticmethod
    def of(case: Case, kernel: str) -> Measured:
        """Run it."""
        scenario = airlane.loads(case.text(kernel)).set({"run.series_bin": "1 s"})
        begin = Usage.now()
        results = scenario.run(threads=1)
        return Measured(case, results.meta[0], Usage.now().since(begin))

    @property
    def guest(self) -> dict[str, Any]:
        """Counts of the guest."""
        found: dict[str, Any] = self.meta["kernel"]["guests"][0]
        return found

    @property
    def packets(self) -> int:
        """Packets of the guest, in both directions."""
        return int(self.guest["sent"] + self.guest["received"])

    def counts(self) -> str:
        """The row of the first table."""
        virtual, wall, guest = self.meta["sim_s"], self.meta["wall_s"], self.guest
        return (
            f"{self.case.name:<20} {virtual:>9.0f} {wall:>7.2f} {virtual / wall:>8.1f} "
            f"{guest['turns']:>8} {guest['kicks']:>8} {guest['interrupts']:>10} "
            f"{guest['clock_messages']:>8} {self.packets:>8} {wall * 1e6 / self.packets:>8.1f}"
        )

    def costs(self) -> str:
        """The row of the second table."""
        used = self.used
        parts = (used.own, used.own_system, used.guest, used.guest_system)
        us = "".join(f" {1e6 * part / self.packets:>13.2f}" for part in (*parts, sum(parts)))
        cpu_s = self.meta["sim_s"] / sum(parts)
        return f"{self.case.name:<20}{us} {used.changes / self.packets:>8.2f} {cpu_s:>9.1f}"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.12")
    parser.add_argument("cases", nargs="*", type=int, metavar="CASE", help=f"1 to {len(CASES)}")
    arguments = parser.parse_args()
    if wrong := [number for number in arguments.cases if not 1 <= number <= len(CASES)]:
        parser.error(f"CASE {wrong[0]}: there are the cases 1 to {len(CASES)}")
    chosen = [CASES[number - 1] for number in arguments.cases] or CASES
    print(
        f"{'run':<20} {'virtual s':>9} {'wall s':>7} {'per s':>8} {'turns':>8} {'kicks':>8} "
        f"{'interrupts':>10} {'clock':>8} {'packets':>8} {'us each':>8}"
    )
    runs = []
    for case in chosen:
        runs.append(Measured.of(case, arguments.kernel))
        print(runs[-1].counts(), flush=True)
    names = ("simulation", "its calls", "guest", "guest's calls", "all")
    print("\nus of CPU for each packet")
    print(f"{'run':<20}" + "".join(f" {name:>13}" for name in names) + f" {'changes':>8} {'per CPU s':>9}")
    for run in runs:
        print(run.costs())


if __name__ == "__main__":
    main()
