"""Pages and videos with and without a proxy: Figs. 7 and 8 of the paper `splitproxy`, reproduced."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
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
    Reading,
)
from airlane.pages.chart import Axis, Chart, Panel, bars_of, categories, offset
from airlane.papers.common import (
    MARGIN,
    Part,
    all_hold,
    between,
    cell,
    decide,
    gain_pct,
    mean,
    minus,
    ratio,
    worst_of,
)
from airlane.papers.splitproxy.measures import (
    PAGE_HORIZON_S,
    dropped_pct,
    longest_start,
    median_page_time,
    page_saving,
    page_time,
    pages,
    satisfied,
    views,
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
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["figure7", "figure8"]

BACKGROUND = (0, 2, 4, 8)
"""Downloads per cell in parallel with pages: none, "2 to 4", "6 to 8" (section 4.2)."""

_ENDS = (BACKGROUND[0], BACKGROUND[-1])

_BESIDE_VIDEOS = (0, 4, 8)
"""The same in parallel with videos: one of each kind."""

NEAR_M, FAR_M = 100, 250
"""Largest distance of the users' start positions from their site: the base, and anywhere in the cell."""

Measured = Callable[[Case], Measure]


def _web(background: int, delay_ms: int, congestion: str, proxy: str, **more: Any) -> Case:
    case = Case("web", background, delay_ms, congestion, proxy, others=READERS, duration_s=60, warmup_s=4)
    return case.but(**more)


def _video(background: int, delay_ms: int, proxy: str, radius_m: int = NEAR_M) -> Case:
    case = Case("video", background, delay_ms, "newreno", proxy, others=READERS, duration_s=120, warmup_s=4)
    return case.but(radius_m=radius_m)


def _web_points() -> list[tuple[int, int, str]]:
    """NewReno everywhere; CUBIC, which the paper's figures do not show, at the ends of the first delay."""
    newreno = [(b, d, "newreno") for d in DELAYS_MS for b in BACKGROUND]
    return newreno + [(b, DELAYS_MS[0], "cubic") for b in _ENDS]


def _saving(background: int, delay_ms: int, congestion: str = "newreno", **more: Any) -> Measure:
    off, on = (_web(background, delay_ms, congestion, p, **more) for p in ("none", "gateway"))
    return page_saving(off, on)


_SAVING_MARGIN_S = 0.02
"""Smallest difference of a page's time that matters, in seconds: about 1 % of a page."""

_VIEWERS_MARGIN = 1.0
"""The same for the share of satisfied viewers, in points."""


def _times(factor: float, measure: Measure) -> Measure:
    return lambda draw: factor * measure(draw)


def _never_worse(words: str, parts: Sequence[tuple[str, Part]]) -> Finding:
    """Not worse in any case, and better in most, each by its margin."""
    no_worse = [replace(part, equal=True).holds for _, part in parts]
    better = [part.holds for _, part in parts]
    sure, possible = better.count(True), len(better) - better.count(False)
    most = True if 2 * sure > len(parts) else None if 2 * possible > len(parts) else False
    least = min(parts, key=lambda pair: pair[1].ours.mean)
    counts = f"better in {sure} of {len(parts)} cases, worse in {no_worse.count(False)}"
    text = f"{counts}; least {words}: {least[0]}, {least[1]}"
    return Finding(all_hold([*no_worse, most]), text)


def _pages_not_worse(draws: Sequence[Draw]) -> Finding:
    parts = [
        (
            f"{NAMES[c]}, {d} ms, {b} downloads",
            Part("without − with", mean(draws, _saving(b, d, c)), " s", margin=_SAVING_MARGIN_S),
        )
        for b, d, c in _web_points()
    ]
    return _never_worse("saving", parts)


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
        off = page_time(_web(background, delay_ms, "newreno", "none"))
        return _times(100.0, ratio(_saving(background, delay_ms), off))

    def check(draws: Sequence[Draw]) -> Finding:
        text = f"share saved at {DELAYS_MS[0]} − at {DELAYS_MS[-1]} ms"
        less = mean(draws, minus(share(DELAYS_MS[0]), share(DELAYS_MS[-1])))
        return decide([Part(text, less, " %", margin=100.0 * MARGIN)])

    text = (
        f"the share of a page's time that is saved shrinks with the delay ({background} downloads per cell)"
    )
    return Claim(f"splitproxy.web_fig7.share.{background}", text, check)


