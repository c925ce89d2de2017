"""UEs with measurement gaps: what they cost, what has none of them, and what is rejected."""

from __future__ import annotations

import numpy as np
import pytest

from airlane.native import ScenarioError
from airlane.scenario import Scenario, loads

PHONE = """
network = "typical"
run = { duration = "4 s", warmup = "1 s" }
output = { ran_log = true }
[channel]
fading = "none"
[[cell]]
name = "a"
[[cell]]
name = "b"
frequency = "1.84 GHz"
uplink_frequency = "1.745 GHz"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
cell = "a"
GAPS
[[flow]]
to = "phone"
"""

NR = PHONE.replace("typical", "nr-typical-fr1").replace(
    'frequency = "1.84 GHz"\nuplink_frequency = "1.745 GHz"', 'frequency = "3.7 GHz"'
)

NSA = """
network = "nsa-fr1"
run = { duration = "4 s", warmup = "1 s" }
output = { ran_log = true }
[[cell]]
name = "lte"
[[cell]]
name = "nr"
radio = "nr"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
secondary_node = { cells = ["nr"] }
GAPS
[[flow]]
to = "phone"
"""

DEFAULT = 'measurement_gaps = { offset = "13 ms" }'


def _with(text: str, gaps: str) -> Scenario:
    return loads(text.replace("GAPS", gaps), "x.toml")


def _in_gaps(scenario: Scenario, gap_ms: tuple[float, float, float]) -> dict[str, int]:
    """Blocks of each cell, and "lost" for those with a part in a gap: period, length and offset in ms."""
    period, length, offset = gap_ms
    log = scenario.run().tables["ran_log"].to_pandas()
    slot_ms = np.where(log.cell.isin(["nr"]), 0.5, 1.0)
    since = (log.slot * slot_ms - offset) % period
    found = {str(cell): int(count) for cell, count in log.cell.value_counts().items()}
    return {**found, "lost": int(((since < length) | (since + slot_ms > period)).sum())}


def test_without_the_key_a_resolved_scenario_says_nothing_of_gaps() -> None:
    assert "gaps" not in _with(PHONE, "").resolved.json
    assert '"repetition":"40 ms"' in _with(PHONE, DEFAULT).resolved.json.replace(": ", ":")


def test_a_gap_of_lte_costs_ten_subframes_of_forty() -> None:
    flow = 'to = "phone"\ntransport = "udp"\napp = { kind = "cbr", rate = "120 Mbit/s", payload = "1400 B" }'
    text = PHONE.replace('to = "phone"', flow)
    rates = [_with(text, gaps).run().tables["flows"]["goodput_mbps"][0].as_py() for gaps in ("", DEFAULT)]
    assert rates[1] / rates[0] == pytest.approx(0.75, abs=0.01)


def test_no_block_of_a_cell_is_in_a_gap() -> None:
    assert _in_gaps(_with(PHONE, ""), (40, 6, 13))["lost"] > 100
    found = _in_gaps(_with(PHONE, DEFAULT), (40, 6, 13))
    assert found["lost"] == 0
    assert found["a"] > 1000


def test_gaps_stop_all_carriers() -> None:
    text = PHONE.replace('cell = "a"', 'carriers = ["a", "b"]')
    found = _in_gaps(_with(text, DEFAULT), (40, 6, 13))
    assert found["lost"] == 0
    assert min(found["a"], found["b"]) > 1000


def test_gaps_stop_both_cell_groups() -> None:
    assert _in_gaps(_with(NSA, ""), (80, 6, 33))["lost"] > 100
    gaps = 'measurement_gaps = { repetition = "80 ms", offset = "33 ms" }'
    found = _in_gaps(_with(NSA, gaps), (80, 6, 33))
    assert found["lost"] == 0
    assert found["nr"] > 1000
    assert found["lte"] > 100


def test_a_datagram_waits_for_the_end_of_what_a_gap_takes() -> None:
    """10 ms more in LTE: those whose blocks would be acknowledged in the gap, and the gap."""
    flow = 'to = "phone"\ntransport = "udp"\napp = { kind = "cbr", rate = "100 kbit/s", payload = "115 B" }'
    text = PHONE.replace('to = "phone"', flow)
    delays = []
    for gaps in ("", DEFAULT):
        flows = _with(text, gaps).run().tables["flows"]
        delays.append([flows[f"owd_{at}_ms"][0].as_py() for at in ("p50", "max")])
    (median, high), (median_with, high_with) = delays
    assert median_with - median == pytest.approx(0, abs=1)
    assert high_with - high == pytest.approx(10, abs=1)


