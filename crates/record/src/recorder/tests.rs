use airlane_core::{CubicCurve, FlowId, Packet, Payload, TcpHeader};

use super::*;
use crate::table::Column;
use crate::{CellDescription, FlowDescription};

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn flow(name: &str, start: Instant) -> FlowDescription {
    FlowDescription {
        name: name.into(),
        to: "phone".into(),
        ue: Some(("phone".into(), UeId(0))),
        kind: "tcp".into(),
        congestion: "cubic".into(),
        app: "bulk".into(),
        direction: Direction::Downlink,
        both_directions: false,
        start,
        stop: None,
        streams: true,
        proxies: String::new(),
    }
}

/// Two flows from 0 and 500 ms, warm-up 200 ms, end 1 s, bins of 100 ms, one cell of 100 blocks.
fn parameters() -> RecorderParameters {
    RecorderParameters {
        flows: vec![flow("a", ms(0)), flow("b", ms(500))],
        cells: vec![CellDescription {
            name: "cell".into(),
            downlink_prbs: 100,
            uplink_prbs: 96,
            slot: Duration::from_millis(1),
            pattern: [1; 3],
            harq_transmissions: 4,
            bler_target: Some(0.1),
        }],
        ues: 1,
        hosts: vec!["phone".into()],
        warmup: ms(200),
        end: ms(1_000),
        bin: Some(RecorderParameters::DEFAULT_BIN),
        ..RecorderParameters::default()
    }
}

fn packet(flow: u32, direction: Direction, payload: u32, sent_at: Instant) -> Packet {
    let header = Header::Tcp(TcpHeader::default());
    Packet::new(FlowId(flow), direction, header, Payload::Length(payload), sent_at)
}

/// A packet of the flow's data arrives in order, `delay_ms` after it was sent.
fn deliver(recorder: &mut Recorder, flow: u32, at_ms: u64, delay_ms: u64, payload: u32) {
    let packet = packet(flow, Direction::Downlink, payload, ms(at_ms - delay_ms));
    let payload = Bytes(u64::from(payload));
    let event = Event::Delivered { packet: &packet, in_order: payload, fresh: Some(payload) };
    recorder.observe(ms(at_ms), &event);
}

fn tables(recorder: Recorder) -> impl Fn(&str, &str) -> Column {
    let tables = recorder.finish();
    move |table: &str, column: &str| {
        let (_, table) = tables.iter().find(|(name, _)| *name == table).expect("the table exists");
        table.column(column).unwrap_or_else(|| panic!("no column {column}")).clone()
    }
}

fn reals(column: Column) -> Vec<f64> {
    match column {
        Column::F64(values) => values,
        other => panic!("{other:?}"),
    }
}

