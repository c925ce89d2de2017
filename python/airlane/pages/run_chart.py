"""The chart of a run over time: events, then goodput, delays, window, queues, pings, calls and MCS."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from airlane.metrics import Run
from airlane.pages.bins import line_in_band, percentiles_in_band, style_of
from airlane.pages.cell_band import cell_panel
from airlane.pages.chart import Axis, Chart, Item, Line, Panel, Reference, Tick
from airlane.pages.path_band import path_panel
from airlane.pages.state_band import state_panel
from airlane.plot import COLOURS
from airlane.radio.states import states
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.figures import columns_in

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.runs.figure import Figure as Column

__all__ = ["LINES_MAX", "run_chart"]

Array = npt.NDArray[np.float64]
Events = Mapping[str, list[tuple[float, str]]]

_CELLS_MAX = 8
"""With more cells, their MCS is one line for all."""

LINES_MAX = 10
"""With more flows, percentiles over them are drawn instead of a line for each."""

_OPAQUE_MAX = 8
"""With more flows, their lines are faint."""

_MARKS_SHOWN = 400
"""Maximum number of events of a kind that are drawn individually; more are drawn as one for each of
this many parts of the run.
"""

_MARKS_MAX = 24
"""Maximum number of events that are also drawn through every panel."""

_EVENTS = {
    "loss": "#E69F00",
    "timeout": "#b00020",
    "freeze": "#0072B2",
    "handover": "#555555",
    "no usable link": "#7A3E9D",
}

_SAMPLED = (
    ("pings", "rtt_ms", "round-trip time of pings, by the time at which they were sent", "ms"),
    ("frames", "delay_ms", "delay of frames from capture to display, by the time of capture", "ms"),
    ("media_rate", "target_kbps", "target of the rate controllers of calls", "kbit/s"),
)
"""Tables with a row per sample, their columns, and the titles and units of their panels."""

_NOTHING = np.empty(0)

_TIME = Axis(label="simulated time in s")


def run_chart(results: Results, run: int = 0, title: str = "") -> Chart:
    """One run over time on one axis.

    A panel without a value (no RLC queue on a wired link, no window for UDP, no cell) is omitted, and so are
    the events if there were none. Events are losses that the sender detected, expired timers, ends of
    freezes, handovers and the starts of outages.
    """
    view = Run(_of_run(results, run))
    flows = view.flows()
    events = _events(view, flows)
    handovers = list(_handovers(events.get("handover", [])))
    panels = [
        _panel(view, flows, one, handovers)
        for one in columns_in("panel", "flow_series", results.flow_series)
        if any(np.isfinite(view.series(f).get(one.name, _NOTHING)).any() for f in flows)
    ]
    panels = panels or [Panel([Line([], [])], x=_TIME)]
    for table, column, words, unit in _SAMPLED:
        if samples := _samples(view, table, column):
            # Flows that ping at the same interval have bins in common.
            items = [*_lines(samples, _sample_styles(samples, flows)), *handovers]
            panels.append(Panel(items, words, _TIME, Axis(label=unit, low=0.0)))
    if rates := _mcs(view):
        panels.append(_mcs_panel(rates, max(2, len(flows)), handovers))
    if connected := _connected_panel(view):
        panels.append(connected)
    if used := cell_panel(view.tables, _TIME, _end_s(view)):
        panels.insert(0, used)
    elif secondary := _secondary_panel(view):
        panels.append(secondary)
    if paths := path_panel(view.tables.get("path_series"), _TIME):
        panels.append(paths)
    if band := state_panel(states(results, run), _TIME):
        panels.append(band)
    if events:
        panels.insert(0, _event_panel(events))
    height = 0.6 + 2.0 * sum(panel.height for panel in panels)
    return Chart(panels, height=height, shared_x=True, title=title)


def _of_run(results: Results, run: int) -> dict[str, pa.Table]:
    wanted = (
        "flows",
        "flow_series",
        "cell_series",
        "path_series",
        "timeouts",
        "handovers",
        "rrc_connections",
        "carriers",
        "scg",
        "outages",
        *(table for table, *_ in _SAMPLED),
    )
    return {
        name: table.filter(arrays.whole(table["run"]) == run)
        for name, table in results.tables.items()
        if name in wanted
    }


def _panel(view: Run, flows: list[str], column: Column, handovers: list[Item]) -> Panel:
    unit, factor = ("kB", 1e-3) if column.unit == "bytes" else (column.unit, 1.0)
    found = {flow: view.series(flow) for flow in flows}
    values = {
        flow: (series.get("t_s", _NOTHING), series.get(column.name, _NOTHING) * factor)
        for flow, series in found.items()
    }
    alpha = 1.0 if len(flows) <= _OPAQUE_MAX else 0.6
    items = list(_lines(values, [style_of(i) | {"alpha": alpha} for i in range(len(flows))]))
    if column.name == "cwnd_bytes":
        items += _timeouts(view, flows)
    title = column.title + " (dotted: timeouts)" * (column.name == "cwnd_bytes")
    return Panel([*items, *handovers], title, _TIME, Axis(label=unit, low=0.0))


def _lines(values: Mapping[str, tuple[Array, Array]], styles: Sequence[Mapping[str, Any]]) -> Iterator[Item]:
    """A line for each flow, of its times and values; of many flows percentiles over them."""
    if len(values) > LINES_MAX:
        yield from percentiles_in_band(list(values.values()))
        return
    for (flow, (t, y)), style in zip(values.items(), styles, strict=True):
        yield from line_in_band(t, y, series=flow, **style)


def _timeouts(view: Run, flows: list[str]) -> Iterator[Item]:
    for flow in flows if len(flows) <= LINES_MAX else ():
        for at in view.timeouts_of(flow).get("t_s", ()):
            yield Reference("x", at, series="timeout", colour=_EVENTS["timeout"], width=0.7, dash=":")


def _events(view: Run, flows: list[str]) -> dict[str, list[tuple[float, str]]]:
    """Times and subjects of events, by kind; kinds that did not occur are omitted."""
    found: dict[str, list[tuple[float, str]]] = {kind: [] for kind in _EVENTS}
    for flow in flows:
        series = view.series(flow)
        lost = series.get("lost_segments", _NOTHING)
        for t, count in zip(series.get("t_s", _NOTHING), lost, strict=False):
            if count > 0:
                found["loss"].append((float(t), f"{flow}: {count:.0f} lost"))
        timeouts = view.timeouts_of(flow)
        for t, rto in zip(timeouts.get("t_s", ()), timeouts.get("rto_ms", ()), strict=True):
            found["timeout"].append((float(t), f"{flow}: after {rto:.0f} ms"))
    pings = view.tables.get("pings")
    for row in pings.filter(pings["lost"]).to_pylist() if pings is not None else ():
        found["loss"].append((row["t_s"], f"{row['flow']}: ping {row['sequence']} lost"))
    frames = view.tables.get("frames")
    for row in frames.filter(pc.is_finite(frames["freeze_ms"])).to_pylist() if frames is not None else ():
        words = f"{row['flow']}: frozen for {row['freeze_ms']:.0f} ms"
        found["freeze"].append((row["t_s"] + 1e-3 * row["delay_ms"], words))
    handovers = view.tables.get("handovers")
    for row in handovers.to_pylist() if handovers is not None else ():
        at = next(
            (row[c] for c in ("start_s", "decision_s", "report_s") if np.isfinite(row[c] or np.nan)), None
        )
        if at is not None:
            found["handover"].append((at, f"{row['ue']}: {row['from']} to {row['to']}, {row['outcome']}"))
    outages = view.tables.get("outages")
    for row in outages.to_pylist() if outages is not None else ():
        end = f"to {row['until_s']:.2f} s" if row["over"] else "from then on"
        found["no usable link"].append((row["from_s"], f"{row['ue']}: {row['direction']}, {end}"))
    return {kind: _summed_up(kind, sorted(many)) for kind, many in found.items() if many}


def _summed_up(kind: str, many: list[tuple[float, str]]) -> list[tuple[float, str]]:
    """More events than can be distinguished: their number in each part of the run."""
    if len(many) <= _MARKS_SHOWN:
        return many
    times = np.array([t for t, _ in many])
    width = (times[-1] - times[0]) / _MARKS_SHOWN or 1.0
    parts, counts = np.unique(((times - times[0]) / width).astype(int), return_counts=True)
    return [
        (float(times[0] + (part + 0.5) * width), f"{count} times {kind} within {width:.3g} s")
        for part, count in zip(parts, counts, strict=True)
    ]


def _event_panel(events: Events) -> Panel:
    items = [
        Line(
            [t for t, _ in many],
            [float(row)] * len(many),
            series=kind,
            colour=_EVENTS[kind],
            width=0.0,
            marker="|",
            size=8.0,
            words=[words for _, words in many],
        )
        for row, (kind, many) in enumerate(events.items())
    ]
    ticks = [Tick(float(row), kind) for row, kind in enumerate(events)]
    kinds = Axis(low=len(events) - 0.5, high=-0.5, ticks=ticks, categorical=True)
    return Panel(items, "events", _TIME, kinds, height=0.18 + 0.16 * len(events))


def _connected_panel(view: Run) -> Panel | None:
    """Number of UEs that are connected; None if none may be released."""
    table = view.tables.get("rrc_connections")
    if table is None or table.num_rows == 0:
        return None
    made = np.asarray(table["outcome"].to_pylist(), dtype=object) == "connected"
    begun = (arrays.numbers(table["begin_s"]) + arrays.numbers(table["setup_s"]))[made]
    over = arrays.numbers(table["release_s"])[made]
    over = over[np.isfinite(over)]
    times = np.concatenate([[0.0], begun, over])
    steps = np.concatenate([[0.0], np.ones(begun.size), -np.ones(over.size)])
    order = np.argsort(times, kind="stable")
    line = Line(times[order], np.cumsum(steps[order]), series="connected UEs", step=True)
    return Panel([line], "connected", _TIME, Axis(label="UEs", low=0.0))


def _end_s(view: Run) -> float:
    """The last time of the series, in s."""
    times = arrays.numbers(view.tables["flow_series"]["t_s"])
    return float(times.max()) if times.size else 0.0


def _secondary_panel(view: Run) -> Panel | None:
    """Number of UEs with a secondary cell group; None if none can have one."""
    table = view.tables.get("scg")
    if table is None or table.num_rows == 0:
        return None
    served: dict[str, int] = {}
    times, counts = [0.0], [0.0]
    for row in table.to_pylist():
        served[row["ue"]] = row["has_scg"]
        times.append(row["t_s"])
        counts.append(float(sum(served.values())))
    line = Line(times, counts, series="UEs with NR beside LTE", step=True)
    return Panel([line], "with a secondary cell group", _TIME, Axis(label="UEs", low=0.0))


def _handovers(handovers: list[tuple[float, str]]) -> Iterator[Item]:
    for t, words in handovers if len(handovers) <= _MARKS_MAX else ():
        yield Reference("x", t, words, series="handover", colour=_EVENTS["handover"], dash="--")


def _samples(view: Run, table: str, column: str) -> dict[str, tuple[Array, Array]]:
    """Times and values of the samples of each flow that has any; NaN where there is none."""
    rows = view.tables.get(table)
    if rows is None:
        return {}
    of = np.asarray(rows["flow"].to_pylist())
    t, values = (arrays.numbers(rows[name]) for name in ("t_s", column))
    names = dict.fromkeys(of[np.isfinite(values)].tolist())
    return {name: (t[of == name], values[of == name]) for name in names}


def _sample_styles(samples: Iterable[str], flows: list[str]) -> list[Mapping[str, Any]]:
    """Points in the colours that the flows have in the other panels."""
    colours = (COLOURS[flows.index(name) % len(COLOURS)] for name in samples)
    return [{"colour": colour, "marker": ".", "size": 6.0} for colour in colours]


def _mcs(view: Run) -> dict[str, tuple[Any, Any]]:
    """Mean MCS over time of each cell and direction, or of all cells together if they are many."""
    table = view.tables.get("cell_series")
    if table is None or table.num_rows == 0:
        return {}
    cells = np.asarray(table["cell"].to_pylist())
    t, blocks = (arrays.numbers(table[c]) for c in ("t_s", "tb_sent"))
    names = list(dict.fromkeys(cells.tolist()))
    found: dict[str, tuple[Any, Any]] = {}
    for direction, column in (("downlink", "mcs_mean"), ("uplink", "mcs_mean_uplink")):
        if column not in table.column_names:
            continue  # a folder of an older version
        mcs = arrays.numbers(table[column])
        there = np.isfinite(mcs)
        if not there.any():
            continue
        if len(names) <= _CELLS_MAX:
            found |= {f"cell {n}, {direction}": (t[cells == n], mcs[cells == n]) for n in names}
            continue
        times, bins = np.unique(t, return_inverse=True)
        weights = blocks if direction == "downlink" else np.ones_like(blocks)
        sent = np.bincount(bins[there], weights[there], times.size)
        with np.errstate(invalid="ignore"):
            mean = np.bincount(bins[there], (mcs * weights)[there], times.size) / sent
        found[f"{len(names)} cells, {direction}"] = (times, mean)
    return found


def _mcs_panel(rates: dict[str, tuple[Any, Any]], first: int, handovers: list[Item]) -> Panel:
    # The colours after those of the flows, if there are enough, and none of an event.
    free = [colour for colour in COLOURS if colour not in _EVENTS.values()]
    items = [
        Line(t, mcs, series=name, colour=free[i % len(free)])
        for i, (name, (t, mcs)) in enumerate(rates.items(), start=first)
    ]
    mcs = Axis(label="MCS", low=0.0, high=29.0, whole=True)
    return Panel([*items, *handovers], "MCS of first transmissions (mean of bin)", _TIME, mcs)
