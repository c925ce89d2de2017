"""Sentences of the manual that numbers decide: each holds in the recorded results, and is on its page.

A sentence whose words depend on the sign or the size of a number is wrong when the number crosses a bound,
though the number itself is always that of the results.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import cells
import pytest

from airlane.arena import CONTENDERS, Result, record, view
from airlane.arena.contenders import BASELINE
from airlane.arena.sets import SETS
from airlane.arena.situations import SITUATIONS
from airlane.runs.figures import BY_NAME
from airlane.study.verdict import Verdict
from conftest import ROOT


@dataclass(frozen=True)
class Sentence:
    """Words of a page, and what must hold for them."""

    page: str
    words: str
    holds: Callable[[], bool]


def value(name: str) -> float:
    """The mean of a cell."""
    return float(cells.number(name, "mean").replace(",", ""))


def column(table: str, rows: str, heading: str) -> list[float]:
    """The means of a column in the rows with a prefix."""
    known = cells._experiment_tables()[table]
    index = known.column(heading)
    found = [re.match(r"-?[\d.]+", row[index]) for row in known.rows if row[0].startswith(rows)]
    assert found
    return [float(one[0]) for one in found if one]


@cache
def arena() -> Result:
    """The arena as it was recorded."""
    return record.read(ROOT / "docs/results/arena.json", SETS["situations"])


def verdict(contender: str, situation: str, figure: str = "") -> str:
    (where,) = (one for one in SITUATIONS if one.name == situation)
    return view.judged(arena(), where, contender, figure)


@cache
def calls() -> Result:
    """The arena of calls as it was recorded."""
    return record.read(ROOT / "docs/results/arena-rmcat.json", SETS["rmcat"])


def of_calls(contender: str, situation: str, figure: str) -> float:
    return calls().cells[f"rmcat-{situation}", contender].estimate(figure).mean


def fair_in(situation: str) -> list[str]:
    """The controllers of which the calls of a situation become equally fast."""
    names = ("gcc", "scream", "scream-libwebrtc", "nada")
    return [name for name in names if of_calls(name, situation, "jain") > 0.99]


def rival_of_calls(contender: str, situation: str) -> float:
    """The goodput of the flow next to the calls."""
    return of_calls(contender, situation, RATE) / of_calls(contender, situation, "share")


def l4s_rate(situation: str) -> float:
    """The rate of the video with L4S over that without."""
    return of_calls("scream-l4s", situation, VIDEO) / of_calls("scream", situation, VIDEO)


def ratio(contender: str, situation: str, figure: str) -> float:
    """A figure as a multiple of CUBIC's."""
    return arena().against(situation, contender, BY_NAME[figure]).ratio


def mean(contender: str, situation: str, figure: str) -> float:
    return arena().cells[situation, contender].estimate(figure).mean


def runs(contender: str, situation: str) -> object:
    return arena().cells[situation, contender].values


def names(prefix: str = "") -> list[str]:
    """The contenders but CUBIC."""
    return [one.name for one in CONTENDERS if one.name.startswith(prefix) and one.name != BASELINE]


def differ(situation: str, figure: str) -> set[str]:
    """Contenders with a difference from CUBIC that is shown and matters."""
    return {name for name in names() if verdict(name, situation, figure) in (*view.SURE, "better")}


def is_worse_somewhere(contender: str) -> bool:
    """Whether a contender is worse than CUBIC in a situation, by its figure or by one of its criteria."""
    bad = {"worse", "trades", "takes", "yields"}
    return any(
        verdict(contender, one.name, figure) in bad
        for one in SITUATIONS
        for figure in ("", *one.criteria.values())
    )


def best(situation: str, figure: str, count: int) -> set[str]:
    """The contenders with the greatest means."""
    found = [name for name in names() if figure in arena().cells[situation, name].values]
    return set(sorted(found, key=lambda name: -mean(name, situation, figure))[:count])


def first(situation: str) -> view.Rank:
    (where,) = (one for one in SITUATIONS if one.name == situation)
    return view.of_first(arena(), where)


