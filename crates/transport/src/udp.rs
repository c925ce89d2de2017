//! UDP at a constant rate: the times of datagrams, and the received ones. (RFC 768; the
//! application's serial number behind the header shows losses.)

use airlane_core::{BitRate, Bytes, Duration, Instant};

/// Paces datagrams of one size at a constant payload rate, exact to the nanosecond: datagram `k` is
/// sent at `start + round(k · bits · 10⁹ / rate)`, so no rounding error adds up.
#[derive(Clone, Debug)]
pub struct UdpSender {
    start: Instant,
    stop: Instant,
    rate: BitRate,
    payload: Bytes,
    serial: u64,
    due: Instant,
}

impl UdpSender {
    /// A sender of `payload` bytes per datagram at `rate` (of payload), from `start` until
    /// before `stop`.
    #[must_use]
    pub fn new(rate: BitRate, payload: Bytes, start: Instant, stop: Instant) -> Self {
        let due =
            if rate.bits_per_second() == 0 || payload == Bytes::ZERO { Instant::FAR_FUTURE } else { start };
        Self { start, stop, rate, payload, serial: 0, due }
    }

    /// When the next datagram is sent; [`Instant::FAR_FUTURE`] after the last.
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
        let bit_ns = u128::from(self.serial) * u128::from(self.payload.get()) * 8_000_000_000;
        let rate = u128::from(self.rate.bits_per_second());
        self.due = self.start + Duration::from_nanos(((bit_ns + rate / 2) / rate) as u64);
        Some(serial)
    }

    /// Datagrams sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.serial
    }

    /// Payload of a datagram.
    #[must_use]
    pub const fn payload(&self) -> Bytes {
        self.payload
    }
}

/// Counters of a UDP receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpReceiverStats {
    /// Datagrams received.
    pub datagrams: u64,
    /// Payload received.
    pub bytes: Bytes,
    /// Datagrams that arrived after one with a higher serial number.
    pub reordered: u64,
    /// The highest serial number so far plus one: the number of datagrams sent by then.
    pub expected: u64,
}

/// Counts datagrams.
#[derive(Clone, Debug, Default)]
pub struct UdpReceiver {
    stats: UdpReceiverStats,
}

impl UdpReceiver {
    /// A datagram arrived.
    #[inline]
    pub fn on_datagram(&mut self, serial: u64, payload: Bytes) {
        self.stats.datagrams += 1;
        self.stats.bytes += payload;
        self.stats.reordered += u64::from(serial < self.stats.expected);
        self.stats.expected = self.stats.expected.max(serial + 1);
    }

    /// The counts.
    #[must_use]
    pub const fn stats(&self) -> UdpReceiverStats {
        self.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spacing_does_not_drift() {
        // 1400 bytes at 3 Mbit/s: 3 733 333.33 ns apart; the third is at a whole number.
        let rate = BitRate(3_000_000);
        let stop = Instant::from_millis(20);
        let mut s = UdpSender::new(rate, Bytes(1400), Instant::from_millis(1), stop);
        let mut at = Vec::new();
        while s.next_at() != Instant::FAR_FUTURE {
            at.push(s.next_at().as_nanos());
            assert!(s.take_due(s.next_at()).is_some());
            assert_eq!(s.take_due(Instant::ZERO), None);
        }
        assert_eq!(at, [1_000_000, 4_733_333, 8_466_667, 12_200_000, 15_933_333, 19_666_667]);
    }

    #[test]
    fn gaps_and_reordering_are_counted() {
        let mut r = UdpReceiver::default();
        for serial in [0, 1, 4, 3] {
            r.on_datagram(serial, Bytes(10));
        }
        let s = r.stats();
        assert_eq!((s.datagrams, s.expected, s.reordered, s.bytes), (4, 5, 1, Bytes(40)));
    }
}
