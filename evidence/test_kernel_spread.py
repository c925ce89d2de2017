"""Rows of the comparison with a Linux kernel over several delays and seeds; no kernel is run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from airlane.scenario import seconds
from airlane.validation.kernel import REFERENCE, SITUATIONS
from kernel_spread import Draw, Spread, cells, draws, headings, markdown, table

PROGRAM = str(Path(__file__).with_name("kernel_spread.py"))
FOUND = Spread("still/vegas", "goodput", np.array([10.0, 12.0, 14.0]), np.array([11.0, 12.0, 16.0]))


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("kernel", [REFERENCE, None])
def test_a_draw_moves_the_delay_of_the_internet_link_and_nothing_else(
    situation: str, kernel: str | None
) -> None:
    still, moved = (
        Draw(delay_ms, 1).scenario(f"{situation}/cubic", kernel=kernel).settings for delay_ms in (0.0, -1.5)
    )
    before, after = still["internet"].pop("delay"), moved["internet"].pop("delay")
    assert seconds(after) == pytest.approx(seconds(before) - 1.5e-3)
    assert still == moved


def test_seeds_are_drawn_where_something_is_random() -> None:
    assert draws("fading", [0.0, 1.0], [3, 4]) == [Draw(0, 3), Draw(0, 4), Draw(1, 3), Draw(1, 4)]
    assert draws("still", [0.0, 1.0], [3, 4]) == [Draw(0, 3), Draw(1, 3)]


def test_the_difference_of_means_has_the_error_of_pairs() -> None:
    assert FOUND.difference == pytest.approx(1 / 12)
    # Pairs are 1, 0 and 2 apart: a standard deviation of 1.
    assert FOUND.standard_error == pytest.approx(1 / np.sqrt(3) / 12)
    alone = Spread("still/vegas", "goodput", np.array([10.0]), np.array([11.0]))
    assert np.isnan(alone.standard_error)
    none = Spread("still/reno", "retransmissions", np.zeros(3), np.ones(3))
    assert np.isnan(none.difference)


def test_the_table_has_a_row_per_figure_with_means_ranges_and_the_difference() -> None:
    wanted = ["still/vegas", "goodput, Mbit/s", "3", "12", "10 to 14", "13", "11 to 16", "+8.3% ± 4.8%"]
    assert cells(FOUND) == wanted
    other = Spread("still/vegas", "delay", FOUND.other, FOUND.reference)
    assert table([FOUND, other]).row_count == 2
    page = markdown([FOUND, other], "make kernel-spread").splitlines()
    assert page[0] == "`make kernel-spread`"
    assert page[4] == "| " + " | ".join(wanted) + " |"
    assert len({line.count("|") for line in page if line.startswith("|")}) == 1


def test_headings_name_both_sides() -> None:
    assert headings(None)[3:7] == ("Linux 6.12: mean", "range", "ours: mean", "range")
    assert headings("6.1")[3:7] == ("Linux 6.12: mean", "range", "Linux 6.1: mean", "range")
    assert markdown([FOUND], "make", "6.1").splitlines()[2].count("Linux 6.1: mean") == 1


def test_an_unknown_row_is_named() -> None:
    command = [sys.executable, PROGRAM, "still/hybla", "--seeds", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "no row still/hybla; there are: still/reno" in done.stderr
