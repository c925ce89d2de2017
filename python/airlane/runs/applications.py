"""Application results as columns of `flows`: load times, stalls, bitrates, round-trip times, calls, XR.

The tables `pages`, `views`, `pings`, `frames` and `xr_frames` have one row per page, view, echo request,
frame of a call and frame of XR. `airlane.runs.flow_results` aggregates them per flow; here they become
columns, so that tables, sweeps and comparisons read them like any other figure (`airlane.runs.figures`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from airlane.runs import arrays, flow_results
from airlane.runs.figure import Better, Figure, mean_of, sum_of, weighted
from airlane.stats import Scale

__all__ = ["APPLICATIONS", "Application", "with_applications"]


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
    sums: Callable[[pa.Table, float], flow_results.Summed]
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


def _delays(place: int, prefix: str) -> tuple[Figure, ...]:
    """Percentiles of the delay of frames."""
    return (
        _over_flows(place, f"{prefix}_p50_ms", "median of the delay of frames", "delay p50\nms", "ms"),
        *(
            _over_flows(
                place + 1 + i,
                f"{prefix}_p{percent}_ms",
                f"{percent}th percentile of the delay of frames",
                f"delay p{percent}\nms",
                "ms",
                scale=Scale.QUANTILE,
            )
            for i, percent in enumerate((95, 99))
        ),
    )


APPLICATIONS = (
    Application(
        title="web pages",
        kinds=("web",),
        table="pages",
        sums=flow_results.pages,
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
        sums=flow_results.views,
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
        sums=flow_results.pings,
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
        sums=flow_results.frames,
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
            *_delays(245, "frame"),
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
        sums=flow_results.xr,
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
            *_delays(265, "xr"),
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
