"""The Gymnasium environment: a policy gives the same result as a controller, repeatably, without
leftovers.
"""

from __future__ import annotations

import gc
import math
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np
import pytest

import airlane
from airlane.control import Ack, Controller, ControllerError
from airlane.native import ScenarioError

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from airlane import gym  # noqa: E402

SHORT = {"run.duration": "6 s", "run.warmup": "1 s"}


def wired(**settings: object) -> airlane.Scenario:
    base = airlane.load(airlane.example("wired-cubic"))
    return base.set(
        SHORT | {"internet.loss": "0.05 %"} | {k.replace("__", "."): v for k, v in settings.items()}
    )


def wish(srtt_ms: float, min_rtt_ms: float) -> float:
    """A policy: doubles while the queue is short."""
    return 0.5 if srtt_ms < 1.3 * min_rtt_ms else -0.25


def episode(
    env: gym.CongestionEnv, seed: int | None = 3, **options: Any
) -> tuple[list[float], dict[str, Any]]:
    _, info = env.reset(seed=seed, options=options)
    rewards, over = [], False
    while not over:
        action = np.array([wish(info["srtt_ms"], info["min_rtt_ms"])])
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        over = terminated or truncated
    return rewards, info | {"complete": terminated}


def episodes_under_way() -> int:
    return sum(thread.name == "airlane-episode" for thread in threading.enumerate())


class Same(gym.Kept):
    """The policy as a controller."""

    every = "round"

    def __init__(self, segment_size: int, cwnd: float) -> None:
        super().__init__(segment_size, cwnd)
        self.least = math.inf

    def on_ack(self, ack: Ack) -> None:
        self.least = min(self.least, ack.srtt_ms if ack.rtt_ms is None else ack.rtt_ms)
        self.cwnd = min(max(1.0, self.cwnd * 2.0 ** wish(ack.srtt_ms, self.least)), 1e7)


class SameAtEachAck(Same):
    every = "ack"  # type: ignore[assignment]


@pytest.mark.parametrize(
    "options", [{}, {"every": "ack"}, {"action": "window+pacing"}, {"action": "factor+pacing"}]
)
def test_the_checker_of_gymnasium_finds_nothing(options: dict[str, Any]) -> None:
    env = gymnasium.make(gym.ENV_ID, base_scenario=wired(), **options)
    check_env(env.unwrapped)
    env.close()
    assert episodes_under_way() == 0


@pytest.mark.parametrize(("every", "same"), [("round", Same), ("ack", SameAtEachAck)])
def test_a_policy_is_the_same_as_a_controller_to_the_byte(every: Any, same: type[Controller]) -> None:
    _, info = episode(gym.CongestionEnv(wired(), every=every))
    own = {"flow.0.transport.congestion": "own", "flow.0.transport.controller": "gym"}
    (row,) = wired().set(own).run(seed=3, controllers={"gym": same}).flows.to_pylist()
    assert row["retransmissions"] > 0, "losses are a part of it"
    assert str({key: row[key] for key in info["flow"]}) == str(info["flow"])


def test_over_quic_a_policy_is_the_same_as_a_controller_to_the_byte() -> None:
    quic = {"flow.0.transport": {"kind": "quic"}}
    _, info = episode(gym.CongestionEnv(wired().set(quic)))
    own = quic | {"flow.0.transport": {"kind": "quic", "congestion": "own", "controller": "gym"}}
    (row,) = wired().set(own).run(seed=3, controllers={"gym": Same}).flows.to_pylist()
    assert row["kind"] == "quic"
    assert row["retransmissions"] > 0, "losses are a part of it"
    assert str({key: row[key] for key in info["flow"]}) == str(info["flow"])
    paced = gym.CongestionEnv(wired().set(quic), action="window+pacing")
    _, info = paced.reset(seed=1)
    over = False
    while not over:
        rate = 10.0 / (251.19 * 1452 * 8e-3 / info["srtt_ms"])
        _, _, terminated, truncated, info = paced.step(np.array([0.2, np.log2(rate)]))
        over = terminated or truncated
    assert 20.0 < info["flow"]["goodput_mbps"] < 30.0, "as over TCP: the rate is at most halved"


def test_twice_the_same_and_another_seed_is_another() -> None:
    env = gym.CongestionEnv(wired())
    began = time.perf_counter()
    first, told = episode(env)
    second, _ = episode(env)
    print(f"{2 * len(first) / (time.perf_counter() - began):.0f} steps/s")
    assert first == second
    assert len(first) > 30
    assert first != episode(env, 4)[0]
    assert told["seed"] == 3
    # Without a seed: other episodes, the same after the same start.
    drawn = [episode(env, seed)[1]["seed"] for seed in (3, None, None, 3, None)]
    assert drawn[0] == drawn[3] == 3
    assert drawn[1] == drawn[4] != drawn[2]


