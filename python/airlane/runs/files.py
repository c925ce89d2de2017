"""Reading and writing of users' files: every error names the file."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import pyarrow as pa

from airlane.user_error import UserError

__all__ = [
    "FileInTheWayError",
    "LockedError",
    "NotTextError",
    "check_file",
    "is_mount",
    "landing",
    "locked",
    "naming",
    "read_text",
    "write_text",
]

_BYTES_MAX = 16 << 20
"""More than any text file needs; the limit bounds the memory for reading."""


_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")


class FileInTheWayError(UserError):
    """A file cannot be written there; the message gives the reason."""


class LockedError(Exception):
    """Another process holds the lock."""


class NotTextError(UserError, ValueError):
    """A file is not the expected text; the message names file and line."""


def read_text(path: str | os.PathLike[str]) -> str:
    """Read a file of text.

    Raises
    ------
    OSError
        If it cannot be read; names it.
    NotTextError
        If it is not UTF-8, or longer than the limit.
    """
    try:
        with Path(path).open("rb") as file:
            raw = file.read(_BYTES_MAX + 1)
    except OSError as error:  # an error of reading has no file name, unlike one of opening
        raise OSError(error.errno, error.strerror, os.fspath(path)) from error
    if len(raw) > _BYTES_MAX:
        raise NotTextError(f"{os.fspath(path)}: more than {_BYTES_MAX} bytes; the file is too large")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise NotTextError(f"{os.fspath(path)}:{line}: the file is not UTF-8 text") from error


def write_text(path: Path, text: str) -> None:
    """Write a file of text.

    Raises
    ------
    OSError
        If it cannot be written; names it.
    """
    with naming(path, path):
        path.write_text(text, encoding="utf-8")


@contextmanager
def naming(file: Path, place: Path) -> Iterator[Path]:
    """Give a file for writing. Errors become an `OSError` that names its final place.

    pyarrow's errors name no file, and are not all of this type.
    """
    try:
        yield file
    except (OSError, pa.ArrowException) as error:
        number = error.errno if isinstance(error, OSError) and error.errno else errno.EIO
        raise OSError(number, os.strerror(number), os.fspath(place)) from error


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Hold a lock file, which is removed afterwards. The lock of a process that dies is released.

    Raises
    ------
    LockedError
        If another process holds it.
    OSError
        If it cannot be created; names it.
    """
    with _taken(place):
        try:
            yield
        finally:
            # Removed while it is locked: a process that has opened it meanwhile detects that the name now
            # belongs to no file.
            place.unlink(missing_ok=True)


def _taken(place: Path) -> TextIO:
    while True:
        with naming(place, place):
            lock = place.open("a", encoding="utf-8")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock.fileno()), place.stat()):
                return lock
        except FileNotFoundError:
            pass  # the last holder removed it after it was opened here: create another
        except BlockingIOError as error:
            lock.close()
            raise LockedError(os.fspath(place)) from error
        lock.close()


def is_mount(path: Path) -> bool:
    """Whether the place is a mount point, which can neither be renamed nor replaced.

    `os.path.ismount` does not detect bind mounts within a file system; Linux lists them (proc(5), mountinfo).
    """
    real = os.path.realpath(path)
    try:
        lines = _MOUNTS.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return os.path.ismount(real)
    places = (_OCTAL.sub(lambda octal: chr(int(octal[1], 8)), line.split()[4]) for line in lines)
    return os.path.ismount(real) or real in places


@contextmanager
def landing(place: Path) -> Iterator[Path]:
    """Give a scratch file next to a place; it is moved there when it is complete, and removed otherwise.

    A symbolic link is kept; its target is written.

    Raises
    ------
    OSError
        If it cannot be written; names the place.
    """
    place = Path(os.path.realpath(place))
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


def check_file(path: Path) -> None:
    """Check that a file can be written there, before a long operation, and leave no trace.

    Raises
    ------
    FileInTheWayError
        If there is a folder or a mount point.
    OSError
        If its folder cannot be created.
    """
    path = Path(os.path.realpath(path))
    new = [folder for folder in (path.parent, *path.parent.parents) if not folder.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    for folder in new:  # innermost first
        folder.rmdir()
    if path.is_dir():
        raise FileInTheWayError(f"{path} is a folder; expected a file")
    if is_mount(path):
        raise FileInTheWayError(f"{path} is a mount point and cannot be replaced; choose another file")
