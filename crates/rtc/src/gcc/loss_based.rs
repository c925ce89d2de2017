//! The estimate by loss, version 2: the candidate that explains the observed loss best, with bounds on its growth.
//!
//! libwebrtc f3ae3eb, `loss_based_bwe_v2.cc`, with its defaults. Parts that the defaults switch off are left out.

use airlane_core::{BitRate, Duration, Instant};

use super::loss_likelihood::Channel;
use super::loss_observations::Observations;
use super::loss_settings::LossSettings;
use super::rate::{UNLIMITED, scaled};
use crate::PacketReport;

/// The state of the estimate by loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LossState {
    /// Loss does not limit the rate.
    Delay,
    /// It decreases, or is held.
    Decreasing,
    /// It increases, and padding may fill the rate.
    IncreasingWithPadding,
}

/// After a decrease, the rate is held for a time that doubles.
#[derive(Clone, Copy, Debug)]
struct Hold {
    until: Option<Instant>,
    duration: Duration,
    rate: BitRate,
}

/// Since when padding is sent, and for which rate.
#[derive(Clone, Copy, Debug, Default)]
struct Padding {
    since: Option<Instant>,
    rate: BitRate,
}

/// The growth is limited to a rate from this time on.
#[derive(Clone, Copy, Debug)]
struct GrowthLimit {
    since: Instant,
    rate: BitRate,
}

/// Estimates the rate by loss.
#[derive(Clone, Debug)]
pub(super) struct LossBased {
    settings: LossSettings,
    observations: Observations,
    average_loss: f64,
    best: Option<Channel>,
    acknowledged: Option<BitRate>,
    delay_based: BitRate,
    min: BitRate,
    max: BitRate,
    state: LossState,
    rate: BitRate,
    hold: Hold,
    padding: Padding,
    growth: Option<GrowthLimit>,
}

impl LossBased {
    pub(super) fn new(settings: LossSettings, min: BitRate, max: BitRate) -> Self {
        Self {
            observations: Observations::new(&settings),
            average_loss: 0.0,
            best: None,
            acknowledged: None,
            delay_based: UNLIMITED,
            min,
            max,
            state: LossState::Delay,
            rate: BitRate(0),
            hold: Hold { until: None, duration: settings.hold, rate: UNLIMITED },
            padding: Padding::default(),
            growth: None,
            settings,
        }
    }

    /// The estimate; `None` before enough was observed.
    pub(super) fn rate(&self) -> Option<BitRate> {
        (self.best.is_some() && self.observations.count() >= self.settings.observations_min)
            .then_some(self.rate)
    }

    pub(super) const fn state(&self) -> LossState {
        self.state
    }

    pub(super) fn set_acknowledged(&mut self, rate: Option<BitRate>) {
        self.acknowledged = rate.or(self.acknowledged);
    }

    /// Takes a report, with the estimate by delay and whether the application limits the rate.
    pub(super) fn on_report(&mut self, packets: &[PacketReport], delay_based: BitRate, in_alr: bool) {
        self.delay_based = delay_based;
        if !self.observations.add(&self.settings, packets) {
            return;
        }
        let Some(now) = self.observations.last_sent() else { return };
        self.average_loss = self.observations.average_loss(&self.settings);
        if self.best.is_none() {
            if delay_based == UNLIMITED {
                return;
            }
            self.rate = delay_based;
        }
        let last =
            self.best.unwrap_or(Channel { rate: delay_based, inherent_loss: self.settings.inherent_loss });
        let best = self.limit_growth(now, &last, self.best_candidate(now, &last, in_alr));
        let bounded = best.rate.min(self.upper_bound()).min(self.delay_based).max(self.lower_bound());
        self.best = Some(if bounded < best.rate {
            Channel { rate: bounded, inherent_loss: 0.0 }
        } else {
            Channel { rate: best.rate.max(self.lower_bound()), ..best }
        });
        if self.is_held(now) && bounded < self.delay_based {
            self.hold.rate = self.hold.rate.max(self.lower_bound());
            self.rate = bounded.min(self.hold.rate);
            return;
        }
        self.update_state(now, bounded);
        self.rate = bounded;
        self.update_growth(now);
    }

    fn is_held(&self, now: Instant) -> bool {
        self.state == LossState::Decreasing && self.hold.until.is_some_and(|until| until > now)
    }

