"""The runs of a sweep as tasks: each is decided by its key alone, runs anywhere, and may run again."""

from __future__ import annotations

import functools
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from airlane import native
from airlane.cache import key_of

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterError", "Finished", "Task", "locally", "on_cluster", "tasks_of"]

_LANDING_S = 0.5
"""How long what has come from a cluster may wait to be written together."""
_AT_ONCE_S = 2.0
"""So long the tasks that a local pool is given at a time should take together."""
_AT_ONCE_MAX = 64
"""Runs whose whole output a local pool holds; of what is done, only the rows of flows are kept."""
_SUBMITTED_MAX = 4000
"""Tasks that a scheduler holds at a time."""


class ClusterError(Exception):
    """The cluster is not there, is gone, or would compute something else."""


@dataclass(frozen=True)
class Task:
    """One run of one point.

    Attributes
    ----------
    key
        Hash of what decides the result: compiled core, resolved scenario, its files, seed.
    point, run
        Place in the grid; number of the run, from 0.
    """

    key: str
    point: int
    run: int
    seed: int
    resolved: str


Finished = tuple[Task, pa.Table]
"""A task and its rows of `flows`."""


def tasks_of(points: Sequence[str], runs: int, first_seed: int) -> list[Task]:
    """Tasks of all points (resolved scenarios), each with the seeds from `first_seed` on.

    Raises
    ------
    OSError
        When a file that a scenario names cannot be read.
    """
    core, tasks = native.fingerprint(), list[Task]()
    for point, resolved in enumerate(points):
        inputs = native.inputs(resolved)
        for run in range(runs):
            seed = first_seed + run
            tasks.append(Task(key_of(core, resolved, inputs, seed), point, run, seed, resolved))
    return tasks


def locally(tasks: Sequence[Task], threads: int | None = None) -> Iterator[list[Finished]]:
    """Run tasks in this process, as many at once as there are cores; yields them as they come, in order."""
    workers = threads or os.cpu_count() or 1
    begin, size = 0, workers
    while begin < len(tasks):
        chunk = tasks[begin : begin + size]
        started = time.monotonic()
        outputs = native.run([(task.resolved, task.seed) for task in chunk], workers)
        yield [(task, output.tables["flows"]) for task, output in zip(chunk, outputs, strict=True)]
        begin += size
        per_task = (time.monotonic() - started) / len(chunk)
        size = max(workers, min(_AT_ONCE_MAX, int(_AT_ONCE_S / max(per_task, 1e-6))))


def on_cluster(tasks: Sequence[Task], address: str) -> Iterator[list[Finished]]:
    """Run tasks on the Dask cluster at this address of its scheduler; yields them as they come.

    A worker that is lost costs what it was computing: the scheduler gives that to another.

    Raises
    ------
    ClusterError
        When there is no scheduler, it goes away, or a worker has another version of airlane.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ClusterError("a cluster needs Dask: pip install 'airlane[cluster]'") from error
    try:
        client = Client(address, timeout="5s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(f"no Dask scheduler answers at {address}; such as tcp://host:8786") from error
    try:
        yield from _gathered(client, tasks)
    finally:
        client.close(timeout=2)


def _gathered(client: Client, tasks: Sequence[Task]) -> Iterator[list[Finished]]:
    from distributed import as_completed
    from distributed.client import FutureCancelledError, FuturesCancelledError

    core, packed = native.fingerprint(), functools.lru_cache(maxsize=256)(_packed)
    waiting, under_way = iter(tasks), dict[str, Task]()
    coming = as_completed([], loop=client.loop, with_results=True, raise_errors=False)

    def submit(count: int) -> None:
        for _, task in zip(range(count), waiting, strict=False):
            under_way[task.key] = task
            # Not pure in Dask's sense but by our key, so that asking again is asking for the same.
            coming.add(client.submit(_work, packed(task.resolved), task.seed, core, key=task.key, retries=2))

    submit(_SUBMITTED_MAX)
    landed, last = list[Finished](), time.monotonic()
    try:
        while under_way:
            for future, result in coming.next_batch(block=True):
                landed.append((under_way.pop(future.key), _checked(future.status, result)))
            submit(_SUBMITTED_MAX - len(under_way))
            if time.monotonic() - last >= _LANDING_S:
                yield landed
                landed, last = [], time.monotonic()
    except (OSError, FutureCancelledError, FuturesCancelledError) as error:
        if landed:
            yield landed
        raise ClusterError(f"the scheduler is gone, {len(under_way)} tasks are not done: {error}") from error
    if landed:
        yield landed


def _packed(resolved: str) -> bytes:
    return zlib.compress(resolved.encode())


def _checked(status: str, result: object) -> pa.Table:
    if status == "finished" and isinstance(result, pa.Table):
        return result
    reason = result[1] if isinstance(result, tuple) else result
    raise ClusterError(f"a task came to nothing: {reason}")


def _work(packed: bytes, seed: int, core: str) -> pa.Table:
    """On a worker: one run. Whoever has another core would give other bytes under the same key."""
    if native.fingerprint() != core:
        raise ClusterError("a worker has another version of airlane than this machine")
    (output,) = native.run([(zlib.decompress(packed).decode(), seed)], 1)
    return output.tables["flows"]
