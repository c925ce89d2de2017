"""Write the software bill of materials of the wheel: CycloneDX 1.6, as JSON.

Components are the crates that are linked into the extension (`cargo tree`, with the checksums of
Cargo.lock), the Python packages that the wheel requires, with its extras, and uPlot, which is bundled. The
same sources give the same bytes.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROLES = {"report": "optional", "tables": "optional", "gym": "optional", "cluster": "optional"}
"""The extras that users install."""


def crates() -> Iterator[dict[str, Any]]:
    """The crates of other projects that the extension links, with licence and checksum."""
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    checksums = {(one["name"], one["version"]): one.get("checksum") for one in locked}
    tree = [
        "cargo",
        "tree",
        "--locked",
        "-p",
        "airlane-py",
        "-e",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}|{l}",
    ]
    listed = subprocess.run(tree, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for line in sorted(set(listed.replace(" (*)", "").splitlines())):
        package, _, licence = line.partition("|")
        name, version = package.split()[:2]
        checksum = checksums[name, version.removeprefix("v")]
        if checksum is None:  # one of ours
            continue
        yield component("cargo", name, version.removeprefix("v"), licence) | {
            "hashes": [{"alg": "SHA-256", "content": checksum}]
        }


def packages(project: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The Python packages that the wheel requires, and those of its extras."""
    wanted = dict.fromkeys(project["dependencies"], "required")
    for extra, role in ROLES.items():
        wanted = dict.fromkeys(project["optional-dependencies"].get(extra, []), role) | wanted
    for requirement in sorted(wanted):
        name = re.match(r"[\w.-]+", requirement)
        assert name is not None, requirement
        yield component("pypi", name[0], "", "") | {
            "scope": wanted[requirement],
            "properties": [{"name": "airlane:requirement", "value": requirement}],
        }


def component(kind: str, name: str, version: str, licence: str) -> dict[str, Any]:
    """A component, with its package URL."""
    found: dict[str, Any] = {"type": "library", "name": name}
    if version:
        found["version"] = version
    if licence:
        found["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", licence)}]
    return found | {"purl": f"pkg:{kind}/{name}" + (f"@{version}" if version else "")}


def bill() -> dict[str, Any]:
    """The whole bill."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"][
        "version"
    ]
    plot = (ROOT / "python/airlane/assets/uplot.min.js").read_text(encoding="utf-8")
    uplot = re.search(r"uPlot.*?v(\d+\.\d+\.\d+)", plot)
    assert uplot is not None, "uplot.min.js names its version"
    own = component("pypi", "airlane", version, project["license"]) | {"type": "application"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": [*crates(), *packages(project), component("npm", "uplot", uplot[1], "MIT")],
    }


def main() -> None:
    """Write it to the file that is named, or print it."""
    text = json.dumps(bill(), indent=1) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
