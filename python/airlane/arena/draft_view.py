"""What comes of the test cases of the BBR draft, for terminals, programs and tables."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.arena.draft import SOURCE, Judged

__all__ = ["as_csv", "as_json", "terminal_view"]


def measured(one: Judged) -> str:
    """The number with its interval."""
    told = one.estimate
    if told.n == 0:
        return ""
    alike = not told.half_width or told.half_width < 1e-6 * abs(told.mean)  # but for rounding
    return f"{told.mean:.4g}" if alike else f"{told.mean:.4g} ± {told.half_width:.2g}"


def terminal_view(judged: Sequence[Judged]) -> Group:
    """A row per case: what is looked at, what it came to, and the verdict."""
    table = Table(title=SOURCE, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("case", "", "what is looked at", "measured", "verdict"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "measured" else "left")
    for one in judged:
        case = one.case
        table.add_row(case.section, case.title, case.figure, measured(one), one.verdict)
    reasons = [Text(f"{one.case.section}: {reason}") for one in judged for reason in _reasons(one)]
    words = ("holds", "does not", "cannot be had", "in some runs")
    counts = Counter(one.verdict if one.verdict in words else words[-1] for one in judged)
    told = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    note = Text(f"{told}; mean and 95 % interval over the seeds, none where all are alike.")
    return Group(table, *reasons, note)


def _reasons(one: Judged) -> list[str]:
    counts = Counter(one.reasons)
    of = len(one.values) + len(one.reasons)
    return [reason if count == of else f"{reason} ({count} of {of} runs)" for reason, count in counts.items()]


def rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """Everything as flat rows."""
    return [
        {
            "case": one.case.section,
            "title": one.case.title,
            "expects": one.case.expects,
            "criterion": one.case.criterion,
            "figure": one.case.figure,
            "mean": one.estimate.mean if one.values else None,
            "ci95": one.estimate.half_width,
            "n": len(one.values),
            "held": one.held,
            "verdict": one.verdict,
            "note": "; ".join(_reasons(one)),
        }
        for one in judged
    ]


def as_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """For programs."""
    return {"source": SOURCE, "cases": rows(judged)}


def as_csv(judged: Sequence[Judged]) -> str:
    """`rows` as CSV."""
    text = io.StringIO()
    table = rows(judged)
    writer = csv.DictWriter(text, table[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()
