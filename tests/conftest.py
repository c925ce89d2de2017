"""Paths and the command line, for all tests; and the tests in real time, which the machine may disturb."""

from __future__ import annotations

import socket
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from airlane.commands import node as node_command

ROOT = Path(__file__).resolve().parent.parent

Airlane = Callable[..., subprocess.CompletedProcess[str]]

REAL_TIME = ("test_live", "test_node_", "test_playground_browser", "test_interrupts", "test_native")
"""Beginnings of the names of files whose tests depend on the clock of the machine."""


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of nodes need their program. A test in real time that fails is run once more.

    The host may have stopped the machine meanwhile.
    """
    no_nodes = sys.platform == "linux" and node_command.program() is None
    reason = "tests of nodes: the program airlane-node is missing: make nodes"
    for item in items:
        if item.path.name.startswith("test_node"):
            item.add_marker(pytest.mark.skipif(no_nodes, reason=reason))
        if item.path.name.startswith(REAL_TIME):
            item.add_marker(pytest.mark.real_time)
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Iterator[None]:
    """Ends sockets and processes of a test that failed: a later test would fail because of them."""
    report = yield
    frames = traceback.walk_tb(call.excinfo.tb) if call.excinfo is not None else ()
    for value in (value for frame, _ in frames for value in frame.f_locals.values()):
        for one in value if isinstance(value, list | tuple) else [value]:
            if isinstance(one, socket.socket):
                one.close()
            elif isinstance(one, subprocess.Popen):
                with one:  # closes its pipes, and waits
                    one.kill()
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Skipped tests with real sockets, and tests that were run twice, are never silent."""
    reasons = {
        report.longrepr[2].removeprefix("Skipped: ")
        for report in terminalreporter.stats.get("skipped", [])
        if isinstance(report.longrepr, tuple)
        and any(mark in report.longrepr[2] for mark in ("live tests: ", "tests of nodes: "))
    }
    for reason in sorted(reasons):
        terminalreporter.write_line(f"SKIPPED: {reason}", yellow=True, bold=True)
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.write_line(f"REPEATED: {report.nodeid}: it failed once", yellow=True, bold=True)
        terminalreporter.write_line(report.longreprtext)
