"""Sweeps: the grid, the seeds, the table, and mistakes in keys."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest

import airlane as package
from airlane.runs import sweep
from airlane.runs.figures import BY_NAME, figures_in
from conftest import Airlane

SHORT = {"run.duration": "3 s", "run.warmup": "1 s"}


def wired() -> package.Scenario:
    return package.load(package.example("wired-cubic")).set(SHORT)


def conducted(
    scenario: package.Scenario, of: dict[str, list[object]], runs: int, seed: int | None = None
) -> list[sweep.Point]:
    plan = sweep.planned(scenario, of, runs, seed)
    return plan.points(sweep.conduct(plan))


def test_axes() -> None:
    assert sweep.axes(["a.b=cubic,bbr", 'ue.0.position=["1 m", "2 m"],["3 m", "4 m"]', "x='1,2'"]) == {
        "a.b": ["cubic", "bbr"],
        "ue.0.position": [["1 m", "2 m"], ["3 m", "4 m"]],
        "x": ["1,2"],
    }
    with pytest.raises(ValueError, match="a is set twice"):
        sweep.axes(["a=1", "a=2"])


def test_a_range_is_all_its_values() -> None:
    assert sweep.axes(["a=20..100:20", "b=1,5..6:0.5 ms", "c=-1..1:1"]) == {
        "a": [20, 40, 60, 80, 100],
        "b": [1, "5.0 ms", "5.5 ms", "6.0 ms"],
        "c": [-1, 0, 1],
    }
    for none in ("3..1:1", "1..3:0", "0..1:0.00001"):
        with pytest.raises(ValueError, match="not a valid range"):
            sweep.axes([f"a={none}"])


def test_a_point_is_the_same_as_a_run_of_its_settings() -> None:
    points = conducted(wired(), {"flow.transport.congestion": ["cubic", "newreno"]}, runs=2, seed=5)
    assert [p.settings for p in points] == [
        {"flow.transport.congestion": "cubic"},
        {"flow.transport.congestion": "newreno"},
    ]
    alone = wired().set({"flow.0.transport.congestion": "newreno"}).run(runs=2, seed=5)
    # As text: NaN marks values that a bulk flow lacks, and equals nothing.
    assert str(points[1].flows.to_pylist()) == str(alone.flows.to_pylist())
    assert points[0].flows["seed"].to_pylist() == [5, 6]
    goodput = points[1].figure(BY_NAME["goodput_mbps"])
    assert goodput.mean == pytest.approx(np.mean(alone.flows["goodput_mbps"].to_numpy()))
    assert goodput.n == 2


def test_a_key_without_a_place_is_every_element() -> None:
    scenario = package.load(package.example("lte-20ue"))
    (point, variant), *_ = sweep.grid(scenario, {"transport.congestion": ["newreno"], "ue.count": [2, 3]})
    assert point == {"transport.congestion": "newreno", "ue.count": 2}
    assert variant.overrides == {"flow.0.transport.congestion": "newreno", "ue.0.count": 2}
    assert (
        len(list(sweep.grid(scenario, {"transport.congestion": ["cubic", "bbr"], "ue.count": [1, 2, 3]})))
        == 6
    )


LOSSY = {"internet.loss": "1 %"}
"""Runs that differ by their seed: on a wired link it only decides the losses."""


def test_the_seed_is_an_axis_like_another() -> None:
    points = conducted(wired().set(LOSSY), {"run.seed": [1, 2, 3]}, runs=1)
    assert [p.flows["seed"].to_pylist() for p in points] == [[1], [2], [3]]
    assert len({p.flows["goodput_mbps"][0].as_py() for p in points}) == 3
    # With several runs each, points have consecutive seeds starting with theirs.
    (seven,) = conducted(wired().set(LOSSY), {"run.seed": [7]}, runs=2)
    assert seven.flows["seed"].to_pylist() == [7, 8]


def test_every_way_to_name_the_seed_is_the_same() -> None:
    delay: dict[str, list[object]] = {"internet.delay": ["10 ms"]}
    ways = [
        conducted(wired().set(LOSSY), delay | {"run.seed": [7]}, runs=2),
        conducted(wired().set(LOSSY), delay, runs=2, seed=7),
        conducted(wired().set(LOSSY | {"run.seed": 7}), delay, runs=2),
    ]
    assert len({str(points[0].flows.to_pylist()) for points in ways}) == 1
    with pytest.raises(sweep.SweepError, match=r"set twice, by run\.seed and by --seed 5"):
        sweep.planned(wired(), {"run.seed": [1, 2]}, 1, seed=5)


def test_goodput_is_the_sum_of_the_flows_and_delay_their_mean() -> None:
    scenario = package.load(package.example("lte-20ue")).set(SHORT)
    (point,) = conducted(scenario, {"ue.count": [3]}, runs=1)
    figures = {f.name: point.figure(f).mean for f in figures_in("sweep") if point.has(f)}
    goodput = point.flows["goodput_mbps"].to_numpy()
    assert len(goodput) == 3
    assert figures["goodput_mbps"] == pytest.approx(goodput.sum())
    assert figures["owd_ms"] == pytest.approx(point.flows["owd_ms"].to_numpy().mean())
    assert figures["jain"] == pytest.approx(goodput.sum() ** 2 / (3 * (goodput**2).sum()))


def test_the_command_prints_a_table_and_writes_parquet(airlane: Airlane, tmp_path: Path) -> None:
    grid = ("--set", "transport.congestion=cubic,newreno", "--set", "run.duration=3s", "--runs", "3")
    done = airlane("sweep", "--example", "wired-cubic", *grid, "--set", "run.warmup=1s")
    assert done.returncode == 0, done.stderr
    assert "2 points, mean of 3 runs ± 95 %" in done.stdout
    assert "±" in next(line for line in done.stdout.splitlines() if "newreno" in line)
    assert airlane("sweep", "--example", "wired-cubic", *grid, "--set", "run.warmup=1s", "-o", "x.parquet")
    one_file = pyarrow.parquet.read_table(tmp_path / "x.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "out/sweeps/wired-cubic")
    assert str(table.sort_by("task").to_pylist()) == str(one_file.sort_by("task").to_pylist())
    assert table.num_rows == 6
    assert table.column_names[:7] == [
        "transport.congestion",
        "run.duration",
        "run.warmup",
        "run",
        "seed",
        "scenario",
        "task",
    ]
    assert len(set(table["scenario"].to_pylist())) == 2, "one for each point"
    rows = json.loads(
        airlane("sweep", "--example", "wired-cubic", *grid, "--set", "run.warmup=1s", "--json").stdout
    )
    assert [row["transport.congestion"] for row in rows] == ["cubic", "newreno"]
    assert rows[0]["n"] == 3
    of_cubic = one_file["goodput_mbps"].to_numpy()[:3]
    assert rows[0]["goodput_mbps"] == pytest.approx(of_cubic.mean())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ((), ("no --grid",)),
        (("ue.count",), ("ue.count", "KEY=VALUE,VALUE")),
        (("transport.congestions=cubic,bbr",), ("congestions", "did you mean `congestion`")),
        (("transport.congestion=cubic,cubik",), ("cubik", "cubic")),
        (("ue.count=1,many",), ("ue.0.count", "many")),
        (("uee.count=1",), ("uee", "did you mean `ue`")),
        (("ue.count=1", "ue.count=2"), ("set twice",)),
        (("run.seed=1..10000:1", "ue.count=1..9000:1"), ("90,000,000 points", "at most")),
    ],
)
def test_a_mistake_is_named_before_anything_runs(
    airlane: Airlane, tmp_path: Path, settings: tuple[str, ...], words: tuple[str, ...]
) -> None:
    options = [word for setting in settings for word in ("--set", setting)]
    done = airlane("sweep", "--example", "lte-20ue", *options)
    assert done.returncode == 2
    assert all(word in done.stderr for word in words), done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
