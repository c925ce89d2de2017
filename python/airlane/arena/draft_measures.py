"""Interventions and criteria of the test cases of the BBR draft."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

from airlane.arena.draft import NotHadError, Seen, Span, Trace

_DOWN, _CRUISE, _REFILL, _UP = "ProbeBW_DOWN", "ProbeBW_CRUISE", "ProbeBW_REFILL", "ProbeBW_UP"
_V1 = "ProbeBW"
"""The one state of version 1 for the four; its phases differ by their gain."""
_PROBING = (_DOWN, _CRUISE, _REFILL, _UP, _V1)
_PAYLOAD = 1448 / 1500
"""Share of payload in a packet of 1500 bytes, with IPv4, TCP and timestamps: delivery rates count payload."""


def _rtt_s(trace: Trace) -> float:
    """Round trip without a queue, from the first sample."""
    return float(trace.rows[0]["min_rtt_ms"]) * 1e-3


def _at(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} us"


def _rate(at: float, mbps: float) -> dict[str, object]:
    return {"internet.rate_steps": [{"at": _at(at), "rate": f"{mbps * 1000:.0f} kbit/s"}]}


def _lossy(begin: float, length: float, loss: str) -> list[dict[str, str]]:
    return [{"at": _at(begin), "loss": loss}, {"at": _at(begin + length), "loss": "0 %"}]


def _rows(trace: Trace, from_s: float, until_s: float = math.inf) -> list[dict[str, Any]]:
    return [row for row in trace.rows if from_s <= row["t_s"] <= until_s]


def _bounded(row: Mapping[str, Any]) -> bool:
    """Whether a short-term bound applies."""
    return not math.isnan(row["bw_shortterm_mbps"]) and not math.isnan(row["inflight_shortterm_segments"])


def _left(span: Span) -> Mapping[str, Any]:
    """The first row after a period."""
    if span.after is None:
        raise NotHadError(f"{span.state} does not end within the run")
    return span.after


# Startup and Drain


def plateau(trace: Trace) -> Seen:
    left = _left(trace.span("Startup"))
    found = 100.0 * left["max_bw_mbps"] / (10.0 * _PAYLOAD)
    full = left["full_bw_reached"] and left["full_bw_count"] == 3
    return Seen(found, abs(found - 100.0) <= 2.0 and full and left["state"] == "Drain")


def startup_loss(trace: Trace) -> Seen:
    span = trace.span("Startup")
    if span.after is None:
        return Seen(math.inf, False)
    left = span.after
    before = _rows(trace, 1.5, 2.0)
    limited = bool(before) and all(row["app_limited"] for row in before)
    rounds = int(left["round"]) - int(before[-1]["round"])
    # With little in flight, Drain, and Down, may end with the acknowledgment with which they start.
    goes = left["state"] in ("Drain", *_PROBING) and left["full_bw_reached"]
    return Seen(rounds, limited and goes and left["full_bw_count"] < 3)


def drained(pacing_gain: float) -> Any:
    def look(trace: Trace) -> Seen:
        span = trace.span("Drain")
        left = _left(span)
        full = 100.0 * left["in_flight_segments"] / left["target_segments"]
        gained = all(row["pacing_gain"] == pacing_gain for row in span.rows)
        return Seen(full, gained and full <= 100.0 and left["state"] in _PROBING)

    return look


def narrower(part: float, state: str, mbps: float) -> Any:
    return lambda trace: _rate(trace.span(state).begin, mbps * part)


def drain_times_out(trace: Trace) -> Seen:
    span = trace.span("Drain")
    left = _left(span)
    if left["in_flight_segments"] <= left["target_segments"]:
        raise NotHadError(_falls(span))
    return Seen(span.rounds, span.rounds in (3, 4) and left["state"] in _PROBING)


def _falls(span: Span) -> str:
    within = f"{span.rounds} round trips" if span.rounds > 1 else "a round trip"
    return f"the flight falls to the BDP within {within}"


def drain_lasts(trace: Trace) -> Seen:
    """Version 1's Drain, which has no time limit."""
    span = trace.span("Drain")
    if span.rounds < 3:
        raise NotHadError(_falls(span))
    return Seen(span.rounds, span.rounds in (3, 4))


def stays(state: str) -> Any:
    def look(trace: Trace) -> Seen:
        span = trace.span(state, where=lambda one: one.rows[-1]["app_limited"])
        until = min(span.end, float(trace.rows[-1]["t_s"]))
        return Seen(until - span.begin, trace.next(span) in ("", "ProbeRTT"))

    return look


def starts_again(trace: Trace) -> Seen:
    span = trace.span("ProbeRTT")
    left = _left(span)
    early = not any(row["full_bw_reached"] for row in span.rows)
    return Seen(1e3 * (span.end - span.begin), early and left["state"] == "Startup")


