"""Numbers and tables of docs/results by name, for the pages of the manual.

A name of a cell is `arwa/table2: TITLE :: ROW @ COLUMN`, where ROW and COLUMN are prefixes that only one row
and one column have; a ROW over several columns is `20 :: ARWA`. `#2` after COLUMN is the second number of
the cell. A name in the arena is `arena: CONTENDER @ SITUATION: FIGURE`, with prefixes of both parts of the
heading, or `arena-nr: ...`; `arena-nr: CUBIC @ SITUATION` is CUBIC's own figure.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import bench_tables
import call_tables
import field_verdicts as verdicts

from airlane import papers
from airlane.arena import markdown as arena_markdown
from airlane.arena import record as arena_record
from airlane.arena import rfc9743 as criteria
from airlane.arena.conduct import Result
from airlane.arena.sets import SETS
from airlane.experiments import Outcome
from airlane.pages import markdown
from airlane.runs import json_files
from airlane.study import record, tables
from airlane.validation import Validation, report
from airlane.validation import record as validation_record

__all__ = [
    "FORMS",
    "RESULTS",
    "NotFoundError",
    "arena",
    "bench",
    "call_agreement",
    "controller_cost",
    "experiments",
    "field_scores",
    "field_verdicts",
    "number",
    "outcomes",
    "printed",
    "public_files",
    "recorded_validation",
    "rfc9743",
    "rows",
    "sprout",
    "validation",
]

RESULTS = Path(__file__).parent / "results"

_NUMBER = r"-?\d[\d,]*(?:\.\d+)?(?: ± \d+(?:\.\d+)?)?"
_CELL = re.compile(r"(?P<table>.+?) @ (?P<column>.+?)(?: #(?P<place>\d))?")
FORMS: dict[str, Callable[[str], str | None]] = {
    "number": lambda text: None if text.endswith("×") else text,
    "mean": lambda text: None if text.endswith("×") else text.partition(" ±")[0],
    "ratio": lambda text: text if text.endswith("×") else None,
}
"""Forms of a number in a sentence: with its interval, its mean alone, as a multiple."""

_PUBLIC_FILE: dict[str, Callable[[dict[str, str]], str]] = {
    "file": lambda line: f"{line['repository']} `{line['file']}`",
    "recorder": lambda line: markdown.plain(line["recorder"]),
    "before": lambda line: line["before"],
    "without options": lambda line: markdown.message(line["without_options"]),
    "options": lambda line: markdown.code(line["options"]) if line["options"] else "",
    "after": lambda line: "as before" if line["after"] == line["before"] else markdown.message(line["after"]),
    "note": lambda line: markdown.message(line["note"]),
}
"""Columns of the tables of public files, and their cells."""

_CRITERIA_SETS = {"arena": "The contenders of the arena", "arena-field": "The mechanisms of the field"}
"""Files of the arena whose situations decide criteria of RFC 9743, and their headings."""

_SPROUT = {
    "links": {
        "link": "link",
        "until, s": "until_s",
        "sender": "scheme",
        "confidence, %": "confidence_percent",
        "published, kbit/s": "published_kbps",
        "ours": "kbps",
        "published, ms": "published_delay_ms",
        "ours, ms": "delay_ms",
        "verdict": "verdict",
    },
    "cell": {
        "": "beside",
        "Sprout, Mbit/s": "sprout_goodput_mbps",
        "delay p95, ms": "sprout_owd_p95_ms",
        "CUBIC, Mbit/s": "cubic_goodput_mbps",
        "its delay p95, ms": "cubic_owd_p95_ms",
    },
}
"""Columns of the tables of Sprout, and the keys of their cells."""


class NotFoundError(LookupError):
    """No table, row, column or number has this name; the message lists what there is."""


@dataclass
class Table:
    """A table: headings and rows of plain cells, and its lines in Markdown."""

    headings: list[str]
    rows: list[list[str]]
    lines: list[str]

    def row(self, begin: str) -> list[str]:
        """The only row whose first cells are these, or else the only one with this prefix."""
        joined = {" :: ".join(row): row for row in self.rows}
        found = [row for name, row in joined.items() if f"{name} :: ".startswith(f"{begin} :: ")]
        found = found if len(found) == 1 else [row for name, row in joined.items() if name.startswith(begin)]
        if len(found) != 1:
            near = found or self.rows
            known = "; ".join(" :: ".join(row[:2]) for row in near[:8]) + ("; ..." if len(near) > 8 else "")
            raise NotFoundError(f"{len(found)} rows begin with {begin!r}; there are: {known}")
        return found[0]

    def column(self, begin: str) -> int:
        """The index of the only column whose heading has this prefix."""
        found = [i for i, name in enumerate(self.headings) if name == begin]
        found = found or [i for i, name in enumerate(self.headings) if name.startswith(begin)]
        if len(found) != 1:
            raise NotFoundError(f"{len(found)} columns begin with {begin!r}; there are {self.headings}")
        return found[0]

    def text(self, begin: str) -> str:
        """Its rows with this prefix in Markdown."""
        kept = [
            line
            for line, row in zip(self.lines[2:], self.rows, strict=True)
            if " :: ".join(row).startswith(begin)
        ]
        if not kept:
            raise NotFoundError(f"no row begins with {begin!r}")
        return "\n".join([*self.lines[:2], *kept])


@cache
def outcomes() -> tuple[Outcome, ...]:
    """The recorded outcomes of all experiments."""
    return tuple(record.read_all(papers.experiments(), RESULTS / "experiments", papers.published()))


def printed() -> str:
    """The output of `airlane reproduce`, as a block of text."""
    return f"```text\n{tables.printed(outcomes())}\n```"


def experiments(paper: str) -> str:
    """All tables of a paper in Markdown."""
    found = [one for one in outcomes() if one.experiment.id.partition("/")[0] == paper]
    if not found:
        raise NotFoundError(f"no paper {paper!r}; there are {', '.join(papers.papers())}")
    return tables.experiments(found)


@cache
def arena(name: str) -> str:
    """All tables of a file of the arena in Markdown."""
    return arena_markdown.markdown(_arena_result(name))


@cache
def _arena_result(name: str) -> Result:
    file = RESULTS / f"{name}.json"
    if not file.is_file():
        raise NotFoundError(f"no file {file.name} of the arena")
    return arena_record.read(file, SETS[name.partition("-")[2] or "situations"])


def rfc9743(part: str) -> str:
    """The criteria of RFC 9743 in Markdown: `bars`, `numbers` of each set, or `not-decided`.

    Raises
    ------
    NotFoundError
        If there is no such part.
    """
    recorded = {title: _arena_result(name) for name, title in _CRITERIA_SETS.items()}
    if part == "bars":
        return criteria.bars(next(iter(recorded.values())))
    if part == "numbers":
        return "\n\n".join(f"## {title}\n\n{criteria.markdown(one)}" for title, one in recorded.items())
    if part == "not-decided":
        return criteria.not_decided()
    raise NotFoundError(f"no part {part!r}; there are bars, numbers, not-decided")


@cache
def recorded_validation() -> Validation:
    """The recorded rows of the validation."""
    return validation_record.read(RESULTS / "validation.json")


def validation(begin: str = "") -> str:
    """The tables of the validation in Markdown whose families have this prefix; by default all."""
    recorded = recorded_validation()
    rows = [(family, rows) for family, rows in recorded.rows if family.id.startswith(begin)]
    if not rows:
        raise NotFoundError(f"no family of the validation begins with {begin!r}")
    skipped = [reason for reason in recorded.skipped if reason.startswith(begin)]
    text = report.as_markdown(Validation(rows, skipped))
    return text.replace("\n## ", "\n### ") if begin else text  # in a section of a page about more


def bench(part: str) -> str:
    """A part of the measured speed in Markdown."""
    if part not in bench_tables.PARTS:
        raise NotFoundError(f"no part {part!r}; there are {', '.join(bench_tables.PARTS)}")
    return bench_tables.PARTS[part](json_files.read(RESULTS / "bench.json"))


def call_agreement() -> str:
    """The table of calls in real and in virtual time in Markdown."""
    return call_tables.table(json_files.read(RESULTS / "call-agreement.json"))


@cache
def field_scores() -> dict[str, verdicts.Score]:
    """Verdicts on the published numbers and claims of each mechanism of the field."""
    sprouts = json_files.read(RESULTS / "sprout-links.json")["links"]
    return verdicts.scores(outcomes(), recorded_validation(), sprouts)


def field_verdicts() -> str:
    """Verdicts on the mechanisms of the field in Markdown."""
    return verdicts.table(field_scores())


def controller_cost() -> str:
    """Instructions per packet of the mechanisms of the field, over TCP and QUIC, in Markdown."""
    recorded = json_files.read(RESULTS / "controller-cost.json")["rows"]
    found = {(one["name"], one["place"]): one for one in recorded}
    rows = []
    for (name, place), one in found.items():
        if name.startswith("quic-") or (name, place) == ("cubic", "cell"):
            continue
        row = [markdown.code(name), _over(one, found["cubic", place])]
        rows.append([*row, _over(found.get((f"quic-{name}", place)), found["quic-cubic", place])])
    headings = ("mechanism", "over TCP (Sprout: UDP)", "over QUIC")
    return markdown.table(headings, rows)


def _over(one: dict[str, int] | None, base: dict[str, int]) -> str:
    """A number of instructions, and its multiple of CUBIC's."""
    if one is None:
        return "–"
    return f"{one['instructions']:,} ({one['instructions'] / base['instructions']:.2f}×)"


