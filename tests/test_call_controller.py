"""Rate controllers of calls in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import airlane as package
from airlane import control, native
from airlane.control import CallController, Controller, ControllerError, Feedback
from conftest import Airlane

OWN = {"flow.0.app.controller": {"kind": "own", "name": "mine"}}

CALL = """
network = "wired"
[run]
duration = "20 s"
warmup = "5 s"
[internet]
rate = "1 Mbit/s"
delay = "20 ms"
queue = "40 kB"
[[flow]]
name = "call"
transport = "udp"
app = "rtc"
"""


class Fixed(CallController):
    """Keeps 600 kbit/s."""

    def on_feedback(self, feedback: Feedback) -> None:
        self.target_mbps = 0.6


class Raising(CallController):
    def on_feedback(self, feedback: Feedback) -> None:
        if feedback.now_s > 1.0:
            raise RuntimeError("my own mistake")


class Undefined(CallController):
    def on_feedback(self, feedback: Feedback) -> None:
        self.target_mbps = float("nan")


class Owing(CallController):
    def on_feedback(self, feedback: Feedback) -> None:
        self.target_mbps = -1.0


class Forgetful(CallController):
    def on_feedback(self, feedback: Feedback) -> None:
        self.target_mbps = None  # type: ignore[assignment]


class Wordy(CallController):
    def on_feedback(self, feedback: Feedback) -> None:
        self.pacing_mbps = "fast"  # type: ignore[assignment]


class PacedEndlessly(CallController):
    timer_ms = 100

    def on_feedback(self, feedback: Feedback) -> None:
        pass

    def on_timer(self, now_s: float) -> None:
        self.pacing_mbps = float("inf")


class Bare(Fixed):
    def __init__(self, min_mbps: float, start_mbps: float, max_mbps: float) -> None:
        pass

    def on_feedback(self, feedback: Feedback) -> None:
        pass


class NotMade(Fixed):
    def __init__(self, min_mbps: float, start_mbps: float, max_mbps: float) -> None:
        raise ValueError("nothing works")


class Hurried(Fixed):
    timer_ms = 0


def wired(**settings: object) -> package.Scenario:
    return package.loads(CALL, "call.toml").set(OWN | settings)


def test_it_sets_the_rate_of_the_call() -> None:
    results = wired().run(controllers={"mine": Fixed})
    (row,) = results.flows.to_pylist()
    assert row["congestion"] == "mine"
    targets = results.media_rate["target_kbps"].to_pylist()
    assert targets[0] == pytest.approx(355.2), "300 of video, 32 of audio, 23.2 of its headers"
    assert targets[-1] == pytest.approx(600)
    calls, seconds = results.costs["mine"]
    assert calls > 300
    assert seconds > 0.0


def test_reports_have_each_packet_once_in_order() -> None:
    reports: list[Feedback] = []
    bounds: list[float] = []

    class Watching(CallController):
        """Keeps what it receives."""

        def __init__(self, min_mbps: float, start_mbps: float, max_mbps: float) -> None:
            super().__init__(min_mbps, start_mbps, max_mbps)
            bounds.extend([min_mbps, start_mbps, max_mbps])

        def on_feedback(self, feedback: Feedback) -> None:
            reports.append(feedback)

    wired(**{"internet.loss": "2 %"}).run(threads=1, controllers={"mine": Watching})
    assert 0.15 < bounds[0] < bounds[1] < bounds[2] < 1.6
    packets = [one for report in reports for one in report.packets]
    numbers = [one.sequence for one in packets]
    arrived = [one for one in packets if one.arrived_s is not None]
    assert len(set(numbers)) > 0.99 * (max(numbers) + 1)
    assert len({one.sequence for one in arrived}) == len(arrived)
    assert 0.005 < 1 - len(arrived) / len(packets) < 0.05
    # 20 ms of propagation, and at 1 Mbit/s up to 10 ms for a packet and what waits before it.
    delays = [one.arrived_s - one.sent_s for one in arrived if one.arrived_s is not None]
    assert 0.02 < min(delays) < max(delays) < 0.2
    assert all(40 <= one.size <= 1300 for one in packets)
    assert not any(one.marked for one in packets)
    assert reports[0].rtt_ms is None
    assert 40 < (reports[-1].rtt_ms or 0) < 200
    assert all(report.now_s > max(one.sent_s for one in report.packets) for report in reports)


def test_marks_are_reported() -> None:
    marked: list[int] = []

    class Marked(CallController):
        """Asks for more than the link carries."""

        def on_feedback(self, feedback: Feedback) -> None:
            self.target_mbps = 9.9
            marked.append(sum(one.marked for one in feedback.packets))
            assert self.target_mbps == 9.9

    ecn = {"internet.aqm": "dualpi2", "flow.0.transport": {"kind": "udp", "ecn": "ect1"}}
    wired(**ecn).run(threads=1, controllers={"mine": Marked})
    assert sum(marked) > 1000


def test_a_target_beyond_a_bound_is_set_to_it() -> None:
    seen: list[tuple[float, float]] = []

    class Growing(CallController):
        """Doubles, then halves."""

        def on_feedback(self, feedback: Feedback) -> None:
            seen.append((self.target_mbps, self.max_mbps))
            self.target_mbps *= 2 if feedback.now_s < 10 else 0.5

    results = wired().run(threads=1, controllers={"mine": Growing})
    assert max(target for target, _ in seen) == seen[0][1]
    lowest = min(results.media_rate["target_kbps"].to_numpy())
    assert lowest == pytest.approx(1000 * seen[-1][0]), "after the bound, it falls at once"
    assert lowest == pytest.approx(205.2)


def test_the_timer_needs_no_reports() -> None:
    times: list[float] = []

    class Timed(CallController):
        """Counts."""

        timer_ms = 250

        def on_feedback(self, feedback: Feedback) -> None:
            pass

        def on_timer(self, now_s: float) -> None:
            times.append(now_s)

    wired(**{"internet.loss": "100 %"}).run(threads=1, controllers={"mine": Timed})
    assert times[:3] == pytest.approx([0.25, 0.5, 0.75])
    assert len(times) == pytest.approx(80, abs=1)


def test_threads_make_no_difference() -> None:
    def rows(threads: int) -> str:
        results = wired(**{"internet.loss": "1 %"}).run(runs=3, threads=threads, controllers={"mine": Fixed})
        return str(results.flows.to_pylist())

    assert rows(1) == rows(3)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (
            Raising,
            r"test_call_controller\.py:\d+: RuntimeError: my own mistake \(controller Raising, flow call\)",
        ),
        (Undefined, r"after on_feedback, target_mbps is nan; .* \(controller Undefined, flow call\)"),
        (Owing, r"after on_feedback, target_mbps is -1\.0; it must be finite and not negative"),
        (Forgetful, "after on_feedback, target_mbps is None; it must be a number"),
        (Wordy, "after on_feedback, pacing_mbps is 'fast'; it must be a number"),
        (PacedEndlessly, "after on_timer, pacing_mbps is inf; it must be finite and not negative"),
        (Bare, r"its __init__ must call super\(\).__init__\(min_mbps, start_mbps, max_mbps\)"),
        (NotMade, r"ValueError: nothing works \(controller NotMade, flow call\)"),
        (CallController, "CallController must define on_feedback"),
        (Hurried, r"mine\.timer_ms is 0; it must be None, or from 1 to 60000"),
    ],
)
def test_what_goes_wrong_in_it_ends_the_run_and_says_where(made: type[CallController], words: str) -> None:
    with pytest.raises(ControllerError, match=words):
        wired().run(runs=2, threads=2, controllers={"mine": made})


def test_a_class_for_other_flows_is_refused() -> None:
    class OfTcp(Controller):
        """Does nothing."""

    with pytest.raises(native.ScenarioError, match=r"derive its class from airlane\.CallController"):
        wired().run(controllers={"mine": OfTcp})
    tcp = package.load(package.example("wired-cubic")).set(
        {"flow.0.transport.congestion": "own", "flow.0.transport.controller": "mine"}
    )
    with pytest.raises(native.ScenarioError, match=r"derive its class from airlane\.Controller"):
        tcp.run(controllers={"mine": Fixed})


def test_the_command_names_what_is_missing(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import airlane\nclass Mine(airlane.CallController): pass\n")
    (tmp_path / "call.toml").write_text(CALL)
    done = airlane("run", "call.toml", "--controller", "a.py:Mine")
    assert done.returncode == 2
    added = """--set 'flow.0.app.controller={"kind": "own", "name": "mine"}'"""
    assert f"no flow uses the controller 'mine'; add {added}" in done.stderr
    assert control.wanted(wired().settings) == {"mine"}


def test_the_arena_has_it_in_calls_alone(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "import airlane\n"
        "class Mine(airlane.CallController):\n"
        '    """Keeps its rate."""\n'
        "    def on_feedback(self, feedback): self.target_mbps = 0.4\n"
    )
    (tmp_path / "short.toml").write_text(CALL.replace('"call"', '"tested"'))
    call = ("arena", "--set", "rmcat", "--quick", "--json", "--contender", "gcc", "--controller")
    done = airlane(*call, "a.py:Mine", "--situation", "short.toml")
    assert done.returncode == 0, done.stderr
    cells = json.dumps(json.loads(done.stdout))
    assert '"mine"' in cells
    taken = airlane(*call, "gcc=a.py:Mine", "--situation", "short.toml")
    assert "a contender is already named 'gcc'" in taken.stderr
    (tmp_path / "tcp.toml").write_text(
        'network = "wired"\n[run]\nduration = "3 s"\nwarmup = "1 s"\n[[flow]]\nname = "tested"\n'
    )
    own = ("--controller", "a.py:Mine", "--situation", "tcp.toml")
    other = airlane("arena", "--quick", "--json", "--contender", "cubic", *own)
    assert "there is no call" in other.stdout, other.stderr
