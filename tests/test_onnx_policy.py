"""A policy in an ONNX file: the same run as the same rule in Python, and errors that name the file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

import airlane
from airlane import control
from airlane.control import Ack, Controller, ControllerError
from airlane.observation import OBSERVATION, Kept
from conftest import Airlane

onnx = pytest.importorskip("onnx", reason="onnx, which makes the policies, is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

SIZE = len(OBSERVATION)
NAMES = [one.name for one in OBSERVATION]
WEIGHTS = {"srtt_ms": -1 / 64, "min_rtt_ms": 1 / 32}
"""The action is (2 least round trip - smoothed round trip) / 64 ms. Powers of two: exact in 32 bits."""
OWN = {"flow.0.transport.congestion": "own", "flow.0.transport.controller": "mine"}


def write(
    path: Path,
    *,
    shape: Any = (1, SIZE),
    actions: int = 1,
    inputs: int = 1,
    kind: int | None = None,
    **metadata: str,
) -> Path:
    """A linear policy: observation times weights."""
    helper, proto = onnx.helper, onnx.TensorProto
    weights = np.zeros((shape[-1], actions), dtype=np.float32)
    for name, weight in WEIGHTS.items():
        weights[NAMES.index(name), 0] = weight
    kind = proto.FLOAT if kind is None else kind
    seen = [helper.make_tensor_value_info(f"seen{i or ''}", kind, list(shape)) for i in range(inputs)]
    act = helper.make_tensor_value_info("action", kind, None)
    held = helper.make_tensor("weights", kind, weights.shape, weights.ravel())
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["seen", "weights"], ["action"])], "linear", seen, [act], [held]
    )
    model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    helper.set_model_props(model, {f"airlane.{key}": value for key, value in metadata.items()})
    onnx.save(model, path)
    return path


class Same(Kept):
    """The rule of the file."""

    every: ClassVar[Literal["ack", "round"]] = "round"

    def __init__(self, segment_size: int, cwnd: float) -> None:
        super().__init__(segment_size, cwnd)
        self._least_ms = float("inf")

    def on_ack(self, ack: Ack) -> None:
        self._least_ms = min(self._least_ms, ack.srtt_ms if ack.rtt_ms is None else ack.rtt_ms)
        action = np.float32(self._least_ms) / np.float32(32) - np.float32(ack.srtt_ms) / np.float32(64)
        self.cwnd = min(max(1.0, self.cwnd * 2.0 ** float(np.clip(action, -1.0, 1.0))), 1e7)


class SameEachAck(Same):
    every: ClassVar[Literal["ack", "round"]] = "ack"


def flow(made: type[Controller], **settings: object) -> dict[str, Any]:
    base = airlane.load(airlane.example("wired-cubic")).set({"run.duration": "6 s", "run.warmup": "1 s"})
    (row,) = base.set(OWN | settings).run(controllers={"mine": made}).flows.to_pylist()
    return dict(row)


@pytest.mark.parametrize(("every", "same"), [("round", Same), ("ack", SameEachAck)])
def test_a_policy_is_the_rule_that_it_has_learned(tmp_path: Path, every: str, same: type[Controller]) -> None:
    name, made = control.load(f"{write(tmp_path / 'Linear.onnx', every=every)}")
    assert name == "linear"
    assert issubclass(made, Controller)
    ours = flow(made)
    assert ours["goodput_mbps"] > 1.0
    assert str(ours) == str(flow(same)), "the products are exact, so that nothing is rounded differently"
    assert str(ours) == str(flow(made)), "the same each time"


def test_the_smoothed_round_trip_comes_to_twice_the_least(tmp_path: Path) -> None:
    _, made = control.load(f"mine={write(tmp_path / 'linear.onnx')}")
    assert issubclass(made, Controller)
    seen = made(1448, 10.0)
    # 50 ms: 2^((2 x 50 - 50) / 64). Then 100 ms, twice the least: no change.
    seen.on_ack(ack(1.0, 50.0))
    assert seen.cwnd == pytest.approx(10.0 * 2 ** (50 / 64))
    seen.on_ack(ack(2.0, 100.0))
    assert seen.cwnd == pytest.approx(10.0 * 2 ** (50 / 64))


def ack(now_s: float, rtt_ms: float) -> Any:
    class Told:
        delivered, may_grow, window_limited, outstanding = 10, True, True, 10

    told = Told()
    vars(told).update(now_s=now_s, rtt_ms=rtt_ms, srtt_ms=rtt_ms)
    return told


@pytest.mark.parametrize("shape", [(1, SIZE), ("batch", SIZE), (SIZE,)])
def test_shapes_that_fit(tmp_path: Path, shape: tuple[object, ...]) -> None:
    _, made = control.load(f"{write(tmp_path / 'a.onnx', shape=shape)}")
    assert issubclass(made, Controller)


def test_two_numbers_set_the_pacing_rate(tmp_path: Path) -> None:
    file = write(tmp_path / "a.onnx", actions=2, action="window+pacing")
    _, made = control.load(f"{file}")
    assert issubclass(made, Controller)
    seen = made(1000, 10.0)
    seen.on_ack(ack(1.0, 64.0))  # the action is 1 and 0
    assert seen.cwnd == pytest.approx(10_000)
    assert seen.pacing_mbps == pytest.approx(10_000 * 8000 / 64e3)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"shape": (1, 10)}, r"input 'seen' has the shape \[1, 10\]; it must be \[1, 11\] or \[11\]"),
        ({"shape": (2, SIZE)}, r"has the shape \[2, 11\]"),
        ({"inputs": 2}, "it has 2 inputs .*; a policy has one"),
        ({"kind": 11}, r"is a tensor\(double\); it must be a tensor\(float\)"),
        ({"actions": 2}, "output 'action' has 2 numbers; the action of metadata airlane.action has 1"),
        ({"action": "rate"}, "metadata airlane.action: action is 'rate'; it must be one of factor"),
        ({"every": "second"}, "metadata airlane.every is 'second'; it must be 'round' or 'ack'"),
    ],
)
def test_what_is_no_policy_is_named(tmp_path: Path, settings: dict[str, Any], words: str) -> None:
    write(tmp_path / "bad.onnx", **settings)
    with pytest.raises(ControllerError, match=re.escape(str(tmp_path / "bad.onnx")) + ".*" + words):
        control.load(f"{tmp_path}/bad.onnx")


def test_a_file_that_is_no_model(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "text.onnx").write_text("no model")
    for setting, words in [
        ("text.onnx", "text.onnx: onnxruntime cannot load it"),
        ("none.onnx", "none.onnx: No such"),
    ]:
        done = airlane("run", "--example", "wired-cubic", "--controller", setting)
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr


def test_a_policy_stands_in_the_arena(airlane: Airlane, tmp_path: Path) -> None:
    write(tmp_path / "linear.onnx")
    done = airlane(
        "arena", "--quick", "--controller", "linear.onnx", "--contender", "vegas", "--situation", "one-user"
    )
    assert done.returncode == 0, done.stderr
    assert "quic-linear" in done.stdout
