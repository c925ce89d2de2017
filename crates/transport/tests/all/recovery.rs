//! Classic traces of recovery, with the expected result derived by hand.
//!
//! The link carries a full packet in 1 ms (12 Mb/s) and has 20 ms of delay each way. The SYN's
//! answer arrives at 40.04 ms; ten segments follow the ACK. Segment k of them (from 0) leaves the
//! link at 41.08 + k ms and its ACK arrives 40 ms later, at 81.08 + k. Segments hold 1448 bytes.

use std::cell::RefCell;

use airlane_core::{Bytes, Duration, Instant, TcpFlags};
use airlane_transport::{
    CongestionKind, ConnectionState, LossDetection, ReceiveWindowKind, RttSampling, TcpConfig, WindowGrowth,
};

use crate::harness::{FlowConfig, Harness, LinkConfig, RunResult, SentSegment};

const SEGMENT: u64 = 1448;

fn ms(t: u64) -> Instant {
    Instant::from_millis(t)
}

fn one_flow<'a>(config: &TcpConfig, segments: Option<u64>) -> Harness<'a> {
    let flow = FlowConfig {
        sender: config.clone(),
        receiver: config.clone(),
        start: Instant::ZERO,
        bytes: segments.map(|n| n * SEGMENT),
    };
    Harness::new(LinkConfig::new(12, 40, 1 << 20), vec![flow])
}

fn linux() -> TcpConfig {
    TcpConfig::linux()
}

fn rfc6675() -> TcpConfig {
    TcpConfig { loss_detection: LossDetection::Rfc6675, ..linux() }
}

/// Runs a transfer in which the data packets of these serial numbers are lost.
fn lossy(config: &TcpConfig, segments: Option<u64>, lost: &[u64], end: u64) -> RunResult {
    let lost = lost.to_vec();
    let mut h = one_flow(config, segments);
    h.fate = Some(Box::new(move |n, _, _, payload| payload > 0 && lost.contains(&n)));
    h.run(ms(end))
}

fn again(result: &RunResult) -> Vec<SentSegment> {
    result.sent.iter().filter(|s| s.again).copied().collect()
}

/// Segment 5 of the first ten is lost; it never enters the link, so segment 8 is the eighth on the
/// link. Its ACK is the third with a SACK, at 81.08 + 7 = 88.08 ms, when the retransmission is
/// sent. Five segments were acknowledged in slow start: the window is 15, the threshold 15 *
/// 717/1024 = 10.
#[test]
fn one_loss_is_repaired_at_the_third_sack() {
    for config in [linux(), rfc6675()] {
        let r = lossy(&config, Some(100), &[5], 2000);
        let again = again(&r);
        assert_eq!(again.len(), 1);
        assert_eq!(again[0].offset, 5 * SEGMENT);
        let at = again[0].at.as_secs_f64() * 1e3;
        assert!((88.0..88.2).contains(&at), "{at}");
        let stats = r.flows[0].sender;
        assert_eq!((stats.timeouts, stats.recoveries, stats.segments_lost), (0, 1, 1));
        assert_eq!(stats.ssthresh, Some(Bytes(10 * SEGMENT)));
        assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(100 * SEGMENT));
    }
}

/// The same for NewReno: half of 15 is 7.
#[test]
fn newreno_halves() {
    let config = TcpConfig { congestion: CongestionKind::NewReno, ..linux() };
    let r = lossy(&config, Some(100), &[5], 2000);
    assert_eq!(r.flows[0].sender.ssthresh, Some(Bytes(7 * SEGMENT)));
}

/// Every other of twenty segments is lost: ten holes, each filled once, in one recovery.
#[test]
fn many_losses_are_repaired_in_one_recovery() {
    let lost: Vec<u64> = (40..60).step_by(2).collect();
    for config in [linux(), rfc6675()] {
        let r = lossy(&config, Some(300), &lost, 3000);
        let stats = r.flows[0].sender;
        assert_eq!((stats.retransmissions, stats.timeouts, stats.recoveries), (10, 0, 1));
        assert_eq!((stats.dsack_received, stats.segments_lost), (0, 10));
        assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(300 * SEGMENT));
    }
}

