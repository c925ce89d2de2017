"""System calls of the split proxy and of HAProxy with bulk data: how many they need per Gbit, and for what.

    python evidence/nodes/split_proxy_calls.py [--flows N] [--seconds S] [--rounds N] [--write]

`perf stat` counts them while data flows, as root. `--write` puts the table into docs/deploy/split-proxy.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "bench"), str(HERE)]

from split_proxy_peers import OURS, SERVER, Proxy  # noqa: E402

import document  # noqa: E402
from airlane.pages import markdown  # noqa: E402
from node_support import NodeProcess, World, unavailable  # noqa: E402

CALLS = ("splice", "recvfrom", "sendto", "epoll_wait")


def counted(proxy: Proxy, flows: int, seconds: float) -> dict[str, float]:
    """Rate, processor time, and system calls per Gbit, of bulk data to the UE."""
    events = ",".join(["raw_syscalls:sys_enter", *(f"syscalls:sys_enter_{name}" for name in CALLS)])
    command = ["perf", "stat", "-x", ";", "-e", events, "-p", str(proxy.pid)]
    perf = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)
    before = (proxy.cpu(), times(proxy.pid))
    said = json.loads(
        proxy.world.succeed("ue", "iperf3", "-J", "-R", "-c", SERVER, "-P", str(flows), "-t", str(seconds))
    )
    cpu, (user, system) = proxy.cpu() - before[0], times(proxy.pid)
    perf.send_signal(signal.SIGINT)
    lines = perf.communicate()[1].splitlines()
    gigabits = said["end"]["sum_received"]["bytes"] * 8 / 1e9
    counts = {line.split(";")[2].rpartition("_")[2]: int(line.split(";")[0]) for line in lines if ";" in line}
    names = ("enter", *(name.rpartition("_")[2] for name in CALLS))
    assert counts.keys() == set(names), lines
    found = {
        "Gbit/s": gigabits / said["end"]["sum_received"]["seconds"],
        "CPU s per Gbit": cpu / gigabits,
        "of it in the kernel, %": 100 * (system - before[1][1]) / max(1e-9, user + system - sum(before[1])),
        "system calls per Gbit": counts["enter"] / gigabits,
    }
    found |= {f"{call} per Gbit": counts[call.rpartition("_")[2]] / gigabits for call in CALLS}
    # Each byte is spliced into a pipe and out of it.
    found["KiB per splice, if all is spliced"] = 2 * gigabits * 1e9 / 8 / 1024 / max(1, counts["splice"])
    return found


def softirq_share(proxy: Proxy, flows: int, seconds: float) -> float:
    """The share of the processor time in which the kernel handled received packets, of whichever connection.

    The kernel does this in the task that it interrupts, or in a thread of its own. It counts as time of the
    proxy only in the first case.
    """
    data = proxy.world.folder / "perf.data"
    command = ["perf", "record", "-q", "-g", "-e", "cpu-clock", "-o", str(data), "-p", str(proxy.pid)]
    perf = subprocess.Popen(command)
    time.sleep(0.5)
    proxy.world.succeed("ue", "iperf3", "-J", "-R", "-c", SERVER, "-P", str(flows), "-t", str(seconds))
    perf.send_signal(signal.SIGINT)
    perf.wait()
    shown = ["--children", "-g", "none", "--stdio", "-F", "overhead_children,sym", "-s", "sym"]
    report = subprocess.run(
        ["perf", "report", "-i", str(data), *shown], capture_output=True, text=True, check=True
    )
    names = ("handle_softirqs", "__do_softirq", "__softirqentry_text_start")  # by the version of the kernel
    found = [line.split() for line in report.stdout.splitlines() if not line.startswith("#")]
    return max(float(words[0].rstrip("%")) for words in found if words and words[-1] in names)


def times(pid: int) -> tuple[float, float]:
    """Processor time in the program and in the kernel, in s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    tick = os.sysconf("SC_CLK_TCK")
    return int(fields[11]) / tick, int(fields[12]) / tick


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    reason = unavailable()
    for program in ("perf", "haproxy", "iperf3"):
        if shutil.which(program) is None:
            reason = f"the program {program} is missing"
    if reason is not None:
        sys.exit(f"error: {reason}")
    results: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in ("airlane", "haproxy")}
    with tempfile.TemporaryDirectory() as folder, World(Path(folder)) as world:
        NodeProcess(world, "split-proxy", OURS % "").set_up()
        world.start("server", "iperf3", "-s")
        time.sleep(1)
        for number in range(arguments.rounds):
            for name in list(results) if number % 2 == 0 else reversed(list(results)):
                proxy = Proxy(world, name)
                found = counted(proxy, arguments.flows, arguments.seconds)
                share = softirq_share(proxy, arguments.flows, arguments.seconds)
                found["of it for received packets (softirq), %"] = share
                found["CPU s per Gbit without these"] = found["CPU s per Gbit"] * (1 - share / 100)
                for key, value in found.items():
                    results[name][key].append(value)
                print(name, json.dumps({key: round(value, 4) for key, value in found.items()}), flush=True)
                proxy.end()
    rows = [
        [key, *(f"{statistics.median(results[name][key]):.4g}" for name in results)]
        for key in results["airlane"]
    ]
    text = markdown.table([f"{arguments.flows} flows", "airlane", "HAProxy"], rows)
    print(text)
    if arguments.write:
        document.write({"split_proxy_calls": text}, ROOT / "docs" / "deploy" / "split-proxy.md")


if __name__ == "__main__":
    main()
