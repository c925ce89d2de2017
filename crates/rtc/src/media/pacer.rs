//! The pacer: when packets of which kind leave the sender.
//!
//! As in libwebrtc (`modules/pacing/pacing_controller.cc` at f3ae3eb): audio is not paced, retransmissions come before video,
//! and packets leave in bursts of what the rate gives in the burst interval. A queue that would last longer than the limit
//! raises the rate. A probe goes before all but audio, at its own rate. With a window, packets wait until there is room.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration, Instant};

use super::content::Content;
use crate::{Pace, Probe, ProbeId};

/// The largest burst (`kMaxBurstSize`).
const BURST_MAX: Bytes = Bytes(63_000);
/// A window that is full opens for one packet after this time without any (`kCongestedPacketInterval`), so that lost feedback
/// does not stop a sender without end.
const KEEP_ALIVE: Duration = Duration::from_millis(500);

/// The classes of packets, the first of which leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Audio,
    Retransmission,
    Video,
}

/// A probe that is being sent.
#[derive(Clone, Copy, Debug)]
struct ActiveProbe {
    probe: Probe,
    started_at: Instant,
    packets: u32,
    bytes: Bytes,
}

impl ActiveProbe {
    fn next_at(&self) -> Instant {
        self.started_at + self.probe.rate.transmission_time(self.bytes)
    }
}

/// What leaves the pacer next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// A packet of the queue.
    Packet(Content, Option<ProbeId>),
    /// Padding, because nothing waits.
    Padding(Option<ProbeId>),
}

/// The packets that wait.
#[derive(Debug)]
pub(super) struct Pacer {
    queues: [VecDeque<(Instant, Content)>; 3],
    /// Bytes and packets that wait, and the sum of the times at which they came, in ns.
    waiting: Bytes,
    packets: u64,
    came: u128,
    pace: Pace,
    burst: Duration,
    limit: Duration,
    /// When what was sent so far has been sent at the rate of the pacer, and at that of padding.
    clear_at: Instant,
    padded_until: Instant,
    sent_at: Instant,
    probe: Option<ActiveProbe>,
}

impl Pacer {
    pub(super) fn new(pace: Pace, burst: Duration, limit: Duration, start: Instant) -> Self {
        Self {
            queues: Default::default(),
            waiting: Bytes::ZERO,
            packets: 0,
            came: 0,
            pace,
            burst,
            limit,
            clear_at: start,
            padded_until: start,
            sent_at: start,
            probe: None,
        }
    }

    /// Sets rates and window. Debts are bytes: with a higher rate, they are paid earlier.
    pub(super) fn set_pace(&mut self, now: Instant, pace: Pace) {
        if let (Some(old), Some(new)) = (self.pace.rate, pace.rate) {
            self.clear_at = now + scaled(self.clear_at.saturating_since(now), old, new);
        }
        self.padded_until =
            now + scaled(self.padded_until.saturating_since(now), self.pace.padding, pace.padding);
        self.pace = pace;
    }

    /// Bytes that wait.
    pub(super) const fn waiting(&self) -> Bytes {
        self.waiting
    }

    /// How long the oldest packet of video has waited.
    pub(super) fn oldest_wait(&self, now: Instant) -> Duration {
        let oldest = self.queues[Class::Video as usize].front();
        oldest.map_or(Duration::ZERO, |(came, _)| now.saturating_since(*came))
    }

    pub(super) fn push(&mut self, now: Instant, content: Content) {
        let class = match content {
            Content::Audio { .. } => Class::Audio,
            Content::Retransmission(_) => Class::Retransmission,
            Content::Video(_) | Content::Repair { .. } | Content::Padding(_) => Class::Video,
        };
        self.waiting += content.wire_size();
        self.packets += 1;
        self.came += u128::from(now.as_nanos());
        self.queues[class as usize].push_back((now, content));
    }

    /// Discards the packets of video that wait, because a key frame follows.
    pub(super) fn flush_video(&mut self) {
        while let Some(class) = self.paced_class() {
            self.pop(class);
        }
    }

    /// Whether a probe is being sent.
    pub(super) const fn is_probing(&self) -> bool {
        self.probe.is_some()
    }

    pub(super) fn start_probe(&mut self, now: Instant, probe: Probe) {
        self.probe = Some(ActiveProbe { probe, started_at: now, packets: 0, bytes: Bytes::ZERO });
    }

    pub(super) fn end_probe(&mut self) {
        self.probe = None;
    }