    /// The candidate with the greatest objective; of equal ones that with the higher rate.
    fn best_candidate(&self, now: Instant, last: &Channel, in_alr: bool) -> Channel {
        let limited = self.growth.filter(|_| self.state != LossState::Delay);
        let max = limited.map_or(self.max, |limit| limit.rate).max(last.rate);
        let mut best = *last;
        let mut objective_max = f64::MIN;
        for rate in self.candidates(now, last, in_alr) {
            let candidate = Channel { rate: rate.min(max), ..*last }
                .bounded(&self.settings)
                .fitted(&self.settings, &self.observations);
            let objective = candidate.objective(&self.settings, &self.observations, self.average_loss);
            if objective > objective_max || (objective == objective_max && candidate.rate > best.rate) {
                objective_max = objective;
                best = candidate;
            }
        }
        best
    }

    fn candidates(&self, now: Instant, last: &Channel, in_alr: bool) -> Vec<BitRate> {
        let factors = self.settings.candidate_factors.iter();
        let mut rates: Vec<BitRate> = factors.map(|factor| scaled(last.rate, *factor)).collect();
        // A limited application's rate says nothing about the path, unless padding fills it.
        if !in_alr || self.is_padding(now) {
            rates.extend(self.acknowledged);
        }
        if self.delay_based != UNLIMITED && self.delay_based > last.rate {
            rates.push(self.delay_based);
        }
        rates
    }

    fn is_padding(&self, now: Instant) -> bool {
        self.padding.since.is_some_and(|since| since + self.settings.padding >= now)
    }

    /// Bounds the growth of the estimate.
    fn limit_growth(&self, now: Instant, last: &Channel, mut best: Channel) -> Channel {
        if self.average_loss > best.inherent_loss && last.rate < best.rate {
            best.rate = last.rate;
        }
        if self.state == LossState::Delay {
            return best;
        }
        if let Some(limit) = self.growth
            && limit.since + self.settings.increase_window > now
        {
            best.rate = best.rate.min(limit.rate);
        }
        if let Some(acknowledged) = self.acknowledged
            && self.increases(last.rate, best.rate)
        {
            let in_hold = self.hold.rate != UNLIMITED
                && acknowledged < scaled(self.hold.rate, self.settings.hold_threshold);
            let factor = if in_hold { self.settings.ramp_up_in_hold } else { self.settings.ramp_up };
            best.rate = best.rate.min(scaled(acknowledged, factor)).max(last.rate);
            // So that the state becomes one with padding.
            if self.state == LossState::Decreasing && best.rate == last.rate {
                best.rate.0 += 1;
            }
        }
        best
    }

    /// Whether this is an increase while loss limits the estimate. An equal rate continues an increase.
    fn increases(&self, last: BitRate, next: BitRate) -> bool {
        self.state != LossState::Delay
            && (last < next || (last == next && self.state == LossState::IncreasingWithPadding))
    }

    fn update_state(&mut self, now: Instant, bounded: BitRate) {
        if bounded >= self.delay_based || bounded >= self.max {
            self.hold = Hold { until: None, duration: self.settings.hold, rate: UNLIMITED };
            self.padding = Padding::default();
            self.state = LossState::Delay;
        } else if self.increases(self.rate, bounded) && self.may_keep_increasing(now, bounded) {
            if bounded > self.padding.rate {
                self.padding = Padding { since: Some(now), rate: bounded };
            }
            self.state = LossState::IncreasingWithPadding;
        } else {
            if self.state != LossState::Decreasing {
                let duration = self.hold.duration;
                self.hold = Hold {
                    until: Some(now + duration),
                    duration: Duration::from_nanos(duration.as_nanos() * self.settings.hold_factor)
                        .min(self.settings.hold_max),
                    rate: bounded,
                };
            }
            self.padding = Padding::default();
            self.state = LossState::Decreasing;
        }
    }

    fn may_keep_increasing(&self, now: Instant, rate: BitRate) -> bool {
        self.state != LossState::IncreasingWithPadding || self.is_padding(now) || self.padding.rate < rate
    }

    fn update_growth(&mut self, now: Instant) {
        let window = self.settings.increase_window;
        let over = self.growth.is_none_or(|limit| limit.since + window < now);
        if self.state != LossState::Delay
            && over
            && let Some(best) = self.best
        {
            let rate = scaled(best.rate, self.settings.increase_factor_max).max(self.settings.rate_min);
            self.growth = Some(GrowthLimit { since: now, rate });
        }
    }

    /// The rate at which as much would be lost as is: balance / (loss - offset).
    pub(super) fn upper_bound(&self) -> BitRate {
        let excess = self.average_loss - self.settings.upper_bound_offset;
        if excess > 0.0 {
            BitRate((self.settings.upper_bound_balance.0 as f64 / excess).round() as u64)
        } else {
            self.max
        }
    }

    /// The path has carried the acknowledged rate.
    fn lower_bound(&self) -> BitRate {
        self.acknowledged.unwrap_or(BitRate(0)).max(self.min)
    }
}
