"""One end of a call in Chromium: the same messages as `peer.py`, with a page that this program controls.

The browser is controlled over pipes by the Chrome DevTools Protocol (`--remote-debugging-pipe`), and its page
is `browser.js`. The page's clock, `performance.now()`, is compared with the host's monotonic clock before the
call; the measurement with the shortest round trip counts.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from airlane.realtime.call.peer import STATS_S, STATS_TYPES, Lines, PeerOptions, with_bitrates
from airlane.realtime.call.picture import Camera, code_for_scripts

__all__ = ["main", "program"]

_ANSWER_S = 20.0
"""How long the browser may take to answer."""

_CLOCK_ROUNDS = 25
"""Comparisons of the clocks."""

_LINE_MAX = 1 << 26

_START = """
import fcntl, os, sys
ours = [fcntl.fcntl(int(one), fcntl.F_DUPFD, 10) for one in sys.argv[1:3]]
for descriptor, wanted in zip(ours, (3, 4)):
    os.dup2(descriptor, wanted)
os.execv(sys.argv[3], sys.argv[3:])
"""
"""Starts the browser with the two pipes as the file descriptors that it expects."""

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # its sandbox needs namespaces of its own, which are not always allowed in one of a user
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-background-timer-throttling",
    "--disable-renderer-backgrounding",
    "--disable-features=WebRtcHideLocalIpsWithMdns",  # candidates have addresses, as no mDNS crosses the cell
    "--remote-debugging-pipe",
)


def program() -> str | None:
    """The path of Chromium: AIRLANE_CHROMIUM, or the one that is installed; None without one."""
    names = [os.environ.get("AIRLANE_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"]
    return next((found for name in names if name and (found := shutil.which(name))), None)


_ENDED = "the browser ended; `chromium --headless=new --no-sandbox --dump-dom about:blank` shows why"


class DevToolsError(Exception):
    """The browser ended, or refused a command."""


class DevTools:
    """The DevTools protocol over two pipes: JSON objects, each with a zero byte behind it."""

    def __init__(self) -> None:
        self._reader = asyncio.StreamReader(limit=_LINE_MAX)
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self._writing = -1
        self._session: str | None = None
        self.told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()

    async def open(self, reading: int, writing: int) -> None:
        """Begin to read, and attach to a page of its own."""
        self._writing = writing
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(reading, "rb", buffering=0)
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(self._reader), pipe)
        self._task = loop.create_task(self._read())
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        await self.call("Runtime.enable")
        await self.call("Runtime.addBinding", name="told")

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command.

        Raises
        ------
        DevToolsError
            If it fails, or takes too long.
        """
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        answer = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = answer
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        try:
            return dict(await asyncio.wait_for(answer, _ANSWER_S))
        except TimeoutError as error:
            raise DevToolsError(f"the browser did not answer {method} within {_ANSWER_S:g} s") from error

    async def run(self, script: str) -> Any:
        """The value of a script in the page, once its promise is fulfilled."""
        done = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            thrown = done["exceptionDetails"]
            raise DevToolsError(thrown.get("exception", {}).get("description") or thrown["text"])
        return done["result"].get("value")

    async def _read(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            while True:
                text = await self._reader.readuntil(b"\0")
                self._take(json.loads(text[:-1]))
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(DevToolsError(_ENDED))
        self.told.put_nowait(("failed", {"why": _ENDED}))

    def _take(self, message: dict[str, Any]) -> None:
        if "id" in message:
            answer = self._waiting.pop(message["id"], None)
            if answer is None or answer.done():
                return
            if "error" in message:
                answer.set_exception(DevToolsError(message["error"]["message"]))
            else:
                answer.set_result(message["result"])
        elif message["method"] == "Runtime.bindingCalled":
            name, content = json.loads(message["params"]["payload"])
            self.told.put_nowait((name, content))
        elif message["method"] == "Runtime.exceptionThrown":
            thrown = message["params"]["exceptionDetails"]
            why = thrown.get("exception", {}).get("description") or thrown["text"]
            self.told.put_nowait(("failed", {"why": f"the page: {why}"}))


async def _clock(tools: DevTools) -> int:
    """The host's monotonic clock at the page's time 0, in ns."""
    found = []
    for _ in range(_CLOCK_ROUNDS):
        before = time.monotonic_ns()
        page_ms = float(await tools.run("performance.now()"))
        after = time.monotonic_ns()
        found.append((after - before, (before + after) // 2 - round(page_ms * 1e6)))
    return min(found)[1]


def _page_options(options: PeerOptions) -> dict[str, Any]:
    code = code_for_scripts()
    told: dict[str, Any] = {name: getattr(options, name) for name in ("sends", "receives", "width", "height")}
    told |= {"fps": options.fps, "stats_ms": STATS_S * 1e3, "types": STATS_TYPES} | code
    if options.sends:
        camera = Camera(options.size, options.fps, options.seed).for_scripts()
        for plane in camera["planes"]:
            plane["bytes"] = base64.b64encode(plane["bytes"]).decode()
        told["camera"] = camera | code
    return told


def _as_of_peer(name: str, content: Any, clock_ns: int) -> tuple[str, Any]:
    """A message of the page with times of the host's clock."""

    def host(page_ms: float) -> int:
        return clock_ns + round(page_ms * 1e6)

    if name in ("sent", "shown"):
        return name, [[row[0], host(row[1]), *row[2:]] for row in content]
    if name == "stats":
        return name, {"monotonic_ns": host(content["at"]), "stats": content["stats"]}
    return name, content


async def _run(options: PeerOptions, tools: DevTools) -> None:
    lines = Lines()
    await lines.open()
    script = (Path(__file__).with_name("browser.js")).read_text(encoding="utf-8")
    await tools.run("const tell = (name, content) => told(JSON.stringify([name, content]));\n" + script)
    clock_ns = await _clock(tools)
    await tools.run(f"begin({json.dumps(_page_options(options))})")
    over = asyncio.Event()

    async def forward() -> None:
        while True:
            name, content = await tools.told.get()
            lines.send(*_as_of_peer(name, content, clock_ns))
            if name == "failed":
                over.set()

    async def obey() -> None:
        while (message := await lines.receive()) is not None and "stop" not in message:
            if "begin" in message and options.offers:
                await tools.run("offer()")
            elif "signal" in message:
                content = message["signal"]
                if "description" in content:
                    of = content["description"]
                    of["sdp"] = with_bitrates(of["sdp"], options.bitrate_min, options.bitrate_max)
                await tools.run(f"signal({json.dumps(content)})")
        over.set()

    lines.send("ready", {})
    tasks = [asyncio.create_task(forward()), asyncio.create_task(obey())]
    while not over.is_set():
        await asyncio.wait([asyncio.create_task(over.wait()), *tasks], return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            if task.done() and task.exception() is not None:
                raise DevToolsError(str(task.exception()))
    with contextlib.suppress(DevToolsError):
        await tools.run("stop()")
        await asyncio.sleep(0.2)  # what it told is forwarded


async def _browse(options: PeerOptions, command: Sequence[str], home: str) -> None:
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    browser = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _START,
        str(theirs_in),
        str(theirs_out),
        *command,
        pass_fds=(theirs_in, theirs_out),
        env=dict(os.environ) | {"HOME": home},  # a user without a folder may not start it otherwise
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    tools = DevTools()
    try:
        await tools.open(ours_in, ours_out)
        await _run(options, tools)
    except DevToolsError as error:
        Lines().send("failed", {"why": str(error)})
    finally:
        with contextlib.suppress(ProcessLookupError):
            browser.terminate()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(browser.wait(), 3)


def main() -> None:
    """The program of an end with a browser."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = PeerOptions(**json.loads(sys.argv[1]))
    chromium = program()
    if chromium is None:
        sys.exit("no Chromium: install it, or set AIRLANE_CHROMIUM to its path")
    with tempfile.TemporaryDirectory(prefix="airlane-browser-", ignore_cleanup_errors=True) as profile:
        asyncio.run(_browse(options, [chromium, *_FLAGS, f"--user-data-dir={profile}"], profile))


if __name__ == "__main__":
    main()
