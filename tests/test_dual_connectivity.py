"""UEs with a secondary node: the table of their steps, and the page of a run."""

from __future__ import annotations

import pytest

import airlane

SCENARIO = """\
network = "nsa-fr1"
[run]
duration = "5 s"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
[[flow]]
to = "phone"
"""


def test_a_phone_of_nsa_has_both_cells() -> None:
    """The preset brings both cells, and the phone has NR from the start."""
    results = airlane.loads(SCENARIO).run()
    assert results.tables["cells"]["cell"].to_pylist() == ["lte", "nr"]
    steps = results.tables["scg"].to_pylist()
    assert [(row["t_s"], row["cell"], row["step"], row["has_scg"]) for row in steps] == [
        (0.0, "nr", "added", 1)
    ]
    assert float(results.tables["flows"]["goodput_mbps"][0].as_py()) > 200.0


def test_the_page_of_a_run_shows_when_there_is_nr() -> None:
    """A panel with the number of UEs that have a secondary cell group."""
    from airlane.pages.run_chart import run_chart

    titles = [panel.title for panel in run_chart(airlane.loads(SCENARIO).run()).panels]
    assert "with a secondary cell group" in titles


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ('{ cells = ["lte"] }', "not a cell of NR"),
        ('{ cells = ["nowhere"] }', "no cell has this name"),
        ('{ t_reordering = "7 ms" }', "not a value of t-Reordering"),
        ('{ add_above = "-120 dBm" }', "would be released as soon as it is added"),
    ],
)
def test_errors_name_the_value_and_what_would_be_right(node: str, says: str) -> None:
    """An error at each setting that cannot be."""
    with pytest.raises(airlane.ScenarioError, match=says):
        airlane.loads(SCENARIO.replace("[[flow]]", f"secondary_node = {node}\n[[flow]]")).run()