# The cycle


def up_plateau(trace: Trace) -> Seen:
    span = trace.span(_UP)
    left = _left(span)
    quiet = math.isnan(left["inflight_longterm_segments"]) and trace.flow["packets_lost"] == 0
    return Seen(span.rounds, quiet and left["full_bw_count"] == 3 and left["state"] in (_DOWN, _CRUISE))


def limit_and_lose(trace: Trace) -> Mapping[str, object]:
    """At the start of Up the application halves its rate; a round trip later 10 % of packets are lost."""
    begin, rtt = trace.span(_UP).begin, _rtt_s(trace)
    half = {"at": _at(begin), "rate": "25 Mbit/s"}
    return {"flow.0.writes": [half], "internet.loss_steps": _lossy(begin + 1.5 * rtt, rtt, "10 %")}


def up_loss_limited(trace: Trace) -> Seen:
    span = trace.span(_UP)
    left = _left(span)
    limited = [row for row in span.rows if row["app_limited"]]
    if not limited:
        raise NotHadError("no round of it is limited by the application")
    onset = span.begin + 1.5 * _rtt_s(trace)
    lost = trace.flow["packets_lost"] > 0 and span.end > onset
    rounds = (span.end - onset) / _rtt_s(trace)
    same = math.isnan(
        left["inflight_longterm_segments"]
    )  # section 5.5.10.2: unless the sender is application-limited
    return Seen(rounds, lost and same and left["full_bw_count"] < 3 and left["state"] in (_DOWN, _CRUISE))


def limit_in_up(trace: Trace) -> Mapping[str, object]:
    """From the start of the first Up after ProbeRTT, so that the next one is far away."""
    begin = trace.span(_UP, trace.span("ProbeRTT").end).begin
    return {"flow.0.writes": [{"at": _at(begin), "rate": "25 Mbit/s"}]}


def down(trace: Trace) -> Seen:
    span = trace.span(_DOWN)
    left = _left(span)
    full = 100.0 * left["in_flight_segments"] / left["target_segments"]
    gained = all(abs(row["pacing_gain"] - 0.9) < 1 / 256 for row in span.rows)
    return Seen(full, gained and full <= 100.0 and left["state"] == _CRUISE)


def skips_cruise(trace: Trace) -> Seen:
    span = trace.span(_DOWN)
    left = _left(span)
    if left["state"] == "ProbeRTT":
        raise NotHadError("ProbeRTT is due before")
    high = left["in_flight_segments"] > left["target_segments"]
    return Seen(span.end - span.begin, left["state"] == _REFILL and high)


def probe_rtt(trace: Trace) -> Seen:
    span = trace.span("ProbeRTT")
    left = _left(span)
    length = 1e3 * (span.end - span.begin)
    due = 5.0 <= span.begin <= 5.2
    small = all(row["cwnd_gain"] == 0.5 for row in span.rows) and span.rounds >= 1
    return Seen(length, due and small and length >= 200.0 and left["state"] in _PROBING)


def idle(trace: Trace) -> Seen:
    restart = 9.0
    following = trace.span("ProbeRTT", 3.0).begin - restart
    return Seen(following, following >= 4.5)


def pause_in_refill(trace: Trace) -> Mapping[str, object]:
    begin, rtt = trace.span(_REFILL).begin, _rtt_s(trace)
    # Until the end of the round trip, of which half is the forward path.
    return {"flow.0.writes": [{"at": _at(begin), "pause": True}, {"at": _at(begin + 0.75 * rtt)}]}


def refill_limited(trace: Trace) -> Seen:
    span = trace.span(_REFILL)
    left = _left(span)
    limited = any(row["app_limited"] for row in _rows(trace, span.begin, span.end + 3.0 * _rtt_s(trace)))
    if not limited:
        raise NotHadError("no sample is limited by the application")
    before = [row for row in trace.rows if row["t_s"] < span.begin][-1]["max_bw_mbps"]
    kept = 100.0 * left["max_bw_mbps"] / before
    return Seen(kept, kept >= 99.9 and left["state"] == _UP)


# Aggregation, and changes of the path


def _batches(begin: float, end: float) -> list[dict[str, str]]:
    """The link is open for the last 5 ms of each 20 ms."""
    first = math.ceil(begin / 0.02)
    return [{"at": _at(0.02 * i), "duration": "15 ms"} for i in range(first, round(end / 0.02))]


def batches_from_start(_: Trace) -> Mapping[str, object]:
    return {"internet.rate": "40 Mbit/s", "internet.hold": _batches(0.02, 8.0)}


def batches_in_cruise(trace: Trace) -> Mapping[str, object]:
    begin = trace.span(_CRUISE).begin
    settings: dict[str, object] = {"internet.hold": _batches(begin, 8.0), "run.warmup": _at(begin + 0.5)}
    return settings | _rate(begin, 40.0)


