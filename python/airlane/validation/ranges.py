"""Figures of all runs together, next to the range of measured networks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airlane import native
from airlane.validation.claims import Family, Row
from airlane.validation.transport import Setup

__all__ = ["RangeCase"]


@dataclass(frozen=True)
class RangeCase:
    """A figure of all runs together that must be within a measured range.

    Attributes
    ----------
    id, unit, reference, note
        As in `Row`.
    setups
        Scenarios to run, each once per seed of the family.
    pooled
        Takes the compared figure from all runs.
    low, high
        The ends of the range, which are within it, in the unit of the figure.
    """

    id: str
    unit: str
    reference: float
    setups: tuple[Setup, ...]
    pooled: Callable[[Sequence[native.Output]], float]
    low: float
    high: float
    note: str

    def jobs(self, family: Family) -> list[native.Job]:
        """Resolved scenarios with their seeds."""
        return [(s.scenario().resolved, seed) for s in self.setups for seed in range(1, family.seeds + 1)]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = self.pooled(outputs)
        return Row(
            id=self.id,
            unit=self.unit,
            reference=self.reference,
            ours=ours,
            band=family.band,
            ok=self.low <= ours <= self.high,
            note=self.note,
            counted=family.counted,
        )
