"""Recorded results of the arena in Markdown, for the manual: ranks, scorecards, figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from airlane import stats
from airlane.arena.conduct import DELAY_FINE_MS, KEPT, PARTNER, Result
from airlane.arena.measure import MAIN
from airlane.arena.situations import Situation
from airlane.arena.view import CRITERIA, SURE, judged, main_figure, multiple, of_first, ranked, scorecard
from airlane.pages.markdown import code, plain, table
from airlane.runs.figures import BY_NAME, Better, Figure

__all__ = ["markdown"]

_SIGNS = {"better": "+", "trades": "±", "same": "=", "open": "?", "worse": "−"}
"""Signs of the scorecards; verdicts on shares are words."""

_WORDS = ("fair", "open", "takes", "yields")
"""Verdicts on shares."""

_TRADES = (
    ("one-user", "goodput_mbps"),
    ("one-user", "owd_p95_ms"),
    ("one-user", "lost_percent"),
    ("random-loss", "goodput_mbps"),
    ("users-20", "goodput_mbps"),
    ("users-20", "owd_p95_ms"),
    ("users-20", "jain"),
    ("wired-bottleneck", "owd_p95_ms"),
    ("wired-bottleneck", "lost_percent"),
    ("beside-cubic", "share"),
    ("beside-cubic-wired", "share"),
    ("beside-voice", "owd_p95_ms"),
    ("paths-lte-nr", "goodput_mbps"),
    ("paths-lte-nr", "owd_p95_ms"),
    ("paths-lte-nr", "hol_ms"),
    ("paths-fades", "fct_s"),
    ("paths-fades", "hol_ms"),
    ("paths-energy", "fct_s"),
    ("paths-energy", "joules_per_mb"),
)
"""Figures shown with their intervals: situations and figures."""

_FIRST = (
    "Mean and 95 % interval over the runs. A delay ranks only with at least "
    f"{KEPT:g} of {{base}}'s goodput, a goodput only with a delay of at most {1 / KEPT:g} times "
    f"{{base}}'s or {DELAY_FINE_MS:g} ms; contenders that are not ranked are in the last column, with "
    "their value of the other. *No significant difference from the first*: the largest paired t statistic "
    "to the first is within its 95 % range for equal contenders, or the difference is negligible (goodput "
    "2 %, delays and times 5 %)."
)

_CARDS = (
    "In how many of the situations that bear on a criterion of [RFC "
    "9743](https://www.rfc-editor.org/rfc/rfc9743) a contender is better than {base} (+), better at "
    "too high a price in goodput or delay (±), the same (=), worse (−), each by a difference that "
    "matters, or not settled (?); beside {base} its share is in words."
)

_MULTIPLES = (
    "Each situation by its own figure; beside {base}, the share. **Bold** is what is shown to differ "
    "from {base} by more than what matters; *italic* what is better at too high a price. A contender "
    "without a number has no form for the situation."
)

_BESIDE = (
    "Beside {base}, the rate of a tested flow over that of the {base} flow (geometric mean). *Fair* is "
    "a share that is shown to be within a quarter of {base}'s own in the same place, in either "
    "direction and in logarithms; *takes* and *yields* are shown to be beyond."
)

_PLANES = (
    "Goodput and 95th percentile of one-way delay, of calls the rate and the delay of the picture, each as "
    "a multiple of {base}'s in the same runs. A "
    "point that is up and to the left of another is better by both."
)

_COLUMNS = 7
"""Number of situations in one table of multiples."""


def markdown(result: Result) -> str:
    """All tables, under headings of their own."""
    runs = " or ".join(map(str, result.runs()))
    head = (
        f"{len(result.contenders)} contenders in"
        f" {len(result.situations)} situations, {runs} runs of each on the same seeds,"
        f" {result.simulated_s:,.0f} simulated seconds."
    )
    parts = [
        head,
        *_first(result),
        *_scorecards(result),
        *_multiples(result),
        *_planes(result),
        *_trades(result),
    ]
    return "\n\n".join(parts) + "\n"


def _figure_text(estimate: stats.Estimate) -> str:
    if estimate.n == 0:
        return "–"
    if estimate.half_width is None:
        return f"{estimate.mean:.4g}"
    if estimate.ends is not None:
        return f"{estimate.mean:.4g} ({estimate.low:.4g} to {estimate.high:.4g})"
    alike = estimate.half_width < 1e-9 * abs(estimate.mean)  # up to rounding
    return f"{estimate.mean:.4g} ± {0.0 if alike else estimate.half_width:.2g}"


def _first(result: Result) -> list[str]:
    """The first contender of each situation, those not significantly different, and those not ranked."""
    rows = []
    shares = []
    for situation in result.situations:
        figure = main_figure(situation)
        if figure.better is Better.NEITHER:
            shares.append(situation)
            continue
        rank = of_first(result, situation)
        rows.append(
            [
                plain(situation.title),
                figure.full + _horizon(situation),
                _mean(result, situation, result.baseline, figure),
                f"{plain(rank.first)} {_mean(result, situation, rank.first, figure)}",
                ", ".join(map(plain, rank.level)) or "none",
                f"{plain(rank.last)} {_mean(result, situation, rank.last, figure)}",
                _dear(result, situation, rank.dear),
            ]
        )
    headings = (
        "situation",
        "figure",
        result.reference,
        "first",
        "no significant difference from the first",
        "last",
        "not ranked",
    )
    parts = [
        "## First in each situation",
        _FIRST.format(base=result.reference),
        table(headings, rows, len(headings)),
    ]
    if shares:
        parts += [
            _BESIDE.format(base=result.reference),
            _shares(result, shares),
        ]
    return parts


def _horizon(situation: Situation) -> str:
    """Limit up to which a time counts."""
    if situation.main not in MAIN.values() or situation.main in PARTNER:
        return ""
    return "" if situation.horizon_s is None else f", at most {situation.horizon_s:g}"


def _mean(result: Result, situation: Situation, contender: str, figure: Figure) -> str:
    cell = result.cells[situation.name, contender]
    ended = cell.ended() if figure.name == situation.main else ""
    return _figure_text(cell.estimate(figure.name)) + (f" ({ended})" if ended else "")


def _dear(result: Result, situation: Situation, prices: dict[str, float]) -> str:
    """Contenders that are not ranked, with the figure and the other axis of the plane."""
    if not prices:
        return ""
    other = BY_NAME[PARTNER[situation.main]].short
    return "; ".join(
        f"{plain(name)} {multiple(result, situation, name):.2f}×, {other} {price:.2f}×"
        for name, price in prices.items()
    )


def _has(result: Result, situation: Situation, contender: str, figure: Figure) -> bool:
    return figure.name in result.cells[situation.name, contender].values


def _shares(result: Result, situations: Sequence[Situation]) -> str:
    rows = []
    for situation in situations:
        figure = main_figure(situation)
        words: dict[str, list[str]] = {}
        for one in ranked(result, situation):
            if word := judged(result, situation, one.name):
                told = result.cells[situation.name, one.name].estimate(figure.name)
                words.setdefault(word, []).append(f"{plain(one.name)} {told.mean:.2f}")
        base = result.cells[situation.name, result.baseline].estimate(figure.name)
        rows.append(
            [
                plain(situation.title),
                f"{base.mean:.2f} ({base.low:.2f} to {base.high:.2f})",
                *(", ".join(words.get(w, [])) for w in ("yields", "fair", "open", "takes")),
            ]
        )
    return table(("situation", f"{result.reference}'s own", "yields", "fair", "open", "takes"), rows, 6)


def _planes(result: Result) -> list[str]:
    """Both axes of the plane, for each situation that has one."""
    planes = [(one, result.plane(one)) for one in result.situations if one.main != "share"]
    here = [(one, plane) for one, plane in planes if plane is not None]
    parts = ["## Rate and delay", _PLANES.format(base=result.reference)] if here else []
    for begin in range(0, len(here), _COLUMNS // 2):
        columns = [(one, figure) for one, plane in here[begin : begin + _COLUMNS // 2] for figure in plane]
        rows = [
            [code(one.name), *(_over(result, situation, one.name, figure) for situation, figure in columns)]
            for one in result.contenders
            if one.name != result.baseline
        ]
        headings = [
            f"{plain(one.title)}: over {result.reference}'s, {figure.short}" for one, figure in columns
        ]
        parts.append(table(["contender", *headings], rows))
    return parts


def _over(result: Result, situation: Situation, contender: str, figure: Figure) -> str:
    if not _has(result, situation, contender, figure):
        return "–"
    return f"{result.against(situation.name, contender, figure).ratio:.2f}×"


def _scorecards(result: Result) -> list[str]:
    """A line per contender, a column per criterion of RFC 9743 in its order."""
    here = [section for section, *_ in scorecard(result, result.baseline)]
    if not here:
        return []
    bearing = [
        [
            section,
            CRITERIA[section],
            "; ".join(
                f"{plain(one.title)} ({BY_NAME[one.criteria[section]].short})"
                for one in result.situations
                if section in one.criteria
            ),
        ]
        for section in here
    ]
    rows = []
    for one in result.contenders:
        if one.name == result.baseline:
            continue
        card = {section: words for section, _, words in scorecard(result, one.name)}
        rows.append([code(one.name), *(_signs(card[section], section == "5.2.1") for section in here)])
    return [
        "## Scorecards",
        _CARDS.format(base=result.reference),
        table(("contender", *here), rows),
        table(("section", "criterion", "situations, and by which figure"), bearing, 3),
    ]


def _signs(words: Counter[str], shares: bool) -> str:
    if shares:
        return " ".join(w if words[w] == 1 else f"{words[w]} {w}" for w in _WORDS if words[w]) or "–"
    return " ".join(f"{words[word]}{sign}" for word, sign in _SIGNS.items() if words[word]) or "–"


def _multiples(result: Result) -> list[str]:
    """Each situation's own figure as a multiple of the baseline's."""
    parts = [
        f"## Multiples of {result.reference}",
        _MULTIPLES.format(base=result.reference),
    ]
    for begin in range(0, len(result.situations), _COLUMNS):
        situations = result.situations[begin : begin + _COLUMNS]
        headings = ["contender", *(f"{plain(one.title)}: {main_figure(one).short}" for one in situations)]
        rows = [
            [code(one.name), *(_multiple(result, situation, one.name) for situation in situations)]
            for one in result.contenders
            if one.name != result.baseline
        ]
        parts.append(table(headings, rows))
    return parts


def _multiple(result: Result, situation: Situation, contender: str) -> str:
    word = judged(result, situation, contender)
    if not word:
        return "–"
    told = f"{multiple(result, situation, contender):.2f}×"
    if word == "trades":
        return f"*{told}*"
    return f"**{told}**" if word in SURE else told


def _trades(result: Result) -> list[str]:
    """Benefits and costs, with intervals."""
    here = [one.name for one in result.situations]
    shown = [(situation, figure) for situation, figure in _TRADES if situation in here]
    if not shown:
        return []
    titles = {one.name: one.title for one in result.situations}
    headings = [
        "contender",
        *(f"{plain(titles[situation])}: {BY_NAME[figure].full}" for situation, figure in shown),
    ]
    rows = [
        [
            code(one.name),
            *(
                _figure_text(result.cells[situation, one.name].estimate(figure))
                for situation, figure in shown
            ),
        ]
        for one in result.contenders
    ]
    return ["## What is gained, and what it costs", table(headings, rows)]
