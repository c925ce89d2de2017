"""The user-plane latency of an unloaded NR cell, by analysis.

The method is that of 3GPP's self-evaluation for IMT-2020 (TR 37.910 clause 5.7.1.1, unverified): the
processing at the sender, the wait for the next slot of the direction, the transmission, the processing at the
receiver, and with the probability of a retransmission the wait for the feedback and all of this again.
Packets arrive at any time of a period with equal probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Processing", "processing_by_capability", "user_plane_latency_ms"]

_SYMBOLS = 14
_SLOTS_PER_MS = {15: 1, 30: 2, 60: 4, 120: 8}
_SAMPLES = 1000
"""Arrivals per slot over which the mean is taken: its error is below a thousandth of a slot."""

# Symbols by subcarrier spacing. PDSCH: TS 38.214 v18.7.0 tables 5.3-1 (with DM-RS in front only) and 5.3-2.
# PUSCH: tables 6.4-1 and 6.4-2.
_N1 = {1: {15: 8.0, 30: 10.0, 60: 17.0, 120: 20.0}, 2: {15: 3.0, 30: 4.5, 60: 9.0}}
_N2 = {1: {15: 10.0, 30: 12.0, 60: 23.0, 120: 36.0}, 2: {15: 5.0, 30: 5.5, 60: 11.0}}

_SYMBOL_MS = 2192.0 / 30720.0
"""Duration of a symbol at 15 kHz in T_proc,1 and T_proc,2: (2048 + 144) x 64 T_c."""

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Processing:
    """Processing times in ms.

    Attributes
    ----------
    sender
        From the arrival of a packet until it can be in a block.
    receiver
        From the end of a block until the packet leaves.
    feedback
        From the end of a block until its feedback can be sent.
    retransmission
        From the end of the feedback until the block can be repeated.
    """

    sender: float
    receiver: float
    feedback: float
    retransmission: float


def processing_by_capability(subcarrier_spacing_khz: int, capability: int = 1) -> Processing:
    """Processing times as in TR 37.910 (unverified): half of T_proc,2 before a block, half of T_proc,1 after.

    Parameters
    ----------
    subcarrier_spacing_khz
        15, 30, 60, or 120 with capability 1.
    capability
        Processing capability of the UE, 1 or 2 (TS 38.214 clauses 5.3 and 6.4). The gNB is as fast.

    Raises
    ------
    ValueError
        If there is no such capability at this spacing.

    >>> round(processing_by_capability(30).sender, 4)
    0.2141
    """
    known = _N1.get(capability, {})
    if subcarrier_spacing_khz not in known:
        raise ValueError(
            f"subcarrier_spacing_khz: capability {capability} is not defined at {subcarrier_spacing_khz} kHz"
        )
    symbol_ms = _SYMBOL_MS * 15.0 / subcarrier_spacing_khz
    receives = known[subcarrier_spacing_khz] * symbol_ms / 2.0
    sends = _N2[capability][subcarrier_spacing_khz] * symbol_ms / 2.0
    return Processing(sender=sends, receiver=receives, feedback=2.0 * receives, retransmission=2.0 * sends)


def user_plane_latency_ms(
    *,
    subcarrier_spacing_khz: int,
    pattern: str = "FDD",
    special_downlink_symbols: int = 10,
    direction: str = "downlink",
    retransmission_probability: float = 0.0,
    processing: Processing | None = None,
) -> float:
    """Mean one-way delay between the packet layers of gNB and UE, without load.

    A block takes a slot. In the downlink, a special slot carries a block if it has symbols for it. In the
    uplink, the UE has a configured grant in each uplink slot, and the feedback is a grant for the
    retransmission. Feedback takes a symbol: at the begin of a slot of its direction.

    Parameters
    ----------
    subcarrier_spacing_khz
        15, 30, 60 or 120.
    pattern
        `FDD`, or the slots of TDD, such as `DDDSU`.
    special_downlink_symbols
        Downlink symbols of an S slot; 0 if it carries no block of the downlink.
    direction
        `downlink` or `uplink`.
    retransmission_probability
        Probability of one retransmission, such as 0 or 0.1.
    processing
        Processing times; by default those of capability 1.

    Returns
    -------
    float
        ms.

    Raises
    ------
    ValueError
        If a value is out of range; the message names it.

    >>> times = Processing(sender=0.0, receiver=0.0, feedback=0.0, retransmission=0.0)
    >>> round(user_plane_latency_ms(subcarrier_spacing_khz=15, processing=times), 3)
    1.5
    """
    if subcarrier_spacing_khz not in _SLOTS_PER_MS:
        raise ValueError(f"subcarrier_spacing_khz: expected 15, 30, 60 or 120, not {subcarrier_spacing_khz}")
    if direction not in ("downlink", "uplink"):
        raise ValueError(f"direction: expected downlink or uplink, not {direction}")
    if not 0.0 <= retransmission_probability <= 1.0:
        raise ValueError(f"retransmission_probability: expected 0 to 1, not {retransmission_probability}")
    down, up = _slots(pattern, special_downlink_symbols)
    there, back = (down, up) if direction == "downlink" else (up, down)
    steps = processing or processing_by_capability(subcarrier_spacing_khz)
    slot_ms = 1.0 / _SLOTS_PER_MS[subcarrier_spacing_khz]
    arrivals = (np.arange(len(there) * _SAMPLES) + 0.5) / _SAMPLES
    first = _next(arrivals + steps.sender / slot_ms, there) + 1.0
    latency = (first - arrivals).mean() * slot_ms + steps.receiver
    feedback = _next(first + steps.feedback / slot_ms, back) + 1.0 / _SYMBOLS
    second = _next(feedback + steps.retransmission / slot_ms, there) + 1.0
    return float(latency + retransmission_probability * (second - first).mean() * slot_ms)


def _slots(pattern: str, special_downlink_symbols: int) -> tuple[list[bool], list[bool]]:
    """Whether each slot of a period has a downlink, and an uplink."""
    if pattern == "FDD":
        return [True], [True]
    if not pattern or set(pattern) - set("DSU") or not {"D", "U"} <= set(pattern):
        raise ValueError(f"pattern: expected FDD, or slots D, S and U of both directions, not {pattern!r}")
    if not 0 <= special_downlink_symbols < _SYMBOLS:
        raise ValueError(f"special_downlink_symbols: expected 0 to 13, not {special_downlink_symbols}")
    special = special_downlink_symbols > 0
    return [one == "D" or (one == "S" and special) for one in pattern], [one == "U" for one in pattern]


def _next(times: Times, usable: list[bool]) -> Times:
    """The begin of the first usable slot from each time on, all in slots."""
    period = len(usable)
    waits = [next(k for k in range(period) if usable[(place + k) % period]) for place in range(period)]
    begin = np.ceil(times - 1e-9)
    return begin + np.asarray(waits, dtype=np.float64)[begin.astype(np.int64) % period]
