"""Congestion control as a Gymnasium environment: a policy chooses the window.

Needs `gymnasium` (`pip install 'gymnasium>=1.0'`). Importing this registers `airlane/CongestionControl-v0`.

The simulation runs in its own thread and waits at each decision until `step` provides one. Only one of the
two threads runs at a time, so a policy without random numbers gives the same episode to the byte, and the
same as an `airlane.Controller` with the same decisions.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import weakref
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from airlane import native, scenario
from airlane.control import Ack, Controller, ControllerError, Loss, Timeout
from airlane.examples import path as example
from airlane.observation import OBSERVATION, Action, Actions, Decision, Kept, Observation, Quantity, Seen
from airlane.scenario import Scenario

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as error:
    from airlane.optional import how_to_install

    raise ImportError(f"airlane.gym needs gymnasium: {how_to_install('gym')}") from error

__all__ = ["ENV_ID", "OBSERVATION", "CongestionEnv", "Decision", "Kept", "LogPower", "Quantity"]

ENV_ID = "airlane/CongestionControl-v0"

_NAME = "gym"
"""The name of the controller in the scenario."""
_RATE_FLOOR_MBPS = 0.001
_TIMEOUT_S = 60.0
"""A simulation ends within a fraction of this time after a request to end."""


class LogPower:
    """Reward of a decision: log(rate in Mbit/s) - delta log(smoothed round trip in ms), natural logarithms.

    The objective of Remy (Winstein and Balakrishnan, SIGCOMM 2013, section 3.3, with alpha = beta = 1); for
    delta = 1 the logarithm of Kleinrock's power. A lower rate than 1 kbit/s counts as 1 kbit/s.
    """

    def __init__(self, delta: float = 1.0) -> None:
        self.delta = delta

    def __call__(self, decision: Decision) -> float:
        """Reward for the time since the previous decision."""
        seen = decision.observation
        rate = max(seen["delivered_mbps"], _RATE_FLOOR_MBPS)
        return math.log(rate) - self.delta * math.log(max(seen["srtt_ms"], 1e-3))


class CongestionEnv(gymnasium.Env[Observation, npt.ArrayLike]):
    """One flow of a scenario, whose window the agent chooses.

    Parameters
    ----------
    base_scenario
        The scenario, or the path of its file; by default the example `lte-download`. The agent controls its
        flow `flow`, which must have one connection of TCP or QUIC; all other settings of its transport are
        unchanged.
    flow
        Index of the flow in the file, from 0.
    every
        When a decision is due: once a round trip, or at each acknowledgment.
    action
        An action is an array of numbers from -1 to 1. `factor`: the window is multiplied by 2^a. `window`:
        it is 10,000^((a + 1) / 2) segments. With `+pacing` a second number sets the rate at which segments
        leave, 2^a times the window per smoothed round trip, over QUIC at most 1.25 times; without it, the
        pacing of the scenario's transport applies.
    reward
        Reward of each decision; by default `LogPower()`.
    base
        The reaction of the window to losses and timeouts, between decisions.

    Raises
    ------
    ScenarioError
        At `reset`, if the scenario is invalid.
    ControllerError
        At `reset` or `step`, if the flow has more than one connection.
    """

    def __init__(
        self,
        base_scenario: Scenario | str | os.PathLike[str] | None = None,
        *,
        flow: int = 0,
        every: Literal["round", "ack"] = "round",
        action: Action = "factor",
        reward: Callable[[Decision], float] | None = None,
        base: type[Controller] = Kept,
    ) -> None:
        self._actions = Actions(action)
        if every not in ("round", "ack"):
            raise ValueError(f"every is {every!r}; it must be 'round' or 'ack'")
        self._scenario = _scenario(base_scenario)
        self._flow = flow
        self._every: Literal["round", "ack"] = every
        self._reward = LogPower() if reward is None else reward
        self._base = base
        self._episode: _Episode | None = None
        high = np.array([one.high for one in OBSERVATION], dtype=np.float32)
        self.observation_space = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, shape=(self._actions.size,), dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode: a run of the scenario up to the first decision.

        Parameters
        ----------
        seed
            Seed of the run. Without one, each episode has another, derived from the last given one.
        options
            `scenario`: another scenario for this episode; `set`: settings by dotted key.

        Returns
        -------
        The observation, shape (11,), and a dictionary with `time_s`, `seed`, and all of `OBSERVATION` by
        name.
        """
        super().reset(seed=seed)
        self.close()
        given = dict(options or {})
        chosen = _scenario(given.pop("scenario", self._scenario)).set(given.pop("set", {}))
        if given:
            raise ValueError(f"unknown options: {', '.join(given)}; known: scenario and set")
        self._run_seed = int(self.np_random.integers(2**31)) if seed is None else seed
        key = f"flow.{self._flow}.transport"
        changed: dict[str, object] = {f"{key}.congestion": "own", f"{key}.controller": _NAME}
        kind = chosen.settings["flow"][self._flow]["transport"]["kind"]
        if self._actions.paces and kind == "tcp":  # QUIC always paces
            changed[f"{key}.pacing"] = True
        job = (chosen.set(changed).resolved, self._run_seed)
        self._episode = _Episode(job, self._base, self._every)
        self._closing = weakref.finalize(self, self._episode.close)
        told = self._next(None)
        if not isinstance(told, Decision):
            self.close()
            raise ControllerError(
                f"flow {self._flow} receives no acknowledgment in this run, so that there is no decision"
            )
        self._last = told
        return told.array(), self._info()

    def step(self, action: npt.ArrayLike) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Apply a decision, and continue to the next one.

        Returns
        -------
        Observation, reward, whether the transfer is complete, whether the run is over, and the
        dictionary. In the last step of an episode no decision is due: the observation is the previous
        one, the reward 0, and `flow` has the flow's row of the results.
        """
        if self._episode is None:
            raise RuntimeError("no episode is active; call reset() first")
        told = self._next(self._chosen(action))
        if isinstance(told, Decision):
            self._last = told
            return told.array(), float(self._reward(told)), False, False, self._info()
        rows = told.tables["flows"].to_pylist()
        row = next((r for r in rows if r["congestion"] == _NAME), {})
        self.close()
        complete = not math.isnan(float(row.get("fct_s", math.nan)))
        return self._last.array(), 0.0, complete, not complete, self._info() | {"flow": row}

    def close(self) -> None:
        """End the current episode: its thread has ended when this returns."""
        if self._episode is not None:
            self._episode = None
            self._closing()

    def _next(self, answer: _Answer | None) -> _Told:
        assert self._episode is not None
        try:
            return self._episode.next(answer)
        except BaseException:  # also an interrupt, after which the state of the two threads would be unknown
            self.close()
            raise

    def _chosen(self, action: npt.ArrayLike) -> _Answer:
        assert self._episode is not None
        return self._actions.chosen(action, self._last, self._episode.window, self._episode.segment_size)

    def _info(self) -> dict[str, Any]:
        return {"time_s": self._last.time_s, "seed": self._run_seed, **self._last.observation}


def _scenario(given: Scenario | str | os.PathLike[str] | None) -> Scenario:
    if isinstance(given, Scenario):
        return given
    return scenario.load(example("lte-download") if given is None else given)


class _ClosedError(Exception):
    """The episode was closed: ends the run from within the controller."""


_Answer = tuple[float, float | None]
_Told = Decision | native.Output


class _Episode:
    """A run in its own thread. At any time one of the two threads waits for the other.

    The controller of the run puts a decision into `_told` and waits for `_answers`, without the interpreter
    lock; `next` does the opposite. The end of the run, or its failure, is also sent through `_told`.
    """

    def __init__(self, job: native.Job, base: type[Controller], every: Literal["round", "ack"]) -> None:
        self._told: queue.SimpleQueue[_Told | BaseException] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[_Answer | None] = queue.SimpleQueue()
        self._closed = False
        self._agent: Controller | None = None
        made = _controller(self, base, every)
        self._thread = threading.Thread(
            target=self._run, args=(job, made), name="airlane-episode", daemon=True
        )
        self._thread.start()

    def next(self, answer: _Answer | None = None) -> _Told:
        """Let the run continue, with an answer to the last decision, and wait for its next message."""
        if answer is not None:
            self._answers.put(answer)
        told = self._told.get()
        if isinstance(told, BaseException):
            raise told
        return told

    @property
    def window(self) -> float:
        """The agent's window, in segments."""
        assert self._agent is not None
        return self._agent.cwnd

    @property
    def segment_size(self) -> int:
        """Payload bytes of a full segment."""
        assert self._agent is not None
        return self._agent.segment_size

    def close(self) -> None:
        """End the run at its current time, and its thread."""
        self._closed = True
        self._answers.put(None)
        self._thread.join(_TIMEOUT_S)

    def ask(self, agent: Controller, decision: Decision, delivered: int) -> _Answer:
        """Called in the run: requests a decision of the policy."""
        if self._agent is None:
            self._agent = agent
        if self._agent is not agent:
            if delivered > 1:
                raise ControllerError("the flow has more than one connection; a policy controls one")
            return float(agent.cwnd), None  # the receiver's end, whose FIN is acknowledged
        if not self._closed:
            self._told.put(decision)
        answer = None if self._closed else self._answers.get()
        if answer is None:
            raise _ClosedError
        return answer

    def _run(self, job: native.Job, made: type[Controller]) -> None:
        try:
            (output,) = native.run([job], 1, controllers={_NAME: made})
        except BaseException as error:
            self._told.put(error)
        else:
            self._told.put(output)


def _controller(
    episode: _Episode, base: type[Controller], rhythm: Literal["round", "ack"]
) -> type[Controller]:
    """The class with which the run requests decisions of this episode."""

    class Agent(base):  # type: ignore[misc, valid-type]
        every = rhythm
        cwnd: float

        def __init__(self, segment_size: int, cwnd: float) -> None:
            super().__init__(segment_size, cwnd)
            self._seen = Seen()
            self._delivered = 0

        def on_ack(self, ack: Ack) -> None:
            self._delivered += ack.delivered
            decision = self._seen.decision(ack, self.cwnd, self.segment_size)
            chosen = episode.ask(self, decision, self._delivered)
            self.cwnd, self.pacing_mbps = chosen

        def on_loss(self, loss: Loss) -> None:
            self._seen.losses += 1
            super().on_loss(loss)

        def on_timeout(self, timeout: Timeout) -> None:
            self._seen.timeouts += 1
            super().on_timeout(timeout)

    return Agent


gymnasium.register(id=ENV_ID, entry_point="airlane.gym:CongestionEnv")
