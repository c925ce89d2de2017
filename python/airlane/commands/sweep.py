"""The command `airlane sweep`: its runs, and the folder or file that they are written to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from airlane.commands import terminal
from airlane.runs import sweep
from airlane.runs.dataset import beside
from airlane.runs.files import check_file

if TYPE_CHECKING:
    import pyarrow as pa

    from airlane.runs.figures import Figure
    from airlane.runs.sweep import Plan, Point

__all__ = ["Options", "conduct", "draw"]


@dataclass(frozen=True)
class Options:
    """How a sweep is run."""

    resume: bool
    force: bool
    cluster: str | None
    threads: int | None


def conduct(
    path: Path, plan: Plan, name: str, how: Options, fail: Callable[[str], NoReturn]
) -> tuple[pa.Table, str]:
    """Run a sweep and write it; its rows, and the path as it is shown, a folder with a slash."""
    dataset = None if path.suffix == ".parquet" else plan.dataset(path, name)
    if dataset is not None:
        dataset.check(how.resume, how.force)
    elif how.resume:
        fail(f"error: --resume needs a folder, and -o {path} is one file, written at the end")
    else:
        check_file(path)
    with terminal.progress(name) as update:
        if dataset is not None:
            resume = how.resume and not how.force
            rows = sweep.keep(plan, dataset, update, threads=how.threads, cluster=how.cluster, resume=resume)
        else:
            rows = sweep.conduct(plan, update, threads=how.threads, cluster=how.cluster)
    if dataset is None:
        sweep.write(rows, path)
    return rows, f"{path}" if dataset is None else f"{path}/"


def draw(
    points: Sequence[Point], figures: Sequence[Figure], written: str, print_width: float | None = None
) -> str:
    """Draw the figures of a sweep next to what `conduct` has written; a remark with the paths.

    Nothing but data is in the folder, so that pandas and others can read it as one table.
    """
    files = sweep.draw(points, figures, beside(Path(written), ".png"), print_width)
    return f" ({', '.join(map(str, files))}: the figures)"
