"""Runs the arena: what each contender comes to in each situation, beside CUBIC on the same seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane import native, stats
from airlane.arena.contenders import BASELINE, Contender, NotForError
from airlane.arena.situations import Situation
from airlane.cache import Cache, outputs_of
from airlane.control import Controller
from airlane.native import Output

__all__ = ["FIGURES", "Cell", "Figure", "Result", "conduct"]

_AT_ONCE = 16
"""Runs whose whole output is in memory."""

QUICK_RUNS = 2
"""Runs in the quick form: an interval, if a wide one."""


@dataclass(frozen=True)
class Figure:
    """A figure of one run.

    Attributes
    ----------
    name, title, short
        Unit last; for people; for a heading.
    more_is_better
        Or less; None where neither is, since the best is 1.
    """

    name: str
    title: str
    short: str
    more_is_better: bool | None


FIGURES = (
    Figure("goodput_mbps", "goodput, Mbit/s", "goodput", True),
    Figure("owd_p95_ms", "95th percentile of one-way delay, ms", "delay, p95", False),
    Figure("lost_percent", "packets lost, %", "lost", False),
    Figure("fct_s", "completion time, s", "time", False),
    Figure("page_s", "page time (onload), s", "page time", False),
    Figure("stalled_s", "time a picture stood still, start-up included, s", "waiting", False),
    Figure("jain", "fairness among its own (Jain)", "Jain", True),
    Figure("share", "its rate over that of CUBIC beside it", "share", None),
)


@dataclass(frozen=True)
class Cell:
    """A contender in a situation.

    Attributes
    ----------
    values
        By figure, one value per run; NaN where a run has none. Empty where the contender has no form.
    reason
        Why it has none.
    """

    values: Mapping[str, Sequence[float]]
    reason: str = ""

    def estimate(self, figure: str) -> stats.Estimate:
        """Mean over the runs."""
        return stats.estimate(self.values.get(figure, ()))


@dataclass(frozen=True)
class Result:
    """All cells, by situation and contender."""

    contenders: Sequence[Contender]
    situations: Sequence[Situation]
    cells: Mapping[tuple[str, str], Cell]
    simulated_s: float

    def runs(self) -> list[int]:
        """The numbers of runs per cell, least first."""
        return sorted({len(next(iter(cell.values.values()))) for cell in self.cells.values() if cell.values})

    def against(self, situation: str, one: str, other: str, figure: str) -> stats.Estimate:
        """Paired difference of one contender to another on the same seeds."""
        own, base = (self.cells[situation, name].values.get(figure, ()) for name in (one, other))
        return stats.paired_difference(own, base)

    def against_baseline(self, situation: str, contender: str, figure: str) -> tuple[stats.Estimate, float]:
        """Paired difference to CUBIC's runs on the same seeds, and the ratio of the means."""
        own, base = (self.cells[situation, name].values.get(figure, ()) for name in (contender, BASELINE))
        difference = self.against(situation, contender, BASELINE, figure)
        below = stats.estimate(base).mean
        return difference, stats.estimate(own).mean / below if below else math.nan

    def verdict(self, situation: str, contender: str, figure: Figure) -> str:
        """`better` or `worse` than CUBIC where the interval of the difference excludes zero, else `same`."""
        values = self.cells[situation, contender].values
        if figure.name not in values or figure.more_is_better is None or contender == BASELINE:
            return ""
        difference, _ = self.against_baseline(situation, contender, figure.name)
        if difference.n == 0 or not (difference.low > 0.0 or difference.high < 0.0):
            return "same"
        return "better" if (difference.low > 0.0) is figure.more_is_better else "worse"


