"""The uplink at the power limit of a UE: grants, what is printed, and the grid of the manual in small."""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType

import pytest

import airlane
from airlane.radio.uplink_power import notes, uplink_power
from airlane.runs.summary import summary_rows
from conftest import ROOT


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("uplink_grid", ROOT / "tools/uplink_grid.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["uplink_grid"] = module
    spec.loader.exec_module(module)
    return module


GRID = _tool()

FAR = """
network = "{network}"
[run]
duration = "4 s"
[[cell]]
name = "cell"
{cell}
[[ue]]
name = "phone"
position = ["{metres} m", "0 m"]
[[flow]]
name = "flow"
to = "phone"
direction = "uplink"
"""


@pytest.mark.parametrize(
    ("network", "metres", "widths"),
    [
        ("nr-typical-fr1", 600, (51, 106, 273)),
        ("nr-typical-fr1", 750, (24, 133, 217)),
        ("typical", 1500, (25, 50, 100)),
    ],
)
@pytest.mark.parametrize(("direction", "transport"), [("uplink", "udp"), ("downlink", "tcp")])
def test_a_wider_carrier_gives_no_less(
    network: str, metres: int, widths: tuple[int, ...], direction: str, transport: str
) -> None:
    row = GRID.Row(network, metres, direction, transport)
    points = [GRID.measured(row, blocks, 4) for blocks in widths]
    assert not list(GRID.falls(points))
    assert all(point.goodput.mean > 0.05 and point.uplink_bler < 0.5 for point in points), points


@pytest.mark.parametrize(
    ("network", "metres", "widths"), [("typical", 2200, (15, 100)), ("nr-typical-fr1", 1000, (11, 273))]
)
def test_a_wider_carrier_gives_more_prbs_to_choose_from(
    network: str, metres: int, widths: tuple[int, int]
) -> None:
    """Beyond full power on one PRB, the mean of a wide carrier would give less than that of a narrow one."""
    row = GRID.Row(network, metres, "uplink", "udp")
    narrow, wide = (GRID.measured(row, blocks, 8).goodput for blocks in widths)
    assert wide.mean - wide.half_width > narrow.mean + narrow.half_width


def test_falls_are_found() -> None:
    """The check can fail: without reports, the widest carrier gives nothing."""
    points = []
    for blocks in (51, 273):
        cell = f'resource_blocks = {blocks}\nmac = {{ power_headroom = "none" }}'
        results = airlane.loads(FAR.format(network="nr-typical-fr1", metres=600, cell=cell)).run(runs=3)
        goodput = GRID.stats.estimate(results.flows["goodput_mbps"].to_numpy())
        points.append(GRID.Point(blocks, goodput, 0.0))
    assert [*GRID.falls(points)]


def test_a_limited_ue_is_named_and_one_with_enough_power_is_not() -> None:
    def of(metres: int) -> airlane.Results:
        return airlane.loads(FAR.format(network="typical", metres=metres, cell="resource_blocks = 50")).run()

    far, near = of(1500), of(50)
    [line] = notes(far)
    share = uplink_power(far)[0].limited
    assert share > 0.5
    assert line == f"phone: uplink limited by power {100 * share:.0f} % of the time"
    assert not list(notes(near))
    assert uplink_power(near)[0].limited == 0.0
    # A whole grant of 46 PRBs asks for more power than there is, by more than a level.
    assert uplink_power(far)[0].headroom_db < -1.0 < uplink_power(near)[0].headroom_db
    [row] = summary_rows(far)
    assert row["uplink_power_limited"] == share
    cells = far.cells.to_pylist()[0]
    assert cells["power_limited"] == share
    assert cells["headroom_db"] == pytest.approx(uplink_power(far)[0].headroom_db)


def test_without_power_control_no_ue_is_limited() -> None:
    results = airlane.loads(FAR.format(network="lena-3.37", metres=400, cell="resource_blocks = 50")).run()
    assert not list(notes(results))
    assert results.cells.to_pylist()[0]["headroom_db"] != results.cells.to_pylist()[0]["headroom_db"]  # NaN


def test_the_log_has_headroom_and_expectation() -> None:
    text = FAR.format(network="nr-typical-fr1", metres=600, cell="resource_blocks = 106")
    log = airlane.loads(text + "[output]\nran_log = true\n").run().ran_log.to_pandas()
    up = log[log.direction == "uplink"]
    first = up[up.transmission == 1]
    assert up.headroom_db.notna().all()
    assert log[log.direction == "downlink"].headroom_db.isna().all()
    assert first.expected_bler.between(0.0, 1.0).all()
    assert up[up.transmission > 1].expected_bler.isna().all()
    # At MCS 0 nothing is granted that is expected to fail, after the first block, which has the first report.
    lowest = first[(first.mcs == 0) & (first.tb_bytes > 32)]
    assert len(lowest) > 100
    assert (lowest.expected_bler <= 0.5).all()


@pytest.mark.parametrize(
    ("key", "value", "known"),
    [
        ("phr_periodic_timer", "30 ms", "10 ms"),
        ("phr_prohibit_timer", "infinity", "0 ms"),
        ("dl_pathloss_change", "2 dB", "infinity"),
    ],
)
def test_values_that_the_standard_does_not_have_are_refused(key: str, value: str, known: str) -> None:
    cell = f'mac = {{ power_headroom = {{ kind = "report", {key} = "{value}" }} }}'
    with pytest.raises(airlane.ScenarioError, match=f"{key}.*{value}") as error:
        airlane.loads(FAR.format(network="typical", metres=100, cell=cell)).run()
    assert known in str(error.value)
