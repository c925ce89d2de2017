"""The arena: every contender can take part, verdicts follow from paired intervals, page and table agree."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
import json
import math
import re
from pathlib import Path

import pyarrow as pa
import pytest
import yaml

from airlane.arena import (
    BASELINE,
    CONTENDERS,
    SITUATIONS,
    Cell,
    Contender,
    Result,
    Situation,
    conduct,
    own,
    record,
    view,
)
from airlane.arena.contenders import ArenaError, NotForError
from airlane.arena.markdown import markdown
from airlane.arena.measure import BYTE_DELAY, FIGURES, Kind, Setting, measured
from airlane.arena.picture import plane_chart
from airlane.arena.sets import SETS
from airlane.arena.situations import from_file
from airlane.cache import Cache
from airlane.control import Ack, Controller
from airlane.pages import report
from airlane.pages.chart import Line
from airlane.pages.drawing import draw
from airlane.runs.figures import Figure
from airlane.runs.selection import SelectionError
from conftest import ROOT, Airlane

BY_NAME = {one.name: one for one in CONTENDERS}
GOODPUT, DELAY, SHARE = (
    next(one for one in FIGURES if one.name == name) for name in ("goodput_mbps", "owd_p95_ms", "share")
)


def without_form(contender: Contender, situation: Situation) -> str | None:
    """The known part of the reason why a contender does not apply; None if it does."""
    beginning = contender.name.partition("-")[0]
    if situation.name == "uplink" and contender.downlink_only:
        return contender.downlink_only
    others = {"web": ("meld",), "video": ("meld", "quic")}
    if beginning in others.get(situation.name, ()):
        return r"flow\.\d"
    return None


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_every_contender_enters_or_says_why_not(situation: Situation) -> None:
    base = situation.scenario()
    tested = [i for i, flow in enumerate(base.settings["flow"]) if flow["name"].startswith("tested")]
    assert tested, "nobody to measure"
    assert situation.description().endswith(".")
    assert {*situation.criteria.values(), situation.main} <= {figure.name for figure in FIGURES}
    assert set(situation.criteria) <= view.CRITERIA.keys()
    for contender in CONTENDERS:
        if (reason := without_form(contender, situation)) is not None:
            with pytest.raises(NotForError, match=reason):
                contender.enter(base)
            continue
        entered = contender.enter(base).settings
        for flow, before in zip(entered["flow"], base.settings["flow"], strict=True):
            carried = flow["name"].startswith(("tested", "peer"))
            assert carried or flow["transport"] == before["transport"], "only its own flows change"
        for i in tested:
            got = entered["flow"][i]["transport"]
            assert got["congestion"] == contender.transport.get("congestion", got["congestion"])


def made(values: list[float], base: list[float], figure: str) -> Result:
    cells = {("one-user", "vegas"): Cell({figure: values}), ("one-user", BASELINE): Cell({figure: base})}
    return Result([BY_NAME[BASELINE], BY_NAME["vegas"]], [SITUATIONS[0]], cells, 1.0)


@pytest.mark.parametrize(
    ("own", "figure", "word"),
    [
        ([11.0, 21.1, 31.0], GOODPUT, "better"),  # large spread, but a significant gain in each pair
        ([13.0, 23.1, 33.0], DELAY, "worse"),
        ([9.0, 19.1, 29.0], GOODPUT, "worse"),
        ([11.0, 19.0, 30.5], GOODPUT, "open"),
        ([10.0, 20.0, 30.0], GOODPUT, "same"),
        ([10.15, 20.2, 30.2], GOODPUT, "same"),  # about one per cent: significant, but not relevant
        ([11.0], GOODPUT, "open"),  # one run gives no interval
        ([11.0, 22.0], DELAY, "open"),  # nor do two with a percentile
        ([math.nan, 22.0, 33.0], GOODPUT, "open"),  # two pairs: 22 and 33 against 20 and 30
    ],
)
def test_a_verdict_is_the_interval_of_the_paired_difference(
    own: list[float], figure: Figure, word: str
) -> None:
    result = made(own, [10.0, 20.0, 30.0][: len(own)], figure.name)
    assert result.verdict("one-user", "vegas", figure) == word
    assert result.verdict("one-user", BASELINE, figure) == ""


@pytest.mark.parametrize(
    ("shares", "own", "word"),
    [
        ([2.0, 2.1, 2.2], [1.0, 1.0, 1.0], "takes"),
        ([0.3, 0.31, 0.32], [1.0, 1.0, 1.0], "yields"),
        ([0.95, 1.0, 1.1], [1.0, 1.0, 1.0], "fair"),
        ([0.5, 1.5, 3.0], [1.0, 1.0, 1.0], "open"),
        # A mean of 1 is not fair. A band of 0.7 to 1.43 would accept the next two as fair.
        ([0.1, 1.9, 1.0], [1.0, 1.0, 1.0], "open"),
        ([0.1, 1.9], [1.0, 1.0], "open"),
        ([1.0], [1.0], "open"),
        ([0.72, 0.73, 0.71], [1.0, 1.0, 1.0], "yields"),
        ([1.4, 1.41, 1.39], [1.0, 1.0, 1.0], "takes"),
        ([0.7, 0.72, 0.71], [0.72, 0.7, 0.71], "fair"),  # equal to CUBIC's share here
    ],
)
def test_a_share_is_judged_against_cubics_own_within_a_quarter(
    shares: list[float], own: list[float], word: str
) -> None:
    result = made(shares, own, SHARE.name)
    assert view.judged(result, SITUATIONS[0], "vegas", SHARE.name) == word


def tables_of(columns: dict[str, list[float]], names: list[str], **more: pa.Table) -> dict[str, pa.Table]:
    """The core's tables of a run, with the columns that the arena needs."""
    all_nan = [math.nan] * len(names)
    wanted = ("goodput_mbps", "owd_p95_ms", "packets_sent", "packets_lost", "fct_s", "start_s")
    flows = {"flow": pa.array(names)} | {name: pa.array(columns.get(name, all_nan)) for name in wanted}
    return {"flows": pa.table(flows), **more}


