"""A sweep on a Dask cluster of this machine, its worker and client killed on the way, against one process.

Prints what each form took and whether the values are the same; exit code 1 if any row is lost or twice.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet

SCENARIO = (
    "--example",
    "wired-cubic",
    "--grid",
    "run.warmup=0.2s",
    "--grid",
    "transport.congestion=cubic,newreno",
)
RUNS = 10


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def process(*words: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Python module that runs until the end of the block."""
    quiet = subprocess.DEVNULL
    running = subprocess.Popen([sys.executable, "-m", *words], stdout=quiet, stderr=quiet)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


@contextmanager
def cluster() -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and two workers of one thread each; gives its address and the workers."""
    address = f"tcp://127.0.0.1:{free_port()}"
    with ExitStack() as stack:
        port = address.rpartition(":")[2]
        stack.enter_context(process("distributed.cli.dask_scheduler", "--port", port, "--no-dashboard"))
        worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard")
        workers = [stack.enter_context(process(*worker)) for _ in range(2)]
        from distributed import Client

        with Client(address, timeout="60s", set_as_default=False) as client:
            client.wait_for_workers(2, timeout=60)
        yield address, workers


def sweep(grid: list[str], out: Path, *more: str) -> subprocess.Popen[bytes]:
    """Begin a sweep."""
    words = [sys.executable, "-m", "airlane", "sweep", *SCENARIO, *grid, "--runs", str(RUNS), "-o", str(out)]
    return subprocess.Popen([*words, *more], stdout=subprocess.DEVNULL)


def timed(begun: subprocess.Popen[bytes]) -> float:
    """Wait for it; wall seconds."""
    start = time.monotonic()
    if begun.wait() != 0:
        sys.exit(f"a sweep ended with {begun.returncode}")
    return time.monotonic() - start


def landed(folder: Path) -> int:
    """Tasks whose rows are in the folder."""
    files = list(folder.glob("part-*.parquet"))
    return sum(pyarrow.parquet.read_metadata(file).num_rows for file in files)


def until(folder: Path, tasks: int, begun: subprocess.Popen[bytes]) -> int:
    """Wait until so many tasks have landed; gives how many have."""
    while (now := landed(folder)) < tasks:
        if begun.poll() is not None:
            sys.exit(f"the sweep had ended at {now} of {tasks} tasks: give it more to do")
        time.sleep(0.02)
    return now


def rows(of: Path) -> pa.Table:
    """All rows by task, without order."""
    return pyarrow.dataset.dataset(of, format="parquet").to_table().sort_by("task")


def main() -> int:
    """Run all three forms."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", type=int, default=2000, help="tasks, in twenties")
    parser.add_argument("--seconds", type=float, default=4.0, help="simulated seconds of each")
    given = parser.parse_args()
    points = max(1, given.tasks // (2 * RUNS))
    tasks = points * 2 * RUNS
    grid = ["--grid", f"internet.delay=1..{points}:1ms", "--grid", f"run.duration={given.seconds}s"]
    with tempfile.TemporaryDirectory() as scratch, cluster() as (address, workers):
        place = Path(scratch)
        pool = timed(sweep(grid, place / "pool", "--threads", "2"))
        whole = timed(sweep(grid, place / "whole", "--cluster", address))
        print(f"{tasks} tasks of {given.seconds:g} simulated s, 2 cores")
        print(f"  one process, 2 threads      {pool:7.2f} s")
        overhead = (whole - pool) / tasks * 1e3
        print(f"  cluster, 2 workers          {whole:7.2f} s   {overhead:.2f} ms more per task")

        begun = sweep(grid, place / "killed", "--cluster", address)
        at_worker = until(place / "killed", tasks * 3 // 10, begun)
        workers[0].send_signal(signal.SIGKILL)
        at_client = until(place / "killed", tasks * 6 // 10, begun)
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        kept = landed(place / "killed")
        again = timed(sweep(grid, place / "killed", "--cluster", address, "--resume"))
        print(f"  a worker killed at {at_worker}, the client at {at_client}: {kept} kept")
        print(f"  resumed, 1 worker           {again:7.2f} s")

        alone = rows(place / "pool")
        same = {name: rows(place / name).to_pydict() for name in ("whole", "killed")}
        text = str(alone.to_pydict())  # NaN equals nothing; as text it does
        good = all(str(table) == text for table in same.values()) and alone.num_rows == tasks
        print(f"  {tasks} rows each, values the same: {'yes' if good else 'NO'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
