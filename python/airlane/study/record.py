"""Results of experiments as files: one for each experiment, written by `airlane reproduce --record`.

A file has what was measured: estimates, verdicts, findings, our tables. The words of numbers and claims are
those of the experiment in the code. The experiment's figures are pictures in the folder `pictures`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from airlane import experiments
from airlane.experiments import ClaimRow, Experiment, Finding, Listing, Number, NumberRow, Outcome
from airlane.pages.chart import Chart
from airlane.runs import json_files
from airlane.stats import Estimate
from airlane.study.verdict import Judgement, Published, Verdict

__all__ = ["file_name", "read", "read_all", "write"]


def file_name(experiment: Experiment) -> str:
    """Name of the file of an experiment."""
    return experiment.id.replace("/", "-") + ".json"


def write(outcome: Outcome, folder: Path) -> None:
    """Write the file of an experiment into an existing folder."""
    data = {
        "experiment": outcome.experiment.id,
        "runs": len(outcome.draws),
        "shortened": outcome.shortened,
        "numbers": [{"id": row.number.id} | _number(row) for row in outcome.numbers],
        "claims": {
            row.claim.id: {"holds": row.finding.holds, "evidence": row.finding.evidence}
            for row in outcome.claims
        },
        "tables": [
            {"title": one.title, "note": one.note, "columns": one.columns, "rows": one.rows}
            for one in outcome.listings
        ],
    }
    json_files.write(folder / file_name(outcome.experiment), data)
    _draw(outcome, folder / "pictures")


def _draw(outcome: Outcome, folder: Path) -> None:
    """Write the figures of an experiment, numbered from 1."""
    make = outcome.experiment.pictures
    pictures = [] if make is None else make(outcome.draws)
    if not pictures:
        return
    from airlane.pages import drawing  # Matplotlib takes a second

    folder.mkdir(exist_ok=True)
    for number, picture in enumerate(pictures, 1):
        path = folder / f"{outcome.experiment.id.replace('/', '-')}-{number}.png"
        if isinstance(picture.chart, Chart):
            drawing.write(picture.chart, path)
        else:
            picture.chart.savefig(path, metadata={"Software": None})


def _number(row: NumberRow) -> dict[str, Any]:
    own = _judged(row.ours, row.judgement)
    return own | {"readings": [{"reading": text} | _judged(ours, of) for text, ours, of in row.readings]}


def _judged(ours: Estimate, judgement: Judgement) -> dict[str, Any]:
    difference = judgement.difference
    return {
        "ours": json_files.estimate(ours),
        "difference": None if difference is None else json_files.estimate(difference),
        "verdict": str(judgement.verdict),
        "why": judgement.why,
    }


def read(experiment: Experiment, folder: Path, published: Mapping[str, Published]) -> Outcome:
    """The outcome of an experiment as its file has it, without runs.

    Raises
    ------
    OSError
        If the experiment has no file.
    KeyError, ValueError
        If numbers or claims of the experiment are not those of its file.
    """
    data = json_files.read(folder / file_name(experiment))
    return Outcome(
        experiment,
        draws=[],
        numbers=[
            _number_row(number, published, one)
            for number, one in zip(experiment.numbers, data["numbers"], strict=True)
        ],
        claims=[ClaimRow(claim, Finding(**data["claims"][claim.id])) for claim in experiment.claims],
        listings=[
            Listing(one["title"], tuple(one["columns"]), [tuple(row) for row in one["rows"]], one["note"])
            for one in data["tables"]
        ],
        runs_done=0,
        runs_cached=0,
        simulated_s=0.0,
        wall_s=0.0,
        shortened=data["shortened"],
    )


def read_all(chosen: Iterable[Experiment], folder: Path, published: Mapping[str, Published]) -> list[Outcome]:
    """The outcomes of several experiments."""
    return [read(one, folder, published) for one in chosen]


def _number_row(number: Number, published: Mapping[str, Published], data: Mapping[str, Any]) -> NumberRow:
    return NumberRow(
        number,
        experiments.stated(number.id, published),
        json_files.estimate_of(data["ours"]),
        _judgement(data),
        tuple(
            (one["reading"], json_files.estimate_of(one["ours"]), _judgement(one)) for one in data["readings"]
        ),
    )


def _judgement(data: Mapping[str, Any]) -> Judgement:
    difference = data["difference"]
    return Judgement(
        Verdict(data["verdict"]),
        why=data["why"],
        difference=None if difference is None else json_files.estimate_of(difference),
    )
