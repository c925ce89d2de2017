"""The declared claims, their judgement, and their presentation. `make validate` computes the figures."""

import json
import math
import tomllib
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from airlane import native
from airlane.validation import UnknownRowError, Validation, record, report, validate
from airlane.validation.cell import LenaCell, ReferenceFileError, positions, reference_rows, substituted
from airlane.validation.claims import Family, Row, families, within
from airlane.validation.measured import measured_rows
from airlane.validation.measures import MEASURES
from airlane.validation.nr_lena import LenaNrCell
from airlane.validation.thresholds import near
from airlane.validation.transport import TcpCase, linux, linux_runs, tcp_cell, window_apart

FAMILY = Family("f", "A family", "distance", "somewhere", band=0.01)


def row(ours: float, counted: bool = True) -> Row:
    return Row("f/1", "Mbit/s", 100.0, ours, 0.01, within(100.0, ours, 0.01), "beside", counted)


def test_every_family_has_a_measure_a_source_and_an_id_of_its_own() -> None:
    declared = families()
    assert len({family.id for family in declared}) == len(declared)
    for family in declared:
        assert family.measure in MEASURES
        assert family.source
        assert 0.0 <= family.band <= 0.20


def test_every_selection_finds_reference_rows() -> None:
    for family in families():
        if not family.reference:
            alone = {"measured_trace", "fading", "download_rtt", "download_in_flight"}
            alone |= {"dualpi2_law", "dualpi2_law_slow", "dualpi2_rest", "dualpi2_flood"}
            alone |= {"nr_peak", "nr_latency", "nr_layers", "pattern_rates", "pattern_queues"}
            alone |= {"sleep_drx", "sleep_access", "sleep_two_step_access", "sleep_resumption"}
            alone |= {"sleep_access_load", "carrier_peak", "carrier_activation", "paths"}
            alone |= {"dual_peak", "dual_nr_peak", "dual_execution", "dual_command", "dual_after_handover"}
            alone |= {"bearer_guaranteed", "bearer_budget", "bearer_ambr", "bearer_priority"}
            assert family.runs or family.measure in alone, family.id
            continue
        rows = reference_rows(family.reference)
        found = [r for r in rows if all(r[column] == str(value) for column, value in family.where.items())]
        assert found, family.id


def test_the_band_is_relative_and_includes_its_edge() -> None:
    assert within(200.0, 202.0, 0.01)
    assert within(200.0, 198.0, 0.01)
    assert not within(200.0, 202.1, 0.01)
    assert within(88.0, 88.0, 0.0)
    assert not within(88.0, 89.0, 0.0)
    assert not within(1.0, float("nan"), 0.05)


def test_only_a_counted_row_outside_its_band_fails() -> None:
    assert Validation([(FAMILY, [row(100.5)])], []).ok
    assert Validation([(FAMILY, [row(100.5), row(150.0, counted=False)])], []).ok
    assert not Validation([(FAMILY, [row(100.5), row(98.9)])], []).ok


def test_rows_that_are_only_shown_are_kept_apart() -> None:
    value = report.as_json(Validation([(FAMILY, [row(100.5), row(150.0, counted=False)])], []))
    assert [r["ours"] for r in value["rows"]] == [100.5]
    assert [r["ours"] for r in value["shown"]] == [150.0]
    assert value["ok"] is True


def test_json_has_the_promised_keys_and_no_nan() -> None:
    value = report.as_json(Validation([(FAMILY, [row(float("nan"))])], ["nothing here"]))
    (only,) = json.loads(json.dumps(value, allow_nan=False))["rows"]
    assert {"id", "reference", "ours", "band", "ok", "note"} <= only.keys()
    assert only["ours"] is None
    assert only["ok"] is False
    assert value["skipped"] == ["nothing here"]


def test_a_prefix_chooses_rows_and_runs_nothing_else() -> None:
    runs: list[int] = []
    found = validate(2, lambda _, total: runs.append(total), only="nr/latency/15khz-fdd/downlink")
    ((family, rows),) = found.rows
    assert family.id == "nr/latency"
    assert [row.id for row in rows] == [
        "nr/latency/15khz-fdd/downlink",
        "nr/latency/15khz-fdd/downlink/capability-1",
    ]
    assert set(runs) == {2}
    # Half a slot of waiting and a slot of 1 ms; and half of N2 = 10 and half of N1 = 8 symbols of 71.4 us.
    assert rows[0].ours == pytest.approx(1.5, abs=0.01)
    assert rows[1].ours == pytest.approx(1.5 + 9 * 0.07135, abs=0.01)


