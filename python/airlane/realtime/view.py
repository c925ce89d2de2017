"""A live run on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.text import Text

from airlane import terminal
from airlane.results import Results

__all__ = ["real_time_line", "view"]


def real_time_line(real_time: Mapping[str, Any]) -> Text:
    """Whether the run was in real time, in one line."""
    valid = bool(real_time["valid"])
    word = Text("real time" if valid else "NOT real time", style="bold green" if valid else "bold red")
    text = Text.assemble(
        word,
        ": departures late by p50 {late_us_p50:.0f}, p99 {late_us_p99:.0f}, p99.9 {late_us_p999:.0f}, "
        "max {late_us_max:.0f} µs; {late_slots} late slots; {tun_drops} packets dropped at TUN".format(
            **real_time
        ),
    )
    for reason in real_time.get("reasons", ()):
        text.append(f"\n  {reason}")
    return text


def view(results: Results, facts: Mapping[str, Any], title: str) -> Group:
    """The tables of a run."""
    return Group(terminal.run_view(results, title), *_lost(facts), real_time_line(facts["real_time"]))


def _lost(facts: Mapping[str, Any]) -> Iterator[Text]:
    dropped = {name: count for name, count in facts["not_carried"].items() if count}
    if facts["refused"]:
        dropped["refused by a device"] = facts["refused"]
    if dropped:
        said = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in dropped.items())
        yield Text(f"packets that the network did not carry: {said}", style="yellow")
