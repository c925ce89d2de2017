"""Captures, the RAN log and exported traces agree with the summary."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet
import pytest

from airlane.radio import capacity as export
from airlane.radio.trace import ExportError
from airlane.results import Results
from airlane.scenario import load
from conftest import Airlane

tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")

# Traffic to the data port is QUIC.
QUIC_PORT = ["-d", "udp.port==5203,quic"]

LOSSY = """
network = "lena"
[run]
duration = "12 s"
[[cell]]
name = "a"
resource_blocks = 50
rlc = { mode = "am", buffer = "96 KiB" }
[channel]
fading = { model = "eva", speed = "60 km/h" }
[internet]
delay = "20 ms"
loss = "1 %"
[[ue]]
name = "phone"
position = ["300 m", "0 m"]
[[flow]]
to = "phone"
app = "bulk"
transport = { kind = "tcp", congestion = "cubic", ecn = true }
[[flow]]
to = "phone"
app = { kind = "cbr", rate = "200 kbit/s", payload = "160 B" }
transport = "udp"
[output]
pcap = ["server", "ue", "s1-u"]
ran_log = true
"""


@pytest.fixture
def captured(airlane: Airlane, tmp_path: Path) -> Path:
    """The result folder of a download with losses and captures at all points."""
    (tmp_path / "lossy.toml").write_text(LOSSY)
    done = airlane("run", "lossy.toml", "-o", "here")
    assert done.returncode == 0, done.stderr
    return tmp_path / "here"


def packets(file: Path) -> Iterator[tuple[int, int, bytes]]:
    """Nanosecond, whole length and kept bytes of each packet of a little-endian pcapng file."""
    data = file.read_bytes()
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            _, high, low, kept, whole = struct.unpack_from("<IIIII", data, at + 8)
            yield high << 32 | low, whole, data[at + 28 : at + 28 + kept]
        at += length
    assert at == len(data)


def fields(file: Path, what: list[str], show: str = "", more: Sequence[str] = ()) -> list[list[str]]:
    """tshark's fields of each packet that passes its filter, with checksums validated."""
    command = ["tshark", "-r", str(file), "-n", "-T", "fields", *more]
    for preference in ("tcp.check_checksum", "ip.check_checksum", "udp.check_checksum"):
        command += ["-o", f"{preference}:TRUE"]
    for field in what:
        command += ["-e", field]
    done = subprocess.run(
        [*command, *(["-Y", show] if show else [])], capture_output=True, text=True, timeout=120, check=True
    )
    return [line.split("\t") for line in done.stdout.splitlines()]


def test_the_capture_at_the_server_holds_what_the_summary_counts(captured: Path) -> None:
    flow = Results.read(captured).flows.to_pylist()[0]
    assert flow["retransmissions"] > 20
    highest, sent, again = -1, 0, 0
    stamps = []
    for at_ns, whole, kept in packets(captured / "pcap/server.pcapng"):
        stamps.append(at_ns)
        source, protocol = kept[12:16], kept[9]
        if source != bytes((10, 0, 0, 1)) or protocol != 6:
            continue
        (sequence,) = struct.unpack_from(">I", kept, 24)
        payload = whole - 20 - 4 * (kept[32] >> 4)
        if payload:
            sent += 1
            again += sequence <= highest
            highest = max(highest, sequence)
    assert stamps == sorted(stamps)
    assert (sent, again) == (flow["packets_sent"], flow["retransmissions"])
    assert json.loads((captured / "manifest.json").read_text())["pcap"] == [
        "s1-u.pcapng",
        "server.pcapng",
        "ue.pcapng",
    ]


@tshark
@pytest.mark.parametrize("point", ["server", "ue", "s1-u"])
def test_tshark_finds_nothing_malformed_and_every_checksum_right(captured: Path, point: str) -> None:
    file = captured / f"pcap/{point}.pcapng"
    assert len(fields(file, ["frame.number"])) > 1000
    wrong = (
        "_ws.malformed || tcp.checksum.status == Bad || ip.checksum.status == Bad"
        " || udp.checksum.status == Bad"
        " || tcp.options.experimental"
    )
    assert fields(file, ["frame.number", "_ws.col.Info"], wrong) == []


@tshark
def test_tshark_checks_the_checksums_of_whole_packets(airlane: Airlane, tmp_path: Path) -> None:
    # With the default snaplen no packet with payload is complete, and tshark cannot check it.
    (tmp_path / "lossy.toml").write_text(LOSSY)
    arguments = ("--set", "run.duration=1s", "--set", 'output.snaplen="65535 B"')
    assert airlane("run", "lossy.toml", *arguments, "-o", "here").returncode == 0
    for point in ("server", "ue", "s1-u"):
        checked = fields(
            tmp_path / f"here/pcap/{point}.pcapng", ["tcp.checksum.status", "udp.checksum.status"]
        )
        assert len(checked) > 100
        # 1 is good; the outer UDP header of a tunnel has no checksum, which is 3.
        for tcp, udp in checked:
            assert {*tcp.split(","), *udp.split(",")} <= {"", "1", "3"}
            assert "1" in f"{tcp},{udp}"


