"""A call of libwebrtc in real time and a simulated call in virtual time, compared. `make call-agreement`.

Each file of `evidence/call_agreement` has a flow `call` with the controller GCC and no audio. For each seed
it runs in real time, where `airlane call` makes the call in place of the flow, and in virtual time with the
flow, which starts and stops when the real call did. Size, frame rate and bounds of the rate are the same.
The frames of the camera meet the slots of the cell in another phase in each live run, so each is compared
with the mean of several simulations with the same seed, which begin up to 40 ms later. Both are measured
from begin to end.

A live run that was not in real time does not count, nor does one whose camera paused for more than three
frames, because the machine was slow. Such a run is repeated, at most three times.

`--write` writes docs/results/call-agreement.json, from which docs/rtc.md takes its table; `--add` adds runs
with further seeds to those in the file.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import airlane
from airlane.realtime.call.view import CAMERA_GAP_FRAMES
from airlane.runs import json_files
from airlane.scenario import seconds

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "docs"))

import call_tables  # noqa: E402  # in docs

RECORD = ROOT / "docs/results/call-agreement.json"
BEGINS = 8
"""Simulations of each live run."""
BEGIN_S = 0.04
"""They begin up to so much later."""
TRIES = 4


class DisturbedError(Exception):
    """The host disturbed a live run."""


@dataclass(frozen=True)
class Times:
    """Begin and end of the real call, and the end of the run."""

    start_s: float
    stop_s: float
    end_s: float


def flow_of(scenario: airlane.Scenario) -> dict[str, Any]:
    """The flow of the call in a resolved scenario."""
    return next(flow for flow in scenario.settings["flow"] if flow["name"] == "call")


def options_of(scenario: airlane.Scenario) -> list[str]:
    """Options of `airlane call` for the same camera, bounds of the rate and other flows of the UE."""
    video = flow_of(scenario)["app"]["video"]
    low, high = (video[key].replace(" ", "") for key in ("min", "max"))
    others = [
        one["name"]
        for one in scenario.settings["flow"]
        if one["name"] != "call" and one.get("to") == flow_of(scenario).get("to")
    ]
    kept = [text for name in others for text in ("--keep", name)]
    return [
        *kept,
        "--direction", "downlink", "--bitrate", f"{low}-{high}", "--fps", f"{video['frame_rate']:g}",
        "--size", f"{video['width']}x{video['height']}",
        "--duration", f"{seconds(scenario.settings['run']['duration']):g}",
    ]  # fmt: skip


def live(file: Path, seed: int, options: list[str]) -> tuple[dict[str, float], Times]:
    """Measures of the real call, and its times."""
    scenario = airlane.load(file)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch) / "run"
        command = [sys.executable, "-m", "airlane", "call", str(file), "--seed", str(seed), "-o", str(place)]
        done = subprocess.run(
            [*command, *options_of(scenario), *options],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
            timeout=300,
        )
        if done.returncode == 3:
            raise DisturbedError
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip() or done.stdout.strip() or "airlane call failed")
        tables = airlane.Results.read(place).tables
        facts = json.loads((place / "live.json").read_text(encoding="utf-8"))
    (call,) = facts["calls"]
    (way,) = call["directions"]
    if way["camera_gap_ms"] > 1e3 * CAMERA_GAP_FRAMES / flow_of(scenario)["app"]["video"]["frame_rate"]:
        raise DisturbedError
    times = Times(call["connected_s"], call["over_s"], facts["wall_s"])
    return real_measures(tables, way, times), times


def real_measures(tables: Mapping[str, Any], way: Mapping[str, Any], times: Times) -> dict[str, float]:
    """Measures from the tables of a live run and the summary of its only direction."""
    flow = next(row for row in tables["flows"].to_pylist() if row["flow"] == way["receiver"])
    stats = [row for row in tables["call_stats"].to_pylist() if row["t_s"] >= times.start_s]

    def mean(end: str, column: str) -> float:
        found = [row[column] for row in stats if row["end"] == way[end] and row[column] is not None]
        return float(np.mean(found))

    return {
        "received_mbps": 8e-6 * flow["bytes_delivered"] / (times.stop_s - times.start_s),
        "target_mbps": mean("sender", "available_mbps"),
        "frame_p50_ms": way["delay_ms"],
        "frame_p95_ms": way["delay_p95_ms"],
        "buffer_ms": mean("receiver", "jitter_buffer_ms"),
        "freezes": way["freezes"],
        "freeze_s": way["freezes_s"],
        "encode_ms": mean("sender", "encode_ms"),
        "decode_ms": mean("receiver", "decode_ms"),
    }


def virtual(file: Path, seed: int, times: Times) -> list[dict[str, float]]:
    """Measures of the simulations that belong to a live run."""
    later = random.Random(seed)
    return [
        simulated(file, seed, times, later.uniform(0, BEGIN_S) if number else 0.0) for number in range(BEGINS)
    ]


def simulated(file: Path, seed: int, times: Times, later_s: float) -> dict[str, float]:
    """Measures of a simulation."""
    scenario = airlane.load(file)
    place = scenario.settings["flow"].index(flow_of(scenario))
    keys = {
        f"flow.{place}.start": f"{round((times.start_s + later_s) * 1e9)} ns",
        f"flow.{place}.stop": f"{round((times.stop_s + later_s) * 1e9)} ns",
        "run.duration": f"{round((times.end_s + later_s) * 1e9)} ns",
        "run.seed": seed,
        "run.warmup": "0 s",  # a live run has none
    }
    flows = scenario.set(keys).run().tables["flows"].to_pylist()
    call = next(row for row in flows if row["flow"] == "call")
    return {
        "received_mbps": 8e-6 * call["bytes_delivered"] / (times.stop_s - times.start_s),
        "target_mbps": 1e-3 * call["target_kbps"],
        **{key: call[key] for key in ("frame_p50_ms", "frame_p95_ms", "buffer_ms", "freezes", "freeze_s")},
    }


def title_of(file: Path) -> str:
    """The first sentence of its comment."""
    return file.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").removesuffix(".")


def compare(file: Path, row: dict[str, Any], runs: int, options: list[str]) -> None:
    """Add pairs with further seeds to a row of the report."""
    for _ in range(runs):
        seed = 1 + len(row["pairs"])
        for _ in range(TRIES):
            try:
                measures, times = live(file, seed, options)
            except DisturbedError:
                row["disturbed"] += 1
                continue
            except RuntimeError as failed:
                print(f"{file.stem}, seed {seed}: {failed}", file=sys.stderr)
                return
            row["pairs"].append({"seed": seed, "live": measures, "virtual": virtual(file, seed, times)})
            break


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--only", nargs="*", help="scenarios whose name contains one of these")
    arguments.add_argument("--runs", type=int, default=5, help="live runs of each scenario")
    arguments.add_argument("--fifo", action="store_true", help="live with SCHED_FIFO")
    arguments.add_argument("--add", action="store_true", help="add runs to those of the file")
    arguments.add_argument("--write", action="store_true", help=f"write {RECORD.relative_to(ROOT)}")
    chosen = arguments.parse_args()
    files = sorted((ROOT / "evidence/call_agreement").glob("*.toml"), key=lambda file: file.stem)
    kept = json_files.read(RECORD)["scenarios"] if chosen.add else []
    known = {row["name"]: row for row in kept}
    for file in files:
        row = known.setdefault(file.stem, {"name": file.stem, "pairs": [], "disturbed": 0})
        row["title"] = title_of(file)
        if not chosen.only or any(text in file.stem for text in chosen.only):
            print(file.stem, file=sys.stderr, flush=True)
            compare(file, row, chosen.runs, ["--fifo"] if chosen.fifo else [])
    report = {
        "wrtc": importlib.metadata.version("wrtc"),
        "scenarios": [r for r in known.values() if r["pairs"]],
    }
    print(call_tables.table(report))
    print(f"{sum(row['disturbed'] for row in known.values())} live runs were disturbed and do not count")
    if chosen.write:
        json_files.write(RECORD, report)


if __name__ == "__main__":
    main()
