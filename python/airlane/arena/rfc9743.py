"""The criteria of RFC 9743 as measured numbers with bars, and what the arena does not decide.

RFC 9743 (March 2025) asks the community to consider criteria and states no thresholds (section 5). The bars
are choices of this project. Those relative to CUBIC follow section 5.2: no more harm than a standards-track
algorithm. Sections and words are those of ietf-wg-ccwg/rfc5033bis edbe64b, the source of the RFC.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from airlane import stats
from airlane.arena.conduct import Result
from airlane.pages.markdown import code, plain, table
from airlane.runs.figures import BY_NAME, Better

__all__ = [
    "COLUMNS",
    "CRITERIA",
    "NOT_DECIDED",
    "Criterion",
    "Decision",
    "bar",
    "bars",
    "criteria_of",
    "decide",
    "markdown",
    "not_decided",
    "rows",
]

_KEPT, _EXCESS = 0.9, 1.1
"""A tenth less goodput or more delay than CUBIC (choice)."""

_LOSS_PERCENT = 1.0
"""The share of lost packets that is excessive (choice); CUBIC loses less in each of these situations."""

_FACTOR = 2.0
"""RFC 5348 section 1: reasonably fair is a rate within a factor of two of that of a TCP flow (unverified)."""

_STARVED = 10.0
"""A flow with a tenth of the rate of its rival is starved (choice)."""


@dataclass(frozen=True)
class Criterion:
    """A criterion in a situation.

    Attributes
    ----------
    section
        Of RFC 9743.
    situation, figure
        Names in the arena.
    least, most
        The bar: limits of the figure.
    relative
        Whether the limits are multiples of the baseline's figure in the same runs.
    """

    section: str
    situation: str
    figure: str
    least: float = -math.inf
    most: float = math.inf
    relative: bool = False


def _over_cubic(section: str, situation: str, figure: str) -> Criterion:
    """No worse than the baseline by more than a tenth."""
    if BY_NAME[figure].better is Better.MORE:
        return Criterion(section, situation, figure, least=_KEPT, relative=True)
    return Criterion(section, situation, figure, most=_EXCESS, relative=True)


CRITERIA = (
    _over_cubic("5.1.1", "users-100", "goodput_mbps"),
    _over_cubic("5.1.2", "one-user", "owd_p95_ms"),
    _over_cubic("5.1.2", "users-20", "owd_p95_ms"),
    Criterion("5.1.3", "wired-bottleneck", "lost_percent", most=_LOSS_PERCENT),
    Criterion("5.1.3", "users-20", "lost_percent", most=_LOSS_PERCENT),
    _over_cubic("5.1.4", "users-20", "jain"),
    _over_cubic("5.1.5", "short-flows", "fct_s"),
    _over_cubic("5.1.5", "web", "page_s"),
    Criterion("5.2", "beside-cubic", "share", least=1.0 / _STARVED, most=_STARVED),
    Criterion("5.2", "beside-cubic-wired", "share", least=1.0 / _STARVED, most=_STARVED),
    Criterion("5.2.1", "beside-cubic", "share", least=1.0 / _FACTOR, most=_FACTOR),
    Criterion("5.2.1", "beside-cubic-wired", "share", least=1.0 / _FACTOR, most=_FACTOR),
    _over_cubic("5.2.2", "beside-voice", "owd_p95_ms"),
    _over_cubic("5.2.3", "short-beside-long", "fct_s"),
    _over_cubic("5.2.3", "video", "stalled_s"),
    _over_cubic("6.1", "wired-bottleneck", "owd_p95_ms"),
    _over_cubic("6.3", "wired-bottleneck", "goodput_mbps"),
    _over_cubic("6.4", "rtt-20", "goodput_mbps"),
    _over_cubic("6.4", "random-loss", "goodput_mbps"),
    _over_cubic("6.4", "uplink", "goodput_mbps"),
    _over_cubic("7.3", "cell-edge", "goodput_mbps"),
    _over_cubic("7.5", "rtt-200", "goodput_mbps"),
    _over_cubic("7.8", "load-jump", "owd_p95_ms"),
    _over_cubic("7.8", "capacity-jump", "goodput_mbps"),
    _over_cubic("7.9", "path-change", "owd_p95_ms"),
    _over_cubic("7.9", "handover-seamless", "goodput_mbps"),
)
"""Those that the situations of the arena decide, in the order of the sections."""

NOT_DECIDED = (
    ("5.1.1", "full backoff", "no situation loses almost every packet for a long time"),
    (
        "5.2",
        "loss of all feedback",
        "unit tests of TCP and QUIC have timeouts; the arena has no such situation",
    ),
    ("5.3.1", "congestion control principles", "a question to the text of a specification"),
    ("5.3.2", "incremental deployment", "a question to the text of a specification"),
    ("6.2", "tunnels", "marks pass GTP-U here as they are; other tunnels are not simulated"),
    (
        "7.1",
        "active queue management",
        "[L4S](l4s.md) has experiments with marks; the set `l4s` is not recorded",
    ),
    ("7.2", "circuit breakers", "no circuit breaker is simulated"),
    ("7.4", "constrained nodes", "links of a few kbit/s, memory and processing are not measured"),
    ("7.6", "misbehaving nodes", "all nodes follow their specifications"),
    ("7.7", "extreme reordering", "RLC and PDCP deliver in order; no path here reorders much"),
    ("7.10", "multipath transport", "each flow has one path"),
    ("7.11", "data centers", "no data center is simulated"),
)
"""The others: section, criterion and reason."""

_CHAPTERS = (
    ("Flows of one mechanism", ("5.1",)),
    ("Beside others", ("5.2",)),
    ("Paths and events", ("6", "7")),
)
"""The tables: title, and beginnings of their sections."""


@dataclass(frozen=True)
class Decision:
    """A figure, or its multiple of the baseline's, and `meets`, `misses` or `open`; empty without a value."""

    number: float
    word: str


