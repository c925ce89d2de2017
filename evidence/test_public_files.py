"""The list of public files, and files that are not as it says."""

from __future__ import annotations

import hashlib
import re
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import public_files
from public_files import MissingError, PublicFile

LINE = PublicFile("har", "owner/name", "0" * 40, "a.har", "", "", "refused")


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    base = tmp_path / "owner/name"
    base.mkdir(parents=True)
    (base / "a.har").write_bytes(b"not JSON")
    (base / "b.har").write_bytes(b"{}")
    with zipfile.ZipFile(base / "c.zip", "w") as packed:
        packed.writestr("in/d.har", b"in an archive")
    return tmp_path


def test_each_line_names_a_reader_a_commit_and_a_digest() -> None:
    lines = public_files.known()
    assert len(lines) > 70
    for line in lines:
        assert line.kind in public_files.READERS
        assert re.fullmatch("[0-9a-f]{40}", line.commit), line.path
        assert re.fullmatch("[0-9a-f]{64}", line.sha256), line.path


@pytest.mark.parametrize(
    ("path", "sha256"),
    [
        ("a.har", digest(b"not JSON")),
        ("c.zip!in/d.har", digest(b"in an archive")),
        ("**/*.har", digest((digest(b"not JSON") + digest(b"{}")).encode())),
    ],
)
def test_a_file_is_found_by_its_path_and_digest(folder: Path, tmp_path: Path, path: str, sha256: str) -> None:
    assert replace(LINE, path=path, sha256=sha256).open(folder, tmp_path / "scratch")
    with pytest.raises(MissingError, match=f"SHA-256 is {sha256}"):
        replace(LINE, path=path, sha256="0" * 64).open(folder, tmp_path / "scratch")


@pytest.mark.parametrize("path", ["e.har", "c.zip!in/e.har", "e.zip!in/d.har", "*.tcl"])
def test_a_missing_file_is_an_error(folder: Path, tmp_path: Path, path: str) -> None:
    with pytest.raises(MissingError, match="missing"):
        replace(LINE, path=path).open(folder, tmp_path / "scratch")


def test_a_refusal_is_the_message_without_the_path(folder: Path) -> None:
    file = folder / "owner/name/a.har"
    assert public_files.recording([file], "").result.startswith("refused: 1: invalid JSON: ")
    quoted = f'error: {file}: log.entries = [{{ a = "1", b = 2...: no entry was fetched'
    assert public_files.refused(quoted, file) == "refused: log.entries: no entry was fetched"
    assert public_files.note_of(("x.har: read 3 entries: left out 1", "y.har: read 1 entry")) == "left out 1"
