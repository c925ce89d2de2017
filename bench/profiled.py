"""Instructions of the pieces of work of `budgets.py`, in a build without and with a profile.

The wheel is built with it (`tools/profile.sh`). Both programs here are the example `run`,
with link-time optimisation.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import budgets
import document
import journey

PROFILE = journey.ROOT / "out" / "profile" / "airlane.profdata"


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    chosen = arguments.parse_args()
    if not PROFILE.exists():
        subprocess.run([journey.ROOT / "tools" / "profile.sh", PROFILE], check=True)
    plain = budgets.rows()  # the profile is not taken again after a change: remove it, or `make wheel`
    os.environ |= {
        "RUSTFLAGS": f"-Cprofile-use={PROFILE}",
        "CARGO_TARGET_DIR": str(journey.ROOT / "target" / "profiled"),
    }
    profiled = budgets.rows()
    for rows in (plain, profiled):
        if isinstance(rows, str):
            print(f"not counted: {rows}", file=sys.stderr)
            return 1
    cells = [
        [
            str(row["name"]),
            *(document.count(value) for value in (row["instructions"], other["instructions"], row["budget"])),
        ]
        for row, other in zip(plain, profiled, strict=True)
    ]
    table = document.table(["work", "without", "with", "budget"], cells)
    print(table)
    if chosen.write:
        document.write({"profile": table})
    return 0


if __name__ == "__main__":
    sys.exit(main())
