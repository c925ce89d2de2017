//! Monitor intervals: groups of consecutive packets, sent at one rate, whose deliveries and losses give one utility.

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

use super::super::Transmission;

/// Reliable round trips that an interval needs (`kMinReliableRtt`).
const RELIABLE_MIN: u32 = 4;
/// Share of reliable round trips up to which an interval is extended, once (`kMinReliabilityRatio`).
const RELIABLE_SHARE: f64 = 0.8;
/// A ratio of successive gaps between acknowledgments that is a burst, in mean ratios, and the weight of a ratio in the
/// mean (`PccMonitorIntervalQueue::OnCongestionEvent`).
const BURST_RATIO: f64 = 50.0;
const RATIO_GAIN: f64 = 0.1;

/// The round trip of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct RttSample {
    /// Place of the packet in its interval.
    pub(super) place: u64,
    pub(super) rtt_us: f64,
    /// False in a burst of acknowledgments.
    pub(super) reliable: bool,
}

/// A monitor interval.
#[derive(Clone, Debug)]
pub(super) struct MonitorInterval {
    /// Bits per second.
    pub(super) rate: f64,
    /// False for an interval that waits for the utilities of others.
    useful: bool,
    /// The least time from its first packet to the first of the next.
    duration_min: Duration,
    /// Numbers of the first and the last packet.
    first: u64,
    last: u64,
    first_sent_at: Instant,
    last_sent_at: Instant,
    /// Payload of its packets.
    pub(super) bytes: u64,
    delivered: u64,
    lost: Vec<u64>,
    pub(super) samples: Vec<RttSample>,
    pub(super) reliable: u32,
    /// True once its least time has been doubled.
    extended: bool,
}

impl MonitorInterval {
    fn new(rate: f64, useful: bool, duration_min: Duration, first: &Transmission) -> Self {
        Self {
            rate,
            useful,
            duration_min,
            first: first.number,
            last: first.number,
            first_sent_at: first.now,
            last_sent_at: first.now,
            bytes: 0,
            delivered: 0,
            lost: Vec::new(),
            samples: Vec::new(),
            reliable: 0,
            extended: false,
        }
    }

    fn contains(&self, number: u64) -> bool {
        (self.first..=self.last).contains(&number)
    }

    fn sent(&self) -> u64 {
        self.last - self.first + 1
    }

    /// Time from the first packet to the last.
    pub(super) fn duration(&self) -> Duration {
        self.last_sent_at - self.first_sent_at
    }

    /// True if at least half of what the rate allows was sent.
    pub(super) fn is_used(&self) -> bool {
        self.bytes as f64 * 8.0 * 2.0 >= self.rate * self.duration().as_secs_f64()
    }

    /// The share of lost packets.
    pub(super) fn loss(&self) -> f64 {
        self.lost.len() as f64 / self.sent() as f64
    }

    /// True if the fates of its packets are known, of which the newest that was delivered is `newest`. A packet without a
    /// fate, such as a TCP segment that a probe has sent again, is waited for until as many packets after the interval may
    /// have been delivered as it has.
    fn is_available(&self, newest: u64) -> bool {
        let known = self.delivered + self.lost.len() as u64 >= self.sent();
        self.reliable >= RELIABLE_MIN && (known || newest > self.last + self.sent())
    }

    fn on_lost(&mut self, number: u64) {
        if !self.lost.contains(&number) {
            self.lost.push(number);
        }
    }

    /// A packet is delivered, with its round trip if that is measured, and whether that is reliable. One that was declared
    /// lost does not count.
    fn on_delivered(&mut self, number: u64, rtt: Option<(Duration, bool)>) {
        if self.lost.contains(&number) {
            return;
        }
        self.delivered += 1;
        if let Some((rtt, reliable)) = rtt {
            let place = number - self.first;
            self.samples.push(RttSample { place, rtt_us: rtt.as_secs_f64() * 1e6, reliable });
            self.reliable += u32::from(reliable);
        }
    }
}

/// The round trip of an acknowledgment, and the smoothed one with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckRtt {
    pub(super) latest: Duration,
    pub(super) smoothed: Duration,
    /// Time since the acknowledgment before.
    pub(super) gap: Duration,
}

/// The fates of packets that an acknowledgment reports.
#[derive(Clone, Debug, Default)]
pub(super) struct Feedback {
    pub(super) delivered: Vec<u64>,
    pub(super) lost: Vec<u64>,
    /// None if it gives no round trip.
    pub(super) rtt: Option<AckRtt>,
}

/// The test for bursts of acknowledgments, whose round trips include the time in which the acknowledgments were held.
#[derive(Clone, Copy, Debug, Default)]
struct BurstTest {
    mean_ratio: Option<f64>,
    in_burst: bool,
}

