"""Cost of the smallest operations, from the criterion benches of the crates: medians in ns.

They are built without link-time optimisation (the profile `quick`), so a figure is an upper bound of the cost
in a release build.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# An event: a timer fires and is armed again.
EVENT_BUDGET_NS = 60.0
BENCHES = (
    # Crate, bench, its case.
    ("airlane-engine", "events", "hold/.*/wheel"),
    ("airlane-ran", "slots", "slot/"),
    ("airlane-transport", "acks", "ack/"),
    ("airlane-net", "links", "queue/"),
    ("airlane-middlebox", "pep", "pep/"),
)
SHORT = ("--warm-up-time", "0.3", "--measurement-time", "0.7", "--sample-size", "20", "--quiet")


def medians() -> list[dict[str, object]] | str:
    """Rows `{name, median_ns, budget_ns}`; or why there are none."""
    with tempfile.TemporaryDirectory() as home:
        for crate, bench, which in BENCHES:
            command = ["cargo", "bench", "--quiet", "--profile", "quick", "-p", crate, "--bench", bench, "--"]
            try:
                subprocess.run(
                    [*command, which, *SHORT],
                    cwd=ROOT,
                    env=os.environ | {"CRITERION_HOME": home},
                    capture_output=True,
                    check=True,
                    text=True,
                )
            except FileNotFoundError:
                return "no cargo"
            except subprocess.CalledProcessError as error:
                said = str(error.stderr).strip().splitlines()
                return f"{crate}: {said[-1] if said else f'exit code {error.returncode}'}"
        return read(Path(home))


def pep_flow_bytes() -> int | None:
    """Bytes that a PEP needs for each flow with full ranges; None where it cannot be measured."""
    command = ["cargo", "run", "--quiet", "--profile", "quick", "-p", "airlane-middlebox"]
    try:
        run = subprocess.run(
            [*command, "--example", "flow_bytes"], cwd=ROOT, capture_output=True, check=True, text=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None
    return int(run.stdout)


def read(home: Path) -> list[dict[str, object]]:
    """criterion's results in its folder, in the order of measurement."""
    rows = []
    for estimates in sorted(home.glob("**/new/estimates.json"), key=lambda path: path.stat().st_mtime_ns):
        name = json.loads((estimates.parent / "benchmark.json").read_text(encoding="utf-8"))["full_id"]
        median = json.loads(estimates.read_text(encoding="utf-8"))["median"]["point_estimate"]
        rows.append(
            {
                "name": name,
                "median_ns": round(median, 1),
                "budget_ns": EVENT_BUDGET_NS if name.startswith("hold/") else None,
            }
        )
    return rows
