"""Recorded results of experiments in Markdown, for the manual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import StringIO

from rich.console import Console

from airlane.commands import terminal
from airlane.experiments import ClaimKind, Outcome
from airlane.pages.markdown import code, plain, table
from airlane.study import verdict_view

__all__ = ["experiments", "printed"]


def printed(outcomes: Sequence[Outcome]) -> str:
    """The output of `airlane reproduce` with these outcomes."""
    lines = [verdict_view.outcome_line(one, place, len(outcomes)) for place, one in enumerate(outcomes, 1)]
    written = StringIO()
    Console(file=written, width=terminal.PIPE_WIDTH, highlight=False).print(
        verdict_view.papers_view(outcomes)
    )
    text = "\n".join(lines) + "\n" + written.getvalue().rstrip()
    return "\n".join(line.rstrip() for line in text.splitlines())


def experiments(outcomes: Iterable[Outcome]) -> str:
    """All tables of each experiment, under a heading of its own."""
    return "\n\n".join(part for one in outcomes for part in _experiment(one))


def _experiment(outcome: Outcome) -> Iterator[str]:
    experiment = outcome.experiment
    yield f"## {plain(experiment.id)}"
    yield plain(experiment.title)
    if outcome.numbers:
        yield from _folded("published numbers", _numbers(outcome))
    readings = list(_readings(outcome))
    if readings:
        headings = ("number", "reading", "ours", "verdict")
        yield from _folded("other readings", table(headings, readings, 2))
    if outcome.claims:
        yield from _folded("claims", _claims(outcome))
    for listing in outcome.listings:
        rows = [[plain(cell) for cell in row] for row in listing.rows]
        yield from _folded(listing.title, table([plain(c) for c in listing.columns], rows), listing.note)


def _folded(title: str, body: str, note: str = "") -> Iterator[str]:
    """A collapsible section, because the pages are long."""
    yield f"<details><summary>{plain(title)}</summary>"
    yield body
    if note:
        yield plain(note)
    yield "</details>"


def _numbers(outcome: Outcome) -> str:
    rows = []
    for row in outcome.numbers:
        number, published = row.number, row.published
        notes = [row.judgement.why, number.note, verdict_view.restated(number)]
        notes.insert(0, f"fitted: {number.fitted}" if number.fitted else "")
        rows.append(
            (
                code(number.id),
                plain(number.label),
                plain(
                    verdict_view.published_text(
                        published.value, published.ci, published.range, number.relation
                    )
                ),
                terminal.interval(row.ours),
                str(row.ours.n),
                verdict_view.verdict_word(number.kind, row.judgement.verdict),
                plain("; ".join(note for note in notes if note)),
            )
        )
    return table(("number", "what", "published", "ours", "n", "verdict", "note"), rows, 7)


def _readings(outcome: Outcome) -> Iterable[tuple[str, str, str, str]]:
    for row in outcome.numbers:
        for text, estimate, judgement in row.readings:
            name = code(row.number.id)
            yield name, plain(text), terminal.interval(estimate), str(judgement.verdict)


def _claims(outcome: Outcome) -> str:
    rows = []
    for row in outcome.claims:
        holds = {True: "yes", False: "no", None: "open"}[row.finding.holds]
        whose = "" if row.claim.kind is ClaimKind.PAPER else f" ({row.claim.kind})"
        rows.append((plain(row.claim.text) + whose, holds, plain(row.finding.evidence)))
    return table(("claim", "holds", "evidence"), rows, 3)
