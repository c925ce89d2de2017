"""Published numbers compared with our TCP and with a Linux kernel: `ltetcp`, and rows of CUBIC of `mdcc`.

Both papers ran the Linux stack within a simulator. Points of their experiments run twice with the same seeds:
with our TCP as in the experiment, and with a guest kernel at both ends. The settings of the points, the
measures and the verdicts are those of the experiments; only the transports differ.

    $ make kernel-papers ARGS="ltetcp/load mdcc/table4 --seeds 8"
    $ make kernel-papers ARGS="--markdown docs/kernel-papers.md"
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from airlane import native, papers, stats
from airlane.cache import Cache
from airlane.commands import terminal
from airlane.experiments import Draw, Experiment, Measure, Number, NumberRow, Outcome, conduct
from airlane.pages import markdown
from airlane.papers.ltetcp import load_setup as ltetcp
from airlane.papers.mdcc import setup as mdcc
from airlane.runs import kernel as kernels
from airlane.runs.files import write_text
from airlane.scenario import load
from airlane.study import verdict_view
from airlane.validation.kernel import REFERENCE
from airlane.validation.kernel_measures import jump_measures, load_measures, short_measures

__all__ = ["PARTS", "Part", "Row", "experiment", "page", "rows", "tables", "transport"]

_OLDER_RECOVERY: dict[str, object] = {"tcp_recovery": 0, "tcp_early_retrans": 0, "tcp_comp_sack_nr": 0}
"""No RACK, no tail loss probe, no gathered SACKs: the loss recovery of RFC 6675."""


@dataclass(frozen=True)
class Part:
    """Points of an experiment that run on both sides.

    Attributes
    ----------
    name
        Its name in the command.
    title
        What runs, and what of the experiment.
    experiment
        Id of the experiment.
    points
        The point of the grid that runs, by the point that the measures read.
    numbers
        Ids of the published numbers.
    sysctl
        Parameters of the kernel's ends.
    alone
        Whether the numbers lose the reference of their direction, because it belongs to a point that does not
        run here. Without it there is no verdict `direction`.
    others
        Measures without a published value, by what they are and their unit.
    changes
        Settings of the kernel's side beyond this, by dotted path: a test of what makes the difference.
    """

    name: str
    title: str
    experiment: str
    points: Mapping[str, str]
    numbers: tuple[str, ...]
    sysctl: Mapping[str, object]
    alone: bool = False
    others: Mapping[str, Measure] = field(default_factory=dict)
    changes: Mapping[str, object] = field(default_factory=dict)


def _load(name: str, title: str, point: str, sysctl: Mapping[str, object]) -> Part:
    keys = (
        "fig2a.goodput_before_mbps",
        "fig2a.goodput_after_mbps",
        "fig2a.delay_after_ms",
        "fig2a.delay_jump_pct",
        "fig3.delay_before_ms",
        "fig3.within_s",
    )
    numbers = tuple(f"ltetcp.load_increase.{key}" for key in keys)
    points, others = {ltetcp.SHOWN: point}, load_measures(ltetcp.SHOWN)
    return Part(name, title, "ltetcp/load", points, numbers, {"tcp_timestamps": 0, **sysctl}, others=others)


_GATHERED: Mapping[str, object] = {"tcp_comp_sack_nr": 0}
"""SACKs are gathered since Linux 4.18; the paper `mdcc` had 4.7."""


def _jump(fading: str, words: str) -> Part:
    table = mdcc.TABLES[fading]
    of_distance = {d: mdcc.jump_point(fading, d, "cubic", mdcc.LEFT_OUT_MS[table]) for d in mdcc.DISTANCES}
    return Part(
        f"mdcc/{table}",
        f"MD-CC's paper, fill-up time of CUBIC, {words} fading",
        f"mdcc/{table}",
        {point: point for point in of_distance.values()},
        tuple(f"mdcc.{table}.d{d}.cubic_s" for d in mdcc.DISTANCES),
        _GATHERED,
        alone=True,
        others={
            f"{d} m: {label}": measure
            for d, point in of_distance.items()
            for label, measure in jump_measures(point).items()
        },
    )


def _stop() -> Part:
    """Table II with little unsent data in the send buffers of the eight flows when they stop."""
    unsent = {**_GATHERED, "tcp_notsent_lowat": 16384}
    return replace(
        _jump("eva", ""),
        name="mdcc/table2-stop",
        title="MD-CC's paper, vehicular fading, at most 16 KiB unsent in Linux when the eight flows stop",
        changes={"flow.1.transport.sysctl": unsent},
    )


def _steady() -> Part:
    points = [mdcc.jump_point("eva", d, "cubic", mdcc.ALL_MS) for d in (100, 300)]
    return Part(
        "mdcc/fig4",
        "MD-CC's paper, throughput of CUBIC at the end, vehicular fading",
        "mdcc/fig4",
        {point: point for point in points},
        tuple(f"mdcc.fillup_text.vehicular_steady_mbps.d{d}" for d in (100, 300)),
        _GATHERED,
        alone=True,
    )


def _short() -> Part:
    delay_ms = mdcc.LEFT_OUT_MS["table4"]
    of_size = {size: mdcc.short_point(size, "cubic", "own", delay_ms) for size in mdcc.SIZES}
    return Part(
        "mdcc/table4",
        "MD-CC's paper, completion times of CUBIC",
        "mdcc/table4",
        {point: point for point in of_size.values()},
        tuple(f"mdcc.table4.{size}.cubic_s" for size in mdcc.SIZES),
        _GATHERED,
        alone=True,
        others={
            f"{mdcc.SIZES[size]}: {label}": measure
            for size, point in of_size.items()
            for label, measure in short_measures(point).items()
        },
    )


PARTS = {
    part.name: part
    for part in (
        _load(
            "ltetcp/load",
            "TCP when a cell fills up: ours as Linux 2.6.26, the kernel with the recovery of RFC 6675",
            ltetcp.SHOWN,
            _OLDER_RECOVERY,
        ),
        _load(
            "ltetcp/load-linux-3",
            "TCP when a cell fills up: ours as Linux 3.2 to 3.11, the kernel with the recovery of RFC 6675",
            ltetcp.KERNEL_2011,
            _OLDER_RECOVERY,
        ),
        _load(
            "ltetcp/load-linux-6",
            "TCP when a cell fills up: ours as Linux 6, the kernel with its own loss recovery",
            ltetcp.TODAY,
            {},
        ),
        _jump("eva", "vehicular"),
        _stop(),
        _jump("epa", "pedestrian"),
        _steady(),
        _short(),
    )
}
"""What can be run, by name."""


def transport(part: Part) -> dict[str, object]:
    """The transport of all flows on the kernel's side. As in ns-3, each packet enters the stack alone."""
    chosen = {"kind": "kernel", "kernel": REFERENCE, "congestion": "cubic", "gro": False}
    return {**chosen, "sysctl": dict(part.sysctl)}


