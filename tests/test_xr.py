"""XR: figures follow from the table of frames, frames have their sizes and times, errors help."""

import math

import numpy as np
import pyarrow as pa
import pytest

import airlane as package
from airlane.runs import arrays
from airlane.runs.applications import with_applications

WIRED = """network = "wired"
[run]
duration = "20 s"
[internet]
rate = "{rate}"
uplink_rate = "100 Mbit/s"
delay = "2 ms"
queue = "10 MB"
[[flow]]
name = "user"
app = {app}
transport = "udp"
"""


def run(app: str, rate: str = "1 Gbit/s") -> package.Results:
    return package.Scenario(WIRED.format(app=app, rate=rate), "xr.toml").run(seed=1)


def test_figures_of_a_user_by_hand() -> None:
    nan = math.nan
    video = ["late", *["in-time"] * 97, "lost", "open"]
    frames = {
        "flow": ["a"] * 104 + ["b"],
        "stream": ["video"] * 100 + ["pose"] * 4 + ["video"],
        "delay_ms": [20.0, *[1.0 + i for i in range(97)], nan, nan] + [5.0] * 5,
        "fate": [*video, "late", *["in-time"] * 4],
        "measured": [True] * 100 + [False] + [True] * 4,
    }
    flows = pa.table({"flow": ["a", "b", "c"], "run": [0, 0, 0]})
    a, b, c = with_applications({"flows": flows, "xr_frames": pa.table(frames)}, 10.0).to_pylist()
    assert (a["xr_frames"], a["xr_in_time"], a["xr_late"], a["xr_lost"]) == (100, 97, 1, 1)
    assert (a["xr_in_time_percent"], a["pose_in_time_percent"]) == (97.0, 100.0)
    assert (a["satisfied_percent"], a["satisfied_95_percent"]) == (0.0, 100.0)
    # Of 98 frames that arrived, the 94th is above 95 %.
    assert (a["xr_p50_ms"], a["xr_p95_ms"]) == (48.0, 93.0)
    assert b["satisfied_percent"] == 100.0
    assert math.isnan(b["uplink_video_in_time_percent"])
    assert c["satisfied_percent"] is None


@pytest.mark.parametrize(
    ("service", "rate", "budget", "streams"),
    [
        ("vr-30", 30e6, 10.0, {"video", "pose"}),
        ("vr-45", 45e6, 10.0, {"video", "pose"}),
        ("cloud-gaming-8", 8e6, 15.0, {"video", "pose"}),
        ("cloud-gaming-30", 30e6, 15.0, {"video", "pose"}),
        ("ar", 30e6, 10.0, {"video", "pose", "uplink-video"}),
    ],
)
def test_a_service_has_its_streams(service: str, rate: float, budget: float, streams: set[str]) -> None:
    results = run(f'{{ kind = "xr", service = "{service}" }}')
    frames = results.xr_frames
    names = np.asarray(frames["stream"].to_pylist(), dtype=object)
    assert set(names) == streams
    video = names == "video"
    sizes, times = (arrays.numbers(frames[name])[video] for name in ("size_bytes", "t_s"))
    mean = rate / 60 / 8
    # Of 1200 frames the mean deviates by 0.3 % (one standard error).
    assert sizes.mean() == pytest.approx(mean, rel=0.015)
    assert sizes.min() >= mean / 2 - 1
    assert sizes.max() <= 1.5 * mean + 1
    assert sizes.size in (1199, 1200)
    gaps = np.diff(times)
    assert (gaps > 1 / 60 - 0.008001).all()
    assert (gaps < 1 / 60 + 0.008001).all()
    assert set(arrays.numbers(frames["budget_ms"])[video]) == {budget}
    pose = arrays.numbers(frames["t_s"])[names == "pose"]
    assert np.diff(pose) == pytest.approx(0.004)
    assert results.flows["satisfied_percent"].to_pylist()[0] == 100.0


def test_a_frame_takes_the_time_of_its_packets() -> None:
    """On an idle link: propagation, and the transmission of all packets with 28 B of headers each."""
    frames = run('{ kind = "xr", service = "vr-30", uplink = "none" }', rate="100 Mbit/s").xr_frames
    size, packets, delay = (arrays.numbers(frames[name]) for name in ("size_bytes", "packets", "delay_ms"))
    assert packets.tolist() == np.ceil(size / 1400).tolist()
    arrived = np.isfinite(delay)
    wanted = 2.0 + 8 * (size + 28 * packets) / 100e6 * 1e3
    assert delay[arrived] == pytest.approx(wanted[arrived], abs=0.01)
    assert arrived.sum() >= size.size - 1


def test_a_link_below_the_rate_satisfies_nobody() -> None:
    results = run('{ kind = "xr", service = "vr-45" }', rate="40 Mbit/s")
    user = results.flows.to_pylist()[0]
    assert user["satisfied_percent"] == 0.0
    assert user["xr_in_time_percent"] < 20.0
    assert user["pose_in_time_percent"] == 100.0


@pytest.mark.parametrize(
    ("app", "message"),
    [
        ('{ kind = "xr", service = "vr" }', "vr-30"),
        ('{ kind = "xr", video = { min = 0.95 } }', "at least one deviation below 1"),
        ('{ kind = "xr", video = { max = 1.05 } }', "at least one deviation above 1"),
        ('{ kind = "xr", video = { frame_rate = 120.0, jitter.range = "5 ms" } }', "overtake"),
        ('{ kind = "xr", video = { jitter.deviation = "5 ms" } }', "at most jitter.range"),
        ('{ kind = "xr", pose = { size = "2 kB" } }', "from 1 B to app.payload"),
        ('{ kind = "xr", payload = "0 B" }', "from 1 B to 65507 B"),
    ],
)
def test_wrong_settings_are_explained(app: str, message: str) -> None:
    with pytest.raises(package.ScenarioError, match=message):
        run(app)


def test_the_video_of_xr_is_on_the_downlink() -> None:
    text = WIRED.format(app='"xr"', rate="1 Gbit/s") + 'direction = "uplink"\n'
    with pytest.raises(package.ScenarioError, match="its video travels to the UE"):
        package.Scenario(text, "xr.toml").run(seed=1)
