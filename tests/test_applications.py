"""Results of applications: columns of `flows`, tables, sweeps; no transfer is omitted."""

import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import airlane as package
from airlane.runs.applications import with_applications
from airlane.runs.figures import BY_NAME, per_run
from conftest import Airlane

NAN = math.nan

PAGES = {
    "flow": ["a", "a", "a", "b"],
    "start_s": [0.0, 2.0, 4.0, 5.0],
    "ttfb_s": [0.5, 0.7, NAN, NAN],
    "onload_s": [2.0, 4.0, NAN, NAN],
}
VIEWS = {
    "flow": ["c", "c"],
    "start_s": [1.0, 6.0],
    "startup_s": [1.0, 3.0],
    "stalls": [2, 1],
    "stalled_s": [1.5, 0.5],
    "bitrate_kbps": [1000.0, NAN],
    "finished": [True, False],
}


PINGS = {
    "flow": ["e"] * 7 + ["f"],
    "t_s": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 9.9, 9.9],
    "rtt_ms": [900.0, 40.0, 30.0, NAN, 60.0, 50.0, NAN, NAN],
    "lost": [False, False, False, True, False, False, False, False],
    "measured": [False] + [True] * 7,
}


def test_columns_of_flows_by_hand() -> None:
    flows = pa.table({"flow": ["a", "b", "c", "d"], "run": [0, 0, 0, 0]})
    found = with_applications({"flows": flows, "pages": pa.table(PAGES), "views": pa.table(VIEWS)}, 10.0)
    # a: pages of 2 s and 4 s, and one that was observed for 6 s without an end. The Kaplan-Meier curve is 1
    # up to 2 s, 2/3 up to 4 s, 1/3 up to the 10 s for which the first was observed: 2 + 4/3 + 6/3.
    assert found["page_s"].to_pylist() == [pytest.approx(2 + 4 / 3 + 2), 5.0, None, None]
    assert found["pages_begun"].to_pylist() == [3, 1, None, None]
    assert found["pages_completed"].to_pylist() == [2, 0, None, None]
    assert found["ttfb_s"].to_pylist()[0] == pytest.approx(0.6)
    assert str(found["ttfb_s"].to_pylist()[1]) == "nan", "of a page that did not complete nothing is known"
    assert found["startup_s"].to_pylist() == [None, None, 2.0, None]
    assert found["stalls"].to_pylist() == [None, None, 3, None]
    assert found["rebuffering_s"].to_pylist() == [None, None, 2.0, None]
    assert found["bitrate_kbps"].to_pylist() == [None, None, 1000.0, None]
    # Of the run: each page counts once, so that flow a has weight three and b one.
    assert per_run(BY_NAME["page_s"], found) == [pytest.approx((3 * (2 + 4 / 3 + 2) + 5) / 4)]
    assert per_run(BY_NAME["stalls"], found) == [3.0]


def test_pings_by_hand() -> None:
    flows = pa.table({"flow": ["d", "e", "f"], "run": [0, 0, 0]})
    found = with_applications({"flows": flows, "pings": pa.table(PINGS)}, 10.0)
    # e: that of the warm-up does not count, one was lost, one was under way at the end.
    assert found["pings_sent"].to_pylist() == [None, 6, 1]
    assert found["pings_answered"].to_pylist() == [None, 4, 0]
    assert found["pings_lost"].to_pylist() == [None, 1, 0]
    # Nearest rank of 30, 40, 50 and 60 ms: the second and the fourth.
    assert found["rtt_p50_ms"].to_pylist()[:2] == [None, 40.0]
    assert found["rtt_p95_ms"].to_pylist()[:2] == [None, 60.0]
    assert found["rtt_max_ms"].to_pylist()[:2] == [None, 60.0]
    assert str(found["rtt_p50_ms"].to_pylist()[2]) == "nan", "no request of f was answered"
    assert per_run(BY_NAME["pings_lost"], found) == [1.0]
    assert per_run(BY_NAME["rtt_p50_ms"], found) == [40.0]


def test_a_run_without_a_page_has_the_same_columns() -> None:
    none = pa.table({n: pa.array([], pa.string() if n == "flow" else pa.float64()) for n in PAGES})
    flows = pa.table({"flow": ["a"]})
    with_none = with_applications({"flows": flows, "pages": none}, 10.0)
    with_some = with_applications({"flows": flows, "pages": pa.table(PAGES)}, 10.0)
    assert with_none.schema == with_some.schema
    assert with_none["page_s"].to_pylist() == [None]


