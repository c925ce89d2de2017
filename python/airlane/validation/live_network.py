"""Goodput, round trips and one-way delays next to recordings of live networks.

A phone drives through a city with several carriers, as in the recordings: the goodput of one TCP connection
in bins of 0.5 s, and round trips of pings without a load of the test. The number of other phones is fitted to
the median of the goodput, which is then not compared; nothing else is fitted.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from airlane import native
from airlane.scenario import Scenario, loads
from airlane.validation.cell import reference_rows
from airlane.validation.claims import Family
from airlane.validation.measures import MEASURES, Plan
from airlane.validation.ranges import RangeCase
from airlane.validation.transport import TcpCase

__all__ = [
    "CityDrive",
    "LightTraffic",
    "goodput_figures",
    "one_way_delay",
    "recorded_figure",
    "round_trip_figures",
]

_Values = npt.NDArray[np.float64]

_BIN_S = 0.5
_START_S, _TEST_S = 5.0, 60.0

_HEAD = """\
network = "nr-typical-fr1"

[run]
duration = "{end_s:g} s"
warmup = "{start_s:g} s"
series_bin = "500 ms"

[handover]

[channel]
path_loss = "tr38.901"
shadowing = "log-normal"
fading = {{ model = "tdl-c", speed = "30 km/h" }}

[internet]
delay = "{internet_ms:g} ms"
"""

_CELL = """
[[cell]]
name = "{carrier} {site}"
position = ["{x_m:.1f} m", "{y_m:.1f} m"]
neighbours = [{neighbours}]
{keys}
"""

_PHONE = """
[[ue]]
name = "{name}"
placement = {{ kind = "disc", radius = "200 m" }}
carriers = [{carriers}]

[ue.mobility]
kind = "random-waypoint"
area = {{ kind = "disc", radius = "450 m" }}
speed = {{ min = "30 km/h", max = "30 km/h" }}
pause = {{ min = "0 s", max = "0 s" }}

[[flow]]
name = "{name}"
to = "{name}"
{flow}
"""

_OTHERS = """
[[ue]]
name = "others {site}"
count = {count}
placement = {{ kind = "disc", centre = ["{x_m:.1f} m", "{y_m:.1f} m"], radius = "250 m" }}
carriers = [{carriers}]

[[flow]]
name = "others {site}"
to = "others {site}"
transport = "udp"

[flow.app]
kind = "on-off"
rate = "100 Mbit/s"
payload = "1400 B"
on = {{ kind = "exponential", mean = "1 s" }}
off = {{ kind = "exponential", mean = "3 s" }}
"""

_FDD = 'radio = { kind = "nr", duplex = "fdd", subcarrier_spacing = "15 kHz", mimo = { layers = 2 } }'
_TDD = 'radio = { kind = "nr", mimo = { layers = 2 } }'
_CARRIERS: Mapping[str, str] = {
    "n41 a": f'frequency = "2.55 GHz"\nbandwidth = "100 MHz"\n{_TDD}',
    "n41 b": f'frequency = "2.645 GHz"\nbandwidth = "90 MHz"\n{_TDD}',
    "n25": 'frequency = "1.96 GHz"\nuplink_frequency = "1.88 GHz"\n'
    f'bandwidth = "20 MHz"\ntx_power = "49 dBm"\n{_FDD}',
    "n71": 'frequency = "630 MHz"\nuplink_frequency = "676 MHz"\n'
    f'bandwidth = "15 MHz"\ntx_power = "48 dBm"\n{_FDD}',
}
"""Keys of the carriers.

