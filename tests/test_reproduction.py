"""Several experiments in one command: one table of papers, and what fails takes nothing else with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import typer

from airlane import cli, examples, experiments, native, papers, reproduction, terminal
from airlane.cache import Cache
from airlane.experiments import Claim, Draw, Experiment, Finding, Number, Outcome
from airlane.metrics import Window, goodput_mbps
from airlane.reproduction import Failed, Reproduction
from airlane.verdict import Published, Verdict


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
    # The same number under another reading: it counts once, as the first says.
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
        terminal.output.print(terminal.papers_view(conducted(tmp_path, quick)))
    lines = [line.rstrip() for line in captured.get().splitlines()]
    rows = {line.split()[0]: line.split()[1:] for line in lines if line}
    assert rows["paper"] == ["numbers", *Verdict]
    # Of one run there is no interval: what would be judged is undecided.
    assert rows["one"] == (["2", "2"] if quick else ["2", "1", "1"])
    assert rows["all"] == (["3", "2", "1"] if quick else ["3", "1", "1", "1"])
    assert ("undecided or open" in captured.get()) == quick
    assert "one/broken" in lines[-1]
    # Of the real papers, names and counts have up to ten and three characters.
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
