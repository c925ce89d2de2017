"""DualPI2 compared with the law of its coupling, with the share of a flood, and with Linux's queue of 2020.

The law is RFC 9332 section 2.1: the probability of classic signals is `(p_L / k)^2`, where `p_L` is the
probability of coupled marks in the L4S queue. Both are counted in the same run, so a row has its own
reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from airlane import native, stats
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, within

__all__ = ["CoupledCase", "Pair", "flood", "law", "law_slow", "pairs", "rest", "single"]

_COUPLING = 2.0
_WINDOW_PACKETS = 5.0
"""Window per classic flow, so that all rows have similar probabilities of some percent."""
_TARGET_MS = 15.0
_PACKET_BITS = 12_000.0
_LINK_MBPS = 20.0
"""The link of the rows with datagrams at a constant rate."""
_DATAGRAM_BYTES = 1500
_SEGMENT_SHARE = 1448 / 1500
"""Payload of TCP in a packet, with timestamps."""

_LINK = """\
network = "wired"
[run]
duration = "{end_s} s"
warmup = "{warmup_s} s"
[internet]
rate = "{rate_mbps:g} Mbit/s"
queue = "10 MB"
delay = "{delay_ms:g} ms"
[internet.aqm]
kind = "dualpi2"
{queue}
"""

_PROBE = """
[[flow]]
name = "probe"
app = {{ kind = "cbr", rate = "{rate_mbps:g} Mbit/s", payload = "{payload} B" }}
transport = {{ kind = "udp", ecn = "ect1" }}
"""

_TCP = """
[[flow]]
name = "{name}"
app = "bulk"
start = "{start_ms} ms"
{delay}
transport = {{ kind = "tcp", congestion = "{congestion}", ecn = {ecn} }}
"""


def _tcp(name: str, congestion: str, *, ecn: str, start_ms: int = 0, extra_ms: float = 0.0) -> str:
    delay = f'server_delay = "{extra_ms:g} ms"' if extra_ms else ""
    return _TCP.format(name=name, congestion=congestion, ecn=ecn, start_ms=start_ms, delay=delay)


@dataclass(frozen=True)
class Point:
    """Classic flows with ECN and a probe of the L4S queue, which is not marked for its own delay."""

    rate_mbps: float
    rtt_ms: float

    @property
    def flows(self) -> int:
        """Number of classic flows."""
        packets = self.rate_mbps * 1e3 * (self.rtt_ms + _TARGET_MS) / _PACKET_BITS
        return max(8, round(packets / _WINDOW_PACKETS))

    def scenario(self) -> Scenario:
        """The scenario."""
        queue = f'threshold = "10 s"\ncoupling = {_COUPLING}'
        text = _LINK.format(
            end_s=70, warmup_s=20, rate_mbps=self.rate_mbps, delay_ms=self.rtt_ms / 2, queue=queue
        )
        text += _PROBE.format(rate_mbps=min(1.0, self.rate_mbps / 10), payload=200)
        for i in range(self.flows):
            text += _tcp(f"classic-{i}", "newreno", ecn="true", start_ms=13 * i)
        return loads(text, f"<coupling at {self.rate_mbps:g} Mbit/s, {self.rtt_ms:g} ms>")


@dataclass(frozen=True)
class Flood:
    """One CUBIC flow next to datagrams with ECT(1) at a rate that does not respond to marks."""

    rate_mbps: float
    flood: float

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _LINK.format(end_s=60, warmup_s=20, rate_mbps=self.rate_mbps, delay_ms=10, queue="")
        text += _PROBE.format(rate_mbps=self.rate_mbps * self.flood, payload=_DATAGRAM_BYTES - 28)
        return loads(text + _tcp("classic", "cubic", ecn="false"), "<flood>")


@dataclass(frozen=True)
class Pair:
    """Flows over DualPI2 as in a row of `data/l4s`: one or two controllers and round-trip times.

    CUBIC has no ECN. The queue is that of 2020: a delay marks a packet only while another one waits.
    """

    rate_mbps: float
    rtts_ms: tuple[float, ...]
    end_s: int
    warmup_s: int
    controllers: tuple[str, ...] = ("cubic", "cubic")

    def scenario(self) -> Scenario:
        """The scenario."""
        least = min(self.rtts_ms)
        text = _LINK.format(
            end_s=self.end_s,
            warmup_s=self.warmup_s,
            rate_mbps=self.rate_mbps,
            delay_ms=least / 2,
            queue="min_packets = 1",
        )
        for i, (rtt_ms, law) in enumerate(zip(self.rtts_ms, self.controllers, strict=False)):
            ecn = '"accurate"' if law == "prague" else "false"
            extra = (rtt_ms - least) / 2
            text += _tcp(f"{law}-{i}", law, ecn=ecn, start_ms=100 * i, extra_ms=extra)
        return loads(text, "<flows over DualPI2>")


def _column(output: native.Output, column: str) -> list[float]:
    return [float(value) for value in output.tables["flows"][column].to_numpy()]


def _probabilities(output: native.Output) -> tuple[float, float]:
    """Marks over packets: of the probe, and of the classic flows together."""
    marked, passed = _column(output, "marked"), _column(output, "packets_delivered")
    lost = _column(output, "packets_lost")
    seen = [a + b for a, b in zip(passed, lost, strict=True)]
    return marked[0] / seen[0], (sum(marked[1:]) + sum(lost[1:])) / sum(seen[1:])


@dataclass(frozen=True)
class CoupledCase:
    """A row whose reference comes from the same runs."""

    id: str
    unit: str
    setup: Point | Flood
    figures: Callable[[native.Output], tuple[float, float]]
    note: str = ""

    def jobs(self, family: Family) -> list[native.Job]:
        """Resolved scenario with each seed."""
        resolved = self.setup.scenario().resolved
        return [(resolved, seed) for seed in range(1, family.seeds + 1)]

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        both = [self.figures(output) for output in outputs]
        reference = stats.estimate([figure[0] for figure in both]).mean
        ours = stats.estimate([figure[1] for figure in both])
        return Row(
            id=f"{family.id}/{self.id}",
            unit=self.unit,
            reference=reference,
            ours=ours.mean,
            band=family.band,
            ok=within(reference, ours.mean, family.band),
            note=self.note,
            counted=family.counted,
            ci95=ours.half_width,
            n=ours.n,
        )


def _law(output: native.Output) -> tuple[float, float]:
    l4s, classic = _probabilities(output)
    return 100.0 * (l4s / _COUPLING) ** 2, 100.0 * classic


def _over(rates_mbps: Sequence[float]) -> list[CoupledCase]:
    points = [Point(rate, rtt) for rate in rates_mbps for rtt in (10.0, 40.0, 100.0)]
    return [
        CoupledCase(
            f"{p.rate_mbps:g}mbps-{p.rtt_ms:g}ms", "% of packets", p, _law, f"{p.flows} classic flows"
        )
        for p in points
    ]


def law(_: Family) -> list[CoupledCase]:
    """The coupling over a grid of rates and round-trip times."""
    return _over((12.0, 40.0, 120.0))


def law_slow(_: Family) -> list[CoupledCase]:
    """The same at a rate at which a window is a few packets."""
    return _over((4.0,))


def _kept(output: native.Output) -> tuple[float, float]:
    """Loss of the flood and of the classic flow, in percent of their packets."""
    lost, passed = _column(output, "packets_lost"), _column(output, "packets_delivered")
    shares = [100.0 * a / (a + b) for a, b in zip(lost, passed, strict=True)]
    return shares[0], shares[1]


def flood(_: Family) -> list[CoupledCase]:
    """A flood loses the same share of its packets as a classic flow next to it."""
    return [
        CoupledCase(f"{share:g}x", "% lost", Flood(_LINK_MBPS, share), _kept, "flood: reference")
        for share in (1.5, 2.0)
    ]


def _rest(share: float) -> Callable[[native.Output], tuple[float, float]]:
    """What datagrams leave of the link, as payload of TCP, and the goodput of the classic flow."""
    datagrams = _LINK_MBPS * share * _DATAGRAM_BYTES / (_DATAGRAM_BYTES - 28)
    left = (_LINK_MBPS - datagrams) * _SEGMENT_SHARE
    return lambda output: (left, _column(output, "goodput_mbps")[1])


def rest(_: Family) -> list[CoupledCase]:
    """A classic flow gets what datagrams of the L4S queue leave of the link, if they leave something."""
    return [
        CoupledCase(f"{share:g}x", "Mbit/s", Flood(_LINK_MBPS, share), _rest(share))
        for share in (0.2, 0.5, 0.8)
    ]


def _selected(family: Family) -> list[dict[str, str]]:
    rows = reference_rows(family.reference)
    return [row for row in rows if all(row[column] == value for column, value in family.where.items())]


def single(family: Family) -> tuple[Pair, float]:
    """One flow over 20 Mbit/s and 160 ms, and the goodput of the measurement, from the same second on."""
    (row,) = _selected(family)
    warmup_s = round(float(row["from_s"]))
    pair = Pair(float(row["rate_mbps"]), (float(row["rtt_ms"]),), 120, warmup_s, (row["cc"],))
    return pair, float(row["goodput_mbps"])


def pairs(family: Family) -> list[tuple[str, Pair, float]]:
    """Two flows: the share of the first, in percent."""
    found = []
    for row in _selected(family):
        rate = float(row["rate_mbps"])
        laws = (row["cc1"], row["cc2"])
        rtts = (float(row["rtt1_ms"]), float(row["rtt2_ms"]))
        first, second = float(row["rate1_mbps"]), float(row["rate2_mbps"])
        first_is = "" if laws[0] == laws[1] else f"{laws[0]}-first-"
        name = f"{rate:g}mbps-{first_is}{rtts[0]:g}ms-{rtts[1]:g}ms"
        found.append((name, Pair(rate, rtts, 120, 60, laws), 100.0 * first / (first + second)))
    return found
