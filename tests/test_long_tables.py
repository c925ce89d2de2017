"""Rows of long tables are written during the runs, and the results are the same."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from airlane import examples
from airlane.commands.main import app
from airlane.results import Results
from airlane.runs.long_tables import RowFiles
from airlane.scenario import Scenario, load

ROWS = 100_000
"""From this number of rows on, those of a table are written during the run."""


@pytest.fixture(scope="module")
def long() -> Scenario:
    """120,000 rows of `flow_series` in each run."""
    settings = {"run.duration": "6 s", "run.warmup": "0 s", "run.series_bin": "1 ms", "output.ran_log": True}
    return load(examples.path("lte-20ue")).set(settings)


@pytest.fixture(scope="module")
def in_memory(long: Scenario) -> Results:
    return long.run(runs=2)


def same(ours: Results, theirs: Results) -> None:
    assert list(ours.tables) == list(theirs.tables)
    for name, table in theirs.tables.items():
        assert_same_rows(ours.tables[name], table)


def assert_same_rows(ours: pa.Table, theirs: pa.Table) -> None:
    """NaN equals NaN here, unlike in Arrow."""
    assert ours.schema.equals(theirs.schema)
    for name in theirs.column_names:
        if pa.types.is_floating(theirs.schema.field(name).type):
            assert np.array_equal(ours[name].to_numpy(), theirs[name].to_numpy(), equal_nan=True), name
        else:
            assert ours[name].equals(theirs[name]), name


def test_rows_from_files_are_those_in_memory(long: Scenario, in_memory: Results, tmp_path: Path) -> None:
    assert in_memory.flow_series.num_rows > 2 * ROWS
    results = long.run(runs=2, rows=tmp_path / "rows")
    files = sorted(file.name for file in (tmp_path / "rows").iterdir())
    assert files == ["flow_series.0.parquet", "flow_series.1.parquet"]
    same(results, in_memory)


def test_a_folder_has_all_rows_and_what_columns_mean(
    long: Scenario, in_memory: Results, tmp_path: Path
) -> None:
    results = long.run(runs=2, rows=tmp_path / "rows")
    in_memory.write(tmp_path / "whole", long.resolved)
    results.write(tmp_path / "streamed", long.resolved)
    for file in (tmp_path / "rows").iterdir():
        file.unlink()
    same(results, in_memory)  # from the folder by now
    same(Results.read(tmp_path / "streamed"), Results.read(tmp_path / "whole"))
    streamed, whole = (
        pyarrow.parquet.read_schema(tmp_path / folder / "series" / "flows.parquet")
        for folder in ("streamed", "whole")
    )
    titles = [
        [field.metadata[b"title"] for field in schema if field.metadata and b"title" in field.metadata]
        for schema in (streamed, whole)
    ]
    assert titles[0] == titles[1]
    assert titles[0]


def test_the_command_leaves_nothing_beside_its_folder(tmp_path: Path) -> None:
    settings = ["run.duration=6 s", "run.series_bin=1 ms"]
    words = [word for setting in settings for word in ("--set", setting)]
    done = CliRunner().invoke(app, ["run", "--example", "lte-20ue", *words, "-o", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    metadata = pyarrow.parquet.read_metadata(tmp_path / "out" / "series" / "flows.parquet")
    assert metadata.num_rows > ROWS
    assert metadata.num_row_groups == 2
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["runs"][0]["sim_s"] == 6.0


def test_a_selection_of_flows_is_one_of_all_rows(long: Scenario, in_memory: Results, tmp_path: Path) -> None:
    from airlane.runs.selection import Selection

    results = long.run(runs=2, rows=tmp_path / "rows")
    selection = Selection("flow-1-3*", "")
    assert_same_rows(results.select(selection).flow_series, in_memory.select(selection).flow_series)


def test_a_full_disk_ends_the_runs_and_names_the_file(
    long: Scenario, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: RowFiles, run: int, name: str, rows: pa.Table) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/full/flow_series.0.parquet")

    monkeypatch.setattr(RowFiles, "add", full)
    with pytest.raises(OSError, match="No space left on device: '/full/flow_series"):
        long.run(rows=Path("/full"))
