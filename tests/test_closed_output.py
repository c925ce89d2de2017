"""A command whose output is closed, as with `airlane list | head -1`, ends without a message."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from airlane.commands.interruption import ClosedOutputError, stop_if_closed

CLOSED = 128 + signal.SIGPIPE
"""As shells report a program that the signal ended."""


def run(arguments: list[str], folder: Path, *, unbuffered: bool = False) -> tuple[int, str]:
    """Exit code and errors of a command whose output is closed before it writes."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, *(["-u"] if unbuffered else []), "-m", "airlane", *arguments],
            cwd=folder,
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(writing)
    return done.returncode, done.stderr


SHORT = ["--example", "wired-cubic", "--set", "run.duration=2 s", "--set", "run.warmup=0 s"]


@pytest.mark.parametrize("unbuffered", [False, True], ids=["at the end", "at once"])
@pytest.mark.parametrize(
    "arguments",
    [
        ["list"],
        ["list", "scenarios"],
        ["schema"],
        ["run", *SHORT],
        ["run", *SHORT, "--json"],
        ["sweep", *SHORT, "--runs", "1"],
        ["sweep", *SHORT, "--runs", "1", "--json"],
        ["trace", "--help"],
        ["completion", "bash"],
        ["--help"],
        ["--version"],
        ["init"],
    ],
    ids=lambda arguments: " ".join(one for one in arguments if one not in SHORT),
)
def test_a_closed_output_is_no_error(arguments: list[str], unbuffered: bool, tmp_path: Path) -> None:
    code, errors = run(arguments, tmp_path, unbuffered=unbuffered)
    assert errors == ""
    assert code == CLOSED


def test_what_was_asked_for_is_written_nevertheless(tmp_path: Path) -> None:
    assert run(["run", *SHORT, "-o", "here"], tmp_path) == (CLOSED, "")
    assert (tmp_path / "here/summary.parquet").exists()


def test_an_error_of_the_user_has_its_message_and_code(tmp_path: Path) -> None:
    code, errors = run(["run", "nowhere.toml"], tmp_path)
    assert code == 2
    assert "nowhere.toml" in errors


def test_a_broken_pipe_elsewhere_remains_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """As of a socket: the outputs are open."""
    print("read")
    stop_if_closed(BrokenPipeError())
    assert capsys.readouterr().out == "read\n"


def test_a_broken_pipe_of_an_output_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    stream = os.fdopen(writing, "w")
    stream.write("unread")
    monkeypatch.setattr(sys, "stdout", stream)
    with pytest.raises(ClosedOutputError):
        stop_if_closed(BrokenPipeError())
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, writing)
    os.close(nowhere)
    stream.close()
