"""The shared channels of NR compared with vectors of others, without a run."""

from __future__ import annotations

from collections.abc import Mapping

from airlane import nr
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row

__all__ = ["transport_block_rows"]

_INTEGERS = (
    "n_symbols",
    "dmrs_re_per_prb",
    "overhead_re_per_prb",
    "modulation_order",
    "n_layers",
    "tb_scaling_field",
    "n_prb",
)


def _bits(row: Mapping[str, str]) -> int:
    integers = {name: int(row[name]) for name in _INTEGERS}
    return nr.transport_block_bits(**integers, target_code_rate_x1024=float(row["target_code_rate_x1024"]))


def transport_block_rows(family: Family) -> list[Row]:
    """One row: how many transport blocks have the size of the reference."""
    rows = reference_rows(family.reference)
    wrong = [(row, ours) for row in rows if (ours := _bits(row)) != int(row["tbs_bits"])]
    note = "every size equal"
    if wrong:
        row, ours = wrong[0]
        note = f"first of {len(wrong)}: {ours}, reference {row['tbs_bits']} in {dict(row)}"
    equal = len(rows) - len(wrong)
    return [Row(f"{family.id}/all", "sizes equal", len(rows), equal, 0.0, not wrong, note)]
