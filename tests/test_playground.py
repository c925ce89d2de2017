"""The simulator for browsers: the same bytes and messages as the native build.

`make playground` builds it. Without it, or without Node, the tests name the missing part and are skipped.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane import _native
from conftest import ROOT
from test_determinism import bytes_of, is_current

MODULE = ROOT / "out/playground/module"
BUILT = ROOT / "target/wasm32-unknown-unknown/web/airlane_web.wasm"
SCENARIOS = sorted((ROOT / "scenarios").glob("*.toml"))
SETTINGS = {"run.duration": "2 s", "run.warmup": "0 s"}
SEED = 5


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    """Skip if Node is missing, or the build is missing or outdated."""
    if shutil.which("node") is None:
        pytest.skip("no Node: https://nodejs.org")
    if not (MODULE / "airlane_web_bg.wasm").exists():
        pytest.skip("the playground is not built: make playground")
    if wrong := is_current(BUILT):
        pytest.skip(f"{wrong}: make playground")


def files() -> list[list[str]]:
    """The files that the playground bundles for its scenarios, each with its path on disk."""
    root = ROOT / "scenarios"
    named = (path for place in ("maps", "traces") for path in sorted((root / place).iterdir()))
    return [[str(path.relative_to(root)), str(path)] for path in named if path.suffix != ".md"]


def in_node(jobs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The module's results of scenarios."""
    command: list[str | Path] = ["node", ROOT / "playground/tools/tables.mjs", MODULE]
    done = subprocess.run(command, input=json.dumps(jobs), text=True, check=True, capture_output=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


@cache
def ran() -> dict[str, dict[str, Any]]:
    """Results of all bundled scenarios in Node."""
    jobs = [
        {
            "name": path.name,
            "text": path.read_text(encoding="utf-8"),
            "overrides": SETTINGS,
            "seed": SEED,
            "files": files(),
        }
        for path in SCENARIOS
    ]
    return {one["name"]: one for one in in_node(jobs)}


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_the_same_bytes_as_the_native_build(path: Path) -> None:
    (native,) = _native.run([(airlane.load(path).set(SETTINGS).resolved, SEED)], 1)
    there, here = ran()[path.name], bytes_of(native.tables)
    assert there["bytes"] == len(here) > 1_000
    assert there["digest"] == hashlib.sha256(here).hexdigest()
    facts = json.loads(native.meta)
    del facts["wall_s"]
    assert there["meta"] == facts


MISTAKES = {
    "a key that does not exist": 'network = "typical"\n\n[internet]\nrtae = "10 Mbit/s"\n',
    "a value without a unit": '[internet]\nrate = "10"\n',
    "no TOML": "network = \n",
    "a network that does not exist": 'network = "tipical"\n',
    "an empty file": "",
    "a value out of range": '[[cell]]\nname = "a"\nbandwidth = "7 MHz"\n',
    "a flow to nobody": '[[flow]]\nto = "nobody"\napp = "bulk"\n',
}


@pytest.mark.parametrize("text", MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_in_the_words_of_the_native_reader(text: str) -> None:
    with pytest.raises(_native.ScenarioError) as caught:
        _native.parse(text, "x.toml")
    error = caught.value
    job = {"name": "x.toml", "text": text, "overrides": {}, "seed": 1, "files": []}
    (there,) = in_node([job])
    assert there["error"]["message"] == str(error)
    for part in ("file", "line", "key", "value", "help"):
        assert there["error"][part] == getattr(error, part)


def test_a_file_that_was_not_handed_over_is_asked_for() -> None:
    path = ROOT / "scenarios/trace-link.toml"
    text = path.read_text(encoding="utf-8")
    job = {"name": path.name, "text": text, "overrides": {}, "seed": 1, "files": []}
    (there,) = in_node([job])
    assert there["error"]["what"] == "no such file"
    assert there["error"]["help"] == (
        "a browser reads no files by itself: drop traces/sawtooth.down on this page"
    )
