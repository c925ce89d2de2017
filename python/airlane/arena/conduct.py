"""Runs the arena: the figures of each contender in each situation, and of CUBIC with the same seeds."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from airlane import native, stats
from airlane.arena.contenders import BASELINE, Contender, NotForError
from airlane.arena.measure import BYTE_DELAY, FIGURES, Measured, Tables, measured
from airlane.arena.situations import FOLDER, Situation
from airlane.cache import Cache, outputs_of
from airlane.control import ControllerError, OwnController
from airlane.native import Output
from airlane.runs.figures import BY_NAME, Better, Figure, Outcome, Versus

__all__ = ["FIGURES", "Cell", "Result", "conduct"]

_AT_ONCE = 16
"""Maximum number of runs whose whole output is in memory."""

QUICK_RUNS = 3
"""Runs in the quick form: the smallest number that gives every figure an interval, if a wide one."""

KEPT = 0.8
"""To rank by delay, a contender must keep this share of CUBIC's goodput; to rank by goodput, its delay must
be at most CUBIC's divided by this.
"""

DELAY_FINE_MS = 150.0
"""A delay up to this never excludes a contender from ranking by goodput: ITU-T G.114 (05/2003) considers
one-way delays up to it acceptable for most uses (unverified). Where CUBIC leaves the link idle, and so its
queue empty, any use of it increases the delay.
"""

PLANES = (("goodput_mbps", "owd_p95_ms"), ("video_kbps", "frame_p95_ms"))
"""The axes of the planes of rate and delay: of flows, and of the pictures of calls."""

PARTNER = {one: other for rate, delay in PLANES for one, other in ((rate, delay), (delay, rate))}
"""The other axis of its plane."""


@dataclass(frozen=True)
class Cell:
    """A contender in a situation.

    Attributes
    ----------
    values
        By figure, one value per run; NaN where a run has none. Empty where the contender does not apply.
    reason
        Why it has no values, or why some of its runs have none.
    completed, begun
        Transfers, pages or views of all runs: those that ended within the horizon, and those that count.
    """

    values: Mapping[str, Sequence[float]]
    reason: str = ""
    completed: int = 0
    begun: int = 0

    def estimate(self, figure: str) -> stats.Estimate:
        """Mean over the runs."""
        return BY_NAME[figure].estimate(self.values.get(figure, ()))

    def ended(self) -> str:
        """Number of counted transfers that ended within the horizon, where it is not all of them."""
        return f"{self.completed} of {self.begun} in time" if self.completed < self.begun else ""


@dataclass(frozen=True)
class Result:
    """All cells, by situation and contender, and the contender that the others are compared with."""

    contenders: Sequence[Contender]
    situations: Sequence[Situation]
    cells: Mapping[tuple[str, str], Cell]
    simulated_s: float
    baseline: str = BASELINE

    @property
    def reference(self) -> str:
        """The contender that all are compared with, in a sentence."""
        titles = (one.title for one in self.contenders if one.name == self.baseline)
        return next(titles, self.baseline).partition(" (")[0]

    def plane(self, situation: Situation) -> tuple[Figure, Figure] | None:
        """The axes of its plane, rate and delay: those of calls, if the baseline has values for them."""
        own = self.cells[situation.name, self.baseline].values.keys()
        planes = ((BY_NAME[rate], BY_NAME[delay]) for rate, delay in reversed(PLANES) if own >= {rate, delay})
        return next(planes, None)

    def runs(self) -> list[int]:
        """The distinct numbers of runs per cell, smallest first."""
        return sorted({len(next(iter(cell.values.values()))) for cell in self.cells.values() if cell.values})

    def against(self, situation: str, contender: str, figure: Figure) -> Versus:
        """Paired comparison with CUBIC's runs on the same seeds."""
        return figure.versus(*self.paired(situation, contender, figure))

    def paired(
        self, situation: str, contender: str, figure: Figure
    ) -> tuple[Sequence[float], Sequence[float]]:
        """The values of a contender and of CUBIC on the same seeds; none if either has none."""
        cells = [self.cells[situation, name].values for name in (contender, self.baseline)]
        name = figure.name
        if name == "owd_p95_ms" and self._splits(contender) and all(BYTE_DELAY in cell for cell in cells):
            name = BYTE_DELAY  # behind a proxy, a one-way delay is that of bytes and not of packets
        own, base = (cell.get(name, ()) for cell in cells)
        if not own or not base:  # without a value there is no comparison
            own = base = ()
        return own, base

    def _splits(self, contender: str) -> bool:
        boxes = (box for one in self.contenders if one.name == contender for box in one.middleboxes)
        return any(box["kind"] == "split-proxy" for box in boxes)

    def verdict(self, situation: str, contender: str, figure: Figure) -> str:
        """`better`, `worse` or `same` than CUBIC by a relevant difference; `open` where not settled.

        A share is `fair`, `takes` or `yields`, relative to CUBIC's own in the same situation, or `open`.
        """
        measured = all(figure.name in self.cells[situation, one].values for one in (contender, self.baseline))
        if not measured or contender == self.baseline:
            return ""
        outcome = self.against(situation, contender, figure).outcome
        if figure.better is Better.NEITHER:
            return _SHARES[outcome]
        if outcome in (Outcome.SAME, Outcome.OPEN):
            return str(outcome)
        return "better" if (outcome is Outcome.MORE) is (figure.better is Better.MORE) else "worse"

    def price(self, situation: str, contender: str, figure: Figure) -> float | None:
        """The contender's other axis relative to CUBIC's, where it is outside the limit for ranking.

        A delay ranks only with at least `KEPT` of CUBIC's goodput; a goodput only with a delay of at most
        CUBIC's divided by `KEPT`, or of `DELAY_FINE_MS`. NaN where the contender has no value; None where
        it is within the limit or there is no plane.
        """
        other = PARTNER.get(figure.name, "")
        if contender == self.baseline or other not in self.cells[situation, self.baseline].values:
            return None
        if figure.name not in self.cells[situation, contender].values:
            return None
        ratio = self.against(situation, contender, BY_NAME[other]).ratio
        if BY_NAME[other].better is Better.MORE:
            return None if ratio >= KEPT else ratio
        fine = self.cells[situation, contender].estimate(other).mean <= DELAY_FINE_MS
        return None if fine or ratio <= 1.0 / KEPT else ratio


