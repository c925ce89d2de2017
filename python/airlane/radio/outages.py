"""The outages of UEs without a usable link, from the table `outages`, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airlane.results import Results

__all__ = ["Outage", "notes", "outages"]

_SHOWN = 8
"""Maximum number of UEs that are named; the others are counted."""


@dataclass(frozen=True)
class Outage:
    """A time in which all transmission attempts in one direction of a UE failed."""

    run: int
    ue: str
    direction: str
    from_s: float
    until_s: float
    over: bool

    def as_json(self) -> dict[str, object]:
        """The entry in `run --json` for a flow of the UE."""
        return {
            "direction": self.direction,
            "from_s": self.from_s,
            "until_s": self.until_s,
            "over": self.over,
        }

    @property
    def words(self) -> str:
        """The time of the outage as text."""
        if self.over:
            return f"{self.from_s:.2f} to {self.until_s:.2f} s"
        return f"from {self.from_s:.2f} s on"


def outages(results: Results) -> list[Outage]:
    """Each outage of all runs, by run, UE and time."""
    table = results.tables.get("outages")
    names = ("run", "ue", "direction", "from_s", "until_s", "over")
    return [Outage(*(row[name] for name in names)) for row in table.to_pylist()] if table is not None else []


def notes(results: Results) -> Iterator[str]:
    """A line for each UE, direction and run with an outage."""
    groups: dict[tuple[int, str, str], list[Outage]] = {}
    for outage in outages(results):
        groups.setdefault((outage.run, outage.ue, outage.direction), []).append(outage)
    for (run, ue, direction), many in list(groups.items())[:_SHOWN]:
        which = f"{ue} had no usable {direction}" + (f" in run {run}" if results.runs > 1 else "")
        if len(many) == 1:
            yield f"{which}: {many[0].words}"
            continue
        seconds = sum(outage.until_s - outage.from_s for outage in many)
        end = f"to {many[-1].until_s:.2f} s" if many[-1].over else "to the end"
        yield f"{which}: {len(many)} times, {many[0].from_s:.2f} s {end}, {seconds:.2f} s in all"
    if len(groups) > _SHOWN:
        yield f"and {len(groups) - _SHOWN} more UEs without a usable link, all in series/outages.parquet"
