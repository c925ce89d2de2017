"""Captures of accurate ECN (RFC 9768): what tshark reads from them agrees with itself and the summary."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from airlane.results import Results
from conftest import Airlane
from test_observability import fields

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

MARKED = """
network = "wired"
output = { pcap = ["server", "ue"] }
[run]
duration = "3 s"
[internet]
aqm = { kind = "codel", ecn = true, target = "1 ms", interval = "10 ms" }
[[flow]]
app = "bulk"
transport = { kind = "tcp", TRANSPORT }
"""
READ = [
    "ip.src",
    "ip.dsfield.ecn",
    "tcp.len",
    "tcp.flags.ace",
    *(f"tcp.options.acc_ecn.{field}" for field in ("ee0b", "eceb", "ee1b")),
]
SERVER = "10.0.0.1"
CE = "3"


def rows(airlane: Airlane, at: Path, transport: str, point: str) -> tuple[list[list[str]], Results]:
    """The TCP segments of a run after the handshake, and its results."""
    (at / "marked.toml").write_text(MARKED.replace("TRANSPORT", transport))
    done = airlane("run", "marked.toml", "-o", "here")
    assert done.returncode == 0, done.stderr
    file = at / f"here/pcap/{point}.pcapng"
    assert fields(file, ["frame.number"], "_ws.malformed || tcp.checksum.status == Bad") == []
    return fields(file, READ, "tcp.flags.syn == 0"), Results.read(at / "here")


@pytest.mark.parametrize(("congestion", "capable"), [("prague", "1"), ("cubic", "2")])
def test_the_receiver_reports_the_marks_that_arrive(
    airlane: Airlane, tmp_path: Path, congestion: str, capable: str
) -> None:
    segments, results = rows(airlane, tmp_path, f'congestion = "{congestion}", ecn = "accurate"', "ue")
    handshake = fields(tmp_path / "here/pcap/ue.pcapng", ["tcp.flags"], "tcp.flags.syn == 1")
    # SYN with AE, CWR and ECE (0x1c0); SYN-ACK with CWR (0x080), for a SYN that arrived without ECT.
    assert [int(flags, 16) for (flags,) in handshake] == [0x1C2, 0x092]
    packets, size = 5, {"1": 1, "2": 1, CE: 0}
    reports = 0
    # The first segment is the ACK of the SYN-ACK, with an encoding of its own.
    for source, ecn, length, ace, e0b, ceb, e1b in segments[1:]:
        if source == SERVER:
            assert ecn in (capable, CE)
            packets += ecn == CE
            size[ecn] += int(length)
        else:
            assert (int(ace), int(e0b), int(ceb), int(e1b)) == (packets % 8, size["2"], size[CE], size["1"])
            reports += 1
    assert reports > 500
    assert packets >= 5 + 8  # a turn of the field
    flow = results.flows.to_pylist()[0]
    assert flow["marked"] >= packets - 5


def test_classic_ecn_marks_no_acknowledgment(airlane: Airlane, tmp_path: Path) -> None:
    segments, _ = rows(airlane, tmp_path, 'congestion = "cubic", ecn = true', "ue")
    assert {ecn for source, ecn, *_ in segments if source != SERVER} == {"0"}
    assert {e1b for *_, e1b in segments} == {""}
