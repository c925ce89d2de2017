"""Numbers of the arena in the manual: each is in a cell of the tables, which the command writes.

Each number with a fraction is followed by its cell as an HTML comment: `0.31×<!--vegas @ one user: delay-->`
is in the row of vegas, in the column `one user, deep queue: delay, p95`. A column's name is split at `: `,
and a prefix of each part suffices if only one cell with this prefix has the number. `AIRLANE_BLESS=1` writes
the tables' numbers into the page.
"""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

PAGE, TABLES = (ROOT / "docs" / name for name in ("arena-results.md", "arena-tables.md"))
NUMBER = r"\d+\.\d+(?: ± \d+(?:\.\d+)?)?×?(?!\w|\.\d)"
"""Measured numbers: with a fraction, and an interval where they have one. Whole numbers are counts or
names.
"""
BOUND = re.compile(rf"(?<![\w.])({NUMBER})<!--(.+?) @ (.+?)-->")
NO_MEASURE = re.compile(r"RFC \d+ section [\d.]+|\(http[^)]*\)|§[\d.]+|HTTP/[\d.]+")

Cell = tuple[str, str, str]
"""Row, column, text."""


def cells(text: str) -> Iterator[Cell]:
    """The cells of all tables of a page."""
    heading: list[str] = []
    for line in text.splitlines():
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not row:
            heading = []
        elif not heading:
            heading = row
        elif not set(row[0]) <= set("- :"):
            yield from ((row[0].strip("`"), column, cell) for column, cell in zip(heading, row, strict=True))


def is_meant(column: str, words: str) -> bool:
    parts, begun = column.split(": "), words.split(": ")
    return len(parts) == len(begun) and all(map(str.startswith, parts, begun))


def number_of(row: str, column: str, said: str, of: list[Cell]) -> str:
    """The number of a cell, in the form used on the page: with its interval, or as a multiple.

    A following bracket with the ends of an asymmetric interval is left out.
    """
    found = [
        number if "±" in said else number.partition(" ±")[0]
        for name, heading, text in of
        if name == row and is_meant(heading, column)
        for number in re.findall(NUMBER, re.sub(r" \([^)]*\)", "", text.replace("*", "")))
        if number.endswith("×") == said.endswith("×")
    ]
    assert len(found) == 1, f"{row} @ {column}: {len(found)} such numbers in the tables: {found}"
    return str(found[0])


def corrected(page: str, of: list[Cell]) -> str:
    """The page with the numbers of the tables."""

    def put(bound: re.Match[str]) -> str:
        said, row, column = bound.groups()
        return f"{number_of(row, column, said, of)}<!--{row} @ {column}-->"

    return BOUND.sub(put, page)


def test_each_number_is_that_of_its_row_and_column() -> None:
    page, of = PAGE.read_text(), list(cells(TABLES.read_text()))
    right = corrected(page, of)
    if os.environ.get("AIRLANE_BLESS") == "1":
        PAGE.write_text(right)
        return
    assert len(BOUND.findall(page)) > 20
    said = [f"{number} of {row} @ {column}" for number, row, column in BOUND.findall(page)]
    assert said == [f"{number} of {row} @ {column}" for number, row, column in BOUND.findall(right)]


def test_no_number_without_its_cell() -> None:
    of = list(cells(TABLES.read_text()))
    alone = re.findall(rf"(?<![\w.]){NUMBER}", NO_MEASURE.sub("", BOUND.sub("", PAGE.read_text())))
    perhaps = {number: [(row, column) for row, column, text in of if number in text] for number in alone}
    assert alone == [], f"write <!--ROW @ COLUMN--> behind each; they stand in: {perhaps}"


def test_two_numbers_that_are_swapped_are_seen() -> None:
    of = list(cells(TABLES.read_text()))
    page = corrected(PAGE.read_text(), of)
    bound = [match for match in BOUND.finditer(page) if "±" not in match[1]]
    seen = 0
    for first, second in itertools.pairwise(bound):
        if first[1] == second[1] or first[1].endswith("×") != second[1].endswith("×"):
            continue
        between = page[first.end(1) : second.start(1)]
        swapped = page[: first.start(1)] + second[1] + between + first[1] + page[second.end(1) :]
        assert corrected(swapped, of) != swapped
        seen += 1
    assert seen > 20


@pytest.mark.skipif(os.environ.get("AIRLANE_SLOW") != "1", reason="takes minutes: AIRLANE_SLOW=1")
def test_the_tables_are_what_the_arena_comes_to(tmp_path: Path) -> None:
    arena = [sys.executable, "-m", "airlane", "arena", "--markdown", "tables.md"]
    subprocess.run([*arena, "--cache", ROOT / "out/cache"], cwd=tmp_path, check=True)
    assert (tmp_path / "tables.md").read_text() == TABLES.read_text()
