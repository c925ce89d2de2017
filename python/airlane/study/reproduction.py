"""Several experiments in sequence, and the verdicts on each paper's published numbers.

If one fails, the others still run: their results are kept and shown, and the failure is named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from airlane import experiments, papers
from airlane.cache import Cache
from airlane.experiments import ClaimKind, Experiment, NumberKind, NumberRow, Outcome
from airlane.study.verdict import Verdict

__all__ = ["Failed", "Reproduction", "claims", "constants", "fitted", "numbers", "once"]


@dataclass(frozen=True)
class Failed:
    """An experiment that failed, and why."""

    id: str
    error: BaseException


@dataclass
class Reproduction:
    """Experiments, run one after the other.

    Attributes
    ----------
    quick, seed, threads
        As in `experiments.conduct`.
    show
        Called with each outcome and its runs, which are then released: those of all experiments are
        gigabytes.
    done, failed
        Outcomes of the experiments so far, in their order.
    """

    cache: Cache
    quick: bool
    seed: int | None
    threads: int
    show: Callable[[Outcome], None]
    done: list[Outcome] = field(default_factory=list)
    failed: list[Failed] = field(default_factory=list)

    def conduct(
        self, experiment: Experiment, on_done: Callable[[int, int], None] | None = None
    ) -> Outcome | Failed:
        """Run one. An error becomes a `Failed`; a signal that ends the command does not."""
        try:
            outcome = experiments.conduct(
                experiment,
                papers.published(),
                self.cache,
                quick=self.quick,
                seed=self.seed,
                threads=self.threads,
                on_done=on_done,
            )
            self.show(outcome)
        except BaseException as error:
            # PyO3's PanicException, a failed assertion of the core, is no Exception and cannot be
            # imported.
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            self.failed.append(Failed(experiment.id, error))
            return self.failed[-1]
        self.done.append(replace(outcome, draws=[]))
        return self.done[-1]


def numbers(outcomes: Iterable[Outcome]) -> dict[str, Counter[Verdict]]:
    """Verdicts on the published results, by paper.

    A number that several experiments judge counts once, with the first one's verdict: the others vary how
    the publication is read. Constants of tables are counted by `constants`, and repetitions of a number
    are not counted.
    """
    return _by_paper(row for row in once(outcomes) if row.number.counted)


def constants(outcomes: Iterable[Outcome]) -> dict[str, Counter[Verdict]]:
    """Verdicts on the constants of published tables, by paper.

    `match` means equal, `miss` not equal.
    """
    rows = (row for row in once(outcomes) if row.number.kind is NumberKind.CONSTANT)
    return _by_paper(row for row in rows if not row.number.restates)


def fitted(outcomes: Iterable[Outcome]) -> Counter[str]:
    """Counted results of each paper that have a setting chosen with a published figure in view."""
    return Counter(_paper(row) for row in once(outcomes) if row.number.counted and row.number.fitted)


def claims(outcomes: Iterable[Outcome], kind: ClaimKind | None = None) -> Counter[bool | None]:
    """Number of claims, of one kind or of all, that hold (True), do not hold (False) and are open (None)."""
    rows = (row for outcome in outcomes for row in outcome.claims)
    return Counter(row.finding.holds for row in rows if kind in (None, row.claim.kind))


def once(outcomes: Iterable[Outcome]) -> list[NumberRow]:
    """Numbers of the experiments; one that several of them judge has the first one's verdict."""
    first = dict[str, NumberRow]()
    for outcome in outcomes:
        for row in outcome.numbers:
            first.setdefault(row.number.id, row)
    return list(first.values())


def _paper(row: NumberRow) -> str:
    return row.number.id.partition(".")[0]


def _by_paper(rows: Iterable[NumberRow]) -> dict[str, Counter[Verdict]]:
    found = dict[str, Counter[Verdict]]()
    for row in rows:
        found.setdefault(_paper(row), Counter())[row.judgement.verdict] += 1
    return found