/// The last of ten segments is lost. After the ACK of the ninth, at 89.08 ms, one segment is
/// outstanding: the probe waits 2 SRTT + 200 ms, but not longer than the timeout, SRTT (40 to 45
/// ms) + 200 ms. It repeats the last segment. With RFC 6675 there is only the timeout.
#[test]
fn a_lost_tail_is_probed() {
    let r = lossy(&linux(), Some(10), &[9], 2000);
    let stats = r.flows[0].sender;
    assert_eq!((stats.loss_probes, stats.retransmissions, stats.timeouts), (1, 1, 0));
    let probe = again(&r)[0];
    assert_eq!(probe.offset, 9 * SEGMENT);
    let waited = probe.at.as_secs_f64() * 1e3 - 89.08;
    assert!((240.0..250.0).contains(&waited), "{waited}");
    // RFC 8985 §7.4.2: an ACK of the probe alone is ambiguous, so the window stays.
    assert_eq!(stats.ssthresh, None);
    let r = lossy(&rfc6675(), Some(10), &[9], 2000);
    let stats = r.flows[0].sender;
    assert_eq!((stats.loss_probes, stats.retransmissions, stats.timeouts), (0, 1, 1));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(10 * SEGMENT));
}

/// The last three are lost. The probe repeats the last; its SACK, sent later than the other
/// two, makes RACK declare them lost: no timeout.
#[test]
fn a_longer_lost_tail_is_repaired_through_the_probe() {
    let r = lossy(&linux(), Some(10), &[7, 8, 9], 2000);
    let stats = r.flows[0].sender;
    assert_eq!((stats.loss_probes, stats.retransmissions, stats.timeouts), (1, 3, 0));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(10 * SEGMENT));
}

/// The retransmission of segment 5 is lost as well (it is the data packet after the 20 that slow
/// start had sent by then). RACK detects that data sent later was delivered, one round trip later;
/// RFC 6675 cannot detect it and waits for the timeout.
#[test]
fn a_lost_retransmission() {
    let count = |config: &TcpConfig| {
        let copies = RefCell::new(0);
        let mut h = one_flow(config, Some(400));
        h.fate = Some(Box::new(|_, _, header, payload| {
            let fifth = payload > 0 && u64::from(header.sequence) == 1 + 5 * SEGMENT;
            *copies.borrow_mut() += u32::from(fifth);
            fifth && *copies.borrow() <= 2
        }));
        let r = h.run(ms(4000));
        assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(400 * SEGMENT));
        (again(&r), r.flows[0].sender.timeouts)
    };
    let (again, timeouts) = count(&linux());
    assert_eq!(timeouts, 0);
    assert_eq!(again.iter().filter(|s| s.offset == 5 * SEGMENT).count(), 2);
    let gap = (again[1].at - again[0].at).as_millis_f64();
    assert!((40.0..60.0).contains(&gap), "{gap}");
    assert_eq!(count(&rfc6675()).1, 1);
}

/// Segment 5 is delayed by 5 ms and arrives after four later ones. At the third SACK above it, it is
/// declared lost; the ACK caused by its original shows that it was not (RFC 4015), and the window is
/// restored. The copy is reported by D-SACK.
#[test]
fn reordering_costs_one_retransmission_and_no_window() {
    let packets = RefCell::new(0);
    // Without HyStart nothing but a loss ends slow start.
    let config = TcpConfig { hystart: false, ..linux() };
    let mut h = one_flow(&config, Some(100));
    // The first three packets are the handshake's, the next ten the first window.
    h.jitter = Some(Box::new(|| {
        *packets.borrow_mut() += 1;
        if *packets.borrow() == 3 + 6 { Duration::from_millis(5) } else { Duration::ZERO }
    }));
    let first = h.run(ms(2000));
    let stats = first.flows[0].sender;
    assert_eq!((stats.retransmissions, stats.recoveries, stats.recoveries_undone), (1, 1, 1));
    assert_eq!((stats.timeouts, stats.ssthresh, stats.dsack_received), (0, None, 1));
    assert_eq!(again(&first)[0].offset, 5 * SEGMENT);
    assert_eq!(first.flows[0].receiver.bytes_delivered, Bytes(100 * SEGMENT));
}

