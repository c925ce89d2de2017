"""A long flow in parallel with bursts: section VI of the paper `mdcc`, Fig. 7."""

from __future__ import annotations

from collections.abc import Sequence

from airlane import examples, metrics
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure, Number, Reading
from airlane.metrics import Window
from airlane.papers.common import gain_pct, mean
from airlane.papers.mdcc import figures, setup
from airlane.papers.mdcc.setup import ABLATION, ALL_MS, CONTENDERS, LEFT_OUT_MS, NAMES
from airlane.study.verdict import Relation, settle

__all__ = ["figure7"]

TABLE4_MS = LEFT_OUT_MS["table4"]
"""The delay that CUBIC's rows of Tables II and III imply: a reading, since Fig. 7 is in no table."""

WHOLE = Window(0.0, 100.0)
READINGS = ("module", "literal")
_WORDS = {
    "module": "3 bursts begin a second, 0.27 s long: 36 Mbit/s in all",
    "literal": "3 bursts under way, 0.1 s long: 135 Mbit/s in all",
}


def point(reading: str, controller: str, delay_ms: float) -> str:
    """Name of a point."""
    return f"{reading}/{controller}/{delay_ms:g}"


def _overrides(reading: str, controller: str, delay_ms: float) -> dict[str, object]:
    own = setup.controller_overrides(controller)
    return {"internet.delay": f"{delay_ms:g} ms", "flow.1.app.reading": reading, **own}


_POINTS = [
    (r, c, ms)
    for r, ms in (("module", ALL_MS), ("module", TABLE4_MS), ("literal", ALL_MS))
    for c in CONTENDERS
]
"""The literal reading at one delay: the phone there gets the rest from the bursts, which is almost nothing.
"""


def _goodput(name: str) -> Measure:
    return lambda draw: metrics.goodput_mbps(draw[name], "phone", WHOLE)


def _bursts(name: str) -> Measure:
    return lambda draw: 3.0 * metrics.goodput_mbps(draw[name], "other", WHOLE)


def _gain(reading: str, delay_ms: float, controller: str = "mdcc") -> Measure:
    cubic, other = (_goodput(point(reading, c, delay_ms)) for c in ("cubic", controller))
    return gain_pct(other, cubic)


def _bar(delay_ms: float) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        gain = mean(draws, _gain("module", delay_ms))
        low, high = (f(_gain("module", delay_ms)(d) for d in draws) for f in (min, max))
        evidence = (
            f"{terminal.interval(gain)} % in the mean, {low:.1f} to {high:.1f} % in single runs, n = {gain.n}"
        )
        return Finding(settle(gain, 2.0, 15.0), evidence)

    which = "all" if delay_ms == ALL_MS else "fill_up"
    return Claim(
        f"mdcc.longrun.gain.{which}",
        f"MD-CC gains 2 to 15 % over the long run ({delay_ms:g} ms, the module's reading)",
        check,
        ClaimKind.PAPER if which == "all" else ClaimKind.READING,
    )


def _listing(draws: Sequence[Draw]) -> Listing:
    rows = []
    for reading, ms in dict.fromkeys((r, ms) for r, _, ms in _POINTS):
        names = [point(reading, c, ms) for c in CONTENDERS]
        rows.append(
            (
                f"{reading}, {ms:g} ms: {_WORDS[reading]}",
                *(terminal.interval(mean(draws, _goodput(name))) for name in names),
                *(terminal.interval(mean(draws, _gain(reading, ms, c))) for c in ("mdcc", ABLATION)),
                terminal.interval(mean(draws, _bursts(names[0]))),
            )
        )
    return Listing(
        "Throughput over 100 s, Mbit/s",
        (
            "reading, delay",
            "CUBIC",
            "MD-CC",
            NAMES[ABLATION],
            "gain of MD-CC, %",
            "gain of Scalable, %",
            "what arrives of the bursts, beside CUBIC",
        ),
        rows,
    )


def figure7() -> Experiment:
    """Declare the experiment `mdcc/fig7`."""
    others = (
        Reading(f"{TABLE4_MS:g} ms one way", _gain("module", TABLE4_MS)),
        Reading("bursts read literally", _gain("literal", ALL_MS)),
    )

    def number(key: str, label: str, relation: Relation = Relation.EQUAL) -> Number:
        return Number(
            f"mdcc.longrun.throughput_gain_pct_{key}",
            label,
            _gain("module", ALL_MS),
            relation=relation,
            against=lambda _: 0.0,
            fitted=setup.fitted_on(),
            readings=others,
        )

    return Experiment(
        id="mdcc/fig7",
        title="a long flow beside bursts",
        source=f"{setup.SOURCE}, section VI and Fig. 7",
        scenario=examples.path("mdcc-long"),
        grid={point(*p): _overrides(*p) for p in _POINTS},
        runs=12,
        quick_runs=4,
        numbers=(
            number("mean", "gain in throughput, %"),
            number("min", "gain in throughput, smallest of the paper's runs, %", Relation.ONE_RUN),
            number("max", "gain in throughput, largest of the paper's runs, %", Relation.ONE_RUN),
        ),
        claims=tuple(_bar(ms) for ms in (ALL_MS, TABLE4_MS)),
        setup={"mdcc.longrun.runs": "12 runs: 10 leave an interval of a tenth of the mean"},
        listings=(_listing,),
        pictures=lambda draws: [
            *(
                figures.over_100_s(draws[0], point("module", "cubic", ms), point("module", "mdcc", ms), ms)
                for ms in (ALL_MS, TABLE4_MS)
            ),
            figures.gains(
                {
                    f"{NAMES[c]}, {ms:g} ms": [_gain("module", ms, c)(draw) for draw in draws]
                    for ms in (ALL_MS, TABLE4_MS)
                    for c in ("mdcc", ABLATION)
                }
            ),
        ],
        notes=(
            'Open in the paper: what "3 for the mean number of active bursts" sets. The module that it names '
            "uses it as the bursts that begin in a second, and the mean length as the shortest; "
            "that is what it ran.",
        ),
    )
