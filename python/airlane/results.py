"""Results of runs: Arrow tables with a run and a seed column, and the folder they are stored in."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from airlane._native import version
from airlane.native import Output, Resolved
from airlane.pages import representation
from airlane.runs import arrays
from airlane.runs.applications import APPLICATIONS, with_applications
from airlane.runs.figures import figure_of
from airlane.runs.files import LockedError, is_mount, locked, naming
from airlane.runs.long_tables import LongTable, RowFiles, long_of, numbered, tables_of
from airlane.runs.selection import Selection
from airlane.user_error import UserError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["FolderInTheWayError", "Place", "Results", "check_place", "manifest_of", "reserved"]

# Tables whose file in `series` has another name. `flows` and `cells` are outside of that folder.
_STEMS = {"flow_series": "flows", "cell_series": "cells", "ue_series": "ues"}
_TABLES = {stem: table for table, stem in _STEMS.items()}
_SUMMARIES = {"flows": "summary.parquet", "cells": "cells.parquet"}

_COMPLETION = ("fct_s", "fct_sent_s", "fct_acked_s")
"""Completion times, which can be censored by the end of a run."""

Array = npt.NDArray[np.float64]

_SCRATCH = ".airlane-run"
_HELD = "held"


class FolderInTheWayError(UserError):
    """The output folder exists and contains something that airlane did not write."""


@dataclass(frozen=True, repr=False)
class Results:
    """Tables of one or more runs of a scenario.

    Each table begins with the columns `run` (0, 1, ...) and `seed`. Column names end with their units.

    Attributes
    ----------
    tables
        All tables by name. Those with very many rows are read from files when they are asked for.
    meta
        Per run: wall and simulated seconds, events, packets, drops by cause.
    seeds
        Seed of each run.
    inputs
        SHA-256 of each file that the runs read, by its name.
    costs
        Number of calls into your congestion controllers, and the seconds spent in them, over all
        runs, by name.
    notes
        Lines on what the readers of recorded pages and movements left out or assumed.
    """

    tables: Mapping[str, pa.Table]
    meta: list[dict[str, Any]]
    seeds: list[int]
    inputs: Mapping[str, str] = field(default_factory=dict)
    costs: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    notes: Sequence[str] = ()

    @classmethod
    def collect(
        cls,
        outputs: Sequence[Output],
        seeds: Sequence[int],
        inputs: Mapping[str, str] | None = None,
        files: RowFiles | None = None,
    ) -> Results:
        """Join the tables of runs, in their order. `files` has rows that were written during the runs."""
        if len(outputs) != len(seeds):
            raise ValueError(f"{len(outputs)} outputs for {len(seeds)} seeds")
        names = outputs[0].tables.keys() if outputs else ()
        whole = [
            {**output.tables, "flows": with_applications(output.tables, float(output.meta["sim_s"]))}
            for output in outputs
        ]

        def joined(name: str) -> pa.Table | LongTable:
            parts = [
                (files.of(name, run) if files else None, one[name], seed)
                for run, (one, seed) in enumerate(zip(whole, seeds, strict=True))
            ]
            if any(file is not None for file, _, _ in parts):
                return LongTable(parts)
            return pa.concat_tables(numbered(rows, run, seed) for run, (_, rows, seed) in enumerate(parts))

        tables = tables_of({name: joined(name) for name in names})
        return cls(tables, [output.meta for output in outputs], list(seeds), dict(inputs or {}))

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.seeds)

    @property
    def flows(self) -> pa.Table:
        """One row per run and flow: goodput, delays, retransmissions, timeouts.

        Flows with a browser or a video also have the columns of their application (`runs.applications`).
        """
        return self.tables["flows"]

    @property
    def cells(self) -> pa.Table:
        """One row per run and cell: resource use, MCS, HARQ."""
        return self.tables["cells"]

    @property
    def flow_series(self) -> pa.Table:
        """One row per run, flow and time bin; `t_s` is the beginning of the bin."""
        return self.tables["flow_series"]

    @property
    def cell_series(self) -> pa.Table:
        """One row per run, cell and time bin."""
        return self.tables["cell_series"]

    @property
    def timeouts(self) -> pa.Table:
        """One row per run and expired retransmission timer."""
        return self.tables["timeouts"]

    def __getattr__(self, name: str) -> pa.Table:
        """A table that only some runs have, by its name: `results.pages`, `results.handovers`, ..."""
        if name.startswith("_") or name == "tables":  # not there yet, while a copy is made
            raise AttributeError(name)
        if name in self.tables:
            return self.tables[name]
        needs = [one.needs for one in APPLICATIONS if one.table == name]
        hint = f"it needs {needs[0]}" if needs else f"there are: {', '.join(self.tables)}"
        raise AttributeError(f"no table {name!r} in these results; {hint}", name=name)

    def select(self, selection: Selection) -> Results:
        """The same results with only the selected flows, in every table that has a column `flow`.

        Raises
        ------
        SelectionError
            If there is no such flow.
        """
        if not selection.flow:
            return self
        flows = selection.of(self.flows)
        names = arrays.texts(list(dict.fromkeys(flows["flow"].to_pylist())))
        tables = {
            name: table.filter(pc.is_in(table["flow"], names)) if "flow" in table.column_names else table
            for name, table in self.tables.items()
        }
        return replace(self, tables=tables | {"flows": flows})

    def summary(self, first: int | None = None) -> pa.Table:
        """Mean over the runs and its 95 % interval, one row per flow; of the `first` flows, or of all.

        Each numeric column `x` of `flows` gives `x`, `x_ci95`, half of the interval's width (null where there
        are too few runs for one), and `x_n`, the runs in which it is defined. `n` is that of goodput.

        Completion times are restricted means where the flow ended in some runs only: a run in which it did
        not end, or ended later, counts as the horizon. `fct_s_n` is the number of runs in which it ended.
        `fct_s_horizon` is the horizon: the shortest observation time among the runs in which it did not end;
        null where it ended in all of them. The same holds for `fct_sent_s` and `fct_acked_s`.
        """
        flows = self.flows
        rows_of = dict[str, list[int]]()
        for row, name in enumerate(flows["flow"].to_pylist()):
            rows_of.setdefault(str(name), []).append(row)
        names = list(rows_of)[:first]
        goodput = arrays.numbers(flows["goodput_mbps"])
        watched = self._watched() if set(_COMPLETION) & set(flows.column_names) else np.empty(0)
        found: dict[str, pa.Array[Any]] = {"flow": arrays.texts(names)}
        found["n"] = arrays.integers([int(np.sum(~np.isnan(goodput[rows_of[name]]))) for name in names])
        for column in flows.schema:
            if column.name in ("run", "seed") or not _numeric(column.type):
                continue
            figure = figure_of(column.name)
            of_all = arrays.numbers(flows[column.name])
            values: list[Array] = [of_all[rows_of[name]] for name in names]
            defined = [int(np.sum(~np.isnan(each))) for each in values]
            horizons: list[float | None] = []
            if column.name in _COMPLETION:
                of_flow = zip(values, names, strict=True)
                cut = [self._restricted(each, watched[rows_of[name]]) for each, name in of_flow]
                values, horizons = [each for each, _ in cut], [horizon for _, horizon in cut]
            means = [figure.estimate(each) for each in values]
            found[column.name] = arrays.reals_or_null([m.mean for m in means])
            found[f"{column.name}_ci95"] = arrays.reals_or_null([m.half_width for m in means])
            found[f"{column.name}_n"] = arrays.integers(defined)
            if horizons:
                found[f"{column.name}_horizon"] = arrays.reals(horizons)
        return pa.table(found)

    def _watched(self) -> Array:
        """Seconds from the start of the flow of each row to the end of its run."""
        ends = np.array([float(self.meta[run]["sim_s"]) for run in arrays.whole(self.flows["run"])])
        return ends - arrays.numbers(self.flows["start_s"])

    @staticmethod
    def _restricted(times: Array, watched: Array) -> tuple[Array, float | None]:
        """Limited times of a flow by run, and the horizon; `None` if it ended in all runs or in none."""
        cut_off = np.isnan(times) & (watched > 0.0)
        if np.isnan(times).all() or not cut_off.any():
            return times, None
        horizon = float(watched[cut_off].min())
        return np.where(cut_off, horizon, np.minimum(times, horizon)), horizon

    def __repr__(self) -> str:
        """A short table: one row per flow, the mean over the runs."""
        return representation.as_text(self)

    def _repr_html_(self) -> str:
        """The same table in a notebook."""
        return representation.as_html(self)

    def plot(self, run: int = 0) -> Figure:
        """Draw one run over time; a Matplotlib figure, which a notebook shows.

        Examples
        --------
        >>> import airlane
        >>> scenario = airlane.load(airlane.example("wired-cubic")).set({"run.duration": "6 s"})
        >>> figure = scenario.run().plot()
        >>> figure.savefig("run.png")  # doctest: +SKIP
        """
        if not 0 <= run < self.runs:
            raise ValueError(f"there is no run {run}: runs are numbered from 0 to {self.runs - 1}")
        from airlane.pages.drawing import draw
        from airlane.pages.run_chart import run_chart

        return draw(run_chart(self, run))

    @classmethod
    def read(cls, folder: Path | str) -> Results:
        """Read a result folder.

        Raises
        ------
        OSError
            When a file is missing.
        """
        folder = Path(folder)
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        files = {_TABLES.get(file.stem, file.stem): file for file in (folder / "series").glob("*.parquet")}
        files |= {table: folder / name for table, name in _SUMMARIES.items()}
        tables = {name: pyarrow.parquet.read_table(file) for name, file in sorted(files.items())}
        notes = tuple(manifest.get("notes", ()))
        return cls(tables, manifest["runs"], manifest["seeds"], manifest["inputs"], notes=notes)

    def write(
        self,
        folder: Path,
        scenario: Resolved,
        file_name: str = "",
        place: Place | None = None,
        written: Mapping[str, Any] | None = None,
        extra: Mapping[str, Path | str] | None = None,
    ) -> None:
        """Write the result folder: manifest, summary as CSV and Parquet, series as Parquet.

        With the `place` that `reserved` returns, its captures move into it: packets to `pcap`, qlog to
        `qlog`. `written` is stored in the manifest: the scenario's TOML (`toml`), settings (`set`),
        `command`. `extra` has more files by name: their texts, or where they are.

        The folder is written under another name and renamed, so it is complete or absent. An older result
        folder is replaced. A symbolic link stays; the folder that it points to is replaced.

        Raises
        ------
        FolderInTheWayError
            When `folder` exists and is not a result folder, or another process writes into it.
        OSError
            When a file cannot be written; names the file.
        """
        with reserved(folder) if place is None else nullcontext(place) as place:
            fresh = place.scratch / "new"
            fresh.mkdir()
            self._write_into(fresh, folder, scenario, file_name, place.captures, written or {})
            for name, content in (extra or {}).items():
                with naming(fresh / name, folder / name) as file:
                    file.write_text(content, encoding="utf-8") if isinstance(
                        content, str
                    ) else content.rename(file)
            place.replace(fresh)
        for name, table in long_of(self.tables).items():
            table.is_in(folder / _file_of(name))

    def _write_into(
        self,
        folder: Path,
        place: Path,
        scenario: Resolved,
        file_name: str,
        pcap: Path,
        written: Mapping[str, Any],
    ) -> None:
        qlog = sorted(file for file in pcap.iterdir() if file.suffix in (".qlog", ".sqlog"))
        if qlog:
            (folder / "qlog").mkdir()
        for file in qlog:
            file.rename(folder / "qlog" / file.name)
        captures = sorted(file.name for file in pcap.iterdir())
        if captures:
            pcap.rename(folder / "pcap")
        (folder / "series").mkdir()
        long = long_of(self.tables)
        with naming(folder / "summary.csv", place / "summary.csv") as file:
            pyarrow.csv.write_csv(self.flows, file)
        for name in self.tables:
            part = _file_of(name)
            with naming(folder / part, place / part) as file:
                if name in long:
                    long[name].write(file)
                else:
                    pyarrow.parquet.write_table(self.tables[name], file, compression="zstd")
        manifest = {
            "airlane": version(),
            "file": file_name,
            **{key: value for key, value in written.items() if key in ("command", "set", "toml")},
            "scenario": json.loads(scenario.json),
            "inputs": dict(self.inputs),
            **({"notes": list(self.notes)} if self.notes else {}),
            "seeds": self.seeds,
            "runs": self.meta,
            "pcap": captures,
            "qlog": [file.name for file in qlog],
            "host": {"platform": platform.platform(), "python": sys.version.split()[0]},
        }
        with naming(folder / "manifest.json", place / "manifest.json") as file:
            file.write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def check_place(folder: Path) -> None:
    """Check that a result folder may be written here; call it before anything that takes long.

    Raises
    ------
    FolderInTheWayError
        When `folder` exists and is not a result folder, or cannot be replaced: it is a mount point, may not
        be written, or is a process's current folder.
    """
    if Path.cwd().is_relative_to(os.path.realpath(folder)):
        raise FolderInTheWayError(f"{folder} is the current folder; choose another folder with -o")
    if is_mount(folder):
        raise FolderInTheWayError(
            f"{folder} is a mount point and cannot be replaced; choose a folder in it: -o {folder / 'NAME'}"
        )
    if folder.exists() and not os.access(folder, os.W_OK):
        raise FolderInTheWayError(f"{folder} is not writable; choose another folder with -o")
    # Other programs have a manifest.json too, and replacing a folder deletes all that it contains.
    if not folder.exists() or manifest_of(folder) is not None:
        return
    if not folder.is_dir():
        raise FolderInTheWayError(f"{folder} exists and is a file; choose another folder with -o")
    if any(folder.iterdir()):
        raise FolderInTheWayError(f"{folder} exists and is not a result folder; choose another with -o")


def manifest_of(folder: Path) -> dict[str, Any] | None:
    """The manifest of a result folder; None where `folder` is no result folder."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    parts = {"airlane": str, "file": str, "scenario": dict, "inputs": dict, "seeds": list, "runs": list}
    whole = isinstance(manifest, dict) and all(
        isinstance(manifest.get(name), kind) for name, kind in parts.items()
    )
    return manifest if whole else None


