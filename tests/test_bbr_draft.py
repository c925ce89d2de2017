"""The test cases of the BBR draft: complete, with the expected verdicts, and with verdicts that can fail."""

from __future__ import annotations

import csv
import dataclasses
import json
from pathlib import Path

import pytest

from airlane.arena import CONTENDERS, draft
from airlane.arena.draft import Judged, Seen
from airlane.arena.draft_cases import CASES
from conftest import Airlane

BY_SECTION = {case.section: case for case in CASES}
OPEN = {
    "A.4": "cannot be had",  # losing a tenth does not sustain the flight, since Drain paces at a half
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
        ("A.1", {"internet.rate": "9 Mbit/s"}, "does not"),  # not the expected rate
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
    asked = case.question("bbr3")
    judged = [Judged(case, "bbr3", asked, [1.0] * n, k, []) for n, k in ((0, 0), (3, 3), (3, 0), (3, 1))]
    assert [one.verdict for one in judged] == [
        "cannot be had",
        "holds",
        "does not",
        "in 1 of 3",
    ]


VERSION_1 = {
    "A.2": "does not",  # loss does not end its Startup
    "A.3": "does not",  # it uses the in-flight value at the departure of the next segment
    "A.4": "cannot be had",
    "A.4b": "does not",  # its Drain has no time limit
    "A.17": "does not",  # it detects the policer, and forgets it after 48 round trips
}


@pytest.mark.parametrize("case", CASES, ids=lambda one: one.section)
def test_others_are_asked_what_they_can_be(case: draft.Case) -> None:
    others = [next(one for one in CONTENDERS if one.name == name) for name in draft.OTHERS]
    ours, *judged = draft.conduct([case], others, runs=2, threads=2)
    assert (ours,) == tuple(draft.conduct([case], runs=2, threads=2)), "company changes nothing"
    verdicts = {one.contender: one.verdict for one in judged}
    print(case.section, verdicts, [one.estimate for one in judged], [one.reasons for one in judged])
    assert [*verdicts] == list(draft.OTHERS)
    for one in judged:
        assert (one.verdict == "not applicable") == isinstance(one.asked, str)
        assert one.asked, "it says why"
        assert len(one.values) + len(one.reasons) == (0 if isinstance(one.asked, str) else 2)
    if case.others is None:
        assert set(verdicts.values()) == {"not applicable"}
    else:
        assert verdicts.pop("bbr") == VERSION_1.get(case.section, "holds")
        assert set(verdicts.values()) == {"not applicable" if case.others.of else "holds"}


@pytest.mark.parametrize(
    ("section", "settings", "verdict"),
    [
        ("A.13", {"internet.loss": "3 %"}, "does not"),  # losses keep the link from being full
        ("A.17", {"internet.loss": "5 %"}, "does not"),
        # No way to distinguish acknowledgments of a retransmission from those of the original, and no
        # F-RTO.
        ("A.19", {"flow.0.transport.frto": False, "flow.0.transport.timestamps": False}, "does not"),
        (
            "A.18",
            {"internet.detours": [{"at": "3000000 us", "duration": "6 ms", "extra": "0 ms"}]},
            "cannot be had",
        ),
    ],
)
def test_a_verdict_of_others_can_go_wrong(section: str, settings: dict[str, object], verdict: str) -> None:
    case = BY_SECTION[section]
    spoilt = dataclasses.replace(case, interventions=(*case.interventions, lambda _: settings))
    newreno = [one for one in CONTENDERS if one.name == "newreno"]
    assert draft.conduct([spoilt], newreno, runs=2)[1].verdict == verdict


def test_the_command(airlane: Airlane, tmp_path: Path) -> None:
    done = airlane("arena", "--set", "bbr-draft", "--quick", "--situation", "A.4", "--situation", "A.15")
    assert done.returncode == 0, done.stderr
    assert "1 holds, 1 cannot be had" in done.stdout
    assert "not applicable to cubic, newreno: A.4, A.15: no states" in done.stdout
    told = list(csv.DictReader((tmp_path / "out/arena/bbr-draft.csv").read_text().splitlines()))
    assert [(row["case"], row["controller"]) for row in told] == [
        (case, who) for case in ("A.4", "A.15") for who in ("bbr3", "bbr", "cubic", "newreno")
    ]
    shown = airlane("arena", "--set", "bbr-draft", "--quick", "--situation", "A.15", "--json")
    case, *others = json.loads(shown.stdout)["cases"]
    assert case["controller"] == "bbr3"
    assert case["verdict"] == "holds"
    assert case["n"] == 2
    assert [one["verdict"] for one in others] == ["holds", "not applicable", "not applicable"]
    wrong = airlane("arena", "--set", "bbr-draft", "--contender", "nobody")
    assert wrong.returncode == 2
    assert "'nobody'" in wrong.stderr
    refused = airlane("arena", "--set", "bbr-draft", "--record", "results.json")
    assert refused.returncode == 2
    assert "--set situations" in refused.stderr


def test_a_controller_of_ones_own_is_asked_too(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from airlane import Controller\n"
        "class Fixed(Controller):\n"
        "    def on_ack(self, ack):\n"
        "        self.cwnd = 60\n"
    )
    arguments = ("--set", "bbr-draft", "--quick", "--controller", "mine.py:Fixed", "--contender", "newreno")
    done = airlane("arena", *arguments, "--situation", "A.13", "--situation", "A.1", "--json")
    assert done.returncode == 0, done.stderr
    told = {(one["case"], one["controller"]): one["verdict"] for one in json.loads(done.stdout)["cases"]}
    assert told["A.13", "fixed"] == told["A.13", "newreno"] == "holds"
    assert told["A.1", "fixed"] == "not applicable"
