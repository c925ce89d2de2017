//! Distinguishing random losses from congestion, on the link of `recovery.rs`: a full packet in 1
//! ms (12 Mb/s), 20 ms each way.

use airlane_core::{Bytes, Instant};
use airlane_transport::congestion::LossDiscrimination;
use airlane_transport::{CongestionKind, TcpConfig};

use crate::harness::{FlowConfig, Harness, LinkConfig, RunResult};

const SEGMENT: u64 = 1448;

fn config(loss_discriminator: LossDiscrimination) -> TcpConfig {
    TcpConfig { congestion: CongestionKind::NewReno, loss_discriminator, ..TcpConfig::linux() }
}

fn harness<'a>(link: LinkConfig, loss_discriminator: LossDiscrimination) -> Harness<'a> {
    let sender = config(loss_discriminator);
    let receiver = sender.clone();
    Harness::new(link, vec![FlowConfig { sender, receiver, start: Instant::ZERO, bytes: None }])
}

/// Segment 5 of the first ten is lost. At the third SACK the window is 15 and the round trip 48.08
/// ms, 7 ms above the first: 15 * 7/48.08 = 2.2 segments are in the queue, so the loss is random and
/// the window stays 15. Classified as congestion, it would be 7.
#[test]
fn one_random_loss() {
    for (kind, kept) in [(LossDiscrimination::Veno, 15), (LossDiscrimination::None, 7)] {
        let mut h = harness(LinkConfig::new(12, 40, 1 << 20), kind);
        h.fate = Some(Box::new(|n, _, _, payload| payload > 0 && n == 5));
        let stats = h.run(Instant::from_millis(200)).flows[0].sender;
        assert_eq!((stats.recoveries, stats.retransmissions), (1, 1));
        assert_eq!(stats.ssthresh, Some(Bytes(kept * SEGMENT)), "{kind:?}");
    }
}

/// Only a queue of 20 packets loses, at a window of 61 and more, so at least 20 segments wait at
/// every loss: no loss is classified as random, and every packet leaves at the same time.
#[test]
fn losses_of_a_full_queue_are_congestion() {
    let run = |kind| -> RunResult {
        harness(LinkConfig::new(12, 40, 20 * 1500), kind).run(Instant::from_millis(20_000))
    };
    let (with, without) = (run(LossDiscrimination::Veno), run(LossDiscrimination::None));
    let sent = |r: &RunResult| -> Vec<_> { r.sent.iter().map(|s| (s.at, s.offset)).collect() };
    assert!(with.flows[0].sender.recoveries >= 3, "{}", with.flows[0].sender.recoveries);
    assert_eq!(sent(&with), sent(&without));
}

/// One packet in a hundred is lost at random: reductions by half leave NewReno 1.22 / sqrt(0.01) = 12
/// segments in 40 ms (Mathis et al. 1997), 3.5 Mbit/s. A sender that keeps its window fills the link
/// of 11.6 Mbit/s of payload, except for losses at a queue of three or more.
#[test]
fn random_loss_no_longer_sets_the_rate() {
    let goodput = |kind| {
        let link = LinkConfig { loss: 0.01, loss_seed: 1, ..LinkConfig::new(12, 40, 60 * 1500) };
        let stats = harness(link, kind).run(Instant::from_millis(30_000)).flows[0].sender;
        stats.bytes_acked.get() as f64 * 8.0 / 30.0 / 1e6
    };
    let (with, without) = (goodput(LossDiscrimination::Veno), goodput(LossDiscrimination::None));
    assert!((2.5..4.5).contains(&without), "{without}");
    assert!(with > 2.0 * without, "{with} and {without}");
}