impl BurstTest {
    /// Whether the round trip of an acknowledgment is reliable, by the one that followed.
    fn is_reliable(&mut self, ack: &AckRtt, next: &AckRtt) -> bool {
        if ack.gap.is_zero() {
            return false;
        }
        // The source counts whole microseconds. A gap of zero would make the mean infinite without end.
        let micros = |gap: Duration| gap.as_micros().max(1) as f64;
        let ratio = micros(ack.gap) / micros(next.gap);
        let ratio = if ratio < 1.0 { 1.0 / ratio } else { ratio };
        let mean = *self.mean_ratio.get_or_insert(ratio);
        let mut reliable = false;
        if ratio > BURST_RATIO * mean {
            self.in_burst = true;
        } else if self.in_burst {
            self.in_burst = !(next.latest > ack.latest && ack.latest < ack.smoothed);
        } else {
            reliable = true;
        }
        self.mean_ratio = Some(mean + RATIO_GAIN * (ratio - mean));
        reliable
    }
}

/// The intervals of a connection, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct MonitorIntervals {
    queue: VecDeque<MonitorInterval>,
    useful: usize,
    burst: BurstTest,
    /// The last acknowledgment: the next one shows whether its round trip is reliable.
    pending: Option<(Vec<u64>, AckRtt)>,
    /// The newest packet that was delivered.
    newest: u64,
}

impl MonitorIntervals {
    /// Number of intervals whose utility is waited for.
    pub(super) const fn useful(&self) -> usize {
        self.useful
    }

    /// The rate of the current interval.
    pub(super) fn rate(&self) -> Option<f64> {
        self.queue.back().map(|current| current.rate)
    }

    /// Whether the next packet begins an interval (`CreateNewInterval`). If not, the current one may be extended.
    /// `has_rtt` is false before the first round trip is measured.
    pub(super) fn ends(&mut self, now: Instant, has_rtt: bool) -> bool {
        let useful = self.useful;
        let Some(current) = self.queue.back_mut() else { return true };
        if !has_rtt || (useful > 0 && !current.useful) {
            return false;
        }
        if useful == 0 {
            return true;
        }
        let duration = now.saturating_since(current.first_sent_at);
        if current.reliable < RELIABLE_MIN || duration < current.duration_min {
            return false;
        }
        if f64::from(current.reliable) > RELIABLE_SHARE * current.samples.len() as f64 || current.extended {
            return true;
        }
        current.duration_min = current.duration_min * 2;
        current.extended = true;
        false
    }

    /// Begins an interval with this packet.
    pub(super) fn begin(&mut self, rate: f64, useful: bool, duration_min: Duration, first: &Transmission) {
        self.useful += usize::from(useful);
        self.queue.push_back(MonitorInterval::new(rate, useful, duration_min, first));
    }

    /// A packet is sent.
    pub(super) fn on_sent(&mut self, packet: &Transmission) {
        if let Some(current) = self.queue.back_mut() {
            current.last = packet.number;
            current.last_sent_at = packet.now;
            current.bytes += packet.bytes.get();
        }
    }

    /// An acknowledgment. Returns the useful intervals when the utilities of all of them are available.
    pub(super) fn on_feedback(&mut self, feedback: Feedback) -> Option<Vec<MonitorInterval>> {
        if self.useful == 0 {
            return None;
        }
        for number in feedback.lost {
            self.find(number, |interval| interval.on_lost(number));
        }
        if let Some(next) = feedback.rtt {
            if let Some((numbers, ack)) = self.pending.replace((feedback.delivered, next)) {
                self.count(&numbers, Some((&ack, &next)));
            }
        } else {
            self.count(&feedback.delivered, None);
        }
        let newest = self.newest;
        let mut useful = self.queue.iter().filter(|interval| interval.useful);
        useful.all(|interval| interval.is_available(newest)).then(|| self.take_useful())
    }

    /// Counts packets that an acknowledgment delivered, with its round trip and that of the next if there are any.
    fn count(&mut self, numbers: &[u64], rtts: Option<(&AckRtt, &AckRtt)>) {
        let mut burst = self.burst;
        for &number in numbers {
            self.find(number, |interval| {
                let rtt = rtts.map(|(ack, next)| (ack.latest, burst.is_reliable(ack, next)));
                interval.on_delivered(number, rtt);
            });
        }
        self.burst = burst;
        self.newest = numbers.iter().copied().fold(self.newest, u64::max);
    }

    /// Calls `each` with the interval of a packet, if its utility is waited for.
    fn find(&mut self, number: u64, each: impl FnOnce(&mut MonitorInterval)) {
        let newest = self.newest;
        let waits = |interval: &&mut MonitorInterval| {
            interval.useful && interval.contains(number) && !interval.is_available(newest)
        };
        self.queue.iter_mut().find(waits).map(each);
    }

