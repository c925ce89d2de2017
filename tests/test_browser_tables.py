"""Tables of pages in a browser: sorted and filtered by mouse and keyboard, folded if long."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane.pages import report

CHROMIUM = os.environ.get("AIRLANE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no Chromium: apt-get install chromium, or AIRLANE_CHROMIUM=PATH", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: make .venv/stamps/dev")
pytest.importorskip("jinja2")

CELL = """
network = "lena"
[run]
duration = "1 s"
[[cell]]
name = "a"
[[ue]]
name = "phone"
count = 45
position = ["50 m", "0 m"]
[[flow]]
name = "load"
to = "phone"
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of a run with 45 flows; its panels show percentiles over them."""
    folder = tmp_path_factory.mktemp("tables") / "run"
    scenario = airlane.loads(CELL)
    results = scenario.run()
    results.write(folder, scenario.resolved, "cell.toml", written={"toml": CELL, "command": "airlane run it"})
    manifest = json.loads((folder / "manifest.json").read_text())
    report.write_run_html(results, manifest, "many", folder / "report.html")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 900}, offline=True)
        opened = context.new_page()
        opened.goto(Path(folder / "report.html").as_uri())
        yield opened
        browser.close()


def test_a_long_table_folds_sorts_and_filters(page: Any) -> None:
    flows = page.locator("#flows")
    assert not flows.locator("table").is_visible(), "45 rows are folded"
    flows.locator("summary").focus()
    page.keyboard.press("Enter")
    assert flows.locator("table").is_visible()
    place = flows.locator("thead th").all_inner_texts().index("goodput_mbps")
    heading = flows.locator("thead th").nth(place)

    def column() -> list[float]:
        cells = flows.locator(f"tbody tr:not([hidden]) td:nth-child({place + 1})").all_inner_texts()
        return [float(text) for text in cells]

    written = column()
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(written)
    page.keyboard.press("Enter")  # the heading has the focus
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted(written, reverse=True)
    flows.get_by_role("searchbox").fill("load-4")
    assert len(column()) == 7, "load-4 and load-40 to load-45"
    assert "7 of 45 rows" in flows.locator("[role=status]").inner_text()
    flows.get_by_role("searchbox").fill("")
    assert len(column()) == 45


def test_many_flows_are_percentiles_and_the_scenario_is_as_written(page: Any) -> None:
    labels = page.evaluate(
        "JSON.parse(document.querySelector('#series script').textContent).series.map(one => one.label)"
    )
    assert "median of 45 flows" in labels
    assert "load-1" not in labels
    assert 'count = 45\nposition = ["50 m", "0 m"]' in page.locator("#scenario pre").first.inner_text()
    assert page.locator("code.command").inner_text() == "airlane run it"
    assert "goodput, Mbit/s" in page.locator(".tiles").inner_text()
