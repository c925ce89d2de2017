//! The packets of the last 500 ms, from the reports about them. RFC 8698 section 5.1.

use std::collections::VecDeque;

use airlane_core::{Bytes, Duration, Ecn, Instant};

use super::loss_interval::LossIntervals;
use crate::Feedback;
use crate::base_delay::BaseDelay;

/// `LOGWIN`. RFC 8698 section 4.1.
const WINDOW: Duration = Duration::from_millis(500);
/// The taps of the minimum filter of the queue delay. Section 5.1.1.
const TAPS: usize = 15;
/// `ALPHA`: the gain of the ratios of loss and marking. Sections 4.1 and 5.1.2.
const RATIO_GAIN: f64 = 0.1;
/// `QEPS`: the queue delay that counts as a build-up. Section 4.1.
const BUILD_UP: Duration = Duration::from_millis(10);

/// A packet, in the order of the sequence numbers.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// Its arrival by the clock of the receiver; of a lost packet, that of the next that arrived.
    at: Instant,
    size: Bytes,
    lost: bool,
    marked: bool,
    queue_delay: Duration,
}

/// The packets of the last 500 ms, and averages over longer times.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    records: VecDeque<Record>,
    /// The queue delays of the last packets, which may be older.
    recent: VecDeque<Duration>,
    highest: Option<u64>,
    base: BaseDelay,
    loss_ratio: f64,
    mark_ratio: f64,
    intervals: LossIntervals,
    round_trip: Option<Duration>,
}

impl History {
    /// A report. A packet that arrives after a later one counts as lost (section 5.1.2).
    pub(super) fn add(&mut self, now: Instant, feedback: &Feedback<'_>) {
        let mut lost = Vec::new();
        for report in feedback.packets {
            let sequence = report.sent.sequence;
            if self.highest.is_some_and(|highest| sequence <= highest) {
                continue;
            }
            let Some(at) = report.arrived else {
                lost.push(report.sent);
                continue;
            };
            self.highest = Some(sequence);
            let delay_ns = at.as_nanos() as i64 - report.sent.at.as_nanos() as i64;
            let queue_delay = self.base.queue_delay(at, delay_ns);
            let record = Record { at, size: report.sent.size, lost: false, marked: false, queue_delay };
            let round_trip = self.round_trip.unwrap_or_default();
            for packet in lost.drain(..) {
                self.intervals.lost(packet.at, round_trip);
                self.records.push_back(Record { size: packet.size, lost: true, ..record });
            }
            self.intervals.arrived();
            self.records.push_back(Record { marked: report.ecn == Ecn::CongestionExperienced, ..record });
            self.recent.push_back(queue_delay);
            let sample = now.saturating_since(report.sent.at).saturating_sub(feedback.held);
            self.round_trip = Some(sample);
        }
        while self.recent.len() > TAPS {
            self.recent.pop_front();
        }
        if let Some(newest) = self.records.back().map(|record| record.at) {
            while self.records.front().is_some_and(|first| newest.saturating_since(first.at) > WINDOW) {
                self.records.pop_front();
            }
        }
    }

    /// Moves the ratios of loss and marking towards those of the window; once for each update of the rate.
    pub(super) fn update_ratios(&mut self) {
        let part = |count: usize| count as f64 / self.records.len().max(1) as f64;
        let lost = part(self.records.iter().filter(|record| record.lost).count());
        let marked = part(self.records.iter().filter(|record| record.marked).count());
        self.loss_ratio += RATIO_GAIN * (lost - self.loss_ratio);
        self.mark_ratio += RATIO_GAIN * (marked - self.mark_ratio);
    }

    /// `d_queue`: the smallest queue delay of the last 15 packets; `None` before the first.
    pub(super) fn queue_delay(&self) -> Option<Duration> {
        self.recent.iter().copied().min()
    }

    /// `p_loss`.
    pub(super) const fn loss_ratio(&self) -> f64 {
        self.loss_ratio
    }

    /// `p_mark`.
    pub(super) const fn mark_ratio(&self) -> f64 {
        self.mark_ratio
    }

    /// The intervals between losses.
    pub(super) const fn intervals(&self) -> &LossIntervals {
        &self.intervals
    }

    /// The round-trip time of the newest packet, without the time for which its report was held.
    pub(super) fn round_trip(&self) -> Duration {
        self.round_trip.unwrap_or_default()
    }

    /// `r_recv` in bits per second: the packets after the first of the window, over the time from the first to the last as in
    /// cisco/ns3-rmcat adb3f8e (`getCurrentRecvRate`), since a call may be younger than the window.
    pub(super) fn received_rate(&self) -> Option<f64> {
        let mut arrived = self.records.iter().filter(|record| !record.lost);
        let first = arrived.next()?.at;
        let last = self.records.back()?.at;
        let bytes: u64 = arrived.map(|record| record.size.get()).sum();
        let span = last.saturating_since(first);
        (!span.is_zero()).then(|| bytes as f64 * 8.0 / span.as_secs_f64())
    }

    /// True if the window has neither loss nor queue: the rate may ramp up (section 4.2).
    pub(super) fn idle(&self) -> bool {
        self.records.iter().all(|record| !record.lost && record.queue_delay < BUILD_UP)
    }
}
