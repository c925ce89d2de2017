"""Load for the measurement of proxies: an echo server, and clients that measure. Each client prints JSON."""

from __future__ import annotations

import json
import random
import selectors
import socket
import sys
import time

PORT = 7000
DATA = random.Random(1).randbytes(1_000_003)
"""Checked streams repeat this. Its length is a prime, so lost or repeated bytes never go unnoticed."""
RESET = b"\1\0\0\0\0\0\0\0"


def serve(address: str) -> None:
    """Echoes; one process serves many connections."""
    selector = selectors.DefaultSelector()
    listener = socket.create_server((address, PORT), backlog=4096)
    listener.setblocking(False)
    selector.register(listener, selectors.EVENT_READ)
    print("serving", flush=True)
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                try:
                    link, _ = listener.accept()
                except BlockingIOError:
                    continue
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.setblocking(False)
                selector.register(link, selectors.EVENT_READ)
                continue
            link = key.fileobj
            try:
                data = link.recv(65536)
                if data:
                    link.send(data)
                    continue
            except OSError:
                pass
            selector.unregister(link)
            link.close()


def rate(address: str, seconds: float) -> dict[str, float]:
    """Connections with one byte in each direction, one after the other on each of 16 places."""
    selector = selectors.DefaultSelector()

    def begin() -> None:
        link = socket.socket()
        link.setblocking(False)
        link.connect_ex((address, PORT))
        selector.register(link, selectors.EVENT_WRITE)

    for _ in range(16):
        begin()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        for key, events in selector.select(1):
            link = key.fileobj
            if events & selectors.EVENT_WRITE:
                link.send(b"x")
                selector.modify(link, selectors.EVENT_READ)
                continue
            assert link.recv(10) == b"x"
            # A RST, so that ports are free at once.
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            selector.unregister(link)
            link.close()
            done += 1
            begin()
    return {"connections": done, "seconds": time.perf_counter() - start}


def delay(address: str, count: int) -> dict[str, float]:
    """Round trips of 64 bytes on one connection, in µs."""
    link = socket.create_connection((address, PORT))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    found = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        link.sendall(bytes(64))
        got = 0
        while got < 64:
            got += len(link.recv(64))
        found.append((time.perf_counter_ns() - begin) / 1000)
    found.sort()
    return {"p50": found[count // 2], "p99": found[count * 99 // 100]}


def hold(address: str, count: int, stalled: int) -> None:
    """Opens connections and keeps them; the last of them send and never read."""
    links = []
    for number in range(count):
        # One address has some 28,000 ports, and a few addresses are needed for the bound per client.
        link = socket.create_connection((address, PORT))
        link.setblocking(False)
        if number >= count - stalled:
            try:
                while True:
                    link.send(bytes(65536))
            except BlockingIOError:
                pass
        links.append(link)
    print(json.dumps({"held": len(links)}), flush=True)
    while True:
        time.sleep(10)


def sink(address: str) -> None:
    """Compares checked streams, of which one connection has one. Prints the sum when its input is closed."""
    listener = socket.create_server((address, PORT + 1), backlog=64)
    total = resets = 0
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(sys.stdin, selectors.EVENT_READ)
    at: dict[socket.socket, int] = {}
    print("serving", flush=True)
    twice = DATA + DATA
    while True:
        for key, _ in selector.select():
            if key.fileobj is sys.stdin:
                if not sys.stdin.read():
                    print(json.dumps({"bytes": total, "resets": resets, "open": len(at)}), flush=True)
                    return
            elif key.fileobj is listener:
                link, _ = listener.accept()
                at[link] = 0
                selector.register(link, selectors.EVENT_READ)
            else:
                link = key.fileobj
                try:
                    part = link.recv(1_000_000)
                except ConnectionResetError:
                    part, resets = b"", resets + 1
                place = at[link] % len(DATA)
                assert twice[place : place + len(part)] == part, "altered"
                at[link] += len(part)
                total += len(part)
                if not part:
                    selector.unregister(link)
                    link.close()
                    del at[link]


def source(address: str, size: int, seed: int) -> dict[str, float]:
    """Sends checked streams of random length; every third ends with a RST."""
    rng = random.Random(seed)
    sent = resets = 0
    twice = memoryview(DATA + DATA)
    while sent < size:
        link = socket.create_connection((address, PORT + 1))
        length, at = rng.randrange(1, 200_000_000), 0
        while at < length:
            place = at % len(DATA)
            at += link.send(twice[place : place + min(1_000_000, length - at)])
        if rng.random() < 1 / 3:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            resets += 1
        link.close()
        sent += at
    return {"bytes": sent, "resets": resets}


if __name__ == "__main__":
    what, address, *numbers = sys.argv[1:]
    work = {"serve": serve, "rate": rate, "delay": delay, "hold": hold, "sink": sink, "source": source}[what]
    result = work(address, *(int(number) for number in numbers))  # type: ignore[operator]
    if result is not None:
        print(json.dumps(result), flush=True)
