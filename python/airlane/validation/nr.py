"""The shared channels of NR compared with vectors of others, without a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from airlane import _native
from airlane.radio import nr
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row

__all__ = ["SOURCES", "layer_rows", "ldpc_rows", "scheduler_rows", "sound_rows", "transport_block_rows"]

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


_RATE_MAX = 0.95
"""TS 38.214 clause 5.1.3: a UE may skip blocks of a higher code rate."""
_SYMBOLS = {"dl": 12, "ul": 14}
_DMRS = 36


def _scheduled(row: Mapping[str, str]) -> tuple[str, str]:
    """The highest MCS up to that of the case whose code rate is low enough, and the bytes of its block."""
    for mcs in range(int(row["max_mcs_table1"]), -1, -1):
        bits, rate = _native.nr_block(mcs, (_SYMBOLS[row["grant"][:2]], _DMRS, int(row["n_prb"])))
        if rate <= _RATE_MAX:
            return str(mcs), str(bits // 8)
    return "none", "none"


def scheduler_rows(family: Family) -> list[Row]:
    """One row: how many grants of the reference have its MCS and its size.

    The grant whose HARQ-ACK bits take a part of the PRB is left out: the reference does not state how many.
    """
    rows = [row for row in reference_rows(family.reference) if row["grant"] != "ul_dci_0_1_harq2"]
    wrong = [row for row in rows if _scheduled(row) != (row["final_mcs"], row["tbs_bytes"])]
    note = (
        f"first of {len(wrong)}: {_scheduled(wrong[0])} in {dict(wrong[0])}" if wrong else "every grant equal"
    )
    return [Row(f"{family.id}/all", "grants equal", len(rows), len(rows) - len(wrong), 0.0, not wrong, note)]


SOURCES = ("sionna", "5g-lena", "oai")
"""The families of LDPC decoders."""

_NEAR_DB = 0.5
_TAILS = {"oai": {"10": 26, "1": 24}}
"""From these MCS on, the curves of the source are not monotonous, or have long tails."""


def sound_rows(source: str, percent: str) -> Iterator[Mapping[str, str]]:
    """The thresholds of a source at an error rate, without the curves that are not sound."""
    end = _TAILS.get(source, {}).get(percent, 99)
    for row in reference_rows("nr/bler_thresholds.csv"):
        if row["source"] == source and int(row["mcs"]) < end:
            yield row


def ldpc_rows(family: Family) -> list[Row]:
    """A row per source and error rate: how many thresholds are within 0.5 dB of the source's."""
    found = []
    for source in SOURCES:
        for percent in ("10", "1"):
            rows = list(sound_rows(source, percent))
            blocks = [
                (int(row["modulation_order"]), float(row["code_rate_x1024"]), int(row["code_block_bits"]))
                for row in rows
            ]
            ours = _native.nr_thresholds(source, blocks, float(percent) / 100.0)
            miss = [db - float(row[f"snr_db_bler{percent}"]) for db, row in zip(ours, rows, strict=True)]
            near = sum(abs(db) <= _NEAR_DB for db in miss)
            worst = max(miss, key=abs)
            note = f"median {sorted(miss)[len(miss) // 2]:+.2f} dB, largest {worst:+.2f} dB"
            ok = near == len(rows)
            name = f"{family.id}/{source}/{percent}-percent"
            found.append(Row(name, "within 0.5 dB", len(rows), near, 0.0, ok, note, family.counted))
    return found


_SNRS_DB = tuple(range(-5, 31, 5))
_ANTENNAS = ((1, 2), (1, 4), (2, 2), (4, 2), (4, 4))


def layer_rows(family: Family) -> list[Row]:
    """A row per antennas, precoder, correlation and line of sight: where the table is furthest off."""
    kinds = product(_ANTENNAS, ("singular", "codebook"), ("low", "medium", "high"), (False, True))
    # The codebook of one antenna is trivial; that of four takes minutes.
    return [_layer_row(family, *kind) for kind in kinds if kind[1] == "singular" or kind[0][0] == 2]


def _layer_row(
    family: Family, antennas: tuple[int, int], precoding: str, correlation: str, seen: bool
) -> Row:
    bits = _native.layer_information(antennas, (correlation, precoding, seen), _SNRS_DB)
    off = [table / channels - 1.0 for channels, table, *_ in bits]
    worst = max(range(len(off)), key=lambda i: abs(off[i]))
    channels, table, low, table_low = bits[worst]
    name = f"{antennas[0]}x{antennas[1]}/{precoding}/{correlation}" + ("/line-of-sight" if seen else "")
    return Row(
        id=f"{family.id}/{name}",
        unit="bit",
        reference=channels,
        ours=table,
        band=family.band,
        ok=abs(off[worst]) <= family.band,
        note=f"at {_SNRS_DB[worst]} dB; fifth percentile {low:.2f}, ours {table_low:.2f}",
        counted=family.counted,
    )
