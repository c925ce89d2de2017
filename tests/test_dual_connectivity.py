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


def test_a_phone_of_nr_dc_has_a_cell_in_each_frequency_range() -> None:
    """The preset brings a cell in FR1 and one in FR2, and the phone has FR2 from the start."""
    scenario = airlane.loads(SCENARIO.replace("nsa-fr1", "nrdc"))
    cells = scenario.settings["cell"]
    assert [(cell["frequency"], cell["resource_blocks"]) for cell in cells] == [
        ("3.5 GHz", 273),  # TS 38.101-1 table 5.3.2-1: 100 MHz at 30 kHz
        ("28 GHz", 66),  # TS 38.101-2 table 5.3.2-1: 100 MHz at 120 kHz
    ]
    results = scenario.run()
    steps = results.tables["scg"].to_pylist()
    assert [(row["t_s"], row["cell"], row["step"]) for row in steps] == [(0.0, "fr2", "added")]
    assert float(results.tables["flows"]["goodput_mbps"][0].as_py()) > 300.0


@pytest.mark.parametrize(
    ("network", "keys", "says"),
    [
        ("nrdc", 'secondary_node = { cells = ["fr1"] }', "a cell at 3.5 GHz cannot be the secondary node"),
        ("nrdc", 'cell = "fr2"', "not a cell of NR in FR1"),
        ("nrdc", 'secondary_node = { master = "lte" }', "no cell of LTE can be the master node"),
        ("nsa-fr2", 'secondary_node = { master = "nr" }', "no cell of NR in FR1 can be the master node"),
        ("nsa-fr1", 'secondary_node = { master = "nr" }', "a cell at 3.5 GHz cannot be the secondary node"),
        ("nrdc", 'secondary_node = { uplink = "up" }', "known: lte, mcg, nr, scg"),
        ("nrdc", "fixed_mcs = 5", "leave out `fixed_mcs`"),
    ],
)
def test_errors_of_nr_dc_name_what_would_be_right(network: str, keys: str, says: str) -> None:
    """The master node is in FR1, the secondary node in FR2."""
    with pytest.raises(airlane.ScenarioError, match=says):
        airlane.loads(SCENARIO.replace("nsa-fr1", network).replace("[[flow]]", f"{keys}\n[[flow]]")).run()


def test_old_names_of_the_uplink_are_those_of_the_cell_groups() -> None:
    """`nr` and `lte`, the names of EN-DC."""
    for old, new in (("nr", "scg"), ("lte", "mcg")):
        node = f'secondary_node = {{ uplink = "{old}" }}\n[[flow]]'
        settings = airlane.loads(SCENARIO.replace("[[flow]]", node)).settings
        assert settings["ue"][0]["secondary_node"]["uplink"] == new


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
