"""What several texts say is said once, or is the same everywhere: times, targets and paths."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
FRONT = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
# The changelog says what was the case; tables are written by programs.
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if page.name != "changelog.md"]
TEXTS = [*FRONT, *PAGES]

DURATION = re.compile(r"\b(?:minutes?|(?:half an |an )?hours?)\b")
TARGET = re.compile(r"`make ([a-z][a-z-]*)(?: [^`]*)?`")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PATH = re.compile(
    r"`((?:\.github|bench|crates|docs|evidence|examples|fuzz|playground|python|scenarios|tests|tools)/[\w./-]+)`"
)


def name_of(text: Path) -> str:
    return str(text.relative_to(ROOT))


def sentences(text: str) -> Iterator[str]:
    prose = CODE.sub("", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=[-|#])", prose):
        yield from re.split(r"(?<=[.:;])\s+", " ".join(paragraph.split()))


def timed(text: str) -> list[str]:
    """Sentences that say how long a target of the Makefile takes."""
    return [one for one in sentences(text) if TARGET.search(one) and DURATION.search(one)]


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_only_the_makefile_says_how_long_its_targets_take(text: Path) -> None:
    assert timed(text.read_text(encoding="utf-8")) == []


def test_such_a_sentence_is_found() -> None:
    assert timed("`make reproduce` prints it\nin about three minutes. An hour has passed.") != []
    assert timed("The run lasts five minutes. `make reproduce-full ARGS=x` prints it.") == []


def test_the_bound_of_the_whole_check_is_stated_once() -> None:
    script = (ROOT / ".ci/run").read_text(encoding="utf-8")
    assert len(re.findall(r"\d+ minutes", script)) == 1
    head = script[: script.index("set -euo")]
    assert re.search(r"\d+ minutes", head), "CONTRIBUTING.md names its first lines"
    (paragraph,) = (part for part in sentences((ROOT / "CONTRIBUTING.md").read_text()) if "its bound" in part)
    assert not DURATION.search(paragraph)


def test_help_lists_the_targets_that_there_are() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE)) - {"help", "maybe-playground"}
    assert set(re.findall(r'^\t@echo "make ([a-z-]+) ', MAKEFILE, re.MULTILINE)) == targets
    (phony,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    assert set(phony.split()) - {"help", "maybe-playground"} == targets


@pytest.mark.parametrize("text", [*TEXTS, ROOT / ".ci/run"], ids=name_of)
def test_named_targets_exist(text: Path) -> None:
    content = text.read_text(encoding="utf-8")
    named = {match[1] for match in TARGET.finditer(content)}
    named |= set(re.findall(r"^\$ make ([a-z][a-z-]*)", content, re.MULTILINE))
    assert [one for one in sorted(named) if not re.search(rf"^{one}:", MAKEFILE, re.MULTILINE)] == []


@pytest.mark.parametrize("text", TEXTS, ids=name_of)
def test_named_files_exist(text: Path) -> None:
    content = text.read_text(encoding="utf-8")
    others = ("tools/testing/", "tests/bsd/", "tests/linux/")  # of Linux, and of nplab's tests
    named = {path for path in PATH.findall(content) if not path.startswith(others) and "NAME" not in path}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("text", FRONT, ids=name_of)
def test_files_that_targets_write_are_where_the_texts_say(text: Path) -> None:
    """A path below `out/` in a text is one that a target or a command names."""
    written = MAKEFILE + "".join(
        file.read_text(encoding="utf-8")
        for folder, kind in (
            ("tools", "*.sh"),
            ("bench", "**/*.py"),
            ("evidence", "**/*.py"),
            ("python/airlane", "**/*.py"),
        )
        for file in sorted((ROOT / folder).glob(kind))
    )
    for path in set(re.findall(r"`(out/[\w./-]+)`", text.read_text(encoding="utf-8"))):
        assert path.rstrip("/") in written, path


def test_both_first_pages_install_the_same() -> None:
    """The extras of a wheel are those that `make build` installs."""
    (build,) = re.findall(r"maturin develop .*--extras ([\w,]+)", MAKEFILE)
    for page in (ROOT / "README.md", ROOT / "docs/tutorial.md"):
        text = page.read_text(encoding="utf-8")
        assert re.findall(r'ls dist/airlane-\*\.whl\)\[([\w,]+)\]"', text) == [build]