def test_a_proxy_is_compared_by_the_delay_of_bytes() -> None:
    """CUBIC's packets take 100 ms, and its bytes, which wait for each other, 130 ms; with a proxy 120 ms."""
    (situation,) = (one for one in SITUATIONS if one.name == "one-user")
    cubic = Cell({"owd_p95_ms": [100.0, 101.0, 102.0], BYTE_DELAY: [130.0, 131.0, 132.0]})
    split = Cell({"owd_p95_ms": [120.0, 121.0, 122.0], BYTE_DELAY: [120.0, 121.0, 122.0]})
    names = ("split-gateway", "newreno", BASELINE)
    cells = {(situation.name, name): cubic if name == BASELINE else split for name in names}
    result = Result([BY_NAME[name] for name in names], [situation], cells, 0.0)
    assert result.verdict(situation.name, "split-gateway", DELAY) == "better"
    assert result.against(situation.name, "split-gateway", DELAY).ratio == pytest.approx(121 / 131)
    assert result.verdict(situation.name, "newreno", DELAY) == "worse", "packets of both"
    # With a call, the delay is that of the call, whose packets have no proxy.
    call = {(situation.name, name): Cell({"owd_p95_ms": [50.0, 51.0, 52.0]}) for name in names}
    assert dataclasses.replace(result, cells=call).verdict(situation.name, "split-gateway", DELAY) == "same"


def test_figures_of_a_run_by_hand() -> None:
    tables = tables_of(
        {
            "goodput_mbps": [6.0, 2.0, 8.0],
            "owd_p95_ms": [10.0, math.nan, 99.0],  # the second received nothing
            "packets_sent": [300.0, 100.0, 50.0],
            "packets_lost": [9.0, 1.0, 50.0],
        },
        ["tested-1", "tested-2", "rival"],
    )
    found = measured(Setting(Kind.RATES, warmup_s=5.0), tables, 20.0).values
    # Share: (6 + 2) / 2 over 8, not 8 over 4. Loss: 10 of the 400 that were sent. Jain: 64 / (2 (36 + 4)).
    wanted = {"goodput_mbps": 8.0, "owd_p95_ms": 10.0, "lost_percent": 2.5, "jain": 0.8, "share": 0.5}
    assert found == pytest.approx(wanted)


