//! Properties of every receive window on random bad links: transfers complete, also if the window closes;
//! the right edge of the window never moves left (RFC 9293 §3.8.6.2.1); codes of an ARWA receiver are
//! sent only if both ends agreed, and no code reduces a window below its minimum. A failure names its
//! seed.

use core::num::NonZeroU8;
use std::cell::RefCell;

use airlane_core::{BitRate, Bytes, Duration, Instant, Seeds, Stream, TcpFlags, TcpHeader};
use airlane_transport::congestion::{ArwaSender, CodeStep, SlowStartAfterReduction};
use airlane_transport::window::{ArwaReceiver, CaseTwo, DelayMeasure, DrwaReceiver, OldCode};
use airlane_transport::{CongestionKind, ReceiveBuffer, ReceiveWindowKind, TcpConfig};

use crate::harness::{FlowConfig, Harness, LinkConfig, RunResult};

const WINDOW_MIN: Bytes = Bytes(3000);

fn pick<T: Clone>(stream: &mut Stream, from: &[T]) -> T {
    from[stream.below(from.len() as u64) as usize].clone()
}

fn arwa_receiver(s: &mut Stream, buffer: ReceiveBuffer) -> ArwaReceiver {
    ArwaReceiver {
        buffer,
        delay: pick(s, &[DelayMeasure::OneWay, DelayMeasure::Relative, DelayMeasure::RoundTrip]),
        clock_offset_ns: pick(s, &[0, 0, 20_000_000, -20_000_000, 3_600_000_000_000]),
        short_segments: s.chance(0.3),
        case_two: pick(s, &[CaseTwo::Scaled, CaseTwo::Difference]),
        old_code: pick(s, &[OldCode::Lessened, OldCode::Estimated]),
        forget_after: pick(s, &[None, Some(Duration::ZERO), Some(Duration::from_millis(500))]),
    }
}

fn arwa_sender(s: &mut Stream) -> ArwaSender {
    ArwaSender {
        cut: pick(s, &[CodeStep::Percent, CodeStep::Bytes]),
        gain: pick(s, &[CodeStep::Percent, CodeStep::Bytes]),
        window_min: WINDOW_MIN,
        upper_target: Bytes(10_000),
        only_changes: s.chance(0.3),
        slow_start: pick(s, &[SlowStartAfterReduction::GoesOn, SlowStartAfterReduction::Ends]),
    }
}

/// An end with any of the windows, with options of today's stacks or of early ones.
fn config(s: &mut Stream) -> TcpConfig {
    let buffer = pick(
        s,
        &[
            ReceiveBuffer::Fixed(Bytes(9000)),
            ReceiveBuffer::Fixed(Bytes(65_536)),
            ReceiveBuffer::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) },
        ],
    );
    let receive_window = match s.below(5) {
        0 | 1 => ReceiveWindowKind::Drwa(DrwaReceiver {
            buffer,
            // With a floor of 0 the original rule applies, which can stop a sender permanently.
            floor_segments: pick(s, &[1, 2]),
            lambda_millionths: pick(s, &[DrwaReceiver::PAPER.0, 500_000]),
            alpha_millionths: pick(s, &[DrwaReceiver::PAPER.1, 0]),
        }),
        _ => ReceiveWindowKind::Arwa(arwa_receiver(s, buffer)),
    };
    TcpConfig {
        congestion: CongestionKind::NewReno,
        obeys_codes: s.chance(0.7).then(|| arwa_sender(s)),
        timestamps: s.chance(0.8),
        sack: s.chance(0.5),
        window_scaling: s.chance(0.5),
        delayed_ack: s.chance(0.8),
        frto: s.chance(0.5),
        initial_window_segments: pick(s, &[1, 10]),
        rto_min: Duration::from_millis(pick(s, &[200, 1000])),
        mtu: pick(s, &[576, 1500]),
        initial_sequence: s.bits() as u32,
        receive_window,
        ..TcpConfig::linux()
    }
}

/// The headers of one connection.
#[derive(Default)]
struct Watch {
    /// Window scale and permission of codes, as offered by each end.
    scales: [Option<u8>; 2],
    codes: [bool; 2],
    /// Right edge of the receiver's window, relative to its first acknowledgment.
    first_ack: Option<u32>,
    edge: u64,
    codes_sent: u64,
}

impl Watch {
    fn look(&mut self, who: usize, header: &TcpHeader, payload: u32) {
        let syn = header.flags.has(TcpFlags::SYN);
        if syn {
            self.scales[who] = header.syn.window_scale;
            self.codes[who] = header.syn.codes_permitted;
        }
        if let Some(code) = header.receiver_code.map(NonZeroU8::get) {
            self.codes_sent += 1;
            assert!(self.codes == [true; 2], "a code that was not agreed on");
            assert!((1..=120).contains(&code), "code {code}");
            let bare = payload == 0 && !syn && !header.flags.has(TcpFlags::FIN);
            assert!(bare, "a code beside data would be longer than the MTU");
        }
        if who == 1 && header.flags.has(TcpFlags::ACK) {
            let first = *self.first_ack.get_or_insert(header.acknowledgment);
            let scales = self.scales[0].and(self.scales[1]).filter(|_| !syn).unwrap_or(0);
            // Transfers are far below 4 GiB: relative numbers do not wrap.
            let acked = u64::from(header.acknowledgment.wrapping_sub(first));
            let edge = acked + (u64::from(header.window) << scales);
            assert!(edge >= self.edge, "the right edge moved from {} to {edge}", self.edge);
            self.edge = edge;
        }
    }
}

