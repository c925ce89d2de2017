//! A link with a rate that changes, a queue and a marker.

use std::collections::VecDeque;

use airlane_core::Stream;
use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};

/// Which packets get a CE mark.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Marker {
    /// None.
    Never,
    /// Of the ECT(1) packets, a part that grows from 0 to 1 between two queue delays, which count the packet's own
    /// transmission if `with_transmission`. libwebrtc's `LeakyBucketNetworkQueue` (maitrungduc1410/webrtc f3ae3eb) and
    /// `NetQueue` in EricssonResearch/scream c8f84c3.
    Ramp { from: Duration, to: Duration, with_transmission: bool },
    /// libwebrtc's `DualPi2NetworkQueue` (maitrungduc1410/webrtc f3ae3eb) with its defaults: marks ECT(1) packets, drops
    /// others.
    DualPi2 { target: Duration },
    /// Linux's `sch_dualpi2` with its defaults, for one flow: ECT(1) packets get a mark above 1 ms of queue delay unless
    /// they are the last, others are dropped by PI2 with a target of 15 ms (RFC 9332 appendix A).
    Linux,
}

/// A packet in the queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queued {
    pub(crate) sequence: u64,
    pub(crate) size: Bytes,
    pub(crate) ecn: Ecn,
    pub(crate) since: Instant,
}

/// The link.
pub(crate) struct Link {
    /// The rates and when they begin.
    pub(crate) schedule: Vec<(Instant, BitRate)>,
    /// The most packets in the queue and on the link.
    pub(crate) packets_most: usize,
    /// The longest queue, in the time of its transmission.
    pub(crate) delay_most: Duration,
    pub(crate) marker: Marker,
    pub(crate) random: Stream,
    queue: VecDeque<Queued>,
    queued: Bytes,
    pi2: Pi2,
}

/// The state of [`Marker::DualPi2`].
#[derive(Default)]
struct Pi2 {
    probability: f64,
    previous: Duration,
    updated: Option<Instant>,
}

impl Link {
    pub(crate) fn new(schedule: Vec<(Instant, BitRate)>, marker: Marker, random: Stream) -> Self {
        Self {
            schedule,
            packets_most: usize::MAX,
            delay_most: Duration::MAX,
            marker,
            random,
            queue: VecDeque::new(),
            queued: Bytes::ZERO,
            pi2: Pi2::default(),
        }
    }

    /// The rate now.
    pub(crate) fn rate(&self, now: Instant) -> BitRate {
        self.schedule.iter().rev().find(|(from, _)| *from <= now).expect("the schedule begins at 0").1
    }

    /// Puts a packet into the queue. False if it is dropped.
    pub(crate) fn enter(&mut self, now: Instant, mut packet: Queued, busy: bool) -> bool {
        let held = self.queue.len() + usize::from(busy);
        let full = Bytes(self.queued.get() + packet.size.get());
        if held >= self.packets_most || self.rate(now).transmission_time(full) > self.delay_most {
            return false;
        }
        if matches!(self.marker, Marker::DualPi2 { .. } | Marker::Linux) && packet.ecn != Ecn::Capable1 {
            if self.random.chance(self.pi2.probability * self.pi2.probability) {
                return false;
            }
        } else if matches!(self.marker, Marker::DualPi2 { .. }) {
            self.mark(&mut packet, 2.0 * self.pi2.probability);
        }
        self.queued = full;
        self.queue.push_back(packet);
        true
    }

    /// Takes the next packet from the queue, and how long it is transmitted. A packet keeps the rate at its start.
    pub(crate) fn leave(&mut self, now: Instant) -> Option<(Queued, Duration)> {
        let mut packet = self.queue.pop_front()?;
        self.queued = self.queued.saturating_sub(packet.size);
        let transmission = self.rate(now).transmission_time(packet.size);
        let waited = now.saturating_since(packet.since);
        let probability = match self.marker {
            Marker::Never => 0.0,
            Marker::Ramp { from, to, with_transmission } => {
                let delay = if with_transmission { waited + transmission } else { waited };
                let above = delay.saturating_sub(from).as_secs_f64();
                (above / (to - from).as_secs_f64()).min(1.0)
            }
            Marker::DualPi2 { target } => {
                self.pi2.update(now, waited, target);
                2.0 * self.pi2.probability
            }
            Marker::Linux => {
                if packet.ecn != Ecn::Capable1 {
                    self.pi2.update(now, waited, Duration::from_millis(15));
                }
                f64::from(u8::from(waited > Duration::from_millis(1) && !self.queue.is_empty()))
            }
        };
        if packet.ecn == Ecn::Capable1 {
            self.mark(&mut packet, probability);
        }
        Some((packet, transmission))
    }

    fn mark(&mut self, packet: &mut Queued, probability: f64) {
        if self.random.chance(probability.clamp(0.0, 1.0)) {
            packet.ecn = Ecn::CongestionExperienced;
        }
    }
}

impl Pi2 {
    /// Each 16 ms, with the gains 0.16 and 3.2 per second.
    fn update(&mut self, now: Instant, waited: Duration, target: Duration) {
        if self.updated.is_some_and(|at| now.saturating_since(at) < Duration::from_millis(16)) {
            return;
        }
        self.updated = Some(now);
        let seconds = |span: Duration| span.as_secs_f64();
        self.probability += 0.16 * (seconds(waited) - seconds(target));
        self.probability += 3.2 * (seconds(waited) - seconds(self.previous));
        self.previous = waited;
        self.probability = self.probability.clamp(0.0, 1.0);
    }
}
