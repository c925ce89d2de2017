"""`airlane node` finds the program `airlane-node`, and becomes it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from airlane.commands import main as cli
from airlane.commands import node as node_command

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="nodes need Linux")


@pytest.fixture
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without the program, whose Python is in an empty folder."""
    monkeypatch.delenv("AIRLANE_NODE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr("sys.executable", str(tmp_path / "bin/python"))
    return tmp_path


def install(folder: Path) -> str:
    folder.mkdir()
    program = folder / node_command.PROGRAM
    program.touch(mode=0o755)
    return str(program)


def test_the_program_is_named_or_beside_python_or_in_the_path(
    clean: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert node_command.program() is None
    in_path = install(clean / "path")
    assert node_command.program() == in_path
    beside = install(clean / "bin")
    assert node_command.program() == beside
    monkeypatch.setenv("AIRLANE_NODE", "/opt/node")
    assert node_command.program() == "/opt/node"


@pytest.mark.usefixtures("clean")
def test_a_missing_program_is_a_mistake_with_a_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.app(["node", "pep", "pep.toml"])
    assert ended.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error: airlane node needs the program airlane-node: `make nodes`")


def test_a_program_that_is_named_and_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("AIRLANE_NODE", "/absent/node")
    with pytest.raises(SystemExit) as ended:
        cli.app(["node", "pep", "pep.toml"])
    assert ended.value.code == 2
    assert "error: /absent/node: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["rnis", "a.toml", "--check", "--json"], ["rnis", "a.toml", "--check", "--json"]),
        (["drwa", "--print-setup", "a.toml"], ["drwa", "a.toml", "--print-setup"]),
        (["mdcc", "--", "-a.toml"], ["mdcc", "./-a.toml"]),
    ],
)
def test_arguments_reach_the_program(
    words: list[str], passed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRLANE_NODE", "/opt/node")
    calls: list[tuple[str, list[str]]] = []
    monkeypatch.setattr(os, "execv", lambda program, arguments: calls.append((program, arguments)))
    with pytest.raises(SystemExit) as ended:
        cli.app(["node", *words])
    assert ended.value.code == 0
    assert calls == [("/opt/node", ["airlane-node", *passed])]
