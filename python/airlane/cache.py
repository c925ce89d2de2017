"""Outputs of runs, kept by what decided them: compiled core, resolved scenario, the files it names, and seed.

An entry is found again only under the same four, so nothing has to be invalidated by hand: another
core, another default in it, another value, trace or seed is another key. Entries of older cores are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.feather

from airlane import native
from airlane.files import naming
from airlane.native import Output

__all__ = ["Cache", "key_of", "outputs_of"]

T = TypeVar("T")

_BATCH = 32
"""Runs handed to the core at once: their outputs are in memory together and reach the cache together."""

_CORE = re.compile("[0-9a-f]{16}")
"""What the folder of a core is called: the beginning of its fingerprint."""

_CORES_KEPT = 2
"""Cores whose entries stay: the one in use and the one before, for going back and forth."""


def key_of(core: str, resolved: str, inputs: Mapping[str, str], seed: int) -> str:
    """Name of a run: the compiled core, the resolved scenario, its files (`native.inputs`) and the seed."""
    decided_by = json.dumps([core, resolved, dict(inputs), seed], sort_keys=True)
    return hashlib.sha256(decided_by.encode()).hexdigest()[:40]


class Cache:
    """A folder of outputs for one compiled core.

    Parameters
    ----------
    folder
        Where the entries of all cores live.
    core
        Fingerprint of the compiled core in use.
    """

    def __init__(self, folder: Path, core: str) -> None:
        self.core = core
        self._folder = folder / core[:16]
        self._folder.mkdir(parents=True, exist_ok=True)
        os.utime(self._folder)
        # The folder may be any, such as somebody's home: what is not named like a core is not ours to remove.
        cores = [f for f in folder.iterdir() if _CORE.fullmatch(f.name) and f.is_dir()]
        for old in sorted(cores, key=lambda f: f.stat().st_mtime)[:-_CORES_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def key(self, resolved: str, inputs: Mapping[str, str], seed: int) -> str:
        """Name of the entry of a resolved scenario, its files (`native.inputs`) and a seed."""
        return key_of(self.core, resolved, inputs, seed)

    def get(self, key: str) -> Output | None:
        """Return the output kept under this key, or `None`."""
        entry = self._folder / key
        try:
            kept = json.loads((entry / "meta.json").read_text(encoding="utf-8"))
            tables = {
                str(name): pyarrow.feather.read_table(entry / f"{name}.arrow") for name in kept["tables"]
            }
            return Output(tables, kept["meta"])
        except (OSError, ValueError, LookupError, TypeError, pa.ArrowException):
            return None  # not there, not whole, or not readable: run it again

    def put(self, key: str, output: Output) -> None:
        """Keep an output. The entry appears whole or not at all.

        Raises
        ------
        OSError
            When it cannot be written; names the file.
        """
        entry = self._folder / key
        scratch = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
        try:
            for name, table in output.tables.items():
                with naming(scratch / f"{name}.arrow", entry / f"{name}.arrow") as file:
                    pyarrow.feather.write_feather(table, str(file), compression="zstd")
            with naming(scratch / "meta.json", entry / "meta.json") as file:
                kept = {"meta": output.meta, "tables": sorted(output.tables)}
                file.write_text(json.dumps(kept), encoding="utf-8")
            shutil.rmtree(entry, ignore_errors=True)
            scratch.rename(entry)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise


def outputs_of(
    jobs: Sequence[tuple[str, int]],
    cache: Cache,
    take: Callable[[Output], T],
    threads: int,
    on_done: Callable[[int, int], None] | None,
) -> tuple[dict[tuple[str, int], T], int]:
    """Find or run each job, a resolved scenario and a seed.

    Parameters
    ----------
    take
        What is wanted of an output; the rest does not stay in memory.
    on_done
        Called with the jobs that are there and the jobs in all.

    Returns
    -------
    What was taken, by job, and how many were run now.
    """
    outputs: dict[tuple[str, int], T] = {}
    missing: list[tuple[str, int]] = []
    distinct = list(dict.fromkeys(jobs))
    keys = _keys(distinct, cache)
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
    for start in range(0, len(missing), _BATCH):
        batch = missing[start : start + _BATCH]
        fresh = native.run(batch, threads, tick)
        now = _keys(batch, cache)
        for job, output in zip(batch, fresh, strict=True):
            if now[job] == keys[job]:  # else a file changed while the run may have read it
                cache.put(keys[job], output)
            outputs[job] = take(output)
    return outputs, len(missing)


def _keys(jobs: Sequence[tuple[str, int]], cache: Cache) -> dict[tuple[str, int], str]:
    inputs = {resolved: native.inputs(resolved) for resolved, _ in dict.fromkeys(jobs)}
    return {(resolved, seed): cache.key(resolved, inputs[resolved], seed) for resolved, seed in jobs}