@dataclass(frozen=True)
class Place:
    """A result folder that is locked for writing.

    Attributes
    ----------
    folder
        Its path, without symbolic links.
    scratch
        A scratch folder next to it, which is removed afterwards.
    captures
        An empty folder, whose files move into the result folder when that is written.
    """

    folder: Path
    scratch: Path
    captures: Path

    def replace(self, fresh: Path) -> None:
        """Move a complete folder into place; it replaces the one that may be there."""
        old = self.scratch / "old"
        with naming(self.folder, self.folder):
            if self.folder.exists():
                self.folder.rename(old)
            fresh.rename(self.folder)
        shutil.rmtree(old, ignore_errors=True)


@contextmanager
def reserved(folder: Path) -> Iterator[Place]:
    """Lock a result folder, so that no other process writes there; call it before the run.

    Leftovers of killed processes, such as captures, are removed.

    Raises
    ------
    FolderInTheWayError
        When it must not be replaced, or another process holds it.
    OSError
        When nothing can be written there; names the folder.
    """
    check_place(folder)
    real = Path(os.path.realpath(folder))
    scratch = real.parent / f".{real.name}{_SCRATCH}"
    with ExitStack() as stack:
        with naming(folder, folder):  # the name of the obstacle means nothing to a user
            real.parent.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(_scratch(scratch))
            except LockedError as error:
                raise FolderInTheWayError(
                    f"another run is writing to {folder}; wait for its end, or choose another folder with -o"
                ) from error
            _remove_left(real.parent)
            captures = scratch / "pcap"
            captures.mkdir()
        yield Place(real, scratch, captures)


