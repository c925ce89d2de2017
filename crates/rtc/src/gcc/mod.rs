//! Google congestion control (GCC), as libwebrtc has it.
//!
//! The sender learns from transport-wide feedback ([`Feedback`]) when each packet arrived. A queue that grows is overuse, and
//! lowers the rate below what was acknowledged; without overuse the rate grows. Loss lowers the rate by a model of its own,
//! and probes find a higher rate at once. The constants and the rules are those of libwebrtc at commit f3ae3eb (2026-08-21,
//! mirror maitrungduc1410/webrtc); each file names the files of libwebrtc that it follows. The combination in this file follows
//! `modules/congestion_controller/goog_cc/goog_cc_network_control.cc`.
//!
//! Left out: changes of the route and of the bounds, the limit of REMB, and the network state estimator, of which libwebrtc
//! contains only the interface.

mod aimd;
mod alr;
mod delay_based;
mod inter_arrival;
mod link_capacity;
mod loss_based;
mod loss_likelihood;
mod loss_observations;
mod loss_settings;
mod overuse;
mod probe_result;
mod probing;
mod rate;
mod send_side;
mod settings;
mod throughput;
mod trendline;
mod window;

#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant};

use crate::{Bounds, Feedback, Pace, PacketReport, Probe, RateController, SentPacket};

use alr::AlrDetector;
use delay_based::DelayBased;
use inter_arrival::Arrival;
use loss_based::LossState;
use overuse::BandwidthUsage;
use probe_result::{ProbePacket, ProbeResults};
use probing::{LimitedBy, ProbeController};
use rate::scaled;
use send_side::SendSide;
use throughput::{Acknowledged, Throughput};
use window::CongestionWindow;

pub use settings::GccSettings;

/// Google congestion control.
#[derive(Clone, Debug)]
pub struct Gcc {
    settings: GccSettings,
    delay_based: DelayBased,
    send_side: SendSide,
    throughput: Throughput,
    probes: ProbeController,
    probe_results: ProbeResults,
    alr: AlrDetector,
    was_in_alr: bool,
    window: CongestionWindow,
    has_feedback: bool,
    published: Option<Published>,
    next_process: Instant,
}

/// The result. libwebrtc does not publish it after a report that leaves the estimate by delay as it is, but at the next packet or
/// interval of processing. The detector of ALR and the probes depend on it, and are updated when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Published {
    estimate: BitRate,
    media: BitRate,
    loss_state: LossState,
    rtt: Duration,
    in_alr: bool,
}

impl Gcc {
    /// A controller that starts now, with its first probes.
    #[must_use]
    pub fn new(bounds: Bounds, settings: GccSettings, now: Instant) -> Self {
        let min = bounds.min.max(settings.loss.rate_min);
        let max = bounds.max.max(min);
        let bounds = Bounds { min, start: bounds.start.clamp(min, max), max };
        let mut gcc = Self {
            delay_based: DelayBased::new(&settings, bounds.start, bounds.min),
            send_side: SendSide::new(settings.rtt_backoff, settings.loss.clone(), bounds),
            throughput: Throughput::new(settings.throughput),
            probes: ProbeController::new(settings.probing, bounds.start, bounds.max, now),
            probe_results: ProbeResults::new(settings.probe_result),
            alr: AlrDetector::new(settings.alr),
            was_in_alr: false,
            window: CongestionWindow::new(settings.congestion_window),
            has_feedback: false,
            published: None,
            next_process: now,
            settings,
        };
        gcc.on_timeout(now);
        gcc
    }

    /// The estimate of what the path carries, within the bounds: the media's rate before the congestion window lowers it.
    #[must_use]
    pub fn estimate(&self) -> BitRate {
        self.published.map_or(self.send_side.target(), |published| published.estimate)
    }

    fn learn_round_trip(&mut self, now: Instant, arrivals: &[Arrival]) {
        let Some(latest) = arrivals.iter().map(|packet| packet.arrived).max() else { return };
        let rtts = || arrivals.iter().map(|packet| now.saturating_since(packet.sent));
        // Without the time for which the receiver held the report.
        let propagation = arrivals
            .iter()
            .zip(rtts())
            .map(|(packet, rtt)| rtt.saturating_sub(latest - packet.arrived))
            .min();
        if let (Some(longest), Some(propagation)) = (rtts().max(), propagation) {
            self.window.add_round_trip(longest);
            self.send_side.set_propagation_rtt(now, propagation);
        }
    }

    /// The result of the probes of a report. It does not lower the estimate far below what is acknowledged.
    fn probe_rate(&mut self, packets: &[PacketReport], acknowledged: Option<BitRate>) -> Option<BitRate> {
        for packet in packets {
            if let (Some(probe), Some(arrived)) = (packet.sent.probe, packet.arrived) {
                let (sent, size) = (packet.sent.at, packet.sent.size);
                self.probe_results.add(ProbePacket { probe, sent, arrived, size });
            }
        }
        let rate = self.probe_results.take()?;
        let share = self.settings.probe_result.acknowledged_share;
        let least = acknowledged.map_or(BitRate(0), |acknowledged| {
            scaled(acknowledged, share).min(self.delay_based.reported().unwrap_or_default())
        });
        Some(rate.max(least))
    }

