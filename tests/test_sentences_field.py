"""Sentences of `docs/field.md` that numbers decide, as in `test_sentences.py`."""

from __future__ import annotations

from functools import cache

import cells
import pytest

import search_model
from airlane.runs import json_files
from airlane.study.verdict import Verdict
from airlane.validation.claims import Row
from conftest import ROOT
from test_sentences import Sentence, value
from test_sentences import test_a_sentence_is_on_its_page_and_holds as check

PAGE = "field.md"
STARTS = "field/hystartpp: 100 Mbit/s, 40 ms, 500 kB, first 3 s"
SEARCH = "field/search: 100 Mbit/s, 40 ms, first 3 s"
CELL = "field/search-cell: a phone at 200 m, the first 3 s of a download"
ALONE = "field/c4-alone: published numbers"
BESIDE = "field/c4-beside: published numbers"
ROUND_TRIPS_MS = (28, 31, 34, 37, 40, 44, 48, 52)
VERIZON = "Verizon-LTE-short"
BDP = 500_000
"""100 Mbit/s and 40 ms, in bytes."""


@cache
def rows(family: str) -> list[Row]:
    """The rows of a family of the validation."""
    (found,) = (found for one, found in cells.recorded_validation().rows if one.id == family)
    return found


@cache
def costs() -> dict[tuple[str, str], int]:
    """Instructions for a packet of each mechanism, by its name and `wire` or `cell`."""
    recorded = json_files.read(ROOT / "docs/results/controller-cost.json")["rows"]
    return {(one["name"], one["place"]): one["instructions"] for one in recorded}


def cost(name: str, place: str = "wire") -> float:
    """Of a mechanism over TCP or QUIC, as a multiple of CUBIC's over the same."""
    return costs()[name, place] / costs()["quic-cubic" if name.startswith("quic-") else "cubic", place]


def within_share(family: str, share: float) -> tuple[int, int]:
    """Rows that differ by at most this share, and all."""
    return sum(abs(row.difference) <= share for row in rows(family)), len(rows(family))


def matches(experiment: str, ending: str = "") -> tuple[int, int]:
    """Numbers of an experiment that match, and all, of those whose id ends so."""
    (outcome,) = (one for one in cells.outcomes() if one.experiment.id == f"field/{experiment}")
    found = [row.judgement.verdict for row in outcome.numbers if row.number.id.endswith(ending)]
    return found.count(Verdict.MATCH), len(found)


def claims(experiment: str) -> list[bool | None]:
    """Whether each claim of an experiment holds."""
    (outcome,) = (one for one in cells.outcomes() if one.experiment.id == f"field/{experiment}")
    return [row.finding.holds for row in outcome.claims]


def within(family: str) -> tuple[int, int]:
    """Rows within their bands, and all."""
    return sum(row.ok for row in rows(family)), len(rows(family))


def fewer(start: str) -> float:
    """Share by which HyStart++ loses fewer packets than standard slow start."""
    with_it, without = (value(f"{STARTS} :: {start}, {one} @ lost") for one in ("hystart++", "standard"))
    return 1.0 - with_it / without


def over_published(table: str, number: str) -> float:
    """A number over that of the report."""
    ours, published = (value(f"{table} :: {number} @ {one}") for one in ("ours", "published"))
    return ours / published


def beside(transfer: str) -> float:
    """The time of a transfer over that of the report."""
    return over_published(BESIDE, f"field.c4.{transfer}_s")


def figures(row: str) -> tuple[str, str]:
    """Our value of a row of the validation and that of the reference, in four digits."""
    (found,) = (one for one in rows(row.rpartition("/")[0]) if one.id == row)
    return f"{found.ours:.4g}", f"{found.reference:.4g}"


def misses_alone() -> list[float]:
    """Differences of the times of CUBIC and BBRv3 that miss, without another transfer."""
    (outcome,) = (one for one in cells.outcomes() if one.experiment.id == "field/c4-alone")
    found = [row.number.id for row in outcome.numbers if row.judgement.verdict is Verdict.MISS]
    return sorted(abs(over_published(ALONE, one) - 1) for one in found if not one.endswith(".c4_s"))


