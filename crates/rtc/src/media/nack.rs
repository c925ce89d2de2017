//! Requests for packets of video that have not arrived (RFC 4585), as libwebrtc makes them
//! (`modules/video_coding/nack_requester.cc` at f3ae3eb): at once when a later packet arrives, and again after each
//! round trip.

use std::collections::BTreeMap;

use airlane_core::{Duration, Instant};

/// Repetitions are made together, at multiples of this (`kUpdateInterval`).
const UPDATE: Duration = Duration::from_millis(20);
/// The most packets to ask for (`kMaxNackPackets`), and the most requests for one (`kMaxNackRetries`).
const PACKETS_MAX: u64 = 1_000;
const REQUESTS_MAX: u32 = 100;

#[derive(Clone, Copy, Debug)]
struct Missing {
    asked_at: Option<Instant>,
    requests: u32,
}

/// The packets that are missing.
#[derive(Debug)]
pub(super) struct NackRequester {
    missing: BTreeMap<u64, Missing>,
    /// The number behind the newest packet.
    next: u64,
    rtt: Duration,
    /// When to call [`Self::requests`]: the earliest of all that are missing.
    due_at: Option<Instant>,
}

impl NackRequester {
    /// Nothing is missing, and a round trip takes this time.
    pub(super) const fn new(rtt: Duration) -> Self {
        Self { missing: BTreeMap::new(), next: 0, rtt, due_at: None }
    }

    /// A round-trip time was measured.
    pub(super) fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
        self.find_due();
    }

    /// A packet has arrived. Returns false if too many are missing: a key frame is needed.
    #[must_use]
    pub(super) fn on_packet(&mut self, number: u64) -> bool {
        if number < self.next {
            if self.missing.remove(&number).is_some() {
                self.find_due();
            }
            return true;
        }
        let gap = self.next..number;
        self.next = number + 1;
        if self.missing.len() as u64 + (gap.end - gap.start) > PACKETS_MAX {
            self.missing.clear();
            self.due_at = None;
            return false;
        }
        if !gap.is_empty() {
            self.due_at = Some(Instant::ZERO); // at once
        }
        self.missing.extend(gap.map(|number| (number, Missing { asked_at: None, requests: 0 })));
        true
    }

    /// Packets before this one are not needed any more.
    pub(super) fn forget_before(&mut self, number: u64) {
        if self.missing.first_key_value().is_some_and(|(first, _)| *first < number) {
            self.missing = self.missing.split_off(&number);
            self.find_due();
        }
    }

    /// The packets to ask for now.
    pub(super) fn requests(&mut self, now: Instant) -> Vec<u64> {
        let rtt = self.rtt;
        let due = self
            .missing
            .iter_mut()
            .filter(|(_, one)| one.asked_at.is_none_or(|at| due_after(at, rtt) <= now));
        let numbers: Vec<u64> = due
            .map(|(number, one)| {
                one.asked_at = Some(now);
                one.requests += 1;
                *number
            })
            .collect();
        if numbers.iter().any(|number| self.missing[number].requests >= REQUESTS_MAX) {
            self.missing.retain(|_, one| one.requests < REQUESTS_MAX);
        }
        self.find_due();
        numbers
    }

    /// When to call [`Self::requests`].
    pub(super) const fn due(&self) -> Option<Instant> {
        self.due_at
    }

    fn find_due(&mut self) {
        let due = |one: &Missing| one.asked_at.map_or(Instant::ZERO, |at| due_after(at, self.rtt));
        self.due_at = self.missing.values().map(due).min();
    }
}

/// The first common time that is a round trip after a request, and not the time of the request itself.
fn due_after(asked_at: Instant, rtt: Duration) -> Instant {
    let earliest = asked_at + rtt.max(Duration::from_nanos(1));
    Instant::from_nanos(earliest.as_nanos().next_multiple_of(UPDATE.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_at_once_and_after_each_round_trip() {
        let (mut nack, ms) = (NackRequester::new(Duration::from_millis(70)), Instant::from_millis);
        assert!([0, 1, 5].into_iter().all(|number| nack.on_packet(number)));
        assert_eq!((nack.requests(ms(33)), nack.requests(ms(33))), (vec![2, 3, 4], vec![]));
        assert!(nack.on_packet(3) && nack.on_packet(7));
        assert_eq!(nack.requests(ms(50)), [6]);
        assert_eq!(nack.due(), Some(ms(120))); // 103 ms
        assert_eq!(nack.requests(ms(119)), [0; 0]);
        assert_eq!(nack.requests(ms(120)), [2, 4, 6]); // the last was asked for at 50 ms
        nack.forget_before(5);
        assert_eq!(nack.requests(ms(200)), [6]);
        nack.set_rtt(Duration::from_millis(120));
        assert_eq!(nack.due(), Some(ms(320)));
        assert!(nack.on_packet(6));
        assert_eq!(nack.due(), None);
    }

    #[test]
    fn it_gives_up() {
        let mut nack = NackRequester::new(Duration::from_millis(20));
        assert!(nack.on_packet(0) && nack.on_packet(2));
        let asked = (0..200).filter(|i| !nack.requests(Instant::from_millis(20 * i)).is_empty()).count();
        assert_eq!((asked, nack.due()), (100, None));
        assert!(!nack.on_packet(1_500));
        assert_eq!(nack.due(), None);
    }

    /// A path without delay: a packet is asked for once at each common time, not without end at the first.
    #[test]
    fn without_a_round_trip_it_asks_at_each_common_time() {
        let (mut nack, ms) = (NackRequester::new(Duration::ZERO), Instant::from_millis);
        assert!(nack.on_packet(0) && nack.on_packet(2));
        for at in [ms(40), ms(60), ms(80)] {
            assert_eq!((nack.requests(at), nack.due()), (vec![1], Some(at + UPDATE)));
        }
    }
}
