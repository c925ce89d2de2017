"""Points of the experiments on adaptive receive windows: the site of the paper `arwa`, schemes, open choices.

A point of a grid is a `Case`. Cases with the same simulation share its runs, also across experiments, because
runs are cached by everything that determines them.

`CHOICES` declares the readings of what the paper leaves open of the two schemes that it compares. They were
declared before the first comparison; every one is run and reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from airlane.experiments import ClaimKind

__all__ = [
    "BASE",
    "BEYOND",
    "CHOICES",
    "CLOCKS",
    "CONSTANTS",
    "NOTES",
    "OPEN_NOTES",
    "PAPER",
    "PAPER_QUEUE_B",
    "PRESETS",
    "QUICK",
    "READINGS",
    "SCHEMES",
    "TODAY",
    "USERS",
    "VIDEO",
    "WORDS",
    "Case",
    "Choice",
    "flow",
    "grid",
    "tcp",
    "whose",
]

PAPER, TODAY = "ns3.26", "linux"
"""The stack of the paper's simulator, and the one that most servers and phones use now."""

PRESETS = (PAPER, TODAY)

SCHEMES = ("drwa", "arwa", "autotuning")
"""Schemes that the paper compares."""

BEYOND = ("codel", "bbr3")
"""Schemes that it does not compare: CUBIC with CoDel in the RLC queues, and BBR version 3."""

USERS = (20, 40, 60, 80, 100)

PAPER_QUEUE_B = 51_200
"""Queue of a user in all experiments but the two that vary it (section 4.3.2)."""

WORDS = {
    "drwa": "DRWA",
    "arwa": "ARWA",
    "autotuning": "autotuning",
    "codel": "CUBIC + CoDel at the RLC",
    "bbr3": "BBRv3",
    "udp": "UDP",
}

VIDEO: dict[str, object] = {"kind": "cbr", "rate": "512 kbit/s", "payload": "1400 B"}
"""The video application of a user. Its rate is open: with this one, the 50 of a hundred users offer as much
as the site carries, which is where the paper says that the load exceeds it.
"""

_STAGGER_S = 5.0
"""Period over which the first packets of users are spread where they do not start together."""


READINGS: dict[str, dict[str, object]] = {
    "base": {},
    "cut in bytes": {"cut": "bytes"},
    "gain in bytes": {"gain": "bytes"},
    "case 2 unscaled": {"case_two": "difference"},
    "old code as estimated": {"old_code": "estimated"},
    "codes that change": {"obeys": "changes"},
    "slow start ends": {"slow_start": "ends"},
}
"""Readings of what the paper leaves open of ARWA: settings of its window, one different from the base each.

Base: a code reduces or increases by a percentage; the code of case 2 is scaled to the lower threshold; the
stored value of a reduced code is the reduced one; each code is applied; and slow start continues after one.
"""


@dataclass(frozen=True)
class Choice:
    """A reading of what the paper leaves open.

    Attributes
    ----------
    reading
        Key of `READINGS`.
    floor
        Smallest window that a DRWA receiver offers, in segments.
    start
        Whether all users start together, or at different times within 5 s.
    """

    reading: str = "base"
    floor: int = 2
    start: str = "together"

    @property
    def name(self) -> str:
        """Short name for points and claims."""
        return f"{self.reading.replace(' ', '_')}-{self.floor}mss-{self.start}"

    @property
    def short(self) -> str:
        """For a table with many columns: with non-breaking spaces."""
        return f"{self.reading}, {self.floor} MSS, {self.start}".replace(" ", "\N{NO-BREAK SPACE}")

    def __str__(self) -> str:
        return f"{self.reading}, DRWA's floor {self.floor} MSS, starts {self.start}"


BASE = Choice()

_STARTS = ("together", "staggered")

