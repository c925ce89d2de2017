"""Tables with too many rows to be in memory together: rows are written to files during the runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from airlane.runs import arrays
from airlane.runs.files import naming

__all__ = ["LongTable", "RowFiles", "long_of", "numbered", "tables_of"]


def numbered(table: pa.Table, run: int, seed: int) -> pa.Table:
    """The table with columns `run` and `seed` in front."""
    rows = table.num_rows
    table = table.add_column(0, "seed", arrays.repeated(seed, rows))
    return table.add_column(0, "run", arrays.repeated(run, rows))


class RowFiles:
    """Files for rows that arrive during runs, one for each table of each run.

    Parameters
    ----------
    folder
        Where they are; it is made for the first rows.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._writers = dict[tuple[str, int], pyarrow.parquet.ParquetWriter]()

    def add(self, run: int, name: str, rows: pa.Table) -> None:
        """Write further rows of a table.

        Raises
        ------
        OSError
            When they cannot be written; names the file.
        """
        file = self._file(name, run)
        with naming(file, file):
            if (name, run) not in self._writers:
                self._folder.mkdir(exist_ok=True)
                self._writers[name, run] = pyarrow.parquet.ParquetWriter(
                    file, rows.schema, compression="zstd"
                )
            self._writers[name, run].write_table(rows)

    def close(self) -> None:
        """Complete the files.

        Raises
        ------
        OSError
            When one cannot be written; names it.
        """
        for (name, run), writer in self._writers.items():
            file = self._file(name, run)
            with naming(file, file):
                writer.close()

    def of(self, name: str, run: int) -> Path | None:
        """The file with rows of this table of a run; None if there are none."""
        return self._file(name, run) if (name, run) in self._writers else None

    def _file(self, name: str, run: int) -> Path:
        return self._folder / f"{name}.{run}.parquet"


class LongTable:
    """A table of several runs, of whose rows the first are in files.

    Parameters
    ----------
    parts
        For each run the file, if it has one, the rows behind those of the file, and the seed.
    """

    def __init__(self, parts: Sequence[tuple[Path | None, pa.Table, int]]) -> None:
        self._parts = parts
        self._whole: Path | None = None
        self._read: pa.Table | None = None

    def _chunks(self) -> Iterator[pa.Table]:
        """The rows in their order, with run and seed, a hundred thousand or so at once."""
        for run, (path, last, seed) in enumerate(self._parts):
            if path is not None:
                with pyarrow.parquet.ParquetFile(path) as file:
                    for group in range(file.num_row_groups):
                        yield numbered(file.read_row_group(group), run, seed)
            yield numbered(last, run, seed)

    def read(self) -> pa.Table:
        """All rows; from then on they stay in memory."""
        if self._read is None:
            whole = self._whole
            self._read = (
                pa.concat_tables(self._chunks()) if whole is None else pyarrow.parquet.read_table(whole)
            )
        return self._read

    def write(self, file: Path) -> None:
        """Write all rows into one file."""
        _, last, seed = self._parts[0]
        with pyarrow.parquet.ParquetWriter(
            file, numbered(last, 0, seed).schema, compression="zstd"
        ) as writer:
            for chunk in self._chunks():
                writer.write_table(chunk)

    def is_in(self, file: Path) -> None:
        """Read the rows from this file from now on, which `write` has written."""
        self._whole, self._parts = file, []


def tables_of(tables: Mapping[str, pa.Table | LongTable]) -> Mapping[str, pa.Table]:
    """The tables by name; a long one is read from its files when it is asked for."""
    kept = {name: table for name, table in tables.items() if isinstance(table, pa.Table)}
    return kept if len(kept) == len(tables) else _Tables(tables)


def long_of(tables: Mapping[str, pa.Table]) -> dict[str, LongTable]:
    """The long ones among these tables, by name."""
    return tables.long() if isinstance(tables, _Tables) else {}


class _Tables(Mapping[str, pa.Table]):
    def __init__(self, tables: Mapping[str, pa.Table | LongTable]) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> pa.Table:
        table = self._tables[name]
        return table.read() if isinstance(table, LongTable) else table

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def long(self) -> dict[str, LongTable]:
        return {name: table for name, table in self._tables.items() if isinstance(table, LongTable)}
