"""Measures and decisions shared by the papers, with values by hand."""

from __future__ import annotations

import math

import pytest

from airlane import papers
from airlane.experiments import ClaimKind, Draw, Finding, Measure
from airlane.papers import common
from airlane.papers.common import (
    Part,
    all_hold,
    between,
    decide,
    difference,
    gain_pct,
    higher,
    mean,
    minus,
    one_holds,
    over,
    ratio,
    reduction_pct,
    value,
    within,
    worst_of,
)
from airlane.stats import Estimate

pytestmark = pytest.mark.by_hand

DRAWS = [Draw(seed, {}) for seed in (1, 2, 3, 4)]


def drawn(*values: float) -> Measure:
    """One value for each of the draws."""
    return lambda draw: values[draw.seed - 1]


def ours(mean: float, half_width: float) -> Estimate:
    return Estimate(mean, half_width, 10, half_width * math.sqrt(10) / 2.262)


def test_a_gain_is_over_the_base_and_a_reduction_under_it() -> None:
    five, four = drawn(5, 5, 5, 5), drawn(4, 4, 4, 4)
    assert gain_pct(five, four)(DRAWS[0]) == pytest.approx(25.0)
    assert gain_pct(four, five)(DRAWS[0]) == pytest.approx(-20.0)
    assert reduction_pct(four, five)(DRAWS[0]) == pytest.approx(20.0)
    assert reduction_pct(five, four)(DRAWS[0]) == pytest.approx(-25.0)
    assert minus(five, four)(DRAWS[0]) == 1.0
    assert ratio(five, four)(DRAWS[0]) == 1.25
    assert over([five, four])(DRAWS[0]) == 4.5


def test_means_leave_out_where_nothing_is_defined_and_differences_are_paired() -> None:
    found = mean(DRAWS, drawn(1, 2, math.nan, 3))
    assert (found.mean, found.n) == (2.0, 3)
    apart = difference(DRAWS, drawn(11, 22, 33, math.nan), drawn(10, 20, 30, 40))
    assert (apart.mean, apart.n) == (2.0, 3)


@pytest.mark.parametrize(
    ("reach", "equal", "margin", "wanted"),
    [
        # the difference is -6
        (51.0, True, 5.0, None),
        (51.0, True, 100.0, True),
        (0.5, True, 5.0, False),
        (0.5, True, 7.0, True),
        (0.5, False, 0.0, False),
        (51.0, False, 0.0, None),
    ],
)
def test_not_shown_worse_is_open_and_not_a_claim_that_holds(
    reach: float, equal: bool, margin: float, wanted: bool | None
) -> None:
    assert Part("x", ours(-6.0, reach), equal=equal, margin=margin).holds is wanted


def test_a_ratio_of_0_85_with_0_54_either_way_is_open() -> None:
    part = Part("time / time", ours(0.85, 0.54), limits=(-math.inf, 0.99))
    assert part.holds is None
    assert str(part) == "time / time 0.85 ± 0.54 (at most 0.99: open)"


def test_what_is_sure_and_of_no_matter_does_not_hold() -> None:
    """Ten runs that differ by one unit in the last place."""
    one = [100.0] * 10
    other = [math.nextafter(100.0, 0.0)] * 10
    draws = [Draw(i, {}) for i in range(10)]
    part = higher(draws, "more", lambda d: one[d.seed], lambda d: other[d.seed])
    assert part.ours.low > 0.0
    assert part.margin == pytest.approx(1.0)
    assert part.holds is False
    assert higher(draws, "no less", lambda d: other[d.seed], lambda d: one[d.seed], equal=True).holds is True


def test_a_margin_is_a_part_of_what_is_compared_with_unless_it_is_given() -> None:
    high, low = drawn(103, 103.1, 102.9, 103), drawn(100, 100.1, 99.9, 100)
    assert higher(DRAWS, "", high, low).holds is True
    assert higher(DRAWS, "", high, low, margin=4.0).holds is False
    assert higher(DRAWS, "", low, high).holds is False


def test_three_values_are_joined_as_logic_has_it() -> None:
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([None, False, True]) is False
    assert one_holds([False, False]) is False
    assert one_holds([None, False]) is None
    assert one_holds([None, True]) is True


def test_many_parts_show_those_that_decide() -> None:
    parts = [Part(name, ours(value, 0.1), margin=1.0) for name, value in (("a", 3.0), ("b", 2.0), ("c", 5.0))]
    found = worst_of(parts)
    assert found.holds is True
    assert found.evidence == "3 of 3 hold; b 2.00 ± 0.10 (above 1: yes)"
    found = worst_of([*parts, Part("d", ours(0.0, 0.1), margin=1.0)], "a note")
    assert found.holds is False
    assert found.evidence == "3 of 4 hold; d 0.00 ± 0.10 (above 1: no); a note"
    assert decide(parts).holds is True


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((5.0, 5.1, 4.9, 5.0), True),
        ((7.0, 7.1, 6.9, 7.0), False),
        ((5.0, 7.0, 4.0, 6.5), None),
        ((5.0, math.nan, math.nan, math.nan), None),
    ],
)
def test_a_claim_of_a_region(values: tuple[float, ...], wanted: bool | None) -> None:
    claim = within("x.y", "from 4 to 6", drawn(*values), 4.0, 6.0, "s", ClaimKind.READING)
    assert claim.check(DRAWS).holds is wanted
    assert claim.kind is ClaimKind.READING
    assert between(DRAWS, "", drawn(*values), 4.0, 6.0).holds is wanted


