"""The cost of a guest kernel: `python bench/kernel.py`, with a kernel of `airlane kernel build`.

Each row is a run. Events are turns of the guest, notifications about packets that it has sent, interrupts
for packets to it, and messages of its clock; the last column is the wall time of each packet.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

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
_FLOW = """\
[[flow]]
start = "{start_ms} ms"
app = {app}
transport = {{ kind = "kernel", kernel = "{kernel}", congestion = "{congestion}" }}
"""


@dataclass(frozen=True)
class Case:
    """A run: flows over a link of 75 Mbit/s with a round trip of 60 ms and a queue of 371 packets."""

    name: str
    seconds: int
    flows: int = 1
    congestion: str = "cubic"
    app: str = '"bulk"'

    def text(self, kernel: str) -> str:
        """The scenario."""
        flow = [
            _FLOW.format(start_ms=100 * turn, app=self.app, kernel=kernel, congestion=self.congestion)
            for turn in range(self.flows)
        ]
        return _LINK.format(seconds=self.seconds) + "".join(flow)


CASES = (
    Case("one flow, CUBIC", 20),
    Case("one flow, BBR", 20, congestion="bbr"),
    Case("ten flows, CUBIC", 20, flows=10),
    Case("idle after 100 kB", 10_000, app='{ kind = "fixed", size = "100 kB" }'),
)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", default="6.12")
    kernel = parser.parse_args().kernel
    print(
        f"{'run':<20} {'virtual s':>9} {'wall s':>7} {'per s':>8} {'turns':>8} {'kicks':>8} "
        f"{'interrupts':>10} {'clock':>8} {'packets':>8} {'us each':>8}"
    )
    for case in CASES:
        results = airlane.loads(case.text(kernel)).set({"run.series_bin": "1 s"}).run(threads=1)
        meta = results.meta[0]
        guest = meta["kernel"]["guests"][0]
        packets = guest["sent"] + guest["received"]
        wall = meta["wall_s"]
        print(
            f"{case.name:<20} {meta['sim_s']:>9.0f} {wall:>7.2f} {meta['sim_s'] / wall:>8.1f} "
            f"{guest['turns']:>8} {guest['kicks']:>8} {guest['interrupts']:>10} "
            f"{guest['clock_messages']:>8} {packets:>8} {wall * 1e6 / packets:>8.1f}"
        )


if __name__ == "__main__":
    main()
