//! The times at which a transmitter may begin a packet, and the lengths of transmissions: a rate that may change at
//! given times, and intervals in which no transmission begins.

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// From `at` on, packets are sent at `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateStep {
    /// The time of the change.
    pub at: Instant,
    /// The new rate, above zero (a [`Hold`] stops the transmitter).
    pub rate: BitRate,
}

/// No packet begins in `[from, until)`; one that has begun is finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// First instant of the interval.
    pub from: Instant,
    /// The first instant after it.
    pub until: Instant,
}

/// The transmitter's timetable. Queries must be in the order of time.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// `None`: infinitely fast.
    rate: Option<BitRate>,
    steps: Vec<RateStep>,
    holds: Vec<Hold>,
    /// The first step and the first hold that are not in the past.
    next_step: usize,
    next_hold: usize,
    /// The last size at this rate and its transmission time, cached because most packets of a link have
    /// the same size as the one before.
    latest: (Bytes, Duration),
}

impl Schedule {
    /// A transmitter of this rate (`None`: infinitely fast), with changes and pauses in any order.
    ///
    /// # Panics
    /// If a rate is zero or a hold ends before it begins.
    #[must_use]
    pub fn new(rate: Option<BitRate>, mut steps: Vec<RateStep>, mut holds: Vec<Hold>) -> Self {
        let rates = rate.iter().chain(steps.iter().map(|step| &step.rate));
        assert!(rates.into_iter().all(|rate| rate.0 > 0), "a link of rate zero never sends");
        assert!(holds.iter().all(|hold| hold.from <= hold.until), "a hold ends before it begins");
        steps.sort_by_key(|step| step.at);
        holds.sort_by_key(|hold| hold.from);
        Self { rate, steps, holds, next_step: 0, next_hold: 0, latest: (Bytes::ZERO, Duration::ZERO) }
    }

    /// The first time from `ready` on at which a packet may begin.
    #[inline]
    pub fn opening(&mut self, ready: Instant) -> Instant {
        let mut start = ready;
        // A hold in the past can be skipped: no later packet begins before `start`.
        while let Some(hold) = self.holds.get(self.next_hold)
            && hold.from <= start
        {
            start = start.max(hold.until);
            self.next_hold += 1;
        }
        start
    }

    /// The rate of a packet that begins at `start`; `None` if infinitely fast.
    #[inline]
    pub fn rate_at(&mut self, start: Instant) -> Option<BitRate> {
        while let Some(step) = self.steps.get(self.next_step)
            && step.at <= start
        {
            self.rate = Some(step.rate);
            self.next_step += 1;
            self.latest = (Bytes::ZERO, Duration::ZERO);
        }
        self.rate
    }

    /// The end of the transmission of a packet that begins at `start`, at the rate at that time.
    #[inline]
    pub fn transmission_end(&mut self, start: Instant, size: Bytes) -> Instant {
        let rate = self.rate_at(start);
        if self.latest.0 != size {
            self.latest = (size, rate.map_or(Duration::ZERO, |rate| rate.transmission_time(size)));
        }
        start + self.latest.1
    }

    /// The begin and the end of the transmission of a packet that is ready at `ready`.
    #[inline]
    pub fn transmit(&mut self, ready: Instant, size: Bytes) -> (Instant, Instant) {
        let start = self.opening(ready);
        (start, self.transmission_end(start, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    #[test]
    fn a_packet_keeps_the_rate_with_which_it_began() {
        // 1500 bytes: 12 ms at 1 Mbit/s, 6 ms at 2 Mbit/s.
        let step = RateStep { at: ms(10), rate: BitRate(2_000_000) };
        let mut schedule = Schedule::new(Some(BitRate(1_000_000)), vec![step], vec![]);
        assert_eq!(schedule.transmit(ms(0), Bytes(1500)), (ms(0), ms(12)));
        assert_eq!(schedule.transmit(ms(12), Bytes(1500)), (ms(12), ms(18)));
    }

    #[test]
    fn nothing_begins_during_a_hold() {
        let holds = vec![
            Hold { from: ms(40), until: ms(60) },
            Hold { from: ms(10), until: ms(20) },
            Hold { from: ms(20), until: ms(22) },
        ];
        let mut schedule = Schedule::new(Some(BitRate(1_000_000)), vec![], holds);
        assert_eq!(schedule.transmit(ms(9), Bytes(1500)), (ms(9), ms(21))); // begun before it
        assert_eq!(schedule.transmit(ms(21), Bytes(125)), (ms(22), ms(23)));
        assert_eq!(schedule.transmit(ms(39), Bytes(125)), (ms(39), ms(40)));
        assert_eq!(schedule.transmit(ms(40), Bytes(125)), (ms(60), ms(61)));
        assert_eq!(schedule.transmit(ms(61), Bytes(125)), (ms(61), ms(62)));
    }

    #[test]
    fn an_infinite_rate_takes_no_time() {
        let mut schedule = Schedule::new(None, vec![], vec![]);
        assert_eq!(schedule.transmit(ms(3), Bytes(1500)), (ms(3), ms(3)));
    }
}
