"""The windows of MD-CC in the kernel and in the simulator, compared at each step.

    python evidence/nodes/mdcc_windows.py [--write]

Simulations are recorded, and each call of the law is repeated in the kernel (BPF_PROG_TEST_RUN). It needs
root, libelf and Rust. `--write` puts the table into docs/deploy/mdcc.md.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

import document  # noqa: E402

TEST = ["cargo", "test", "--quiet", "--profile", "quick", "-p", "airlane-nodes", "--features", "bpf", "--lib"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--write", action="store_true", help="write the table into docs/deploy/mdcc.md")
    chosen = arguments.parse_args()
    only = ["mdcc::parity", "--", "--nocapture", "--test-threads=1"]
    done = subprocess.run([*TEST, *only], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    table = "\n".join(line for line in done.stdout.splitlines() if line.startswith("| "))
    print(table or done.stdout)
    if done.returncode != 0 or not table:
        raise SystemExit("the windows differ, or could not be compared")
    if chosen.write:
        document.write({"mdcc_windows": table}, ROOT / "docs/deploy/mdcc.md")


if __name__ == "__main__":
    main()
