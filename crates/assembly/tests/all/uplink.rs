//! The uplink path of acknowledgments: they wait for scheduling requests and grants, and for other
//! uplink data.

use airlane_assembly::run;
use airlane_record::Column;
use airlane_scenario::Scenario;

/// Without power control and outer loop, whose HARQ retransmissions would hide the tested effects.
const CELL: &str = r#"
[run]
duration = "3 s"
warmup = "1 s"
[[cell]]
name = "a"
mac = { power_control = "none", mcs_rule = "worst-subband" }
[channel]
fading = "none"
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
"#;

/// A window of ten segments, so that neither queue nor losses increase the round trip.
const DOWNLOAD: &str = r#"
[[flow]]
name = "download"
to = "phone"
[flow.transport]
kind = "tcp"
receive_window = { kind = "fixed", size = "14600 B" }
"#;

fn value(text: &str, set: &[(&str, &str)], table: &str, column: &str, row: usize) -> f64 {
    let mut scenario = Scenario::parse(text, "uplink.toml").unwrap();
    for (key, value) in set {
        scenario.set(key, &(*value).into()).unwrap();
    }
    let output = run(&scenario.resolve().unwrap_or_else(|e| panic!("{e}")), 1).unwrap();
    let (_, table) = output.tables.iter().find(|(name, _)| *name == table).unwrap();
    match table.column(column) {
        Some(Column::F64(values)) => values[row],
        Some(Column::I64(values)) => values[row] as f64,
        other => panic!("{column}: {other:?}"),
    }
}

/// A request waits half a period on average, so a longer period adds about half of the difference.
/// A burst of ACKs needs one request, so the delay does not apply fully to every ACK.
#[test]
fn the_round_trip_follows_the_period_of_scheduling_requests() {
    let text = format!("{CELL}{DOWNLOAD}");
    let rtt = |period: &str| {
        let set = [("cell.0.uplink.scheduling_request_period", period)];
        value(&text, &set, "flows", "rtt_ms", 0)
    };
    let (short, medium, long) = (rtt("5 ms"), rtt("20 ms"), rtt("80 ms"));
    assert!(short + 3.0 < medium, "{short} {medium}");
    assert!(medium + 10.0 < long, "{medium} {long}");
    assert!(long < short + 80.0, "{short} {long}");
}

/// Eighty uploading UEs share grants with the ACKs: with eight grants per slot, a round takes ten slots. The period of
/// scheduling requests is short, because with a longer one the round trip settles at multiples of it.
#[test]
fn the_round_trip_grows_with_the_load_of_the_uplink() {
    let others = r#"
[[ue]]
name = "other"
count = 80
position = ["200 m", "10 m"]
[[flow]]
name = "upload"
to = "other"
direction = "uplink"
"#;
    let (alone, loaded) = (format!("{CELL}{DOWNLOAD}"), format!("{CELL}{DOWNLOAD}{others}"));
    let period = [("cell.0.uplink.scheduling_request_period", "5 ms")];
    let rtt = |text: &str| value(text, &period, "flows", "rtt_ms", 0);
    let (quiet, busy) = (rtt(&alone), rtt(&loaded));
    assert!(busy > quiet + 2.0, "{quiet} {busy}");
    let used = |text: &str| value(text, &[], "cells", "prb_use_uplink", 0);
    let (quiet, busy) = (used(&alone), used(&loaded));
    assert!(quiet < 0.2 && busy > 0.8, "{quiet} {busy}");
    // Four of the hundred blocks are reserved for PUCCH.
    assert!(busy <= 0.96 + 1e-3, "{busy}");
}

