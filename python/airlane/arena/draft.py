"""The test cases of the BBR draft (draft-ietf-ccwg-bbr-06, appendix A), run and judged.

A case is a scenario file, an intervention once the connection is in a given state, and a criterion. The time
of the state is only known after a run: a case runs once to find it, and again, with the same seed and
therefore identically up to that time, with the intervention at that time.

The cases are about BBR version 3. Other controllers are tested where a criterion applies to them: version 1
in the states that it shares, any sender by what is visible in the network. For them the path changes at the
same time or, where they have the state that a case names, in that state.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airlane import native, scenario, stats
from airlane.arena.contenders import CONTENDERS, Contender, NotForError
from airlane.native import Output
from airlane.scenario import Scenario

__all__ = [
    "OTHERS",
    "SOURCE",
    "SUBJECT",
    "Case",
    "Judged",
    "NotHadError",
    "Question",
    "Seen",
    "Span",
    "Trace",
    "conduct",
]

SUBJECT = "bbr3"
"""Subject of the cases."""

_MODELS = (SUBJECT, "bbr")
"""Controllers that record their path model (table `path_model`)."""

OTHERS = ("bbr", "cubic", "newreno")
"""Controllers that are tested too by default."""

_STATELESS = "no states and no model of the path that could be looked at"

SOURCE = "draft-ietf-ccwg-bbr-06, appendix A"
RUNS, QUICK_RUNS = 10, 2
_FOLDER = Path(__file__).parent / "bbr_draft"


class NotHadError(Exception):
    """The precondition of a case did not occur, so there is no result; the message names it."""


@dataclass(frozen=True)
class Span:
    """A period in one state: its rows of the table `path_model`, and the first row after it, if any."""

    state: str
    rows: Sequence[Mapping[str, Any]]
    after: Mapping[str, Any] | None

    @property
    def begin(self) -> float:
        """Its start, in seconds."""
        return float(self.rows[0]["t_s"])

    @property
    def end(self) -> float:
        """Its end, in seconds; infinite at the end of the run."""
        return math.inf if self.after is None else float(self.after["t_s"])

    @property
    def rounds(self) -> int:
        """Round trips from its start to the first row after it."""
        last = self.rows[-1] if self.after is None else self.after
        return int(last["round"]) - int(self.rows[0]["round"])


class Trace:
    """A run from the controller's view.

    Attributes
    ----------
    rows
        The table `path_model`.
    flow
        The flow's row of the results.
    spans
        Periods in states, in their order.
    settings
        The scenario.
    """

    def __init__(self, output: Output, settings: Mapping[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = output.tables["path_model"].to_pylist()
        (self.flow,) = output.tables["flows"].to_pylist()
        self.series: list[dict[str, Any]] = output.tables["flow_series"].to_pylist()
        self.settings = settings
        begins = [i for i, row in enumerate(self.rows) if i == 0 or row["state"] != self.rows[i - 1]["state"]]
        ends = [*begins, len(self.rows)][1:]
        self.spans = [
            Span(
                self.rows[begin]["state"],
                self.rows[begin:end],
                self.rows[end] if end < len(self.rows) else None,
            )
            for begin, end in zip(begins, ends, strict=True)
        ]

    def span(self, state: str, from_s: float = 0.0, where: Callable[[Span], bool] = lambda _: True) -> Span:
        """The first period in a state that starts at or after a time.

        Raises
        ------
        NotHadError
            When there is none.
        """
        for span in self.spans:
            if span.state == state and span.begin >= from_s and where(span):
                return span
        raise NotHadError(f"the connection does not come to {state}")

    def next(self, span: Span) -> str:
        """The state after a period; empty at the end of the run."""
        return "" if span.after is None else str(span.after["state"])


@dataclass(frozen=True)
class Seen:
    """Result of one run: the evaluated number, and whether all expectations hold."""

    value: float
    holds: bool


@dataclass(frozen=True)
class Question:
    """A test of a controller.

    Attributes
    ----------
    look
        Judges the last run.
    figure
        Meaning of the printed number, unit last; empty for the case's own.
    criterion
        The criterion, with the numbers that the draft leaves open; empty for the case's own.
    of
        Controllers to which it applies; all if empty.
    """

    look: Callable[[Trace], Seen]
    figure: str = ""
    criterion: str = ""
    of: tuple[str, ...] = ()


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes
    ----------
    section, title
        As in the draft's appendix. The section of a variant of ours has a letter appended.
    file
        Name of the scenario in `bbr_draft/`.
    expects
        Behaviour that the draft expects, in our words.
    criterion, figure, look
        The test of BBRv3.
    interventions
        Settings that follow from the previous run, one run for each.
    others
        The test of other controllers, if any.
    alone
        Why the case does not apply to version 1.
    """

    section: str
    title: str
    file: str
    expects: str
    criterion: str
    figure: str
    look: Callable[[Trace], Seen]
    interventions: tuple[Callable[[Trace], Mapping[str, object]], ...] = ()
    others: Question | None = None
    alone: str = ""

    def question(self, contender: str) -> Question | str:
        """The test of a controller, or why the case does not apply to it."""
        if contender == SUBJECT:
            return Question(self.look, self.figure, self.criterion)
        other = self.others
        if other is not None and contender in (other.of or (contender,)):
            return Question(other.look, other.figure or self.figure, other.criterion or self.criterion)
        return self.alone if contender in _MODELS else _STATELESS