def conduct(
    contenders: Sequence[Contender],
    situations: Sequence[Situation],
    cache: Cache,
    *,
    quick: bool = False,
    seed: int = 1,
    threads: int = 1,
    on_done: Callable[[int, int], None] | None = None,
) -> Result:
    """Run each contender in each situation, all with the same seeds.

    Parameters
    ----------
    cache
        Where runs are kept: an arena that was stopped goes on.
    quick
        Two runs each.
    """
    entered: dict[tuple[str, str], tuple[Situation, str] | str] = {}
    for situation in situations:
        base = situation.scenario().set({"run.series_bin": "1 s"})
        for contender in contenders:
            try:
                entered[situation.name, contender.name] = (situation, contender.enter(base).resolved)
            except NotForError as error:
                entered[situation.name, contender.name] = str(error)
    jobs: dict[tuple[str, str], list[tuple[str, int]]] = {}
    for place, form in entered.items():
        if not isinstance(form, str):
            situation, resolved = form
            runs = QUICK_RUNS if quick else situation.runs
            jobs[place] = [(resolved, seed + i) for i in range(runs)]
    own = {one.name: one.own for one in contenders if one.own is not None}
    kept = [job for (_, contender), many in jobs.items() if contender not in own for job in many]
    fresh = [job for (_, contender), many in jobs.items() if contender in own for job in many]
    of = len({*kept, *fresh})

    def told(done: int, _: int) -> None:
        if on_done is not None:
            on_done(done, of)

    outputs, _ = outputs_of(kept, cache, _taken, threads, told)
    outputs |= _own(fresh, own, threads, lambda done: told(done + len(outputs), of))
    cells = {}
    for place, form in entered.items():
        if isinstance(form, str):
            cells[place] = Cell({}, form)
        else:
            cells[place] = _cell(form[0], [outputs[job][0] for job in jobs[place]])
    return Result(contenders, situations, cells, sum(seconds for _, seconds in outputs.values()))


def _own(
    jobs: Sequence[tuple[str, int]],
    controllers: Mapping[str, type[Controller]],
    threads: int,
    on_done: Callable[[int], None],
) -> dict[tuple[str, int], tuple[Tables, float]]:
    """Runs of controllers of the user's own: never kept, since what they do may have changed."""
    outputs: dict[tuple[str, int], tuple[Tables, float]] = {}
    for begin in range(0, len(jobs), _AT_ONCE):
        batch = jobs[begin : begin + _AT_ONCE]
        fresh = native.run(batch, threads, controllers=controllers)
        outputs |= {job: _taken(output) for job, output in zip(batch, fresh, strict=True)}
        on_done(len(outputs))
    return outputs


Tables = Mapping[str, pa.Table]


def _taken(output: Output) -> tuple[Tables, float]:
    names: Sequence[str] = ("flows", "pages", "views")
    wanted = {name: output.tables[name] for name in names if name in output.tables}
    return wanted, float(output.meta["sim_s"])


def _cell(situation: Situation, runs: Sequence[Tables]) -> Cell:
    values: dict[str, list[float]] = {figure.name: [] for figure in FIGURES}
    for tables in runs:
        for name, value in _figures(situation, tables).items():
            values[name].append(value)
    return Cell({name: of for name, of in values.items() if not all(map(math.isnan, of))})


def _figures(situation: Situation, tables: Tables) -> dict[str, float]:
    flows = tables["flows"]
    names = np.asarray(flows["flow"].to_pylist(), dtype=str)

    def of(column: str, beginning: str) -> npt.NDArray[np.float64]:
        return flows[column].to_numpy()[np.char.startswith(names, beginning)].astype(np.float64)

    goodput, rival, completion = (
        of("goodput_mbps", "tested"),
        of("goodput_mbps", "rival"),
        of("fct_s", "tested"),
    )
    sent = of("packets_sent", "tested").sum()
    app = "pages" in tables or "views" in tables
    finite = not np.isnan(completion).all() and not app
    return {
        "page_s": _mean(tables, "pages", "onload_s"),
        "stalled_s": _mean(tables, "views", "startup_s") + _mean(tables, "views", "stalled_s"),
        "goodput_mbps": math.nan if finite or app else float(goodput.sum()),
        "owd_p95_ms": float(np.nanmean(of("owd_p95_ms", situation.delay_of))),
        "lost_percent": 100.0 * float(of("packets_lost", "tested").sum() / sent) if sent > 0.0 else math.nan,
        "fct_s": float(np.nanmean(completion)) if finite else math.nan,
        "jain": stats.jain(goodput) if len(goodput) > 1 and not finite and not app else math.nan,
        "share": float(goodput.mean() / rival.mean()) if len(rival) and rival.mean() > 0.0 else math.nan,
    }


def _mean(tables: Tables, table: str, column: str) -> float:
    """Of a table of pages or views; NaN where there is none."""
    return float(np.nanmean(tables[table][column].to_numpy())) if table in tables else math.nan
