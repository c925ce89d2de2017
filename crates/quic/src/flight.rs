//! The packets in flight, reconstructed from quinn's calls to the controller.
//!
//! quinn informs a controller when each datagram is sent, of the send time and size of each acknowledged
//! packet, and of losses by the sum of their bytes and the send time of the newest. Both of its tests for
//! loss, by packet number and by time, also declare every older packet lost (RFC 9002 §6.1). The packets lost
//! in a batch are therefore the oldest in flight, and each of them can be identified.
//!
//! Packets that contain only acknowledgments are not in flight (RFC 9002 §2). The endpoint leaves them out. A
//! program that drives quinn itself does not distinguish them: there they stay here until a packet sent later by
//! the packet threshold is acknowledged, because quinn does not report them again.

use std::collections::VecDeque;

use airlane_core::Instant;
use airlane_transport::model::SendNote;

/// A packet in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flying {
    /// Consecutive packets have consecutive serials.
    pub(crate) serial: u64,
    pub(crate) sent_at: Instant,
    pub(crate) bytes: u64,
    /// The identifier at a PEP, zero if there is none, and whether the PEP has seen the packet.
    pub(crate) identifier: u64,
    pub(crate) seen: bool,
    /// The delivered amount when it was sent, for a model-based controller.
    pub(crate) note: SendNote,
    settled: bool,
}

/// The packets in flight, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    packets: VecDeque<Flying>,
    next_serial: u64,
    newest_acked: Option<u64>,
    /// The newest acknowledged packet when those that will never be acknowledged were forgotten last.
    forgotten_for: Option<u64>,
    /// After the newest packet that a PEP has seen.
    seen_to: u64,
    seen_bytes: u64,
}

impl Flight {
    pub(crate) fn on_sent(&mut self, now: Instant, bytes: u64, note: SendNote) {
        let serial = self.next_serial;
        self.packets.push_back(Flying {
            serial,
            sent_at: now,
            bytes,
            identifier: 0,
            seen: false,
            note,
            settled: false,
        });
        self.next_serial += 1;
    }

    /// The serial of the next packet.
    pub(crate) const fn next_serial(&self) -> u64 {
        self.next_serial
    }

    /// Sets the PEP's identifier of the last packet.
    pub(crate) fn name_newest(&mut self, identifier: u64) {
        if let Some(packet) = self.packets.back_mut() {
            packet.identifier = identifier;
        }
    }

