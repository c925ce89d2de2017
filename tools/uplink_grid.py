"""Goodput at the power limit of a UE, over distance and bandwidth: a wider carrier never gives less.

`.venv/bin/python tools/uplink_grid.py` prints the table of docs/howto/uplink.md and draws its picture,
docs/images/uplink-grid.png. It fails if a point has less goodput than one with a narrower carrier, by
more than the 95 % intervals of both. `--runs N` sets the runs of a point.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import airlane
from airlane import plot, stats

PICTURE = Path(__file__).resolve().parent.parent / "docs/images/uplink-grid.png"

SCENARIO = """
network = "{network}"
[run]
duration = "6 s"
[[cell]]
name = "cell"
resource_blocks = {blocks}
[[ue]]
name = "phone"
position = ["{metres} m", "0 m"]
[[flow]]
name = "flow"
to = "phone"
direction = "{direction}"
transport = "{transport}"
app = {app}
"""

RATES = {"uplink": "60 Mbit/s", "downlink": "300 Mbit/s"}
"""More than a cell carries at these distances."""


@dataclass(frozen=True)
class Row:
    """The points of one distance and flow, over all bandwidths."""

    network: str
    metres: int
    direction: str
    transport: str


@dataclass(frozen=True)
class Point:
    """A bandwidth, its goodput, and the share of the first uplink transmissions that failed."""

    blocks: int
    goodput: stats.Estimate
    uplink_bler: float


GRID: dict[str, tuple[Sequence[int], Sequence[int]]] = {
    "typical": ((800, 1500, 2000), (15, 25, 50, 75, 100)),
    "nr-typical-fr1": ((300, 600, 900), (11, 51, 106, 162, 273)),
    "nr-fdd-lowband": ((2500, 3000), (25, 52, 106)),
}
"""Distances in metres and bandwidths in resource blocks of each network."""

FLOWS = (("uplink", "udp"), ("uplink", "tcp"), ("downlink", "udp"), ("downlink", "tcp"))


def rows() -> Iterator[Row]:
    """The rows of the grid."""
    for network, (distances, _) in GRID.items():
        for direction, transport in FLOWS:
            yield from (Row(network, metres, direction, transport) for metres in distances)


def measured(row: Row, blocks: int, runs: int) -> Point:
    """One point of a row."""
    rate = RATES[row.direction]
    udp = f'{{ kind = "cbr", rate = "{rate}", payload = "1400 B" }}'
    text = SCENARIO.format(
        network=row.network,
        blocks=blocks,
        metres=row.metres,
        direction=row.direction,
        transport=row.transport,
        app=udp if row.transport == "udp" else '"bulk"',
    )
    results = airlane.loads(text).run(runs=runs, seed=1)
    goodput = stats.estimate(results.flows["goodput_mbps"].to_numpy())
    return Point(blocks, goodput, float(results.cells["bler_first_uplink"].to_numpy().mean()))


def falls(points: Sequence[Point]) -> Iterator[str]:
    """The points with less goodput than a narrower one, by more than both intervals."""
    for place, wide in enumerate(points):
        for narrow in points[:place]:
            margin = sum(point.goodput.half_width or 0.0 for point in (wide, narrow))
            if wide.goodput.mean + margin < narrow.goodput.mean:
                yield (
                    f"{wide.blocks} resource blocks give {wide.goodput.mean:.3f} Mbit/s, "
                    f"{narrow.blocks} give {narrow.goodput.mean:.3f}, with intervals of {margin:.3f} together"
                )


def table(found: dict[Row, list[Point]]) -> Iterator[str]:
    """The table as Markdown, one for each network."""
    for network, (_, widths) in GRID.items():
        yield f"| `{network}`, goodput in Mbit/s | " + " | ".join(f"{width} PRBs" for width in widths) + " |"
        yield "|---" * (len(widths) + 1) + "|"
        for row, points in found.items():
            if row.network == network:
                head = f"{row.metres} m, {row.direction}, {row.transport.upper()}"
                cells = [head, *(f"{point.goodput.mean:.3g}" for point in points)]
                yield "| " + " | ".join(cells) + " |"
        yield ""


def draw(found: dict[Row, list[Point]]) -> None:
    """Write the picture: goodput over bandwidth, a panel for each network and direction."""
    with plot.style():
        fig, axes = plot.figure(2, len(GRID), (10.0, 5.4))
        panels = [(direction, network) for direction in ("uplink", "downlink") for network in GRID]
        for axis, (direction, network) in zip(axes, panels, strict=True):
            for colour, metres in zip(plot.COLOURS, GRID[network][0], strict=False):
                for transport, line in (("udp", "-"), ("tcp", "--")):
                    points = found[Row(network, metres, direction, transport)]
                    axis.errorbar(
                        [point.blocks for point in points],
                        [point.goodput.mean for point in points],
                        [point.goodput.half_width or 0.0 for point in points],
                        linestyle=line,
                        color=colour,
                        marker=".",
                        label=f"{metres} m, {transport.upper()}",
                    )
            axis.set_title(f"{network}, {direction}")
            axis.set_xlabel("resource blocks")
            axis.set_ylabel("goodput, Mbit/s")
            axis.set_yscale("log")
            axis.legend(fontsize=6)
        fig.savefig(PICTURE, dpi=120, format="png", metadata={"Software": None})


def main() -> int:
    """Measure, print, draw; 1 if a wider carrier gives less."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=8)
    runs = parser.parse_args().runs
    found = {row: [measured(row, blocks, runs) for blocks in GRID[row.network][1]] for row in rows()}
    print("\n".join(table(found)))
    worst = max(point.uplink_bler for points in found.values() for point in points)
    print(f"{len(found)} rows; at most {worst:.0%} of the first uplink transmissions failed")
    draw(found)
    wrong = [f"{row}: {fall}" for row, points in found.items() for fall in falls(points)]
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
