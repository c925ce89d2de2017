"""The criteria of RFC 9743: decisions by hand, sections of the RFC, and the sentences of the page."""

from __future__ import annotations

import csv
import io
import math

import cells
import pytest

from airlane.arena import rfc9743, situations, view
from airlane.arena.conduct import Cell, Result
from airlane.arena.contenders import CONTENDERS
from airlane.arena.rfc9743 import Criterion, Decision, decide
from airlane.arena.situations import SITUATIONS
from airlane.runs.figures import BY_NAME
from conftest import ROOT

CUBIC, OTHER = (next(one for one in CONTENDERS if one.name == name) for name in ("cubic", "vegas"))
ONE_USER = next(one for one in SITUATIONS if one.name == "one-user")

SECTIONS = {
    "5.1": range(1, 6),
    "5.2": range(1, 4),
    "5.3": range(1, 3),
    "6": range(1, 5),
    "7": range(1, 12),
}
"""Sections of RFC 9743 with criteria, and the numbers of their parts."""


def decided(figure: str, values: list[float], base: list[float], **bar: float | bool) -> Decision:
    cells = {
        ("one-user", "cubic"): Cell({figure: base}),
        ("one-user", "vegas"): Cell({figure: values} if values else {}),
    }
    result = Result([CUBIC, OTHER], [ONE_USER], cells, 0.0)
    return decide(result, Criterion("5.1.2", "one-user", figure, **bar), "vegas")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([96.0, 95.0, 97.0], "meets"),
        ([80.0, 81.0, 82.0], "misses"),
        ([85.0, 90.0, 97.0], "open"),
        ([], ""),
    ],
)
def test_a_bar_relative_to_cubic_is_decided_by_paired_runs(values: list[float], word: str) -> None:
    decision = decided("goodput_mbps", values, [100.0, 100.0, 101.0], least=0.9, relative=True)
    assert decision.word == word
    if values:
        assert decision.number == pytest.approx(sum(values) / 301.0)
    else:
        assert math.isnan(decision.number)


def test_runs_that_differ_alike_are_decided_although_their_means_overlap() -> None:
    base = [10.0, 50.0, 90.0]
    near = [9.5, 47.4, 85.6]  # each about 0.95 of CUBIC's
    assert decided("goodput_mbps", near, base, least=0.9, relative=True).word == "open"  # 0.5, 2.4, 4.6
    alike = [10.1, 50.3, 90.2]
    assert decided("goodput_mbps", alike, base, least=0.8, relative=True).word == "open"
    assert decided("goodput_mbps", [9.0, 49.0, 89.0], base, least=1.0, relative=True).word == "misses"


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ([0.0, 0.0, 0.0], "meets"),
        ([0.1, 0.2, 0.3], "meets"),
        ([2.0, 2.1, 2.2], "misses"),
        ([0.5, 1.0, 1.4], "open"),
    ],
)
def test_a_share_of_lost_packets(values: list[float], word: str) -> None:
    assert decided("lost_percent", values, [0.0, 0.0, 0.0], most=1.0).word == word


def test_a_share_beside_cubic_has_limits_on_both_sides() -> None:
    assert decided("share", [0.9, 1.0, 1.1], [1.0] * 3, least=0.5, most=2.0).word == "meets"
    assert decided("share", [4.0, 4.1, 4.2], [1.0] * 3, least=0.5, most=2.0).word == "misses"
    assert decided("share", [0.1, 0.1, 0.11], [1.0] * 3, least=0.5, most=2.0).word == "misses"


def test_each_section_is_decided_or_has_a_reason() -> None:
    """No section of RFC 9743 with criteria is left out."""
    named = {one.section for one in rfc9743.CRITERIA} | {section for section, *_ in rfc9743.NOT_DECIDED}
    assert named - {"5.2"} == {f"{chapter}.{part}" for chapter, parts in SECTIONS.items() for part in parts}


def test_each_criterion_is_a_figure_of_its_situation() -> None:
    by_name = {one.name: one for one in SITUATIONS}
    for one in rfc9743.CRITERIA:
        situation = by_name[one.situation]
        assert one.figure in BY_NAME
        if one.section in view.CRITERIA and one.section not in ("5.1.3", "5.2"):
            assert one.section in situation.criteria or one.figure == situation.main, one
    assert situations.FOLDER.is_dir()


def test_the_page_says_who_meets_every_criterion() -> None:
    rows = [
        line.split("|")[1:-1] for line in cells.rfc9743("numbers").split("###")[0].splitlines()[4:] if line
    ]
    all_met = [row[0].strip(" `") for row in rows if [cell.strip() for cell in row[2:]] == ["0", "0", "0"]]
    assert all_met == ["cubic", "cubic-abe"]
    assert len(rows) == 27
    page = (ROOT / "docs/rfc9743.md").read_text()
    assert "Of the 27 contenders of the arena, one meets" in page
    decisions: dict[str, set[object]] = {}
    for row in rfc9743.rows(cells._arena_result("arena-field")):
        decisions.setdefault(str(row["contender"]), set()).add(row["decision"])
    assert [name for name, found in decisions.items() if found == {"meets"}] == ["cubic"]
    missing_none = [name for name, found in decisions.items() if "misses" not in found]
    assert missing_none == ["cubic", "cubic-hystartpp", "cubic-search"]
    assert all("open" in decisions[name] for name in missing_none[1:])
    words = "none meets all; HyStart++ and SEARCH over TCP miss none, but at least one criterion is undecided"
    assert words in " ".join(page.split())


def test_rows_are_those_of_the_tables() -> None:
    result = cells._arena_result("arena")
    rows = list(rfc9743.rows(result))
    assert len(rows) == len(result.contenders) * len(rfc9743.CRITERIA)
    assert all(tuple(row) == rfc9743.COLUMNS for row in rows)
    assert {row["decision"] for row in rows} == {"meets", "misses", "open", ""}
    text = io.StringIO()
    csv.DictWriter(text, rfc9743.COLUMNS).writerows(rows)


def test_an_unknown_part_is_an_error_with_the_known_ones() -> None:
    with pytest.raises(cells.NotFoundError, match="bars, numbers, not-decided"):
        cells.rfc9743("words")
