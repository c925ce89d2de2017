"""Verdicts on the published numbers of the mechanisms of the field, by mechanism, from docs/results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from airlane.experiments import Outcome
from airlane.pages import markdown
from airlane.study.verdict import Verdict
from airlane.validation import Validation

__all__ = ["MECHANISMS", "Score", "scores", "table"]

MECHANISMS: Mapping[str, Sequence[str]] = {
    "HyStart++": ("field.hystartpp.",),
    "SEARCH": ("field.search.",),
    "C4": ("field.c4.",),
    "Copa": ("copa/", "field.ran.copa"),
    "ABC": ("abc/",),
    "Sprout": ("sprout/",),
    "LEDBAT++": (),
    "PCC Vivace": ("vivace/", "field.ran.vivace"),
    "PBE-CC": ("field.pbe.",),
    "Verus": ("verus/", "field.verus."),
    "C2TCP": (),
}
"""The prefixes of the ids of numbers, claims and rows of the validation that belong to each mechanism."""

_COLUMNS = (Verdict.MATCH, Verdict.DIRECTION, Verdict.MISS, Verdict.UNDECIDED)
_SPROUT_DELAY = 2.0
"""Factor within which a delay of Sprout matches, as on the page; a rate has 10 %."""


@dataclass
class Score:
    """Verdicts on numbers, and how many claims hold, do not hold, or are open."""

    numbers: Counter[Verdict] = field(default_factory=Counter)
    claims: Counter[bool | None] = field(default_factory=Counter)


def scores(
    outcomes: Iterable[Outcome], validation: Validation, sprout: Iterable[Mapping[str, Any]]
) -> dict[str, Score]:
    """The score of each mechanism.

    Parameters
    ----------
    outcomes
        Recorded experiments.
    validation
        Recorded rows: one within its band is a match, any other a miss. Rows over QUIC repeat those over TCP
        and are left out.
    sprout
        Rows of `sprout-links.json`.
    """
    found = {name: Score() for name in MECHANISMS}
    for outcome in outcomes:
        for number in outcome.numbers:
            if (score := _of(found, number.number.id)) and not _of_rival(number.number.id):
                score.numbers[number.judgement.verdict] += 1
        for claim in outcome.claims:
            if score := _of(found, claim.claim.id):
                score.claims[claim.finding.holds] += 1
    for family, rows in validation.rows:
        if (score := _of(found, family.id)) and "/quic/" not in family.id:
            score.numbers.update(Verdict.MATCH if row.ok else Verdict.MISS for row in rows)
    for link in sprout:
        if link["scheme"] == "sprout" and link["verdict"] != "not counted":
            rate, delay = (
                float(link[ours]) / float(link[theirs])
                for ours, theirs in (("kbps", "published_kbps"), ("delay_ms", "published_delay_ms"))
            )
            fits = (abs(rate - 1.0) <= 0.1, 1.0 / _SPROUT_DELAY <= delay <= _SPROUT_DELAY)
            found["Sprout"].numbers.update(Verdict.MATCH if one else Verdict.MISS for one in fits)
    return found


def _of(found: dict[str, Score], name: str) -> Score | None:
    return next((found[one] for one, of in MECHANISMS.items() if name.startswith(tuple(of))), None)


def _of_rival(name: str) -> bool:
    """Whether a number of C4's report is about CUBIC or BBRv3."""
    return name.startswith("field.c4.") and not name.endswith(".c4_s")


def table(found: Mapping[str, Score]) -> str:
    """The table in Markdown."""
    rows = []
    for name, score in found.items():
        scored, claims = score.numbers.total(), score.claims.total()
        counts = [str(score.numbers[one]) if scored else "–" for one in _COLUMNS]
        held = f"{score.claims[True]} of {claims}" if claims else "–"
        rows.append([name, str(scored) if scored else "–", *counts, held])
    headings = ("mechanism", "numbers", *map(str, _COLUMNS), "claims that hold")
    return markdown.table(headings, rows)
