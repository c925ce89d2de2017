"""The only interface to the compiled core: calls `airlane._native` and wraps its columns as Arrow tables."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

try:
    from airlane import _native
except ImportError as error:  # a checkout without a built extension
    raise ImportError(
        "the compiled part of airlane is missing; in a checkout run `make build` (needs Rust and a C linker)"
    ) from error

from airlane.runs import arrays
from airlane.user_error import UserError

__all__ = [
    "Ack",
    "ControllerError",
    "Feedback",
    "GuestError",
    "Job",
    "Loss",
    "Output",
    "PacketReport",
    "Resolved",
    "ScenarioError",
    "Subflow",
    "Timeout",
    "Unsent",
    "columns_of_runs",
    "cqi",
    "fading_gains",
    "fingerprint",
    "gap_to_fit",
    "inputs",
    "live_output",
    "mcs_of_cqi",
    "parse",
    "run",
    "schema",
    "snr_at_error_rate",
    "stuck",
    "tbs_bits",
]

Resolved = _native.Resolved
ScenarioError = _native.ScenarioError
GuestError = _native.GuestError
Ack = _native.Ack
Feedback = _native.Feedback
Loss = _native.Loss
PacketReport = _native.PacketReport
Subflow = _native.Subflow
Timeout = _native.Timeout
Unsent = _native.Unsent


_stuck: set[int] = set()
"""Threads whose call into a controller did not end after a cancellation."""


class _Watch:
    """Ends calls into controllers that continue after a signal, by the identifiers of their threads."""

    @staticmethod
    def interrupt(threads: Sequence[int]) -> None:
        """Raise KeyboardInterrupt in the Python code of these threads; a sleep cannot be interrupted."""
        interrupt = ctypes.pythonapi.PyThreadState_SetAsyncExc
        for thread in threads:
            interrupt(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))

    @staticmethod
    def leave(threads: Sequence[int]) -> None:
        """Record that these threads continue."""
        _stuck.update(threads)


def stuck() -> bool:
    """Whether uninterruptible controller calls still run, which block the exit of the interpreter."""
    return bool(_stuck)


class ControllerError(UserError):
    """A user's own controller is missing or failed; the message names the place."""


Job = tuple[Resolved, int]
"""A resolved scenario and the seed of its run."""


@dataclass(frozen=True)
class Output:
    """The output of one run of one seed: tables by name, and a summary of the run."""

    tables: dict[str, pa.Table]
    meta: dict[str, Any]


def parse(text: str, file_name: str, overrides: Mapping[str, object]) -> Resolved:
    """Resolve a scenario: fill in all defaults and check it.

    Raises
    ------
    ScenarioError
        With file, line, key, value and the correct form.
    """
    return _native.parse(text, file_name, json.dumps(dict(overrides)))


def live_output(tables: Mapping[str, Any], meta: dict[str, Any]) -> Output:
    """The output of a live run, whose process sent its columns."""
    return Output({name: _table(described) for name, described in tables.items()}, meta)


def schema() -> str:
    """JSON Schema of the scenario format."""
    return _native.schema()


def inputs(resolved: Resolved) -> dict[str, str]:
    """SHA-256 of each file that a run of the resolved scenario reads, by its name.

    Of a kernel, these are the files `kernel NAME/linux`, `kernel NAME/agent` and `kernel NAME/config`.

    Raises
    ------
    OSError
        If one cannot be read.
    KernelError
        If a kernel has not been built.
    """
    files = {name: hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in resolved.files()}
    for name in resolved.kernels():
        from airlane.runs import kernel  # few runs have one

        own = kernel.find(name)
        files |= {f"kernel {name}/{file}": digest for file, digest in own.sha256.items()}
    return files


def tbs_bits(mcs: int, n_prb: int) -> int:
    """Transport block size of a downlink MCS on one layer (TS 36.213 tables 7.1.7.1-1 and 7.1.7.2.1-1)."""
    return _native.tbs_bits(mcs, n_prb)


def cqi(snr_db: Sequence[float], rule: Literal["mutual-information", "piro"], n_prb: int) -> list[int]:
    """Downlink CQI at each of these SNRs, the same on all of `n_prb` resource blocks."""
    return list(_native.cqi(snr_db, rule, n_prb))


def mcs_of_cqi(cqi: int) -> int | None:
    """Downlink MCS of a CQI; None out of range."""
    return _native.mcs_of_cqi(cqi)


def snr_at_error_rate(mcs: int, n_prb: int, error_rate: float) -> float:
    """SNR in dB at which a first transmission that fills `n_prb` resource blocks has this error rate."""
    return _native.snr_at_error_rate(mcs, n_prb, error_rate)


def gap_to_fit(mcs: int, bits: int, snr_db: float, error_rate: float) -> tuple[list[float], float]:
    """The data to which the gap of the error model is fitted.

    Parameters
    ----------
    mcs, bits
        Downlink MCS and size of the block with its CRC.
    snr_db, error_rate
        The required point of the block's curve.

    Returns
    -------
    The six regressors of the gap, and the gap in dB that puts the block's curve through the point.
    """
    return _native.gap_to_fit(mcs, bits, snr_db, error_rate)


