"""Video calls: the numbered picture, freezes, the record of both ends, and the command's options."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest
import typer

from airlane.realtime import view
from airlane.realtime.call import command
from airlane.realtime.call.choices import Bitrates, RateController, Size
from airlane.realtime.call.conduct import VideoCall
from airlane.realtime.call.freezes import freezes, longest_s
from airlane.realtime.call.peer import with_bitrates
from airlane.realtime.call.picture import NUMBER_MAX, Camera, read_number
from airlane.realtime.call.quality import enlarged
from airlane.realtime.call.record import CallRecord, KeptFrames
from airlane.realtime.call.view import camera_notes
from airlane.realtime.cell import Cell
from airlane.scenario import loads
from airlane.user_error import UserError
from conftest import ROOT
from live_support import WIRED

SIZE = Size(640, 360)
MS = 1_000_000


def luma(camera: Camera, number: int) -> npt.NDArray[np.uint8]:
    size = camera.size
    return camera.frame(number)[: size.width * size.height].reshape(size.height, size.width)


@pytest.fixture(scope="module")
def camera() -> Camera:
    return Camera(SIZE, fps=30.0, seed=1)


@pytest.mark.parametrize("number", [0, 1, 2**12 - 1, 0xAAAAAA, NUMBER_MAX])
@pytest.mark.parametrize("step", [1, 2, 4], ids=["whole", "half", "quarter"])
def test_a_number_is_read_at_every_size(camera: Camera, number: int, step: int) -> None:
    plane = luma(camera, number)
    rows, columns = (side // step for side in plane.shape)
    smaller = plane.reshape(rows, step, columns, step).mean(axis=(1, 3)).astype(np.uint8)
    assert read_number(smaller) == number


@pytest.mark.parametrize(
    "text", ["160x160", "300x200", "400x300", "424x240", "426x240", "848x480", "1000x600", "1366x768"]
)
def test_every_accepted_size_has_legible_numbers(text: str) -> None:
    own = Camera(command.picture_size(text), fps=30.0, seed=1)
    numbers = [0, 1, 2**12 - 1, 0x555555, 0xAAAAAA, NUMBER_MAX]
    assert [read_number(luma(own, number)) for number in numbers] == numbers


def test_a_number_is_read_behind_noise_and_blur(camera: Camera) -> None:
    generator = np.random.default_rng(5)
    for number in range(0, 3000, 97):
        plane = luma(camera, number).astype(float)
        blurred = (plane + np.roll(plane, 3, axis=1) + np.roll(plane, -3, axis=1)) / 3
        noisy = np.clip(blurred + generator.normal(0, 40, plane.shape), 0, 255).astype(np.uint8)
        assert read_number(noisy) == number


@pytest.mark.parametrize("level", [0, 16, 128, 255])
def test_a_plain_picture_has_no_number(level: int) -> None:
    assert read_number(np.full((360, 640), level, np.uint8)) is None


def test_most_damaged_rows_have_no_number(camera: Camera) -> None:
    """A random row passes a check of 8 bits with a probability of 1/256."""
    generator = np.random.default_rng(7)
    rows = generator.integers(0, 256, (2000, 32)).astype(np.uint8)
    read = [read_number(np.repeat(np.repeat(row[None, :], 24, 0), 20, 1)) for row in rows]
    assert sum(number is not None for number in read) < 2000 * 4 / 256


def test_a_frame_depends_on_seed_and_number_only(camera: Camera) -> None:
    again = Camera(SIZE, fps=30.0, seed=1)
    other = Camera(SIZE, fps=30.0, seed=2)
    assert np.array_equal(camera.frame(77), again.frame(77))
    assert not np.array_equal(camera.frame(77), other.frame(77))
    assert camera.frame(77).size == SIZE.frame_bytes
    below = luma(camera, 77)[40:].astype(int)
    assert np.abs(below - luma(camera, 78)[40:]).mean() > 1, "the texture moves"
    assert below.std() > 20, "it has contrast"


def test_a_steady_video_has_no_freeze() -> None:
    times = np.arange(300) / 30
    assert freezes(times, over_s=10.0) == []
    assert longest_s(times, over_s=10.0) == pytest.approx(1 / 30)


@pytest.mark.parametrize(("gap_s", "frozen"), [(0.180, 0), (0.200, 1), (1.0, 1)])
def test_a_gap_is_a_freeze_by_the_rule_of_libwebrtc(gap_s: float, frozen: int) -> None:
    """The average with a gap g at 30 frames/s is (29 / 30 + g) / 30; a freeze has 150 ms more: g > 0.188."""
    times = np.concatenate([np.arange(60) / 30, 59 / 30 + gap_s + np.arange(60) / 30])
    found = freezes(times, over_s=float(times[-1]))
    assert len(found) == frozen
    assert all(one.duration_s == pytest.approx(gap_s) for one in found)


def test_a_video_that_stops_for_good_is_frozen_until_the_end() -> None:
    times = np.arange(60) / 30
    (found,) = freezes(times, over_s=10.0)
    assert found.end_s == 10.0
    assert longest_s(times, over_s=10.0) == pytest.approx(10.0 - 59 / 30)
    assert longest_s(np.empty(0), over_s=10.0) is None


def stats(sent: int, received: int, selected: str = "P2") -> list[dict[str, object]]:
    return [
        {"type": "transport", "id": "T", "selectedCandidatePairId": selected},
        {"type": "candidate-pair", "id": "P1", "currentRoundTripTime": 9.0},
        {"type": "candidate-pair", "id": "P2", "currentRoundTripTime": 0.04},
        {"type": "outbound-rtp", "id": "O", "kind": "audio", "targetBitrate": 1},
        {"type": "outbound-rtp", "id": "V", "kind": "video", "bytesSent": sent, "headerBytesSent": sent // 10}
        | {"targetBitrate": 1_500_000, "framesEncoded": sent // 1000, "qpSum": sent},
        {"type": "inbound-rtp", "id": "I", "kind": "video", "bytesReceived": received, "freezeCount": 0}
        | {"jitterBufferDelay": received / 1e6, "jitterBufferEmittedCount": received // 1000},
    ]


@pytest.fixture
def record() -> CallRecord:
    """The phone takes a frame each 100 ms; the server shows them 50 ms later, but not the fourth."""
    record = CallRecord(0, ["phone", "server"])
    record.origin_ns, record.connected_ns, record.over_ns = 1000 * MS, 2000 * MS, 4000 * MS
    record.take("phone", "sent", [[n, (2000 + 100 * n) * MS] for n in range(20)])
    shown = [[n, (2050 + 100 * n) * MS, 320, 180, 0] for n in range(19) if n != 3]
    record.take("server", "shown", shown[:5])
    record.take("server", "shown", [[-1, 2655 * MS, 320, 180, 0], *shown[5:]])
    for at, count in ((2000, 100_000), (2100, 110_000), (2200, 130_000)):
        record.take("phone", "stats", {"monotonic_ns": at * MS, "stats": stats(count, count)})
    return record


def test_the_summary_of_a_direction(record: CallRecord) -> None:
    (way,) = record.directions
    assert (way.sender, way.receiver) == ("phone", "server")
    assert (way.frames_sent, way.frames_shown, way.frames_unread) == (20, 19, 1)
    assert way.delay_ms == pytest.approx(50)
    assert way.first_frame_ms == pytest.approx(50)
    assert way.longest_freeze_ms == pytest.approx(200), "the fourth is missing"
    assert way.rtt_ms == pytest.approx(40), "of the selected pair"
    assert way.target_mbps == pytest.approx(1.5), "of the video"
    assert way.sent_mbps == pytest.approx((0.88 + 1.76) / 2), (
        "payload and headers, 8 * 11,000 B in 100 ms first"
    )
    assert (way.width, way.height) == (320, 180)
    assert way.camera_gap_ms == pytest.approx(100)


def test_a_summary_is_made_once_and_again_after_a_change(record: CallRecord) -> None:
    (before,) = record.directions
    assert record.directions[0] is before
    record.take("server", "shown", [[19, 3990 * MS, 320, 180, 0]])
    assert record.directions[0].frames_shown == before.frames_shown + 1
    record.over_ns = 3000 * MS
    assert record.directions[0].longest_freeze_ms == pytest.approx(200)
    record.over_ns = 9000 * MS
    assert record.directions[0].longest_freeze_ms == pytest.approx(5010)


def test_the_tables_of_a_call(record: CallRecord) -> None:
    tables = record.tables()
    frames = tables["call_frames"].to_pylist()
    assert len(frames) == 21, "all of the camera, and the one that could not be read"
    assert frames[0]["captured_s"] == pytest.approx(1.0)
    assert frames[0]["delay_ms"] == pytest.approx(50)
    assert frames[3]["shown_s"] is None
    assert (frames[-1]["frame"], frames[-1]["captured_s"]) == (None, None)
    first, second, third = tables["call_stats"].to_pylist()
    assert first["sent_mbps"] is None
    assert (second["sent_mbps"], third["sent_mbps"]) == pytest.approx((0.88, 1.76))
    assert third["qp_sent"] == pytest.approx(1000)
    assert third["jitter_buffer_ms"] == pytest.approx(1.0)
    assert (third["end"], third["t_s"]) == ("phone", pytest.approx(1.2))


def test_shortfalls_are_said_in_words(record: CallRecord) -> None:
    assert record.shortfalls() == []
    assert record.shortfalls(300.0) == []
    assert record.shortfalls(150.0) == ["phone to server: one frame stayed for 200 ms, longer than 150 ms"]
    record.failure = "the end of the call at phone was killed by signal 9"
    assert record.shortfalls(300.0) == [record.failure]


def test_a_direction_without_a_frame_falls_short() -> None:
    record = CallRecord(0, ["phone", "server"])
    record.take("phone", "sent", [[0, 1 * MS], [1, 34 * MS]])
    record.over_ns = 100 * MS
    assert record.shortfalls() == ["phone to server: no frame was shown"]
    assert record.longest_freeze_ms is None


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("false", "ffmpeg ended with code 1"),
        ("no-such-program", "did not run"),
        (None, "no ffmpeg: none here"),
    ],
)
def test_a_failure_of_ffmpeg_leaves_the_other_results(
    record: CallRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str | None, why: str
) -> None:
    def find() -> str:
        if program is None:
            raise RuntimeError("none here")
        return shutil.which(program) or program

    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", SimpleNamespace(get_ffmpeg_exe=find))
    size = Size(320, 180)
    file = (tmp_path / "kept").open("w+b")  # the record closes it
    file.write(bytes(size.frame_bytes))
    record.take("server", "shown", [[19, 3990 * MS, size.width, size.height, 1]])
    record.keep("server", KeptFrames(file, Camera(size, fps=10.0, seed=1)))
    cell = Cell(loads(WIRED), ["host"])
    cell.calls.append(record)
    assert cell._call_tables()["call_frames"].num_rows == 21
    assert file.closed
    facts = record.facts()
    assert why in facts["quality_failures"]["server"]
    assert facts["directions"][0]["vmaf"] is None
    assert facts["directions"][0]["frames_shown"] == 20
    other = {"not_carried": {}, "refused": 0, "tcp_info": {"error": None, "not_kept": 0}}
    (line,) = view._lost(other | {"calls": [facts]})
    assert line.plain.startswith("no VMAF of the frames at server: ")
    assert why in line.plain


def test_a_slow_camera_is_mentioned(record: CallRecord) -> None:
    assert camera_notes(record.directions, fps=10.0) == []
    (note,) = camera_notes(record.directions, fps=60.0)
    assert "the camera at phone took no frame for 100 ms" in note.plain


def test_bounds_of_the_rate_go_into_each_codec_but_not_into_retransmission() -> None:
    sdp = "m=video 9\r\na=rtpmap:96 VP8/90000\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\n"
    sdp += "a=rtpmap:98 VP9/90000\r\na=fmtp:98 profile-id=0\r\n"
    lines = with_bitrates(sdp, 100_000, 2_500_000).splitlines()
    bounds = "x-google-min-bitrate=100;x-google-max-bitrate=2500"
    assert f"a=fmtp:96 {bounds}" in lines
    assert f"a=fmtp:98 profile-id=0;{bounds}" in lines
    assert "a=fmtp:97 apt=96" in lines
    assert with_bitrates(sdp, None, None) == sdp


def test_a_smaller_picture_is_enlarged() -> None:
    ramp = np.arange(0, 160, 10, dtype=np.uint8).reshape(4, 4)
    larger = enlarged(ramp, 8, 8)
    assert larger.shape == (8, 8)
    assert larger.reshape(4, 2, 4, 2).mean(axis=(1, 3)) == pytest.approx(ramp.astype(float), abs=13)
    assert np.array_equal(enlarged(ramp, 4, 4), ramp)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("1.5Mbit/s", Bitrates(None, 1_500_000)),
        ("100 kbit/s-2 Mbit/s", Bitrates(100_000, 2_000_000)),
        ("500kbit/s-500kbit/s", Bitrates(500_000, 500_000)),
    ],
)
def test_rates(text: str, bounds: Bitrates) -> None:
    assert command.rates(text) == bounds


@pytest.mark.parametrize(
    "text", ["", "1", "fast", "1 Gb", "2Mbit/s-1Mbit/s", "1Mbit/s-2Mbit/s-3Mbit/s", "0kbit/s"]
)
def test_wrong_rates(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        command.rates(text)


@pytest.mark.parametrize("text", ["640", "640x", "641x360", "64x64", "9000x360", "x"])
def test_wrong_sizes(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="such as 640x360"):
        command.picture_size(text)


@pytest.mark.parametrize("text", ["", "-1ms", "0", "300", "0ms", "soon", "1h", "1.2.3s", "1e400s"])
def test_wrong_times(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="such as 300ms"):
        command.milliseconds(text)


def test_times() -> None:
    times = [command.milliseconds(text) for text in ("300ms", " 0.3 s ", "1e2ms")]
    assert times == pytest.approx([300.0, 300.0, 100.0])


def test_a_wrong_choice_names_what_is_possible() -> None:
    with pytest.raises(UserError, match="directions = 'down': expected one of both, downlink, uplink"):
        VideoCall(directions="down")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="controller = 'bbr': expected one of gcc, scream"):
        VideoCall(controller="bbr")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="the browser has no SCReAM"):
        VideoCall(browser=True, controller=RateController.SCREAM)


def test_the_columns_are_described(record: CallRecord) -> None:
    page = (ROOT / "docs/reference/results.md").read_text(encoding="utf-8")
    for name, table in record.tables().items():
        assert f"`series/{name}.parquet`" in page
        assert [column for column in table.column_names if f"`{column}`" not in page] == []
