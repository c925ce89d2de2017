"""Check that crates depend on each other only downwards, and that two builds share what they compile.

The crates, top to bottom: py, nodes and web, live, assembly, scenario, then engine, record, traffic,
middlebox and ran, then quic, rtc and packetdrill, then radio, net, transport and settings, then core. `ran`
and `middlebox` are algorithms: they, like everything below them, depend on none of engine, record and
scenario, also for tests.

The extension (`py`) and `airlane-node` (`nodes`) are built apart. A package that has other features in either
build is compiled twice, and with it each crate of ours above it.
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
    "rtc": {"core"},
    "traffic": {"core", "net", "transport", "quic", "rtc"},
    "record": {"core", "wire"},
    "engine": {"core"},
    "scenario": {
        "core", "radio", "net", "transport", "quic", "rtc", "middlebox", "ran", "traffic", "record",
        "engine", "settings",
    },
    "assembly": {
        "core", "radio", "net", "transport", "quic", "rtc", "middlebox", "ran", "traffic", "record",
        "engine", "wire", "scenario",
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


APART = {"linux-raw-sys", "rustix"}
"""Packages of both builds on which no crate of ours in both depends."""


def features(tree: str) -> dict[str, set[str]]:
    """Features of each package in an output of `cargo tree` in the form `package|features`."""
    found: dict[str, set[str]] = {}
    for line in tree.splitlines():
        package, _, chosen = line.removesuffix(" (*)").partition("|")
        found.setdefault(package, set()).add(chosen)
    return found


def compiled_twice(py: str, nodes: str) -> list[str]:
    """One sentence per package that has other features in the second tree than in the first."""
    first, second = features(py), features(nodes)
    return [
        f"{package} is compiled twice: its features are {sorted(first[package])} in py and "
        f"{sorted(second[package])} in nodes; name the missing ones in Cargo.toml of py or nodes"
        for package in sorted(first.keys() & second.keys())
        if first[package] != second[package] and package.split()[0] not in APART
    ]


def output(root: Path, *command: str) -> str:
    """The output of a command."""
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def tree(root: Path, crate: str) -> str:
    """All packages that a crate of ours is compiled from on Linux, with their features."""
    where = ("--target", "x86_64-unknown-linux-gnu", "--edges", "normal", "--all-features")
    form = ("--prefix", "none", "--format", "{p}|{f}")
    return output(root, "cargo", "tree", "--locked", "--package", f"airlane-{crate}", *where, *form)


def main() -> int:
    """Check the workspace."""
    root = Path(__file__).resolve().parent.parent
    metadata = json.loads(output(root, "cargo", "metadata", "--format-version", "1", "--no-deps"))
    found = complaints(metadata) + compiled_twice(tree(root, "py"), tree(root, "nodes"))
    for complaint in found:
        print(complaint)
    if not found:
        print(f"{len(edges(metadata))} edges between {len(metadata['packages'])} crates, all downwards")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
