"""The sets of the arena: which contenders meet in which situations, and which of them is the baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from airlane.arena import carriers, l4s, nr, paths, rmcat, sleep
from airlane.arena.contenders import BASELINE, CONTENDERS, FIELD, Contender
from airlane.arena.situations import FIELD_SITUATIONS, SITUATIONS, Situation

__all__ = ["SETS", "ArenaSet"]


@dataclass(frozen=True)
class ArenaSet:
    """Contenders and situations that belong together.

    Attributes
    ----------
    title
        Its situations, in a phrase.
    contenders, situations
        All of them.
    baseline
        The contender that the others are compared with.
    """

    title: str
    contenders: Sequence[Contender]
    situations: Sequence[Situation]
    baseline: str = BASELINE


SETS: Mapping[str, ArenaSet] = {
    "situations": ArenaSet("an LTE cell", CONTENDERS, SITUATIONS),
    "field": ArenaSet(
        "an LTE cell and a deep queue of NR, for HyStart++, SEARCH, Copa, C2TCP, C4, Vivace, Verus, PBE-CC,"
        " ABC, LEDBAT++ and Sprout",
        FIELD,
        FIELD_SITUATIONS,
    ),
    "nr": ArenaSet("cells of NR, and of LTE beside them", CONTENDERS, nr.SITUATIONS),
    "carriers": ArenaSet(
        "carriers and 5G that come and go, split bearers, and a call beside the download",
        CONTENDERS,
        carriers.SITUATIONS,
    ),
    "l4s": ArenaSet("queues that mark", l4s.CONTENDERS, l4s.SITUATIONS),
    "sleep": ArenaSet("phones that sleep between transfers", CONTENDERS, sleep.SITUATIONS),
    "paths": ArenaSet("two paths, for Multipath TCP and multipath QUIC", paths.CONTENDERS, paths.SITUATIONS),
    "rmcat": ArenaSet("calls", rmcat.CONTENDERS, rmcat.SITUATIONS, rmcat.BASELINE),
    "rmcat-cells": ArenaSet("calls in 21 cells", rmcat.CONTENDERS, rmcat.CELLS, rmcat.BASELINE),
}
"""By the name that `airlane arena --set` takes."""