CHOICES = tuple(
    Choice(reading, floor, start)
    for reading, floor in [*((r, 2) for r in READINGS), ("base", 1)]
    for start in _STARTS
)
"""All combinations: sixteen. They were fixed before the first comparison."""

QUICK: dict[str, object] = {"run.duration": "6 s", "run.warmup": "3 s"}
"""Shortened by `--quick`: windows have not quite filled the queues by then."""

_CLOCKS = {
    "one": {"delay": "one-way"},
    "skewed": {"delay": "one-way", "clock_ahead": "50 ms"},
    "relative": {"delay": "relative"},
    "round-trip": {"delay": "round-trip"},
}

CLOCKS = {
    "one": "one-way delay, clocks agree",
    "skewed": "one-way delay, the receiver's clock 50 ms ahead",
    "relative": "how much later than the fastest, clocks need not agree",
    "round-trip": "round trip, clocks need not agree",
}
"""Delays that an ARWA receiver can measure; the paper has the first, and a simulator has one clock."""


def tcp(case: Case, scheme: str | None = None) -> dict[str, object]:
    """Transport of a user with a scheme, by default with the case's own.

    ARWA's sender is NewReno in either stack, since its second algorithm is written for it. The others have
    the stack's own controller.
    """
    scheme = scheme or case.scheme
    base: dict[str, object] = {"kind": "tcp", "preset": case.preset}
    fixed = {"kind": "fixed", "size": f"{case.buffer_kib} KiB"}
    smaller = case.preset == PAPER and case.buffer_kib != Case.buffer_kib
    buffer: dict[str, object] = {"buffer": fixed} if smaller else {}
    match scheme:
        case "autotuning" | "codel":
            return {**base, "receive_window": fixed} if smaller else base
        case "bbr3":
            return {**base, "congestion": "bbr3"}
        case "drwa":
            window = {"kind": "drwa", "floor": case.choice.floor, "lambda": case.drwa_lambda, **buffer}
            return {**base, "receive_window": window}
        case "arwa":
            window = {
                "kind": "arwa",
                "window_min": f"{case.cwnd_min_b} B",
                "upper_target": f"{case.cwnd_target_b} B",
                **buffer,
                **_CLOCKS[case.clock],
                **READINGS[case.choice.reading],
            }
            return {**base, "congestion": "newreno", "receive_window": window}
    raise ValueError(f"no scheme {scheme!r}; there are: {', '.join((*SCHEMES, *BEYOND))}")


