"""Results for a decision: what each mechanism changes, by application and for the worst users.

The first side is the baseline. Each application of its flows has its figures: what its users experience. A
mechanism is better or worse in a figure by the rules of `airlane.runs.figure.versus`, over pairs of runs with
equal seeds. Users are compared by their rank: the worst user of a run with the worst user of its pair, who
may be another one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from airlane.runs import arrays
from airlane.runs.applications import APPLICATIONS
from airlane.runs.figures import BY_NAME, Better, Figure, Versus
from airlane.stats import Estimate
from airlane.study.compare import Comparison, Side, verdict

__all__ = ["ALL", "Cell", "Decision", "RankedUsers", "Row", "User", "answer", "decide", "ranked_users"]

Array = npt.NDArray[np.float64]

ALL = "all flows"
"""The heading of figures over all flows."""

_WORDS = {
    "web": "web pages",
    "dash": "video",
    "video": "video",
    "bulk": "downloads",
    "fixed": "transfers",
    "cbr": "constant rates",
    "on-off": "on-off traffic",
    "ping": "pings",
    "rtc": "calls",
    "xr": "XR",
}
"""What users call an application."""

_NETWORK = ("goodput_mbps", "owd_p95_ms")
"""Figures of an application without results of its own."""

_RANKED = (
    "page_s", "rebuffering_s", "bitrate_kbps", "rtt_p95_ms", "frame_p95_ms", "xr_p95_ms", "goodput_mbps",
)  # fmt: skip
"""Figures by which users are ranked; the first that an application has, and that is not 0 for all."""

_USERS_MIN = 4
"""With fewer users of an application there is no worst quarter."""


@dataclass(frozen=True)
class Cell:
    """A figure of one side.

    Attributes
    ----------
    estimate
        Its mean over the runs.
    versus
        Its difference to the baseline; `None` for the baseline.
    word
        `better`, `worse`, `more`, `less`, `same` or `open`; empty for the baseline and where no runs pair.
    """

    estimate: Estimate
    versus: Versus | None = None
    word: str = ""

    @property
    def change(self) -> str:
        """The difference as a share of the baseline, or in the figure's unit where that is 0."""
        if self.versus is None or not self.versus.difference.n:
            return ""
        if math.isfinite(self.versus.ratio):
            share = 100.0 * (self.versus.ratio - 1.0)
            return f"{share:+.0f} %" if abs(share) < 1e3 else f"× {self.versus.ratio:.3g}"
        return f"{self.versus.difference.mean:+.3g}" if self.versus.difference.mean else ""


@dataclass(frozen=True)
class Row:
    """A figure of all sides.

    Attributes
    ----------
    group
        The application.
    words
        The figure, or the rank of the users that it is about.
    figure
        Its unit, and the direction in which it is better.
    cells
        One for each side, the baseline first.
    """

    group: str
    words: str
    figure: Figure
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Decision:
    """The comparison of all sides with the baseline.

    Attributes
    ----------
    sides
        The baseline and the mechanisms.
    figures
        The matrix: a row for each application and figure.
    users
        The same for the worst user, the worst quarter, the median and the best user of each application.
    notes
        Limitations.
    """

    sides: Sequence[Side]
    figures: Sequence[Row]
    users: Sequence[Row]
    notes: Sequence[str]


def decide(sides: Sequence[Side]) -> Decision:
    """Compare all sides with the first one."""
    split = any(side.is_split for side in sides)
    rows, users = list[Row](), list[Row]()
    for words, parts in _applications(sides):
        chosen = [one for one in _figures(parts, split) if any(part.has(one) for part in parts)]
        comparison = Comparison(parts, chosen)
        rows += [_row(comparison, words, figure) for figure in chosen]
        ranked = [one for name in _RANKED for one in chosen if one.name == name and _varies(parts, one)]
        if ranked:
            users += _users(comparison, words, ranked[0])
    whole = Comparison(sides, [BY_NAME["goodput_mbps"]])
    rows.append(_row(whole, ALL, BY_NAME["goodput_mbps"]))
    return Decision(sides, rows, users, list(dict.fromkeys(whole.notes())))