struct Outcome {
    run: RunResult,
    watch: Watch,
}

/// Plays a transfer between these ends on a random link.
fn play(seed: u64, sender: TcpConfig, receiver: TcpConfig, bytes: u64) -> Outcome {
    let mut s = Seeds::new(seed).stream("link");
    let mut link = LinkConfig::new(10, 40, pick(&mut s, &[5000, 50_000, 500_000]));
    link.rate = BitRate(pick(&mut s, &[500_000, 5_000_000, 50_000_000]));
    link.delay = Duration::from_micros(s.below(60_000));
    let changes = Instant::from_millis(s.below(2000));
    match s.below(3) {
        0 => link.rate_step = Some((changes, BitRate(pick(&mut s, &[100_000, 100_000_000])))),
        1 => link.hold = Some((changes, changes + Duration::from_millis(s.below(4000)))),
        _ => {}
    }
    let loss = pick(&mut s, &[0.0, 0.005, 0.05, 0.2]);
    let jitter_us = pick(&mut s, &[0, 500, 30_000]);
    let stalls = s.chance(0.3);
    let watch = RefCell::new(Watch::default());
    let flow = FlowConfig { sender, receiver, start: Instant::ZERO, bytes: Some(bytes) };
    let mut h = Harness::new(link, vec![flow]);
    let stream = |name: &str| Seeds::new(seed).stream(name);
    let (mut down, mut up, mut late) = (stream("down"), stream("up"), stream("late"));
    h.fate = Some(Box::new(|_, _, header, payload| {
        watch.borrow_mut().look(0, header, payload);
        down.chance(loss)
    }));
    h.fate_back = Some(Box::new(|_, _, header, payload| {
        watch.borrow_mut().look(1, header, payload);
        up.chance(loss)
    }));
    h.jitter = Some(Box::new(move || Duration::from_micros(late.below(jitter_us + 1))));
    if stalls {
        // Nothing is read for a while: the window closes, and losses may affect the window update.
        h.read_from = Instant::from_millis(s.below(5000));
    }
    h.sample_every = Duration::from_secs(1000);
    let run = h.run(Instant::from_millis(100_000_000));
    Outcome { run, watch: watch.into_inner() }
}

fn check(seed: u64) -> Outcome {
    let mut s = Seeds::new(seed).stream("ends");
    let (sender, receiver) = (config(&mut s), config(&mut s));
    let bytes = pick(&mut s, &[1, 5000, 100_000, 1_000_000]);
    let agreed = sender.obeys_codes.is_some() && receiver.obeys_codes.is_some();
    let describe = format!("seed {seed}: {sender:?} {receiver:?}");
    let outcome = play(seed, sender, receiver, bytes);
    let run = &outcome.run;
    assert_eq!(run.flows[0].receiver.bytes_delivered, Bytes(bytes), "{describe}");
    assert_eq!(run.flows[0].sender.bytes_acked, Bytes(bytes), "{describe}");
    assert!(agreed || (run.applied.is_empty() && outcome.watch.codes_sent == 0), "{describe}");
    for (code, [before, after]) in &run.applied {
        if *code <= 100 {
            assert!(*after >= WINDOW_MIN, "{code} cut {before:?} to {after:?}, {describe}");
            assert!(after <= before || *after == WINDOW_MIN, "{code}: {before:?} to {after:?}, {describe}");
        } else {
            assert!(after > before, "{code}: {before:?} to {after:?}, {describe}");
        }
    }
    outcome
}

/// 400 seeds, or the number in `AIRLANE_TRANSFERS`.
#[test]
fn every_window_lets_transfers_complete_and_keeps_its_promises() {
    let seeds = std::env::var("AIRLANE_TRANSFERS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    let (mut cuts, mut gains) = (0, 0);
    for seed in 0..seeds {
        let outcome = check(seed);
        cuts += outcome.run.applied.iter().filter(|(code, _)| *code <= 100).count();
        gains += outcome.run.applied.iter().filter(|(code, _)| *code > 100).count();
    }
    // The property about codes was tested with some codes.
    assert!(cuts > 100 && gains > 100, "{cuts} cuts, {gains} gains");
}

/// A sender that does not permit codes is unaffected by an ARWA receiver: all segments are the same
/// as with an ordinary receiver.
#[test]
fn a_sender_that_did_not_agree_sees_nothing_of_an_arwa_receiver() {
    for seed in 0..60 {
        let mut s = Seeds::new(seed).stream("ends");
        let (sender, base) = (TcpConfig { obeys_codes: None, ..config(&mut s) }, config(&mut s));
        let size = Bytes(65_536);
        let arwa = arwa_receiver(&mut s, ReceiveBuffer::Fixed(size));
        let run = |receive_window, obeys_codes| {
            let receiver = TcpConfig { receive_window, obeys_codes, ..base.clone() };
            let outcome = play(seed, sender.clone(), receiver, 300_000);
            assert_eq!((outcome.watch.codes_sent, outcome.run.applied.len()), (0, 0));
            (outcome.run.sent, outcome.run.events, outcome.watch.edge)
        };
        let plain = run(ReceiveWindowKind::Fixed(size), None);
        assert_eq!(run(ReceiveWindowKind::Arwa(arwa), Some(arwa_sender(&mut s))), plain, "seed {seed}");
    }
}
