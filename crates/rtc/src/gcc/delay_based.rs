//! The estimate by delay: groups, trend, detector and rate control together.
//!
//! libwebrtc f3ae3eb, `delay_based_bwe.cc`. Audio is not separated from video, as there by default.

use airlane_core::{BitRate, Duration, Instant};

use super::aimd::Aimd;
use super::inter_arrival::{Arrival, InterArrival};
use super::overuse::{BandwidthUsage, OveruseDetector};
use super::settings::GccSettings;
use super::trendline::Trendline;

/// A new estimate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DelayUpdate {
    /// The estimate, if it was updated.
    pub(super) rate: Option<BitRate>,
    /// It is the result of a probe.
    pub(super) probe: bool,
    /// Underuse has ended: queues are empty after an overuse.
    pub(super) recovered: bool,
}

/// Estimates the rate by delay.
#[derive(Clone, Debug)]
pub(super) struct DelayBased {
    settings: GccSettings,
    groups: InterArrival,
    trendline: Trendline,
    detector: OveruseDetector,
    aimd: Aimd,
    /// The latest rate that a report led to.
    reported: Option<BitRate>,
    last_report: Option<Instant>,
}

impl DelayBased {
    pub(super) fn new(settings: &GccSettings, start: BitRate, min: BitRate) -> Self {
        Self {
            settings: settings.clone(),
            groups: InterArrival::new(settings.grouping),
            trendline: Trendline::new(settings.trendline),
            detector: OveruseDetector::new(settings.trendline),
            aimd: Aimd::new(settings.aimd, settings.link_capacity, start, min),
            reported: None,
            last_report: None,
        }
    }

    pub(super) const fn rate(&self) -> BitRate {
        self.aimd.rate()
    }

    /// The latest rate that a report led to; `None` before the first.
    pub(super) const fn reported(&self) -> Option<BitRate> {
        self.reported
    }

    pub(super) const fn usage(&self) -> BandwidthUsage {
        self.detector.usage()
    }

    pub(super) const fn set_rtt(&mut self, rtt: Duration) {
        self.aimd.set_rtt(rtt);
    }

    /// Takes the packets of a report in the order of their arrival, with the acknowledged rate and the result of a probe.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        packets: impl Iterator<Item = Arrival>,
        acknowledged: Option<BitRate>,
        probe: Option<BitRate>,
    ) -> DelayUpdate {
        let mut recovered = false;
        let mut usage = self.usage();
        let mut empty = true;
        for packet in packets {
            empty = false;
            self.add(packet);
            recovered |= usage == BandwidthUsage::Underusing && self.usage() == BandwidthUsage::Normal;
            usage = self.usage();
        }
        if empty {
            return DelayUpdate::default();
        }
        let update = if usage == BandwidthUsage::Overusing {
            DelayUpdate { rate: self.decrease(now, acknowledged), ..DelayUpdate::default() }
        } else if let Some(rate) = probe {
            self.aimd.set_rate(now, rate);
            DelayUpdate { rate: Some(self.rate()), probe: true, recovered: false }
        } else {
            DelayUpdate { rate: Some(self.aimd.update(now, usage, acknowledged)), probe: false, recovered }
        };
        self.reported = update.rate.or(self.reported);
        update
    }

    fn decrease(&mut self, now: Instant, acknowledged: Option<BitRate>) -> Option<BitRate> {
        match acknowledged {
            Some(rate) if self.aimd.may_decrease(now, rate) => {
                Some(self.aimd.update(now, BandwidthUsage::Overusing, acknowledged))
            }
            Some(_) => None,
            // The acknowledged rate is unknown: half the estimate. libwebrtc asks whether this may be, with a rate for which
            // the answer is always yes.
            None => {
                self.aimd.set_rate(now, BitRate(self.rate().0 / 2));
                Some(self.rate())
            }
        }
    }

    fn add(&mut self, packet: Arrival) {
        let timeout = self.settings.grouping.stream_timeout;
        if self.last_report.is_none_or(|last| packet.reported.saturating_since(last) > timeout) {
            self.groups = InterArrival::new(self.settings.grouping);
            self.trendline = Trendline::new(self.settings.trendline);
            self.detector = OveruseDetector::new(self.settings.trendline);
        }
        self.last_report = Some(packet.reported);
        if let Some(delta) = self.groups.add(packet) {
            let trend = self.trendline.add(delta, packet.arrived);
            self.detector.add(trend, delta.sent, packet.arrived);
        }
    }
}