def fading_gains(
    model: str,
    n_prb: int,
    doppler_hz: float,
    links: int,
    seed: int,
    times_us: Sequence[int],
    prbs: Sequence[int],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Linear power gains of independent links of a fading model, one on average.

    Parameters
    ----------
    model
        `epa`, `eva`, `etu` (TS 36.104 Annex B.2), or `flat` for one path.
    n_prb
        Width of the band.
    doppler_hz
        Maximum Doppler shift.
    links, seed
        Number of links, and seed of their random streams.
    times_us, prbs
        Times and PRBs of the samples.

    Returns
    -------
    Array of shape (links, times, PRBs).
    """
    raw = _native.fading_gains(model, n_prb, doppler_hz, links, seed, times_us, prbs)
    return np.frombuffer(raw, dtype="<f4").astype(np.float64).reshape(links, len(times_us), len(prbs))


def run(
    jobs: Sequence[Job],
    threads: int,
    on_done: Callable[[int], None] | None = None,
    captures: Sequence[str] | None = None,
    controllers: Mapping[str, type] | None = None,
    costs: dict[str, tuple[int, float]] | None = None,
    on_progress: Callable[[float], None] | None = None,
    on_output: Callable[[int, Output], None] | None = None,
    on_rows: Callable[[int, str, pa.Table], None] | None = None,
) -> list[Output]:
    """Run each (resolved scenario, seed) and return the outputs in the order of the jobs.

    Parameters
    ----------
    jobs
        Resolved scenarios from `parse`, each with its seed.
    threads
        Threads. Jobs take them first: a run has several only if there are several for each job, and if it has
        several cells. Results do not depend on it.
    on_done
        Called with the index of each job that ended.
    captures
        For each job the prefix of its capture files, such as `folder/`; without it no packet is
        captured, even if the scenario requests captures.
    controllers
        Classes of controllers, by their names in scenarios. After a signal, their Python code is
        interrupted; a call that sleeps is abandoned.
    costs
        Receives the cost of the calls into each of them: number of calls, and seconds of all threads.
    on_progress
        Called about ten times a second with the number of runs that have been simulated, parts included.
    on_output
        Called with the index of each job that ended and its output; then nothing is returned, so that the
        outputs of many jobs need not be in memory together.
    on_rows
        Called during the runs with rows of long tables (series and logs), so that they need not be in memory
        together: with the index of the job, the name of the table, and the rows. The outputs have the others.

    Raises
    ------
    OSError
        If a capture file cannot be written.
    ControllerError
        If a controller raises, or requests a window or a rate that is negative or not finite.
    GuestError
        If a guest kernel is missing, or fails; its attribute `failed` distinguishes them.
    """
    own = dict(controllers) if controllers else None
    try:
        take = None if on_output is None else lambda index, output: on_output(index, _output(output))
        rows = None if on_rows is None else lambda index, tables: _pass_on(on_rows, index, tables)
        outputs = _native.run(
            list(jobs), threads, on_done, captures, own, costs, _Watch, on_progress, take, rows
        )
    except (ScenarioError, GuestError, OSError):
        raise
    except (Exception, SystemExit) as error:  # any exception of a user's class
        if own is None:
            raise
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
        raise ControllerError(f"{_place(error)}{type(error).__name__}: {error}{notes}") from error
    return [_output(output) for output in outputs]


def _pass_on(on_rows: Callable[[int, str, pa.Table], None], index: int, tables: dict[str, Any]) -> None:
    for name, described in tables.items():
        on_rows(index, name, _table(described))


def _output(output: _native.RunOutput) -> Output:
    tables = {name: _table(described) for name, described in output.tables.items()}
    return Output(tables, json.loads(output.meta))


def _place(error: BaseException) -> str:
    """The line of a user's file that raised the exception."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if len(frames) > 1 else ""


def _table(described: Sequence[tuple[str, str, Any, Any]]) -> pa.Table:
    columns = [_column(kind, data) for _, kind, data, _ in described]
    fields = [
        pa.field(name, column.type, metadata=dict(meaning) or None)
        for (name, *_, meaning), column in zip(described, columns, strict=True)
    ]
    return pa.table(columns, schema=pa.schema(fields))


@functools.cache
def columns_of_runs() -> dict[str, pa.Schema]:
    """The columns of the tables of every run, with what they mean as metadata of their fields."""
    return {name: _table(described).schema for name, described in _native.columns_of_runs().items()}


def _column(kind: str, data: Any) -> pa.Array[Any]:
    """Arrow array over the bytes of a column, without a copy for numbers."""
    column: pa.Array[Any]
    match kind:
        case "f64" | "i64":
            arrow = pa.float64() if kind == "f64" else pa.int64()
            column = pa.Array.from_buffers(arrow, len(data) // 8, [None, pa.py_buffer(data)])
        case "bool":
            column = arrays.booleans(np.frombuffer(data, dtype=np.uint8))
        case "labels":
            labels, index = data
            column = arrays.chosen(labels, np.frombuffer(index, dtype=np.int32))
        case "utf8":
            column = arrays.texts(data)
        case _:
            raise AssertionError(f"the core sent a column of unknown kind {kind!r}")
    return column


@functools.cache
def fingerprint() -> str:
    """SHA-256 of the compiled core, which, with scenario and seed, determines every byte of a result."""
    path = Path(str(_native.__file__))
    return hashlib.sha256(path.read_bytes()).hexdigest()
