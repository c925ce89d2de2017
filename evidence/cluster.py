"""A sweep on a local Dask cluster, with worker and client killed in between, compared with one process.

Prints the duration of each form and whether the values are equal; exit code 1 if a row is lost, duplicated
or different.
"""

from __future__ import annotations

import argparse
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # part of distributed
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))

import document
from airlane.pages import markdown

SCENARIO = (
    "--example",
    "wired-cubic",
    "--grid",
    "run.warmup=0.2s",
    "--grid",
    "transport.congestion=cubic,newreno",
)
RUNS = 10
CORES = 2
SAME = "Nothing was lost, nothing is there twice, and all values are the same to the bit in all three tables."


def free_port() -> int:
    """A port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Python module until the end of the block."""
    quiet = subprocess.DEVNULL
    running = subprocess.Popen([sys.executable, "-m", *words], stdout=quiet, stderr=quiet)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


@contextmanager
def cluster() -> Iterator[tuple[str, subprocess.Popen[bytes], list[subprocess.Popen[bytes]]]]:
    """A scheduler and workers of one thread each; yields its address and all processes."""
    address = f"tcp://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        port = address.rpartition(":")[2]
        scheduler = stack.enter_context(
            process("distributed.cli.dask_scheduler", "--port", port, "--no-dashboard")
        )
        worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [stack.enter_context(process(*worker)) for _ in range(CORES)]
        from distributed import Client

        with Client(address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(CORES, timeout=60)
        yield address, scheduler, workers


def sweep(grid: list[str], out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Start a sweep."""
    words = [sys.executable, "-m", "airlane", "sweep", *SCENARIO, *grid, "--runs", str(RUNS), "-o", str(out)]
    return subprocess.Popen([*words, *more], stdout=subprocess.DEVNULL)


@dataclass(frozen=True)
class Took:
    """Duration of a sweep, and its number of cores."""

    wall_s: float
    cpu_s: float
    cores: int

    def of_each(self, tasks: int) -> float:
        """CPU milliseconds per task, independent of other load on the machine."""
        return self.cpu_s / tasks * 1e3

    def row(self, name: str, tasks: int) -> list[str]:
        """A row of the table."""
        return [
            name,
            f"{self.cores}",
            f"{self.wall_s:.1f}",
            f"{self.cpu_s:.1f}",
            f"{self.of_each(tasks):.2f}",
        ]


def cpu_s(beside: Sequence[subprocess.Popen[bytes]]) -> float:
    """CPU seconds of the commands that have ended, and of scheduler and workers."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    running = [psutil.Process(each.pid).cpu_times() for each in beside if each.poll() is None]
    return ended.ru_utime + ended.ru_stime + sum(times.user + times.system for times in running)


def timed(begin: Callable[[], subprocess.Popen[bytes]], beside: Sequence[subprocess.Popen[bytes]]) -> Took:
    """Start a sweep and wait for it; `beside` is its cluster."""
    wall, cpu = time.monotonic(), cpu_s(beside)
    if (status := begin().wait()) != 0:
        sys.exit(f"a sweep ended with {status}")
    workers = len(beside) - 1 if beside else CORES
    return Took(time.monotonic() - wall, cpu_s(beside) - cpu, workers)


def landed(folder: Path) -> int:
    """Tasks whose rows are in the folder."""
    files = list(folder.glob("part-*.parquet"))
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)


def until(folder: Path, tasks: int, begun: subprocess.Popen[bytes]) -> int:
    """Wait until this many tasks are stored; return their number."""
    while (now := landed(folder)) < tasks:
        if begun.poll() is not None:
            sys.exit(f"the sweep had ended at {now} of {tasks} tasks: give it more to do")
        time.sleep(0.02)
    return now


def rows(of: Path) -> pa.Table:
    """All rows by task, without order."""
    return pyarrow.dataset.dataset(of, format="parquet").to_table().sort_by("task")


def compared(alone: pa.Table, other: pa.Table) -> list[str]:
    """Differences from the reference; empty for equal tables."""
    wanted, there = Counter(alone["task"].to_pylist()), Counter(other["task"].to_pylist())
    found = {
        "lost": (wanted - there).total(),
        "twice": sum(count > 1 for count in there.values()),
        # NaN equals nothing; its text compares equal.
        "other values": int(str(alone.to_pydict()) != str(other.to_pydict())),
    }
    return [f"{name}: {count}" for name, count in found.items() if count]


def story(tasks: int, grid: list[str], place: Path) -> tuple[str, bool]:
    """Run all forms; return the results as Markdown, and whether they are right."""
    with cluster() as (address, scheduler, workers):
        whole = (scheduler, *workers)
        pool = timed(lambda: sweep(grid, place / "pool", "--threads", str(CORES)), ())
        on_cluster = timed(lambda: sweep(grid, place / "whole", "--cluster", address), whole)

        begun = sweep(grid, place / "killed", "--cluster", address)
        at_worker = until(place / "killed", tasks * 3 // 10, begun)
        workers[0].send_signal(signal.SIGKILL)
        at_client = until(place / "killed", tasks * 6 // 10, begun)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        if (kept := landed(place / "killed")) == tasks:
            sys.exit("all tasks had landed when the client was killed: give it more to do")
        rest = ("--cluster", address, "--resume")
        again = timed(lambda: sweep(grid, place / "killed", *rest), (scheduler, workers[1]))

    alone = rows(place / "pool")
    wrong = [
        f"{name}: {what}" for name in ("whole", "killed") for what in compared(alone, rows(place / name))
    ]
    wrong += [f"{alone.num_rows} rows in one process"] * (alone.num_rows != tasks)
    table = markdown.table(
        ["", "cores for tasks", "wall s", "CPU s", "CPU ms per task"],
        [
            pool.row("one process, a pool of threads", tasks),
            on_cluster.row("Dask: client, scheduler, 2 workers", tasks),
            again.row("resumed by another client", tasks - kept),
        ],
    )
    more_cpu = on_cluster.of_each(tasks) - pool.of_each(tasks)
    more_wall = (on_cluster.wall_s - pool.wall_s) / tasks * 1e3
    came = f"**Wrong: {'; '.join(wrong)}.**" if wrong else SAME
    killed = f"at {at_worker:,} tasks in the folder a worker was killed, at {at_client:,} the client"
    text = f"""{tasks:,} tasks of one run each; {killed}.
{kept:,} were kept, {tasks - kept:,} resumed. {came}

{table}

The cluster costs {more_cpu:.2f} ms more CPU time per task, {more_cpu / CORES:.2f} ms with both cores
at it; by the clock it was {more_wall:.2f} ms per task, with whatever else the machine was at."""
    return text, not wrong


def main() -> int:
    """Run all forms, print the results, and write them to the manual if requested."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=2000, help="tasks, in twenties")
    parser.add_argument("--seconds", type=float, default=3.0, help="simulated seconds of each")
    parser.add_argument("--write", action="store_true", help="put it into docs/performance.md")
    given = parser.parse_args()
    points = max(1, given.tasks // (2 * RUNS))
    grid = ["--grid", f"internet.delay=1..{points}:1ms", "--grid", f"run.duration={given.seconds}s"]
    with tempfile.TemporaryDirectory() as scratch:
        text, good = story(points * 2 * RUNS, grid, Path(scratch))
    print(text)
    if given.write and good:
        document.write({"cluster": text})
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
