"""Calls: frames have one fate, figures follow from the table of frames, captures are RTP, errors help."""

import math
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import airlane as package
from airlane.arena import rmcat
from airlane.runs import arrays
from airlane.runs.applications import with_applications
from conftest import Airlane

WIRED = """network = "wired"
[run]
duration = "12 s"
[internet]
rate = "{rate}"
uplink_rate = "10 Mbit/s"
delay = "20 ms"
queue = "{queue}"
[[flow]]
name = "call"
app = {app}
transport = "udp"
stop = "11 s"
"""


def run(app: str, rate: str = "10 Mbit/s", queue: str = "100 kB", more: str = "") -> package.Results:
    text = WIRED.format(app=app, rate=rate, queue=queue) + more
    return package.Scenario(text, "call.toml").run(seed=1)


def fates(results: package.Results) -> dict[str, int]:
    return dict(Counter(str(fate) for fate in results.frames["fate"].to_pylist()))


def test_figures_of_a_call_by_hand() -> None:
    nan = math.nan
    frames = {
        "flow": ["a"] * 5 + ["b"],
        "t_s": [0.0, 1.0, 1.1, 1.2, 1.3, 2.0],
        "size_bytes": [9000, 3000, 4000, 5000, 6000, 1000],
        "packets": [8, 3, 4, 5, 6, 1],
        "received": [8, 3, 3, 5, 0, 0],
        "skipped": [1, 0, 2, 0, 0, 0],
        "delay_ms": [50.0, 100.0, nan, 300.0, nan, nan],
        "buffer_ms": [5.0, 10.0, nan, 30.0, nan, nan],
        "freeze_ms": [nan, nan, nan, 400.0, nan, nan],
        "target_kbps": [900.0, 400.0, 400.0, 500.0, 500.0, 300.0],
        "encoder_kbps": [800.0, 300.0, 300.0, 400.0, 400.0, 250.0],
        "vmaf": [90.0, 70.0, 70.0, 80.0, 80.0, 60.0],
        "fate": ["shown", "shown", "lost", "shown", "open", "open"],
        "measured": [False] + [True] * 5,
    }
    flows = pa.table({"flow": ["a", "b", "c"], "run": [0, 0, 0]})
    found = with_applications({"flows": flows, "frames": pa.table(frames)}, 10.0).to_pylist()
    a, b, c = found
    # The first frame is before the measured window. The others follow at 100 ms, so that they take 400 ms.
    assert (a["frames_sent"], a["frames_shown"], a["frames_lost"], a["frames_late"]) == (4, 2, 1, 0)
    assert (a["frames_skipped"], a["freezes"], a["freeze_s"]) == (2, 1, pytest.approx(0.4))
    assert (a["frame_p50_ms"], a["frame_p95_ms"], a["buffer_ms"]) == (100.0, 300.0, 20.0)
    assert a["video_kbps"] == pytest.approx(8 * (3000 + 5000) / 0.4 / 1e3)
    assert (a["target_kbps"], a["vmaf"]) == (450.0, 75.0)
    assert a["video_percent"] == pytest.approx(100 * 160 / 350)
    assert a["media_loss_percent"] == pytest.approx(100 * (1 - 11 / 12)), "the last frame is on its way"
    assert (b["frames_sent"], b["frames_shown"], math.isnan(b["frame_p95_ms"])) == (1, 0, True)
    assert c["frames_sent"] is None


def test_without_loss_every_frame_is_shown() -> None:
    results = run('{ kind = "rtc", controller = "constant" }')
    frames, flow = results.frames, results.flows.to_pylist()[0]
    assert frames["frame"].to_pylist() == list(range(frames.num_rows))
    assert fates(results) == {"shown": frames.num_rows}
    assert frames.num_rows == pytest.approx(330, abs=12), "30 frames a second for 11 s"
    assert (flow["frames_shown"], flow["freezes"], flow["media_loss_percent"]) == (frames.num_rows, 0, 0.0)
    # 20 ms of path, 1 ms of noise, 10 ms of the operating system, 10 ms to render; large frames take longer.
    assert 41.0 < flow["frame_p50_ms"] < 65.0
    assert flow["target_kbps"] == 1000.0
    # Without the audio (138 B each 20 ms) and 62 B for each packet of about 1000 B.
    assert flow["video_kbps"] == pytest.approx((1000 - 55.2) * 0.94, rel=0.04)
    assert flow["congestion"] == "constant"
    rates = results.media_rate
    assert set(rates["target_kbps"].to_pylist()) == {1000.0}