def test_the_figures_of_other_flows_count_if_they_are_asked_for() -> None:
    tables = tables_of(
        {"goodput_mbps": [6.0, 0.1, 0.3], "owd_p95_ms": [90.0, 10.0, 30.0]}, ["tested", "call-1", "call-2"]
    )
    found = measured(Setting(Kind.RATES, "call*", "call*"), tables, 20.0).values
    assert (found["goodput_mbps"], found["owd_p95_ms"]) == pytest.approx((0.4, 20.0))
    pages = pa.table({"flow": ["tested", "other"], "onload_s": [1.0, 3.0], "start_s": [0.0, 0.0]})
    setting = Setting(Kind.PAGES, "other", "other", horizon_s=10.0)
    assert measured(setting, tables_of({}, ["tested", "other"], pages=pages), 60.0).values["page_s"] == 3.0


def test_a_situation_about_a_call() -> None:
    (situation,) = (one for one in SITUATIONS if one.name == "beside-voice")
    call = situation.about("voice")
    assert (call.main, call.setting().flows, call.title) == ("owd_p95_ms", "voice", "beside a call: voice")
    assert situation.about("tested").main == "goodput_mbps"
    with pytest.raises(SelectionError, match="there is no such flow"):
        situation.about("video")
    (video,) = (one for one in SITUATIONS if one.name == "video")
    with pytest.raises(ArenaError, match="do different things"):
        video.about("*")


def test_a_rival_that_got_nothing_leaves_a_share_that_is_finite() -> None:
    tables = tables_of({"goodput_mbps": [8.0, 0.0]}, ["tested", "rival"])
    share = measured(Setting(Kind.RATES), tables, 10.0).values["share"]
    assert share == pytest.approx(8.0 / (1460 * 8 / 10 / 1e6))


def test_a_page_that_never_came_counts_up_to_the_horizon() -> None:
    """One page of 100 seeds: started at 33.56 s, nothing received by 60 s. The mean of the others is 0.9."""
    pages = pa.table({"onload_s": [0.9] * 9 + [math.nan], "start_s": [3.0 * i for i in range(9)] + [33.56]})
    tables = tables_of({}, ["tested"], pages=pages)
    found = measured(Setting(Kind.PAGES, horizon_s=10.0), tables, 60.0)
    assert (found.completed, found.begun) == (9, 10)
    assert found.values["page_s"] == pytest.approx(0.9 * 0.9 + 0.1 * 10.0)


def test_transfers_that_never_end_are_transfers_all_the_same() -> None:
    columns = {"fct_s": [math.nan] * 3, "start_s": [3.0, 4.0, 99.0], "goodput_mbps": [0.0] * 3}
    tables = tables_of(columns, ["tested-1", "tested-2", "tested-3"])
    found = measured(Setting(Kind.TRANSFERS, horizon_s=10.0), tables, 16.0)
    assert (found.completed, found.begun) == (0, 2), "the third had not begun"
    assert found.values["fct_s"] == 10.0
    assert "goodput_mbps" not in found.values
    # Of those cut off by the end, completion is irrelevant: they began too late to count.
    late = {"fct_s": [1.0, 2.0, 0.1], "start_s": [3.0, 4.0, 15.0]}
    found = measured(
        Setting(Kind.TRANSFERS, horizon_s=10.0), tables_of(late, ["tested-1", "tested-2", "tested-3"]), 16.0
    )
    assert (found.completed, found.begun, found.values["fct_s"]) == (2, 2, 1.5)


def test_a_picture_that_never_moves_is_waited_for() -> None:
    views = pa.table(
        {
            "start_s": [3.0, 3.0, 3.0],
            "startup_s": [1.0, 2.0, math.nan],
            "stalled_s": [0.5, 0.0, 0.0],
            "played_s": [30.0, 30.0, 0.0],
            "finished": [True, True, False],
        }
    )
    found = measured(Setting(Kind.VIEWS, horizon_s=10.0), tables_of({}, ["tested"], views=views), 45.0)
    assert (found.completed, found.begun) == (2, 3)
    assert found.values["stalled_s"] == pytest.approx((1.5 + 2.0 + 10.0) / 3)


