"""Comparison of runs and sweeps: pairs, intervals, undecided cases, and invalid comparisons."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import airlane as package
from airlane.pages.bins import BINS_MAX, thinned
from airlane.runs.figures import BY_NAME
from airlane.study import compare
from airlane.study.compare import Side
from conftest import Airlane


def side(name: str, by_seed: dict[int, float]) -> Side:
    return Side(
        name,
        pa.table(
            {
                "run": list(range(len(by_seed))),
                "seed": list(by_seed),
                "flow": ["a"] * len(by_seed),
                "goodput_mbps": list(by_seed.values()),
            }
        ),
    )


def test_differences_are_of_equal_seeds_by_hand() -> None:
    # Differences of seeds 2 and 3: 2.0 and 2.2. Mean 2.1, deviation 0.1414, t(0.975, 1) = 12.706:
    # half-width 12.706 × 0.1414 / √2 = 1.2706.
    one = side("one", {1: 100.0, 2: 10.0, 3: 20.0})
    other = side("other", {3: 22.2, 2: 12.0, 9: 0.0})
    found = compare.compare([one, other])
    versus = found.versus(other, BY_NAME["goodput_mbps"])
    assert versus.difference.n == 2
    assert versus.difference.mean == pytest.approx(2.1)
    assert versus.difference.half_width == pytest.approx(1.2706, rel=1e-3)
    assert versus.ratio == pytest.approx((12.0 + 22.2) / 30.0)
    (note,) = found.notes()
    assert (
        note
        == "one and other share 2 seeds; 2 runs of either with other seeds have no part in the differences"
    )


def test_one_run_has_no_interval_and_says_so() -> None:
    found = compare.compare([side("one", {1: 10.0}), side("other", {1: 20.0})])
    (row,) = [row for row in compare.as_json([found])["points"][0]["figures"] if row["run"] == "other"]
    assert row["minus_base"] == 10.0
    assert row["minus_base_ci95"] is None
    assert row["verdict"] == "open"
    assert "no interval" in compare.as_json([found])["points"][0]["notes"][0]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs each of two controllers, another with other seeds, and a sweep."""
    at = tmp_path_factory.mktemp("compare")
    base = package.load(package.example("wired-cubic")).set({"run.duration": "4 s", "run.warmup": "1 s"})
    for name, congestion, seed in (("cubic", "cubic", 1), ("newreno", "newreno", 1), ("later", "cubic", 50)):
        scenario = base.set({"flow.0.transport.congestion": congestion})
        scenario.run(runs=3, seed=seed).write(at / name, scenario.resolved, "wired-cubic.toml")
    return at


def test_the_command_says_what_differs_and_writes_a_page(folders: Path, airlane: Airlane) -> None:
    page = folders / "page.html"
    done = airlane("compare", folders / "cubic", folders / "newreno", "-o", page)
    assert done.returncode == 0, done.stderr
    assert "flow.0.transport.congestion: cubic | newreno" in done.stdout
    assert "difference to cubic" in done.stdout
    text = page.read_text()
    assert "goodput, all flows" in text
    assert "http" not in text.replace("http://www.w3.org", "").split("<script>")[0]
    rows = json.loads(airlane("compare", folders / "cubic", folders / "newreno", "--json").stdout)
    assert rows["baseline"] == "cubic"
    assert rows["scenarios_differ"] == {"newreno": ["flow.0.transport.congestion: cubic | newreno"]}
    goodput = [row for row in rows["points"][0]["figures"] if row["figure"] == "goodput_mbps"]
    assert [row["run"] for row in goodput] == ["cubic", "newreno"]
    assert goodput[1]["minus_base"] == pytest.approx(goodput[1]["mean"] - goodput[0]["mean"])
    assert goodput[1]["pairs"] == 3


@pytest.mark.parametrize(
    ("named", "said"),
    [
        (["cubic"], "name two or more folders"),
        (["cubic", "nowhere"], "nowhere does not exist"),
        (["cubic", "."], "is not a result folder of `airlane run`"),
        (["cubic", "cubic"], "is named twice"),
        (["cubic", "later"], "run later again with --seed 1 --runs 3"),
        (
            ["cubic", "newreno", "--columns", "page_s"],
            "there is no such figure here; there are: goodput_mbps",
        ),
    ],
)
def test_what_cannot_be_compared(named: list[str], said: str, folders: Path, airlane: Airlane) -> None:
    words = [folders / word if not word.startswith("--") and word != "page_s" else word for word in named]
    failed = airlane("compare", *words)
    assert failed.returncode == 2
    assert said in failed.stderr


