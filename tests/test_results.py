"""The recorded results in docs/results: they belong to today's code, and their verdicts follow from them."""

from __future__ import annotations

import fnmatch
import math
import os
import re
from pathlib import Path
from typing import Any

import cells
import pytest

from airlane import experiments, papers
from airlane.arena import record as arena_record
from airlane.arena.conduct import Result
from airlane.arena.sets import SETS
from airlane.experiments import ClaimKind, Experiment, NumberKind, NumberRow, Outcome
from airlane.runs import json_files
from airlane.runs.figures import BY_NAME
from airlane.stats import Estimate
from airlane.study import record
from airlane.study.verdict import Judgement, Verdict, judge_constant
from airlane.validation import record as validation_record
from airlane.validation.claims import families, within
from conftest import ROOT

RESULTS = ROOT / "docs/results"
FILES = sorted(RESULTS.rglob("*.json"))
EXPERIMENTS = papers.experiments()
PUBLISHED = papers.published()
BLESS = os.environ.get("AIRLANE_BLESS") == "1"


def data_of(experiment: Experiment) -> Any:
    return json_files.read(RESULTS / "experiments" / record.file_name(experiment))


def outcome_of(experiment: Experiment) -> Outcome:
    return record.read(experiment, RESULTS / "experiments", PUBLISHED)


def by_id(one: Experiment) -> str:
    return one.id


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_file_is_as_its_command_writes_it(file: Path, tmp_path: Path) -> None:
    json_files.write(tmp_path / "again.json", json_files.read(file))
    assert (tmp_path / "again.json").read_text() == file.read_text()


def test_each_experiment_has_a_file_and_each_file_an_experiment() -> None:
    there = {file.name for file in (RESULTS / "experiments").iterdir() if file.is_file()}
    assert there == {record.file_name(one) for one in EXPERIMENTS}


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=by_id)
def test_a_file_has_the_numbers_and_claims_of_its_experiment(experiment: Experiment) -> None:
    data = data_of(experiment)
    assert data["experiment"] == experiment.id
    assert data["runs"] == experiment.runs, "not the full form"
    assert not data["shortened"]
    assert [one["id"] for one in data["numbers"]] == [one.id for one in experiment.numbers]
    assert list(data["claims"]) == [one.id for one in experiment.claims]
    for number, recorded in zip(experiment.numbers, data["numbers"], strict=True):
        assert [one["reading"] for one in recorded["readings"]] == [one.text for one in number.readings]
    assert len(data["tables"]) == len(experiment.listings)
    for table in data["tables"]:
        assert {len(row) for row in table["rows"]} <= {len(table["columns"])}


def sound(estimate: Estimate, runs: int) -> bool:
    """Whether an interval holds its mean, and comes from some of the runs."""
    if estimate.n == 0:
        return math.isnan(estimate.mean) and estimate.half_width is None
    wide = estimate.half_width is None or estimate.half_width >= 0.0
    return wide and estimate.low <= estimate.mean <= estimate.high and estimate.n <= runs


def rules(experiment: Experiment, row: NumberRow, ours: Estimate, judgement: Judgement) -> Verdict:
    """The verdict by the rules of `airlane.study.verdict`, from the numbers of the file."""
    if row.number.kind is NumberKind.CONSTANT:
        same = ours.n == 0 or ours.half_width in (None, 0.0)
        values = [ours.mean] * ours.n if same else [math.inf]
        return judge_constant(row.published, values, row.number.bound).verdict
    found = experiments.verdict_on(row.number, row.published, ours, judgement.difference, experiment.runs)
    return found.verdict


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=by_id)
def test_verdicts_follow_from_the_numbers_by_the_rules(experiment: Experiment) -> None:
    for row in outcome_of(experiment).numbers:
        sides = [(row.ours, row.judgement), *((ours, judgement) for _, ours, judgement in row.readings)]
        for ours, judgement in sides:
            assert sound(ours, experiment.runs), row.number.id
            assert judgement.difference is None or sound(judgement.difference, experiment.runs)
            assert judgement.verdict is rules(experiment, row, ours, judgement), row.number.id


