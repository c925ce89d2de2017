"""Cache of run outputs, keyed by compiled core, resolved scenario, its files, and seed.

An entry is found only with the same four keys, so no invalidation is needed: another core, default, value,
trace or seed gives another key. Entries of older cores are removed. Several processes may share a folder. An
entry whose bytes have changed since they were written is ignored.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.feather

from airlane import native
from airlane.native import Output
from airlane.runs.files import naming

__all__ = ["Cache", "key_of", "outputs_of"]

T = TypeVar("T")

_UNWRITTEN = 8
"""Outputs that may wait to be written to the cache; with more, the runs wait."""

_CORE = re.compile("[0-9a-f]{16}")
"""The name of a core's folder: the beginning of its fingerprint."""

_NEW = ".new-"
"""Prefix of the folders in which entries are written."""

_CORES_KEPT = 2
"""Number of cores whose entries are kept: the current and the previous one."""


def key_of(core: str, resolved: str, inputs: Mapping[str, str], seed: int) -> str:
    """Key of a run: the compiled core, the scenario's JSON, its files (`native.inputs`) and the seed."""
    decided_by = json.dumps([core, resolved, dict(inputs), seed], sort_keys=True)
    return hashlib.sha256(decided_by.encode()).hexdigest()[:40]


class Cache:
    """A folder of outputs for one compiled core.

    Parameters
    ----------
    folder
        Folder for the entries of all cores.
    core
        Fingerprint of the current compiled core.
    """

    def __init__(self, folder: Path, core: str) -> None:
        self.core = core
        self._folder = folder / core[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        os.utime(self._folder)
        self._held = _open(self._folder)
        if _alone(self._held):  # left by a killed process
            for left in self._folder.glob(f"{_NEW}*"):
                shutil.rmtree(left, ignore_errors=True)
        fcntl.flock(self._held, fcntl.LOCK_SH)
        weakref.finalize(self, os.close, self._held)
        # The folder may be any folder, such as a home folder: only folders named like a core are removed.
        cores = [f for f in folder.iterdir() if _CORE.fullmatch(f.name) and f.is_dir()]
        for old in sorted(cores, key=lambda f: f.stat().st_mtime)[:-_CORES_KEPT]:
            _remove(old)

    def key(self, resolved: str, inputs: Mapping[str, str], seed: int) -> str:
        """Key of the entry for the JSON of a resolved scenario, its files (`native.inputs`) and a seed."""
        return key_of(self.core, resolved, inputs, seed)

    def get(self, key: str) -> Output | None:
        """Return the output with this key, or `None`."""
        entry = self._folder / key
        try:
            kept = json.loads((entry / "meta.json").read_text(encoding="utf-8"))
            if kept["sha256"] != _sha256_of(kept):
                return None
            tables = dict[str, pa.Table]()
            for name, sha256 in kept["tables"].items():
                raw = (entry / f"{name}.arrow").read_bytes()
                if hashlib.sha256(raw).hexdigest() != sha256:
                    return None
                # Arrow's threads never hold the last reference to a Python object: one that drops it
                # while the interpreter ends would abort the process (apache/arrow#34314).
                reader = pa.BufferReader(raw)  # its stub does not know that it is a file
                tables[str(name)] = pyarrow.feather.read_table(reader, use_threads=False)  # type: ignore[arg-type]
            return Output(tables, kept["meta"])
        except (OSError, ValueError, LookupError, TypeError, AttributeError, pa.ArrowException):
            return None  # missing, incomplete or unreadable: run again

    def put(self, key: str, output: Output) -> None:
        """Store an output. The entry appears as a whole or not at all; an existing entry is kept.

        Raises
        ------
        OSError
            If it cannot be written; names the file.
        """
        entry = self._folder / key
        scratch = Path(tempfile.mkdtemp(prefix=_NEW, dir=self._folder))
        try:
            fresh = scratch / "entry"
            fresh.mkdir()
            kept: dict[str, Any] = {"meta": output.meta, "tables": {}}
            for name in sorted(output.tables):
                with naming(fresh / f"{name}.arrow", entry / f"{name}.arrow") as file:
                    _write(output.tables[name], file)
                    kept["tables"][name] = hashlib.sha256(file.read_bytes()).hexdigest()
            with naming(fresh / "meta.json", entry / "meta.json") as file:
                file.write_text(json.dumps(kept | {"sha256": _sha256_of(kept)}), encoding="utf-8")
            while not self._appears(fresh, entry):
                with suppress(FileNotFoundError):  # another process may have removed it
                    entry.rename(scratch / f"old-{time.monotonic_ns()}")
        finally:
            shutil.rmtree(scratch, ignore_errors=True)

    def _appears(self, fresh: Path, entry: Path) -> bool:
        """Move an entry to its place; returns false if an unreadable one is there."""
        try:
            fresh.rename(entry)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                raise
            # Another process was faster. The same key means the same output.
            return self.get(entry.name) is not None
        return True


def _write(table: pa.Table, file: Path) -> None:
    """Write a Feather file. `write_feather` would import pandas first, which takes half a second."""
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, table.schema, options=options) as writer:
        writer.write_table(table)


