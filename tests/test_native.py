"""The interface to the compiled core: errors, callbacks, signals."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import airlane
from airlane import _native, native
from airlane.native import Output

LONG = {"run.duration": "5000 s"}
SHORT = {"run.duration": "1 s", "run.warmup": "0 s"}


def resolved(scenarios: Path, overrides: dict[str, str]) -> _native.Resolved:
    return airlane.load(scenarios / "lte-20ue.toml").set(overrides).resolved


def test_an_error_names_file_line_key_value_and_remedy() -> None:
    text = 'network = "lena"\n[[cell]]\nname = "a"\nrlc = { mode = "am", buffer = "512 Kb" }\n'
    with pytest.raises(_native.ScenarioError) as caught:
        _native.parse(text, "here.toml")
    error = caught.value
    assert (error.file, error.line, error.key, error.value) == (
        "here.toml",
        4,
        "cell.0.rlc.buffer",
        '"512 Kb"',
    )
    assert "KiB" in error.help
    assert str(error).startswith("here.toml:4: cell.0.rlc.buffer")
    assert isinstance(error, ValueError)


def test_an_override_has_no_line(scenarios: Path) -> None:
    with pytest.raises(_native.ScenarioError) as caught:
        resolved(scenarios, {"ue.0.count": "many"})
    assert caught.value.line is None
    assert caught.value.key == "ue.0.count"


def test_a_resolved_scenario_resolves_to_itself(scenarios: Path) -> None:
    one = resolved(scenarios, SHORT)
    again = _native.Resolved.from_json(one.json)
    assert again == one
    assert {again: 1} == {one: 1}
    assert again != resolved(scenarios, LONG)
    assert pickle.loads(pickle.dumps(one)) == one
    (output,) = _native.run([(again, 1)], 1)
    assert json.loads(output.meta)["conserved"] is True
    with pytest.raises(_native.ScenarioError):
        _native.Resolved.from_json(one.json.replace('"network"', '"netwrok"'))


def test_an_exception_in_the_callback_ends_the_batch(scenarios: Path) -> None:
    def refuse(index: int) -> None:
        raise LookupError(index)

    jobs = [(resolved(scenarios, SHORT), 1)] + [(resolved(scenarios, LONG), seed) for seed in range(3)]
    begun = time.monotonic()
    with pytest.raises(LookupError):
        _native.run(jobs, 2, refuse)
    assert time.monotonic() - begun < 10


@pytest.fixture
def ctrl_c_heeded() -> Iterator[None]:
    """A shell starts background processes with SIGINT ignored, which Python then leaves so."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_outputs_that_are_passed_on_equal_those_that_are_returned(scenarios: Path) -> None:
    resolved = (
        airlane.load(scenarios / "lte-download.toml").set({"run.duration": "3s", "run.warmup": "1s"}).resolved
    )
    jobs = [(resolved, seed) for seed in (1, 2, 3)]
    passed_on = dict[int, Output]()
    nothing = native.run(jobs, 2, on_output=lambda index, output: passed_on.update({index: output}))
    assert nothing == []
    for index, returned in enumerate(native.run(jobs, 2)):
        # As text, in which NaN equals NaN.
        tables = passed_on[index].tables["flows"], returned.tables["flows"]
        assert repr(tables[0].to_pydict()) == repr(tables[1].to_pydict())
        assert passed_on[index].meta["events"] == returned.meta["events"]


def test_an_exception_in_the_callback_that_takes_outputs_ends_the_batch(scenarios: Path) -> None:
    resolved = (
        airlane.load(scenarios / "lte-download.toml").set({"run.duration": "3s", "run.warmup": "1s"}).resolved
    )
    taken = list[int]()

    def fail(index: int, _: Output) -> None:
        taken.append(index)
        raise OSError("no space")

    with pytest.raises(OSError, match="no space"):
        native.run([(resolved, seed) for seed in range(200)], 2, on_output=fail)
    assert len(taken) == 1


@pytest.mark.usefixtures("ctrl_c_heeded")
def test_ctrl_c_ends_the_runs_within_a_second(scenarios: Path) -> None:
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.3, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        _native.run([(resolved(scenarios, LONG), seed) for seed in range(4)], 2)
    assert time.monotonic() - pressed[0] < 1


def test_other_threads_go_on_during_a_run(scenarios: Path) -> None:
    job = (resolved(scenarios, {"run.duration": "20 s"}), 1)
    ticks = 0
    running = threading.Event()
    running.set()

    def tick() -> None:
        nonlocal ticks
        while running.is_set():
            ticks += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        (output,) = _native.run([job], 1)
    finally:
        running.clear()
        thread.join()
    # A tick takes just over a millisecond; a blocked interpreter has none.
    assert ticks > 20 * json.loads(output.meta)["wall_s"]