    /// The packet that leaves now, if one does. [`Self::on_sent`] follows.
    pub(super) fn take(&mut self, now: Instant, in_flight: Bytes) -> Option<Due> {
        if !self.queues[Class::Audio as usize].is_empty() {
            return self.pop(Class::Audio).map(|packet| Due::Packet(packet, None));
        }
        let class = self.paced_class();
        if let Some(active) = &self.probe
            && active.next_at() <= now
        {
            let probe = Some(active.probe.id);
            let packet = class.and_then(|class| self.pop(class));
            return Some(packet.map_or(Due::Padding(probe), |packet| Due::Packet(packet, probe)));
        }
        let Some(class) = class else {
            return (self.padding_at() <= Some(now) && self.padding_at().is_some())
                .then_some(Due::Padding(None));
        };
        let (_, first) = self.queues[class as usize].front()?;
        if self.window_opens_at(first.wire_size(), in_flight).is_some_and(|at| at > now)
            || !self.rate_allows(now)
        {
            return None;
        }
        self.pop(class).map(|packet| Due::Packet(packet, None))
    }

    /// When to call [`Self::take`], as far as only time has to pass.
    pub(super) fn next_at(&self, in_flight: Bytes) -> Option<Instant> {
        let probe = self.probe.as_ref().map(ActiveProbe::next_at);
        let media = match self.paced_class().and_then(|class| self.queues[class as usize].front()) {
            None => self.padding_at(),
            Some((_, first)) => {
                let rate = if self.pace.rate.is_some() { self.clear_at } else { self.sent_at };
                let window = self.window_opens_at(first.wire_size(), in_flight);
                Some(window.map_or(rate, |window| rate.max(window)))
            }
        };
        probe.into_iter().chain(media).min()
    }

    /// A packet has left.
    pub(super) fn on_sent(&mut self, now: Instant, size: Bytes, audio: bool, probe: Option<ProbeId>) {
        if audio {
            return;
        }
        if let Some(rate) = self.rate(now) {
            self.clear_at = self.clear_at.max(now) + rate.transmission_time(size);
        }
        if self.pace.padding.0 > 0 {
            self.padded_until = self.padded_until.max(now) + self.pace.padding.transmission_time(size);
        }
        self.sent_at = now;
        if let (Some(active), Some(_)) = (&mut self.probe, probe) {
            active.packets += 1;
            active.bytes += size;
            if active.packets >= active.probe.packets && active.bytes >= active.probe.bytes {
                self.probe = None;
            }
        }
    }

    /// The class of the next packet that is paced.
    fn paced_class(&self) -> Option<Class> {
        [Class::Retransmission, Class::Video]
            .into_iter()
            .find(|class| !self.queues[*class as usize].is_empty())
    }

    fn pop(&mut self, class: Class) -> Option<Content> {
        let (came, content) = self.queues[class as usize].pop_front()?;
        self.waiting = self.waiting.saturating_sub(content.wire_size());
        self.packets -= 1;
        self.came -= u128::from(came.as_nanos());
        Some(content)
    }

    /// The rate, which a long queue raises (`MaybeUpdateMediaRateDueToLongQueue`).
    fn rate(&self, now: Instant) -> Option<BitRate> {
        let rate = self.pace.rate?;
        if self.packets == 0 {
            return Some(rate);
        }
        let mean = self.came / u128::from(self.packets);
        let waited = Duration::from_nanos(u128::from(now.as_nanos()).saturating_sub(mean) as u64);
        let left = self.limit.saturating_sub(waited).max(Duration::from_millis(1));
        let needed = u128::from(self.waiting.get()) * 8_000_000_000 / u128::from(left.as_nanos());
        Some(BitRate(rate.0.max(needed as u64)))
    }

    fn rate_allows(&self, now: Instant) -> bool {
        let Some(rate) = self.rate(now) else { return true };
        let debt = self.clear_at.saturating_since(now);
        debt.is_zero() || debt < self.burst.min(rate.transmission_time(BURST_MAX))
    }

    /// When there is room for a packet of this size in the window: now if `None`.
    fn window_opens_at(&self, size: Bytes, in_flight: Bytes) -> Option<Instant> {
        let window = self.pace.window?;
        let fits = in_flight == Bytes::ZERO || in_flight + size <= window;
        (!fits).then(|| self.sent_at + KEEP_ALIVE)
    }

    /// When padding is due, if nothing waits.
    fn padding_at(&self) -> Option<Instant> {
        (self.pace.padding.0 > 0).then(|| self.clear_at.max(self.padded_until))
    }
}