def _applications(sides: Sequence[Side]) -> Iterator[tuple[str, list[Side]]]:
    """Each application of the baseline, and the sides with its flows; all flows where tables do not tell."""
    if any("app" not in side.flows.column_names for side in sides):
        yield ALL, list(sides)
        return
    apps = dict.fromkeys(str(app or "real applications") for app in sides[0].flows["app"].to_pylist())
    for app in apps:
        parts = [replace(side, flows=_of_application(side.flows, app)) for side in sides]
        if all(part.flows.num_rows for part in parts):
            yield _WORDS.get(app, app), parts


def _of_application(flows: pa.Table, app: str) -> pa.Table:
    return flows.filter(
        pa.array([str(one or "real applications") == app for one in flows["app"].to_pylist()])
    )


def _figures(parts: Sequence[Side], split: bool) -> list[Figure]:
    """What users of the application experience, or else rate and delay: of bytes, if a proxy splits them."""
    kinds = set(parts[0].flows["app"].to_pylist()) if "app" in parts[0].flows.column_names else set()
    for one in APPLICATIONS:
        if kinds & set(one.kinds):
            return [figure for figure in one.figures if "tile" in figure.views]
    names = [name.replace("owd_", "byte_delay_") if split else name for name in _NETWORK]
    return [BY_NAME[name] for name in names]


def _varies(parts: Sequence[Side], figure: Figure) -> bool:
    """Whether a flow of some side has another value than 0."""
    values = np.concatenate([arrays.numbers(p.flows[figure.name]) for p in parts if p.has(figure)])
    return bool(np.nansum(np.abs(values)) > 0.0)


def _row(comparison: Comparison, group: str, figure: Figure) -> Row:
    cells = []
    for side in comparison.sides:
        if side is comparison.base:
            cells.append(Cell(side.estimate(figure)))
            continue
        versus = comparison.versus(side, figure)
        word = verdict(versus, figure) if versus.difference.n else ""
        cells.append(Cell(side.estimate(figure), versus, word))
    return Row(group, figure.title, figure, cells)


_Rank = Callable[[Array], float]

_RANKS: Sequence[tuple[str, _Rank]] = (
    ("worst user", lambda values: float(values[0])),
    ("worst quarter, mean", lambda values: float(values[: math.ceil(values.size / 4)].mean())),
    ("median user", lambda values: float(np.median(values))),
    ("best user", lambda values: float(values[-1])),
)
"""Ranks of users, and their value in values from the worst to the best."""


def _users(comparison: Comparison, group: str, figure: Figure) -> Iterator[Row]:
    """A figure of the users at each rank; nothing for few users."""
    of_side = [dict(_by_user(side.flows, figure)) for side in comparison.sides]
    if any(not of or min(values.size for values in of.values()) < _USERS_MIN for of in of_side):
        return
    base = of_side[0]
    for words, rank in _RANKS:
        cells = [Cell(figure.estimate([rank(values) for values in base.values()]))]
        for of in of_side[1:]:
            seeds = [seed for seed in base if seed in of]
            pairs = [rank(of[seed]) for seed in seeds], [rank(base[seed]) for seed in seeds]
            versus = figure.versus(*pairs)
            estimate = figure.estimate([rank(values) for values in of.values()])
            cells.append(Cell(estimate, versus, verdict(versus, figure)))
        yield Row(group, f"{words}: {figure.title}", figure, cells)


def _by_user(flows: pa.Table, figure: Figure) -> Iterator[tuple[int, Array]]:
    """By seed, the values of the users that have one, from the worst to the best."""
    run, seed = arrays.whole(flows["run"]), arrays.whole(flows["seed"])
    for one in np.unique(run):
        values = _of_users(flows.filter(run == one), figure)
        known = np.sort(np.array(list(values.values())))
        yield int(seed[run == one][0]), known if figure.better is Better.MORE else known[::-1]


