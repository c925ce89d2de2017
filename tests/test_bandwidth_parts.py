"""Bandwidth parts of NR in whole runs: the rate of the default part, the delay of a burst, energy."""

from __future__ import annotations

from dataclasses import replace

import pytest

from airlane.results import Results
from airlane.scenario import loads
from airlane.validation.nr_cell import HEADERS_BYTES, PAYLOAD_BYTES, named_carrier

BASE = """
network = "{network}"
[run]
duration = "3 s"
warmup = "500 ms"
[output]
energy = true
[channel]
path_loss = "friis"
fading = "none"
shadowing = "none"
[internet]
rate = "10 Gbit/s"
[backhaul]
rate = "10 Gbit/s"
[[cell]]
name = "cell"
height = "0 m"
{cell}
[[ue]]
name = "phone"
position = ["50 m", "0 m"]
height = "0 m"
[[flow]]
to = "phone"
transport = "udp"
app = {app}
"""
LOAD = f'{{ kind = "cbr", rate = "200 Mbit/s", payload = "{PAYLOAD_BYTES} B" }}'


def run(cell: str, app: str, network: str = "nr-typical-fr1") -> Results:
    return loads(BASE.format(network=network, cell=cell, app=app), "parts.toml").run()


@pytest.mark.parametrize("name", ["fdd-20mhz", "tdd-100mhz"])
def test_the_default_part_has_the_rate_of_the_formula(name: str) -> None:
    """TS 38.306 clause 4.1.2 for 48 resource blocks, with the overhead of the preset."""
    carrier = named_carrier(name, 1)
    keys = f'{carrier.keys}\nradio = {{ kind = "nr", {carrier.radio} }}\n'
    parts = 'bandwidth_parts = { default = 48, activate_above = "1 GB" }'
    goodput = run(keys + parts, LOAD).flows["goodput_mbps"][0].as_py()
    rate = goodput * (PAYLOAD_BYTES + HEADERS_BYTES) / PAYLOAD_BYTES
    assert rate == pytest.approx(replace(carrier, n_prb=48).peak_mbps(), rel=0.01)


def test_bursts_wait_for_the_switch_and_listening_saves_energy() -> None:
    """One burst of 20 kB each 200 ms. With 30 kHz a switch of type 2 takes 2.5 ms."""
    burst = (
        '{ kind = "on-off", rate = "400 Mbit/s", payload = "1000 B", '
        'on = { kind = "constant", length = "0.4 ms" }, off = { kind = "constant", length = "199.6 ms" } }'
    )
    cell = 'bandwidth_parts = { default = 48, switching_delay = "type-2" }'
    without, parts = (run(keys, burst).tables for keys in ("", cell))
    delays = [tables["flows"]["owd_ms"][0].as_py() for tables in (without, parts)]
    assert 1.5 < delays[1] - delays[0] < 3.5
    power = [tables["energy"]["relative_power"][0].as_py() for tables in (without, parts)]
    assert power[1] < 0.75 * power[0]