@dataclass(frozen=True)
class Case:
    """One point: the users of the site's sectors, and their traffic.

    Attributes
    ----------
    scheme
        One of `SCHEMES` or `BEYOND`.
    users
        Number of users.
    queue_b
        Queue of a user at the eNB, in bytes.
    video
        Whether every second user gets video by UDP.
    cwnd_min_b, cwnd_target_b
        The two limits of an ARWA sender, in bytes.
    clock
        Delay measured by an ARWA receiver: see `CLOCKS`.
    buffer_kib
        Largest window of a receiver of `ns3.26`: its `RcvBufSize` of 128, or 64 in a reading.
    drwa_lambda
        The factor of DRWA: multiples of the smallest round trip at which its window is steady.
    blocks
        Resource blocks of each sector.
    duration_s, warmup_s
        Simulated time, and the warm-up in it, which is excluded.
    """

    scheme: str
    users: int = 40
    preset: str = PAPER
    choice: Choice = BASE
    queue_b: int = PAPER_QUEUE_B
    video: bool = False
    cwnd_min_b: int = 3000
    cwnd_target_b: int = 10_000
    clock: str = "one"
    buffer_kib: int = 128
    drwa_lambda: float = 3.0
    blocks: int = 25
    duration_s: int = 16
    warmup_s: int = 8

    @property
    def name(self) -> str:
        """Unique among the points of all experiments."""
        parts = (
            self.scheme,
            self.preset,
            self.users,
            f"{self.queue_b}B",
            "video" if self.video else "bulk",
            self.choice.name,
            f"{self.cwnd_min_b}-{self.cwnd_target_b}",
            self.clock,
            f"{self.buffer_kib}KiB",
            f"lambda{self.drwa_lambda:g}",
            f"{self.blocks}RB",
            f"{self.warmup_s}-{self.duration_s}s",
        )
        return "/".join(map(str, parts))

    @property
    def tcp_users(self) -> list[int]:
        """Numbers of the users with TCP, from 1."""
        return [n for n in range(1, self.users + 1) if not (self.video and n % 2 == 0)]

    def but(self, **changes: object) -> Case:
        """Return a variant of the case."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def overrides(self) -> dict[str, object]:
        """The settings of the case, on top of `arwa-cell`."""
        changes: dict[str, object] = {
            "run.duration": f"{self.duration_s} s",
            "run.warmup": f"{self.warmup_s} s",
            "run.series_bin": f"{self.duration_s} s",  # its course is not used
            "ue.0.count": self.users,
            "cell.0.rlc.buffer": f"{self.queue_b} B",
            "cell.0.resource_blocks": self.blocks,
        }
        if self.scheme == "codel":
            changes["cell.0.rlc.aqm"] = "codel"
        transport = tcp(self)
        staggered = self.choice.start == "staggered"
        if not (self.video or staggered):
            return {**changes, "flow.0.transport": transport}
        tcp_users = set(self.tcp_users)
        gap_s = _STAGGER_S / self.users if staggered else 0.0
        changes["flow"] = [
            flow(f"user-{n}", transport if n in tcp_users else None, start_s=(n - 1) * gap_s)
            for n in range(1, self.users + 1)
        ]
        return changes


def flow(
    user: str, transport: dict[str, object] | None, start_s: float = 0.0, **more: object
) -> dict[str, object]:
    """Flow to one user: a download, or video by UDP where there is no transport."""
    to: dict[str, object] = {"name": user, "to": user, "start": f"{start_s * 1000:g} ms", **more}
    if transport is None:
        return {**to, "app": VIDEO, "transport": "udp"}
    return {**to, "app": "bulk", "transport": transport}


def grid(cases: Iterable[Case]) -> dict[str, dict[str, object]]:
    """Grid of an experiment."""
    return {case.name: case.overrides for case in cases}


def whose(preset: str, choice: Choice = BASE) -> ClaimKind:
    """The kind of a claim about a stack and a choice: the paper's, or a reading of it."""
    return ClaimKind.PAPER if (preset, choice) == (PAPER, BASE) else ClaimKind.READING


CONSTANTS = {
    "arwa.constants.rwnd_codes_congested": "codes 1 to 100",
    "arwa.constants.rwnd_codes_underused": "codes 101 to 120",
    "arwa.constants.target_period_ms": "30 ms",
    "arwa.constants.counter_max": "15 segments",
    "arwa.constants.upper_threshold": "90 %",
    "arwa.constants.lower_threshold": "30 %",
    "arwa.constants.lowest_threshold": "20 %",
    "arwa.constants.cwnd_min_bytes": "3000 B",
    "arwa.constants.cwnd_upper_target_bytes": "10000 B",
}
"""Published numbers that are settings of the scheme here."""

OPEN_NOTES = (
    "The paper's Table 1, its settings, is lost. Taken instead, each being what ns-3 does if nothing is "
    "said: 25 resource blocks, proportional fair, Friis, no fading, RLC in unacknowledged mode (the only "
    "one whose queue has a bound in ns-3.26), segments of 536 bytes, a first window of one; 10 ms from "
    "gateway to server, as in lena-simple-epc.",
    "A packet delivery fraction counts what arrived and what was dropped, not what is under way when the "
    "run ends: of short runs, that would be a tenth.",
)
"""Applies to every experiment of the paper."""

NOTES = (*OPEN_NOTES, "Runs take 16 s, of which the last 8 are measured.")
