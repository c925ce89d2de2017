//! Datagrams whose rate follows a process: bursts that overlap, or periods on and off.
//!
//! A datagram leaves each time the process has sent its share since the one before, so that no data is lost
//! when a burst or period ends. All times are whole nanoseconds.

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// A number of active sources that changes over time. All active sources send at the same rate.
pub trait Activity {
    /// Number of active sources.
    fn active(&self) -> u64;
    /// The time of the next change.
    fn next_change(&self) -> Instant;
    /// Executes that change.
    fn change(&mut self);
}

/// The datagrams of a process.
#[derive(Clone, Debug)]
pub struct ModulatedSender<A> {
    process: A,
    /// Bits per second of one source.
    rate: u64,
    payload: Bytes,
    /// The share of a datagram: its bits, in 1e-9 of a bit, as are the two below.
    quantum: u128,
    /// Sent by the process since the last datagram, up to `at`.
    credit: u128,
    at: Instant,
    stop: Instant,
    due: Instant,
    serial: u64,
    /// Maximum number of datagrams.
    limit: u64,
}

impl<A: Activity> ModulatedSender<A> {
    /// Sources of `rate` each, cut into datagrams of `payload` bytes, one per `spacing` bytes, until
    /// before `stop`.
    ///
    /// # Panics
    /// If the rate or the spacing is zero.
    #[must_use]
    pub fn new(process: A, rate: BitRate, payload: Bytes, spacing: Bytes, stop: Instant) -> Self {
        let (rate, quantum) = (rate.bits_per_second(), u128::from(spacing.get()) * 8_000_000_000);
        assert!(rate > 0, "a source has a rate");
        assert!(quantum > 0, "a datagram stands for some bytes");
        let mut new = Self {
            process,
            rate,
            payload,
            quantum,
            credit: 0,
            at: Instant::ZERO,
            stop,
            due: Instant::ZERO,
            serial: 0,
            limit: u64::MAX,
        };
        new.find_due();
        new
    }

    /// The sender with a maximum number of datagrams, at least one.
    #[must_use]
    pub fn with_limit(self, datagrams: u64) -> Self {
        assert!(datagrams > 0, "the first datagram has been scheduled");
        Self { limit: datagrams, ..self }
    }

    /// When the next datagram is sent, as far as it is known; [`Instant::FAR_FUTURE`] after the last.
    #[inline]
    #[must_use]
    pub fn next_at(&self) -> Instant {
        if self.due < self.stop { self.due } else { Instant::FAR_FUTURE }
    }

    /// The serial number of the datagram that is due by `now`, if one is.
    pub fn take_due(&mut self, now: Instant) -> Option<u64> {
        if self.next_at() > now {
            return None;
        }
        let serial = self.serial;
        self.serial += 1;
        self.find_due();
        Some(serial)
    }

    /// Datagrams sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.serial
    }

    /// Whether the maximum number of datagrams has been sent.
    #[must_use]
    pub const fn has_reached_limit(&self) -> bool {
        self.serial == self.limit
    }

    /// Payload of a datagram.
    #[must_use]
    pub const fn payload(&self) -> Bytes {
        self.payload
    }

    /// Advances the process until it has sent a datagram's share, or to the end.
    fn find_due(&mut self) {
        if self.has_reached_limit() {
            self.due = Instant::FAR_FUTURE;
            return;
        }
        loop {
            let change = self.process.next_change();
            let speed = u128::from(self.process.active() * self.rate);
            if speed > 0 {
                let wait = (self.quantum - self.credit).div_ceil(speed);
                let due =
                    u64::try_from(wait).map_or(Instant::FAR_FUTURE, |w| self.at + Duration::from_nanos(w));
                if due <= change {
                    self.credit = self.credit + wait * speed - self.quantum;
                    (self.at, self.due) = (due, due);
                    return;
                }
                self.credit += speed * u128::from((change - self.at).as_nanos());
            }
            if change >= self.stop {
                self.due = Instant::FAR_FUTURE;
                return;
            }
            self.at = change;
            self.process.change();
        }
    }
}
