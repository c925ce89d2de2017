//! NADA (RFC 8698), a rate-based controller that adds queue delay, loss and marking up to one congestion signal.
//!
//! The sender computes the signal from the reports about each packet (RFC 8888), as cisco/ns3-rmcat adb3f8e does
//! (`SenderBasedController`): one of the two placements that RFC 8698 discusses ("Sender-Based vs. Receiver-Based
//! Calculation", section 6.4; section number unverified). The equations are those of the RFC as that implementation and the
//! figures in `python/airlane/data/rtc/nada.csv` restate them.
//!
//! Left out: a reaction to missing reports, which RFC 8083 has for all media.

mod history;
mod loss_interval;
mod rate;
mod signal;

#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Bytes, Duration, Instant};

use crate::{Bounds, Feedback, Pace, RateController, SentPacket};
use history::History;
use rate::{DELTA, Signals};

/// The parameters of NADA that an application chooses. RFC 8698 section 4.1 has the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NadaSettings {
    /// `PRIO`: the weight of the flow among others.
    pub priority: f64,
    /// `XREF`: the congestion signal of a flow of weight 1 at its highest rate.
    pub reference_delay: Duration,
    /// `FPS`: frames in a second.
    pub frame_rate: f64,
}

impl Default for NadaSettings {
    /// The values of RFC 8698 section 4.1.
    fn default() -> Self {
        Self { priority: 1.0, reference_delay: Duration::from_millis(10), frame_rate: 30.0 }
    }
}

/// NADA. `RMIN` and `RMAX` are the bounds of the target.
#[derive(Clone, Debug)]
pub struct Nada {
    settings: NadaSettings,
    bounds: Bounds,
    history: History,
    /// `r_ref` in bits per second.
    reference: f64,
    congestion: Duration,
    updated_at: Option<Instant>,
    buffer: Bytes,
}

impl Nada {
    /// The interval of the reports that it expects (RFC 8698 section 4.1, `DELTA`).
    pub const REPORT_INTERVAL: Duration = DELTA;

    /// A controller with these parameters and bounds of the target. The reference rate begins at the first rate of the
    /// bounds; the RFC lets it begin at the lowest.
    #[must_use]
    pub fn new(settings: NadaSettings, bounds: Bounds) -> Self {
        Self {
            settings,
            bounds,
            history: History::default(),
            reference: bounds.start.bits_per_second() as f64,
            congestion: Duration::ZERO,
            updated_at: None,
            buffer: Bytes::ZERO,
        }
    }

    /// The aggregate congestion signal `x_curr` of the last update; zero before the first.
    #[cfg(test)]
    const fn congestion(&self) -> Duration {
        self.congestion
    }

    fn update(&mut self, now: Instant, since: Duration) {
        let Some(queue_delay) = self.history.queue_delay() else { return };
        self.history.update_ratios();
        let delay = signal::effective_delay(queue_delay, self.history.intervals());
        let previous = self.congestion;
        self.congestion = signal::aggregate(delay, self.history.mark_ratio(), self.history.loss_ratio());
        self.updated_at = Some(now);
        let reference = if self.history.idle() {
            let received = self.history.received_rate().unwrap_or(0.0);
            rate::ramped_up(self.reference, received, self.history.round_trip())
        } else {
            let signals = Signals { current: self.congestion, previous };
            rate::updated_gradually(self.reference, signals, since, &self.settings, self.bounds.max)
        };
        let bits = |rate: BitRate| rate.bits_per_second() as f64;
        self.reference = reference.clamp(bits(self.bounds.min), bits(self.bounds.max));
    }

    fn rates(&self) -> (BitRate, BitRate) {
        rate::shaped(self.reference, self.buffer, self.settings.frame_rate, &self.bounds)
    }
}

impl RateController for Nada {
    fn on_sent(&mut self, packet: &SentPacket) {
        // The first update does not wait for a second report (as in cisco/ns3-rmcat adb3f8e, `processSendPacket`).
        self.updated_at.get_or_insert(packet.at);
    }

    /// Updates the rate, unless the last update was less than half of the target of the interval of reports ago: the leniency
    /// of cisco/ns3-rmcat adb3f8e (`processFeedbackBatch`) for reports that come early.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.history.add(now, feedback);
        let since = self.updated_at.map_or(DELTA, |at| now.saturating_since(at));
        if since >= DELTA / 2 {
            self.update(now, since);
        }
    }

    fn on_queue(&mut self, _now: Instant, waiting: Bytes) {
        self.buffer = waiting;
    }

    fn target(&self) -> BitRate {
        self.rates().0
    }

    fn pace(&self) -> Pace {
        Pace { rate: Some(self.rates().1), window: None, padding: BitRate(0) }
    }
}
