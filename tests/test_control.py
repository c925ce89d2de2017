"""Congestion controllers in Python: the same results as the same law in Rust, with any number of threads."""

from __future__ import annotations

import time
from itertools import pairwise
from pathlib import Path

import pytest

import airlane as package
from airlane import control, native
from airlane.control import Ack, Controller, ControllerError, Loss, Timeout
from conftest import Airlane

OWN = {"flow.0.transport.congestion": "own", "flow.0.transport.controller": "mine"}


class Reno(Controller):
    """NewReno as in `crates/transport/src/congestion/newreno.rs`."""

    def __init__(self, segment_size: int, cwnd: float) -> None:
        super().__init__(segment_size, cwnd)
        self.ssthresh = float("inf")

    def on_ack(self, ack: Ack) -> None:
        if not (ack.may_grow and ack.window_limited):
            return
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + ack.delivered, self.ssthresh)
        else:
            self.cwnd += ack.delivered / int(self.cwnd)

    def on_loss(self, loss: Loss) -> None:
        self.cwnd = self.ssthresh = max(2.0, self.cwnd // 2)

    def on_timeout(self, timeout: Timeout) -> None:
        if timeout.new_episode:
            self.ssthresh = max(2.0, self.cwnd // 2)
        super().on_timeout(timeout)


class Round(Reno):
    every = "round"


class Raising(Reno):
    def on_ack(self, ack: Ack) -> None:
        if ack.now_s > 1.0:
            raise RuntimeError("my own mistake")
        super().on_ack(ack)


class Undefined(Reno):
    def on_ack(self, ack: Ack) -> None:
        self.cwnd = float("nan")


class Paced(Reno):
    """Sets a rate, with a window that never limits it."""

    def on_ack(self, ack: Ack) -> None:
        self.cwnd, self.pacing_mbps = 1000.0, 5.0


class PacedAtNothing(Paced):
    def on_ack(self, ack: Ack) -> None:
        self.pacing_mbps = float("nan")


class Endless(Reno):
    def on_ack(self, ack: Ack) -> None:
        self.cwnd = float("inf")


class Owing(Reno):
    def on_ack(self, ack: Ack) -> None:
        self.cwnd = -5.0


class PacedEndlessly(Paced):
    def on_ack(self, ack: Ack) -> None:
        self.pacing_mbps = float("inf")


class PacedBackwards(Paced):
    def on_ack(self, ack: Ack) -> None:
        self.pacing_mbps = -1.0


class OneOfThemSleeps(Reno):
    """The second connection's controller sleeps when that of the first raises."""

    made = 0

    def __init__(self, segment_size: int, cwnd: float) -> None:
        super().__init__(segment_size, cwnd)
        type(self).made += 1
        self.sleeps = self.made == 2

    def on_ack(self, ack: Ack) -> None:
        time.sleep(600 if self.sleeps else 1)
        raise RuntimeError("the first's own mistake")


class Wordy(Reno):
    def on_ack(self, ack: Ack) -> None:
        self.cwnd = "ten"  # type: ignore[assignment]


class Forgetful(Reno):
    def on_ack(self, ack: Ack) -> None:
        self.cwnd = None  # type: ignore[assignment]


class Leaving(Reno):
    def on_ack(self, ack: Ack) -> None:
        raise SystemExit(0)


class Bare(Reno):
    def __init__(self, segment_size: int, cwnd: float) -> None:
        pass

    def on_ack(self, ack: Ack) -> None:
        pass


class Numbered(Reno):
    every = 3  # type: ignore[assignment]


class Sometimes(Reno):
    every = "sometimes"  # type: ignore[assignment]


def wired() -> package.Scenario:
    base = package.load(package.example("wired-cubic"))
    return base.set({"run.duration": "12 s", "run.warmup": "2 s"})


def test_the_same_law_in_python_and_in_rust_is_nearly_the_same_run() -> None:
    (rust,) = wired().set({"flow.0.transport.congestion": "newreno"}).run().flows.to_pylist()
    results = wired().set(OWN).run(controllers={"mine": Reno})
    (ours,) = results.flows.to_pylist()
    assert ours["congestion"] == "mine"
    # One counts segments towards the next, the other fractions.
    assert ours["goodput_mbps"] == pytest.approx(rust["goodput_mbps"], rel=0.01)
    assert ours["rtt_ms"] == pytest.approx(rust["rtt_ms"], rel=0.03)
    assert ours["retransmissions"] == pytest.approx(rust["retransmissions"], rel=0.2)
    calls, seconds = results.costs["mine"]
    assert calls > 10_000
    assert seconds > 0.0


def over_quic() -> package.Scenario:
    base = package.load(package.example("quic-wired"))
    return base.set({"run.duration": "12 s", "run.warmup": "2 s"})


def test_over_quic_the_same_law_in_python_and_in_rust_is_nearly_the_same_run() -> None:
    (rust,) = over_quic().set({"flow.0.transport.congestion": "newreno"}).run().flows.to_pylist()
    results = over_quic().set(OWN).run(controllers={"mine": Reno})
    (ours,) = results.flows.to_pylist()
    assert ours["kind"] == "quic"
    assert ours["congestion"] == "mine"
    # One counts segments towards the next, the other fractions.
    assert ours["goodput_mbps"] == pytest.approx(rust["goodput_mbps"], rel=0.01)
    assert ours["rtt_ms"] == pytest.approx(rust["rtt_ms"], rel=0.03)
    assert results.costs["mine"][0] > 1_000
    again = over_quic().set(OWN).run(controllers={"mine": Reno})
    assert str(again.flows.to_pylist()) == str([ours])


def test_over_quic_a_rate_is_kept() -> None:
    (row,) = over_quic().set(OWN).run(controllers={"mine": Paced}).flows.to_pylist()
    # 5 Mbit/s of datagrams of 1452 bytes, with up to 40 bytes of headers of QUIC.
    assert row["goodput_mbps"] == pytest.approx(5.0 * (1452 - 20) / 1452, rel=0.02)


def test_over_quic_a_window_of_larger_datagrams_has_less_than_one_fewer_bytes() -> None:
    seen: list[tuple[int, float]] = []

    class Constant(Controller):
        """Keeps the window."""

        def on_ack(self, ack: Ack) -> None:
            if not seen or seen[-1] != (self.segment_size, self.cwnd):
                seen.append((self.segment_size, self.cwnd))

    over_quic().set(OWN | {"run.duration": "3 s"}).run(threads=1, controllers={"mine": Constant})
    assert seen[0] == (1200, 10.0)
    assert seen[-1][0] == 1452, "path MTU discovery has ended"
    for (before, more), (after, fewer) in pairwise(seen):
        assert 0 <= before * more - after * fewer < after, seen


def test_threads_and_batches_make_no_difference() -> None:
    scenario = wired().set(OWN | {"internet.loss": "0.1 %"})
    alone = [scenario.run(seed=s, threads=1, controllers={"mine": Reno}).flows for s in (1, 2, 3)]
    together = scenario.run(runs=3, seed=1, threads=3, controllers={"mine": Reno}).flows
    assert len(set(together["goodput_mbps"].to_pylist())) == 3
    columns = [c for c in together.column_names if c != "run"]
    rows = [row for one in alone for row in one.select(columns).to_pylist()]
    assert str(rows) == str(together.select(columns).to_pylist())


def test_a_rate_is_kept_where_the_flow_is_paced() -> None:
    def goodput(pacing: bool) -> float:
        scenario = wired().set(OWN | {"flow.0.transport.pacing": pacing})
        (row,) = scenario.run(controllers={"mine": Paced}).flows.to_pylist()
        return float(row["goodput_mbps"])

    assert goodput(True) == pytest.approx(5.0, rel=0.01)
    assert goodput(False) > 60.0


def test_once_a_round_is_seldom() -> None:
    results = wired().set(OWN).run(controllers={"mine": Round})
    calls, _ = results.costs["mine"]
    assert 50 < calls < 400, "12 s of round trips of 60 to 110 ms"
    (flow,) = results.flows.to_pylist()
    assert flow["goodput_mbps"] > 60


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (Raising, r"test_control\.py:\d+: RuntimeError: my own mistake"),
        (Undefined, "after on_ack, cwnd is nan"),
        (PacedAtNothing, "after on_ack, pacing_mbps is nan"),
        (Endless, "after on_ack, cwnd is inf; it must be finite and not negative"),
        (Owing, r"after on_ack, cwnd is -5\.0; it must be finite and not negative"),
        (PacedEndlessly, "after on_ack, pacing_mbps is inf; it must be finite and not negative"),
        (PacedBackwards, r"after on_ack, pacing_mbps is -1\.0; it must be finite and not negative"),
        (OneOfThemSleeps, "the first's own mistake"),
        (Wordy, "after on_ack, cwnd is 'ten'; it must be a number"),
        (Forgetful, "after on_ack, cwnd is None; it must be a number"),
        (Leaving, r"test_control\.py:\d+: SystemExit: 0"),
        (Bare, r"the object has no attribute cwnd: its __init__ must call super\(\)"),
        (Numbered, 'every is 3; it must be "ack" or "round"'),
        (Sometimes, 'every is "sometimes"; it must be "ack" or "round"'),
    ],
)
def test_what_goes_wrong_in_it_ends_the_run_and_says_where(made: type[Controller], words: str) -> None:
    with pytest.raises(ControllerError, match=words):
        wired().set(OWN).run(runs=3, threads=2, controllers={"mine": made})


