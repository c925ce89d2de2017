"""Programs of the agreement harness: a sender and a receiver without a protocol of their own.

    live_apps.py serve (send | receive) CONGESTION       at the server, until the peer closes
    live_apps.py connect HOST (send | receive) SECONDS CONGESTION
    live_apps.py datagrams-out COUNT INTERVAL_MS BYTES    at the server, to the first that asks
    live_apps.py datagrams-in HOST FILE COUNT

A receiver of TCP prints, each 100 ms, the time and the bytes so far, as JSON at its end. A datagram carries
its number and the time at which it was sent; the receiver writes both, and when it arrived in its kernel
(CLOCK_MONOTONIC, which is one clock on one machine).
"""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import subprocess
import sys
import time

PORT = 5300
WRITE = bytes(65536)
STAMP = struct.Struct("!IQ")
SO_TIMESTAMPNS = 35


def one_segment_per_packet() -> None:
    """No segmentation offload, as in the reference measurements of Linux."""
    links = json.loads(subprocess.run(["ip", "-json", "link"], capture_output=True, check=True).stdout)
    for link in links:
        if "LOOPBACK" not in link["flags"]:
            command = ["ip", "link", "set", "dev", link["ifname"], "gso_max_segs", "1"]
            subprocess.run(command, check=True)


def with_congestion(stream: socket.socket, congestion: str) -> None:
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())


def send(stream: socket.socket, seconds: float) -> None:
    """Write without pause."""
    end = time.monotonic() + seconds
    with contextlib.suppress(ConnectionError, TimeoutError):
        while time.monotonic() < end:
            stream.sendall(WRITE)


def receive(stream: socket.socket, seconds: float) -> None:
    """Read without pause, and print when how much had arrived."""
    end, got, due, log = time.monotonic() + seconds, 0, 0.0, []
    stream.settimeout(1.0)
    with contextlib.suppress(ConnectionError):
        while (now := time.monotonic()) < end:
            if now >= due:
                log.append((now, got))
                due = now + 0.1
            try:
                data = stream.recv(1 << 20)
            except TimeoutError:
                continue
            if not data:
                break
            got += len(data)
    print(json.dumps({"received": log}), flush=True)


ROLES = {"send": send, "receive": receive}


def serve(role: str, congestion: str) -> None:
    with socket.create_server(("", PORT), backlog=1) as listener:
        # Before the connection: the kernel's default may be BBR, and pacing stays when it is replaced.
        with_congestion(listener, congestion)
        stream, _ = listener.accept()
        with stream:
            ROLES[role](stream, 3600)


def reached(host: str, congestion: str) -> socket.socket:
    """A connection to the server, once it listens."""
    for _ in range(200):
        with contextlib.suppress(ConnectionError, OSError):
            # IPv4: its headers are those of the simulated packets.
            address = socket.getaddrinfo(host, PORT, socket.AF_INET)[0][4]
            stream = socket.socket()
            with_congestion(stream, congestion)
            stream.settimeout(10)
            stream.connect(address[:2])
            return stream
        time.sleep(0.05)
    raise SystemExit(f"no answer from {host}")


def connect(host: str, role: str, seconds: float, congestion: str) -> None:
    with reached(host, congestion) as stream:
        stream.settimeout(None)
        ROLES[role](stream, seconds)


def datagrams_out(count: int, interval_ms: float, size: int) -> None:
    """Datagrams on a schedule that does not drift: sleep to just before each, then watch the clock."""
    interval_ns, padding = round(interval_ms * 1e6), bytes(size - STAMP.size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        out.bind(("", PORT))
        _, address = out.recvfrom(64)
        begin = time.monotonic_ns() + 500_000_000
        for number in range(count):
            due = begin + number * interval_ns
            ahead = (due - time.monotonic_ns()) / 1e9 - 0.0005
            if ahead > 0:
                time.sleep(ahead)
            while (now := time.monotonic_ns()) < due:
                pass
            out.sendto(STAMP.pack(number, now) + padding, address)


def datagrams_in(host: str, file: str, count: int) -> None:
    """Ask for datagrams; write when that was, and for each its number, departure and arrival."""
    arrived = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as into:
        address = socket.getaddrinfo(host, PORT, socket.AF_INET)[0][4]
        into.settimeout(5.0)
        into.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        offset = time.monotonic_ns() - time.time_ns()
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as before:
            # The first packets of a process are late; the request dates the clocks and must not be.
            for _ in range(5):
                before.sendto(b"", (address[0], 9))
                time.sleep(0.02)
        into.connect(address)
        port = into.getsockname()[1]
        asked = time.monotonic_ns()
        into.send(b"?")
        with contextlib.suppress(TimeoutError):
            while len(arrived) < count:
                data, [(_, _, stamp), *_], _, _ = into.recvmsg(65535, 64)
                seconds, nanoseconds = struct.unpack("qq", stamp)
                now = seconds * 10**9 + nanoseconds + offset
                arrived.append((*STAMP.unpack(data[: STAMP.size]), now))
    with open(file, "w", encoding="utf-8") as out:
        json.dump({"asked": asked, "port": port, "arrived": arrived}, out)


def main(arguments: list[str]) -> None:
    command, *rest = arguments
    one_segment_per_packet()
    if command == "serve":
        serve(rest[0], rest[1])
    elif command == "connect":
        connect(rest[0], rest[1], float(rest[2]), rest[3])
    elif command == "datagrams-out":
        datagrams_out(int(rest[0]), float(rest[1]), int(rest[2]))
    else:
        datagrams_in(rest[0], rest[1], int(rest[2]))


if __name__ == "__main__":
    main(sys.argv[1:])
