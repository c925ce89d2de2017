"""Points of the experiments on a split-connection proxy (the paper `splitproxy`), and a derivation by hand.

Stacks: `paper` has windows of 64 KiB without scaling on every leg, as TCP of 2012 without options, which the
paper's own figures imply (`derived`); `linux` is Linux 6 on every leg.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

__all__ = [
    "CONTROLLERS",
    "DELAYS_MS",
    "ISD_M",
    "LINUX",
    "NAMES",
    "NOTES",
    "PAPER",
    "SOURCE",
    "USERS",
    "Case",
    "derived",
    "grid",
    "share_mbps",
    "sites",
    "transport",
]

SOURCE = "Farkas, Héder and Nováczki, A Split Connection TCP Proxy in LTE Networks, EUNICE 2012"

PAPER, LINUX = "paper", "linux"

DELAYS_MS = (50, 75, 125)
"""Mean Internet delays (section 4.2)."""

USERS = (2, 4, 6, 8, 10)
"""FTP users per cell (section 4.2): 2 uncongested, 4 and 6 moderate, 8 and 10 congested."""

CONTROLLERS = ("newreno", "cubic")

NAMES = {
    "newreno": "NewReno",
    "cubic": "CUBIC",
    "none": "no proxy",
    "gateway": "proxy in the SAE-GW",
    "enb": "proxy in the eNBs",
    "both": "proxies in both",
}

CELLS = 7
ISD_M = 500.0
WINDOW_B = 65_535
"""What a window field without scaling can say (RFC 9293 section 3.1)."""

TRANSPORT_MBPS, TRANSPORT_MS = 100.0, 10.0

_TCP: dict[str, dict[str, object]] = {
    PAPER: {
        "preset": "rfc",
        "initial_window": 3,
        "timestamps": False,
        "sack": False,
        "window_scaling": False,
        "receive_window": {"kind": "fixed", "size": "64 KiB"},
    },
    LINUX: {"preset": "linux"},
}


def transport(stack: str, congestion: str, initial_window: int | None = None) -> dict[str, object]:
    """TCP of a flow, or of one leg of a proxy."""
    own = {} if initial_window is None else {"initial_window": initial_window}
    return {**_TCP[stack], "congestion": congestion, **own}


def sites(ring: int) -> list[tuple[float, float]]:
    """Places of the sites of a ring around the one in the middle, to the millimetre."""
    if ring == 0:
        return [(0.0, 0.0)]
    corners = [(math.cos(k * math.pi / 3), math.sin(k * math.pi / 3)) for k in range(7)]
    on_sides = [
        ((ring - step) * here[axis] + step * there[axis])
        for here, there in pairwise(corners)
        for step in range(ring)
        for axis in (0, 1)
    ]
    places = zip(on_sides[::2], on_sides[1::2], strict=True)
    return [(round(ISD_M * x, 3) + 0.0, round(ISD_M * y, 3) + 0.0) for x, y in places]


@dataclass(frozen=True)
class Case:
    """One point: what the users of each cell do, and what is in their path.

    Attributes
    ----------
    app
        `ftp`, `web` or `video`: what is measured.
    ftp
        Users per cell with a download without end; beside pages and videos, the background.
    delay_ms
        Internet delay.
    others
        Users per cell with pages or videos.
    proxy
        `none`, `gateway`, `enb` or `both`.
    initial_window, buffer_kib
        Of the proxy's sender towards the UEs, in segments, and of each direction of a connection; `None`
        for those of the stack and of the preset.
    rtt
        Whether the delay is read as that of a round trip, not of one way.
    own_links
        Whether each server has a link of its own, rather than one for all.
    radius_m
        Within which distance of its site each user starts.
    stays
        Whether users stay with the cell in which they started: a proxy in an eNB keeps its connections.
    unlimited
        Whether a proxy's interface knows no rate; else it has that of all links, 100 Mbit/s.
    """

    app: str
    ftp: int
    delay_ms: int
    congestion: str = "newreno"
    proxy: str = "none"
    stack: str = PAPER
    others: int = 0
    initial_window: int | None = None
    buffer_kib: int | None = None
    rtt: bool = False
    own_links: bool = False
    radius_m: int = 100
    unlimited: bool = False
    stays: bool = False
    duration_s: int = 30
    warmup_s: int = 10

    @property
    def name(self) -> str:
        """Unique among the points of all experiments."""
        parts = [self.app, f"{self.others}+{self.ftp}", f"{self.delay_ms}ms", self.congestion, self.proxy]
        parts += [self.stack, f"{self.warmup_s}-{self.duration_s}s"]
        parts += [f"iw{self.initial_window}"] if self.initial_window is not None else []
        parts += [f"{self.buffer_kib}KiB"] if self.buffer_kib is not None else []
        parts += ["rtt"] if self.rtt else []
        parts += ["stays"] if self.stays else []
        parts += ["unlimited"] if self.unlimited else []
        parts += ["own"] if self.own_links else []
        parts += [f"{self.radius_m}m"] if self.radius_m != 100 else []
        return "/".join(parts)

    def but(self, **changes: object) -> Case:
        """Return the case with some things changed."""
        return replace(self, **changes)  # type: ignore[arg-type]

    @property
    def one_way_ms(self) -> float:
        """Internet delay of one way."""
        return self.delay_ms / 2 if self.rtt else float(self.delay_ms)

    def _ue(self, name: str, count: int, site: tuple[float, float]) -> dict[str, object]:
        centre = [f"{x:g} m" for x in site]
        area = {"kind": "disc", "centre": ["0 m", "0 m"], "radius": "764 m"}
        walk = {"kind": "random-waypoint", "area": area, "speed": {"min": "1 km/h", "max": "3 km/h"}}
        return {
            "name": name,
            "count": count,
            "height": "1.5 m",
            "penetration_loss": "20 dB",
            "placement": {"kind": "disc", "centre": centre, "radius": f"{self.radius_m} m"},
            "mobility": walk,
        }

    def _middleboxes(self) -> list[dict[str, object]]:
        places = {"none": (), "gateway": ("gateway",), "enb": ("enb",), "both": ("gateway", "enb")}
        core = transport(self.stack, self.congestion)
        ran = transport(self.stack, self.congestion, self.initial_window)
        buffer = {} if self.buffer_kib is None else {"buffer": f"{self.buffer_kib} KiB"}
        rate = {} if self.unlimited else {"interface_rate": f"{TRANSPORT_MBPS:g} Mbit/s"}
        # Between two proxies is the transport network: the one in the eNB has the radio alone.
        return [
            {"kind": "split-proxy", "at": place, "core": core, "ran": ran, **rate, **buffer}
            for place in places[self.proxy]
        ]

    @property
    def overrides(self) -> dict[str, object]:
        """Settings that make it of the scenario `splitproxy`."""
        tcp = {"kind": "tcp", **transport(self.stack, self.congestion)}
        ues: list[dict[str, object]] = []
        flows: list[dict[str, object]] = []
        for cell, site in enumerate((*sites(0), *sites(1)), 1):
            for app, count in ((self.app, self.others), ("ftp", self.ftp)):
                if count:
                    ues.append(self._ue(f"{app}-{cell}", count, site))
                    flows.append(
                        {**_flow(app), "name": f"{app}-{cell}", "to": f"{app}-{cell}", "transport": tcp}
                    )
        boxes = self._middleboxes()
        return {
            "run.duration": f"{self.duration_s} s",
            "run.warmup": f"{self.warmup_s} s",
            "run.series_bin": f"{self.duration_s} s",  # nothing looks at how it goes on
            "internet.delay": f"{self.one_way_ms:g} ms",
            "internet.shared": not self.own_links,
            "ue": ues,
            "flow": flows,
            **({"middlebox": boxes} if boxes else {}),
            **({"handover": None, "x2": None} if self.stays else {}),
        }


def _flow(app: str) -> dict[str, object]:
    """What a flow has beside its ends; readers and viewers begin when the downloads are there."""
    if app == "web":
        return {"app": {"kind": "web", "pages": "2011"}, "start": "4 s"}
    if app == "video":
        return {"app": {"kind": "video"}, "start": "4 s"}
    return {"app": "bulk"}


def grid(cases: Iterable[Case]) -> dict[str, dict[str, object]]:
    """Grid of an experiment."""
    return {case.name: case.overrides for case in cases}


def share_mbps(case: Case) -> float:
    """Payload that the transport network has for each download: 1460 of 1536 bytes with tunnel."""
    return TRANSPORT_MBPS * 1460 / (20 + 20 + 1460 + 36) / (CELLS * (case.ftp or 1))


def derived(case: Case, radio_ms: float) -> float:
    """Goodput of a download by hand, Mbit/s: a window per round trip, or the transport's share.

    Parameters
    ----------
    radio_ms
        Round trip between eNB and UE.
    """
    wires = {"internet": 2 * case.one_way_ms, "transport": 2 * TRANSPORT_MS, "radio": radio_ms}
    parts = {
        "none": ("internet transport radio",),
        "gateway": ("internet", "transport radio"),
        "enb": ("internet transport", "radio"),
        "both": ("internet", "transport", "radio"),
    }
    loops = [loop.split() for loop in parts[case.proxy]]
    slowest = max(sum(wires[wire] for wire in loop) for loop in loops)
    return min(WINDOW_B * 8e-3 / slowest, share_mbps(case))


NOTES = (
    "Taken where the paper is silent (docs/papers/splitproxy.md says why): the delay is of one way, one "
    "link of 100 Mbit/s to all servers, RED with 5, 15, 0.002 and 1/50, a first window of three segments, "
    "users that start "
    'within 100 m of a site of 500 m between sites ("average radio conditions").',
    "Whatever is compared has the same places, walks and fading: differences are paired by seed.",
)
"""What holds for every experiment of the paper."""
