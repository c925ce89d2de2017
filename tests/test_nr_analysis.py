"""The formulas of NR for rates and delays, by hand."""

from __future__ import annotations

from typing import Any

import pytest

from airlane import nr
from airlane.radio.nr import Processing

NONE = Processing(sender=0.0, receiver=0.0, feedback=0.0, retransmission=0.0)


@pytest.mark.parametrize(
    ("given", "mbps"),
    [
        # 4 x 8 x 948/1024 x 273 x 12 x 28,000 x 0.86: 100 MHz of FR1 with 256QAM.
        ({"n_prb": 273, "subcarrier_spacing_khz": 30, "n_layers": 4, "modulation_order": 8}, 2337.0001),
        # The same in the uplink with two layers: 2 x 8 x 948/1024 x 273 x 12 x 28,000 x 0.92.
        (
            {
                "n_prb": 273,
                "subcarrier_spacing_khz": 30,
                "n_layers": 2,
                "modulation_order": 8,
                "direction": "uplink",
            },
            1250.02332,
        ),
        # 20 MHz of 15 kHz: 106 PRB, 14,000 symbols in a second, 64QAM, one layer, scaling 0.75.
        (
            {
                "n_prb": 106,
                "subcarrier_spacing_khz": 15,
                "n_layers": 1,
                "modulation_order": 6,
                "scaling_factor": 0.75,
            },
            63.802029,
        ),
        # 400 MHz of FR2: 264 PRB, 112,000 symbols, 64QAM, two layers, overhead 0.18.
        (
            {
                "n_prb": 264,
                "subcarrier_spacing_khz": 120,
                "n_layers": 2,
                "modulation_order": 6,
                "frequency_range": 2,
            },
            3232.26288,
        ),
    ],
)
def test_the_maximum_data_rate(given: dict[str, Any], mbps: float) -> None:
    assert nr.max_data_rate_bps(**given) / 1e6 == pytest.approx(mbps, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_prb", 276),
        ("subcarrier_spacing_khz", 20),
        ("n_layers", 9),
        ("modulation_order", 3),
        ("scaling_factor", 0.5),
        ("direction", "down"),
        ("frequency_range", 3),
        ("overhead", 1.0),
    ],
)
def test_a_value_out_of_range_is_named(name: str, value: object) -> None:
    good: dict[str, Any] = {
        "n_prb": 1,
        "subcarrier_spacing_khz": 15,
        "n_layers": 1,
        "modulation_order": 2,
    }
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        nr.max_data_rate_bps(**(good | {name: value}))


def test_the_wait_for_a_slot_by_hand() -> None:
    # FDD: half a slot on average, and the slot.
    assert latency(15) == pytest.approx(1.5, abs=1e-3)
    # DDDSU at 30 kHz. Downlink: four of five arrivals wait half a slot for D or S; those in the slot before U
    # wait for one and a half. On average 0.7 slots, and the slot: 1.7 x 0.5 ms.
    assert latency(30, "DDDSU") == pytest.approx(0.85, abs=1e-3)
    # Uplink: the waits for U are 0.5 to 4.5 slots, 2.5 on average: 3.5 x 0.5 ms.
    assert latency(30, "DDDSU", direction="uplink") == pytest.approx(1.75, abs=1e-3)
    # Without a downlink in the special slot: waits of 0.5, 0.5, 2.5, 1.5, 0.5 slots: 1.1, and the slot.
    assert latency(30, "DDDSU", special_downlink_symbols=0) == pytest.approx(1.05, abs=1e-3)


def test_a_retransmission_waits_for_the_feedback() -> None:
    # FDD at 15 kHz: the block ends with a slot, the feedback is the first symbol of the next, the block is
    # repeated in the slot after that, and ends two slots after the first.
    assert latency(15, retransmission_probability=1.0) == pytest.approx(3.5, abs=1e-3)
    assert latency(15, retransmission_probability=0.1) == pytest.approx(1.7, abs=1e-3)
    # DDDSU: blocks of slots 0 to 3 (weights 2, 1, 1, 1 of 5) have feedback in slot 4 and are repeated in slot
    # 5: 5, 4, 3 and 2 slots later, 19/5 on average.
    expected_ms = 0.85 + (2 * 5 + 4 + 3 + 2) / 5 * 0.5
    assert latency(30, "DDDSU", retransmission_probability=1.0) == pytest.approx(expected_ms, abs=1e-3)


def test_processing_is_half_of_the_times_of_the_ue() -> None:
    # 30 kHz, capability 1: N1 = 10 and N2 = 12 symbols of 35.677 us (TS 38.214 tables 5.3-1 and 6.4-1).
    times = nr.processing_by_capability(30)
    assert times.sender == pytest.approx(6 * 2.192 / 61.44, rel=1e-9)
    assert times.receiver == pytest.approx(5 * 2.192 / 61.44, rel=1e-9)
    assert latency(30, processing=times) == pytest.approx(0.75 + times.sender + times.receiver, abs=1e-3)
    with pytest.raises(ValueError, match="capability 2 is not defined at 120 kHz"):
        nr.processing_by_capability(120, 2)


@pytest.mark.parametrize(
    "given",
    [
        {"pattern": "DDDS"},
        {"pattern": ""},
        {"pattern": "DXU"},
        {"direction": "up"},
        {"retransmission_probability": 1.5},
        {"special_downlink_symbols": 14},
    ],
)
def test_a_pattern_without_both_directions_is_an_error(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(ValueError, match=f"^{name}: expected"):
        latency(30, **({"pattern": "DDDSU"} | given))


def latency(spacing_khz: int, pattern: str = "FDD", **given: Any) -> float:
    asked: dict[str, Any] = {"subcarrier_spacing_khz": spacing_khz, "pattern": pattern, "processing": NONE}
    return nr.user_plane_latency_ms(**(asked | given))
