"""`airlane packetdrill --kernel`: scripts on a guest kernel. Without one, most tests are skipped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from airlane.commands import packetdrill
from airlane.commands.packetdrill import Played
from airlane.runs import kernel
from conftest import ROOT, Airlane

VERSION = "6.12"
OWN = sorted((ROOT / "tests/packetdrill").glob("*.pkt"))
CORPUS = "AIRLANE_PACKETDRILL_CORPUS"

needs_kernel = pytest.mark.skipif(
    all(one.name != VERSION for one in kernel.installed()),
    reason=f"NO KERNEL: `make test-kernel` builds Linux {VERSION} and runs these tests",
)

DIFFERENT = {
    "handshake-active.pkt",
    "receive-beyond-window.pkt",
    "receive-window.pkt",
}
"""Our own scripts that the kernel fails; docs/conformance.md gives the reason of each."""

NOT_APPLICABLE = {
    "ecn-accurate-mangled.pkt",
    "ecn-accurate-overflow.pkt",
    "ecn-accurate-room.pkt",
    "ecn-accurate-zeroed.pkt",
    "ecn-accurate.pkt",
}
"""Linux 6.12 has no accurate ECN."""

OUTSIDE_FAILING = {
    "tcp_ooo-before-and-after-accept.pkt",
    "tcp_ooo_rcv_mss.pkt",
    "tcp_rcv_big_endseq.pkt",
    "tcp_rcv_toobig.pkt",
    "tcp_rcv_wnd_shrink_allowed.pkt",
}
"""Scripts of the kernel's own tests about the memory of the receive buffer."""

WAITING = """\
   0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3
  +0 bind(3, ..., ...) = 0
  +0 listen(3, 1) = 0
  +0...0.2 accept(3, ..., ...) = 4
 +.1 < S 0:0(0) win 65535 <mss 1000>
  +0 > S. 0:0(0) ack 1 <mss 1460>
 +.1 < . 1:1(0) ack 1 win 65535
  +0...0.3 read(4, ..., 1000) = 100
 +.1 %{ assert tcpi_state == TCP_ESTABLISHED; print(tcpi_snd_cwnd, tcpi_pmtu) }%
 +.2 < P. 1:101(100) ack 1 win 65535
  +0 > . 1:1(0) ack 101
"""


def played(text: str, folder: Path) -> Played:
    path = folder / "script.pkt"
    path.write_text(text)
    return packetdrill.play(path, kernel=VERSION)