def decide(result: Result, criterion: Criterion, contender: str) -> Decision:
    """Compare with the bar by the 95 % interval over the runs.

    A criterion is met if the whole interval is within the limits, and missed if all of it is beyond one.
    """
    values = result.cells[criterion.situation, contender].values.get(criterion.figure, ())
    base = result.cells[criterion.situation, result.baseline].values.get(criterion.figure, ())
    if not values or not base:
        return Decision(math.nan, "")
    figure = BY_NAME[criterion.figure]
    if not criterion.relative:
        own = figure.estimate(values)
        return Decision(own.mean, _word(own, criterion.least, criterion.most))
    if contender == result.baseline:
        return Decision(1.0, "meets")
    ratio = result.against(criterion.situation, contender, figure).ratio
    pairs = result.paired(criterion.situation, contender, figure)
    return Decision(ratio, _word_of_pairs(pairs, criterion))


def _word(own: stats.Estimate, least: float, most: float) -> str:
    if own.n == 0:
        return ""
    if own.n > 1 and own.mean == 0.0 and own.half_width is None:  # of no lost packet there is no interval
        return "meets" if least <= 0.0 <= most else "misses"
    if own.low >= least and own.high <= most:
        return "meets"
    return "misses" if own.high < least or own.low > most else "open"


def _word_of_pairs(pairs: tuple[Sequence[float], Sequence[float]], criterion: Criterion) -> str:
    """By the intervals of the paired differences to the limits."""
    own, base = (np.asarray(one, dtype=np.float64) for one in pairs)
    limits = [
        (sign, limit)
        for sign, limit in ((1.0, criterion.least), (-1.0, criterion.most))
        if math.isfinite(limit)
    ]
    words = {_word(stats.estimate(sign * (own - limit * base)), 0.0, math.inf) for sign, limit in limits}
    return next(word for word in ("misses", "open", "meets", "") if word in words)


def criteria_of(result: Result) -> list[Criterion]:
    """Those whose situations the result has."""
    names = {one.name for one in result.situations}
    return [one for one in CRITERIA if one.situation in names]


def bar(criterion: Criterion, reference: str) -> str:
    """The limits in words: `at most 1.1 × CUBIC`."""
    unit = f" × {reference}" if criterion.relative else f" {BY_NAME[criterion.figure].unit}".rstrip()
    if math.isfinite(criterion.least) and math.isfinite(criterion.most):
        return f"{criterion.least:g} to {criterion.most:g}{unit}"
    if math.isfinite(criterion.least):
        return f"at least {criterion.least:g}{unit}"
    return f"at most {criterion.most:g}{unit}"


def markdown(result: Result) -> str:
    """Counts, the numbers of each criterion, and what is not decided, under headings of their own."""
    criteria = criteria_of(result)
    decisions = {
        one.name: [decide(result, criterion, one.name) for criterion in criteria] for one in result.contenders
    }
    parts = [_counts(decisions)]
    for title, beginnings in _CHAPTERS:
        here = [i for i, one in enumerate(criteria) if one.section.startswith(beginnings)]
        if here:
            parts += [f"### {title}", _numbers(result, [criteria[i] for i in here], decisions, here)]
    return "\n\n".join(parts)


def not_decided() -> str:
    """The criteria that no result decides, in Markdown."""
    return table(("section", "criterion", "why"), [list(row) for row in NOT_DECIDED], 3)


def bars(result: Result) -> str:
    """The criteria with their situations, figures and bars, in Markdown."""
    titles = {one.name: one.title for one in result.situations}
    rows = [
        [
            one.section,
            plain(titles[one.situation]),
            BY_NAME[one.figure].full,
            bar(one, result.reference),
        ]
        for one in criteria_of(result)
    ]
    return table(("section", "situation", "figure", "bar"), rows, 4)


def _counts(decisions: dict[str, list[Decision]]) -> str:
    rows = []
    for name, found in decisions.items():
        words = Counter(one.word for one in found)
        rows.append([code(name), *(str(words[word]) for word in ("meets", "misses", "open", ""))])
    return table(("contender", "meets", "misses", "open", "no form"), rows)


def _numbers(
    result: Result, criteria: Sequence[Criterion], decisions: dict[str, list[Decision]], at: Sequence[int]
) -> str:
    titles = {one.name: one.title for one in result.situations}
    headings = [
        f"{one.section} {plain(titles[one.situation])}: {BY_NAME[one.figure].short}, "
        f"{bar(one, result.reference)}"
        for one in criteria
    ]
    rows = [[code(name), *(_shown(found[i]) for i in at)] for name, found in decisions.items()]
    return table(("contender", *headings), rows)


def _shown(decision: Decision) -> str:
    if not decision.word:
        return "–"
    number = f"{decision.number:.3g}"
    return {"meets": number, "misses": f"**{number}**", "open": f"*{number}*"}[decision.word]


COLUMNS = ("contender", "section", "situation", "figure", "bar", "number", "decision")
"""Keys of `rows`: `number` is the figure, or its multiple of the baseline's."""


def rows(result: Result) -> Iterator[dict[str, object]]:
    """One row for each contender and criterion, for a file."""
    for one in result.contenders:
        for criterion in criteria_of(result):
            decision = decide(result, criterion, one.name)
            yield {
                "contender": one.name,
                "section": criterion.section,
                "situation": criterion.situation,
                "figure": criterion.figure,
                "bar": bar(criterion, result.reference),
                "number": None if math.isnan(decision.number) else decision.number,
                "decision": decision.word,
            }
