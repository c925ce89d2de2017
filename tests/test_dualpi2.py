"""The validation of DualPI2: set-ups, and figures on tables made by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import pyarrow as pa
import pytest

from airlane import native
from airlane.validation import dualpi2
from airlane.validation.claims import Family, families
from airlane.validation.measures import MEASURES

DECLARED = [family for family in families() if family.id.startswith(("dualpi2/", "prague/"))]


@dataclass
class Output:
    """The part of an output that figures read."""

    tables: dict[str, pa.Table]


def output(**columns: list[float]) -> native.Output:
    return cast(native.Output, Output({"flows": pa.table(columns)}))


@pytest.mark.parametrize("family", DECLARED, ids=lambda family: family.id)
def test_each_row_has_a_scenario_with_two_queues(family: Family) -> None:
    plan = MEASURES[family.measure](family)
    assert plan.cases
    for case in plan.cases:
        for resolved, _ in case.jobs(family):
            assert '"kind": "dualpi2"' in resolved.json.replace('":"', '": "')


def test_the_law_compares_both_probabilities() -> None:
    (first, *_) = dualpi2.law(DECLARED[0])
    # The probe: 40 of 200 marked, 20 %, so (0.2 / 2)^2 = 1 %. The others: 5 marked and 1 lost of 600.
    made = output(
        marked=[40.0, 3.0, 2.0], packets_delivered=[200.0, 299.0, 300.0], packets_lost=[0.0, 1.0, 0.0]
    )
    assert first.figures(made) == pytest.approx((1.0, 1.0))


def test_more_flows_share_a_longer_path() -> None:
    assert dualpi2.Point(12.0, 10.0).flows == 8
    # 40 Mbit/s for 100 ms and the target of 15 ms are 383 packets, in windows of 5.
    assert dualpi2.Point(40.0, 100.0).flows == 77


def test_the_pairs_are_the_rows_of_two_cubic_flows() -> None:
    (family,) = (family for family in DECLARED if family.id == "dualpi2/cubic-pairs")
    pairs = dualpi2.pairs(family)
    assert len(pairs) == 9
    name, pair, share = pairs[0]
    assert (name, pair.rtts_ms) == ("50mbps-10ms-10ms", (10.0, 10.0))
    assert share == pytest.approx(100 * 23.11 / (23.11 + 24.18))
    delays = {flow.get("server_delay") for _, pair, _ in pairs for flow in pair.scenario().settings["flow"]}
    assert delays == {None, "5 ms", "30 ms", "75 ms"}


def test_the_rest_of_a_link_is_arithmetic() -> None:
    (_, half, _) = dualpi2.rest(DECLARED[0])
    # 10 Mbit/s of payload are 10.19 Mbit/s of packets; 9.81 Mbit/s are left, 1448 of 1500 bytes payload.
    left, ours = half.figures(output(goodput_mbps=[10.0, 9.0]))
    assert left == pytest.approx((20 - 10 * 1500 / 1472) * 1448 / 1500)
    assert ours == 9.0
