"""Metadata, workflow, Dockerfile and devcontainer agree with the rest of the repository."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import ROOT

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROVIDED = {"docker", "gh", "python", "rustup", "schema/bin/airlane", "schema/bin/pip"}
"""Available on a runner, or produced by an earlier step."""


def steps() -> list[dict[str, Any]]:
    jobs = [
        job for file in WORKFLOWS for job in yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"].values()
    ]
    return [step for job in jobs for step in job["steps"]]


def exists(command: str) -> bool:
    """Whether a command of this repository exists."""
    words = shlex.split(command, comments=True)
    if words[0] == "make":
        target = words[1]
        return re.search(rf"^{re.escape(target)}:", MAKEFILE, re.MULTILINE) is not None
    return words[0] in PROVIDED or (ROOT / words[0]).is_file()


def test_the_workflow_calls_what_there_is() -> None:
    commands = [line for step in steps() for line in step.get("run", "").splitlines()]
    assert "make wheel-check" in commands
    assert [command for command in commands if not exists(command)] == []
    assert not exists("make wheels")
    assert not exists("tools/absent.sh")


def test_actions_are_pinned_by_commit_with_their_version() -> None:
    lines = [line for file in WORKFLOWS for line in file.read_text(encoding="utf-8").splitlines()]
    used = [line for line in lines if "uses:" in line]
    assert len(used) == len([step for step in steps() if "uses" in step]) > 0
    pinned = re.compile(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
    assert [line for line in used if not pinned.search(line)] == []


def test_wheels_are_built_on_each_platform_that_is_named() -> None:
    (file,) = WORKFLOWS
    matrix = yaml.safe_load(file.read_text(encoding="utf-8"))["jobs"]["wheel"]["strategy"]["matrix"][
        "include"
    ]
    assert {one["name"] for one in matrix} == {
        "linux-x86_64",
        "linux-aarch64",
        "macos-x86_64",
        "macos-aarch64",
    }


def test_the_urls_are_those_of_the_repository() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    home = workspace["package"]["repository"]
    assert project["urls"]["Repository"] == home == cited["repository-code"]
    below = [url.removeprefix(f"{home}/") for url in project["urls"].values() if url != home]
    for place in below:
        file = re.fullmatch(r"(?:blob|tree)/main/(.+)", place)
        assert place == "issues" or (file is not None and (ROOT / file[1]).exists()), place


def instructions(text: str) -> list[tuple[str, str]]:
    """Instruction and argument of each step of a Dockerfile; lines that end in a backslash continue."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(word, rest) for word, rest in (line.split(maxsplit=1) for line in joined.splitlines())]


def test_the_image_ends_in_the_first_example_of_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^\$ \.venv/bin/(airlane run .*?)\s+#", readme, re.MULTILINE)
    assert first is not None
    found = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert found[-1][0] == "CMD"
    assert " ".join(json.loads(found[-1][1])) == first[1]
    ran = [command for word, rest in found if word == "RUN" for command in rest.split("&&")]
    made = [command for command in ran if command.split()[0] == "make"]
    assert made
    assert all(exists(command) for command in made)


def test_the_devcontainer_ends_there_too() -> None:
    told = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text(encoding="utf-8"))
    stages = re.findall(
        r"^FROM .* AS (\w+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert told["build"]["target"] in stages
    make, run = told["postCreateCommand"].split(" && ")
    assert exists(make)
    assert f"$ {run} " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# x\nFROM a AS b\n", [("FROM", "a AS b")]),
        ("RUN one \\\n && two\nWORKDIR /w\n", [("RUN", "one   && two"), ("WORKDIR", "/w")]),
    ],
)
def test_steps_are_read_as_docker_reads_them(text: str, found: list[tuple[str, str]]) -> None:
    assert instructions(text) == found


def test_the_bill_of_materials_has_every_crate_of_the_wheel_and_every_requirement(tmp_path: Path) -> None:
    file = tmp_path / "airlane.cdx.json"
    subprocess.run([sys.executable, ROOT / "tools/sbom.py", file], check=True)
    bill = json.loads(file.read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["name"]) == ("CycloneDX", "airlane")
    urls = [one["purl"] for one in bill["components"]]
    assert len(set(urls)) == len(urls)
    assert {"pkg:pypi/numpy", "pkg:pypi/matplotlib"} <= set(urls)
    crates = {one["name"]: one for one in bill["components"] if one["purl"].startswith("pkg:cargo/")}
    assert {"pyo3", "quinn-proto", "rustls"} <= set(crates)
    assert not any(name.startswith("airlane") for name in crates), "ours are the subject"
    assert all(len(one["hashes"][0]["content"]) == 64 and one["licenses"] for one in crates.values())
