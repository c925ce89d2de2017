//! Random peers, proxies and links.

use airlane_core::{Bytes, Duration, Instant, Seeds, Stream};
use airlane_middlebox::{ConnectOrder, SplitConfig, WhenFull};
use airlane_transport::{CongestionKind, EcnConfig, LossDetection, ReceiveWindowKind, TcpConfig};

use super::flights::Channel;
use super::peer::Script;

pub(crate) fn pick<T: Clone>(s: &mut Stream, from: &[T]) -> T {
    from[s.below(from.len() as u64) as usize].clone()
}

fn tcp(s: &mut Stream) -> TcpConfig {
    TcpConfig {
        congestion: pick(s, &[CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Bbr]),
        timestamps: s.chance(0.5),
        sack: s.chance(0.7),
        window_scaling: s.chance(0.6),
        delayed_ack: s.chance(0.8),
        nagle: s.chance(0.5),
        ecn: pick(s, &[EcnConfig::PASSIVE, EcnConfig::CLASSIC, EcnConfig::ACCURATE]),
        initial_window_segments: pick(s, &[1, 3, 10]),
        loss_detection: pick(s, &[LossDetection::RackTlp, LossDetection::Rfc6675]),
        receive_window: pick(
            s,
            &[
                ReceiveWindowKind::Fixed(Bytes(3000)),
                ReceiveWindowKind::Fixed(Bytes(65_536)),
                ReceiveWindowKind::Autotuned { initial: Bytes(131_072), max: Bytes(6_291_456) },
            ],
        ),
        mtu: pick(s, &[576, 1500]),
        rto_initial: Duration::from_millis(300),
        rto_max: Duration::from_secs(5),
        // With these short timers, the patience of Linux: a minute for a handshake, which is longer than a UE
        // can be away, and fifteen minutes for data. Otherwise ends give up because of chance.
        syn_retries: 16,
        synack_retries: 16,
        retries: 180,
        initial_sequence: s.bits() as u32,
        ..TcpConfig::linux()
    }
}

pub(crate) fn proxy(s: &mut Stream, id: u32) -> SplitConfig {
    SplitConfig {
        id,
        core: tcp(s),
        ran: tcp(s),
        shared_window_max: pick(s, &[None, Some(1), Some(40)]),
        connect: pick(s, &[ConnectOrder::AtOnce, ConnectOrder::AfterHandshake, ConnectOrder::FarEndFirst]),
        buffer: Bytes(pick(s, &[3_000, 20_000, 1 << 20])),
        memory: Bytes(pick(s, &[24_000, 100_000, 1 << 30])),
        connections: pick(s, &[2, 1000]),
        when_full: WhenFull::PassThrough,
        connect_timeout: Duration::from_secs(60),
        stall_timeout: Duration::from_secs(300),
        idle_timeout: Duration::from_secs(600),
        time_wait: Duration::from_secs(60),
        cell: None,
        seeds: Seeds::new(s.bits()),
    }
}

pub(crate) fn channel(s: &mut Stream) -> Channel {
    Channel {
        delay_us: s.below(60_000),
        jitter_us: pick(s, &[0, 0, 500, 30_000]),
        loss: pick(s, &[0.0, 0.01, 0.1, 0.2]),
        duplication: pick(s, &[0.0, 0.05]),
    }
}

/// The kinds of behaviour of the peers in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mischief {
    None,
    Aborts,
    Vanishes,
}

fn script(s: &mut Stream, connects: Option<Instant>, mischief: Mischief) -> Script {
    let at = |s: &mut Stream, most: u64| Instant::from_millis(s.below(most));
    let mut writes = vec![];
    let mut when = Instant::ZERO;
    for _ in 0..=s.below(4) {
        writes.push((when, pick(s, &[0, 1, 700, 1448, 20_000, 120_000])));
        when += Duration::from_millis(s.below(3_000));
    }
    let from = at(s, 4_000);
    let until = from + Duration::from_millis(s.below(20_000));
    let never = Instant::FAR_FUTURE;
    Script {
        config: tcp(s),
        connects,
        writes,
        stalls: if s.chance(0.4) { (from, until) } else { (never, never) },
        aborts: if mischief == Mischief::Aborts && s.chance(0.6) { at(s, 6_000) } else { never },
        vanishes: if mischief == Mischief::Vanishes && s.chance(0.6) { at(s, 6_000) } else { never },
    }
}

/// One to four connections, from either side.
pub(crate) fn pairs(s: &mut Stream, mischief: Mischief) -> Vec<(Script, Script)> {
    (0..1 + s.below(4))
        .map(|_| {
            let start = Instant::from_millis(s.below(500));
            let by_client = s.chance(0.5);
            let server = script(s, (!by_client).then_some(start), mischief);
            (server, script(s, by_client.then_some(start), mischief))
        })
        .collect()
}
