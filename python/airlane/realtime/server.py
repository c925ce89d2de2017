"""The server of `airlane live` and `airlane shell` where the user names none: HTTP on port 80.

`http://server/20M` sends 20 MB; K, M and G are powers of ten. It runs with nothing but the standard library.
With `--mptcp` it accepts Multipath TCP as well, if the kernel has it.
"""

from __future__ import annotations

import contextlib
import re
import socket
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

__all__ = ["size_of"]

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_CHUNK = bytes(1 << 16)
_LARGEST = 10**12
_MPTCP = 262  # IPPROTO_MPTCP of include/uapi/linux/in.h; Python has the name where its C library does


def size_of(path: str) -> int | None:
    """The number of bytes that a path such as `/20M` asks for; None if it asks for something else."""
    found = re.fullmatch(r"/(\d{1,12})([KMG]?)", path)
    if found is None:
        return None
    size = int(found[1]) * _UNITS[found[2]]
    return size if size <= _LARGEST else None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send as many bytes as the path says."""
        size = size_of(self.path)
        if size is None:
            text = f"ask for a number of bytes, such as http://server/20M, not {self.path!r}\n".encode()
            self._head(HTTPStatus.OK if self.path == "/" else HTTPStatus.NOT_FOUND, len(text), "text/plain")
            self.wfile.write(text)
            return
        self._head(HTTPStatus.OK, size, "application/octet-stream")
        while size > 0:
            size -= self.wfile.write(_CHUNK[: min(size, len(_CHUNK))])

    def do_POST(self) -> None:
        """Take what is sent, and tell how much it was."""
        left = size = int(self.headers.get("Content-Length", 0))
        while left > 0 and (read := self.rfile.read(min(left, len(_CHUNK)))):
            left -= len(read)
        text = f"{size - left} bytes received\n".encode()
        self._head(HTTPStatus.OK, len(text), "text/plain")
        self.wfile.write(text)

    do_PUT = do_POST  # noqa: N815 - the name that http.server calls

    def _head(self, status: HTTPStatus, length: int, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(length))
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Requests are seen in the results."""


class _Server(ThreadingHTTPServer):
    address_family = socket.AF_INET6  # takes IPv4, too
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, address: tuple[str, int], *, multipath: bool) -> None:
        super().__init__(address, _Handler, bind_and_activate=False)
        if multipath:
            with contextlib.suppress(OSError):  # a kernel without Multipath TCP
                several = socket.socket(self.address_family, self.socket_type, _MPTCP)
                self.socket.close()
                self.socket = several
        try:
            self.server_bind()
            self.server_activate()
        except OSError:
            self.server_close()
            raise


if __name__ == "__main__":
    mptcp = "--mptcp" in sys.argv[1:]
    try:
        server = _Server(("::", 80), multipath=mptcp)
    except OSError:  # a network without IPv6
        _Server.address_family = socket.AF_INET
        server = _Server(("", 80), multipath=mptcp)
    server.serve_forever()
