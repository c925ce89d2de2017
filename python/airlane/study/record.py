"""The output of `airlane reproduce --markdown`: all tables of all experiments, as pages of the manual."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import StringIO
from pathlib import Path

from rich.console import Console

from airlane.commands import terminal
from airlane.experiments import ClaimKind, Outcome
from airlane.pages.markdown import code, plain, table
from airlane.runs.files import write_text
from airlane.study import verdict_view
from airlane.study.reproduction import Reproduction

__all__ = ["pages", "write"]

_HEAD = (
    "Every table of every experiment, as `airlane reproduce --markdown` writes it. An interval is the 95 % "
    "interval of the mean over the runs. [The rules of the verdicts](../../howto/reproduce.md#verdicts)."
)


def pages(of: Reproduction) -> Mapping[str, str]:
    """Pages by file name: `summary.md`, the output of the command, and one for each paper."""
    by_paper: dict[str, list[Outcome]] = {}
    for outcome in of.done:
        by_paper.setdefault(outcome.experiment.id.partition("/")[0], []).append(outcome)
    papers = {f"{paper}.md": _paper(paper, outcomes) for paper, outcomes in by_paper.items()}
    return {"summary.md": _summary(of)} | papers


def write(of: Reproduction, folder: Path) -> None:
    """Write the pages into an existing folder."""
    for name, page in pages(of).items():
        write_text(folder / name, page)


def _summary(of: Reproduction) -> str:
    lines = [verdict_view.outcome_line(one, place, len(of.done)) for place, one in enumerate(of.done, 1)]
    written = StringIO()
    Console(file=written, width=terminal.PIPE_WIDTH, highlight=False).print(verdict_view.papers_view(of))
    printed = "\n".join(lines) + "\n" + written.getvalue().rstrip()
    kept = "\n".join(line.rstrip() for line in printed.splitlines())
    links = "\n".join(f"- [{paper}]({paper}.md)" for paper in dict.fromkeys(map(_name, of.done)))
    return f"# All results of the experiments\n\n{_HEAD}\n\n{links}\n\n```text\n{kept}\n```\n"


def _name(outcome: Outcome) -> str:
    return outcome.experiment.id.partition("/")[0]


def _paper(paper: str, outcomes: Sequence[Outcome]) -> str:
    title = f"# All tables of {code(paper)}"
    return "\n\n".join([title, _HEAD, *(part for one in outcomes for part in _experiment(one))]) + "\n"


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
