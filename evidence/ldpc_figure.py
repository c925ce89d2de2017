"""The figure of the disagreement between the public error curves of NR, docs/images/nr-ldpc.png.

.venv/bin/python evidence/ldpc_figure.py
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from airlane import _native, plot
from airlane.validation.nr import SOURCES, sound_rows

_FIGURE = Path(__file__).resolve().parents[1] / "docs/images/nr-ldpc.png"
_BITS = 2000
"""Size of the code blocks of the lines."""
_LARGE = 500
"""Smaller code blocks differ by their size too, and are not shown."""
_Block = tuple[int, float, int]


def _block(row: Mapping[str, str]) -> _Block:
    return int(row["modulation_order"]), float(row["code_rate_x1024"]), int(row["code_block_bits"])


def _efficiency(block: _Block) -> float:
    return block[0] * block[1] / 1024.0


def _above_sionna(family: str, blocks: Sequence[_Block]) -> list[float]:
    ours, base = (_native.nr_thresholds(name, blocks, 0.1) for name in (family, "sionna"))
    return [db - of_base for db, of_base in zip(ours, base, strict=True)]


def write_ldpc_figure(path: Path) -> None:
    """Draw the SNR at an error rate of 10 %, relative to `sionna`, as PNG: ours as lines, theirs as dots."""
    every = {source: list(sound_rows(source, "10")) for source in SOURCES}
    schemes = sorted({_block(row)[:2] for row in every["5g-lena"] if row["mcs_table"] == "1"})
    with plot.style():
        fig, (axis,) = plot.figure(1, 1, (8.0, 4.5))
        for source, colour in zip(SOURCES, plot.COLOURS, strict=False):
            blocks = sorted(((*scheme, _BITS) for scheme in schemes), key=_efficiency)
            axis.plot([*map(_efficiency, blocks)], _above_sionna(source, blocks), color=colour, label=source)
            rows = [row for row in every[source] if _block(row)[2] >= _LARGE]
            blocks = [_block(row) for row in rows]
            base = _native.nr_thresholds("sionna", blocks, 0.1)
            theirs = [float(row["snr_db_bler10"]) - db for row, db in zip(rows, base, strict=True)]
            axis.plot([*map(_efficiency, blocks)], theirs, ".", color=colour, markersize=3)
        axis.set_xlabel("bits per symbol")
        axis.set_ylabel("dB above sionna, at an error rate of 10 %")
        axis.legend(loc="upper center")
        path.parent.mkdir(parents=True, exist_ok=True)
        fig.savefig(path, format="png", metadata={"Software": None})


if __name__ == "__main__":
    write_ldpc_figure(_FIGURE)
