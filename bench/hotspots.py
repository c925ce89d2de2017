"""Distribution of a run's instructions over the modules of the crates, counted by callgrind."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import journey
from airlane.validation.cell import LenaCell

MODULES = 14


def shares(cell: LenaCell) -> list[tuple[str, float]] | str:
    """The modules with most instructions and their shares, start-up included; or why they are not known.

    A line inlined from a library counts for the function that contains it.
    """
    binary = journey.binary()
    if binary is None or not journey.has_valgrind():
        return "valgrind or cargo is not installed"
    with tempfile.TemporaryDirectory() as folder:
        scenario, out = Path(folder) / "cell.toml", Path(folder) / "out"
        scenario.write_text(cell.text(), encoding="utf-8")
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}"]
        subprocess.run([*tool, str(binary), str(scenario)], check=True, capture_output=True)
        command = ["callgrind_annotate", "--threshold=100", "--auto=no", str(out)]
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    counted: Counter[str] = Counter()
    for line in text.splitlines():
        if found := re.match(r"\s*([\d,]+) \([ \d.]+%\)\s+(.+)", line):
            counted[_module(found[2])] += int(found[1].replace(",", ""))
    total = counted.pop("", 0)
    return [(name, count / total) for name, count in counted.most_common(MODULES)]


def _module(place: str) -> str:
    """`radio::fading` from a file or a function's path; empty for the total."""
    if place.startswith("PROGRAM TOTALS"):
        return ""
    if found := re.search(r"crates/(\w+)/src/(\w+)", place):
        return f"{found[1]}::{found[2]}"
    if found := re.search(r"airlane_(\w+)::(\w+)", place):
        return f"{found[1]}::{found[2]}"
    return "standard library, libm, start-up"
