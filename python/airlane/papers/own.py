"""Papers with a folder or a file of their own: numbers, experiments and subject.

A paper is a folder `NAME` with `paper.py` and `published.yaml`; or one file `NAME.py`, with `NAME.yaml` in
the same folder or its numbers in `NUMBERS`. Folders in `airlane/papers` are found automatically; others are
named to `airlane reproduce`. The Python file is executed, with the same permissions as a program.

`paper.py` contains

- `experiments()`, which returns the experiments, with ids `NAME/...`;
- `TITLE` and `REFERENCE`, for the index of the report; `ABOUT`, for the README; all are optional;
- `NUMBERS`, instead of the YAML file: by dotted id without `NAME.`, a number, a range as a tuple of two, or
  `None` for a number that is lost.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from airlane.experiments import Experiment, stated
from airlane.papers.numbers import PublishedError, read, tree_of
from airlane.study.verdict import Published
from airlane.user_error import UserError

__all__ = ["Paper", "PaperError", "found_in", "is_path", "load", "numbers_beside"]


class PaperError(UserError):
    """A paper's file is incomplete; the message names the file and what is missing."""


@dataclass(frozen=True)
class Paper:
    """A paper: its published numbers, and the experiments that reproduce it.

    Attributes
    ----------
    name
        First part of its experiments' ids (before the slash) and of its numbers' ids (before the first dot).
    about
        A few words for the README.
    numbers
        Published numbers by id.
    """

    name: str
    title: str
    reference: str
    about: str
    numbers: Mapping[str, Published]
    experiments: tuple[Experiment, ...]


def is_path(name: str) -> bool:
    """Whether an argument of `airlane reproduce` is a file or a folder, and not the id of an experiment."""
    return name.endswith(".py") or Path(name).joinpath("paper.py").is_file()


def found_in(folder: Path) -> list[Path]:
    """Folders that hold a paper."""
    return sorted(path.parent for path in folder.glob("*/paper.py"))


def load(path: Path) -> Paper:
    """Load a paper from its folder or its file.

    Raises
    ------
    PaperError
        Where the file cannot be used.
    """
    file = path / "paper.py" if path.is_dir() else path
    name = path.resolve().name.removesuffix(".py")
    if not name.isidentifier():
        raise PaperError(f"{file}: its name, {name!r}, begins all ids: write letters, digits and underscores")
    module = _module(file, name)
    made = getattr(module, "experiments", None)
    if not callable(made):
        raise PaperError(f"{file}: it has no function experiments(), which gives a list of Experiment")
    paper = Paper(
        name,
        str(getattr(module, "TITLE", name)),
        str(getattr(module, "REFERENCE", "")),
        str(getattr(module, "ABOUT", "")),
        _numbers(module, file, name),
        tuple(made()),
    )
    _check(paper, file)
    return paper


def _module(file: Path, name: str) -> ModuleType:
    if not file.is_file():
        raise PaperError(f"{file}: there is no such file")
    if file.parent.parent == Path(__file__).parent:
        return importlib.import_module(f"airlane.papers.{name}.paper")
    spec = importlib.util.spec_from_file_location(f"airlane_paper_{name}", file)
    if spec is None or spec.loader is None:
        raise PaperError(f"{file}: it is not Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses of the file look up their module there
    spec.loader.exec_module(module)
    return module


def numbers_beside(file: Path, name: str) -> dict[str, Published]:
    """Read the published numbers in the YAML file of a paper; none without that file.

    Raises
    ------
    PaperError
        Where the file cannot be used.
    """
    beside = file.with_name("published.yaml" if file.name == "paper.py" else f"{name}.yaml")
    if not beside.is_file():
        return {}
    import yaml

    try:
        return read(yaml.safe_load(beside.read_text(encoding="utf-8")), name)
    except PublishedError as error:
        raise PaperError(f"{beside}: {error}") from error


def _numbers(module: ModuleType, file: Path, name: str) -> dict[str, Published]:
    written = getattr(module, "NUMBERS", None)
    if written is None:
        return numbers_beside(file, name)
    try:
        return read(tree_of(written), name)
    except PublishedError as error:
        raise PaperError(f"{file}: {error}") from error


def _check(paper: Paper, file: Path) -> None:
    for experiment in paper.experiments:
        if not isinstance(experiment, Experiment):
            raise PaperError(f"{file}: experiments() gave {experiment!r}, which is no Experiment")
        if experiment.id.partition("/")[0] != paper.name:
            raise PaperError(f"{file}: the experiment {experiment.id!r} has to be called {paper.name}/...")
        for id_ in (*(number.id for number in experiment.numbers), *experiment.setup):
            try:
                stated(id_, paper.numbers)
            except KeyError:
                known = ", ".join(paper.numbers) or "none"
                raise PaperError(
                    f"{file}: {experiment.id} asks for the number {id_!r}; there are: {known}"
                ) from None
