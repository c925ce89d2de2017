//! The acknowledged rate: the rate of arrival in a window of about a second, without its longest gap, and at most the rate of
//! sending.
//!
//! libwebrtc f3ae3eb, `robust_throughput_estimator.cc`. All packets are reported here, so none counts for others.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Duration, Instant};

use super::rate::over;
use super::settings::ThroughputSettings;

/// A packet that arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acknowledged {
    /// When it was sent.
    pub(super) sent: Instant,
    /// When it arrived.
    pub(super) arrived: Instant,
    /// Its size.
    pub(super) size: Bytes,
}

/// Estimates the acknowledged rate.
#[derive(Clone, Debug)]
pub(super) struct Throughput {
    settings: ThroughputSettings,
    /// In the order of arrival.
    window: VecDeque<Acknowledged>,
    latest_discarded: Option<Instant>,
}

impl Throughput {
    pub(super) const fn new(settings: ThroughputSettings) -> Self {
        Self { settings, window: VecDeque::new(), latest_discarded: None }
    }

    /// Adds the packets of a report in the order of their arrival.
    pub(super) fn add(&mut self, packets: impl Iterator<Item = Acknowledged>) {
        for packet in packets {
            let place = self.window.partition_point(|other| other.arrived <= packet.arrived);
            self.window.insert(place, packet);
            let latest = self.window.back().map_or(packet.arrived, |last| last.arrived);
            if latest.saturating_since(packet.arrived) > self.settings.reordering_max {
                self.window.clear();
                self.latest_discarded = None;
            }
        }
        while self.exceeds_window()
            && let Some(first) = self.window.pop_front()
        {
            self.latest_discarded = self.latest_discarded.max(Some(first.sent));
        }
    }

    fn exceeds_window(&self) -> bool {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else { return false };
        let span = last.arrived.saturating_since(first.arrived);
        self.window.len() > self.settings.window_packets_max
            || span > self.settings.window_max
            || (self.window.len() > self.settings.window_packets && span > self.settings.window_min)
    }

    /// The acknowledged rate; `None` before enough packets have arrived.
    pub(super) fn rate(&self) -> Option<BitRate> {
        let first = self.window.front().filter(|_| self.window.len() >= self.settings.required_packets)?;
        let (mut received, mut sent, mut in_order) = (Received::new(first), Sent::new(first), 0);
        let discarded = self.latest_discarded.unwrap_or_default();
        let (front, back) = self.window.as_slices();
        for packet in front.iter().chain(back) {
            received.add(packet);
            if packet.sent >= discarded {
                if in_order == 0 {
                    sent = Sent::new(packet);
                }
                in_order += 1;
                sent.add(packet);
            }
        }
        let received = received.rate(self.settings.span_min);
        // Of a rate of sending, enough packets must have been sent in order.
        let sends = in_order >= self.settings.required_packets;
        Some(if sends { sent.rate(self.settings.span_min).min(received) } else { received })
    }
}

/// The rate of arrival. The first packet is only the start of the time, and the longest gap counts as the second longest.
struct Received {
    first: Acknowledged,
    last_arrived: Instant,
    bytes: u64,
    longest_gap: Duration,
    second_gap: Duration,
}

impl Received {
    fn new(first: &Acknowledged) -> Self {
        let gap = Duration::ZERO;
        Self { first: *first, last_arrived: first.arrived, bytes: 0, longest_gap: gap, second_gap: gap }
    }

    fn add(&mut self, packet: &Acknowledged) {
        let gap = packet.arrived.saturating_since(self.last_arrived);
        if gap > self.longest_gap {
            (self.longest_gap, self.second_gap) = (gap, self.longest_gap);
        } else if gap > self.second_gap {
            self.second_gap = gap;
        }
        self.last_arrived = packet.arrived;
        self.bytes += packet.size.0;
    }

    fn rate(&self, span_min: Duration) -> BitRate {
        let span = self.last_arrived.saturating_since(self.first.arrived);
        let span = span.saturating_sub(self.longest_gap) + self.second_gap;
        over(Bytes(self.bytes - self.first.size.0), span.max(span_min))
    }
}

/// The rate of sending. The last packet is only the end of the time; of packets that were sent at the same time, the first.
struct Sent {
    first_sent: Instant,
    last: Acknowledged,
    bytes: u64,
}

impl Sent {
    const fn new(first: &Acknowledged) -> Self {
        Self { first_sent: first.sent, last: *first, bytes: 0 }
    }

    fn add(&mut self, packet: &Acknowledged) {
        self.first_sent = self.first_sent.min(packet.sent);
        if packet.sent > self.last.sent {
            self.last = *packet;
        }
        self.bytes += packet.size.0;
    }

    fn rate(&self, span_min: Duration) -> BitRate {
        let span = self.last.sent.saturating_since(self.first_sent);
        over(Bytes(self.bytes - self.last.size.0), span.max(span_min))
    }
}
