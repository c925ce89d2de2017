//! Pacing other than quinn's, which is 1.25 windows per round trip.
//!
//! [`RatePacer`] is the pacing of the TCP sender, at the rate of a controller that gives one: while a packet
//! must wait, quinn sees a window of zero. As with its own pacer, packets with frames that elicit an acknowledgment then
//! wait, and ACK frames with them if there are any. It replaces quinn's pacing. RFC 9002 §7.7 gives a window per round trip
//! only as an example, for controllers without a rate; after an outage such a rate can be a datagram in seconds, because
//! the round trip has grown and the window has shrunk.
//!
//! [`LeakyBucket`] applies in addition to quinn's. It is that of picoquic of 2020 (`sender.c`, `picoquic_update_pacing_data` and
//! `picoquic_update_pacing_rate`). It is another algorithm than Linux's, which the TCP sender has, and follows
//! the window. The bucket fills at one window per smoothed round trip, in slow start at a quarter more, and holds a
//! quarter of the window, from 2 to 16 datagrams: a longer pause is not made up for. Windows of less than eight datagrams are not paced.

use airlane_core::{BitRate, Bytes, Duration, Instant};
use airlane_transport::model::Pacer;

/// Which pacing applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicPacing {
    /// quinn: 1.25 windows per round trip, in bursts of at least ten datagrams.
    Quinn,
    /// picoquic of 2020 in addition: one window per round trip.
    Picoquic2020,
}

/// Windows below this many datagrams are not paced, only ACK-clocked.
const UNPACED_WINDOW: u64 = 8;
/// `PICOQUIC_MAX_BANDWIDTH_TIME_INTERVAL_MAX`.
const INTERVAL_MAX: Duration = Duration::from_millis(15);
/// Minimum size of the bucket in slow start, for round trips above four times that.
const SLOW_START_QUANTUM: u64 = 0x8000;

/// Pacing at the rate of a controller. quinn asks for one datagram after another, so the quota of an instant is
/// counted here.
#[derive(Debug, Default)]
pub(crate) struct RatePacer {
    pacer: Pacer,
    /// Number of packets that may leave at this instant.
    burst: u32,
}

impl RatePacer {
    pub(crate) const fn set_rate(&mut self, rate: Option<BitRate>) {
        self.pacer.set_rate(rate);
    }

    /// True if the controller gives a rate: not before its first round trip.
    pub(crate) fn has_rate(&self) -> bool {
        self.pacer.rate().is_some_and(|rate| rate.bits_per_second() > 0)
    }

    /// The time from which the next packet may leave.
    pub(crate) const fn next_send_at(&self) -> Instant {
        self.pacer.next_send_at()
    }

    /// Allows data from now on, `quantum` packets at once, unless pacing delays it.
    pub(crate) fn open(&mut self, now: Instant, quantum: u32) {
        self.burst = self.pacer.quota(now, quantum);
    }

    /// The time until which data must wait, if it must.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        (self.burst == 0).then_some(self.next_send_at())
    }

    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64) {
        self.burst = self.burst.saturating_sub(1);
        self.pacer.on_sent(now, Bytes(bytes), false);
    }
}

/// The bucket, in time.
#[derive(Debug, Default)]
pub(crate) struct LeakyBucket {
    level: Duration,
    /// Zero before the first round trip: nothing is paced then.
    most: Duration,
    gap: Duration,
    /// The debt of a datagram that left before the bucket held its time.
    debt: Duration,
    at: Instant,
}