def test_an_arena_runs_and_tells_the_same_everywhere(tmp_path: Path) -> None:
    who = [BY_NAME[name] for name in ("cubic", "vegas", "drwa")]
    where = [one for one in SITUATIONS if one.name in ("one-user", "uplink", "beside-cubic", "short-flows")]
    cache = Cache(tmp_path / "cache", "core")
    seen: list[int] = []
    result = conduct(who, where, cache, quick=True, on_done=lambda done, _: seen.append(done))
    assert seen[-1] == (4 * 3 - 1) * 3
    assert result.cells["uplink", "drwa"].reason
    assert result.cells["one-user", "vegas"].estimate("owd_p95_ms").mean < 100
    assert result.verdict("one-user", "vegas", DELAY) == "better"
    assert math.isnan(result.cells["one-user", "vegas"].estimate("share").mean)
    assert result.cells["one-user", "vegas"].estimate("lost_percent").mean == 0.0, "it fills no queue"
    assert 0.0 < result.cells["one-user", "cubic"].estimate("lost_percent").mean < 1.0
    assert set(result.cells["short-flows", "cubic"].values) == {
        "fct_s",
        "owd_p95_ms",
        "byte_delay_p95_ms",
        "lost_percent",
    }
    again = conduct(who, where, cache, quick=True)
    assert again.cells == result.cells
    table = list(csv.DictReader(io.StringIO(view.cells_csv(result))))
    maps = {one["name"]: one for one in view.heat(result)}
    (vegas,) = (row for row in maps["owd_p95_ms"]["rows"] if row["name"] == "vegas")
    (written,) = (
        row
        for row in table
        if (row["situation"], row["contender"], row["figure"]) == ("one-user", "vegas", "owd_p95_ms")
    )
    assert vegas["cells"][0]["value"] == pytest.approx(float(written["mean"]))
    assert vegas["cells"][0]["shade"] == 0.0, "a quarter of the delay, but at a price"
    tables = markdown(result).splitlines()
    multiples = next(line.split(" | ") for line in tables if line.startswith("| `vegas` | *"))
    assert multiples[1] == f"*{float(written['over_cubic']):.2f}×*", "better, at too high a price"
    drwa = next(line for line in tables if line.startswith("| `drwa` |") and "×" in line)
    assert drwa.endswith("| – |"), "it has no form for uploads"
    report.write_arena_html(result, tmp_path / "index.html")
    page = (tmp_path / "index.html").read_text()
    data = page.split('id="data">')[1].split("</script>")[0]
    assert json.loads(data) == json.loads(json.dumps(view.heat(result)))
    assert "src=" not in page.replace('src="data:image/png;base64,', ""), "it opens without a network"
    assert "http" not in page.replace("http://www.w3.org", "")


def test_names_in_markdown_are_text() -> None:
    rates, delays = [10.0, 20.0, 30.0], [100.0, 101.0, 102.0]
    name = "a|<b>*x*`y`"
    cells = {
        ("one-user", BASELINE): Cell({GOODPUT.name: rates, DELAY.name: delays}),
        ("one-user", name): Cell({GOODPUT.name: rates, DELAY.name: [50.0, 51.0, 52.0]}),
    }
    who = [BY_NAME[BASELINE], dataclasses.replace(BY_NAME["vegas"], name=name)]
    where = dataclasses.replace(SITUATIONS[0], title="<i>one|user</i>")
    lines = markdown(Result(who, [where], cells, 1.0)).splitlines()
    escaped = r"a\|\<b\>\*x\*\`y\`"
    assert sum(line.startswith(f"| {escaped} |") for line in lines) >= 2
    assert any(line.startswith(r"| \<i\>one\|user\</i\> |") for line in lines)
    assert not [line for line in lines if re.search(r"(?<!\\)<[bi]>", line)]


