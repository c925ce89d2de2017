"""Several experiments in one command: one table of papers, and failures that do not affect the others."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from airlane import examples, experiments, native, papers
from airlane.cache import Cache
from airlane.commands import main as cli
from airlane.commands import terminal
from airlane.experiments import (
    Claim,
    ClaimKind,
    Draw,
    Experiment,
    Finding,
    Number,
    NumberKind,
    Outcome,
    Reading,
)
from airlane.metrics import Window, goodput_mbps
from airlane.pages import report
from airlane.study import record, reproduction, tables, verdict_view
from airlane.study.reproduction import Failed, Reproduction
from airlane.study.verdict import Published, Verdict
from conftest import Airlane


def goodput(draw: Draw) -> float:
    """About 9.6 Mbit/s."""
    return goodput_mbps(draw["10"], None, Window(1.0, 3.0))


def broken(_draws: Sequence[Draw]) -> Finding:
    """A programming error."""
    raise ZeroDivisionError("by nothing")


def experiment(name: str, ids: Sequence[str], claims: tuple[Claim, ...] = ()) -> Experiment:
    """A wired link of 10 Mbit/s, under two seeds."""
    settings = {"run.duration": "3 s", "internet.queue": "64 KiB", "internet.rate": "10 Mbit/s"}
    return Experiment(
        id=name,
        title="a link",
        source="nobody",
        scenario=examples.path("wired-cubic"),
        grid={"10": settings},
        runs=2,
        quick_runs=1,
        numbers=tuple(Number(each, each, goodput) for each in ids),
        claims=claims,
    )


PUBLISHED = {
    "one.match": Published("one.match", 9.6),
    "one.miss": Published("one.miss", 40.0),
    "two.lost": Published("two.lost", None),
}
HOLDS = Claim("x.holds", "it holds", lambda _: Finding(True, "always"))
OPEN = Claim("x.open", "who knows", lambda _: Finding(None, "nothing"))
PARTS = [
    experiment("one/a", ["one.match", "one.miss"], (HOLDS,)),
    experiment("one/broken", [], (Claim("x.broken", "never", broken),)),
    experiment("two/a", ["two.lost"], (HOLDS, OPEN)),
    # The same number under another reading: it counts once, with the first verdict.
    experiment("one/again", ["one.match"]),
]


@pytest.fixture
def of_mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(papers, "select", lambda ids: [e for e in PARTS if not ids or e.id in ids])
    monkeypatch.setattr(papers, "published", lambda: PUBLISHED)
    monkeypatch.chdir(tmp_path)


def conducted(tmp_path: Path, quick: bool = False) -> Reproduction:
    parts = Reproduction(Cache(tmp_path / "cache", native.fingerprint()), quick, None, 2, lambda _: None)
    for each in PARTS:
        parts.conduct(each)
    return parts


@pytest.mark.usefixtures("of_mine")
def test_numbers_count_once_and_by_paper(tmp_path: Path) -> None:
    parts = conducted(tmp_path)
    assert [outcome.experiment.id for outcome in parts.done] == ["one/a", "two/a", "one/again"]
    assert [failed.id for failed in parts.failed] == ["one/broken"]
    assert isinstance(parts.failed[0].error, ZeroDivisionError)
    assert {paper: dict(tally) for paper, tally in reproduction.numbers(parts.done).items()} == {
        "one": {Verdict.MATCH: 1, Verdict.MISS: 1},
        "two": {Verdict.LOST: 1},
    }
    assert reproduction.claims(parts.done) == {True: 2, None: 1}


@pytest.mark.usefixtures("of_mine")
def test_results_constants_and_claims_are_counted_apart_and_nothing_twice(tmp_path: Path) -> None:
    """Of six numbers, two count as results: two are constants, one a repetition, one another reading's."""
    cache = Cache(tmp_path / "cache", native.fingerprint())
    sure, guess = (Claim(f"x.{k}", "", lambda _: Finding(True, ""), k) for k in list(ClaimKind)[1:])
    first = experiment("one/a", ["one.match", "one.miss"], (HOLDS, OPEN, sure, guess))
    size = Number("one.size", "size", lambda _: 1500.0, kind=NumberKind.CONSTANT)
    block = Number("one.block", "block", lambda _: 1.0, kind=NumberKind.CONSTANT)
    again = Number("one.abstract", "again", goodput, restates="one.match")
    chosen = dataclasses.replace(first.numbers[0], fitted="its rate, on Fig. 1")
    first = dataclasses.replace(first, numbers=(chosen, first.numbers[1], size, block, again))
    published = {
        **PUBLISHED,
        "one.size": Published("one.size", 1500.0),
        "one.block": Published("one.block", 1.05),  # within 10 %
        "one.abstract": Published("one.abstract", 9.6),
    }
    done = [experiments.conduct(e, published, cache) for e in (first, PARTS[3])]
    assert reproduction.numbers(done) == {"one": {Verdict.MATCH: 1, Verdict.MISS: 1}}
    assert reproduction.constants(done) == {"one": {Verdict.MATCH: 1, Verdict.MISS: 1}}
    assert reproduction.fitted(done) == {"one": 1}
    assert reproduction.claims(done, ClaimKind.PAPER) == {True: 1, None: 1}
    assert reproduction.claims(done, ClaimKind.READING) == {True: 1}
    assert reproduction.claims(done, ClaimKind.PREDICTION) == {True: 1}
    found = report.as_json(done, 1.0)
    assert found["constants"] == {"one": {"match": 1, "miss": 1}}
    assert found["fitted"] == {"one": 1}
    assert found["claims_by_kind"]["paper"] == {"yes": 1, "open": 1}
    with terminal.output.capture() as captured:
        terminal.output.print(verdict_view.papers_view(done))
    said = captured.get()
    assert "constants of tables: 1 equal, 1 not equal" in said
    assert "claims of the papers: 1 hold, 0 do not, 1 open" in said
    assert "our predictions: 1 hold, 0 do not, 0 open" in said
    assert "to match a published result): one 1" in said
    line = verdict_view.outcome_line(done[0], 1, 2)
    assert line == " 1/2 one/a: 2 match, 1 miss; constants: 1 equal, 1 not equal; claims: 3 hold, 1 open"