def test_sweeps_are_compared_point_by_point(tmp_path: Path, airlane: Airlane) -> None:
    common = ["--example", "wired-cubic", "--grid", "internet.delay=10 ms,5 ms", "--grid", "run.duration=3s"]
    for name, congestion in (("a", "cubic"), ("b", "newreno")):
        setting = f"flow.transport.congestion={congestion}"
        done = airlane("sweep", *common, "--grid", setting, "--runs", "2", "-o", tmp_path / name, "--plot")
        assert done.returncode == 0, done.stderr
        assert (tmp_path / f"{name}.png").stat().st_size > 5_000
        assert f"written to {tmp_path / name}/ ({tmp_path / name}.png: the figures)" in done.stdout
    refused = airlane("compare", tmp_path / "a", tmp_path / "b")
    assert refused.returncode == 2
    assert "no point in common" in refused.stderr, "the controller is a key of both, with other values"
    for name in ("a2", "b2"):
        airlane("sweep", *common[:4], "--set", "run.duration=3s", "--runs", "2", "-o", tmp_path / name)
    rows = json.loads(airlane("compare", tmp_path / "a2", tmp_path / "b2", "--json").stdout)
    assert [point["settings"] for point in rows["points"]] == [
        {"internet.delay": "10 ms", "run.duration": "3s"},
        {"internet.delay": "5 ms", "run.duration": "3s"},
    ]
    assert rows["points"][0]["figures"][1]["minus_base"] == 0.0
    made = airlane("report", tmp_path / "a2")
    assert made.returncode == 0, made.stderr
    assert "internet.delay" in (tmp_path / "a2.html").read_text()
    assert airlane("report", tmp_path / "a2", tmp_path / "b2").returncode == 0
    assert (tmp_path / "b2.html").exists()
    # pandas and pyarrow read every file of the folder as data.
    for command in (
        ["report", tmp_path / "a2", "-o"],
        ["compare", tmp_path / "a2", tmp_path / "b2", "--report"],
    ):
        refused = airlane(*command, tmp_path / "a2/page.html")
        assert refused.returncode == 2
        assert f"write {tmp_path / 'a2.html'}" in refused.stderr
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_parquet(tmp_path / "a2")) == 4
    assert {file.name[0] for file in (tmp_path / "a2").iterdir()} <= {"p", "_", "."}
    mixed = airlane("compare", tmp_path / "a2", tmp_path)
    assert mixed.returncode == 2
    assert "is not a sweep" in mixed.stderr


def test_a_long_series_keeps_its_extremes() -> None:
    t = np.arange(14_000, dtype=np.float64)
    y = np.ones(14_000)
    y[7_777] = 50.0
    found = thinned(t, y)
    assert found.t.size == found.mean.size == found.low.size <= BINS_MAX
    assert found.high.max() == 50.0
    assert found.low.min() == 1.0
    # A bin has 35 values: 34 of 1 and one of 50.
    assert found.mean.max() == pytest.approx((34 + 50) / 35)
    assert thinned(t[:100], y[:100]).mean.tolist() == y[:100].tolist()


def test_delays_of_bytes_and_of_packets_are_not_compared(tmp_path: Path, airlane: Airlane) -> None:
    """A split proxy: the delay of its packets would leave out the path before it."""
    path = [
        "--set",
        "internet.delay=80 ms",
        "--set",
        "run.duration=4 s",
        "--set",
        "run.warmup=1 s",
        "--runs",
        "3",
    ]
    proxy = ["--set", 'middlebox=[{kind = "split-proxy"}]']
    for name, more in (("plain", []), ("split", proxy)):
        done = airlane("run", "--example", "lte-download", *path, *more, "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
    said = json.loads(airlane("compare", tmp_path / "plain", tmp_path / "split", "--json").stdout)
    (point,) = said["points"]
    rows = {(row["figure"], row["run"]): row for row in point["figures"]}
    for column in ("owd_ms", "owd_p95_ms", "byte_delay_ms", "byte_delay_p95_ms"):
        assert rows[column, "split"]["mean"] >= 80.0, column
    for column in ("owd_ms", "owd_p95_ms"):
        assert rows[column, "split"]["verdict"] == "open"
        assert rows[column, "split"]["pairs"] == 0
    assert rows["byte_delay_ms", "split"]["pairs"] == 3
    assert any("byte_delay_ms is the same measure" in note for note in point["notes"])
    same = json.loads(airlane("compare", tmp_path / "split", tmp_path / "split", "--json").stdout or "null")
    assert same is None, "a folder cannot be named twice"
    alone = airlane("compare", tmp_path / "plain", tmp_path / "split", "--columns", "byte_delay_p95_ms")
    assert "95th percentile of the delay of bytes" in alone.stdout
