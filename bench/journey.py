"""Cost of a packet from server to UE and of its acknowledgement, in instructions and events.

Instructions are counted by callgrind over a native binary that runs one scenario. The difference
of two run lengths over the difference in delivered packets leaves out start-up, tables and slow start.
"""

from __future__ import annotations

import json
import re
import shutil
import statistics
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path

from airlane import native
from airlane.validation.cell import LenaCell, positions

ROOT = Path(__file__).parent.parent
LENGTHS_S = (6.0, 12.0)
TIMED_ROUNDS = 9


def cost() -> dict[str, object]:
    """Per delivered packet: events, time, and instructions where valgrind and cargo are available."""
    cells = [
        LenaCell(places=positions(1), traffic="tcp", warmup_s=2.0, duration_s=length) for length in LENGTHS_S
    ]
    jobs = [(cell.scenario().resolved, 1) for cell in cells]
    outputs = native.run(jobs, 1)
    packets = [_delivered(output) for output in outputs]
    between = packets[1] - packets[0]
    rounds = [[_cpu_s(job) for job in jobs] for _ in range(TIMED_ROUNDS)]
    seconds = statistics.median(longer - shorter for shorter, longer in rounds)
    events = outputs[1].meta["events"] - outputs[0].meta["events"]
    figures: dict[str, object] = {
        "scenario": "1 UE, TCP CUBIC over RLC UM, 100 RB, no fading",
        "method": f"{LENGTHS_S[1]:g} s less {LENGTHS_S[0]:g} s, over {between} delivered packets",
        "events_per_packet": round(events / between, 3),
        "ns_per_packet": round(seconds / between * 1e9, 1),
    }
    counts = instructions([cell.scenario().resolved for cell in cells])
    if isinstance(counts, str):
        figures["instructions_per_packet"] = None
        figures["note"] = counts
    else:
        figures["instructions_per_packet"] = round((counts[1] - counts[0]) / between, 1)
    return figures


def _cpu_s(job: tuple[str, int]) -> float:
    """CPU time of a run, which excludes other processes on the core."""
    began = time.process_time()
    native.run([job], 1)
    return time.process_time() - began


def _delivered(output: native.Output) -> int:
    return int(sum(output.tables["flows"]["packets_delivered"].to_pylist()))


def instructions(scenarios: Sequence[native.Resolved], profile: str = "release") -> list[int] | str:
    """Instructions of a run of each resolved scenario, or why they could not be counted."""
    if not has_valgrind():
        return "valgrind is not installed (apt-get install valgrind)"
    program = binary(profile)
    if program is None:
        return "cargo could not build the example `run` of airlane-assembly"
    counts = []
    with tempfile.TemporaryDirectory() as folder:
        for resolved in scenarios:
            scenario = Path(folder) / "resolved.json"
            scenario.write_text(resolved.json, encoding="utf-8")
            tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
            command = [*tool, str(program), str(scenario)]
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            collected = re.search(r"Collected\s*:\s*(\d+)", done.stderr)
            if done.returncode != 0 or collected is None:
                return f"valgrind failed: {done.stderr.strip().splitlines()[-1:]}"
            counts.append(int(collected.group(1)))
    return counts


def has_valgrind() -> bool:
    return shutil.which("valgrind") is not None


def link_arguments() -> list[str]:
    """The arguments of rustc for the last step of the wheel, which links it."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return [str(argument) for argument in settings["tool"]["maturin"]["rustc-args"]]


def binary(profile: str = "release") -> Path | None:
    """The native program that runs one scenario; None where cargo cannot build it."""
    command = ["cargo", "rustc", "--profile", profile, "-q", "-p", "airlane-assembly", "--example", "run"]
    command += ["--message-format=json", "--", *link_arguments()]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        return None
    for line in done.stdout.splitlines():
        message = json.loads(line)
        if message.get("executable") and message.get("target", {}).get("name") == "run":
            return Path(message["executable"])
    return None
