"""Pages and videos with and without a proxy: Figs. 7 and 8 of the paper `splitproxy`, made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from airlane import examples, plot
from airlane.experiments import Claim, Draw, Experiment, Finding, Listing, Measure, Number, Picture
from airlane.papers.arwa_measures import Part, decide, mean
from airlane.papers.splitproxy_measures import (
    cell,
    gain_pct,
    minus,
    page_saving,
    page_time,
    pages,
    satisfied,
    views,
)
from airlane.papers.splitproxy_setup import CONTROLLERS, DELAYS_MS, NAMES, NOTES, SOURCE, Case, grid

__all__ = ["figure7", "figure8"]

BACKGROUND = (0, 4, 8)
"""Downloads per cell beside pages and videos: none, "2 to 4", "6 to 8" (section 4.2)."""

_READERS = 2
"""Users per cell who read or watch; choice, the paper does not say."""

Measured = Callable[[Case], Measure]


def _web(background: int, delay_ms: int, congestion: str, proxy: str) -> Case:
    return Case("web", background, delay_ms, congestion, proxy, others=_READERS, duration_s=50, warmup_s=4)


def _video(background: int, delay_ms: int, proxy: str) -> Case:
    return Case("video", background, delay_ms, "newreno", proxy, others=_READERS, duration_s=100, warmup_s=4)


def _web_points() -> list[tuple[int, int, str]]:
    return [(b, d, c) for c in CONTROLLERS for d in DELAYS_MS for b in BACKGROUND]


def _saving(background: int, delay_ms: int, congestion: str = "newreno") -> Measure:
    off, on = (_web(background, delay_ms, congestion, p) for p in ("none", "gateway"))
    return page_saving(off, on)


def _never_worse(words: str, parts: Sequence[tuple[str, Part]]) -> Finding:
    """Not worse in any case, and better in most: whether the interval excludes zero decides each."""
    worse = [name for name, part in parts if part.ours.high < 0.0]
    better = [name for name, part in parts if part.ours.low > 0.0]
    holds = not worse and 2 * len(better) > len(parts)
    least = min(parts, key=lambda pair: pair[1].ours.mean)
    counts = f"better in {len(better)} of {len(parts)} cases, worse in {len(worse)}"
    text = f"{counts}; least {words}: {least[0]}, {least[1]}"
    return Finding(holds, text)


def _pages_not_worse(draws: Sequence[Draw]) -> Finding:
    parts = [
        (f"{NAMES[c]}, {d} ms, {b} downloads", Part("without − with", mean(draws, _saving(b, d, c)), " s"))
        for b, d, c in _web_points()
    ]
    return _never_worse("saving", parts)


def _saving_constant(background: int) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        savings = [mean(draws, _saving(background, d)).mean for d in DELAYS_MS]
        spread = max(savings) / min(savings) - 1.0 if min(savings) > 0.0 else float("inf")
        figures = ", ".join(f"{s:.2f} s at {d} ms" for s, d in zip(savings, DELAYS_MS, strict=True))
        return Finding(spread <= 0.4, f"{figures}: the largest is {100 * spread:.0f} % above the smallest")

    text = (
        f"the saving per page is about the same at all delays, within 40 % ({background} downloads per cell)"
    )
    return Claim(f"splitproxy.web_fig7.saving.{background}", text, check)


def _relative_shrinks(background: int) -> Claim:
    def share(delay_ms: int) -> Measure:
        off = page_time(_web(background, delay_ms, "newreno", "none"))
        return lambda draw: 100.0 * _saving(background, delay_ms)(draw) / off(draw)

    def check(draws: Sequence[Draw]) -> Finding:
        return decide(
            [
                Part(
                    f"share saved at {DELAYS_MS[0]} − at {DELAYS_MS[-1]} ms",
                    mean(draws, minus(share(DELAYS_MS[0]), share(DELAYS_MS[-1]))),
                    " %",
                )
            ]
        )

    text = (
        f"the share of a page's time that is saved shrinks with the delay ({background} downloads per cell)"
    )
    return Claim(f"splitproxy.web_fig7.share.{background}", text, check)


def _grows(name: str, words: str, measure: Measured, case: Callable[[int, int], Case], sign: float) -> Claim:
    """Whether a measure moves with delay and with congestion, without a proxy."""

    def check(draws: Sequence[Draw]) -> Finding:
        near, far = (measure(case(BACKGROUND[0], d)) for d in (DELAYS_MS[0], DELAYS_MS[-1]))
        idle, full = (measure(case(b, DELAYS_MS[0])) for b in (BACKGROUND[0], BACKGROUND[-1]))
        return decide(
            [
                Part("with the delay", mean(draws, lambda draw: sign * (far(draw) - near(draw)))),
                Part("with the downloads", mean(draws, lambda draw: sign * (full(draw) - idle(draw)))),
            ]
        )

    return Claim(name, words, check)


def _web_variant(draws: Sequence[Draw]) -> Finding:
    worst, text = 0.0, ""
    for b in BACKGROUND:
        for d in DELAYS_MS:
            for p in ("none", "gateway"):
                one, other = (page_time(_web(b, d, c, p)) for c in ("cubic", "newreno"))
                off = mean(draws, gain_pct(one, other)).mean
                if abs(off) >= abs(worst):
                    worst, text = off, f"{d} ms, {b} downloads, {NAMES[p]}"
    return Finding(abs(worst) <= 10.0, f"largest: CUBIC over NewReno {worst:+.1f} % ({text})")


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
        "pages complete, without and with",
    )
    return Listing(
        "Time of a page",
        columns,
        rows,
        "Pages that were not complete when the run ended are left out; saved: over visits that both have.",
    )


def _web_picture(draws: Sequence[Draw]) -> list[Picture]:
    return _bars(
        draws,
        "Fig. 7 made again",
        "s per page",
        lambda b, d, p: page_time(_web(b, d, "newreno", p)),
    )


def _bars(
    draws: Sequence[Draw], title: str, unit: str, measure: Callable[[int, int, str], Measure]
) -> list[Picture]:
    with plot.style():
        fig, axes = plot.figure(1, len(DELAYS_MS), (9.0, 3.2), sharey=True)
        for axis, delay in zip(axes, DELAYS_MS, strict=True):
            for i, proxy in enumerate(("none", "gateway")):
                means = [mean(draws, measure(b, delay, proxy)) for b in BACKGROUND]
                axis.bar(
                    [k + 0.38 * i - 0.19 for k in range(len(BACKGROUND))],
                    [m.mean for m in means],
                    0.36,
                    yerr=[m.half_width or 0.0 for m in means],
                    color=plot.COLOURS[i],
                    label=NAMES[proxy],
                )
            axis.set_xticks(range(len(BACKGROUND)), [str(b) for b in BACKGROUND])
            axis.set_xlabel("downloads per cell")
            axis.set_title(f"Internet delay {delay} ms")
        axes[0].set_ylabel(unit)
        axes[0].legend(fontsize=7)
    return [Picture(title, f"NewReno, {len(draws)} runs.", fig)]


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
        ),
        Claim(
            f"{name}.variant",
            "page times of CUBIC and NewReno differ by 10 % or less in every case",
            _web_variant,
        ),
    )
    return Experiment(
        id="splitproxy/fig7",
        title="time of web pages with a proxy in the SAE-GW",
        source=f"{SOURCE}, section 4.2, Fig. 7",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=5,
        quick_runs=1,
        quick={"run.duration": "12 s", "run.series_bin": "12 s"},
        numbers=(Number(name, "saved per page at 50 ms, no downloads, s", _saving(0, 50)),),
        claims=claims,
        listings=(_web_table,),
        pictures=_web_picture,
        notes=(
            *NOTES,
            f"{_READERS} readers per cell; runs take 50 s. The pages are a synthetic set of 2011.",
        ),
    )


def _videos_not_worse(draws: Sequence[Draw]) -> Finding:
    parts = [
        (
            f"{d} ms, {b} downloads",
            Part(
                "with − without",
                mean(draws, minus(satisfied(_video(b, d, "gateway")), satisfied(_video(b, d, "none")))),
                " %",
            ),
        )
        for d in DELAYS_MS
        for b in BACKGROUND
    ]
    full = [
        name for name, _ in parts if mean(draws, satisfied(_by_name(name))).mean >= 100.0
    ]  # where nobody is unsatisfied, nothing can be better
    finding = _never_worse("gain", [pair for pair in parts if pair[0] not in full] or parts)
    note = f"; everybody is satisfied without in {len(full)} of {len(parts)}" if full else ""
    return Finding(finding.holds, finding.evidence + note)


def _by_name(name: str) -> Case:
    delay, downloads = name.split(" ms, ")
    return _video(int(downloads.split()[0]), int(delay), "none")


def _video_table(draws: Sequence[Draw]) -> Listing:
    rows = []
    for d in DELAYS_MS:
        for b in BACKGROUND:
            off, on = (_video(b, d, p) for p in ("none", "gateway"))
            measures = (satisfied(off), satisfied(on), minus(satisfied(on), satisfied(off)))
            rows.append((f"{d} ms, {b}", *(cell(draws, m) for m in measures), str(views(draws, off))))
    columns = ("delay, downloads per cell", "satisfied without, %", "with, %", "more, points", "views")
    return Listing("Satisfied viewers", columns, rows)


def _video_picture(draws: Sequence[Draw]) -> list[Picture]:
    return _bars(
        draws, "Fig. 8 made again", "% of viewers satisfied", lambda b, d, p: satisfied(_video(b, d, p))
    )


def figure8() -> Experiment:
    """Declare the experiment `splitproxy/fig8`."""
    cases = [_video(b, d, p) for d in DELAYS_MS for b in BACKGROUND for p in ("none", "gateway")]
    name = "splitproxy.video_fig8"
    more = minus(satisfied(_video(8, 50, "gateway")), satisfied(_video(8, 50, "none")))
    return Experiment(
        id="splitproxy/fig8",
        title="satisfied viewers of video with a proxy in the SAE-GW",
        source=f"{SOURCE}, section 4.2, Fig. 8",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=5,
        quick_runs=1,
        quick={"run.duration": "12 s", "run.series_bin": "12 s"},
        numbers=(
            Number(name, "satisfied more with the proxy at 50 ms and 8 downloads per cell, points", more),
        ),
        claims=(
            Claim(
                f"{name}.not_worse",
                "viewers are no less satisfied in any case, and more in most",
                _videos_not_worse,
            ),
            _grows(
                f"{name}.falls",
                "without a proxy, fewer viewers are satisfied at a longer delay and beside more downloads",
                satisfied,
                lambda b, d: _video(b, d, "none"),
                -1.0,
            ),
        ),
        setup={
            f"{name}.downloads_per_case": f"{7 * _READERS} views a run, 5 runs",
            f"{name}.seeds": "5 here",
            f"{name}.total_quoted": "what the two before it multiply to is 912",
        },
        listings=(_video_table,),
        pictures=_video_picture,
        notes=(*NOTES, f"{_READERS} viewers per cell; runs take 100 s. One video each, 512 kbit/s and 90 s."),
    )