    /// Removes the useful intervals and those before them.
    fn take_useful(&mut self) -> Vec<MonitorInterval> {
        let last = self.queue.iter().rposition(|interval| interval.useful);
        self.useful = 0;
        self.queue.drain(..=last.expect("it waits for at least one")).filter(|one| one.useful).collect()
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Bytes;

    use super::*;

    fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    fn ack(gap_us: u64, latest_us: u64) -> AckRtt {
        AckRtt { latest: us(latest_us), smoothed: us(50_000), gap: us(gap_us) }
    }

    /// Gaps of 1 ms, one of 100 ms and one of zero, which counts as 1 us. Ratios of 1 are the mean; 100 and 100,000 are
    /// above 50 means. The burst is over when a round trip below the smoothed one is followed by a longer one.
    #[test]
    fn a_burst_of_acknowledgments_is_not_reliable() {
        let mut burst = BurstTest::default();
        assert!(burst.is_reliable(&ack(1000, 50_000), &ack(1000, 50_000)));
        assert!(!burst.is_reliable(&ack(1000, 50_000), &ack(100_000, 150_000)));
        assert!(!burst.is_reliable(&ack(100_000, 150_000), &ack(0, 149_000)));
        assert!(!burst.is_reliable(&ack(0, 149_000), &ack(1000, 60_000)), "a gap of zero");
        assert!(!burst.is_reliable(&ack(1000, 49_000), &ack(1000, 50_000)), "the burst ends");
        assert!(burst.is_reliable(&ack(1000, 50_000), &ack(1000, 50_000)));
    }

    /// Intervals at 8 Mbit/s, a packet of 1000 bytes each millisecond.
    struct Sender {
        intervals: MonitorIntervals,
        now: Instant,
        next: u64,
    }

    impl Sender {
        fn new() -> Self {
            Self { intervals: MonitorIntervals::default(), now: Instant::ZERO, next: 0 }
        }

        fn packet(&self) -> Transmission {
            Transmission { now: self.now, number: self.next, bytes: Bytes(1000) }
        }

        fn begin(&mut self, useful: bool) {
            self.intervals.begin(8e6, useful, us(20_000), &self.packet());
        }

        fn send(&mut self, packets: u64) {
            for _ in 0..packets {
                self.intervals.on_sent(&self.packet());
                self.now += us(1000);
                self.next += 1;
            }
        }

        /// An acknowledgment a millisecond after the one before.
        fn acked(&mut self, delivered: &[u64], lost: &[u64]) -> Option<Vec<MonitorInterval>> {
            let rtt = Some(ack(1000, 50_000));
            self.intervals.on_feedback(Feedback { delivered: delivered.into(), lost: lost.into(), rtt })
        }
    }

    /// Ten packets, of which one is lost and is declared lost again, and one is delivered although it was declared lost:
    /// the last acknowledgment counts with the next.
    #[test]
    fn an_interval_is_available_when_its_packets_have_a_fate() {
        let mut sender = Sender::new();
        sender.begin(true);
        sender.send(10);
        sender.begin(false);
        sender.send(5);
        for number in 0..8 {
            assert!(sender.acked(&[number], if number > 5 { &[8] } else { &[] }).is_none());
        }
        assert!(sender.acked(&[8, 9], &[]).is_none());
        let intervals = sender.acked(&[10], &[]).expect("all have a fate");
        let [interval] = &intervals[..] else { panic!("one") };
        assert!((interval.loss() - 0.1).abs() < 1e-9);
        assert_eq!((interval.bytes, interval.duration(), interval.reliable), (10_000, us(9_000), 9));
        assert_eq!((sender.intervals.useful(), sender.intervals.rate()), (0, Some(8e6)));
    }

    /// The fifth of ten packets never gets a fate. Packets 10 to 19 may be on their way as long as that; packet 20 ends
    /// the wait.
    #[test]
    fn a_packet_without_a_fate_is_not_waited_for() {
        let mut sender = Sender::new();
        sender.begin(true);
        sender.send(10);
        sender.begin(false);
        sender.send(20);
        for number in (0..21).filter(|number| *number != 4) {
            assert!(sender.acked(&[number], &[]).is_none(), "{number}");
        }
        assert!(sender.acked(&[21], &[]).is_some());
    }

    /// Four reliable round trips and the duration; with too many unreliable ones twice the duration, once.
    #[test]
    fn an_interval_ends_with_its_samples_and_its_duration() {
        let mut sender = Sender::new();
        assert!(sender.intervals.ends(sender.now, false), "the first");
        sender.begin(false);
        sender.send(1);
        assert!(!sender.intervals.ends(sender.now, false), "no round trip");
        assert!(sender.intervals.ends(sender.now, true));
        sender.begin(true);
        sender.send(30);
        assert!(!sender.intervals.ends(sender.now, true), "no samples");
        (1..6).for_each(|number| drop(sender.acked(&[number], &[])));
        let early = Instant::ZERO + us(20_000);
        assert!(!sender.intervals.ends(early, true), "too short");
        assert!(sender.intervals.ends(sender.now, true));
        // Two unreliable samples make it four of six.
        let current = sender.intervals.queue.back_mut().unwrap();
        (0..2).for_each(|_| current.on_delivered(20, Some((us(50_000), false))));
        assert!(!sender.intervals.ends(sender.now, true));
        assert_eq!(sender.intervals.queue.back().unwrap().duration_min, us(40_000));
        assert!(sender.intervals.ends(sender.now + us(20_000), true), "extended once");
    }
}
