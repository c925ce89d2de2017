"""The named remedy for a missing package is a command that works: airlane is in no package index."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from airlane.optional import how_to_install
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
USERS = ("report", "cluster", "gym", "onnx", "call")


def test_the_command_names_what_the_project_declares() -> None:
    for extra in USERS:
        declared = PROJECT["optional-dependencies"][extra]
        assert how_to_install(extra) == " ".join(["pip install", *(f"'{one}'" for one in declared)])


MAIN = "from airlane.commands.main import main; main()"
PLOT = "['run', '--example', 'wired-cubic', '--set', 'run.duration=1s', '--plot']"


OF_ONNX = "['run', '--example', 'wired-cubic', '--controller', 'a.onnx']"
POLICY = f"open('a.onnx', 'w').close(); sys.argv[1:] = {OF_ONNX}; {MAIN}"


@pytest.mark.parametrize(
    ("extra", "module", "program"),
    [
        ("gym", "gymnasium", "import airlane.gym"),
        ("onnx", "onnxruntime", POLICY),
        (
            "cluster",
            "distributed",
            "from airlane.runs.tasks import on_cluster; list(on_cluster([], 'tcp://x:1'))",
        ),
        ("call", "webrtc", f"sys.argv[1:] = ['call', '--example', 'wired-cubic']; {MAIN}"),
        ("call", "imageio_ffmpeg", f"sys.argv[1:] = ['call', '--example', 'wired-cubic', '--vmaf']; {MAIN}"),
        ("report", "matplotlib", f"sys.argv[1:] = {PLOT}; {MAIN}"),
        ("report", "yaml", f"sys.argv[1:] = ['list', 'experiments']; {MAIN}"),
    ],
)
def test_a_missing_package_is_named_with_what_installs_it(
    tmp_path: Path, extra: str, module: str, program: str
) -> None:
    hidden = f"import sys; sys.modules[{module!r}] = None; {program}"
    done = subprocess.run(
        [sys.executable, "-c", hidden], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert how_to_install(extra) in done.stderr


def test_nothing_recommends_what_no_index_has() -> None:
    places = [ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb")]
    places += [*ROOT.glob("python/**/*.py"), *ROOT.glob("tools/*"), *ROOT.glob("scenarios/**/*.toml")]
    wrong = re.compile(r"pip install[^\n`]*?[ '\"]airlane(\[|['\" ]|$)", re.MULTILINE)
    assert wrong.search("pip install 'airlane[gym]'")
    assert wrong.search("pip install airlane\n")
    texts = [file for file in places if file.is_file() and file.suffix != ".pyc"]
    assert [file.name for file in texts if wrong.search(file.read_text(encoding="utf-8"))] == []


def test_the_manual_names_the_packages_of_each_extra() -> None:
    """A page that describes installing an extra from the wheel also names its packages."""
    for page, extra in (("gym.md", "gym"), ("policy.md", "onnx"), ("sweep.md", "cluster")):
        assert how_to_install(extra) in (ROOT / "docs/howto" / page).read_text()
