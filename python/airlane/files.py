"""Files that are read and written for a user: whatever goes wrong names the file."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

__all__ = ["NotTextError", "landing", "naming", "read_text", "write_text"]

_BYTES_MAX = 16 << 20
"""Longer than any text need be; a limit so that reading one cannot take all memory."""


class NotTextError(ValueError):
    """A file is not the text that it should be; the message names file and line."""


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of text.

    Raises
    ------
    OSError
        When it cannot be read; names it.
    NotTextError
        When it is not UTF-8, or longer than any text that we read need be.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except OSError as error:  # one of reading names no file, other than one of opening
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    if len(raw) > _BYTES_MAX:
        raise NotTextError(f"{os.fspath(path)}: more than {_BYTES_MAX} bytes, which is no such file")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotTextError(f"{os.fspath(path)}:{line}: not text (UTF-8)") from error


def write_text(path: Path, text: str) -> None:
    """Write a file of text.

    Raises
    ------
    OSError
        When it cannot be written; names it.
    """
    with naming(path, path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def naming(file: Path, place: Path) -> Iterator[Path]:
    """Give a file to write to. What goes wrong becomes an `OSError` that names the place it was meant for.

    pyarrow's own errors name no file, and are not all of this kind.
    """
    try:
        yield file
    except (OSError, pa.ArrowException) as error:
        number = error.errno if isinstance(error, OSError) and error.errno else errno.EIO
        raise OSError(number, os.strerror(number), os.fspath(place)) from error


@contextmanager
def landing(place: Path) -> Iterator[Path]:
    """Give a scratch file beside a place; it takes the place when it is complete, and is gone when it is not.

    Raises
    ------
    OSError
        When it cannot be written; names the place.
    """
    handle, name = tempfile.mkstemp(prefix=f".{place.name}-", dir=place.parent)
    os.close(handle)
    scratch = Path(name)
    try:
        with naming(scratch, place):
            yield scratch
        scratch.chmod(0o644)
        scratch.replace(place)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
