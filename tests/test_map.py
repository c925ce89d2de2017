"""The map of cells and UEs in the report of a run."""

import itertools

import pytest

import airlane
from airlane import plot
from airlane.pages import report

LineCollection = pytest.importorskip("matplotlib.collections").LineCollection

TOWN = """
network = "lena"
[run]
duration = "4 s"
ue_series = true
[layout]
kind = "hexagonal"
sites = 3
sectors = 3
inter_site_distance = "200 m"
[[cell]]
name = "a"
rlc = "am"
[handover]
mode = "lossless"
[[ue]]
name = "car"
count = 2
position = ["10 m", "0 m"]
mobility = { kind = "line", towards = ["200 m", "0 m"], speed = "200 km/h" }
[[flow]]
to = "car"
"""


def test_the_map_shows_every_site_once_and_each_change_of_cell() -> None:
    scenario = airlane.loads(TOWN)
    results = scenario.run()
    sites = report.sites(scenario.settings)
    assert sites["a-2-3"] == (200.0, 0.0)
    table = results.tables["ue_series"].to_pylist()
    serving = {name: [row["cell"] for row in table if row["ue"] == name] for name in ("car-1", "car-2")}
    changes = sum(a != b for cells in serving.values() for a, b in itertools.pairwise(cells))
    assert changes >= 2, "nobody is handed over"
    figure = plot.draw_map(results, sites)
    assert figure is not None
    (axis,) = figure.axes
    assert [text.get_text() for text in axis.texts] == ["a-1", "a-2", "a-3"]
    ways = [c for c in axis.collections if isinstance(c, LineCollection)]
    assert sum(len(way.get_segments()) for way in ways) == changes + 2
    seen = {cell for cells in serving.values() for cell in cells}
    assert [way.get_label() for way in ways] == [name for name in sites if name in seen]
    (legend,) = figure.legends
    assert legend.get_texts()[0].get_text() == f"a UE changes its cell ({changes} times)"


def test_no_map_without_tracks_or_with_one_cell() -> None:
    still = airlane.loads(TOWN.replace("ue_series = true", ""))
    assert plot.draw_map(still.run(), report.sites(still.settings)) is None
    alone = airlane.loads(
        TOWN.replace("sites = 3\nsectors = 3", "sites = 1").replace('[handover]\nmode = "lossless"', "")
    )
    assert plot.draw_map(alone.run(), report.sites(alone.settings)) is None