CALLS = "rtc.md"
ARENA, MDCC, MELD = "arena-results.md", "papers/mdcc.md", "papers/meld.md"
ARWA, SPLIT, HANDOVER = "papers/arwa.md", "papers/splitproxy.md", "papers/ltetcp-handover.md"
DELAY, RATE = "owd_p95_ms", "goodput_mbps"
FRAME, FROZEN, VIDEO = "frame_p95_ms", "freeze_s", "video_kbps"
CHANGES = ("capacity", "capacity-far", "capacity-two", "feedback")
DOWNLOAD = "cell-download"
LOWEST_KBPS = 150.0
"""Lowest rate of the video with headers, in kbit/s."""
LINUX = "arwa/table6: Table 6 reproduced: linux, and what the paper does not compare"
REGIONS = "arwa/regions: Gains of ARWA, %"
ORDERINGS = "arwa/regions: Which orderings of section 4.3.6 hold, by bandwidth and DRWA's factor"
QUEUES = (
    "ltetcp/queue-sweep: Figs. 8 and 9, 5 s after the handover: "
    "the authors' simulator, sender as Linux 2.6.26"
)
FILL_UP = "mdcc/table2: Fill-up time by delay: vehicular"
ONE_DELAY = "mdcc/delay: One delay for all ten rows of CUBIC, by what Table IV leaves open"
FALSE_REPORTS = (
    "mdcc/wired: claims :: where the internet link is the bottleneck (queue of 1 BDP) "
    "and the PEP claims @ evidence"
)
DELAY_AFTER = (
    "ltetcp/handover-seamless: Where the published run lies among ours: seamless :: lowest delay @ median"
)
PAGES = "splitproxy/fig7: Time of a page :: NewReno,"

