"""Runs with a guest kernel. `make test-kernel` builds it first; without one, these tests are skipped."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import airlane as package
from airlane.runs import kernel
from conftest import Airlane

VERSION = "6.12"

pytestmark = pytest.mark.skipif(
    all(one.name != VERSION for one in kernel.installed()),
    reason=f"NO KERNEL: `make test-kernel` builds Linux {VERSION} and runs these tests",
)

CELL = """\
network = "typical"
[run]
duration = "4 s"
seed = 7
[output]
pcap = ["server", "ue"]
snaplen = "128 B"
[[cell]]
name = "a"
[channel]
fading = { model = "eva", speed = "30 km/h" }
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "kernel", congestion = "cubic" }
"""


def digests(folder: Path) -> dict[str, str]:
    """Hashes of the captures of a run."""
    files = sorted((folder / "pcap").rglob("*.pcapng"))
    assert files
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def leftovers(folder: Path) -> list[str]:
    """Processes whose working folder was that of a guest in this folder for temporary files."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            where = os.readlink(process / "cwd")
        except OSError:
            continue
        if where.startswith(f"{folder}/") and "airlane-guest-" in where:
            found.append(f"{process.name} in {where}")
    return found


@pytest.fixture(autouse=True)
def nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No process of a guest outlives a test."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    yield
    end = time.monotonic() + 5
    while leftovers(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert leftovers(tmp_path) == []


def test_captures_repeat_in_five_runs_two_folders_and_two_cores(airlane: Airlane, tmp_path: Path) -> None:
    other = tmp_path / "another folder with a longer name"
    other.mkdir()
    file = tmp_path / "k.toml"
    file.write_text(CELL)
    cores = sorted(os.sched_getaffinity(0))
    found = []
    for turn in range(5):
        where = other if turn % 2 else tmp_path
        out = where / f"run-{turn}"
        command = [sys.executable, "-m", "airlane", "run", str(file), "--pcap", "-o", str(out)]
        core = {cores[turn % len(cores)]}
        subprocess.run(
            command,
            cwd=where,
            check=True,
            capture_output=True,
            env={**os.environ, "TMPDIR": str(where)},
            preexec_fn=partial(os.sched_setaffinity, 0, core),
        )
        found.append(digests(out))
    assert found == [found[0]] * 5
    seed = airlane("run", file, "--pcap", "--seed", "8", "-o", tmp_path / "other-seed")
    assert seed.returncode == 0, seed.stderr
    different = digests(tmp_path / "other-seed")
    assert all(different[name] != found[0][name] for name in different)


def test_results_are_those_of_any_flow(tmp_path: Path) -> None:
    results = package.loads(CELL).run()
    flow = results.flows.to_pylist()[0]
    assert (flow["kind"], flow["congestion"]) == ("kernel", "cubic")
    # 20 MHz without control channels carry at most 75 Mbit/s (MCS 28, 100 PRBs: 75,376 bits in each slot).
    assert 10 < flow["goodput_mbps"] < 75.4
    assert flow["rtt_min_ms"] > 2 * 10  # the preset's delay of the internet link, in both directions
    series = results.tables["flow_series"]
    assert {"cwnd_bytes", "srtt_ms", "pacing_mbps", "delivery_mbps"} <= set(series.column_names)
    window = [value for value in series["cwnd_bytes"].to_pylist() if value is not None and value == value]
    assert len(window) > 30
    assert max(window) > 10 * 1448
    facts = results.meta[0]["kernel"]["guests"][0]
    assert facts["kernel"] == VERSION
    assert facts["release"].startswith(VERSION)
    assert results.inputs[f"kernel {VERSION}/linux"] == kernel.find(VERSION).sha256["linux"]


def test_a_finite_transfer_completes_and_an_idle_guest_costs_nothing() -> None:
    text = CELL.replace('"4 s"', '"1000 s"', 1).replace(
        'to = "phone"', 'to = "phone"\napp = { kind = "fixed", size = "1 MB" }', 1
    )
    settings = {"run.series_bin": "1000 s", "output.pcap": [], "channel.fading": "none"}
    results = package.loads(text).set(settings).run()
    flow = results.flows.to_pylist()[0]
    assert flow["bytes_delivered"] == 1_000_000
    assert 0.1 < flow["fct_s"] < 2
    # After the transfer, only the guest's own timers call it: less than one turn in two seconds.
    assert results.meta[0]["kernel"]["guests"][0]["turns"] < 5_000


def test_ten_flows_share_one_guest() -> None:
    text = CELL.replace('name = "phone"', 'name = "phone"\ncount = 10', 1).replace('"4 s"', '"2 s"', 1)
    results = package.loads(text).set({"output.pcap": []}).run()
    assert len(results.meta[0]["kernel"]["guests"]) == 1
    assert results.flows.num_rows == 10
    assert all(row["bytes_delivered"] > 100_000 for row in results.flows.to_pylist())


@pytest.mark.parametrize("congestion", ["reno", "bbr", "vegas", "westwood", "veno", "scalable", "dctcp"])
def test_other_congestion_controls(congestion: str) -> None:
    settings = {
        "flow.0.transport.congestion": congestion,
        "flow.0.transport.sysctl": {"tcp_ecn": 1},
        "output.pcap": [],
        "run.duration": "2 s",
    }
    flow = package.loads(CELL).set(settings).run().flows.to_pylist()[0]
    assert flow["congestion"] == congestion
    assert flow["bytes_delivered"] > 100_000


@pytest.mark.parametrize("ends", ["server", "ue"])
@pytest.mark.parametrize("direction", ["downlink", "uplink"])
def test_one_end_can_be_the_simulated_tcp(ends: str, direction: str) -> None:
    settings = {
        "flow.0.transport.ends": ends,
        "flow.0.transport.peer": {"congestion": "newreno"},
        "flow.0.direction": direction,
        "flow.0.app": {"kind": "fixed", "size": "1 MB"},
        "output.pcap": [],
    }
    results = package.loads(CELL).set(settings).run()
    flow = results.flows.to_pylist()[0]
    assert flow["bytes_delivered"] == 1_000_000
    assert 0.1 < flow["fct_s"] < 3
    of_kernel = (ends == "server") == (direction == "downlink")
    assert flow["congestion"] == ("cubic" if of_kernel else "newreno")
    window = results.tables["flow_series"]["cwnd_bytes"].to_numpy()
    assert np.nanmax(window) > 10 * 1448


def test_requests_are_answered_at_their_interval() -> None:
    requests = {"request": "200 B", "reply": "30 kB", "count": 5, "interval": "500 ms"}
    settings = {"flow.0.transport.requests": requests, "output.pcap": []}
    results = package.loads(CELL).set(settings).run()
    ((flow, times),) = results.meta[0]["kernel"]["replies_ms"]
    assert (flow, len(times)) == ("flow-1", 5)
    # At least a round trip; 30 kB are 21 segments, which the initial window of ten sends in two round trips.
    assert times[0] > 2 * results.flows.to_pylist()[0]["rtt_min_ms"]
    assert all(40 < time < 500 for time in times)
    series = results.tables["flow_series"]
    answered = series["t_s"].to_numpy()[series["goodput_mbps"].to_numpy() > 0]
    assert np.max(answered) < 2.5  # the fifth begins 2 s after the first


def python(script: str) -> str:
    """A command of one line: the folder for temporary files is not that of the machine."""
    # A virtual environment may be in /tmp, which programs of a guest do not see.
    interpreter = Path(sys.executable).resolve()
    return f"{interpreter} -c 'import sys; exec(bytes.fromhex(sys.argv[1]))' {script.encode().hex()}"


def test_programs_of_the_machine_run_at_both_ends() -> None:
    server = (
        "import socket\n"
        "s = socket.create_server(('10.0.0.1', 9000))\n"
        "c, _ = s.accept()\n"
        "print('got', len(c.makefile('rb').read()))\n"
    )
    client = "import socket\nc = socket.create_connection(('10.0.0.1', 9000))\nc.sendall(bytes(50000))\n"
    exec_ = {"server": python(server), "ue": python(client)}
    settings = {
        "flow.0.transport.exec": exec_,
        "output.pcap": [],
        "flow.0.start": "1 s",
        "run.duration": "6 s",
    }
    results = package.loads(CELL).set(settings).run()
    facts = results.meta[0]["kernel"]
    assert ["flow-1", "server", "got 50000\n"] in facts["output"]
    assert sorted(code for _, _, code in facts["exits"]) == [0, 0]


def test_what_the_kernel_lacks_is_named(airlane: Airlane, tmp_path: Path) -> None:
    (tmp_path / "k.toml").write_text(CELL)
    failed = airlane("run", "k.toml", "--set", "flow.0.transport.congestion=prague")
    assert failed.returncode == 2
    assert "congestion control prague" in failed.stderr
    failed = airlane("run", "k.toml", "--set", "flow.0.transport.sysctl.tcp_nonsense=1")
    assert failed.returncode == 2
    assert "sysctl net.ipv4.tcp_nonsense=1" in failed.stderr
    failed = airlane("run", "k.toml", "--set", 'flow.0.transport.kernel="5.0"')
    assert failed.returncode == 2
    assert "airlane kernel build 5.0" in failed.stderr


def tried(
    tmp_path: Path,
    *settings: str,
    before: Sequence[str] = (),
    preexec: Callable[[], None] | None = None,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """A run that ends by itself within a minute."""
    (tmp_path / "k.toml").write_text(CELL)
    sets = [word for setting in settings for word in ("--set", setting)]
    return subprocess.run(
        [*before, sys.executable, "-m", "airlane", "run", "k.toml", *sets],
        cwd=tmp_path,
        env={**os.environ, **environment},
        preexec_fn=preexec,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def begin(tmp_path: Path, **environment: str) -> subprocess.Popen[str]:
    """A long run in another process, whose guest has started."""
    file = tmp_path / "long.toml"
    file.write_text(CELL.replace('"4 s"', '"3000 s"', 1))
    command = [sys.executable, "-m", "airlane", "run", str(file), "-o", str(tmp_path / "out")]
    environment = {**os.environ, "TMPDIR": str(tmp_path), **environment}
    run = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=environment)
    end = time.monotonic() + 60
    while not list(tmp_path.glob("airlane-guest-*/kernel.log")) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(2)
    assert run.poll() is None
    return run


def guests(tmp_path: Path) -> list[int]:
    """The processes of guests, the kernel itself first."""
    found = [int(line.split()[0]) for line in leftovers(tmp_path)]
    return sorted(found)


def test_a_killed_guest_is_reported(tmp_path: Path) -> None:
    run = begin(tmp_path)
    os.kill(guests(tmp_path)[0], 9)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 1
    assert "the guest kernel was killed" in errors
    assert "SIGKILL" in errors


def test_a_stopped_guest_is_found_by_the_watchdog(tmp_path: Path) -> None:
    run = begin(tmp_path, AIRLANE_KERNEL_WATCHDOG="2")
    for process in guests(tmp_path):
        os.kill(process, 19)  # SIGSTOP: it does nothing from here on, as in an endless loop
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 1
    assert "the guest kernel hangs" in errors
    assert "2 s of real time (its process is stopped by a signal" in errors
    assert "awaited: its next message" in errors


def test_a_stopped_guest_does_not_delay_the_end_of_a_cancelled_run(tmp_path: Path) -> None:
    run = begin(tmp_path)
    for process in guests(tmp_path):
        os.kill(process, signal.SIGSTOP)
    time.sleep(0.3)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=20)
    assert run.returncode == 130


def test_a_guest_that_was_asked_to_end_is_reported(tmp_path: Path) -> None:
    run = begin(tmp_path)
    os.kill(guests(tmp_path)[0], signal.SIGTERM)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 1
    # It halts, or panics on its way there: its clock does not go on.
    assert "the guest kernel" in errors
    assert "hangs" not in errors


def test_nothing_is_left_of_a_run_that_is_killed(tmp_path: Path) -> None:
    run = begin(tmp_path)
    run.kill()
    run.communicate(timeout=30)


def test_a_program_in_an_endless_loop_is_found_by_the_watchdog(tmp_path: Path) -> None:
    loop = '{ server = "while :; do :; done", ue = "true" }'
    failed = tried(tmp_path, f"flow.0.transport.exec={loop}", AIRLANE_KERNEL_WATCHDOG="2")
    assert failed.returncode == 1
    assert "the guest kernel hangs" in failed.stderr


def test_a_flood_is_reported(tmp_path: Path) -> None:
    # A raw socket: neither the program nor the kernel reads the clock for a frame.
    script = (
        "import socket\n"
        "raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)\n"
        "raw.bind(('eth1', 0))\n"
        "while True:\n"
        "    raw.send(bytes(12) + bytes([0x88, 0xb6]) + bytes(46))\n"
    )
    programs = f'{{ server = "{python(script)}", ue = "true" }}'
    failed = tried(tmp_path, f"flow.0.transport.exec={programs}")
    assert failed.returncode == 1
    assert "the guest kernel floods" in failed.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="it mounts a file system, as root")
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("size=4M", ("there is no space for the memory of the guest", "/dev/shm")),
        ("noexec", ("mount -o remount,exec /dev/shm",)),
    ],
)
def test_memory_that_a_guest_cannot_use(option: str, said: tuple[str, ...], tmp_path: Path) -> None:
    mount = f"mount -t tmpfs -o {option} none /dev/shm && exec "
    failed = tried(tmp_path, before=["unshare", "-m", "sh", "-c", f'{mount} "$@"', "sh"])
    assert failed.returncode == 2
    assert all(part in failed.stderr for part in said), failed.stderr