@tshark
def test_tshark_counts_as_many_retransmissions_as_the_summary(captured: Path) -> None:
    flow = Results.read(captured).flows.to_pylist()[0]
    # At the sender nothing can be out of order: such segments in tshark were retransmitted soon after.
    again = fields(
        captured / "pcap/server.pcapng",
        ["frame.time_epoch"],
        "ip.src == 10.0.0.1 && tcp.len > 0 && (tcp.analysis.retransmission || tcp.analysis.out_of_order)",
    )
    assert len(again) == flow["retransmissions"]
    first = fields(
        captured / "pcap/server.pcapng", ["frame.time_epoch", "tcp.options.mss_val"], "tcp.flags.syn==1"
    )
    assert [mss for _, mss in first] == ["1460", "1460"]


@tshark
def test_tshark_finds_no_retransmission_without_loss(
    airlane: Airlane, scenarios: Path, tmp_path: Path
) -> None:
    wired = ("--set", "run.duration=2s", "--set", 'internet.queue="10 MB"')
    done = airlane("run", scenarios / "wired-cubic.toml", *wired, "-o", "here", "--pcap")
    assert done.returncode == 0, done.stderr
    for point in ("server", "ue"):
        file = tmp_path / f"here/pcap/{point}.pcapng"
        odd = "tcp.analysis.flags && !tcp.analysis.window_update && !tcp.analysis.window_full"
        assert fields(file, ["frame.number", "_ws.col.Info"], odd) == []
    assert fields(tmp_path / "here/pcap/ue.pcapng", ["frame.interface_name"])[0] == ["host"]