def test_tables_in_markdown_tell_who_is_first_and_who_does_not_rank() -> None:
    rates, delays = [10.0, 20.0, 30.0], [100.0, 101.0, 102.0]
    cells = {
        ("one-user", BASELINE): Cell({GOODPUT.name: rates, DELAY.name: delays}),
        ("one-user", "vegas"): Cell({GOODPUT.name: [4.0, 9.0, 13.0], DELAY.name: [50.0, 51.0, 52.0]}),
        ("one-user", "veno"): Cell({GOODPUT.name: rates, DELAY.name: [59.0, 63.0, 61.0]}),
        ("one-user", "bbr"): Cell({GOODPUT.name: rates, DELAY.name: [60.0, 61.0, 62.5]}),
    }
    who = [BY_NAME[name] for name in (BASELINE, "vegas", "veno", "bbr")]
    result = Result(who, [SITUATIONS[0]], cells, 1.0)
    told = markdown(result)
    (row,) = (line for line in told.splitlines() if line.startswith("| one user, deep queue | 95"))
    assert [cell.strip() for cell in row.strip("|").split("|")][2:] == [
        "101 ± 2.5",
        "veno 61 ± 5",
        "bbr",
        "cubic 101 ± 2.5",
        "vegas 0.50×, goodput 0.43×",
    ]
    assert view.judged(result, SITUATIONS[0], "vegas") == "trades"
    (card,) = (line for line in told.splitlines() if line.startswith("| `vegas` | 1±"))
    assert card == "| `vegas` | 1± | 1? |", "less delay (5.1.2) at less goodput (6.1), which varies much"


def test_a_goodput_does_not_rank_with_a_delay_far_above_cubics() -> None:
    def beside(delay: float) -> str:
        cells = {
            ("rtt-20", BASELINE): Cell({GOODPUT.name: [10.0] * 3, DELAY.name: [100.0] * 3}),
            ("rtt-20", "vegas"): Cell({GOODPUT.name: [20.0] * 3, DELAY.name: [delay] * 3}),
        }
        (rtt_20,) = (one for one in SITUATIONS if one.name == "rtt-20")
        result = Result([BY_NAME[BASELINE], BY_NAME["vegas"]], [rtt_20], cells, 1.0)
        assert view.of_first(result, rtt_20).first == ("vegas" if delay <= 150.0 else BASELINE)
        return view.judged(result, rtt_20, "vegas")

    assert beside(120.0) == "better"
    assert beside(149.0) == "better", "what ITU-T G.114 holds to be fine"
    assert beside(200.0) == "trades"


class OnePacket(Controller):
    """A window of one packet."""

    def on_ack(self, ack: Ack) -> None:
        self.cwnd = 1.0


class Fails(Controller):
    """Fails in a run that takes longer than a moment."""

    def on_ack(self, ack: Ack) -> None:
        raise RuntimeError("boom")


def test_a_window_of_one_packet_is_not_first_and_a_failure_costs_no_other_run(tmp_path: Path) -> None:
    who = [BY_NAME["cubic"], *own("one", OnePacket), *own("fails", Fails)]
    where = [one for one in SITUATIONS if one.name in ("one-user", "beside-voice", "short-beside-long")]
    result = conduct(who, where, Cache(tmp_path, "core"), quick=True)
    for name in ("one-user", "beside-voice"):
        (situation,) = (one for one in where if one.name == name)
        assert view.judged(result, situation, "one") == "trades"
        assert view.judged(result, situation, "quic-one") == "trades"
        assert view.of_first(result, situation).first == "cubic"
    assert result.cells["short-beside-long", "one"].begun == 36
    failed = result.cells["one-user", "fails"]
    assert not failed.values
    assert "3 of 3 runs failed" in failed.reason
    assert "boom" in failed.reason
    assert "boom" in result.cells["one-user", "quic-fails"].reason
    assert result.cells["one-user", "cubic"].values
    markdown(result)
    report.write_arena_html(result, tmp_path / "page.html")


def test_a_scenario_of_ones_own_is_a_situation(airlane: Airlane, tmp_path: Path) -> None:
    text = next(one for one in SITUATIONS if one.name == "short-flows").scenario().text
    text = text.replace("500 kB", "50 kB").replace('duration = "24 s"', 'duration = "8 s"')
    (tmp_path / "mine.toml").write_text("# Small downloads of mine.\n" + text.partition("\n\n")[2])
    situation = from_file(tmp_path / "mine.toml")
    assert (situation.title, situation.main, situation.description()) == (
        "mine",
        "fct_s",
        "Small downloads of mine.",
    )
    done = airlane(
        "arena", "--quick", "--contender", "newreno", "--situation", "mine.toml", "--situation", "one-user"
    )
    assert done.returncode == 0, done.stderr
    assert " mine " in done.stdout
    table = list(csv.DictReader(io.StringIO((tmp_path / "out/arena/cells.csv").read_text())))
    assert {row["situation"] for row in table} == {"mine", "one-user"}
    (tmp_path / "none.toml").write_text(text.replace('name = "tested"', 'name = "others"'))
    with pytest.raises(ArenaError, match=r"none\.toml: flow.*'tested'"):
        from_file(tmp_path / "none.toml")
    wrong = airlane("arena", "--situation", "gone.toml")
    assert wrong.returncode == 2
    assert "gone.toml: no such file" in wrong.stderr


