"""Every name of the Python interface that the manual documents can be imported."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator

import pytest

import airlane
from conftest import ROOT

IMPORT = re.compile(r"^\s*(?:>>> )?from (airlane[\w.]*) import (\([^)]*\)|[^\n#]+)", re.M)
MODULE = re.compile(r"^\s*(?:>>> )?import (airlane[\w.]*)", re.M)
ATTRIBUTE = re.compile(r"(?<![\w./\"'`])airlane\.([A-Za-z_]\w*)(?=[(.\s])")
BLOCK = re.compile(r"^```\{?(?:code-block\} )?(?:python|pycon)\b[^\n]*\n(.*?)^```", re.M | re.S)
DIRECTIVE = re.compile(r"^\.\. (auto\w+|currentmodule):: (\S+)((?:\n[ ]+:[^\n]*)*)", re.M)
MEMBERS = re.compile(r":members: *(\S[^\n]*)")


def names_in_code(text: str) -> Iterator[str]:
    """Dotted names of modules and of what is imported from them."""
    for module, names in IMPORT.findall(text):
        yield from (
            f"{module}.{name.split(' as ')[0].strip()}"
            for name in re.split(r",", names.strip("()"))
            if name.strip()
        )
    yield from MODULE.findall(text)
    yield from (f"airlane.{name}" for name in ATTRIBUTE.findall(text))


def names_in_directives(text: str) -> Iterator[str]:
    """Dotted names of autodoc's directives and of their members."""
    module = ""
    for kind, name, options in DIRECTIVE.findall(text):
        if kind == "currentmodule":
            module = f"{name}."
            continue
        whole = name if name.startswith("airlane") else f"{module}{name}"
        yield whole
        for members in MEMBERS.findall(options):
            yield from (f"{whole}.{member.strip()}" for member in members.split(","))


def documented() -> dict[str, str]:
    """Each name, and the first page that has it."""
    found: dict[str, str] = {}
    for page in sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]):
        text = page.read_text(encoding="utf-8")
        names = [name for block in BLOCK.findall(text) for name in names_in_code(block)]
        for name in (*names, *names_in_directives(text)):
            found.setdefault(name, str(page.relative_to(ROOT)))
    for book in sorted((ROOT / "docs/notebooks").glob("*.ipynb")):
        cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        for name in names_in_code(code):
            found.setdefault(name, str(book.relative_to(ROOT)))
    return found


def value_of(name: str) -> object:
    """The module, or the attribute of the longest module in the name."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            value: object = importlib.import_module(".".join(parts[:count]))
        except ModuleNotFoundError as error:
            if error.name is not None and not ".".join(parts[:count]).startswith(error.name):
                pytest.skip(f"{name} needs {error.name}")
            continue
        for part in parts[count:]:
            value = getattr(value, part)
        return value
    raise AttributeError(name)


DOCUMENTED = documented()


def test_the_manual_documents_names() -> None:
    assert {"airlane.load", "airlane.sweep", "airlane.control.Controller", "airlane.stats"} <= set(DOCUMENTED)
    assert len(DOCUMENTED) > 60


@pytest.mark.parametrize("name", sorted(DOCUMENTED))
def test_a_documented_name_is_there(name: str) -> None:
    try:
        value_of(name)
    except AttributeError:
        pytest.fail(f"{DOCUMENTED[name]} names {name}, which does not exist")


def test_sweep_is_a_function() -> None:
    import airlane.runs.sweep  # a module of this name must not replace it

    assert inspect.isfunction(airlane.sweep)
    assert airlane.sweep.__name__ == "sweep"


@pytest.mark.parametrize("name", airlane.__all__)
def test_a_public_name_is_there(name: str) -> None:
    assert getattr(airlane, name) is not None
    assert name in dir(airlane)
