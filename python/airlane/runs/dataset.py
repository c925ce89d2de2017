"""Rows of a sweep in a folder of Parquet files that grows as tasks end and is consistent at any time.

Each file appears at once, by a rename, and contains whole tasks. Tasks that were finished before a kill are
found again by their keys. Files whose names begin with `_` or `.` are not data: pyarrow, pandas, polars and
DuckDB skip them when they are given `*.parquet`.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from airlane.runs.files import LockedError, landing, locked
from airlane.user_error import UserError

__all__ = ["Dataset", "DatasetError", "beside", "plan_of", "rows_of"]

_PLAN = "_sweep.json"
_SHARED = {"core": "another version of airlane", "axes": "other keys", "seed": "another seed"}
_DIFFERENCES_MAX = 3
"""Maximum number of settings that a message names; the others are counted."""


class DatasetError(UserError):
    """The sweep cannot write into the folder."""


class Dataset:
    """The folder of one sweep.

    Parameters
    ----------
    folder
        The path of the folder, which may not exist yet.
    plan
        The plan of the sweep, for JSON. `axes`, `seed`, `core`, the settings that are not axes (`settings`)
        and the SHA-256 of each file that runs read (`inputs`, by name) must be the same for two sweeps that
        share a folder; the number of `tasks` and the `values` of each axis may differ.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder = folder
        self._plan = json.loads(json.dumps(plan))

    def check(self, resume: bool, force: bool) -> None:
        """Check whether this sweep may write here, without changes.

        Raises
        ------
        DatasetError
            If the folder has other content, an unfinished sweep without `resume`, or a sweep that differs
            in more than the number of its tasks.
        """
        if not self.folder.exists():
            return
        plan = self._kept()
        if plan is None:
            if not self.folder.is_dir():
                raise DatasetError(
                    f"{self.folder} is a file; expected a folder, or a file that ends in .parquet"
                )
            if any(self.folder.iterdir()):
                raise DatasetError(
                    f"{self.folder} contains files that are not from a sweep; choose another folder"
                )
            return
        if force:
            return
        if resume:
            self._same(plan)
            return
        done, of = len(self._keys()), plan.get("tasks", 0)
        if 0 < done < of:  # without finished tasks nothing is lost: a cluster that did not answer
            raise DatasetError(
                f"{self.folder} has {done:,} of {of:,} tasks of an unfinished sweep; "
                "--resume continues it, --force replaces it"
            )

    @contextmanager
    def writing(self, resume: bool) -> Iterator[set[str]]:
        """Lock the folder for writing; gives the keys of the tasks in it.

        Raises
        ------
        DatasetError
            If another sweep is writing to it, or has written rows that `resume` cannot continue.
        OSError
            If it cannot be written.
        """
        Path(os.path.realpath(self.folder)).mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(self.folder / "_lock"))
            except LockedError as error:
                raise DatasetError(f"another sweep is writing to {self.folder}") from error
            for file in self.folder.glob(".*-*"):
                file.unlink()
            plan = self._kept()
            if resume and plan is not None:
                self._same(plan)
                self._plan["inputs"] = plan.get("inputs", {}) | self._plan["inputs"]
            if not resume:
                for file in self._parts():
                    file.unlink()
            with landing(self.folder / _PLAN) as file:
                file.write_text(json.dumps(self._plan, indent=2) + "\n", encoding="utf-8")
            yield self._keys()

    def _same(self, plan: Mapping[str, Any]) -> None:
        """Check that the rows of another plan may be stored with those of this one."""
        for name, what in _SHARED.items():
            if plan.get(name) != self._plan[name]:
                raise DatasetError(f"{self.folder} was started with {what}; --force replaces it")
        before, now = plan.get("settings", {}), self._plan["settings"]
        if changed := list(_differences(before, now)):
            more = len(changed) - _DIFFERENCES_MAX
            said = "; ".join(changed[:_DIFFERENCES_MAX]) + (f"; and {more} more" if more > 0 else "")
            raise DatasetError(
                f"{self.folder} was started with another scenario: {said}; --force replaces it"
            )
        inputs = self._plan["inputs"]
        for name, content in plan.get("inputs", {}).items():
            if inputs.get(name, content) != content:
                raise DatasetError(
                    f"{self.folder} was started with another content of {name}; --force replaces it"
                )

    def add(self, rows: pa.Table) -> None:
        """Add the rows of whole tasks, identified by the column `task`, as one file.

        Raises
        ------
        OSError
            If it cannot be written; names the file.
        """
        keys = "".join(dict.fromkeys(map(str, rows["task"].to_pylist())))
        name = f"part-{hashlib.sha256(keys.encode()).hexdigest()[:16]}.parquet"
        with landing(self.folder / name) as file:
            pyarrow.parquet.write_table(rows, file, compression="zstd")

    def read(self) -> pa.Table:
        """All rows, in arbitrary order."""
        return rows_of(self.folder)

    def _kept(self) -> dict[str, Any] | None:
        return plan_of(self.folder)

    def _parts(self) -> Sequence[Path]:
        return _parts(self.folder)

    def _keys(self) -> set[str]:
        found = set[str]()
        for file in self._parts():
            found.update(map(str, _read(file, ["task"])["task"].to_pylist()))
        return found


def beside(sweep: Path, suffix: str) -> Path:
    """A file about a sweep, next to its folder or file: `out/sweeps/x.html` for `out/sweeps/x`.

    pandas and pyarrow read every file of a folder as data, except those whose names begin with `_` or `.`.
    """
    if sweep.suffix == ".parquet":
        return sweep.with_suffix(suffix)
    place = sweep if sweep.name not in ("", "..") else sweep.resolve()
    return place.with_name(place.name + suffix)


def plan_of(folder: Path) -> dict[str, Any] | None:
    """The plan of the sweep in a folder; `None` if it is not a sweep."""
    try:
        kept = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and isinstance(kept.get("tasks"), int) else None


def rows_of(folder: Path) -> pa.Table:
    """All rows of a sweep's folder, in arbitrary order.

    Raises
    ------
    DatasetError
        If no task has ended, or a file does not belong to a sweep.
    """
    tables = [_read(file) for file in _parts(folder)]
    if not tables:
        raise DatasetError(f"{folder}: no run of this sweep has ended; --resume continues it")
    return pa.concat_tables(tables, promote_options="permissive")


def _parts(folder: Path) -> Sequence[Path]:
    return sorted(folder.glob("part-*.parquet"))


def _differences(before: object, now: object, key: str = "") -> Iterator[str]:
    """The differences between two scenarios, by dotted key."""
    match before, now:
        case dict(), dict():
            for name in sorted(before.keys() | now.keys()):
                yield from _differences(before.get(name), now.get(name), f"{key}.{name}".lstrip("."))
        case list(), list():
            if len(before) != len(now):
                yield f"{key} had {len(before)} entries and has {len(now)}"
                return
            for i, (one, other) in enumerate(zip(before, now, strict=True)):
                yield from _differences(one, other, f"{key}.{i}")
        case _ if before != now:
            yield f"{key} was {json.dumps(before)} and is {json.dumps(now)}"


def _read(file: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        table = pyarrow.parquet.read_table(file, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(
            f"{file} cannot be read; delete the file, and --resume runs its tasks again"
        ) from error
    if "task" not in table.column_names:
        raise DatasetError(f"{file} was not written by a sweep: the column `task` is missing")
    return table