fn counts(column: Column) -> Vec<i64> {
    match column {
        Column::I64(values) => values,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_summary_counts_inside_its_window_only() {
    let mut recorder = Recorder::new(parameters());
    deliver(&mut recorder, 0, 199, 50, 1_000); // before the warm-up ends
    for k in 0..8 {
        deliver(&mut recorder, 0, 200 + 100 * k, 10 + 10 * k, 1_000); // delays 10, 20, ..., 80 ms
    }
    deliver(&mut recorder, 1, 750, 30, 2_500);
    // Not data: an acknowledgement that arrives, and one without payload in data direction.
    for (direction, payload) in [(Direction::Uplink, 100), (Direction::Downlink, 0)] {
        let packet = packet(0, direction, payload, ms(700));
        let event = Event::Delivered { packet: &packet, in_order: Bytes::ZERO, fresh: None };
        recorder.observe(ms(800), &event);
    }
    let get = tables(recorder);
    // Flow a: 8000 bytes in [200, 1000] ms; flow b: 2500 bytes in [500, 1000] ms.
    assert_eq!(reals(get("flows", "goodput_mbps")), [0.08, 0.04]);
    assert_eq!(reals(get("flows", "owd_ms")), [45.0, 30.0]);
    assert_eq!(reals(get("flows", "owd_max_ms")), [80.0, 30.0]);
    assert_eq!(counts(get("flows", "packets_delivered")), [8, 1]);
    assert_eq!(counts(get("flows", "bytes_delivered")), [8_000, 2_500]);
    // Nearest rank of eight: the fourth for 50 %, the eighth for 95 %.
    let near = |ours: f64, exact: f64| (ours - exact).abs() <= exact / 256.0;
    assert!(near(reals(get("flows", "owd_p50_ms"))[0], 40.0));
    assert!(near(reals(get("flows", "owd_p95_ms"))[0], 80.0));
    assert!(reals(get("flows", "fct_s")).iter().all(|t| t.is_nan()));
    assert_eq!(get("flows", "flow"), Column::Text(vec!["a".into(), "b".into()]));
}

/// A split proxy receives the server's segments after 30 ms and sends one of its own, which takes 20 ms.
#[test]
fn the_delay_of_bytes_begins_at_the_server_also_with_a_proxy() {
    let run = |proxies: &str, to_own: u64| {
        let mut parameters = parameters();
        parameters.flows[0].proxies = proxies.into();
        let mut recorder = Recorder::new(parameters);
        for at in [300, 400] {
            let sent = packet(0, Direction::Downlink, 1_000, ms(at));
            recorder.observe(ms(at), &Event::Sent { packet: &sent, retransmission: at == 400 });
        }
        deliver(&mut recorder, 0, 450, to_own, 1_000);
        tables(recorder)
    };
    let get = run("gateway", 20);
    for column in ["owd", "byte_delay"] {
        for measure in ["_ms", "_p50_ms", "_p95_ms", "_p99_ms", "_max_ms"] {
            assert_eq!(reals(get("flows", &format!("{column}{measure}")))[0], 150.0, "{column}{measure}");
        }
    }
    assert_eq!(reals(get("flow_series", "owd_ms"))[4], 150.0);
    assert_eq!(get("flows", "proxies"), Column::Text(vec!["gateway".into(), String::new()]));
    assert_eq!(counts(get("flows", "packets_delivered")), [1, 0]);
    // Without it, the packet that arrives is the retransmission of 400 ms, and its bytes are those of 300 ms.
    let get = run("", 50);
    assert_eq!(reals(get("flows", "owd_ms"))[0], 50.0);
    assert_eq!(reals(get("flows", "byte_delay_ms"))[0], 150.0);
}

#[test]
fn a_completed_flow_is_measured_up_to_its_end() {
    let mut recorder = Recorder::new(parameters());
    deliver(&mut recorder, 0, 300, 20, 1_000);
    recorder.observe(ms(250), &Event::FlowSent { flow: FlowId(0), started_at: ms(50) });
    recorder.observe(ms(300), &Event::FlowCompleted { flow: FlowId(0), started_at: ms(50) });
    recorder.observe(ms(350), &Event::FlowAcknowledged { flow: FlowId(0), started_at: ms(50) });
    let get = tables(recorder);
    // 8000 bits in [200, 300] ms.
    assert_eq!(reals(get("flows", "goodput_mbps"))[0], 0.08);
    assert_eq!(reals(get("flows", "fct_s"))[0], 0.25);
    assert_eq!(reals(get("flows", "fct_sent_s"))[0], 0.2);
    assert_eq!(reals(get("flows", "fct_acked_s"))[0], 0.3);
    // Its rows end with the bin of its completion: 0, 100, 200, 300 ms; then those of b.
    let flows = get("flow_series", "flow");
    assert_eq!(flows.names().unwrap(), ["a", "a", "a", "a", "b", "b", "b", "b", "b"]);
}

#[test]
fn bins_hold_what_happened_in_them_and_the_last_state() {
    let mut recorder = Recorder::new(parameters());
    let state = |cwnd, ssthresh| Event::FlowState {
        flow: FlowId(0),
        congestion_window: Bytes(cwnd),
        ssthresh,
        in_flight: Bytes(cwnd / 2),
        offered_window: Some(Bytes(65_535)),
        cubic: ssthresh.map(|_| CubicCurve { w_max: Bytes(40_000), k: Some(Duration::from_millis(4_217)) }),
    };
    let rtt = Event::RttSample {
        flow: FlowId(0),
        rtt: Duration::from_millis(40),
        srtt: Duration::from_millis(42),
        rto: Duration::from_millis(242),
    };
    recorder.observe(ms(10), &state(14_000, None));
    deliver(&mut recorder, 0, 20, 10, 1_250);
    deliver(&mut recorder, 0, 99, 30, 1_250);
    deliver(&mut recorder, 0, 100, 25, 2_500);
    recorder.observe(ms(150), &state(28_000, Some(Bytes(20_000))));
    recorder.observe(ms(310), &rtt);
    let depth = Event::QueueDepth { ue: UeId(0), direction: Direction::Downlink, bytes: Bytes(777) };
    recorder.observe(ms(310), &depth);
    recorder.observe(ms(320), &Event::SegmentLost { flow: FlowId(0), bytes: Bytes(1_000) });
    let lost = packet(0, Direction::Downlink, 1_000, ms(330));
    recorder.observe(ms(330), &Event::Sent { packet: &lost, retransmission: true });
    recorder.observe(ms(331), &Event::Sent { packet: &lost, retransmission: false });
    recorder.observe(ms(340), &Event::Dropped { packet: &lost, cause: DropCause::QueueFull });
    recorder.observe(ms(340), &Event::Dropped { packet: &lost, cause: DropCause::Endpoint });
    let get = tables(recorder);
    let series = |column| reals(get("flow_series", column));
    assert_eq!(series("t_s")[..4], [0.0, 0.1, 0.2, 0.3]);
    // 20000 bits in 0.1 s, twice, then none.
    assert_eq!(series("goodput_mbps")[..3], [0.2, 0.2, 0.0]);
    assert_eq!(series("owd_ms")[..2], [20.0, 25.0]);
    assert!(series("owd_ms")[2].is_nan() && series("owd_max_ms")[2].is_nan());
    assert_eq!(series("owd_max_ms")[..2], [30.0, 25.0]);
    assert_eq!(series("cwnd_bytes")[..3], [14_000.0, 28_000.0, 28_000.0]);
    assert!(series("ssthresh_bytes")[0].is_nan());
    assert_eq!(series("ssthresh_bytes")[1], 20_000.0);
    assert!(series("cubic_w_max_bytes")[0].is_nan() && series("cubic_k_s")[0].is_nan());
    assert_eq!((series("cubic_w_max_bytes")[1], series("cubic_k_s")[1]), (40_000.0, 4.217));
    assert_eq!((series("srtt_ms")[3], series("rto_ms")[3]), (42.0, 242.0));
    assert_eq!(series("rlc_queue_bytes")[3], 777.0);
    assert_eq!(counts(get("flow_series", "lost_segments"))[..4], [0, 0, 0, 1]);
    assert_eq!(counts(get("flow_series", "retransmissions"))[..4], [0, 0, 0, 1]);
    // Ten bins of flow a and five of b.
    assert_eq!(series("t_s").len(), 15);
    assert_eq!(counts(get("flows", "packets_sent")), [2, 0]);
    assert_eq!(counts(get("flows", "retransmissions")), [1, 0]);
    assert_eq!(counts(get("flows", "packets_lost")), [1, 0]);
    assert_eq!(reals(get("flows", "rtt_ms"))[0], 40.0);
}

#[test]
fn a_run_that_ends_within_a_bin_has_a_shorter_last_one() {
    let mut recorder = Recorder::new(RecorderParameters { end: ms(950), ..parameters() });
    deliver(&mut recorder, 0, 910, 10, 1_250);
    let get = tables(recorder);
    // 10000 bits in the last 50 ms.
    assert_eq!(reals(get("flow_series", "t_s")).last(), Some(&0.9));
    let goodput = reals(get("flow_series", "goodput_mbps"));
    assert_eq!(goodput[goodput.len() - 2], 0.2); // flow b's row is the last
}

#[test]
fn a_timeout_knows_the_second_before_it() {
    let mut recorder = Recorder::new(RecorderParameters { end: ms(9_000), ..parameters() });
    let lost = Event::SegmentLost { flow: FlowId(0), bytes: Bytes(1_000) };
    let ack = packet(0, Direction::Uplink, 0, ms(0));
    for at in [900, 1_000, 1_500, 2_000] {
        recorder.observe(ms(at), &lost);
    }
    recorder.observe(ms(1_999), &Event::Dropped { packet: &ack, cause: DropCause::Radio });
    let timeout = |backoff| Event::Timeout {
        flow: FlowId(0),
        rto: Duration::from_millis(300),
        congestion_window: Bytes(30_000),
        in_flight: Bytes(20_000),
        backoff,
        in_recovery: backoff > 1,
    };
    // At 2000: the losses at 1000 and 1500 count; the one at 900 was earlier, the one at 2000 was
    // declared by the timeout.
    recorder.observe(ms(2_000), &timeout(1));
    // The window after the timeout at 2000 is one segment, reported twice; the one after 2600 is
    // reported later.
    let state = |cwnd| Event::FlowState {
        flow: FlowId(0),
        congestion_window: Bytes(cwnd),
        ssthresh: None,
        in_flight: Bytes(1_000),
        offered_window: Some(Bytes(65_535)),
        cubic: None,
    };
    recorder.observe(ms(2_000), &state(1_000));
    recorder.observe(ms(2_000), &state(2_000));
    recorder.observe(ms(2_600), &timeout(1));
    recorder.observe(ms(2_601), &state(2_000));
    recorder.observe(ms(3_200), &timeout(2));
    recorder.observe(ms(3_300), &Event::TimeoutUndone { flow: FlowId(0), congestion_window: Bytes(30_000) });
    let get = tables(recorder);
    assert_eq!(reals(get("timeouts", "t_s")), [2.0, 2.6, 3.2]);
    assert_eq!(counts(get("timeouts", "lost_last_second")), [2, 1, 0]);
    assert_eq!(counts(get("timeouts", "drops_last_second")), [1, 1, 0]);
    let after = reals(get("timeouts", "cwnd_after_bytes"));
    assert_eq!(after[0], 1_000.0);
    assert!(after[1].is_nan() && after[2].is_nan());
    // The undo affects the two in the same backoff, not the first.
    assert_eq!(get("timeouts", "undone"), Column::Bool(vec![false, true, true]));
    assert_eq!(get("timeouts", "in_recovery"), Column::Bool(vec![false, false, true]));
    assert_eq!(counts(get("flows", "timeouts")), [3, 0]);
    assert_eq!(counts(get("flows", "timeouts_undone")), [2, 0]);
}

#[test]
fn blocks_add_up_to_the_use_of_the_cell() {
    let mut recorder = Recorder::new(parameters());
    let block = |direction, mcs, prbs, attempt, decoded| Event::TransportBlock {
        cell: CellId(0),
        ue: UeId(0),
        direction,
        process: 0,
        mcs,
        prbs,
        bytes: Bytes(1_250),
        attempt,
        decoded,
        power_limited: false,
    };
    // In every slot of [200, 600), half of the downlink and a quarter of the uplink, reported at
    // the end of each slot.
    for at in 101..=600 {
        recorder.observe(ms(at), &block(Direction::Downlink, 20, 50, 0, true));
        recorder.observe(ms(at), &block(Direction::Uplink, 10, 24, 0, true));
    }
    // One block of MCS 28 fails four times and is given up.
    for attempt in 0..4 {
        recorder.observe(ms(600), &block(Direction::Downlink, 28, 20, attempt, false));
    }
    let get = tables(recorder);
    // 400 slots of 50 blocks and 80 blocks more, of 800 slots of 100; and 400 of 24, of 800 of 96.
    assert_eq!(reals(get("cells", "prb_use_downlink")), [(400.0 * 50.0 + 80.0) / 80_000.0]);
    assert_eq!(reals(get("cells", "prb_use_uplink")), [0.125]);
    assert_eq!(reals(get("cells", "mcs_mean")), [(400.0 * 20.0 + 28.0) / 401.0]);
    assert_eq!(counts(get("cells", "tb_sent")), [404]);
    assert_eq!(counts(get("cells", "harq_retx")), [3]);
    assert_eq!(counts(get("cells", "harq_failed")), [1]);
    assert_eq!(reals(get("cells", "bler_first")), [1.0 / 401.0]);
    assert_eq!(reals(get("cells", "bler_target")), [0.1]);
    assert_eq!(reals(get("cells", "mcs_mean_uplink")), [10.0]);
    assert_eq!(reals(get("flows", "mcs_mean")), [(400.0 * 20.0 + 28.0) / 401.0; 2]);
    assert_eq!(counts(get("flows", "harq_retx")), [3, 3]);
    assert_eq!(reals(get("cell_series", "prb_use_downlink"))[..3], [0.0, 0.495, 0.5]);
    // 100 blocks of 10000 bits in 0.1 s.
    assert_eq!(reals(get("cell_series", "mac_downlink_mbps"))[2], 10.0);
}

#[test]
fn without_series_their_topics_are_not_heard() {
    let recorder = Recorder::new(RecorderParameters { bin: None, ..parameters() });
    assert!(!recorder.topics().wants(Topic::FlowState));
    assert!(recorder.topics().wants(Topic::Delivered));
    let tables: Vec<&str> = recorder.finish().into_iter().map(|(name, _)| name).collect();
    assert_eq!(tables, ["flows", "cells", "timeouts", "uplink_power", "outages"]);
}

/// A log of frequent events sees them, and the sums too.
#[test]
fn a_log_may_want_any_topic() {
    let mut recorder = Recorder::new(RecorderParameters { ran_log: true, losses: true, ..parameters() });
    assert!(recorder.topics().wants(Topic::Assigned));
    recorder.observe(
        ms(300),
        &Event::TransportBlock {
            cell: CellId(0),
            ue: UeId(0),
            direction: Direction::Downlink,
            process: 0,
            mcs: 20,
            prbs: 50,
            bytes: Bytes(1_250),
            attempt: 0,
            decoded: true,
            power_limited: false,
        },
    );
    let lost = packet(0, Direction::Downlink, 1_000, ms(330));
    recorder.observe(ms(340), &Event::Dropped { packet: &lost, cause: DropCause::QueueFull });
    let get = tables(recorder);
    assert_eq!(counts(get("ran_log", "slot")), [299]);
    assert_eq!(counts(get("cells", "tb_sent")), [1]);
    assert_eq!(counts(get("losses", "packets")), [1]);
    assert_eq!(counts(get("flows", "packets_lost")), [1, 0]);
}
