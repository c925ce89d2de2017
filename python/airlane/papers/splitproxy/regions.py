"""The sentences of the paper `splitproxy` over what it leaves open: windows, links and queues.

The experiment lists which sentences hold for each combination; and for each sentence, where all others hold,
and whether it then holds too: a choice of windows and queue from all sentences but one predicts that one.

By hand (`derived`), one link gives a gain of 43 % with two users, and windows of 96 KiB give 41 % over two
links and 58 % over three, where the paper has more than 60 %; so neither is in the grid. A window below 64
KiB gives the same gains by hand as one of 64 KiB.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airlane import examples
from airlane.commands import terminal
from airlane.experiments import Claim, ClaimKind, Draw, Experiment, Finding, Listing, Measure
from airlane.papers.common import WORDS, Part, between, decide, gain_pct, mean, minus
from airlane.papers.splitproxy.measures import fairness, page_saving, page_time, throughput
from airlane.papers.splitproxy.setup import DELAYS_MS, NOTES, PATHS, READERS, SOURCE, Case, grid

__all__ = ["regions"]

WINDOWS_KIB = (64,)
"""The largest window without scaling."""

LINKS = ("series", "three")
QUEUES = {"red": "RED", "fq-codel": "FQ-CoDel"}

_NEAR, _FAR = DELAYS_MS[0], DELAYS_MS[-1]
_USERS = (2, 6, 10)
_FULL = 8


@dataclass(frozen=True)
class Setting:
    """A combination of what the paper leaves open."""

    window_kib: int
    links: str
    queue: str

    def __str__(self) -> str:
        return f"{self.window_kib} KiB, {PATHS[self.links].words}, {QUEUES[self.queue]}"

    def case(self, app: str, ftp: int, delay_ms: int, proxy: str) -> Case:
        """Downloads, or pages with this number of downloads."""
        web = {"others": READERS, "duration_s": 40, "warmup_s": 4} if app == "web" else {}
        ours = {"window_kib": self.window_kib, "path": self.links, "queue": self.queue}
        times = {} if app == "web" else {"duration_s": 22, "warmup_s": 10}
        return Case(app, ftp, delay_ms, "newreno", proxy).but(**ours, **web, **times)


SETTINGS = tuple(Setting(*one) for one in itertools.product(WINDOWS_KIB, LINKS, QUEUES))


def _gain(at: Setting, users: int, delay_ms: int = _NEAR) -> Measure:
    on, off = (at.case("ftp", users, delay_ms, p) for p in ("gateway", "none"))
    return gain_pct(throughput(on), throughput(off))


def _saving(at: Setting, background: int, delay_ms: int = _NEAR) -> Measure:
    off, on = (at.case("web", background, delay_ms, p) for p in ("none", "gateway"))
    return page_saving(off, on)


def _fairness(at: Setting) -> Measure:
    cases = [at.case("ftp", n, _NEAR, p) for n in _USERS for p in ("none", "gateway")]
    return lambda draw: min(fairness(case)(draw) for case in cases)


def _constant(at: Setting) -> Measure:
    """Saving at the longest delay over that at the shortest, without downloads."""
    near, far = (_saving(at, 0, delay) for delay in (_NEAR, _FAR))
    return lambda draw: far(draw) / near(draw) if near(draw) > 0.0 else math.nan


def _grows(at: Setting) -> Measure:
    idle, full = (page_time(at.case("web", b, _NEAR, "none")) for b in (0, _FULL))
    return minus(full, idle)


@dataclass(frozen=True)
class Sentence:
    """A sentence of section 4.2 as a region of a measure."""

    words: str
    of: Callable[[Setting], Measure]
    low: float
    high: float = math.inf
    unit: str = ""

    def part(self, draws: Sequence[Draw], at: Setting) -> Part:
        """The measure at a setting, in the region of the sentence."""
        return between(draws, self.words, self.of(at), self.low, self.high, self.unit)

    def holds_in_the_mean(self, draws: Sequence[Draw], at: Setting) -> bool:
        """Whether the mean is in the region, whatever its interval."""
        return self.low <= mean(draws, self.of(at)).mean <= self.high


SENTENCES = {
    "uncongested": Sentence("gain with 2 users above 60 %", lambda s: _gain(s, 2), 60.0, unit=" %"),
    "moderate": Sentence("gain with 6 users 2 to 17 %", lambda s: _gain(s, 6), 2.0, 17.0, " %"),
    "congested": Sentence("gain with 10 users a few per cent", lambda s: _gain(s, 10), 0.0, 10.0, " %"),
    "longer": Sentence(
        "smaller gain with 2 users at 125 ms",
        lambda s: minus(_gain(s, 2), _gain(s, 2, _FAR)),
        1.0,
        unit=" points",
    ),
    "fair": Sentence("Jain's index at least 0.96", _fairness, 0.96),
    "pages": Sentence("pages are faster", lambda s: _saving(s, 0), 0.02, unit=" s"),
    "pages_beside": Sentence(
        "pages are faster with 8 downloads", lambda s: _saving(s, _FULL), 0.02, unit=" s"
    ),
    "same": Sentence("saving within 40 % at 125 ms", _constant, 0.6, 1.4),
    "slower": Sentence("pages take longer with 8 downloads", _grows, 0.02, unit=" s"),
}
"""The sentences on Figs. 4 to 7, each with the region in which it holds."""


def _finding(draws: Sequence[Draw], at: Setting) -> Finding:
    return decide([sentence.part(draws, at) for sentence in SENTENCES.values()])


def _claim(at: Setting) -> Claim:
    return Claim(
        f"splitproxy.regions.{at.window_kib}-{at.links}-{at.queue}",
        f"all sentences hold: {at}",
        functools.partial(_finding, at=at),
        ClaimKind.READING,
    )


def _verdicts(draws: Sequence[Draw]) -> Listing:
    rows = [(str(at), *(WORDS[one.part(draws, at).holds] for one in SENTENCES.values())) for at in SETTINGS]
    return Listing(
        "Sentences that hold",
        ("windows, links, queue", *(one.words for one in SENTENCES.values())),
        rows,
        "`open`: the 95 % interval does not decide.",
    )


def _values(draws: Sequence[Draw]) -> Listing:
    rows = [
        (str(at), *(terminal.interval(one.part(draws, at).ours) for one in SENTENCES.values()))
        for at in SETTINGS
    ]
    return Listing("The measures of the sentences", ("windows, links, queue", *SENTENCES), rows)


def _predicted(draws: Sequence[Draw]) -> Listing:
    rows = []
    for name, left_out in SENTENCES.items():
        others = [one for other, one in SENTENCES.items() if other != name]
        chosen = [at for at in SETTINGS if all(one.holds_in_the_mean(draws, at) for one in others)]
        found = sum(left_out.holds_in_the_mean(draws, at) for at in chosen)
        where = "; ".join(map(str, chosen)) or "nowhere"
        rows.append((left_out.words, where, f"{found} of {len(chosen)}"))
    return Listing(
        "Each sentence, predicted from all others",
        ("sentence", "all others hold", "where it holds too"),
        rows,
        "By means, whatever their intervals.",
    )


def regions() -> Experiment:
    """Declare the experiment `splitproxy/regions`."""
    proxies = ("none", "gateway")
    cases = [
        at.case(app, count, delay, proxy)
        for at in SETTINGS
        for app, count, delay in (
            *(("ftp", n, _NEAR) for n in _USERS),
            ("ftp", 2, _FAR),
            ("web", 0, _NEAR),
            ("web", _FULL, _NEAR),
            ("web", 0, _FAR),
        )
        for proxy in proxies
    ]
    return Experiment(
        id="splitproxy/regions",
        title="the published sentences, by windows, links and queue",
        source=f"{SOURCE}, section 4.2; the sweep is ours",
        scenario=examples.path("splitproxy"),
        grid=grid(cases),
        runs=2,
        quick_runs=1,
        quick={"run.duration": "15 s", "run.series_bin": "15 s"},
        claims=tuple(_claim(at) for at in SETTINGS),
        listings=(_verdicts, _values, _predicted),
        notes=NOTES,
    )
