"""airlane from Python: printed results, keys of settings, sweeps, and errors at their origin."""

from __future__ import annotations

from typing import Any

import pytest

import airlane

SWEEP: Any = airlane.sweep
"""A callable module, which mypy does not support."""

SHORT = {"run.duration": "3 s", "run.warmup": "1 s"}


def wired() -> airlane.Scenario:
    return airlane.load(airlane.example("wired-cubic")).set(SHORT)


def test_results_print_as_a_short_table_and_plot() -> None:
    results = wired().run(runs=2)
    lines = repr(results).splitlines()
    assert lines[0] == "2 runs, 1 flow, means over the runs"
    assert lines[1].split()[:3] == ["flow", "goodput", "Mbit/s"]
    mean = float(results.flows["goodput_mbps"].to_numpy().mean())
    assert f"{mean:.2f}" in lines[2]
    assert lines[-1].startswith("tables: ")
    assert "<th>goodput Mbit/s</th>" in results._repr_html_()
    assert len(results.plot().axes) >= 2
    with pytest.raises(ValueError, match="no run 2: runs are numbered from 0 to 1"):
        results.plot(2)


def test_a_key_stands_for_every_cell_or_for_one() -> None:
    base = airlane.load(airlane.example("x2-handover"))

    def queues(key: str) -> list[str]:
        return [cell["rlc"]["aqm"]["kind"] for cell in base.set({key: "codel"}).settings["cell"]]

    assert queues("cell.rlc.aqm") == ["codel", "codel"]
    assert queues("cell.1.rlc.aqm") == queues("cell.east.rlc.aqm") == ["drop-tail", "codel"]


def test_a_key_of_the_cells_of_a_layout_goes_to_the_cell_that_describes_them() -> None:
    town = airlane.load(airlane.example("urban-19")).set({"cell.rlc.aqm": "codel"})
    assert [cell["rlc"]["aqm"]["kind"] for cell in town.settings["cell"]] == ["codel"] * 19


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"flow.transport.congestion": "bbr9"}, r'^--set flow\.0\.transport\.congestion = "bbr9"'),
        ({"cell.south.rlc.aqm": "codel"}, r'^--set cell\.south\.rlc\.aqm: cell has no entry "south".*west'),
        ({"run.durration": "1 s"}, r"^--set run\.durration.*did you mean `duration`"),
    ],
)
def test_set_refuses_what_run_would_and_blames_the_setting(settings: dict[str, object], said: str) -> None:
    base = airlane.load(airlane.example("x2-handover"))
    with pytest.raises(airlane.ScenarioError, match=said):
        base.set(settings)


def test_a_mistake_of_the_file_is_blamed_on_the_file() -> None:
    wrong = airlane.loads('network = "wired"\n[run]\ndurration = "1 s"\n[[flow]]\n', "mine.toml")
    with pytest.raises(airlane.ScenarioError, match=r"^mine\.toml:3: run\.durration"):
        wrong.set({"run.seed": 3})


def test_a_sweep_is_a_call() -> None:
    swept = SWEEP(wired(), {"internet.delay": ["5 ms", "10 ms"]}, runs=2, seed=7)
    assert [point.settings for point in swept.points] == [
        {"internet.delay": "5 ms"},
        {"internet.delay": "10 ms"},
    ]
    assert swept.rows["seed"].to_pylist() == [7, 8, 7, 8]
    summary = swept.summary().to_pylist()
    assert summary[1]["rtt_ms" if "rtt_ms" in summary[1] else "owd_ms"] > 0.0
    assert repr(swept).splitlines()[0] == "2 points of 2 runs"
    assert "10 ms" in swept._repr_html_()
    assert len(swept.plot("goodput_mbps", "owd_ms").axes) == 2
    with pytest.raises(ValueError, match="no figure 'page_s'"):
        swept.plot("page_s")
    with pytest.raises(ValueError, match="name values to sweep"):
        SWEEP(wired(), {})
