"""Schemes in one sector, and a window during bursts: Figs. 7 to 9 of the paper `arwa`, reproduced."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import (
    Claim,
    ClaimKind,
    Draw,
    Experiment,
    Finding,
    Listing,
    Measure,
    Number,
    Picture,
    Reading,
)
from airlane.metrics import Array, Run, Window
from airlane.pages.chart import Axis, Chart, Line, Panel, Reference, Span, bars_of, categories, offset
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import codes
from airlane.papers.arwa.schemes import SOURCE
from airlane.papers.arwa.setup import BASE, CHOICES, PAPER, PRESETS, SCHEMES, WORDS, Case, Choice
from airlane.papers.common import WORDS as ANSWERS
from airlane.papers.common import Part, between, decide, higher, mean, ratio
from airlane.plot import COLOURS
from airlane.plural import counted
from airlane.stats import estimate

__all__ = ["figure7", "figure8", "figure9"]

SECTOR = "site-1-1"
"""The sector with all users; its azimuth is 30 deg, that of the others 150 and 270."""

PLACES = {"low": 57.0, "medium": 43.0, "high": 0.0}
"""Angle between the middle of the beam and the users of low, medium and high signal strength, in degrees.

With the antennas of TR 25.814 and both other sectors active, the ratio of signal to interference is 1.4, 9.0
and 17.0 dB there. Users of a place are within 10 m of each other, at positions drawn from the seed, so that
their MCSs differ by a step or two.
"""

_DISTANCE_M = 250.0

METHODS = ("udp", *SCHEMES)
"""Methods of the four users of each place, in order."""

_MEASURED = Window(10.0, 30.0)

OTHER_LAMBDAS = (1.1, 1.2)
"""Factors of DRWA at which `arwa/regions` has gains of the published size: readings, in the paper's stack."""

_LAMBDA = 3.0


def _spot(azimuth_deg: float, radius_m: float = 10.0, distance_m: float = _DISTANCE_M) -> dict[str, object]:
    angle = math.radians(azimuth_deg)
    centre = [f"{distance_m * part(angle):.3f} m" for part in (math.cos, math.sin)]
    return {"kind": "disc", "centre": centre, "radius": f"{radius_m:g} m"}


def _others() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """A user with saturated traffic in each of the other sectors: the interference.

    They are at the edge between these two sectors, so that little data fills their resource blocks.
    """
    ues: list[dict[str, object]] = []
    flows: list[dict[str, object]] = []
    for sector in (2, 3):
        name = f"other-{sector}"
        ues.append({"name": name, "cell": f"site-1-{sector}", "placement": _spot(210.0)})
        load = {**setup.VIDEO, "rate": "4 Mbit/s"}
        flows.append({"name": name, "to": name, "app": load, "transport": "udp"})
    return ues, flows


def _point7(preset: str, choice: Choice = BASE, factor: float = _LAMBDA) -> str:
    return f"{preset}/{choice.name}" + _suffix(factor, "/")


def _suffix(factor: float, separator: str) -> str:
    return "" if factor == _LAMBDA else f"{separator}lambda{factor:g}"


def _whose(preset: str, factor: float) -> ClaimKind:
    return setup.whose(preset) if factor == _LAMBDA else ClaimKind.READING


def _where(preset: str, factor: float) -> str:
    return preset if factor == _LAMBDA else f"{preset}, DRWA's factor {factor:g}"


def _coexistence(preset: str, choice: Choice = BASE, factor: float = _LAMBDA) -> dict[str, object]:
    ues, flows = _others()
    case = Case("arwa", 12, preset, choice, drwa_lambda=factor)
    gap_s = 5.0 / 12 if choice.start == "staggered" else 0.0
    for i, (place, beside) in enumerate(PLACES.items()):
        ues.append({"name": place, "count": len(METHODS), "cell": SECTOR, "placement": _spot(30.0 + beside)})
        for j, method in enumerate(METHODS):
            transport = None if method == "udp" else setup.tcp(case, method)
            flows.append(setup.flow(f"{place}-{j + 1}", transport, start_s=gap_s * (i * len(METHODS) + j)))
    return {
        "run.duration": f"{_MEASURED.end_s:g} s",
        "run.warmup": f"{_MEASURED.begin_s:g} s",
        "ue": ues,
        "flow": flows,
    }