@pytest.mark.parametrize(("start_m", "heading"), [(250, 0), (1_000, 180)])
def test_gaps_begin_and_end_with_the_signal(start_m: int, heading: int) -> None:
    """46 dBm over 1200 subcarriers less 15.3 dB and 37.6 dB per decade: -99 dBm at 427 m, -101 dBm at 482 m.

    Filter, time to trigger and message take up to 1.5 s, or 60 m.
    """
    keys = f'mobility = {{ kind = "line", heading = "{heading} deg", speed = "40 m/s" }}\n'
    text = PHONE.replace('["150 m"', f'["{start_m} m"').replace("GAPS", f"{keys}GAPS").replace("4 s", "16 s")
    gaps = 'measurement_gaps = { offset = "13 ms", only_below = "-100 dBm" }'
    log = _with(text, gaps).run().tables["ran_log"].to_pandas()
    in_gap = log[((log.slot - 13) % 40) < 6]
    assert len(in_gap) > 100
    early, late = (in_gap.t_s.min(), in_gap.t_s.max())
    if heading == 0:
        assert early < 0.1
        assert 482 < start_m + 40 * late < 542
        assert late < log.t_s.max() - 4
    else:
        assert 367 < start_m - 40 * early < 427
        assert late > log.t_s.max() - 0.1


@pytest.mark.parametrize(
    ("text", "gaps", "told"),
    [
        (PHONE, '{ repetition = "50 ms" }', "the gap patterns of LTE have 40 ms, 80 ms"),
        (PHONE, '{ repetition = "20 ms" }', "the gap patterns of LTE have 40 ms, 80 ms"),
        (NR, '{ repetition = "30 ms" }', "the gap patterns of NR have 20 ms, 40 ms, 80 ms, 160 ms"),
        (PHONE, '{ length = "3 ms" }', "the gap patterns of LTE have 6 ms"),
        (NR, '{ length = "5 ms" }', "the gap patterns of NR have 1.5 ms, 3 ms, 3.5 ms, 4 ms, 5.5 ms, 6 ms"),
        (PHONE, '{ offset = "40 ms" }', "it must be a whole number of milliseconds from 0 ms to 39 ms"),
        (PHONE, '{ offset = "2.5 ms" }', "it must be a whole number of milliseconds from 0 ms to 39 ms"),
        (PHONE, "{ every = 1 }", "unknown key `every`; known: repetition, length, offset, only_below"),
        (PHONE, '{ hysteresis = "16 dB" }', "it must be from 0 dB to 15 dB"),
        (NSA, '{ only_below = "-100 dBm" }', "leave it out: gaps all the time stop both cell groups"),
        (
            PHONE.replace('name = "a"\n', 'name = "a"\nmac = { cqi_period = "40 ms" }\n'),
            "{}",
            'each mac.cqi_period of cell "a", 40 ms, could be in a gap',
        ),
        (
            PHONE.replace('name = "a"\n', 'name = "a"\nuplink = { scheduling_request_period = "80 ms" }\n'),
            "{}",
            'each uplink.scheduling_request_period of cell "a", 80 ms, could be in a gap; use a period there',
        ),
    ],
)
def test_a_mistake_is_told_with_its_remedy(text: str, gaps: str, told: str) -> None:
    with pytest.raises(ScenarioError) as error:
        _with(text, f"measurement_gaps = {gaps}").resolved  # noqa: B018
    assert told in str(error.value)
    assert "ue.0.measurement_gaps" in str(error.value)


def test_a_ue_that_stays_in_nr_may_have_any_of_its_patterns() -> None:
    text = PHONE.replace(PHONE[PHONE.index("frequency") : PHONE.index("[[ue]]")], 'radio = "nr"\n')
    text = text.replace('cell = "a"', 'cell = "b"')
    _with(text, 'measurement_gaps = { repetition = "160 ms", length = "1.5 ms" }').resolved  # noqa: B018