def test_a_missing_kernel_and_a_missing_name_are_user_errors(
    airlane: Airlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRLANE_KERNELS", str(tmp_path / "empty"))
    done = airlane("packetdrill", "--kernel", "6.12", OWN[0])
    assert done.returncode == 2
    assert done.stderr.startswith('error: no kernel "6.12" in ')
    assert "airlane kernel build 6.12 builds it" in done.stderr
    done = airlane("packetdrill", "--both", OWN[0])
    assert (done.returncode, done.stderr.strip()) == (
        2,
        "error: --both compares with a guest kernel; expected --kernel NAME with it",
    )


def test_the_two_are_counted_by_folder_and_differences_are_listed() -> None:
    passes = Played("a/x.pkt", "pass", None, None)
    fails = Played("a/x.pkt", "fail", 3, "expected one thing, got another")
    other = Played("b/y.pkt", "not-applicable", 1, "IPv6")
    failed = Played("b/y.pkt", "fail", 2, "something")
    assert packetdrill.differing([passes, other], [fails, failed]) == [(passes, fails)]
    assert packetdrill.compared([passes, other], [fails, failed], "6.12").splitlines() == [
        "folder  of         pass  fail  not applicable  differ",
        "a       simulated  1     0     0",
        "a       6.12       0     1     0               1",
        "b       simulated  0     0     1",
        "b       6.12       0     1     0               0",
        "differ, simulated: a/x.pkt: pass",
        "differ, 6.12: a/x.pkt:3: fail: expected one thing, got another",
    ]


@needs_kernel
@pytest.mark.parametrize("script", OWN, ids=lambda path: path.stem)
def test_our_own_scripts_on_the_kernel(script: Path) -> None:
    found = packetdrill.play(script, kernel=VERSION)
    expected = "pass"
    if script.name in DIFFERENT:
        expected = "fail"
    elif script.name in NOT_APPLICABLE:
        expected = "not-applicable"
    assert found.result == expected, str(found)


@needs_kernel
def test_a_changed_script_fails_on_the_kernel(tmp_path: Path) -> None:
    """The segments of a kernel are compared: with another acknowledgment number, each script fails there."""
    (tmp_path / "host.sh").write_text((ROOT / "tests/packetdrill/host.sh").read_text())
    changed = 0
    for script in OWN:
        if script.name in DIFFERENT | NOT_APPLICABLE:
            continue
        lines = script.read_text().splitlines()
        sent = [number for number, line in enumerate(lines) if " > " in line and " ack " in line]
        if not sent:
            continue
        before, _, after = lines[sent[-1]].partition(" ack ")
        lines[sent[-1]] = f"{before} ack 4000000{after}"
        found = played("\n".join(lines), tmp_path)
        assert (found.result, found.line) == ("fail", sent[-1] + 1), f"{script}: {found}"
        changed += 1
    assert changed > 25


@needs_kernel
def test_calls_wait_in_virtual_time_and_code_sees_the_state_meanwhile(tmp_path: Path) -> None:
    found = played(WAITING, tmp_path)
    assert (found.result, found.printed) == ("pass", ("10, 1500",)), str(found)
    late = played(WAITING.replace("0.3 read", "0.5 read"), tmp_path)
    assert late.result == "fail"
    assert late.line == 8
    assert late.reason is not None
    assert late.reason.startswith("expected read() = 100 to return at 0.70")
    blocks = played(WAITING.replace("+0...0.2 accept", "+0 accept"), tmp_path)
    assert blocks.reason == "expected accept() = 4 to return at once, but it waits"


@needs_kernel
def test_calls_have_the_results_and_errors_of_the_kernel(tmp_path: Path) -> None:
    start = "\n".join(WAITING.splitlines()[:7]) + "\n"
    calls = """\
  +0 setsockopt(4, SOL_TCP, TCP_CONGESTION, "reno", 4) = 0
  +0 getsockopt(4, SOL_TCP, TCP_CONGESTION, "reno", [4]) = 0
  +0 getsockopt(4, SOL_TCP, TCP_NODELAY, [0], [4]) = 0
  +0 fcntl(4, F_SETFL, O_RDWR|O_NONBLOCK) = 0
  +0 fcntl(4, F_GETFL) = 0x802
  +0 read(4, ..., 10) = -1 EAGAIN (Resource temporarily unavailable)
  +0 poll([{fd=4, events=POLLIN|POLLOUT, revents=POLLOUT}], 1, 0) = 1
  +0 write(4, NULL, 10) = -1 EFAULT (Bad address)
  +0 writev(4, [{..., 300}, {..., 200}], 2) = 500
  +0 > P. 1:501(500) ack 1
  +0 ioctl(4, SIOCOUTQ, [500]) = 0
  +0 close(9) = -1 EBADF (Bad file descriptor)
  +0 shutdown(4, SHUT_WR) = 0
  +0 > F. 501:501(0) ack 1
  +0 write(4, ..., 10) = -1 EPIPE (Broken pipe)
"""
    found = played(start + calls, tmp_path)
    assert found.result == "pass", str(found)
    wrong = played(start + calls.replace("TCP_NODELAY, [0]", "TCP_NODELAY, [1]"), tmp_path)
    assert (wrong.line, wrong.reason) == (10, "expected getsockopt() = 0, got [0]")


@needs_kernel
def test_what_is_not_supported_is_named(tmp_path: Path) -> None:
    start = "0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n"
    for text, reason in [
        ("--ip_version=ipv6\n" + start, "IPv6, which guest kernels do not have"),
        (start + "+0 splice(3, NULL, 3, NULL, 10, 0) = 10\n", "the call splice()"),
        (
            "`sysctl -q net.ipv4.tcp_nonsense=1`\n",
            "sysctl tcp_nonsense, which the guest kernel does not have",
        ),
        (
            "`sysctl -q net.ipv4.tcp_ecn=9`\n",
            "sysctl tcp_ecn=9, which the guest kernel refuses (EINVAL)",
        ),
        (start + "+0 setsockopt(3, SOL_TCP, TCP_MAGIC, [1], 4) = 0\n", 'the name "TCP_MAGIC"'),
        (start + "+0 %{ print(tcpi_state) }%\n", "the state of a connection that does not exist"),
    ]:
        found = played(text, tmp_path)
        assert (found.result, found.reason) == ("not-applicable", reason)


@needs_kernel
def test_a_route_has_an_effect(tmp_path: Path) -> None:
    connected = "\n".join(WAITING.splitlines()[:3] + WAITING.splitlines()[4:7]) + "\n"
    window = "+0 accept(3, ..., ...) = 4\n+0 %{ assert tcpi_snd_cwnd == 4, tcpi_snd_cwnd }%\n"
    route = "`ip route change 192.0.2.0/24 dev tun0 initcwnd 4 congctl reno`\n"
    found = played(route + connected + window, tmp_path)
    assert found.result == "pass", str(found)
    assert played(connected + window, tmp_path).result == "fail"


@needs_kernel
def test_the_command_compares_and_repeats(airlane: Airlane) -> None:
    chosen = [ROOT / "tests/packetdrill" / name for name in ("nagle.pkt", "receive-window.pkt")]
    done = airlane("packetdrill", "--kernel", VERSION, "--both", *chosen)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["folder", "of", "pass", "fail", "not", "applicable", "differ"]
    assert lines[1].split()[1:] == ["simulated", "2", "0", "0"]
    assert lines[2].split()[1:] == [VERSION, "1", "1", "0", "1"]
    again = airlane("packetdrill", "--kernel", VERSION, "--both", *chosen)
    assert again.stdout == done.stdout  # with the kernel's timestamps in the reasons
    found = json.loads(airlane("packetdrill", "--kernel", VERSION, "--both", "--json", *chosen).stdout)
    assert (found["simulated"]["pass"], found[VERSION]["pass"], found[VERSION]["fail"]) == (2, 1, 1)
    assert airlane("packetdrill", "--kernel", VERSION, chosen[0]).returncode == 0


@needs_kernel
def test_the_outside_corpus_on_the_kernel() -> None:
    folder = os.environ.get(CORPUS)
    if folder is None:
        pytest.skip(f"{CORPUS} names no folder with packetdrill scripts of the Linux kernel")
    results = [packetdrill.play(script, kernel=VERSION) for script in sorted(Path(folder).glob("*.pkt"))]
    assert results, f"{CORPUS}: {folder} has no scripts (*.pkt)"
    failed = {Path(each.path).name for each in results if each.result == "fail"}
    assert failed <= OUTSIDE_FAILING, "\n".join(str(each) for each in results if each.result == "fail")
