"""The nodes `quic-server` and `rnis` in a live cell: a download whose losses MELD classifies."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("aioquic", reason="the tests of quic-server need aioquic: pip install aioquic")

import airlane
from airlane.realtime.cell import End, Settings
from live_support import CELL, need_live
from quic_support import certificate

need_live()

CLIENT = str(Path(__file__).resolve().parent.parent / "evidence" / "nodes" / "h3_get.py")
RNIS = """
listen = "127.0.0.1:8081"
[node]
admin = "127.0.0.1:9100"
[source]
live = "radio"
period = "10 ms"
"""
SERVER = """
listen = "0.0.0.0:4433"
root = "root"
[node]
admin = "127.0.0.1:9103"
[tls]
certificate = "cert.pem"
key = "key.pem"
[congestion]
loss_discriminator = "meld-me"
[rnis]
url = "http://127.0.0.1:8081"
"""


def begin(end: End, kind: str, file: Path, admin: int) -> None:
    with file.with_suffix(".log").open("wb") as log:
        end.start([sys.executable, "-m", "airlane", "node", kind, str(file)], stderr=log)
    limit = time.monotonic() + 30
    while end.run(["curl", "-sf", f"http://127.0.0.1:{admin}/readyz"]).returncode != 0:
        assert time.monotonic() < limit, file.with_suffix(".log").read_text()
        time.sleep(0.1)


def test_a_download_through_a_live_cell_uses_its_radio_information(tmp_path: Path) -> None:
    (tmp_path / "cell.toml").write_text(CELL)
    (tmp_path / "rnis.toml").write_text(RNIS)
    (tmp_path / "server.toml").write_text(SERVER)
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "data").write_bytes(bytes(3_000_000))
    pem = certificate(tmp_path)[0]
    scenario = airlane.load(tmp_path / "cell.toml").set({"internet.loss": "2 %"})
    settings = Settings(bound_ms=100.0, flight_max=0, rnis=tmp_path / "radio")
    with airlane.live(scenario, ues="phone", settings=settings) as cell:
        begin(cell.server, "rnis", tmp_path / "rnis.toml", 9100)
        begin(cell.server, "quic-server", tmp_path / "server.toml", 9103)
        done = cell.ue().run([sys.executable, CLIENT, "server", "4433", "/data", pem], timeout=100)
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        text = cell.server.run(["curl", "-sf", "http://127.0.0.1:9103/metrics"], check=True).stdout
    assert (answer["status"], answer["bytes"]) == (200, 3_000_000)
    pairs = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    found = {name.removeprefix("airlane_quic_server_"): float(value) for name, _, value in pairs}
    # Each 10 ms.
    assert found["rnis_records_total"] > 50 * answer["seconds"]
    assert not [name for name in found if name.startswith("rnis_unused")]
    # A UE alone in its cell, with large blocks and an empty queue at most losses.
    assert found['losses_total{class="unreported"}'] > 10