/// Everything from the 31st data packet on is lost for a second: timeouts back off, doubling,
/// and the transfer still completes.
#[test]
fn an_outage_backs_off() {
    let mut h = one_flow(&linux(), Some(200));
    h.fate = Some(Box::new(|n, now, _, payload| payload > 0 && n >= 30 && now < ms(2000)));
    let r = h.run(ms(10_000));
    let stats = r.flows[0].sender;
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(200 * SEGMENT));
    let rto: Vec<u64> = r
        .events
        .iter()
        .filter(|l| l.contains("timeout"))
        .map(|l| l.split(' ').nth(3).expect("the value").parse().expect("a number"))
        .collect();
    assert_eq!(rto.len() as u64, stats.timeouts);
    assert!(rto.len() >= 3, "{:?}", r.events);
    // The first is armed from the last transmission, the following ones double.
    assert!(rto.windows(2).skip(1).all(|w| w[1] == 2 * w[0]), "{rto:?}");
    assert_eq!(stats.timeouts_undone, 0);
}

/// Without SACK: three duplicate ACKs, then a partial ACK per hole (RFC 6582).
#[test]
fn without_sack_each_partial_ack_repairs_a_hole() {
    let config = TcpConfig { sack: false, ..linux() };
    let r = lossy(&config, Some(300), &[40, 42, 44], 3000);
    let stats = r.flows[0].sender;
    assert_eq!((stats.timeouts, stats.recoveries), (0, 1));
    let offsets: Vec<u64> = again(&r).iter().map(|s| s.offset / SEGMENT).collect();
    assert_eq!(offsets, [40, 42, 44]);
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(300 * SEGMENT));
}

/// Every third of 43 segments is lost except one. Without SACK that ends in a timeout, after which some
/// segments are sent again that had arrived. The resulting ACKs do not cover more than what was outstanding
/// at the timeout, so they start no recovery (RFC 6582 §3.2 step 2). If they could, the unnecessary
/// retransmissions of each recovery would start the next one, until the end of the transfer.
#[test]
fn what_was_sent_again_in_vain_starts_no_recovery() {
    let lost: Vec<u64> = (0..13).chain([14]).map(|i| 20 + 3 * i).collect();
    let [careful, less] = [true, false].map(|careful_fast_retransmit| {
        let newreno = TcpConfig { congestion: CongestionKind::NewReno, sack: false, ..linux() };
        let config = TcpConfig {
            careful_fast_retransmit,
            timestamps: false,
            rto_min: Duration::from_secs(1),
            ..newreno
        };
        let r = lossy(&config, Some(600), &lost, 20_000);
        assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(600 * SEGMENT));
        let stats = r.flows[0].sender;
        assert_eq!(stats.timeouts, 1);
        (stats.recoveries, again(&r).len())
    });
    assert_eq!(careful, (1, 14 + 50), "fifty of them in vain");
    assert!(less.0 > 50 && less.1 > 300, "{less:?}");
}

/// The SYN is lost: it is repeated after 1 s (RFC 6298 §2.1), and the connection is established at
/// 1040 ms. The SYN-ACK is lost: both ends repeat after 1 s, and the client's copy arrives first.
#[test]
fn a_lost_handshake_is_repeated() {
    let mut h = one_flow(&linux(), Some(10));
    h.fate = Some(Box::new(|_, now, header, _| header.flags.has(TcpFlags::SYN) && now < ms(500)));
    let syn = h.run(ms(3000));
    let mut h = one_flow(&linux(), Some(10));
    h.fate_back = Some(Box::new(|n, _, _, _| n == 0));
    let syn_ack = h.run(ms(3000));
    for r in [syn, syn_ack] {
        let stats = r.flows[0].sender;
        let at = stats.established_at.expect("established").as_secs_f64();
        assert!((1.040..1.041).contains(&at), "{at}");
        assert_eq!(stats.handshake_retransmissions, 1);
        assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(10 * SEGMENT));
        assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    }
}

/// Two lost SYNs: 1 s + 1 s, as in Linux since 6.5 (`tcp_syn_linear_timeouts`), and then one segment only
/// (RFC 5681 §3.1).
#[test]
fn two_lost_syns_cost_the_initial_window() {
    let mut h = one_flow(&linux(), Some(10));
    h.fate = Some(Box::new(|_, now, header, _| header.flags.has(TcpFlags::SYN) && now < ms(2000)));
    let r = h.run(ms(5000));
    let at = r.sent[0].at;
    assert!(at > ms(2040) && at < ms(2041), "{at}");
    assert!(r.sent[1].at > at + Duration::from_millis(40));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(10 * SEGMENT));
}

