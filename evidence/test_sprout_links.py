"""The figures of Sprout's comparison, by hand and over a constant link."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import sprout_links
from sprout_links import MS, Measured


def test_the_age_of_the_newest_packet_by_hand() -> None:
    # Packets arrive 10 ms after they were sent, each 100 ms: the age is 10 to 109 ms.
    sent = np.arange(0, 70_000, 100, dtype=np.int64) * MS
    assert sprout_links.p95_of_age(sent, sent + 10 * MS, 70_000) == pytest.approx(104.0, abs=1.0)


@pytest.mark.parametrize(
    ("ours", "told"),
    [
        ((370, 136), "holds"),
        ((330, 200), "rate not"),
        ((360, 300), "delay not"),
        ((420, 60), "rate and delay not"),
    ],
)
def test_verdicts(ours: tuple[float, float], told: str) -> None:
    line = {"until_s": "", "published_kbps": "370", "published_delay_ms": "136"}
    assert sprout_links.verdict(line, Measured(*ours)) == told
    assert sprout_links.verdict(line | {"until_s": "786"}, Measured(*ours)) == "not counted"


def test_a_constant_link_is_measured_as_it_is(tmp_path: Path) -> None:
    # An opportunity each 2 ms: 6 Mbit/s, which CUBIC fills. Its queue grows without a limit.
    trace = "".join(f"{ms}\n" for ms in range(2, 80_001, 2))
    for suffix in ("up", "down"):
        (tmp_path / f"steady.{suffix}").write_text(trace)
    (cubic,) = sprout_links.run(tmp_path / "steady", "cubic", "downlink", "", "").values()
    assert cubic.kbps == pytest.approx(6000, rel=0.01)
    both = sprout_links.run(tmp_path / "steady", "sprout", "downlink", "95", "")
    assert set(both) == {"downlink", "uplink"}
    for ours in both.values():
        assert 3000 < ours.kbps < 6000
        assert 0 < ours.delay_ms < 120 < cubic.delay_ms


def test_a_missing_trace_is_left_out_with_a_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert sprout_links.rows(tmp_path) == []
    with sprout_links.FIGURES.open(encoding="utf-8", newline="") as file:
        lines = len(list(csv.DictReader(file)))
    said = capsys.readouterr().out.splitlines()
    assert len(said) == lines
    assert all("left out, since" in line for line in said)
