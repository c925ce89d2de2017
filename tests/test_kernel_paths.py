"""The Multipath TCP of a guest kernel over several simulated paths. Without one, most tests are skipped."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import airlane as package
from airlane.runs import kernel
from conftest import Airlane

VERSION = "6.12"

has_multipath = any(
    one.name == VERSION
    and "CONFIG_MPTCP=y" in (one.folder / "config").read_text(encoding="utf-8").splitlines()
    for one in kernel.installed()
)
needs_kernel = pytest.mark.skipif(
    not has_multipath,
    reason=f"NO KERNEL with Multipath TCP: `airlane kernel build {VERSION} --force` builds one",
)

WIRED = """\
network = "wired"
[run]
duration = "6 s"
[output]
pcap = ["server", "ue"]
snaplen = "128 B"
[[link]]
name = "wifi"
[[flow]]
transport = { kind = "kernel", mptcp = {} }
"""

PHONE = """\
network = "typical"
[run]
duration = "6 s"
[[cell]]
name = "lte"
[[cell]]
name = "nr"
radio = "nr"
[[link]]
name = "wifi"
rate = "30 Mbit/s"
[[ue]]
name = "phone"
position = ["150 m", "0 m"]
access = ["wifi", "lte", "nr"]
[[flow]]
to = "phone"
transport = { kind = "kernel", mptcp = { announced = { server = ["nr"] } } }
"""


def paths(results: package.Results, flow: str = "flow-1") -> dict[str, dict[str, Any]]:
    """Rows of the table of paths, by the access."""
    return {row["path"]: row for row in results.tables["paths"].to_pylist() if row["flow"] == flow}


@needs_kernel
def test_both_paths_are_full_and_the_run_repeats(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(WIRED)
    digests = []
    for turn in range(2):
        out = tmp_path / f"run-{turn}"
        done = airlane("run", tmp_path / "two.toml", "--pcap", "-o", out)
        assert done.returncode == 0, done.stderr
        files = sorted((out / "pcap").rglob("*.pcapng"))
        digests.append({file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files})
    assert digests[0] == digests[1]
    assert len(digests[0]) == 2
    results = package.loads(WIRED).run()
    flow = results.flows.to_pylist()[0]
    # 10 and 50 Mbit/s; a segment of 1500 B has at least 40 B of headers, 12 of timestamps and 20 of the
    # mapping, and the flow starts slowly.
    most = 60 * (1500 - 72) / 1500
    assert 0.93 * most < flow["goodput_mbps"] < most
    by_path = paths(results)
    assert by_path["internet"]["goodput_mbps"] > 0.9 * 10 * (1500 - 72) / 1500
    shares = sum(path["share_percent"] for path in by_path.values())
    assert shares == pytest.approx(100)
    # The bytes of the connection are those of both subflows, each once.
    together = sum(path["goodput_mbps"] for path in by_path.values())
    assert together == pytest.approx(flow["goodput_mbps"], rel=0.02)
    # The handshake of the first path takes a round trip of 2 x 20 ms; the other joins after it, in one of
    # 2 x 10 ms.
    assert by_path["internet"]["established_s"] == pytest.approx(0.04, abs=0.002)
    assert by_path["wifi"]["established_s"] > 0.06


@needs_kernel
def test_a_lost_path_costs_no_byte() -> None:
    text = WIRED.replace(
        'name = "wifi"\n', 'name = "wifi"\ncoverage = [{ from = "0 s", until = "1 s" }]\n', 1
    )
    text = text.replace('"6 s"', '"40 s"', 1).replace(
        "[[flow]]", '[[flow]]\napp = { kind = "fixed", size = "10 MB" }'
    )
    results = package.loads(text).set({"output.pcap": []}).run()
    flow = results.flows.to_pylist()[0]
    assert flow["bytes_delivered"] == 10_000_000
    # 50 Mbit/s for 1 s, then what is left at 10 Mbit/s.
    assert 4 < flow["fct_s"] < 12
    by_path = paths(results)
    assert by_path["wifi"]["failures"] >= 1
    assert by_path["wifi"]["out_of_use_s"] > 30
    assert by_path["internet"]["reinjected_bytes"] > 0
    assert by_path["internet"]["pause_max_ms"] > 200  # the shortest retransmission timeout of Linux


@needs_kernel
def test_a_backup_carries_data_when_no_other_path_does() -> None:
    lost = WIRED.replace(
        'name = "wifi"\n', 'name = "wifi"\ncoverage = [{ from = "0 s", until = "2 s" }]\n', 1
    )
    managers = 'mptcp = { paths = ["wifi", "internet"], backup = ["internet"] }'
    results = package.loads(lost.replace("mptcp = {}", managers)).set({"output.pcap": []}).run()
    series = [row for row in results.tables["path_series"].to_pylist() if row["path"] == "internet"]
    assert sum(row["goodput_mbps"] for row in series if row["t_s"] < 2) == 0
    assert sum(row["goodput_mbps"] for row in series if row["t_s"] > 4) / 20 > 8
    assert paths(results)["wifi"]["goodput_mbps"] > 5


@needs_kernel
def test_a_phone_joins_over_the_address_that_the_server_announces() -> None:
    by_path = paths(package.loads(PHONE).run())
    assert list(by_path) == ["wifi", "lte", "nr"]
    assert all(path["goodput_mbps"] > 10 for path in by_path.values())
    # The subflow over the first access is there before the others.
    assert by_path["wifi"]["established_s"] < min(by_path[name]["established_s"] for name in ("lte", "nr"))


@needs_kernel
def test_the_uplink_over_two_paths_is_complete() -> None:
    text = WIRED.replace(
        "[[flow]]", '[[flow]]\ndirection = "uplink"\napp = { kind = "fixed", size = "5 MB" }'
    )
    results = package.loads(text).set({"output.pcap": []}).run()
    assert results.flows.to_pylist()[0]["bytes_delivered"] == 5_000_000
    assert all(path["goodput_mbps"] > 0 for path in paths(results).values())


def test_a_kernel_without_multipath_tcp_is_named(
    airlane: Airlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "kernels" / VERSION
    own.mkdir(parents=True)
    (own / "kernel.json").write_text(json.dumps({"release": VERSION, "interface": kernel.INTERFACE}))
    (own / "config").write_text("# CONFIG_MPTCP is not set\n")
    for name in ("linux", "agent"):
        (own / name).write_bytes(b"")
    made = kernel.Kernel(VERSION, VERSION, "", kernel.INTERFACE, {}, [], "gcc", {})
    (own / "kernel.json").write_text(
        json.dumps(made.__dict__ | {"sha256": dict.fromkeys(("linux", "agent", "config"), "ab")})
    )
    monkeypatch.setenv("AIRLANE_KERNELS", str(tmp_path / "kernels"))
    (tmp_path / "two.toml").write_text(WIRED)
    failed = airlane("run", tmp_path / "two.toml")
    assert failed.returncode == 2
    assert "built without Multipath TCP" in failed.stderr
    assert f"airlane kernel build {VERSION} --force" in failed.stderr
