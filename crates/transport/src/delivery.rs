//! Delivery rate and pacing, for senders that use them.
//!
//! The rate estimate follows draft-cheng-iccrg-delivery-rate-estimation-02: each segment stores the
//! delivered amount when it was sent, and the ACK that delivers it compares. The rate uses the
//! longer of the sending and the acknowledging interval.
//!
//! Pacing is Linux's internal pacing: a segment may leave when the previous one has passed at the
//! pacing rate, a late departure shortens the next gap by at most half, and the first ten segments
//! leave at once. Retransmission timers do not wait for pacing.

use airlane_core::{BitRate, Bytes, Duration, Instant, ring};

use crate::congestion::RateSample;
use crate::scoreboard::{EVER_RETRANSMITTED, RESERVED, Scoreboard, Segment};

/// Number of unpaced segments (Linux: the segments of a new flow that a pacing qdisc lets pass).
const UNPACED_SEGMENTS: u64 = 10;

/// The data stored for a segment when it is sent (§3.2).
#[derive(Clone, Copy, Debug)]
struct Note {
    /// `None` once the segment was delivered.
    delivered_at: Option<Instant>,
    first_sent_at: Instant,
    delivered: u64,
    lost: u64,
    in_flight: u32,
    app_limited: bool,
}

impl Note {
    const EMPTY: Self = Self {
        delivered_at: None,
        first_sent_at: Instant::ZERO,
        delivered: 0,
        lost: 0,
        in_flight: 0,
        app_limited: false,
    };
}

/// The newest segment that the current ACK delivers.
#[derive(Clone, Copy, Debug)]
struct Newest {
    end: u64,
    prior_delivered_at: Instant,
    prior_delivered: u64,
    prior_lost: u64,
    send_elapsed: Duration,
    in_flight: u32,
    app_limited: bool,
    retransmission: bool,
}

/// The history of sending, delivery and loss, and the time when the next segment may leave.
#[derive(Debug)]
pub(crate) struct Delivery {
    notes: Vec<Note>,
    /// Segments delivered and lost since the start of the connection, including the SYN.
    pub(crate) delivered: u64,
    pub(crate) lost: u64,
    pub(crate) delivered_at: Instant,
    first_sent_at: Instant,
    /// Samples are limited by the application until this many are delivered; zero for no limit.
    app_limited_until: u64,
    // The ACK being processed.
    newest: Option<Newest>,
    pub(crate) prior_in_flight: u32,
    pub(crate) prior_lost: u64,
    /// Segments that it delivers, which are counted at its end.
    pub(crate) being_delivered: u32,
    // Pacing.
    rate: Option<BitRate>,
    /// When the next segment may leave.
    pub(crate) next_send_at: Instant,
    sent_segments: u64,
}

