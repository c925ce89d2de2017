"""Rows of the comparison with a Linux kernel over several delays and seeds.

A figure of a single run is one draw: a millisecond more on the path moves a loss to another flight. The rows
of the comparison are means of draws; here they have as many as wanted, with ranges and a standard error.

    $ make kernel-spread ARGS="still/vegas codel/vegas --delays -2 -1 0 1 2"
    $ make kernel-spread ARGS="fading/westwood --seeds 1 2 3 4 5 6 7 8"

With `--other`, another kernel takes the place of the simulated TCP: what has changed between two versions.

    $ make kernel-spread ARGS="still/bbr --other 6.1 --delays -2 -1 0 1 2"
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich import box
from rich.table import Table

from airlane import native
from airlane.commands import terminal
from airlane.validation.kernel import FIGURES, REFERENCE, SITUATIONS, Draw, cases, figures

__all__ = ["Draw", "Spread", "cells", "draws", "headings", "markdown", "spreads", "table"]


@dataclass(frozen=True)
class Spread:
    """A figure of a row over all draws.

    Attributes
    ----------
    row
        Situation and congestion control, as in `still/vegas`.
    figure
        A key of `FIGURES`.
    reference, other
        shape (n,): the figure in each draw, of the kernel `REFERENCE` and of the other side, in the unit that
        `FIGURES` names.
    """

    row: str
    figure: str
    reference: npt.NDArray[np.float64]
    other: npt.NDArray[np.float64]

    @property
    def difference(self) -> float:
        """Difference of the means, as a fraction of the reference's; NaN where that is 0."""
        there, here = float(np.mean(self.reference)), float(np.mean(self.other))
        return (here - there) / there if there else float("nan")

    @property
    def standard_error(self) -> float:
        """Of the mean difference of runs with the same draw, as a fraction of the reference's mean.

        NaN for one draw, and where that mean is 0.
        """
        there = float(np.mean(self.reference))
        if len(self.reference) < 2 or not there:
            return float("nan")
        apart = self.other - self.reference
        return float(np.std(apart, ddof=1) / np.sqrt(len(apart)) / there)


def draws(situation: str, delays_ms: Sequence[float], seeds: Sequence[int]) -> list[Draw]:
    """All pairs of a delay and a seed; one seed where nothing of the situation is random."""
    used = seeds if SITUATIONS[situation].random else seeds[:1]
    return [Draw(delay_ms, seed) for delay_ms in delays_ms for seed in used]


def spreads(
    rows: Sequence[str],
    delays_ms: Sequence[float],
    seeds: Sequence[int],
    threads: int,
    other: str | None = None,
) -> list[Spread]:
    """Run these rows in all draws, with the kernel `REFERENCE` and with the other side.

    That is the kernel `other` or, for None, the simulated TCP.

    Raises
    ------
    KernelError
        If a kernel has not been built.
    """
    runs = [(row, draw) for row in rows for draw in draws(row.partition("/")[0], delays_ms, seeds)]
    jobs = [
        (draw.scenario(row, kernel=kernel).resolved, draw.seed)
        for kernel in (REFERENCE, other)
        for row, draw in runs
    ]
    ended = itertools.count(1)
    outputs = native.run(
        jobs, threads, lambda _: print(f"{next(ended)} of {len(jobs)} runs have ended", file=sys.stderr)
    )
    found = [figures(output) for output in outputs]

    def column(row: str, figure: str, side: Sequence[dict[str, float]]) -> npt.NDArray[np.float64]:
        return np.array([one[figure] for (of, _), one in zip(runs, side, strict=True) if of == row])

    reference, others = found[: len(runs)], found[len(runs) :]
    return [
        Spread(row, figure, column(row, figure, reference), column(row, figure, others))
        for row in rows
        for figure in FIGURES
    ]


def headings(other: str | None) -> tuple[str, ...]:
    """Those of the table, with the other kernel's name or, for None, ours."""
    name = "ours" if other is None else f"Linux {other}"
    sides = (f"Linux {REFERENCE}: mean", "range", f"{name}: mean", "range")
    return "row", "figure", "runs", *sides, "difference"


_CAPTION = "difference: of the means, ± its standard error from pairs of runs with the same draw"


def cells(one: Spread) -> list[str]:
    """The cells of a figure, under `headings`."""
    sides = [
        cell
        for values in (one.reference, one.other)
        for cell in (f"{np.mean(values):.4g}", f"{np.min(values):.4g} to {np.max(values):.4g}")
    ]
    if np.isnan(one.difference):
        apart = "–"
    elif np.isnan(one.standard_error):
        apart = f"{one.difference:+.1%}"
    else:
        apart = f"{one.difference:+.1%} ± {one.standard_error:.1%}"
    return [one.row, f"{one.figure}, {FIGURES[one.figure][1]}", str(len(one.reference)), *sides, apart]


def table(found: Sequence[Spread], other: str | None = None) -> Table:
    """Means and ranges of both sides, a row per figure."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False, caption=_CAPTION, caption_justify="left")
    for place, heading in enumerate(headings(other)):
        shown.add_column(heading, justify="left" if place < 2 else "right", no_wrap=True)
    for one in found:
        shown.add_row(*cells(one))
    return shown


def markdown(found: Sequence[Spread], command: str, other: str | None = None) -> str:
    """The table as a section that names the command which prints it."""
    titles = headings(other)
    lines = [
        f"`{command}`",
        "",
        "| " + " | ".join(titles) + " |",
        "|---|---" + "|---:" * (len(titles) - 2) + "|",
        *("| " + " | ".join(cells(one)) + " |" for one in found),
        "",
        f"{_CAPTION[0].upper()}{_CAPTION[1:]}.",
    ]
    return "\n".join(lines) + "\n"


def _main() -> None:
    known = ["/".join(case) for case in cases()]
    parser = argparse.ArgumentParser(
        description="Rows of the comparison with a Linux kernel over several delays and seeds."
    )
    parser.add_argument("rows", nargs="+", metavar="ROW", help=", ".join(known))
    parser.add_argument(
        "--delays",
        nargs="+",
        type=float,
        default=[0.0],
        metavar="MS",
        help="added to the delay of the internet link in each direction, in milliseconds",
    )
    parser.add_argument(
        "--seeds",
        nargs="+",
        type=int,
        default=[1],
        metavar="SEED",
        help="of the radio channel and of the loss",
    )
    parser.add_argument(
        "--other",
        metavar="KERNEL",
        help="the name of another kernel, in the place of the simulated TCP",
    )
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--markdown", action="store_true", help="print the table in Markdown")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.rows) - set(known)):
        parser.error(f"no row {', '.join(unknown)}; there are: {', '.join(known)}")
    rows = list(dict.fromkeys(arguments.rows))
    other = arguments.other
    found = spreads(rows, arguments.delays, arguments.seeds, arguments.threads, other)
    if arguments.markdown:
        words = " ".join(word for word in sys.argv[1:] if word != "--markdown")
        sys.stdout.write(markdown(found, f'make kernel-spread ARGS="{words}"', other))
    else:
        terminal.output.print(table(found, other))


if __name__ == "__main__":
    _main()
