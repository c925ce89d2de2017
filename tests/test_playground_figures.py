"""The playground's statistics equal those of the package: figures, intervals, wording, table of differences.

The page computes them in TypeScript. The tests run that code in Node and compare its answers with Python's.
"""

from __future__ import annotations

import json
import math
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane import native
from airlane.commands import terminal
from airlane.pages import comparison_page
from airlane.results import Results
from airlane.runs.applications import with_applications
from airlane.runs.figures import BY_NAME, per_run, versus
from airlane.stats import Scale, estimate
from airlane.study import compare
from airlane.study.compare import Side
from conftest import ROOT

FOLDER = ROOT / "playground"


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Skip if Node or the packages of the playground are missing."""
    if shutil.which("node") is None:
        pytest.skip("no Node: https://nodejs.org")
    if not (FOLDER / "node_modules/esbuild").exists():
        pytest.skip("the packages of the playground are not installed: make playground")


def asked(questions: list[dict[str, Any]]) -> list[Any]:
    """The answers of the page's code."""
    command: list[str | Path] = ["node", FOLDER / "tools/figures.mjs"]
    text = json.dumps(questions, default=list).replace("NaN", "null")
    done = subprocess.run(command, input=text, text=True, check=True, capture_output=True, encoding="utf-8")
    found: list[Any] = json.loads(done.stdout)
    return found


def same(one: object, other: object) -> bool:
    """Equal numbers up to rounding; NaN and infinity are transferred as null."""
    if one is None or other is None:
        return all(v is None or not math.isfinite(float(str(v))) for v in (one, other))
    return math.isclose(float(str(one)), float(str(other)), rel_tol=1e-9, abs_tol=1e-12)


def test_the_list_of_figures() -> None:
    (there,) = asked([{"kind": "figures"}])
    names = {one["name"] for one in there}
    assert set(compare.FIGURES) <= names
    for one in there:
        ours = BY_NAME[one["name"]]
        assert (ours.title, ours.unit, str(ours.better), str(ours.scale)) == (
            one["title"], one["unit"], one["better"], one["scale"],
        )  # fmt: skip
        assert (ours.least, ours.least_absolute) == (one["least"], one["leastAbsolute"])
        assert list(ours.columns) == one["columns"]


def samples() -> list[list[float]]:
    """Values of runs: few and many, equal, zero, missing, near bounds."""
    drawn = random.Random(4)
    many = [[drawn.gauss(mean, 1.0) for _ in range(n)] for n in range(1, 12) for mean in (0.0, 5.0, 1e4)]
    shares = [[drawn.random() for _ in range(n)] for n in (2, 3, 8, 31)]
    nan = math.nan
    return [
        *many,
        *shares,
        [],
        [nan],
        [nan, 1.0, 2.0, nan, 4.0],
        [0.0, 0.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 1.0],
        [2.5] * 5,
        [0.0, 1.0, 0.5],
        [1e-9, 3e-9, 2e-9],
    ]


@pytest.mark.parametrize("scale", list(Scale))
def test_means_and_intervals(scale: Scale) -> None:
    positive = scale is Scale.RATIO
    values = [one for one in samples() if not positive or all(v > 0.0 or math.isnan(v) for v in one)]
    if scale is Scale.BOUNDED:
        values = [one for one in values if all(0.0 <= v <= 1.0 or math.isnan(v) for v in one)]
    assert len(values) > 4
    answers = asked([{"kind": "estimate", "values": one, "scale": scale} for one in values])
    for given, there in zip(values, answers, strict=True):
        here = estimate(given, scale=scale)
        assert here.n == there["n"], given
        assert same(here.mean, there["mean"]), given
        assert (here.half_width is None) == (there["halfWidth"] is None), given
        assert same(here.half_width, there["halfWidth"]), given
        assert same(here.low, there["low"]), given
        assert same(here.high, there["high"]), given
        assert terminal.interval(here) == there["written"], given


@pytest.mark.parametrize("scale", list(Scale))
def test_paired_differences(scale: Scale) -> None:
    drawn = random.Random(7)
    pairs = []
    for n in (0, 1, 2, 3, 5, 20):
        for shift in (0.0, 0.01, 0.3):
            one = [drawn.uniform(0.2, 0.6) for _ in range(n)]
            other = [v + shift + drawn.gauss(0.0, 0.01) for v in one]
            pairs.append((one, other))
    pairs.append(([1.0, math.nan, 3.0, 4.0], [1.5, 2.0, 3.1, 4.2]))
    questions = [
        {"kind": "versus", "one": a, "other": b, "scale": scale, "least": 0.05, "leastAbsolute": 0.001}
        for a, b in pairs
    ]
    outcomes = set()
    for (a, b), there in zip(pairs, asked(questions), strict=True):
        here = versus(a, b, scale, 0.05, 0.001)
        outcomes.add(str(here.outcome))
        assert str(here.outcome) == there["outcome"]
        assert same(here.ratio, there["ratio"])
        assert here.difference.n == there["difference"]["n"]
        assert same(here.difference.mean, there["difference"]["mean"])
        assert same(here.difference.half_width, there["difference"]["halfWidth"])
    assert {"open", "less"} <= outcomes


CHANGES = {
    "lte-download": "cell.0.rlc.buffer",
    "lte-ping": "cell.0.rlc.buffer",
    "video": "internet.delay",
    "web-2011": "internet.delay",
}
VALUES = {"cell.0.rlc.buffer": "64 KiB", "internet.delay": "90 ms"}


