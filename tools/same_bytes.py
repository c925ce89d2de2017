"""Compare the bytes of all results with those of another commit.

    .venv/bin/python tools/same_bytes.py COMMIT [--only scenarios,captures,experiments] [--match TEXT]

Builds the core of the commit and that of the working tree, and runs with both, each with its own Python
code: the bundled scenarios in full with all optional tables, the first seconds of each with captures and
qlog, and every experiment of `airlane reproduce --quick`. Prints what differs; the exit code is 1 if
anything does. The counters of the engine (events, timers, transfers) are left out. Both use the packages
of the interpreter that runs this script (`make build` makes one).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("scenarios", "captures", "experiments")
# Tables and files that a scenario may switch off.
ALL_TABLES = {
    "output.ran_log": True,
    "output.deliveries": True,
    "output.losses": True,
    "output.proxy_series": True,
    "output.path_model": True,
    "run.ue_series": True,
}
CAPTURES = {"output.pcap": ["server", "ue", "s1-u"], "output.qlog": True, "run.duration": "3 s"}
# How much the engine did is no result: links in series are one node where that changes nothing else.
NO_RESULTS = frozenset({"wall_s", "events", "timers", "hops"})
# A scenario without cells has neither UEs nor an S1-U.
WIRED_CAPTURES = CAPTURES | {"output.pcap": ["server", "ue"]}


def of_output(output: object) -> Iterator[tuple[str, str]]:
    """SHA-256 of each table, and the summary of the run."""
    import pyarrow as pa

    for name, table in output.tables.items():  # type: ignore[attr-defined]
        sink = pa.BufferOutputStream()
        # Metadata says in words what a column means. It is no result, and words may change.
        fields = [field.remove_metadata() for field in table.schema]
        plain = pa.Table.from_arrays(table.columns, schema=pa.schema(fields))
        with pa.ipc.new_stream(sink, plain.schema) as writer:
            writer.write_table(plain)
        yield name, hashlib.sha256(sink.getvalue()).hexdigest()
    summary = {key: value for key, value in output.meta.items() if key not in NO_RESULTS}  # type: ignore[attr-defined]
    yield "meta", json.dumps(summary, sort_keys=True)


def hashes(kinds: list[str], match: str, scratch: Path) -> Iterator[tuple[str, str]]:
    """Name and hash of each result of this interpreter's airlane."""
    # Imported here: the comparing process needs none of it.
    import airlane
    from airlane import examples, experiments, native, papers
    from airlane.cache import Cache

    def resolved(name: str, *overrides: Mapping[str, object]) -> native.Resolved:
        scenario = airlane.load(examples.path(name))
        for settings in overrides:
            for key, value in settings.items():
                try:
                    _ = scenario.set({key: value}).resolved
                except airlane.ScenarioError:
                    continue  # this scenario cannot have it
                scenario = scenario.set({key: value})
        return scenario.resolved

    for name in examples.names():
        if match not in name:
            continue
        if "scenarios" in kinds:
            [output] = native.run([(resolved(name, ALL_TABLES), 1)], 1)
            yield from ((f"{name}: {table}", digest) for table, digest in of_output(output))
        if "captures" in kinds:
            folder = scratch / name
            folder.mkdir()
            text = resolved(name, WIRED_CAPTURES, CAPTURES)
            native.run([(text, 1)], 1, captures=[f"{folder}/"])
            for file in sorted(folder.iterdir()):
                with file.open("rb") as opened:
                    yield f"{name}: {file.name}", hashlib.file_digest(opened, "sha256").hexdigest()
            shutil.rmtree(folder)

    class Hashes(Cache):
        """A cache that stores nothing, and records what it is given."""

        found: list[tuple[str, str]]
        # The numbers of runs, in the order of the experiment: they end in another one.
        numbers: dict[str, int]

        def get(self, key: str) -> None:
            self.numbers.setdefault(key, len(self.numbers))

        def put(self, key: str, output: object) -> None:
            run = self.numbers[key]
            self.found += [(f"run {run}: {table}", digest) for table, digest in of_output(output)]

    if "experiments" in kinds:
        for experiment in papers.experiments():
            if match not in experiment.id:
                continue
            recorder = Hashes(scratch / "cache", native.fingerprint())
            recorder.found, recorder.numbers = [], {}
            experiments.conduct(
                experiment, papers.published(), recorder, quick=True, threads=os.cpu_count() or 1
            )
            yield from ((f"{experiment.id}: {name}", digest) for name, digest in recorder.found)


