"""Reports: what `airlane reproduce` found, as JSON for machines and as one HTML page for people."""

from __future__ import annotations

import base64
import json
import math
import platform
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airlane import plot, reproduction, terminal
from airlane.arena import Result, view
from airlane.experiments import NumberRow, Outcome
from airlane.files import write_text
from airlane.results import Results
from airlane.verdict import Verdict

if TYPE_CHECKING:
    import jinja2

__all__ = ["as_json", "sites", "write_arena_html", "write_html", "write_run_html"]


def as_json(outcomes: Sequence[Outcome], wall_s: float) -> dict[str, Any]:
    """Numbers and claims of the experiments, in the documented form of `reproduce --json`.

    `ci95` is the half-width of the 95 % interval; `n` the repetitions behind it. `inputs` are the published
    numbers that were taken as setup and are not scored. `papers` counts the verdicts by paper, each published
    number once.
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
                "holds": row.finding.holds,
                "evidence": row.finding.evidence,
            }
            for outcome in outcomes
            for row in outcome.claims
        ],
        "papers": reproduction.numbers(outcomes),
        "wall_s": round(wall_s, 3),
    }


def _number(row: NumberRow) -> dict[str, Any]:
    published: float | list[float] | None = row.published.value
    if row.published.range is not None:
        published = list(row.published.range)
    notes = [row.judgement.why, row.number.note]
    return {
        "id": row.number.id,
        "published": published,
        "published_ci": row.published.ci,
        "ours": None if math.isnan(row.ours.mean) else row.ours.mean,
        "ci95": row.ours.half_width,
        "n": row.ours.n,
        "verdict": str(row.judgement.verdict),
        "bound": None if row.number.bound is None else str(row.number.bound),
        "fitted": row.number.fitted or None,
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
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("airlane", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["interval"] = terminal.interval
    environment.filters["uri"] = plot.data_uri
    environment.globals["published_text"] = terminal.published_text
    return environment


def write_html(outcomes: Sequence[Outcome], path: Path, wall_s: float) -> None:
    """Write one page that needs no other file."""
    tally = Counter(row.judgement.verdict for outcome in outcomes for row in outcome.numbers)
    page = (
        _environment()
        .get_template("reproduce.html.j2")
        .render(
            outcomes=outcomes,
            pictures={
                o.experiment.id: o.experiment.pictures(o.draws) if o.experiment.pictures else []
                for o in outcomes
            },
            tally=[(v, tally[v]) for v in Verdict if tally[v]],
            version=version("airlane"),
            host=f"{platform.system()} {platform.machine()}",
            wall_s=wall_s,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)


def write_arena_html(result: Result, path: Path) -> None:
    """Write the arena's page: heat map, scorecards, who and where."""
    cards = {
        one.name: {section: list(words.items()) for section, _, words in view.scorecard(result, one.name)}
        for one in result.contenders
    }
    criteria = [(section, title) for section, title, _ in view.scorecard(result, result.contenders[0].name)]
    told = [(one, one.told(), view.main_figure(one).title) for one in result.situations]
    page = (
        _environment()
        .get_template("arena.html.j2")
        .render(
            contenders=result.contenders,
            situations=told,
            runs=" to ".join(str(n) for n in result.runs()),
            version=version("airlane"),
            simulated_s=result.simulated_s,
            heat=view.heat(result),
            csv=base64.b64encode(view.cells_csv(result).encode()).decode(),
            cards=cards,
            criteria=criteria,
        )
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, page)


def write_run_html(results: Results, manifest: dict[str, Any], title: str, path: Path) -> None:
    """Write a page about one result folder: figure, flows, cells, scenario."""
    columns = [c for c in results.flows.column_names if c != "run"]
    page = (
        _environment()
        .get_template("run.html.j2")
        .render(
            title=title,
            figure=plot.draw_run(results, 0),
            map=plot.draw_map(results, sites(manifest["scenario"]), 0),
            runs=results.runs,
            columns=columns,
            rows=[[_cell(row[c]) for c in columns] for row in results.flows.to_pylist()],
            cell_columns=results.cells.column_names,
            cells=[[_cell(v) for v in row.values()] for row in results.cells.to_pylist()],
            scenario=json.dumps(manifest["scenario"], indent=2),
            version=manifest["airlane"],
        )
    )
    write_text(path, page)


def sites(scenario: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Where each cell of a resolved scenario stands, in metres."""

    def metres(length: str) -> float:
        return float(length.removesuffix(" m"))  # as resolved scenarios write lengths

    return {
        cell["name"]: (metres(cell["position"][0]), metres(cell["position"][1])) for cell in scenario["cell"]
    }


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value}"
