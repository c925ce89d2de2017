"""Rate patterns of a link, as delivery traces.

A pattern is a text file with one rate in kbit/s per line, sampled at a constant interval, as the player of
Deutsche Telekom's JENS reads it (github.com/telekom/aml-jens 8bb488074af6, 2025-10-27). Lines that begin with
`#` are comments; those of the form `# :key=value` are settings, of which `recommended_freqeuncy` (so spelt)
is the number of samples per second, 10 if absent. Tables with times and named columns are read too
(`airlane.radio.rate_table`).

The player's rules apply: the rate is the sample times a scale, and at least 500 kbit/s; the pattern is played
forward, then backward, and so on. Its two seconds of warm-up before the pattern are left out.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

import numpy as np

from airlane.radio.rate_table import UNITS_KBPS, RateOptions, read_rows
from airlane.radio.trace import OPPORTUNITY_BYTES, PatternError, Trace

__all__ = [
    "FLOOR_KBPS",
    "RatePattern",
    "bundled_patterns",
    "improbable_unit",
    "read_pattern",
    "trace_from_pattern",
]

FLOOR_KBPS = 500.0
"""Lowest rate of the player, in kbit/s."""

_FREQUENCIES = ("recommended_freqeuncy", "recommended_frequency")
_FREQUENCY_HZ = 10.0
_FREQUENCIES_HZ = (1.0, 100.0)
"""Frequencies that the player accepts."""
_KBPS_MAX = 1e8
_IMPROBABLE_KBPS = 2e7
"""The peak rate of IMT-2020 (ITU-R M.2410 section 4.1, 20 Gbit/s)."""
_OPPORTUNITIES_MAX = 100_000_000
_BITS = OPPORTUNITY_BYTES * 8
_SPELT = {
    "bps": "bit/s",
    "kbps": "kbit/s",
    "Mbps": "Mbit/s",
    "Gbps": "Gbit/s",
    "B/s": "byte/s",
    "kB/s": "kbyte/s",
    "MB/s": "Mbyte/s",
}


@dataclass(frozen=True)
class RatePattern:
    """Rates, most often at a constant interval.

    Attributes
    ----------
    kbps
        Rates in kbit/s, as in the file.
    interval_ms
        Whole milliseconds from a sample to the next.
    settings
        Settings of the file by key, as text.
    lengths_ms
        Whole milliseconds for which each rate holds, if they differ; else empty.
    unit
        Unit of the rates in the file.
    notes
        Lines on columns, units and rows that were left out.
    """

    kbps: list[float]
    interval_ms: int
    settings: dict[str, str] = field(default_factory=dict)
    lengths_ms: tuple[int, ...] = ()
    unit: str = "kbps"
    notes: tuple[str, ...] = ()

    def played(
        self, scale: float = 1.0, floor_kbps: float = FLOOR_KBPS, backward: bool = True
    ) -> list[float]:
        """Rates of one round of the player, in kbit/s: forward, then backward unless `backward` is false."""
        rates = [max(rate * scale, floor_kbps) for rate in self.kbps]
        return rates + rates[::-1] if backward else rates

    def spans_ms(self, backward: bool = True) -> list[int]:
        """The times for which the rates of one round hold."""
        spans = list(self.lengths_ms) or [self.interval_ms] * len(self.kbps)
        return spans + spans[::-1] if backward else spans

    @property
    def intervals(self) -> str:
        """The interval, or the shortest and the longest one, as text."""
        if not self.lengths_ms:
            return f"{self.interval_ms} ms"
        return f"{min(self.lengths_ms)} to {max(self.lengths_ms)} ms"

    def part(self, begin_s: float, end_s: float) -> RatePattern:
        """The rates that begin in this part of the time.

        Raises
        ------
        PatternError
            If there is none.
        """
        spans = self.spans_ms(backward=False)
        begins = itertools.accumulate(spans[:-1], initial=0)
        kept = [i for i, begin in enumerate(begins) if begin_s * 1000 <= begin < end_s * 1000]
        if not kept:
            raise PatternError(
                f"no rate begins from {begin_s:g} to {end_s:g} s; they end at {sum(spans) / 1000:g} s"
            )
        lengths = tuple(self.lengths_ms[i] for i in kept) if self.lengths_ms else ()
        return replace(self, kbps=[self.kbps[i] for i in kept], lengths_ms=lengths)

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


def read_pattern(path: Path, options: RateOptions | None = None) -> RatePattern:
    """Read a rate pattern: one rate per line, or a table.

    Raises
    ------
    PatternError
        For a line that is no rate, for a frequency that the player does not take, or if there is no rate.
    """
    options = options or RateOptions()
    # Bytes that are not UTF-8 become characters that occur in no number.
    text = path.read_text(encoding="utf-8", errors="replace")
    settings = _settings(text)
    rows = read_rows(text, str(path), options)
    if rows is not None:
        lengths = rows.lengths_ms
        regular = len(set(lengths)) == 1
        return RatePattern(
            rows.kbps,
            lengths[0] if regular else 0,
            settings,
            () if regular else tuple(lengths),
            rows.unit,
            tuple(rows.notes),
        )
    unit = options.unit or "kbps"
    rates: list[float] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            rates.append(_rate(line.strip().strip("\ufeff"), f"{path}:{number}", unit))
    if not rates:
        raise PatternError(f"{path}: no rates; a pattern has one rate in kbit/s per line, such as 23074")
    interval = options.interval_ms
    return RatePattern(
        rates, _interval_ms(path, settings) if interval is None else interval, settings, (), unit
    )


def _settings(text: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            key, equals, value = line.lstrip("# ").partition("=")
            if key.startswith(":") and equals:
                settings[key[1:].strip()] = value.strip()
    return settings


def _rate(text: str, place: str, unit: str) -> float:
    try:
        rate = float(text) * UNITS_KBPS[unit]
    except ValueError:
        rate = math.nan
    if not 0.0 <= rate <= _KBPS_MAX:
        most = _KBPS_MAX / UNITS_KBPS[unit]
        raise PatternError(f"{place}: {text!r}: expected one rate in {_SPELT[unit]}, from 0 to {most:.0f}")
    return rate


def _interval_ms(path: Path, settings: dict[str, str]) -> int:
    key = next((key for key in _FREQUENCIES if key in settings), _FREQUENCIES[0])
    text = settings.get(key, str(_FREQUENCY_HZ))
    least, most = _FREQUENCIES_HZ
    try:
        frequency = float(text)
    except ValueError:
        frequency = math.nan
    if not least <= frequency <= most or not (1000.0 / frequency).is_integer():
        raise PatternError(
            f"{path}: {key}={text}: expected {least:g} to {most:g} samples per second, "
            "with a whole number of milliseconds between them"
        )
    return round(1000.0 / frequency)


def improbable_unit(pattern: RatePattern, scale: float, floor_kbps: float) -> str | None:
    """The question to ask if the unit is improbable, and the remedy.

    It is if all rates are below the floor, or more than half of them although none would be above 20 Gbit/s
    in the next larger unit; or if a rate is above 20 Gbit/s.
    """
    rates = [rate * scale for rate in pattern.kbps]
    below = sum(rate < floor_kbps for rate in rates)
    written = _SPELT[pattern.unit]
    larger = 2 * below > len(rates) and max(rates) * 1000 <= _IMPROBABLE_KBPS
    if any(rates) and (below == len(rates) or larger):
        more = {"bps": "kbps", "kbps": "Mbps", "Mbps": "Gbps"}.get(pattern.unit)
        meant, remedy = (_SPELT[more], f" {more}") if more else ("of a larger unit", "")
        return (
            f"{below} of {len(rates)} rates are below {floor_kbps:g} kbit/s: are they {meant}? "
            f"Write --unit{remedy}, or a lower --floor if the unit is right"
        )
    if max(rates) > _IMPROBABLE_KBPS:
        above = sum(rate > _IMPROBABLE_KBPS for rate in rates)
        return (
            f"{above} of {len(rates)} rates are above 20 Gbit/s as {written}: are they of a smaller unit? "
            "Write --unit"
        )
    return None


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
    spans = pattern.spans_ms(backward)
    last_ms = sum(spans)
    opportunities = sum(rate * span for rate, span in zip(rates, spans, strict=True)) / _BITS
    if opportunities > _OPPORTUNITIES_MAX:
        raise PatternError(
            f"these rates make {opportunities:,.0f} opportunities, the limit is {_OPPORTUNITIES_MAX:,}; "
            "take a part with --begin and --end"
        )
    # kbit/s are bits per millisecond; the sum after each millisecond.
    sent_bits = np.cumsum(np.repeat(np.asarray(rates), spans))
    stamps = np.searchsorted(sent_bits, np.arange(1, int(sent_bits[-1] // _BITS) + 1) * _BITS) + 1
    times: list[int] = stamps.tolist()
    if not times:
        raise PatternError(f"these rates send less than {OPPORTUNITY_BYTES} bytes in {last_ms / 1000:g} s")
    if times[-1] < last_ms:
        times.append(last_ms)
    return Trace(times, len(times) * OPPORTUNITY_BYTES, 0)
