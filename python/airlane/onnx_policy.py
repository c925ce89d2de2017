"""A policy in an ONNX file as a congestion controller, as `airlane.gym` trains it.

The model has one input, a float tensor of shape (1, 11) or (11), where 1 may be a free dimension: the
observation of `airlane.gym`. The numbers of its first output are the action. Two entries of its metadata are
read: `airlane.action`, the kind of the action (`factor` without it), and `airlane.every`, when a decision is
due (`round` or `ack`; `round` without it).

Needs `onnxruntime` (`pip install 'onnxruntime>=1.20'`), which runs on the CPU with one thread: a run is the
same each time on one machine. Another processor or another version may round in another way.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np

from airlane.control import Ack, Controller, ControllerError, Loss, Timeout
from airlane.observation import OBSERVATION, Actions, Kept, Observation, Seen
from airlane.optional import how_to_install

__all__ = ["ACTION", "EVERY", "controller"]

ACTION = "airlane.action"
EVERY = "airlane.every"
"""Entries of a model's metadata."""

_SIZE = len(OBSERVATION)


def controller(file: str | os.PathLike[str]) -> type[Controller]:
    """The controller of a policy, as a class.

    Parameters
    ----------
    file
        The ONNX file.

    Raises
    ------
    ControllerError
        If onnxruntime is missing or cannot load the file, or if inputs, outputs or metadata are not as above.
    OSError
        If the file cannot be read.
    """
    name = os.fspath(file)
    session = _session(name, Path(file).read_bytes())
    told = session.get_modelmeta().custom_metadata_map
    try:
        actions = Actions(told.get(ACTION, "factor"))
    except ValueError as error:
        raise ControllerError(f"{name}: metadata {ACTION}: {error}") from error
    rhythm = told.get(EVERY, "round")
    if rhythm not in ("round", "ack"):
        raise ControllerError(f"{name}: metadata {EVERY} is {rhythm!r}; it must be 'round' or 'ack'")
    infer = _inference(name, session)
    numbers = infer(np.zeros(_SIZE, dtype=np.float32))
    if numbers.size != actions.size:
        raise ControllerError(
            f"{name}: output {session.get_outputs()[0].name!r} has {numbers.size} numbers; the action of "
            f"metadata {ACTION} has {actions.size}"
        )
    return _class(name, infer, actions, "ack" if rhythm == "ack" else "round")


def _session(name: str, model: bytes) -> Any:
    """A session of onnxruntime with one thread."""
    try:
        onnxruntime = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise ControllerError(
            f"{name}: a policy in ONNX needs onnxruntime: {how_to_install('onnx')}"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.log_severity_level = 4  # it raises what it logs
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # its exceptions have no common class
        raise ControllerError(f"{name}: onnxruntime cannot load it: {error}") from error


def _inference(name: str, session: Any) -> Callable[[Observation], Observation]:
    """The function of a model, from an observation to the numbers of its first output."""
    inputs, outputs = session.get_inputs(), session.get_outputs()
    if len(inputs) != 1:
        raise ControllerError(
            f"{name}: it has {len(inputs)} inputs ({', '.join(one.name for one in inputs)}); "
            "a policy has one, the observation, and no state between decisions"
        )
    (given,) = inputs
    if given.type != "tensor(float)":
        raise ControllerError(f"{name}: input {given.name!r} is a {given.type}; it must be a tensor(float)")
    shape = list(given.shape)
    free = len(shape) == 2 and (shape[0] in (1, None) or isinstance(shape[0], str))
    if shape[-1:] != [_SIZE] or not (free or len(shape) == 1):
        raise ControllerError(
            f"{name}: input {given.name!r} has the shape {shape}; it must be [1, {_SIZE}] or [{_SIZE}], "
            "the observation of airlane.gym"
        )
    wanted = [outputs[0].name]

    def infer(observation: Observation) -> Observation:
        try:
            (numbers,) = session.run(
                wanted, {given.name: observation.reshape((1,) * (len(shape) - 1) + (-1,))}
            )
        except Exception as error:  # as above
            raise ControllerError(f"{name}: {error}") from error
        return np.asarray(numbers, dtype=np.float32).reshape(-1)

    return infer


def _class(
    name: str,
    infer: Callable[[Observation], Observation],
    actions: Actions,
    rhythm: Literal["round", "ack"],
) -> type[Controller]:
    class Policy(Kept):
        every = rhythm

        def __init__(self, segment_size: int, cwnd: float) -> None:
            super().__init__(segment_size, cwnd)
            self._seen = Seen()

        def on_ack(self, ack: Ack) -> None:
            decision = self._seen.decision(ack, self.cwnd, self.segment_size)
            numbers = infer(decision.array())
            try:
                chosen = actions.chosen(numbers, decision, self.cwnd, self.segment_size)
            except ValueError as error:
                raise ControllerError(f"{name}: at {ack.now_s:.3f} s: {error}") from error
            self.cwnd, self.pacing_mbps = chosen

        def on_loss(self, loss: Loss) -> None:
            self._seen.losses += 1
            super().on_loss(loss)

        def on_timeout(self, timeout: Timeout) -> None:
            self._seen.timeouts += 1
            super().on_timeout(timeout)

    Policy.__doc__ = f"The policy in {Path(name).name}"
    return Policy
