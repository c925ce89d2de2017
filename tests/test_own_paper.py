"""A sixth paper is one folder: numbers, measures, readings. Index, counts and README follow automatically."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from airlane import papers
from airlane.study.verdict import Published

NUMBERS = """\
schema: 1
table1: # Mbit/s by the link's rate
  ten_mbps: 9.6
  twenty_mbps: 19.2
  twenty_ci: 0.5
  gain_pct: 140 # ours is 100 %: the same sign, another size
text: {delay_ms_max: 500, gain_range_pct: [50, 180], drops: 0, payload_bytes: 1460}
fig1: {lost: true, what: "goodput over time"}
"""

PAPER = """\
from airlane import examples, metrics
from airlane.experiments import Claim, ClaimKind, Experiment, Number, NumberKind, Reading
from airlane.papers.common import decide, gain_pct, higher, zero
from airlane.study.verdict import Relation

TITLE, REFERENCE, ABOUT = "A link", "Nobody, Journal of Links, 2026", "links of two rates"
WINDOW, ID = metrics.Window(1.0, 3.0), "sixth"


def goodput(point):
    return lambda draw: metrics.goodput_mbps(draw[point], None, WINDOW)


def delay(point):
    return lambda draw: float(draw[point].tables["flows"]["owd_ms"][0].as_py())


def faster(draws):
    return decide([higher(draws, "20 − 10 Mbit/s", goodput("20"), goodput("10"), unit=" Mbit/s")])


def experiments():
    settings = {"run.duration": "3 s", "internet.queue": "64 KiB", "internet.delay": "10 ms"}
    gain = gain_pct(goodput("20"), goodput("10"))
    return [
        Experiment(
            id=f"{ID}/table1",
            title="a link of two rates",
            source="Table 1",
            scenario=examples.path("wired-cubic"),
            grid={rate: {**settings, "internet.rate": f"{rate} Mbit/s"} for rate in ("10", "20")},
            runs=2,
            quick_runs=2,
            numbers=(
                Number(f"{ID}.table1.ten_mbps", "10 Mbit/s", goodput("10")),
                Number(
                    f"{ID}.table1.twenty_mbps",
                    "20 Mbit/s",
                    goodput("20"),
                    readings=(Reading("the other link", goodput("10")),),
                ),
                Number(f"{ID}.table1.gain_pct", "gain, %", gain, against=zero),
                Number(f"{ID}.text.delay_ms_max", "delay, ms", delay("10"), relation=Relation.AT_MOST),
                Number(f"{ID}.text.gain_range_pct", "gain, %", gain, restates=f"{ID}.table1.gain_pct"),
                Number(f"{ID}.text.gain_range_pct.high", "largest gain, %", gain, against=zero),
                Number(f"{ID}.text.drops", "drops", zero, absolute=0.5),
                Number(
                    f"{ID}.text.payload_bytes", "payload", lambda _: 1448.0, kind=NumberKind.CONSTANT
                ),
                Number(f"{ID}.fig1", "goodput over time", goodput("10")),
            ),
            claims=(
                Claim(f"{ID}.faster", "a faster link is faster", faster),
                Claim(f"{ID}.ours", "so it is here", faster, ClaimKind.PREDICTION),
            ),
        )
    ]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The paper as a folder, which is removed afterwards."""
    monkeypatch.setattr(papers, "_ADDED", {})
    made = tmp_path / "sixth"
    made.mkdir()
    (made / "paper.py").write_text(PAPER)
    (made / "published.yaml").write_text(NUMBERS)
    return made


def reproduced(path: Path) -> tuple[str, dict[str, object]]:
    """The command's output for a paper, and its JSON."""
    command = [sys.executable, "-m", "airlane", "reproduce", str(path), "-o", "out"]
    done = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=True)
    return done.stdout, json.loads((path.parent / "out/results.json").read_text())


def test_a_sixth_paper_is_counted_and_has_its_page(folder: Path) -> None:
    said, found = reproduced(folder)
    assert found["papers"] == {"sixth": {"match": 4, "direction": 2, "lost": 1}}
    assert found["constants"] == {"sixth": {"miss": 1}}
    assert found["claims_by_kind"] == {"paper": {"yes": 1}, "reading": {}, "prediction": {"yes": 1}}
    assert "a link of two rates" in said
    index = (folder.parent / "out/index.html").read_text()
    assert "A link" in index
    assert "Journal of Links" in index
    assert "the other link" in (folder.parent / "out/sixth.html").read_text()


def test_a_file_of_ones_own_is_a_paper_too(folder: Path) -> None:
    (folder / "published.yaml").rename(folder.parent / "sixth.yaml")
    (folder / "paper.py").rename(folder.parent / "sixth.py")
    folder.rmdir()
    _, found = reproduced(folder.parent / "sixth.py")
    assert found["papers"] == {"sixth": {"match": 4, "direction": 2, "lost": 1}}


def test_a_folder_among_the_papers_is_found_and_listed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(papers.own, "found_in", lambda _: [folder])
    papers.bundled.cache_clear()
    papers._bundled_numbers.cache_clear()
    try:
        assert [e.id for e in papers.experiments()][-1] == "sixth/table1"
        assert [e.id for e in papers.select(["sixth"])] == ["sixth/table1"]
        assert papers.published()["sixth.table1.twenty_mbps"] == Published(
            "sixth.table1.twenty_mbps", 19.2, 0.5
        )
        assert papers.readme_rows()[-1] == "| `sixth` | links of two rates | Nobody, Journal of Links, 2026 |"
    finally:
        papers.bundled.cache_clear()
        papers._bundled_numbers.cache_clear()
