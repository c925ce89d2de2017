"""The page of a run with many users: map by load, percentiles and worst users, no table of all."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane.pages import run as page
from airlane.pages.chart import Line
from airlane.pages.load_map import load_map
from airlane.pages.users import User, percentiles, users_of, worst, worst_table

CITY = """
[run]
duration = "500 ms"
warmup = "0 s"
ue_series = true
[layout]
kind = "hexagonal"
sites = 2
sectors = 3
inter_site_distance = "500 m"
[[cell]]
name = "city"
height = "25 m"
[[ue]]
name = "user"
count = 60
height = "1.5 m"
placement = "hexagonal"
[[flow]]
to = "user"
[[flow]]
to = "user-60"
app = { kind = "cbr", rate = "1 Mbit/s" }
transport = "udp"
"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> tuple[airlane.Results, dict[str, Any]]:
    file = tmp_path_factory.mktemp("city") / "city.toml"
    file.write_text(CITY)
    scenario = airlane.load(file)
    return scenario.run(), dict(scenario.settings)


def test_a_user_has_the_sum_of_its_flows(city: tuple[airlane.Results, dict[str, Any]]) -> None:
    results, scenario = city
    users = users_of(results, scenario)
    assert len(users) == 60
    rows = [row for row in results.flows.to_pylist() if row["ue"] == "user-60"]
    assert len(rows) == 2
    last = next(user for user in users if user.name == "user-60")
    assert last.goodput_mbps == pytest.approx(sum(row["goodput_mbps"] for row in rows))
    assert last.owd_p95_ms == max(row["owd_p95_ms"] for row in rows)
    assert all(user.place is not None and user.cell for user in users)


def test_the_worst_are_those_with_the_lowest_goodput() -> None:
    users = [User(f"u{k}", float(k), 1.0, 2.0) for k in range(100, 0, -1)]
    assert [user.name for user in worst(users)] == ["u1", "u2", "u3", "u4", "u5"]
    table = percentiles(users)
    # Values 1 to 100: the median is between 50 and 51, and 1 % of the way is 1 + 0.01 * 99.
    assert table.rows[0][1] == "1.99"
    assert table.rows[0][5] == "50.5"
    assert worst_table(users).columns == ["UE", "goodput, Mbit/s", "delay p50, ms", "delay p95, ms"]
    many = [User(f"u{k}", float(k), 1.0, 2.0) for k in range(10_000)]
    assert len(worst(many)) == 25


def test_the_map_has_every_cell_once_and_the_worst_users(
    city: tuple[airlane.Results, dict[str, Any]],
) -> None:
    results, scenario = city
    users = users_of(results, scenario)
    chart = load_map(results, scenario, users)
    assert chart is not None
    lines = [item for item in chart.panels[0].items if isinstance(item, Line)]
    loads = {row["cell"]: row["prb_use_downlink"] for row in results.cells.to_pylist()}
    triangles = [line for line in lines if "PRB" in line.series]
    for line in triangles:
        found = re.fullmatch(r"PRB use (\d+) to (\d+) %", line.series)
        assert found is not None
        low, high = (float(part) / 100 for part in found.groups())
        names = [word.removeprefix("cell ").partition(":")[0] for word in line.words]
        assert all(low <= loads[name] <= high for name in names)
    assert sum(len(line.words) for line in triangles) == 6
    circled = next(line for line in lines if line.series == "worst users")
    assert [word.partition(":")[0] for word in circled.words] == [user.name for user in worst(users)]
    # The sectors of a site are apart.
    places = {(round(x, 6), round(y, 6)) for one in triangles for x, y in zip(one.x, one.y, strict=True)}
    assert len(places) == 6


def test_a_page_of_many_flows_is_short(
    city: tuple[airlane.Results, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results, scenario = city
    monkeypatch.setattr(page, "_ROWS_MAX", 10)
    monkeypatch.setattr(page, "_SCENARIO_MAX", 1000)
    manifest = {"scenario": scenario, "airlane": "0", "toml": CITY}
    page.write_run_html(results, manifest, "city", tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    assert "The 10 flows with the lowest goodput of 61" in html
    assert "Percentiles over 60 users" in html
    assert "The 3 users with the lowest goodput" in html
    assert "<code>manifest.json</code> has it with all defaults" in html
    flows = html.split('<section id="flows">')[1].split("</section>")[0]
    head, *rows = (
        re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in flows.split("<tr>")[1:]
    )
    place = next(i for i, cell in enumerate(head) if "goodput_mbps" in cell)
    lowest = sorted(row["goodput_mbps"] for row in results.flows.to_pylist())[:10]
    assert sorted(float(row[place]) for row in rows) == [float(f"{one:.4g}") for one in lowest]
