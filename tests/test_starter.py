"""Starter files: they run, explain each key, and never overwrite files."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import airlane as package
from airlane.commands.starter import Kind, write_starter
from airlane.keys import Key, keys
from conftest import Airlane

ASSIGNMENT = re.compile(r"^(?:# )?(\w+) (?:= |is not set$)")


def uncommented(text: str) -> list[str]:
    """Lines with a key, or a table, that do not follow a comment."""
    found, before = [], ""
    for line in text.splitlines():
        # The first key of a choice, its kind, is under the comment of its table.
        if (line.startswith("[") or ASSIGNMENT.match(line)) and not before.startswith(("# ", "[")):
            found.append(line)
        before = line
    return found


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("full", [False, True])
def test_a_starter_file_runs_and_each_key_has_a_comment(
    airlane: Airlane, tmp_path: Path, kind: Kind, full: bool
) -> None:
    written = airlane("init", "mine.toml", "--kind", kind, *(["--full"] if full else []))
    assert written.returncode == 0, written.stderr
    assert "written to mine.toml" in written.stdout
    text = (tmp_path / "mine.toml").read_text()
    assert uncommented(text) == []
    assert max(len(line) for line in text.splitlines()) <= 100
    done = airlane("run", "mine.toml", "--json")
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    # More than a tenth of what the links carry: 10 MHz, four layers of 100 MHz, 50 Mbit/s, and a trace of
    # 4 to 16 Mbit/s.
    least = {Kind.CELL: 3.6, Kind.NR: 128.0, Kind.WIRED: 5.0, Kind.TRACE: 1.6}
    assert row["goodput_mbps"] > least[kind]


@pytest.mark.parametrize("kind", list(Kind))
def test_every_key_written_out_is_the_same_scenario(tmp_path: Path, kind: Kind) -> None:
    write_starter(tmp_path / "a.toml", kind)
    short = package.load(tmp_path / "a.toml").resolved
    write_starter(tmp_path / "a.toml", kind, full=True, force=True)
    assert package.load(tmp_path / "a.toml").resolved == short


def test_a_trace_has_a_file_of_its_own(airlane: Airlane, tmp_path: Path) -> None:
    assert airlane("init", "mine.down", "--kind", "trace").returncode == 0
    assert (tmp_path / "mine.down").read_text().startswith("#")
    assert (tmp_path / "mine.down.down").read_text().split()[0].isdecimal()
    assert package.load(tmp_path / "mine.down").settings["internet"]["trace"] is not None


@pytest.mark.parametrize("in_the_way", ["mine.toml", "mine.down"])
def test_nothing_is_overwritten_unless_asked(airlane: Airlane, tmp_path: Path, in_the_way: str) -> None:
    (tmp_path / in_the_way).write_text("years of work")
    refused = airlane("init", "mine.toml", "--kind", "trace")
    assert refused.returncode == 2
    assert refused.stderr == f"error: {in_the_way} exists; --force replaces it\n"
    assert (tmp_path / in_the_way).read_text() == "years of work"
    assert [file.name for file in tmp_path.iterdir()] == [in_the_way]
    assert airlane("init", "mine.toml", "--kind", "trace", "--force").returncode == 0
    assert airlane("run", "mine.toml").returncode == 0


def test_a_folder_that_is_not_there_is_named(airlane: Airlane) -> None:
    refused = airlane("init", "absent/mine.toml")
    assert refused.returncode == 2
    assert refused.stderr == "error: absent/mine.toml: No such file or directory\n"


def test_keys_know_their_units_and_choices() -> None:
    of: dict[tuple[str, ...], Key] = {key.path: key for key in keys()}
    assert of["run", "duration"].units == "ns, us, ms, s"
    assert of["cell", "rlc"].tag == "mode"
    assert [name for name, _ in of["cell", "rlc"].choices] == ["am", "um", "tm", "nr-am", "nr-um"]
    buffer = of["cell", "rlc", "mode=am", "buffer"]
    assert (buffer.dotted, buffer.conditions, buffer.form) == ("cell.rlc.buffer", ("mode=am",), "a size")
    assert of["internet", "rate_steps", "[]", "at"].dotted == "internet.rate_steps[].at"
    assert of["flow", "app", "kind=cbr", "rate"].required
    assert not of["run", "duration"].required
