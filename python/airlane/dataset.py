"""Rows of a sweep in a folder of Parquet files that grows as tasks end and is whole at any moment.

Each file appears at once, by a rename, and holds whole tasks. What was done before a kill is found again by
the keys of its tasks. Files whose names begin with `_` or `.` are no data: pyarrow, pandas, polars and DuckDB
pass over them when they are given `*.parquet`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from airlane.files import landing, naming

__all__ = ["Dataset", "DatasetError"]

_PLAN = "_sweep.json"
_SHARED = {"axes": "other keys", "seed": "another seed", "core": "another version of airlane"}


class DatasetError(Exception):
    """The folder is not what a sweep can write into."""


class Dataset:
    """The folder of one sweep.

    Parameters
    ----------
    folder
        Where it is, or will be.
    plan
        What decides it, for JSON: `tasks`, their number, and `axes`, `seed`, `core`, which must be the same
        for two sweeps to share a folder.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any]) -> None:
        self.folder = folder
        self._plan = json.loads(json.dumps(plan))

    def check(self, resume: bool, force: bool) -> None:
        """See whether this sweep may write here, and change nothing.

        Raises
        ------
        DatasetError
            When something else is there, an unfinished sweep that nobody asked to go on with, or one that
            differs in more than the number of its tasks.
        """
        if not self.folder.exists():
            return
        plan = self._kept()
        if plan is None:
            if not self.folder.is_dir():
                raise DatasetError(f"{self.folder} is a file; name a folder, or a file that ends in .parquet")
            if any(self.folder.iterdir()):
                raise DatasetError(f"{self.folder} holds something that no sweep has written; choose another")
            return
        if force:
            return
        if resume:
            for name, what in _SHARED.items():
                if plan.get(name) != self._plan[name]:
                    raise DatasetError(f"{self.folder} was begun with {what}; --force begins anew")
            return
        done, of = len(self._keys()), plan.get("tasks", 0)
        if 0 < done < of:  # of none there is nothing to lose: a cluster that did not answer
            raise DatasetError(
                f"{self.folder} has {done:,} of {of:,} tasks of a sweep that did not end; "
                "--resume goes on with it, --force begins anew"
            )

    @contextmanager
    def writing(self, resume: bool) -> Iterator[set[str]]:
        """Hold the folder for writing; gives the keys of the tasks that are in it.

        Raises
        ------
        DatasetError
            When another sweep is writing into it.
        OSError
            When it cannot be written.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / "_lock"
        with naming(place, place):
            lock = place.open("w")
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise DatasetError(f"another sweep is writing into {self.folder}") from error
            for file in self.folder.glob(".*-*"):
                file.unlink()
            if not resume:
                for file in self._parts():
                    file.unlink()
            with landing(self.folder / _PLAN) as file:
                file.write_text(json.dumps(self._plan, indent=2) + "\n", encoding="utf-8")
            yield self._keys()
            place.unlink(missing_ok=True)

    def add(self, rows: pa.Table) -> None:
        """Add the rows of whole tasks, which the column `task` names, as one file.

        Raises
        ------
        OSError
            When it cannot be written; names the file.
        """
        keys = "".join(dict.fromkeys(map(str, rows["task"].to_pylist())))
        name = f"part-{hashlib.sha256(keys.encode()).hexdigest()[:16]}.parquet"
        with landing(self.folder / name) as file:
            pyarrow.parquet.write_table(rows, file, compression="zstd")

    def read(self) -> pa.Table:
        """All rows, in no particular order."""
        tables = [_read(file) for file in self._parts()]
        return pa.concat_tables(tables, promote_options="permissive")

    def _kept(self) -> dict[str, Any] | None:
        try:
            kept = json.loads((self.folder / _PLAN).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return kept if isinstance(kept, dict) and isinstance(kept.get("tasks"), int) else None

    def _parts(self) -> Sequence[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _keys(self) -> set[str]:
        found = set[str]()
        for file in self._parts():
            found.update(map(str, _read(file, ["task"])["task"].to_pylist()))
        return found


def _read(file: Path, columns: list[str] | None = None) -> pa.Table:
    try:
        table = pyarrow.parquet.read_table(file, columns=columns)
    except (pa.ArrowException, OSError) as error:
        raise DatasetError(f"{file} cannot be read: delete it, and --resume runs its tasks again") from error
    if "task" not in table.column_names:
        raise DatasetError(f"{file} was not written by a sweep: it has no column `task`")
    return table