def far() -> list[float]:
    """Our delays of Copa over those of the reference, where they are outside of the band."""
    return sorted(row.ours / row.reference for row in rows("copa/delay") if not row.ok)


def model_bdp() -> float:
    """Where the packet model of SEARCH ends slow start, in bandwidth-delay products of payload."""
    return search_model.window_at_exit(rate_mbps=100.0, rtt_ms=40.0, size=1500) * 1448 / BDP


VERUS_PLACES = [
    f"LTE, {how}, {queue}" for how in ("on foot", "driving") for queue in ("default queue", "4 MiB")
]


def verus_delay(place: str, other: str) -> float:
    """The 95th percentile of Verus over that of another sender in the same place."""
    ours, theirs = (
        value(f"field/verus: rate and delay :: {one}, {place} @ delay p95 ms") for one in ("Verus", other)
    )
    return ours / theirs


def pbe() -> dict[str, Verdict]:
    """The verdicts on PBE-CC's numbers."""
    (outcome,) = (one for one in cells.outcomes() if one.experiment.id == "field/pbe")
    return {row.number.id.rpartition(".")[2]: row.judgement.verdict for row in outcome.numbers}


def pbe_over_quic() -> list[Verdict]:
    """The verdicts on the same over QUIC."""
    (outcome,) = (one for one in cells.outcomes() if one.experiment.id == "field/pbe")
    return [judgement.verdict for row in outcome.numbers for _, _, judgement in row.readings]


def scored(*mechanisms: str) -> tuple[int, int]:
    """Matches and numbers of these mechanisms together, by default of all of the table."""
    found = [cells.field_scores()[name].numbers for name in mechanisms or cells.field_scores()]
    return sum(one[Verdict.MATCH] for one in found), sum(one.total() for one in found)


