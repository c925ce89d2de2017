"""Instructions per packet of each mechanism of the arena's set `field`, next to CUBIC, counted by callgrind.

One download over a wired link; in a cell, those that need radio information, and CUBIC. The difference of
two run lengths over the delivered packets in between leaves out start-up and slow start; it contains both
ends, the link or cell, and the engine. `python bench/controllers.py --write` writes
docs/results/controller-cost.json.
"""

from __future__ import annotations

import argparse
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import airlane
import journey
from airlane import native
from airlane.arena.contenders import FIELD, Contender
from airlane.runs import json_files

FILE = Path(__file__).parent.parent / "docs/results/controller-cost.json"
LENGTHS_S = (5.0, 15.0)
LINK = """
network = "wired"
[internet]
rate = "50 Mbit/s"
delay = "20 ms"
queue = "250 kB"
[[flow]]
name = "tested"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""
"""A queue of one bandwidth-delay product."""
CELL = """
network = "typical"
[internet]
delay = "20 ms"
[channel]
fading = "none"
[[cell]]
name = "cell"
resource_blocks = 75
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
name = "tested"
to = "phone"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""
"""Of about the rate of the link."""


def scenarios(contender: Contender, place: str) -> list[native.Resolved]:
    """Of both lengths. On the wire, ABC has its marks at the link."""
    if place == "cell":
        entered = contender.enter(airlane.loads(CELL))
    else:
        # The queue of a cell is that of the link.
        entered = replace(contender, cell={}).enter(airlane.loads(LINK))
        if contender.cell:
            entered = entered.set({"internet.aqm": contender.cell["rlc.aqm"]})
    return [entered.set({"run.duration": f"{length:g} s"}).resolved for length in LENGTHS_S]


def cost(contender: Contender, place: str, profile: str) -> dict[str, Any]:
    """Instructions for a delivered packet on the `wire` or in the `cell`, and how many packets that is.

    Raises
    ------
    SystemExit
        If they cannot be counted; says why.
    """
    pair = scenarios(contender, place)
    outputs = native.run([(resolved, 1) for resolved in pair], 1)
    short, long = (sum(one.tables["flows"]["packets_delivered"].to_pylist()) for one in outputs)
    counts = journey.instructions(pair, profile)
    if isinstance(counts, str):
        raise SystemExit(f"error: {contender.name}: {counts}")
    packets = int(long - short)
    return {
        "name": contender.name,
        "title": contender.title,
        "place": place,
        "packets": packets,
        "instructions": round((counts[1] - counts[0]) / packets),
    }


def main() -> None:
    """Count, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help=f"write {FILE.name}")
    parser.add_argument("--profile", default="release", help="cargo's profile [default: release]")
    options = parser.parse_args()
    informed = [contender for contender in FIELD if contender.settings]
    bases = [contender for contender in FIELD if contender.name in ("cubic", "quic-cubic")]
    measured = [(contender, "wire") for contender in FIELD if contender not in informed]
    measured += [(contender, "cell") for contender in (*bases, *informed)]
    rows = []
    for contender, place in measured:
        rows.append(cost(contender, place, options.profile))
        words = "{name:22} {place} {packets:8} packets {instructions:8} instructions each"
        print(words.format(**rows[-1]), flush=True)
    if options.write:
        compiler = subprocess.run(["rustc", "--version"], capture_output=True, text=True, check=True)
        about = {"profile": options.profile, "compiler": " ".join(compiler.stdout.split()[:2])}
        json_files.write(FILE, about | {"rows": rows})


if __name__ == "__main__":
    main()
