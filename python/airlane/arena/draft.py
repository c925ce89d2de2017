"""The test cases of the BBR draft (draft-ietf-ccwg-bbr-06, appendix A), run and judged.

A case is a scenario file, what is done to it once the connection is in a given state, and what is looked at.
The state is only known after a run: a case runs once to find it, and again, with the same seed and so the
same up to that moment, with the intervention at that time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airlane import native, scenario, stats
from airlane.native import Output

__all__ = ["SOURCE", "Case", "Judged", "NotHadError", "Seen", "Span", "Trace", "conduct"]

SOURCE = "draft-ietf-ccwg-bbr-06, appendix A"
RUNS, QUICK_RUNS = 10, 2
_FOLDER = Path(__file__).parent / "bbr_draft"


class NotHadError(Exception):
    """What a case asks for did not come about, so that nothing can be said; the message says what."""


@dataclass(frozen=True)
class Span:
    """A stay in one state: its rows of the table `path_model`, and the first row after it, if any."""

    state: str
    rows: Sequence[Mapping[str, Any]]
    after: Mapping[str, Any] | None

    @property
    def begin(self) -> float:
        """When it begins, in seconds."""
        return float(self.rows[0]["t_s"])

    @property
    def end(self) -> float:
        """When it ends; infinite at the end of the run."""
        return math.inf if self.after is None else float(self.after["t_s"])

    @property
    def rounds(self) -> int:
        """Round trips from its begin to the first row after it."""
        last = self.rows[-1] if self.after is None else self.after
        return int(last["round"]) - int(self.rows[0]["round"])


class Trace:
    """A run, as the controller saw it.

    Attributes
    ----------
    rows
        The table `path_model`.
    flow
        The flow's row of the results.
    spans
        Stays in states, in their order.
    settings
        The scenario.
    """

    def __init__(self, output: Output, settings: Mapping[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = output.tables["path_model"].to_pylist()
        (self.flow,) = output.tables["flows"].to_pylist()
        self.series: list[dict[str, Any]] = output.tables["flow_series"].to_pylist()
        self.settings = settings
        begins = [i for i, row in enumerate(self.rows) if i == 0 or row["state"] != self.rows[i - 1]["state"]]
        ends = [*begins[1:], len(self.rows)]
        self.spans = [
            Span(
                self.rows[begin]["state"],
                self.rows[begin:end],
                self.rows[end] if end < len(self.rows) else None,
            )
            for begin, end in zip(begins, ends, strict=True)
        ]

    def span(self, state: str, from_s: float = 0.0, where: Callable[[Span], bool] = lambda _: True) -> Span:
        """The first stay in a state that begins at or after a time.

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
        """The state after a stay; empty at the end of the run."""
        return "" if span.after is None else str(span.after["state"])


@dataclass(frozen=True)
class Seen:
    """What one run came to: the number that is looked at, and whether all that is expected holds."""

    value: float
    holds: bool


@dataclass(frozen=True)
class Case:
    """A test case.

    Attributes
    ----------
    section, title
        Of the draft's appendix. A variant of ours has a letter behind the section.
    file
        Name of the scenario in `bbr_draft/`.
    expects
        What the draft wants to be seen, in our words.
    criterion
        What we look at, with the numbers that the draft leaves open.
    figure
        What the printed number is, unit last.
    look
        Judges the last run.
    interventions
        Settings by what the run before showed, one run for each.
    """

    section: str
    title: str
    file: str
    expects: str
    criterion: str
    figure: str
    look: Callable[[Trace], Seen]
    interventions: tuple[Callable[[Trace], Mapping[str, object]], ...] = ()


@dataclass(frozen=True)
class Judged:
    """A case over its runs.

    Attributes
    ----------
    values
        The number that is looked at, of each run that came to one.
    held
        In how many of them all that is expected was seen.
    reasons
        Why the others came to nothing.
    """

    case: Case
    values: Sequence[float]
    held: int
    reasons: Sequence[str]

    @property
    def estimate(self) -> stats.Estimate:
        """Mean and interval of the number."""
        return stats.estimate(self.values)

    @property
    def verdict(self) -> str:
        """`holds`, `does not` or `in K of N`; `cannot be had` if no run came to what the case asks for."""
        n = len(self.values)
        if n == 0:
            return "cannot be had"
        return "holds" if self.held == n else "does not" if self.held == 0 else f"in {self.held} of {n}"


def conduct(
    cases: Sequence[Case],
    *,
    runs: int = RUNS,
    seed: int = 1,
    threads: int = 1,
    on_done: Callable[[int, int], None] | None = None,
) -> list[Judged]:
    """Run each case with these seeds.

    Parameters
    ----------
    runs
        Per case; each takes one run more for each intervention.
    """
    judged = []
    for i, case in enumerate(cases):
        judged.append(_judge(case, runs, seed, threads))
        if on_done is not None:
            on_done(i + 1, len(cases))
    return judged


def _judge(case: Case, runs: int, seed: int, threads: int) -> Judged:
    base = scenario.load(_FOLDER / f"{case.file}.toml")
    forms: dict[int, scenario.Scenario] = {seed + i: base for i in range(runs)}
    traces = _run(forms, threads)
    reasons: list[str] = []
    for intervene in case.interventions:
        changed: dict[int, scenario.Scenario] = {}
        for one, trace in traces.items():
            try:
                changed[one] = forms[one].set(intervene(trace))
            except NotHadError as error:
                reasons.append(str(error))
        forms, traces = changed, _run(changed, threads)
    seen = []
    for trace in traces.values():
        try:
            seen.append(case.look(trace))
        except NotHadError as error:
            reasons.append(str(error))
    return Judged(case, [one.value for one in seen], sum(one.holds for one in seen), reasons)


def _run(forms: Mapping[int, scenario.Scenario], threads: int) -> dict[int, Trace]:
    jobs = [(form.resolved, seed) for seed, form in forms.items()]
    outputs = native.run(jobs, threads) if jobs else []
    told = zip(forms.items(), outputs, strict=True)
    return {seed: Trace(output, form.settings) for (seed, form), output in told}
