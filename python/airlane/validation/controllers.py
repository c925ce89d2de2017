"""Copa and Vivace on one wired link, compared with the code of their authors over a virtual link.

The reference is another program with the same rate, round trip, queue and packets. The crate
`airlane-transport` has tests of the controllers alone, of Copa against the steps of mvfst.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from airlane import native, stats
from airlane.runs import arrays
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family, Row, band_to_runs
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.transport import TcpCase

__all__ = ["Link", "Reference", "delay", "flow_text", "jain", "plan"]

_HEADERS = 52
"""Size of the headers of IP and TCP with timestamps, in bytes."""

_LINK = """\
network = "wired"

[run]
duration = "{duration_s} s"
warmup = "{warmup_s} s"

[internet]
rate = "{rate_mbps} Mbit/s"
uplink_rate = "{rate_mbps} Mbit/s"
delay = "{delay_ms:g} ms"
queue = "{queue:.0f} B"
loss = "{loss_percent} %"
"""

_FLOW = """
[[flow]]
name = "flow-{index}"
app = "bulk"
start = "{start_s} s"

[flow.transport]
kind = "{stack}"
congestion = "{law}"
mtu = "{packet} B"
{transport}
{keys}
"""

_TRANSPORT = {
    "tcp": 'delayed_ack = false\nreceive_window = { kind = "fixed", size = "16 MB" }',
    "quic": 'stream_window = "16 MB"\nsend_window = "32 MB"',
}
"""Over TCP, an acknowledgment of each packet, as the reference has; windows that do not limit."""

_BETWEEN_STARTS_S = 5


def flow_text(index: int, stack: str, law: str, packet: int, keys: str = "", start_s: int = 0) -> str:
    """An endless flow of a controller over `tcp` or `quic`, as TOML.

    Parameters
    ----------
    packet
        Size of a packet on the wire, in bytes.
    keys
        Other keys of the transport, as TOML.
    """
    return _FLOW.format(
        index=index,
        start_s=start_s,
        stack=stack,
        law=law,
        packet=packet,
        transport=_TRANSPORT[stack],
        keys=keys,
    )


@dataclass(frozen=True)
class Reference:
    """The runs of the authors' code.

    Attributes
    ----------
    law
        The controller.
    packet
        Size of a packet on the wire, in bytes.
    """

    law: str
    packet: int

    @property
    def on_wire(self) -> float:
        """Bytes on the wire for each byte of payload, which is what the goodput counts."""
        return self.packet / (self.packet - _HEADERS)


COPA = Reference("copa", 1468)
VIVACE = Reference("vivace", 1500)


@dataclass(frozen=True)
class Link:
    """Flows of a controller on a link.

    Attributes
    ----------
    of
        A row of `data/field/copa.csv`, whose mode is a setting of Copa, or of `data/field/vivace.csv`.
    reference
        Whose row it is.
    stack
        `tcp` or `quic`.
    """

    of: Mapping[str, str]
    reference: Reference = COPA
    stack: str = "tcp"

    @property
    def flows(self) -> int:
        """Number of flows."""
        return int(self.of["flows"])

    @property
    def name(self) -> str:
        """Its name in an id."""
        of = self.of
        mode = f"-{of['mode']}" if "mode" in of else ""
        if self.flows > 1:
            return f"{self.flows}-flows{mode}"
        if float(of["loss_percent"]) > 0.0:
            return f"{of['loss_percent']}%"
        return f"{of['rate_mbps']}mbps-{of['rtt_ms']}ms-{of['queue_bdp']}bdp{mode}"

    def scenario(self) -> Scenario:
        """The scenario."""
        of = self.of
        rate_mbps, rtt_ms = float(of["rate_mbps"]), float(of["rtt_ms"])
        lossy = float(of["loss_percent"]) > 0.0
        duration_s, warmup_s = (120, 60) if self.flows > 1 else (60 if lossy else 40, 10)
        text = _LINK.format(
            duration_s=duration_s,
            warmup_s=warmup_s,
            rate_mbps=of["rate_mbps"],
            delay_ms=rtt_ms / 2,
            queue=float(of["queue_bdp"]) * rate_mbps * 1e6 / 8 * rtt_ms / 1e3,
            loss_percent=of["loss_percent"],
        )
        keys = ""
        if "mode" in of:
            keys = f"copa_mode_switching = {'true' if of['mode'] == 'switching' else 'false'}"
        for index in range(self.flows):
            start_s = _BETWEEN_STARTS_S * index
            text += flow_text(index, self.stack, self.reference.law, self.reference.packet, keys, start_s)
        return loads(text, f"<{self.name}>")


def _rate(reference: Reference, output: native.Output) -> float:
    """Sum of the rates of all flows on the wire, in Mbit/s."""
    return reference.on_wire * float(arrays.numbers(output.tables["flows"]["goodput_mbps"]).sum())


def delay(_: object, output: native.Output) -> float:
    """95th percentile of the one-way delay of the first flow, in ms."""
    return float(output.tables["flows"]["owd_p95_ms"][0].as_py())


def jain(_: object, output: native.Output) -> float:
    """Jain's index of the rates of all flows."""
    return float(stats.jain(arrays.numbers(output.tables["flows"]["goodput_mbps"])))


_FIGURES: dict[str, tuple[str, Callable[[Reference, native.Output], float]]] = {
    "rate": ("Mbit/s", _rate),
    "95 % delay": ("ms", delay),
    "rate with losses": ("Mbit/s", _rate),
    "rate with losses in acknowledgments": ("Mbit/s", _rate),
    "sum of rates": ("Mbit/s", _rate),
    "Jain's index": ("index", jain),
}
"""Unit and measure of a figure of the reference."""


@dataclass(frozen=True)
class _Range(TcpCase):
    """A case whose band reaches to the end of the reference's own runs on the side of ours.

    Attributes
    ----------
    runs
        The range of these runs, of which `reference` is the mean; None for one run.
    """

    runs: tuple[float, float] | None = None

    def row(self, family: Family, outputs: Sequence[native.Output]) -> Row:
        """Judge the runs of this case."""
        ours = stats.estimate([self.figure(output) for output in outputs]).mean
        band = band_to_runs(self.reference, ours, family.band, self.runs)
        return super().row(replace(family, band=band), outputs)


def _case(family: Family, link: Link) -> TcpCase:
    row = link.of
    unit, figure = _FIGURES[family.figure]
    runs, note = None, "one run of the reference"
    if row["runs"] != "1":
        runs = float(row["low"]), float(row["high"])
        note = f"their {row['runs']} runs {row['low']} to {row['high']}"
    return _Range(
        id=f"{family.id}/{link.name}",
        unit=unit,
        reference=float(row["value"]),
        setups=(link,),
        figure=partial(figure, link.reference),
        note=note,
        runs=runs,
    )


def plan(family: Family, reference: Reference, stack: str = "tcp") -> Plan:
    """The figure that the family names, of each link of the reference that has it."""
    rows = [row for row in reference_rows(family.reference) if row["figure"] == family.figure]
    return Plan(cases=[_case(family, Link(row, reference, stack)) for row in rows])


for _reference in (COPA, VIVACE):
    MEASURES[_reference.law] = partial(plan, reference=_reference)
    MEASURES[f"{_reference.law}_quic"] = partial(plan, reference=_reference, stack="quic")
