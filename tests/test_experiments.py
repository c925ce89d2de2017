"""Experiments: shared seeds, judged rows, each run executed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from airlane import native
from airlane.cache import Cache
from airlane.experiments import (
    Claim,
    Draw,
    Experiment,
    Finding,
    Measure,
    Number,
    NumberKind,
    NumberRow,
    Reading,
    conduct,
)
from airlane.metrics import Window, goodput_mbps
from airlane.pages.report import Book, as_json
from airlane.study.verdict import Published, Verdict

WINDOW = Window(1.0, 3.0)


def link(point: str) -> Measure:
    """Goodput of one point."""
    return lambda draw: goodput_mbps(draw[point], None, WINDOW)


def faster(draws: Sequence[Draw]) -> Finding:
    """Whether every draw improved."""
    pairs = [(link("10")(draw), link("20")(draw)) for draw in draws]
    return Finding(all(b > a for a, b in pairs), f"{pairs}")


@pytest.fixture
def experiment(scenarios: Path) -> Experiment:
    """A wired link of 10 and of 20 Mbit/s."""
    slow, fast = link("10"), link("20")
    common = {"run.duration": "3 s", "internet.queue": "64 KiB", "internet.delay": "10 ms"}
    return Experiment(
        id="test/link",
        title="a link",
        source="nobody",
        scenario=scenarios / "wired-cubic.toml",
        grid={name: {**common, "internet.rate": f"{name} Mbit/s"} for name in ("10", "20")},
        runs=2,
        quick_runs=1,
        numbers=(
            Number("x.slow", "slow", slow, readings=(Reading("the fast one", fast),)),
            Number("x.gain", "fast over slow", fast, against=slow, published_against=10.0),
            Number("x.lost", "lost", slow),
        ),
        claims=(Claim("x.faster", "the faster link is faster", faster),),
    )


PUBLISHED = {
    # 10 Mbit/s by 1460 of 1500 (or 1448, with timestamps) bytes: 9.65–9.73 Mbit/s.
    "x.slow": Published("x.slow", 9.7),
    # A gain of 15 Mbit/s over 10; ours is 9.65, which is more than half of it.
    "x.gain": Published("x.gain", 25.0),
    "x.lost": Published("x.lost", None),
}


def test_rows_are_judged_and_runs_are_done_once(experiment: Experiment, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", native.fingerprint())
    seen: list[tuple[int, int]] = []
    outcome = conduct(experiment, PUBLISHED, cache, on_done=lambda done, total: seen.append((done, total)))
    assert (outcome.runs_done, outcome.runs_cached) == (4, 0)
    assert seen[0] == (0, 4)
    assert seen[-1] == (4, 4)
    assert [row.judgement.verdict for row in outcome.numbers] == [
        Verdict.MATCH,
        Verdict.DIRECTION,
        Verdict.LOST,
    ]
    # The reading is judged against the same published number.
    assert outcome.numbers[0].readings[0][2].verdict is Verdict.MISS
    assert outcome.claims[0].finding.holds is True

    again = conduct(experiment, PUBLISHED, cache)
    assert (again.runs_done, again.runs_cached) == (0, 4)
    assert [row.ours for row in again.numbers] == [row.ours for row in outcome.numbers]

    other_seed = conduct(experiment, PUBLISHED, cache, seed=100)
    assert other_seed.runs_done == 4
    quick = conduct(experiment, PUBLISHED, cache, quick=True)
    assert (quick.runs_done, quick.runs_cached) == (0, 2)
    assert quick.numbers[0].judgement.verdict is Verdict.UNDECIDED  # one run is not a mean


def test_a_range_has_a_direction_too(experiment: Experiment, tmp_path: Path) -> None:
    def gain(draw: Draw) -> float:
        return link("20")(draw) - link("10")(draw)

    number = Number("x.gain", "gain", gain, against=lambda _: 0.0)
    cache = Cache(tmp_path / "cache", native.fingerprint())
    found = []
    for ends in ((12.0, 20.0), (-20.0, -12.0), (8.0, 12.0), (30.0, 50.0)):
        ours = replace(experiment, numbers=(number,), claims=())
        outcome = conduct(ours, {"x.gain": Published("x.gain", None, range=ends)}, cache)
        found.append(outcome.numbers[0].judgement.verdict)
    assert found == [Verdict.DIRECTION, Verdict.MISS, Verdict.MATCH, Verdict.MISS]


def test_shortened_runs_never_say_miss_or_does_not_hold(experiment: Experiment, tmp_path: Path) -> None:
    """Goodput of 9.65 Mbit/s instead of 40, and a claim that fails in every run."""
    far = replace(
        experiment,
        numbers=(Number("x.gain", "slow", link("10"), readings=(Reading("fast", link("20")),)),),
        claims=(
            Claim("x.never", "never", lambda _: Finding(False, "no")),
            Claim("x.ever", "ever", lambda _: Finding(True, "yes")),
        ),
        quick_runs=2,
    )
    cache = Cache(tmp_path / "cache", native.fingerprint())

    def found(of: Experiment, *, quick: bool) -> tuple[list[Verdict], list[bool | None]]:
        outcome = conduct(of, PUBLISHED, cache, quick=quick)
        row = outcome.numbers[0]
        verdicts = [row.judgement.verdict, row.readings[0][2].verdict]
        return verdicts, [claim.finding.holds for claim in outcome.claims]

    missed = ([Verdict.MISS, Verdict.MISS], [False, True])
    assert found(far, quick=False) == missed
    assert found(far, quick=True) == missed  # fewer runs of the full length
    shorter = replace(far, quick={"run.duration": "2900 ms"})
    assert found(shorter, quick=False) == missed
    assert found(shorter, quick=True) == ([Verdict.UNDECIDED, Verdict.UNDECIDED], [None, True])


def test_a_published_zero_states_its_tolerance(experiment: Experiment, tmp_path: Path) -> None:
    zero = {"x.zero": Published("x.zero", 0.0)}
    none = Number("x.zero", "drops", lambda draw: 0.1 * (draw.seed % 2))
    cache = Cache(tmp_path / "cache", native.fingerprint())

    def verdict(number: Number) -> Verdict:
        outcome = conduct(replace(experiment, numbers=(number,), claims=()), zero, cache)
        return outcome.numbers[0].judgement.verdict

    with pytest.raises(ValueError, match=r"x\.zero.*state a tolerance"):
        verdict(none)
    assert verdict(replace(none, absolute=1.0)) is Verdict.MATCH  # 0.05 ± 0.64
    assert verdict(replace(none, absolute=0.5)) is Verdict.UNDECIDED
    assert verdict(replace(none, absolute=0.5, kind=NumberKind.CONSTANT)) is Verdict.MISS


def test_what_a_number_is_compared_with_is_published_too(experiment: Experiment, tmp_path: Path) -> None:
    """Ours increases from 9.65 to 19.3; the paper's fell from 50 to 25, or rose from 12 to 25."""
    cache = Cache(tmp_path / "cache", native.fingerprint())
    fell = Number("x.gain", "fast", link("20"), against=link("10"), published_against=50.0)
    for number, wanted in ((fell, Verdict.MISS), (replace(fell, published_against=12.0), Verdict.DIRECTION)):
        outcome = conduct(replace(experiment, numbers=(number,), claims=()), PUBLISHED, cache)
        assert outcome.numbers[0].judgement.verdict is wanted


