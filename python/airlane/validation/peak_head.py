"""The head of a scenario in which only the carriers of a UE limit its rate."""

from __future__ import annotations

__all__ = ["peak_head"]

_HEAD = """\
network = "{network}"

[run]
duration = "{duration_s:g} s"
warmup = "{warmup_s:g} s"

[channel]
path_loss = "friis"
fading = "none"

[internet]
delay = "1 ms"
rate = "40 Gbit/s"

[backhaul]
delay = "1 ms"
rate = "40 Gbit/s"

"""


def peak_head(network: str, duration_s: float, warmup_s: float) -> str:
    """Free space without fading, and links of 40 Gbit/s with 1 ms each, before the cells of a scenario."""
    return _HEAD.format(network=network, duration_s=duration_s, warmup_s=warmup_s)
