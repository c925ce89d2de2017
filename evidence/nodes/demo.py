"""Each node through a live cell, compared with the simulator and the paper: `make demo-nodes`.

    demo.py [--runs N] [--json FILE] [--write] [NODE ...]

A node is a module of this folder with a function `rows(runs)`. `--write` writes the table of each node that
has a place in docs/deploy.md.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rows import Row, markdown, show

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "deploy.md"
sys.path.append(str(ROOT / "bench"))

import document  # noqa: E402

NODES = ("split-proxy", "drwa", "mdcc", "handover", "meld")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("nodes", nargs="*", metavar="NODE", help=f"of {', '.join(NODES)}; by default, all")
    arguments.add_argument("--runs", type=int, default=3, help="live runs of each situation")
    arguments.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to a file")
    arguments.add_argument("--write", action="store_true", help="write the tables into docs/deploy.md")
    chosen = arguments.parse_args()
    if unknown := set(chosen.nodes) - set(NODES):
        arguments.error(f"{min(unknown)} is none of {', '.join(NODES)}")
    found: list[Row] = []
    for node in chosen.nodes or NODES:
        rows = importlib.import_module(node.replace("-", "_")).rows(chosen.runs)
        found += rows
        place = f"demo_{node.replace('-', '_')}"
        if chosen.write and f"<!-- bench {place} -->" in PAGE.read_text(encoding="utf-8"):
            document.write({place: markdown(rows)}, PAGE)
    show(found, Console(width=120))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps([asdict(row) for row in found], indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