def _sha256_of(kept: Mapping[str, Any]) -> str:
    """SHA-256 of an entry's metadata, which contains the SHA-256 of each of its tables."""
    said = json.dumps([kept["meta"], kept["tables"]], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()


def _open(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _alone(held: int) -> bool:
    """Whether no other process uses a cache in this folder; if so, the folder stays locked."""
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove(core: Path) -> None:
    """Remove the entries of a core that no process uses."""
    try:
        held = _open(core)
    except FileNotFoundError:
        return
    try:
        if _alone(held):
            shutil.rmtree(core, ignore_errors=True)
    finally:
        os.close(held)


def outputs_of(
    jobs: Sequence[native.Job],
    cache: Cache,
    take: Callable[[Output], T],
    threads: int,
    on_done: Callable[[int, int], None] | None,
) -> tuple[dict[native.Job, T], int]:
    """Find each job, a resolved scenario and a seed, in the cache, or run it.

    Parameters
    ----------
    take
        Extracts the needed part of an output; the rest does not stay in memory. It may be called in another
        thread, one output at a time.
    on_done
        Called with the number of finished jobs and of all jobs.

    Returns
    -------
    The extracted parts, by job, and the number of new runs.
    """
    outputs: dict[native.Job, T] = {}
    missing: list[native.Job] = []
    distinct = list(dict.fromkeys(jobs))
    inputs = {resolved: native.inputs(resolved) for resolved in dict.fromkeys(r for r, _ in distinct)}
    keys = {(resolved, seed): cache.key(resolved.json, inputs[resolved], seed) for resolved, seed in distinct}
    for job in distinct:
        kept = cache.get(keys[job])
        if kept is None:
            missing.append(job)
        else:
            outputs[job] = take(kept)
    done = len(outputs)

    def tick(_index: int) -> None:
        nonlocal done
        done += 1
        if on_done is not None:
            on_done(done, len(distinct))

    if on_done is not None:
        on_done(done, len(distinct))

    def keep(job: native.Job, output: Output) -> None:
        resolved, _ = job
        # Otherwise a file has changed while the run may have read it.
        if not inputs[resolved] or native.inputs(resolved) == inputs[resolved]:
            cache.put(keys[job], output)
        outputs[job] = take(output)

    # The main thread runs the core, since only there a signal interrupts it.
    with ThreadPoolExecutor(max_workers=1) as writer:
        unwritten: deque[Future[None]] = deque()

        def give(index: int, output: Output) -> None:
            unwritten.append(writer.submit(keep, missing[index], output))
            while unwritten and (unwritten[0].done() or len(unwritten) > _UNWRITTEN):
                unwritten.popleft().result()

        if missing:
            native.run(missing, threads, tick, on_output=give)
        for kept_now in unwritten:
            kept_now.result()
    return {job: outputs[job] for job in distinct}, len(missing)
