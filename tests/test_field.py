"""The experiments of the field and its set in the arena: set-ups, and a measure for each published number."""

from __future__ import annotations

import pytest

import airlane
from airlane import papers, scenario
from airlane.arena.contenders import FIELD, Contender, NotForError
from airlane.arena.sets import SETS
from airlane.experiments import Experiment
from conftest import ROOT

EXPERIMENTS = papers.select(["field"])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda one: one.id)
def test_each_point_is_a_valid_scenario(experiment: Experiment) -> None:
    base = scenario.load(experiment.scenario)
    for overrides in experiment.grid.values():
        base.set(dict(overrides))


def test_each_published_number_is_measured_once() -> None:
    answered = [number.id for one in EXPERIMENTS for number in one.numbers]
    assert sorted(answered) == sorted(name for name in papers.published() if name.startswith("field."))


@pytest.mark.parametrize("contender", FIELD, ids=lambda one: one.name)
def test_each_contender_carries_a_download(contender: Contender) -> None:
    base = scenario.load(ROOT / "scenarios/lte-download.toml").set({"flow.0.name": "tested"})
    flow = contender.enter(base).settings["flow"][0]["transport"]
    own = {"sprout": "udp"}.get(contender.name, "tcp")
    assert flow["kind"] == ("quic" if contender.name.startswith("quic-") else own)
    assert {key: flow[key] for key in contender.transport} == dict(contender.transport)


def test_the_set_has_them_once_and_the_baseline() -> None:
    names = [one.name for one in SETS["field"].contenders]
    assert len(set(names)) == len(names)
    assert SETS["field"].baseline in names


def test_sprout_carries_endless_transfers_only() -> None:
    (sprout,) = (one for one in FIELD if one.name == "sprout")
    base = scenario.load(ROOT / "scenarios/lte-download.toml").set({"flow.0.name": "tested"})
    assert sprout.enter(base).settings["flow"][0]["app"]["kind"] == "sprout"
    with pytest.raises(NotForError, match="endless transfers only"):
        sprout.enter(base.set({"flow.0.app": {"kind": "fixed", "size": "1 MB"}}))
    unnamed = base.set({"flow.0.app": {"kind": "fixed", "size": "1 MB"}})
    assert sprout.enter(unnamed, every=True).settings["flow"][0]["app"]["kind"] == "fixed"


C2TCP = """
network = "wired"
[run]
duration = "30 s"
warmup = "5 s"
[internet]
rate = "12 Mbit/s"
delay = "20 ms"
queue = "400 kB"
[[flow]]
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_c2tcp_keeps_the_mean_round_trip_below_its_target(kind: str) -> None:
    """A queue of 267 ms behind 40 ms: twice the minimum is 80 ms, where CUBIC has some 250 ms."""
    base = airlane.loads(C2TCP)

    def flow(**transport: object) -> dict[str, float]:
        scenario = base.set({"flow.0.transport": {"kind": kind, **transport}})
        found: dict[str, float] = scenario.run().flows.to_pylist()[0]
        return found

    cubic = flow(congestion="cubic")
    default = flow(congestion="c2tcp")
    larger = flow(congestion="c2tcp", c2tcp_target="120 ms")
    assert default["rtt_ms"] <= 80.0 < larger["rtt_ms"] <= 120.0 < cubic["rtt_ms"]
    assert 9.0 < default["goodput_mbps"] < larger["goodput_mbps"] <= cubic["goodput_mbps"] + 0.2


ABC = """
network = "typical"
run.duration = "20 s"
[[cell]]
name = "a"
rlc = { mode = "am", buffer = "512 KiB", aqm = "abc" }
[[ue]]
name = "phone"
position = ["300 m", "0 m"]
[[flow]]
to = "phone"
app = "bulk"
transport = { kind = "tcp", congestion = "abc" }
"""


def test_abc_has_in_a_cell_over_quic_what_it_has_over_tcp() -> None:
    """A paced sender has room at most acknowledgments; the second window of ABC grows all the same."""
    base = airlane.loads(ABC)

    def goodput(kind: str) -> float:
        scenario = base.set({"flow.0.transport": {"kind": kind, "congestion": "abc"}})
        return float(scenario.run(runs=3).flows["goodput_mbps"].to_numpy().mean())

    assert goodput("quic") == pytest.approx(goodput("tcp"), rel=0.25)


VERUS = """
network = "wired"
[run]
duration = "30 s"
warmup = "5 s"
[internet]
rate = "12 Mbit/s"
delay = "20 ms"
queue = "1 MB"
[[flow]]
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_verus_fills_a_link_below_six_times_its_round_trip(kind: str) -> None:
    """The queue of 1 MB is 667 ms, which CUBIC fills; six times the minimum of 40 ms are 240 ms."""
    base = airlane.loads(VERUS)

    def flow(**transport: object) -> dict[str, object]:
        changed = {f"flow.0.transport.{key}": value for key, value in transport.items()}
        (row,) = base.set({"flow.0.transport.kind": kind} | changed).run().flows.to_pylist()
        return dict(row)

    cubic, verus = flow(), flow(congestion="verus")
    assert float(str(verus["goodput_mbps"])) > 0.85 * float(str(cubic["goodput_mbps"]))
    assert 40.0 < float(str(verus["rtt_ms"])) < 240.0 < float(str(cubic["rtt_ms"]))


WITHOUT_RNIS = """
network = "typical"
[run]
duration = "20 s"
warmup = "5 s"
[internet]
delay = "15 ms"
[[cell]]
name = "a"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
to = "phone"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic" }
"""
PBE = f"""{WITHOUT_RNIS}
[rnis]
period = "5 ms"
delay = "15 ms"
"""


@pytest.mark.parametrize("kind", ["tcp", "quic"])
def test_pbe_fills_a_cell_without_a_queue(kind: str) -> None:
    base = airlane.loads(PBE)

    def flow(congestion: str) -> dict[str, object]:
        changed = {"flow.0.transport.kind": kind, "flow.0.transport.congestion": congestion}
        (row,) = base.set(changed).run().flows.to_pylist()
        return dict(row)

    cubic, pbe = flow("cubic"), flow("pbe")
    assert float(str(pbe["goodput_mbps"])) > 0.8 * float(str(cubic["goodput_mbps"]))
    assert float(str(pbe["owd_p95_ms"])) < 0.5 * float(str(cubic["owd_p95_ms"]))


@pytest.mark.parametrize(
    ("text", "changed", "words"),
    [
        (WITHOUT_RNIS, {}, r"it needs \[rnis\]"),
        (PBE, {"flow.0.direction": "uplink"}, "it does not work on the uplink"),
        (PBE, {"flow.0.app": "web"}, "it does not work with web pages and videos"),
    ],
)
def test_pbe_needs_a_download_and_radio_information(
    text: str, changed: dict[str, object], words: str
) -> None:
    with pytest.raises(airlane.ScenarioError, match=words):
        _ = airlane.loads(text).set({"flow.0.transport.congestion": "pbe"} | changed).resolved
