"""Figures of one run of a situation, and the number of transfers that began and ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.metrics import SEGMENT_BYTES
from airlane.runs import arrays
from airlane.runs.applications import with_applications
from airlane.runs.figures import BY_NAME
from airlane.statistics.survival import Times, since

__all__ = ["BYTE_DELAY", "FIGURES", "TESTED", "Kind", "Measured", "Setting", "kind_of", "measured", "named"]

FIGURES = tuple(
    BY_NAME[name]
    for name in (
        "goodput_mbps",
        "owd_p95_ms",
        "lost_percent",
        "fct_s",
        "page_s",
        "stalled_s",
        "joules_per_mb",
        "hol_ms",
        "jain",
        "share",
        "frame_p95_ms",
        "freeze_s",
        "video_kbps",
        "vmaf",
    )
)

BYTE_DELAY = "byte_delay_p95_ms"
"""The delay by which a contender with a split proxy is compared with CUBIC; not a figure of its own."""

TESTED = "tested*"
"""The flows that a contender carries and whose figures count, by a pattern of their names."""

Array = npt.NDArray[np.float64]
Tables = Mapping[str, pa.Table]


class Kind(StrEnum):
    """Application of the tested flows of a situation, which decides its figures."""

    RATES = "rates"
    TRANSFERS = "transfers"
    PAGES = "pages"
    VIEWS = "views"
    CALLS = "calls"


MAIN = {
    Kind.RATES: "goodput_mbps",
    Kind.TRANSFERS: "fct_s",
    Kind.PAGES: "page_s",
    Kind.VIEWS: "stalled_s",
    Kind.CALLS: "frame_p95_ms",
}
"""The main figure of a situation of each kind by default."""

_APPS = {
    "fixed": Kind.TRANSFERS,
    "web": Kind.PAGES,
    "video": Kind.VIEWS,
    "dash": Kind.VIEWS,
    "rtc": Kind.CALLS,
}


@dataclass(frozen=True)
class Setting:
    """Properties of a situation that its figures depend on.

    Attributes
    ----------
    kind
        Application of the tested flows. It follows from the scenario and not from the results of a run: a
        transfer that delivered nothing is still a transfer.
    flows, delay_of
        Flows whose figures count, and those whose delay counts: patterns of names, separated by commas.
    warmup_s
        Start of the measurement of rates and delays.
    horizon_s
        Limit up to which a time counts; None for half of the rest of the run after the first start.
    energy
        Whether the energy of the UEs counts.
    """

    kind: Kind
    flows: str = TESTED
    delay_of: str = TESTED
    warmup_s: float = 0.0
    horizon_s: float | None = None
    energy: bool = False


@dataclass(frozen=True)
class Measured:
    """Figures of one run; NaN where it has none.

    `begun` counts transfers, pages or views that began at least a horizon before the end of the
    run, `completed` those of them that ended within the horizon.
    """

    values: Mapping[str, float]
    completed: int = 0
    begun: int = 0


def named(names: Sequence[str], patterns: str) -> npt.NDArray[np.bool_]:
    """The names that one of the patterns describes."""
    wanted = [pattern.strip() for pattern in patterns.split(",")]
    return np.array([any(fnmatchcase(name, one) for one in wanted) for name in names], dtype=bool)


def kind_of(settings: Mapping[str, Any], flows: str = TESTED) -> Kind | None:
    """By the application of the flows that count; None where they differ or there is none.

    Of several users, each flow has the name of its entry and a number.
    """
    names = [str(flow["name"]) for flow in settings["flow"]]
    counted = named(names, flows) | named([f"{name}-1" for name in names], flows)
    apps = [flow["app"]["kind"] for flow, here in zip(settings["flow"], counted, strict=True) if here]
    kinds = {_APPS.get(app, Kind.RATES) for app in apps}
    return kinds.pop() if len(kinds) == 1 else None


def measured(setting: Setting, tables: Tables, end_s: float) -> Measured:
    """Figures of a run that ended at `end_s`."""
    flows = tables["flows"]
    names = [str(name) for name in flows["flow"].to_pylist()]

    def of(column: str, patterns: str = setting.flows) -> Array:
        return arrays.numbers(flows[column])[named(names, patterns)]

    def mean(column: str) -> float:
        known = of(column, setting.delay_of)
        known = known[~np.isnan(known)]
        return float(known.mean()) if known.size else math.nan

    values = {
        "owd_p95_ms": mean("owd_p95_ms"),
        "lost_percent": BY_NAME["lost_percent"].value(
            {name: of(name) for name in ("packets_lost", "packets_sent")}
        ),
    }
    if BYTE_DELAY in flows.column_names:
        values[BYTE_DELAY] = mean(BYTE_DELAY)
    if "paths" in tables:
        values["hol_ms"] = _hol_ms(tables["paths"], setting.flows)
    if setting.energy:
        values["joules_per_mb"] = _joules_per_mb(tables["energy"], of("bytes_delivered"))
    if setting.kind in (Kind.RATES, Kind.CALLS):
        values |= _rates(of("goodput_mbps"), of("goodput_mbps", "rival*"), end_s - setting.warmup_s)
        return Measured(values | (_calls(setting, tables, end_s) if setting.kind is Kind.CALLS else {}))
    if setting.flows != TESTED:
        of_flows = {name: table for name, table in tables.items() if "flow" in table.column_names}
        tables = {name: _of_flows(table, setting.flows) for name, table in of_flows.items()}
    times = _times(setting.kind, tables, of, end_s)
    if not times.begun:
        return Measured(values | {MAIN[setting.kind]: math.nan})
    horizon = setting.horizon_s or float(times.watched.max()) / 2.0
    seen = times.seen(horizon)
    values[MAIN[setting.kind]] = seen.mean(horizon)
    return Measured(values, seen.within(horizon), seen.begun)


def _joules_per_mb(energy: pa.Table, goodput_bytes: Array) -> float:
    """Energy of the modems of all UEs over the data of the flows; NaN in NR, which has no joules."""
    megabytes = float(np.nansum(goodput_bytes)) / 1e6
    return float(_column(energy, "energy_J").sum()) / megabytes if megabytes > 0.0 else math.nan


def _hol_ms(paths: pa.Table, flows: str) -> float:
    """Mean wait of a byte for data before it; the mean over the flows that count and carried any data.

    Of each path, `paths` has the share of its data that came early, and the mean wait of these bytes.
    """
    paths = _of_flows(paths, flows)
    share, early = (_column(paths, name) / 100.0 for name in ("share_percent", "reordered_percent"))
    waits = np.nan_to_num(share * early * _column(paths, "blocked_ms"))
    names = np.array(paths["flow"].to_pylist(), dtype=object)
    carried = [name for name in dict.fromkeys(names) if np.nansum(share[names == name]) > 0.0]
    return float(np.mean([waits[names == name].sum() for name in carried])) if carried else math.nan


def _of_flows(table: pa.Table, patterns: str) -> pa.Table:
    return table.filter(named([str(name) for name in table["flow"].to_pylist()], patterns))


def _rates(tested: Array, rival: Array, window_s: float) -> dict[str, float]:
    columns = {"goodput_mbps": tested}
    values = {"goodput_mbps": BY_NAME["goodput_mbps"].value(columns)}
    if tested.size > 1:
        values["jain"] = BY_NAME["jain"].value(columns)
    if rival.size:
        # A flow without goodput counts as one segment: 0 has no logarithm.
        least = SEGMENT_BYTES * 8.0 / window_s / 1e6
        values["share"] = max(float(np.nanmean(tested)), least) / max(float(np.nanmean(rival)), least)
    return values


def _calls(setting: Setting, tables: Tables, end_s: float) -> dict[str, float]:
    """Figures of the calls that count, as means over them."""
    flows = _of_flows(with_applications(tables, end_s), setting.flows)
    figures = (BY_NAME[name] for name in ("frame_p95_ms", "freeze_s", "video_kbps", "vmaf"))
    return {one.name: one.value({one.name: arrays.numbers(flows[one.name])}) for one in figures}


def _times(kind: Kind, tables: Tables, of: Any, end_s: float) -> Times:
    """Times of the transfers, pages or views that began before the end of the run."""
    if kind is Kind.TRANSFERS:
        return since(of("fct_s"), of("start_s"), end_s)
    if kind is Kind.PAGES:
        return since(_column(tables["pages"], "onload_s"), _column(tables["pages"], "start_s"), end_s)
    durations, watched = _waiting(tables["views"], end_s)
    there = watched > 0.0
    return Times(durations[there], watched[there])


def _waiting(views: pa.Table, end_s: float) -> tuple[Array, Array]:
    """Total waiting and observation time of each viewer; for unfinished views, the waiting time so far."""
    waited = _column(views, "startup_s") + _column(views, "stalled_s")
    watched = end_s - _column(views, "start_s")
    finished = arrays.numbers(views["finished"]).astype(bool)
    so_far = watched - _column(views, "played_s")
    return np.where(finished, waited, math.nan), np.where(finished, watched, so_far)


def _column(table: pa.Table, name: str) -> Array:
    return arrays.numbers(table[name])
