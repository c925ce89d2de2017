"""The test cases of the BBR draft: all of them are there, what holds holds, and a verdict can go wrong."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import pytest

from airlane.arena import draft
from airlane.arena.draft import Judged, Seen
from airlane.arena.draft_cases import CASES
from conftest import Airlane

BY_SECTION = {case.section: case for case in CASES}
OPEN = {
    "A.4": "cannot be had",  # a tenth less does not keep the flight up, for Drain paces at a half
    "A.17": "in ",  # the draft has no number for little loss, and ours is where the loss is
}


def test_the_appendix_is_complete() -> None:
    assert [case.section for case in CASES if case.section[-1].isdigit()] == [f"A.{i}" for i in range(1, 23)]
    assert all(case.expects.endswith(".") and case.criterion and case.figure for case in CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.section)
def test_a_case(case: draft.Case) -> None:
    (judged,) = draft.conduct([case], runs=3, threads=2)
    print(case.section, judged.verdict, judged.estimate, judged.reasons)
    assert len(judged.values) + len(judged.reasons) == 3
    assert judged.verdict.startswith(OPEN.get(case.section, "holds"))


def test_the_same_twice() -> None:
    cases = [BY_SECTION["A.6"], BY_SECTION["A.21"]]
    assert draft.conduct(cases, runs=2, threads=2) == draft.conduct(cases, runs=2, threads=1)


@pytest.mark.parametrize(
    ("section", "settings", "verdict"),
    [
        ("A.1", {"run.duration": "300 ms"}, "cannot be had"),  # Startup does not end
        ("A.1", {"internet.rate": "9 Mbit/s"}, "does not"),  # not the rate that is looked for
        ("A.5", {"internet.loss": "1 %"}, "does not"),  # packets are lost
        ("A.14", {"internet.rate": "80 kbit/s"}, "does not"),
        (
            "A.10",
            {
                "flow.0.writes": [{"at": "1 s", "rate": "1 Mbit/s"}],
                "internet.hold": [{"at": "0 s", "duration": "1 s"}],
            },
            "does not",
        ),
        ("A.11", {"flow.0.writes": [{"at": "3 s", "pause": True}, {"at": "4 s"}]}, "does not"),
        ("A.19", {"flow.0.transport.frto": False, "flow.0.transport.timestamps": False}, "does not"),
    ],
)
def test_a_verdict_can_go_wrong(section: str, settings: dict[str, object], verdict: str) -> None:
    case = BY_SECTION[section]
    spoilt = dataclasses.replace(case, interventions=(*case.interventions, lambda _: settings))
    (judged,) = draft.conduct([spoilt], runs=2)
    assert judged.verdict == verdict


def test_verdicts_are_counted() -> None:
    case = dataclasses.replace(BY_SECTION["A.1"], look=lambda _: Seen(1.0, True))
    assert [Judged(case, [1.0] * n, k, []).verdict for n, k in ((0, 0), (3, 3), (3, 0), (3, 1))] == [
        "cannot be had",
        "holds",
        "does not",
        "in 1 of 3",
    ]


def test_the_command(airlane: Airlane, tmp_path: Path) -> None:
    done = airlane("arena", "--set", "bbr-draft", "--quick", "--situation", "A.4", "--situation", "A.15")
    assert done.returncode == 0, done.stderr
    assert "1 holds, 1 cannot be had" in done.stdout
    told = list(csv.DictReader((tmp_path / "out/arena/bbr-draft.csv").read_text().splitlines()))
    assert [row["case"] for row in told] == ["A.4", "A.15"]
    shown = airlane("arena", "--set", "bbr-draft", "--quick", "--situation", "A.15", "--json")
    (case,) = json.loads(shown.stdout)["cases"]
    assert case["verdict"] == "holds"
    assert case["n"] == 2
    wrong = airlane("arena", "--set", "bbr-draft", "--contender", "cubic")
    assert wrong.returncode == 2
    assert "of no use" in wrong.stderr
