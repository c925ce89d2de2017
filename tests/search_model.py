"""SEARCH (draft-chung-ccwg-search-09) at the start of a download, packet by packet, without the simulator.

The sender has no pacing, begins with ten packets, and sends two for each acknowledged one. The link has a
queue without limit, and each packet is acknowledged.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

BIN = 0.35
"""Length of a bin in initial round trips."""

_WINDOW, _EXTRA = 10, 15
"""Bins of a window, and the most bins that a round trip may have."""

_THRESHOLD = 0.26


@dataclass
class Search:
    """Packets acknowledged and sent until the end of each bin."""

    acked: list[int] = field(default_factory=list)
    sent: list[int] = field(default_factory=list)
    bin_ms: float = 0.0
    end_ms: float = 0.0

    def ends(self, now_ms: float, rtt_ms: float, acked: int, sent: int) -> bool:
        """Take an acknowledgment; true if slow start ends here."""
        if not self.acked:
            self.bin_ms, self.end_ms = BIN * rtt_ms, now_ms
        elif now_ms <= self.end_ms:
            return False
        # Bins without an acknowledgment have the counters of the bin before.
        skipped = int((now_ms - self.end_ms) / self.bin_ms)
        self.acked += self.acked[-1:] * skipped + [acked]
        self.sent += self.sent[-1:] * skipped + [sent]
        self.end_ms += self.bin_ms * (skipped + 1)
        return self._difference(rtt_ms / self.bin_ms) >= _THRESHOLD

    def _difference(self, back: float) -> float:
        """Share by which fewer are acknowledged in a window than were sent in that `back` bins before."""
        last = len(self.acked) - 1
        whole, part = int(back), back % 1.0
        before = last - whole
        if whole >= _EXTRA or before - 1 < _WINDOW:
            return 0.0
        acknowledged = self.acked[last] - self.acked[last - _WINDOW]
        near, far = (self.sent[at] - self.sent[at - _WINDOW] for at in (before, before - 1))
        expected = near * (1.0 - part) + far * part
        return (expected - acknowledged) / expected


def window_at_exit(rate_mbps: float, rtt_ms: float, size: int) -> int:
    """Window in packets of this size in bytes, with headers, at which SEARCH ends slow start."""
    search = Search()
    on_the_way: deque[tuple[float, float]] = deque()  # when a packet was sent, and when it is acknowledged
    now_ms = free_ms = 0.0
    acked, sent, window = 0, 0, 10
    while True:
        while sent - acked < window:
            free_ms = max(now_ms, free_ms) + size * 8 / rate_mbps / 1e3
            on_the_way.append((now_ms, free_ms + rtt_ms))
            sent += 1
        left_ms, now_ms = on_the_way.popleft()
        acked += 1
        if search.ends(now_ms, now_ms - left_ms, acked, sent):
            return window
        window += 1
