"""Parts of docs/performance.md, made from docs/results/bench.json, which `make bench ARGS=--write` writes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any

from airlane.pages.markdown import table

__all__ = ["PARTS", "count"]

Report = dict[str, Any]

_BYTES_MAX = "16,384"
"""Budget of an idle UE (crates/assembly/tests/memory.rs)."""


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else f"{value:{form}}"


def count(value: float | None) -> str:
    """A count per unit of work; a small one with a decimal, which may decide on a budget."""
    return _number(value, ",.0f" if value is None or value >= 100 or value == int(value) else ".1f")


def _time(value_ns: float | None) -> str:
    if value_ns is None:
        return "–"
    return f"{value_ns:,.1f} ns" if value_ns < 1e3 else f"{value_ns / 1e3:,.1f} µs"


def _machine(report: Report) -> str:
    host = report["host"]
    return f"{host['machine']}, {host['cores']} cores, one used; {host['processor']}."


def _conditions(report: Report) -> str:
    """How much of the core the runs had, and the version of the peer."""
    peer = f"The peer: {report['peer']}."
    if report["core_share"] is None:
        return f"The core was ours alone when these figures were taken. {peer}"
    return (
        "The core was shared when these figures were taken: some median run had "
        f"{report['core_share']:.0%} of it, so that times are upper bounds; instructions, events and bytes "
        f"hold. {peer}"
    )


def _speed(report: Report) -> str:
    forms = {
        "ours_sim_s_per_s": ".1f",
        "ours_sim_s_per_cpu_s": ".1f",
        "budget_sim_s_per_s": "g",
        "ns3_sim_s_per_s": ".3f",
        "ratio": ".0f",
        "ours_goodput_mbps": ".1f",
    }
    headings = ("scenario", "simulated s per s", "per CPU s", "budget", "ns-3", "ratio", "Mbit/s")
    rows = [
        [row["name"], *(_number(row[key], form) for key, form in forms.items())]
        for row in report["scenarios"]
    ]
    return table(headings, rows)


def _packet(report: Report) -> str:
    cost = report["journey"]
    rows = [
        ["instructions", _number(cost["instructions_per_packet"], ",.0f"), "–"],
        ["events", _number(cost["events_per_packet"], ".3f"), "5"],
        ["ns of CPU", _number(cost["ns_per_packet"], ".0f"), "350"],
    ]
    return table(("for a packet and its ACK", "measured", "budget"), rows)


def _instructions(report: Report) -> str:
    keys = ("instructions", "budget", "aim")
    return table(
        ("work", *keys),
        [[row["name"], *(count(row[key]) for key in keys)] for row in _rows(report, "instructions")],
    )


def _scaling(report: Report) -> str:
    growth = report["scaling"]
    headings = ["fading", *(f"{ues} UE" for ues in growth[0]["ues"]), "exponent"]
    rows = [
        [line["fading"], *(f"{c:.2f}" for c in line["cpu_ms_per_sim_s"]), f"{line['exponent']:.2f}"]
        for line in growth
    ]
    return table(headings, rows)


def _towns(report: Report) -> str:
    rows = [
        [
            line["over"],
            ", ".join(
                f"{count}: {cost:,.0f}"
                for count, cost in zip(line["counts"], line["cpu_ms_per_sim_s"], strict=True)
            ),
            f"{line['exponent']:.2f}",
        ]
        for line in _rows(report, "towns")
    ]
    return table(("number of", "CPU ms per simulated second", "exponent"), rows)


def _threads(report: Report) -> str:
    seconds = ("one_thread_s", "several_threads_s")
    rows = [
        [
            line["name"],
            str(line["threads"]),
            *(f"{median(line[key]):.2f}" for key in seconds),
            f"{line['ratio']:.2f}",
        ]
        for line in _rows(report, "threads")
    ]
    return table(("scenario", "threads", "s on one", "s on these", "ratio"), rows)


def _micro(report: Report) -> str:
    rows = [[row["name"], _time(row["median_ns"]), _time(row["budget_ns"])] for row in _rows(report, "micro")]
    return table(("work", "median", "budget"), rows)


def _memory(report: Report) -> str:
    found = report["idle_ue_bytes"]
    rows = (
        [[name, f"{count:,}", _BYTES_MAX] for name, count in found.items()] if isinstance(found, dict) else []
    )
    return table(("fading", "bytes for an idle UE", "budget"), rows)


def _pep(report: Report) -> str:
    return f"{report['pep_flow_bytes'] or '–'} bytes for each flow."


def _hotspots(report: Report) -> str:
    rows = [[row["module"], f"{row['share']:.1%}"] for row in _rows(report, "hotspots")]
    return table(("module", "instructions"), rows)


def _rows(report: Report, name: str) -> Sequence[Report]:
    """Rows of a part; none where a tool was missing and the reason is there instead."""
    found = report[name]
    return found if isinstance(found, list) else []


PARTS: dict[str, Callable[[Report], str]] = {
    "machine": _machine,
    "conditions": _conditions,
    "speed": _speed,
    "packet": _packet,
    "instructions": _instructions,
    "scaling": _scaling,
    "towns": _towns,
    "threads": _threads,
    "micro": _micro,
    "memory": _memory,
    "pep": _pep,
    "hotspots": _hotspots,
}
"""Parts of the page by the name in its directives."""