SENTENCES = [
    Sentence(
        ARENA,
        "No contender is better than CUBIC in every situation",
        lambda: all(any(verdict(name, one.name) != "better" for one in SITUATIONS) for name in names()),
    ),
    Sentence(
        ARENA,
        "in some situation, except CUBIC with ABE, which is CUBIC where no packet is marked",
        lambda: {name for name in names() if not is_worse_somewhere(name)} == {"cubic-abe"},
    ),
    Sentence(
        ARENA,
        "CoDel in the cell reduces the delay of a download most at almost full goodput",
        lambda: first("one-user").first == "cubic-codel" and ratio("cubic-codel", "one-user", RATE) > 0.9,
    ),
    Sentence(
        ARENA,
        "BBRv1 and MELD gain most under random loss",
        lambda: best("random-loss", RATE, 1 + len(names("meld"))) == {"bbr", *names("meld")},
    ),
    Sentence(
        ARENA,
        "Contenders that keep it short have less goodput in the seamless handover",
        lambda: all(
            verdict(name, "handover-seamless", RATE) == "worse"
            for name in ("cubic-codel", "veno", "westwood", "arwa")
        ),
    ),
    Sentence(
        ARENA,
        "differ from CUBIC in page load time",
        lambda: differ("web", "page_s") == {"drwa", *names("split")},
    ),
    Sentence(
        ARENA, "contender differs in the waiting time of a video", lambda: not differ("video", "stalled_s")
    ),
    Sentence(
        ARENA,
        "With a hundred users both have more delay than CUBIC",
        lambda: min(ratio(name, "users-100", DELAY) for name in ("bbr", "bbr3")) > 1.0,
    ),
    Sentence(
        ARENA,
        "When the path narrows neither is better than CUBIC",
        lambda: "better" not in {verdict(name, "path-change") for name in ("bbr", "bbr3")},
    ),
    Sentence(
        ARENA,
        "those of BBRv3 within",
        lambda: verdict("bbr", "one-user") == "better" and verdict("bbr3", "one-user") != "better",
    ),
    Sentence(
        ARENA,
        "Its delay is the lowest with one and with twenty users",
        lambda: all(
            ratio("vegas", place, DELAY) == min(ratio(name, place, DELAY) for name in names())
            for place in ("one-user", "users-20")
        ),
    ),
    Sentence(
        ARENA,
        "At a bottleneck outside the cell it has no effect: its figures equal CUBIC's to the digit",
        lambda: runs("cubic-codel", "wired-bottleneck") == runs(BASELINE, "wired-bottleneck"),
    ),
    Sentence(
        ARENA,
        "MELD-ME then equals MELD-DE to the digit",
        lambda: runs("meld-me-newreno", "wired-bottleneck") == runs("meld-de-newreno", "wired-bottleneck"),
    ),
    Sentence(ARENA, "At 200 ms Westwood+ is last", lambda: first("rtt-200").last == "westwood"),
    Sentence(
        ARENA,
        "CUBIC's short downloads are slow because of HyStart",
        lambda: all(
            verdict(name, "short-flows") == "better" for name in ("newreno", "scalable", "westwood", "veno")
        ),
    ),
    Sentence(
        ARENA,
        "Beside a download to the same UE, 200 kB take longer",
        lambda: all(
            mean(f"quic-{name}", "short-beside-long", "fct_s") > mean(name, "short-beside-long", "fct_s")
            for name in ("newreno", "cubic")
        ),
    ),
    Sentence(
        ARENA,
        "At the wired bottleneck both take a larger share beside CUBIC",
        lambda: all(
            mean(f"quic-{name}", "beside-cubic-wired", "share") > mean(name, "beside-cubic-wired", "share")
            for name in ("newreno", "cubic")
        ),
    ),
    Sentence(
        ARENA,
        "in no situation better in goodput than CUBIC by a difference that matters",
        lambda: (
            [
                one.name
                for one in SITUATIONS
                if one.main != "share" and verdict("mdcc", one.name, RATE) == "better"
            ]
            == ["capacity-jump"]
        ),
    ),
    Sentence(
        MDCC,
        "MD-CC fills freed capacity in about 80 % less time than CUBIC",
        lambda: all(
            70 < saved < 90
            for saved in column("mdcc/table2: Fill-up time by delay: vehicular", "", "reduction")
        ),
    ),
    Sentence(
        MDCC,
        "without any PEP, the same window takes the same time",
        lambda: all(
            abs(less) < 5
            for table, fading in (("table2", "vehicular"), ("table3", "pedestrian"))
            for less in column(
                f"mdcc/{table}: Who needs the PEP: fill-up time in s, {fading}",
                "",
                "MD-CC less than Scalable",
            )
        ),
    ),
    Sentence(
        MDCC,
        "eight of ten rows agree with one delay of 4.0 ms",
        lambda: value(f"{ONE_DELAY} :: no background, last byte sent @ rows of 10") == 8,
    ),
    Sentence(
        MDCC,
        "MD-CC then takes about nine times CUBIC's share",
        lambda: 7 < value(FALSE_REPORTS) < 11,
    ),
    Sentence(
        HANDOVER,
        "lossless handover loses none and carries more at every size of the queue",
        lambda: min(column(QUEUES, "", "goodput gained")) > 0,
    ),
    Sentence(
        HANDOVER,
        "After a seamless handover the delay falls at once",
        lambda: value(DELAY_AFTER) < 70,
    ),
    Sentence(
        MELD,
        "MELD is never worse than legacy by more than 5 %",
        lambda: all(
            min(column("meld/faults: Goodput over that of legacy", "", name)) >= 0.95
            for name in ("silent", "1 s late", "reordered", "of the wrong UE", "nonsense")
        ),
    ),
    Sentence(
        ARWA,
        "From a factor of 1.5 on no gain over DRWA is 5 % or more",
        lambda: all(
            gain < 5.0
            for heading in ("throughput over DRWA", "fairness over DRWA")
            for blocks in (25, 50, 100)
            for factor in ("1.5", "2", "3")
            for gain in column(REGIONS, f"{blocks}, {factor},", heading)
        ),
    ),
    Sentence(
        ARWA,
        "All four hold nowhere",
        lambda: (
            not any(
                all(answer == "yes" for answer in row[1:])
                for row in cells._experiment_tables()[ORDERINGS].rows
            )
        ),
    ),
    Sentence(
        ARWA,
        "two of the four orderings hold",
        lambda: (
            next(row[1:] for row in cells._experiment_tables()[ORDERINGS].rows if row[0] == "50, 1.1")
            == ["no", "open", "yes", "yes"]
        ),
    ),
    Sentence(
        "papers/arwa-tables.md",
        "Twelve readings reproduce the paper's delays under autotuning",
        lambda: (
            sum(
                row.judgement.verdict is Verdict.MATCH
                for outcome in cells.outcomes()
                if outcome.experiment.id == "arwa/combinations"
                for row in outcome.numbers
                if "delay_reduction" in row.number.id
            )
            == 12
        ),
    ),
    Sentence(
        ARWA,
        "are not reproduced in any of sixteen readings",
        lambda: (
            not any(
                judgement.verdict is Verdict.MATCH
                for outcome in cells.outcomes()
                if outcome.experiment.id.startswith("arwa/")
                for row in outcome.numbers
                if re.search(r"(throughput|fairness)_gain_vs_drwa", row.number.id)
                for judgement in (row.judgement, *(one for _, _, one in row.readings))
            )
        ),
    ),
    Sentence(
        ARWA,
        "CUBIC with CoDel in the RLC buffer has less delay than ARWA",
        lambda: all(
            value(f"{LINUX} :: {users}, CUBIC + CoDel @ delay") < value(f"{LINUX} :: {users}, ARWA @ delay")
            for users in (20, 40, 60, 80, 100)
        ),
    ),
    Sentence(
        ARWA,
        "at the cost of 2 to 7 % of packets dropped",
        lambda: all(
            92.5 <= value(f"{LINUX} :: {users}, CUBIC + CoDel @ PDF") <= 98.5
            for users in (20, 40, 60, 80, 100)
        ),
    ),
    Sentence(
        SPLIT,
        "Web pages load faster without downloads",
        lambda: all(value(f"{PAGES} {ms} ms, 0 @ saved") > 0 for ms in (50, 75, 125)),
    ),
    Sentence(
        SPLIT,
        "With eight downloads per cell they take longer with the proxy, for CUBIC at",
        lambda: all(value(f"{PAGES} {delay} ms, 8 @ saved") < 0 for delay in (50, 75, 125)),
    ),
    Sentence(
        CALLS,
        "the 95th percentile of the delay of frames is 200 to 400 ms, and pictures freeze",
        lambda: all(
            200.0 < of_calls(name, case, FRAME) < 400.0 and of_calls(name, case, FROZEN) > 0.0
            for name in ("gcc", "scream", "nada")
            for case in CHANGES
        ),
    ),
    Sentence(
        CALLS,
        "has a lower delay than GCC in each of these cases, at nine tenths of its rate or more",
        lambda: all(
            of_calls("scream-libwebrtc", case, FRAME) < of_calls("gcc", case, FRAME)
            and of_calls("scream-libwebrtc", case, VIDEO) > 0.9 * of_calls("gcc", case, VIDEO)
            for case in CHANGES
        ),
    ),
    Sentence(
        CALLS,
        "NADA freezes longest",
        lambda: all(
            of_calls("nada", case, FROZEN) > of_calls(name, case, FROZEN)
            for name in ("gcc", "scream", "scream-l4s", "scream-libwebrtc")
            for case in CHANGES
        ),
    ),
    Sentence(
        CALLS,
        "only those with the draft's SCReAM become equally fast (Jain's index above 0.99)",
        lambda: fair_in("three") == ["scream"],
    ),
    Sentence(
        CALLS,
        "Over round trips of 20 to 300 ms, only those with NADA do",
        lambda: fair_in("round-trips") == ["nada"],
    ),
    Sentence(
        CALLS,
        "Jain's index is above 0.97 with each controller",
        lambda: all(of_calls(one.name, "pause", "jain") > 0.97 for one in calls().contenders),
    ),
    Sentence(
        CALLS,
        "the draft's SCReAM falls below that rate; SCReAM of libwebrtc does with both queues",
        lambda: (
            all(
                of_calls(name, case, VIDEO) < 0.5 * LOWEST_KBPS
                for name, case in (
                    ("scream", "tcp-deep"),
                    ("scream-libwebrtc", "tcp"),
                    ("scream-libwebrtc", "tcp-deep"),
                )
            )
            and all(
                0.8 * LOWEST_KBPS < of_calls(name, case, VIDEO) < 1.2 * LOWEST_KBPS
                for name, case in (("gcc", "tcp"), ("gcc", "tcp-deep"), ("scream", "tcp"))
            )
        ),
    ),
    Sentence(
        CALLS,
        "NADA keeps more than GCC with a queue of 300 ms",
        lambda: of_calls("nada", "tcp", VIDEO) > of_calls("gcc", "tcp", VIDEO),
    ),
    Sentence(
        CALLS,
        "SCReAM uses a third of what GCC does, with no freeze",
        lambda: (
            0.3 < of_calls("scream-l4s", "capacity", VIDEO) / of_calls("gcc", "capacity", VIDEO) < 0.37
            and of_calls("scream-l4s", "capacity", FROZEN) == 0.0
        ),
    ),
    Sentence(
        CALLS,
        "L4S more than halves the delay of frames and raises the rate of the video by half; the download "
        "gets half",
        lambda: (
            of_calls("scream-l4s", DOWNLOAD, FRAME) < 0.5 * of_calls("scream", DOWNLOAD, FRAME)
            and 1.4 < l4s_rate(DOWNLOAD) < 1.6
            and 0.4 < rival_of_calls("scream-l4s", DOWNLOAD) / rival_of_calls("scream", DOWNLOAD) < 0.6
        ),
    ),
    Sentence(
        CALLS,
        "lowers the rate of its video to a quarter, and next to a download in NR to three quarters",
        lambda: 0.2 < l4s_rate("cell-upload") < 0.3 and 0.7 < l4s_rate("nr") < 0.8,
    ),
]


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.words[:40])
def test_a_sentence_is_on_its_page_and_holds(sentence: Sentence) -> None:
    page = " ".join((ROOT / "docs" / sentence.page).read_text(encoding="utf-8").split())
    assert " ".join(sentence.words.split()) in page, "the page says it in other words: change the list"
    assert sentence.holds(), sentence.words
