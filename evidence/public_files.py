"""Public files as airlane reads them: recordings of browsers, movements, rates, scripts of packetdrill.

    python evidence/public_files.py FOLDER [--write]

`evidence/public_files.csv` lists the files with their repository on GitHub and their commit. FOLDER, or
the environment variable AIRLANE_PUBLIC_FILES, has them under `OWNER/NAME`, as

    git clone https://github.com/OWNER/NAME FOLDER/OWNER/NAME && git -C FOLDER/OWNER/NAME checkout COMMIT

leaves them. A path `ARCHIVE.zip!MEMBER` is a file in an archive, a path with `*` all files that match. A file
that is missing, or has other bytes than the list says, is an error after all others have been read.

`--write` writes docs/results/public-files.json, from which docs/howto/files.md and docs/conformance.md take
their tables. The column `before` of the list is the result before the readers were tested with these files.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import airlane
from airlane.pages.markdown import table
from airlane.runs import json_files

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".csv")
RECORD = ROOT / "docs/results/public-files.json"

PAGE = """
network = "wired"
[run]
duration = "60 s"
[[flow]]
app = {{ kind = "web", pages = {file}, visits = "in-order", http = "2" }}
"""
WALK = """
[run]
duration = "100 ms"
warmup = "0 s"
[[cell]]
name = "a"
[[ue]]
name = "phone"
mobility = {{ kind = "trace", file = {file} }}
[[flow]]
to = "phone"
"""


class MissingError(Exception):
    """A file of the list is not in the folder, or has other bytes."""


@dataclass(frozen=True)
class PublicFile:
    """A line of the list."""

    kind: str
    repository: str
    commit: str
    path: str
    sha256: str
    """Of the file; of several, of their digests in the order of their paths."""
    options: str
    """Options of the command."""
    before: str

    def open(self, folder: Path, scratch: Path) -> list[Path]:
        """The files of this line, from an archive after it has been unpacked.

        Raises
        ------
        MissingError
            If there is none, or if the bytes are not those of the list.
        """
        base = folder / self.repository
        archive, _, member = self.path.partition("!")
        if member and (base / archive).is_file():
            with zipfile.ZipFile(base / archive) as packed:
                found = [Path(packed.extract(member, scratch))] if member in packed.namelist() else []
        else:
            found = sorted(base.glob(self.path))
        if not found:
            raise MissingError(f"{base / self.path}: missing")
        digests = [hashlib.sha256(file.read_bytes()).hexdigest() for file in found]
        whole = hashlib.sha256("".join(digests).encode()).hexdigest() if "*" in self.path else digests[0]
        if whole != self.sha256:
            raise MissingError(f"{base / self.path}: SHA-256 is {whole}, expected {self.sha256}")
        return found


@dataclass(frozen=True)
class Outcome:
    """The result of a reader with a file."""

    result: str
    note: str = ""
    recorder: str = ""


def recording(files: list[Path], _: str) -> Outcome:
    """Objects and bytes of the first page, loaded over HTTP/2."""
    (file,) = files
    try:
        recorder = json.loads(file.read_bytes().decode("utf-8-sig"))["log"]["creator"]["name"]
    except (ValueError, KeyError):
        recorder = ""
    try:
        results = airlane.loads(PAGE.format(file=json.dumps(str(file)))).run()
    except airlane.ScenarioError as error:
        return Outcome(refused(error, file), recorder=recorder)
    first = results.tables["pages"].to_pylist()[0]
    objects = f"{first['objects']} object{'s' if first['objects'] > 1 else ''}"
    return Outcome(f"{objects}, {first['bytes']:,} bytes", note_of(results.notes), recorder)


def movement(files: list[Path], _: str) -> Outcome:
    """Whether a UE can follow the file."""
    (file,) = files
    try:
        results = airlane.loads(WALK.format(file=json.dumps(str(file)))).run()
    except airlane.ScenarioError as error:
        return Outcome(refused(error, file))
    return Outcome("read", note_of(results.notes))


def rates(files: list[Path], options: str) -> Outcome:
    """The trace that `airlane trace from-rates` makes with these options, or how it refuses the file."""
    (file,) = files
    with tempfile.TemporaryDirectory() as scratch:
        command = ["trace", "from-rates", str(file), "-o", f"{scratch}/link.down", *shlex.split(options)]
        done = command_line(command)
    if done.returncode != 0:
        return Outcome(refused(done.stderr, file))
    lines = (done.stdout + done.stderr).splitlines()
    made = re.search(r"mean ([\d,.]+ Mbit/s); (.*)", lines[0])
    if made is None:
        raise ValueError(f"{file}: unexpected output: {lines[0]}")
    notes = [line.removeprefix(f"{file}: ") for line in lines[1:] if line.startswith(f"{file}: ")]
    return Outcome(f"mean {made[1]}; {made[2]}", "; ".join(notes))


def scripts(files: list[Path], options: str) -> Outcome:
    """Scripts of packetdrill that pass, fail, and are not applicable."""
    done = command_line(["packetdrill", *map(str, files), *shlex.split(options)])
    counts = re.search(r"^pass (\d+) fail (\d+) not applicable (\d+)$", done.stdout, re.MULTILINE)
    if counts is None:
        raise ValueError(f"airlane packetdrill: {done.stderr or done.stdout}")
    return Outcome(f"pass {counts[1]}, fail {counts[2]}, not applicable {counts[3]}")


READERS: dict[str, Callable[[list[Path], str], Outcome]] = {
    "har": recording,
    "movement": movement,
    "rates": rates,
    "packetdrill": scripts,
}


def command_line(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Run `airlane`."""
    command = [sys.executable, "-m", "airlane", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def refused(error: object, file: Path) -> str:
    """The message of a refusal without the path, and without the value of a key that it quotes in part."""
    text = str(error).strip().removeprefix("error: ").replace(str(file), file.name)
    text = re.sub(r" = \[\{.*?\.\.\.: ", ": ", text)
    return f"refused: {text.removeprefix(f'{file.name}: ').removeprefix(f'{file.name}:')}"


def note_of(notes: tuple[str, ...]) -> str:
    """The part of notes behind `read N entries: `: entries that were left out, and assumptions."""
    parts = [re.search(r": read [\d,]+ \w+: (.*)", note) for note in notes]
    return "; ".join(part[1] for part in parts if part is not None)


def row_of(line: PublicFile, files: list[Path]) -> dict[str, Any]:
    """Fields of a row of the tables."""
    read = READERS[line.kind]
    plain = read(files, "") if line.options else None
    outcome = read(files, line.options)
    name = f"{len(files):,} scripts" if "*" in line.path else "/".join(line.path.split("/")[-2:])
    return {
        "kind": line.kind,
        "repository": line.repository,
        "file": name,
        "recorder": outcome.recorder,
        "options": line.options,
        "before": line.before,
        "without_options": plain.result if plain is not None else "",
        "after": outcome.result,
        "note": outcome.note,
    }


def known() -> list[PublicFile]:
    """All lines of the list."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [PublicFile(**line) for line in csv.DictReader(file)]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", nargs="?", default=os.environ.get("AIRLANE_PUBLIC_FILES"), type=Path)
    arguments.add_argument("--write", action="store_true", help="write docs/results/public-files.json")
    chosen = arguments.parse_args()
    if chosen.folder is None:
        arguments.error("expected the folder of the files, or AIRLANE_PUBLIC_FILES")
    rows, missing = [], []
    for line in known():
        with tempfile.TemporaryDirectory() as scratch:
            try:
                rows.append(row_of(line, line.open(chosen.folder, Path(scratch))))
            except MissingError as error:
                missing.append(str(error))
    columns = ("kind", "repository", "file", "before", "after", "note")
    print(table(columns, [[row[name] for name in columns] for row in rows], right=len(columns)))
    print(f"{len(rows)} of {len(rows) + len(missing)} lines of {LIST.name} were read")
    if missing:
        sys.exit("\n".join(missing))
    if chosen.write:
        json_files.write(RECORD, {"files": rows})


if __name__ == "__main__":
    main()
