"""The page for a decision: verdicts by application and for the worst users, its answer, and its command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from airlane import example
from airlane.arena.contenders import ArenaError
from airlane.arena.mechanisms import variants
from airlane.scenario import load, loads
from airlane.study.compare import Side
from airlane.study.decision import ALL, Row, answer, decide, ranked_users
from conftest import Airlane

CELL = """
# Eight phones share a cell.
network = "typical"
[run]
duration = "8 s"
warmup = "1 s"
[[cell]]
name = "a"
resource_blocks = 25
[[ue]]
name = "loader"
count = 4
placement = { kind = "disc", radius = "500 m" }
[[ue]]
name = "reader"
count = 4
placement = { kind = "disc", radius = "500 m" }
[[flow]]
name = "download"
to = "loader"
[[flow]]
name = "web"
to = "reader"
app = { kind = "web", pages = "2011" }
"""


def side(name: str, goodput: Mapping[str, float], page_s: Mapping[str, float], spread: float = 0.01) -> Side:
    """Three runs, which differ by `spread`: downloads with a rate, browsers with a page load time."""
    rows: list[tuple[int, str, str, float, float | None, int | None]] = []
    for run in range(3):
        share = 1.0 + spread * (run - 1)
        for ue, rate in goodput.items():
            rows.append((run, ue, "bulk", rate * share, None, None))
        for ue, time in page_s.items():
            rows.append((run, ue, "web", 0.5, time * share, 1))
    names = ("run", "ue", "app", "goodput_mbps", "page_s", "pages_begun")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    delay = [20.0 if row[2] == "bulk" else 10.0 for row in rows]
    seeds = [row[0] + 1 for row in rows]
    return Side(name, pa.table({**columns, "flow": columns["ue"], "seed": seeds, "owd_p95_ms": delay}))


RATES = {"l1": 4.0, "l2": 3.0, "l3": 2.0, "l4": 1.0}
TIMES = {"r1": 2.0, "r2": 2.0, "r3": 3.0, "r4": 5.0}
BASE = side("today", RATES, TIMES)


def row(rows: list[Row], group: str, words: str) -> Row:
    (found,) = (one for one in rows if (one.group, one.words) == (group, words))
    return found


def test_each_application_has_its_figures_and_verdicts() -> None:
    faster = side("faster", RATES, {name: 0.5 * time for name, time in TIMES.items()})
    slower = side("slower", {name: 0.8 * rate for name, rate in RATES.items()}, TIMES)
    decision = decide([BASE, faster, slower])
    groups = [(one.group, one.figure.name) for one in decision.figures]
    assert groups == [
        ("downloads", "goodput_mbps"),
        ("downloads", "owd_p95_ms"),
        ("web pages", "page_s"),
        (ALL, "goodput_mbps"),
    ]
    pages = row(list(decision.figures), "web pages", "page load time")
    assert pages.cells[0].estimate.mean == pytest.approx(3.0), "(2 + 2 + 3 + 5) / 4"
    assert [(cell.word, cell.change) for cell in pages.cells] == [
        ("", ""),
        ("better", "-50 %"),
        ("same", "+0 %"),
    ]
    rates = row(list(decision.figures), "downloads", "goodput")
    assert rates.cells[0].estimate.mean == pytest.approx(10.0)
    assert [cell.word for cell in rates.cells] == ["", "same", "worse"]
    first, *rest = answer(decision)
    assert first == "faster improves 1 of 4 figures and worsens none."
    assert rest[0] == "faster: better: page load time of web pages -50 %; 3 the same."
    assert rest[1].startswith("slower: worse: goodput of downloads -20 %, goodput of all flows")


def test_the_worst_users_are_ranked_with_each_mechanism_anew() -> None:
    # The worst reader gets 2.5 s, and another one, with 4 s, is the worst now.
    other = side("other", RATES, {"r1": 4.0, "r2": 2.0, "r3": 3.0, "r4": 2.5})
    decision = decide([BASE, other])
    users = list(decision.users)
    worst = row(users, "web pages", "worst user: page load time")
    assert [cell.estimate.mean for cell in worst.cells] == pytest.approx([5.0, 4.0])
    assert worst.cells[1].word == "better"
    median = row(users, "web pages", "median user: page load time")
    assert [cell.estimate.mean for cell in median.cells] == pytest.approx([2.5, 2.75])
    poorest = row(users, "downloads", "worst user: goodput")
    assert poorest.cells[0].estimate.mean == pytest.approx(1.0), "less is worse here"
    assert {one.words: [user.name for user in one.users] for one in ranked_users(BASE, 1)} == {
        "downloads": ["l4", "l3", "l2", "l1"],
        "web pages": ["r4", "r3", "r1", "r2"],
    }


def test_what_improves_nothing_or_only_at_a_price_is_said() -> None:
    mixed = side(
        "mixed", {name: 0.5 * rate for name, rate in RATES.items()}, {n: 0.5 * t for n, t in TIMES.items()}
    )
    assert (
        answer(decide([BASE, mixed]))[0] == "No mechanism improves a figure without making another one worse."
    )
    assert (
        answer(decide([BASE, side("equal", RATES, TIMES)]))[0]
        == "No mechanism improves a figure against today."
    )
    wide = side("wide", RATES, TIMES, spread=0.5)
    words = {cell.word for one in decide([BASE, wide]).figures for cell in one.cells[1:]}
    assert "open" in words


def test_few_users_have_no_worst_quarter() -> None:
    three = {name: RATES[name] for name in ("l1", "l2", "l3")}
    decision = decide([side("a", three, TIMES), side("b", three, TIMES)])
    assert {one.group for one in decision.users} == {"web pages"}


def test_a_mechanism_carries_every_flow_that_it_can() -> None:
    found = variants(
        loads(CELL), ["l4s", "pep", "cubic-codel", "short: cell.rlc.buffer=64 KiB; run.warmup=2 s"]
    )
    assert list(found.scenarios) == ["baseline", "l4s", "pep", "cubic-codel", "short"]
    flows = found.scenarios["l4s"].settings["flow"]
    assert [flow["transport"]["congestion"] for flow in flows] == ["prague", "prague"]
    assert found.scenarios["l4s"].settings["cell"][0]["rlc"]["aqm"]["kind"] == "dualpi2"
    assert [one["kind"] for one in found.scenarios["pep"].settings["middlebox"]] == ["pep"]
    assert found.scenarios["short"].settings["run"]["warmup"] == "2 s"
    assert found.meanings["short"] == "cell.rlc.buffer=64 KiB; run.warmup=2 s"


def test_a_mechanism_of_transports_leaves_a_call_as_it_is() -> None:
    base = load(example("call"))
    found = variants(base, ["bbr", "l4s"])
    for name, law in (("bbr", "bbr"), ("l4s", "prague")):
        call, download = found.scenarios[name].settings["flow"]
        assert call == base.settings["flow"][0]
        assert download["transport"]["congestion"] == law


@pytest.mark.parametrize(
    ("mechanisms", "words"),
    [
        (["codl"], "did you mean 'codel'"),
        (["codel", "codel"], "named twice"),
        (["short: 64 KiB"], "expected NAME: KEY=VALUE"),
    ],
)
def test_a_mistake_names_what_there_is(mechanisms: list[str], words: str) -> None:
    with pytest.raises(ArenaError, match=words):
        variants(loads(CELL), mechanisms)


def test_one_command_writes_the_page(airlane: Airlane, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "cell.toml").write_text(CELL)
    options = ["--mechanism", "codel", "--mechanism", "split-proxy", "--runs", "3", "--decision"]
    done = airlane("sweep", "cell.toml", *options)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("written to out/sweeps/cell-decision.html\n")
    page = (tmp_path / "out/sweeps/cell-decision.html").read_text()
    for words in (
        "baseline, codel or split-proxy?",
        "Eight phones share a cell.",
        "worst user: goodput",
        "km to the east",
    ):
        assert words in page
    again = airlane(
        "report", "out/sweeps/cell", "--question", "What helps in this cell?", "--flow", "download*"
    )
    assert again.returncode == 0, again.stderr
    page = (tmp_path / "out/sweeps/cell-decision.html").read_text()
    assert "<h1>What helps in this cell?</h1>" in page
    assert "page load time" not in page, "only the downloads"


def test_folders_are_compared_with_the_first(airlane: Airlane, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    (tmp_path / "cell.toml").write_text(CELL)
    for name, aqm in (("today", "drop-tail"), ("codel", "codel"), ("pie", "pie")):
        done = airlane("run", "cell.toml", "--set", f"cell.rlc.aqm={aqm}", "--runs", "3", "-o", name)
        assert done.returncode == 0, done.stderr
    done = airlane("report", "--decision", "today", "codel", "pie", "-o", "page.html")
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "<h1>today, codel or pie?</h1>" in page
    assert page.count('<th scope="col" class="num">today</th>') == 2, "once in the head of each table"
    refused = airlane("report", "--decision", "today")
    assert refused.returncode == 2
    assert "name two or more folders" in refused.stderr
