//! The packets in flight, and what a report says about them.

use std::collections::VecDeque;

use airlane_core::{Duration, Ecn, Instant};

use super::delay::Delays;
use crate::{Feedback, SentPacket};

/// How long a packet that is missing is remembered, should it arrive after all. libwebrtc remembers the packets of its
/// tests for 2 s (`test/cc_feedback_generator.cc`).
const REMEMBERED: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sent: SentPacket,
    /// When a report first did not have it, although it had a later packet.
    missing: Option<Instant>,
    lost: bool,
    arrived: bool,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) sent: SentPacket,
    pub(super) at: Instant,
    /// Its arrival by the clock of the receiver minus its departure by the clock of the sender, in nanoseconds.
    pub(super) delay_ns: i64,
}

/// The news of a report.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Acknowledged {
    /// Packets that arrived.
    pub(super) packets: u64,
    /// Of them, those with a CE mark.
    pub(super) marked_packets: u64,
    /// Bytes that arrived.
    pub(super) received: u64,
    /// Bytes up to the highest sequence number that arrived, arrived or not, which no earlier report covered.
    pub(super) advanced: u64,
    /// Bytes that arrived with a CE mark.
    pub(super) marked: u64,
    /// Packets that are now considered lost.
    pub(super) lost: u64,
    /// Lost packets that have arrived after all.
    pub(super) recovered: u64,
    /// Bytes of the packets in `lost`.
    pub(super) lost_bytes: u64,
    /// The packet with the highest sequence number among those that arrived.
    pub(super) newest: Option<Arrival>,
    /// The packet that arrived first, by the clock of the receiver.
    pub(super) first: Option<Arrival>,
    /// The packet that arrived last.
    pub(super) last: Option<Arrival>,
    /// The one-way delays.
    pub(super) delays: Option<Delays>,
}

impl Acknowledged {
    fn add(&mut self, arrival: Arrival, ecn: Ecn) {
        let bytes = arrival.sent.size.get();
        self.packets += 1;
        self.received += bytes;
        if ecn == Ecn::CongestionExperienced {
            self.marked_packets += 1;
            self.marked += bytes;
        }
        self.newest = Some(match self.newest {
            Some(newest) if newest.sent.sequence > arrival.sent.sequence => newest,
            _ => arrival,
        });
        self.first = Some(self.first.filter(|first| first.at <= arrival.at).unwrap_or(arrival));
        self.last = Some(self.last.filter(|last| last.at > arrival.at).unwrap_or(arrival));
        let ns = arrival.delay_ns;
        let delays = self.delays.unwrap_or(Delays { least_ns: ns, most_ns: ns, newest_ns: ns });
        self.delays = Some(Delays {
            least_ns: delays.least_ns.min(ns),
            most_ns: delays.most_ns.max(ns),
            newest_ns: self.newest.map_or(ns, |newest| newest.delay_ns),
        });
    }
}

/// The packets that were sent and not acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    packets: VecDeque<Outstanding>,
    highest: Option<u64>,
    in_flight: u64,
    /// The longest time for which a packet was missing and then arrived. Zero without reordering.
    reordering_window: Duration,
    adapts: bool,
}

impl Flight {
    /// With `adapts`, a packet is lost only after it was missing for the reordering window (draft, "Detecting Lost Data
    /// Units"); without, at once.
    pub(super) const fn new(adapts: bool) -> Self {
        Self {
            packets: VecDeque::new(),
            highest: None,
            in_flight: 0,
            reordering_window: Duration::ZERO,
            adapts,
        }
    }

    /// Bytes in flight: those after the highest sequence number that arrived (draft, "Status Update When Sending Data").
    pub(super) const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    pub(super) fn on_sent(&mut self, packet: &SentPacket) {
        debug_assert!(self.packets.back().is_none_or(|last| last.sent.sequence < packet.sequence));
        self.in_flight += packet.size.get();
        self.packets.push_back(Outstanding { sent: *packet, missing: None, lost: false, arrived: false });
    }