def _of_users(flows: pa.Table, figure: Figure) -> dict[str, float]:
    """The figure of each user of one run that has a value, from all flows of that user."""
    names = flows["ue" if "ue" in flows.column_names else "flow"].to_pylist()
    user = np.asarray([str(name) for name in names])
    columns = {name: arrays.numbers(flows[name]) for name in figure.columns}
    found = {
        name_of: figure.value({name: column[user == name_of] for name, column in columns.items()})
        for name_of in dict.fromkeys(user.tolist())
    }
    return {name: value for name, value in found.items() if math.isfinite(value)}


@dataclass(frozen=True)
class User:
    """A user in a run: name, and its figure in words."""

    name: str
    words: str


@dataclass(frozen=True)
class RankedUsers:
    """The users of an application in one run, the worst first."""

    words: str
    users: Sequence[User]


def ranked_users(side: Side, seed: int) -> list[RankedUsers]:
    """The users of each application in the run with this seed, ranked by the figure of `Decision.users`."""
    one = replace(side, flows=side.flows.filter(arrays.whole(side.flows["seed"]) == seed))
    found = []
    for words, (part,) in _applications([one]):
        figures = _figures([part], split=side.is_split)
        ranked = [f for name in _RANKED for f in figures if f.name == name and part.has(f)]
        chosen = [f for f in ranked if _varies([part], f)]
        if chosen and "ue" in part.flows.column_names:
            values = _of_users(part.flows, chosen[0])
            order = sorted(values, key=lambda name: values[name], reverse=chosen[0].better is Better.LESS)
            named = [User(name, f"{name}: {values[name]:.3g} {chosen[0].unit}, {words}") for name in order]
            found.append(RankedUsers(words, named))
    return found


def answer(decision: Decision) -> list[str]:
    """Sentences on the matrix: one for all mechanisms, and one for each, the best first."""
    tallies = [_tally(decision, i) for i in range(1, len(decision.sides))]
    total = len(decision.figures)
    clean = [one for one in tallies if one.better and not one.worse]
    if clean:
        best = max(clean, key=lambda one: len(one.better))
        first = f"{best.name} improves {len(best.better)} of {total} figures and worsens none" + (
            f"; {best.open} {'is' if best.open == 1 else 'are'} open." if best.open else "."
        )
    elif any(one.better for one in tallies):
        first = "No mechanism improves a figure without making another one worse."
    else:
        first = f"No mechanism improves a figure against {decision.sides[0].name}."
    ordered = sorted(tallies, key=lambda one: len(one.worse) - len(one.better))
    return [first, *(one.sentence() for one in ordered)]


@dataclass(frozen=True)
class _Tally:
    """The figures of one mechanism by their verdict, each with its change."""

    name: str
    better: Sequence[str]
    worse: Sequence[str]
    same: int
    open: int

    def sentence(self) -> str:
        parts = [
            f"{word}: {', '.join(of)}" for word, of in (("better", self.better), ("worse", self.worse)) if of
        ]
        parts += [
            f"{count} {word}" for count, word in ((self.same, "the same"), (self.open, "open")) if count
        ]
        return f"{self.name}: {'; '.join(parts) or 'nothing to compare'}."


def _tally(decision: Decision, side: int) -> _Tally:
    def named(word: str) -> list[str]:
        found = [(row, row.cells[side]) for row in decision.figures if row.cells[side].word == word]
        return [f"{row.words} of {row.group} {cell.change}".strip() for row, cell in found]

    words = [row.cells[side].word for row in decision.figures]
    name = decision.sides[side].name
    return _Tally(name, named("better"), named("worse"), words.count("same"), words.count("open"))
