//! Random configurations on random bad links: every transfer completes, byte for byte, both ends
//! close, and no assertion fails. A failure names its seed.

use airlane_core::{BitRate, Bytes, Duration, Instant, Seeds};
use airlane_transport::{
    CongestionKind, ConnectionState, EcnConfig, LossDetection, ReceiveWindowKind, RttSampling, TcpConfig,
};

use crate::harness::{FlowConfig, Harness, LinkConfig};

fn pick<T: Clone>(stream: &mut airlane_core::Stream, from: &[T]) -> T {
    from[stream.below(from.len() as u64) as usize].clone()
}

/// Mostly none, so that the fast path of ACKs is used.
const ECN: [EcnConfig; 6] = [
    EcnConfig::PASSIVE,
    EcnConfig::PASSIVE,
    EcnConfig::OFF,
    EcnConfig::CLASSIC,
    EcnConfig::ACCURATE,
    EcnConfig { options: false, ..EcnConfig::ACCURATE },
];

fn config(s: &mut airlane_core::Stream) -> TcpConfig {
    TcpConfig {
        congestion: pick(s, &CongestionKind::ALL),
        timestamps: s.chance(0.5),
        sack: s.chance(0.8),
        window_scaling: s.chance(0.8),
        delayed_ack: s.chance(0.8),
        compressed_sack: s.chance(0.8),
        initial_window_segments: pick(s, &[1, 2, 10]),
        loss_detection: pick(s, &[LossDetection::RackTlp, LossDetection::Rfc6675]),
        frto: s.chance(0.7),
        ecn: pick(s, &ECN),
        pacing: s.chance(0.3),
        hystart: s.chance(0.5),
        rtt_sampling: pick(
            s,
            &[
                RttSampling::EachAck,
                RttSampling::OncePerWindow,
                RttSampling::FrozenAfter(Instant::from_millis(500)),
            ],
        ),
        receive_window: pick(
            s,
            &[
                ReceiveWindowKind::Fixed(Bytes(9000)),
                ReceiveWindowKind::Fixed(Bytes(200_000)),
                ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) },
            ],
        ),
        send_buffer: pick(s, &[None, Some(Bytes(50_000))]),
        mtu: pick(s, &[576, 1500]),
        initial_sequence: s.bits() as u32,
        // With a loss of a quarter each way, timeouts without any sample reach two minutes: no end gives up
        // here.
        retries: 255,
        syn_retries: 30,
        synack_retries: 30,
        ..TcpConfig::linux()
    }
}

fn run(seed: u64) {
    let mut s = Seeds::new(seed).stream("swarm");
    let bytes = pick(&mut s, &[1, 1448, 30_000, 400_000]);
    let mut link = LinkConfig::new(10, 40, pick(&mut s, &[3000, 20_000, 500_000]));
    link.rate = BitRate(pick(&mut s, &[200_000, 2_000_000, 50_000_000]));
    link.delay = Duration::from_micros(s.below(100_000));
    let loss = [0.0, 0.01, 0.1, 0.25][s.below(4) as usize];
    let jitter_us = pick(&mut s, &[0, 0, 500, 30_000]);
    let flow = FlowConfig {
        sender: config(&mut s),
        receiver: config(&mut s),
        start: Instant::ZERO,
        bytes: Some(bytes),
    };
    let describe = format!("seed {seed}: {loss} {jitter_us} {link:?} {flow:?}");
    let mut h = Harness::new(link, vec![flow]);
    let (mut down, mut up, mut late) =
        (Seeds::new(seed).stream("down"), Seeds::new(seed).stream("up"), Seeds::new(seed).stream("late"));
    h.fate = Some(Box::new(move |_, _, _, _| down.chance(loss)));
    h.fate_back = Some(Box::new(move |_, _, _, _| up.chance(loss)));
    h.jitter = Some(Box::new(move || Duration::from_micros(late.below(jitter_us + 1))));
    // Some applications read nothing for up to 5 s: the window closes, and losses may affect the ACK
    // that opens it again.
    let mut reader = Seeds::new(seed).stream("reader");
    if reader.chance(0.3) {
        h.read_from = Instant::from_millis(reader.below(5000));
    }
    h.sample_every = Duration::from_secs(100);
    let r = h.run(Instant::from_millis(100_000_000));
    let (sender, receiver) = (r.flows[0].sender, r.flows[0].receiver);
    assert_eq!(receiver.bytes_delivered, Bytes(bytes), "{describe}");
    assert_eq!(sender.bytes_acked, Bytes(bytes), "{describe}");
    assert!(r.states.iter().all(|s| *s == ConnectionState::Closed), "{:?} {describe}", r.states);
    assert_eq!(sender.in_flight, Bytes(0), "{describe}");
    if loss == 0.0 && jitter_us == 0 && r.queue_drops == 0 && sender.timeouts == 0 {
        // Nothing was lost or overtaken: only a probe can have repeated a segment.
        assert!(sender.retransmissions <= sender.loss_probes, "{describe}");
    }
}

/// 400 seeds, or the number in `AIRLANE_TRANSFERS`.
#[test]
fn every_transfer_completes() {
    let seeds = std::env::var("AIRLANE_TRANSFERS").ok().and_then(|n| n.parse().ok()).unwrap_or(400);
    for seed in 0..seeds {
        run(seed);
    }
}
