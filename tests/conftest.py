"""Paths and the command line, for all tests."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

Airlane = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scenarios() -> Path:
    """The folder of scenario files."""
    return ROOT / "scenarios"


@pytest.fixture
def airlane(tmp_path: Path) -> Airlane:
    """The command, run in an empty folder."""

    def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "airlane", *map(str, arguments)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return command


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Skipped tests with real sockets are never silent."""
    reasons = {
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
        and any(mark in report.longrepr[2] for mark in ("live tests: ", "tests of nodes: "))
    }
    for reason in sorted(reasons):
        terminalreporter.write_line(f"SKIPPED: {reason}", yellow=True, bold=True)