def runs_of(results: Results) -> list[dict[str, Any]]:
    """The table `flows` of each run, in the form of the page."""
    rows = results.flows.to_pylist()
    columns = [name for name in results.flows.column_names if name not in ("run", "seed")]
    return [
        {
            "seed": seed,
            "flows": {name: [row[name] for row in rows if row["run"] == run] for name in columns},
        }
        for run, seed in enumerate(results.seeds)
    ]


@pytest.mark.parametrize("name", CHANGES)
def test_values_and_the_table_of_differences(name: str, scenarios: Path) -> None:
    scenario = airlane.load(scenarios / f"{name}.toml").set({"run.duration": "12 s"})
    changed = scenario.set({CHANGES[name]: VALUES[CHANGES[name]]})
    sides = [
        Side(label, results.flows, one.settings, results)
        for label, one, results in (
            ("pinned", scenario, scenario.run(runs=3)),
            ("now", changed, changed.run(runs=3)),
        )
    ]
    comparison = compare.compare(sides)
    told: list[dict[str, Any]] = [
        {"name": side.name, "runs": runs_of(side.results)} for side in sides if side.results is not None
    ]
    values, rows, differ = asked(
        [
            {"kind": "values", "flows": told[0]["runs"][0]["flows"]},
            {"kind": "rows", "sides": told},
            {"kind": "differences", "one": sides[0].scenario, "other": sides[1].scenario},
        ]
    )
    assert len(values) >= 12
    for figure, value in values.items():
        assert same(per_run(BY_NAME[figure], sides[0].flows)[0], value), figure
    here = [
        (figure.full, *row)
        for figure in comparison.figures
        for row in comparison_page._rows(comparison, figure)
    ]
    there = [
        (r["figure"], r["run"], r["value"], r["difference"], r["ratio"], r["verdict"])
        for r in rows
        if r["figure"] in {figure.full for figure in comparison.figures}
    ]
    assert there == here
    assert len(here) >= 12
    assert differ == compare.differences(sides[0].scenario, sides[1].scenario)


@pytest.mark.parametrize("name", ["lte-ping", "video", "dash", "web-2011", "call", "nr-cloud-gaming"])
@pytest.mark.parametrize("duration_s", [4, 20])
def test_figures_of_applications(name: str, duration_s: int, scenarios: Path) -> None:
    """In a short run some pages and views do not end."""
    scenario = airlane.load(scenarios / f"{name}.toml")
    settings = {"run.duration": f"{duration_s} s", "run.warmup": "0 s"}
    (run,) = native.run([(scenario.set(settings).resolved, 3)], 1)
    tables = {
        key: table.drop_columns(["run", "seed"]) if "run" in table.column_names else table
        for key, table in run.tables.items()
    }
    here = with_applications(tables, float(duration_s)).to_pydict()
    wanted = ("flows", "pages", "views", "pings", "frames", "xr_frames")
    told = {key: table.to_pydict() for key, table in tables.items() if key in wanted}
    (there,) = asked([{"kind": "applications", "tables": told, "end": float(duration_s)}])
    assert list(there) == list(here)
    assert len(here) > len(tables["flows"].column_names)
    for column, values in here.items():
        for one, other in zip(values, there[column], strict=True):
            assert one == other or same(one, other), column


TEXT = """# a network
network = "typical" # preset

[run]
duration = "10 s"

[[cell]]
name = "a"
position = ["0 m", "0 m"] # here
scheduler = "pf"
rlc = { mode = "am", buffer = "512 KiB" }

# the phone
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[ue.mobility]
kind = "line"

[[flow]]
to = "phone"
"""


@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (["network"], "lena", '"typical" # preset', '"lena" # preset'),
        (["cell", 0, "position"], ["5 m", "-3 m"], '["0 m", "0 m"] # here', '["5 m", "-3 m"] # here'),
        (["cell", 0, "rlc", "buffer"], "64 KiB", "512 KiB", "64 KiB"),
        (["cell", 0, "rlc", "aqm"], "codel", '512 KiB" }', '512 KiB", aqm = "codel" }'),
        (["run", "seed"], 7, 'duration = "10 s"', 'duration = "10 s"\nseed = 7'),
        (["ue", 0, "mobility", "speed"], "3 km/h", 'kind = "line"', 'kind = "line"\nspeed = "3 km/h"'),
        (["ue", 0, "count"], 3, '["100 m", "0 m"]', '["100 m", "0 m"]\ncount = 3'),
        (["internet", "delay"], "9 ms", 'to = "phone"\n', 'to = "phone"\n\n[internet]\ndelay = "9 ms"\n'),
        (
            ["flow", 0, "transport", "congestion"],
            "bbr",
            'to = "phone"',
            'to = "phone"\ntransport.congestion = "bbr"',
        ),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, list) else None,
)
def test_a_value_changes_and_nothing_else(path: list[Any], value: object, old: str, new: str) -> None:
    (there,) = asked([{"kind": "set", "text": TEXT, "path": path, "value": value}])
    assert TEXT.count(old) == 1
    assert there == TEXT.replace(old, new)


def test_a_section_is_removed_with_what_belongs_to_it() -> None:
    (there,) = asked([{"kind": "remove", "text": TEXT, "path": ["ue", 0]}])
    assert there == TEXT.replace(TEXT[TEXT.index("[[ue]]") : TEXT.index("[[flow]]")], "")
