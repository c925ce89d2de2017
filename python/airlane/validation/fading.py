"""Fading compared with its closed forms: Rayleigh amplitudes, Clarke's spectrum, the delay profile.

Every figure is a mean over independent links, and its standard error comes from their spread; the family
states how many standard errors pass. Only the Kolmogorov-Smirnov distance has its own distribution.

A tap is a sum of eight cosines with random phases and evenly spread directions, so its fourth moment is below
a Gaussian's by 3/16 of its squared power: 1/16 because of the finite number (sixteen) of exponentials, 1/8
because the two of a cosine share a direction. A covariance of the power is below its closed form by the same,
summed over the taps: 0.025 (ETU) to 0.047 (flat) at one instant, less between two. With ten thousand links
this is measurable, so covariances pass from the closed form down to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from airlane import native
from airlane.validation.claims import Family, Row

__all__ = ["fading_rows"]

_MODELS = ("epa", "eva", "etu", "flat")
_SEED = 1
_LINKS = 10_000
_SHORT = 3 / 16  # of a tap's squared power, with eight cosines (`OSCILLATORS`, crates/radio/src/fading)
_BAND_PRBS = 100
_PRB_HZ = 180e3
_DOPPLER_HZ = 100.0

# TS 36.104 v8.9.0 tables B.2-2 to B.2-4, delay in ns and relative power in dB. A second copy, so that an
# error in the simulator's own table is detected.
_TAPS: dict[str, tuple[tuple[float, float], ...]] = {
    "epa": ((0, 0), (30, -1), (70, -2), (90, -3), (110, -8), (190, -17.2), (410, -20.8)),
    "eva": (
        *((0, 0), (30, -1.5), (150, -1.4), (310, -3.6), (370, -0.6)),
        *((710, -9.1), (1090, -7), (1730, -12), (2510, -16.9)),
    ),
    "etu": (
        *((0, -1), (50, -1), (120, -1), (200, 0), (230, 0)),
        *((500, 0), (1600, -3), (2300, -5), (5000, -7)),
    ),
    "flat": ((0, 0),),
}
_PRB_LAGS = (1, 5, 20, 50, 99)
_TURNS = (0.1, 0.2, 0.3827, 0.6, 1.0)  # Doppler shift times lag; 0.3827 is the first zero of J0
_LEVELS_DB = (-10.0, -5.0, 0.0, 3.0)  # power relative to its mean
_CROSSING_LINKS = 400
_CROSSING_SAMPLES = 2_500
_SAMPLES_PER_TURN = 100
# Kolmogorov's distribution: √n D exceeds this with probability 0.001.
_KOLMOGOROV = 1.9495

_Array = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class _Sample:
    """One figure per link."""

    values: _Array

    def row(self, family: Family, name: str, expected: float, note: str = "", short: float = 0.0) -> Row:
        """Judge the mean: some standard errors around `expected`, or from `short` below it up to it."""
        mean = float(self.values.mean())
        error = float(self.values.std(ddof=1)) / math.sqrt(len(self.values))
        return Row(
            id=f"{family.id}/{name}",
            unit="",
            reference=expected,
            ours=mean,
            band=family.band,
            ok=-short - family.errors * error <= mean - expected <= family.errors * error,
            note=note,
            counted=family.counted,
            ci95=1.96 * error,
            n=len(self.values),
        )


def fading_rows(family: Family) -> list[Row]:
    """Distribution, autocorrelation, level crossings and correlation over frequency of each profile."""
    found: list[Row] = []
    for model in _MODELS:
        found += _over_frequency(family, model)
        found += _over_time(family, model)
        found += _crossings(family, model)
    return found


def _over_frequency(family: Family, model: str) -> list[Row]:
    """One instant of each link: the power is exponential with mean one, and PRBs are correlated."""
    prbs = [0, *_PRB_LAGS]
    gains = native.fading_gains(model, _BAND_PRBS, 0.0, _LINKS, _SEED, [0], prbs)[:, 0, :]
    rows = [
        _kolmogorov(family, f"{model}/power/exponential-prb{prb}", gains[:, prbs.index(prb)])
        for prb in (0, 50)
    ]
    rows.append(_Sample(gains[:, 0]).row(family, f"{model}/power/mean", 1.0))
    squares = _Sample((gains[:, 0] - 1.0) ** 2)
    rows.append(_covariance(family, f"{model}/power/variance", model, squares, 1.0))
    for i, lag in enumerate(_PRB_LAGS, 1):
        product = _Sample((gains[:, 0] - 1.0) * (gains[:, i] - 1.0))
        expected = _frequency_correlation(model, lag)
        rows.append(_covariance(family, f"{model}/frequency/{lag}prb", model, product, expected))
    return rows


def _powers(model: str) -> tuple[_Array, _Array]:
    """Delay in seconds and power of each tap; the powers add up to one."""
    delay, power_db = np.array(_TAPS[model], dtype=np.float64).T
    power = 10.0 ** (power_db / 10.0)
    return delay * 1e-9, power / power.sum()


def _covariance(family: Family, name: str, model: str, sample: _Sample, expected: float) -> Row:
    # The flat profile's single path consists of four taps (`FLAT` in
    # crates/radio/src/fading/profile.rs).
    paths = 4 if model == "flat" else 1
    short = float((_powers(model)[1] ** 2).sum()) * _SHORT / paths
    return sample.row(family, name, expected, f"of eight cosines a tap: short by up to {short:.4f}", short)


def _kolmogorov(family: Family, name: str, gains: _Array) -> Row:
    """Largest distance between the distribution of independent gains and `1 − exp(−x)`."""
    n = len(gains)
    law = 1.0 - np.exp(-np.sort(gains))
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - law).max(), (law - steps[:-1]).max()))
    limit = _KOLMOGOROV / math.sqrt(n)
    note = f"passes to {limit:.4f}: Kolmogorov's law at one in a thousand, n={n}"
    return Row(f"{family.id}/{name}", "distance", 0.0, distance, 0.0, distance <= limit, note, family.counted)


def _frequency_correlation(model: str, prbs: int) -> float:
    """Covariance of the powers of Gaussian taps: |Σ P e^(−j2π Δf τ)|²."""
    delay, power = _powers(model)
    return float(abs((power * np.exp(-2j * np.pi * _PRB_HZ * prbs * delay)).sum()) ** 2)


def _over_time(family: Family, model: str) -> list[Row]:
    """Covariance of the power over lags: J0(2π f τ)² in Clarke's spectrum."""
    lags_us = [round(turns / _DOPPLER_HZ * 1e6) for turns in _TURNS]
    gains = native.fading_gains(model, 6, _DOPPLER_HZ, _LINKS, _SEED, [0, *lags_us], [3])[:, :, 0] - 1.0
    rows = []
    for i, turns in enumerate(_TURNS, 1):
        product, expected = _Sample(gains[:, 0] * gains[:, i]), _bessel_j0(turns) ** 2
        rows.append(_covariance(family, f"{model}/time/{turns:g}turn", model, product, expected))
    return rows


