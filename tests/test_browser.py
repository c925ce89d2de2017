"""The pages of reports in a browser: headless Chromium, real clicks and keys, no network.

Chromium is the machine's own: `chromium` or the program in AIRLANE_CHROMIUM. Without it these tests are
skipped.
"""

import csv
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import airlane
from airlane import native, papers
from airlane.cache import Cache
from airlane.experiments import conduct
from airlane.pages import report
from conftest import ROOT
from test_docs import Document, commands

CHROMIUM = os.environ.get("AIRLANE_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
if CHROMIUM is None:
    pytest.skip("no Chromium: apt-get install chromium, or AIRLANE_CHROMIUM=PATH", allow_module_level=True)
sync_api = pytest.importorskip("playwright.sync_api", reason="no playwright: make .venv/stamps/dev")
Page: TypeAlias = Any
Locator: TypeAlias = Any

pytest.importorskip("jinja2")

WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

STREET = """
network = "lena"
[run]
duration = "8 s"
ue_series = true
[handover]
mode = "seamless"
[[cell]]
name = "west"
position = ["0 m", "0 m"]
rlc = { mode = "am", buffer = "32 KiB" }
[[cell]]
name = "east"
position = ["400 m", "0 m"]
rlc = { mode = "am", buffer = "32 KiB" }
[[ue]]
name = "car"
count = 2
position = ["150 m", "10 m"]
mobility = { kind = "line", towards = ["300 m", "10 m"], speed = "120 km/h" }
[[flow]]
name = "load"
to = "car"
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run, two papers, an arena, a sweep and a decision, each written by its command."""
    folder = tmp_path_factory.mktemp("pages") / "out"
    scenario = airlane.loads(STREET)
    results = scenario.run()
    assert results.handovers.num_rows >= 2, "nothing happens on the way"
    results.write(folder / "run", scenario.resolved)
    manifest = json.loads((folder / "run/manifest.json").read_text())
    report.write_run_html(results, manifest, "street", folder / "run/report.html")

    cache = Cache(folder / "cache", native.fingerprint())
    outcomes = [
        conduct(replace(one, quick_runs=2), papers.published(), cache, quick=True)
        for one in papers.select(["arwa/fig3", "frto", "ltetcp/handover-lossless"])
    ]
    arena_of_the_manual(folder.parent)
    book = report.Book(folder / "reproduce/index.html")
    for outcome in outcomes:
        book.add(outcome)
    book.write(1.0)
    return {
        "run": folder / "run/report.html",
        "index": folder / "reproduce/index.html",
        "arwa": folder / "reproduce/arwa.html",
        "ltetcp": folder / "reproduce/ltetcp.html",
        "arena": folder / "arena/index.html",
        "sweep": sweep_of_the_street(folder),
        "decision": folder / "street-decision.html",
    }


def sweep_of_the_street(folder: Path) -> Path:
    """A sweep over mechanisms, its page, and its page for a decision."""
    (folder / "street.toml").write_text(STREET.replace("count = 2", "count = 4"))
    options = ["--mechanism", "codel", "--mechanism", "l4s", "--runs", "3", "--decision", "-o", "street"]
    for words in (["sweep", "street.toml", *options], ["report", "street"]):
        subprocess.run([sys.executable, "-m", "airlane", *words], cwd=folder, check=True, capture_output=True)
    return folder / "street.html"


def arena_of_the_manual(folder: Path) -> None:
    """The manual's steps for a reader's own controller in the arena, verbatim."""
    manual = Document(ROOT / "docs/howto/controller.md", folder)
    blocks = manual.blocks()
    (source,) = (one for one in blocks if one.text.startswith("# gentle.py"))
    manual.python(source, "gentle.py")
    (arena,) = (one for one in blocks if "$ airlane arena" in one.text)
    assert "--controller gentle.py:Gentle" in arena.text
    assert len(list(commands(arena))) == 1
    manual.console(arena, "controller.md")


NAMES = ("run", "index", "arwa", "ltetcp", "arena", "sweep", "decision")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # As root, as in a container, Chromium runs only without its sandbox.
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visit:
    """A page, opened from disk; its errors are recorded."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None
        )
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())

    def unfold(self) -> None:
        """Open the results of all experiments."""
        self.page.evaluate("document.querySelectorAll('.experiment').forEach(one => { one.open = true; })")

    def figure(self, name: str) -> "Figure":
        figure = self.page.locator(f"#{name}")
        self.unfold()
        figure.scroll_into_view_if_needed()
        figure.locator(".panels canvas").first.wait_for()
        return Figure(self.page, figure)


class Figure:
    """A figure on a page, and the state of its first panel."""

    def __init__(self, page: Page, root: Locator) -> None:
        self.page, self.root = page, root

    def button(self, name: str) -> Locator:
        return self.root.get_by_role("button", name=name, exact=True)

    def plot(self, panel: int = 0) -> Locator:
        return self.root.locator(".panel").nth(panel).locator(".u-over")

    def box(self, panel: int = 0) -> Locator:
        return self.root.locator(".panel").nth(panel).locator(".plot")

    def readout(self, panel: int = 0) -> str:
        return str(self.root.locator(".panel").nth(panel).locator(".readout").inner_text())

    def scale(self, panel: int = 0, axis: str = "x") -> tuple[float, float]:
        name = self.root.get_attribute("id")
        found = self.page.evaluate(
            f"""() => {{ const chart = airlaneCharts.get(document.getElementById({json.dumps(name)}));
            const {{ min, max }} = chart.panels[{panel}].plot.scales.{axis}; return [min, max]; }}"""
        )
        return float(found[0]), float(found[1])

    def pixels(self, panel: int = 0) -> str:
        """The painted pixels."""
        canvas = self.root.locator(".panel").nth(panel).locator("canvas")
        return str(canvas.evaluate("canvas => canvas.toDataURL()"))

    def drag(self, panel: int = 0) -> None:
        """Drag from a quarter of the plot to its middle."""
        box = self.plot(panel).bounding_box()
        y = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + 0.25 * box["width"], y)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + 0.4 * box["width"], y, steps=4)
        self.page.mouse.move(box["x"] + 0.5 * box["width"], y, steps=4)
        self.page.mouse.up()


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport=WIDE, offline=True, accept_downloads=True)
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_opens_from_disk_without_network(name: str, pages: dict[str, Path], context: Any) -> None:
    visit = Visit(context, pages[name])
    visit.unfold()
    for figure in visit.page.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator("canvas").first.wait_for()
    visit.page.wait_for_timeout(100)
    assert visit.wrong == []
    assert all(url.startswith(("file:", "data:", "blob:")) for url in visit.requests)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(name: str, scheme: str, pages: dict[str, Path], chromium: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: make .venv/stamps/dev")
    context = chromium.new_context(viewport=WIDE, color_scheme=scheme)
    visit = Visit(context, pages[name])
    visit.unfold()
    for figure in visit.page.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator("canvas").first.wait_for()
    for details in visit.page.locator("details").all():
        details.evaluate("node => { node.open = true; }")
    found = axe.Axe().run(visit.page).response["violations"]
    context.close()
    told = [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found]
    assert told == []


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_a_page_without_scrolling_to_the_side(
    name: str, pages: dict[str, Path], chromium: Any
) -> None:
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    visit = Visit(context, pages[name])
    visit.unfold()
    for figure in visit.page.locator("figure.chart").all():
        figure.scroll_into_view_if_needed()
        figure.locator("canvas").first.wait_for()
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    context.close()
    assert wide <= PHONE["width"]


def test_names_of_contenders_stay_readable_where_the_map_is_wider_than_the_page(
    pages: dict[str, Path], chromium: Any
) -> None:
    narrow = {"width": 200, "height": 844}  # few situations in the test's arena
    context = chromium.new_context(viewport=narrow, has_touch=True, is_mobile=True)
    page = Visit(context, pages["arena"]).page
    wider = page.locator("#heat").evaluate("table => table.scrollWidth > table.parentElement.clientWidth")
    names = page.locator("#heat tbody th").evaluate_all("all => all.map(one => one.clientWidth)")
    context.close()
    assert wider
    assert names
    assert min(names) >= 80


def test_a_tap_says_the_values(pages: dict[str, Path], chromium: Any) -> None:
    context = chromium.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    figure = Visit(context, pages["run"]).figure("series")
    figure.plot(1).scroll_into_view_if_needed()
    box = figure.plot(1).bounding_box()
    figure.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert re.search(r"load-1\s+[\d.]+", figure.readout(1))
    figure.button("Zoom in").tap()
    assert figure.scale()[0] > 0
    context.close()


def test_dragging_zooms_all_panels_of_an_axis(pages: dict[str, Path], context: Any) -> None:
    figure = Visit(context, pages["run"]).figure("series")
    whole, tall = figure.scale(), figure.scale(2, "y")
    figure.drag(1)
    now = figure.scale()
    width = whole[1] - whole[0]
    assert now[0] == pytest.approx(whole[0] + 0.25 * width, abs=0.01 * width)
    assert now[1] == pytest.approx(whole[0] + 0.5 * width, abs=0.01 * width)
    assert [figure.scale(panel) for panel in range(1, 5)] == [now] * 4
    assert figure.scale(2, "y") != tall, "the other axis fits what is seen"
    figure.plot(1).dblclick()
    assert (figure.scale(), figure.scale(2, "y")) == (whole, tall)
    figure.button("Zoom in").click()
    nearer = figure.scale()
    assert nearer[1] - nearer[0] == pytest.approx(0.6 * width)
    figure.button("To the right").click()
    assert figure.scale()[0] > nearer[0]
    figure.button("All of it").click()
    assert figure.scale() == whole


def test_pointing_says_the_values(pages: dict[str, Path], context: Any) -> None:
    visit = Visit(context, pages["run"])
    figure = visit.figure("series")
    table = airlane.Results.read(pages["run"].parent).flow_series
    rows = [row for row in table.to_pylist() if row["flow"] == "load-1"]
    low, high = figure.scale()
    at = 4.0
    box = figure.plot(1).bounding_box()
    figure.plot(1).hover(position={"x": (at - low) / (high - low) * box["width"], "y": box["height"] / 2})
    (row,) = (row for row in rows if abs(row["t_s"] - at) < 1e-6)
    assert "simulated time in s 4" in figure.readout(1)
    shown = re.search(r"load-1\s+([\d.]+)", figure.readout(1))
    assert shown
    assert float(shown[1]) == pytest.approx(row["goodput_mbps"], rel=1e-3)
    # The panels of an axis follow.
    window = re.search(r"load-1\s+([\d.]+)", figure.readout(4))
    assert window
    assert float(window[1]) == pytest.approx(row["cwnd_bytes"] * 1e-3, rel=1e-3)


def test_a_series_is_hidden_and_shown(pages: dict[str, Path], context: Any) -> None:
    figure = Visit(context, pages["run"]).figure("series")
    button = figure.button("load-1")
    assert button.get_attribute("aria-pressed") == "true"
    before = figure.pixels(1)
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert figure.pixels(1) != before
    box = figure.plot(1).bounding_box()
    figure.plot(1).hover(position={"x": box["width"] / 2, "y": box["height"] / 2})
    assert "load-2" in figure.readout(1)
    assert "load-1" not in figure.readout(1)
    figure.page.mouse.move(0, 0)
    button.click()
    assert figure.pixels(1) == before


def test_events_are_marked(pages: dict[str, Path], context: Any) -> None:
    figure = Visit(context, pages["run"]).figure("series")
    handovers = airlane.Results.read(pages["run"].parent).handovers.to_pylist()
    low, high = figure.scale()
    box = figure.plot(1).bounding_box()
    x = (handovers[0]["start_s"] - low) / (high - low) * box["width"]
    figure.plot(1).hover(position={"x": x, "y": box["height"] / 2})
    assert f"{handovers[0]['ue']}: west to east, success" in figure.readout(1)


@pytest.mark.parametrize(("page", "name"), [("run", "series"), ("run", "map"), ("arwa", "arwa-fig3-1")])
def test_a_figure_is_there_as_pdf_and_as_csv(
    page: str, name: str, pages: dict[str, Path], context: Any
) -> None:
    figure = Visit(context, pages[page]).figure(name)
    with figure.page.expect_download() as csv_file:
        figure.root.get_by_role("link", name="as CSV").click()
    assert csv_file.value.suggested_filename == f"{name}.csv"
    rows = list(csv.DictReader(io.StringIO(Path(csv_file.value.path()).read_text())))
    data = json.loads(figure.root.locator("script").text_content())
    for panel in data["panels"]:
        for item in panel["items"]:
            if item["t"] != "line" or item["k"] < 0:
                continue
            label = data["series"][item["k"]]["label"]
            of = [r for r in rows if (r["panel"], r["series"]) == (panel["title"], label) and r["y"]]
            points = [p for p in zip(item["x"], item["y"], strict=True) if None not in p]
            if panel["y"].get("categorical"):
                names = {tick[0]: tick[1] for tick in panel["y"]["ticks"]}
                assert {(x, names[y]) for x, y in points} <= {(float(r["x"]), r["y"]) for r in of}
                continue
            written = {(float(r["x"]), float(r["y"])) for r in of}
            assert set(points) <= written
    link = figure.root.get_by_role("link", name="as PDF")
    address = link.get_attribute("href")
    if address.startswith("data:"):
        with figure.page.expect_download() as pdf_file:
            link.click()
        content = Path(pdf_file.value.path()).read_bytes()
    else:
        content = (pages[page].parent / address).read_bytes()
    assert content.startswith(b"%PDF-")


def test_keys_read_zoom_and_hide(pages: dict[str, Path], context: Any) -> None:
    figure = Visit(context, pages["arwa"]).figure("arwa-fig3-1")
    page = figure.page
    figure.box().focus()
    page.keyboard.press("ArrowRight")
    first = figure.readout()
    assert first
    said = page.locator("[role=status].unseen").text_content()
    assert said == figure.root.locator(".readout").first.text_content(), "a screen reader hears it"
    page.keyboard.press("ArrowRight")
    second = figure.readout()
    assert second != first
    page.keyboard.press("ArrowDown")
    assert figure.readout() != second, "the next series"
    whole = figure.scale()
    page.keyboard.press("+")
    assert figure.scale() != whole
    page.keyboard.press("0")
    assert figure.scale() == whole
    button = figure.root.locator(".legend button").first
    button.focus()
    page.keyboard.press("Space")
    assert button.get_attribute("aria-pressed") == "false"


def test_tab_reaches_everything(pages: dict[str, Path], context: Any) -> None:
    visit = Visit(context, pages["run"])
    visit.figure("series")
    visit.page.evaluate("scrollTo(0, 0)")
    seen: list[str] = []
    for _ in range(40):
        visit.page.keyboard.press("Tab")
        told = visit.page.evaluate(
            """() => { const node = document.activeElement; const style = getComputedStyle(node);
            return [node.className || node.id || node.textContent.trim(), style.outlineStyle]; }"""
        )
        seen.append(told[0])
        assert told[1] != "none", f"{told[0]}: focus is not seen"
        if "links" in told[0] or told[0] == "PDF":
            break
    assert seen[0] == "skip"
    assert "theme" in seen
    assert "plot" in seen


def test_the_skip_link_skips(pages: dict[str, Path], context: Any) -> None:
    page = Visit(context, pages["index"]).page
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"


def test_the_colours_are_chosen_and_kept(pages: dict[str, Path], chromium: Any) -> None:
    context = chromium.new_context(viewport=WIDE, color_scheme="light")
    visit = Visit(context, pages["run"])
    figure = visit.figure("series")
    paper = "getComputedStyle(document.querySelector('section')).backgroundColor"
    light, painted = visit.page.evaluate(paper), figure.pixels()
    visit.page.locator("#theme").click()
    dark = visit.page.evaluate(paper)
    assert dark != light
    assert figure.pixels() != painted, "the charts follow"
    assert "light" in visit.page.locator("#theme").inner_text()
    visit.page.reload()
    assert visit.page.evaluate(paper) == dark
    visit.page.locator("#theme").click()
    assert visit.page.evaluate(paper) == light
    context.close()


def test_without_script_the_picture_and_its_table_stay(pages: dict[str, Path], chromium: Any) -> None:
    context = chromium.new_context(viewport=WIDE, java_script_enabled=False)
    page = Visit(context, pages["arwa"]).page
    page.locator("#arwa-fig3 summary").first.click()
    picture = page.locator("#arwa-fig3-1 img")
    assert picture.is_visible()
    assert "Series:" in picture.get_attribute("alt")
    assert page.locator("#arwa-fig3-1 table").count() >= 1
    assert not page.locator("#arwa-fig3-1 .live").is_visible()
    context.close()


def test_published_and_ours_stand_in_one_plot(pages: dict[str, Path], context: Any) -> None:
    figure = Visit(context, pages["ltetcp"]).figure("ltetcp-handover-lossless-numbers")
    labels = figure.root.locator(".legend button").all_inner_texts()
    assert labels[0] == "published"
    assert any(label.startswith("ours: ") for label in labels)
    figure.box().focus()
    figure.page.keyboard.press("ArrowRight")
    assert "published" in figure.readout()
    figure.page.keyboard.press("ArrowDown")
    assert "±" in figure.readout()


def test_a_paper_opens_with_what_was_found_and_folds_its_experiments(
    pages: dict[str, Path], context: Any
) -> None:
    page = Visit(context, pages["arwa"]).page
    told = page.locator("main > header > p").all_inner_texts()
    assert any(re.match(r"Of \d+ published results?, ", line) for line in told)
    experiments = page.locator("details.experiment")
    assert experiments.count() >= 1
    assert experiments.evaluate_all("all => all.every(one => !one.open)")
    experiments.first.locator("summary").first.focus()
    page.keyboard.press("Enter")
    assert experiments.first.evaluate("node => node.open")
    assert page.locator("#arwa-fig3-1").is_visible()


@pytest.mark.parametrize("name", NAMES)
def test_no_page_is_longer_than_ten_screens(name: str, pages: dict[str, Path], context: Any) -> None:
    tall = Visit(context, pages[name]).page.evaluate("document.documentElement.scrollHeight")
    assert tall <= 10 * WIDE["height"]


def test_the_index_counts_verdicts_and_leads_to_experiments(pages: dict[str, Path], context: Any) -> None:
    visit = Visit(context, pages["index"])
    table = visit.page.get_by_role("table").first
    heads = table.get_by_role("columnheader").all_inner_texts()
    row = table.get_by_role("row").filter(has_text="Adaptive receive windows")
    cells = row.get_by_role("cell").all_inner_texts()
    counts = dict(zip(heads[1:], cells, strict=True))
    assert int(counts["results"]) == sum(int(counts[v] or 0) for v in heads[1:-3])
    visit.page.get_by_role("link", name="arena").click()
    assert visit.page.get_by_role("heading", name="Heat map").is_visible()
    visit.page.go_back()
    visit.page.get_by_role("link", name="arwa/fig3").click()
    assert visit.page.url.endswith("arwa.html#arwa-fig3")
    assert visit.page.locator("#arwa-fig3-title").is_visible()
    assert visit.page.locator("#arwa-fig3 > details").evaluate("node => node.open"), (
        "a link opens the results"
    )
    levels = visit.page.evaluate("[...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels)), "headings in order"


def test_the_heat_map_sorts_by_click_and_by_key(pages: dict[str, Path], context: Any) -> None:
    page = Visit(context, pages["arena"]).page
    page.get_by_label("Figure").select_option(label="95th percentile of one-way delay, ms")
    heading = page.get_by_role("columnheader", name="one user")

    def column() -> list[float]:
        return [float(t) for t in page.locator("#heat tbody tr td:nth-child(2)").all_inner_texts()]

    assert heading.get_attribute("aria-sort") == "none"
    heading.get_by_role("button").click()
    assert heading.get_attribute("aria-sort") == "ascending"
    assert column() == sorted(column())
    assert len(set(column())) > 1
    # The heading keeps the focus, so that a key reverses the order.
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert column() == sorted(column(), reverse=True)
    page.locator("#heat td > div[tabindex='0']").focus()
    page.keyboard.press("ArrowDown")
    told = page.locator("#told").inner_text()
    name = page.locator("#heat tbody th").nth(1).inner_text()
    assert told.startswith(f"{name}, ")
    assert "× CUBIC" in told


def test_the_heat_map_is_filtered_by_contender_and_situation(pages: dict[str, Path], context: Any) -> None:
    page = Visit(context, pages["arena"]).page
    rows, headings = page.locator("#heat tbody th"), page.locator("#heat thead th")
    names, titles = rows.all_inner_texts(), headings.all_inner_texts()[1:]
    page.get_by_label("Contenders").fill("gentle, CUBIC")
    assert rows.all_inner_texts() == [name for name in names if "gentle" in name or "cubic" in name]
    assert 0 < rows.count() <= len(names)
    page.get_by_label("Situations").fill("one user")
    assert (
        headings.all_inner_texts()[1:]
        == [title for title in titles if title.startswith("one user")]
        != titles
    )
    assert page.locator("#told").inner_text() == f"{rows.count()} contenders, 1 situations"
    page.get_by_label("with 95 % intervals").check()
    shown = page.locator("#heat tbody td").all_inner_texts()
    assert any("±" in text for text in shown), shown
    page.get_by_label("Contenders").fill("nobody")
    assert rows.count() == 0
    page.get_by_label("Contenders").fill("")
    page.get_by_label("Situations").fill("")
    assert (rows.count(), headings.count()) == (len(names), len(titles) + 1)


def test_the_controller_of_the_manual_stands_in_the_heat_map(pages: dict[str, Path], context: Any) -> None:
    page = Visit(context, pages["arena"]).page
    written = {
        (row["situation"], row["figure"]): float(row["over_cubic"] or "nan")
        for row in csv.DictReader((pages["arena"].parent / "cells.csv").read_text().splitlines())
        if row["contender"] == "gentle"
    }
    delay, rate = written["one-user", "owd_p95_ms"], written["rtt-200", "goodput_mbps"]
    own = page.locator("#heat tbody tr").filter(has=page.get_by_role("rowheader", name="gentle", exact=True))
    headings = page.get_by_role("columnheader")

    def found() -> tuple[int, list[list[float]]]:
        """The place of its row, and the columns from top to bottom."""
        assert own.get_by_role("cell").all_inner_texts() == [f"{delay:.2f}×", f"{rate:.2f}×"]
        names = page.locator("#heat tbody th").all_inner_texts()
        columns = [page.locator(f"#heat tbody td:nth-child({i})").all_inner_texts() for i in (2, 3)]
        return names.index("gentle"), [[float(text.rstrip("×")) for text in one] for one in columns]

    found()
    headings.nth(1).get_by_role("button").click()
    assert headings.nth(1).get_attribute("aria-sort") == "descending"
    clicked, (delays, _) = found()
    assert delays == sorted(delays, reverse=True)
    assert delays[clicked] == round(delay, 2) < 1.0, "it is for less delay than CUBIC's"
    own.get_by_role("cell").first.hover()
    assert page.locator("#told").inner_text().startswith("gentle, one user, deep queue: delay, p95: ")
    # The pressed heading has the focus; the next one is a Tab away.
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert headings.nth(2).get_attribute("aria-sort") == "descending"
    page.keyboard.press("Space")
    assert headings.nth(2).get_attribute("aria-sort") == "ascending"
    place, (_, rates) = found()
    assert rates == sorted(rates)
    page.keyboard.press("Tab")
    for key in ["ArrowDown"] * place + ["ArrowRight"]:
        page.keyboard.press(key)
    told = page.locator("#told").inner_text()
    assert told.startswith("gentle, round trip of 200 ms: goodput: ")
    assert f"{rate:.2f} × CUBIC" in told
