"""CI steps must not depend on leftovers, nor overwrite the files that they compare."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from conftest import ROOT

CI = ROOT / ".ci/run"


@pytest.mark.parametrize("value", ["1", "0", "no"])
def test_the_manual_cannot_be_blessed_there(value: str) -> None:
    done = subprocess.run(
        [CI],
        env={**os.environ, "AIRLANE_BLESS": value},
        capture_output=True,
        text=True,
        check=False,
        timeout=20,
    )
    assert done.returncode == 1
    assert "AIRLANE_BLESS is set" in done.stderr
    assert "make" not in done.stdout, "nothing was run"


def test_every_target_it_runs_exists_and_begins_on_a_clean_environment() -> None:
    script, makefile = CI.read_text(), (ROOT / "Makefile").read_text()
    called = re.findall(r"^ *(?:fresh|chrt --idle 0 make VENV=\S+) ([^#\n]+)", script, re.MULTILINE)
    targets = [word for words in called for word in words.split() if re.fullmatch(r"[a-z][\w-]*", word)]
    needed = "build docs lint test validate readme-check wheel-check least newest"
    assert set(needed.split()) <= set(targets)
    assert [t for t in targets if not re.search(rf"^{t}:", makefile, re.MULTILINE)] == []
    assert re.findall(r"^\s*make .*$", script, re.MULTILINE) == ['  make "$@"'], "by `fresh` alone"
    assert script.index("rm -rf .venv") < script.index('  make "$@"')
    assert "git diff --exit-code" in script[script.rindex("fresh ") :]


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
