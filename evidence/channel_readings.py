"""What readings of TR 38.901 do to the spreads of the full calibration.

.venv/bin/python evidence/channel_readings.py
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from airlane.radio import channel
from airlane.validation.channel import PERCENTILES
from airlane.validation.channel_full import FullCurve, full_curves

_QUANTITIES = ("delay_spread", "asa", "zsd", "zsa")
_READINGS: Mapping[str, tuple[bool, tuple[channel.Reading, ...]]] = {
    "as here": (False, ()),
    "removal-with-sight": (False, ("removal-with-sight",)),
    "no-removal": (False, ("no-removal",)),
    "sight-in-first-cluster": (False, ("sight-in-first-cluster",)),
    "logarithmic-spread": (False, ("logarithmic-spread",)),
    "zenith-of-outdoor-part": (False, ("zenith-of-outdoor-part",)),
    "least-distance-of-whole": (False, ("least-distance-of-whole",)),
    "attachment-by-path-loss": (False, ("attachment-by-path-loss",)),
    "correlated shadowing": (True, ()),
    "shadowing-as-loss": (True, ("shadowing-as-loss",)),
}
"""Name, whether the shadowing is correlated with the spreads, and what differs from our readings."""


def readings_table(carrier_ghz: int = 6) -> str:
    """Distance from the mean of the companies at each percentile in percent: UMi, antenna configuration 1."""
    heads = (f"{quantity.replace('_', '-'):>{6 * len(PERCENTILES)}}" for quantity in _QUANTITIES)
    percents = "".join(f"{percent:>5}%" for percent in PERCENTILES) * len(_QUANTITIES)
    lines = [f"{'reading':24}" + "".join(heads), " " * 24 + percents]
    for name, (correlated, readings) in _READINGS.items():
        curves = full_curves(
            "channel/full_38901.csv",
            "38.900",
            correlated=correlated,
            scenario="UMi",
            carriers=[carrier_ghz],
            antennas=["1"],
            readings=readings,
        )
        compared = {curve.quantity: curve for curve in curves}
        lines.append(_line(name, (compared[q].off(p) for q in _QUANTITIES for p in PERCENTILES)))
    for name, index in (("least company", 0), ("greatest company", 1)):
        lines.append(_line(name, _company(compared, index)))
    return "\n".join(lines)


def _company(compared: Mapping[str, FullCurve], index: int) -> Iterator[float]:
    for quantity in _QUANTITIES:
        curve = compared[quantity]
        yield from (curve.ranges[percent][index] / curve.theirs[percent] - 1.0 for percent in PERCENTILES)


def _line(name: str, off: Iterator[float]) -> str:
    return f"{name:24}" + "".join(f"{100 * one:+6.0f}" for one in off)


if __name__ == "__main__":
    print(readings_table())
