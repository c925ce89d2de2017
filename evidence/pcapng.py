"""Packets of the captures that the simulator and live runs write."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path


def packets(capture: Path) -> Iterator[tuple[int, int, bytes]]:
    """Time in ns, length in bytes and kept bytes of each packet of a little-endian pcapng file."""
    data, at = capture.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:  # an Enhanced Packet Block
            high, low, kept, whole = struct.unpack_from("<IIII", data, at + 12)
            yield high << 32 | low, whole, data[at + 28 : at + 28 + kept]
        at += length