def sprout(part: str) -> str:
    """Sprout over recorded links, `links`, or in a cell, `cell`, in Markdown.

    Raises
    ------
    NotFoundError
        If there is no such part.
    """
    if part not in _SPROUT:
        raise NotFoundError(f"no part {part!r}; there are {', '.join(_SPROUT)}")
    found = json_files.read(RESULTS / "sprout-links.json")[part]
    columns = _SPROUT[part]
    return markdown.table(
        list(columns), [[str(one[key]) for key in columns.values()] for one in found], right=2
    )


def public_files(kind: str) -> str:
    """The table of the public files of a kind in Markdown; a column that would be empty is left out."""
    lines = [line for line in json_files.read(RESULTS / "public-files.json")["files"] if line["kind"] == kind]
    if not lines:
        raise NotFoundError(f"no public file of kind {kind!r}")
    columns = [key for key in _PUBLIC_FILE if any(_PUBLIC_FILE[key](line) for line in lines)]
    return markdown.table(
        columns, [[_PUBLIC_FILE[key](line) for key in columns] for line in lines], right=len(columns)
    )


def rows(name: str) -> str:
    """The table `EXPERIMENT: TITLE` in Markdown, or with ` :: BEGIN` its rows with this prefix."""
    title, _, begin = name.partition(" :: ")
    return _table(title).text(begin)


