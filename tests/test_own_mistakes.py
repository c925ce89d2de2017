"""Mistakes in a user's paper are reported with its file."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from airlane import papers
from airlane.commands import main as cli
from airlane.papers import own
from test_own_paper import NUMBERS, PAPER


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1", "no function experiments()"),
        ("def experiments():\n    return [3]", "3, which is no Experiment"),
        (PAPER.replace('"sixth"', '"seventh"'), "has to be called sixth/..."),
        (PAPER.replace("table1.ten_mbps", "table1.eleven"), "'sixth.table1.eleven'; there are: sixth.table1"),
    ],
)
def test_a_file_that_is_no_paper_is_refused_with_what_is_missing(
    tmp_path: Path, text: str, said: str
) -> None:
    folder = tmp_path / "sixth"
    folder.mkdir()
    (folder / "published.yaml").write_text(NUMBERS)
    (folder / "paper.py").write_text(text)
    with pytest.raises(own.PaperError, match=r"paper\.py: ") as refused:
        own.load(folder)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "tree", "said"),
    [
        ("sixth", "[1, 2]", "it has to be a tree of numbers"),
        ("sixth", "schema: 2", "schema = 2: this reader knows schema 1"),
        ("two-words", "{}", "write letters, digits and underscores"),
    ],
)
def test_numbers_that_cannot_be_read_are_refused(tmp_path: Path, name: str, tree: str, said: str) -> None:
    (tmp_path / f"{name}.py").write_text("def experiments():\n    return []")
    (tmp_path / f"{name}.yaml").write_text(tree)
    with pytest.raises(own.PaperError) as refused:
        own.load(tmp_path / f"{name}.py")
    assert said in str(refused.value)
    assert name in str(refused.value)


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    (tmp_path / "arwa.py").write_text("def experiments():\n    return []")
    with pytest.raises(own.PaperError, match="'arwa' is there already"):
        papers.select([str(tmp_path / "arwa.py")])


def test_the_command_says_so_and_ends_with_2(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended:
        cli.reproduce(ids=[str(tmp_path / "mine.py")], out=tmp_path / "out", cache=tmp_path / "cache")
    assert ended.value.exit_code == 2
    assert "mine.py: there is no such file" in capfd.readouterr().err
