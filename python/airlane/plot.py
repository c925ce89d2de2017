"""Figures: a run over time, and the style of all figures of the project.

Matplotlib is part of the extra `report` and takes a second to load: it is imported when something is drawn.
"""

from __future__ import annotations

import itertools
import math
import os.path
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from airlane.metrics import Run
from airlane.pages.chart import label_points
from airlane.plural import counted
from airlane.results import Results
from airlane.runs import arrays
from airlane.runs.figures import columns_in

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from airlane.runs.figure import Figure as Column
    from airlane.stats import Estimate

__all__ = [
    "BINS_MAX",
    "COLOURS",
    "LINES_MAX",
    "draw_map",
    "draw_means",
    "draw_run",
    "figure",
    "style",
    "thinned",
]

Array = npt.NDArray[np.float64]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7F7F7F")
"""Okabe and Ito's colours, which most colour-blind readers can distinguish."""

_STYLE: Any = {
    "font.size": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e6e6e6",
    "grid.linewidth": 0.8,
    "axes.edgecolor": "#888888",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "lines.linewidth": 1.3,
    "savefig.dpi": 120,
    "svg.hashsalt": "airlane",
}

_LEGEND_LIMIT = 8

LINES_MAX = 10
"""With more flows, percentiles over them are drawn instead of a line for each."""

BINS_MAX = 400
"""Points of a line of a page: a panel is at most some 1,000 pixels wide, and a point needs two of them."""

_MARKS_SHOWN = 400
"""Maximum number of events of a kind that are drawn individually; more are drawn as one for each of
this many parts of the run.
"""

_MARKS_MAX = 24
"""Maximum number of events that are also drawn through every panel."""

_EVENTS = {"loss": "#E69F00", "timeout": "#b00020", "handover": "#555555", "no usable link": "#7A3E9D"}

_NOTHING = np.empty(0)