impl LeakyBucket {
    /// Sets window and round trip.
    pub(crate) fn set(&mut self, window: u64, datagram: u64, srtt: Duration, slow_start: bool) {
        if window < UNPACED_WINDOW * datagram || srtt.is_zero() {
            (self.gap, self.most) = (Duration::ZERO, srtt);
        } else {
            let time_of = |bytes: u64| {
                let nanos = u128::from(bytes) * u128::from(srtt.as_nanos()) / u128::from(window);
                let nanos = if slow_start { nanos * 4 / 5 } else { nanos };
                Duration::from_nanos(nanos as u64)
            };
            self.gap = time_of(datagram);
            let quarter = window / 4;
            self.most = if slow_start && srtt > INTERVAL_MAX * 4 && quarter >= 2 * datagram {
                // The rate is the one without the additional quarter.
                let in_interval =
                    u128::from(window) * u128::from(INTERVAL_MAX.as_nanos()) / u128::from(srtt.as_nanos());
                let larger = if quarter < SLOW_START_QUANTUM { SLOW_START_QUANTUM } else { quarter };
                let quantum = if quarter < SLOW_START_QUANTUM || in_interval as u64 <= SLOW_START_QUANTUM {
                    larger
                } else {
                    in_interval as u64
                };
                time_of(quantum)
            } else {
                time_of(quarter.clamp(2 * datagram, 16 * datagram))
            };
        }
        self.level = self.level.min(self.most);
    }

    /// Fills the bucket.
    pub(crate) fn fill(&mut self, now: Instant) {
        let passed = now.saturating_since(self.at);
        self.at = self.at.max(now);
        let paid = passed.min(self.debt);
        self.debt -= paid;
        self.level = (self.level + (passed - paid)).min(self.most);
    }

    /// The time when the next datagram may leave, if it must wait; valid for the last filling.
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        let needed = self.gap + self.debt;
        (self.level < needed).then(|| self.at + (needed - self.level))
    }

    /// A datagram leaves, also if the bucket is empty: probes do not wait.
    pub(crate) fn on_sent(&mut self, now: Instant) {
        self.fill(now);
        let paid = self.gap.min(self.level);
        self.level -= paid;
        self.debt = (self.debt + (self.gap - paid)).min(self.gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1440;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// Sends whenever it may until `end`, in microseconds; returns the times.
    fn greedy(pacer: &mut LeakyBucket, from: u64, end: u64) -> Vec<u64> {
        let (mut now, mut sent) = (from, Vec::new());
        while now < end {
            pacer.fill(at(now));
            match pacer.waits_until() {
                Some(until) => now = until.as_nanos().div_ceil(1000).max(now + 1),
                None => {
                    pacer.on_sent(at(now));
                    sent.push(now);
                }
            }
        }
        sent
    }

    #[test]
    fn a_window_leaves_in_a_round_trip_however_long_nothing_could() {
        let mut pacer = LeakyBucket::default();
        // 60 datagrams in 60 ms.
        pacer.set(60 * MTU, MTU, Duration::from_millis(60), false);
        pacer.fill(at(5_000_000));
        let sent = greedy(&mut pacer, 5_000_000, 5_060_000);
        // A quarter of the window is 15 datagrams; they leave at once, then one each millisecond.
        assert_eq!(sent.iter().filter(|&&us| us == 5_000_000).count(), 15);
        assert!((74..=75).contains(&sent.len()), "{}", sent.len());
        assert!(sent[15..].windows(2).all(|two| (999..=1001).contains(&(two[1] - two[0]))), "{sent:?}");
    }

    #[test]
    fn slow_start_is_a_quarter_faster() {
        let mut pacer = LeakyBucket::default();
        pacer.set(60 * MTU, MTU, Duration::from_millis(60), true);
        let sent = greedy(&mut pacer, 0, 60_000);
        assert!((74..=75).contains(&sent.len()), "{}", sent.len());
    }

    #[test]
    fn a_small_window_waits_for_nothing() {
        let mut pacer = LeakyBucket::default();
        pacer.set(7 * MTU, MTU, Duration::from_millis(60), false);
        assert_eq!(pacer.waits_until(), None);
        pacer.on_sent(at(1));
        assert_eq!(pacer.waits_until(), None);
    }

    #[test]
    fn who_did_not_wait_pays_once() {
        let mut pacer = LeakyBucket::default();
        pacer.set(60 * MTU, MTU, Duration::from_millis(60), false);
        (0..5).for_each(|_| pacer.on_sent(at(0)));
        assert_eq!(pacer.waits_until(), Some(at(2000)), "its own gap and one that is owed");
    }
}
