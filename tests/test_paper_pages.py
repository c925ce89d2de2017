"""The pages of the papers: each measured number is in a cell of the experiments' tables.

`make paper-tables` writes the tables, docs/papers/tables. A page refers to them in HTML comments:

- A table after `<!-- table ID: TITLE -->` is that table of the experiment ID. With `<!-- table ID:
  TITLE :: BEGIN -->` it has the rows with this prefix: `50 ms` or, over several columns, `20 ::
  ARWA`.
- `0.37 ± 0.02<!--ID: TITLE :: ROW @ COLUMN-->` is the number in that cell; a prefix of ROW and COLUMN
  suffices if it is unique. Without `±` it is the mean alone. `#2` after COLUMN selects the second number of
  the cell.

Each number with an interval has such a comment, or is in such a table. `AIRLANE_BLESS=1` writes the numbers
of the tables into the pages.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from airlane import papers
from conftest import ROOT

TABLES = ROOT / "docs/papers/tables"
PAGES = sorted(ROOT.glob("docs/papers/*.md"))
BLESS = os.environ.get("AIRLANE_BLESS") == "1"
NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?: ± \d+(?:\.\d+)?)?"
BOUND = re.compile(rf"(?<![\w.])({NUMBER})<!--([^:>]+?): ([^>]+?) :: (.+?) @ (.+?)(?: #(\d))?-->")
TABLE = re.compile(r"(<!-- table (.+?): (.+?)(?: :: (.+?))? -->\n\n)((?:\|.*\n)+)")


@dataclass
class Table:
    """A table: headings and rows of cells, and its source lines."""

    headings: list[str]
    rows: list[list[str]]
    lines: list[str]

    def row(self, begin: str) -> list[str]:
        """The only row with this prefix."""
        found = [row for row in self.rows if " :: ".join(row) == begin or row[0] == begin]
        found = found or [row for row in self.rows if " :: ".join(row).startswith(begin)]
        assert len(found) == 1, (
            f"{begin!r}: {len(found)} rows of {[' :: '.join(row[:2]) for row in self.rows]}"
        )
        return found[0]

    def column(self, begin: str) -> int:
        """The index of the only column whose heading has this prefix."""
        found = [i for i, name in enumerate(self.headings) if name == begin]
        found = found or [i for i, name in enumerate(self.headings) if name.startswith(begin)]
        assert len(found) == 1, f"{begin!r}: {len(found)} columns of {self.headings}"
        return found[0]

    def text(self, begin: str | None) -> str:
        """The table's text, or its rows with this prefix."""
        lines = self.lines[2:]
        if begin is not None:
            lines = [
                line for line, row in zip(lines, self.rows, strict=True) if " :: ".join(row).startswith(begin)
            ]
            assert lines, f"no row begins with {begin!r}"
        return "\n".join([*self.lines[:2], *lines]) + "\n"


def plain_text(text: str) -> str:
    """The text of a cell, without code marks and backslashes."""
    return re.sub(r"\\(.)", r"\1", text).strip().strip("`")


