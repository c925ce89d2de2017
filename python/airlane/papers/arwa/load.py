"""Queue sizes and background traffic: Tables 2 and 5 of the paper `arwa`, reproduced."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from airlane import examples
from airlane.experiments import Claim, Draw, Experiment, Finding, Listing, Number, Picture
from airlane.pages.chart import Axis, Chart, Panel, means, named
from airlane.papers.arwa import setup
from airlane.papers.arwa.measures import FIGURES, above, at, gain, row
from airlane.papers.arwa.schemes import SOURCE
from airlane.papers.arwa.setup import PAPER, PRESETS, TODAY, USERS, WORDS, Case
from airlane.papers.common import between, decide, mean
from airlane.plot import COLOURS
from airlane.plural import counted

__all__ = ["table2", "table5"]

QUEUES_B = (10_240, 20_480, 30_720, 40_960, 51_200)
"""Queues of a user (section 4.3.2)."""

_USERS = (40, 80)

_TCP = ("autotuning", "arwa")
"""Possible meanings of "TCP" where the paper does not say: the conventional one, or its own."""


def _queue(scheme: str, users: int, queue_b: int, preset: str) -> Case:
    return Case(scheme, users, preset, queue_b=queue_b)


_SATURATED_PCT = 2.0
"""A step of the queue that changes throughput by less than this counts as "almost constant"."""


def _rises(scheme: str, users: int, preset: str) -> Claim:
    def check(draws: Sequence[Draw]) -> Finding:
        cases = [_queue(scheme, users, queue, preset) for queue in QUEUES_B]
        first, last = cases[0], cases[-1]
        parts = [
            above(draws, f"{name} with {QUEUES_B[-1]} B, {word} by", high, low, name)
            for name, word, high, low in (
                ("delay", "more", last, first),
                ("throughput", "more", last, first),
                ("pdf", "less", first, last),
                ("fairness", "less", first, last),
            )
        ]
        last_step = gain(last, cases[-2], "throughput")
        parts.append(
            between(draws, "gain of the last step", last_step, -_SATURATED_PCT, _SATURATED_PCT, " %")
        )
        return decide(parts)

    return Claim(
        f"arwa.orderings.queue_size_vs_perf.{scheme}.{users}.{preset}",
        f"with the queue, delay and throughput rise, PDF and fairness fall, and throughput is constant in "
        f"the end ({WORDS[scheme]}, {users} users, {preset})",
        check,
        setup.whose(preset),
    )


def _queue_table(preset: str, scheme: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        rows = [
            (f"{users}, {queue}", *row(draws, _queue(scheme, users, queue, preset)))
            for users, queue in itertools.product(_USERS, QUEUES_B)
        ]
        return Listing(
            f"Table 2 reproduced: {WORDS[scheme]}, {preset}",
            ("users, queue in bytes", *FIGURES.values()),
            rows,
        )

    return listing


def _queue_picture(draws: Sequence[Draw]) -> list[Picture]:
    kib = [queue / 1024 for queue in QUEUES_B]
    panels = []
    for name in ("throughput", "delay"):
        lines = []
        for i, (scheme, users) in enumerate(itertools.product(_TCP, _USERS)):
            points = [mean(draws, at(_queue(scheme, users, queue, PAPER), name)) for queue in QUEUES_B]
            label = f"{WORDS[scheme]}, {users} users"
            lines.append(means(kib, points, series=label, colour=COLOURS[i], marker="osv^"[i]))
        title, _, unit = FIGURES[name].partition(", ")
        panels.append(Panel(lines, title, Axis(label="queue of a user in KiB"), Axis(label=unit, low=0.0)))
    caption = f"{PAPER}; mean of {counted(len(draws), 'run')} and 95 % interval."
    return [Picture("Over the queue", caption, Chart(panels, 2, 10.0, 3.4))]


def table2() -> Experiment:
    """Declare the experiment `arwa/table2`."""
    points = list(itertools.product(_TCP, _USERS, PRESETS))
    cases = [_queue(scheme, users, queue, preset) for scheme, users, preset in points for queue in QUEUES_B]
    return Experiment(
        id="arwa/table2",
        title="the size of a user's queue",
        source=f"{SOURCE}, section 4.3.2, Table 2",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(cases),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        numbers=(Number("arwa.table2", "our table stands below", at(cases[0], "throughput")),),
        claims=tuple(_rises(*point) for point in points),
        listings=tuple(_queue_table(preset, scheme) for preset in PRESETS for scheme in _TCP),
        pictures=_queue_picture,
        notes=('"TCP" is conventional TCP; ARWA is compared with it.', *setup.NOTES),
    )


def _mixed(scheme: str, users: int, preset: str) -> Case:
    return Case(scheme, users, preset, video=True)


def _over_users(scheme: str, preset: str) -> tuple[Claim, ...]:
    """Statements of section 4.3.5 over the number of users."""
    cases = {users: _mixed(scheme, users, preset) for users in USERS}
    words = f"({WORDS[scheme]}, {preset})"
    kind = setup.whose(preset)

    def climb(figure: str, steps: Sequence[tuple[int, int]], *, down: bool = False) -> Callable[..., Finding]:
        def check(draws: Sequence[Draw]) -> Finding:
            parts = []
            for few, many in steps:
                one, other = (few, many) if down else (many, few)
                text = f"{figure} at {one} − at {other} users"
                parts.append(above(draws, text, cases[one], cases[other], figure))
            return decide(parts)

        return check

    def turns(draws: Sequence[Draw]) -> Finding:
        up, down = (cases[80], cases[20]), (cases[80], cases[100])
        parts = [
            above(draws, text, high, low, "throughput")
            for text, (high, low) in (("throughput at 80 − at 20 users", up), ("at 80 − at 100", down))
        ]
        return decide(parts)

    steps = list(itertools.pairwise(USERS))
    head = f"{scheme}.{preset}"
    return (
        Claim(
            f"arwa.orderings.users_vs_throughput.{head}",
            f"throughput rises from 20 to 80 users and falls from 80 to 100 {words}",
            turns,
            kind,
        ),
        Claim(
            f"arwa.table5.delay.{head}", f"delay rises with the users {words}", climb("delay", steps), kind
        ),
        Claim(
            f"arwa.table5.pdf.{head}",
            f"PDF falls with the users {words}",
            climb("pdf", [(20, 100)], down=True),
            kind,
        ),
        Claim(
            f"arwa.table5.fairness.{head}",
            f"fairness is lower with 20 than with 60 to 100 users {words}",
            climb("fairness", [(20, 60), (20, 80), (20, 100)]),
            kind,
        ),
    )


def _mixed_table(preset: str) -> Callable[[Sequence[Draw]], Listing]:
    def listing(draws: Sequence[Draw]) -> Listing:
        rows = []
        for scheme, users in itertools.product(_TCP, USERS):
            case = _mixed(scheme, users, preset)
            halves = (row(draws, case, kind)[i] for kind in ("tcp", "udp") for i in (0, 1))
            rows.append((f"{users}, {WORDS[scheme]}", *row(draws, case), *halves))
        return Listing(
            f"Table 5 reproduced: {preset}",
            (
                "users, TCP",
                *FIGURES.values(),
                "TCP, Mbit/s",
                "TCP delay, ms",
                "UDP, Mbit/s",
                "UDP delay, ms",
            ),
            rows,
        )

    return listing


def _mixed_pictures(draws: Sequence[Draw]) -> list[Picture]:
    panels = []
    for name in ("throughput", "delay"):
        lines = []
        for i, (scheme, preset) in enumerate(itertools.product(_TCP, PRESETS)):
            points = [mean(draws, at(_mixed(scheme, users, preset), name)) for users in USERS]
            label = f"{WORDS[scheme]}, {preset}"
            lines.append(means(USERS, points, series=label, colour=COLOURS[i], marker="osv^"[i]))
        title, _, unit = FIGURES[name].partition(", ")
        x = named(USERS, "users, half of them with UDP")
        panels.append(Panel(lines, title, x, Axis(label=unit, low=0.0)))
    caption = f"Mean of {counted(len(draws), 'run')} and 95 % interval."
    return [Picture("As Fig. 5", caption, Chart(panels, 2, 10.0, 3.4))]


def table5() -> Experiment:
    """Declare the experiment `arwa/table5`."""
    points = list(itertools.product(_TCP, PRESETS))
    cases = [_mixed(scheme, users, preset) for scheme, preset in points for users in USERS]
    return Experiment(
        id="arwa/table5",
        title="20 to 100 users, half of them with video over UDP",
        source=f"{SOURCE}, section 4.3.5, Table 5 and Fig. 5",
        scenario=examples.path("arwa-cell"),
        grid=setup.grid(cases),
        runs=10,
        quick_runs=2,
        quick=setup.QUICK,
        numbers=(Number("arwa.table5", "our table stands below", at(cases[0], "throughput")),),
        claims=tuple(claim for point in points for claim in _over_users(*point)),
        listings=(_mixed_table(PAPER), _mixed_table(TODAY)),
        pictures=_mixed_pictures,
        notes=(
            "The rate of the video is open: 512 kbit/s. Which TCP the other half has is open too: both.",
            *setup.NOTES,
        ),
    )