@pytest.mark.parametrize(
    ("prefix", "near"),
    [("nr/latensy", "nr/latency"), ("nr/latency/15khz-fd", "nr/latency/15khz-fdd/downlink")],
)
def test_a_prefix_without_rows_names_near_ones(prefix: str, near: str) -> None:
    if prefix == "nr/latency/15khz-fd":
        prefix += "x"
    with pytest.raises(UnknownRowError, match=near):
        validate(1, only=prefix)


def test_a_file_takes_the_place_of_a_reference(tmp_path) -> None:  # type: ignore[no-untyped-def]
    name = "nr-lena/cases.csv"
    own = reference_rows(name)
    columns = ",".join(own[0])
    other = own[0] | {"case": "another", "snr_db": "24.5", "prb": "24", "mcs_table": "1", "lena_goodput": "1"}
    (tmp_path / "nr-lena").mkdir()
    path = tmp_path / name
    path.write_text("# ours\n" + columns + "\n" + ",".join(other.values()) + "\n")
    with substituted(tmp_path):
        assert reference_rows(name) == [other]
        assert reference_rows("nr/tbs.csv"), "the others are as they were"
    assert reference_rows(name) == own
    found = validate(1, only="nr-lena/goodput", references=tmp_path)
    assert [row.id for _, rows in found.rows for row in rows] == ["nr-lena/goodput/another"]
    path.write_text(columns.replace("snr_db,", "") + "\n" + ",".join(list(other.values())[1:]) + "\n")
    with pytest.raises(ReferenceFileError, match="no column 'snr_db'"):
        validate(1, only="nr-lena/goodput", references=tmp_path)
    with pytest.raises(ReferenceFileError, match="no such folder"):
        validate(1, only="nr-lena/goodput", references=tmp_path / "none")


def test_a_cell_beside_5g_lena_follows_from_the_columns() -> None:
    own = reference_rows("nr-lena/cases.csv")[0]
    changed = {"case": "x", "scs_khz": "15", "pattern": "DSUU", "prb": "79", "snr_db": "7", "ues": "3"}
    uplink = own | changed | {"dir": "ul", "mcs_table": "1", "lena_extra": "--n2=3 --decodeUs=50"}
    cell = LenaNrCell(uplink)
    text = tomllib.loads(cell.text())
    (of,) = text["cell"]
    assert (of["resource_blocks"], of["radio"]["subcarrier_spacing"], of["radio"]["k2"]) == (79, "15 kHz", 3)
    assert of["radio"]["duplex"]["pattern"] == "DSUU"
    assert of["radio"]["gnb_receive_processing"] == "50 us"
    assert (text["ue"][0]["count"], text["flow"][0]["direction"]) == (3, "uplink")
    assert cell.scenario().resolved
    # MCS 9 of table 1, QPSK with a rate of 679 / 1024: 79 blocks of 144 elements carry 15086 bits, in a block
    # of 15112 bits (TS 38.214 clause 5.1.3.2: two code blocks), in two of four slots of 1 ms.
    assert cell.capacity_mbps(9) == pytest.approx(15112 * 2 / 4e3 * 1400 / 1435, rel=0.01)
    with pytest.raises(ReferenceFileError, match="case x: snr_db = 'high': expected a number"):
        LenaNrCell(uplink | {"snr_db": "high"}).text()


def test_a_file_gives_its_rows_again(tmp_path: Path) -> None:
    family = next(one for one in families() if one.counted)
    rows = [
        row(101.25),
        replace(row(99.0), id="f/2", ci95=0.25, n=8),
        replace(row(130.0), id="f/3", ok=False, counted=False, note=""),
        replace(row(math.nan), id="f/4", ok=False),
    ]
    record.write(Validation([(family, rows)], ["no file"]), tmp_path / "validation.json")
    again = record.read(tmp_path / "validation.json")
    assert again.skipped == ["no file"]
    ((of, found),) = again.rows
    assert of == family
    assert found[:3] == rows[:3]
    assert math.isnan(found[3].ours)


