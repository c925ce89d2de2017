"""The physical layer of NR: sizes of transport blocks, and errors for values that there are not."""

from __future__ import annotations

from typing import Any

import pytest

import airlane
from airlane.validation.cell import reference_rows

INTEGERS = (
    "n_symbols",
    "dmrs_re_per_prb",
    "overhead_re_per_prb",
    "modulation_order",
    "n_layers",
    "tb_scaling_field",
    "n_prb",
)
ONE: dict[str, Any] = {
    "n_symbols": 12,
    "dmrs_re_per_prb": 6,
    "overhead_re_per_prb": 0,
    "modulation_order": 2,
    "target_code_rate_x1024": 120,
    "n_layers": 1,
    "tb_scaling_field": 0,
    "n_prb": 6,
}


@pytest.mark.parametrize(("name", "count"), [("nr/tbs.csv", 170), ("nr/tbs_computed.csv", 400)])
def test_each_reference_has_our_size(name: str, count: int) -> None:
    rows = reference_rows(name)
    assert len(rows) == count
    for row in rows:
        ours = airlane.nr.transport_block_bits(
            **{key: int(row[key]) for key in INTEGERS},
            target_code_rate_x1024=float(row["target_code_rate_x1024"]),
        )
        assert ours == int(row["tbs_bits"]), row


def test_by_hand() -> None:
    """6 PRBs of 138 elements at QPSK 120/1024 carry 194.06 bits; 192 in steps of 8, which the table has."""
    assert airlane.nr.transport_block_bits(**ONE) == 192
    # A quarter of it is 48.5 bits.
    assert airlane.nr.transport_block_bits(**ONE | {"tb_scaling_field": 2}) == 48
    # DM-RS takes all.
    assert airlane.nr.transport_block_bits(**ONE | {"dmrs_re_per_prb": 144}) == 0


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("n_symbols", 0),
        ("n_symbols", 15),
        ("dmrs_re_per_prb", -1),
        ("overhead_re_per_prb", 169),
        ("modulation_order", 3),
        ("target_code_rate_x1024", 0),
        ("target_code_rate_x1024", 1024),
        ("target_code_rate_x1024", float("nan")),
        ("n_layers", 5),
        ("tb_scaling_field", 3),
        ("n_prb", 276),
    ],
)
def test_an_error_names_the_argument_and_what_would_be_right(key: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{key}: expected .*, not {value}$"):
        airlane.nr.transport_block_bits(**ONE | {key: value})
