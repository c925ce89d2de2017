"""Reports: the results of `airlane reproduce`, as JSON and as HTML pages."""

from __future__ import annotations

import base64
import json
import math
import platform
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airlane.arena import Result, view
from airlane.arena.conduct import DELAY_FINE_MS, KEPT
from airlane.arena.picture import draw_heat, plane_chart
from airlane.experiments import ClaimKind, ClaimRow, NumberRow, Outcome
from airlane.pages import page
from airlane.pages.figure import Embedded, PageFigure, Separate, page_figure
from airlane.pages.ratios import CAPTION as RATIOS_CAPTION
from airlane.pages.ratios import ratios_chart
from airlane.pages.run import FOLDED_ROWS, write_run_html
from airlane.papers import papers as known_papers
from airlane.runs.files import write_text
from airlane.study import reproduction, verdict_view
from airlane.study.findings import results, sentences
from airlane.study.verdict import Verdict

if TYPE_CHECKING:
    import jinja2

__all__ = ["Book", "as_json", "write_arena_html", "write_run_html"]


def as_json(outcomes: Sequence[Outcome], wall_s: float) -> dict[str, Any]:
    """Numbers and claims of the experiments, in the documented format of `reproduce --json`.

    `ci95` is the half-width of the 95 % interval; `n` the number of repetitions. `inputs` are the published
    numbers that were used as settings and are not scored. `papers` counts the verdicts on results by paper,
    each published number once; `constants` those on constants of tables; `fitted` the results for which a
    setting was chosen with a published figure in view; `claims_by_kind` how many claims hold (`yes`), do
    not (`no`) or are `open`.
    """
    return {
        "numbers": [_number(row) for outcome in outcomes for row in outcome.numbers],
        "inputs": [
            {"id": name, "value": value}
            for outcome in outcomes
            for name, value in outcome.experiment.setup.items()
        ],
        "claims": [
            {
                "id": row.claim.id,
                "text": row.claim.text,
                "kind": str(row.claim.kind),
                "holds": row.finding.holds,
                "evidence": row.finding.evidence,
            }
            for outcome in outcomes
            for row in outcome.claims
        ],
        "papers": reproduction.numbers(outcomes),
        "constants": reproduction.constants(outcomes),
        "fitted": reproduction.fitted(outcomes),
        "claims_by_kind": {
            str(kind): {
                word: count
                for holds, word in _HOLDS.items()
                if (count := reproduction.claims(outcomes, kind)[holds])
            }
            for kind in ClaimKind
        },
        "wall_s": round(wall_s, 3),
    }


def _number(row: NumberRow) -> dict[str, Any]:
    published: float | list[float] | None = row.published.value
    if row.published.range is not None:
        published = list(row.published.range)
    notes = [row.judgement.why, row.number.note, verdict_view.restated(row.number)]
    return {
        "id": row.number.id,
        "kind": str(row.number.kind),
        "restates": row.number.restates or None,
        "published": published,
        "published_ci": row.published.ci,
        "ours": None if math.isnan(row.ours.mean) else row.ours.mean,
        "ci95": row.ours.half_width,
        "n": row.ours.n,
        "verdict": str(row.judgement.verdict),
        "bound": None if row.number.bound is None else str(row.number.bound),
        "fitted": row.number.fitted or None,
        "absolute": row.number.absolute,
        "note": "; ".join(n for n in notes if n),
        "relation": str(row.number.relation),
        "readings": [
            {
                "text": text,
                "ours": None if math.isnan(e.mean) else e.mean,
                "ci95": e.half_width,
                "n": e.n,
                "verdict": str(j.verdict),
            }
            for text, e, j in row.readings
        ],
    }


def _environment() -> jinja2.Environment:
    environment = page.environment()
    environment.globals["published_text"] = verdict_view.published_text
    environment.globals["verdict_word"] = verdict_view.verdict_word
    environment.globals["restated"] = verdict_view.restated
    environment.globals["finding"] = _finding
    return environment


_HOLDS = {True: "yes", False: "no", None: "open"}


def _finding(row: ClaimRow) -> str:
    return _HOLDS[row.finding.holds]


@dataclass(frozen=True)
class _Entry:
    """An experiment in the report: its place, its results, its figures."""

    outcome: Outcome
    anchor: str
    tally: Sequence[tuple[str, int]]
    findings: Sequence[tuple[str, int]]
    beside: PageFigure | None
    pictures: Sequence[PageFigure]

    @property
    def parts(self) -> str:
        """Number of numbers, figures, claims and tables in the results, as text."""
        counts = {
            "number": len(self.outcome.numbers),
            "figure": len(self.pictures),
            "claim": len(self.outcome.claims),
            "table": len(self.outcome.listings),
        }
        return ", ".join(f"{n} {what}" + ("s" if n > 1 else "") for what, n in counts.items() if n)


@dataclass(frozen=True)
class _Paper:
    """A paper in the report: its page, its experiments, and their results in total."""

    id: str
    title: str
    reference: str
    experiments: Sequence[_Entry]
    overview: PageFigure | None

    @property
    def file(self) -> str:
        return f"{self.id}.html"

    @property
    def tally(self) -> Counter[str]:
        """Verdicts of its published results, each counted once."""
        counted = Counter[str]()
        for verdicts in reproduction.numbers(self._outcomes).values():
            counted.update({str(verdict): n for verdict, n in verdicts.items()})
        return counted

    @property
    def found(self) -> list[str]:
        """Findings, in sentences."""
        return sentences(self._outcomes)

    @property
    def fitted(self) -> int:
        return reproduction.fitted(self._outcomes).total()

    @property
    def constants(self) -> str:
        """How many constants of its tables are equal, as text; empty if it has none."""
        return verdict_view.constants_text(self._outcomes)

    @property
    def claims(self) -> list[str]:
        """How many claims of each kind hold, as text."""
        return verdict_view.claims_text(self._outcomes)

    @property
    def _outcomes(self) -> list[Outcome]:
        return [one.outcome for one in self.experiments]


