"""The dashboard of a live run: goodput, delay, MCS and queue of each UE while the run continues."""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from airlane.commands import terminal

__all__ = ["Dashboard", "bars"]

_POINTS = 40
"""Values of each line."""

_LINES = 8
"""Lines of applications' output."""

_BARS = "▁▂▃▄▅▆▇█"


def bars(values: Sequence[float]) -> str:
    """A line of bars from 0 to the largest value; a space where there is none."""
    largest = max((value for value in values if not math.isnan(value)), default=0.0)
    if largest <= 0.0:
        return "".join(" " if math.isnan(value) else _BARS[0] for value in values)
    return "".join(
        " " if math.isnan(value) else _BARS[min(len(_BARS) - 1, int(value / largest * len(_BARS)))]
        for value in values
    )


class Dashboard:
    """Shows the state of a network in place, until the end of its `with` statement."""

    def __init__(self, title: str, console: Console | None = None) -> None:
        self._title = title
        self._console = console or terminal.errors
        self._history: defaultdict[tuple[str, str], deque[float]] = defaultdict(lambda: deque(maxlen=_POINTS))
        self._output: deque[str] = deque(maxlen=_LINES)
        self._status: Mapping[str, Any] = {}
        self._live = Live(console=self._console, refresh_per_second=5, transient=False)

    def __enter__(self) -> Dashboard:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.update(self.view())
        self._live.__exit__(kind, error, trace)

    def write(self, end: str, line: str) -> None:
        """Add a line of output of an application."""
        self._output.append(f"{end} │ {line}")

    def update(self, status: Mapping[str, Any]) -> None:
        """Show a new state of the network; the same state again changes nothing."""
        if not status or status is self._status:
            return
        self._status = status
        for ue in status["ues"]:
            traffic = ue["traffic"] or {}
            down, up = traffic.get("goodput_mbps", (None, None))
            delay, _ = traffic.get("owd_ms", (None, None))
            radio = ue["radio"] or {}
            queue = radio.get("queues", status["internet_queues"] or (None, None))[0]
            for name, value in (
                ("down", down),
                ("up", up),
                ("delay", delay),
                ("queue", queue),
                ("mcs", radio.get("mcs")),
            ):
                self._history[ue["name"], name].append(math.nan if value is None else float(value))
        self._live.update(self.view())

    def view(self) -> Group:
        """The state as text."""
        table = Table(box=box.SIMPLE_HEAD, title=self._heading(), title_justify="left")
        for name in ("UE", "", "now", "mean", f"last {_POINTS * 0.2:.0f} s"):
            table.add_column(name, justify="right" if name in ("now", "mean") else "left", no_wrap=True)
        for ue in self._status.get("ues", ()):
            name = ue["name"]
            rows = [
                ("down", "Mbit/s down", 1.0, ".1f", "green"),
                ("up", "Mbit/s up", 1.0, ".1f", "green"),
                ("delay", "ms one way, down", 1.0, ".1f", "yellow"),
                ("queue", "kB queued, down", 1e-3, ".0f", "magenta"),
            ]
            if ue["radio"]:
                rows.append(("mcs", f"MCS, cell {ue['radio']['cell']}", 1.0, ".0f", "cyan"))
            for key, label, scale, form, style in rows:
                values = [value * scale for value in self._history[name, key]]
                known = [value for value in values if not math.isnan(value)]
                now = format(values[-1], form) if values and not math.isnan(values[-1]) else "–"
                mean = format(sum(known) / len(known), form) if known else "–"
                table.add_row(
                    name if key == "down" else "", label, now, mean, Text(bars(values), style=style)
                )
        return Group(table, Text("\n".join(self._output), style="dim"))

    def _heading(self) -> Text:
        status = self._status
        if not status:
            return Text(self._title, style="bold")
        real = status["real_time"]
        late = real["late_us_p99"]
        text = Text.assemble((self._title, "bold"), f"   {status['t_s']:.1f} s   ")
        text.append(
            "real time" if real["valid"] else "NOT real time", style="green" if real["valid"] else "bold red"
        )
        return text.append("" if late is None else f" (p99 {late:.0f} µs late)")
