"""Figures of one flow, of groups of flows, and of all, in runs, sweeps and comparisons alike."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from airlane.runs import sweep
from airlane.runs.figures import BY_NAME
from airlane.runs.selection import Selection, SelectionError
from airlane.study import compare
from airlane.study.compare import CompareError, Side
from conftest import Airlane

GOODPUT = BY_NAME["goodput_mbps"]


def flows(rates: dict[str, float], seeds: tuple[int, ...] = (1, 2)) -> pa.Table:
    """Two runs of these flows; a name is that of its controller and a number."""
    rows = [(run, seed, name) for run, seed in enumerate(seeds) for name in rates]
    return pa.table(
        {
            "run": [run for run, *_ in rows],
            "seed": [seed for _, seed, _ in rows],
            "flow": [name for *_, name in rows],
            "congestion": [name.partition("-")[0] for *_, name in rows],
            "goodput_mbps": [rates[name] + run for run, _, name in rows],
        }
    )


FOUR = flows({"cubic-1": 1.0, "cubic-2": 2.0, "bbr-1": 4.0, "bbr-2": 8.0})


def test_flows_are_chosen_by_name_and_pattern() -> None:
    assert set(Selection("cubic-*,bbr-2").of(FOUR)["flow"].to_pylist()) == {"cubic-1", "cubic-2", "bbr-2"}
    assert Selection().of(FOUR) is FOUR
    with pytest.raises(SelectionError, match=r"--flow vegas\*: there is no such flow; there are: cubic-1, "):
        Selection("cubic-1,vegas*").of(FOUR)


def test_a_group_is_every_value_of_a_column_of_names() -> None:
    groups = Selection(by="congestion").groups(FOUR)
    assert {name: group.num_rows for name, group in groups.items()} == {"cubic": 4, "bbr": 4}
    assert list(Selection("*-2", "congestion").groups(FOUR)) == ["cubic", "bbr"]
    with pytest.raises(SelectionError, match=r"--by goodput_mbps: .* there are: flow, congestion"):
        Selection(by="goodput_mbps").groups(FOUR)


def test_a_point_of_a_sweep_has_a_row_for_each_group() -> None:
    one, other = sweep.Point({"n": 1}, FOUR), sweep.Point({"n": 2}, flows({"cubic-1": 5.0}))
    found = sweep.selected([one, other], Selection(by="congestion"))
    means = [(point.settings, point.figure(GOODPUT).mean) for point in found]
    # Sums over the flows, means over two runs, of which each flow has 1 Mbit/s more in the second.
    assert means == [
        ({"n": 1, "congestion": "cubic"}, 4.0),
        ({"n": 1, "congestion": "bbr"}, 13.0),
        ({"n": 2, "congestion": "cubic"}, 5.5),
    ]
    # A flow that only one point has is a point less, not an error; one that none has is an error.
    assert len(sweep.selected([one, other], Selection("bbr-1"))) == 1
    with pytest.raises(SelectionError, match="no such flow"):
        sweep.selected([one, other], Selection("reno"))


def test_each_group_is_compared_with_the_same_group() -> None:
    sides = [Side("one", FOUR), Side("other", flows({"bbr-1": 6.0, "reno-1": 1.0}))]
    (found,) = compare.selected(sides, Selection(by="congestion"))
    point, group = found
    assert point == {"congestion": "bbr"}
    versus = compare.compare(group).versus(group[1], GOODPUT)
    assert versus.difference.mean == pytest.approx(6.5 - 13.0)
    apart = [Side("one", Selection("cubic-*").of(FOUR)), sides[1]]
    with pytest.raises(CompareError, match=r"no group in common \(one: cubic; other: bbr, reno\)"):
        compare.selected(apart, Selection(by="congestion"))


def test_the_commands_take_the_same_options(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    short = ("--set", "run.duration=2s", "--set", "run.warmup=0s", "--set", "ue.0.count=2")
    first = airlane("run", scenarios / "lte-download.toml", *short, "-o", "one", "--by", "ue")
    assert first.returncode == 0, first.stderr
    assert "flows by ue" in first.stdout
    again = airlane("run", scenarios / "lte-download.toml", *short, "-o", "two", "--flow", "nobody")
    assert again.returncode == 2
    assert "--flow nobody: there is no such flow; there are: " in again.stderr
    assert not (tmp_path / "two").exists()  # found before the run
    again = airlane("run", scenarios / "lte-download.toml", *short, "-o", "two", "--by", "ue", "--json")
    groups = json.loads(again.stdout)
    assert len(groups) == 2
    assert all("ue" in group and "goodput_mbps" in group for group in groups)
    both = airlane("compare", "one", "two", "--by", "ue", "--json")
    assert both.returncode == 0, both.stderr
    points = json.loads(both.stdout)["points"]
    assert len(points) == 2
    assert all(set(point["settings"]) == {"ue"} for point in points)
    grid = ("--grid", "run.duration=6s,7s", "--runs", "1", "--by", "congestion", "--json")
    swept = airlane("sweep", scenarios / "lte-download.toml", *grid, "-o", "swept")
    assert swept.returncode == 0, swept.stderr
    assert [row["congestion"] for row in json.loads(swept.stdout)] == ["cubic", "cubic"]