def test_captures_repeat_and_change_nothing(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "lossy.toml").write_text(LOSSY)
    short = ("--set", "run.duration=1s", "--seed", "5")
    for folder, more in (
        ("a", ()),
        ("b", ()),
        ("c", ("--set", "output.pcap=[]", "--set", "output.ran_log=false")),
    ):
        assert airlane("run", "lossy.toml", *short, "-o", folder, *more).returncode == 0
    for name in ("pcap/server.pcapng", "pcap/ue.pcapng", "pcap/s1-u.pcapng", "series/ran_log.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert not (tmp_path / "c/pcap").exists()
    for name in ("summary.csv", "series/flows.parquet", "series/cells.parquet"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "c" / name).read_bytes()


def test_captures_of_several_runs_are_told_apart(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    short = ("--set", "run.duration=1s", "--set", "run.warmup=0s", "--runs", "2")
    assert airlane("run", scenarios / "lte-download.toml", *short, "-o", "here", "--pcap").returncode == 0
    names = sorted(file.name for file in (tmp_path / "here/pcap").iterdir())
    assert names == ["run0-server.pcapng", "run0-ue.pcapng", "run1-server.pcapng", "run1-ue.pcapng"]


def test_a_capture_that_cannot_be_written_leaves_nothing(tmp_path: Path, scenarios: Path) -> None:
    described = load(scenarios / "lte-download.toml").set({"run.duration": "6s", "output.pcap": ["server"]})
    (tmp_path / "full").mkdir()
    (tmp_path / "full/server.pcapng").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as raised:
        described.run(pcap=tmp_path / "full")
    assert raised.value.filename == str(tmp_path / "full/server.pcapng")


def test_the_ran_log_adds_up_to_the_summary(captured: Path) -> None:
    results = Results.read(captured)
    (cell,) = results.cells.to_pylist()
    log = results.ran_log
    for direction, suffix in (("downlink", ""), ("uplink", "_uplink")):
        own = log.filter(pc.equal(log["direction"], pa.scalar(direction)))
        first = own["transmission"].to_numpy() == 1
        decoded = own["decoded"].to_numpy(zero_copy_only=False)
        prbs = own["prbs"].to_numpy()
        assert own.num_rows == cell[f"tb_sent{suffix}"]
        assert int((~first).sum()) == cell[f"harq_retx{suffix}"]
        assert float((~decoded)[first].mean()) == pytest.approx(cell[f"bler_first{suffix}"])
        assert prbs.sum() / (50 * 12_000) == pytest.approx(cell[f"prb_use_{direction}"])
        # No slot allocates more than the band; no process carries two blocks.
        assert np.bincount(own["slot"].to_numpy(), weights=prbs).max() <= 50
        for process in range(8):
            of = own.filter(pc.equal(own["harq_process"], pa.scalar(process)))
            new = of["transmission"].to_numpy() == 1
            toggles = np.diff(of["ndi"].to_numpy()) != 0
            assert (toggles == new[1:]).all()
    assert pc.max(log["cqi"].filter(pc.equal(log["direction"], pa.scalar("downlink")))).as_py() <= 15
    assert 10_000 < pc.max(log["rlc_queue_bytes"]).as_py() <= 96 * 1024


def test_udp_over_an_exported_trace_gets_what_the_cell_gave(scenarios: Path) -> None:
    described = load(scenarios / "lte-download.toml").set({"run.duration": "12s", "run.warmup": "2s"})
    for line in export.check(described, "phone"):
        label, ratio = line.partition(":")[0], float(line.partition("(")[2].partition("%")[0])
        print(line)
        # The trace is quantised to milliseconds and packets; TCP also has another return path.
        assert abs(ratio) <= (1.0 if label == "UDP" else 10.0), line


def test_a_share_is_what_the_scheduler_gives_one_of_many(scenarios: Path) -> None:
    described = load(scenarios / "lte-20ue.toml").set({"run.duration": "6s"})
    shared = export.export(described, "phone-3")
    alone = export.export(described.set({"ue.0.count": 1}), "phone")
    delivered = export.export(described, "phone-3", delivered=True)
    assert shared.begin_s == 2.0
    assert 0.0 < shared.mean_mbps < 0.25 * alone.mean_mbps
    assert delivered.mean_mbps < 1.1 * shared.mean_mbps
    for exported in (shared, alone, delivered):
        stamps = exported.trace.stamps_ms
        assert stamps == sorted(stamps)
        assert 1 <= stamps[0] <= stamps[-1] <= 4000
        assert exported.trace.bytes_in == 1500 * len(stamps) + exported.trace.remainder


def test_an_uplink_is_exported_too(scenarios: Path) -> None:
    described = load(scenarios / "lte-download.toml").set({"run.duration": "4s", "run.warmup": "1s"})
    exported = export.export(described, "phone", "uplink")
    assert exported.mean_mbps > 5.0


def test_a_ue_that_is_not_there_is_named(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    done = airlane("trace", "export", scenarios / "lte-20ue.toml", "--ue", "fone")
    assert done.returncode == 2
    assert "phone-1" in done.stderr
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ExportError, match="a wired network has no UE"):
        export.export(load(scenarios / "wired-cubic.toml"), "phone")


def test_quic_leaves_qlog_in_the_folder(airlane: Airlane, scenarios: Path, tmp_path: Path) -> None:
    text = (scenarios / "quic-download.toml").read_text(encoding="utf-8")
    file = tmp_path / "short.toml"
    file.write_text(text.replace('duration = "30 s"', 'duration = "2 s"'), encoding="utf-8")
    done = airlane("run", file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    names = ["download.client.sqlog", "download.server.sqlog"]
    folder = tmp_path / "out"
    assert sorted(path.name for path in (folder / "qlog").iterdir()) == names
    assert not (folder / "pcap").exists()
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["qlog"] == names
    records = (folder / "qlog" / names[1]).read_text(encoding="utf-8").split("\x1e")[1:]
    assert json.loads(records[0])["qlog_format"] == "JSON-SEQ"
    events = [json.loads(record) for record in records[1:]]
    assert sum(event["name"] == "transport:packet_sent" for event in events) > 500
    twice = airlane("run", file, "--runs", "2", "-o", folder)
    assert twice.returncode == 0, twice.stderr
    assert sorted(path.name for path in (folder / "qlog").iterdir()) == [
        f"run{run}-{name}" for run in (0, 1) for name in names
    ]


@tshark
@pytest.mark.parametrize("app", ["bulk", "web"])
def test_tshark_reads_what_tls_protects(airlane: Airlane, tmp_path: Path, app: str) -> None:
    """Streams, acknowledgments and frames of HTTP/3 are read from encrypted packets: the file has the
    secrets.
    """
    web = '{ kind = "web", http = "3", dns = false, count = 1, visits = "in-order" }'
    what = web if app == "web" else f'"{app}"'
    (tmp_path / "tls.toml").write_text(
        'network = "wired"\n[run]\nduration = "2 s"\n'
        '[internet]\nrate = "10 Mbit/s"\ndelay = "20 ms"\nloss = "1 %"\n'
        f'[[flow]]\ntransport = {{ kind = "quic", crypto = "tls" }}\napp = {what}\n'
        '[output]\npcap = ["server", "ue"]\nsnaplen = "65535 B"\n'
    )
    done = airlane("run", "tls.toml", "-o", "here")
    assert done.returncode == 0, done.stderr
    for point in ("server", "ue"):
        file = tmp_path / f"here/pcap/{point}.pcapng"
        # HTTP/3 has a known port, unlike the other.
        rows = fields(file, ["frame.number", "quic.frame_type", "quic.stream.length"], "udp", QUIC_PORT)
        kinds = {kind for _, row, _ in rows for kind in row.split(",")}
        # CRYPTO, ACK with counts of ECN, and STREAM (RFC 9000 section 19); every frame could be read.
        assert {"6", "3"} <= kinds, kinds
        assert kinds & {str(kind) for kind in range(8, 16)}, kinds
        assert len(rows) > 100
        assert all(kind for _, kind, _ in rows)
        wrong = "_ws.malformed || quic.decryption_failed"
        assert fields(file, ["frame.number"], wrong, QUIC_PORT) == []
        if app == "web":
            frames = {
                kind for (row,) in fields(file, ["http3.frame_type"], "http3") for kind in row.split(",")
            }
            assert {"0", "1", "4"} <= frames, frames  # DATA, HEADERS, SETTINGS
