"""Experiments of the paper `splitproxy`: valid points, measures and the derivation by hand."""

from __future__ import annotations

import pyarrow as pa
import pytest

from airlane import examples, papers, scenario
from airlane.experiments import Draw, Experiment
from airlane.metrics import Run, run_of
from airlane.papers.splitproxy import ftp
from airlane.papers.splitproxy.measures import downloads, dropped_pct, page_saving
from airlane.papers.splitproxy.setup import (
    PATHS,
    Case,
    derived,
    needed_loss_pct,
    share_mbps,
    sites,
    transport_ms,
)


@pytest.mark.parametrize("experiment", papers.select(["splitproxy"]), ids=lambda e: e.id)
def test_every_point_is_a_scenario(experiment: object) -> None:
    assert isinstance(experiment, Experiment)
    base = scenario.load(experiment.scenario)
    assert len(experiment.grid) > 1
    for overrides in experiment.grid.values():
        resolved = base.set({**overrides, **experiment.quick}).settings
        assert [cell["interferer"] for cell in resolved["cell"]] == [False] * 7 + [True] * 12
        hops = resolved["backhaul"]["hop"]
        assert hops[0]["shared"], "the transport network is shared"
        assert {(hop["rate"], hop["delay"]) for hop in hops} == {("100 Mbit/s", "10 ms")}


def test_users_start_at_the_sites_of_the_scenario() -> None:
    resolved = scenario.load(examples.path("splitproxy")).settings
    places = [tuple(float(x.removesuffix(" m")) for x in cell["position"]) for cell in resolved["cell"]]
    ours = [*sites(0), *sites(1), *sites(2)]
    assert places == [pytest.approx(site, abs=2e-3) for site in ours]


def test_the_readings_of_the_transport_network() -> None:
    base = scenario.load(examples.path("splitproxy"))
    links = {
        name: [
            hop["shared"]
            for hop in base.set(Case("ftp", 2, 50, path=name).overrides).settings["backhaul"]["hop"]
        ]
        for name in PATHS
    }
    assert links == {
        "series": [True, True],
        "one": [True],
        "branches": [True, False],
        "three": [True, True, True],
    }
    assert [transport_ms(name) for name in links] == [20.0, 10.0, 20.0, 30.0]


def test_a_window_per_round_trip_by_hand() -> None:
    # 65535 bytes in 2 (50 + 20) + 23 ms are 3.216 Mbit/s; the server's loop of 100 ms has 5.243: 63 % more.
    off, on = (derived(Case("ftp", 2, 50, proxy=p), 23.0) for p in ("none", "gateway"))
    assert off == pytest.approx(3.216, abs=1e-3)
    assert on == pytest.approx(5.243, abs=1e-3)
    # A proxy in the eNB leaves 140 ms in one loop: 3.745.
    assert derived(Case("ftp", 2, 50, proxy="enb"), 23.0) == pytest.approx(3.745, abs=1e-3)
    # Over one link it is 2 (50 + 10) + 23 ms, 3.666 Mbit/s; over three 183 ms, 2.865.
    assert derived(Case("ftp", 2, 50, path="one"), 23.0) == pytest.approx(3.666, abs=1e-3)
    assert derived(Case("ftp", 2, 50, path="three"), 23.0) == pytest.approx(2.865, abs=1e-3)
    # 95.05 of 100 Mbit/s are payload; 70 users have 1.358 each, whatever their windows.
    assert share_mbps(Case("ftp", 10, 50)) == pytest.approx(95.052 / 70, abs=1e-3)
    assert derived(Case("ftp", 10, 50, proxy="gateway"), 23.0) == share_mbps(Case("ftp", 10, 50))
    # As a round trip, 50 ms give 25 each way: 113 ms without, and with a proxy 63 behind it.
    off, on = (derived(Case("ftp", 1, 50, proxy=p, rtt=True), 23.0) for p in ("none", "gateway"))
    assert on / off == pytest.approx(113 / 63)


