"""The table `qlog` of a live run, from files in the formats that QUIC stacks write."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from airlane.realtime.qlog import folder_of, read_folder

ORIGIN_MS = 1.7e12
"""When the run began, in ms since 1970."""


def metrics(time: float, **data: float) -> dict[str, Any]:
    return {"time": time, "name": "recovery:metrics_updated", "data": data}


def sequence(trace: dict[str, Any], *events: dict[str, Any]) -> str:
    """A file in JSON text sequences (RFC 7464)."""
    records = [{"qlog_format": "JSON-SEQ", "trace": trace}, *events]
    return "".join(f"\x1e{json.dumps(record)}\n" for record in records)


def whole(events: Any) -> str:
    """A file in one piece of JSON."""
    return json.dumps({"qlog_format": "JSON", "traces": [{"events": events}]})


def rows(folder: Path, text: str, name: str = "a.sqlog") -> tuple[list[dict[str, Any]], dict[str, str]]:
    (folder_of(folder, "server") / name).write_text(text, encoding="utf-8")
    table, unread = read_folder(folder, ORIGIN_MS)
    return table.to_pylist(), unread


FIRST, SECOND = {"congestion_window": 12000, "smoothed_rtt": 40.0}, {"congestion_window": 24000}
"""Two events; the second has only what changed."""


@pytest.mark.parametrize(
    ("fields", "times"),
    [
        ({}, (ORIGIN_MS + 500, ORIGIN_MS + 700)),
        ({"reference_time": ORIGIN_MS + 100, "time_format": "relative"}, (400, 600)),
        ({"reference_time": ORIGIN_MS + 100, "time_format": "delta"}, (400, 200)),
        # 1.7e12 ms after 1970
        ({"reference_time": {"clock_type": "system", "epoch": "2023-11-14T22:13:20Z"}}, (500, 700)),
        (
            {
                "time_format": "relative_to_previous_event",
                "reference_time": {"epoch": "unknown", "wall_clock_time": "2023-11-14T22:13:20Z"},
            },
            (500, 200),
        ),
    ],
    ids=["absolute", "relative", "delta", "epoch", "previous-event"],
)
def test_times_of_each_format_are_those_of_the_run(
    tmp_path: Path, fields: dict[str, Any], times: tuple[float, float]
) -> None:
    events = [metrics(times[0], **FIRST), metrics(times[1], **SECOND)]
    found, unread = rows(tmp_path, sequence({"common_fields": fields}, *events))
    assert not unread
    assert [row["t_s"] for row in found] == pytest.approx([0.5, 0.7], abs=1e-6)
    assert [row["cwnd_bytes"] for row in found] == [12000, 24000]
    assert [row["srtt_ms"] for row in found] == [40.0, 40.0], "the second has the value of the first"
    assert {(row["end"], row["file"]) for row in found} == {("server", "server-a.sqlog")}


def test_json_in_one_piece_has_the_names_of_aioquic(tmp_path: Path) -> None:
    event = metrics(ORIGIN_MS + 20, cwnd=14520, bytes_in_flight=1200, latest_rtt=31.0)
    found, unread = rows(tmp_path, whole([event]), "a.qlog")
    assert not unread
    assert found[0]["cwnd_bytes"] == 14520
    assert found[0]["in_flight_bytes"] == 1200
    assert found[0]["latest_rtt_ms"] == 31.0
    assert found[0]["srtt_ms"] is None


def test_a_step_has_its_last_values(tmp_path: Path) -> None:
    events = [metrics(ORIGIN_MS + ms, congestion_window=1000 * ms) for ms in (1, 4, 9, 12, 31)]
    found, _ = rows(tmp_path, sequence({}, *events))
    assert [row["cwnd_bytes"] for row in found] == [9000, 12000, 31000]


def test_a_sequence_that_was_cut_off_is_read_to_its_end(tmp_path: Path) -> None:
    text = sequence({}, metrics(ORIGIN_MS + 5, **FIRST), metrics(ORIGIN_MS + 500, **SECOND))
    found, unread = rows(tmp_path, text[:-20])
    assert not unread
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"traces": [', "cut off"),
        ("[]", "no qlog"),
        ("\x1e{}\n", "no trace"),
        (sequence({}, metrics(5.0, **FIRST)), "wall clock"),
        (sequence({}, {"name": "recovery:metrics_updated"}), "no time"),
        (sequence({}) + "\x1e{\n" + "\x1e{}\n", "record 2"),
        (sequence({}) + "\x1e[1, 2]\n" + "\x1e{}\n", "record 2 is no object"),
        # The format of draft-00 and draft-01: `event_fields` names the members of each array.
        (whole([[5, "recovery", "metrics_updated", {"cwnd": 14520}]]), "before draft-02"),
        (whole(None), "no array"),
        (sequence({}, metrics(math.nan, **FIRST)), "the time of an event is nan"),
        (sequence({}, metrics(math.inf, **FIRST)), "the time of an event is inf"),
        (sequence({}, metrics(10**400, **FIRST)), "too large"),
        (sequence({}, metrics(ORIGIN_MS, congestion_window=10**400)), "too large"),
        ("[" * 100_000, "no qlog"),
    ],
    ids=[
        *("cut-off", "other", "no-trace", "clock", "time", "record", "array-record", "array-events"),
        *("no-events", "nan", "infinite", "large-time", "large-value", "nested"),
    ],
)
def test_a_file_that_is_not_read_is_named_with_the_reason(tmp_path: Path, text: str, why: str) -> None:
    found, unread = rows(tmp_path, text)
    assert not found
    assert why in unread["server-a.sqlog"]


def test_a_file_that_is_not_read_leaves_the_others(tmp_path: Path) -> None:
    (folder_of(tmp_path, "phone") / "odd.sqlog").write_text(whole([[5, "recovery"]]), encoding="utf-8")
    found, unread = rows(tmp_path, sequence({}, metrics(ORIGIN_MS + 5, **FIRST)))
    assert list(unread) == ["phone-odd.sqlog"]
    assert [row["file"] for row in found] == ["server-a.sqlog"]