@contextmanager
def style() -> Iterator[None]:
    """Context with the project's style."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=list(COLOURS))}):
        yield


def figure(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Figure without a display and its axes in reading order."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=size, layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False, **options)
    return fig, list(np.asarray(axes).ravel())


def thinned(t: Array, y: Array, bins: int = BINS_MAX) -> tuple[Array, Array, Array, Array]:
    """A series in at most this many bins: their times, and for each the mean, minimum and maximum.

    A bin without a value is NaN. A series that is short enough is returned as it is.

    Examples
    --------
    >>> t, mean, low, high = thinned(np.arange(4.0), np.array([1.0, 3.0, np.nan, 4.0]), bins=2)
    >>> t.tolist(), mean.tolist(), low.tolist(), high.tolist()
    ([0.0, 2.0], [2.0, 4.0], [1.0, 4.0], [3.0, 4.0])
    """
    if t.size <= bins:
        return t, y, y, y
    width = math.ceil(t.size / bins)
    padded = np.full(width * math.ceil(t.size / width), math.nan)
    padded[: y.size] = y
    rows = padded.reshape(-1, width)
    there = np.isfinite(rows)
    some = there.any(axis=1)
    count = np.maximum(there.sum(axis=1), 1)
    mean = np.where(some, np.where(there, rows, 0.0).sum(axis=1) / count, math.nan)
    low = np.where(some, np.where(there, rows, math.inf).min(axis=1), math.nan)
    high = np.where(some, np.where(there, rows, -math.inf).max(axis=1), math.nan)
    return t[::width], mean, low, high


def draw_means(
    axis: Axes, places: Sequence[float], estimates: Sequence[Estimate], label: str, marker: str = "o"
) -> None:
    """Draw a line through means with their 95 % intervals."""
    axis.errorbar(
        places,
        [e.mean for e in estimates],
        yerr=[e.half_width or 0.0 for e in estimates],
        marker=marker,
        markersize=4,
        capsize=3,
        label=label,
    )


def draw_run(results: Results, run: int = 0, title: str = "") -> Figure:
    """One run over time on one axis: events, then goodput, delays, window, queues, pings and MCS.

    A panel without a value (no RLC queue on a wired link, no window for UDP, no cell) is omitted, and so are
    the events if there were none. Events are losses that the sender detected, expired timers, handovers and
    the starts of outages.
    """
    view = Run(_of_run(results, run))
    flows = view.flows()
    events = _events(view, flows)
    panels = [
        one
        for one in columns_in("panel", "flow_series", results.flow_series)
        if any(np.isfinite(view.series(f).get(one.name, _NOTHING)).any() for f in flows)
    ]
    rates, pings = _mcs(view), _pings(view)
    more = bool(pings) + bool(rates)
    heights = [0.18 + 0.16 * len(events)] * bool(events) + [1.0] * (max(1, len(panels)) + more)
    with style():
        size = (8.0, 0.6 + 2.0 * sum(heights))
        fig, axes = figure(len(heights), 1, size, sharex=True, height_ratios=heights)
        rest = iter(axes)
        if events:
            _draw_events(next(rest), events)
        first = None
        for panel, axis in zip(panels, rest, strict=False):
            _draw_panel(axis, view, flows, panel)
            first = first or axis
        if pings:
            _draw_pings(axes[-more], pings, flows)
        if rates:
            _draw_mcs(axes[-1], rates, max(2, len(flows)))
        for axis in axes[bool(events) :]:
            _mark_handovers(axis, events.get("handover", []))
        axes[-1].set_xlabel("simulated time in s")
        if first is not None and (1 < len(flows) <= _LEGEND_LIMIT or len(flows) > LINES_MAX):
            handles = [line for line in first.lines if not str(line.get_label()).startswith("_")]
            fig.legend(handles=handles, loc="outside upper right", ncols=min(4, len(flows)))
        fig.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return fig


def _of_run(results: Results, run: int) -> dict[str, pa.Table]:
    wanted = ("flows", "flow_series", "cell_series", "timeouts", "handovers", "outages", "pings")
    return {
        name: table.filter(arrays.whole(table["run"]) == run)
        for name, table in results.tables.items()
        if name in wanted
    }


def _draw_panel(axis: Axes, view: Run, flows: list[str], panel: Column) -> None:
    column = panel.name
    unit, factor = ("kB", 1e-3) if panel.unit == "bytes" else (panel.unit, 1.0)
    if len(flows) > LINES_MAX:
        _draw_percentiles(axis, [view.series(flow) for flow in flows], column, factor)
    for i, flow in enumerate(flows if len(flows) <= LINES_MAX else ()):
        series = view.series(flow)
        t, mean, low, high = thinned(series.get("t_s", _NOTHING), series.get(column, _NOTHING) * factor)
        colour = COLOURS[i % len(COLOURS)]
        if high is not mean:
            axis.fill_between(t, low, high, color=colour, alpha=0.2, linewidth=0)
        faint = 1.0 if len(flows) <= _LEGEND_LIMIT else 0.6
        axis.plot(t, mean, label=flow, color=colour, alpha=faint)
        for at in view.timeouts_of(flow).get("t_s", ()) if column == "cwnd_bytes" else ():
            axis.axvline(at, color=_EVENTS["timeout"], linewidth=0.7, linestyle=":", label="timeout")
    axis.set_title(panel.title + " (dotted: timeouts)" * (column == "cwnd_bytes"))
    axis.set_ylabel(unit)
    axis.set_ylim(bottom=0)


def _draw_percentiles(axis: Axes, series: list[dict[str, Any]], column: str, factor: float) -> None:
    """Median over the flows that have a value in a bin, and the band of the middle 80 % of them."""
    there = [one for one in series if column in one]
    t = np.concatenate([one["t_s"] for one in there])
    y = np.concatenate([one[column] for one in there]) * factor
    times, bins = np.unique(np.round(t[np.isfinite(y)], 6), return_inverse=True)
    if not times.size:
        return
    order = np.argsort(bins, kind="stable")
    parts = np.split(y[np.isfinite(y)][order], np.cumsum(np.bincount(bins))[:-1])
    low, middle, high = np.array([np.percentile(part, (10, 50, 90)) for part in parts]).T
    at, middle = thinned(times, middle)[:2]
    low, high = thinned(times, low)[1], thinned(times, high)[1]
    axis.fill_between(at, low, high, color=COLOURS[0], alpha=0.2, linewidth=0)
    axis.plot(at, middle, label=f"median of {len(series)} flows", color=COLOURS[0])
    for value, name in ((low, "10th percentile"), (high, "90th percentile")):
        axis.plot(at, value, label=name, color=COLOURS[5], linewidth=0.7)


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


def _draw_events(axis: Axes, events: dict[str, list[tuple[float, str]]]) -> None:
    for row, (kind, many) in enumerate(events.items()):
        (marks,) = axis.plot(
            [t for t, _ in many], [row] * len(many), "|", color=_EVENTS[kind], label=kind, markersize=8
        )
        label_points(marks, [words for _, words in many])
    axis.set_title("events")
    axis.set_yticks(range(len(events)), list(events))
    axis.set_ylim(len(events) - 0.5, -0.5)


def _mark_handovers(axis: Axes, handovers: list[tuple[float, str]]) -> None:
    for t, words in handovers if len(handovers) <= _MARKS_MAX else ():
        mark = axis.axvline(t, color=_EVENTS["handover"], linewidth=0.9, linestyle="--", label="handover")
        label_points(mark, [words])


def _pings(view: Run) -> dict[str, tuple[Array, Array]]:
    """Of each flow that pings, when each was sent and how long it took; NaN where it was not answered."""
    table = view.tables.get("pings")
    if table is None:
        return {}
    of = np.asarray(table["flow"].to_pylist())
    t, rtt = (arrays.numbers(table[name]) for name in ("t_s", "rtt_ms"))
    names = dict.fromkeys(of[np.isfinite(rtt)].tolist())
    return {name: (t[of == name], rtt[of == name]) for name in names}


def _draw_pings(axis: Axes, pings: dict[str, tuple[Array, Array]], flows: list[str]) -> None:
    """A line for each flow in its colour of the other panels; of many flows percentiles over them."""
    if len(pings) > LINES_MAX:
        # Flows that ping at the same interval have bins in common.
        _draw_percentiles(axis, [{"t_s": t, "rtt_ms": rtt} for t, rtt in pings.values()], "rtt_ms", 1.0)
    for name, (t, rtt) in pings.items() if len(pings) <= LINES_MAX else ():
        at, mean, low, high = thinned(t, rtt)
        colour = COLOURS[flows.index(name) % len(COLOURS)]
        if high is not mean:
            axis.fill_between(at, low, high, color=colour, alpha=0.2, linewidth=0)
        axis.plot(at, mean, ".-", label=name, color=colour)
    axis.set_title("round-trip time of pings, by the time at which they were sent")
    axis.set_ylabel("ms")
    axis.set_ylim(bottom=0)


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
        if len(names) <= _LEGEND_LIMIT:
            found |= {f"cell {n}, {direction}": (t[cells == n], mcs[cells == n]) for n in names}
            continue
        times, bins = np.unique(t, return_inverse=True)
        weights = blocks if direction == "downlink" else np.ones_like(blocks)
        sent = np.bincount(bins[there], weights[there], times.size)
        with np.errstate(invalid="ignore"):
            mean = np.bincount(bins[there], (mcs * weights)[there], times.size) / sent
        found[f"{len(names)} cells, {direction}"] = (times, mean)
    return found


def _draw_mcs(axis: Axes, rates: dict[str, tuple[Any, Any]], first: int) -> None:
    # The colours after those of the flows, if there are enough, and none of an event.
    free = [colour for colour in COLOURS if colour not in _EVENTS.values()]
    for i, (name, (t, mcs)) in enumerate(rates.items(), start=first):
        axis.plot(t, mcs, label=name, color=free[i % len(free)])
    axis.set_title("MCS of first transmissions (mean of bin)")
    axis.set_ylabel("MCS")
    axis.set_ylim(0, 29)
    if len(rates) > 1:
        axis.legend(loc="lower left", ncols=4)


def draw_map(results: Results, sites: dict[str, tuple[float, float]], run: int = 0) -> Figure | None:
    """Cells, the tracks of the UEs in the colour of the serving cell, and the places where it changes.

    Parameters
    ----------
    sites
        Position of each cell in metres.

    Returns
    -------
    Figure | None
        `None` with fewer than two cells, or without the table `ue_series`, which `run.ue_series`
        enables. A change of cell is drawn at the position of the UE at the end of its bin.
    """
    table = results.tables.get("ue_series")
    if table is None or len(sites) < 2 or table.num_rows == 0:
        return None
    table = table.filter(arrays.whole(table["run"]) == run)
    ues, cells = (np.asarray(table[name].to_pylist()) for name in ("ue", "cell"))
    places = np.column_stack([arrays.numbers(table["x_m"]), arrays.numbers(table["y_m"])]) * 1e-3
    stands = np.array(list(sites.values())) * 1e-3
    colour = dict(zip(sites, _apart(stands), strict=True))
    order = np.lexsort((arrays.numbers(table["t_s"]), ues))
    ues, cells, places = ues[order], cells[order], places[order]
    # A track ends where the UE or the cell changes; the next one starts there if the UE is the same.
    new_ue, new_cell = ues[1:] != ues[:-1], cells[1:] != cells[:-1]
    ends = [0, *(np.flatnonzero(new_ue | new_cell) + 1), len(ues)]
    ways = [
        places[max(a - 1, 0) if a and ues[a - 1] == ues[a] else a : b] for a, b in itertools.pairwise(ends)
    ]
    changes = places[1:][new_cell & ~new_ue]
    with style():
        from matplotlib.collections import LineCollection

        fig, (axis,) = figure(1, 1, (8.0, 7.6))
        low, high = _frame(np.vstack([places, stands]))
        _borders(axis, stands, low, high)
        serving = cells[ends[:-1]]
        for cell in sites:
            within = [way for way, of in zip(ways, serving, strict=True) if of == cell]
            look = {"colors": colour[cell], "linewidths": 1.1, "alpha": 0.75, "label": cell}
            if within:
                axis.add_collection(LineCollection(within, **look))  # type: ignore[arg-type]
        starts = np.flatnonzero(np.r_[True, new_ue])
        x, y = places[starts].T
        begins = axis.scatter(x, y, s=7, c=[colour[str(c)] for c in cells[starts]], linewidths=0)
        label_points(begins, [f"{ue} begins" for ue in ues[starts]])
        x, y = changes.T
        label = f"a UE changes its cell ({counted(len(changes), 'time')})"
        rim = {"facecolors": "white", "edgecolors": "#222222", "linewidths": 0.8}
        crossed = axis.scatter(x, y, s=17, label=label, zorder=3, **rim)  # type: ignore[arg-type]
        at = np.flatnonzero(new_cell & ~new_ue)
        times = arrays.numbers(table["t_s"])[order]
        label_points(crossed, [f"{ues[i]}: {cells[i]} to {cells[i + 1]}, {times[i + 1]:g} s" for i in at])
        x, y = stands.T
        masts = axis.scatter(x, y, marker="^", s=60, c=list(colour.values()), edgecolors="black", zorder=4)
        label_points(masts, [f"cell {name}" for name in sites])
        for name, (x, y) in _named(sites, stands):
            axis.annotate(name, (x, y), (0, 7), textcoords="offset points", ha="center", fontsize=7, zorder=5)
        axis.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
        axis.set(xlabel="km to the east", ylabel="km to the north")
        ues_there = counted(len(starts), "UE")
        axis.set_title(f"{len(sites)} cells and the tracks of {ues_there}, coloured by the serving cell")
        axis.grid(visible=False)
        if len(changes):
            fig.legend(handles=[crossed], loc="outside lower left")
    return fig


def _apart(stands: np.ndarray) -> list[str]:
    """Colour for each cell, different from those of its neighbours if there are enough."""
    palette = COLOURS[:-1]
    gaps = np.hypot(*(stands[:, None] - stands[None]).transpose(2, 0, 1))
    near = 1.2 * (gaps[gaps > 0].min() if (gaps > 0).any() else 1.0)
    chosen: list[int] = []
    for index in range(len(stands)):
        around = [chosen[other] for other in range(index) if gaps[index, other] <= near]
        chosen.append(min(range(len(palette)), key=lambda c: (around.count(c), chosen.count(c), c)))
    return [palette[c] for c in chosen]


def _frame(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Corners of a frame around all points."""
    low, high = points.min(axis=0), points.max(axis=0)
    margin = max(0.05, 0.05 * float((high - low).max()))
    return low - margin, high + margin