def number(name: str, form: str) -> str:
    """The number of a cell: `number` with its interval, `mean` without it, or `ratio`, a multiple.

    Raises
    ------
    NotFoundError
        If no cell has this name, or several, or if it has no such number.
    """
    parts = _CELL.fullmatch(name)
    if parts is None:
        raise NotFoundError(f"{name!r} is no cell; write SOURCE: TITLE :: ROW @ COLUMN")
    place = int(parts["place"] or 1)
    source, _, row = parts["table"].partition(": ")
    if source.startswith("arena"):
        texts = _arena_cells(source, row, parts["column"])
        pattern = rf"{_NUMBER}×?"
        texts = [re.sub(r" \([^)]*\)", "", text.replace("*", "")) for text in texts]
    else:
        title, _, row = parts["table"].partition(" :: ")
        table = _table(title)
        texts = [table.row(row)[table.column(parts["column"])]]
        pattern = _NUMBER
    found = [
        shown
        for text in texts
        for each in re.findall(pattern, text)
        if (shown := FORMS[form](each)) is not None
    ]
    several = source.startswith("arena") and len(found) > 1
    if several or len(found) < place:
        raise NotFoundError(f"{name}: {len(found)} numbers of the form {form!r} in {texts}")
    return found[place - 1]


def _arena_cells(source: str, contender: str, column: str) -> list[str]:
    """Texts of the cells of a contender in the columns of this name."""
    begun = column.split(": ")
    found = []
    for table in _tables(arena(source)).values():
        if contender in table.headings:
            own = table.headings.index(contender)
            found += [row[own] for row in table.rows if row[0].startswith(column)]
        for index, heading in enumerate(table.headings):
            parts = heading.split(": ")
            if len(parts) == len(begun) and all(map(str.startswith, parts, begun)):
                found += [row[index] for row in table.rows if row[0] == contender]
    return found


def _table(name: str) -> Table:
    known = _experiment_tables()
    if name not in known:
        experiment = name.partition(":")[0]
        titles = [title for title in known if title.startswith(f"{experiment}:")]
        raise NotFoundError(
            f"no table {name!r}; there are {titles or sorted({t.partition(':')[0] for t in known})}"
        )
    return known[name]


@cache
def _experiment_tables() -> dict[str, Table]:
    return _tables(tables.experiments(outcomes()))


@cache
def _tables(text: str) -> dict[str, Table]:
    """The tables of a page in Markdown, by `HEADING: TITLE` of their place, and a count where it repeats."""
    found: dict[str, Table] = {}
    heading = title = ""
    table: Table | None = None
    for line in text.splitlines():
        if line.startswith("## "):
            heading, title = _plain(line[3:]), ""
        elif opened := re.fullmatch(r"<details><summary>(.*)</summary>", line):
            title = _plain(opened[1])
        elif not line.startswith("|"):
            table = None
        elif table is None:
            table = Table([_plain(cell) for cell in _split(line)], [], [line])
            name = f"{heading}: {title}" if title else f"{heading}: {len(found)}"
            if name in found:
                raise ValueError(f"two tables are called {name!r}")
            found[name] = table
        else:
            table.lines.append(line)
            if len(table.lines) > 2:
                table.rows.append([_plain(cell) for cell in _split(line)])
    return found


def _split(line: str) -> list[str]:
    return re.split(r"(?<!\\)\|", line)[1:-1]


def _plain(text: str) -> str:
    """The text of a cell or a heading, without code marks and backslashes."""
    return re.sub(r"\\(.)", r"\1", text).strip().strip("`")