def test_a_skipped_family_keeps_the_rows_of_the_file_and_is_named(tmp_path: Path) -> None:
    family, file = families()[0], tmp_path / "validation.json"
    assert record.write(Validation([(family, [row(99.0)])], []), file) == []
    assert record.write(Validation([(family, [])], [f"{family.id}: takes minutes"]), file) == [family.id]
    assert record.read(file) == Validation([(family, [row(99.0)])], [])


@pytest.mark.parametrize(
    ("reference", "ours", "text"),
    [
        (100.0, 101.0, "| 100 | 101 | +1.00% |"),
        (2.5, 2.0, "| 2.500 | 2.000 | -20.00% |"),
        (2401.6667, 2412.6667, "| 2402 | 2413 | +0.46% |"),
        (1e-8, -0.041, "| 0.000 | -0.041 | – |"),
        (0.0, 0.3, "| 0.000 | 0.300 | – |"),
    ],
)
def test_figures_have_the_digits_that_say_something(reference: float, ours: float, text: str) -> None:
    one = replace(row(ours), reference=reference)
    assert text in report.as_markdown(Validation([(FAMILY, [one])], []))


def test_the_document_names_source_band_and_value() -> None:
    text = report.as_markdown(Validation([(FAMILY, [replace(row(100.5), ci95=0.25, n=8)])], []))
    assert "Source: somewhere. Band: ±1%." in text
    assert "| `f/1` | Mbit/s | 100 | 100.500 ±0.250 (n=8) | +0.50% | yes | beside |" in text


@pytest.mark.parametrize("traffic", ["udp", "tcp"])
def test_the_cell_is_toml_with_one_flow_for_each_ue(traffic: str) -> None:
    cell = tomllib.loads(LenaCell(places=positions(20), traffic=traffic, fading="eva", speed_kmph=60).text())
    assert [flow["to"] for flow in cell["flow"]] == [ue["name"] for ue in cell["ue"]]
    assert len(cell["ue"]) == 20
    assert cell["ue"][1]["position"] == ["193.413 m", "-87.245 m"]
    assert cell["channel"]["fading"] == {"model": "eva", "speed": "60 km/h"}


def test_a_saturating_load_is_shared_among_the_ues() -> None:
    cell = tomllib.loads(LenaCell(places=positions(100), offered_mbps=150.0).text())
    assert {flow["app"]["rate"] for flow in cell["flow"]} == {"1500000 bit/s"}