def experiment(part: Part, seeds: int, *, kernel: bool) -> Experiment:
    """The part's points and numbers as an experiment, with the kernel or with our TCP."""
    (whole,) = papers.select([part.experiment])
    of_id = {number.id: number for number in whole.numbers}
    grid = {read: whole.grid[point] for read, point in part.points.items()}
    if kernel:
        flows = len(load(whole.scenario).settings["flow"])
        ends: dict[str, object] = {f"flow.{i}.transport": transport(part) for i in range(flows)}
        theirs = re.compile(r"flow\.\d+\.transport\b")
        grid = {
            read: {**{key: value for key, value in settings.items() if not theirs.match(key)}, **ends}
            | dict(part.changes)
            for read, settings in grid.items()
        }
    return replace(
        whole,
        grid=grid,
        runs=seeds,
        numbers=tuple(_reduced(of_id[name], part) for name in part.numbers),
        claims=(),
        listings=(),
        pictures=None,
    )


def _reduced(number: Number, part: Part) -> Number:
    """A number without what needs points that do not run."""
    alone = replace(number, readings=(), parts=())
    return replace(alone, against=None, published_against=0.0) if part.alone else alone


@dataclass(frozen=True)
class Row:
    """A measure on both sides.

    Attributes
    ----------
    label
        Name of the measure, with its unit.
    ours, theirs
        shape (seeds,): our TCP's values and the kernel's, NaN where not defined.
    published, verdicts
        The published value as text, and the verdicts on ours and on the kernel's; empty without one.
    """

    label: str
    ours: Sequence[float]
    theirs: Sequence[float]
    published: str = ""
    verdicts: tuple[str, str] = ("", "")

    @property
    def difference(self) -> tuple[float, float]:
        """Mean of ours minus the kernel's over pairs, and its standard error; NaN with fewer than two."""
        apart = stats.paired_difference(self.ours, self.theirs)
        error = apart.deviation / math.sqrt(apart.n) if apart.deviation is not None else math.nan
        # Sums of bins in another order are no difference.
        return round(apart.mean, 9) + 0.0, error

    @property
    def differs(self) -> bool:
        """Whether the difference is more than two of its standard errors."""
        mean, error = self.difference
        return abs(mean) > 2.0 * error

    def cells(self) -> list[str]:
        """The cells of its line, under `headings`, without verdicts if there is no published value."""
        sides = [terminal.interval(stats.estimate(values)) for values in (self.ours, self.theirs)]
        mean, error = self.difference
        apart = f"{mean:+.3g} ± {error:.2g}" if math.isfinite(error) else "–"
        shared = [*sides, apart + (" *" if self.differs else "")]
        return (
            [self.label, self.published, *shared, *self.verdicts] if self.published else [self.label, *shared]
        )