/// A time that is needed at one rate, at another one.
fn scaled(time: Duration, old: BitRate, new: BitRate) -> Duration {
    let bits = u128::from(time.as_nanos()) * u128::from(old.0);
    Duration::from_nanos(bits.checked_div(u128::from(new.0)).map_or(0, |ns| ns as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUDIO: Content = Content::Audio { timestamp: 0, len: 80 };
    /// 1000 bytes on the wire.
    fn video(sequence: u64) -> Content {
        let content = Content::video(sequence, 938);
        assert_eq!(content.wire_size(), Bytes(1_000));
        content
    }

    /// 1 ms for each packet.
    fn pacer(burst_ms: u64, window: Option<Bytes>) -> Pacer {
        let pace = Pace { rate: Some(BitRate(8_000_000)), window, padding: BitRate(0) };
        Pacer::new(pace, Duration::from_millis(burst_ms), Duration::from_secs(2), Instant::ZERO)
    }

    /// The times in ms at which packets leave, of those that come at 0, if in flight are this many bytes all the time.
    fn times(pacer: &mut Pacer, in_flight: Bytes) -> Vec<u64> {
        let (mut now, mut times) = (Instant::ZERO, vec![]);
        loop {
            while let Some(due) = pacer.take(now, in_flight) {
                let Due::Packet(content, probe) = due else { panic!("no padding") };
                times.push(now.as_nanos() / 1_000_000);
                pacer.on_sent(now, content.wire_size(), matches!(content, Content::Audio { .. }), probe);
            }
            match pacer.next_at(in_flight) {
                None => return times,
                Some(at) => now = at.max(now),
            }
        }
    }

    #[test]
    fn packets_leave_at_the_rate_or_in_bursts() {
        let mut even = pacer(0, None);
        (0..5).for_each(|i| even.push(Instant::ZERO, video(i)));
        assert_eq!(times(&mut even, Bytes::ZERO), [0, 1, 2, 3, 4]);
        // A burst continues while the debt is below 3 ms: three packets, and the next when it is paid.
        let mut bursts = pacer(3, None);
        (0..8).for_each(|i| bursts.push(Instant::ZERO, video(i)));
        assert_eq!(times(&mut bursts, Bytes::ZERO), [0, 0, 0, 3, 3, 3, 6, 6]);
        assert_eq!(bursts.waiting(), Bytes::ZERO);
    }

    #[test]
    fn audio_leaves_at_once_and_retransmissions_before_video() {
        let mut pacer = pacer(0, None);
        pacer.push(Instant::ZERO, video(1));
        let Content::Video(again) = video(0) else { panic!("video") };
        pacer.push(Instant::ZERO, Content::Retransmission(again));
        pacer.push(Instant::ZERO, AUDIO);
        let mut kinds = vec![];
        for ms in [0, 0, 0, 2] {
            let now = Instant::from_millis(ms);
            let Some(Due::Packet(content, None)) = pacer.take(now, Bytes::ZERO) else { continue };
            pacer.on_sent(now, content.wire_size(), matches!(content, Content::Audio { .. }), None);
            kinds.push((ms, matches!(content, Content::Video(_))));
        }
        assert_eq!(kinds, [(0, false), (0, false), (2, true)]);
    }

    #[test]
    fn a_full_window_opens_for_one_packet_each_half_second() {
        let mut pacer = pacer(0, Some(Bytes(10_000)));
        (0..3).for_each(|i| pacer.push(Instant::ZERO, video(i)));
        assert_eq!(pacer.next_at(Bytes(9_001)), Some(Instant::from_millis(500)));
        assert_eq!(times(&mut pacer, Bytes(9_001)), [500, 1_000, 1_500]);
        pacer.push(Instant::from_millis(1_501), video(3));
        assert!(pacer.take(Instant::from_millis(1_501), Bytes(9_000)).is_some());
    }

    /// 300 packets would take 300 ms more than the limit of 2 s at 1 Mbit/s, 8 ms each.
    #[test]
    fn a_long_queue_is_sent_within_its_limit() {
        let mut pacer = pacer(0, None);
        pacer.set_pace(
            Instant::ZERO,
            Pace { rate: Some(BitRate(1_000_000)), window: None, padding: BitRate(0) },
        );
        (0..500).for_each(|i| pacer.push(Instant::ZERO, video(i)));
        let last = *times(&mut pacer, Bytes::ZERO).last().unwrap();
        assert!((1_900..=2_010).contains(&last), "{last} ms");
    }

    #[test]
    fn a_probe_is_sent_at_its_rate_and_filled_up() {
        let mut pacer = pacer(0, None);
        let id = ProbeId(3);
        pacer.start_probe(
            Instant::ZERO,
            Probe { id, rate: BitRate(16_000_000), packets: 5, bytes: Bytes(2_000) },
        );
        (0..2).for_each(|i| pacer.push(Instant::ZERO, video(i)));
        let (mut now, mut sent) = (Instant::ZERO, vec![]);
        while pacer.is_probing() {
            match pacer.take(now, Bytes::ZERO) {
                Some(Due::Packet(_, Some(probe))) => {
                    assert_eq!(probe, id);
                    sent.push((now.as_nanos() / 1_000, true));
                }
                Some(Due::Padding(Some(_))) => sent.push((now.as_nanos() / 1_000, false)),
                None => {
                    now = pacer.next_at(Bytes::ZERO).unwrap();
                    continue;
                }
                other => panic!("{other:?}"),
            }
            pacer.on_sent(now, Bytes(1_000), false, Some(id));
        }
        assert_eq!(sent, [(0, true), (500, true), (1_000, false), (1_500, false), (2_000, false)]);
    }
}
