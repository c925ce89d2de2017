"""A client of HTTP/3 (aioquic), for measurements: how long a file takes.

    h3_get.py HOST PORT PATH AUTHORITY

It prints the bytes, the status, and the seconds from the begin of the handshake to the last byte, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import time
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DataReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.events import ConnectionTerminated, QuicEvent


class Client(QuicConnectionProtocol):
    """One request."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.h3 = H3Connection(self._quic)
        self.status, self.got, self.last = 0, 0, 0.0
        self.ended = asyncio.get_running_loop().create_future()

    def quic_event_received(self, event: QuicEvent) -> None:
        """Count what arrives."""
        if isinstance(event, ConnectionTerminated) and not self.ended.done():
            self.ended.set_exception(ConnectionError(event.reason_phrase or hex(event.error_code)))
        for one in self.h3.handle_event(event):
            if isinstance(one, HeadersReceived):
                self.status = int(dict(one.headers)[b":status"])
            if isinstance(one, DataReceived):
                self.got += len(one.data)
                self.last = time.monotonic()
            if isinstance(one, DataReceived | HeadersReceived) and one.stream_ended and not self.ended.done():
                self.ended.set_result(None)

    async def get(self, host: str, path: str) -> None:
        """Ask for a file and wait for all of it."""
        fields = {":method": "GET", ":scheme": "https", ":authority": host, ":path": path}
        stream = self._quic.get_next_available_stream_id()
        encoded = [(name.encode(), value.encode()) for name, value in fields.items()]
        self.h3.send_headers(stream, encoded, end_stream=True)
        self.transmit()
        await self.ended


async def main(host: str, port: int, path: str, authority: str) -> None:
    configuration = QuicConfiguration(is_client=True, alpn_protocols=H3_ALPN, server_name=host)
    configuration.load_verify_locations(authority)
    # IPv4: the radio information is about IPv4 addresses.
    address = socket.getaddrinfo(host, port, socket.AF_INET)[0][4][0]
    begin = time.monotonic()
    async with connect(str(address), port, configuration=configuration, create_protocol=Client) as client:
        assert isinstance(client, Client)
        await client.get(host, path)
        print(json.dumps({"status": client.status, "bytes": client.got, "seconds": client.last - begin}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]))