def build(tree: Path, target: Path, package: Path) -> None:
    """Make a Python package of a tree's code, its scenarios and its core."""
    command = ["cargo", "build", "--quiet", "--locked", "--profile", "quick", "-p", "airlane-py"]
    settings = os.environ | {"CARGO_TARGET_DIR": str(target), "PYO3_PYTHON": sys.executable}
    subprocess.run(command, cwd=tree, env=settings, check=True)
    [library] = [file for file in target.glob("quick/lib_native.*") if file.suffix in (".so", ".dylib")]
    left_out = shutil.ignore_patterns("*.so", "__pycache__", "scenarios")
    shutil.copytree(tree / "python/airlane", package, ignore=left_out)
    shutil.copytree(tree / "scenarios", package / "scenarios")
    shutil.copy2(library, package / "_native.abi3.so")


def build_commit(commit: str, target: Path, package: Path) -> None:
    """The same of a commit, whose tree and compiled code are kept in `target` for the next comparison.

    No other tree may use this target folder: cargo identifies a crate by its path in the workspace, and
    takes the code of two workspaces for the same.
    """
    tree = target / "tree"
    if not tree.exists():
        subprocess.run(["git", "worktree", "prune"], cwd=ROOT, check=True)
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, commit], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--detach", commit], cwd=tree, check=True)
    build(tree, target, package)


def results(packages: Path, kinds: list[str], match: str) -> dict[str, str]:
    """The hashes of the package in this folder, from an interpreter of its own."""
    command = [sys.executable, str(Path(__file__)), "--print", ",".join(kinds), "--match", match]
    settings = os.environ | {"PYTHONPATH": str(packages)}
    run = subprocess.run(command, cwd=packages, env=settings, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(line) for line in run.stdout.splitlines())


def compare(commit: str, kinds: list[str], match: str) -> int:
    """Build and run both, and print what differs."""
    found = subprocess.run(
        ["git", "rev-parse", "--verify", f"{commit}^{{commit}}"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    sha = found.stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        before, after = Path(folder) / "before", Path(folder) / "after"
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute()
        build_commit(sha, target / "same-bytes", before / "airlane")
        build(ROOT, target, after / "airlane")
        old, new = (results(packages, kinds, match) for packages in (before, after))
    differing = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    for name in differing:
        what = "only before" if name not in new else "only after" if name not in old else "differs"
        print(f"{what}: {name}")
        if what == "differs" and name.endswith(": meta"):
            was, now = json.loads(old[name]), json.loads(new[name])
            print("  " + ", ".join(f"{k} {was.get(k)} -> {now.get(k)}" for k in now if was.get(k) != now[k]))
    print(
        f"{len(old.keys() | new.keys())} tables, summaries and files: {len(differing)} differ from {commit}"
    )
    return 1 if differing or not old else 0


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("commit", nargs="?", help="the commit to compare with")
    parser.add_argument("--only", default=",".join(KINDS), help="kinds of results, separated by commas")
    parser.add_argument("--match", default="", help="only scenarios and experiments whose name contains this")
    parser.add_argument("--print", dest="printed", help=argparse.SUPPRESS)
    call = parser.parse_args()
    kinds = str(call.printed or call.only).split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        parser.error(f"--only {','.join(unknown)}: choose from {', '.join(KINDS)}")
    if call.printed:
        with tempfile.TemporaryDirectory() as scratch:
            for pair in hashes(kinds, call.match, Path(scratch)):
                print(json.dumps(pair), flush=True)
        return 0
    if call.commit is None:
        parser.error("name the commit to compare with")
    return compare(call.commit, kinds, call.match)


if __name__ == "__main__":
    sys.exit(main())
