"""Mahimahi, Rattan, and two namespaces joined by a veth pair with nothing between: each as a `World`."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import live_world
from live_world import Measured, Setting, World

# Mahimahi's packets carry the 4 bytes of the TUN device's header, and its opportunities have 1504 bytes, so
# that one is a packet of 1500 (PACKET_SIZE, src/frontend/link_queue.hh).
OPPORTUNITY_BYTES = 1500
# The innermost command: a process that only holds the namespace.
HOLD = "exec sleep 86399"
UNPRIVILEGED = "65534"


def trace(rate_mbps: int) -> str:
    """A trace of constant rate: the least number of milliseconds that holds a whole number of packets."""
    bits = OPPORTUNITY_BYTES * 8
    period_ms = next(ms for ms in range(1, bits + 1) if rate_mbps * 1000 * ms % bits == 0)
    packets = rate_mbps * 1000 * period_ms // bits
    return "".join(f"{-(-(k + 1) * period_ms // packets)}\n" for k in range(packets))


def holder(pids: list[int]) -> int | None:
    """The process of `HOLD` among `pids`."""
    return next((pid for pid in pids if live_world.name_of(pid) == "sleep"), None)


@contextlib.contextmanager
def veth(setting: Setting) -> Iterator[World]:
    """The upper bound of the machine: no emulator."""
    del setting
    script = """
    ip link set lo up
    unshare --net bash -c 'exec sleep 86399' &
    inner=$!
    until [ "$(cat /proc/$inner/comm)" = sleep ]; do sleep 0.02; done
    ip link add name near type veth peer name far netns $inner
    ip address add 10.9.0.1/24 dev near; ip link set near up
    in_far='ip link set lo up; ip address add 10.9.0.2/24 dev far; ip link set far up'
    nsenter --target $inner --net sh -c "$in_far"
    wait
    """
    with live_world.unshared(script) as outer:
        inner = live_world.wait_for(outer, "the veth pair", 10, holder)
        world = World(first(outer.pid), inner, "10.9.0.1", [])
        answer(world)
        yield world


@contextlib.contextmanager
def mahimahi(setting: Setting) -> Iterator[World]:
    """`mm-delay` outside and `mm-link` in it, as its own documents nest them."""
    live_world.need_root()
    delay = live_world.program("mm-delay", "mahimahi")
    link = live_world.program("mm-link", "mahimahi")
    script = """
    ip link set lo up
    mount -t tmpfs -o mode=755 tmpfs /mnt && echo 'nameserver 10.9.0.1' >/mnt/resolv.conf
    mount --bind /mnt/resolv.conf /etc/resolv.conf
    sysctl -qw net.ipv4.ip_forward=1
    setpriv --reuid $1 --regid $1 --clear-groups "${@:2}"
    """
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        Path(folder).chmod(0o755)
        opportunities = Path(folder) / "constant"
        opportunities.write_text(trace(setting.rate_mbps), encoding="utf-8")
        queues = []
        for direction in ("uplink", "downlink"):
            queues += [
                f"--{direction}-queue=droptail",
                f"--{direction}-queue-args=bytes={setting.queue_bytes}",
            ]
        path = str(opportunities)
        inner_link = [link, path, path, *queues, "--", "sh", "-c", HOLD]
        ready = 'until grep -q 1 /proc/sys/net/ipv4/ip_forward; do sleep 0.05; done; exec "$@"'
        command = [delay, str(setting.rtt_ms // 2), "sh", "-c", ready, "sh", *inner_link]
        if setting.rtt_ms == 0:
            command = inner_link
        outer = stack.enter_context(live_world.unshared(script, UNPRIVILEGED, *command))
        inner = live_world.wait_for(outer, "mm-link", 15, forwarding)
        below = descendants_named(outer.pid, ("mm-delay", "mm-link"))
        world = World(first(outer.pid), inner, base(inner), below)
        answer(world)
        yield world


def forwarding(pids: list[int]) -> int | None:
    """Switch forwarding on in the namespaces of `pids`; the process of `HOLD`, once it is there."""
    waiting = [pid for pid in pids if live_world.name_of(pid) == "sh"]
    for pid in waiting:
        command = live_world.inside(pid, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        subprocess.run(command, check=False, capture_output=True)
    return holder([pid for pid in pids if parent_name(pid) == "mm-link"])


def parent_name(pid: int) -> str:
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return live_world.name_of(int(status[1]))
    return ""


@contextlib.contextmanager
def rattan(setting: Setting) -> Iterator[World]:
    """`rattan link`, its templated channel: bandwidth, then delay."""
    live_world.need_root()
    binary = live_world.program("rattan", "rattan")
    script = """
    ip link set lo up
    mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /tmp
    exec "$@"
    """
    command = [binary, "link"]
    for direction in ("uplink", "downlink"):
        command += [f"--{direction}-bandwidth", f"{setting.rate_mbps}Mbps"]
        command += [f"--{direction}-queue", "droptail"]
        command += [f"--{direction}-queue-args", f'{{"byte_limit":{setting.queue_bytes}}}']
        if setting.rtt_ms:
            command += [f"--{direction}-delay", f"{setting.rtt_ms / 2:g}ms"]
    with live_world.unshared(script, *command, "--", "sh", "-c", HOLD) as outer:
        inner = live_world.wait_for(outer, "rattan", 15, holder)
        below = descendants_named(outer.pid, ("rattan",))
        world = World(first(outer.pid), inner, "10.2.1.1", below)
        answer(world)
        yield world


def first(outer: int) -> int:
    """The first process inside: `unshare` itself stays outside."""
    return live_world.descendants(outer)[0]


def descendants_named(outer: int, names: tuple[str, ...]) -> list[int]:
    return [pid for pid in live_world.descendants(outer) if live_world.name_of(pid) in names]


def base(inner: int) -> str:
    """The address of the outermost namespace."""
    environment = Path(f"/proc/{inner}/environ").read_bytes().split(b"\0")
    entry = next(entry for entry in environment if entry.startswith(b"MAHIMAHI_BASE="))
    return entry.partition(b"=")[2].decode()


def answer(world: World) -> None:
    """Returns when the path answers a ping."""
    for _ in range(50):
        once = live_world.inside(world.client, "ping", "-c", "1", "-W", "1", world.address)
        if subprocess.run(once, capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError(f"{world.address} does not answer through the emulator")


PEERS: dict[str, Callable[[Setting], AbstractContextManager[World]]] = {
    "nothing (veth)": veth,
    "Mahimahi": mahimahi,
    "Rattan": rattan,
}


def measure(name: str, setting: Setting) -> Measured:
    """One peer at one setting."""
    measured = Measured(name, setting.rate_mbps, setting.rtt_ms)
    try:
        with PEERS[name](setting) as world:
            world.prepare()
            least, mean = world.ping_ms()
            measured.rtt_bias_min_ms = least - setting.rtt_ms
            measured.rtt_bias_mean_ms = mean - setting.rtt_ms
            report, cpu = world.download()
            live_world.take(measured, report, cpu)
    except live_world.NotInstalledError as absent:
        measured.note = str(absent)
    except RuntimeError as failed:
        measured.note = f"failed: {failed}"
    return measured
