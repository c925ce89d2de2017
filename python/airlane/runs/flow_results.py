"""The results of each flow with an application, from the rows of its pages, views, echo requests or frames.

A page that was still loading at the end of the run is neither excluded nor counted as loaded: its time is
censored, and means are Kaplan-Meier means restricted to the end of the run
(`airlane.statistics.survival`). If everything ended, they are plain means. Figures of pings are those of the
requests that were answered, delays of calls those of the frames that were shown, delays of XR those of the
frames that arrived.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.runs import arrays
from airlane.statistics.survival import Times

__all__ = ["Summed", "frames", "pages", "pings", "views", "xr"]

Array = npt.NDArray[np.float64]

Summed = tuple[list[str], dict[str, list[float]]]
"""Names of flows, and for each column the values of the flows."""


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


def pages(table: pa.Table, end_s: float) -> Summed:
    """The results of each flow in `pages`; the run ends at `end_s`."""
    of = _ByFlow(table)
    times, first = of("onload_s"), of("ttfb_s")
    return of.names, {
        "pages_begun": [t.size for t in times],
        "pages_completed": [int(np.isfinite(t).sum()) for t in times],
        "page_s": _restricted(times, of("start_s"), end_s),
        "ttfb_s": [_mean(values) for values in first],
    }


def views(table: pa.Table, end_s: float) -> Summed:
    """The results of each flow in `views`; the run ends at `end_s`."""
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


def pings(table: pa.Table, _: float) -> Summed:
    """The results of each flow in `pings`."""
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


def frames(table: pa.Table, _: float) -> Summed:
    """The results of each flow in `frames`, of calls."""
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


def xr(table: pa.Table, _: float) -> Summed:
    """The results of each flow in `xr_frames`."""
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
        name: 100.0 * float((fates[streams == name] == "in-time").mean()) for name in np.unique(streams)
    }
    least = min(in_time.values(), default=math.nan)
    return {
        "xr_frames": int(video.sum()),
        "xr_in_time": int((fates[video] == "in-time").sum()),
        "xr_late": int((fates[video] == "late").sum()),
        "xr_lost": int((fates[video] == "lost").sum()),
        "xr_in_time_percent": in_time.get("video", math.nan),
        "xr_p50_ms": _percentile(arrived, 50),
        "xr_p95_ms": _percentile(arrived, 95),
        "xr_p99_ms": _percentile(arrived, 99),
        "pose_in_time_percent": in_time.get("pose", math.nan),
        "uplink_video_in_time_percent": in_time.get("uplink-video", math.nan),
        "satisfied_percent": 100.0 * (least > 99.0) if in_time else math.nan,
        "satisfied_95_percent": 100.0 * (least > 95.0) if in_time else math.nan,
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