_SHARES = {Outcome.SAME: "fair", Outcome.MORE: "takes", Outcome.LESS: "yields", Outcome.OPEN: "open"}


def conduct(
    contenders: Sequence[Contender],
    situations: Sequence[Situation],
    cache: Cache,
    *,
    quick: bool = False,
    seed: int = 1,
    threads: int = 1,
    on_done: Callable[[int, int], None] | None = None,
    baseline: str = BASELINE,
) -> Result:
    """Run each contender in each situation, all with the same seeds.

    Parameters
    ----------
    cache
        Where runs are cached: a stopped arena continues from it.
    quick
        Three runs per cell.
    baseline
        The contender that the others are compared with.
    """
    entered: dict[tuple[str, str], tuple[Situation, native.Resolved] | str] = {}
    for situation in situations:
        base = situation.scenario().set({"run.series_bin": "1 s"})
        for contender in contenders:
            try:
                entered[situation.name, contender.name] = (situation, contender.enter(base).resolved)
            except NotForError as error:
                # The name of a bundled file without the place where it is installed.
                entered[situation.name, contender.name] = str(error).replace(f"{FOLDER}/", "")
    jobs: dict[tuple[str, str], list[native.Job]] = {}
    for place, form in entered.items():
        if not isinstance(form, str):
            situation, resolved = form
            runs = QUICK_RUNS if quick else situation.runs
            jobs[place] = [(resolved, seed + i) for i in range(runs)]
    own = {name: made for one in contenders for name, made in one.own.items()}
    users = {one.name for one in contenders if one.own}
    kept = [job for (_, contender), many in jobs.items() if contender not in users for job in many]
    fresh = [job for (_, contender), many in jobs.items() if contender in users for job in many]
    of = len({*kept, *fresh})

    def report_done(done: int, _: int) -> None:
        if on_done is not None:
            on_done(done, of)

    outputs: dict[native.Job, tuple[Tables, float] | ControllerError] = {}
    outputs |= outputs_of(kept, cache, _taken, threads, report_done)[0]
    outputs |= _own(fresh, own, threads, lambda done: report_done(done + len(set(kept)), of))
    cells = {}
    for place, form in entered.items():
        if isinstance(form, str):
            cells[place] = Cell({}, form)
        else:
            cells[place] = _cell(form[0], [outputs[job] for job in jobs[place]])
    ran = [output for output in outputs.values() if not isinstance(output, ControllerError)]
    return Result(contenders, situations, cells, sum(seconds for _, seconds in ran), baseline)


def _own(
    jobs: Sequence[native.Job],
    controllers: Mapping[str, type[OwnController]],
    threads: int,
    on_done: Callable[[int], None],
) -> dict[native.Job, tuple[Tables, float] | ControllerError]:
    """Runs of the user's controllers: never cached, since their code may have changed.

    A run that fails does not affect the others.
    """
    outputs: dict[native.Job, tuple[Tables, float] | ControllerError] = {}
    for begin in range(0, len(jobs), _AT_ONCE):
        batch = jobs[begin : begin + _AT_ONCE]
        try:
            fresh = native.run(batch, threads, controllers=controllers)
            outputs |= {job: _taken(output) for job, output in zip(batch, fresh, strict=True)}
        except ControllerError:  # some failed: run each separately
            outputs |= {job: _attempt(job, controllers) for job in batch}
        on_done(len(outputs))
    return outputs


def _attempt(
    job: native.Job, controllers: Mapping[str, type[OwnController]]
) -> tuple[Tables, float] | ControllerError:
    try:
        (output,) = native.run([job], 1, controllers=controllers)
    except ControllerError as error:
        return error
    return _taken(output)


def _taken(output: Output) -> tuple[Tables, float]:
    names: Sequence[str] = ("flows", "pages", "views", "frames", "energy", "paths")
    wanted = {name: output.tables[name] for name in names if name in output.tables}
    return wanted, float(output.meta["sim_s"])


def _cell(situation: Situation, runs: Sequence[tuple[Tables, float] | ControllerError]) -> Cell:
    """Cell of these runs; where a controller failed in some of them, of the others, with the reason."""
    failed = [(i, run) for i, run in enumerate(runs) if isinstance(run, ControllerError)]
    setting = situation.setting()
    none = Measured({})
    found = [none if isinstance(run, ControllerError) else measured(setting, *run) for run in runs]
    names = [*(figure.name for figure in FIGURES), BYTE_DELAY]
    values = {name: [one.values.get(name, math.nan) for one in found] for name in names}
    why = f"{len(failed)} of {len(runs)} runs failed, the first with {failed[0][1]}" if failed else ""
    return Cell(
        {name: of for name, of in values.items() if not all(map(math.isnan, of))},
        why,
        sum(one.completed for one in found),
        sum(one.begun for one in found),
    )
