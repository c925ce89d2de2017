"""The command `airlane call`."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airlane.commands.common import (
    AsJson,
    Example,
    File,
    FirstSeed,
    Settings,
    WithPcap,
    WithRanLog,
    WithReport,
    scenario_file,
    scenario_of,
    user_errors,
)
from airlane.realtime.call.choices import Bitrates, Directions, RateController, Size
from airlane.realtime.command import (
    Asked,
    Bound,
    BusyPoll,
    Core,
    Fifo,
    FlightMb,
    Keep,
    Mtu,
    Queue,
    conducted,
    live_settings,
    show,
    with_outputs,
    write_page,
)

if TYPE_CHECKING:
    from airlane.realtime.call.conduct import VideoCall
    from airlane.realtime.cell import Cell

__all__ = ["call", "milliseconds", "picture_size", "rates"]

_RATES = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6}
"""Units of a rate in bit/s."""

_SIDE_MAX = 4096
"""The largest width and height of a picture."""


def milliseconds(text: str) -> float:
    """A time such as `300ms` or `0.3 s`, in ms.

    Examples
    --------
    >>> milliseconds("300ms"), milliseconds("0.5 s")
    (300.0, 500.0)
    """
    from airlane.scenario import seconds

    try:
        value = 1e3 * seconds(text.strip())
    except ValueError:
        value = math.nan
    if not 0.0 < value < math.inf:
        raise typer.BadParameter(f"{text!r}: expected a time above 0, such as 300ms")
    return value


def rates(text: str) -> Bitrates:
    """The bounds of a rate, such as `100kbit/s-2.5Mbit/s`; one rate alone is the upper bound.

    Examples
    --------
    >>> rates("100 kbit/s - 2.5 Mbit/s"), rates("1Mbit/s")
    (Bitrates(least=100000, most=2500000), Bitrates(least=None, most=1000000))
    """
    parts = [_rate(part) for part in text.split("-")]
    if len(parts) > 2 or None in parts:
        raise typer.BadParameter(f"{text!r}: expected a rate or two, such as 100kbit/s-2.5Mbit/s")
    least, most = (None, parts[0]) if len(parts) == 1 else parts
    if least is not None and most is not None and least > most:
        raise typer.BadParameter(f"{text!r}: the lower rate comes first")
    return Bitrates(least, most)


def picture_size(text: str) -> Size:
    """The size of a picture, such as `640x360`; both numbers are even.

    Examples
    --------
    >>> picture_size("1280x720")
    Size(width=1280, height=720)
    """
    found = re.fullmatch(r"(\d{1,5})x(\d{1,5})", text.strip())
    sides = (int(found[1]), int(found[2])) if found else (0, 0)
    if not all(Size.SIDE_MIN <= side <= _SIDE_MAX and side % 2 == 0 for side in sides):
        raise typer.BadParameter(
            f"{text!r}: expected two even numbers from {Size.SIDE_MIN} to {_SIDE_MAX}, such as 640x360"
        )
    return Size(*sides)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _rate(text: str) -> int | None:
    found = re.fullmatch(r"([\d.]+)\s*([kM]?bit/s)", text.strip())
    value = _number(found[1]) * _RATES[found[2]] if found else math.nan
    return round(value) if value >= 1e3 else None


Ue = Annotated[str | None, typer.Option(metavar="NAME", help="The UE [default: the first].")]
Duration = Annotated[float, typer.Option(metavar="S", min=1.0, max=1800.0, help="Length of the call in s.")]
Direction = Annotated[Directions, typer.Option(help="The direction of the video.")]
Bitrate = Annotated[
    Bitrates | None,
    typer.Option(
        parser=rates,
        metavar="[MIN-]MAX",
        help="Bounds of each encoder's rate, such as 100kbit/s-2.5Mbit/s [default: libwebrtc's].",
        show_default=False,
    ),
]
Picture = Annotated[
    Size | None,
    typer.Option(
        parser=picture_size,
        metavar="WIDTHxHEIGHT",
        help="The picture [default: 640x360].",
        show_default=False,
    ),
]
Fps = Annotated[float, typer.Option(metavar="N", min=1.0, max=60.0, help="Frames of the camera per second.")]
Chosen = Annotated[RateController, typer.Option(help="Congestion controller of both ends.")]
MaxFreeze = Annotated[
    float | None,
    typer.Option(
        parser=milliseconds,
        metavar="TIME",
        help="End with exit code 1 if one frame stayed for longer, such as 300ms.",
        show_default=False,
    ),
]
Vmaf = Annotated[
    bool, typer.Option("--vmaf", help="Measure the quality of the received frames after the call.")
]
Browser = Annotated[bool, typer.Option("--browser", help="Chromium, headless, as the end at the UE.")]
Out = Annotated[
    Path | None, typer.Option("-o", "--out", help="Result folder [default: out/call/<scenario>].")
]


@user_errors
def call(
    scenario: File = None,
    example: Example = None,
    settings: Settings = None,
    seed: FirstSeed = None,
    ue: Ue = None,
    duration: Duration = 10.0,
    direction: Direction = Directions.BOTH,
    bitrate: Bitrate = None,
    size: Picture = None,
    fps: Fps = 30.0,
    controller: Chosen = RateController.GCC,
    max_freeze: MaxFreeze = None,
    vmaf: Vmaf = False,
    browser: Browser = False,
    out: Out = None,
    as_json: AsJson = False,
    report: WithReport = False,
    pcap: WithPcap = False,
    ran_log: WithRanLog = False,
    fifo: Fifo = False,
    busy_poll: BusyPoll = False,
    core: Core = None,
    bound: Bound = 1.0,
    mtu: Mtu = 1500,
    queue: Queue = 10_000,
    keep: Keep = None,
    flight_mb: FlightMb = 256,
) -> None:
    """Make a real video call through the network of a scenario, in real time.

    Both ends run libwebrtc in network namespaces of their own, the server's side and a UE. The pictures carry
    the number of their frame, so that the delay from camera to screen, freezes and quality are measured. No
    root is needed.
    """
    from airlane.realtime.call.conduct import SIZE, VideoCall, require

    require(vmaf, browser)
    file = scenario_file(scenario, example)
    described = with_outputs(scenario_of(file, settings), pcap, ran_log)
    wanted = VideoCall(
        duration_s=duration,
        directions=direction,
        size=size or SIZE,
        fps=fps,
        bitrates=bitrate or Bitrates(),
        controller=controller,
        vmaf=vmaf,
        seed=seed or 0,
        browser=browser,
    )
    live = live_settings(
        mtu=mtu,
        queue=queue,
        busy_poll=busy_poll,
        fifo=fifo,
        core=core,
        bound_ms=bound,
        keep=keep,
        flight_mb=flight_mb,
    )
    folder = out if out is not None else Path("out/call") / described.name
    name = ue if ue is not None else described.resolved.ue_names()[0]
    asked = Asked(described, file, settings or [], folder, seed, live, as_json, dashboard=False)
    _make(asked, name, wanted, max_freeze, report)


def _make(asked: Asked, ue: str, wanted: VideoCall, max_freeze_ms: float | None, report: bool) -> None:
    """Make the call, write its folder, and print it."""
    from airlane.realtime.call.conduct import make_call
    from airlane.realtime.call.view import call_table, camera_notes

    def work(cell: Cell) -> None:
        make_call(cell, wanted)

    cell = conducted(asked, [ue], work)
    if report:
        write_page(asked.folder)
    (record,) = cell.calls
    directions = record.directions
    first = [call_table(directions), *camera_notes(directions, wanted.fps)] if directions else []
    show(asked, cell, record.shortfalls(max_freeze_ms), first)
