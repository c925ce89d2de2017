"""UEs whose uplink is limited by their power, from the table `uplink_power`, as text and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from airlane.results import Results

__all__ = ["LEAST", "UplinkPower", "notes", "uplink_power"]

LEAST = 0.1
"""Share of its transmissions from which on a UE is reported to be limited: choice."""

_SHOWN = 4
"""Maximum number of UEs that are named; the others are counted."""


@dataclass(frozen=True)
class UplinkPower:
    """The transmissions of a UE, and the share of them with less power than power control asked for."""

    run: int
    ue: str
    transmissions: int
    limited: float
    headroom_db: float
    """Mean of the reported power headrooms; NaN without reports."""


def uplink_power(results: Results) -> list[UplinkPower]:
    """Each UE with uplink transmissions, by run and UE."""
    table = results.tables.get("uplink_power")
    names = ("run", "ue", "tb_sent_uplink", "power_limited", "headroom_db")
    rows = table.to_pylist() if table is not None else []
    return [UplinkPower(*(row[name] for name in names)) for row in rows]


def notes(results: Results) -> Iterator[str]:
    """A line for each UE that is limited, over all runs."""
    sums: dict[str, tuple[int, float]] = {}
    for one in uplink_power(results):
        sent, limited = sums.get(one.ue, (0, 0.0))
        sums[one.ue] = (sent + one.transmissions, limited + one.limited * one.transmissions)
    shares = {ue: limited / sent for ue, (sent, limited) in sums.items()}
    limited_ues = [(ue, share) for ue, share in shares.items() if share >= LEAST]
    for ue, share in limited_ues[:_SHOWN]:
        yield f"{ue}: uplink limited by power {100 * share:.0f} % of the time"
    if len(limited_ues) > _SHOWN:
        more = len(limited_ues) - _SHOWN
        yield f"and {more} more UEs with an uplink limited by power, all in series/uplink_power.parquet"
