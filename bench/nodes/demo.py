"""Each node through a live cell, compared with the simulator and the paper: `make demo-nodes`.

    demo.py [--runs N] [--json FILE] [NODE ...]

A node is a module of this folder with a function `rows(runs)`.
"""

from __future__ import annotations

import argparse
import importlib
import json
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rows import Row, show

NODES = ("drwa", "split-proxy")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("nodes", nargs="*", choices=[*NODES, []], help="kinds of nodes; by default, all")
    arguments.add_argument("--runs", type=int, default=3, help="live runs of each situation")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    chosen = arguments.parse_args()
    found: list[Row] = []
    for node in chosen.nodes or NODES:
        found += importlib.import_module(node.replace("-", "_")).rows(chosen.runs)
    show(found, Console(width=120))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
