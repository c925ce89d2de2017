"""Arrow columns from Python values and NumPy arrays, and NumPy arrays from Arrow columns.

`pyarrow.array` and `to_numpy` give the same, but import pandas where it is installed, to recognise its
types, which takes longer than a short run. So does `pyarrow.compute`, which casts and methods like
`dictionary_decode` import.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXACT = 1 << 53
"""Whole numbers up to this one are exact as `float64`."""

MANY = 100_000
"""Rows from which on `pyarrow.compute` saves more time than its import takes."""

__all__ = [
    "booleans",
    "chosen",
    "integers",
    "numbers",
    "reals",
    "reals_or_null",
    "repeated",
    "texts",
    "whole",
]


def integers(values: Sequence[int | None]) -> pa.Array[Any]:
    """Column of `int64`; `None` is null."""
    return _filled(values, pa.int64(), np.int64)


def reals(values: Sequence[float | None]) -> pa.Array[Any]:
    """Column of `float64`; `None` is null, NaN a value."""
    return _filled(values, pa.float64(), np.float64)


def reals_or_null(values: Sequence[float | None]) -> pa.Array[Any]:
    """As `reals`; of type `null` where no value is there, as `pyarrow.array` infers it."""
    return pa.nulls(len(values)) if all(value is None for value in values) else reals(values)


def texts(values: Sequence[str | None]) -> pa.Array[Any]:
    """Column of `string`; `None` is null."""
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.array([0, *accumulate(map(len, encoded))], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{ends[-1]} bytes of text in one column; an Arrow string column holds 2 GiB")
    buffers = [_validity(values), _buffer(ends.astype(np.int32)), _buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def chosen(names: Sequence[str], index: NDArray[np.int32]) -> pa.Array[Any]:
    """Column of `string` with the name of each index."""
    if len(index) > MANY:
        indices = pa.Array.from_buffers(pa.int32(), len(index), [None, _buffer(index)])
        return pa.DictionaryArray.from_arrays(indices, texts(names)).dictionary_decode()
    encoded = [name.encode() for name in names]
    lengths = np.array([len(name) for name in encoded], dtype=np.int64)
    starts = np.cumsum(lengths) - lengths
    each = lengths[index]
    ends = np.zeros(len(index) + 1, dtype=np.int64)
    np.cumsum(each, out=ends[1:])
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError(f"{ends[-1]} bytes of text in one column; an Arrow string column holds 2 GiB")
    # For each byte of the column its place among the names.
    places = np.arange(ends[-1]) + np.repeat(starts[index] - ends[:-1], each)
    content = np.frombuffer(b"".join(encoded), dtype=np.uint8)[places]
    buffers = [None, _buffer(ends.astype(np.int32)), _buffer(content)]
    return pa.Array.from_buffers(pa.string(), len(index), buffers)


def booleans(values: NDArray[np.uint8]) -> pa.Array[Any]:
    """Column of `bool` from bytes; any byte but 0 is true."""
    bits = _buffer(np.packbits(values != 0, bitorder="little"))
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, bits])


def repeated(value: int, count: int) -> pa.Array[Any]:
    """Column of `int64` with one value."""
    return pa.Array.from_buffers(pa.int64(), count, [None, _buffer(np.full(count, value, dtype=np.int64))])


def _filled(values: Sequence[float | None], kind: pa.DataType, dtype: type[np.generic]) -> pa.Array[Any]:
    filled = np.array([0 if value is None else value for value in values], dtype)
    return pa.Array.from_buffers(kind, len(values), [_validity(values), _buffer(filled)])


def _validity(values: Sequence[object]) -> pa.Buffer | None:
    """The bitmap of what is not null; none is needed where nothing is."""
    if None not in values:
        return None
    present = np.array([value is not None for value in values])
    return _buffer(np.packbits(present, bitorder="little"))


def numbers(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> NDArray[np.float64]:
    """The values of a column of numbers or booleans, NaN where it is null; a copy."""
    return np.array(_values(column, pa.float64(), math.nan, np.float64))


def whole(column: pa.ChunkedArray[Any] | pa.Array[Any]) -> NDArray[np.int64]:
    """The values of a column of whole numbers without nulls; a copy."""
    if column.null_count:
        raise ValueError(f"{column.null_count} of {len(column)} values are null")
    return np.array(_values(column, pa.int64(), 0, np.int64))


def _values(
    column: pa.ChunkedArray[Any] | pa.Array[Any], kind: pa.DataType, null: float, dtype: type[np.generic]
) -> NDArray[Any]:
    array: Any = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if array.type == pa.int64() and not array.null_count:
        counts = np.frombuffer(array.buffers()[1], np.int64, len(array), 8 * array.offset)
        if dtype is np.int64 or np.all(np.abs(counts) <= EXACT):
            return counts.astype(dtype)
    if array.type != kind:
        array = array.cast(kind)
    if array.null_count:
        array = array.fill_null(pa.scalar(null, kind))
    return np.frombuffer(array.buffers()[1], dtype, len(array), 8 * array.offset)


def _buffer(values: bytes | NDArray[Any]) -> pa.Buffer:
    return pa.py_buffer(values)  # type: ignore[arg-type]