    fn publish(&mut self, now: Instant) {
        let estimate = self.send_side.target();
        let current = Published {
            estimate,
            media: self.window.media_rate(estimate).max(self.send_side.min()),
            loss_state: self.send_side.loss_state(),
            rtt: self.send_side.rtt(),
            in_alr: self.alr.started().is_some(),
        };
        if self.published.replace(current) != Some(current) {
            self.alr.set_estimate(estimate);
            self.probes.set_estimate(now, estimate, self.limited_by());
        }
    }

    fn limited_by(&self) -> LimitedBy {
        if self.delay_based.usage() != BandwidthUsage::Normal {
            return LimitedBy::RisingDelay;
        }
        if self.send_side.is_rtt_above_limit() {
            return LimitedBy::Rtt;
        }
        match self.send_side.loss_state() {
            LossState::Delay => LimitedBy::Delay,
            LossState::Decreasing | LossState::IncreasingWithPadding => LimitedBy::Loss,
        }
    }

    fn process(&mut self, now: Instant) {
        self.send_side.update(now);
        self.probes.set_alr_started(self.alr.started().filter(|_| self.has_feedback));
        self.probes.process(now);
        self.window.update(self.estimate());
        self.publish(now);
    }
}

impl RateController for Gcc {
    fn on_sent(&mut self, packet: &SentPacket) {
        self.alr.on_sent(packet.at, packet.size);
        self.send_side.on_sent(packet.at);
        self.window.on_sent(packet.size);
        self.publish(packet.at);
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        self.has_feedback = true;
        self.window.set_in_flight(feedback.in_flight);
        let mut packets: Vec<PacketReport> =
            feedback.packets.iter().filter(|packet| packet.arrived.is_some()).copied().collect();
        packets.sort_by_key(|packet| (packet.arrived, packet.sent.at, packet.sent.sequence));
        let arrivals: Vec<Arrival> = packets
            .iter()
            .filter_map(|packet| {
                packet.arrived.map(|arrived| Arrival { sent: packet.sent.at, arrived, reported: now })
            })
            .collect();
        self.learn_round_trip(now, &arrivals);
        let in_alr = self.alr.started();
        if self.was_in_alr && in_alr.is_none() {
            self.probes.set_alr_ended(now);
        }
        self.was_in_alr = in_alr.is_some();
        self.throughput.add(packets.iter().zip(&arrivals).map(|(packet, arrival)| Acknowledged {
            sent: arrival.sent,
            arrived: arrival.arrived,
            size: packet.sent.size,
        }));
        let acknowledged = self.throughput.rate();
        self.send_side.set_acknowledged(acknowledged);
        let probe = self.probe_rate(&packets, acknowledged);
        let update = self.delay_based.on_report(now, arrivals.into_iter(), acknowledged, probe);
        if let Some(rate) = update.rate {
            if update.probe {
                self.send_side.set_target(rate);
            }
            self.send_side.set_delay_based(rate);
        }
        self.send_side.on_report(now, feedback.packets, in_alr.is_some());
        if update.rate.is_some() {
            self.publish(now);
        }
        if update.recovered {
            self.probes.set_alr_started(in_alr);
            self.probes.on_recovery(now);
        }
        self.window.update(self.estimate());
    }

    fn on_round_trip(&mut self, _: Instant, rtt: Duration) {
        self.delay_based.set_rtt(rtt);
        self.send_side.set_rtt(rtt);
    }

    fn on_timeout(&mut self, now: Instant) {
        if now >= self.next_process {
            self.next_process = now + self.settings.pacing.process_interval;
            self.process(now);
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.next_process)
    }

    /// The estimate, reduced while the congestion window is full. libwebrtc drops frames to that extent and lowers the encoder's
    /// rate by as much.
    fn target(&self) -> BitRate {
        let estimate = self.estimate();
        self.published.map_or(estimate, |published| self.window.encoder_rate(estimate, published.media))
    }

    fn pace(&self) -> Pace {
        let factor = if self.has_feedback {
            self.settings.pacing.factor
        } else {
            self.settings.pacing.factor_at_start
        };
        let published = self.published.map_or(BitRate(0), |published| match published.loss_state {
            LossState::IncreasingWithPadding => published.media.min(published.estimate),
            LossState::Delay | LossState::Decreasing => BitRate(0),
        });
        Pace { rate: Some(scaled(self.estimate(), factor)), window: None, padding: published }
    }

    fn take_probe(&mut self, _: Instant) -> Option<Probe> {
        let probe = self.probes.take()?;
        self.probe_results.expect(probe);
        Some(probe)
    }
}