def _grows(
    name: str, words: str, measure: Measured, case: Callable[[int, int], Case], sign: float, least: float
) -> Claim:
    """Whether a measure changes with delay and with congestion, without a proxy."""

    def check(draws: Sequence[Draw]) -> Finding:
        near, far = (measure(case(BACKGROUND[0], d)) for d in (DELAYS_MS[0], DELAYS_MS[-1]))
        idle, full = (measure(case(b, DELAYS_MS[0])) for b in (BACKGROUND[0], BACKGROUND[-1]))
        return decide(
            [
                Part(
                    "with the delay", mean(draws, lambda draw: sign * (far(draw) - near(draw))), margin=least
                ),
                Part(
                    "with the downloads",
                    mean(draws, lambda draw: sign * (full(draw) - idle(draw))),
                    margin=least,
                ),
            ]
        )

    return Claim(name, words, check)


def _web_variant(draws: Sequence[Draw]) -> Finding:
    parts = []
    d = DELAYS_MS[0]
    for b in _ENDS:
        for p in ("none", "gateway"):
            one, other = (page_time(_web(b, d, c, p)) for c in ("cubic", "newreno"))
            text = f"CUBIC over NewReno, {d} ms, {b} downloads, {NAMES[p]}:"
            parts.append(between(draws, text, gain_pct(one, other), -10.0, 10.0, " %"))
    return worst_of(parts)


def _web_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for b, d, c in _web_points():
        off, on = (_web(b, d, c, p) for p in ("none", "gateway"))
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
    return [_web(_FULL, near, "newreno", p, **r) for r in READINGS.values() for p in ("none", "gateway")]