def test_a_verdict_that_does_not_follow_is_found() -> None:
    """Of all counted results with an interval, none keeps its verdict far from the published value."""
    seen = 0
    for experiment in EXPERIMENTS:
        for row in outcome_of(experiment).numbers:
            if row.judgement.verdict is Verdict.MATCH and row.number.kind is NumberKind.RESULT:
                value = row.published.value if row.published.range is None else row.published.range[1]
                assert value is not None
                far = Estimate(1e9 * (1 + abs(value)), row.ours.half_width, row.ours.n, row.ours.deviation)
                below = Estimate(-far.mean, far.half_width, far.n, far.deviation)
                found = {rules(experiment, row, ours, row.judgement) for ours in (far, below)}
                assert found != {Verdict.MATCH}, row.number.id
                seen += 1
    assert seen > 50


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=by_id)
def test_findings_have_their_evidence(experiment: Experiment) -> None:
    for row in outcome_of(experiment).claims:
        assert row.finding.holds in (True, False, None)
        assert re.search(r"\d|never|none|no ", row.finding.evidence), row.claim.id


def test_the_readme_shows_what_the_files_have() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```console norun\n\$ airlane reproduce\n(.*?)\nreport: ", readme, re.S)
    assert shown
    printed = cells.printed().removeprefix("```text\n").removesuffix("\n```")
    if BLESS:
        (ROOT / "README.md").write_text(readme.replace(shown[1], printed + "\n"), encoding="utf-8")
        return
    assert shown[1].split() == printed.split()


def arena(name: str) -> tuple[Any, Result]:
    """A file of the arena, as data and as a result."""
    file = RESULTS / f"{name}.json"
    return json_files.read(file), arena_record.read(file, SETS[name.partition("-")[2] or "situations"])


@pytest.fixture(params=sorted(file.stem for file in RESULTS.glob("arena*.json")), scope="module")
def recorded(request: pytest.FixtureRequest) -> tuple[Any, Result]:
    return arena(request.param)


def test_each_contender_is_in_each_situation(recorded: tuple[Any, Result]) -> None:
    data, result = recorded
    of = SETS[data["set"]]
    assert list(result.situations) == list(of.situations)
    assert list(result.contenders) == list(of.contenders)
    assert set(result.cells) == {(s.name, c.name) for s in of.situations for c in of.contenders}


def test_each_cell_of_the_arena_has_the_values_of_all_runs(recorded: tuple[Any, Result]) -> None:
    data, result = recorded
    for situation in result.situations:
        for contender, cell in data["situations"][situation.name].items():
            assert cell["completed"] <= cell["begun"]
            assert cell["figures"] or cell["reason"], (situation.name, contender)
            for name, values in cell["figures"].items():
                assert name in BY_NAME
                assert len(values) == situation.runs, (situation.name, contender, name)
                assert sound(result.cells[situation.name, contender].estimate(name), situation.runs)


def test_each_family_of_the_validation_has_its_rows() -> None:
    validation = validation_record.read(RESULTS / "validation.json")
    there = [family.id for family, _ in validation.rows]
    assert there == [one.id for one in families()], validation.skipped
    rows = [row for _, of in validation.rows for row in of]
    assert len({row.id for row in rows}) == len(rows)
    for family, of in validation.rows:
        assert all(row.id.startswith(family.id) for row in of), family.id
        assert all(not row.counted for row in of) or family.counted, family.id


def test_rows_of_the_validation_are_in_their_bands_as_they_say() -> None:
    validation = validation_record.read(RESULTS / "validation.json")
    assert validation.ok
    judged = 0
    for family, rows in validation.rows:
        for row in rows:
            if row.ci95 is not None:
                assert row.ci95 >= 0.0
                assert row.n > 1
            inside = within(row.reference, row.ours, row.band)
            if row.band > 0.0 and not family.slack and not family.errors:
                assert row.ok == inside, row.id
                judged += 1
            elif inside and row.band > 0.0:
                assert row.ok, row.id
    assert judged > 500


def test_each_difference_from_the_five_papers_has_its_reason() -> None:
    """The page has each number that is missed and each claim that does not hold, and no other."""
    page = (ROOT / "docs/papers/differences.md").read_text(encoding="utf-8")
    patterns = re.findall(r"`((?:arwa|mdcc|meld|splitproxy|ltetcp)\.[^`]+)`", page)
    wanted = set()
    for one in EXPERIMENTS:
        if one.id.startswith(("field/", "l4s/", "frto")):
            continue
        if one.id == "arwa/combinations":  # readings of arwa/table6
            continue
        found = data_of(one)
        own = {number.id for number in one.numbers if not number.restates}
        missed = {n["id"] for n in found["numbers"] if n["verdict"] in ("miss", "impossible")}
        base = {claim.id for claim in one.claims if claim.kind is ClaimKind.PAPER}
        wanted |= missed & own
        wanted |= {name for name in base if found["claims"][name]["holds"] is False}
    without = {name for name in wanted if not any(fnmatch.fnmatchcase(name, p) for p in patterns)}
    stale = {p for p in patterns if not fnmatch.filter(wanted, p)}
    assert (without, stale) == (set(), set())
