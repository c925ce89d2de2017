"""Pages with and without a proxy: Fig. 7 of the paper `splitproxy`, reproduced."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from airlane import examples
from airlane.experiments import (
    Claim,
    Draw,
    Experiment,
    Finding,
    Listing,
    Measure,
    Number,
    Picture,
)
from airlane.papers.common import (
    MARGIN,
    Part,
    between,
    cell,
    decide,
    gain_pct,
    mean,
    minus,
    ratio,
    worst_of,
)
from airlane.papers.splitproxy.effects import bars, grows, never_worse
from airlane.papers.splitproxy.measures import (
    PAGE_HORIZON_S,
    dropped_pct,
    median_page_time,
    page_saving,
    page_time,
    pages,
)
from airlane.papers.splitproxy.setup import (
    DELAYS_MS,
    FITTED,
    NAMES,
    NOTES,
    PATHS,
    RADIO_MS,
    READERS,
    SOURCE,
    Case,
    grid,
    needed_loss_pct,
)

__all__ = ["figure7", "web"]

BACKGROUND = (0, 2, 4, 8)
"""Downloads per cell in parallel with pages: none, "2 to 4", "6 to 8" (section 4.2)."""

_ENDS = (BACKGROUND[0], BACKGROUND[-1])


def web(background: int, delay_ms: int, congestion: str, proxy: str, **more: Any) -> Case:
    """Point of Fig. 7, with this number of downloads per cell."""
    case = Case("web", background, delay_ms, congestion, proxy, others=READERS, duration_s=60, warmup_s=4)
    return case.but(**more)


def _web_points() -> list[tuple[int, int, str]]:
    """NewReno everywhere; CUBIC, which the paper's figures do not show, at the ends of the first delay."""
    newreno = [(b, d, "newreno") for d in DELAYS_MS for b in BACKGROUND]
    return newreno + [(b, DELAYS_MS[0], "cubic") for b in _ENDS]


def _saving(background: int, delay_ms: int, congestion: str = "newreno", **more: Any) -> Measure:
    off, on = (web(background, delay_ms, congestion, p, **more) for p in ("none", "gateway"))
    return page_saving(off, on)


_SAVING_MARGIN_S = 0.02
"""Smallest difference of a page's time that matters, in seconds: about 1 % of a page."""


def _times(factor: float, measure: Measure) -> Measure:
    return lambda draw: factor * measure(draw)


def _pages_not_worse(draws: Sequence[Draw]) -> Finding:
    parts = [
        (
            f"{NAMES[c]}, {d} ms, {b} downloads",
            Part("without − with", mean(draws, _saving(b, d, c)), " s", margin=_SAVING_MARGIN_S),
        )
        for b, d, c in _web_points()
    ]
    return never_worse("saving", parts)


def _saving_constant(background: int) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        saved = {d: _saving(background, d) for d in DELAYS_MS}
        parts = [
            Part(f"{d} ms:", mean(draws, measure), " s", margin=_SAVING_MARGIN_S)
            for d, measure in saved.items()
        ]
        for one, other in itertools.permutations(DELAYS_MS, 2):
            beyond = minus(saved[one], _times(1.4, saved[other]))
            parts.append(between(draws, f"{one} ms − 1.4 × {other} ms", beyond, -math.inf, 0.0, " s"))
        return decide(parts)

    text = (
        f"the saving per page is about the same at all delays, within 40 % ({background} downloads per cell)"
    )
    return Claim(f"splitproxy.web_fig7.saving.{background}", text, check)


def _relative_shrinks(background: int) -> Claim:
    def share(delay_ms: int) -> Measure:
        off = page_time(web(background, delay_ms, "newreno", "none"))
        return _times(100.0, ratio(_saving(background, delay_ms), off))

    def check(draws: Sequence[Draw]) -> Finding:
        text = f"share saved at {DELAYS_MS[0]} − at {DELAYS_MS[-1]} ms"
        less = mean(draws, minus(share(DELAYS_MS[0]), share(DELAYS_MS[-1])))
        return decide([Part(text, less, " %", margin=100.0 * MARGIN)])

    text = (
        f"the share of a page's time that is saved shrinks with the delay ({background} downloads per cell)"
    )
    return Claim(f"splitproxy.web_fig7.share.{background}", text, check)


def _web_variant(draws: Sequence[Draw]) -> Finding:
    parts = []
    d = DELAYS_MS[0]
    for b in _ENDS:
        for p in ("none", "gateway"):
            one, other = (page_time(web(b, d, c, p)) for c in ("cubic", "newreno"))
            text = f"CUBIC over NewReno, {d} ms, {b} downloads, {NAMES[p]}:"
            parts.append(between(draws, text, gain_pct(one, other), -10.0, 10.0, " %"))
    return worst_of(parts)


def _web_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for b, d, c in _web_points():
        off, on = (web(b, d, c, p) for p in ("none", "gateway"))
        measures = (page_time(off), page_time(on), _saving(b, d, c))
        counts = ", ".join("{} of {}".format(*pages(draws, case)) for case in (off, on))
        rows.append((f"{NAMES[c]}, {d} ms, {b}", *(cell(draws, m) for m in measures), counts))
    columns = (
        "controller, delay, downloads per cell",
        "without, s",
        "with, s",
        "saved, s",
        f"pages complete within {PAGE_HORIZON_S:g} s, without and with",
    )
    return Listing(
        "Time of a page",
        columns,
        rows,
        f"Of pages that began {PAGE_HORIZON_S:g} s or more before the end; one that took longer counts as "
        f"{PAGE_HORIZON_S:g} s. Saved: over visits that both have.",
    )


