"""UEs with a secondary node: the table of their steps, and the page of a run."""

from __future__ import annotations

import pyarrow as pa
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
    """A band for the phone's cell of NR; with many phones, how many have one."""
    from airlane.pages.run_chart import run_chart

    many = SCENARIO.replace('name = "phone"', 'name = "phone"\ncount = 25').replace("5 s", "200 ms")
    for text, title in ((SCENARIO, "secondary cells in use"), (many, "with a secondary cell group")):
        titles = [panel.title for panel in run_chart(airlane.loads(text).run()).panels]
        assert title in titles


def test_spans_of_cells_end_with_their_use_or_with_the_run() -> None:
    """By hand: an SCell used from 1 to 2 s, and again from 4 s to the end; a PSCell that fails at 3 s."""
    from airlane.pages.cell_band import cell_spans

    carriers = [(0.9, "commanded"), (1.0, "activated"), (2.0, "deactivated"), (4.0, "activated")]
    scg = [(0.0, "added"), (2.5, "reported"), (3.0, "failed")]
    tables = {
        name: pa.Table.from_pylist([{"t_s": t, "ue": "a", "cell": cell, "step": step} for t, step in rows])
        for name, cell, rows in (("carriers", "b7", carriers), ("scg", "n78", scg))
    }
    assert cell_spans(tables, 5.0) == {
        ("a", "n78"): [(0.0, 3.0)],
        ("a", "b7"): [(1.0, 2.0), (4.0, 5.0)],
    }


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


def test_a_connection_that_is_released_is_rejected_with_its_remedy() -> None:
    """DRX alone is possible."""
    cell = '[[cell]]\nname = "lte"\ndrx = { kind = "cycles" }\n[[cell]]\nname = "nr"\nradio = "nr"\n[[ue]]'
    asleep = SCENARIO.replace("[[ue]]", cell)
    assert airlane.loads(asleep).run().tables["energy"].num_rows == 1
    with pytest.raises(airlane.ScenarioError, match="`drx` alone"):
        airlane.loads(asleep.replace("name = ", 'rrc = "on-demand"\nname = ', 2)).run()
