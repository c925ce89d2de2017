"""What the manual says of the arena: its numbers are in the tables, and the tables are the command's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

PAGE, TABLES = (ROOT / "docs" / name for name in ("arena-results.md", "arena-tables.md"))
NUMBER = re.compile(r"(?<![\w.])\d+\.\d+×?(?!\w|\.\d)")
"""With a fraction: what was measured. Whole numbers count and name."""


def test_no_number_that_the_command_does_not_print() -> None:
    said = NUMBER.findall(re.sub(r"RFC \d+ section [\d.]+|\(http[^)]*\)|§[\d.]+", "", PAGE.read_text()))
    printed = set(NUMBER.findall(TABLES.read_text()))
    assert len(said) > 20
    assert sorted(set(said) - printed) == []


@pytest.mark.skipif(os.environ.get("AIRLANE_SLOW") != "1", reason="takes minutes: AIRLANE_SLOW=1")
def test_the_tables_are_what_the_arena_comes_to(tmp_path: Path) -> None:
    arena = [sys.executable, "-m", "airlane", "arena", "--markdown", "tables.md"]
    subprocess.run([*arena, "--cache", ROOT / "out/cache"], cwd=tmp_path, check=True)
    assert (tmp_path / "tables.md").read_text() == TABLES.read_text()