def forbid_ptrace() -> None:
    """The next programs of this process may not call ptrace(2): a seccomp filter, as those of containers."""
    # BPF: load the number of the system call; 101 is ptrace (arch/x86/entry/syscalls/syscall_64.tbl).
    filters = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
    program = struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
    assert prctl(22, 2, program, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def test_a_machine_without_ptrace(tmp_path: Path) -> None:
    failed = tried(tmp_path, preexec=forbid_ptrace)
    assert failed.returncode == 2
    assert "the guest kernel cannot use ptrace" in failed.stderr
    assert "CAP_SYS_PTRACE" in failed.stderr


def kernel_without(tmp_path: Path, missing: str) -> Path:
    """The folder of a copy of the kernel, without one of its files."""
    own = tmp_path / "kernels" / VERSION
    own.mkdir(parents=True)
    for file in kernel.find(VERSION).folder.iterdir():
        if file.name != missing:
            (own / file.name).symlink_to(file)
    return own


def test_a_panic_is_reported_with_its_reason(tmp_path: Path) -> None:
    # The agent is the first program of the guest: its end is a panic.
    own = kernel_without(tmp_path, "agent")
    code = "int main(void) { return 3; }"
    subprocess.run(
        ["gcc", "-static", "-x", "c", "-", "-o", str(own / "agent")], input=code, text=True, check=True
    )
    failed = tried(tmp_path, AIRLANE_KERNELS=str(tmp_path / "kernels"))
    assert failed.returncode == 1
    assert "the guest kernel panicked" in failed.stderr
    assert "Attempted to kill init" in failed.stderr


def test_a_kernel_of_another_interface_is_refused(tmp_path: Path) -> None:
    own = kernel_without(tmp_path, "kernel.json")
    described = json.loads((kernel.find(VERSION).folder / "kernel.json").read_text())
    (own / "kernel.json").write_text(json.dumps({**described, "interface": 0}))
    failed = tried(tmp_path, AIRLANE_KERNELS=str(tmp_path / "kernels"))
    assert failed.returncode == 2
    assert "--force builds it again" in failed.stderr