T-Mobile announced in 2023 that it aggregates two carriers of 2.5 GHz, one of 1900 MHz and one of
600 MHz, together 225 MHz (fiercewireless.com/5g/t-mobile-deploys-4-carrier-aggregation-live-network); the
share of each is a choice.
Two layers: the mean of its carriers in mid band is 1.9, with one carrier as with four (bar_ca_layer_dl of
NUWiNS/pam25-mimo-ca-dataset 06c285d59eea). In FDD, the power per MHz is that of `nr-fdd-lowband`.
"""

_SITE_DISTANCE_M = 500.0
"""TR 38.901 table 7.8-1, UMa."""
_SITES_M = [
    (0.0, 0.0),
    *(
        (_SITE_DISTANCE_M * math.cos(k * math.pi / 3), _SITE_DISTANCE_M * math.sin(k * math.pi / 3))
        for k in range(6)
    ),
]

_TCP = (
    'app = "bulk"\nstart = "5 s"\ntransport = { kind = "tcp", preset = "linux", congestion = "cubic", '
    'receive_window = { kind = "autotuned", max = "16 MiB" } }'
)
"""CUBIC is likely and the window is not stated; 1.1 Gbit/s were measured, so that it is not 6 MiB."""
_PING = 'app = { kind = "ping", interval = "200 ms" }\ntransport = "icmp"\ndirection = "uplink"'

_INTERNET_MS = 10.0
"""One way, to a server in the cloud."""


@dataclass(frozen=True)
class CityDrive:
    """Two phones that drive at 30 km/h among seven sites: one downloads, and one sends pings.

    Attributes
    ----------
    carriers
        Number of carriers of each site and of all phones.
    others
        Other phones near each site. Each receives bursts of 100 Mbit/s for a quarter of the time.
    """

    carriers: int
    others: int

    def scenario(self) -> Scenario:
        """The scenario."""
        head = _HEAD.format(end_s=_START_S + _TEST_S, start_s=_START_S, internet_ms=_INTERNET_MS)
        tests = {"download": _TCP, "ping": _PING}
        phones = [
            _PHONE.format(name=name, carriers=self._names(0), flow=flow) for name, flow in tests.items()
        ]
        parts = [head, *self._cells(), *phones]
        if self.others > 0:
            parts += [
                _OTHERS.format(site=site, count=self.others, x_m=x_m, y_m=y_m, carriers=self._names(site))
                for site, (x_m, y_m) in enumerate(_SITES_M)
            ]
        return loads("".join(parts), "<city drive>")

    def _chosen(self) -> list[str]:
        return list(_CARRIERS)[: self.carriers]

    def _names(self, site: int) -> str:
        return ", ".join(f'"{carrier} {site}"' for carrier in self._chosen())

    def _cells(self) -> list[str]:
        cells = []
        for carrier in self._chosen():
            for site, (x_m, y_m) in enumerate(_SITES_M):
                near = ", ".join(f'"{carrier} {other}"' for other in range(len(_SITES_M)) if other != site)
                keys = _CARRIERS[carrier]
                cells.append(
                    _CELL.format(carrier=carrier, site=site, x_m=x_m, y_m=y_m, neighbours=near, keys=keys)
                )
        return cells


def rates(output: native.Output) -> _Values:
    """Goodput of the test in bins of 0.5 s, Mbit/s."""
    series = output.tables["flow_series"]
    of_test = np.asarray(series["flow"].to_pylist()) == "download"
    all_bins: _Values = np.asarray(series["goodput_mbps"].to_numpy(), dtype=np.float64)[of_test]
    return all_bins[-round(_TEST_S / _BIN_S) :]


def autocorrelation(tests: Sequence[_Values], lag_s: float, *, within: bool) -> float:
    """Autocorrelation of the rates of all tests, with the mean of each test removed, or with that of all."""
    lag = round(lag_s / _BIN_S)
    mean_of_all = float(np.mean(np.concatenate(tests)))
    centred = [test - (float(np.mean(test)) if within else mean_of_all) for test in tests]
    pairs = [(test[:-lag], test[lag:]) for test in centred]
    product = float(np.mean(np.concatenate([before * after for before, after in pairs])))
    return product / float(np.mean(np.concatenate(centred) ** 2))


def drops(test: _Values) -> _Values:
    """At each bin, the mean of the next second over that of the 5 s before, where the latter is not 0."""
    last, following = round(5.0 / _BIN_S), round(1.0 / _BIN_S)
    ends = range(last, len(test) - following + 1)
    before = np.array([test[end - last : end].mean() for end in ends])
    after = np.array([test[end : end + following].mean() for end in ends])
    return np.asarray(after[before > 0.0] / before[before > 0.0])


def _halvings_per_hour(tests: Sequence[_Values]) -> float:
    """How often `drops` goes below 0.5."""
    count = 0
    for test in tests:
        below = drops(test) < 0.5
        count += int(below[:1].sum()) + int((below[1:] & ~below[:-1]).sum())
    return count / (len(tests) * _TEST_S / 3600.0)


def _percentile(tests: Sequence[_Values], percent: float) -> float:
    return float(np.percentile(np.concatenate(tests), percent))


_Tests = Sequence[_Values]
_GOODPUT: Mapping[str, tuple[str, Callable[[_Tests], float]]] = {
    "p50_mbps": ("Mbit/s", lambda tests: _percentile(tests, 50)),
    "p10_to_p50": ("ratio", lambda tests: _percentile(tests, 10) / _percentile(tests, 50)),
    "p90_to_p50": ("ratio", lambda tests: _percentile(tests, 90) / _percentile(tests, 50)),
    "p99_to_p50": ("ratio", lambda tests: _percentile(tests, 99) / _percentile(tests, 50)),
    "cv": ("ratio", lambda tests: float(np.std(np.concatenate(tests)) / np.mean(np.concatenate(tests)))),
    "zero_share": ("share", lambda tests: float(np.mean(np.concatenate(tests) == 0.0))),
    "acf05_within": ("", lambda tests: autocorrelation(tests, 0.5, within=True)),
    "acf1_within": ("", lambda tests: autocorrelation(tests, 1.0, within=True)),
    "acf5_within": ("", lambda tests: autocorrelation(tests, 5.0, within=True)),
    "acf10_within": ("", lambda tests: autocorrelation(tests, 10.0, within=True)),
    "acf1_pooled": ("", lambda tests: autocorrelation(tests, 1.0, within=False)),
    "acf5_pooled": ("", lambda tests: autocorrelation(tests, 5.0, within=False)),
    "drop_p50": ("ratio", lambda tests: float(np.median([drops(test).min() for test in tests]))),
    "halvings_per_h": ("/h", _halvings_per_hour),
}
"""Unit and computation of each figure of the goodput, from the bins of all tests."""


def _range_case(
    name: str,
    unit: str,
    recorded: Sequence[float],
    setup: CityDrive,
    pooled: Callable[[Sequence[native.Output]], float],
) -> RangeCase:
    """A figure of all runs together, between the least and the greatest of the recordings."""
    low, high = min(recorded), max(recorded)
    note = f"recordings: {low:g} to {high:g}"
    return RangeCase(name, unit, float(np.median(recorded)), (setup,), pooled, low, high, note)


_OTHERS_LOADED = 22
"""Other phones near each site of the loaded network with four carriers, each with 25 Mbit/s on average.

