"""`airlane live` as an unprivileged user: what it prints, how it ends, and that nothing is left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from live_support import CELL, WIRED, Live, interpreter, is_open_to_all, need_live, nothing_left

need_live()
if interpreter() is None:
    pytest.skip("live tests: no Python that user 65534 may execute", allow_module_level=True)
if not is_open_to_all():
    pytest.skip("live tests: user 65534 may not open /dev/net/tun: chmod 666", allow_module_level=True)

DOWNLOAD = "curl --silent --show-error --output /dev/null --write-out %{size_download} http://server/2M"
FOREVER = "sleep 1000"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    """The command, in a folder that the unprivileged user may write to."""
    folder = tmp_path / "open"
    folder.mkdir()
    for place in (folder, *list(folder.parents)[:3]):
        place.chmod(place.stat().st_mode | 0o055)
    folder.chmod(0o777)
    run = Live(folder)
    with nothing_left(run):
        yield run


@pytest.mark.parametrize("scenario", [WIRED, CELL], ids=["wired", "cell"])
def test_a_download_by_curl(live: Live, scenario: str) -> None:
    said = live.json(scenario, "--ue", DOWNLOAD)
    assert said["failures"] == []
    real_time = said["real_time"]
    keys = {"valid", "late_us_p50", "late_us_p99", "late_us_p999", "late_us_max", "late_slots", "tun_drops"}
    assert keys <= set(real_time)
    assert real_time["tun_drops"] == 0
    assert real_time["late_us_p50"] <= real_time["late_us_p99"] <= real_time["late_us_max"]
    (connection,) = (row for row in said["connections"] if row["protocol"] == "tcp")
    # HTTP headers come on top of the body; what the network lost and the server sent again counts once.
    assert 2_000_000 <= connection["downlink_bytes_delivered"] <= 2_000_000 + 2000
    assert connection["end"] == "fin"


def test_names_resolve_on_both_sides(live: Live) -> None:
    show = "getent ahosts server | sort -u; getent ahosts phone | sort -u"
    done = live.run(CELL, "--bound", "100", "--ue", f"sh -c '{show}'")
    assert done.returncode == 0, done.stderr
    for address in ("198.18.0.1", "2001:2::1", "198.19.0.1", "2001:2:0:1::1"):
        assert address in done.stdout


def test_results_are_those_of_a_simulation(live: Live) -> None:
    live.json(CELL, "--ue", DOWNLOAD)
    run = live.folder / "run"
    assert {"manifest.json", "summary.csv", "cells.parquet", "live.json"} <= {f.name for f in run.iterdir()}
    facts = json.loads((run / "live.json").read_text())
    assert facts["real_time"]["valid"]
    assert facts["cpu_s"] > 0


@pytest.mark.parametrize(("bound", "words"), [("100", "in real time"), ("0.001", "NOT in real time")])
def test_the_page_says_whether_it_was_real_time(live: Live, bound: str, words: str) -> None:
    live.run(CELL, "--bound", bound, "--report", "--ue", DOWNLOAD)
    page = (live.folder / "run" / "report.html").read_text(encoding="utf-8")
    assert f"<strong>This run was {words}:</strong>" in page
    for heading in ("Real connections over time", "congestion window of the kernel", "Lateness"):
        assert heading in page
    for direction in ("downlink", "uplink"):
        assert f"goodput, {direction}, Mbit/s" in page
        assert f"95th percentile of one-way delay, {direction}, ms" in page


def test_a_network_for_real_applications_alone_needs_no_flow(live: Live) -> None:
    bare = CELL.partition("[[flow]]")[0]
    done = live.run(bare, "--bound", "100", "--ue", DOWNLOAD)
    assert done.returncode == 0, done.stderr
    assert "fairness" not in done.stdout, "both directions of one phone"
    rows = {row["flow"]: row for row in live.json(bare, "--ue", DOWNLOAD)["flows"]}
    assert set(rows) == {"phone", "phone (uplink)"}
    assert rows["phone"]["bytes_delivered"] > 2_000_000


@pytest.mark.skipif(os.environ.get("AIRLANE_SLOW") != "1", reason="writes ten million rows: AIRLANE_SLOW=1")
def test_a_run_ends_when_its_tables_are_full(live: Live) -> None:
    fine = WIRED.replace('duration = "60 s"', 'duration = "1 s"\nseries_bin = "1 us"')
    done = live.run(fine, "--bound", "1000", "--ue", FOREVER)
    assert done.returncode == 1, done.stderr
    assert re.search(r"error: the network ended after \d+ s, because its tables have no place", done.stderr)
    assert (live.folder / "run" / "live.json").exists()


def test_an_application_that_fails_is_named(live: Live) -> None:
    done = live.run(WIRED, "--bound", "100", "--ue", "sh -c 'exit 7'")
    assert done.returncode == 1
    assert "exit 7" in done.stderr
    assert "code 7" in done.stderr


def test_an_application_that_does_not_exist(live: Live) -> None:
    done = live.run(WIRED, "--bound", "100", "--ue", "no-such-program-here")
    assert done.returncode == 1
    assert "no-such-program-here" in done.stderr + done.stdout


def test_an_application_that_is_killed(live: Live) -> None:
    process = live.start(WIRED, "--bound", "100", "--ue", FOREVER)
    os.kill(live.until(FOREVER), signal.SIGKILL)
    said = process.communicate(timeout=20)
    assert process.returncode == 1, said
    assert FOREVER in said[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all(live: Live, number: signal.Signals) -> None:
    process = live.start(WIRED, "--ue", FOREVER)
    live.until(FOREVER)
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == 128 + number


def test_a_command_that_is_killed_leaves_nothing(live: Live) -> None:
    process = live.start(WIRED, "--ue", FOREVER)
    live.until(FOREVER)
    process.kill()
    process.communicate(timeout=10)


def test_any_process_that_is_killed_ends_the_run_with_a_word(live: Live) -> None:
    first = live.start(WIRED, "--ue", FOREVER)
    live.until(FOREVER)
    count = len(live.insiders())
    first.kill()
    first.communicate(timeout=10)
    assert count >= 2, "the launcher and the network"
    for index in range(count):
        process = live.start(WIRED, "--ue", FOREVER)
        live.until(FOREVER)
        os.kill(live.insiders()[index], signal.SIGKILL)
        out, err = process.communicate(timeout=15)
        assert process.returncode not in (0, 3, -signal.SIGKILL), f"process {index}: {out}{err}"
        assert "was killed by signal 9" in err, f"process {index}"
        assert "Traceback" not in err


def test_a_stall_of_100_ms_is_not_real_time(live: Live) -> None:
    process = live.start(CELL, "--json", "--ue", "ping -i 0.01 -c 300 server")
    live.until("ping -i")
    time.sleep(0.5)
    network = live.network()
    os.kill(network, signal.SIGSTOP)
    while Path(f"/proc/{network}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        time.sleep(0.001)
    time.sleep(0.1)
    os.kill(network, signal.SIGCONT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 3, err
    real_time = json.loads(out)["real_time"]
    assert real_time["valid"] is False
    assert max(real_time["late_us_max"], real_time["slot_late_us_max"]) >= 98_000
    assert real_time["late_slots"] > 0
    assert "NOT real time" in err


def test_without_a_right_to_real_time_priority(live: Live) -> None:
    done = live.run(WIRED, "--fifo", "--bound", "100", "--ue", "true")
    assert done.returncode in (0, 2)
    if done.returncode == 2:
        assert "--fifo" in done.stderr or "SCHED_FIFO" in done.stderr
