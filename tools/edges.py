"""Check that crates depend on each other only downwards.

The crates, top to bottom: py, nodes and web, live, assembly, scenario, then engine, record, traffic,
middlebox and ran, then quic and packetdrill, then radio, net, transport and settings, then core. `ran` and
`middlebox` are algorithms: they, like everything below them, depend on none of engine, record and scenario,
also for tests.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ALLOWED: dict[str, set[str]] = {
    "core": set(),
    "radio": {"core"},
    "wire": {"core"},
    "settings": {"core"},
    "net": {"core"},
    "transport": {"core"},
    "packetdrill": {"core", "transport"},
    "middlebox": {"core", "net", "transport"},
    "ran": {"core", "radio", "net"},
    "quic": {"core", "transport"},
    "traffic": {"core", "net", "transport", "quic"},
    "record": {"core", "wire"},
    "engine": {"core"},
    "scenario": {
        "core", "radio", "net", "transport", "quic", "middlebox", "ran", "traffic", "record", "engine",
        "settings",
    },
    "assembly": {
        "core", "radio", "net", "transport", "quic", "middlebox", "ran", "traffic", "record", "engine",
        "wire", "scenario",
    },
    "guest": {"core", "wire", "packetdrill", "scenario", "assembly"},
    "live": {"core", "wire", "net", "engine", "record", "scenario", "assembly"},
    "nodes": {
        "core", "wire", "live", "net", "transport", "quic", "middlebox", "engine", "settings", "scenario",
        "assembly",
    },
    "py": {
        "core", "radio", "scenario", "assembly", "engine", "record", "live", "guest", "packetdrill",
    },
    "bind": set(),
    "web": {"core", "scenario", "assembly", "record"},
    "own-controller": {"scenario", "assembly", "record"},
    "own-scheduler": {"scenario", "assembly", "record"},
    "real-clock": {"core", "engine", "scenario", "assembly"},
}  # fmt: skip
"""Permitted dependencies of each crate. An unlisted crate fails the check."""


def edges(metadata: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(crate, dependency, kind) among the workspace's own crates, without the prefix `airlane-`."""
    own = {p["name"]: p["name"].removeprefix("airlane-") for p in metadata["packages"]}
    return sorted(
        (own[p["name"]], own[d["name"]], d["kind"] or "normal")
        for p in metadata["packages"]
        for d in p["dependencies"]
        if d["name"] in own
    )


def complaints(metadata: dict[str, Any]) -> list[str]:
    """One sentence per crate or dependency that is not allowed."""
    crates = sorted(p["name"].removeprefix("airlane-") for p in metadata["packages"])
    found = [
        f"crate {c!r} is not in tools/edges.py: say there what it may depend on"
        for c in crates
        if c not in ALLOWED
    ]
    for crate, dependency, kind in edges(metadata):
        if dependency not in ALLOWED.get(crate, {dependency}):
            found.append(f"{crate} must not depend on {dependency} (a {kind} dependency)")
    return found


def main() -> int:
    """Check the workspace."""
    root = Path(__file__).resolve().parent.parent
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps"]
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
    found = complaints(metadata)
    for complaint in found:
        print(complaint)
    if not found:
        print(f"{len(edges(metadata))} edges between {len(metadata['packages'])} crates, all downwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
