"""Arrow columns that are made without `pyarrow.array`."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from airlane.runs import arrays

SOME = [True, False, True, True, False, False, True, False, True, True]


def test_integers_equal_those_of_pyarrow() -> None:
    for values in (list[int | None](), [1, -2, 2**62], [None, 3, None], [None] * 9):
        made = arrays.integers(values)
        made.validate(full=True)
        assert made.equals(pa.array(values, pa.int64()))
        assert made.null_count == sum(value is None for value in values)


def test_reals_equal_those_of_pyarrow_and_nan_is_a_value() -> None:
    for values in (list[float | None](), [0.5, math.inf, -0.0], [None, 1.0] * 9, [None]):
        made = arrays.reals(values)
        made.validate(full=True)
        assert made.equals(pa.array(values, pa.float64()))
    assert arrays.reals([math.nan, None]).null_count == 1
    assert arrays.reals_or_null([None, None]).equals(pa.array([None, None]))
    assert arrays.reals_or_null([None, 2.0]).equals(pa.array([None, 2.0]))


def test_texts_equal_those_of_pyarrow() -> None:
    for values in (list[str | None](), ["a", "", "größer", "日本"], [None, "x", None], [None] * 17):
        made = arrays.texts(values)
        made.validate(full=True)
        assert made.equals(pa.array(values, pa.string()))


def test_chosen_names_equal_those_of_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["a", "", "größer", "日本"]
    for index in ([], [0], [1, 1], [3, 0, 2, 2, 1, 3] * 5):
        expected = pa.array([names[at] for at in index], pa.string())
        for many in (0, 100):
            monkeypatch.setattr(arrays, "MANY", many)
            made = arrays.chosen(names, np.array(index, dtype=np.int32))
            made.validate(full=True)
            assert made.equals(expected)
    assert arrays.chosen([], np.array([], dtype=np.int32)).equals(pa.array([], pa.string()))


def test_booleans_and_a_repeated_number_equal_those_of_pyarrow() -> None:
    made = arrays.booleans(np.array(SOME, dtype=np.uint8))
    made.validate(full=True)
    assert made.equals(pa.array(SOME))
    assert arrays.booleans(np.array([2, 0], dtype=np.uint8)).to_pylist() == [True, False]
    assert arrays.repeated(7, 3).equals(pa.array([7, 7, 7]))
    assert arrays.repeated(7, 0).equals(pa.array([], pa.int64()))


def test_a_run_does_not_import_pandas() -> None:
    pytest.importorskip("pandas")
    code = (
        "import sys, airlane\n"
        "short = {'run.duration': '1s', 'run.warmup': '0s'}\n"
        "runs = airlane.load(airlane.example('lte-download')).set(short).run()\n"
        "runs.summary()\n"
        "assert 'pandas' not in sys.modules, 'pandas was imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_numbers_and_whole_read_what_to_numpy_reads() -> None:
    column = pa.chunked_array([[1, None, 3], [], [4]], pa.int64())
    np.testing.assert_array_equal(arrays.numbers(column), [1.0, math.nan, 3.0, 4.0])
    sliced = pa.array([0.5, 1.5, 2.5, 3.5]).slice(1, 2)
    np.testing.assert_array_equal(arrays.numbers(sliced), [1.5, 2.5])
    np.testing.assert_array_equal(arrays.numbers(pa.array([True, False, None])), [1.0, 0.0, math.nan])
    np.testing.assert_array_equal(arrays.numbers(pa.chunked_array([], pa.float64())), [])
    np.testing.assert_array_equal(arrays.whole(pa.array([2**62 + 1, 5]).slice(0, 1)), [2**62 + 1])
    with pytest.raises(ValueError, match="1 of 2 values are null"):
        arrays.whole(pa.array([1, None]))
    assert arrays.numbers(pa.array([1.0, 2.0])).flags.writeable
