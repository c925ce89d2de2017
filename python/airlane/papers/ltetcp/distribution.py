"""The place of a published point of one run among ours: the paper `ltetcp` shows single runs."""

from __future__ import annotations

import numpy as np

from airlane.metrics import Array

__all__ = ["COLUMNS", "place"]

_QUANTILES = (0.0, 0.05, 0.5, 0.95, 1.0)
COLUMNS = ("published", "least", "5 %", "median", "95 %", "most", "% ≤", "% ≥", "n")
"""Headings of the cells of `place`."""


def place(values: Array, told: float) -> tuple[str, ...]:
    """Quantiles, and the shares of values at most as large and at least as large as the published one.

    Values that are not defined (NaN) are left out.
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return (f"{told:g}", *["–"] * 7, "0")
    quantiles = (f"{q:.4g}" for q in np.quantile(known, _QUANTILES))
    shares = (100.0 * np.mean(known <= told), 100.0 * np.mean(known >= told))
    return (f"{told:g}", *quantiles, *(f"{share:.0f}" for share in shares), str(known.size))
