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
#[derive(Debug, Default)]
pub(super) struct NackRequester {
    missing: BTreeMap<u64, Missing>,
    /// The number behind the newest packet.
    next: u64,
}

impl NackRequester {
    /// A packet has arrived. Returns false if too many are missing: a key frame is needed.
    #[must_use]
    pub(super) fn on_packet(&mut self, number: u64) -> bool {
        if number < self.next {
            self.missing.remove(&number);
            return true;
        }
        let gap = self.next..number;
        self.next = number + 1;
        if self.missing.len() as u64 + (gap.end - gap.start) > PACKETS_MAX {
            self.missing.clear();
            return false;
        }
        self.missing.extend(gap.map(|number| (number, Missing { asked_at: None, requests: 0 })));
        true
    }

    /// Packets before this one are not needed any more.
    pub(super) fn forget_before(&mut self, number: u64) {
        if self.missing.first_key_value().is_some_and(|(first, _)| *first < number) {
            self.missing = self.missing.split_off(&number);
        }
    }

    /// The packets to ask for now.
    pub(super) fn requests(&mut self, now: Instant, rtt: Duration) -> Vec<u64> {
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
        numbers
    }

    /// When to call [`Self::requests`].
    pub(super) fn due(&self, rtt: Duration) -> Option<Instant> {
        self.missing.values().map(|one| one.asked_at.map_or(Instant::ZERO, |at| due_after(at, rtt))).min()
    }
}

/// The first common time after a round trip.
fn due_after(at: Instant, rtt: Duration) -> Instant {
    Instant::from_nanos((at + rtt).as_nanos().next_multiple_of(UPDATE.as_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_asks_at_once_and_after_each_round_trip() {
        let (mut nack, rtt, ms) = (NackRequester::default(), Duration::from_millis(70), Instant::from_millis);
        assert!([0, 1, 5].into_iter().all(|number| nack.on_packet(number)));
        assert_eq!((nack.requests(ms(33), rtt), nack.requests(ms(33), rtt)), (vec![2, 3, 4], vec![]));
        assert!(nack.on_packet(3) && nack.on_packet(7));
        assert_eq!(nack.requests(ms(50), rtt), [6]);
        assert_eq!(nack.due(rtt), Some(ms(120))); // 103 ms
        assert_eq!(nack.requests(ms(119), rtt), [0; 0]);
        assert_eq!(nack.requests(ms(120), rtt), [2, 4, 6]); // the last was asked for at 50 ms
        nack.forget_before(5);
        assert_eq!(nack.requests(ms(200), rtt), [6]);
    }

    #[test]
    fn it_gives_up() {
        let (mut nack, rtt) = (NackRequester::default(), Duration::from_millis(20));
        assert!(nack.on_packet(0) && nack.on_packet(2));
        let asked = (0..200).filter(|i| !nack.requests(Instant::from_millis(20 * i), rtt).is_empty()).count();
        assert_eq!((asked, nack.due(rtt)), (100, None));
        assert!(!nack.on_packet(1_500));
        assert_eq!(nack.due(rtt), None);
    }
}
