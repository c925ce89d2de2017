"""What comes of the arena as a page of the manual: scorecards, who is first where, and the figures."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from airlane import stats
from airlane.arena.conduct import FIGURES, Figure, Result
from airlane.arena.contenders import BASELINE
from airlane.arena.situations import SITUATIONS, Situation
from airlane.arena.view import CRITERIA, judged, main_figure, multiple, ranked, scorecard

__all__ = ["markdown"]

_MARKUP = re.compile(r"[\\`*_\[\]<>|~&#$]")
"""What begins markup in GitHub's Markdown; a backslash before it makes it text (CommonMark 0.31, 2.4)."""

_BY_NAME = {figure.name: figure for figure in FIGURES}

_SIGNS = {"better": "+", "same": "=", "worse": "−"}
"""Of the scorecards; beside CUBIC they have words."""

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
)
"""What is shown with its interval: situations and figures."""

_FIRST = (
    "Mean and 95 % interval over the runs. *Cannot be told* from the first: the interval of the paired"
    " difference holds zero. The first of many is so partly by luck, and who is level with it may be as good."
)

_CARDS = (
    "In how many of the situations that bear on a criterion of"
    " [RFC 9743](https://www.rfc-editor.org/rfc/rfc9743) a contender is better than CUBIC (+), cannot be told"
    " from it (=), or is worse (−); beside CUBIC its share is in words."
)

_MULTIPLES = (
    "Each situation by its own figure; beside CUBIC, the share. **Bold** is what can be told from CUBIC; all"
    " else is within its interval, or fair. A contender without a number has no form for the situation."
)

_COLUMNS = 7
"""Situations in one table of multiples."""


def markdown(result: Result) -> str:
    """The whole of it."""
    runs = " or ".join(map(str, result.runs()))
    head = (
        f"Written by `airlane arena --markdown`: {len(result.contenders)} contenders in"
        f" {len(result.situations)} situations, {runs} runs of each on the same seeds,"
        f" {result.simulated_s:,.0f} simulated seconds."
    )
    parts = [
        "# The arena's tables",
        head,
        *_first(result),
        *_scorecards(result),
        *_multiples(result),
        *_trades(result),
    ]
    return "\n\n".join(parts) + "\n"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]], right: int = 1) -> str:
    """A table whose columns from `right` on stand to the right."""
    rules = ["---" if i < right else "--:" for i in range(len(headings))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (headings, rules, *rows))


def _told(estimate: stats.Estimate) -> str:
    if estimate.n == 0:
        return "–"
    if estimate.half_width is None:
        return f"{estimate.mean:.4g}"
    alike = estimate.half_width < 1e-9 * abs(estimate.mean)  # but for rounding
    return f"{estimate.mean:.4g} ± {0.0 if alike else estimate.half_width:.2g}"


def _first(result: Result) -> list[str]:
    """Who is first in each situation, and who cannot be told from it."""
    rows = []
    shares = []
    for situation in result.situations:
        figure = main_figure(situation)
        if figure.more_is_better is None:
            shares.append(situation)
            continue
        order = [one.name for one in ranked(result, situation) if _has(result, situation, one.name, figure)]
        first, others = order[0], order[1:]
        level = [name for name in others if not _apart(result, situation, name, first, figure)]
        base = result.cells[situation.name, BASELINE].estimate(figure.name)
        rows.append(
            [
                _plain(situation.title),
                figure.title,
                _told(base),
                f"{_plain(first)} {_told(result.cells[situation.name, first].estimate(figure.name))}"
                f"{_price(result, situation, first)}",
                ", ".join(map(_plain, level)) or "nobody",
                f"{_plain(order[-1])} {_told(result.cells[situation.name, order[-1]].estimate(figure.name))}",
            ]
        )
    headings = ("situation", "figure", "CUBIC", "first", "cannot be told from the first", "last")
    parts = [
        "## Who is first",
        _FIRST,
        _table(headings, rows, len(headings)),
    ]
    if shares:
        parts += [
            "Beside CUBIC, the rate of a tested flow over that of the CUBIC flow:",
            _shares(result, shares),
        ]
    return parts


def _price(result: Result, situation: Situation, contender: str) -> str:
    """What a contender that is first by another figure gives up in goodput."""
    rate = _BY_NAME["goodput_mbps"]
    if main_figure(situation) == rate or judged(result, situation, contender, rate.name) != "worse":
        return ""
    return f", at {result.against_baseline(situation.name, contender, rate.name)[1]:.2f}× CUBIC's goodput"


