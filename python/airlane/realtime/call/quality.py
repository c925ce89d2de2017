"""The quality of received frames: VMAF, by the ffmpeg of the package imageio-ffmpeg.

The frames that were shown are compared with the frames of the camera with the same numbers, so that a freeze
does not change the measure. A frame that the sender made smaller is enlarged first, by linear interpolation.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from airlane.realtime.call.choices import Size
from airlane.realtime.call.picture import Camera
from airlane.realtime.process import LiveError

if TYPE_CHECKING:
    from airlane.realtime.call.direction import Shown

__all__ = ["enlarged", "vmaf"]

_TIMEOUT_S = 60.0
"""Of ffmpeg, and in addition `_TIMEOUT_FACTOR` times the duration of the frames."""

_TIMEOUT_FACTOR = 20.0

Image = npt.NDArray[np.uint8]


def vmaf(shown: Sequence[Shown], camera: Camera, kept: IO[bytes]) -> dict[int, float]:
    """VMAF of the frames that were kept, from 0 to 100, by their number.

    The model is the one that is built into libvmaf, `vmaf_v0.6.1`.

    Raises
    ------
    LiveError
        If ffmpeg fails.
    """
    frames = [one for one in shown if one.kept and one.number is not None]
    if not frames:
        return {}
    with tempfile.TemporaryDirectory(prefix="airlane-vmaf-") as folder:
        scores = _scores(frames, camera, kept, Path(folder))
    return {one.number: score for one, score in zip(frames, scores, strict=False) if one.number is not None}


def enlarged(plane: Image, rows: int, columns: int) -> Image:
    """A plane of another size, by linear interpolation between the middles of its pixels.

    Examples
    --------
    >>> enlarged(np.array([[0, 100]], dtype=np.uint8), 1, 4).tolist()
    [[0, 25, 75, 100]]
    """
    if plane.shape == (rows, columns):
        return plane
    values = plane.astype(np.float32)
    for axis, wanted in ((0, rows), (1, columns)):
        count = values.shape[axis]
        if count == wanted:
            continue
        places = np.clip((np.arange(wanted) + 0.5) * count / wanted - 0.5, 0, count - 1)
        low = np.minimum(places.astype(int), max(0, count - 2))
        part = (places - low).astype(np.float32)
        part = part[:, None] if axis == 0 else part[None, :]
        high = np.minimum(low + 1, count - 1)
        values = np.take(values, low, axis) * (1 - part) + np.take(values, high, axis) * part
    return np.rint(values).astype(np.uint8)


def _scores(frames: Sequence[Shown], camera: Camera, kept: IO[bytes], folder: Path) -> list[float]:
    ffmpeg = _program()
    size = camera.size
    inputs: list[str] = []
    writers: list[Callable[[IO[bytes]], None]] = [
        lambda pipe: _write(pipe, _received(frames, kept, size)),
        lambda pipe: _write(pipe, (camera.frame(one.number or 0).tobytes() for one in frames)),
    ]
    pipes = [folder / "received", folder / "sent"]
    for pipe in pipes:
        os.mkfifo(pipe)
        inputs += [
            "-f",
            "rawvideo",
            "-pix_fmt",
            "yuv420p",
            "-s",
            str(size),
            "-r",
            f"{camera.fps:g}",
            "-i",
            str(pipe),
        ]
    threads = [
        threading.Thread(target=_feed, args=(pipe, write), daemon=True)
        for pipe, write in zip(pipes, writers, strict=True)
    ]
    for thread in threads:
        thread.start()
    wanted = f"libvmaf=log_fmt=json:log_path=vmaf.json:n_threads={os.cpu_count() or 1}"
    command = [ffmpeg, "-hide_banner", "-nostdin", "-loglevel", "error", *inputs]
    patience = _TIMEOUT_S + _TIMEOUT_FACTOR * len(frames) / camera.fps
    try:
        subprocess.run(
            [*command, "-lavfi", wanted, "-f", "null", "-"],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=patience,
        )
        found = json.loads((folder / "vmaf.json").read_text(encoding="utf-8"))
    except subprocess.TimeoutExpired as error:
        raise LiveError(f"ffmpeg took more than {patience:.0f} s; make the call shorter") from error
    except subprocess.CalledProcessError as error:
        last = (error.stderr.strip().splitlines() or ["it printed no error"])[-1]
        raise LiveError(f"ffmpeg ended with code {error.returncode}: {last}") from error
    except (OSError, ValueError) as error:
        raise LiveError(f"ffmpeg did not run or wrote no result: {error}") from error
    return [float(one["metrics"]["vmaf"]) for one in found["frames"]]


def _program() -> str:
    """The path of ffmpeg."""
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError) as error:
        raise LiveError(f"no ffmpeg: {error}") from error


def _feed(pipe: Path, write: Callable[[IO[bytes]], None]) -> None:
    with suppress(BrokenPipeError), pipe.open("wb") as file:
        write(file)


def _write(file: IO[bytes], frames: Iterator[bytes]) -> None:
    for frame in frames:
        file.write(frame)


def _received(frames: Sequence[Shown], kept: IO[bytes], size: Size) -> Iterator[bytes]:
    """The frames of the file, each in the size of the camera."""
    kept.seek(0)
    for one in frames:
        width, height = one.width, one.height
        planes = [
            np.frombuffer(kept.read(rows * columns), np.uint8).reshape(rows, columns)
            for rows, columns in ((height, width), *2 * [((height + 1) // 2, (width + 1) // 2)])
        ]
        wanted = ((size.height, size.width), *2 * [(size.height // 2, size.width // 2)])
        yield b"".join(enlarged(plane, *sides).tobytes() for plane, sides in zip(planes, wanted, strict=True))
