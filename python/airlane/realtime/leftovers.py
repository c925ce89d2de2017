"""The scratch folder of a live run whose process is killed (SIGKILL): it cannot remove the folder itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["removed_if_killed"]

# The standard input ends with the process of the run, and so do the processes of its network. Another run may
# have the folder by then; it holds the lock.
_SCRIPT = 'cat >/dev/null; sleep 0.3; [ -e "$1/held" ] && flock --nonblock "$1/held" rm -rf -- "$1"'


@contextmanager
def removed_if_killed(scratch: Path) -> Iterator[None]:
    """A process of its own removes the folder if this one is killed before the end of the context.

    The folder has a file `held`, and is left alone while another process has a lock on it.
    """
    if shutil.which("sh") is None or shutil.which("flock") is None:
        yield  # the next run that writes there removes it
        return
    reading, writing = os.pipe()
    command = ["sh", "-c", _SCRIPT, "sh", os.fspath(scratch)]
    nowhere = subprocess.DEVNULL
    # A session of its own: signals of the terminal are for the run.
    watcher = subprocess.Popen(
        command, stdin=reading, stdout=nowhere, stderr=nowhere, cwd="/", start_new_session=True
    )
    os.close(reading)
    try:
        yield
    finally:
        watcher.kill()
        watcher.wait()
        os.close(writing)