def test_a_name_that_nobody_brings_along() -> None:
    with pytest.raises(
        native.ScenarioError, match=r'controller = "mine": unknown controller; add --controller mine=FILE'
    ):
        wired().set(OWN).run()
    with pytest.raises(native.ScenarioError, match="known: other"):
        wired().set(OWN).run(controllers={"other": Reno})
    with pytest.raises(native.ScenarioError, match="`controller` is missing"):
        _ = wired().set({"flow.0.transport.congestion": "own"}).resolved
    with pytest.raises(native.ScenarioError, match='it needs congestion = "own"'):
        _ = wired().set({"flow.0.transport.controller": "mine"}).resolved


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("mine", "NAME=FILE.py:CLASS"),
        (
            "m=a.py:Nobody",
            "no class Nobody derived from airlane.Controller, airlane.CallController or "
            "airlane.PathScheduler; known: Mine",
        ),
        ("m=broken.py:Mine", "broken.py: SyntaxError"),
        ("m=nowhere.py:Mine", "nowhere.py: No such file"),
        ("m=exits.py:Mine", "exits.py: SystemExit: 0"),
        ("m=a.py:Mine", "no flow uses the controller 'm'; add --set flow.0.transport.congestion=own"),
    ],
)
def test_files_that_have_none(airlane: Airlane, tmp_path: Path, setting: str, words: str) -> None:
    (tmp_path / "a.py").write_text("import airlane\nclass Mine(airlane.Controller): pass\n")
    (tmp_path / "broken.py").write_text("class Mine(\n")
    (tmp_path / "exits.py").write_text("import sys\nsys.exit(0)\n")
    done = airlane("run", "--example", "wired-cubic", "--controller", setting)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_two_of_one_name(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import airlane\nclass Mine(airlane.Controller): pass\n")
    twice = ("--controller", "m=a.py:Mine") * 2
    for command in (("run", "--example", "wired-cubic"), ("arena", "--quick")):
        done = airlane(*command, *twice)
        assert done.returncode == 2
        assert "the name 'm' is used twice" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_file_by_its_class_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import airlane\nclass Mine(airlane.Controller): pass\n")
    name, made = control.load(f"{tmp_path}/a.py:Mine")
    assert name == "mine"
    assert issubclass(made, Controller)