READINGS: dict[str, dict[str, Any]] = {
    "as it is set up": {},
    "names are known": {"names_known": True},
    "SACK and a least timeout of 200 ms": {"repairs": True},
    "a queue without end in place of RED": {"queue": "drop-tail"},
    "FQ-CoDel in place of RED": {"queue": "fq-codel"},
    "one link to all servers": {"shared_link": True},
}
"""Variants that separate the reasons for longer page times with downloads, each alone."""

_OTHER_PATHS = ("one", "three")
"""Other readings of the transport network for pages. With a separate link to each eNB after the shared
one, no additional queue forms.
"""

_FULL = BACKGROUND[-1]


def _why_cases() -> list[Case]:
    near = DELAYS_MS[0]
    return [web(_FULL, near, "newreno", p, **r) for r in READINGS.values() for p in ("none", "gateway")]


def _path_cases() -> list[Case]:
    near, proxies = DELAYS_MS[0], ("none", "gateway")
    return [
        web(b, near, "newreno", p, path=path) for path in _OTHER_PATHS for b in BACKGROUND for p in proxies
    ]


def _path_table(draws: Sequence[Draw]) -> Listing:
    near = DELAYS_MS[0]
    rows = [
        (PATHS[path].words, *(cell(draws, _saving(b, near, path=path)) for b in BACKGROUND))
        for path in ("series", *_OTHER_PATHS)
    ]
    columns = ("reading", *(f"beside {b}" for b in BACKGROUND))
    return Listing(f"Saved per page, s, by downloads per cell, {near} ms", columns, rows)


def _why_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for words, reading in READINGS.items():
        off, on = (web(_FULL, DELAYS_MS[0], "newreno", p, **reading) for p in ("none", "gateway"))
        saved = _saving(_FULL, DELAYS_MS[0], **reading)
        measures = (page_time(off), page_time(on), saved, dropped_pct(off), dropped_pct(on))
        rows.append((words, *(cell(draws, m) for m in measures)))
    columns = ("reading", "without, s", "with, s", "saved, s", "dropped without, %", "dropped with, %")
    return Listing(f"Why: pages beside {_FULL} downloads per cell, {DELAYS_MS[0]} ms", columns, rows)


def _drop_table(draws: Sequence[Draw]) -> Listing:
    """RED's drop rates, and those that limit a download to its share by the square-root law."""
    near, rows = DELAYS_MS[0], []
    for b in BACKGROUND:
        off, on = (web(b, near, "newreno", p) for p in ("none", "gateway"))
        by_hand = (f"{needed_loss_pct(off):.2f}", f"{needed_loss_pct(on):.2f}") if b else ("", "")
        measured = [cell(draws, dropped_pct(case)) for case in (off, on)]
        typical = [cell(draws, median_page_time(case)) for case in (off, on)]
        rows.append((str(b), *measured, *by_hand, *typical))
    columns = (
        "downloads per cell",
        "dropped without, %",
        "with, %",
        "by hand without, %",
        "with, %",
        "median page without, s",
        "with, s",
    )
    note = (
        "By hand: the loss at which a window of sqrt(3/2p) segments per round trip without queues "
        f"({RADIO_MS:g} ms of it radio) is a download's share of the transport network; 0 where the "
        "windows hold it below that."
    )
    return Listing(f"What RED drops, {near} ms", columns, rows, note)


def _web_picture(draws: Sequence[Draw]) -> list[Picture]:
    return bars(
        draws,
        "Fig. 7 reproduced",
        "s per page",
        lambda b, d, p: page_time(web(b, d, "newreno", p)),
        BACKGROUND,
    )


def figure7() -> Experiment:
    """Declare the experiment `splitproxy/fig7`."""
    cases = [web(b, d, c, p) for b, d, c in _web_points() for p in ("none", "gateway")]
    name = "splitproxy.web_fig7"
    claims = (
        Claim(
            f"{name}.not_worse",
            "pages take no longer with the proxy in any case, and less in most",
            _pages_not_worse,
        ),
        *(_saving_constant(b) for b in BACKGROUND),
        *(_relative_shrinks(b) for b in BACKGROUND),
        grows(
            f"{name}.grows",
            "without a proxy, the time of a page grows with the delay and with the downloads",
            page_time,
            lambda b, d: web(b, d, "newreno", "none"),
            1.0,
            _SAVING_MARGIN_S,
        ),
        Claim(
            f"{name}.variant",
            f"page times of CUBIC and NewReno differ by 10 % or less in every case at {DELAYS_MS[0]} ms",
            _web_variant,
        ),
    )
    return Experiment(
        id="splitproxy/fig7",
        title="time of web pages with a proxy in the SAE-GW",
        source=f"{SOURCE}, section 4.2, Fig. 7",
        scenario=examples.path("splitproxy"),
        grid=grid({case.name: case for case in [*cases, *_why_cases(), *_path_cases()]}.values()),
        runs=5,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        numbers=(Number(name, "saved per page at 50 ms, no downloads, s", _saving(0, 50), fitted=FITTED),),
        claims=claims,
        listings=(_web_table, _path_table, _drop_table, _why_table),
        pictures=_web_picture,
        notes=(
            *NOTES,
            f"{READERS} readers per cell; runs take 60 s. The pages are a synthetic set of 2011.",
        ),
    )