def test_the_loss_that_holds_downloads_to_their_share_by_hand() -> None:
    # 56 downloads have 1.697 Mbit/s each: 23.7 segments in 163 ms, 9.15 in the 63 ms of the proxy's loop.
    assert needed_loss_pct(Case("web", 8, 50)) == pytest.approx(100 * 1.5 / 23.7**2, rel=0.01)
    assert needed_loss_pct(Case("web", 8, 50, proxy="gateway")) == pytest.approx(
        100 * 1.5 / 9.15**2, rel=0.01
    )
    # 14 of them have windows for 5.2 of 6.8 Mbit/s.
    assert needed_loss_pct(Case("web", 2, 50, proxy="gateway")) == 0.0


def test_what_red_has_dropped_is_counted() -> None:
    losses = {
        "direction": ["downlink", "downlink", "uplink"],
        "packets": [3, 5, 7],
        "cause": ["queue_management", "radio", "queue_management"],
    }
    case = Case("web", 8, 50)
    run = Run({"losses": pa.table(losses), "flows": pa.table({"packets_delivered": [97, 200]})})
    assert dropped_pct(case)(Draw(1, {case.name: run})) == pytest.approx(100 * 3 / 300)


def test_readers_do_not_begin_together() -> None:
    flows = Case("web", 2, 50, others=2).overrides["flow"]
    assert isinstance(flows, list)
    starts = [flow["start"] for flow in flows if flow["app"] != "bulk"]
    assert starts[:2] == ["4000 ms", "9000 ms"]
    assert len(set(starts)) == 14


def test_only_downloads_count() -> None:
    columns = {
        "flow": ["ftp-1-1", "ftp-1-2", "web-1-1"],
        "goodput_mbps": [3.0, 1.0, 9.0],
        "rtt_ms": [100.0, 140.0, 5.0],
    }
    found = downloads(Run({"flows": pa.table(columns)}))
    assert (found.throughput, found.rtt_ms) == (2.0, 120.0)
    assert found.fairness == pytest.approx(16 / (2 * 10))


def _run(cases: list[Case]) -> dict[str, Run]:
    from airlane import native

    base = scenario.load(examples.path("splitproxy"))
    outputs = native.run([(base.set(case.overrides).resolved, 1) for case in cases], 1)
    return {case.name: run_of(output) for case, output in zip(cases, outputs, strict=True)}


def test_the_uncongested_network_gives_what_the_windows_allow() -> None:
    """Runs of a few seconds: 14 users, with and without a proxy, compared with the derivation."""
    cases = [ftp.point(2, 125, proxy).but(duration_s=10, warmup_s=6) for proxy in ("none", "gateway")]
    off, on = (downloads(run) for run in _run(cases).values())
    radio = off.rtt_ms - 2 * (125 + 20)
    assert 15.0 < radio < 35.0  # scheduling request, grants, HARQ
    for found, case in ((off, cases[0]), (on, cases[1])):
        assert found.throughput == pytest.approx(derived(case, radio), rel=0.05)
        assert found.fairness > 0.99


def test_the_congested_network_is_full_and_fair() -> None:
    """The paper's statements on ten users per cell, in a short run."""
    cases = [ftp.point(10, 50, proxy).but(duration_s=20, warmup_s=10) for proxy in ("none", "gateway")]
    for found, case in zip(map(downloads, _run(cases).values()), cases, strict=True):
        # What waited at the eNB when the window began: a few segments of each download.
        waited_mbps = 3 * 1460 * 8e-6 / (case.duration_s - case.warmup_s)
        assert 0.9 * share_mbps(case) < found.throughput <= share_mbps(case) + waited_mbps
        assert found.fairness >= 0.95


def test_pages_of_an_idle_network_are_faster_with_a_proxy_at_every_delay() -> None:
    savings = []
    for delay_ms in (50, 125):
        off, on = (
            Case("web", 0, delay_ms, proxy=proxy, others=2, duration_s=30) for proxy in ("none", "gateway")
        )
        savings.append(page_saving(off, on)(Draw(1, _run([off, on]))))
    assert min(savings) > 0.1
    assert max(savings) <= 1.4 * min(savings)  # about the same, as the paper says