@dataclass(frozen=True)
class Judged:
    """A controller in a case, over its runs.

    Attributes
    ----------
    contender
        Its name.
    asked
        The test, or why the case does not apply.
    values
        The evaluated number of each run that has a result.
    held
        Number of these runs in which all expectations hold.
    reasons
        Why the other runs have no result.
    """

    case: Case
    contender: str
    asked: Question | str
    values: Sequence[float]
    held: int
    reasons: Sequence[str]

    @property
    def estimate(self) -> stats.Estimate:
        """Mean and interval of the number; infinite if it is infinite in a run: the event never occurred."""
        if any(map(math.isinf, self.values)):
            return stats.Estimate(math.inf, None, len(self.values), None)
        return stats.estimate(self.values)

    @property
    def verdict(self) -> str:
        """`holds`, `does not` or `in K of N`.

        `cannot be had` if the precondition occurred in no run; `not applicable` where the case does not
        apply.
        """
        if isinstance(self.asked, str):
            return "not applicable"
        n = len(self.values)
        if n == 0:
            return "cannot be had"
        return "holds" if self.held == n else "does not" if self.held == 0 else f"in {self.held} of {n}"


def conduct(
    cases: Sequence[Case],
    others: Sequence[Contender] = (),
    *,
    runs: int = RUNS,
    seed: int = 1,
    threads: int = 1,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Judged]:
    """Run each case with these seeds.

    Parameters
    ----------
    others
        Controllers that are tested in addition to BBRv3.
    runs
        Per case; each run needs one more for each intervention.

    Returns
    -------
    list
        By case; in each BBRv3 first, then the others.
    """
    stage = _Stage(range(seed, seed + runs), threads)
    judged = []
    for i, case in enumerate(cases):
        judged += stage.play(case, others)
        if on_done is not None:
            on_done(i + 1, len(cases))
    return judged


_Forms = Mapping[int, Scenario]
"""A scenario for each seed."""

_Changes = Mapping[int, Mapping[str, object]]
"""The changes of an intervention, for each seed."""


class _Stage:
    """Runs cases; caches the initial runs, which several of them share."""

    def __init__(self, seeds: range, threads: int) -> None:
        self._seeds, self._threads = seeds, threads
        self._begun: dict[native.Resolved, dict[int, Trace]] = {}

    def play(self, case: Case, others: Sequence[Contender]) -> list[Judged]:
        """The case for BBRv3 and the others."""
        base = scenario.load(_FOLDER / f"{case.file}.toml")
        subject = next(one for one in CONTENDERS if one.name == SUBJECT)
        lead = self._chain(case, subject.enter(base), [{} for _ in case.interventions])
        judged = [_judge(case, subject, lead.traces, lead.reasons)]
        for one in others:
            asked = case.question(one.name)
            if isinstance(asked, str):
                judged.append(Judged(case, one.name, asked, [], 0, []))
                continue
            try:
                judged.append(self._ask(case, one, base, lead))
            except NotForError as error:
                judged.append(Judged(case, one.name, str(error), [], 0, []))
        return judged

    def _ask(self, case: Case, one: Contender, base: Scenario, lead: _Played) -> Judged:
        if one.name in _MODELS:
            played = self._chain(case, one.enter(base), lead.changes)
            return _judge(case, one, played.traces, played.reasons)
        forms = {seed: one.enter(form) for seed, form in lead.forms.items()}
        return _judge(case, one, self._run(forms, one), lead.reasons)

    def _chain(
        self, case: Case, base: Scenario, led: Sequence[Mapping[int, Mapping[str, object]]]
    ) -> _Played:
        """Run, intervene, run again; where an intervention does not apply, with the changes in `led`."""
        forms: _Forms = dict.fromkeys(self._seeds, base)
        if base.resolved not in self._begun:
            self._begun[base.resolved] = self._run(forms)
        traces, reasons = self._begun[base.resolved], list[str]()
        changes: list[dict[int, Mapping[str, object]]] = []
        for intervene, before in zip(case.interventions, led, strict=True):
            change: dict[int, Mapping[str, object]] = {}
            for one, trace in traces.items():
                try:
                    change[one] = intervene(trace)
                except NotHadError as error:
                    if one in before:
                        change[one] = before[one]
                    else:
                        reasons.append(str(error))
            forms = {one: forms[one].set(settings) for one, settings in change.items()}
            traces = self._run(forms)
            changes.append(change)
        return _Played(forms, traces, changes, reasons)

    def _run(self, forms: _Forms, contender: Contender | None = None) -> dict[int, Trace]:
        jobs = [(form.resolved, seed) for seed, form in forms.items()]
        own = {} if contender is None else contender.own
        outputs = native.run(jobs, self._threads, controllers=own) if jobs else []
        told = zip(forms.items(), outputs, strict=True)
        return {seed: Trace(output, form.settings) for (seed, form), output in told}


@dataclass(frozen=True)
class _Played:
    """A case before the verdict: latest forms and runs, each intervention, reasons for missing results."""

    forms: _Forms
    traces: Mapping[int, Trace]
    changes: Sequence[_Changes]
    reasons: Sequence[str]


def _judge(case: Case, contender: Contender, traces: Mapping[int, Trace], before: Sequence[str]) -> Judged:
    asked = case.question(contender.name)
    assert isinstance(asked, Question), "not applicable contenders are not run"
    seen, reasons = [], list(before)
    for trace in traces.values():
        try:
            seen.append(asked.look(trace))
        except NotHadError as error:
            reasons.append(str(error))
    held = sum(one.holds for one in seen)
    return Judged(case, contender.name, asked, [one.value for one in seen], held, reasons)
