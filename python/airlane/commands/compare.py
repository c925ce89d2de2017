"""The command `airlane compare`, and `airlane report` of several folders or of a sweep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from airlane.commands import terminal
from airlane.pages import comparison_page
from airlane.pages.run import write_run_html
from airlane.results import manifest_of
from airlane.runs import dataset
from airlane.runs.selection import ALL, Selection
from airlane.study import compare
from airlane.study.compare import CompareError, Comparison

__all__ = ["compare_folders", "comparisons", "page_of", "report_folders"]


def comparisons(
    folders: Sequence[Path], names: Sequence[str] = (), selection: Selection = ALL
) -> list[Comparison]:
    """Compare runs, or sweeps point by point; with groups of flows, each group.

    Raises
    ------
    CompareError
        If they cannot be compared.
    """
    if len(folders) < 2:
        raise CompareError("name two or more folders: the first is what the others are compared with")
    if dataset.plan_of(folders[0]) is None:
        points = [(dict[str, object](), compare.load(folders))]
    else:
        points = compare.load_sweep(folders)
    return [
        compare.compare(group, names, point | where)
        for point, sides in points
        for where, group in compare.selected(sides, selection)
    ]


def compare_folders(
    folders: Sequence[Path],
    page: Path | None,
    columns: str | None,
    *,
    as_json: bool,
    selection: Selection = ALL,
    print_width: float | None = None,
) -> None:
    """Print the comparison, and write its page if requested."""
    names = [name.strip() for name in columns.split(",")] if columns else []
    found = comparisons(folders, names, selection)
    if as_json:
        print(json.dumps(compare.as_json(found), indent=2))
    else:
        terminal.output.print(comparison_page.terminal_view(found))
    if page is not None:
        page = _apart(page)
        comparison_page.write_html(found, page, print_width)
        if not as_json:
            print(f"written to {page}")


def page_of(folder: Path, page: Path | None, name: str = "report") -> Path:
    """The page about a folder, where it is not given: in that of a run, next to that of a sweep.

    Raises
    ------
    CompareError
        If the page that is given would be in the folder of a sweep.
    """
    if page is not None:
        return _apart(page)
    if dataset.plan_of(folder) is not None:
        return dataset.beside(folder, ".html" if name == "report" else f"-{name}.html")
    return folder / f"{name}.html"


def _apart(page: Path) -> Path:
    """The page, if its folder is not that of a sweep.

    Raises
    ------
    CompareError
        If it is: pandas and pyarrow read every file there as data.
    """
    if dataset.plan_of(page.parent) is None or page.name.startswith(("_", ".")):
        return page
    raise CompareError(
        f"{page} would be in the folder of a sweep, where pandas reads every file as data; "
        f"write {dataset.beside(page.parent, '.html')}"
    )


def report_folders(
    folders: Sequence[Path],
    page: Path | None = None,
    selection: Selection = ALL,
    print_width: float | None = None,
) -> Path:
    """Write the page of a run or a sweep, or the page that compares several; returns its path.

    Parameters
    ----------
    selection
        The flows and groups that the page is about.
    print_width
        Width of figures in PDF and SVG in inches, for print.

    Raises
    ------
    CompareError
        If a folder is neither, or they cannot be compared.
    """
    place = page_of(folders[-1], page)
    if len(folders) > 1:
        comparison_page.write_html(comparisons(folders, selection=selection), place, print_width)
        return place
    if dataset.plan_of(folders[0]) is not None:
        comparison_page.write_sweep_html(folders[0], place, selection, print_width)
        return place
    manifest = manifest_of(folders[0])
    if manifest is None:
        raise CompareError(f"{folders[0]} is not a result folder of `airlane run` or `airlane sweep`")
    (side,) = compare.load(folders)
    assert side.results is not None
    title = Path(manifest["file"]).stem or folders[0].name
    write_run_html(side.results, manifest, title, place, folders[0], selection, print_width)
    return place
