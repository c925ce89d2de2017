"""The TOML language server taplo, where it is installed, accepts bundled scenarios and flags wrong ones."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import airlane

TAPLO = shutil.which("taplo")
NEEDED = pytest.mark.skipif(TAPLO is None, reason="taplo is not installed: npm install -g @taplo/cli")


def lint(folder: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    schema = folder / "scenario.schema.json"
    schema.write_text(airlane.schema(), encoding="utf-8")
    return subprocess.run(
        [str(TAPLO), "lint", "--schema", schema.as_uri(), *map(str, files)],
        cwd=folder,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@NEEDED
def test_every_bundled_scenario_is_accepted(scenarios: Path, tmp_path: Path) -> None:
    files = sorted(scenarios.glob("*.toml"))
    assert len(files) >= 20
    done = lint(tmp_path, *files)
    assert done.returncode == 0, done.stderr


@NEEDED
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[cell]]\nname = "a"\nresource_block = 50\n[[flow]]\n', "'resource_block' was unexpected"),
        ("[run]\nduration = 30\n[[flow]]\n", '30 is not of type "string"'),
        ('network = "wired"\n[internet]\nrate = "10 Mb/s"\n[[flow]]\n', '"10 Mb/s" does not match'),
        ('network = "typicall"\n[[flow]]\n', '"typicall" is not valid'),
    ],
    ids=["unknown key", "no unit", "wrong unit", "unknown choice"],
)
def test_a_wrong_scenario_is_flagged(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "wrong.toml").write_text(text, encoding="utf-8")
    done = lint(tmp_path, tmp_path / "wrong.toml")
    assert done.returncode == 1
    assert words in done.stderr + done.stdout
