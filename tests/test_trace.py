"""Delivery traces from logs: bytes are conserved, times follow the assumptions."""

from __future__ import annotations

from pathlib import Path

import pytest

from airlane.radio.trace import LogError, LogLine, read_log, trace_from_log, write_trace


def steady(lines: int, per_line: int, gap_us: int, rtt_us: int = 20_000) -> list[LogLine]:
    """A log whose every line acknowledges the same number of packets after the same time."""
    return [
        LogLine(0, -1, 0),
        *(LogLine((i + 1) * gap_us, (i + 1) * per_line - 1, rtt_us) for i in range(lines)),
    ]


def test_bytes_are_conserved() -> None:
    for packet_bytes in (1, 536, 1440, 1500, 9000):
        trace = trace_from_log(steady(1000, 3, 2_000, rtt_us=1), packet_bytes)
        assert trace.bytes_in == 3000 * packet_bytes
        assert 1500 * len(trace.stamps_ms) + trace.remainder == trace.bytes_in
        assert 0 <= trace.remainder < 1500


def test_the_rate_is_that_of_the_acknowledgements() -> None:
    # 3 packets of 1440 bytes every 2 ms: 17.28 Mbit/s, for 2 s.
    trace = trace_from_log(steady(1000, 3, 2_000, rtt_us=1), 1440)
    assert trace.mean_mbps == pytest.approx(17.28, rel=1e-3)


def test_a_packet_was_delivered_half_of_the_least_round_trip_before_its_acknowledgement() -> None:
    # One packet of 1500 bytes per 10 ms, least round trip 8 ms: the k-th (from 1) at 10 k - 4 ms.
    log = steady(5, 1, 10_000, rtt_us=30_000)
    log[3] = LogLine(log[3].t_us, log[3].highest_ack, 8_000)
    assert trace_from_log(log, 1500).stamps_ms == [6, 16, 26, 36, 46]


def test_packets_acknowledged_together_arrived_over_the_time_between() -> None:
    # Four packets in one line after 8 ms arrive at 2, 4, 6 and 8 ms (no round trip known).
    log = [LogLine(0, -1, 0), LogLine(8_000, 3, 0)]
    assert trace_from_log(log, 1500).stamps_ms == [2, 4, 6, 8]


def test_an_outage_stays_an_outage() -> None:
    # After a second of silence two packets: spread over its last 50 ms, not over the whole second.
    log = [LogLine(0, -1, 0), LogLine(10_000, 0, 0), LogLine(1_010_000, 2, 0)]
    assert trace_from_log(log, 1500).stamps_ms == [10, 985, 1010]


def test_a_cut_moves_the_clock() -> None:
    log = steady(10, 1, 10_000, rtt_us=0)
    assert trace_from_log(log, 1500, begin_s=0.045, end_s=0.075).stamps_ms == [5, 15, 25]


def test_nothing_acknowledged_is_said() -> None:
    with pytest.raises(LogError, match="less than one opportunity"):
        trace_from_log(steady(1, 1, 10_000), 1440, begin_s=5.0)


def test_stamps_are_in_order_and_positive() -> None:
    stamps = trace_from_log(steady(50, 2, 300, rtt_us=40_000), 1500).stamps_ms
    assert stamps == sorted(stamps)
    assert stamps[0] >= 1


def test_files(tmp_path: Path) -> None:
    log = tmp_path / "run.csv"
    log.write_text("t_us,highest_sent,highest_ack,cwin_bytes,rtt_us\n0,1,-1,15360,0\n1000,5,1,15360,0\n")
    trace = trace_from_log(read_log(log), 1500)
    write_trace(trace, tmp_path / "out.trace")
    assert (tmp_path / "out.trace").read_text() == "1\n1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("t_us,rtt_us\n0,0\n", "the column 'highest_ack' is missing"),
        ("t_us,highest_ack,rtt_us\n0,x,0\n", ":2: expected whole numbers"),
        ("t_us,highest_ack,rtt_us\n5,1,0\n4,2,0\n", ":3: t_us and highest_ack must not decrease"),
        ("t_us,highest_ack,rtt_us\n5,1,0\n6,0,0\n", ":3: t_us and highest_ack must not decrease"),
        ("t_us,highest_ack,rtt_us\n5\n", ":2: expected whole numbers"),
    ],
)
def test_a_bad_log_names_its_line(tmp_path: Path, text: str, message: str) -> None:
    log = tmp_path / "run.csv"
    log.write_text(text)
    with pytest.raises(LogError, match=message):
        read_log(log)