def _path_cases() -> list[Case]:
    near, proxies = DELAYS_MS[0], ("none", "gateway")
    return [
        _web(b, near, "newreno", p, path=path) for path in _OTHER_PATHS for b in BACKGROUND for p in proxies
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
        off, on = (_web(_FULL, DELAYS_MS[0], "newreno", p, **reading) for p in ("none", "gateway"))
        saved = _saving(_FULL, DELAYS_MS[0], **reading)
        measures = (page_time(off), page_time(on), saved, dropped_pct(off), dropped_pct(on))
        rows.append((words, *(cell(draws, m) for m in measures)))
    columns = ("reading", "without, s", "with, s", "saved, s", "dropped without, %", "dropped with, %")
    return Listing(f"Why: pages beside {_FULL} downloads per cell, {DELAYS_MS[0]} ms", columns, rows)


def _drop_table(draws: Sequence[Draw]) -> Listing:
    """RED's drop rates, and those that limit a download to its share by the square-root law."""
    near, rows = DELAYS_MS[0], []
    for b in BACKGROUND:
        off, on = (_web(b, near, "newreno", p) for p in ("none", "gateway"))
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
    return _bars(
        draws,
        "Fig. 7 reproduced",
        "s per page",
        lambda b, d, p: page_time(_web(b, d, "newreno", p)),
    )


def _bars(
    draws: Sequence[Draw],
    title: str,
    unit: str,
    measure: Callable[[int, int, str], Measure],
    background: Sequence[int] = BACKGROUND,
) -> list[Picture]:
    panels = []
    for delay in DELAYS_MS:
        bars = [
            bars_of(
                [place + offset(i, 2, 0.38) for place in range(len(background))],
                [mean(draws, measure(b, delay, proxy)) for b in background],
                0.36,
                series=NAMES[proxy],
                colour=COLOURS[i],
            )
            for i, proxy in enumerate(("none", "gateway"))
        ]
        x = categories([str(b) for b in background], "downloads per cell")
        panels.append(Panel(bars, f"Internet delay {delay} ms", x, Axis(label=unit)))
    chart = Chart(panels, len(DELAYS_MS), 9.0, 3.0, shared_y=True)
    return [Picture(title, f"NewReno, {counted(len(draws), 'run')}.", chart)]


def figure7() -> Experiment:
    """Declare the experiment `splitproxy/fig7`."""
    cases = [_web(b, d, c, p) for b, d, c in _web_points() for p in ("none", "gateway")]
    name = "splitproxy.web_fig7"
    claims = (
        Claim(
            f"{name}.not_worse",
            "pages take no longer with the proxy in any case, and less in most",
            _pages_not_worse,
        ),
        *(_saving_constant(b) for b in BACKGROUND),
        *(_relative_shrinks(b) for b in BACKGROUND),
        _grows(
            f"{name}.grows",
            "without a proxy, the time of a page grows with the delay and with the downloads",
            page_time,
            lambda b, d: _web(b, d, "newreno", "none"),
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


def _more_satisfied(background: int, delay_ms: int, radius_m: int = NEAR_M) -> Measure:
    off, on = (_video(background, delay_ms, p, radius_m) for p in ("none", "gateway"))
    return minus(satisfied(on), satisfied(off))


def _videos_not_worse(radius_m: int) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        points = [(b, d) for d in DELAYS_MS for b in _BESIDE_VIDEOS]
        # Where all viewers are satisfied, nothing can be better.
        full = [p for p in points if mean(draws, satisfied(_video(*p, "none", radius_m))).mean >= 100.0]
        parts = [
            (
                f"{d} ms, {b} downloads",
                Part(
                    "with − without",
                    mean(draws, _more_satisfied(b, d, radius_m)),
                    " %",
                    margin=_VIEWERS_MARGIN,
                ),
            )
            for b, d in [p for p in points if p not in full] or points
        ]
        finding = _never_worse("gain", parts)
        note = f"; everybody is satisfied without in {len(full)} of {len(points)}" if full else ""
        return Finding(finding.holds, finding.evidence + note)

    which = "" if radius_m == NEAR_M else f".{radius_m}m"
    text = "viewers are no less satisfied in any case, and more in most"
    where = "" if radius_m == NEAR_M else f" (users anywhere within {radius_m} m of their site)"
    return Claim(f"splitproxy.video_fig8.not_worse{which}", text + where, check)


def _video_table(radius_m: int, draws: Sequence[Draw]) -> Listing:
    rows = []
    for d in DELAYS_MS:
        for b in _BESIDE_VIDEOS:
            off, on = (_video(b, d, p, radius_m) for p in ("none", "gateway"))
            more = minus(satisfied(on), satisfied(off))
            measures = (satisfied(off), satisfied(on), more, longest_start(off), longest_start(on))
            rows.append((f"{d} ms, {b}", *(cell(draws, m) for m in measures), str(views(draws, off))))
    columns = (
        "delay, downloads per cell",
        "satisfied without, %",
        "with, %",
        "more, points",
        "longest start without, s",
        "with, s",
        "views",
    )
    return Listing(f"Satisfied viewers, users within {radius_m} m", columns, rows)


def _video_picture(draws: Sequence[Draw]) -> list[Picture]:
    return _bars(
        draws,
        "Fig. 8 reproduced",
        "% of viewers satisfied",
        lambda b, d, p: satisfied(_video(b, d, p)),
        _BESIDE_VIDEOS,
    )


def figure8() -> Experiment:
    """Declare the experiment `splitproxy/fig8`."""
    radii = (NEAR_M, FAR_M)
    points = [
        (b, d, p, r) for r in radii for d in DELAYS_MS for b in _BESIDE_VIDEOS for p in ("none", "gateway")
    ]
    cases = [_video(*point) for point in points]
    name = "splitproxy.video_fig8"
    return Experiment(
        id="splitproxy/fig8",
        title="satisfied viewers of video with a proxy in the SAE-GW",
        source=f"{SOURCE}, section 4.2, Fig. 8",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=5,
        quick_runs=1,
        quick={"run.duration": "20 s", "run.series_bin": "20 s"},
        numbers=(
            Number(
                name,
                "satisfied more with the proxy at 50 ms and 8 downloads per cell, points",
                _more_satisfied(8, 50),
                fitted=FITTED,
                readings=(Reading(f"users within {FAR_M} m", _more_satisfied(8, 50, FAR_M)),),
            ),
        ),
        claims=(
            *(_videos_not_worse(radius) for radius in radii),
            _grows(
                f"{name}.falls",
                "without a proxy, fewer viewers are satisfied at a longer delay and beside more downloads",
                satisfied,
                lambda b, d: _video(b, d, "none"),
                -1.0,
                _VIEWERS_MARGIN,
            ),
        ),
        setup={
            f"{name}.downloads_per_case": f"{7 * READERS} views a run, 5 runs",
            f"{name}.seeds": "5 here",
            f"{name}.total_quoted": "what the two before it multiply to is 912",
        },
        listings=tuple(functools.partial(_video_table, radius) for radius in radii),
        pictures=_video_picture,
        notes=(*NOTES, f"{READERS} viewers per cell; runs take 120 s. One video each, 512 kbit/s and 90 s."),
    )
