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
        if self.window.len() < self.settings.required_packets {
            return None;
        }
        let received = self.received();
        Some(self.sent().map_or(received, |sent| sent.min(received)))
    }

    /// The rate of arrival. The first packet is only the start of the time, and the longest gap counts as the second longest.
    fn received(&self) -> BitRate {
        let (mut longest, mut second) = (Duration::ZERO, Duration::ZERO);
        let arrivals = self.window.iter().map(|packet| packet.arrived);
        for (earlier, later) in arrivals.clone().zip(arrivals.skip(1)) {
            let gap = later.saturating_since(earlier);
            if gap > longest {
                (longest, second) = (gap, longest);
            } else if gap > second {
                second = gap;
            }
        }
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else {
            return BitRate(0);
        };
        let total: u64 = self.window.iter().map(|packet| packet.size.0).sum();
        let span = last.arrived.saturating_since(first.arrived).saturating_sub(longest) + second;
        over(Bytes(total - first.size.0), span.max(self.settings.span_min))
    }

    /// The rate of sending; `None` if too few packets were sent in order. The last packet is only the end of the time.
    fn sent(&self) -> Option<BitRate> {
        let in_order = || {
            self.window.iter().filter(|packet| self.latest_discarded.is_none_or(|sent| packet.sent >= sent))
        };
        if in_order().count() < self.settings.required_packets {
            return None;
        }
        let first = in_order().map(|packet| packet.sent).min()?;
        // Of packets that were sent at the same time, the first.
        let last = in_order().reduce(|last, packet| if packet.sent > last.sent { packet } else { last })?;
        let total: u64 = in_order().map(|packet| packet.size.0).sum();
        let span = last.sent.saturating_since(first);
        Some(over(Bytes(total - last.size.0), span.max(self.settings.span_min)))
    }
}