Fitted: with it, two tests of 20 s had a median of 194 Mbit/s. The recordings have 198 Mbit/s, the median of
their medians. With 8 and 16 phones the tests had 929 and 381 Mbit/s.
"""


def _drive(family: Family, carriers: int) -> CityDrive:
    return CityDrive(carriers, {"alone": 0, "loaded": _OTHERS_LOADED}[family.figure])


def recorded_figure(row: Mapping[str, str], figure: str) -> float:
    """A figure of a recording; ratios of percentiles are not columns of their own."""
    one, _, base = figure.partition("_to_")
    return float(row[f"{one}_mbps"]) / float(row[f"{base}_mbps"]) if base else float(row[figure])


def _skipped(family: Family) -> Plan | None:
    """Drives with gigabits a second take minutes."""
    if os.environ.get("AIRLANE_SLOW") == "1":
        return None
    return Plan(skipped=[f"{family.id}: drives that take minutes: AIRLANE_SLOW=1"])


def goodput_figures(family: Family) -> Plan:
    """Figures of the goodput under the load that the family names, alone also with two carriers."""
    if plan := _skipped(family):
        return plan
    recordings = [row for row in reference_rows(family.reference) if not row["place"].startswith("country")]
    cases = []
    for carriers in (2, 4) if family.figure == "alone" else (4,):
        for figure, (unit, compute) in _GOODPUT.items():
            if figure == "p50_mbps" and family.figure != "alone":
                continue  # the load was chosen by it
            cases.append(
                _range_case(
                    f"{family.id}/{carriers}-carriers/{figure.replace('_', '-')}",
                    unit,
                    [recorded_figure(row, figure) for row in recordings],
                    _drive(family, carriers),
                    lambda outputs, compute=compute: compute([rates(one) for one in outputs]),  # type: ignore[misc]
                )
            )
    return Plan(cases=[*cases])


def round_trips(outputs: Sequence[native.Output]) -> _Values:
    """Round trips of the pings of all runs, ms."""
    answers = [np.asarray(one.tables["pings"]["rtt_ms"].to_numpy(), dtype=np.float64) for one in outputs]
    joined: _Values = np.concatenate(answers)
    return joined[~np.isnan(joined)]


_ROUND_TRIP: Mapping[str, tuple[str, Callable[[_Values], float]]] = {
    "p50-p5": ("ms", lambda rtt: float(np.percentile(rtt, 50) - np.percentile(rtt, 5))),
    "p90-p5": ("ms", lambda rtt: float(np.percentile(rtt, 90) - np.percentile(rtt, 5))),
    "p99-p5": ("ms", lambda rtt: float(np.percentile(rtt, 99) - np.percentile(rtt, 5))),
    "over-1s": ("share", lambda rtt: float(np.mean(rtt > 1000.0))),
}


def round_trip_figures(family: Family) -> Plan:
    """Round trips above their 5th percentile, with four carriers under the load that the family names."""

    def recorded(row: Mapping[str, str], figure: str) -> float:
        if figure == "over-1s":
            return float(row["share_over_1s"])
        return float(row[f"{figure.partition('-')[0]}_ms"]) - float(row["p5_ms"])

    if plan := _skipped(family):
        return plan
    recordings = reference_rows(family.reference)
    cases = [
        _range_case(
            f"{family.id}/{figure}",
            unit,
            [recorded(row, figure) for row in recordings],
            _drive(family, 4),
            lambda outputs, compute=compute: compute(round_trips(outputs)),  # type: ignore[misc]
        )
        for figure, (unit, compute) in _ROUND_TRIP.items()
    ]
    return Plan(cases=[*cases])


_LIGHT = """\
network = "{network}"