SENTENCES = [
    Sentence(PAGE, "None of its five claims holds", lambda: claims("hystartpp") == [False] * 5),
    Sentence(
        PAGE,
        "it is zero over TCP at 34 and 37 ms and over QUIC at 28 ms",
        lambda: all(
            abs(fewer(f"{start} ms")) < 0.005
            for start in ("TCP CUBIC at 34", "TCP CUBIC at 37", "QUIC CUBIC at 28")
        ),
    ),
    Sentence(
        PAGE,
        "more than half over TCP at 28 and 31 ms and over QUIC from 44 ms on",
        lambda: (
            {ms for ms in ROUND_TRIPS_MS if fewer(f"TCP CUBIC at {ms} ms") > 0.5} == {28, 31}
            and {ms for ms in ROUND_TRIPS_MS if fewer(f"QUIC CUBIC at {ms} ms") > 0.5} == {44, 48, 52}
        ),
    ),
    Sentence(PAGE, "before the first loss. Neither holds", lambda: claims("search") == [False] * 2),
    Sentence(
        PAGE,
        "ends at 5.53",
        lambda: (
            f"{model_bdp():.2f}" == "5.53"
            and abs(value(f"{SEARCH} :: search, 8 BDP @ threshold") - model_bdp()) < search_model.BIN
        ),
    ),
    Sentence(
        PAGE,
        "SEARCH is no better than standard slow start",
        lambda: value(f"{CELL} :: search @ Mbit/s") <= value(f"{CELL} :: standard @ Mbit/s"),
    ),
    Sentence(
        PAGE,
        "32 of 32 rates and 20 of 32 delays are within 10 % of those of the authors' code",
        lambda: within("copa/rate") == (32, 32) and within("copa/delay") == (20, 32),
    ),
    Sentence(
        PAGE,
        "ours are higher in 26",
        lambda: sum(row.ours > row.reference for row in rows("copa/rate")) == 26,
    ),
    Sentence(
        PAGE,
        "within 10 % in three of four rows, and Jain's index in all four",
        lambda: within("copa/sum") == (3, 4) and within("copa/jain") == (4, 4),
    ),
    Sentence(
        PAGE, "Two are three times those of the reference", lambda: all(3 < one < 3.5 for one in far()[-2:])
    ),
    Sentence(
        PAGE,
        "The other ten differ by 13 to 30 %: ours are shorter in nine",
        lambda: all(0.125 < abs(one - 1) < 0.30 for one in far()[:-2]) and sum(one < 1 for one in far()) == 9,
    ),
    Sentence(
        PAGE,
        "ours is 264 ms, not 82 ms, at 2 Mbit/s and 60 ms, and 56 ms, not 18 ms, at 10 Mbit/s and 20 ms",
        lambda: (
            [figures(f"copa/delay/{link}-4bdp-switching") for link in ("2mbps-60ms", "10mbps-20ms")]
            == [("263.7", "81.5"), ("55.71", "18.1")]
        ),
    ),
    Sentence(
        PAGE,
        "Two flows with a constant δ leave less of the link unused (23.98 Mbit/s of 24, not 21.45)",
        lambda: figures("copa/sum/2-flows-constant") == ("23.98", "21.45"),
    ),
    Sentence(
        PAGE,
        "(11.97 Mbit/s, not 11.19 to 11.85; and 11.96, not 11.08 to 11.65)",
        lambda: (
            [figures(f"copa/losses/{share}%")[0] for share in (1, 2)] == ["11.97", "11.96"]
            and [row.note for row in rows("copa/losses")[1:]]
            == ["their 8 runs 11.19 to 11.85", "their 8 runs 11.08 to 11.65"]
        ),
    ),
    Sentence(
        PAGE,
        "C4, BBRv3 and Copa up to 1.35 times as much, Verus, Vivace and PBE-CC 1.5 to 1.6 times",
        lambda: (
            all(
                abs(cost(name) - 1.0) <= 0.04
                for name in ("cubic-hystartpp", "cubic-search", "c2tcp", "ledbatpp")
            )
            and 1.345 <= max(cost(name) for name in ("c4", "bbr3", "copa", "copa-constant")) < 1.355
            and all(1.5 <= one <= 1.6 for one in (cost("verus"), cost("vivace"), cost("pbe", "cell")))
        ),
    ),
    Sentence(PAGE, "and ABC, with its marks, 2.6 times", lambda: 2.55 <= cost("abc") < 2.65),
    Sentence(
        PAGE,
        "Over QUIC no mechanism costs more than 1.30 times",
        lambda: 1.29 < max(cost(*one) for one in costs() if one[0].startswith("quic-")) < 1.30,
    ),
    Sentence(
        PAGE,
        "Over QUIC, all 32 rates are within 10 %, and 20 of 32 delays are not",
        lambda: within("copa/quic/delay") == (12, 32) and within("copa/quic/rate") == (32, 32),
    ),
    Sentence(
        PAGE,
        "With 1 and 2 % of the packets lost at random, our rates are above the range",
        lambda: [row.ok for row in rows("copa/losses")] == [True, False, False],
    ),
    Sentence(
        PAGE,
        "16 of 16 rates are within 2 % of those of the authors' code, 15 of 16 delays within 10 %",
        lambda: (
            within_share("vivace/rate", 0.02) == (16, 16) and within_share("vivace/delay", 0.1) == (15, 16)
        ),
    ),
    Sentence(
        PAGE,
        "of two or four flows is within 1 %, and so is Jain's index",
        lambda: within_share("vivace/sum", 0.01) == within_share("vivace/jain", 0.01) == (2, 2),
    ),
    Sentence(
        PAGE,
        "Over QUIC, all 16 rates are within 2 % and 12 of 16 delays within 10 %",
        lambda: (
            within_share("vivace/quic/rate", 0.02) == (16, 16)
            and within_share("vivace/quic/delay", 0.1) == (12, 16)
        ),
    ),
    Sentence(
        PAGE,
        "With 0.1 and 2 % of the packets lost at random, ours is within the range",
        lambda: [row.ok for row in rows("vivace/losses")] == [True, False, True],
    ),
    Sentence(
        PAGE,
        "the delay is 63 ms, not 57 ms",
        lambda: [round(row.ours) for row in rows("vivace/delay") if not row.ok] == [63],
    ),
    Sentence(
        PAGE,
        "Over QUIC three delays at 200 ms are outside, too, by 14 to 27 %",
        lambda: (
            [
                f"{abs(row.difference):.2f}"
                for row in rows("vivace/quic/delay")
                if not row.ok and "200ms" in row.id
            ]
            == ["0.15", "0.14", "0.27"]
        ),
    ),
    Sentence(
        PAGE,
        "our mean is 10.88 Mbit/s, just below the reference's runs",
        lambda: f"{rows('vivace/losses')[1].ours:.2f}" == "10.88",
    ),
    Sentence(
        PAGE,
        "20 of 36 times match the authors' report, and 8 of the 12 of C4",
        lambda: (
            [sum(both) for both in zip(matches("c4-alone"), matches("c4-beside"), strict=True)] == [20, 36]
            and [
                sum(both)
                for both in zip(matches("c4-alone", ".c4_s"), matches("c4-beside", ".c4_s"), strict=True)
            ]
            == [8, 12]
        ),
    ),
    Sentence(
        PAGE,
        "12 of 18 times match. Those of C4 match in five of six cases over QUIC",
        lambda: matches("c4-alone") == (12, 18) and matches("c4-alone", ".c4_s") == (5, 6),
    ),
    Sentence(
        PAGE,
        "Of CUBIC and BBRv3 five of twelve times miss, by 11 to 45 %",
        lambda: (
            len(misses_alone()) == 5
            and [f"{one:.2f}" for one in (misses_alone()[0], misses_alone()[-1])] == ["0.11", "0.45"]
        ),
    ),
    Sentence(
        PAGE,
        "and 1.5 times beside CUBIC in the short one",
        lambda: f"{beside('vs_cubic.c4'):.1f}" == "1.5",
    ),
    Sentence(
        PAGE,
        "8 of 18 times match: of C4 three of six, of BBRv3 three of six, of CUBIC two of six",
        lambda: [matches("c4-beside", f".{law}_s")[0] for law in ("c4", "bbr3", "cubic")] == [3, 3, 2],
    ),
    Sentence(
        PAGE,
        "2.3 times as long as published in the short transfer and 1.4 times in the long one",
        lambda: (f"{beside('vs_bbr3.c4'):.1f}", f"{beside('vs_bbr3_lg.c4'):.1f}") == ("2.3", "1.4"),
    ),
    Sentence(
        PAGE,
        "in the short transfers they take half of the time",
        lambda: all(0.45 < beside(f"vs_c4.{law}") < 0.55 for law in ("bbr3", "cubic")),
    ),
    Sentence(
        PAGE,
        "4 of 4 published figures are within 5 %; of 24 of the authors' router, computed by us, 22 are",
        lambda: (
            within_share("abc/published-use", 0.05) == within_share("abc/published-delay", 0.05) == (2, 2)
            and within("abc/use") == (11, 11)
            and within("abc/delay") == (10, 11)
            and within("abc/jain") == (1, 2)
        ),
    ),
    Sentence(
        PAGE,
        "0.914 and not 0.890 up, and 0.892 and not 0.857 down",
        lambda: (
            figures(f"abc/published-use/{VERIZON}.up-50ms-target-50ms") == ("0.914", "0.89")
            and figures(f"abc/published-use/{VERIZON}.down-50ms-target-50ms") == ("0.8918", "0.857")
        ),
    ),
    Sentence(
        PAGE,
        "146 ms and not 142 ms up, and 152 ms and not 145 ms down",
        lambda: (
            figures(f"abc/published-delay/{VERIZON}.up-50ms-target-50ms") == ("146.3", "142")
            and figures(f"abc/published-delay/{VERIZON}.down-50ms-target-50ms") == ("151.5", "145")
        ),
    ),
    Sentence(
        PAGE,
        "fill the link with an index of Jain of 1.000",
        lambda: (
            figures("abc/use/12mbps-30ms-target-50ms-2-flows") == ("1", "1")
            and figures("abc/jain/12mbps-30ms-target-50ms-2-flows")[0] == "0.9996"
        ),
    ),
    Sentence(
        PAGE,
        "At 108 Mbit/s and 20 ms the delay is 10.3 ms and not 12 ms",
        lambda: figures("abc/delay/108mbps-10ms-target-50ms") == ("10.32", "12"),
    ),
    Sentence(
        PAGE,
        "within 3 % for targets of 20, 50 and 100 ms, and so are uses and delays at 12 Mbit/s",
        lambda: within_share("abc/use", 0.03) == (11, 11) and within_share("abc/delay", 0.03) == (10, 11),
    ),
    Sentence(
        PAGE,
        "Four flows have an index of 0.976 and not 0.748",
        lambda: figures("abc/jain/12mbps-30ms-target-50ms-4-flows") == ("0.976", "0.7477"),
    ),
    Sentence(
        PAGE,
        "Over QUIC, the same rows are within 10 %",
        lambda: (
            within("abc/quic/published-use") == within("abc/quic/published-delay") == (2, 2)
            and within("abc/quic/use") == (11, 11)
            and within("abc/quic/delay") == (10, 11)
            and within("abc/quic/jain") == (1, 2)
        ),
    ),
    Sentence(
        PAGE,
        "0.946 and not 0.863 up, and 0.893 and not 0.822 down",
        lambda: (
            figures(f"verus/published-use/{VERIZON}.up-50ms") == ("0.946", "0.863")
            and figures(f"verus/published-use/{VERIZON}.down-50ms") == ("0.8932", "0.822")
            and within("verus/published-use") == (2, 2)
        ),
    ),
    Sentence(
        PAGE,
        "393 ms and not 305 ms up, and 437 ms and not 370 ms down",
        lambda: (
            figures(f"verus/published-delay/{VERIZON}.up-50ms") == ("393.2", "305")
            and figures(f"verus/published-delay/{VERIZON}.down-50ms") == ("437.3", "370")
            and within("verus/published-delay") == (0, 2)
        ),
    ),
    Sentence(
        PAGE,
        "Over QUIC one of the four figures is within 10 %",
        lambda: (
            within("verus/quic/published-use") == (1, 2) and within("verus/quic/published-delay") == (0, 2)
        ),
    ),
    Sentence(
        PAGE,
        "The claims about throughput hold: it is within a fifth of CUBIC's, and above Sprout's. Those about "
        "delay do not.",
        lambda: claims("verus") == [False, True, False, True, False, True],
    ),
    Sentence(
        PAGE,
        "CUBIC's 95th percentile is shorter",
        lambda: all(verus_delay(place, "CUBIC") > 1.0 for place in VERUS_PLACES),
    ),
    Sentence(
        PAGE,
        "Sprout's delay is 0.35 of that of Verus or less",
        lambda: all(verus_delay(place, "Sprout") >= 1 / 0.35 for place in VERUS_PLACES),
    ),
    Sentence(
        PAGE,
        "It counts as a match within 10 %, but has the other sign",
        lambda: (
            pbe() == {"throughput_over_bbr": Verdict.MATCH, "delay_over_bbr": Verdict.DIRECTION}
            and value("field/pbe: published numbers :: field.pbe.throughput_over_bbr @ ours") < 1.0
        ),
    ),
    Sentence(PAGE, "Over QUIC it is a miss", lambda: pbe_over_quic()[0] is Verdict.MISS),
    Sentence(
        PAGE,
        "Of the mechanisms, 149 of 179 numbers match; of those of Verus and PBE-CC, half.",
        lambda: scored() == (149, 179) and scored("Verus") == (2, 4) and scored("PBE-CC") == (1, 2),
    ),
]


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.words[:40])
def test_a_sentence_of_the_page_holds(sentence: Sentence) -> None:
    check(sentence)


def test_the_first_eight_mechanisms_match_two_thirds_of_their_numbers() -> None:
    """Named here, because the table of the page has more mechanisms and another order."""
    names = ("C4", "Copa", "ABC", "Sprout", "LEDBAT++", "PCC Vivace", "HyStart++", "SEARCH")
    found = {name: scored(name) for name in names}
    assert scored(*names) == (146, 173)
    assert [name for name, (_, numbers) in found.items() if not numbers] == [
        "LEDBAT++",
        "HyStart++",
        "SEARCH",
    ]
    assert all(3 * match >= 2 * numbers for match, numbers in found.values())
