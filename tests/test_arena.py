"""The arena: every contender can enter, verdicts follow from paired intervals, page and table agree."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from pathlib import Path

import pytest

from airlane import report
from airlane.arena import BASELINE, CONTENDERS, SITUATIONS, Cell, Contender, Result, Situation, conduct, view
from airlane.arena.conduct import FIGURES
from airlane.arena.contenders import NotForError
from airlane.arena.markdown import markdown
from airlane.cache import Cache
from conftest import Airlane

BY_NAME = {one.name: one for one in CONTENDERS}
GOODPUT, DELAY, *_, SHARE = FIGURES


def without_form(contender: Contender, situation: Situation) -> str | None:
    """What of the reason why a contender cannot be there is known here; None if it can."""
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
    assert situation.told().endswith(".")
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


def made(own: list[float], base: list[float], figure: str) -> Result:
    cells = {("one-user", "vegas"): Cell({figure: own}), ("one-user", BASELINE): Cell({figure: base})}
    return Result([BY_NAME[BASELINE], BY_NAME["vegas"]], [SITUATIONS[0]], cells, 1.0)


@pytest.mark.parametrize(
    ("own", "figure", "word"),
    [
        ([11.0, 21.1, 31.0], GOODPUT, "better"),  # far apart among themselves, a sure gain in each pair
        ([11.0, 21.1, 31.0], DELAY, "worse"),
        ([9.0, 19.1, 29.0], GOODPUT, "worse"),
        ([11.0, 19.0, 30.5], GOODPUT, "same"),
        ([11.0], GOODPUT, "same"),  # one run is no interval
    ],
)
def test_a_verdict_is_the_interval_of_the_paired_difference(
    own: list[float], figure: object, word: str
) -> None:
    assert isinstance(figure, type(GOODPUT))
    result = made(own, [10.0, 20.0, 30.0][: len(own)], figure.name)
    assert result.verdict("one-user", "vegas", figure) == word
    assert result.verdict("one-user", BASELINE, figure) == ""


@pytest.mark.parametrize(
    ("shares", "word"),
    [
        ([2.0, 2.1, 2.2], "takes"),
        ([0.3, 0.31, 0.32], "yields"),
        ([0.95, 1.0, 1.1], "fair"),
        ([0.5, 1.5, 3.0], "open"),
    ],
)
def test_a_share_is_fair_within_a_quarter(shares: list[float], word: str) -> None:
    result = made(shares, [1.0, 1.0, 1.0], SHARE.name)
    assert view.judged(result, SITUATIONS[0], "vegas", SHARE.name) == word


def test_an_arena_runs_and_tells_the_same_everywhere(tmp_path: Path) -> None:
    who = [BY_NAME[name] for name in ("cubic", "vegas", "drwa")]
    where = [one for one in SITUATIONS if one.name in ("one-user", "uplink", "beside-cubic", "short-flows")]
    cache = Cache(tmp_path / "cache", "core")
    seen: list[int] = []
    result = conduct(who, where, cache, quick=True, on_done=lambda done, _: seen.append(done))
    assert seen[-1] == (4 * 3 - 1) * 2
    assert result.cells["uplink", "drwa"].reason
    assert result.cells["one-user", "vegas"].estimate("owd_p95_ms").mean < 100
    assert result.verdict("one-user", "vegas", DELAY) == "better"
    assert math.isnan(result.cells["one-user", "vegas"].estimate("share").mean)
    assert result.cells["one-user", "vegas"].estimate("lost_percent").mean == 0.0, "it fills no queue"
    assert 0.0 < result.cells["one-user", "cubic"].estimate("lost_percent").mean < 1.0
    assert set(result.cells["short-flows", "cubic"].values) == {"fct_s", "owd_p95_ms", "lost_percent"}
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
    assert vegas["cells"][0]["shade"] > 0.5, "a quarter of the delay is blue"
    tables = markdown(result).splitlines()
    (multiples,) = (line.split(" | ") for line in tables if line.startswith("| `vegas` | **"))
    assert multiples[1] == f"**{float(written['over_cubic']):.2f}×**", "told from CUBIC, and so bold"
    (drwa,) = (line for line in tables if line.startswith("| `drwa` |") and "×" in line)
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


def test_tables_in_markdown_tell_who_is_first_and_at_what_price() -> None:
    rates, delays = [10.0, 20.0, 30.0], [100.0, 101.0, 102.0]
    cells = {
        ("one-user", BASELINE): Cell({GOODPUT.name: rates, DELAY.name: delays}),
        ("one-user", "vegas"): Cell({GOODPUT.name: [4.0, 14.0, 24.0], DELAY.name: [50.0, 51.0, 52.0]}),
        ("one-user", "veno"): Cell({GOODPUT.name: rates, DELAY.name: [49.0, 53.0, 51.0]}),
        ("one-user", "bbr"): Cell({GOODPUT.name: rates, DELAY.name: [60.0, 61.0, 62.5]}),
    }
    who = [BY_NAME[name] for name in (BASELINE, "vegas", "veno", "bbr")]
    told = markdown(Result(who, [SITUATIONS[0]], cells, 1.0))
    (row,) = (line for line in told.splitlines() if line.startswith("| one user, deep queue | 95"))
    assert [cell.strip() for cell in row.strip("|").split("|")][2:] == [
        "101 ± 2.5",
        "vegas 51 ± 2.5, at 0.70× CUBIC's goodput",
        "veno",
        "cubic 101 ± 2.5",
    ]
    (card,) = (line for line in told.splitlines() if line.startswith("| `vegas` | 1+"))
    assert card == "| `vegas` | 1+ | 1− |", "less delay (5.1.2), less goodput (6.1)"


def test_the_command(airlane: Airlane, tmp_path: Path) -> None:
    some = ("--contender", "vegas", "--situation", "one-user")
    done = airlane("arena", "--quick", *some, "--markdown", "tables/some.md")
    assert done.returncode == 0, done.stderr
    assert "vegas 0." in done.stdout
    assert (tmp_path / "out/arena/index.html").is_file()
    assert "| `vegas` |" in (tmp_path / "tables/some.md").read_text()
    told = airlane("arena", "--quick", "--contender", "vegas", "--situation", "one-user", "--json")
    cells = json.loads(told.stdout)["cells"]
    assert {cell["contender"] for cell in cells} == {"vegas", "cubic"}
    for option, word in (("--contender", "cubic-codel"), ("--situation", "one-user")):
        wrong = airlane("arena", option, "nobody")
        assert wrong.returncode == 2
        assert "'nobody'" in wrong.stderr
        assert word in wrong.stderr
