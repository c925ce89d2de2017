"""The end of a command: by itself, a signal, or a closed output, with the exit code that shells expect."""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable
from typing import NoReturn, TextIO

__all__ = ["ClosedOutputError", "run", "stop_if_closed"]


class _Terminated(BaseException):
    """A signal that requests termination: SIGTERM, or SIGHUP when the terminal is closed."""


class ClosedOutputError(BaseException):
    """The reader of the output has closed it, as with `airlane list | head -1`.

    Not an `Exception`, so that nothing between the output and the end of the command reports it.
    """


def _terminate(received: int, _frame: object) -> NoReturn:
    # Raised instead of terminating at once, so that scratch folders are removed.
    raise _Terminated(received)


def stop_if_closed(error: BrokenPipeError) -> None:
    """End the command if the broken pipe is that of an output, and not of a socket of a run.

    Raises
    ------
    ClosedOutputError
        If the reader of standard output or standard error has closed it.
    """
    if any(_is_closed(stream) for stream in (sys.stdout, sys.stderr)):
        raise ClosedOutputError from error


def _is_closed(stream: TextIO) -> bool:
    """Whether the output is a pipe whose reader has closed it."""
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):  # replaced, as by a test
        return False
    waiting = select.poll()
    waiting.register(descriptor, 0)
    return any(event & select.POLLERR for _, event in waiting.poll(0))


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command, which ends by SystemExit, and end the process."""
    signal.signal(signal.SIGTERM, _terminate)
    # `nohup` ignores it, and so does this process then.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _terminate)
    output = sys.stdout
    try:
        command()
    except KeyboardInterrupt:
        _leave(128 + signal.SIGINT)
    except _Terminated as terminated:
        _leave(128 + int(terminated.args[0]))
    except ClosedOutputError:
        _leave(128 + signal.SIGPIPE)
    except SystemExit as left:
        if sys.stdout is not output:  # click has ended the command because its output is closed
            _leave(128 + signal.SIGPIPE)
        if isinstance(left.code, int):
            _leave(left.code)
        raise
    _leave(0)


def _leave(code: int) -> NoReturn:
    if not _flushed():
        code = 128 + signal.SIGPIPE  # as of other programs, which the signal ends
    core = sys.modules.get("airlane.native")
    if core is not None and core.stuck():  # the interpreter would wait for those threads, or fail
        os._exit(code)
    sys.exit(code)


def _flushed() -> bool:
    """Write what the outputs still hold; false if the reader of one has closed it."""
    read = True
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            read = False
            # The interpreter flushes once more at its end.
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
        except ValueError:  # closed by the command
            continue
    return read
