"""CI steps must not depend on leftovers, nor overwrite the files that they compare."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT

CI = ROOT / ".ci/run"
NIGHTLY = ROOT / ".ci/nightly"


@pytest.mark.parametrize("value", ["1", "0", "no"])
@pytest.mark.parametrize("script", [CI, NIGHTLY], ids=["run", "nightly"])
def test_the_manual_cannot_be_blessed_there(script: Path, value: str) -> None:
    done = subprocess.run(
        [script],
        env={**os.environ, "AIRLANE_BLESS": value},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 1
    assert "AIRLANE_BLESS is set" in done.stderr
    assert "make" not in done.stdout, "nothing was run"


def targets(script: Path, command: str) -> list[str]:
    """The targets that a script calls by this command."""
    called = re.findall(rf"(?:^|then ){command} ([^#;\n]+)", script.read_text(), re.MULTILINE)
    return [word for words in called for word in words.split() if re.fullmatch(r"[a-z][\w-]*", word)]


def test_every_target_exists_and_the_documented_ones_run() -> None:
    makefile = (ROOT / "Makefile").read_text()
    documented = {"build", "docs", "lint", "test", "validate", "wheel-check"}
    rare = {"least", "newest", "targets", "mutants", "playground", "nodes-wheel", "live-agreement"}
    rare |= {"arena-tables", "nr-tables", "paper-tables", "readme-check"}
    assert documented <= set(targets(CI, "run"))
    assert rare <= set(targets(NIGHTLY, "fresh"))
    called = [*targets(CI, "run"), *targets(NIGHTLY, "fresh")]
    assert [t for t in called if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []
    for script in (CI, NIGHTLY):
        lines = script.read_text().rstrip().splitlines()
        assert lines[-1] == "finish", "which compares what is committed"
    assert targets(CI, "run")[:2] == ["build", "docs"], "the manual, before others install packages"


def test_nightly_begins_each_target_on_a_clean_environment() -> None:
    assert 'fresh() {\n  rm -rf .venv\n  run "$@"\n}' in NIGHTLY.read_text()
    assert targets(NIGHTLY, "run") == []


def test_what_each_target_needs_is_installed_by_it() -> None:
    """`make docs` reads every module for the reference: `airlane.gym` too, which needs the extra `gym`."""
    makefile = (ROOT / "Makefile").read_text()
    (docs,) = re.findall(r"^\$\(STAMPS\)/docs:.*\n\t.*requirements\.py (.*?) \|", makefile, re.MULTILINE)
    documented = re.findall(r"automodule:: airlane\.(\w+)", (ROOT / "docs/reference/python.md").read_text())
    assert "gym" in documented
    assert {"gym", "report", "docs"} <= set(docs.split())


def test_no_test_builds_the_workspace() -> None:
    """It takes minutes; `make test` builds before the tests."""
    builders = re.compile(r"""\[\s*["'](?:cargo|maturin|make|rustc)["']""")
    found = [file.name for file in (ROOT / "tests").glob("*.py") if builders.search(file.read_text())]
    assert found == []