def test_no_claim_and_no_number_of_the_papers_is_counted_twice() -> None:
    everything = papers.experiments()
    claims = Counter(claim.id for e in everything for claim in e.claims)
    assert [name for name, count in claims.items() if count > 1] == []
    known = papers.published()
    for number in (n for e in everything for n in e.numbers if n.restates):
        whole = number.restates.removesuffix(".low")
        assert any(name.startswith(whole) for name in known), number.restates


@pytest.mark.usefixtures("of_mine")
def test_runs_are_shown_and_let_go_of_and_a_figure_that_fails_is_a_failure(tmp_path: Path) -> None:
    seen = []

    def show(outcome: Outcome) -> None:
        seen.append(len(outcome.draws))
        if outcome.experiment.id == "two/a":
            raise ValueError("no such colour")

    parts = Reproduction(Cache(tmp_path / "cache", native.fingerprint()), False, None, 2, show)
    for each in PARTS:
        parts.conduct(each)
    assert seen == [2, 2, 2]
    assert [outcome.draws for outcome in parts.done] == [[], []]
    assert [failed.id for failed in parts.failed] == ["one/broken", "two/a"]


@pytest.mark.usefixtures("of_mine")
def test_a_panic_of_the_core_is_a_failure_and_a_signal_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raising(error: BaseException) -> None:
        def conduct(*_: object, **__: object) -> None:
            raise error

        monkeypatch.setattr(experiments, "conduct", conduct)

    parts = Reproduction(Cache(tmp_path / "cache", "core"), False, None, 1, lambda _: None)
    panic = type("PanicException", (BaseException,), {})("a queue is never negative")
    raising(panic)
    assert parts.conduct(PARTS[0]) == Failed("one/a", panic)
    raising(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        parts.conduct(PARTS[0])


@pytest.mark.usefixtures("of_mine")
@pytest.mark.parametrize("quick", [False, True])
def test_the_table_of_papers_fits_a_terminal(tmp_path: Path, quick: bool) -> None:
    with terminal.output.capture() as captured:
        parts = conducted(tmp_path, quick)
        terminal.output.print(verdict_view.papers_view(parts.done, parts.failed, quick=quick))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["paper"] == ["numbers", *Verdict]
    # One run has no interval: what would be judged is undecided.
    assert rows["one"] == (["2", "2"] if quick else ["2", "1", "1"])
    assert rows["all"] == (["3", "2", "1"] if quick else ["3", "1", "1", "1"])
    assert ("Quick form" in captured.get()) == quick
    assert "one/broken" in lines[-1]
    # Names and counts of the real papers have up to ten and three characters.
    assert max(len(line) for line in lines) <= 80


@pytest.mark.usefixtures("of_mine")
def test_the_command_reports_what_it_has_and_tells_what_failed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(typer.Exit) as ended:
        cli.reproduce(out=Path("there"), cache=Path("cache"))
    assert ended.value.exit_code == 1
    said = capfd.readouterr()
    lines = said.out.splitlines()
    assert lines[0] == " 1/4 one/a: 1 match, 1 miss; claims: 1 hold"
    assert lines[-1].startswith("report: there/index.html (")
    assert "error: one/broken: Traceback" in said.err
    assert "ZeroDivisionError: by nothing" in said.err
    found = json.loads((tmp_path / "there/results.json").read_text())
    assert found["failed"] == ["one/broken"]
    assert found["papers"]["two"] == {"lost": 1}
    assert [row["id"] for row in found["numbers"]] == ["one.match", "one.miss", "two.lost", "one.match"]


@pytest.mark.usefixtures("of_mine")
def test_one_experiment_alone_fails_as_it_is(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        cli.reproduce(ids=["one/broken"], out=Path("there"), cache=Path("cache"))
    cli.reproduce(ids=["one/a"], out=Path("there"), cache=Path("cache"))
    assert "numbers  match" not in capfd.readouterr().out


def test_the_names_of_the_papers_fit_the_table() -> None:
    assert max(len(e.id.partition("/")[0]) for e in papers.experiments()) <= 10


def test_each_experiment_has_a_file_that_gives_its_outcome_again(airlane: Airlane, tmp_path: Path) -> None:
    done = airlane("reproduce", "frto", "--record", "results", "-o", "there", "--cache", "cache")
    assert done.returncode == 0, done.stderr
    written = sorted(str(file.relative_to(tmp_path)) for file in (tmp_path / "results").rglob("*.*"))
    assert written == ["results/frto.json", "results/pictures/frto-1.png"]
    picture = tmp_path / "results/pictures/frto-1.png"
    assert picture.read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "results/frto.json").read_text()
    assert "wall_s" not in text, "nothing that differs from call to call"
    (experiment,) = papers.select(["frto"])
    outcome = record.read(experiment, tmp_path / "results", papers.published())
    page = tables.experiments([outcome])
    assert page.startswith("## frto\n")
    assert "\n<details><summary>claims</summary>\n\n| claim | holds | evidence |\n" in page
    assert re.search(r"^\| F-RTO off \| 1 \| 0 \| \d+ \| 0 \|", page, re.MULTILINE)
    assert tables.printed([outcome]).splitlines()[0] == " 1/1 frto: claims: 3 hold"


@pytest.mark.usefixtures("of_mine")
def test_a_file_gives_the_numbers_and_verdicts_of_its_runs(tmp_path: Path) -> None:
    link = dataclasses.replace(
        PARTS[0].numbers[0], against=lambda _: 1.0, readings=(Reading("all", goodput),)
    )
    one = dataclasses.replace(PARTS[0], numbers=(link, *PARTS[0].numbers[1:]))
    outcome = experiments.conduct(one, PUBLISHED, Cache(tmp_path / "cache", native.fingerprint()))
    record.write(outcome, tmp_path)
    again = record.read(one, tmp_path, PUBLISHED)
    assert verdict_view.outcome_line(again, 1, 1) == verdict_view.outcome_line(outcome, 1, 1)
    assert tables.experiments([again]) == tables.experiments([outcome])
    first, before = again.numbers[0].judgement.difference, outcome.numbers[0].judgement.difference
    assert first is not None
    assert before is not None
    assert first.mean == pytest.approx(before.mean, rel=1e-5)
    (file,) = tmp_path.glob("*.json")
    written = file.read_bytes()
    record.write(dataclasses.replace(again, draws=outcome.draws), tmp_path)
    assert file.read_bytes() == written