def test_the_reward_is_rate_against_delay() -> None:
    seen = {"delivered_mbps": 10.0, "srtt_ms": 50.0}
    assert gym.LogPower()(gym.Decision(1.0, seen)) == pytest.approx(math.log(10.0) - math.log(50.0))
    assert gym.LogPower(2.0)(gym.Decision(1.0, seen)) == pytest.approx(math.log(10.0) - 2.0 * math.log(50.0))
    rewards, _ = episode(gym.CongestionEnv(wired(), reward=lambda told: told.observation["losses"]))
    assert 0 < sum(rewards) < len(rewards)


def test_a_transfer_that_ends_terminates_and_another_scenario_serves_an_episode() -> None:
    env = gym.CongestionEnv(wired())
    _, info = episode(env, scenario=wired(flow__0__app={"kind": "fixed", "size": "1 MB"}))
    assert info["complete"]
    assert 0.3 < info["flow"]["fct_s"] < 3.0
    _, info = episode(env, set={"internet.rate": "5 Mbit/s"})
    assert not info["complete"]
    assert 3.0 < info["flow"]["goodput_mbps"] < 5.0


def test_the_rate_can_be_chosen_beside_the_window() -> None:
    env = gym.CongestionEnv(wired(), action="window+pacing")
    _, info = env.reset(seed=1)
    over = False
    while not over:
        # 251 segments, and a rate of 10 Mbit/s for them: a window is never reached.
        rate = 10.0 / (251.19 * 1448 * 8e-3 / info["srtt_ms"])
        _, _, terminated, truncated, info = env.step(np.array([0.2, np.log2(rate)]))
        over = terminated or truncated
    # The rate is at most halved relative to one window per round trip.
    assert 20.0 < info["flow"]["goodput_mbps"] < 30.0
    assert info["flow"]["owd_p95_ms"] < 35.0, "and no queue"


@pytest.mark.parametrize("steps", [0, 1, 17])
def test_closing_in_the_midst_leaves_no_thread(steps: int) -> None:
    env = gym.CongestionEnv(wired())
    env.reset(seed=1)
    for _ in range(steps):
        env.step(np.zeros(1))
    assert episodes_under_way() == 1
    env.reset(seed=2)
    assert episodes_under_way() == 1
    env.close()
    assert episodes_under_way() == 0
    with pytest.raises(RuntimeError, match="reset"):
        env.step(np.zeros(1))
    env.reset(seed=1)
    del env
    gc.collect()
    assert episodes_under_way() == 0


def test_an_interpreter_ends_with_an_episode_under_way() -> None:
    code = "from airlane import gym; env = gym.CongestionEnv(); env.reset(seed=1); print('began')"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (done.stdout, done.stderr) == ("began\n", "")


def test_many_at_once() -> None:
    env = gymnasium.vector.SyncVectorEnv(
        [lambda: gym.CongestionEnv(wired(internet__loss="2 %")) for _ in range(3)]
    )
    env.reset(seed=[1, 2, 3])
    for _ in range(20):
        seen, *_ = env.step(np.zeros((3, 1), dtype=np.float32))
    assert len(np.unique(seen[:, 0])) > 1
    env.close()
    assert episodes_under_way() == 0


def test_what_cannot_be() -> None:
    with pytest.raises(ValueError, match=r"it must be one of factor, factor\+pacing"):
        gym.CongestionEnv(action="rate")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'round' or 'ack'"):
        gym.CongestionEnv(every="ms")  # type: ignore[arg-type]
    env = gym.CongestionEnv(wired())
    with pytest.raises(ValueError, match="unknown options: scenarios; known: scenario and set"):
        env.reset(options={"scenarios": 1})
    with pytest.raises(ScenarioError, match="duration"):
        env.reset(options={"set": {"run.duration": "6 m"}})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="1 numbers from -1 to 1"):
        env.step(np.array([math.nan]))
    twenty = {"scenario": airlane.load(airlane.example("lte-20ue")), "set": {"run.duration": "3 s"}}
    with pytest.raises(ControllerError, match="more than one connection"):
        episode(env, 1, **twenty)
    with pytest.raises(ControllerError, match="no acknowledgment"):
        env.reset(seed=1, options={"set": {"internet.loss": "100 %"}})
    assert episodes_under_way() == 0