def test_a_ratio_of_two_wrong_numbers_says_so(experiment: Experiment, tmp_path: Path) -> None:
    slow, fast = link("10"), link("20")
    twice = Number(
        "x.ratio",
        "fast by slow",
        lambda draw: fast(draw) / slow(draw),
        parts=(("x.slow", slow), ("x.fast", fast)),
    )
    cache = Cache(tmp_path / "cache", native.fingerprint())

    def row(slow_told: float, fast_told: float, ratio: float) -> NumberRow:
        published = {
            "x.slow": Published("x.slow", slow_told),
            "x.fast": Published("x.fast", fast_told),
            "x.ratio": Published("x.ratio", ratio),
        }
        [found] = conduct(replace(experiment, numbers=(twice,), claims=()), published, cache).numbers
        return found

    # 9.7 and 19.4 Mbit/s. Both off by half: the ratio of 2 matches, and the row warns that this says
    # little.
    both = row(19.4, 38.8, 2.0)
    assert both.judgement.verdict is Verdict.MATCH
    assert "a match of the ratio alone" in both.judgement.why
    assert "for 19.4" in both.judgement.why
    # One of them is right, or the ratio does not match: no warning.
    assert row(9.7, 38.8, 2.0).judgement.why == ""
    assert "ratio" not in row(19.4, 38.8, 3.0).judgement.why


def test_quick_runs_can_be_shorter(experiment: Experiment, tmp_path: Path) -> None:
    shorter = replace(experiment, quick={"run.duration": "2 s"}, numbers=(), claims=())
    cache = Cache(tmp_path / "cache", native.fingerprint())
    assert conduct(shorter, PUBLISHED, cache, quick=True).simulated_s == 2 * 2.0
    assert conduct(shorter, PUBLISHED, cache).simulated_s == 2 * 2 * 3.0


def test_points_share_their_seeds(experiment: Experiment, tmp_path: Path) -> None:
    outcome = conduct(experiment, PUBLISHED, Cache(tmp_path, "core"), seed=41)
    assert [draw.seed for draw in outcome.draws] == [41, 42]


def test_machines_and_people_get_the_same_rows(experiment: Experiment, tmp_path: Path) -> None:
    outcome = conduct(experiment, PUBLISHED, Cache(tmp_path / "cache", "core"))
    found = as_json([outcome], 1.0)
    assert set(found) >= {"numbers", "claims", "wall_s"}
    wanted = {"id", "published", "published_ci", "ours", "ci95", "n", "verdict", "bound", "fitted", "note"}
    assert all(wanted <= set(row) for row in found["numbers"])
    assert found["claims"] == [
        {
            "id": "x.faster",
            "text": "the faster link is faster",
            "kind": "paper",
            "holds": True,
            "evidence": outcome.claims[0].finding.evidence,
        }
    ]
    book = Book(tmp_path / "report/index.html")
    book.add(outcome)
    assert not (tmp_path / "report").exists()  # a command that is stopped leaves nothing
    book.write(1.0)
    index, page = ((tmp_path / "report" / name).read_text() for name in ("index.html", "test.html"))
    assert all(row["id"] in page and row["verdict"] in page for row in found["numbers"])
    assert all(row["verdict"] in index for row in found["numbers"])
    for text in (index, page):  # no external resources: addresses only occur in remarks
        assert "http" not in text.replace("https://www.w3.org", "").replace(
            "https://github.com/leeoniya/uPlot", ""
        )


def test_a_draw_is_the_runs_of_one_seed() -> None:
    draw = Draw(3, {})
    with pytest.raises(KeyError):
        draw["absent"]
