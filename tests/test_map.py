"""The map of cells and UEs in the report of a run."""

import itertools

import numpy as np

import airlane
from airlane.pages.chart import Label, Line
from airlane.pages.map_chart import map_chart
from airlane.runs.positions import sites as sites_of

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
    sites = sites_of(scenario.settings)
    assert sites["a-2-3"] == (200.0, 0.0)
    table = results.tables["ue_series"].to_pylist()
    serving = {name: [row["cell"] for row in table if row["ue"] == name] for name in ("car-1", "car-2")}
    changes = sum(a != b for cells in serving.values() for a, b in itertools.pairwise(cells))
    assert changes >= 2, "nobody is handed over"
    chart = map_chart(results, sites)
    assert chart is not None
    (panel,) = chart.panels
    assert [item.text for item in panel.items if isinstance(item, Label)] == ["a-1", "a-2", "a-3"]
    tracks = [item for item in panel.items if isinstance(item, Line) and item.series in sites]
    gaps = sum(np.isnan(np.asarray(track.x)).sum() for track in tracks)
    assert gaps + len(tracks) == changes + 2, "parts of tracks"
    seen = {cell for cells in serving.values() for cell in cells}
    borders = panel.items[0]
    assert isinstance(borders, Line)
    # Three sites in an equilateral triangle: three borders, which meet in its middle.
    points = np.column_stack([borders.x, borders.y])
    middle = np.mean(list(sites.values()), axis=0) / 1000.0
    assert len(points) == 3 * 2 + 2, "two gaps between three borders"
    assert sum(np.allclose(point, middle) for point in points) == 3
    series = [one.label for one in chart.legend]
    assert series == [*(name for name in sites if name in seen), f"a UE changes its cell ({changes} times)"]


def test_no_map_without_tracks_or_with_one_cell() -> None:
    still = airlane.loads(TOWN.replace("ue_series = true", ""))
    assert map_chart(still.run(), sites_of(still.settings)) is None
    alone = airlane.loads(
        TOWN.replace("sites = 3\nsectors = 3", "sites = 1").replace('[handover]\nmode = "lossless"', "")
    )
    assert map_chart(alone.run(), sites_of(alone.settings)) is None