def _has(result: Result, situation: Situation, contender: str, figure: Figure) -> bool:
    return figure.name in result.cells[situation.name, contender].values


def _apart(result: Result, situation: Situation, one: str, other: str, figure: Figure) -> bool:
    difference = result.against(situation.name, one, other, figure.name)
    return difference.low > 0.0 or difference.high < 0.0


def _plain(text: str) -> str:
    """A name or a title, which may be a user's, so that Markdown and HTML take it for text."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split()))


def _code(name: str) -> str:
    """A name as code; where it has what code in a table cannot hold, as text."""
    return f"`{name}`" if name == _plain(name) else _plain(name)


def _shares(result: Result, situations: Sequence[Situation]) -> str:
    rows = []
    for situation in situations:
        figure = main_figure(situation)
        words: dict[str, list[str]] = {}
        for one in ranked(result, situation):
            if word := judged(result, situation, one.name):
                told = result.cells[situation.name, one.name].estimate(figure.name)
                words.setdefault(word, []).append(f"{_plain(one.name)} {told.mean:.2f}")
        rows.append(
            [
                _plain(situation.title),
                *(", ".join(words.get(w, [])) for w in ("yields", "fair", "open", "takes")),
            ]
        )
    return _table(("situation", "yields", "fair", "open", "takes"), rows, 5)


def _scorecards(result: Result) -> list[str]:
    """A line per contender, a column per criterion of RFC 9743 in its order."""
    here = [section for section, *_ in scorecard(result, BASELINE)]
    bearing = [
        [
            section,
            CRITERIA[section],
            "; ".join(
                f"{_plain(one.title)} ({_BY_NAME[one.criteria[section]].short})"
                for one in result.situations
                if section in one.criteria
            ),
        ]
        for section in here
    ]
    rows = []
    for one in result.contenders:
        if one.name == BASELINE:
            continue
        card = {section: words for section, _, words in scorecard(result, one.name)}
        rows.append([_code(one.name), *(_signs(card[section]) for section in here)])
    return [
        "## Scorecards",
        _CARDS,
        _table(("contender", *here), rows),
        _table(("section", "criterion", "situations, and by which figure"), bearing, 3),
    ]


def _signs(words: Counter[str]) -> str:
    signs = [f"{words[word]}{sign}" for word, sign in _SIGNS.items() if words[word]]
    shares = [
        word if words[word] == 1 else f"{words[word]} {word}"
        for word in ("fair", "takes", "yields", "open")
        if words[word]
    ]
    return " ".join([*signs, *shares]) or "–"


def _multiples(result: Result) -> list[str]:
    """Each situation's own figure as a multiple of CUBIC's."""
    parts = [
        "## Multiples of CUBIC",
        _MULTIPLES,
    ]
    for begin in range(0, len(result.situations), _COLUMNS):
        situations = result.situations[begin : begin + _COLUMNS]
        headings = ["contender", *(f"{_plain(one.title)}: {main_figure(one).short}" for one in situations)]
        rows = [
            [_code(one.name), *(_multiple(result, situation, one.name) for situation in situations)]
            for one in result.contenders
            if one.name != BASELINE
        ]
        parts.append(_table(headings, rows))
    return parts


def _multiple(result: Result, situation: Situation, contender: str) -> str:
    word = judged(result, situation, contender)
    if not word:
        return "–"
    told = f"{multiple(result, situation, contender):.2f}×"
    return told if word in ("same", "open", "fair") else f"**{told}**"


def _trades(result: Result) -> list[str]:
    """What is gained and what it costs, with intervals."""
    here = [one.name for one in result.situations]
    shown = [(situation, figure) for situation, figure in _TRADES if situation in here]
    if not shown:
        return []
    titles = {one.name: one.title for one in SITUATIONS}
    headings = [
        "contender",
        *(f"{_plain(titles[situation])}: {_BY_NAME[figure].title}" for situation, figure in shown),
    ]
    rows = [
        [
            _code(one.name),
            *(_told(result.cells[situation, one.name].estimate(figure)) for situation, figure in shown),
        ]
        for one in result.contenders
    ]
    return ["## What is gained, and what it costs", _table(headings, rows)]
