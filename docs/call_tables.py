"""The table of calls in real and in virtual time, from docs/results/call-agreement.json.

`make call-agreement ARGS=--write` writes that file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from airlane import stats
from airlane.pages import markdown

__all__ = ["HEADINGS", "MEASURES", "rows", "table"]

MEASURES = {
    "received_mbps": ("received, Mbit/s", ".3f"),
    "target_mbps": ("target of GCC, Mbit/s", ".3f"),
    "frame_p50_ms": ("delay of frames, median, ms", ".0f"),
    "frame_p95_ms": ("delay of frames, 95th percentile, ms", ".0f"),
    "buffer_ms": ("of it in the jitter buffer, mean, ms", ".0f"),
    "freezes": ("freezes", ".1f"),
    "freeze_s": ("time of freezes, s", ".2f"),
}
"""Names of measures, their titles and the form of their values."""

HEADINGS = ("scenario", "measure", "live", "virtual", "difference")


def rows(report: dict[str, Any]) -> Iterator[list[str]]:
    """Means of live and of virtual runs, and the mean difference with its 95 % interval over the seeds."""
    for scenario in report["scenarios"]:
        pairs = scenario["pairs"]
        for key, (title, form) in MEASURES.items():
            live = [pair["live"][key] for pair in pairs]
            virtual = [float(np.mean([one[key] for one in pair["virtual"]])) for pair in pairs]
            difference = stats.paired_difference(live, virtual)
            half = "" if difference.half_width is None else f" ± {difference.half_width:{form}}"
            means = [f"{np.mean(values):{form}}" for values in (live, virtual)]
            yield [scenario["title"], title, *means, f"{difference.mean:+{form}}{half}"]


def table(report: dict[str, Any]) -> str:
    """The table in Markdown; the title of a scenario is in its first row."""
    shown, before = [], ""
    for title, *cells in rows(report):
        shown.append(["" if title == before else markdown.plain(title), *cells])
        before = title
    return markdown.table(HEADINGS, shown, right=2)
