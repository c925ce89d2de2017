//! Pacing at a rate, as Linux's internal pacing: a packet may leave when the previous one has passed at the
//! pacing rate, a late departure shortens the next gap by at most half, and the first ten packets leave at
//! once. Timers of retransmissions and probes do not wait for it.

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// Number of unpaced packets (Linux: the segments of a new flow that a pacing qdisc lets pass).
const UNPACED: u64 = 10;

/// The time when the next packet may leave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    rate: Option<BitRate>,
    next_send_at: Instant,
    sent: u64,
    /// How late the last packet left, less what has shortened its gap.
    late: Duration,
}

impl Pacer {
    /// Sets the rate at which packets leave; `None` for no pacing.
    pub const fn set_rate(&mut self, rate: Option<BitRate>) {
        self.rate = rate;
    }

    /// The rate of the pacer.
    #[must_use]
    pub const fn rate(&self) -> Option<BitRate> {
        self.rate
    }

    /// When the next packet may leave.
    #[must_use]
    pub const fn next_send_at(&self) -> Instant {
        self.next_send_at
    }

    /// The time until which no packet may leave, if there is one.
    #[must_use]
    pub fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (self.next_send_at > now).then_some(self.next_send_at)
    }

    /// Number of packets that may leave now, at most `quantum` at once.
    #[must_use]
    pub fn quota(&self, now: Instant, quantum: u32) -> u32 {
        if self.next_send_at > now {
            return 0;
        }
        let unpaced = UNPACED.saturating_sub(self.sent) as u32;
        if self.rate.is_none() { u32::MAX } else { quantum.max(unpaced) }
    }

    /// A packet of this size leaves; the next one waits for its transmission time at the pacing rate. One that
    /// `follows` leaves as one with the packet before (segmentation offload): a late departure shortens the gap of
    /// both together by at most half.
    pub fn on_sent(&mut self, now: Instant, size: Bytes, follows: bool) {
        self.sent += 1;
        let before = self.next_send_at;
        self.next_send_at = before.max(now);
        let Some(rate) = self.rate else { return };
        if self.sent < UNPACED || rate.bits_per_second() == 0 {
            return;
        }
        let gap = rate.transmission_time(size);
        let late = if follows { self.late } else { self.next_send_at.saturating_since(before) };
        let made_up = late.min(gap / 2);
        self.late = late.saturating_sub(made_up);
        self.next_send_at += gap.saturating_sub(made_up);
    }
}

/// The pacing rate of a window-based controller, as in Linux: twice the window per round trip below
/// half the threshold, 1.2 times above (tcp_pacing_ss_ratio and tcp_pacing_ca_ratio).
pub(crate) fn window_rate(
    window: u32,
    ssthresh: u32,
    outstanding: u32,
    segment_size: u32,
    srtt: Duration,
) -> Option<BitRate> {
    if srtt.is_zero() {
        return None;
    }
    let percent = if window < ssthresh / 2 { 200 } else { 120 };
    let bits = u64::from(window.max(outstanding)) * u64::from(segment_size) * 8;
    let rate = u128::from(bits) * percent * 10_000_000 / u128::from(srtt.as_nanos());
    Some(BitRate(u64::try_from(rate).unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u32 = 1448;

    /// At 11.584 Mbit/s a segment takes 1 ms. The first nine leave at once and the tenth starts the
    /// clock. A departure that is 0.4 ms late shortens the next gap by this time, one that is 5 ms
    /// late by half a gap.
    #[test]
    fn segments_leave_at_the_pacing_rate() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(BitRate(11_584_000)));
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let size = Bytes(u64::from(SEGMENT));
        assert_eq!(pacer.quota(at(0), 1), 10);
        (0..10).for_each(|_| pacer.on_sent(at(0), size, false));
        assert_eq!(pacer.quota(at(0), 1), 0);
        assert_eq!(pacer.blocked_until(at(0)), Some(at(1000)));
        assert_eq!(pacer.quota(at(1400), 1), 1);
        pacer.on_sent(at(1400), size, false);
        assert_eq!(pacer.next_send_at(), at(2000));
        pacer.on_sent(at(7000), size, false);
        assert_eq!(pacer.next_send_at(), at(7500));
    }

    /// Six segments that leave as one, 5 ms late: the next may leave after half of their 6 ms.
    #[test]
    fn what_leaves_as_one_makes_up_for_lateness_as_one() {
        let mut pacer = Pacer::default();
        pacer.set_rate(Some(BitRate(11_584_000)));
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        let size = Bytes(u64::from(SEGMENT));
        (0..10).for_each(|_| pacer.on_sent(at(0), size, false));
        (0..6).for_each(|place| pacer.on_sent(at(6000), size, place > 0));
        assert_eq!(pacer.next_send_at(), at(9000));
        (0..6).for_each(|place| pacer.on_sent(at(10_000), size, place > 0));
        assert_eq!(pacer.next_send_at(), at(15_000));
    }

    /// A window of 20 segments per 40 ms is 5.792 Mbit/s; 1.2 times that, or twice in slow start.
    #[test]
    fn the_rate_of_a_window_is_linux_s() {
        let rtt = Duration::from_millis(40);
        assert_eq!(window_rate(20, 20, 20, SEGMENT, rtt), Some(BitRate(6_950_400)));
        assert_eq!(window_rate(20, u32::MAX, 20, SEGMENT, rtt), Some(BitRate(11_584_000)));
        assert_eq!(window_rate(20, 20, 20, SEGMENT, Duration::ZERO), None);
    }
}