def _of(point: str, place: str, method: str, column: str) -> Measure:
    name = f"{place}-{METHODS.index(method) + 1}"

    def measure(draw: Draw) -> float:
        table = draw[point].tables["flows"]
        return float(table[column][table["flow"].to_pylist().index(name)].as_py())

    return measure


def _goodput(point: str, place: str, method: str) -> Measure:
    return _of(point, place, method, "goodput_mbps")


def _delay(point: str, place: str, method: str) -> Measure:
    return _of(point, place, method, "owd_ms")


def _times(factor: float, measure: Measure) -> Measure:
    return lambda draw: factor * measure(draw)


def _starved(draws: Sequence[Draw], point: str) -> list[Part]:
    """DRWA has the least throughput everywhere, and almost none where the signal is low."""
    parts = [
        higher(
            draws, f"{place}: {WORDS[m]} − DRWA", _goodput(point, place, m), _goodput(point, place, "drwa")
        )
        for place in PLACES
        for m in METHODS
        if m != "drwa"
    ]
    tenth = _times(0.1, _goodput(point, "low", "autotuning"))
    parts.append(higher(draws, "low: a tenth of autotuning − DRWA", tenth, _goodput(point, "low", "drwa")))
    return parts


_NEAR = 0.8
"""Meaning of "almost equal": at least four fifths."""


def _keeps_up(draws: Sequence[Draw], point: str) -> list[Part]:
    """ARWA has about as much as autotuning and UDP."""
    return [
        between(
            draws,
            f"{place}: ARWA / {WORDS[m]}",
            ratio(_goodput(point, place, "arwa"), _goodput(point, place, m)),
            _NEAR,
            math.inf,
        )
        for place in PLACES
        for m in ("autotuning", "udp")
    ]


def _delays(draws: Sequence[Draw], point: str) -> list[Part]:
    """UDP has the largest delay, DRWA the smallest, and ARWA less than autotuning."""
    parts = []
    for place in PLACES:
        for text, more, less in (
            ("UDP − autotuning", "udp", "autotuning"),
            ("autotuning − ARWA", "autotuning", "arwa"),
            ("ARWA − DRWA", "arwa", "drwa"),
        ):
            parts.append(
                higher(draws, f"{place}: {text}", _delay(point, place, more), _delay(point, place, less))
            )
    return parts


def _places(draws: Sequence[Draw], point: str) -> list[Part]:
    """Better signal means more throughput and less delay, for each method."""
    parts = []
    for method in METHODS:
        for worse, better in (("low", "medium"), ("medium", "high")):
            text = f"{WORDS[method]}, {worse} to {better}"
            parts.append(
                higher(
                    draws,
                    f"{text}: throughput",
                    _goodput(point, better, method),
                    _goodput(point, worse, method),
                    equal=method == "udp",
                )
            )
            parts.append(higher(draws, "delay", _delay(point, worse, method), _delay(point, better, method)))
    return parts


CLAIMS7: dict[str, tuple[str, Callable[[Sequence[Draw], str], list[Part]]]] = {
    "starved": (
        "DRWA has the least throughput everywhere, and where the signal is low almost none (a tenth)",
        _starved,
    ),
    "keeps_up": (
        f"ARWA's throughput is almost equal (at least {_NEAR:g}) to autotuning's and UDP's",
        _keeps_up,
    ),
    "delay": ("delay: UDP above autotuning, autotuning above ARWA, ARWA above DRWA", _delays),
    "places": ("better signal strength gives each method more throughput and less delay", _places),
}
"""Statements of section 4.3.7 on Fig. 7."""


def _claim7(name: str, preset: str, factor: float = _LAMBDA) -> Claim:
    text, parts = CLAIMS7[name]
    return Claim(
        f"arwa.fig7.{name}.{preset}{_suffix(factor, '.')}",
        f"{text} ({_where(preset, factor)})",
        lambda draws: decide(parts(draws, _point7(preset, factor=factor))),
        _whose(preset, factor),
    )


