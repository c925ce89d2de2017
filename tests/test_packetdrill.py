"""`airlane packetdrill`: our own scripts, an outside corpus where there is one, and the command."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airlane.commands import packetdrill
from conftest import ROOT, Airlane

OWN = sorted((ROOT / "tests/packetdrill").glob("*.pkt"))
CORPUS = "AIRLANE_PACKETDRILL_CORPUS"
"""A folder of scripts, such as the Linux kernel's tools/testing/selftests/net/packetdrill."""

FAILING = {
    "tcp_ooo_rcv_mss.pkt",
    "tcp_rcv_big_endseq.pkt",
    "tcp_rcv_toobig.pkt",
}
"""Scripts of that corpus that fail; docs/conformance.md gives the reason of each."""

SERVER = """`./defaults.sh`
0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
+0 bind(3, ..., ...) = 0
+0 listen(3, 1) = 0
+0 < S 0:0(0) win 65535 <mss 1000>
+0 > S. 0:0(0) ack 1 <mss 1460>
"""


@pytest.mark.parametrize("ipv6", [False, True])
@pytest.mark.parametrize("script", OWN, ids=lambda path: path.stem)
def test_our_own_scripts_pass(script: Path, ipv6: bool) -> None:
    played = packetdrill.play(script, ipv6=ipv6)
    assert played.result == "pass", str(played)


def test_there_are_scripts() -> None:
    assert len(OWN) >= 35


def test_a_changed_script_fails(tmp_path: Path) -> None:
    """Each segment that a script expects is compared: with another acknowledgment number it fails."""
    (tmp_path / "host.sh").write_text((ROOT / "tests/packetdrill/host.sh").read_text())
    changed = 0
    for script in OWN:
        lines = script.read_text().splitlines()
        for number, line in enumerate(lines):
            if " > " not in line or " ack " not in line:
                continue
            before, _, after = line.partition(" ack ")
            wrong = [*lines[:number], f"{before} ack 4000000{after}", *lines[number + 1 :]]
            path = tmp_path / script.name
            path.write_text("\n".join(wrong))
            played = packetdrill.play(path)
            assert (played.result, played.line) == ("fail", number + 1), f"{script}: {line}"
            changed += 1
    assert changed > 80


def test_the_command_prints_a_line_for_each_script(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "good.pkt").write_text(SERVER + "+0 %{ print(tcpi_state, 2 * 3) }%\n")
    (tmp_path / "bad.pkt").write_text(SERVER.replace("mss 1460", "mss 1400"))
    (tmp_path / "other.pkt").write_text(SERVER + "+0 `./unknown.py`\n")
    done = airlane("packetdrill", "good.pkt", "bad.pkt", "other.pkt")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "3, 6",
        "good.pkt: pass",
        "bad.pkt:6: fail: expected S. 0:0(0) ack 1 <mss 1400>, got S. 0:0(0) ack 1 win 65535 <mss 1460> at "
        "0.000000 s: the options must be <mss 1400>, not <mss 1460>",
        'other.pkt:7: not applicable: the shell command "unknown.py"',
        "pass 1 fail 1 not applicable 1",
    ]
    found = json.loads(airlane("packetdrill", "--json", "good.pkt", "other.pkt").stdout)
    assert (found["pass"], found["fail"], found["not_applicable"]) == (1, 0, 1)
    assert found["scripts"] == [
        {"path": "good.pkt", "result": "pass", "line": None, "reason": None},
        {
            "path": "other.pkt",
            "result": "not-applicable",
            "line": 7,
            "reason": 'the shell command "unknown.py"',
        },
    ]
    assert airlane("packetdrill", "good.pkt", "other.pkt").returncode == 0
    assert airlane("packetdrill", "other.pkt").returncode == 3


def test_a_file_that_cannot_be_read_is_a_user_error(airlane: Airlane) -> None:
    done = airlane("packetdrill", "nowhere.pkt")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "error: nowhere.pkt: cannot be read (No such file or directory); expected a script of packetdrill"
    )


def test_ipv6_headers_are_longer(tmp_path: Path) -> None:
    script = tmp_path / "mtu.pkt"
    script.write_text("--mtu=1500\n" + SERVER)
    assert packetdrill.play(script).result == "pass"
    assert "<mss 1440>" in str(packetdrill.play(script, ipv6=True))


@pytest.mark.parametrize("ipv6", [False, True])
def test_the_outside_corpus(ipv6: bool) -> None:
    folder = os.environ.get(CORPUS)
    if folder is None:
        pytest.skip(f"{CORPUS} names no folder with packetdrill scripts of the Linux kernel")
    scripts = sorted(Path(folder).glob("*.pkt"))
    assert scripts, f"{CORPUS}={folder} has no scripts"
    played = [packetdrill.play(script, ipv6=ipv6) for script in scripts]
    failed = {Path(each.path).name for each in played if each.result == "fail"}
    assert failed <= FAILING, "\n".join(str(each) for each in played if each.result == "fail")