def web(duration: str = "30 s") -> package.Scenario:
    return package.load(package.example("web-2011")).set({"run.duration": duration})


def test_where_all_completed_it_is_the_plain_mean() -> None:
    results = web("32 s").run()
    assert results.pages.num_rows > 1
    times = results.pages["onload_s"].to_numpy()
    assert not np.isnan(times).any(), "choose a duration at which no page is under way"
    assert results.flows["page_s"].to_pylist() == [pytest.approx(times.mean())]
    with pytest.raises(AttributeError, match=r"no table 'views'.*app\.kind = \"video\" or \"dash\""):
        _ = results.views


def test_run_prints_them_and_gives_them_to_programs(airlane: Airlane, tmp_path: Path) -> None:
    out = tmp_path / "run"
    said = airlane("run", "--example", "web-2011", "--set", "run.duration=30s", "-o", str(out))
    assert "web pages" in said.stdout
    assert "page time" in said.stdout
    rows = json.loads(
        airlane("run", "--example", "web-2011", "--set", "run.duration=30s", "-o", str(out), "--json").stdout
    )
    assert rows[0]["pages_begun"] >= rows[0]["pages_completed"] > 0
    assert 0.0 < rows[0]["ttfb_s"] < rows[0]["page_s"]
    assert "page_s" in (out / "summary.csv").read_text().splitlines()[0]


def test_a_sweep_has_them(airlane: Airlane, tmp_path: Path) -> None:
    asked = ["--example", "web-2011", "--grid", "internet.delay=10ms,200ms", "--grid", "run.duration=30s"]
    asked += ["--runs", "3", "-o", str(tmp_path / "sweep")]
    rows = json.loads(airlane("sweep", *asked, "--json").stdout)
    assert rows[1]["page_s"] > 2.0 * rows[0]["page_s"], (
        "some round trips of 400 ms stand against some of 20 ms"
    )
    assert rows[0]["page_s_n"] == 3
    few = json.loads(airlane("sweep", *asked, "--columns", "page_s, ttfb_s", "--json").stdout)
    assert [k for k in few[0] if k.endswith("_s")] == ["page_s", "ttfb_s"]
    assert few[0]["page_s"] == rows[0]["page_s"]
    assert "completed" in airlane("sweep", *asked).stdout


@pytest.mark.parametrize(
    ("columns", "said"),
    [("nonsense", "unknown metric"), ("bitrate_kbps", "no flow of this scenario has this metric")],
)
def test_columns_are_checked_before_anything_runs(
    columns: str, said: str, airlane: Airlane, tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    asked = ["--example", "web-2011", "--grid", "internet.delay=1ms", "-o", str(out), "--columns", columns]
    failed = airlane("sweep", *asked)
    assert failed.returncode == 2
    assert said in failed.stderr
    assert "page_s" in failed.stderr
    assert not out.exists()


def test_pings_agree_in_all_tables(airlane: Airlane, tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = ("run", "--example", "lte-ping", "--set", "run.warmup=2s", "-o", str(out))
    said = airlane(*asked).stdout
    assert "pings" in said
    assert "answered" in said
    results = package.Results.read(out)
    pings, flow = results.pings, results.flows.to_pylist()[0]
    rtt, counted = pings["rtt_ms"].to_numpy(), pings["measured"].to_numpy(zero_copy_only=False)
    assert pings["sequence"].to_pylist() == list(range(1, 121)), "ten requests a second for 12 s"
    assert counted.tolist() == [False] * 20 + [True] * 100
    answered = np.sort(rtt[counted & np.isfinite(rtt)])
    assert flow["pings_sent"] == 100
    assert flow["pings_answered"] == answered.size > 90
    assert flow["rtt_ms"] == pytest.approx(answered.mean())
    assert flow["rtt_min_ms"] == answered[0]
    assert flow["rtt_p95_ms"] == answered[math.ceil(0.95 * answered.size) - 1]
    assert flow["pings_lost"] == int(pings["lost"].to_numpy(zero_copy_only=False)[counted].sum())
    # The queue of the download, 512 KiB at the most, is what the replies wait in.
    t = pings["t_s"].to_numpy()
    assert np.nanmedian(rtt[(t > 2) & (t < 8)]) > 2.0 * np.nanmedian(rtt[t < 1])