@pytest.mark.parametrize("nack", [True, False])
def test_frames_are_conserved_with_loss(nack: bool) -> None:
    controller = '{ kind = "constant", rate = "1.4 Mbit/s" }'
    app = f'{{ kind = "rtc", nack = {str(nack).lower()}, controller = {controller} }}'
    burst = '{ kind = "on-off", rate = "3 Mbit/s", on = { kind = "constant", length = "100 ms" } }'
    load = f'[[flow]]\nname = "load"\napp = {burst}\ntransport = "udp"\n'
    results = run(app, rate="2 Mbit/s", queue="20 kB", more=load)
    assert results.meta[0]["conserved"]
    frames, found = results.frames, fates(results)
    fate = np.asarray(frames["fate"].to_pylist(), dtype=object)
    assert sum(found.values()) == frames.num_rows
    # Frames that are open are newer than all that were decoded.
    number = frames["frame"].to_numpy()
    assert number[fate == "open"].min(initial=frames.num_rows) > number[fate == "shown"].max()
    # A shown frame has all of its packets, and was shown after they arrived.
    shown = fate == "shown"
    assert (frames["received"].to_numpy()[shown] == frames["packets"].to_numpy()[shown]).all()
    delay, complete = (arrays.numbers(frames[name])[shown] for name in ("delay_ms", "complete_ms"))
    assert (delay >= complete).all()
    at = frames["t_s"].to_numpy()[shown] + 1e-3 * delay
    assert (np.diff(at) > 0.0).all(), "frames are shown in order"
    flow = results.flows.to_pylist()[0]
    assert flow["packets_lost"] > 20
    if nack:
        assert (flow["frames_lost"], flow["media_loss_percent"], flow["freezes"]) == (0, 0.0, 0)
    else:  # each loss ends the picture for up to 3 s, until a key frame is asked for
        assert flow["frames_lost"] > 100
        assert 2.0 < flow["media_loss_percent"] < 10.0
        assert flow["freeze_s"] > 5.0


def test_repair_packets_are_part_of_the_rate() -> None:
    results = run('{ kind = "rtc", controller = "constant", fec = "50 %", nack = false }')
    flow = results.flows.to_pylist()[0]
    assert fates(results) == {"shown": results.frames.num_rows}
    assert flow["target_kbps"] == 1000.0
    assert flow["video_kbps"] == pytest.approx((1000 - 55.2) / 1.5 * 0.94, rel=0.04)


def test_both_ends_may_send() -> None:
    results = run('{ kind = "rtc", both = true }')
    assert [row["flow"] for row in results.flows.to_pylist()] == ["call", "call (uplink)"]
    assert all(row["frames_shown"] > 300 and row["freezes"] == 0 for row in results.flows.to_pylist())
    assert set(results.frames["flow"].to_pylist()) == {"call", "call (uplink)"}


def test_a_capture_is_rtp_and_rtcp(airlane: Airlane, tmp_path: Path) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("needs tshark")
    text = (
        WIRED.format(app='"rtc"', rate="10 Mbit/s", queue="100 kB")
        .replace("12 s", "3 s")
        .replace('"11 s"', '"2 s"')
    )
    (tmp_path / "call.toml").write_text(text + '[output]\npcap = ["server"]\n')
    airlane("run", tmp_path / "call.toml", "-o", tmp_path / "out")
    (capture,) = (tmp_path / "out").rglob("*.pcapng")
    command = ["tshark", "-r", str(capture), "-d", "udp.port==50000,rtp", "-T", "fields"]
    fields = ("rtp.p_type", "rtp.seq", "rtp.marker", "rtcp.pt", "_ws.malformed")
    told = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split("\t") for line in told.stdout.splitlines()]
    video = [int(row[1]) for row in rows if row[0] == "96"]
    assert video == list(range(len(video)))
    assert len(video) > 100
    assert sum(row[0] == "111" for row in rows) == 100, "audio each 20 ms for 2 s"
    assert not [row for row in rows if len(row) > 4 and row[4]]


