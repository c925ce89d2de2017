"""Sentences of `docs/paths.md` that numbers decide, as in `test_sentences.py`."""

from __future__ import annotations

from functools import cache

import pytest

from airlane.arena import Result, record
from airlane.arena.sets import SETS
from airlane.runs.figures import BY_NAME, Outcome
from conftest import ROOT
from test_sentences import Sentence
from test_sentences import test_a_sentence_is_on_its_page_and_holds as check

PAGE = "paths.md"
RATE, DELAY, TIME, ENERGY, HOL = "goodput_mbps", "owd_p95_ms", "fct_s", "joules_per_mb", "hol_ms"
BACKUPS = ("mptcp-backup", "mpquic-backup")
MIN_RTT = ("mptcp-min-rtt", "mpquic-min-rtt")


@cache
def arena() -> Result:
    """The arena of several paths as it was recorded."""
    return record.read(ROOT / "docs/results/arena-paths.json", SETS["paths"])


def names(kind: str = "") -> list[str]:
    """The contenders but the baseline."""
    return [one.name for one in arena().contenders if one.name.startswith(kind) and one.name != "cubic"]


def mean(contender: str, situation: str, figure: str) -> float:
    return arena().cells[f"paths-{situation}", contender].estimate(figure).mean


def ratio(one: str, other: str, situation: str, figure: str) -> float:
    return mean(one, situation, figure) / mean(other, situation, figure)


def outcome(one: str, other: str, situation: str, figure: str) -> Outcome:
    """One compared with another on the same seeds."""
    cells = arena().cells
    values = [cells[f"paths-{situation}", name].values[figure] for name in (one, other)]
    return BY_NAME[figure].versus(*values).outcome


def over_two_paths() -> list[str]:
    """Those that use both paths at once."""
    return [name for name in names("mp") if name not in BACKUPS]


def all_alike(who: list[str], situation: str, figure: str, share: float) -> bool:
    found = [mean(name, situation, figure) for name in who]
    return max(found) < (1.0 + share) * min(found)


SENTENCES = [
    Sentence(
        PAGE,
        "compares seventeen choices with CUBIC over TCP on the main path: ten of Multipath TCP, five of "
        "multipath QUIC",
        lambda: (len(names()), len(names("mptcp")), len(names("mpquic"))) == (17, 10, 5),
    ),
    Sentence(
        PAGE,
        "Over 5G and 4G, minRTT over QUIC carries",
        lambda: outcome(*reversed(MIN_RTT), "lte-nr", RATE) is Outcome.MORE,
    ),
    Sentence(PAGE, ", with the same delay.", lambda: all_alike(list(MIN_RTT), "lte-nr", DELAY, 0.05)),
    Sentence(
        PAGE,
        "Where the main path steps, both have the same goodput",
        lambda: outcome(*MIN_RTT, "steps", RATE) is Outcome.SAME,
    ),
    Sentence(
        PAGE,
        "Where Wi-Fi ends, Multipath TCP is faster",
        lambda: all(
            outcome(one, other, where, TIME) is Outcome.LESS
            for one, other in (MIN_RTT, BACKUPS)
            for where in ("fades", "warned")
        ),
    ),
    Sentence(
        PAGE,
        "There, data wait for data before them",
        lambda: outcome(*MIN_RTT, "fades", HOL) is Outcome.LESS,
    ),
    Sentence(
        PAGE,
        "*The window decides* before the scheduler does.",
        lambda: (
            outcome("mpquic-narrow", "mpquic-min-rtt", "lte-nr", RATE) is Outcome.LESS
            and mean("mpquic-narrow", "lte-nr", RATE) < mean("cubic", "lte-nr", RATE)
        ),
    ),
    Sentence(
        PAGE,
        "noq's order of paths and minRTT are equal.",
        lambda: all(
            outcome("mpquic-noq", "mpquic-min-rtt", where, figure) is not Outcome.MORE
            and 0.97 < ratio("mpquic-noq", "mpquic-min-rtt", where, figure) < 1.03
            for where, figure in (("lte-nr", RATE), ("steps", RATE), ("fades", TIME), ("energy", ENERGY))
        ),
    ),
    Sentence(
        PAGE,
        "*Aggregation* of 5G and 4G gives a little",
        lambda: all(ratio(name, "cubic", "lte-nr", RATE) < 1.2 for name in names()),
    ),
    Sentence(
        PAGE,
        "with round robin less than one path",
        lambda: outcome("mptcp-round-robin", "cubic", "lte-nr", RATE) is Outcome.LESS,
    ),
    Sentence(
        PAGE,
        "the second one gives what is missing",
        lambda: all(
            1.7 < ratio(name, "cubic", "steps", RATE) < 1.9
            for name in over_two_paths()
            if name != "mptcp-redundant"
        ),
    ),
    Sentence(
        PAGE,
        "*A change of the access* is faster with a second path, with any choice",
        lambda: all(
            outcome(name, "cubic", where, TIME) is Outcome.LESS
            for name in names("mp")
            for where in ("fades", "warned")
        ),
    ),
    Sentence(
        PAGE,
        "A warning helps the backups",
        lambda: all(mean(name, "warned", TIME) < 0.9 * mean(name, "fades", TIME) for name in BACKUPS),
    ),
    Sentence(
        PAGE,
        "minRTT with CUBIC becomes a little slower",
        lambda: all(1.0 < mean(name, "warned", TIME) / mean(name, "fades", TIME) < 1.2 for name in MIN_RTT),
    ),
    Sentence(
        PAGE,
        "is the fastest after a warning",
        lambda: all(
            mean("mpquic-bbr3", "warned", TIME) <= mean(name, "warned", TIME) for name in ("cubic", *names())
        ),
    ),
    Sentence(
        PAGE,
        "LIA and OLIA have less delay",
        lambda: all(
            outcome(name, "mpquic-bbr3", "lte-nr", DELAY) is Outcome.LESS
            for name in ("mptcp-lia", "mptcp-olia")
        ),
    ),
    Sentence(
        PAGE,
        "*Short transfers* show which end opens the connection, and not the paths.",
        lambda: (
            all_alike(names("mptcp"), "short", TIME, 0.01)
            and all_alike([*names("mpquic"), "quic-cubic"], "short", TIME, 0.05)
        ),
    ),
    Sentence(
        PAGE,
        "*One good path is better* for the battery.",
        lambda: all(ratio(name, "cubic", "energy", ENERGY) > 1.5 for name in names("mp")),
    ),
    Sentence(
        PAGE,
        "and a backup no less",
        lambda: all(
            ratio(one, other, "energy", ENERGY) > 0.98 for one, other in zip(BACKUPS, MIN_RTT, strict=True)
        ),
    ),
]


@pytest.mark.parametrize("sentence", SENTENCES, ids=lambda one: one.words[:40])
def test_a_sentence_of_the_page_holds(sentence: Sentence) -> None:
    check(sentence)
