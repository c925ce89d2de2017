"""Verdicts and claims on a terminal: the views of experiments and papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from airlane.commands import terminal
from airlane.experiments import ClaimKind, Number, NumberKind, Outcome
from airlane.study import reproduction
from airlane.study.reproduction import Failed
from airlane.study.verdict import Verdict

__all__ = [
    "VERDICT_STYLE",
    "claims_text",
    "constants_text",
    "outcome_line",
    "outcome_view",
    "papers_view",
    "published_text",
    "restated",
    "verdict_word",
]

VERDICT_STYLE = {
    Verdict.MATCH: "bold green",
    Verdict.DIRECTION: "yellow",
    Verdict.MISS: "bold red",
    Verdict.UNDECIDED: "magenta",
    Verdict.IMPOSSIBLE: "bold cyan",
    Verdict.LOST: "dim",
}


def outcome_view(outcome: Outcome) -> Group:
    """All results of an experiment, for a terminal."""
    experiment = outcome.experiment
    parts: list[Table | Text | Padding] = [
        Text(f"\n{experiment.id}", style="bold"),
        Text(f"{experiment.title}\n{experiment.source}"),
    ]
    if experiment.setup:
        given = ", ".join(f"{name} = {value}" for name, value in experiment.setup.items())
        parts.append(Text(f"setup from the publication, not scored: {given}", style="dim"))
    if outcome.numbers:
        parts += [_numbers_table(outcome), *_readings_table(outcome)]
    parts += [_claims_table(outcome)] if outcome.claims else []
    for listing in outcome.listings:
        table = terminal.titled(listing.title, listing.note)
        for i, column in enumerate(listing.columns):
            table.add_column(column, justify="left" if i == 0 else "right")
        for row in listing.rows:
            table.add_row(*row)
        parts.append(table)
    parts += [Text(f"• {note}") for note in experiment.notes]
    parts.append(
        Text(
            f"{outcome.runs_done} runs now, {outcome.runs_cached} from the cache; "
            f"{outcome.simulated_s:,.0f} simulated s; {outcome.wall_s:.1f} s",
            style="dim",
        )
    )
    return Group(*parts)


def outcome_line(outcome: Outcome, place: int, of: int) -> str:
    """The result of an experiment as a line of a list."""
    results = Counter(row.judgement.verdict for row in outcome.numbers if row.number.kind is _RESULT)
    parts = [_counts({str(verdict): results[verdict] for verdict in Verdict})]
    constants = constants_text([outcome])
    parts += [f"constants: {constants}"] if constants else []
    holds = reproduction.claims([outcome])
    claims = _counts({word: holds[each] for each, word in _HOLDS.items()})
    parts += [f"claims: {claims}"] if claims else []
    return f"{place:2}/{of} {outcome.experiment.id}: {'; '.join(p for p in parts if p) or 'figures'}"


_RESULT = NumberKind.RESULT

_HOLDS = {True: "hold", False: "do not", None: "open"}

_KINDS = {
    ClaimKind.PAPER: "claims of the papers",
    ClaimKind.READING: "the same claims in other interpretations",
    ClaimKind.PREDICTION: "our predictions",
}


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {word}" for word, count in counts.items() if count)


def constants_text(outcomes: Sequence[Outcome]) -> str:
    """Number of table constants that are equal, not equal and impossible; empty where there are none."""
    counts = sum(reproduction.constants(outcomes).values(), Counter[Verdict]())
    return _counts({verdict_word(NumberKind.CONSTANT, verdict): counts[verdict] for verdict in Verdict})


def claims_text(outcomes: Sequence[Outcome]) -> list[str]:
    """Number of claims of each kind that hold, do not hold, and are open."""
    lines = []
    for kind, words in _KINDS.items():
        holds = reproduction.claims(outcomes, kind)
        if holds:
            lines.append(f"{words}: " + ", ".join(f"{holds[e]} {word}" for e, word in _HOLDS.items()))
    return lines


def verdict_word(kind: NumberKind, verdict: Verdict) -> str:
    """Name a verdict: a constant is equal or not."""
    if kind is NumberKind.CONSTANT:
        return {Verdict.MATCH: "equal", Verdict.MISS: "not equal"}.get(verdict, str(verdict))
    return str(verdict)


def papers_view(outcomes: Sequence[Outcome], failed: Sequence[Failed] = (), *, quick: bool = False) -> Group:
    """Verdicts on the published numbers of each paper, and the experiments that failed."""
    verdicts, fitted = reproduction.numbers(outcomes), reproduction.fitted(outcomes)
    total = sum(verdicts.values(), Counter[Verdict]())
    table = terminal.titled("published numbers" + (", quick form" if quick else ""))
    table.padding = (0, 1, 0, 0)  # fits into 80 columns
    table.add_column("paper")
    for heading in ("numbers", *Verdict):
        table.add_column(str(heading), justify="right")
    for paper, tally in verdicts.items():
        table.add_row(paper, *_tallied(tally))
    if len(verdicts) > 1:
        table.add_section()
        table.add_row("all", *_tallied(total))
    parts: list[Table | Text] = [Text(), table, *(Text(line, style="dim") for line in _WORDS)]
    if fitted:
        by = ", ".join(f"{paper} {count}" for paper, count in fitted.items())
        parts.append(Text(f"fitted (a setting was chosen to match a published result): {by}"))
    constants = constants_text(outcomes)
    parts += [Text(f"constants of tables: {constants}")] if constants else []
    parts += map(Text, claims_text(outcomes))
    if quick:
        parts += map(Text, _QUICK)
    if failed:
        names = ", ".join(one.id for one in failed)
        parts.append(Text(f"failed, see above: {names}", style="bold red"))
    return Group(*parts)


_WORDS = (
    "direction: further than 10 % from the published value, but with its sign,",
    "and half to twice its size.",
    "undecided, open: our interval is too wide to decide.",
)
"""The verdicts that their names do not explain."""

_QUICK = (
    "Quick form: fewer runs, some of them shorter.",
    "The full form may settle undecided and open results.",
)


def _tallied(tally: Counter[Verdict]) -> list[str]:
    return [str(count or "") for count in (tally.total(), *(tally[verdict] for verdict in Verdict))]


def _numbers_table(outcome: Outcome) -> Table:
    table = terminal.titled("published numbers")
    table.add_column("number", max_width=42, overflow="fold")
    table.add_column("published", justify="right", no_wrap=True)
    table.add_column("ours (95 %)", justify="right", no_wrap=True)
    table.add_column("n", justify="right")
    table.add_column("verdict", no_wrap=True)
    table.add_column("note", ratio=1)
    for row in outcome.numbers:
        notes = [row.judgement.why, row.number.note, restated(row.number)]
        if row.number.fitted:
            notes.insert(0, f"fitted: {row.number.fitted}")
        short = row.number.id.split(".", 2)[-1]
        table.add_row(
            Text.assemble(short, "\n", (row.number.label, "dim")),
            published_text(row.published.value, row.published.ci, row.published.range, row.number.relation),
            terminal.interval(row.ours),
            str(row.ours.n),
            Text.assemble(
                (
                    verdict_word(row.number.kind, row.judgement.verdict),
                    VERDICT_STYLE[row.judgement.verdict],
                ),
                ("\nfitted" if row.number.fitted else "", "dim"),
            ),
            "; ".join(n for n in notes if n),
        )
    return table


def restated(number: Number) -> str:
    """Why a number is not counted; empty where it is counted."""
    return f"not counted again: it follows from {number.restates}" if number.restates else ""


def published_text(
    value: float | None, ci: float | None, span: tuple[float, float] | None, relation: str
) -> str:
    """Format the published side of a row."""
    if span is not None:
        return f"{span[0]:g} – {span[1]:g}"
    if value is None:
        return "lost"
    sign = "" if relation == "=" else f"{relation} "
    return f"{sign}{value:g}" + (f" ± {ci:g}" if ci is not None else "")


def _readings_table(outcome: Outcome) -> list[Table]:
    rows = [(row, reading) for row in outcome.numbers for reading in row.readings]
    if not rows:
        return []
    table = terminal.titled("other interpretations of details that the publication leaves open")
    table.add_column("number", max_width=42, overflow="fold")
    table.add_column("reading", ratio=1)
    table.add_column("ours (95 %)", justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    last = ""
    for row, (text, estimate, judgement) in rows:
        name = row.number.id.split(".", 2)[-1]
        style = VERDICT_STYLE[judgement.verdict]
        changed = "" if judgement.verdict is row.judgement.verdict else " (changes)"
        table.add_row(
            name if name != last else "",
            text,
            terminal.interval(estimate),
            Text(f"{judgement.verdict}{changed}", style=style),
        )
        last = name
    return [table]


def _claims_table(outcome: Outcome) -> Table:
    table = terminal.titled("claims")
    table.add_column("claim", ratio=2)
    table.add_column("holds", no_wrap=True)
    table.add_column("evidence", ratio=3)
    for row in outcome.claims:
        word, style = {True: ("yes", "bold green"), False: ("no", "bold red"), None: ("open", "magenta")}[
            row.finding.holds
        ]
        whose = "" if row.claim.kind is ClaimKind.PAPER else f"\n({row.claim.kind})"
        table.add_row(
            Text.assemble(row.claim.text, (whose, "dim")), Text(word, style=style), row.finding.evidence
        )
    return table