def _bessel_j0(turns: float) -> float:
    """J0(2π turns) by its integral over the directions of arrival; the sum converges geometrically."""
    directions = np.arange(256) * (2.0 * np.pi / 256)
    return float(np.cos(2.0 * np.pi * turns * np.cos(directions)).mean())


def _crossings(family: Family, model: str) -> list[Row]:
    """Downward crossings of an amplitude ρ per Doppler turn: √(2π) ρ exp(−ρ²) (Rice).

    A fade shorter than a sample interval is missed. At the lowest level a fade lasts 13 samples on
    average (`(exp(ρ²) − 1) / (ρ √(2π))` turns), and missing the short ones has an effect of half a
    percent.
    """
    step_us = round(1e6 / (_DOPPLER_HZ * _SAMPLES_PER_TURN))
    times = [step_us * k for k in range(_CROSSING_SAMPLES)]
    gains = native.fading_gains(model, 6, _DOPPLER_HZ, _CROSSING_LINKS, _SEED, times, [3])[:, :, 0]
    turns = (_CROSSING_SAMPLES - 1) / _SAMPLES_PER_TURN
    rows = []
    for level_db in _LEVELS_DB:
        power = 10.0 ** (level_db / 10.0)
        below = gains < power
        rate = (below[:, 1:] & ~below[:, :-1]).sum(axis=1) / turns
        expected = math.sqrt(2.0 * math.pi * power) * math.exp(-power)
        rows.append(
            _Sample(rate).row(family, f"{model}/crossings/{level_db:+g}dB", expected, "per Doppler turn")
        )
    return rows
