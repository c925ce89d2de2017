"""The maximum data rate that a UE of NR supports (TS 38.306 clause 4.1.2)."""

from __future__ import annotations

__all__ = ["OVERHEAD", "max_data_rate_bps"]

OVERHEAD = {
    ("downlink", 1): 0.14,
    ("downlink", 2): 0.18,
    ("uplink", 1): 0.08,
    ("uplink", 2): 0.10,
}
"""The overhead of the formula, by direction and frequency range."""

_SPACINGS_KHZ = (15, 30, 60, 120, 240)
_PRBS = 275
"""The widest carrier (TS 38.211 clause 4.4.2)."""
_LAYERS = 8
_ORDERS = (1, 2, 4, 6, 8, 10)
_SCALING = (1.0, 0.8, 0.75, 0.4)
_RATE_MAX = 948.0 / 1024.0


def max_data_rate_bps(
    *,
    n_prb: int,
    subcarrier_spacing_khz: int,
    n_layers: int,
    modulation_order: int,
    scaling_factor: float = 1.0,
    direction: str = "downlink",
    frequency_range: int = 1,
    overhead: float | None = None,
) -> float:
    """Supported maximum data rate of one carrier (TS 38.306 v17.0 clause 4.1.2).

    layers x modulation order x scaling factor x 948/1024 x 12 x PRBs / symbol duration x (1 - overhead),
    where the mean duration of a symbol is 1 ms / (14 x 2^mu). The rate of a band combination is the sum over
    its carriers. The formula does not know TDD: multiply by the share of the direction's symbols.

    Parameters
    ----------
    n_prb
        Resource blocks of the carrier, 1 to 275 (TS 38.101-1 and -2 table 5.3.2-1: 273 for 100 MHz at
        30 kHz).
    subcarrier_spacing_khz
        15, 30, 60, 120 or 240.
    n_layers
        Layers, 1 to 8.
    modulation_order
        Coded bits per symbol: 1, 2, 4, 6, 8 or 10.
    scaling_factor
        The UE's `scalingFactor`: 1, 0.8, 0.75 or 0.4.
    direction
        `downlink` or `uplink`.
    frequency_range
        1 or 2.
    overhead
        Share of the resource elements without data; by default the formula's: 0.14 in the downlink of FR1,
        0.18 of FR2, 0.08 in the uplink of FR1, 0.10 of FR2.

    Returns
    -------
    float
        Bit/s.

    Raises
    ------
    ValueError
        If a value is out of range; the message names it.

    >>> rate = max_data_rate_bps(n_prb=273, subcarrier_spacing_khz=30, n_layers=4, modulation_order=8)
    >>> f"{rate / 1e6:.1f} Mbit/s"
    '2337.0 Mbit/s'
    """
    _one_of("subcarrier_spacing_khz", subcarrier_spacing_khz, _SPACINGS_KHZ)
    _one_of("modulation_order", modulation_order, _ORDERS)
    _one_of("scaling_factor", scaling_factor, _SCALING)
    _one_of("direction", direction, ("downlink", "uplink"))
    _one_of("frequency_range", frequency_range, (1, 2))
    for name, value, most in (("n_prb", n_prb, _PRBS), ("n_layers", n_layers, _LAYERS)):
        if not 1 <= value <= most:
            raise ValueError(f"{name}: expected 1 to {most}, not {value}")
    if overhead is None:
        overhead = OVERHEAD[direction, frequency_range]
    if not 0.0 <= overhead < 1.0:
        raise ValueError(f"overhead: expected 0 to less than 1, not {overhead}")
    symbols_per_s = 14_000.0 * subcarrier_spacing_khz / 15.0
    elements_per_s = 12.0 * n_prb * symbols_per_s
    bits = n_layers * modulation_order * scaling_factor * _RATE_MAX
    return bits * elements_per_s * (1.0 - overhead)


def _one_of(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        *others, last = map(str, known)
        raise ValueError(f"{name}: expected {', '.join(others)} or {last}, not {value}")