@contextmanager
def _scratch(folder: Path) -> Iterator[None]:
    """Hold an empty scratch folder, which is removed afterwards."""

    def remove() -> None:
        with suppress(OSError):  # another process may hold it by now
            folder.rmdir()

    with ExitStack() as stack:
        stack.callback(remove)
        while True:
            folder.mkdir(exist_ok=True)
            try:
                stack.enter_context(locked(folder / _HELD))
            except FileNotFoundError:
                continue  # its last holder removed the folder after this process created it
            break
        stack.callback(_empty, folder)
        _empty(folder)
        yield


def _empty(folder: Path) -> None:
    for left in folder.iterdir():
        if left.name == _HELD:
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:  # such as the flight record of a live run
            with suppress(OSError):
                left.unlink()


def _remove_left(parent: Path) -> None:
    """Remove scratch folders without a holder: their processes were killed."""
    for left in parent.glob(f".*{_SCRATCH}"):
        with suppress(OSError, LockedError), _scratch(left):
            pass


def _file_of(table: str) -> str:
    """The file of a table in a result folder."""
    return _SUMMARIES.get(table, f"series/{_STEMS.get(table, table)}.parquet")


def _numeric(kind: pa.DataType) -> bool:
    return pa.types.is_floating(kind) or pa.types.is_integer(kind)