def test_a_log_at_a_steady_rate_gives_a_trace_of_that_rate(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    # A packet of 1440 bytes each millisecond for 5 s: 11.52 Mbit/s, to which the first packet, at the very
    # start, adds 1 in 5000.
    lines = ["t_us,highest_ack,rtt_us", "0,-1,0", *(f"{1000 * i},{i},20000" for i in range(1, 5001))]
    (tmp_path / "steady.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("AIRLANE_MELD_RUNS", str(tmp_path))
    (family,) = [f for f in families() if f.measure == "measured_trace"]
    rows = measured_rows(family)
    assert not isinstance(rows, str), rows
    (only,) = rows
    assert only.reference == pytest.approx(11.52, rel=3e-4)
    assert only.ok


def test_without_logs_the_reason_is_given(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setenv("AIRLANE_MELD_RUNS", str(tmp_path))
    (family,) = [f for f in families() if f.measure == "measured_trace"]
    assert "AIRLANE_MELD_RUNS" in str(measured_rows(family))


def test_a_kernel_run_becomes_the_scenario_of_its_link() -> None:
    runs = {run.id: tomllib.loads(run.text()) for run in linux_runs()}
    lossy = runs["C-reno-loss0.1pct-seed2"]
    assert lossy["internet"] == {
        "rate": "50 Mbit/s",
        "delay": "20 ms",  # half of 40 ms
        "queue": "1048576 B",
        "loss": "0.1 %",
        "loss_seed": 2,
    }
    assert lossy["flow"][0]["transport"]["congestion"] == "newreno"
    assert runs["E-cubic-10to50"]["internet"]["rate_steps"] == [{"at": "20 s", "rate": "50 Mbit/s"}]
    assert runs["F-reno-frto0-nots"]["internet"]["hold"] == [{"at": "10 s", "duration": "1 s"}]
    assert runs["F-reno-frto0-nots"]["flow"][0]["transport"]["frto"] is False
    assert runs["F-reno-frto0-nots"]["flow"][0]["transport"]["timestamps"] is False
    assert runs["G-cubic-nohystart-10MB"]["flow"][0]["transport"]["hystart"] is False
    assert runs["G-cubic-nohystart-10MB"]["flow"][0]["app"]["kind"] == "fixed"


def test_every_seed_of_a_loss_is_part_of_one_mean() -> None:
    (family,) = [f for f in families() if f.id == "linux/loss/goodput"]
    for case in linux(family):
        assert len(case.jobs(family)) == 3, case.id


def test_every_seed_of_the_reference_is_part_of_one_mean() -> None:
    (family,) = [f for f in families() if f.id == "tcp/cubic-eva/goodput"]
    cases = {case.id: case for case in tcp_cell(family)}
    # tcp.csv at 100 m: 70.588, 70.258 and 70.441.
    assert cases["tcp/cubic-eva/goodput/30ms-100m"].reference == pytest.approx(70.429)
    assert len(cases["tcp/cubic-eva/goodput/30ms-100m"].jobs(family)) == family.seeds


def test_the_slack_passes_what_the_band_does_not() -> None:
    output = native.Output({"flows": pa.table({"retransmissions": [36]})}, {})
    case = TcpCase(
        "f/1", "segments", 27.0, (), lambda o: float(o.tables["flows"]["retransmissions"][0].as_py())
    )
    family = replace(FAMILY, band=0.20)
    assert not case.row(family, [output]).ok  # a third more
    assert case.row(replace(family, slack=9.0), [output]).ok
    assert not case.row(replace(family, slack=8.9), [output]).ok


def test_windows_are_compared_where_a_bin_ends() -> None:
    # The bin from 0.0 s to 0.1 s is compared with the sample at 0.1 s.
    count = 301
    table = pa.table(
        {"t_s": [i / 10 for i in range(count)], "cwnd_bytes": [1448.0 * i for i in range(count)]}
    )
    t_s, ours, kernel = window_apart(native.Output({"flow_series": table}, {}), "B-reno")
    assert t_s[0] == pytest.approx(0.1)
    assert list(ours[:3]) == [0.0, 1.0, 2.0]
    assert len(ours) == len(kernel)


def test_goodput_over_distance_has_rows_at_every_bandwidth_that_ns3_leaves_blocks_idle_in() -> None:
    widths = {int(f.where["rbs"]) for f in families() if f.reference == "widths.csv" and f.counted}
    assert widths == {15, 25, 50, 75, 100}


def test_ns3_uses_no_incomplete_group() -> None:
    # Near the cell ns-3 carried the blocks of MCS 28 on 14, 24, 48 and 72 resource blocks (TS 36.213 table
    # 7.1.7.2.1-1): 1400 of the 1430 bytes of a PDCP PDU are payload, 97.9 %, less RLC headers.
    for rbs, used in ((15, 14), (25, 24), (50, 48), (75, 72)):
        (row,) = [r for r in reference_rows("widths.csv") if r["rbs"] == str(rbs) and r["dist_m"] == "100"]
        assert 0.97 < float(row["goodput_mbps"]) / (native.tbs_bits(28, used) / 1000) < 1400 / 1430
        assert float(row["goodput_mbps"]) / (native.tbs_bits(28, rbs) / 1000) < 0.94


@pytest.mark.parametrize(
    ("resource_blocks", "snr_db", "cqi", "parts"),
    # ns-3's CQI 11 begins at 13.57 dB for groups of 4, ours 0.25 dB earlier: between them, one step apart.
    [(100, 13.43, 11, True), (100, 13.60, 11, False), (100, 13.90, None, False), (100, 12.90, None, False)],
)
def test_a_row_near_a_threshold_says_so(
    resource_blocks: int, snr_db: float, cqi: int | None, parts: bool
) -> None:
    found = near(resource_blocks, snr_db)
    assert (found and found.cqi) == cqi
    if found is not None:
        assert found.parts(snr_db) == parts
        assert f"(error {found.error_db:+.2f} dB)" in found.note(snr_db)
