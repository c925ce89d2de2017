"""Delivery traces of a UE's capacity in a scenario, in Mahimahi's format.

There are two kinds, and each export names its kind:

- *share*: what the scheduler would have given the UE if it had always had data. The scenario is run again
  with the UE's own flows disabled and replaced by one UDP flow that sends more than the cell can carry; all
  other flows, the radio and the seed are unchanged. That flow comes from the server (or, in the uplink, from
  the UE), so a link that is narrower than the cell limits the trace; the export reports this.
- *delivered*: what the flows of the scenario got, including acknowledgments. If they did not keep the
  UE's queue filled, such a trace shows the flows and not the cell.

There is a line for each time, rounded up to the millisecond, at which another 1500 bytes of IP packets
had arrived completely. The trace's clock begins at the start of the cut. In the uplink bytes count at
their arrival at the server.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from airlane import native
from airlane.radio.trace import OPPORTUNITY_BYTES, ExportError, Trace, write_trace
from airlane.results import Results
from airlane.runs.members import members, suffixes
from airlane.scenario import Scenario, loads, seconds

__all__ = ["Exported", "check", "export"]

Direction = Literal["downlink", "uplink"]

_PROBE_PAYLOAD = 1472
"""A datagram of this payload is an IP packet of 1500 bytes: one opportunity."""

_PEAK_FACTOR = 2.2
"""The rate of the probe, relative to what one layer of the cell's whole band carries at MCS 28: more
than two layers.
"""


@dataclass(frozen=True)
class Exported:
    """A trace and its origin.

    Attributes
    ----------
    trace
        The opportunities.
    ue, direction
        The UE, and the direction.
    delivered
        True for the kind *delivered*, false for *share*.
    begin_s, end_s
        The part of the run that it covers.
    starved
        Share of the time bins at whose end the UE's queue at the eNB was empty, although the probe sent
        more than the cell can carry: a link before the cell limited it. `None` if not checked.
    """

    trace: Trace
    ue: str
    direction: Direction
    delivered: bool
    begin_s: float
    end_s: float
    starved: float | None

    @property
    def mean_mbps(self) -> float:
        """Mean rate over the part of the run that the trace covers."""
        return self.trace.bytes_in * 8 / (self.end_s - self.begin_s) / 1e6

    def describe(self) -> str:
        """Describe the trace as text."""
        reading = (
            f"what the flows of {self.ue} received ({self.direction}, acknowledgements included)"
            if self.delivered
            else f"what {self.ue} would receive if it always had data ({self.direction})"
        )
        text = (
            f"{reading}; {len(self.trace.stamps_ms):,} opportunities of 1500 bytes from {self.begin_s:g} s "
            f"to {self.end_s:g} s of the run, mean {self.mean_mbps:.2f} Mbit/s"
        )
        if self.starved:
            text += (
                f"\nnote: in {self.starved:.1%} of the bins its queue at the eNB was empty: "
                "a link before the cell is narrower than the cell, and the trace shows both"
            )
        return text


def export(
    scenario: Scenario,
    ue: str | None = None,
    direction: Direction = "downlink",
    *,
    delivered: bool = False,
    begin_s: float | None = None,
    seed: int | None = None,
) -> Exported:
    """Run a scenario and make a trace of a UE's capacity.

    Parameters
    ----------
    scenario
        A scenario with a cell.
    ue
        Name of the UE; a member of a group is `phone-2`. May be omitted if the scenario has one UE.
    direction
        Towards the UE or from it.
    delivered
        The kind: what its flows got, instead of what it could have got.
    begin_s
        Earlier deliveries are excluded; by default the warm-up.
    seed
        By default the scenario's.

    Raises
    ------
    ExportError
        If there is no such UE, or less than one opportunity.
    """
    ue = _only_ue(scenario.settings, ue)
    run = scenario if delivered else _with_flow(scenario, ue, _probe(scenario.settings, ue, direction))
    run = run.set(
        {"output.deliveries": True, "output.pcap": [], "output.ran_log": False, "output.qlog": False}
    )
    results = run.run(seed=seed)
    end_s = float(results.meta[0]["sim_s"])
    begin_s = seconds(scenario.settings["run"]["warmup"]) if begin_s is None else begin_s
    trace = _trace(results, ue, direction, begin_s)
    starved = None if delivered or direction == "uplink" else _starved(results, begin_s)
    return Exported(trace, ue, direction, delivered, begin_s, end_s, starved)


def _only_ue(settings: dict[str, Any], ue: str | None) -> str:
    """The UE of this name, or the only one if no name is given."""
    names = _ue_names(settings)
    if ue is None and len(names) == 1:
        return names[0]
    if ue not in names:
        there = f"there are: {', '.join(names[:20])}" if names else "a wired network has no UE"
        raise ExportError(f"--ue is missing; {there}" if ue is None else f"unknown UE {ue!r}; {there}")
    return ue


def _ue_names(settings: dict[str, Any]) -> list[str]:
    return [name for ue in settings["ue"] for name in members(ue)]


def _probe(settings: dict[str, Any], ue: str, direction: Direction) -> dict[str, Any]:
    """A flow that always has more data for the UE than the cell can carry."""
    peak_bps = max(_peak_bps(cell) for cell in settings["cell"])
    rate = f"{round(peak_bps * _PEAK_FACTOR / 1e3)} kbit/s"
    app = {"kind": "cbr", "rate": rate, "payload": f"{_PROBE_PAYLOAD} B"}
    return {"to": ue, "direction": direction, "app": app, "transport": {"kind": "udp"}, "start": "0 s"}


def _peak_bps(cell: dict[str, Any]) -> float:
    """Rate of the largest transport blocks of a layer of LTE, or of all layers of NR, in each slot."""
    radio = cell.get("radio") or {"kind": "lte"}
    prbs = cell["resource_blocks"]
    if radio["kind"] == "lte":
        return native.tbs_bits(28, prbs) * 1000.0
    slots_per_s = float(radio["subcarrier_spacing"].removesuffix(" kHz")) / 15 * 1000
    # 14 symbols of 12 subcarriers, of which 156 elements count; 256QAM with a code rate below one.
    return float(prbs * 156 * 8 * radio["mimo"]["layers"] * slots_per_s)


def _with_flow(scenario: Scenario, ue: str, flow: dict[str, Any]) -> Scenario:
    """The scenario with the UE's own flows disabled and another one added at the end.

    Groups are expanded, in their order, so that all others keep their names and numbers.
    """
    settings = scenario.settings
    groups = {u["name"]: suffixes(u) for u in settings["ue"] if u["count"] > 1}
    flows: list[dict[str, Any]] = []
    for i, section in enumerate(settings["flow"]):
        name = section["name"] or f"flow-{i + 1}"
        of_each = [(section["to"], name)]
        if section["to"] in groups:
            of_each = [(f"{section['to']}-{end}", f"{name}-{end}") for end in groups[section["to"]]]
        for to, member in of_each:
            own = {**section, "to": to, "name": member}
            if to == ue:  # it stays, so that numbers do not change, and starts after the end
                own |= {"start": settings["run"]["duration"], "stop": None}
            flows.append(own)
    taken = {f["name"] for f in flows}
    name = next(n for n in ("probe", *(f"probe-{k}" for k in range(len(flows) + 1))) if n not in taken)
    return scenario.set({"flow": [*flows, {**flow, "name": name}]})


def _trace(results: Results, ue: str, direction: Direction, begin_s: float) -> Trace:
    table = results.deliveries
    own = table.filter(
        pc.and_(pc.equal(table["ue"], pa.scalar(ue)), pc.equal(table["direction"], pa.scalar(direction)))
    )
    at_ms, ip_bytes = own["t_ms"].to_numpy(), own["ip_bytes"].to_numpy()
    begin_ms = round(begin_s * 1000)
    inside = at_ms > begin_ms
    at_ms, ip_bytes = at_ms[inside] - begin_ms, ip_bytes[inside]
    # There is an opportunity where the sum of all bytes reaches a multiple of 1500.
    filled = np.cumsum(ip_bytes) // OPPORTUNITY_BYTES
    stamps = np.repeat(at_ms, np.diff(filled, prepend=0))
    total = int(ip_bytes.sum())
    if stamps.size == 0:
        raise ExportError(
            f"{ue} received {total} bytes ({direction}), less than one opportunity of 1500 bytes"
        )
    return Trace([int(stamp) for stamp in stamps], total, total - OPPORTUNITY_BYTES * int(stamps.size))


def _starved(results: Results, begin_s: float) -> float:
    series = results.flow_series
    probe = results.flows["flow"][results.flows.num_rows - 1]
    after = pc.and_(pc.equal(series["flow"], probe), pc.greater(series["t_s"], pa.scalar(begin_s)))
    queue = series.filter(after)["rlc_queue_bytes"].to_numpy()
    # The first half second fills the queue.
    return float((queue[5:] == 0).mean()) if queue.size > 5 else 0.0


def check(
    scenario: Scenario, ue: str | None = None, direction: Direction = "downlink", *, seed: int | None = None
) -> Iterator[str]:
    """Run UDP and TCP (CUBIC) over the trace and over the cell, and report the differences.

    The trace starts with the run. Its link has the queue of the cell's bearer, and the propagation delay
    that gives the TCP flow the same minimum round trip as over the cell. Yields one line per transport.
    """
    exported = export(scenario, ue, direction, begin_s=0.0, seed=seed)
    ue = exported.ue
    probe = _probe(scenario.settings, ue, direction)
    bulk = {**probe, "app": {"kind": "bulk"}, "transport": {"kind": "tcp", "congestion": "cubic"}}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cell.trace"
        write_trace(exported.trace, file)
        for label, flow in (("UDP", probe), ("TCP CUBIC", bulk)):
            cell = _last(_with_flow(scenario, ue, flow).run(seed=seed))
            rtt_ms = 0.0 if label == "UDP" else cell["rtt_min_ms"]
            link = _last(_link(scenario, file, flow, rtt_ms).run(seed=seed))
            ratio = link["goodput_mbps"] / cell["goodput_mbps"]
            yield (
                f"{label}: {cell['goodput_mbps']:.3f} Mbit/s over the cell, "
                f"{link['goodput_mbps']:.3f} Mbit/s over the trace ({ratio - 1:+.2%}); "
                f"one-way delay {cell['owd_ms']:.1f} ms and {link['owd_ms']:.1f} ms"
            )


def _last(results: Results) -> dict[str, Any]:
    return results.flows.slice(results.flows.num_rows - 1).to_pylist()[0]


def _link(scenario: Scenario, trace: Path, flow: dict[str, Any], rtt_ms: float) -> Scenario:
    """A wired network whose link delivers according to the trace."""
    settings = scenario.settings
    rlc = settings["cell"][0]["rlc"]
    wired = loads('network = "wired"\n[[flow]]\n', str(trace.parent / "link.toml"))
    return wired.set(
        {
            "run": settings["run"],
            "internet": {
                "trace": trace.name,
                "delay": f"{rtt_ms / 2} ms",
                "queue": rlc["buffer"],
                "aqm": rlc["aqm"],
            },
            "flow": [{k: v for k, v in flow.items() if k not in ("to", "direction")}],
        }
    )