def test_a_published_value_is_one_figure() -> None:
    assert value("mdcc.table2.d100.cubic_s") == 9.48
    with pytest.raises(ValueError, match="no single figure"):
        value("splitproxy.ftp_fig4_delay50ms.gain_pct_4_6users")


def test_no_paper_has_a_rule_of_another() -> None:
    """Helpers that two papers need are in `common`."""
    import ast
    from pathlib import Path

    folder = Path(papers.__file__).parent
    families = {"handover": "ltetcp"}
    for path in folder.glob("[a-z]*_*.py"):
        paper = path.stem.partition("_")[0]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("airlane.papers."):
                other = str(node.module).rpartition(".")[2].partition("_")[0]
                same = families.get(other, other) == families.get(paper, paper)
                assert same or other == "common", f"{path.name} imports from {node.module}"


def test_each_of_these_stands_once() -> None:
    from pathlib import Path

    names = ("mean", "gain_pct", "reduction_pct", "within", "difference", "zero")
    folder = Path(common.__file__).parent
    for path in folder.glob("*.py"):
        if path.name != "common.py":
            text = path.read_text(encoding="utf-8")
            assert [name for name in names if f"def {name}(" in text] == [], path.name


def test_parts_in_words() -> None:
    draws = DRAWS[:2]
    assert str(between(draws, "", drawn(1.0, 1.0), 0.0, 2.0)) == "1.000 ± 0.000 (0 to 2: yes)"
    assert (
        str(between(draws, "rate", drawn(3.0, 3.0), 0.0, 2.0, " s")) == "rate 3.000 ± 0.000 s (0 to 2 s: no)"
    )
    assert str(higher(draws, "a − b", drawn(5.0, 5.0), drawn(4.0, 4.0))) == (
        "a − b 1.000 ± 0.000 (above 0.04: yes)"  # a hundredth of its reference
    )
    assert str(higher(draws, "", drawn(5.0, 5.0), drawn(4.0, 4.0), unit=" ms", margin=2.0, equal=True)) == (
        "1.000 ± 0.000 ms (at least -2 ms: yes)"
    )


def test_a_decision_lists_its_parts_and_its_note() -> None:
    draws = DRAWS[:2]
    parts = [between(draws, name, drawn(1.0, 1.0), 0.0, high) for name, high in (("a", 2.0), ("b", 0.5))]
    words = "a 1.000 ± 0.000 (0 to 2: yes); b 1.000 ± 0.000 (0 to 0.5: no)"
    assert decide(parts) == Finding(False, words)
    assert decide(parts, "n = 2") == Finding(False, f"{words}; n = 2")


def test_of_many_parts_three_are_shown_and_the_others_counted() -> None:
    draws = DRAWS[:2]
    parts = [between(draws, name, drawn(9.0, 9.0), 0.0, 1.0) for name in "abcde"]
    each = "{} 9.000 ± 0.000 (0 to 1: no)"
    first = "; ".join(each.format(name) for name in "abc")
    assert worst_of(parts) == Finding(False, f"0 of 5 hold; {first} and 2 more")
    assert worst_of(parts[:4]).evidence == f"0 of 4 hold; {first} and 1 more"
    assert worst_of(parts[:3], "a note") == Finding(False, f"0 of 3 hold; {first}; a note")


def test_the_part_nearest_to_its_limit_is_the_one_that_is_shown() -> None:
    """All hold: by 3 above a lower limit, by 2 below an upper one, by 1 above minus the margin, by 4
    above the margin.
    """
    draws = DRAWS[:2]
    far = [
        between(draws, "above", drawn(7.0, 7.0), 0.0, 10.0),
        between(draws, "below", drawn(2.0, 2.0), 0.0, 10.0),
    ]
    no_less = higher(draws, "no less", drawn(0.0, 0.0), drawn(0.0, 0.0), margin=1.0, equal=True)
    more = higher(draws, "more", drawn(9.0, 9.0), drawn(3.0, 3.0), margin=2.0)
    assert "; below 2.0" in worst_of([far[0], far[1], more]).evidence
    assert "; above 7.0" in worst_of([far[0], more]).evidence
    assert "; no less 0 " in worst_of([*far, more, no_less]).evidence
    # By 4 above its margin of 2; if its limit were minus the margin, it would be 8.
    wide = between(draws, "wide", drawn(5.0, 5.0), 0.0, 100.0)
    assert "; more 6.0" in worst_of([more, wide]).evidence


def test_a_claim_of_a_region_says_its_name_its_unit_and_its_runs() -> None:
    claim = within("x.y", "it is so", drawn(1.0, 1.0), 0.0, 2.0, "ms")
    assert (claim.id, claim.text, claim.kind) == ("x.y", "it is so", ClaimKind.PAPER)
    assert claim.check(DRAWS[:2]) == Finding(True, "1.000 ± 0.000 ms (0 to 2 ms: yes); n = 2")
    bare = within("x.y", "it is so", drawn(1.0, 1.0), 0.0, 2.0, "", ClaimKind.PREDICTION)
    assert bare.check(DRAWS[:2]).evidence == "1.000 ± 0.000 (0 to 2: yes); n = 2"
    assert bare.kind is ClaimKind.PREDICTION


def test_a_cell_of_a_table_and_zero() -> None:
    assert common.cell(DRAWS[:2], drawn(1.0, 1.0)) == "1.000 ± 0.000"
    assert common.zero(DRAWS[0]) == 0.0
