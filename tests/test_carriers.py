"""UEs with several carriers: the bundled scenarios, their tables, and what is rejected."""

from __future__ import annotations

from itertools import pairwise

import pytest

import airlane
from airlane.native import ScenarioError
from airlane.scenario import loads
from airlane.validation.carriers import CarrierCell, activation_times_ms

PHONE = """
network = "typical"
[run]
duration = "2 s"
[[cell]]
name = "a"
[[cell]]
name = "b"
frequency = "1.84 GHz"
uplink_frequency = "1.745 GHz"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
carriers = ["a", "b"]
[[flow]]
to = "phone"
"""


_LISTED = 'carriers = ["a", "b"]'


def test_secondary_cells_come_and_go_with_the_data() -> None:
    output = airlane.load(airlane.example("lte-3cc")).run()
    changes = output.tables["carriers"]
    table = changes.to_pylist()
    active = [row["active_carriers"] for row in table]
    assert max(active) == 3
    assert min(active) == 1
    assert all(one["t_s"] <= other["t_s"] for one, other in pairwise(table))
    # Each of four downloads activates both, and the pause is longer than the timer; the last may not end.
    steps = [(row["cell"], row["step"]) for row in table]
    assert steps.count(("band 3", "activated")) == steps.count(("band 7", "activated")) == 4
    assert all(23.0 < ms <= 25.0 for ms in activation_times_ms(changes))
    cells = output.tables["cells"].to_pylist()
    assert all(cell["tb_sent"] > 1000 for cell in cells)
    # The uplink is with the primary cell.
    assert [cell["tb_sent_uplink"] > 0 for cell in cells] == [True, False, False]


def test_two_carriers_of_nr_carry_more_than_one() -> None:
    both = airlane.load(airlane.example("nr-2cc")).set({"run.duration": "4 s"})
    one = loads(both.text.replace('carriers = ["n78", "n77"]', 'cell = "n78"'), "one.toml")
    one = one.set({"run.duration": "4 s"})
    goodput = [scenario.run().tables["flows"]["goodput_mbps"][0].as_py() for scenario in (both, one)]
    # 162 resource blocks of 30 kHz in 60 MHz, next to 273.
    assert goodput[0] / goodput[1] == pytest.approx((273 + 162) / 273, rel=0.1)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('carriers = ["a", "b"]', 'carriers = ["a", "c"]', "no cell has this name"),
        ('carriers = ["a", "b"]', 'carriers = ["a"]', "a UE with one carrier has no SCells"),
        ('carriers = ["a", "b"]', 'carriers = ["a", "a"]', "this cell is listed twice"),
        ('carriers = ["a", "b"]', 'carriers = ["a", "b"]\ncell = "a"', "leave out `cell`"),
        ('carriers = ["a", "b"]', 'cell = "a"\nscells = "always-active"', "the UE has one carrier"),
        ('frequency = "1.84 GHz"\n', "", "another carrier of the UE has the same frequency"),
        ('name = "b"', 'name = "b"\nposition = ["100 m", "0 m"]', "the cell is at another site"),
        ('uplink_frequency = "1.745 GHz"', 'radio = "nr"\nbandwidth = "20 MHz"', "cannot be aggregated"),
        ('name = "b"', 'name = "b"\ninterferer = true', "this cell is an interferer"),
        (
            "[[ue]]",
            'antenna = { kind = "sector", azimuth = "0 deg" }\n[handover]\n[[ue]]',
            "the cell has another direction than the primary cell",
        ),
        (
            "[[ue]]",
            '[handover]\n[[cell]]\nname = "c"\n'
            'frequency = "1.84 GHz"\nuplink_frequency = "1.745 GHz"\n[[ue]]',
            'cells "b" and "c" could both be an SCell with cell "a"',
        ),
        ("[[ue]]", "[output]\nenergy = true\n[[ue]]", "the energy of several carriers"),
        ("[[flow]]", '[ue.scells]\ndeactivation_timer = "100 ms"\n[[flow]]', "20, 40, 80, 160, 320"),
        ("[[flow]]", '[ue.scells]\nactivation_delay = "40 ms"\n[[flow]]', "from 8 ms to 34 ms"),
        ('carriers = ["a", "b"]', 'uplink_carriers = ["a", "b"]', "the UE has one carrier"),
        (_LISTED, "scell_events = {}", "the UE has one carrier"),
        (
            _LISTED,
            f'{_LISTED}\nscell_events = {{ add_above = "-120 dBm" }}',
            "it must be below `add_above`, -120 dBm",
        ),
        (
            _LISTED,
            f'{_LISTED}\nuplink_carriers = ["b", "a"]',
            "the uplink of the primary cell is not the first",
        ),
        (_LISTED, f"{_LISTED}\nuplink_carriers = []", 'name the primary cell first: "a"'),
        (_LISTED, f'{_LISTED}\nuplink_carriers = ["a", "c"]', "`carriers` has no cell of this name"),
        (_LISTED, f'{_LISTED}\nuplink_carriers = ["a", "a"]', "this cell is listed twice"),
        (
            '"1.745 GHz"\n[[ue]]',
            '"1.745 GHz"\nmac = { power_headroom = "none" }\n[[ue]]\nuplink_carriers = ["a", "b"]',
            'cell "b" does not know the power of the UE',
        ),
    ],
)
def test_a_mistake_is_told_with_its_remedy(old: str, new: str, told: str) -> None:
    assert old in PHONE
    with pytest.raises(ScenarioError) as error:
        loads(PHONE.replace(old, new, 1), "x.toml").resolved  # noqa: B018
    assert told in str(error.value)