def _borders(axis: Axes, stands: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    """Lines between the areas to which different sites are nearest."""
    sites = np.unique(stands, axis=0)
    if len(sites) < 2:
        return
    across, up = (np.linspace(low[k], high[k], 700) for k in (0, 1))
    gaps = np.hypot(across[None, :, None] - sites[:, 0], up[:, None, None] - sites[:, 1])
    order = np.argsort(gaps, axis=2)[:, :, :2]
    first, second = np.moveaxis(np.take_along_axis(gaps, order, axis=2), 2, 0)
    apart = np.hypot(*(sites[order[:, :, 0]] - sites[order[:, :, 1]]).transpose(2, 0, 1))
    # The distance to the line half-way between the two.
    edge = (second**2 - first**2) / (2 * apart)
    width = 0.0015 * float((high - low).max())
    axis.contourf(across, up, edge, levels=[-1.0, width], colors=["#d8d8d8"], zorder=0)


def _named(sites: dict[str, tuple[float, float]], stands: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Name each site once: by the name of its cell, or by the common part of the names of its sectors."""
    places: dict[tuple[float, float], list[str]] = {}
    for name, place in sites.items():
        places.setdefault(place, []).append(name)
    at = dict(zip(sites, stands, strict=True))
    for names in places.values():
        # the letters of names, not the parts of a path
        shared = os.path.commonprefix(names) if len(names) > 1 else names[0]  # noqa: RUF071
        shared = shared.rstrip("-") if len(names) > 1 else shared
        yield shared or ", ".join(names), at[names[0]]