    /// The news of a report. `smoothed_rtt` bounds the reordering window (RFC 8985 section 6.2 step 4).
    pub(super) fn on_feedback(
        &mut self,
        now: Instant,
        feedback: &Feedback<'_>,
        smoothed_rtt: Duration,
    ) -> Acknowledged {
        let mut news = Acknowledged::default();
        for report in feedback.packets {
            let Some(at) = report.arrived else { continue };
            let Ok(index) =
                self.packets.binary_search_by_key(&report.sent.sequence, |packet| packet.sent.sequence)
            else {
                continue;
            };
            let packet = &mut self.packets[index];
            if packet.arrived {
                continue;
            }
            packet.arrived = true;
            if let Some(missing) = packet.missing {
                self.reordering_window =
                    self.reordering_window.max(now.saturating_since(missing)).min(smoothed_rtt);
            }
            news.recovered += u64::from(packet.lost);
            let delay_ns = at.as_nanos() as i64 - packet.sent.at.as_nanos() as i64;
            news.add(Arrival { sent: packet.sent, at, delay_ns }, report.ecn);
        }
        self.advance(now, &mut news);
        news
    }

    /// Moves the highest sequence number that arrived, and declares packets before it as lost.
    fn advance(&mut self, now: Instant, news: &mut Acknowledged) {
        let Some(highest) = news.newest.map(|newest| newest.sent.sequence).max(self.highest) else { return };
        let window = if self.adapts { self.reordering_window } else { Duration::ZERO };
        for packet in self.packets.iter_mut().take_while(|packet| packet.sent.sequence <= highest) {
            if self.highest.is_none_or(|before| packet.sent.sequence > before) {
                news.advanced += packet.sent.size.get();
            }
            if packet.arrived || packet.lost {
                continue;
            }
            let missing = *packet.missing.get_or_insert(now);
            if now.saturating_since(missing) >= window {
                packet.lost = true;
                news.lost += 1;
                news.lost_bytes += packet.sent.size.get();
            }
        }
        self.highest = Some(highest);
        self.in_flight -= news.advanced;
        while let Some(first) = self.packets.front() {
            let old = first.lost && now.saturating_since(first.sent.at) > REMEMBERED;
            if !first.arrived && !old {
                break;
            }
            self.packets.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Bytes;

    use super::*;
    use crate::{PacketKind, PacketReport};

    fn sent(sequence: u64) -> SentPacket {
        let at = Instant::from_millis(10 * sequence);
        SentPacket { sequence, at, size: Bytes(100), kind: PacketKind::Video, probe: None }
    }

    fn report(flight: &mut Flight, now_ms: u64, arrived: &[u64]) -> Acknowledged {
        let packets: Vec<PacketReport> = arrived
            .iter()
            .map(|&sequence| PacketReport {
                sent: sent(sequence),
                arrived: Some(sent(sequence).at + Duration::from_millis(20)),
                ecn: Ecn::NotCapable,
            })
            .collect();
        let feedback = Feedback { packets: &packets, in_flight: Bytes::ZERO, held: Duration::ZERO };
        flight.on_feedback(Instant::from_millis(now_ms), &feedback, Duration::from_millis(100))
    }

    fn flight(adapts: bool) -> Flight {
        let mut flight = Flight::new(adapts);
        for sequence in 0..10 {
            flight.on_sent(&sent(sequence));
        }
        flight
    }

    #[test]
    fn bytes_in_flight_are_those_after_the_highest_that_arrived() {
        let mut flight = flight(false);
        let news = report(&mut flight, 100, &[0, 1, 3]);
        // Packets 0 to 3 count, although 2 is lost.
        assert_eq!((news.advanced, news.received, news.lost), (400, 300, 1));
        assert_eq!(flight.in_flight(), 600);
        assert_eq!(report(&mut flight, 110, &[0, 1, 3]).packets, 0, "a report that repeats has no news");
    }

    #[test]
    fn a_packet_that_arrives_late_widens_the_reordering_window() {
        let mut flight = flight(true);
        assert_eq!(report(&mut flight, 100, &[0, 2]).lost, 1, "no reordering is known yet");
        assert_eq!(report(&mut flight, 130, &[1]).recovered, 1);
        // Packet 3 was missing for 30 ms before packet 1 showed this to be reordering.
        assert_eq!(report(&mut flight, 140, &[4]).lost, 0);
        assert_eq!(report(&mut flight, 169, &[5]).lost, 0);
        assert_eq!(report(&mut flight, 170, &[6]).lost, 1);
    }
}
