"""The rows of a validation as a table, as JSON, and as Markdown for the docs."""

from __future__ import annotations

import json
import math
import sys
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from airlane.validation import Family, Row, Validation, record, validate
from airlane.validation.channel_overlay import write_channel_overlay, write_spread_overlay
from airlane.validation.kernel import write_windows
from airlane.validation.overlay import write_overlay

__all__ = ["as_json", "as_markdown", "run_command"]

_RECORD = Path("docs/results/validation.json")
_OVERLAY = Path("docs/images/linux-cwnd.png")
_KERNEL_OVERLAY = Path("docs/images/kernel-cwnd.png")
_CHANNEL_OVERLAY = Path("docs/images/channel-calibration.png")
_SPREAD_OVERLAY = Path("docs/images/channel-spreads.png")

_DIFFERENCE_MAX = 10.0
"""A factor of ten: beyond it the reference is almost zero."""


def as_json(validation: Validation) -> dict[str, Any]:
    """Counted rows under `rows`, the others under `shown`; numbers that are not finite become null."""

    def number(value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None

    def values(counted: bool) -> list[dict[str, Any]]:
        return [
            {
                "id": row.id,
                "unit": row.unit,
                "reference": number(row.reference),
                "ours": number(row.ours),
                "ci95": number(row.ci95),
                "n": row.n,
                "band": row.band,
                "ok": row.ok,
                "note": row.note,
            }
            for _, rows in validation.rows
            for row in rows
            if row.counted == counted
        ]

    return {
        "rows": values(counted=True),
        "shown": values(counted=False),
        "skipped": validation.skipped,
        "ok": validation.ok,
    }


def as_markdown(validation: Validation) -> str:
    """Tables of all families in Markdown, under headings of their own, for the manual."""
    parts = []
    for family, rows in validation.rows:
        if not rows:
            continue
        parts.append(f"\n## {family.title}\n")
        parts.append(f"Source: {family.source}. Band: {_band(family)}.")
        if not family.counted:
            parts.append("Shown, not counted.")
        if family.note:
            parts.append(f"\n{family.note}")
        parts.append("\n| id | unit | reference | ours | difference | in band | note |")
        parts.append("|---|---|---:|---:|---:|---|---|")
        parts.extend(
            f"| `{row.id}` | {row.unit} | {_figure(row.reference)} | {_ours(row)} | {_difference(row)} "
            f"| {_judgement(row)} | {row.note} |"
            for row in rows
        )
    return "\n".join(parts) + "\n"


def run_command(
    as_machine: bool = False,
    write: bool = False,
    threads: int | None = None,
    *,
    only: str = "",
    references: Path | None = None,
) -> int:
    """Run the validation, print it, and return the exit code: 1 when a counted row is outside its band."""
    console = Console()
    of = partial(validate, threads, only=only, references=references)
    if as_machine or not console.is_terminal:
        validation = of()
    else:
        with Progress(
            TextColumn("validating"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), transient=True
        ) as bar:
            task = bar.add_task("runs", total=None)
            validation = of(lambda done, total: bar.update(task, completed=done, total=total))
    if write:
        _RECORD.parent.mkdir(parents=True, exist_ok=True)
        for family in record.write(validation, _RECORD):
            print(f"{_RECORD} keeps its rows of {family}, which was skipped", file=sys.stderr)
        write_overlay(_OVERLAY, threads)
        write_windows(_KERNEL_OVERLAY, threads)
        write_channel_overlay(_CHANNEL_OVERLAY)
        write_spread_overlay(_SPREAD_OVERLAY)
    if as_machine:
        print(json.dumps(as_json(validation), indent=2))
    else:
        _print(validation, console if console.is_terminal else Console(width=160))
    return 0 if validation.ok else 1


def _print(validation: Validation, console: Console) -> None:
    for family, rows in validation.rows:
        if rows:
            console.print(_table(family, rows))
    for reason in validation.skipped:
        console.print(f"skipped: {reason}")
    for counted, which in ((False, "rows that are only shown"), (True, "counted rows")):
        found = [row for _, rows in validation.rows for row in rows if row.counted == counted]
        console.print(f"{sum(row.ok for row in found)} of {len(found)} {which} inside their bands")


def _table(family: Family, rows: list[Row]) -> Table:
    caption = f"{family.source}; band {_band(family)}"
    table = Table(title=family.title, caption=caption, title_justify="left", caption_justify="left")
    table.add_column("id", no_wrap=True)
    for heading in ("reference", "ours", "difference"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("in band", no_wrap=True)
    table.add_column("beside it")
    for row in rows:
        style = None if row.ok else "red" if row.counted else "yellow"
        reference = f"{_figure(row.reference)} {row.unit}"
        table.add_row(row.id, reference, _ours(row), _difference(row), _judgement(row), row.note, style=style)
    return table


def _band(family: Family) -> str:
    bands = [f"±{family.band:.0%}"] if family.band > 0.0 else []
    if family.slack > 0.0:
        bands.append(f"±{family.slack:g}")
    if family.errors > 0.0:
        bands.append(f"±{family.errors:g} standard errors of ours")
    return " or ".join(bands) or "equal"


def _figure(value: float) -> str:
    whole = abs(value) >= 1000 or (abs(value) >= 10 and value == round(value))
    return f"{value:.0f}" if whole else f"{value:.3f}"


def _ours(row: Row) -> str:
    digits = 0 if abs(row.ours) >= 1000 else 3
    interval = f" ±{row.ci95:.{digits}f} (n={row.n})" if row.ci95 is not None else ""
    return _figure(row.ours) + interval


def _difference(row: Row) -> str:
    # Percentages of a reference close to zero are meaningless; such a row has a band in its own unit.
    return f"{row.difference:+.2%}" if abs(row.difference) < _DIFFERENCE_MAX else "–"


def _judgement(row: Row) -> str:
    verdict = "yes" if row.ok else "**no**" if row.counted else "no"
    return verdict if row.counted else f"{verdict} (not counted)"