def test_the_uplink_is_on_the_carriers_that_are_named() -> None:
    text = PHONE.replace('to = "phone"', 'to = "phone"\ndirection = "uplink"')
    one, both = (loads(text.replace(_LISTED, f"{_LISTED}\n{keys}"), "x.toml") for keys in ("", _UPLINK))
    outputs = [scenario.run() for scenario in (one, both)]
    blocks = [output.tables["cells"]["tb_sent_uplink"].to_pylist() for output in outputs]
    assert blocks[0][1] == 0
    assert all(sent is not None and sent > 500 for sent in blocks[1])
    # What waits in the uplink activates the second carrier: there are acknowledgements in the downlink only.
    assert [output.tables["carriers"].num_rows for output in outputs] == [0, 2]
    goodput = [output.tables["flows"]["goodput_mbps"][0].as_py() for output in outputs]
    assert goodput[1] > 1.5 * goodput[0]


_LOW_AND_HIGH = PHONE.replace("1.84 GHz", "3.6 GHz").replace("1.745 GHz", "3.5 GHz").replace("2 s", "12 s")


@pytest.mark.parametrize(("start_m", "heading"), [(300, 0), (900, 180)])
def test_an_scell_comes_and_goes_with_its_signal(start_m: int, heading: int) -> None:
    """The higher carrier ends between 400 m and 520 m, where the phone leaves it, or comes to it."""
    keys = (
        f'mobility = {{ kind = "line", heading = "{heading} deg", speed = "50 m/s" }}\n'
        'scell_events = { add_above = "-100 dBm", release_below = "-102 dBm" }\n'
    )
    text = _LOW_AND_HIGH.replace('["150 m"', f'["{start_m} m"').replace("[[flow]]", f"{keys}[[flow]]")
    text = text.replace("[[cell]]", '[channel]\nfading = "none"\n[[cell]]', 1)
    output = loads(text, "x.toml").set({"output.ran_log": True}).run()
    rows = output.tables["carriers"].to_pylist()
    steps = [row["step"] for row in rows]
    used = output.tables["ran_log"].to_pandas().query("cell == 'b'")["t_s"]
    if heading == 0:
        assert steps == ["configured", "commanded", "activated", "deactivated", "released"]
        assert rows[0]["t_s"] == 0
        assert 300 + 50 * rows[-1]["t_s"] == pytest.approx(535, abs=35)
        assert rows[-1]["t_s"] - 0.2 < used.max() <= rows[-1]["t_s"] + 0.02
    else:
        assert steps == ["configured", "commanded", "activated"]
        assert 900 - 50 * rows[0]["t_s"] == pytest.approx(415, abs=35)
        assert used.min() >= rows[-1]["t_s"]


_UPLINK = 'uplink_carriers = ["a", "b"]'


def test_without_several_carriers_a_resolved_scenario_says_nothing_of_them() -> None:
    text = loads(PHONE.replace('carriers = ["a", "b"]\n', ""), "x.toml").resolved.json
    assert "carriers" not in text
    assert "scells" not in text


def test_always_active_carriers_have_no_changes() -> None:
    keys = (
        'bandwidth = "5 MHz"',
        'bandwidth = "5 MHz"\nfrequency = "1.84 GHz"\nuplink_frequency = "1.745 GHz"',
    )
    app = '{ kind = "cbr", rate = "10 Mbit/s", payload = "1000 B" }'
    output = CarrierCell("typical", keys, app).scenario().run()
    assert output.tables["carriers"].num_rows == 0