class Book:
    """The pages of `airlane reproduce`: an index and one for each paper.

    With them is the folder `figures` with a PDF, a PNG and a CSV of each figure; a page needs no other file.
    Figures are drawn when an outcome is added, so that its runs can be released; nothing is written before
    `write`.

    Parameters
    ----------
    path
        Path of the index.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._place = Separate(path)
        self._entries: list[_Entry] = []

    def add(self, outcome: Outcome) -> None:
        """Draw the figures of an experiment, and release its runs."""
        self._entries.append(_entry(outcome, self._place))

    def write(self, wall_s: float) -> None:
        """Write all pages."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        by_paper: dict[str, list[_Entry]] = {}
        for entry in self._entries:
            by_paper.setdefault(entry.outcome.experiment.id.partition("/")[0], []).append(entry)
        papers = [
            _Paper(name, *_title_and_reference(name), entries, _overview(name, entries, self._place))
            for name, entries in by_paper.items()
        ]
        environment = _environment()
        told: dict[str, Any] = {
            "papers": papers,
            "verdicts": [str(v) for v in Verdict],
            "folded": FOLDED_ROWS,
        }
        self._place.write()
        for paper in papers:
            html = environment.get_template("paper.html.j2").render(paper=paper, **told)
            write_text(self._path.parent / paper.file, html)
        tally: Counter[str] = sum((paper.tally for paper in papers), Counter())
        index = environment.get_template("index.html.j2").render(
            outcomes=[entry.outcome for entry in self._entries],
            tally=_in_order(tally, told["verdicts"]),
            version=version("airlane"),
            host=f"{platform.system()} {platform.machine()}",
            wall_s=wall_s,
            arena=_beside(self._path, "arena"),
            **told,
        )
        write_text(self._path, index)


def _beside(file: Path, other: str) -> str:
    """Address of another command's output in its default place; empty if it does not exist."""
    return f"../{other}/index.html" if (file.parent.parent / other / "index.html").is_file() else ""


def _entry(outcome: Outcome, place: Separate) -> _Entry:
    experiment = outcome.experiment
    anchor = experiment.id.replace("/", "-")
    pictures = experiment.pictures(outcome.draws) if experiment.pictures else []
    ratios = ratios_chart(outcome.numbers)
    return _Entry(
        replace(outcome, draws=[]),
        anchor,
        _in_order(Counter(str(row.judgement.verdict) for row in outcome.numbers), [str(v) for v in Verdict]),
        _in_order(Counter(_finding(row) for row in outcome.claims), ["yes", "open", "no"]),
        None
        if ratios is None
        else page_figure(ratios, f"{anchor}-numbers", "Published and ours", RATIOS_CAPTION, place),
        [
            page_figure(one.chart, f"{anchor}-{i}", one.title, one.caption, place)
            for i, one in enumerate(pictures, start=1)
        ],
    )


def _title_and_reference(paper: str) -> tuple[str, str]:
    """Title and reference of a paper; its name alone where only its results are known."""
    known = known_papers().get(paper)
    return (known.title, known.reference) if known else (paper, "")


def _overview(paper: str, entries: Sequence[_Entry], place: Separate) -> PageFigure | None:
    """All results of a paper in one figure; `None` where an experiment's own figure has them all."""
    if len(entries) == 1:
        return None
    ratios = ratios_chart(results(entry.outcome for entry in entries))
    title = "All published results and ours"
    return None if ratios is None else page_figure(ratios, f"{paper}-results", title, RATIOS_CAPTION, place)


def _in_order(counts: Counter[str], words: Sequence[str]) -> list[tuple[str, int]]:
    return [(word, counts[word]) for word in words if counts[word]]


def write_arena_html(result: Result, path: Path, runs_file: str = "") -> None:
    """Write the arena's page: heat map, scorecards, contenders and situations.

    Parameters
    ----------
    runs_file
        A file of the values of all runs in the folder of the page, to which it links.
    """
    cards = {
        one.name: {section: list(words.items()) for section, _, words in view.scorecard(result, one.name)}
        for one in result.contenders
    }
    criteria = [(section, title) for section, title, _ in view.scorecard(result, result.contenders[0].name)]
    maps = view.heat(result)
    situations = [(one, one.description(), view.main_figure(one).full) for one in result.situations]
    planes = [
        page_figure(drawn, f"plane-{one.name}", one.title, "", Embedded())
        for one in result.situations
        if (drawn := plane_chart(result, one)) is not None
    ]
    html = (
        _environment()
        .get_template("arena.html.j2")
        .render(
            contenders=result.contenders,
            situations=situations,
            runs=" to ".join(str(n) for n in result.runs()),
            version=version("airlane"),
            simulated_s=result.simulated_s,
            heat=json.dumps(maps),
            planes=planes,
            reference=result.reference,
            kept=KEPT,
            fine_ms=DELAY_FINE_MS,
            picture=page_figure(draw_heat(maps[0]), "arena", "The heat map", maps[0]["title"], Embedded()),
            papers=_beside(path, "reproduce"),
            runs_file=runs_file,
            csv=base64.b64encode(view.cells_csv(result).encode()).decode(),
            cards=cards,
            criteria=criteria,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, html)
