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