def rows(part: Part, ours: Outcome, theirs: Outcome) -> tuple[list[Row], list[Row]]:
    """The published numbers of a part, and its other measures, on both sides."""
    numbers = [
        _row(own, other, ours, theirs) for own, other in zip(ours.numbers, theirs.numbers, strict=True)
    ]
    others = [
        Row(label, _values(measure, ours.draws), _values(measure, theirs.draws))
        for label, measure in part.others.items()
    ]
    return numbers, others


def _row(own: NumberRow, other: NumberRow, ours: Outcome, theirs: Outcome) -> Row:
    told = own.published
    return Row(
        own.number.label,
        _values(own.number.measure, ours.draws),
        _values(other.number.measure, theirs.draws),
        verdict_view.published_text(told.value, told.ci, told.range, own.number.relation),
        (str(own.judgement.verdict), str(other.judgement.verdict)),
    )


def _values(measure: Measure, draws: Sequence[Draw]) -> list[float]:
    return [measure(draw) for draw in draws]


_SIDES = ("ours", f"Linux {REFERENCE}", "ours − Linux")
HEADINGS = ("number", "published", *_SIDES, "verdict: ours", "Linux")
OTHER_HEADINGS = ("other measures", *_SIDES)


def tables(part: Part, found: tuple[list[Row], list[Row]], seeds: int) -> str:
    """Both tables of a part in Markdown, under its title."""
    numbers, others = found
    sysctl = ", ".join(f"`{key} = {value}`" for key, value in part.sysctl.items())
    changes = "".join(f", and `{key} = {_toml(value)}`" for key, value in part.changes.items())
    told = f"`{part.name}`, {seeds} seeds; the kernel's ends have {sysctl}{changes}."
    lines = [
        f"### {part.title}",
        "",
        *textwrap.wrap(told, 100, break_long_words=False, break_on_hyphens=False),
        "",
        markdown.table(HEADINGS, [row.cells() for row in numbers]),
    ]
    if others:
        lines += ["", markdown.table(OTHER_HEADINGS, [row.cells() for row in others])]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """A setting as in a scenario file."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(one)}" for key, one in value.items()) + " }"
    return str(value)


_BEGIN, _END = "<!-- begin tables -->\n", "<!-- end tables -->"


def page(text: str, found: str) -> str:
    """A page with these tables in the place of its own.

    Raises
    ------
    ValueError
        If the page has no place for tables.
    """
    before, begin, rest = text.partition(_BEGIN)
    end, after = rest.partition(_END)[1:]
    if not begin or not end:
        raise ValueError(f"there is no place for tables: {_BEGIN.strip()} and {_END}, each on its own line")
    return f"{before}{begin}\n{found}\n{end}{after}"


def _measured(part: Part, seeds: int, cache: Cache, threads: int) -> tuple[list[Row], list[Row]]:
    def conducted(*, kernel: bool) -> Outcome:
        words = f"{part.name}, {'the kernel' if kernel else 'ours'}"

        def report(done: int, of: int) -> None:
            print(f"{words}: {done} of {of} runs", file=sys.stderr)

        chosen = experiment(part, seeds, kernel=kernel)
        return conduct(chosen, papers.published(), cache, threads=threads, on_done=report)

    return rows(part, conducted(kernel=False), conducted(kernel=True))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Published numbers compared with our TCP and with a Linux kernel."
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--seeds", type=int, default=4, metavar="N", help="seeds of each point, by default 4")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cache", type=Path, default=Path("out/cache"), help="folder of finished runs")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write the tables into this page")
    return parser


def _main() -> None:
    parser = _parser()
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.parts) - PARTS.keys()):
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    if arguments.seeds < 2:
        parser.error("an interval needs two seeds or more")
    if arguments.markdown is not None:
        if arguments.parts:
            parser.error("a page has all parts: --markdown without PART")
        try:
            page(arguments.markdown.read_text(encoding="utf-8"), "")
        except (OSError, ValueError) as error:
            parser.error(f"{arguments.markdown}: {error}")
    kernels.find(REFERENCE)  # before hours of runs
    cache = Cache(arguments.cache, native.fingerprint())
    told = []
    for part in (PARTS[name] for name in dict.fromkeys(arguments.parts or PARTS)):
        found = _measured(part, arguments.seeds, cache, arguments.threads)
        told.append(tables(part, found, arguments.seeds))
        print(told[-1], flush=True)
    if arguments.markdown is not None:
        kept = arguments.markdown.read_text(encoding="utf-8")
        write_text(arguments.markdown, page(kept, "\n".join(told)))


if __name__ == "__main__":
    _main()
