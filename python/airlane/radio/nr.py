"""5G NR: arithmetic of the physical layer, and analyses of rates and delays."""

from __future__ import annotations

from airlane import _native
from airlane.radio.nr_latency import Processing, processing_by_capability, user_plane_latency_ms
from airlane.radio.nr_rate import max_data_rate_bps

__all__ = [
    "Processing",
    "max_data_rate_bps",
    "processing_by_capability",
    "transport_block_bits",
    "user_plane_latency_ms",
]

_SCALING = {0: 1.0, 1: 0.5, 2: 0.25}
"""TS 38.214 table 5.1.3.2-2."""
_ORDERS = (1, 2, 4, 6, 8, 10)
_SYMBOLS = 14
_ELEMENTS = 12 * _SYMBOLS
_LAYERS = 4
_PRBS = 275
"""The widest carrier (TS 38.211 clause 4.4.2)."""


def transport_block_bits(
    *,
    n_symbols: int,
    dmrs_re_per_prb: int,
    overhead_re_per_prb: int,
    modulation_order: int,
    target_code_rate_x1024: float,
    n_layers: int,
    tb_scaling_field: int,
    n_prb: int,
) -> int:
    """Size of a transport block on the PDSCH or PUSCH, without CRC (TS 38.214 clause 5.1.3.2).

    Parameters
    ----------
    n_symbols
        OFDM symbols of the allocation, 1 to 14.
    dmrs_re_per_prb
        Resource elements per PRB for DM-RS, with those that other DM-RS groups keep free.
    overhead_re_per_prb
        Resource elements per PRB for other overhead (`xOverhead`: 0, 6, 12 or 18).
    modulation_order
        Coded bits per symbol: 1, 2, 4, 6, 8 or 10.
    target_code_rate_x1024
        Target code rate times 1024, as in the tables of MCS.
    n_layers
        Layers of the block, 1 to 4.
    tb_scaling_field
        Field of the DCI that scales the amount of information: 0 (1), 1 (0.5) or 2 (0.25).
    n_prb
        Physical resource blocks, 1 to 275.

    Returns
    -------
    int
        Bits; 0 if DM-RS and overhead leave no resource element.

    Raises
    ------
    ValueError
        If a value is out of range; the message names it.

    >>> transport_block_bits(
    ...     n_symbols=12, dmrs_re_per_prb=6, overhead_re_per_prb=0, modulation_order=2,
    ...     target_code_rate_x1024=120, n_layers=1, tb_scaling_field=0, n_prb=6,
    ... )
    192
    """
    _within("n_symbols", n_symbols, 1, _SYMBOLS)
    _within("dmrs_re_per_prb", dmrs_re_per_prb, 0, _ELEMENTS)
    _within("overhead_re_per_prb", overhead_re_per_prb, 0, _ELEMENTS)
    _within("n_layers", n_layers, 1, _LAYERS)
    _within("n_prb", n_prb, 1, _PRBS)
    if modulation_order not in _ORDERS:
        raise ValueError(f"modulation_order: expected 1, 2, 4, 6, 8 or 10, not {modulation_order}")
    if tb_scaling_field not in _SCALING:
        raise ValueError(f"tb_scaling_field: expected 0, 1 or 2, not {tb_scaling_field}")
    if not 0.0 < target_code_rate_x1024 < 1024.0:
        raise ValueError(
            f"target_code_rate_x1024: expected more than 0 and less than 1024, not {target_code_rate_x1024}"
        )
    return _native.nr_transport_block_bits(
        (n_symbols, dmrs_re_per_prb, overhead_re_per_prb, n_prb),
        (modulation_order, target_code_rate_x1024, n_layers, _SCALING[tb_scaling_field]),
    )


def _within(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{name}: expected {least} to {most}, not {value}")
