"""Run the steps of the Dockerfile in a chroot, where there is no Docker.

`FROM debian:SUITE` becomes debootstrap's minimal system of that suite, `FROM STAGE` a copy of that stage;
`COPY` from the context copies the files that git knows, the same as with `.dockerignore`. Each `RUN` has
the stage's environment and, of the caller's, only the variables of `--env`. The last stage's `CMD` runs
at the end.

    tools/docker_steps.py WORK_FOLDER [--build-arg KEY=VALUE]... [--env NAME]... [--ca FOLDER]

It needs root, debootstrap, and the network access that the steps need. Without root or debootstrap it prints
that it was skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_IN_FOLDER = 'cd "$0" && exec "$@"'


@dataclass
class Stage:
    """A stage: the location of its files, and the environment of its next step."""

    folder: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": PATH, "HOME": "/root"})
    workdir: str = "/"
    command: list[str] = field(default_factory=list)


def instructions(text: str) -> list[tuple[str, str]]:
    """Instruction and argument of each step; lines that end in a backslash continue on the next."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    steps = [line.strip().split(maxsplit=1) for line in joined.splitlines()]
    return [(word, rest) for word, rest in steps]


def expand(text: str, env: dict[str, str]) -> str:
    """Expand variables of a stage in an argument of ENV, COPY or WORKDIR."""
    return re.sub(r"\$\{?(\w+)\}?", lambda name: env.get(name[1], ""), text)


class Builder:
    """Executes the steps in sequence."""

    def __init__(
        self, work: Path, arguments: dict[str, str], passed: dict[str, str], ca: Path | None
    ) -> None:
        self._work, self._arguments, self._passed, self._ca = work, arguments, passed, ca
        self._stages: dict[str, Stage] = {}
        self.stage = Stage(work)

    def step(self, word: str, rest: str) -> None:
        """Execute one step."""
        match word:
            case "FROM":
                self._from(rest)
            case "ARG":
                name, _, default = rest.partition("=")
                self.stage.env[name] = self._arguments.get(name, default)
            case "ENV":
                name, _, value = rest.partition("=")
                self.stage.env[name] = expand(value, self.stage.env)
            case "WORKDIR":
                self.stage.workdir = expand(rest, self.stage.env)
                self._inside(self.stage.workdir).mkdir(parents=True, exist_ok=True)
            case "COPY":
                self._copy(rest.split())
            case "RUN":
                self.run(["/bin/sh", "-c", rest])
            case "CMD":
                self.stage.command = json.loads(rest)
            case _:
                sys.exit(f"docker_steps: {word} is not understood here")

    def run(self, command: list[str]) -> None:
        """Run a command in the stage."""
        with _mounted(self.stage.folder):
            subprocess.run(
                ["chroot", self.stage.folder, "/bin/sh", "-c", _IN_FOLDER, self.stage.workdir, *command],
                env={**self._passed, **self.stage.env},
                check=True,
            )

    def _inside(self, path: str) -> Path:
        return self.stage.folder / str(Path(self.stage.workdir) / path).lstrip("/")

    def _from(self, rest: str) -> None:
        source, *name = re.split(r"\s+AS\s+", rest)
        folder = self._work / (name[0] if name else "last")
        shutil.rmtree(folder, ignore_errors=True)
        if source in self._stages:
            before = self._stages[source]
            _clone(before.folder, folder)
            self.stage = Stage(folder, dict(before.env), before.workdir)
        else:
            _clone(self._system(source), folder)
            self.stage = Stage(folder)
        if name:
            self._stages[name[0]] = self.stage

    def _system(self, image: str) -> Path:
        """Debian's minimal system, created once."""
        suite = re.fullmatch(r"debian:(\w+)(-slim)?", image)
        if suite is None:
            sys.exit(f"docker_steps: {image} is neither a stage nor an image of Debian")
        base = self._work / f"base-{suite[1]}"
        if not base.exists():
            subprocess.run(["debootstrap", "--variant=minbase", suite[1], f"{base}.new"], check=True)
            Path(f"{base}.new").rename(base)
        # What Docker provides to a container, and the certificates of a network with its own.
        shutil.copy("/etc/resolv.conf", base / "etc/resolv.conf")
        if self._ca is not None:
            shutil.copytree(self._ca, base / "usr/local/share/ca-certificates", dirs_exist_ok=True)
        return base

    def _copy(self, words: list[str]) -> None:
        origin = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
        source, to = (expand(word, self.stage.env) for word in words)
        target = self._inside(to)
        if origin is not None:
            shutil.copytree(self._stages[origin].folder / source.lstrip("/"), target)
            return
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        for name in filter(None, listed.stdout.split("\0")):
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, place)


def _clone(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", "--reflink=auto", source, target], check=True)


@contextmanager
def _mounted(folder: Path) -> Iterator[None]:
    """Mount /proc and /dev in a chroot for the duration of the block."""
    mounts = [["-t", "proc", "proc", f"{folder}/proc"], ["--rbind", "/dev", f"{folder}/dev"]]
    try:
        for mount in mounts:
            subprocess.run(["mount", *mount], check=True)
        subprocess.run(["mount", "--make-rslave", folder / "dev"], check=True)
        yield
    finally:
        for place in ("dev", "proc"):
            subprocess.run(["umount", "--recursive", "--lazy", folder / place], check=False)


def main() -> None:
    """Read the arguments and execute the steps."""
    parser = argparse.ArgumentParser(description="Run the steps of the Dockerfile in a chroot.")
    parser.add_argument("work", type=Path)
    parser.add_argument("--build-arg", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--env", action="append", default=[], metavar="NAME", help="taken from the caller")
    parser.add_argument("--ca", type=Path, metavar="FOLDER", help="more certificates, such as a proxy's")
    asked = parser.parse_args()
    if os.geteuid() != 0 or shutil.which("debootstrap") is None:
        print("docker_steps: SKIPPED: needs root and debootstrap (apt-get install debootstrap)")
        return
    asked.work.mkdir(parents=True, exist_ok=True)
    arguments = dict(one.split("=", 1) for one in asked.build_arg)
    passed = {name: os.environ[name] for name in asked.env if name in os.environ}
    builder = Builder(asked.work.resolve(), arguments, passed, asked.ca)
    for word, rest in instructions((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        print(f"## {word} {' '.join(rest.split())}", flush=True)
        builder.step(word, rest)
    print(f"## {' '.join(builder.stage.command)}", flush=True)
    builder.run(builder.stage.command)
    print("docker_steps: ok")


if __name__ == "__main__":
    main()
