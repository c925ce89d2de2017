"""Names of numbers and tables on the pages of the manual, and the numbers that they give."""

from __future__ import annotations

import re
from pathlib import Path

import cells
import pytest

from airlane import papers
from airlane.runs import json_files
from conftest import ROOT

PAGES = sorted(ROOT.glob("docs/**/*.md"))
ROLE = re.compile(r"\{(number|mean|ratio)\}`([^`]+)`")
DIRECTIVE = re.compile(
    r"^```\{(rows|experiments|arena|validation|bench|printed|public_files|call_agreement|controller_cost|"
    r"field_verdicts|rfc9743|sprout)\} ?(.*)$",
    re.MULTILINE,
)
NO_MEASURE = re.compile(r"RFC \d+ section [\d.]+|\(http[^)]*\)|§[\d.]+|HTTP/[\d.]+")


def place(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT / "docs")))
def test_each_name_on_a_page_is_found(page: Path) -> None:
    """As `make docs` does, but in a second."""
    text = page.read_text(encoding="utf-8")
    missing = []
    for role in ROLE.finditer(text):
        try:
            cells.number(role[2], role[1])
        except cells.NotFoundError as error:
            missing.append(f"{page.name}:{place(text, role.start())}: {error}")
    for directive in DIRECTIVE.finditer(text):
        try:
            getattr(cells, directive[1])(*filter(None, [directive[2]]))
        except cells.NotFoundError as error:
            missing.append(f"{page.name}:{place(text, directive.start())}: {error}")
    assert missing == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/papers/*.md")), ids=lambda page: page.stem)
def test_no_interval_of_a_paper_is_typed(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r".*\d ± \d.*", ROLE.sub("", text)) == []


def test_no_number_of_the_arena_is_typed() -> None:
    text = (ROOT / "docs/arena-results.md").read_text(encoding="utf-8")
    assert len(ROLE.findall(text)) > 20
    assert re.findall(r"(?<![\w.])\d+\.\d+×?(?!\w|\.\d)", NO_MEASURE.sub("", ROLE.sub("", text))) == []


def test_each_paper_has_a_page_of_tables() -> None:
    pages = {page.stem: page.read_text() for page in ROOT.glob("docs/papers/tables/*.md")}
    names = {one.id.partition("/")[0] for one in papers.experiments()}
    assert set(pages) == {"summary", *names}
    for name in names:
        assert f"```{{experiments}} {name}\n" in pages[name]
        assert f"[{name}]({name}.md)" in pages["summary"]


TABLES = """## a/b

<details><summary>One\\_two</summary>

| users | scheme | ours, % |
| --- | --- | --: |
| 20 | x | -1.5 ± 0.2 |
| 20 | y | 3.0 ± 0.1, 4 of 5 |

</details>
"""

ARENA = """## Multiples

| contender | one user, deep queue: delay, p95 | 20 users: delay |
| --- | --: | --: |
| `vegas` | **0.31×** | 2.00 ± 0.5 (3 of 4 in time) |

| contender | one user, deep queue: goodput |
| --- | --: |
| `vegas` | 12.5 (3 to 4) |
"""


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cells, "_experiment_tables", lambda: cells._tables(TABLES))
    monkeypatch.setattr(cells, "arena", lambda _: ARENA)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("form", "name", "text"),
    [
        ("number", "a/b: One_two :: 20 :: x @ ours", "-1.5 ± 0.2"),
        ("mean", "a/b: One_two :: 20 :: x @ ours", "-1.5"),
        ("mean", "a/b: One_two :: 20 :: y @ ours #2", "4"),
        ("ratio", "arena: vegas @ one user: delay", "0.31×"),
        ("number", "arena: vegas @ 20: delay", "2.00 ± 0.5"),
        ("mean", "arena: vegas @ one user: goodput", "12.5"),
    ],
)
def test_a_number_has_the_form_of_its_role(form: str, name: str, text: str) -> None:
    assert cells.number(name, form) == text


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("a/b: One_two :: 30 @ ours", "0 rows"),
        ("a/b: One_two :: 20 @ ours", "2 rows"),
        ("a/b: One_two :: 20 :: x @ theirs", "0 columns"),
        ("a/b: Three :: 20 @ ours", "no table"),
        ("a/b: One_two :: 20 :: x @ scheme", "0 numbers"),
        ("a/b: One_two :: 20", "no cell"),
        ("arena: vegas @ one user: time", "0 numbers"),
        ("arena: cubic @ one user: delay", "0 numbers"),
        ("arena: vegas @ 20: delay", "0 numbers"),
    ],
)
def test_a_name_of_no_cell_is_an_error(name: str, why: str) -> None:
    with pytest.raises(cells.NotFoundError, match=why):
        cells.number(name, "ratio" if name.startswith("arena") else "number")


@pytest.mark.usefixtures("small")
def test_rows_with_a_prefix() -> None:
    lines = TABLES.splitlines()
    assert cells.rows("a/b: One_two :: 20 :: y").splitlines() == [lines[4], lines[5], lines[7]]
    assert cells.rows("a/b: One_two").splitlines() == lines[4:8]
    with pytest.raises(cells.NotFoundError, match="no row"):
        cells.rows("a/b: One_two :: 30")


def test_the_sentences_on_real_calls_hold() -> None:
    page = (ROOT / "docs/rtc.md").read_text(encoding="utf-8")
    scenarios = json_files.read(cells.RESULTS / "call-agreement.json")["scenarios"]
    assert "means over five seeds" in page
    assert {len(one["pairs"]) for one in scenarios} == {5}
    assert "In each of eight scenarios the target of GCC in real time is within a tenth" in page
    assert "So is the received rate, except at the edge of the cell." in page
    assert len(scenarios) == 8
    within = {}
    for one in scenarios:
        for key in ("target_mbps", "received_mbps"):
            live = sum(pair["live"][key] for pair in one["pairs"])
            virtual = sum(run[key] for pair in one["pairs"] for run in pair["virtual"]) / 8
            within[one["name"], key] = live == pytest.approx(virtual, rel=0.1)
    assert [name for name, fits in within.items() if not fits] == [("cell-edge", "received_mbps")]
    assert "encoding and decoding, 1.5 ms to 4 ms in the runs of the\n  table" in page
    live_runs = [pair["live"] for one in scenarios for pair in one["pairs"]]
    assert all(1.5 <= run["encode_ms"] + run["decode_ms"] <= 4 for run in live_runs)
    (loaded,) = (one["pairs"] for one in scenarios if one["name"] == "cell-loaded")
    assert "with four of the five seeds" in page
    assert sum(min(run["freezes"] for run in pair["virtual"]) > 0 for pair in loaded) == 4
    assert "calls of libwebrtc have no freeze in that cell" in page
    assert all(pair["live"]["freezes"] == 0 for pair in loaded)
