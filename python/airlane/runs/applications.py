"""Application results as columns of `flows`: load times, stalls, bitrates, round-trip times, calls, XR.

The tables `pages`, `views`, `pings`, `frames` and `xr_frames` have one row per page, view, echo request,
frame of a call and frame of XR. This module aggregates them per flow, so that tables, sweeps and
comparisons read them like any other figure (`airlane.runs.figures`). A page that was still loading at the
end of the run is neither excluded nor counted as loaded: its time is censored, and means are Kaplan-Meier
means restricted to the end of the run (`airlane.statistics.survival`). If everything ended, they are plain
means. Figures of pings are those of the requests that were answered, delays of calls those of the frames
that were shown, delays of XR those of the frames that arrived.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.runs import arrays
from airlane.runs.figure import Better, Figure, mean_of, sum_of, weighted
from airlane.statistics.survival import Times
from airlane.stats import Scale

__all__ = ["APPLICATIONS", "Application", "with_applications"]

Array = npt.NDArray[np.float64]


def with_applications(tables: Mapping[str, pa.Table], end_s: float) -> pa.Table:
    """The table `flows` of one run, with the columns of its applications that have any.

    A flow without such an application has null in these columns. `page_s` and `startup_s` are restricted
    means. `ttfb_s` is a mean over the completed pages, since it is unknown for others. `stalls` and
    `rebuffering_s` are sums over the views of the flow, up to the end of the run. `bitrate_kbps` is a mean
    over views. The columns of pings count the requests sent within the measured window, as `rtt_ms` does;
    percentiles are those of the answered ones. The columns of calls count the frames captured within it,
    those of XR the frames whose delay budget is within it.

    Parameters
    ----------
    tables
        The tables of one run, from the core.
    end_s
        End of the run.

    Examples
    --------
    >>> flows = pa.table({"flow": ["a", "b"]})
    >>> pages = pa.table(
    ...     {"flow": ["a", "a"], "start_s": [0.0, 4.0], "ttfb_s": [0.5, 0.7], "onload_s": [2.0, 3.0]}
    ... )
    >>> with_applications({"flows": flows, "pages": pages}, 10.0)["page_s"].to_pylist()
    [2.5, None]
    """
    flows = tables["flows"]
    for one in APPLICATIONS:
        if one.table in tables:
            flows = _added(flows, one, *one.sums(tables[one.table], end_s))
    return flows


class _ByFlow:
    """Rows of a table, grouped by flow."""

    def __init__(self, table: pa.Table) -> None:
        flow = table["flow"].combine_chunks().dictionary_encode()
        self.names = [str(name) for name in flow.dictionary.to_pylist()]
        indices = arrays.whole(flow.indices)
        self._rows = [np.flatnonzero(indices == i) for i in range(len(self.names))]
        self._table = table

    def rows(self, flow: int) -> npt.NDArray[np.intp]:
        """The rows of a flow, by its place in `names`."""
        return self._rows[flow]

    def __call__(self, name: str) -> list[Array]:
        values = arrays.numbers(self._table[name])
        return [values[rows] for rows in self._rows]


_Summed = tuple[list[str], dict[str, list[float]]]
"""Names of flows, and for each column the values of the flows."""


def _pages(table: pa.Table, end_s: float) -> _Summed:
    of = _ByFlow(table)
    times, first = of("onload_s"), of("ttfb_s")
    return of.names, {
        "pages_begun": [t.size for t in times],
        "pages_completed": [int(np.isfinite(t).sum()) for t in times],
        "page_s": _restricted(times, of("start_s"), end_s),
        "ttfb_s": [_mean(values) for values in first],
    }


def _views(table: pa.Table, end_s: float) -> _Summed:
    of = _ByFlow(table)
    finished = of("finished")
    return of.names, {
        "views_begun": [f.size for f in finished],
        "views_finished": [int(f.sum()) for f in finished],
        "startup_s": _restricted(of("startup_s"), of("start_s"), end_s),
        "stalls": [int(s.sum()) for s in of("stalls")],
        "rebuffering_s": [float(s.sum()) for s in of("stalled_s")],
        "bitrate_kbps": [_mean(b) for b in of("bitrate_kbps")],
    }


def _pings(table: pa.Table, _: float) -> _Summed:
    of = _ByFlow(table)
    requests = zip(of("rtt_ms"), of("lost"), of("measured"), strict=True)
    counted = [(rtt[measured > 0.0], lost[measured > 0.0]) for rtt, lost, measured in requests]
    answered = [rtt[np.isfinite(rtt)] for rtt, _ in counted]
    return of.names, {
        "pings_sent": [rtt.size for rtt, _ in counted],
        "pings_answered": [rtt.size for rtt in answered],
        "pings_lost": [int(lost.sum()) for _, lost in counted],
        "rtt_p50_ms": [_percentile(rtt, 50) for rtt in answered],
        "rtt_p95_ms": [_percentile(rtt, 95) for rtt in answered],
        "rtt_max_ms": [_percentile(rtt, 100) for rtt in answered],
    }


def _frames(table: pa.Table, _: float) -> _Summed:
    of = _ByFlow(table)
    fates = np.asarray(table["fate"].to_pylist(), dtype=object)
    rows = [dict(zip(_FRAME_COLUMNS, one, strict=True)) for one in zip(*map(of, _FRAME_COLUMNS), strict=True)]
    calls = [_call(one, fates[of.rows(i)]) for i, one in enumerate(rows)]
    return of.names, {name: [call[name] for call in calls] for name in _CALL_COLUMNS}


_FRAME_COLUMNS = (
    "t_s", "size_bytes", "packets", "received", "skipped", "delay_ms", "buffer_ms", "freeze_ms",
    "target_kbps", "encoder_kbps", "vmaf", "measured",
)  # fmt: skip

_CALL_COLUMNS = (
    "frames_sent", "frames_shown", "frames_skipped", "frames_late", "frames_lost", "frame_p50_ms",
    "frame_p95_ms", "frame_p99_ms", "buffer_ms", "freezes", "freeze_s", "video_kbps", "target_kbps",
    "video_percent", "media_loss_percent", "vmaf",
)  # fmt: skip


def _call(frames: Mapping[str, Array], fates: npt.NDArray[np.object_]) -> dict[str, float]:
    """The figures of one call, of the frames that were captured within the measured window."""
    counted = frames["measured"] > 0.0
    of = {name: values[counted] for name, values in frames.items()}
    fate = fates[counted]
    shown, ended = fate == "shown", fate != "open"
    delays = of["delay_ms"][shown]
    freezes = of["freeze_ms"][np.isfinite(of["freeze_ms"])]
    n = of["t_s"].size
    span_s = (of["t_s"][-1] - of["t_s"][0]) * n / (n - 1) if n > 1 else math.nan
    video_kbps = float(of["size_bytes"][shown].sum()) * 8e-3 / span_s
    packets, arrived = (float(of[name][ended].sum()) for name in ("packets", "received"))
    return {
        "frames_sent": n,
        "frames_shown": int(shown.sum()),
        "frames_skipped": int(of["skipped"].sum()),
        "frames_late": int((fate == "late").sum()),
        "frames_lost": int((fate == "lost").sum()),
        "frame_p50_ms": _percentile(delays, 50),
        "frame_p95_ms": _percentile(delays, 95),
        "frame_p99_ms": _percentile(delays, 99),
        "buffer_ms": _mean(of["buffer_ms"]),
        "freezes": freezes.size,
        "freeze_s": float(freezes.sum()) * 1e-3,
        "video_kbps": video_kbps,
        "target_kbps": _mean(of["target_kbps"]),
        "video_percent": 100.0 * video_kbps / _mean(of["encoder_kbps"]),
        "media_loss_percent": 100.0 * (1.0 - arrived / packets) if packets else math.nan,
        "vmaf": _mean(of["vmaf"][shown]),
    }


def _xr(table: pa.Table, _: float) -> _Summed:
    of = _ByFlow(table)
    streams, fates = (np.asarray(table[name].to_pylist(), dtype=object) for name in ("stream", "fate"))
    users = []
    for i, (delays, measured) in enumerate(zip(of("delay_ms"), of("measured"), strict=True)):
        counted = measured > 0.0
        rows = of.rows(i)[counted]
        users.append(_user(delays[counted], streams[rows], fates[rows]))
    return of.names, {name: [user[name] for user in users] for name in _XR_COLUMNS}


_XR_COLUMNS = (
    "xr_frames", "xr_in_time", "xr_late", "xr_lost", "xr_in_time_percent", "xr_p50_ms", "xr_p95_ms",
    "xr_p99_ms", "pose_in_time_percent", "uplink_video_in_time_percent", "satisfied_percent",
    "satisfied_95_percent",
)  # fmt: skip


def _user(
    delays: Array, streams: npt.NDArray[np.object_], fates: npt.NDArray[np.object_]
) -> dict[str, float]:
    """The figures of one user of XR, of the frames that count.

    A user is satisfied if of each stream more than 99 % of the frames are in time (TR 38.838, as TR 38.835
    tells it), or more than 95 % (unverified).
    """
    video = streams == "video"
    arrived = delays[video & np.isfinite(delays)]
    in_time = {
        name: 100.0 * float((fates[streams == name] == "in-time").mean())
        if (streams == name).any()
        else math.nan
        for name in ("video", "pose", "uplink-video")
    }
    shares = [share for share in in_time.values() if math.isfinite(share)]
    return {
        "xr_frames": int(video.sum()),
        "xr_in_time": int((fates[video] == "in-time").sum()),
        "xr_late": int((fates[video] == "late").sum()),
        "xr_lost": int((fates[video] == "lost").sum()),
        "xr_in_time_percent": in_time["video"],
        "xr_p50_ms": _percentile(arrived, 50),
        "xr_p95_ms": _percentile(arrived, 95),
        "xr_p99_ms": _percentile(arrived, 99),
        "pose_in_time_percent": in_time["pose"],
        "uplink_video_in_time_percent": in_time["uplink-video"],
        "satisfied_percent": 100.0 * (min(shares) > 99.0) if shares else math.nan,
        "satisfied_95_percent": 100.0 * (min(shares) > 95.0) if shares else math.nan,
    }


def _percentile(values: Array, percent: int) -> float:
    """The nearest-rank percentile, as those of delays are; NaN of nothing."""
    if not values.size:
        return math.nan
    return float(np.percentile(values, percent, method="inverted_cdf"))


def _restricted(durations: list[Array], starts: list[Array], end_s: float) -> list[float]:
    """Restricted mean of each flow, up to the observation time of its first duration."""
    means = []
    for taken, start in zip(durations, starts, strict=True):
        watched = end_s - start
        longest = float(watched.max())
        means.append(Times(taken, watched).mean(longest) if longest > 0.0 else math.nan)
    return means


def _mean(values: Array) -> float:
    present = values[np.isfinite(values)]
    return float(present.mean()) if present.size else math.nan


def _added(
    flows: pa.Table, application: Application, names: list[str], added: Mapping[str, list[float]]
) -> pa.Table:
    place = {name: i for i, name in enumerate(names)}
    rows = [place.get(str(name)) for name in flows["flow"].to_pylist()]
    for figure in application.figures:
        of_rows = [None if i is None else added[figure.name][i] for i in rows]
        column: pa.Array[Any]
        if figure.unit:
            column = arrays.reals(of_rows)
        else:
            column = arrays.integers([None if value is None else int(value) for value in of_rows])
        flows = flows.append_column(pa.field(figure.name, column.type, metadata=figure.metadata), column)
    return flows


@dataclass(frozen=True)
class Application:
    """The results of a kind of application, and how they are shown.

    Attributes
    ----------
    title
        Of its table on the terminal.
    kinds
        The kinds of `app` whose flows have these results.
    table, sums
        The table with a row per page, view or ping, and the function that sums it per flow.
    begun, ended, word
        Columns of those that began and that ended, and the word for the latter.
    figures
        Its columns of `flows`, in their order.
    shown
        Figures of its table on the terminal.
    of_ended
        Headline figures with which a page says how many ended.
    """

    title: str
    kinds: tuple[str, ...]
    table: str
    sums: Callable[[pa.Table, float], _Summed]
    begun: str
    ended: str
    word: str
    figures: tuple[Figure, ...]
    shown: tuple[str, ...]
    of_ended: tuple[str, ...]

    @property
    def needs(self) -> str:
        """The part of a scenario that this table needs."""
        return "a flow with app.kind = " + " or ".join(f'"{kind}"' for kind in self.kinds)


_COMPARED = frozenset({"sweep", "compare"})
_FIRST = _COMPARED | {"tile"}


def _count(place: int, name: str, title: str, heading: str, better: Better) -> Figure:
    of_flows = sum_of(name)
    views = _COMPARED if better is Better.LESS else frozenset({"sweep"})
    return Figure(
        name,
        title,
        heading,
        "",
        better,
        columns=(name,),
        of_flows=of_flows,
        form=".0f",
        views=views,
        place=place,
    )


def _mean_over(
    place: int,
    name: str,
    title: str,
    heading: str,
    weight: str,
    unit: str = "s",
    better: Better = Better.LESS,
) -> Figure:
    """A result per page or view: a flow with twice as many counts twice."""
    return Figure(
        name,
        title,
        heading,
        unit,
        better,
        columns=(name, weight),
        of_flows=weighted(name, weight),
        form=".0f" if unit == "kbit/s" else ".3f",
        views=_FIRST | {"summary"},
        place=place,
    )


_VIEWS = {
    "rebuffering_s": _FIRST,
    "rtt_p95_ms": _FIRST,
    "frame_p95_ms": _FIRST | {"summary"},
    "freeze_s": _FIRST,
    "vmaf": _FIRST,
    "xr_in_time_percent": _FIRST | {"summary"},
    "satisfied_percent": _FIRST,
}
"""Where figures of flows are shown; others are shown in sweeps and comparisons only."""


def _over_flows(
    place: int,
    name: str,
    title: str,
    heading: str,
    unit: str,
    better: Better = Better.LESS,
    scale: Scale = Scale.PLAIN,
    brief: str = "",
) -> Figure:
    """A figure of a flow: the mean over flows."""
    return Figure(
        name,
        title,
        heading,
        unit,
        better,
        scale,
        columns=(name,),
        of_flows=mean_of(name),
        form=".0f" if unit == "kbit/s" else ".2f" if unit in ("s", "%") else ".1f",
        brief=brief,
        views=_VIEWS.get(name, _COMPARED),
        place=place,
    )


APPLICATIONS = (
    Application(
        title="web pages",
        kinds=("web",),
        table="pages",
        sums=_pages,
        begun="pages_begun",
        ended="pages_completed",
        word="completed",
        figures=(
            _count(210, "pages_begun", "pages begun", "pages\nbegun", Better.NEITHER),
            _count(211, "pages_completed", "pages completed", "pages\ncompleted", Better.MORE),
            _mean_over(212, "page_s", "page load time", "page time\ns", "pages_begun"),
            _mean_over(213, "ttfb_s", "time to first byte", "first\nbyte s", "pages_completed"),
        ),
        shown=("page_s", "ttfb_s"),
        of_ended=("page_s",),
    ),
    Application(
        title="video views",
        kinds=("video", "dash"),
        table="views",
        sums=_views,
        begun="views_begun",
        ended="views_finished",
        word="completed",
        figures=(
            _count(220, "views_begun", "views begun", "views\nbegun", Better.NEITHER),
            _count(221, "views_finished", "views finished", "views\nfinished", Better.MORE),
            _mean_over(222, "startup_s", "start-up delay", "start-up\ns", "views_begun"),
            Figure(
                "stalls",
                "stalls of the picture",
                "stalls",
                "",
                Better.LESS,
                columns=("stalls",),
                of_flows=sum_of("stalls"),
                form=".0f",
                views=_COMPARED | {"summary"},
                place=223,
            ),
            _over_flows(
                224,
                "rebuffering_s",
                "time stalled per flow, start-up left out",
                "stalled\ns",
                "s",
                brief="stalled",
            ),
            _mean_over(
                225,
                "bitrate_kbps",
                "bitrate of the media",
                "bitrate\nkbit/s",
                "views_begun",
                "kbit/s",
                Better.MORE,
            ),
        ),
        shown=("startup_s", "stalls", "rebuffering_s", "bitrate_kbps"),
        of_ended=("startup_s", "bitrate_kbps"),
    ),
    Application(
        title="pings",
        kinds=("ping",),
        table="pings",
        sums=_pings,
        begun="pings_sent",
        ended="pings_answered",
        word="answered",
        figures=(
            _count(230, "pings_sent", "pings sent", "pings\nsent", Better.NEITHER),
            _count(231, "pings_answered", "pings answered", "pings\nanswered", Better.MORE),
            _count(232, "pings_lost", "pings lost", "pings\nlost", Better.LESS),
            _over_flows(
                233, "rtt_p50_ms", "median of round-trip time", "RTT p50\nms", "ms", scale=Scale.QUANTILE
            ),
            _over_flows(
                234,
                "rtt_p95_ms",
                "95th percentile of round-trip time",
                "RTT p95\nms",
                "ms",
                scale=Scale.QUANTILE,
                brief="RTT, p95",
            ),
            _over_flows(
                235,
                "rtt_max_ms",
                "maximum of round-trip time",
                "RTT max\nms",
                "ms",
                scale=Scale.QUANTILE,
                brief="RTT, max",
            ),
        ),
        shown=("pings_lost", "rtt_ms", "rtt_p50_ms", "rtt_p95_ms", "rtt_max_ms"),
        of_ended=("rtt_p95_ms",),
    ),
    Application(
        title="calls",
        kinds=("rtc",),
        table="frames",
        sums=_frames,
        begun="frames_sent",
        ended="frames_shown",
        word="shown",
        figures=(
            _count(240, "frames_sent", "frames sent", "frames\nsent", Better.NEITHER),
            _count(241, "frames_shown", "frames shown", "frames\nshown", Better.MORE),
            _count(242, "frames_skipped", "frames that the encoder left out", "frames\nskipped", Better.LESS),
            _count(
                243, "frames_late", "frames that arrived too late to be shown", "frames\nlate", Better.LESS
            ),
            _count(244, "frames_lost", "frames that could not be decoded", "frames\nlost", Better.LESS),
            _over_flows(245, "frame_p50_ms", "median of the delay of frames", "delay p50\nms", "ms"),
            _over_flows(
                246,
                "frame_p95_ms",
                "95th percentile of the delay of frames",
                "delay p95\nms",
                "ms",
                scale=Scale.QUANTILE,
            ),
            _over_flows(
                247,
                "frame_p99_ms",
                "99th percentile of the delay of frames",
                "delay p99\nms",
                "ms",
                scale=Scale.QUANTILE,
            ),
            _over_flows(248, "buffer_ms", "time of frames in the jitter buffer", "jitter\nbuffer ms", "ms"),
            _count(249, "freezes", "freezes of the picture", "freezes", Better.LESS),
            _over_flows(250, "freeze_s", "time of freezes per call", "frozen\ns", "s"),
            _over_flows(251, "video_kbps", "rate of the shown video", "video\nkbit/s", "kbit/s", Better.MORE),
            _over_flows(
                252,
                "target_kbps",
                "target of the rate controller",
                "target\nkbit/s",
                "kbit/s",
                Better.NEITHER,
            ),
            _over_flows(
                253,
                "video_percent",
                "rate of the shown video over the encoder's",
                "video\n%",
                "%",
                Better.MORE,
            ),
            _over_flows(254, "media_loss_percent", "packets of video lost after repair", "loss\n%", "%"),
            _over_flows(255, "vmaf", "quality of the shown video (VMAF)", "VMAF", "points", Better.MORE),
        ),
        shown=(
            "frame_p50_ms",
            "frame_p95_ms",
            "frame_p99_ms",
            "buffer_ms",
            "freezes",
            "freeze_s",
            "video_kbps",
            "target_kbps",
            "media_loss_percent",
            "vmaf",
        ),
        of_ended=("frame_p95_ms", "freeze_s", "vmaf"),
    ),
    Application(
        title="XR",
        kinds=("xr",),
        table="xr_frames",
        sums=_xr,
        begun="xr_frames",
        ended="xr_in_time",
        word="in time",
        figures=(
            _count(260, "xr_frames", "frames of video to the UE", "frames", Better.NEITHER),
            _count(261, "xr_in_time", "frames within their budget", "frames\nin time", Better.MORE),
            _count(262, "xr_late", "frames that arrived after their budget", "frames\nlate", Better.LESS),
            _count(263, "xr_lost", "frames of which a packet was lost", "frames\nlost", Better.LESS),
            _over_flows(
                264,
                "xr_in_time_percent",
                "share of frames within their budget",
                "in time\n%",
                "%",
                Better.MORE,
            ),
            _over_flows(265, "xr_p50_ms", "median of the delay of frames", "delay p50\nms", "ms"),
            _over_flows(
                266,
                "xr_p95_ms",
                "95th percentile of the delay of frames",
                "delay p95\nms",
                "ms",
                scale=Scale.QUANTILE,
            ),
            _over_flows(
                267,
                "xr_p99_ms",
                "99th percentile of the delay of frames",
                "delay p99\nms",
                "ms",
                scale=Scale.QUANTILE,
            ),
            _over_flows(
                268, "pose_in_time_percent", "poses within their budget", "poses in\ntime %", "%", Better.MORE
            ),
            _over_flows(
                269,
                "uplink_video_in_time_percent",
                "frames from the UE within their budget",
                "uplink in\ntime %",
                "%",
                Better.MORE,
            ),
            _over_flows(
                270,
                "satisfied_percent",
                "users with more than 99 % of each stream in time",
                "satisfied\n%",
                "%",
                Better.MORE,
            ),
            _over_flows(
                271,
                "satisfied_95_percent",
                "users with more than 95 % of each stream in time",
                "satisfied\nat 95 %",
                "%",
                Better.MORE,
            ),
        ),
        shown=(
            "xr_in_time_percent",
            "xr_p50_ms",
            "xr_p95_ms",
            "xr_p99_ms",
            "xr_late",
            "xr_lost",
            "pose_in_time_percent",
            "uplink_video_in_time_percent",
            "satisfied_percent",
        ),
        of_ended=("xr_in_time_percent",),
    ),
)
"""All kinds of applications with results of their own; a further one is an entry here."""
