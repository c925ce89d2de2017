"""UDP across handovers, packet by packet: every packet arrives, once and in order."""

from __future__ import annotations

import csv
import json
import struct
from pathlib import Path

from conftest import Airlane
from test_observability import packets

# To and fro between two cells with shadowing, and every handover lossless.
SCENARIO = """network = "typical"
[run]
duration = "20 s"
[handover]
hysteresis = "0 dB"
time_to_trigger = "0 ms"
l3_filter = 0
[channel]
shadowing = { kind = "log-normal", deviation = "6 dB", correlation_distance = "20 m" }
[[cell]]
name = "west"
position = ["0 m", "0 m"]
pdcp = { discard_timer = "3 s" }
[[cell]]
name = "east"
position = ["750 m", "0 m"]
pdcp = { discard_timer = "3 s" }
[[ue]]
name = "car"
position = ["300 m", "20 m"]
mobility = { kind = "line", towards = ["750 m", "20 m"], speed = "30 km/h" }
[[flow]]
to = "car"
transport = "udp"
app = { kind = "cbr", rate = "3 Mbit/s" }
stop = "18 s"
[output]
pcap = ["ue"]
"""


def test_handovers_neither_lose_nor_repeat_nor_reorder_a_datagram(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCENARIO)
    done = airlane("run", "s.toml", "-o", "here")
    assert done.returncode == 0, done.stderr
    run = json.loads((tmp_path / "here/manifest.json").read_text())["runs"][0]
    counts = run["handovers"]
    assert counts["successful"] >= 5
    assert counts["ping_pongs"] >= 2
    # IP and UDP headers, then the datagram's number.
    serials = [
        struct.unpack_from(">Q", kept, 28)[0] for _, _, kept in packets(tmp_path / "here/pcap/ue.pcapng")
    ]
    with (tmp_path / "here/summary.csv").open() as summary:
        sent = int(next(csv.DictReader(summary))["packets_sent"])
    assert serials == list(range(sent))
    assert sent > 4000