@pytest.mark.parametrize("controller", ['"gcc"', '"scream"', '"nada"'])
def test_a_pause_has_no_media_and_is_no_freeze(controller: str) -> None:
    pauses = '[{ at = "3 s", duration = "1 s" }, { at = "5 s", duration = "3 s" }]'
    results = run(f'{{ kind = "rtc", both = true, controller = {controller}, pauses = {pauses} }}')
    made_s = arrays.numbers(results.frames["t_s"])
    assert not ((made_s >= 3.0) & (made_s < 4.0)).any()
    assert not ((made_s >= 5.0) & (made_s < 8.0)).any()
    assert made_s[made_s >= 5.0].min() == 8.0
    for row in results.flows.to_pylist():
        assert row["freezes"] == 0
        assert row["frames_shown"] > 0.98 * row["frames_sent"]
    series = results.flow_series
    times_s, rate = (arrays.numbers(series[name]) for name in ("t_s", "goodput_mbps"))
    # Reports of sender and receiver go on, each second.
    assert rate[(times_s >= 5.2) & (times_s < 7.8)].max() < 0.05 < 0.2 < rate[times_s > 9.0].mean()


@pytest.mark.parametrize("name", ["gcc", "scream", "scream-libwebrtc", "nada"])
def test_others_take_the_rate_of_a_call_that_pauses_and_give_it_back(name: str) -> None:
    (contender,) = (one for one in rmcat.CONTENDERS if one.name == name)
    (situation,) = (one for one in rmcat.SITUATIONS if one.name == "rmcat-pause")
    series = contender.enter(situation.scenario()).run(seed=1).flow_series
    flows = np.asarray(series["flow"].to_pylist(), dtype=object)
    times_s, rate = (arrays.numbers(series[name]) for name in ("t_s", "goodput_mbps"))

    def rates(begin_s: float, end_s: float) -> list[float]:
        inside = (times_s >= begin_s) & (times_s < end_s)
        return [float(rate[inside & (flows == f"tested-{i}")].mean()) for i in (1, 2, 3)]

    # RFC 8867 section 5.8: two calls of at most 1.5 Mbit/s fit into 3.5 Mbit/s, three share it.
    first, paused, third = rates(50, 60)
    assert min(first, third) > 0.85 * 1.5
    assert paused < 0.01
    for shares in (rates(30, 40), rates(90, 119)):
        assert min(shares) > 0.5 * max(shares)
        assert sum(shares) > 0.75 * 3.5


@pytest.mark.parametrize(
    ("app", "said"),
    [
        ('{ kind = "rtc", video = { start = "100 kbit/s" } }', "flow.0.app.video.start"),
        ('{ kind = "rtc", video = { min = "10 kbit/s", frame_rate = 60.0 } }', "leave no room for frames"),
        ('{ kind = "rtc", video = { encoder = { transient_size = 9.0 } } }', "from 1 to transient_frames"),
        ('{ kind = "rtc", audio = { kind = "opus", packet = "1 s" } }', "from 1 ms to 120 ms"),
        ('{ kind = "rtc", feedback_interval = "8001 ms" }', "it must be at most 8 s"),
        ('{ kind = "rtc", controller = "reno" }', "constant"),
        ('{ kind = "rtc", pauses = [{ at = "1 s", duration = "0 s" }] }', "pauses.0.duration"),
        ('{ kind = "rtc", controller = { kind = "own" } }', "name"),
        (
            '{ kind = "rtc", pauses = [{ at = "1 s", duration = "2 s" }, { at = "3 s", duration = "1 s" }] }',
            "sort them by `at`, with time between them",
        ),
    ],
)
def test_errors_say_what_would_be_right(app: str, said: str) -> None:
    with pytest.raises(package.ScenarioError) as raised:
        run(app)
    assert said in str(raised.value)


def test_the_bundled_call_runs(airlane: Airlane, tmp_path: Path) -> None:
    said = airlane("run", "--example", "call", "-o", tmp_path / "out").stdout
    assert "calls" in said
    results = package.Results.read(tmp_path / "out")
    call = next(row for row in results.flows.to_pylist() if row["flow"] == "call")
    assert call["frames_shown"] > 800


VARIANTS = [f'{{ kind = "scream", variant = "{name}" }}' for name in ("ericsson", "libwebrtc")]


@pytest.mark.parametrize("controller", ['"gcc"', '"scream"', *VARIANTS, '"nada"'])
def test_controllers_find_the_rate_of_a_link(controller: str) -> None:
    results = run(f'{{ kind = "rtc", controller = {controller}, video.max = "3 Mbit/s" }}', rate="1 Mbit/s")
    flow = results.flows.to_pylist()[0]
    late = arrays.numbers(results.media_rate["target_kbps"])[arrays.numbers(results.media_rate["t_s"]) > 8.0]
    assert 500.0 < np.median(late) < 1250.0
    assert flow["congestion"] == (
        "gcc" if "gcc" in controller else "nada" if "nada" in controller else "scream"
    )
    assert results.meta[0]["conserved"]
