"""The picture of a call: a moving texture, with the number of the frame in a row of blocks.

The blocks are large and black or white, so that they survive compression and scaling by a codec. The number
has 24 bits; a CRC of 8 bits behind it shows whether the row was read correctly. `Camera` makes the same frame
from the same seed and number, so that the receiver can compare what it showed with what was sent.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from airlane.realtime.call.choices import Size

__all__ = ["NUMBER_MAX", "Camera", "code_for_scripts", "read_number"]

Image = npt.NDArray[np.uint8]

_BITS = 24
_CHECK_BITS = 8
_CELLS = _BITS + _CHECK_BITS
"""Blocks in the row."""

NUMBER_MAX = (1 << _BITS) - 1
"""The largest number of a frame: more than six days at 30 frames a second."""

_ROW_SHARE = 15
"""The row of blocks has one part in so many of the height."""

_DARK, _LIGHT = 32, 220
"""Luma of the blocks, within the range of video, 16 to 235 (ITU-R BT.601-7 section 2.5.1) (unverified)."""

_POLYNOMIAL = 0x07
"""CRC-8 with x^8 + x^2 + x + 1 (ITU-T I.432.1 section 4.3.2) (unverified)."""

_OCTAVES = 5
"""Sizes of the details of the texture, each twice as fine as the one before."""

_CONTRAST = 45.0
"""Standard deviation of the texture's luma."""

_PAN_S = 6.0
"""Time of one turn of the camera over its texture, in s."""


class Camera:
    """Makes numbered frames in the format I420.

    Parameters
    ----------
    size
        Of the frames.
    fps
        Frames per second, which decide how far the texture moves between two frames.
    seed
        Of the texture.
    """

    def __init__(self, size: Size, fps: float, seed: int) -> None:
        self.size = size
        self.fps = fps
        generator = np.random.default_rng(seed)
        self._reach = size.height // 4 & ~1
        rows, columns = size.height + 2 * self._reach, size.width + 2 * self._reach
        self._luma = _texture(generator, rows, columns, _CONTRAST)
        self._chroma = [_texture(generator, rows // 2, columns // 2, _CONTRAST / 3) for _ in range(2)]

    def frame(self, number: int) -> Image:
        """The bytes of a frame: the planes Y, U and V behind each other."""
        width, height = self.size.width, self.size.height
        angle = 2.0 * math.pi * number / (_PAN_S * self.fps)
        left, top = (
            round(self._reach * (1.0 + turn) / 2) * 2 for turn in (math.sin(angle), math.sin(2.0 * angle))
        )
        luma = self._luma[top : top + height, left : left + width].copy()
        row = height // _ROW_SHARE
        luma[:row] = _blocks(number)[np.arange(width) * _CELLS // width]
        top, left = top // 2, left // 2
        chroma = [one[top : top + height // 2, left : left + width // 2].ravel() for one in self._chroma]
        return np.concatenate([luma.ravel(), *chroma])

    def for_scripts(self) -> dict[str, Any]:
        """The texture and the movement, for another program that makes the same frames."""
        planes = [{"columns": one.shape[1], "bytes": one.tobytes()} for one in (self._luma, *self._chroma)]
        size = {"width": self.size.width, "height": self.size.height, "row": self.size.height // _ROW_SHARE}
        return size | {"reach": self._reach, "pan_s": _PAN_S, "planes": planes}


def code_for_scripts() -> dict[str, int]:
    """The constants of the row of blocks, for another program that writes and reads it."""
    return {
        "cells": _CELLS,
        "row_share": _ROW_SHARE,
        "dark": _DARK,
        "light": _LIGHT,
        "threshold": (_DARK + _LIGHT) // 2,
        "polynomial": _POLYNOMIAL,
    }


def read_number(luma: Image) -> int | None:
    """The number in the luma of a frame, whatever its size; None if the row of blocks cannot be read.

    Examples
    --------
    >>> size = Size(320, 192)
    >>> frame = Camera(size, fps=30.0, seed=1).frame(1234)
    >>> read_number(frame[: 320 * 192].reshape(192, 320))
    1234
    """
    height, width = luma.shape
    row = height // _ROW_SHARE
    # The middle half of each block: the codec blurs its edges.
    lines = luma[row // 4 : max(row // 4 + 1, row - row // 4)].mean(axis=0)
    cell = width / _CELLS
    bits = [
        lines[int((i + 0.25) * cell) : max(int((i + 0.25) * cell) + 1, int((i + 0.75) * cell))].mean()
        > (_DARK + _LIGHT) / 2
        for i in range(_CELLS)
    ]
    value = 0
    for bit in bits:
        value = value << 1 | int(bit)
    number, check = value >> _CHECK_BITS, value & ((1 << _CHECK_BITS) - 1)
    return number if _crc(number) == check else None


def _blocks(number: int) -> Image:
    if not 0 <= number <= NUMBER_MAX:
        raise ValueError(f"frame number {number}: expected 0 to {NUMBER_MAX}")
    value = number << _CHECK_BITS | _crc(number)
    bits = [value >> (_CELLS - 1 - i) & 1 for i in range(_CELLS)]
    return np.where(np.array(bits, dtype=bool), _LIGHT, _DARK).astype(np.uint8)


def _crc(number: int) -> int:
    """The check of a number. The check of 0 is not 0: a black row is no number."""
    crc = 0xFF
    for byte in number.to_bytes(_BITS // 8, "big"):
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ (_POLYNOMIAL if crc & 0x80 else 0)) & 0xFF
    return crc


def _texture(generator: np.random.Generator, rows: int, columns: int, contrast: float) -> Image:
    """Noise whose details of each size have the same strength, as those of natural pictures have.

    Field, "Relations between the statistics of natural images and the response properties of cortical cells",
    J. Opt. Soc. Am. A 4(12), 1987 (unverified).
    """
    total = np.zeros((rows, columns))
    for octave in range(_OCTAVES):
        step = 1 << (_OCTAVES - octave)
        coarse = generator.standard_normal((rows // step + 2, columns // step + 2))
        total += _enlarged(coarse, step)[:rows, :columns]
    total *= contrast / total.std()
    return np.clip(total + 128.0, 16, 235).astype(np.uint8)


def _enlarged(coarse: npt.NDArray[np.float64], step: int) -> npt.NDArray[np.float64]:
    """Linear interpolation in both directions."""
    for axis in (0, 1):
        count = coarse.shape[axis] - 1
        places = np.arange(count * step) / step
        whole = places.astype(int)
        part = places - whole
        part = part[:, None] if axis == 0 else part[None, :]
        coarse = np.take(coarse, whole, axis) * (1 - part) + np.take(coarse, whole + 1, axis) * part
    return coarse
