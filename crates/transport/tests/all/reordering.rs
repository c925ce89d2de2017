//! The sender's detection of reordering (RFC 8985 §6.2 step 3, RFC 4653 §1): a segment sent once is delivered
//! after one that was sent later. On a path that preserves the order there is none, for any losses.

use std::cell::RefCell;

use airlane_core::{Bytes, Duration, Instant};
use airlane_transport::{CongestionKind, LossDetection, TcpConfig};

use crate::harness::{FlowConfig, Harness, LinkConfig, RunResult};

fn bulk<'a>(config: &TcpConfig, link: LinkConfig) -> Harness<'a> {
    let flow =
        FlowConfig { sender: config.clone(), receiver: config.clone(), start: Instant::ZERO, bytes: None };
    Harness::new(link, vec![flow])
}

/// Rate in Mbit/s, round trip in ms, buffer in bytes.
const LINKS: [(u64, u64, u64); 5] =
    [(2, 30, 20_000), (10, 40, 50_000), (10, 40, 12_500), (50, 40, 100_000), (75, 60, 524_288)];

/// RFC 8985 §6.2 step 3: a FIFO link never reorders, so neither its drops nor delayed ACKs near them may look
/// like reordering. Linux counts none in any of its 87 reference runs (`tcpi_reord_seen`). The first
/// duplicate ACK of an episode often acknowledges a segment whose ACK was delayed, and SACKs one beyond the
/// gap that arrived later.
#[test]
fn a_path_that_keeps_the_order_shows_no_reordering() {
    let controllers = [
        CongestionKind::NewReno,
        CongestionKind::Cubic,
        CongestionKind::Westwood,
        CongestionKind::Scalable,
        CongestionKind::Bbr,
    ];
    let (mut runs, mut repaired, mut seen) = (0, 0, Vec::new());
    for congestion in controllers {
        for (rate, rtt, buffer) in LINKS {
            for delayed_ack in [true, false] {
                let config = TcpConfig { congestion, delayed_ack, ..TcpConfig::linux() };
                let r = bulk(&config, LinkConfig::new(rate, rtt, buffer)).run(Instant::from_millis(20_000));
                let stats = r.flows[0].sender;
                runs += 1;
                repaired += stats.recoveries;
                if stats.reordering_seen > 0 {
                    let run = format!(
                        "{congestion:?} {rate} Mbit/s {rtt} ms {buffer} B, delayed ACKs {delayed_ack}"
                    );
                    seen.push(format!("{run}: {} of {} recoveries", stats.reordering_seen, stats.recoveries));
                }
            }
        }
    }
    assert!(runs >= 25 && repaired > 500, "{runs} runs, {repaired} recoveries: the drops are the point");
    assert!(seen.is_empty(), "{} of {runs} runs\n{}", seen.len(), seen.join("\n"));
}

/// The same with random losses, near which the delayed ACKs are in every phase.
#[test]
fn random_loss_shows_no_reordering() {
    for seed in 1..=5 {
        let link = LinkConfig { loss: 0.01, loss_seed: seed, ..LinkConfig::new(20, 40, 1 << 20) };
        let stats = bulk(&TcpConfig::linux(), link).run(Instant::from_millis(20_000)).flows[0].sender;
        assert!(stats.recoveries > 20, "{}", stats.recoveries);
        assert_eq!(stats.reordering_seen, 0, "seed {seed}");
    }
}

/// One late segment: later ones arrive before it, so its ACK shows reordering (RFC 8985 §6.2 step 3). The
/// link needs 1 ms per packet, so 5 ms are the time of five.
#[test]
fn one_late_segment_is_seen() {
    for (late_ms, expected) in [(0, 0), (5, 1)] {
        let r = late_by(&TcpConfig { hystart: false, ..TcpConfig::linux() }, late_ms);
        assert_eq!(r.flows[0].sender.reordering_seen, expected, "{late_ms} ms");
    }
    let by_count = TcpConfig { loss_detection: LossDetection::Rfc6675, ..TcpConfig::linux() };
    assert_eq!(late_by(&by_count, 5).flows[0].sender.reordering_seen, 1);
}

/// A transfer of a hundred segments whose sixth is delayed by this time.
fn late_by(config: &TcpConfig, late_ms: u64) -> RunResult {
    let packets = RefCell::new(0);
    let flow = FlowConfig {
        sender: config.clone(),
        receiver: config.clone(),
        start: Instant::ZERO,
        bytes: Some(144_800),
    };
    let mut h = Harness::new(LinkConfig::new(12, 40, 1 << 20), vec![flow]);
    // The first three packets belong to the handshake.
    h.jitter = Some(Box::new(|| {
        *packets.borrow_mut() += 1;
        if *packets.borrow() == 3 + 6 { Duration::from_millis(late_ms) } else { Duration::ZERO }
    }));
    let r = h.run(Instant::from_millis(2000));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(144_800));
    r
}
