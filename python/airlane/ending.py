"""The end of a command: by itself, or by a signal, with the exit code that shells expect."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

__all__ = ["run"]


class _Terminated(BaseException):
    """A signal that requests termination: SIGTERM, or SIGHUP when the terminal is closed."""


def _terminate(received: int, _frame: object) -> NoReturn:
    # Raised instead of terminating at once, so that scratch folders are removed.
    raise _Terminated(received)


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command, which ends by SystemExit, and end the process."""
    signal.signal(signal.SIGTERM, _terminate)
    # `nohup` ignores it, and so does this process then.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _terminate)
    try:
        command()
    except KeyboardInterrupt:
        _leave(128 + signal.SIGINT)
    except _Terminated as terminated:
        _leave(128 + int(terminated.args[0]))
    except SystemExit as left:
        if isinstance(left.code, int):
            _leave(left.code)
        raise
    _leave(0)


def _leave(code: int) -> NoReturn:
    core = sys.modules.get("airlane.native")
    if core is not None and core.stuck():  # the interpreter would wait for those threads, or fail
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