def startup_batched(trace: Trace) -> Seen:
    left = _left(trace.span("Startup"))
    product = left["max_bw_mbps"] * 1e3 * left["min_rtt_ms"] / (1448 * 8)
    found = 100.0 * left["max_bw_mbps"] / (10.0 * _PAYLOAD)
    wide = left["extra_acked_segments"] > 0 and left["cwnd_segments"] > 2.0 * product
    return Seen(found, found >= 98.0 and wide)


def cruise_batched(trace: Trace) -> Seen:
    begin = trace.span(_CRUISE).begin
    before = max(row["extra_acked_segments"] for row in _rows(trace, 0.0, begin))
    cruise = [r for r in _rows(trace, begin + 0.5) if r["state"] == _CRUISE]
    product = [r["max_bw_mbps"] * 1e3 * r["min_rtt_ms"] / (1448 * 8) for r in cruise]
    wide = all(r["cwnd_segments"] > 2.0 * p for r, p in zip(cruise, product, strict=True))
    more = min(r["extra_acked_segments"] for r in cruise) > before
    full = batched(trace)
    return Seen(full.value, full.holds and wide and more)


def batched(trace: Trace) -> Seen:
    """The part that is visible for any sender: the link stays full."""
    share = 100.0 * trace.flow["goodput_mbps"] / (10.0 * _PAYLOAD)
    return Seen(share, share >= 95.0)


def thin(trace: Trace) -> Seen:
    rows = [row for row in trace.rows if row["state"] in _PROBING]
    if not rows:
        raise NotHadError("the connection does not come to ProbeBW")
    floor = min(row["cwnd_segments"] for row in rows)
    cruising = [row["pacing_mbps"] for row in rows if row["pacing_gain"] == 1.0 and row["state"] != _REFILL]
    paced = 100.0 * sum(cruising) / len(cruising) / (0.1 * _PAYLOAD)
    return Seen(paced, floor >= 4 and abs(paced - 99.0) <= 2.0)


def faster(trace: Trace) -> Mapping[str, object]:
    return _rate(trace.span(_CRUISE).begin, 100.0) | {"run.duration": "12 s", "internet.queue": "2 MB"}


def _changed(trace: Trace) -> float:
    """Time at which the link changes its rate, in seconds."""
    return _first(trace, "rate_steps")


def _first(trace: Trace, what: str) -> float:
    """Time of the first event of a kind on the link, in seconds."""
    number, unit = trace.settings["internet"][what][0]["at"].split()
    return float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit]


def _ups(trace: Trace, after_s: float, until_s: float) -> list[list[dict[str, Any]]]:
    """The rows of each period that probes above the model's rate, those of version 1 too."""
    runs = itertools.groupby(trace.rows, lambda row: row["state"] in (_UP, _V1) and row["pacing_gain"] > 1.0)
    probes = [list(rows) for probes, rows in runs if probes]
    return [rows for rows in probes if after_s < rows[0]["t_s"] <= until_s]


_ROUNDS_MOST = 2.0 * math.log(10.0) / math.log(1.2375)
"""Up accelerates by 1.25 x 0.99 per round trip: a factor of ten takes log(10) / log(1.2375) = 10.8 of
them.
"""


def found(trace: Trace) -> Seen:
    reached, ups = _reached(trace)
    if not reached:
        return Seen(math.inf, False)
    rounds = sum(min(int(up[-1]["round"]), int(reached["round"])) - int(up[0]["round"]) for up in ups)
    return Seen(rounds, rounds <= _ROUNDS_MOST)


def _reached(trace: Trace) -> tuple[Mapping[str, Any], list[list[dict[str, Any]]]]:
    """The first row with 95 % of the new rate, and the probing periods until then; empty without one."""
    begin = _changed(trace)
    for row in _rows(trace, begin):
        if row["max_bw_mbps"] >= 0.95 * 100.0 * _PAYLOAD:
            return row, _ups(trace, begin, row["t_s"])
    return {}, []


def slower(trace: Trace) -> Mapping[str, object]:
    return _rate(trace.span(_CRUISE).begin, 10.0)


def adapted(trace: Trace) -> Seen:
    short = [row for row in _rows(trace, _changed(trace)) if _bounded(row)]
    lower, seen = _lowered(trace)
    fast = bool(short) and short[0]["t_s"] < lower
    return Seen(seen.value, fast and seen.holds)


def lowered(trace: Trace) -> Seen:
    """The part that applies to version 1, which has no bounds."""
    return _lowered(trace)[1]


def _lowered(trace: Trace) -> tuple[float, Seen]:
    """When the model has the new rate, and whether at most three probing periods were needed."""
    begin = _changed(trace)
    lower = [row["t_s"] for row in _rows(trace, begin) if row["max_bw_mbps"] <= 1.02 * 10.0 * _PAYLOAD]
    if not lower:
        return math.inf, Seen(math.inf, False)
    return lower[0], Seen(lower[0] - begin, len(_ups(trace, begin, lower[0])) <= 3)