    /// Sets the PEP's identifier of the last packet, if it has none.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn name_unnamed(&mut self, identifier: u64) -> bool {
        let unnamed = self.packets.back_mut().filter(|packet| packet.identifier == 0 && !packet.settled);
        unnamed.map(|packet| packet.identifier = identifier).is_some()
    }

    /// A PEP has seen a packet with this identifier. Returns the packet if it is in flight and was not
    /// known to be seen.
    pub(crate) fn on_seen(&mut self, identifier: u64) -> Option<Flying> {
        // Reports arrive in order, so the search begins at the last seen packet.
        let from = (self.seen_to.saturating_sub(self.front_serial())) as usize;
        let from = from.min(self.packets.len());
        let named = |p: &Flying| p.identifier == identifier && !p.settled && !p.seen;
        let ahead = self.packets.range(from..).position(named).map(|at| from + at);
        let index = ahead.or_else(|| self.packets.range(..from).rposition(named))?;
        let packet = self.packets.get_mut(index)?;
        packet.seen = true;
        self.seen_to = self.seen_to.max(packet.serial + 1);
        self.seen_bytes += packet.bytes;
        Some(*packet)
    }

    /// Bytes in flight that a PEP has seen.
    pub(crate) const fn seen_bytes(&self) -> u64 {
        self.seen_bytes
    }

    fn front_serial(&self) -> u64 {
        self.packets.front().map_or(self.next_serial, |p| p.serial)
    }

    /// A packet of this size and send time is acknowledged. `None` if quinn has not announced it, as is the
    /// case for probes of the path MTU.
    pub(crate) fn on_acked(&mut self, sent_at: Instant, bytes: u64) -> Option<Flying> {
        // Most packets are acknowledged in the order in which they were sent.
        let found = match self.packets.front() {
            Some(oldest) if (oldest.sent_at, oldest.bytes, self.seen_bytes) == (sent_at, bytes, 0) => {
                self.packets.pop_front()?
            }
            _ => {
                let index = self.find(sent_at, bytes)?;
                let found = self.packets.get_mut(index)?;
                found.settled = true;
                self.seen_bytes -= if found.seen { found.bytes } else { 0 };
                *found
            }
        };
        self.newest_acked = self.newest_acked.max(Some(found.serial));
        self.trim();
        Some(found)
    }

    /// The place of a packet of this size and send time that is in flight.
    fn find(&self, sent_at: Instant, bytes: u64) -> Option<usize> {
        let from = self.packets.partition_point(|p| p.sent_at < sent_at);
        let alike = |p: &Flying| !p.settled && p.bytes == bytes;
        let sent_then = |p: &&Flying| p.sent_at == sent_at;
        let candidates = || self.packets.range(from..).take_while(sent_then);
        // Of several packets that were sent at one time, the one that a PEP has seen: a packet that the PEP missed is
        // more likely lost.
        let seen = (self.seen_bytes > 0).then(|| candidates().position(|p| alike(p) && p.seen)).flatten();
        Some(from + seen.or_else(|| candidates().position(alike))?)
    }

    /// Removes this many lost bytes, the newest of them sent at this time. Returns each lost packet.
    pub(crate) fn take_lost(
        &mut self,
        newest_sent_at: Instant,
        mut bytes: u64,
        mut each: impl FnMut(Flying),
    ) {
        for packet in self.packets.iter_mut().filter(|p| !p.settled) {
            if bytes == 0 || packet.sent_at > newest_sent_at {
                break;
            }
            packet.settled = true;
            self.seen_bytes -= if packet.seen { packet.bytes } else { 0 };
            bytes = bytes.saturating_sub(packet.bytes);
            each(*packet);
        }
        self.trim();
    }

    /// An acknowledgment and its losses have been processed: a packet that is still here and older than the
    /// newest acknowledged packet by the threshold will never be acknowledged.
    pub(crate) fn forget_unacknowledgeable(&mut self, packet_threshold: u64) {
        if self.forgotten_for == self.newest_acked {
            return;
        }
        self.forgotten_for = self.newest_acked;
        let Some(newest) = self.newest_acked else { return };
        for packet in &mut self.packets {
            if packet.serial + packet_threshold > newest {
                break;
            }
            if !core::mem::replace(&mut packet.settled, true) {
                self.seen_bytes -= if packet.seen { packet.bytes } else { 0 };
            }
        }
        self.trim();
    }

    /// The oldest packet in flight that was sent after `after`, if no later packet is acknowledged.
    pub(crate) fn oldest_since(&self, after: Option<Instant>) -> Option<Flying> {
        let from = after.map_or(0, |after| self.packets.partition_point(|p| p.sent_at <= after));
        let oldest = self.packets.range(from..).find(|p| !p.settled)?;
        self.newest_acked.is_none_or(|newest| newest < oldest.serial).then_some(*oldest)
    }

    fn trim(&mut self) {
        while self.packets.front().is_some_and(|p| p.settled) {
            self.packets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    fn flight(sent: &[(u64, u64)]) -> Flight {
        let mut flight = Flight::default();
        sent.iter().for_each(|(ms, bytes)| flight.on_sent(at(*ms), *bytes, SendNote::default()));
        flight
    }

    #[test]
    fn lost_packets_are_the_oldest() {
        let mut flight = flight(&[(1, 100), (1, 200), (1, 100), (2, 100), (3, 100)]);
        assert_eq!(flight.on_acked(at(1), 200).map(|p| p.serial), Some(1));
        assert_eq!(flight.on_acked(at(1), 300), None); // no such packet
        let mut lost = vec![];
        flight.take_lost(at(2), 200, |p| lost.push(p.serial));
        assert_eq!(lost, [0, 2]); // the fourth was not among the 200 bytes
        assert_eq!(flight.oldest_since(None).map(|p| p.serial), Some(3));
        assert_eq!(flight.oldest_since(Some(at(2))).map(|p| p.serial), Some(4));
    }

    #[test]
    fn of_packets_sent_at_one_time_the_one_that_no_pep_has_seen_is_lost() {
        let mut flight = Flight::default();
        for name in [10, 20, 30] {
            flight.on_sent(at(1), 100, SendNote::default());
            flight.name_newest(name);
        }
        assert!(flight.on_seen(20).is_some() && flight.on_seen(30).is_some());
        let acked = [flight.on_acked(at(1), 100), flight.on_acked(at(1), 100)];
        assert_eq!(acked.map(|p| p.map(|p| p.serial)), [Some(1), Some(2)]);
        flight.take_lost(at(1), 100, |p| assert_eq!((p.serial, p.seen), (0, false)));
    }

    #[test]
    fn what_nobody_acknowledges_is_forgotten() {
        let mut flight = flight(&[(1, 40), (2, 100), (3, 100), (4, 100), (5, 100)]);
        flight.on_acked(at(3), 100);
        flight.forget_unacknowledgeable(3);
        assert_eq!(flight.packets.front().map(|p| p.serial), Some(0));
        assert_eq!(flight.oldest_since(None), None); // one sent later is acknowledged
        flight.on_acked(at(4), 100);
        flight.forget_unacknowledgeable(3);
        assert_eq!(flight.packets.front().map(|p| p.serial), Some(1));
    }

    #[test]
    fn a_name_finds_its_packet_while_that_is_in_flight() {
        let mut flight = Flight::default();
        for name in 1..=5 {
            flight.on_sent(at(name), 100, SendNote::default());
            flight.name_newest(10 * name);
        }
        let serial = |seen: Option<Flying>| seen.map(|p| p.serial);
        assert_eq!(serial(flight.on_seen(30)), Some(2));
        assert_eq!(serial(flight.on_seen(20)), Some(1)); // a late report
        assert_eq!(serial(flight.on_seen(20)), None); // repeated
        assert_eq!(serial(flight.on_seen(99)), None); // invalid
        assert_eq!(flight.seen_bytes(), 200);
        flight.on_acked(at(1), 100);
        assert_eq!(serial(flight.on_seen(10)), None); // acknowledged since
        flight.take_lost(at(2), 100, |p| assert!(p.seen));
        assert_eq!((serial(flight.on_seen(50)), flight.seen_bytes()), (Some(4), 200));
        // A datagram that is no packet in flight, such as a probe of the path MTU, takes no name away.
        flight.on_sent(at(6), 100, SendNote::default());
        assert!(flight.name_unnamed(60) && !flight.name_unnamed(61));
        assert_eq!((serial(flight.on_seen(61)), serial(flight.on_seen(60))), (None, Some(5)));
    }
}