/// The receiver's application sleeps for 3 s behind a buffer of 20 segments: the window closes,
/// probes are sent, and the transfer continues when it wakes. The right edge never moves left.
#[test]
fn a_closed_window_is_probed_and_never_moves_left() {
    let config = TcpConfig { receive_window: ReceiveWindowKind::Fixed(Bytes(20 * SEGMENT)), ..linux() };
    let edge = RefCell::new(0_u64);
    let (shift, bytes) = (0, 100 * SEGMENT); // 28 960 bytes need no scaling
    let mut h = one_flow(&config, Some(100));
    h.read_from = ms(3000);
    h.fate_back = Some(Box::new(|_, _, header, _| {
        let right = u64::from(header.acknowledgment) + (u64::from(header.window) << shift);
        assert!(right >= *edge.borrow(), "the right edge moved left");
        *edge.borrow_mut() = right;
        false
    }));
    let r = h.run(ms(10_000));
    let stats = r.flows[0].sender;
    assert!(stats.window_probes >= 2, "{}", stats.window_probes);
    assert_eq!((stats.retransmissions, stats.timeouts), (0, 0));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(bytes));
    let before = r.sent.iter().filter(|s| s.at < ms(3000)).count();
    assert_eq!(before, 20);
}

/// Sequence numbers wrap in the middle of the transfer, with a loss at the wrap.
#[test]
fn sequence_numbers_wrap() {
    let config = TcpConfig { initial_sequence: u32::MAX - 20 * SEGMENT as u32, ..linux() };
    let r = lossy(&config, Some(100), &[19, 21], 3000);
    let stats = r.flows[0].sender;
    assert_eq!((stats.retransmissions, stats.timeouts), (2, 0));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(100 * SEGMENT));
}

/// The queue of a bulk flow grows, and the round trip with it. One timed segment per window gives
/// one sample per round trip; with frozen sampling the timeout does not change.
#[test]
fn sampling_decides_what_the_timeout_knows() {
    let run = |rtt_sampling| {
        let config = TcpConfig { rtt_sampling, timestamps: false, ..linux() };
        let r = one_flow(&config, None).run(ms(6000));
        let at = |t| r.flows[0].samples.iter().find(|s| s.at == ms(t)).expect("on the grid").stats;
        (at(1000), at(6000))
    };
    let (_, each) = run(RttSampling::EachAck);
    let (_, once) = run(RttSampling::OncePerWindow);
    let (early, late) = run(RttSampling::FrozenAfter(ms(1000)));
    assert!(each.rtt_samples > 20 * once.rtt_samples, "{} {}", each.rtt_samples, once.rtt_samples);
    // 6 s of round trips between 40 and 400 ms.
    assert!((15..=150).contains(&once.rtt_samples), "{}", once.rtt_samples);
    assert_eq!(early.rto, late.rto);
    assert!(each.srtt > late.srtt * 2, "{} {}", each.srtt, late.srtt);
    // The timed segment also follows, one round trip behind.
    assert!(once.srtt > late.srtt * 2, "{} {}", once.srtt, late.srtt);
}

/// Both ends close: no timer is left.
#[test]
fn a_finished_connection_is_silent() {
    let mut h = one_flow(&linux(), Some(30));
    h.fate = Some(Box::new(|n, _, _, payload| payload > 0 && n == 29)); // the last, with the FIN
    let r = h.run(ms(60_000));
    assert_eq!(r.flows[0].receiver.bytes_delivered, Bytes(30 * SEGMENT));
    assert!(r.states.iter().all(|s| *s == ConnectionState::Closed), "{:?}", r.states);
    assert_eq!(r.flows[0].sender.retransmissions, 1);
}

/// Ten segments are acknowledged in ten ACKs (quick ones at first) or five: one increment per
/// ACK is half as much then (RFC 5681 §3.1 equation 2), one per segment is not (RFC 3465).
#[test]
fn growth_per_ack_is_less_behind_delayed_acks() {
    let window_after = |growth, delayed_ack| {
        let config =
            TcpConfig { growth, delayed_ack, congestion: CongestionKind::NewReno, hystart: false, ..linux() };
        let r = one_flow(&config, None).run(ms(600));
        let sample = r.flows[0].samples.iter().find(|s| s.at == ms(200)).expect("on the grid");
        sample.stats.congestion_window.get() / SEGMENT
    };
    // Every segment is acknowledged individually: no difference.
    assert_eq!(window_after(WindowGrowth::PerAck, false), window_after(WindowGrowth::PerSegment, false));
    let (per_ack, per_segment) =
        (window_after(WindowGrowth::PerAck, true), window_after(WindowGrowth::PerSegment, true));
    assert!(per_ack < per_segment, "{per_ack} and {per_segment} segments");
}