def test_the_command(airlane: Airlane, tmp_path: Path) -> None:
    some = ("--contender", "vegas", "--situation", "one-user")
    done = airlane("arena", "--quick", *some, "--record", "results/some.json")
    assert done.returncode == 0, done.stderr
    assert "vegas 0." in done.stdout
    assert (tmp_path / "out/arena/index.html").is_file()
    recorded = record.read(tmp_path / "results/some.json", SETS["situations"])
    assert [one.name for one in recorded.contenders] == ["cubic", "vegas"]
    assert "| `vegas` |" in markdown(recorded)
    told = airlane("arena", "--quick", "--contender", "vegas", "--situation", "one-user", "--json")
    cells = json.loads(told.stdout)["cells"]
    assert {cell["contender"] for cell in cells} == {"vegas", "cubic"}
    for option, word in (("--contender", "cubic-codel"), ("--situation", "one-user")):
        wrong = airlane("arena", option, "nobody")
        assert wrong.returncode == 2
        assert "'nobody'" in wrong.stderr
        assert word in wrong.stderr


def test_a_folder_for_an_archive(airlane: Airlane, tmp_path: Path) -> None:
    some = ("--contender", "vegas", "--situation", "one-user", "--quick")
    done = airlane("arena", *some, "--record", "some.json", "--publish", "folder")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("and cells.csv, and some.json, and folder\n")
    folder = tmp_path / "folder"
    assert (folder / "runs.json").read_text() == (tmp_path / "some.json").read_text()
    assert (folder / "cells.csv").read_text() == (tmp_path / "out/arena/cells.csv").read_text()
    criteria = list(csv.DictReader((folder / "rfc9743.csv").read_text().splitlines()))
    assert {(row["contender"], row["section"]) for row in criteria} == {
        ("cubic", "5.1.2"),
        ("vegas", "5.1.2"),
    }
    assert [row["decision"] for row in criteria] == ["meets", "meets"]
    readme = (folder / "README.md").read_text()
    assert "airlane arena --set situations --contender vegas --situation one-user --quick --seed 1" in readme
    assert {path.name for path in (folder / "scenarios").iterdir()} == {"one-user.toml"}
    for name in re.findall(r"^\| `([^`]+)`", readme, re.MULTILINE):
        assert (folder / name).exists(), name
    assert 'href="runs.json"' in (folder / "index.html").read_text()
    citation = yaml.safe_load((folder / "CITATION.cff").read_text())
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "dataset"
    assert {"message", "title", "authors"} <= citation.keys()
    wrong = airlane("arena", "--set", "bbr-draft", "--publish", "folder")
    assert wrong.returncode == 2
    assert "--publish needs --set situations" in wrong.stderr


def test_recorded_reasons_name_no_place_of_a_machine() -> None:
    for name in ("arena.json", "arena-nr.json"):
        text = (ROOT / "docs/results" / name).read_text(encoding="utf-8")
        assert not re.search(r'"reason": "/', text)


@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda one: one.name)
def test_names_in_a_plane_cover_neither_names_nor_marks(situation: Situation) -> None:
    result = record.read(ROOT / "docs/results/arena.json", SETS["situations"])
    chart = plane_chart(result, situation)
    if chart is None:
        pytest.skip("a situation without a plane")
    drawn = draw(chart)
    drawn.canvas.draw()
    (axis,) = drawn.axes
    names = {text.get_text(): text.get_window_extent() for text in axis.texts}
    assert BASELINE in names
    for one, other in itertools.combinations(names.values(), 2):
        assert not one.overlaps(other)
    marks = [point for line in chart.panels[0].items if isinstance(line, Line) for point in line.points()]
    places = axis.transData.transform([(mark.x, mark.y) for mark in marks])
    for name, box in names.items():
        covered = [place for place in places if box.contains(*place)]
        assert not covered or name == BASELINE, f"{name} covers a mark"
