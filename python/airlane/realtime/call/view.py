"""A call on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from airlane.commands import terminal
from airlane.realtime.call.direction import Direction

__all__ = ["CAMERA_GAP_FRAMES", "call_table", "camera_notes"]

_COLUMNS: tuple[tuple[str, str, str], ...] = (
    ("frames_sent", "frames\nsent", ",.0f"),
    ("frames_shown", "frames\nshown", ",.0f"),
    ("delay_ms", "delay\nms", ".0f"),
    ("delay_p95_ms", "p95\nms", ".0f"),
    ("freezes", "freezes", ".0f"),
    ("longest_freeze_ms", "longest\nms", ".0f"),
    ("sent_mbps", "sent\nMbit/s", ".2f"),
    ("target_mbps", "target\nMbit/s", ".2f"),
    ("rtt_ms", "RTT\nms", ".0f"),
    ("vmaf", "VMAF", ".1f"),
)

CAMERA_GAP_FRAMES = 3.0
"""A camera that paused for more intervals than this is mentioned."""


def call_table(directions: Sequence[Direction]) -> Table:
    """The summary of each direction; VMAF only where it was measured."""
    shown = terminal.titled("call", "delay: from camera to screen; longest: time for which one frame stayed")
    columns = [one for one in _COLUMNS if any(getattr(way, one[0]) is not None for way in directions)]
    shown.add_column("from", no_wrap=True)
    shown.add_column("to", no_wrap=True)
    shown.add_column("picture", no_wrap=True)
    for _, heading, _ in columns:
        shown.add_column(heading, justify="right", no_wrap=True)
    for way in directions:
        picture = "" if way.width is None else f"{way.width}x{way.height}"
        cells = [terminal.number(getattr(way, name), form) for name, _, form in columns]
        shown.add_row(way.sender, way.receiver, picture, *cells)
    return shown


def camera_notes(directions: Sequence[Direction], fps: float) -> list[Text]:
    """A line for each camera that paused, because freezes may then be those of the machine."""
    most = 1e3 * CAMERA_GAP_FRAMES / fps
    return [
        Text(
            f"the camera at {way.sender} took no frame for {way.camera_gap_ms:.0f} ms: the machine is slow",
            style="yellow",
        )
        for way in directions
        if way.camera_gap_ms is not None and way.camera_gap_ms > most
    ]
