"""Published numbers compared with our TCP and a Linux kernel. Only one test needs a kernel."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import kernel_papers
from airlane import native, papers
from airlane.cache import Cache
from airlane.experiments import Outcome, conduct
from airlane.runs import kernel
from airlane.scenario import load, seconds
from airlane.validation import kernel_measures
from airlane.validation.kernel import REFERENCE
from kernel_papers import PARTS, Part, Row, experiment, page, rows, tables, transport

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs/kernel-papers.md"
PROGRAM = [sys.executable, str(HERE / "kernel_papers.py")]

ROW = Row("delay, ms", [11.0, 12.0, 16.0], [10.0, 12.0, 14.0], "850", ("match", "miss"))

needs_kernel = pytest.mark.skipif(
    all(one.name != REFERENCE for one in kernel.installed()),
    reason=f"NO KERNEL: `make test-kernel` builds Linux {REFERENCE}",
)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_the_sides_differ_in_the_transports_alone(part: Part) -> None:
    ours, theirs = (experiment(part, 3, kernel=kernel) for kernel in (False, True))
    assert (ours.runs, ours.scenario) == (theirs.runs, theirs.scenario) == (3, ours.scenario)
    base = load(ours.scenario)
    for point in part.points:
        one, other = (base.set(side.grid[point]).settings for side in (ours, theirs))
        ends = [flow.pop("transport") for flow in other["flow"]]
        assert {end["kind"] for end in ends} == {"kernel"}
        assert {flow.pop("transport")["kind"] for flow in one["flow"]} == {"tcp"}
        assert one == other
        for i, end in enumerate(ends):
            given = part.changes.get(f"flow.{i}.transport.sysctl", part.sysctl)
            assert isinstance(given, Mapping)
            assert end["sysctl"] == {key: str(value) for key, value in given.items()}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_ours_are_the_runs_of_the_experiment(part: Part) -> None:
    (whole,) = papers.select([part.experiment])
    ours = experiment(part, 2, kernel=False)
    assert dict(ours.grid) == {read: whole.grid[point] for read, point in part.points.items()}
    assert [number.id for number in ours.numbers] == list(part.numbers)
    labels = {number.id: number.label for number in whole.numbers}
    assert all(number.label == labels[number.id] for number in ours.numbers)
    assert not any(number.readings or number.parts for number in ours.numbers)


def test_the_bin_of_the_measures_is_that_of_the_scenario() -> None:
    resolved = load(experiment(PARTS["ltetcp/load"], 2, kernel=False).scenario).settings
    assert seconds(resolved["run"]["series_bin"]) == kernel_measures._BIN_S


def test_timestamps_are_off_where_the_experiment_has_none() -> None:
    for part in PARTS.values():
        scenario = load(experiment(part, 2, kernel=False).scenario)
        stamped = {flow["transport"].get("timestamps", True) for flow in scenario.settings["flow"]}
        assert stamped == {part.sysctl.get("tcp_timestamps", 1) == 1}, part.name


def test_a_difference_has_the_error_of_pairs() -> None:
    mean, error = ROW.difference  # pairs are 1, 0 and 2 apart: a standard deviation of 1
    assert (mean, error) == pytest.approx((1.0, 3**-0.5))
    assert not ROW.differs  # 1 is less than 2 / √3
    assert Row("x", [2.0, 3.1], [1.0, 2.0]).differs
    assert Row("x", [2.0, 3.0], [1.0, 2.0]).differs  # the same in each pair
    assert not Row("x", [1.0, 2.0], [1.0, 2.0]).differs
    assert not Row("x", [1.0, float("nan")], [2.0, 3.0]).differs  # one pair has no error


def test_a_table_has_a_row_for_each_measure() -> None:
    part = PARTS["ltetcp/load"]
    other = Row("window, kB", ROW.theirs, ROW.ours)
    lines = tables(part, ([ROW], [other]), 3).splitlines()
    assert lines[0] == f"### {part.title}"
    assert "`ltetcp/load`, 3 seeds" in lines[2]
    assert "`tcp_timestamps = 0`" in " ".join(lines[2:4])
    # t of 2 degrees of freedom is 4.303: 2.6458 / √3 of ours is 6.57, 2 / √3 of the kernel's 4.97.
    assert (
        lines[lines.index("", 2) + 3]
        == "| delay, ms | 850 | 13.0 ± 6.6 | 12.0 ± 5.0 | +1 ± 0.58 | match | miss |"
    )
    assert lines[-1] == "| window, kB | 12.0 ± 5.0 | 13.0 ± 6.6 | -1 ± 0.58 |"
    assert [line.count("|") for line in lines if line.startswith("|")] == [8, 8, 8, 5, 5, 5]


def test_the_table_names_what_the_kernel_has_beyond_the_part() -> None:
    lines = tables(PARTS["mdcc/table2-stop"], ([ROW], []), 3).splitlines()
    assert all(len(line) <= 100 for line in lines if not line.startswith("|"))
    line = " ".join(lines[2 : lines.index("", 2)])
    told = "flow.1.transport.sysctl = { tcp_comp_sack_nr = 0, tcp_notsent_lowat = 16384 }"
    assert (
        line == f"`mdcc/table2-stop`, 3 seeds; the kernel's ends have `tcp_comp_sack_nr = 0`, and `{told}`."
    )


def test_tables_replace_those_of_a_page_and_nothing_else() -> None:
    text = "# Title\n\n<!-- begin tables -->\n\nold\n\n<!-- end tables -->\n\nend\n"
    assert page(text, "new\n") == text.replace("old", "new")
    assert page(page(text, "new\n"), "new\n") == page(text, "new\n")
    with pytest.raises(ValueError, match="no place for tables: <!-- begin tables -->"):
        page("# Title\n", "new\n")


def test_the_page_has_all_parts_and_its_numbers_are_those_of_the_tables() -> None:
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- begin tables -->")
    found, _, after = rest.partition("<!-- end tables -->")
    for part in PARTS.values():
        assert f"### {part.title}\n" in found
    labels = {line.split(" | ")[0].removeprefix("| ") for line in found.splitlines()}
    for part in PARTS.values():
        assert {number.label for number in experiment(part, 2, kernel=False).numbers} | set(
            part.others
        ) <= labels
    prose = before + after
    stated = re.findall(r"[+-]?\d[\d.]* ± \d[\d.]*", prose)
    assert stated
    assert [number for number in stated if number not in found] == []


def test_the_command_names_unknown_parts() -> None:
    done = subprocess.run([*PROGRAM, "mdcc/table9"], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "no part mdcc/table9; there are: ltetcp/load, " in done.stderr


def test_wrong_arguments_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def _failed(*words: str) -> str:
        monkeypatch.setattr(sys, "argv", ["kernel_papers", *words])
        with pytest.raises(SystemExit, match="2"):
            kernel_papers._main()
        return capsys.readouterr().err

    assert "an interval needs two seeds or more" in _failed("mdcc/table4", "--seeds", "1")
    assert "a page has all parts" in _failed("mdcc/table4", "--markdown", str(PAGE))
    assert "README.md: there is no place for tables" in _failed("--markdown", str(HERE.parent / "README.md"))
    assert "unrecognized arguments: --fast" in _failed("mdcc/table4", "--fast")


@needs_kernel
def test_both_sides_run_and_have_the_same_rows(tmp_path: Path) -> None:
    """One transfer of 500 kB, of seed 1 and of seed 2, without the long flow's first seconds."""
    part = PARTS["mdcc/table4"]
    point = next(iter(part.points))
    brief = Part(
        part.name,
        part.title,
        part.experiment,
        {point: point},
        part.numbers[:1],
        part.sysctl,
        alone=True,
        others={key: measure for key, measure in part.others.items() if key.startswith("500 kB")},
    )
    cache = Cache(tmp_path, native.fingerprint())
    sides: list[Outcome] = [
        conduct(experiment(brief, 2, kernel=kernel), papers.published(), cache) for kernel in (False, True)
    ]
    numbers, others = rows(brief, *sides)
    assert [row.label for row in numbers] == ["CUBIC, 500 kB: completion, s"]
    assert all(0.1 < value < 0.4 for value in (*numbers[0].ours, *numbers[0].theirs))
    assert list(brief.others) == [row.label for row in others]
    assert transport(brief)["kernel"] == REFERENCE
