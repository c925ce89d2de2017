"""Results of the test cases of the BBR draft, for terminals, programs and tables."""

from __future__ import annotations

import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from airlane.arena.draft import SOURCE, SUBJECT, Case, Judged, Question

__all__ = ["as_csv", "as_json", "terminal_view"]


def measured(one: Judged) -> str:
    """The number with its interval."""
    told = one.estimate
    if told.n == 0:
        return ""
    if math.isinf(told.mean):
        return "never"
    alike = not told.half_width or told.half_width < 1e-6 * abs(told.mean)  # up to rounding
    return f"{told.mean:.4g}" if alike else f"{told.mean:.4g} ± {told.half_width:.2g}"


def terminal_view(judged: Sequence[Judged]) -> Group:
    """A row per case: criterion, result, verdict; then the same for other controllers."""
    table = _table(SOURCE)
    for heading in ("case", "", "what is evaluated", "measured", "verdict"):
        table.add_column(heading, overflow="fold", justify="right" if heading == "measured" else "left")
    ours = [one for one in judged if one.contender == SUBJECT]
    for one in ours:
        case = one.case
        table.add_row(case.section, case.title, case.figure, measured(one), one.verdict)
    reasons = [Text(f"{one.case.section}: {reason}") for one in ours for reason in _reasons(one)]
    words = ("holds", "does not", "cannot be had", "in some runs")
    counts = Counter(one.verdict if one.verdict in words else words[-1] for one in ours)
    told = ", ".join(f"{counts[word]} {word}" for word in words if counts[word])
    note = Text(f"{told}; mean and 95 % interval over the seeds, none where all are alike.")
    return Group(table, *reasons, note, *_beside(judged))


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)


def _beside(judged: Sequence[Judged]) -> list[Table | Text]:
    """Results of others in comparable cases, with those of BBRv3; where a case does not apply, the reason."""
    names = list(dict.fromkeys(one.contender for one in judged if one.contender != SUBJECT))
    if not names:
        return []
    told = {(one.case.section, one.contender): one for one in judged}
    cases = list(dict.fromkeys(one.case for one in judged))
    table = _table("other controllers, asked the same")
    for heading in ("case", "what is evaluated", SUBJECT, *names):
        table.add_column(heading, overflow="fold")
    for case in cases:
        asked = {name: told[case.section, name].asked for name in names}
        figures = {of.figure for of in asked.values() if isinstance(of, Question)}
        for figure in sorted(figures):
            same = [SUBJECT] if figure == case.figure else []
            shown = [
                *same,
                *(n for n, of in asked.items() if isinstance(of, Question) and of.figure == figure),
            ]
            cells = [_cell(told[case.section, n]) if n in shown else "–" for n in (SUBJECT, *names)]
            table.add_row(case.section, figure, *cells)
    return [Text(""), table, *map(Text, _not_asked(cases, names, told)), *map(Text, _came_to_nothing(judged))]


def _not_asked(
    cases: Sequence[Case], names: Sequence[str], told: Mapping[tuple[str, str], Judged]
) -> list[str]:
    """The cases that do not apply to a controller, with the reason; equal reasons are combined."""
    order = [case.section for case in cases]
    who: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in names:
        why: dict[str, list[str]] = {}
        for case in cases:
            if isinstance(asked := told[case.section, name].asked, str):
                why.setdefault(asked, []).append(case.section)
        for reason, where in why.items():
            who.setdefault((reason, tuple(where)), []).append(name)
    return [
        f"not applicable to {', '.join(those)}: {_ranges(where, order)}: {reason}"
        for (reason, where), those in who.items()
    ]


def _ranges(some: Sequence[str], order: Sequence[str]) -> str:
    """Consecutive names as `first to last`."""
    runs = [
        [order[i] for _, i in run]
        for _, run in itertools.groupby(enumerate(map(order.index, some)), lambda pair: pair[1] - pair[0])
    ]
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def _came_to_nothing(judged: Sequence[Judged]) -> list[str]:
    others = [one for one in judged if one.contender != SUBJECT]
    return [f"{one.case.section}, {one.contender}: {reason}" for one in others for reason in _reasons(one)]


def _cell(one: Judged) -> str:
    return f"{measured(one)} {one.verdict}".strip()


def _reasons(one: Judged) -> list[str]:
    counts = Counter(one.reasons)
    of = len(one.values) + len(one.reasons)
    return [reason if count == of else f"{reason} ({count} of {of} runs)" for reason, count in counts.items()]


def rows(judged: Sequence[Judged]) -> list[dict[str, Any]]:
    """All results as flat rows."""
    return [
        {
            "case": one.case.section,
            "title": one.case.title,
            "controller": one.contender,
            "expects": one.case.expects,
            "criterion": one.asked.criterion if isinstance(one.asked, Question) else None,
            "figure": one.asked.figure if isinstance(one.asked, Question) else None,
            "mean": one.estimate.mean if one.values and math.isfinite(one.estimate.mean) else None,
            "ci95": one.estimate.half_width,
            "n": len(one.values),
            "held": one.held,
            "verdict": one.verdict,
            "note": one.asked if isinstance(one.asked, str) else "; ".join(_reasons(one)),
        }
        for one in judged
    ]


def as_json(judged: Sequence[Judged]) -> dict[str, Any]:
    """All results for programs."""
    return {"source": SOURCE, "cases": rows(judged)}


def as_csv(judged: Sequence[Judged]) -> str:
    """`rows` as CSV."""
    text = io.StringIO()
    table = rows(judged)
    writer = csv.DictWriter(text, table[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return text.getvalue()