impl Delivery {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            notes: vec![Note::EMPTY; 64],
            delivered: 1,
            lost: 0,
            delivered_at: now,
            first_sent_at: now,
            app_limited_until: 0,
            newest: None,
            prior_in_flight: 0,
            prior_lost: 0,
            being_delivered: 0,
            rate: None,
            next_send_at: Instant::ZERO,
            sent_segments: 0,
        }
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.notes.len() - 1)
    }

    /// Makes room for the notes of this many segments; the notes of outstanding segments keep their
    /// places.
    #[cold]
    fn grow(&mut self, board: &Scoreboard) {
        ring::double(&mut self.notes, board.head(), RESERVED, || Note::EMPTY);
    }

    /// A segment was sent, for the first time (it is the board's last) or again. `was_empty` is
    /// true if no segment was outstanding before it.
    pub(crate) fn on_sent(
        &mut self,
        board: &Scoreboard,
        number: u64,
        now: Instant,
        was_empty: bool,
        in_flight: u32,
    ) {
        if board.outstanding() as usize > self.notes.len() {
            self.grow(board);
        }
        if was_empty {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        let slot = self.slot(number);
        self.notes[slot] = Note {
            delivered_at: Some(self.delivered_at),
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            lost: self.lost,
            in_flight,
            app_limited: self.app_limited_until > 0,
        };
        self.pace(now, board.get(number).payload());
    }

    /// Starts the processing of an ACK.
    pub(crate) fn begin_ack(&mut self, in_flight: u32) {
        self.newest = None;
        self.prior_in_flight = in_flight;
        self.prior_lost = self.lost;
    }

    /// A segment was delivered (§3.3): the rate is that of the most recently sent one.
    pub(crate) fn on_delivered(&mut self, number: u64, segment: &Segment) {
        let slot = self.slot(number);
        let note = self.notes[slot];
        let Some(prior_delivered_at) = note.delivered_at else { return };
        self.notes[slot].delivered_at = None;
        let newer = match &self.newest {
            None => true,
            Some(newest) => (segment.sent_at, segment.end()) > (self.first_sent_at, newest.end),
        };
        if !newer {
            return;
        }
        self.first_sent_at = segment.sent_at;
        self.newest = Some(Newest {
            end: segment.end(),
            prior_delivered_at,
            prior_delivered: note.delivered,
            prior_lost: note.lost,
            send_elapsed: segment.sent_at.saturating_since(note.first_sent_at),
            in_flight: note.in_flight,
            app_limited: note.app_limited,
            retransmission: segment.is(EVER_RETRANSMITTED),
        });
    }

    /// The sample of the ACK, if it gives one (§3.3). Intervals below the minimum round trip are
    /// those of a spurious retransmission.
    pub(crate) fn sample(&mut self, now: Instant, delivered: u32, min_rtt: Duration) -> Option<RateSample> {
        self.delivered += u64::from(delivered);
        self.being_delivered = 0;
        if self.delivered > self.app_limited_until {
            self.app_limited_until = 0;
        }
        if delivered > 0 {
            self.delivered_at = now;
        }
        let newest = self.newest?;
        let ack_elapsed = now.saturating_since(newest.prior_delivered_at);
        let interval = newest.send_elapsed.max(ack_elapsed);
        let valid = min_rtt == Duration::MAX || interval >= min_rtt;
        (valid && !interval.is_zero()).then_some(RateSample {
            delivered: self.delivered - newest.prior_delivered,
            interval,
            prior_delivered: newest.prior_delivered,
            app_limited: newest.app_limited,
            lost: self.lost - newest.prior_lost,
            in_flight_when_sent: newest.in_flight,
            retransmission: newest.retransmission,
        })
    }

    /// The stored data of a lost segment: segments in flight when it was sent, segments lost
    /// before, and whether the application was the limit.
    pub(crate) fn of_lost(&self, number: u64) -> (u32, u64, bool) {
        let note = &self.notes[self.slot(number)];
        (note.in_flight, note.lost, note.app_limited)
    }

    /// The sender has, or wants to send, less data than the path can carry (§3.4).
    pub(crate) fn mark_app_limited(&mut self, in_flight: u32) {
        self.app_limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    pub(crate) fn is_app_limited(&self) -> bool {
        self.app_limited_until > 0
    }

    /// Sets the rate at which segments leave; `None` for no pacing.
    pub(crate) fn set_rate(&mut self, rate: Option<BitRate>) {
        self.rate = rate;
    }

    /// The time until which no segment may leave, if there is one.
    pub(crate) fn blocked_until(&self, now: Instant) -> Option<Instant> {
        (self.next_send_at > now).then_some(self.next_send_at)
    }

    /// Segments that may leave now, at most `quantum` at once.
    pub(crate) fn quota(&self, now: Instant, quantum: u32) -> u32 {
        if self.next_send_at > now {
            return 0;
        }
        let unpaced = UNPACED_SEGMENTS.saturating_sub(self.sent_segments) as u32;
        if self.rate.is_none() { u32::MAX } else { quantum.max(unpaced) }
    }

    /// A segment leaves; the next one waits for its transmission time at the pacing rate.
    fn pace(&mut self, now: Instant, payload: u32) {
        self.sent_segments += 1;
        let before = self.next_send_at;
        self.next_send_at = before.max(now);
        let Some(rate) = self.rate else { return };
        if self.sent_segments < UNPACED_SEGMENTS || rate.bits_per_second() == 0 {
            return;
        }
        let gap = rate.transmission_time(Bytes(u64::from(payload)));
        let late = self.next_send_at.saturating_since(before);
        self.next_send_at += gap.saturating_sub(late.min(gap / 2));
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

    struct Sent {
        board: Scoreboard,
        delivery: Delivery,
    }

    impl Sent {
        fn new() -> Self {
            Self { board: Scoreboard::new(), delivery: Delivery::new(Instant::ZERO) }
        }
        fn send(&mut self, at_us: u64) {
            let now = Instant::ZERO + Duration::from_micros(at_us);
            let start = 1 + self.board.tail() * u64::from(SEGMENT);
            let was_empty = self.board.is_empty();
            self.board.push(Segment { start, sent_at: now, len: SEGMENT, state: 0 });
            let number = self.board.tail() - 1;
            self.delivery.on_sent(&self.board, number, now, was_empty, self.board.outstanding());
        }
        fn ack(&mut self, at_us: u64, segments: u32) -> Option<RateSample> {
            self.delivery.begin_ack(self.board.outstanding());
            for _ in 0..segments {
                let (number, segment) = (self.board.head(), *self.board.get(self.board.head()));
                self.delivery.on_delivered(number, &segment);
                self.board.pop();
            }
            let now = Instant::ZERO + Duration::from_micros(at_us);
            self.delivery.sample(now, segments, Duration::from_millis(40))
        }
    }

    /// Ten segments at once, acknowledged two a millisecond from 40 ms on: the first sample is
    /// two in 40 ms. A segment sent at 40 ms and acknowledged at 81 ms has had 9 delivered in the
    /// 41 ms since the ACK before it, which is longer than the sending took.
    #[test]
    fn the_rate_is_what_was_delivered_while_the_segment_was_under_way() {
        let mut s = Sent::new();
        for _ in 0..10 {
            s.send(0);
        }
        let first = s.ack(40_000, 2).unwrap();
        assert_eq!((first.delivered, first.interval), (2, Duration::from_millis(40)));
        assert_eq!(first.prior_delivered, 1); // the SYN
        s.send(40_000);
        for i in 1..5 {
            s.ack(40_000 + 1000 * i, 2);
        }
        let last = s.ack(81_000, 1).unwrap();
        assert_eq!((last.delivered, last.interval), (9, Duration::from_millis(41)));
        assert_eq!((last.prior_delivered, last.in_flight_when_sent), (3, 9));
    }

    #[test]
    fn an_interval_below_the_smallest_round_trip_says_nothing() {
        let mut s = Sent::new();
        s.send(0);
        assert!(s.ack(39_999, 1).is_none());
        s.send(40_000);
        assert!(s.ack(80_000, 1).is_some());
        assert!(s.ack(80_001, 0).is_none()); // delivers nothing
    }

    /// The segments in flight when the application has no more data are marked, and no others.
    #[test]
    fn limits_of_the_application_pass_with_their_segments() {
        let mut s = Sent::new();
        s.send(0);
        s.delivery.mark_app_limited(1);
        s.send(1000);
        assert!(!s.ack(40_000, 1).unwrap().app_limited); // sent before
        assert!(s.delivery.is_app_limited());
        assert!(s.ack(41_000, 1).unwrap().app_limited);
        assert!(!s.delivery.is_app_limited());
    }

    /// At 11.584 Mbit/s a segment takes 1 ms. The first nine leave at once and the tenth starts the
    /// clock. A departure that is 0.4 ms late shortens the next gap by this time, one that is 5 ms
    /// late by half a gap.
    #[test]
    fn segments_leave_at_the_pacing_rate() {
        let mut s = Sent::new();
        s.delivery.set_rate(Some(BitRate(11_584_000)));
        let at = |us| Instant::ZERO + Duration::from_micros(us);
        assert_eq!(s.delivery.quota(at(0), 1), 10);
        for _ in 0..10 {
            s.send(0);
        }
        assert_eq!(s.delivery.quota(at(0), 1), 0);
        assert_eq!(s.delivery.blocked_until(at(0)), Some(at(1000)));
        assert_eq!(s.delivery.quota(at(1400), 1), 1);
        s.send(1400);
        assert_eq!(s.delivery.next_send_at, at(2000));
        s.send(7000);
        assert_eq!(s.delivery.next_send_at, at(7500));
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