def _table7(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        point = _point7(preset)
        rows = []
        for place in PLACES:
            for method in METHODS:
                cells = [_of(point, place, method, c) for c in ("goodput_mbps", "owd_ms", "mcs_mean")]
                rows.append(
                    (f"{place}, {WORDS[method]}", *(terminal.interval(mean(draws, c)) for c in cells))
                )
        return Listing(
            f"Fig. 7 as a table: {preset}", ("signal, method", "throughput, Mbit/s", "delay, ms", "MCS"), rows
        )

    return listing


def _matrix7(draws: Sequence[Draw]) -> Listing:
    rows = []
    for choice in CHOICES:
        found = [decide(parts(draws, _point7(PAPER, choice))).holds for _, parts in CLAIMS7.values()]
        shares = []
        for place in PLACES:
            arwa, drwa = (_goodput(_point7(PAPER, choice), place, m) for m in ("arwa", "drwa"))
            tuned = _goodput(_point7(PAPER, choice), place, "autotuning")
            shares += [
                terminal.interval(estimate([one(d) / tuned(d) for d in draws])) for one in (arwa, drwa)
            ]
        rows.append((choice.short, *(ANSWERS[holds] for holds in found), *shares))
    heads = [f"{WORDS[m]}, {place}" for place in PLACES for m in ("arwa", "drwa")]
    return Listing(
        "Which readings bear out section 4.3.7",
        ("reading, DRWA's floor, starts", *CLAIMS7, *heads),
        rows,
        "The last columns are throughputs over that of autotuning at the same place.",
    )


_TIME = Axis(label="simulated time in s")


def _picture7(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for preset, (measure, title, unit) in itertools.product(
        PRESETS, ((_goodput, "throughput", "Mbit/s"), (_delay, "delay", "ms"))
    ):
        bars = [
            bars_of(
                [place + offset(i, len(METHODS), 0.2) for place in range(len(PLACES))],
                [mean(draws, measure(_point7(preset), place, method)) for place in PLACES],
                0.18,
                series=WORDS[method],
                colour=COLOURS[i],
            )
            for i, method in enumerate(METHODS)
        ]
        places = categories([f"{place} signal" for place in PLACES])
        panels.append(Panel(bars, f"{preset}: {title}", places, Axis(label=unit)))
    return [
        Picture(
            "As Fig. 7",
            f"Four users at each place; mean of {counted(len(draws), 'run')} and 95 % interval.",
            Chart(panels, 2, 10.0, 6.0),
        )
    ]


def _grid7() -> dict[str, dict[str, object]]:
    points = [(PAPER, choice) for choice in CHOICES] + [(preset, BASE) for preset in PRESETS]
    return {_point7(*point): _coexistence(*point) for point in points} | _other_lambdas()


def _other_lambdas() -> dict[str, dict[str, object]]:
    return {_point7(PAPER, BASE, factor): _coexistence(PAPER, BASE, factor) for factor in OTHER_LAMBDAS}


_NOTES7 = (
    "Twelve users in one sector, four at each of three places beside its beam; the other two sectors send "
    "all the time, which makes the difference of the places. Video by UDP has 512 kbit/s. Runs take 30 s, "
    "of which the last 20 are measured.",
)


def figure7() -> Experiment:
    """Declare the experiment `arwa/fig7`."""
    return Experiment(
        id="arwa/fig7",
        title="DRWA, ARWA, autotuning and UDP together at three signal strengths",
        source=f"{SOURCE}, section 4.3.7, Fig. 7",
        scenario=examples.path("arwa-cell"),
        grid=_grid7(),
        runs=10,
        quick_runs=2,
        quick={"run.duration": "14 s"},
        claims=(
            *(_claim7(name, preset) for preset in PRESETS for name in CLAIMS7),
            *(_claim7(name, PAPER, factor) for factor in OTHER_LAMBDAS for name in CLAIMS7),
        ),
        listings=(*(_table7(preset) for preset in PRESETS), _matrix7),
        pictures=_picture7,
        notes=(*_NOTES7, *setup.OPEN_NOTES),
    )


def _series(run: Run, place: str, method: str) -> Array:
    """Throughput of each measured second."""
    series: Array = run.series(f"{place}-{METHODS.index(method) + 1}", _MEASURED)["goodput_mbps"]
    return series


def _variation(point: str, place: str, method: str) -> Measure:
    """Coefficient of variation of the throughput per second; NaN where nothing arrived."""

    def measure(draw: Draw) -> float:
        values = _series(draw[point], place, method)
        return float(values.std() / values.mean()) if values.mean() > 0.0 else math.nan

    return measure


def _halted(point: str, place: str, method: str) -> Measure:
    """Share of the seconds in which nothing arrived."""
    return lambda draw: float(np.mean(_series(draw[point], place, method) == 0.0))


def _claims8(preset: str, factor: float = _LAMBDA) -> tuple[Claim, ...]:
    point, kind = _point7(preset, factor=factor), _whose(preset, factor)
    end, where = f"{preset}{_suffix(factor, '.')}", _where(preset, factor)

    def above(place: str, best: str) -> Callable[[Sequence[Draw]], Finding]:
        return lambda draws: decide(
            [
                higher(
                    draws,
                    f"{WORDS[best]} − {WORDS[m]}",
                    _goodput(point, place, best),
                    _goodput(point, place, m),
                )
                for m in METHODS
                if m != best
            ]
        )

    def restless(draws: Sequence[Draw]) -> Finding:
        return decide(
            [
                higher(
                    draws,
                    f"DRWA − {WORDS[m]}",
                    _variation(point, "high", "drwa"),
                    _variation(point, "high", m),
                )
                for m in METHODS
                if m != "drwa"
            ]
        )

    def halts(draws: Sequence[Draw]) -> Finding:
        share = _halted(point, "low", "drwa")
        return decide([between(draws, "share of seconds without a packet", share, 0.5, math.inf)])

    return (
        Claim(
            f"arwa.fig8.high.{end}",
            f"high signal: autotuning has the most ({where})",
            above("high", "autotuning"),
            kind,
        ),
        Claim(
            f"arwa.fig8.restless.{end}",
            f"high signal: DRWA's throughput fluctuates the most, second by second ({where})",
            restless,
            kind,
        ),
        Claim(
            f"arwa.fig8.medium.{end}",
            f"medium signal: UDP has the most ({where})",
            above("medium", "udp"),
            kind,
        ),
        Claim(f"arwa.fig8.halt.{end}", f"low signal: DRWA halts more often than not ({where})", halts, kind),
    )


def _table8(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        point = _point7(preset)
        rows = []
        for place in PLACES:
            for method in METHODS:
                variation, halted = (f(point, place, method) for f in (_variation, _halted))
                rows.append(
                    (
                        f"{place}, {WORDS[method]}",
                        terminal.interval(mean(draws, variation)),
                        terminal.interval(mean(draws, halted)),
                    )
                )
        return Listing(
            f"Fig. 8 as a table: {preset}",
            ("signal, method", "deviation of seconds / mean", "share of seconds without a packet"),
            rows,
        )

    return listing


def _picture8(draws: Sequence[Draw]) -> list[Picture]:
    draw = draws[0]
    panels = []
    for preset, place in itertools.product(PRESETS, reversed(PLACES)):
        lines = []
        for i, method in enumerate(METHODS):
            values = _series(draw[_point7(preset)], place, method)
            t = _MEASURED.begin_s + np.arange(len(values))
            lines.append(Line(t, values, series=WORDS[method], colour=COLOURS[i]))
        panels.append(Panel(lines, f"{place} signal, {preset}", _TIME, Axis(label="Mbit/s (1 s)", low=0.0)))
    chart = Chart(panels, len(PLACES), 10.0, 5.6, shared_x=True)
    return [Picture("As Fig. 8", f"One run (seed {draw.seed}).", chart)]


def figure8() -> Experiment:
    """Declare the experiment `arwa/fig8`."""
    return Experiment(
        id="arwa/fig8",
        title="the same over time",
        source=f"{SOURCE}, section 4.3.7, Fig. 8",
        scenario=examples.path("arwa-cell"),
        grid={_point7(preset): _coexistence(preset) for preset in PRESETS} | _other_lambdas(),
        runs=10,
        quick_runs=2,
        quick={"run.duration": "14 s"},
        claims=(
            *(claim for preset in PRESETS for claim in _claims8(preset)),
            *(claim for factor in OTHER_LAMBDAS for claim in _claims8(PAPER, factor)),
        ),
        listings=tuple(_table8(preset) for preset in PRESETS),
        pictures=_picture8,
        notes=_NOTES7,
    )


BURSTS = (Window(20.0, 40.0), Window(70.0, 80.0))
_QUIET = (Window(10.0, 20.0), Window(50.0, 70.0), Window(90.0, 100.0))
_ALWAYS, _BURSTING = 10, 9
_FLOOR_B = 3000


def _bursts(preset: str, *, with_bursts: bool) -> dict[str, object]:
    ues, flows = _others()
    users = 1 + _ALWAYS + _BURSTING
    ues.append({"name": "user", "count": users, "cell": SECTOR, "placement": _spot(30.0, radius_m=150.0)})
    flows.append(setup.flow("user-1", setup.tcp(Case("arwa", users, preset))))
    flows += [setup.flow(f"user-{n}", None) for n in range(2, 2 + _ALWAYS)]
    for n in range(2 + _ALWAYS, 1 + users) if with_bursts else ():
        for i, burst in enumerate(BURSTS):
            part = setup.flow(f"user-{n}", None, burst.begin_s, stop=f"{burst.end_s:g} s")
            flows.append({**part, "name": f"burst-{n}-{i}"})
    return {
        "run.duration": "100 s",
        "run.warmup": "10 s",
        "run.series_bin": "100 ms",
        "ue": ues,
        "flow": flows,
    }


def _point9(preset: str, bursts: str) -> str:
    return f"{preset}/{bursts}"


def _cwnd(run: Run, windows: Sequence[Window]) -> Array:
    parts = [run.series("user-1", window)["cwnd_bytes"] for window in windows]
    return np.concatenate(parts)


def _cwnd_mean(point: str, windows: Sequence[Window]) -> Measure:
    return lambda draw: float(np.nanmean(_cwnd(draw[point], windows)))


def _lowest(draw: Draw) -> float:
    """Smallest window after a code."""
    return codes(draw[_point9(PAPER, "bursts")]).least_b


def _lowest_sample(draw: Draw) -> float:
    """Smallest window at the end of a bin within the bursts, without those due to a loss or timeout."""
    return float(np.nanmin(_unforced(draw[_point9(PAPER, "bursts")], BURSTS)))


def _unforced(run: Run, windows: Sequence[Window]) -> Array:
    """Windows at the ends of bins, without the second after a lost segment or an expired timer."""
    kept = []
    timeouts = run.timeouts_of("user-1").get("t_s", np.empty(0))
    for window in windows:
        series = run.series("user-1", window)
        t, lost = series["t_s"], series["lost_segments"] > 0
        forced = np.concatenate([t[lost], timeouts])
        calm = np.array([not np.any((forced <= at + 0.1) & (forced > at - 1.0)) for at in t], dtype=bool)
        kept.append(series["cwnd_bytes"][calm])
    return np.concatenate(kept)


def _claims9(preset: str) -> tuple[Claim, ...]:
    bursts, without = _point9(preset, "bursts"), _point9(preset, "none")
    kind = setup.whose(preset)

    def reacts(draws: Sequence[Draw]) -> Finding:
        quiet, loud = (_cwnd_mean(bursts, windows) for windows in (_QUIET, BURSTS))
        return decide(
            [
                higher(draws, "window between bursts − in them, B", quiet, loud),
                higher(
                    draws,
                    "window in them without bursts − with, B",
                    _cwnd_mean(without, BURSTS),
                    _cwnd_mean(bursts, BURSTS),
                ),
            ]
        )

    def floor(draws: Sequence[Draw]) -> Finding:
        least = [codes(draw[point]).least_b for draw in draws for point in (bursts, without)]
        known = [value for value in least if not math.isnan(value)]
        holds = min(known) >= _FLOOR_B if known else None
        return Finding(
            holds,
            f"smallest window that a code left in {len(least)} runs: {min(known, default=math.nan):.0f} B",
        )

    def goes_on(draws: Sequence[Draw]) -> Finding:
        worst = min(
            float(d[bursts].series("user-1", w)["goodput_mbps"].mean()) for d in draws for w in BURSTS
        )
        return Finding(worst > 0.0, f"least throughput of any burst in any run: {1000 * worst:.0f} kbit/s")

    return (
        Claim(f"arwa.fig9.reacts.{preset}", f"bursts make ARWA's window smaller ({preset})", reacts, kind),
        Claim(
            f"arwa.fig9.floor.{preset}",
            f"no code brings the window below {_FLOOR_B} B ({preset})",
            floor,
            kind,
        ),
        Claim(
            f"arwa.fig9.goes_on.{preset}",
            f"ARWA goes on sending through every burst ({preset})",
            goes_on,
            kind,
        ),
    )


def _table9(draws: Sequence[Draw]) -> Listing:
    rows = []
    for preset in PRESETS:
        for bursts in ("none", "bursts"):
            point = _point9(preset, bursts)
            cells = [_cwnd_mean(point, windows) for windows in (_QUIET, BURSTS)]
            rows.append((f"{preset}, {bursts}", *(terminal.interval(mean(draws, cell)) for cell in cells)))
    return Listing(
        "ARWA's congestion window, bytes",
        ("stack, bursts", "10–20, 50–70, 90–100 s", "20–40, 70–80 s (bursts)"),
        rows,
    )


def _picture9(draws: Sequence[Draw]) -> list[Picture]:
    draw = draws[0]
    panels = []
    for bursts, preset in itertools.product(("none", "bursts"), PRESETS):
        series = draw[_point9(preset, bursts)].series("user-1")
        there = [Span("x", one.begin_s, one.end_s) for one in BURSTS if bursts == "bursts"]
        window = Line(series["t_s"], series["cwnd_bytes"] / 1000.0, width=0.8)
        floor = Reference("y", _FLOOR_B / 1000.0, series="3000 B", colour=COLOURS[1], dash=":")
        title = f"{preset}, {'with' if bursts == 'bursts' else 'without'} bursts"
        panels.append(Panel([*there, window, floor], title, _TIME, Axis(label="window in kB", low=0.0)))
    chart = Chart(panels, len(PRESETS), 10.0, 5.2, shared_x=True)
    return [Picture("As Fig. 9", f"One run (seed {draw.seed}); grey: bursts.", chart)]


def figure9() -> Experiment:
    """Declare the experiment `arwa/fig9`."""
    points = [(preset, bursts) for preset in PRESETS for bursts in ("none", "bursts")]
    return Experiment(
        id="arwa/fig9",
        title="an ARWA sender's window through bursts of other traffic",
        source=f"{SOURCE}, section 4.3.8, Fig. 9",
        scenario=examples.path("arwa-cell"),
        grid={_point9(p, b): _bursts(p, with_bursts=b == "bursts") for p, b in points},
        runs=10,
        quick_runs=2,
        numbers=(
            Number(
                "arwa.cwnd_floor_seen_bytes",
                "smallest window that a code left, B",
                _lowest,
                readings=(
                    Reading("at the ends of 100 ms in the bursts, where no loss made it", _lowest_sample),
                ),
            ),
        ),
        claims=tuple(claim for preset in PRESETS for claim in _claims9(preset)),
        listings=(_table9,),
        pictures=_picture9,
        notes=(
            f"Twenty users in one sector: one with ARWA, {_ALWAYS} with video, {_BURSTING} more with video "
            "in the bursts (20–40 and 70–80 s).",
            *setup.OPEN_NOTES,
        ),
    )
