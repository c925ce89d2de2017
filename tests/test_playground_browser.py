"""The playground in headless Chromium: real drags, keys and files, opened from disk, without network.

`make playground` builds the page; Chromium is the machine's own. Without either the tests name the missing
part and are skipped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import airlane
from airlane import _native
from airlane.pages import comparison_page, playground
from airlane.study import compare
from airlane.study.compare import Side
from conftest import ROOT
from test_browser import CHROMIUM, PHONE, WIDE, sync_api
from test_determinism import bytes_of, is_current
from test_playground import BUILT, MODULE, SCENARIOS, SEED, SETTINGS, files

HTML = ROOT / "out/playground/playground.html"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-precise-memory-info",
    "--js-flags=--expose-gc",
]
LOCAL = ("file:", "data:", "blob:", "about:")
Page: TypeAlias = Any

QUICK = """
network = "lena"
[run]
duration = "3 s"
warmup = "1 s"
[[cell]]
name = "a"
resource_blocks = 25
rlc = { mode = "am", buffer = "128 KiB" }
[[ue]]
name = "phone"
position = ["100 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "tcp", congestion = "cubic" }
"""


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Skip if the page is missing or outdated."""
    if not HTML.exists():
        pytest.skip("the playground is not built: make playground")
    if wrong := is_current(BUILT):
        pytest.skip(f"{wrong}: make playground")
    sources = [*(ROOT / "playground/src").iterdir(), *(ROOT / "python/airlane/assets").iterdir()]
    newer = [path.name for path in sources if path.stat().st_mtime > HTML.stat().st_mtime]
    if newer:
        pytest.skip(f"{', '.join(newer)} changed since {HTML.name} was built: make playground")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


class Visit:
    """The playground, opened from disk; errors and requests are recorded."""

    def __init__(self, context: Any) -> None:
        self.page = context.new_page()
        self.wrong: list[str] = []
        self.requests: list[str] = []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on(
            "console", lambda m: self.wrong.append(m.text) if m.type in ("error", "warning") else None
        )
        context.on("request", lambda request: self.requests.append(request.url))

    def open(self, fragment: str = "") -> Visit:
        """Open the page and wait for its first result."""
        self.page.goto(HTML.as_uri() + fragment)
        self.page.wait_for_selector("html[data-ready]")
        self.after(0)
        return self

    def runs(self) -> int:
        """Number of results shown so far."""
        return int(self.page.evaluate("document.documentElement.dataset.runs ?? '0'"))

    def after(self, runs: int) -> None:
        """Wait for a result after this number, and until none is in progress."""
        self.page.wait_for_function(f"Number(document.documentElement.dataset.runs ?? 0) > {runs}")
        self.page.wait_for_selector("#progress", state="hidden")

    def change(self, act: Callable[[], object]) -> None:
        """Perform an action, and wait for its result."""
        runs = self.runs()
        act()
        self.after(runs)

    def write(self, text: str, editor: str = "#toml") -> None:
        """Replace the text of an editor, as by pasting."""
        content = self.page.locator(f"{editor} .cm-content")
        content.scroll_into_view_if_needed()
        content.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def text(self) -> str:
        """The scenario, from its download."""
        with self.page.expect_download() as download:
            self.page.locator("#save-toml").click()
        return Path(download.value.path()).read_text(encoding="utf-8")

    def tile(self, name: str) -> str:
        """The value of a tile."""
        return str(self.page.locator(f'#tiles [data-figure="{name}"] dd').first.inner_text())

    def number(self, name: str) -> float:
        """The mean of a tile."""
        return float(self.tile(name).split(" ")[0])

    def drag(self, selector: str, across: float, down: float) -> None:
        """Drag an element of the map by this number of pixels."""
        box = self.page.locator(f"{selector} .grip").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        for step in range(1, 6):
            self.page.mouse.move(x + across * step / 5, y + down * step / 5)
        self.page.mouse.up()


@pytest.fixture
def context(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport=WIDE, offline=True, accept_downloads=True)
    context.set_default_timeout(20_000)
    yield context
    context.close()


@pytest.fixture
def visit(context: Any) -> Iterator[Visit]:
    visit = Visit(context)
    yield visit
    assert visit.wrong == []
    assert [url for url in visit.requests if not url.startswith(LOCAL)] == []


def test_the_page_shows_what_the_native_build_gives(visit: Visit) -> None:
    visit.open()
    results = airlane.load(ROOT / "scenarios/lte-download.toml").run()
    assert visit.number("goodput, Mbit/s") == float(f"{results.flows['goodput_mbps'][0].as_py():.4g}")
    assert visit.number("retransmissions") == results.flows["retransmissions"][0].as_py()
    assert visit.page.locator("#series canvas").count() == 8


def test_all_bundled_scenarios_give_the_same_bytes(chromium: Any) -> None:
    context = chromium.new_context(offline=True)
    page = context.new_page()
    page.goto("about:blank")
    script = (MODULE / "airlane_web.js").read_text(encoding="utf-8")
    module = base64.b64encode((MODULE / "airlane_web_bg.wasm").read_bytes()).decode()
    page.evaluate(
        """async ([script, module]) => {
          window.lab = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
          // The page compiles in a worker: on the main thread, more than 8 MB need a promise.
          await lab.default({ module_or_path: Uint8Array.from(atob(module), c => c.charCodeAt(0)) });
        }""",
        [script, module],
    )
    given = [[name, Path(at).read_text(encoding="utf-8")] for name, at in files()]
    for path in SCENARIOS:
        resolved = airlane.load(path).set(SETTINGS).resolved
        there = page.evaluate(
            """([text, name, overrides, seed, files]) => {
              const given = new lab.Files();
              for (const [name, text] of files) given.add(name, new TextEncoder().encode(text));
              const scenario = new lab.Scenario(text, name, overrides, given);
              const run = scenario.run(BigInt(seed), undefined, false);
              while (!run.advance(1));
              const bytes = run.finish().bytes();
              let text64 = "";
              for (let i = 0; i < bytes.length; i += 32768) {
                text64 += String.fromCharCode(...bytes.subarray(i, i + 32768));
              }
              return btoa(text64);
            }""",
            [path.read_text(encoding="utf-8"), path.name, json.dumps(SETTINGS), SEED, given],
        )
        (native,) = _native.run([(resolved, SEED)], 1)
        here = hashlib.sha256(bytes_of(native.tables)).hexdigest()
        assert hashlib.sha256(base64.b64decode(there)).hexdigest() == here, path.name
    context.close()


def test_goodput_falls_where_a_ue_is_dragged_away(visit: Visit) -> None:
    visit.open()
    near = visit.number("goodput, Mbit/s")
    for _ in range(3):  # the map is fitted after each drag, so the distance increases each time
        visit.change(lambda: visit.drag('[data-ue="phone"]', 140, 0))
    far = visit.number("goodput, Mbit/s")
    assert far < near - 10
    found = re.search(r'\[\[ue\]\]\nname = "phone"\nposition = \["(\d+) m", "(-?\d+) m"\]', visit.text())
    assert found is not None
    assert int(found[1]) > 400
    assert abs(int(found[2])) < 100
    (native,) = airlane.loads(visit.text()).run().flows["goodput_mbps"].to_pylist()
    assert far == float(f"{native:.4g}")


def test_the_text_moves_the_map_and_keys_move_a_ue(visit: Visit) -> None:
    visit.open()
    phone = visit.page.locator('[data-ue="phone"]')
    assert phone.get_attribute("aria-label") == "UE phone at 100 m, 0 m"
    visit.change(lambda: visit.write(visit.text().replace('["100 m", "0 m"]', '["240 m", "-70 m"]')))
    assert phone.get_attribute("aria-label") == "UE phone at 240 m, -70 m"
    phone.focus()
    visit.change(lambda: visit.page.keyboard.press("ArrowUp"))
    assert re.fullmatch(r"UE phone at 240 m, -6\d m", phone.get_attribute("aria-label"))
    assert visit.page.evaluate("document.activeElement.dataset.ue") == "phone"


def test_ues_and_cells_are_added_and_removed(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.page.get_by_role("button", name="Add a UE").click())
    assert visit.page.locator("#flows-table tbody tr").count() == 2
    visit.change(lambda: visit.page.get_by_role("button", name="Add a cell").click())
    assert visit.page.locator("#cells-table tbody tr").count() == 2
    visit.page.locator('[data-ue="ue-1"]').focus()
    visit.change(lambda: visit.page.get_by_role("button", name="Remove UE ue-1").click())
    visit.page.locator('[data-cell="cell-1"]').focus()
    visit.change(lambda: visit.page.get_by_role("button", name="Remove cell cell-1").click())
    assert visit.text() == (ROOT / "scenarios/lte-download.toml").read_text(encoding="utf-8")


def test_a_controller_is_changed_and_compared(visit: Visit) -> None:
    visit.open()
    visit.change(
        lambda: (visit.page.locator("#seeds").fill("3"), visit.page.locator("#seeds").press("Enter"))
    )
    assert "±" in visit.tile("goodput, Mbit/s")
    visit.page.get_by_role("button", name="Pin this run").click()
    flow = visit.page.get_by_label("congestion control of the flow to phone")
    visit.change(lambda: flow.select_option("bbr"))
    told = visit.page.locator("#compare-told").inner_text()
    assert "pinned | now: 1 setting of the scenario differs" in told
    assert "flow.0.transport.congestion: cubic | bbr" in told
    rows = [row.inner_text().split("\t") for row in visit.page.locator("#compare-table tbody tr").all()]
    scenario = airlane.load(ROOT / "scenarios/lte-download.toml")
    sides = []
    for name, one in (("pinned", scenario), ("now", scenario.set({"flow.0.transport.congestion": "bbr"}))):
        results = one.run(runs=3)
        sides.append(Side(name, results.flows, one.settings, results))
    comparison = compare.compare(sides)
    here = [
        [figure.full if i == 0 else "", *row]
        for figure in comparison.figures
        for i, row in enumerate(comparison_page._rows(comparison, figure))
    ]
    assert rows == here
    assert "±" in here[1][3]


def test_a_mistake_is_marked_at_its_line_in_the_readers_words(visit: Visit) -> None:
    visit.open()
    text = QUICK.replace("resource_blocks", "resuorce_blocks")
    with pytest.raises(_native.ScenarioError) as caught:
        _native.parse(text, "lte-download.toml")
    visit.write(text)
    trouble = visit.page.locator("#trouble")
    trouble.wait_for()
    assert trouble.locator("pre").inner_text() == str(caught.value)
    assert "resource_blocks" in str(caught.value)
    visit.page.locator("#toml .cm-lint-marker-error").wait_for()
    marker = visit.page.locator("#toml .cm-lint-marker-error").bounding_box()
    number = visit.page.locator("#toml .cm-lineNumbers").get_by_text("8", exact=True).bounding_box()
    assert caught.value.line == 8
    assert abs(marker["y"] - number["y"]) < 12
    visit.change(lambda: visit.write(QUICK))
    assert not trouble.is_visible()


def test_keys_and_values_are_completed_from_the_schema(visit: Visit) -> None:
    visit.open()
    visit.write('network = "lena"\n[[cell]]\n')
    visit.page.keyboard.type("sched")
    visit.page.locator(".cm-tooltip-autocomplete li", has_text="scheduler").wait_for()
    visit.page.keyboard.press("Escape")
    visit.page.keyboard.type('uler = "')
    visit.page.keyboard.press("Control+Space")
    visit.page.locator(".cm-tooltip-autocomplete li", has_text="bet").wait_for()


def own(visit: Visit) -> None:
    """Set the controller of the editor for all flows."""
    if visit.page.locator("#own").get_attribute("open") is None:
        visit.page.locator("#own > summary").click()
    visit.page.get_by_role("button", name="Use it for all TCP flows").click()


GENTLE = """class Gentle extends Controller {
  on_ack(ack) { if (ack.may_grow) this.cwnd += ack.delivered / this.cwnd; }
  on_loss(loss) { this.cwnd = Math.max(2, this.cwnd * 0.75); }
}
"""


class Gentle(airlane.Controller):
    """The same in Python."""

    def on_ack(self, ack: airlane.control.Ack) -> None:
        if ack.may_grow:
            self.cwnd += ack.delivered / self.cwnd

    def on_loss(self, loss: airlane.control.Loss) -> None:
        self.cwnd = max(2.0, self.cwnd * 0.75)


def test_a_controller_in_javascript_does_what_it_does_in_python(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    visit.change(lambda: own(visit))
    visit.change(lambda: visit.write(GENTLE, "#own-editor"))
    with visit.page.expect_download() as download:
        visit.page.locator("#save-series").click()
    there = Path(download.value.path()).read_text().splitlines()
    scenario = airlane.loads(visit.text())
    assert scenario.settings["flow"][0]["transport"]["controller"] == "own"
    series = scenario.run(controllers={"own": Gentle}).flow_series
    column = there[0].split(",").index("cwnd_bytes")
    theirs = [float(line.split(",")[column] or "nan") for line in there[1:]]
    ours = [float("nan") if v is None else v for v in series["cwnd_bytes"].to_pylist()]
    assert [str(v) for v in theirs] == [str(float(v)) for v in ours]
    assert len(theirs) > 20


CALL = """network = "typical"
[run]
duration = "6 s"
[[cell]]
name = "a"
resource_blocks = 6
[[ue]]
name = "phone"
position = ["2000 m", "0 m"]
[[flow]]
name = "call"
to = "phone"
app = "rtc"
transport = "udp"
"""

LOSS_BASED = """class LossBased extends CallController {
  static timer_ms = 200;
  on_feedback({ packets, rtt_ms }) {
    const missing = packets.filter(packet => packet.arrived_s === null).length;
    if (missing > 0.1 * packets.length || rtt_ms > 150) this.target_mbps *= 0.9;
    else this.target_mbps *= 1.01;
    this.pacing_mbps = 1.2 * this.target_mbps;
  }
  on_timer(now_s) { if (now_s > 4) this.target_mbps = this.min_mbps; }
}
"""


class LossBased(airlane.CallController):
    """The same in Python."""

    timer_ms = 200

    def on_feedback(self, feedback: airlane.control.Feedback) -> None:
        missing = sum(packet.arrived_s is None for packet in feedback.packets)
        late = feedback.rtt_ms is not None and feedback.rtt_ms > 150
        self.target_mbps *= 0.9 if missing > 0.1 * len(feedback.packets) or late else 1.01
        self.pacing_mbps = 1.2 * self.target_mbps

    def on_timer(self, now_s: float) -> None:
        if now_s > 4:
            self.target_mbps = self.min_mbps


def test_a_rate_controller_in_javascript_does_what_it_does_in_python(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.write(CALL))
    visit.change(lambda: own(visit))
    visit.change(lambda: visit.write(LOSS_BASED, "#own-editor"))
    with visit.page.expect_download() as download:
        visit.page.locator("#save-series").click()
    heading, *rows = [line.split(",") for line in Path(download.value.path()).read_text().splitlines()]
    column = heading.index("goodput_mbps")
    scenario = airlane.loads(visit.text())
    series = scenario.run(controllers={"own": LossBased}).flow_series
    ours = series["goodput_mbps"].to_pylist()
    assert [str(float(row[column] or "nan")) for row in rows] == [str(value) for value in ours]
    assert len(rows) > 20
    visit.write(LOSS_BASED.replace("*= 0.9", "= NaN").replace("> 150", "> 1"), "#own-editor")
    visit.page.locator("#trouble").get_by_text("after on_feedback, pacing_mbps is NaN").wait_for()


@pytest.mark.parametrize(
    ("source", "line", "words"),
    [
        (GENTLE.replace("{ if (ack", "{\n    ack.none();\n    if (ack"), 3, "TypeError: ack.none is not"),
        ("class Broken extends Controller {\n  on_ack(ack) {\n", 3, "SyntaxError"),
        (GENTLE.replace("+=", "= NaN *"), None, "after on_ack, cwnd is NaN; it must be finite"),
        ("const x = 1;\n", None, "no class derived from Controller"),
    ],
    ids=["exception", "syntax", "no number", "no class"],
)
def test_a_failure_of_the_controller_is_shown(
    source: str, line: int | None, words: str, visit: Visit
) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    visit.change(lambda: own(visit))
    visit.write(source, "#own-editor")
    trouble = visit.page.locator("#trouble")
    trouble.get_by_text(words).wait_for()
    if line is not None:
        assert f"controller.js, line {line}: " in trouble.inner_text()
        assert visit.page.locator("#own-editor .cm-lint-marker-error").count() == 1
    visit.change(lambda: visit.write(GENTLE, "#own-editor"))
    assert not trouble.is_visible()


def test_a_controller_that_does_not_return_does_not_hang_the_page(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    visit.change(lambda: own(visit))
    visit.write(GENTLE.replace("{ if (ack", "{ for (;;); if (ack"), "#own-editor")
    visit.page.locator("#progress").wait_for()
    assert visit.page.evaluate("1 + 1") == 2
    visit.page.locator("#trouble").get_by_text("did not return within 4 s").wait_for()
    visit.change(lambda: visit.write(GENTLE, "#own-editor"))


def test_a_long_run_shows_progress_and_is_cancelled(visit: Visit) -> None:
    visit.open()
    before = visit.tile("goodput, Mbit/s")
    runs = visit.runs()
    visit.write(visit.text().replace('duration = "30s"', 'duration = "100000s"'))
    visit.page.locator("#progress").wait_for()
    visit.page.wait_for_function("document.getElementById('progress').value > 0")
    visit.page.locator("#cancel").click()
    visit.page.wait_for_selector("#progress", state="hidden")
    assert visit.runs() == runs
    assert visit.tile("goodput, Mbit/s") == before
    visit.change(lambda: visit.write(QUICK))


def test_a_link_restores_the_whole_state(visit: Visit, context: Any) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    visit.change(
        lambda: (visit.page.locator("#seeds").fill("2"), visit.page.locator("#seeds").press("Enter"))
    )
    visit.page.get_by_role("button", name="Pin this run").click()
    visit.change(lambda: own(visit))
    visit.change(lambda: visit.write(GENTLE, "#own-editor"))
    visit.page.get_by_role("button", name="Share as a link").click()
    visit.page.wait_for_function("location.hash.startsWith('#state=')")
    link = visit.page.evaluate("location.hash")
    other = Visit(context).open(link)
    other.page.locator("#compare-table table").wait_for()
    assert other.text() == visit.text()
    assert other.page.locator("#seeds").input_value() == "2"
    assert other.tile("goodput, Mbit/s") == visit.tile("goodput, Mbit/s")
    tables = [one.page.locator("#compare-table").inner_text() for one in (visit, other)]
    assert tables[0] == tables[1]
    assert other.wrong == []


def test_a_link_that_was_cut_short_is_told(visit: Visit) -> None:
    visit.open("#state=7VhLb9s4")
    assert "cannot be read" in visit.page.locator("#trouble").inner_text() or visit.runs() > 0


def test_the_command_opens_the_page_with_a_scenario(visit: Visit, tmp_path: Path) -> None:
    mine = tmp_path / "mine.toml"
    mine.write_text(QUICK, encoding="utf-8")
    url = playground.address(mine, None)
    assert url.startswith(playground.page().as_uri())
    assert playground.page().read_bytes() == HTML.read_bytes()
    visit.open("#" + url.partition("#")[2])
    assert visit.text() == QUICK
    fragment = playground.address(None, "lte-drive").partition("#")[2]
    visit.change(lambda: visit.page.evaluate(f"location.hash = '{fragment}'"))
    assert visit.text() == (ROOT / "scenarios/lte-drive.toml").read_text(encoding="utf-8")


def test_all_controllers_on_one_scenario(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    visit.page.get_by_role("button", name="Run them all").click()
    visit.page.locator("#arena-table tbody tr").nth(17).wait_for()
    names = {row.inner_text().split("\t")[0] for row in visit.page.locator("#arena-table tbody tr").all()}
    assert names == {
        "cubic",
        "newreno",
        "scalable",
        "vegas",
        "westwood",
        "veno",
        "bbr",
        "bbr3",
        "dctcp",
        "prague",
        "copa",
        "c2tcp",
        "c4",
        "ledbat++",
        "vivace",
        "verus",
        "pbe",
        "abc",
    }


def test_captures_are_those_of_the_native_build(visit: Visit, tmp_path: Path) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))
    found: dict[str, bytes] = {}
    visit.page.on(
        "download",
        lambda one: found.update({one.suggested_filename: Path(one.path()).read_bytes()}),
    )
    visit.page.locator("#save-capture").click()
    for _ in range(200):
        if len(found) == 3:
            break
        visit.page.wait_for_timeout(50)
    (tmp_path / "quick.toml").write_text(QUICK)
    points = 'output.pcap=["server", "ue", "s1-u"]'
    command = ["run", "quick.toml", "--set", points, "-o", "out"]
    subprocess.run(
        [ROOT / ".venv/bin/python", "-m", "airlane", *command], cwd=tmp_path, check=True, capture_output=True
    )
    native = {path.name: path.read_bytes() for path in (tmp_path / "out").rglob("*.pcapng")}
    assert len(native) == 3
    for name, bytes_ in native.items():
        (there,) = (
            v for k, v in found.items() if k.endswith(name.split("-", 1)[-1] if name not in k else name)
        )
        assert there == bytes_


def test_files_that_a_scenario_names_come_by_hand(visit: Visit, tmp_path: Path) -> None:
    visit.open("#scenario=trace-link")
    text = visit.text().replace("traces/sawtooth.down", "mine.down")
    visit.write(text)
    trouble = visit.page.locator("#trouble")
    trouble.get_by_text("a browser reads no files by itself: drop mine.down on this page").wait_for()
    trace = tmp_path / "mine.down"
    trace.write_bytes((ROOT / "scenarios/traces/sawtooth.down").read_bytes())
    visit.change(lambda: visit.page.locator("#files").set_input_files(trace))
    assert not trouble.is_visible()


def test_the_time_of_the_run_moves_the_ues(visit: Visit) -> None:
    visit.open("#scenario=lte-drive")
    phone = visit.page.locator('[data-ue="phone"]')
    places = []
    for time in (1, 50):
        visit.page.locator("#time").fill(str(time))
        found = re.search(r"translate\(([\d.]+)", phone.get_attribute("transform"))
        assert found is not None
        places.append(float(found[1]))
    assert places[1] > places[0] + 50
    visit.page.locator("#scrub summary").click()
    cells = visit.page.locator("#ues-now tbody td").all_inner_texts()
    assert cells[:2] == ["phone", "a"]
    assert cells[2].startswith("9")  # 100 m and 50 s at 60 km/h: 933 m
    assert 0.0 <= float(cells[3]) <= 28.0


def test_the_tour_shows_its_parts_and_does_what_it_says(visit: Visit) -> None:
    visit.open()
    page = visit.page
    page.get_by_role("button", name="Tour of three minutes").click()
    tour = page.locator("#tour")
    titles = []
    while tour.is_visible():
        titles.append(tour.locator("h2").inner_text())
        act = tour.get_by_role("button", name="Do it for me")
        if act.count() and len(titles) in (3, 5):
            visit.change(act.click)
        tour.get_by_role("button", name="End" if len(titles) == 7 else "Next", exact=True).click()
    assert titles == [f"Tour, step {i} of 7" for i in range(1, 8)]
    assert 'position = ["700 m", "0 m"]' in visit.text()
    assert "cell.0.rlc.aqm.kind: drop-tail | codel" in page.locator("#compare-told").inner_text()
    assert page.locator(".toured").count() == 0
    assert visit.wrong == []


def test_names_that_do_not_fit_are_announced(chromium: Any) -> None:
    context = chromium.new_context(viewport=PHONE, offline=True)
    context.set_default_timeout(20_000)
    visit = Visit(context).open("#scenario=mdcc-jump")  # nine flows
    assert visit.page.locator("#series .more").is_visible()
    context.close()
    context = chromium.new_context(viewport=WIDE, offline=True)
    assert not Visit(context).open().page.locator("#series .more").is_visible(), "one flow"
    context.close()


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_and_nothing_is_cut_off(
    viewport: dict[str, int], scheme: str, chromium: Any
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe: make .venv/stamps/dev")
    context = chromium.new_context(viewport=viewport, color_scheme=scheme, offline=True, bypass_csp=True)
    context.set_default_timeout(20_000)
    visit = Visit(context).open()
    visit = Visit(context).open()
    visit.change(lambda: visit.page.get_by_role("button", name="Add a UE").click())
    visit.page.get_by_role("button", name="Pin this run").click()
    visit.page.locator("#own > summary").click()
    visit.page.locator("#own-editor .cm-content").wait_for()
    visit.page.get_by_role("button", name="Tour of three minutes").click()
    found = axe.Axe().run(visit.page).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]]) for one in found] == []
    wide = visit.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= viewport["width"]
    assert visit.wrong == []
    context.close()


def test_memory_does_not_grow_with_runs(visit: Visit) -> None:
    visit.open()
    visit.change(lambda: visit.write(QUICK))

    def again(first: int, times: int) -> float:
        for x in range(first, first + times):
            visit.change(partial(visit.write, QUICK.replace("100 m", f"{x} m")))
        visit.page.evaluate("gc()")
        return float(visit.page.evaluate("performance.memory.usedJSHeapSize"))

    before = again(101, 10)
    assert again(111, 20) < before * 1.25