def tables_of(page: str) -> dict[tuple[str, str], Table]:
    """The tables of a page, by experiment and title."""
    found: dict[tuple[str, str], Table] = {}
    experiment = title = ""
    for line in page.splitlines():
        if line.startswith("## "):
            experiment = plain_text(line[3:])
        elif opened := re.fullmatch(r"<details><summary>(.*)</summary>", line):
            title = plain_text(opened[1])
        elif line.startswith("|"):
            cells = [plain_text(cell) for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            table = found.setdefault((experiment, title), Table(cells, [], []))
            if len(table.lines) > 1:
                table.rows.append(cells)
            table.lines.append(line)
    return found


def all_tables() -> dict[tuple[str, str], Table]:
    found: dict[tuple[str, str], Table] = {}
    for path in sorted(TABLES.glob("*.md")):
        found |= tables_of(path.read_text(encoding="utf-8"))
    return found


def of_cell(table: Table, row: str, column: str, said: str, place: int) -> str:
    """The number of a cell, in the form used on the page."""
    numbers = re.findall(NUMBER, table.row(row)[table.column(column)])
    assert len(numbers) >= place, f"{row} @ {column}: no number there"
    number = str(numbers[place - 1])
    return number if "±" in said else number.partition(" ±")[0]


def corrected(page: str, tables: dict[tuple[str, str], Table]) -> str:
    """The page with the numbers of the tables."""

    def number(bound: re.Match[str]) -> str:
        said, experiment, title, row, column, place = bound.groups()
        assert (experiment, title) in tables, f"{experiment}: no table {title!r}"
        right = of_cell(tables[experiment, title], row, column, said, int(place or 1))
        return right + bound[0][len(said) :]

    def table(marked: re.Match[str]) -> str:
        head, experiment, title, begin, _ = marked.groups()
        assert (experiment, title) in tables, f"{experiment}: no table {title!r}"
        return head + tables[experiment, title].text(begin)

    return BOUND.sub(number, TABLE.sub(table, page))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_each_number_is_that_of_its_cell(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    right = corrected(text, all_tables())
    if BLESS:
        page.write_text(right, encoding="utf-8")
        return
    assert text.splitlines() == right.splitlines()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_no_interval_without_its_cell(page: Path) -> None:
    text = TABLE.sub("", BOUND.sub("", page.read_text(encoding="utf-8")))
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)  # run by test_docs.py
    assert re.findall(r".*\d ± \d.*", text) == []


def test_the_readme_and_the_tables_are_of_one_run() -> None:
    printed = re.search(r"```text\n(.*?)```", (TABLES / "summary.md").read_text(encoding="utf-8"), re.S)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```console norun\n\$ airlane reproduce\n(.*?)\nreport: ", readme, re.S)
    assert printed
    assert shown
    if BLESS:
        (ROOT / "README.md").write_text(readme.replace(shown[1], printed[1]), encoding="utf-8")
        return
    assert shown[1].split() == printed[1].split()
    assert {path.stem for path in TABLES.glob("*.md")} == {"summary", *PAPERS}


PAPERS = {one.id.partition("/")[0] for one in papers.experiments()}

PAGE = """## a/b

<details><summary>One\\_two</summary>

| users | scheme | ours, % |
| --- | --- | --: |
| 20 | x | -1.5 ± 0.2 |
| 20 | y | 3.0 ± 0.1, 4 of 5 |

</details>
"""


def test_numbers_and_tables_are_written_from_their_cells() -> None:
    tables = tables_of(PAGE)
    said = "It is -9.9 ± 9.9<!--a/b: One_two :: 20 :: x @ ours-->, 0<!--a/b: One_two :: 20 :: y @ ours #2-->."
    right = said.replace("-9.9 ± 9.9", "-1.5 ± 0.2").replace(" 0<", " 4<")
    assert corrected(said, tables) == right
    shown = "<!-- table a/b: One_two :: 20 :: y -->\n\n| old |\n| --- |\n| 1 |\n\nrest"
    lines = PAGE.splitlines()
    assert corrected(shown, tables).splitlines()[2:5] == [lines[4], lines[5], lines[7]]


@pytest.mark.parametrize(
    ("comment", "why"),
    [
        ("a/b: One_two :: 30 @ ours", "0 rows"),
        ("a/b: One_two :: 20 @ ours", "2 rows"),
        ("a/b: One_two :: 20 :: x @ theirs", "0 columns"),
        ("a/b: Three :: 20 @ ours", "no table"),
        ("a/b: One_two :: 20 :: x @ scheme", "no number"),
    ],
)
def test_a_comment_that_names_no_cell_is_seen(comment: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        corrected(f"1.0<!--{comment}-->", tables_of(PAGE))
