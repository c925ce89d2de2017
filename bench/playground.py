"""Times of the playground: to its first result, and of the bundled scenarios, whose bytes are compared.

    .venv/bin/python bench/playground.py [SCENARIO ...]

The page opens from disk, and runs a scenario of 3 s 300 times. Each bundled scenario runs once, in full, in
the native build, in Node and in Chromium. `make playground` builds the page. The tables are Markdown; the
exit code is 1 if the bytes of a table differ.
"""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from playwright.sync_api import sync_playwright  # noqa: E402

import airlane  # noqa: E402
from airlane import _native  # noqa: E402
from test_browser import CHROMIUM  # noqa: E402
from test_determinism import bytes_of  # noqa: E402
from test_playground import MODULE, SCENARIOS, files_of  # noqa: E402
from test_playground_browser import ARGUMENTS, HTML, QUICK, Visit  # noqa: E402

LOAD = """async ([script, module]) => {
  window.lab = await import(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
  lab.initSync({ module: Uint8Array.from(atob(module), c => c.charCodeAt(0)) });
}"""
RUN = """async ([text, name, seed, files]) => {
  const given = new lab.Files();
  for (const [file, text] of files) given.add(file, new TextEncoder().encode(text));
  const run = new lab.Scenario(text, name, "{}", given).run(BigInt(seed), undefined, false);
  const began = performance.now();
  while (!run.advance(1));
  const wall_s = (performance.now() - began) / 1e3, outcome = run.finish(), bytes = outcome.bytes();
  outcome.free();
  let encoded = "";
  for (let i = 0; i < bytes.length; i += 32768) {
    encoded += String.fromCharCode(...bytes.subarray(i, i + 32768));
  }
  return { wall_s, bytes: btoa(encoded) };
}"""

# In the page itself: the inspector keeps each script that a test evaluates.
AGAIN = """async runs => {
  const shown = document.documentElement.dataset;
  for (let run = 0; run < runs; run++) {
    const input = document.getElementById("control-cell-0-rlc-buffer"), before = shown.runs;
    input.value = String(100 + (Number(input.value) + 1) % 50);
    input.dispatchEvent(new Event("change"));
    while (shown.runs === before) await new Promise(resolve => setTimeout(resolve, 5));
  }
  gc();
  await new Promise(resolve => setTimeout(resolve, 50));
  gc();
  return performance.memory.usedJSHeapSize;
}"""


def opened(browser: Any) -> None:
    """Print how long the page takes to its first result, and its memory after many runs."""
    context = browser.new_context(offline=True)
    context.set_default_timeout(60_000)
    visit = Visit(context)
    began = time.perf_counter()
    visit.page.goto(HTML.as_uri())
    visit.page.wait_for_selector("html[data-ready]")
    ready = time.perf_counter() - began
    visit.after(0)
    first = time.perf_counter() - began
    print("| the page | |")
    print("|---|---:|")
    print(f"| loaded from disk, in s | {ready:.2f} |")
    print(f"| first result, in s after that | {first - ready:.2f} |")
    visit.change(partial(visit.write, QUICK))
    runs = 0
    for more in (10, 90, 100, 100):
        runs += more
        heap = visit.page.evaluate(AGAIN, more)
        print(f"| memory of the page after {runs} runs, in MB | {heap / 1e6:.1f} |", flush=True)
    print()
    context.close()


def main() -> int:
    """Print both tables."""
    wanted = sys.argv[1:]
    paths = [path for path in SCENARIOS if not wanted or path.stem in wanted]
    differ = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        if not wanted:
            opened(browser)
        page = browser.new_context(offline=True).new_page()
        page.goto("about:blank")
        script = (MODULE / "airlane_web.js").read_text(encoding="utf-8")
        module = base64.b64encode((MODULE / "airlane_web_bg.wasm").read_bytes()).decode()
        page.evaluate(LOAD, [script, module])
        print("| scenario | simulated s | native s | Node s | Chromium s | bytes of all tables |")
        print("|---|---:|---:|---:|---:|---|")
        for path in paths:
            differ += not line(path, page)
        browser.close()
    return 1 if differ else 0


def line(path: Path, page: Any) -> bool:
    """Run one scenario in each; True if the bytes are equal."""
    scenario = airlane.load(path)
    resolved, seed = scenario.resolved, scenario.seed
    text, files = path.read_text(encoding="utf-8"), files_of(resolved)
    (native,) = _native.run([(resolved, seed)], 1)
    facts, digest = json.loads(native.meta), hashlib.sha256(bytes_of(native.tables)).hexdigest()
    job = {"name": path.name, "text": text, "overrides": {}, "seed": seed, "files": files}
    command: list[str | Path] = ["node", ROOT / "playground/tools/tables.mjs", MODULE]
    done = subprocess.run(command, input=json.dumps([job]), text=True, check=True, capture_output=True)
    node = json.loads(done.stdout)
    given = [[name, Path(at).read_text(encoding="utf-8")] for name, at in files]
    chromium = page.evaluate(RUN, [text, path.name, seed, given])
    there = hashlib.sha256(base64.b64decode(chromium["bytes"])).hexdigest()
    same = digest == node["digest"] == there
    times = " | ".join(f"{t:.2f}" for t in (facts["wall_s"], node["wall_s"], chromium["wall_s"]))
    words = f"the same ({digest[:12]})" if same else "DIFFERENT"
    print(f"| `{path.stem}` | {facts['sim_s']:g} | {times} | {words} |", flush=True)
    return same


if __name__ == "__main__":
    sys.exit(main())
