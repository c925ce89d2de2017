"""The two limits of an ARWA sender: Tables 3 and 4 of the paper `arwa`, reproduced, and both jointly."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

from airlane import examples
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Number, Picture
from airlane.pages.chart import Axis, Chart, Item, Label, Line, Panel
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import FIGURES, above, at, best_at, gain, row
from airlane.papers.arwa.schemes import SOURCE, of
from airlane.papers.arwa.setup import BEYOND, PAPER, PRESETS, TODAY, WORDS, Case
from airlane.papers.common import WORDS as ANSWERS
from airlane.papers.common import all_hold, between, decide, mean, one_holds
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["joint", "table3", "table4"]

LOWER_B = (0, 1000, 2000, 3000, 4000, 5000)
"""Lower target limits (section 4.3.4)."""

UPPER_B = (5000, 10_000, 15_000, 20_000)
"""Upper target limits (section 4.3.4)."""

_LOWER_B, _UPPER_B = 3000, 10_000
"""Choice of the paper."""

_USERS = (40, 80)

JOINT_USERS = 80

_MARGIN = 0.01
"""A setting is better than another if it is by more than this share in throughput or delay."""


def _case(users: int, preset: str, lower: int = _LOWER_B, upper: int = _UPPER_B) -> Case:
    return Case("arwa", users, preset, cwnd_min_b=lower, cwnd_target_b=upper)


def _lower(users: int, preset: str) -> dict[str, Case]:
    return {f"{b} B": _case(users, preset, lower=b) for b in LOWER_B}


def _upper(users: int, preset: str) -> dict[str, Case]:
    return {f"{b} B": _case(users, preset, upper=b) for b in UPPER_B}


def _lower_claims(users: int, preset: str) -> tuple[Claim, ...]:
    cases, where = _lower(users, preset), f"({users} users, {preset})"
    low, high = cases[f"{LOWER_B[0]} B"], cases[f"{LOWER_B[-1]} B"]

    def rises(draws: Sequence[Draw]) -> Finding:
        text = f"at {LOWER_B[-1]} − at {LOWER_B[0]} B"
        return decide([above(draws, f"{f} {text}", high, low, f) for f in ("throughput", "delay")])

    def best(draws: Sequence[Draw]) -> Finding:
        return decide([p for f in ("pdf", "fairness") for p in best_at(draws, cases, f"{_LOWER_B} B", f)])

    name = "arwa.orderings.lower_limit_sweep"
    return (
        Claim(
            f"{name}.rises.{users}.{preset}",
            f"throughput and delay rise with the lower limit {where}",
            rises,
            setup.whose(preset),
        ),
        Claim(
            f"{name}.best.{users}.{preset}",
            f"nowhere are PDF and fairness better than at 3000 B {where}",
            best,
            setup.whose(preset),
        ),
    )


def _upper_claims(users: int, preset: str) -> tuple[Claim, ...]:
    cases = _upper(users, preset)

    def best(draws: Sequence[Draw]) -> Finding:
        figures = (("pdf", False), ("delay", True), ("fairness", False))
        return decide([p for f, low in figures for p in best_at(draws, cases, f"{_UPPER_B} B", f, low=low)])

    def moves(draws: Sequence[Draw]) -> Finding:
        pairs = list(itertools.permutations(cases.items(), 2))
        parts = [
            between(draws, f"delay at {one} over {other}", gain(case, beside, "delay"), 1.0, math.inf, " %")
            for (one, case), (other, beside) in pairs
        ]
        most = max(parts, key=lambda part: part.ours.mean)
        return Finding(one_holds(part.holds for part in parts), f"largest: {most}")

    where = f"({users} users, {preset})"
    return (
        Claim(
            f"arwa.orderings.upper_limit_sweep.{users}.{preset}",
            f"nowhere are PDF, delay and fairness better than at 10000 B {where}",
            best,
            setup.whose(preset),
        ),
        Claim(
            f"arwa.table4.matters.{users}.{preset}",
            f"the upper limit, from {UPPER_B[0]} to {UPPER_B[-1]} B, moves the mean delay by 1 % or more "
            f"{where}",
            moves,
            ClaimKind.PREDICTION,
        ),
    )


def _table(title: str, cases: Callable[[int, str], dict[str, Case]], preset: str) -> Callable[..., Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (f"{users}, {limit}", *row(draws, case))
            for users in _USERS
            for limit, case in cases(users, preset).items()
        ]
        return Listing(f"{title}: {preset}", ("users, limit", *FIGURES.values()), rows)

    return listing


def _sweep(
    table: int, title: str, cases: Callable[[int, str], dict[str, Case]], claims: tuple[Claim, ...]
) -> Experiment:
    points = [case for preset in PRESETS for users in _USERS for case in cases(users, preset).values()]
    return Experiment(
        id=f"arwa/table{table}",
        title=title,
        source=f"{SOURCE}, section 4.3.4, Table {table}",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(points),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        numbers=(Number(f"arwa.table{table}", "our table stands below", at(points[0], "throughput")),),
        claims=claims,
        listings=tuple(_table(f"Table {table} reproduced", cases, preset) for preset in PRESETS),
        notes=setup.NOTES,
    )


def table3() -> Experiment:
    """Declare the experiment `arwa/table3`."""
    points = itertools.product(_USERS, PRESETS)
    claims = tuple(claim for point in points for claim in _lower_claims(*point))
    return _sweep(3, "the lower limit of an ARWA sender's window", _lower, claims)


def table4() -> Experiment:
    """Declare the experiment `arwa/table4`."""
    points = itertools.product(_USERS, PRESETS)
    claims = tuple(claim for point in points for claim in _upper_claims(*point))
    return _sweep(4, "the upper limit of an ARWA sender's window", _upper, claims)


def front(points: dict[str, tuple[float, float]], margin: float = _MARGIN) -> list[str]:
    """Names of the points (throughput, delay) that no other one dominates.

    A point dominates another with at least its throughput and at most its delay, if one of them is better
    by `margin`.

    Examples
    --------
    >>> front({"a": (10.0, 50.0), "b": (9.0, 80.0), "c": (20.0, 90.0)})
    ['a', 'c']
    """

    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        no_worse = one[0] >= other[0] and one[1] <= other[1]
        return no_worse and (one[0] > other[0] * (1.0 + margin) or one[1] < other[1] * (1.0 - margin))

    return [name for name, point in points.items() if not any(beats(p, point) for p in points.values())]


def _joint_cases() -> dict[tuple[int, int], Case]:
    return {(lo, up): _case(JOINT_USERS, PAPER, lo, up) for lo, up in itertools.product(LOWER_B, UPPER_B)}


def _others() -> dict[str, Case]:
    """Settings that ARWA's are compared with: the stack's own, and ones that the paper does not compare."""
    cases = {f"{WORDS[s]}, {PAPER}": of(s, JOINT_USERS) for s in ("drwa", "autotuning")}
    return {**cases, **{f"{WORDS[s]}, {TODAY}": of(s, JOINT_USERS, TODAY) for s in BEYOND}}


def _pair(draws: Sequence[Draw], case: Case) -> tuple[float, float]:
    return mean(draws, at(case, "throughput")).mean, mean(draws, at(case, "delay")).mean


def _paper_on_front(draws: Sequence[Draw]) -> Finding:
    cases = _joint_cases()
    points = {f"{lo}/{up}": _pair(draws, case) for (lo, up), case in cases.items()}
    chosen = cases[_LOWER_B, _UPPER_B]
    beaten = {f"{lo}/{up}": _beats(draws, case, chosen) for (lo, up), case in cases.items() if case != chosen}
    ours = points[f"{_LOWER_B}/{_UPPER_B}"]
    by = {word: [n for n, holds in beaten.items() if ANSWERS[holds] == word] for word in ("yes", "open")}
    evidence = (
        f"3000/10000: {ours[0]:.2f} Mbit/s, {ours[1]:.1f} ms; beaten by {', '.join(by['yes']) or 'none'}, "
        f"perhaps by {', '.join(by['open']) or 'none'}; front of the means: {', '.join(front(points))}"
    )
    found = one_holds(beaten.values())
    return Finding(None if found is None else not found, evidence)


def _beats(draws: Sequence[Draw], one: Case, other: Case) -> bool | None:
    """Whether one point is no worse than another in throughput and delay, and better in one of them."""
    pairs = [(one, other, "throughput"), (other, one, "delay")]
    no_worse = [above(draws, "", *pair, equal=True).holds for pair in pairs]
    better = one_holds(above(draws, "", *pair).holds for pair in pairs)
    return all_hold([*no_worse, better])


def _joint_table(draws: Sequence[Draw]) -> Listing:
    cases = _joint_cases()
    best = front({f"{lo}/{up}": _pair(draws, case) for (lo, up), case in cases.items()})
    rows = []
    for (lo, up), case in cases.items():
        mark = "front" if f"{lo}/{up}" in best else ""
        rows.append((f"{lo} / {up}", *row(draws, case), mark))
    rows += [(name, *row(draws, case), "") for name, case in _others().items()]
    return Listing(
        f"Both limits jointly: {JOINT_USERS} users, {PAPER}",
        ("lower / upper limit in bytes", *FIGURES.values(), ""),
        rows,
        "Front: no other pair of limits has more throughput and less delay (1 % in one of them counts).",
    )


def _joint_picture(draws: Sequence[Draw]) -> list[Picture]:
    cases = _joint_cases()
    points = {f"{lo}/{up}": _pair(draws, case) for (lo, up), case in cases.items()}
    best = sorted((points[name] for name in front(points)), key=lambda p: p[1])
    ours: list[Item] = [
        Line(
            [points[f"{lo}/{up}"][1] for lo in LOWER_B],
            [points[f"{lo}/{up}"][0] for lo in LOWER_B],
            series=f"ARWA, upper limit {up} B",
            colour=COLOURS[i],
            marker="osv^"[i],
            size=12.0 - 3 * i,  # keeps overlapping markers visible
            open=True,
        )
        for i, up in enumerate(UPPER_B)
    ]
    delays, rates = [p[1] for p in best], [p[0] for p in best]
    ours.append(Line(delays, rates, series="ARWA's front", colour="#333333", width=0.9))
    limits: list[Item] = []
    for lo in LOWER_B:
        throughput, delay = points[f"{lo}/{_UPPER_B}"]
        limits.append(Label(delay, throughput, f"{lo} B", dx=5.0, dy=-9.0))
    others: list[Item] = []
    for i, (name, case) in enumerate(_others().items()):
        throughput, delay = _pair(draws, case)
        others.append(Line([delay], [throughput], colour="#111111", width=0.0, marker="DPX*"[i], size=8.0))
        others.append(Label(delay, throughput, name, dx=6.0, dy=4.0))
    x, y = "one-way delay in ms", Axis(label="throughput in Mbit/s")
    panels = [
        Panel([*ours, *limits], "ARWA's limits", Axis(label=x), y),
        Panel([*ours, *others], "beside others", Axis(label=x, log=True), y),
    ]
    caption = f"{JOINT_USERS} users; means of {counted(len(draws), 'run')}."
    return [Picture("Throughput against delay", caption, Chart(panels, 2, 10.0, 3.7))]


def joint() -> Experiment:
    """Declare the experiment `arwa/limits`."""
    cases = (*_joint_cases().values(), *_others().values())
    return Experiment(
        id="arwa/limits",
        title="both limits of an ARWA sender's window at once: the front of throughput against delay",
        source=f"{SOURCE}, section 4.3.4; the sweep is ours",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(cases),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        claims=(
            Claim(
                "arwa.limits.front",
                "the limits that the paper chose, 3000 and 10000 B, are on the front",
                _paper_on_front,
                ClaimKind.PREDICTION,
            ),
        ),
        listings=(_joint_table,),
        pictures=_joint_picture,
        notes=setup.NOTES,
    )
