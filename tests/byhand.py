"""The measures and claim rules of the papers that tests reach with hand-made tables.

A measure or rule is a function behind an experiment's number or claim, including those in its closure (the
base of a gain, the measure that a claim compares). A test marked `by_hand` calls some of them with hand-made
tables and compares the results with values worked out in comments. As a plugin of pytest (`-p byhand`) this
module records the functions that such tests call.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from airlane.experiments import Experiment

REPORT = "AIRLANE_BY_HAND"
"""Environment variable that names the output file."""

_called = set[str]()


def name_of(code: CodeType) -> str:
    """Module, qualified name and line of a function."""
    return f"{Path(code.co_filename).stem}.{code.co_qualname}:{code.co_firstlineno}"


def reached(function: object) -> Iterator[str]:
    """Yield a function and those in its closure, by name."""
    match function:
        case functools.partial():
            yield from reached(function.func)
            for argument in (*function.args, *function.keywords.values()):
                yield from reached(argument)
        case FunctionType() if "airlane" in function.__module__:
            yield name_of(function.__code__)
            for cell in function.__closure__ or ():
                yield from reached(cell.cell_contents)
        case list() | tuple():
            for each in function:
                yield from reached(each)
        case dict():
            yield from reached(list(function.values()))


def measures(experiments: Iterable[Experiment]) -> dict[str, str]:
    """Return all functions behind numbers and claims; for each the first number or claim that uses it."""
    found: dict[str, str] = {}
    for experiment in experiments:
        for number in experiment.numbers:
            others = [reading.measure for reading in number.readings] + [part for _, part in number.parts]
            for name in reached([number.measure, number.against, *others]):
                found.setdefault(name, number.id)
        for claim in experiment.claims:
            for name in reached(claim.check):
                found.setdefault(name, claim.id)
    return found


def _note(frame: FrameType, event: str, _: Any) -> None:
    if event == "call" and "airlane" in frame.f_code.co_filename:
        _called.add(name_of(frame.f_code))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Record the functions that a marked test calls."""
    before: Callable[..., object] | None = sys.getprofile()
    if item.get_closest_marker("by_hand"):
        sys.setprofile(_note)
    try:
        return (yield)
    finally:
        sys.setprofile(before)


def pytest_sessionfinish() -> None:
    """Write the record."""
    Path(os.environ[REPORT]).write_text(json.dumps(sorted(_called)), encoding="utf-8")
