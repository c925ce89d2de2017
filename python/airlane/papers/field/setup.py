"""Links, flows and measures of the experiments of `field`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from airlane import metrics
from airlane.experiments import Draw, Listing, Measure
from airlane.papers.common import cell

HERE = Path(__file__).parent
WIRED = HERE / "wired.toml"
CELL = HERE / "cell.toml"
RAN_CELL = HERE / "ran-cell.toml"

Settings = Mapping[str, object]


def flow(name: str, transport: Settings, app: object = "bulk", **more: object) -> dict[str, object]:
    """Make a download."""
    return {"name": name, "app": app, "transport": dict(transport), **more}


def link(rate_mbps: float, one_way_ms: float, queue_bytes: float) -> dict[str, object]:
    """Make a link with the same rate and delay in both directions, with a queue that drops at its tail."""
    return {
        "internet.rate": f"{rate_mbps:.6g} Mbit/s",
        "internet.uplink_rate": f"{rate_mbps:.6g} Mbit/s",
        "internet.delay": f"{one_way_ms:g} ms",
        "internet.queue": f"{queue_bytes:.0f} B",
    }


def summed(measures: Sequence[Measure]) -> Measure:
    """Add measures of a draw."""
    return lambda draw: sum(measure(draw) for measure in measures)


def completion(point: str, name: str, horizon_s: float) -> Measure:
    """Measure the completion time of a transfer in s, with the handshake; at most the horizon."""
    return lambda draw: metrics.completion_s(draw[point], name, horizon_s)


def table(
    title: str, columns: Mapping[str, Callable[[str], Measure]], points: Sequence[str]
) -> Callable[[Sequence[Draw]], Listing]:
    """List measures of points."""

    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [(point, *(cell(draws, column(point)) for column in columns.values())) for point in points]
        return Listing(title, ("", *columns), rows)

    return listing
