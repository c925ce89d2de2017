"""The choices of a call; this module loads at once, for the command line."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

__all__ = ["Bitrates", "Directions", "RateController", "Size"]


class RateController(StrEnum):
    """The congestion controller of both ends."""

    GCC = "gcc"
    SCREAM = "scream"


class Directions(StrEnum):
    """The directions with video."""

    BOTH = "both"
    DOWNLINK = "downlink"
    UPLINK = "uplink"


@dataclass(frozen=True)
class Bitrates:
    """Bounds of an encoder's rate in bit/s; None leaves libwebrtc's own."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True)
class Size:
    """Width and height of a picture in pixels; both are even."""

    SIDE_MIN: ClassVar[int] = 160
    """The smallest side, at which a codec that halves the picture leaves the number legible."""

    width: int
    height: int

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame with one chroma sample for four pixels (I420)."""
        return self.width * self.height * 3 // 2