[run]
duration = "60 s"
warmup = "1 s"

[channel]
path_loss = "friis"
fading = "none"

[internet]
delay = "0.1 ms"

[backhaul]
delay = "0.1 ms"

[[cell]]
name = "cell"
{cell}

[[ue]]
name = "device"
position = ["30 m", "0 m"]

[[flow]]
to = "device"
direction = "{direction}"
transport = "udp"
app = {{ kind = "cbr", rate = "{rate_bps} bit/s", payload = "72 B" }}
"""

_RATE_BPS = 57_560
"""72 bytes of payload every 10.007 ms, not 10 ms: the clock of a recorded sender is not that of its cell."""


@dataclass(frozen=True)
class LightTraffic:
    """A device alone in a standalone cell, which receives or sends 100 bytes every 10 ms.

    Attributes
    ----------
    network
        The preset.
    direction
        Of the packets.
    cell
        Keys of the cell.
    """

    network: str
    direction: str
    cell: str = ""

    def scenario(self) -> Scenario:
        """The scenario."""
        text = _LIGHT.format(
            network=self.network,
            cell=self.cell,
            direction=self.direction,
            rate_bps=_RATE_BPS,
        )
        return loads(text, "<light traffic>")


def _pattern(pattern: str) -> str:
    return f'radio = {{ kind = "nr", duplex = {{ kind = "tdd", pattern = "{pattern}" }} }}'


_SYSTEMS: Mapping[str, Mapping[str, LightTraffic]] = {
    "fr1 downlink": {
        "dddsu": LightTraffic("nr-typical-fr1", "downlink"),
        "dddddddsuu": LightTraffic("nr-typical-fr1", "downlink", _pattern("DDDDDDDSUU")),
    },
    "fr2 downlink": {"dddsu": LightTraffic("nr-fr2", "downlink")},
    "fr2 uplink": {"dddsu": LightTraffic("nr-fr2", "uplink")},
}
"""Readings of each recorded system: its pattern of TDD is not documented."""


def one_way_delay(family: Family) -> Plan:
    """Median, and the 95th and 99th percentile above it, of each reading of the recorded systems."""

    def percentile(output: native.Output, percent: int) -> float:
        return float(output.tables["flows"][f"owd_p{percent}_ms"][0].as_py())

    cases = []
    for row in reference_rows(family.reference):
        theirs = {percent: float(row[f"p{percent}_ms"]) for percent in (50, 95, 99)}
        for reading, setup in _SYSTEMS[f"{row['system']} {row['direction']}"].items():
            begin = f"{family.id}/{row['system']}-{row['direction']}/{reading}"
            cases.append(
                TcpCase(f"{begin}/p50", "ms", theirs[50], (setup,), lambda output: percentile(output, 50))
            )
            cases += [
                TcpCase(
                    f"{begin}/p{above}-p50",
                    "ms",
                    theirs[above] - theirs[50],
                    (setup,),
                    lambda output, above=above: percentile(output, above) - percentile(output, 50),  # type: ignore[misc]
                )
                for above in (95, 99)
            ]
    return Plan(cases=[*cases])


MEASURES["live_goodput"] = goodput_figures
MEASURES["live_round_trips"] = round_trip_figures
MEASURES["live_one_way_delay"] = one_way_delay
