"""Rate patterns of a link, as delivery traces.

A pattern is a text file with one rate in kbit/s per line, sampled at a constant interval, as the player of
Deutsche Telekom's JENS reads it (github.com/telekom/aml-jens 8bb488074af6, 2025-10-27). Lines that begin with
`#` are comments; those of the form `# :key=value` are settings, of which `recommended_freqeuncy` (so spelt)
is the number of samples per second, 10 if absent.

The player's rules apply: the rate is the sample times a scale, and at least 500 kbit/s; the pattern is played
forward, then backward, and so on. Its two seconds of warm-up before the pattern are left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

import numpy as np

from airlane.trace import OPPORTUNITY_BYTES, PatternError, Trace

__all__ = ["FLOOR_KBPS", "RatePattern", "bundled_patterns", "read_pattern", "trace_from_pattern"]

FLOOR_KBPS = 500.0
"""Lowest rate of the player, in kbit/s."""

_FREQUENCY = "recommended_freqeuncy"
_FREQUENCY_HZ = 10.0
_FREQUENCIES_HZ = (1.0, 100.0)
"""Frequencies that the player accepts."""
_KBPS_MAX = 1e8
_BITS = OPPORTUNITY_BYTES * 8


@dataclass(frozen=True)
class RatePattern:
    """Rates at a constant interval.

    Attributes
    ----------
    kbps
        Rates in kbit/s, as in the file.
    interval_ms
        Whole milliseconds from a sample to the next.
    settings
        Settings of the file by key, as text.
    """

    kbps: list[float]
    interval_ms: int
    settings: dict[str, str] = field(default_factory=dict)

    def played(
        self, scale: float = 1.0, floor_kbps: float = FLOOR_KBPS, backward: bool = True
    ) -> list[float]:
        """Rates of one round of the player, in kbit/s: forward, then backward unless `backward` is false."""
        rates = [max(rate * scale, floor_kbps) for rate in self.kbps]
        return rates + rates[::-1] if backward else rates

    def limits_ms(self, name: str) -> tuple[float, float] | None:
        """The limits of a figure of queue delay, in ms: good below the first, bad above the second.

        Names are `mq` (mean), `p95`, `p99` and `p999`.
        """
        text = self.settings.get(f"th_{name}_latency")
        if text is None:
            return None
        good, bad = (float(one) for one in text.split(","))
        return good, bad


def bundled_patterns() -> dict[str, Path]:
    """The bundled patterns of Deutsche Telekom, by name without `drp_`; NOTICE is in their folder."""
    folder = Path(str(resources.files("airlane") / "data" / "jens"))
    return {path.stem.removeprefix("drp_"): path for path in sorted(folder.glob("drp_*.csv"))}


def read_pattern(path: Path) -> RatePattern:
    """Read a rate pattern.

    Raises
    ------
    PatternError
        For a line that is no rate, for a frequency that the player does not take, or if there is no rate.
    """
    rates: list[float] = []
    settings: dict[str, str] = {}
    # Bytes that are not UTF-8 become characters that occur in no number.
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        if line.startswith("#"):
            key, equals, value = line.lstrip("# ").partition("=")
            if key.startswith(":") and equals:
                settings[key[1:].strip()] = value.strip()
        elif line.strip():
            rates.append(_rate(line.strip(), f"{path}:{number}"))
    if not rates:
        raise PatternError(f"{path}: no rates; a pattern has one rate in kbit/s per line, such as 23074")
    return RatePattern(rates, _interval_ms(path, settings), settings)


def _rate(text: str, place: str) -> float:
    try:
        rate = float(text)
    except ValueError:
        rate = math.nan
    if not 0.0 <= rate <= _KBPS_MAX:
        raise PatternError(f"{place}: {text!r}: expected one rate in kbit/s, from 0 to {_KBPS_MAX:.0f}")
    return rate


def _interval_ms(path: Path, settings: dict[str, str]) -> int:
    text = settings.get(_FREQUENCY, str(_FREQUENCY_HZ))
    least, most = _FREQUENCIES_HZ
    try:
        frequency = float(text)
    except ValueError:
        frequency = math.nan
    if not least <= frequency <= most or not (1000.0 / frequency).is_integer():
        raise PatternError(
            f"{path}: {_FREQUENCY}={text}: expected {least:g} to {most:g} samples per second, "
            "with a whole number of milliseconds between them"
        )
    return round(1000.0 / frequency)


def trace_from_pattern(
    pattern: RatePattern, scale: float = 1.0, floor_kbps: float = FLOOR_KBPS, backward: bool = True
) -> Trace:
    """Delivery opportunities of one round of the player.

    An opportunity is at the end of the millisecond in which the link has sent its last bit. The last one is
    at the end of the round, whether its 1500 bytes are complete or not, so that the trace repeats after
    exactly one round.

    Raises
    ------
    PatternError
        If scale or floor make a round of less than one opportunity.
    """
    rates = pattern.played(scale, floor_kbps, backward)
    last_ms = len(rates) * pattern.interval_ms
    # kbit/s are bits per millisecond; the sum after each millisecond.
    sent_bits = np.cumsum(np.repeat(np.asarray(rates), pattern.interval_ms))
    stamps = np.searchsorted(sent_bits, np.arange(1, int(sent_bits[-1] // _BITS) + 1) * _BITS) + 1
    times: list[int] = stamps.tolist()
    if not times:
        raise PatternError(f"these rates send less than {OPPORTUNITY_BYTES} bytes in {last_ms / 1000:g} s")
    if times[-1] < last_ms:
        times.append(last_ms)
    return Trace(times, len(times) * OPPORTUNITY_BYTES, 0)
