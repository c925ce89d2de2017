//! BBR version 3 over whole links. There is no kernel for comparison; the tests check the goals of
//! the draft: full use, a short queue, tolerance of 2 % loss, a fair share.

use airlane_core::Instant;
use airlane_transport::CongestionKind;

use crate::flows::{flow, goodput_mbps, jain_index, run, srtts_ms};
use crate::harness::{FlowResult, LinkConfig, RunResult};

fn mean_srtt_ms(flow: &FlowResult, from_s: u64) -> f64 {
    let values = srtts_ms(flow, from_s);
    values.iter().sum::<f64>() / values.len() as f64
}

/// 50 Mbit/s, 40 ms, a megabyte of buffer: 1448 of 1500 bytes are payload, so 48.3 Mbit/s are possible. A
/// loss-based controller would cause a standing queue of 168 ms; here probing adds a quarter of the
/// bandwidth-delay product for three round trips in about 60, and ProbeRTT halves the data in flight for a
/// twentieth of the time.
#[test]
fn fills_a_link_and_keeps_its_queue_short() {
    let r = run(LinkConfig::new(50, 40, 1_048_576), vec![flow(CongestionKind::Bbr3, 0)], 30);
    let rate = goodput_mbps(&r.flows[0], 5, 30);
    assert!(rate > 0.93 * 50.0 * 1448.0 / 1500.0, "{rate}");
    let srtt = mean_srtt_ms(&r.flows[0], 5);
    assert!(srtt < 1.15 * 40.0, "{srtt}");
    assert_eq!((r.queue_drops, r.flows[0].sender.timeouts), (0, 0));
}

/// A buffer of a quarter of the bandwidth-delay product cannot hold a doubled window: version 1 keeps
/// losing, version 3 finds the amount in flight that fits.
#[test]
fn a_shallow_buffer_is_respected() {
    let link = || LinkConfig::new(10, 40, 12_500);
    let v3 = run(link(), vec![flow(CongestionKind::Bbr3, 0)], 60);
    let v1 = run(link(), vec![flow(CongestionKind::Bbr, 0)], 60);
    let lost = |r: &RunResult| {
        r.flows[0].sender.retransmissions as f64 / r.flows[0].sender.data_segments_sent as f64
    };
    assert!(lost(&v3) < 0.01, "{}", lost(&v3));
    assert!(lost(&v3) < 0.5 * lost(&v1), "{} and {}", lost(&v3), lost(&v1));
    let rate = goodput_mbps(&v3.flows[0], 5, 60);
    assert!(rate > 0.9 * 9.65, "{rate}");
}

/// Random loss of 1 % is tolerated while probing (threshold 2 %); CUBIC gets a sixteenth of the
/// link. In Cruise each round trip with a loss reduces the model to the delivered amount, which
/// costs some throughput.
#[test]
fn one_per_cent_of_random_loss_costs_little() {
    let mut link = LinkConfig::new(50, 40, 1_048_576);
    (link.loss, link.loss_seed) = (0.01, 5);
    let r = run(link, vec![flow(CongestionKind::Bbr3, 0)], 30);
    let rate = goodput_mbps(&r.flows[0], 5, 30);
    assert!(rate > 0.75 * 48.3, "{rate}");
    assert_eq!(r.flows[0].sender.timeouts, 0);
}

/// Above the threshold it slows down: with ten per cent of loss it gets a fraction of the throughput of
/// version 1, which ignores losses.
#[test]
fn ten_per_cent_is_a_signal() {
    let rate = |kind| {
        let mut link = LinkConfig::new(50, 40, 1_048_576);
        (link.loss, link.loss_seed) = (0.1, 5);
        goodput_mbps(&run(link, vec![flow(kind, 0)], 30).flows[0], 5, 30)
    };
    let (v3, v1) = (rate(CongestionKind::Bbr3), rate(CongestionKind::Bbr));
    assert!(v3 < 0.5 * v1, "{v3} and {v1}");
}

/// Two flows, the second 5 s later: over the last two of three minutes they share the link within a
/// factor of 1.5 (Jain's index of 3:2 is 0.96), and fill it.
#[test]
fn two_flows_share_fairly() {
    let flows = vec![flow(CongestionKind::Bbr3, 0), flow(CongestionKind::Bbr3, 5000)];
    let r = run(LinkConfig::new(20, 40, 200_000), flows, 180);
    let (a, b) = (goodput_mbps(&r.flows[0], 60, 180), goodput_mbps(&r.flows[1], 60, 180));
    assert!(jain_index(&[a, b]) > 0.96, "{a} and {b}");
    assert!(a + b > 0.9 * 19.3, "{a} and {b}");
}

/// Together with CUBIC in a buffer of twice the bandwidth-delay product: version 1 leaves CUBIC a
/// tenth, version 3 leaves it a fair part.
#[test]
fn cubic_gets_its_share() {
    let share = |kind| {
        let flows = vec![flow(kind, 0), flow(CongestionKind::Cubic, 5000)];
        let r = run(LinkConfig::new(20, 40, 100_000), flows, 90);
        goodput_mbps(&r.flows[1], 30, 90)
            / (goodput_mbps(&r.flows[0], 30, 90) + goodput_mbps(&r.flows[1], 30, 90))
    };
    let (beside_v3, beside_v1) = (share(CongestionKind::Bbr3), share(CongestionKind::Bbr));
    assert!((0.25..0.75).contains(&beside_v3), "{beside_v3}");
    assert!(beside_v1 < 0.2, "{beside_v1}");
}

/// The link becomes five times faster: within four seconds (a probe each 2 to 3 s or 63 round trips,
/// then at least a quarter more per round trip) the flow uses most of it.
#[test]
fn more_bandwidth_is_found() {
    let mut link = LinkConfig::new(10, 60, 524_288);
    link.rate_step = Some((Instant::from_millis(10_000), airlane_core::BitRate(50_000_000)));
    let r = run(link, vec![flow(CongestionKind::Bbr3, 0)], 30);
    let rate = goodput_mbps(&r.flows[0], 20, 30);
    assert!(rate > 0.8 * 48.3, "{rate}");
}

/// Version 3 sends bursts of a millisecond; the pause between them is their transmission time at
/// the pacing rate.
#[test]
fn bursts_are_a_millisecond_long() {
    let r = run(LinkConfig::new(50, 40, 1_048_576), vec![flow(CongestionKind::Bbr3, 0)], 10);
    let from = Instant::from_millis(5000);
    let mut burst_sizes = std::collections::BTreeMap::new();
    let late: Vec<_> = r.sent.iter().filter(|s| s.at >= from).collect();
    for same in late.chunk_by(|a, b| a.at == b.at) {
        *burst_sizes.entry(same.len()).or_insert(0) += 1;
    }
    // 50 Mbit/s are 4.2 segments per millisecond: bursts of 3 to 5, some of them cut by the window.
    let common: i32 = (2..=5).map(|n| burst_sizes.get(&n).copied().unwrap_or(0)).sum();
    let all: i32 = burst_sizes.values().sum();
    assert!(common * 10 > all * 8, "{burst_sizes:?}");
    assert!(*burst_sizes.keys().max().unwrap() <= 6, "{burst_sizes:?}");
}
