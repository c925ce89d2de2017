"""The runs of a sweep as tasks, whose keys determine their results on any machine."""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from airlane import native
from airlane.cache import key_of
from airlane.optional import how_to_install
from airlane.runs.applications import with_applications
from airlane.user_error import UserError

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterError", "Finished", "Task", "locally", "on_cluster", "tasks_of"]

_WORKERS_S = 5.0
"""Time limit for a cluster to have its first worker."""
_LANDING_S = 0.5
"""How long results from a cluster may wait, so that they are written together."""
_AT_ONCE_S = 2.0
"""Target duration of the tasks that a local pool receives at a time."""
_AT_ONCE_MAX = 64
"""Maximum number of runs whose whole output a local pool holds; afterwards only the rows of flows
are kept.
"""
_ERRAND_S = 0.25
"""Target duration of the tasks of one batch for a worker: a batch has an overhead of some 10 ms."""
_ERRAND_MAX = 64
_ERRANDS_MIN = 32
"""Minimum number of concurrent batches, also with few workers."""


class ClusterError(UserError):
    """The cluster is not available, has disconnected, or has another version of the core."""


@dataclass(frozen=True)
class Task:
    """One run of one point.

    Attributes
    ----------
    key
        Hash of everything that determines the result: compiled core, resolved scenario, its files, seed.
    scenario
        Hash of the resolved scenario with its files: equal for the runs of one point, and only for them.
    point, run
        Point in the grid; number of the run, from 0.
    inputs
        SHA-256 of each file that the run reads, by its name.
    """

    key: str
    scenario: str
    point: int
    run: int
    seed: int
    resolved: native.Resolved
    inputs: Mapping[str, str]


Finished = tuple[Task, pa.Table]
"""A task and its rows of `flows`."""

_Brought = tuple[float, list[pa.Table]]
"""Seconds that a batch took, and the rows of each of its tasks."""


def tasks_of(points: Sequence[native.Job], runs: int) -> list[Task]:
    """Tasks of all points, each a resolved scenario and its first seed.

    Raises
    ------
    OSError
        When a file that a scenario names cannot be read.
    """
    core, tasks = native.fingerprint(), list[Task]()
    for point, (resolved, first) in enumerate(points):
        inputs = native.inputs(resolved)
        scenario = hashlib.sha256(json.dumps([resolved.json, inputs], sort_keys=True).encode()).hexdigest()[
            :16
        ]
        for run in range(runs):
            key = key_of(core, resolved.json, inputs, first + run)
            tasks.append(Task(key, scenario, point, run, first + run, resolved, inputs))
    return tasks


def locally(tasks: Sequence[Task], threads: int | None = None) -> Iterator[list[Finished]]:
    """Run tasks in this process, one per core at a time; yields results in the order of the tasks."""
    workers = threads or os.cpu_count() or 1
    begin, size = 0, workers
    while begin < len(tasks):
        chunk = tasks[begin : begin + size]
        started = time.monotonic()
        outputs = native.run([(task.resolved, task.seed) for task in chunk], workers)
        yield [(task, _flows(output)) for task, output in zip(chunk, outputs, strict=True)]
        begin += size
        per_task = (time.monotonic() - started) / len(chunk)
        size = max(workers, min(_AT_ONCE_MAX, int(_AT_ONCE_S / max(per_task, 1e-6))))


def _flows(output: native.Output) -> pa.Table:
    return with_applications(output.tables, float(output.meta["sim_s"]))


def on_cluster(tasks: Sequence[Task], address: str) -> Iterator[list[Finished]]:
    """Run tasks on the Dask cluster with this scheduler address; yields results in the order of completion.

    If a worker is lost, the scheduler assigns its tasks to another.

    Raises
    ------
    ClusterError
        When there is no scheduler, it has no workers or disconnects, or a worker has another version of
        airlane.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import resolve_address
    except ImportError as error:
        raise ClusterError(f"a cluster needs Dask: {how_to_install('cluster')}") from error
    try:
        resolve_address(address)  # an invalid address leaves a client that reports errors when it closes
        client = Client(address, timeout="5s", set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ClusterError(
            f"no Dask scheduler answers at {address}; expected an address such as tcp://host:8786"
        ) from error
    try:
        try:
            client.wait_for_workers(1, timeout=_WORKERS_S)
        except TimeoutError as error:
            raise ClusterError(
                f"the Dask scheduler at {address} has no workers; start one with: dask worker {address}"
            ) from error
        yield from _gathered(client, tasks)
    finally:
        client.close(timeout=2)


def _gathered(client: Client, tasks: Sequence[Task]) -> Iterator[list[Finished]]:
    from distributed import as_completed
    from distributed.client import FutureCancelledError, FuturesCancelledError

    core, packed = native.fingerprint(), functools.lru_cache(maxsize=256)(_packed)
    waiting, under_way = iter(tasks), dict[str, list[Task]]()
    coming = as_completed([], loop=client.loop, with_results=True, raise_errors=False)
    per_task_s = _ERRAND_S  # unknown at first: one at a time

    def submit(errands: int) -> None:
        size = max(1, min(_ERRAND_MAX, int(_ERRAND_S / max(per_task_s, 1e-6))))
        for errand in itertools.islice(iter(lambda: list(itertools.islice(waiting, size)), []), errands):
            # Named after our keys, so that a repeated request has the same name.
            name = hashlib.sha256("".join(task.key for task in errand).encode()).hexdigest()[:40]
            under_way[name] = errand
            jobs = [(packed(task.resolved), task.seed) for task in errand]
            coming.add(client.submit(_work, jobs, core, key=name, retries=2))

    at_once = _at_once(client)
    submit(at_once)
    landed, last = list[Finished](), time.monotonic()
    try:
        while under_way:
            for future, result in coming.next_batch(block=True):
                errand = under_way.pop(future.key)
                took_s, tables = _checked(future.status, result)
                landed += zip(errand, tables, strict=True)
                per_task_s = max(took_s / len(errand), per_task_s / 2)  # points differ: rather too few
            submit(at_once - len(under_way))
            if time.monotonic() - last >= _LANDING_S:
                yield landed
                landed, last, at_once = [], time.monotonic(), _at_once(client)
    except (OSError, FutureCancelledError, FuturesCancelledError) as error:
        if landed:
            yield landed
        left = sum(len(errand) for errand in under_way.values())
        raise ClusterError(
            f"lost the connection to the Dask scheduler; {left} tasks are not done: {error}"
        ) from error
    if landed:
        yield landed


def _at_once(client: Client) -> int:
    """Number of concurrent batches: enough to keep all workers busy, and no more."""
    threads: dict[str, int] = client.nthreads()
    return max(_ERRANDS_MIN, 4 * sum(threads.values()))


def _packed(resolved: native.Resolved) -> bytes:
    return zlib.compress(resolved.json.encode())


def _checked(status: str, result: object) -> _Brought:
    if status == "finished":
        assert isinstance(result, tuple), "what _work gives"
        return result
    reason = result[1] if isinstance(result, tuple) else result
    raise ClusterError(f"a task failed: {reason}")


def _work(jobs: Sequence[tuple[bytes, int]], core: str) -> _Brought:
    """On a worker: some runs. Another build of the core would store other results under the same keys."""
    if native.fingerprint() != core:
        raise ClusterError("a worker has another version of airlane than this machine")
    began = time.monotonic()
    read = native.Resolved.from_json
    outputs = native.run([(read(zlib.decompress(packed).decode()), seed) for packed, seed in jobs], 1)
    return time.monotonic() - began, [_flows(output) for output in outputs]
