"""Findings on a paper: the sentences and the results with which its page begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from airlane.experiments import ClaimKind, NumberRow, Outcome
from airlane.study import reproduction
from airlane.study.verdict import Verdict

__all__ = ["results", "sentences"]

_NAMED_MAX = 4
"""Misses that a sentence names."""

_MEANING = {
    Verdict.MATCH: "{n} agree{s} with ours within 10 % or within {their} interval or bound (match)",
    Verdict.DIRECTION: "{n} differ{s} by more, with the published sign (direction)",
    Verdict.MISS: "{n} {does} neither (miss)",
    Verdict.UNDECIDED: "{n} {is_} undecided, because our interval is too wide or the runs were shortened",
    Verdict.IMPOSSIBLE: "{n} break{s} a bound that the program computes or contradict{s} what is printed "
    "beside {it} (impossible)",
    Verdict.LOST: "{n} {is_} missing from our copy of the paper (lost)",
}

_HOLDS = {
    True: ("holds", "hold"),
    False: ("does not hold", "do not hold"),
    None: (
        "is open, because our interval does not decide it",
        "are open, because our interval does not decide them",
    ),
}
"""Words for one claim and for several, by the finding."""


def results(outcomes: Iterable[Outcome]) -> list[NumberRow]:
    """The published results that are counted, each once, in the order of the experiments."""
    return [row for row in reproduction.once(outcomes) if row.number.counted]


def sentences(outcomes: Sequence[Outcome]) -> list[str]:
    """Say how many published results and claims were reproduced, and name those that were missed."""
    rows = results(outcomes)
    found = []
    if rows:
        found.append(_numbers(rows))
    holds = reproduction.claims(outcomes, ClaimKind.PAPER)
    if holds:
        found.append(
            f"Of {_counted(holds.total(), 'claim')} of the paper in words, "
            + ", ".join(_claims(holds[value], *words) for value, words in _HOLDS.items() if holds[value])
            + "."
        )
    missed = [row.number.label for row in rows if row.judgement.verdict is Verdict.MISS]
    if missed:
        more = len(missed) - _NAMED_MAX
        found.append(
            f"Missed: {'; '.join(missed[:_NAMED_MAX])}" + (f"; and {more} more." if more > 0 else ".")
        )
    return found


def _numbers(rows: Sequence[NumberRow]) -> str:
    tally = Counter(row.judgement.verdict for row in rows)
    parts = [_part(verdict, tally[verdict]) for verdict in Verdict if tally[verdict]]
    return f"Of {_counted(len(rows), 'published result')}, {'; '.join(parts)}."


def _part(verdict: Verdict, count: int) -> str:
    one = count == 1
    return _MEANING[verdict].format(
        n=count,
        s="s" if one else "",
        their="its" if one else "their",
        does="does" if one else "do",
        is_="is" if one else "are",
        it="it" if one else "them",
    )


def _claims(count: int, one: str, several: str) -> str:
    return f"{count} {one if count == 1 else several}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + ("" if count == 1 else "s")