/// Of the six PRBs of 1.4 MHz, `typical` reserves four for PUCCH. The other two are fewer than a
/// UE's usual minimum share, but carry the acknowledgments: the download has the cell's six PRBs
/// (TS 36.213 table 7.1.7.2.1-1: 4392 bits at I_TBS 26), less 3 % for headers.
#[test]
fn the_smallest_cell_has_an_uplink() {
    let cell = CELL.replace("name = \"a\"", "name = \"a\"\nresource_blocks = 6");
    let goodput = value(&format!("{cell}[[flow]]\nto = \"phone\"\n"), &[], "flows", "goodput_mbps", 0);
    assert!((0.9 * 4.392..4.392).contains(&goodput), "{goodput} Mbit/s");
}

/// With UM and small grants, a separate grant may be needed for the last byte of a packet, which must
/// also hold headers: every flow continues. Four UEs whose uplink carries 26 bytes in 3 PRBs.
#[test]
fn a_grant_for_the_last_byte_holds_its_headers() {
    let text = r#"
[run]
duration = "1 s"
warmup = "0 s"
[channel]
path_loss = "tr25.814"
fading = "none"
[[cell]]
name = "a"
resource_blocks = 25
uplink = "ideal-buffer-status"
mac = { power_control = "none", uplink_amc = "piro" }
rlc = "um"
[[ue]]
name = "phone"
count = 4
position = ["652 m", "92 m"]
[[flow]]
to = "phone"
"#;
    for row in 0..4 {
        let goodput = value(text, &[], "flows", "goodput_mbps", row);
        assert!(goodput > 1.0, "flow {row}: {goodput} Mbit/s");
    }
}

#[test]
fn a_ue_that_waits_for_grants_is_not_sent_to_sleep() {
    let set = [
        ("cell.0.drx.kind", "cycles"),
        ("cell.0.drx.cycle", "320 ms"),
        ("cell.0.drx.on_duration", "10 ms"),
        ("cell.0.drx.inactivity", "100 ms"),
    ];
    // Each packet of the downlink ends its data, so that the cell could send a command.
    let downlink =
        "[[flow]]\nto = \"phone\"\ntransport = \"udp\"\napp = { kind = \"cbr\", rate = \"400 kbit/s\" }\n";
    let uplink = "[[flow]]\nto = \"phone\"\ndirection = \"uplink\"\ntransport = \"udp\"\napp = { kind = \"cbr\", rate = \"8 Mbit/s\" }\n";
    let cell = CELL.replace("name = \"a\"\n", "name = \"a\"\ndrx = { kind = \"cycles\", command = true }\n");
    let text = format!("{cell}{downlink}{uplink}");
    let goodput = value(&text, &set, "flows", "goodput_mbps", 1);
    assert!(goodput > 7.8, "{goodput} Mbit/s");
}

/// The cell knows that a block was not decoded. After the command the UE would not listen to the grant of the retransmission,
/// which drx-RetransmissionTimerUL does not keep it awake for here.
#[test]
fn a_ue_that_must_repeat_a_block_is_not_sent_to_sleep() {
    let text = "network = \"nr-typical-fr1\"\n[run]\nduration = \"4 s\"\n[[cell]]\nname = \"a\"\n\
                drx = { kind = \"cycles\", cycle = \"320 ms\", on_duration = \"10 ms\", inactivity = \"100 ms\", \
                uplink_retransmission = \"0 ms\", command = true }\n\
                [[ue]]\nname = \"phone\"\nposition = [\"100 m\", \"0 m\"]\n\
                [[flow]]\nto = \"phone\"\ntransport = \"udp\"\n\
                app = { kind = \"cbr\", rate = \"500 kbit/s\", payload = \"300 B\" }\n\
                [[flow]]\nto = \"phone\"\ndirection = \"uplink\"\ntransport = \"udp\"\nstop = \"3 s\"\n\
                app = { kind = \"cbr\", rate = \"50 kbit/s\", payload = \"300 B\" }\n";
    let [sent, arrived] =
        ["packets_sent", "packets_delivered"].map(|name| value(text, &[], "flows", name, 1));
    assert!(sent > 60.0 && arrived == sent, "{arrived} of {sent} packets");
}
