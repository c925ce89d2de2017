"""Cells as configured in ns-3 for the reference figures: the scenario that both sides run."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from airlane.scenario import Scenario, loads

__all__ = ["LenaCell", "ReferenceFileError", "positions", "reference_rows", "substituted"]

_DATA = resources.files("airlane") / "data"

_substitutes: list[Path] = []
"""Folders whose files take the place of those of the same name under `data`, the last one first."""


class ReferenceFileError(ValueError):
    """A file in the place of a reference file is not like it; the message names what is expected."""


_HEAD = """\
network = "lena"

[run]
duration = "{duration_s:g}s"
warmup = "{warmup_s:g}s"

[channel]
fading = {fading}

[internet]
rate = "100 Gbit/s"
delay = "{internet_delay_ms:g} ms"
"""

_CELL = """
[[cell]]
name = "{name}"
position = ["{x:.3f} m", "{y:.3f} m"]
resource_blocks = {resource_blocks}
tx_power = "30 dBm"
scheduler = {{ kind = "pf" }}
rlc = {{ mode = "{rlc}", buffer = "{rlc_buffer} B" }}
"""

_UE = """
[[ue]]
name = "{name}"
position = ["{x:.3f} m", "{y:.3f} m"]
noise_figure = "7 dB"

[[flow]]
to = "{name}"
start = "{start_s:g}s"
app = {app}
transport = {transport}
"""


@dataclass(frozen=True)
class LenaCell:
    """A cell at the origin, or cells that interfere, and one downlink flow to each UE.

    Attributes
    ----------
    places
        Position of each UE, metres; a UE is in the cell that it receives best.
    sites
        Position of each cell, metres.
    resource_blocks
        Bandwidth.
    traffic
        `udp` (constant rate) or `tcp` (bulk).
    congestion, growth
        Congestion controller of TCP, and its growth per acknowledgment.
    offered_mbps
        UDP load over all UEs; payload 1400 bytes.
    rlc
        `um` or `am`.
    rlc_buffer
        RLC transmit buffer, bytes.
    fading
        `none`, or a profile such as `eva`.
    speed_kmph
        Speed used by the fading.
    prb_spacing_khz
        Distance in frequency at which PRBs have separate channel samples; by default the preset's.
    internet_delay_ms
        One-way delay of the wired part.
    start_s, warmup_s, duration_s
        Start of the flows, start of the measurement, end of the run.
    """

    places: tuple[tuple[float, float], ...]
    sites: tuple[tuple[float, float], ...] = ((0.0, 0.0),)
    resource_blocks: int = 100
    traffic: str = "udp"
    congestion: str = "cubic"
    growth: str = "per-segment"
    offered_mbps: float = 150.0
    rlc: str = "um"
    rlc_buffer: int = 512 * 1024
    fading: str = "none"
    speed_kmph: float = 0.0
    prb_spacing_khz: float | None = None
    internet_delay_ms: float = 30.0
    start_s: float = 0.2
    warmup_s: float = 2.0
    duration_s: float = 10.0

    def text(self) -> str:
        """Scenario as TOML."""
        fading = '{ model = "none" }'
        if self.fading != "none":
            step = f', prb_spacing = "{self.prb_spacing_khz:g} kHz"' if self.prb_spacing_khz else ""
            fading = f'{{ model = "{self.fading}", speed = "{self.speed_kmph:g} km/h"{step} }}'
        head = _HEAD.format(
            duration_s=self.duration_s,
            warmup_s=self.warmup_s,
            fading=fading,
            internet_delay_ms=self.internet_delay_ms,
        )
        cells = (
            _CELL.format(
                name=f"cell{i}",
                x=x,
                y=y,
                resource_blocks=self.resource_blocks,
                rlc=self.rlc,
                rlc_buffer=self.rlc_buffer,
            )
            for i, (x, y) in enumerate(self.sites)
        )
        if self.traffic == "udp":
            share_bps = round(self.offered_mbps * 1e6 / len(self.places))
            app = f'{{ kind = "cbr", rate = "{share_bps} bit/s", payload = "1400 B" }}'
            transport = '{ kind = "udp" }'
        else:
            app = '{ kind = "bulk" }'
            window = '{ kind = "fixed", size = "6 MiB" }'
            tcp = f'kind = "tcp", congestion = "{self.congestion}", growth = "{self.growth}", mss = "1400 B"'
            transport = f"{{ {tcp}, receive_window = {window} }}"
        ues = (
            _UE.format(name=f"ue{i}", x=x, y=y, start_s=self.start_s, app=app, transport=transport)
            for i, (x, y) in enumerate(self.places)
        )
        return head + "".join(cells) + "".join(ues)

    def scenario(self) -> Scenario:
        """The scenario."""
        return loads(self.text(), "<lena cell>")


def reference_rows(name: str) -> list[dict[str, str]]:
    """Rows of a CSV file under `data`, by column name; its `#` lines name the source.

    A name without a folder is under `data/ns3`. Within `substituted`, a file of that folder takes its place.

    Raises
    ------
    ReferenceFileError
        If such a file lacks a column of the one whose place it takes, or has no rows.
    """
    name = name if "/" in name else f"ns3/{name}"
    own = _rows((_DATA / name).read_text(encoding="utf-8"))
    for folder in reversed(_substitutes):
        if (path := folder / name).is_file():
            return _checked(path, own)
    return own


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def _checked(path: Path, own: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of a file in the place of one with these rows."""
    try:
        rows = _rows(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReferenceFileError(f"{path}: cannot be read ({error}); expected a CSV file in UTF-8") from error
    if not rows:
        raise ReferenceFileError(f"{path}: no row; expected a header and at least one row")
    missing = [column for column in own[0] if column not in rows[0]]
    if missing:
        raise ReferenceFileError(f"{path}: no column {missing[0]!r}; expected {', '.join(own[0])}")
    for number, row in enumerate(rows, start=1):
        if None in row or None in row.values():
            columns = len(own[0])
            raise ReferenceFileError(
                f"{path}: row {number} does not have the {columns} columns of the header"
            )
    return rows


@contextmanager
def substituted(folder: Path | None) -> Iterator[None]:
    """Reference files are taken from this folder, as far as it has them, by their names under `data`."""
    if folder is None:
        yield
        return
    if not folder.is_dir():
        raise ReferenceFileError(f"{folder}: no such folder; expected one with nr-lena/cases.csv or the like")
    _substitutes.append(folder)
    try:
        yield
    finally:
        _substitutes.remove(folder)


def positions(ues: int) -> tuple[tuple[float, float], ...]:
    """UE positions of the ns-3 runs, metres."""
    return tuple((float(r["x_m"]), float(r["y_m"])) for r in reference_rows(f"positions_n{ues}.csv"))
