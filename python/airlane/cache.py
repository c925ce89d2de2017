"""Outputs of runs, kept by what decided them: compiled core, resolved scenario, the files it names, and seed.

An entry is found again only under the same four, so nothing has to be invalidated by hand: another
core, another default in it, another value, trace or seed is another key. Entries of older cores are removed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.feather

from airlane.files import naming
from airlane.native import Output

__all__ = ["Cache", "key_of"]

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
        cores = sorted((f for f in folder.iterdir() if f.is_dir()), key=lambda f: f.stat().st_mtime)
        for old in cores[:-_CORES_KEPT]:
            shutil.rmtree(old, ignore_errors=True)

    def key(self, resolved: str, inputs: Mapping[str, str], seed: int) -> str:
        """Name of the entry of a resolved scenario, its files (`native.inputs`) and a seed."""
        return key_of(self.core, resolved, inputs, seed)

    def get(self, key: str) -> Output | None:
        """Return the output kept under this key, or `None`."""
        entry = self._folder / key
        try:
            meta = json.loads((entry / "meta.json").read_text(encoding="utf-8"))
            tables = {f.stem: pyarrow.feather.read_table(f) for f in sorted(entry.glob("*.arrow"))}
        except (OSError, ValueError, pa.ArrowInvalid):
            return None  # not there, or not readable: run it again
        return Output(tables, meta)

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
                file.write_text(json.dumps(output.meta), encoding="utf-8")
            shutil.rmtree(entry, ignore_errors=True)
            scratch.rename(entry)
        except BaseException:
            shutil.rmtree(scratch, ignore_errors=True)
            raise