def policed(trace: Trace) -> Seen:
    short = any(_bounded(row) for row in trace.rows if row["state"] in _PROBING)
    borne = lost(trace)
    return Seen(borne.value, short and borne.holds)


def lost(trace: Trace) -> Seen:
    """The part that is visible for any sender: the lost share."""
    late = [bin_ for bin_ in trace.series if bin_["t_s"] >= 10.0]
    segments = sum(bin_["goodput_mbps"] for bin_ in late) * 1e6 / (1448 * 8)
    lost = sum(bin_["lost_segments"] for bin_ in late)
    share = 100.0 * lost / (segments + lost)
    return Seen(share, share <= 2.0)


# Spurious losses, and losses that set bounds


def overtaken(trace: Trace) -> Mapping[str, object]:
    """What arrives within 6 ms of Up is delayed by 30 ms."""
    at = trace.span(_UP).begin + 1.0 * _rtt_s(trace)
    return {"internet.detours": [{"at": _at(at), "duration": "6 ms", "extra": "30 ms"}]}


def paused(trace: Trace) -> Mapping[str, object]:
    at = trace.span(_UP).begin + 0.5 * _rtt_s(trace)
    return {"internet.hold": [{"at": _at(at), "duration": "600 ms"}]}


def undone(timeout: bool) -> Any:
    def look(trace: Trace) -> Seen:
        begin = trace.span(_UP).begin
        flow = trace.flow
        if flow["packets_lost"] > 0:
            raise NotHadError("packets are lost")
        if (flow["timeouts"] if timeout else flow["retransmissions"]) == 0:
            raise NotHadError("no timeout comes" if timeout else "no packet is declared lost")
        left = _left(trace.span(_UP))
        late = _rows(trace, begin, begin + 2.0)[-1]
        free = not _bounded(late) and math.isnan(late["inflight_longterm_segments"])
        undone = not timeout or flow["timeouts_undone"] == flow["timeouts"]
        # After an interruption, Up resumes by way of Refill; without one, it ends at its plateau.
        away = 0.0 if left["full_bw_count"] == 3 else trace.span(_UP, left["t_s"]).begin - left["t_s"]
        return Seen(1e3 * away, free and undone and away <= 1.0)

    return look


def window_kept(trace: Trace) -> Seen:
    """Any sender: a second after the reordering, the window is at least 90 % of its previous value."""
    at = _first(trace, "detours")
    taken = sum(bin_["lost_segments"] for bin_ in trace.series if at - 0.1 < bin_["t_s"] < at + 0.3)
    if taken == 0:
        raise NotHadError("no packet is declared lost")
    before = [bin_ for bin_ in trace.series if bin_["t_s"] < at - 0.1][-1]["cwnd_bytes"]
    after = [bin_ for bin_ in trace.series if bin_["t_s"] < at + 1.0][-1]["cwnd_bytes"]
    return Seen(100.0 * after / before, after >= 0.9 * before)


def timeouts_undone(trace: Trace) -> Seen:
    """Any sender: every timeout was detected as spurious."""
    timeouts, undone = trace.flow["timeouts"], trace.flow["timeouts_undone"]
    if timeouts == 0:
        raise NotHadError("no timeout comes")
    return Seen(100.0 * undone / timeouts, undone == timeouts)


def lose_in_up(trace: Trace) -> Mapping[str, object]:
    begin, rtt = trace.span(_UP).begin, _rtt_s(trace)
    return {"internet.loss_steps": _lossy(begin, rtt, "10 %")}


def lose_again(trace: Trace) -> Mapping[str, object]:
    begin, rtt = _second_up(trace).begin, _rtt_s(trace)
    steps = trace.settings["internet"]["loss_steps"]
    return {"internet.loss_steps": [*steps, *_lossy(begin, rtt, "10 %")]}


def _second_up(trace: Trace) -> Span:
    """The first period in Up that starts with a long-term bound."""
    bound = "inflight_longterm_segments"
    return trace.span(_UP, where=lambda one: not math.isnan(one.rows[0][bound]))


def bound_lowered(trace: Trace) -> Seen:
    span = _second_up(trace)
    left = _left(span)
    before, after = (row["inflight_longterm_segments"] for row in (span.rows[-1], left))
    # The BDP estimate in segments is rounded, and so is the floor of 0.7 of it.
    floor = 0.7 * min(left["target_segments"], left["cwnd_segments"]) - 1.0
    falls = floor <= after <= before and left["full_bw_count"] < 3
    return Seen(100.0 * after / before, falls and left["state"] in (_DOWN, _CRUISE))
