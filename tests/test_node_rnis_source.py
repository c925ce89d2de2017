"""The sources of the node `rnis`: a live run that begins, stalls, ends and begins again, and its record."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import airlane
from airlane.realtime.cell import Cell, Settings
from live_support import CELL, need_live
from rnis_support import Node, Receiver

need_live()

OPEN = '[source]\nperiod = "20 ms"\nmeasure = "200 ms"\n[callbacks]\nnetworks = ["127.0.0.0/8"]\n'
PHONE = "198.19.0.1"
RECORDS = {
    "subscriptionType": "UeMacSubscription",
    "filterCriteriaAssoc": {"associateId": [{"type": 1, "value": PHONE}]},
}
DOWNLOAD = "curl -s -o /dev/null http://server/200M"


def wait_for(true: Callable[[], bool], what: str, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def live(tmp_path: Path) -> Cell:
    scenario = tmp_path / "live.toml"
    scenario.write_text(CELL)
    settings = Settings(bound_ms=100.0, flight_max=0, rnis=tmp_path / "radio")
    return airlane.live(scenario, ues="phone", settings=settings)


def busy(cell: Cell) -> None:
    """Lets the phone download."""
    from airlane.realtime.conduct import own_server

    cell.server.start(own_server(cell.scenario))
    cell.server.await_listener()
    cell.ue().start(DOWNLOAD)


def cell_process(cell: Cell) -> int:
    """The process that is the network: the first child of the first process of the PID namespace."""
    assert cell._processes is not None
    pid = cell._processes.pid
    for _ in range(2):
        pid = min(int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return pid


def test_a_live_run_begins_stalls_ends_and_begins_again(tmp_path: Path) -> None:
    with Node(tmp_path, OPEN, origin='live = "radio"', wait=False) as node, Receiver() as receiver:
        assert "no run is there" in (node.unready() or "")
        assert node.get("/queries/rab_info").status == 503
        made = node.subscribe(RECORDS | {"callbackReference": receiver.url})
        assert made.status == 201
        with live(tmp_path) as cell:
            wait_for(lambda: node.unready() is None, "the node is ready with a run")
            busy(cell)
            # The UE has the address that servers see; the others are simulated.
            ues = node.get("/queries/rab_info").json["cellUserInfo"][0]["ueInfo"]
            values = [ue["associateId"][0]["value"] for ue in ues]
            assert values == [PHONE, *(f"10.1.0.{other}" for other in range(2, 7))]

            def block() -> int:
                _, body, arrived = receiver.received.get(timeout=5)
                stamp = body["timeStamp"]
                at = stamp["seconds"] + stamp["nanoSeconds"] / 1e9
                assert -0.01 < arrived - at < 1.0
                assert body["associateId"] == [{"type": 1, "value": PHONE}]
                return int(body["x-airlane-ue-mac"]["tbsBytes"])

            wait_for(lambda: block() > 1000, "the download has large blocks")
            wait_for(
                lambda: node.get("/queries/layer2_meas").json["cellInfo"][0]["dl_total_prb_usage_cell"] > 80,
                "the download takes most of the cell",
            )
            assert node.metric("rnis_source_up") == 1

            network = cell_process(cell)
            os.kill(network, signal.SIGSTOP)
            try:
                wait_for(lambda: "has not reported" in (node.unready() or ""), "the stall is seen")
                assert node.metric("rnis_source_stalls_total") == 1
                wait_for(lambda: node.metric("rnis_source_age_seconds") > 1, "the age grows")
                # The last report stays, with its time.
                assert node.get("/queries/rab_info").status == 200
            finally:
                os.kill(network, signal.SIGCONT)
            wait_for(lambda: node.unready() is None, "the run goes on")
        wait_for(lambda: "run" in (node.unready() or ""), "the end of the run is seen")
        assert node.metric("rnis_source_up") == 0
        assert not (tmp_path / "radio").exists()

        with contextlib.closing(live(tmp_path)) as cell:
            cell.open()
            cell.begin()
            wait_for(lambda: node.unready() is None, "the node is ready with the next run")
            while not receiver.received.empty():
                receiver.received.get()
            assert receiver.next(5)["notificationType"] == "UeMacNotification"
            assert node.metric("rnis_source_begins_total") == 2
            # The whole run is killed: its socket stays, and the next run has it.
            assert cell._processes is not None
            os.kill(cell_process(cell), signal.SIGKILL)
            wait_for(lambda: node.unready() is not None, "the death of the run is seen")
        assert (tmp_path / "radio").exists()
        with live(tmp_path):
            wait_for(lambda: node.unready() is None, "the third run")


def test_a_node_that_ends_leaves_the_run_as_it_is_and_the_next_node_gets_it(tmp_path: Path) -> None:
    with live(tmp_path) as cell:
        for _ in range(2):
            with Node(tmp_path, OPEN, origin='live = "radio"') as node:
                assert node.process is not None
                node.process.kill()
        with (
            Node(tmp_path, OPEN, origin='live = "radio"'),
            Node(tmp_path, OPEN, origin='live = "radio"', wait=False) as second,
        ):
            wait_for(lambda: "another service" in (second.unready() or ""), "a run has one service")
        assert cell.failure() is None


def recorded(tmp_path: Path) -> tuple[Path, list[Any]]:
    """A live run with a service: its result folder, and what a subscriber got."""
    scenario, folder = tmp_path / "live.toml", tmp_path / "out"
    scenario.write_text(CELL)
    command = [sys.executable, "-m", "airlane", "live", str(scenario), "--ue", "phone=" + DOWNLOAD]
    command += ["--duration", "4", "--bound", "100", "--rnis", str(tmp_path / "radio"), "-o", str(folder)]
    with (
        Node(tmp_path, OPEN, origin='live = "radio"', wait=False) as node,
        Receiver() as receiver,
    ):
        assert node.subscribe(RECORDS | {"callbackReference": receiver.url}).status == 201
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        wait_for(lambda: "ended" in (node.unready() or "") or "no run" in (node.unready() or ""), "the end")
        time.sleep(0.5)
        return folder, seen(receiver)


def seen(receiver: Receiver) -> list[Any]:
    """The records that a receiver got, with their times in ms."""
    bodies = []
    while not receiver.received.empty():
        body = receiver.received.get()[1]
        stamp = body["timeStamp"]
        at = stamp["seconds"] * 1000 + stamp["nanoSeconds"] / 1e6
        bodies.append((at, body["x-airlane-ue-mac"]))
    return bodies


def test_a_record_gives_the_records_of_its_run_and_a_service_changes_nothing(tmp_path: Path) -> None:
    folder, first = recorded(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "airlane", "replay", str(folder)], capture_output=True, text=True, check=True
    )
    # The repetition has no service, and each packet leaves at the same nanosecond.
    assert "equal: order" in done.stdout

    settings = OPEN.replace("[callbacks]", "[callbacks]\nqueue = 1000")
    with Node(tmp_path, settings, origin='replay = "out"') as node, Receiver() as receiver:
        assert node.subscribe(RECORDS | {"callbackReference": receiver.url}).status == 201
        wait_for(lambda: "the record has ended" in (node.unready() or ""), "the record ends", 20)
        assert node.get("/queries/rab_info").status == 200
        time.sleep(0.5)
        second = seen(receiver)
    # Both count from the begin of their run, which differs by an offset.
    live_of = {round(at - first[0][0]): mac for at, mac in first}
    played = {round(at - second[0][0]): mac for at, mac in second}
    best = max(
        range(-4000, 4000, 20),
        key=lambda by: sum(mac == played.get(at + by) for at, mac in live_of.items()),
    )
    common = [(mac, played[at + best]) for at, mac in live_of.items() if at + best in played]
    assert len(common) >= 50
    assert all(one == other for one, other in common)
    assert len({mac["rlcQueueBytes"] for mac, _ in common}) > 10


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("", "it needs one origin; give one of: scenario"),
        ('live = "radio"\nreplay = "out"', "it needs one origin; give one of: scenario"),
    ],
)
def test_a_source_has_one_origin(tmp_path: Path, origin: str, expected: str) -> None:
    node = Node(tmp_path, origin=origin)
    done = subprocess.run(node.command("--check"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert expected in done.stderr


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ('live = "radio"', "source.live = {}/radio: ok"),
        ('live = "none/radio"', "none is no folder; create it"),
        ('replay = "out"', "manifest.json: cannot be read"),
    ],
)
def test_check_names_what_is_wrong_with_a_source(tmp_path: Path, origin: str, expected: str) -> None:
    node = Node(tmp_path, origin=origin)
    done = subprocess.run(node.command("--check"), capture_output=True, text=True, check=False)
    assert expected.format(tmp_path) in done.stdout


def test_a_wired_network_has_no_radio_information(tmp_path: Path) -> None:
    scenario = tmp_path / "wired.toml"
    scenario.write_text('network = "wired"\n[run]\nduration = "5 s"\n[[flow]]\napp = "bulk"\n')
    command = [sys.executable, "-m", "airlane", "live", str(scenario), "--ue", "true"]
    done = subprocess.run(
        [*command, "--rnis", str(tmp_path / "radio"), "-o", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "a wired network has no radio information; choose a scenario with a cell" in done.stderr
