//! Delivery rate and pacing of a TCP sender: the notes of its segments, by number.
//!
//! A segment may be acknowledged twice, selectively and cumulatively; it is delivered once.

use airlane_core::{BitRate, Bytes, Duration, Instant, ring};

use crate::congestion::{LostSegment, RateSample};
use crate::model::{DeliveredPacket, DeliveryRate, Pacer, SendNote};
use crate::scoreboard::{EVER_RETRANSMITTED, JOINED, RESERVED, Scoreboard, Segment};

/// The note of a segment.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    note: SendNote,
    /// The number of its last transmission.
    transmission: u64,
    outstanding: bool,
}

/// The history of sending, delivery and loss, and the time when the next segment may leave.
#[derive(Debug)]
pub(crate) struct Delivery {
    notes: Vec<Note>,
    /// Number of transmissions.
    sent: u64,
    pub(crate) rate: DeliveryRate,
    pub(crate) pacer: Pacer,
    /// Segments in flight before the current ACK.
    pub(crate) prior_in_flight: u32,
}

impl Delivery {
    pub(crate) fn new(now: Instant) -> Self {
        let notes = vec![Note::default(); 64];
        Self { notes, sent: 0, rate: DeliveryRate::new(now), pacer: Pacer::default(), prior_in_flight: 0 }
    }

    fn slot(&self, number: u64) -> usize {
        number as usize & (self.notes.len() - 1)
    }

    /// Makes room for the notes of this many segments; the notes of outstanding segments keep their
    /// places.
    #[cold]
    fn grow(&mut self, board: &Scoreboard) {
        ring::double(&mut self.notes, board.head(), RESERVED, Note::default);
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
        let note = self.rate.on_sent(now, was_empty, in_flight);
        let slot = self.slot(number);
        self.notes[slot] = Note { note, transmission: self.sent, outstanding: true };
        self.sent += 1;
        let segment = board.get(number);
        let is_first = !segment.is(EVER_RETRANSMITTED);
        let follows = is_first && number > board.head() && board.get(number - 1).is(JOINED);
        self.pacer.on_sent(now, Bytes(u64::from(segment.payload())), follows);
    }

    /// Starts the processing of an ACK.
    pub(crate) fn begin_ack(&mut self, in_flight: u32) {
        self.rate.begin();
        self.prior_in_flight = in_flight;
    }

    /// A segment was delivered. Returns the number of its last transmission, unless it was delivered before.
    pub(crate) fn on_delivered(&mut self, number: u64, segment: &Segment) -> Option<u64> {
        let slot = self.slot(number);
        let first = core::mem::take(&mut self.notes[slot].outstanding);
        first.then(|| {
            let packet = DeliveredPacket {
                sent_at: segment.sent_at,
                order: segment.end(),
                retransmission: segment.is(EVER_RETRANSMITTED),
            };
            self.rate.on_delivered(packet, self.notes[slot].note);
            self.notes[slot].transmission
        })
    }

    /// The sample of an ACK that delivers this many segments, if it gives one.
    pub(crate) fn sample(&mut self, now: Instant, delivered: u32, min_rtt: Duration) -> Option<RateSample> {
        self.rate.set_being_delivered(delivered);
        self.rate.sample(now, min_rtt)
    }

    /// A segment is declared lost. Returns also the number of its last transmission.
    pub(crate) fn on_lost(&mut self, now: Instant, number: u64) -> (LostSegment, u64) {
        let Note { note, transmission, .. } = self.notes[self.slot(number)];
        (self.rate.on_lost(now, number, &note), transmission)
    }

    /// The number of transmissions, which is the number of the next.
    pub(crate) const fn sent(&self) -> u64 {
        self.sent
    }

    /// Sets the rate at which segments leave; `None` for no pacing.
    pub(crate) fn set_rate(&mut self, rate: Option<BitRate>) {
        self.pacer.set_rate(rate);
    }
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
        s.delivery.rate.mark_app_limited(1);
        s.send(1000);
        assert!(!s.ack(40_000, 1).unwrap().app_limited); // sent before
        assert!(s.delivery.rate.is_app_limited());
        assert!(s.ack(41_000, 1).unwrap().app_limited);
        assert!(!s.delivery.rate.is_app_limited());
    }
}
