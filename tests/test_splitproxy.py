"""Experiments of the paper `splitproxy`: points that parse, measures and the derivation by hand."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from airlane import examples, papers, scenario
from airlane.experiments import Experiment
from airlane.metrics import Run
from airlane.papers import splitproxy_ftp as ftp
from airlane.papers.splitproxy_measures import downloads
from airlane.papers.splitproxy_setup import Case, derived, share_mbps, sites


@pytest.mark.parametrize("experiment", papers.select(["splitproxy"]), ids=lambda e: e.id)
def test_every_point_is_a_scenario(experiment: object) -> None:
    assert isinstance(experiment, Experiment)
    base = scenario.load(experiment.scenario)
    assert len(experiment.grid) > 1
    for overrides in experiment.grid.values():
        resolved = json.loads(base.set({**overrides, **experiment.quick}).resolved)
        assert [cell["interferer"] for cell in resolved["cell"]] == [False] * 7 + [True] * 12
        assert resolved["backhaul"]["shared"]


def test_users_start_at_the_sites_of_the_scenario() -> None:
    resolved = json.loads(scenario.load(examples.path("splitproxy")).resolved)
    places = [tuple(float(x.removesuffix(" m")) for x in cell["position"]) for cell in resolved["cell"]]
    ours = [*sites(0), *sites(1), *sites(2)]
    assert places == [pytest.approx(site, abs=2e-3) for site in ours]


def test_a_window_per_round_trip_by_hand() -> None:
    # 65535 bytes in 2 (50 + 10) + 23 ms are 3.666 Mbit/s; the server's loop of 100 ms has 5.243: 43 % more.
    off, on = (derived(Case("ftp", 2, 50, proxy=p), 23.0) for p in ("none", "gateway"))
    assert off == pytest.approx(3.666, abs=1e-3)
    assert on == pytest.approx(5.243, abs=1e-3)
    # A proxy in the eNB leaves 120 ms in one loop: 4.369.
    assert derived(Case("ftp", 2, 50, proxy="enb"), 23.0) == pytest.approx(4.369, abs=1e-3)
    # 95.05 of 100 Mbit/s are payload; 70 users have 1.358 each, whatever their windows.
    assert share_mbps(Case("ftp", 10, 50)) == pytest.approx(95.052 / 70, abs=1e-3)
    assert derived(Case("ftp", 10, 50, proxy="gateway"), 23.0) == share_mbps(Case("ftp", 10, 50))
    # As a round trip, 50 ms leave 25 on each way: 93 ms without and 50 with a proxy.
    off, on = (derived(Case("ftp", 1, 50, proxy=p, rtt=True), 23.0) for p in ("none", "gateway"))
    assert on / off == pytest.approx(93 / 50)


def test_only_downloads_count() -> None:
    columns = {
        "flow": ["ftp-1-1", "ftp-1-2", "web-1-1"],
        "goodput_mbps": [3.0, 1.0, 9.0],
        "rtt_ms": [100.0, 140.0, 5.0],
    }
    found = downloads(Run({"flows": pa.table(columns)}))
    assert (found.throughput, found.rtt_ms) == (2.0, 120.0)
    assert found.fairness == pytest.approx(16 / (2 * 10))


def test_the_uncongested_network_gives_what_the_windows_allow() -> None:
    """Runs of a few seconds: 14 users, with and without a proxy, against the derivation."""
    from airlane import native

    base = scenario.load(examples.path("splitproxy"))
    cases = [ftp.point(2, 125, proxy).but(duration_s=10, warmup_s=6) for proxy in ("none", "gateway")]
    outputs = native.run([(base.set(case.overrides).resolved, 1) for case in cases], 1)
    off, on = (downloads(Run(output.tables)) for output in outputs)
    radio = off.rtt_ms - 2 * (125 + 10)
    assert 15.0 < radio < 35.0  # scheduling request, grants, HARQ
    for found, case in ((off, cases[0]), (on, cases[1])):
        assert found.throughput == pytest.approx(derived(case, radio), rel=0.05)
        assert found.fairness > 0.99
