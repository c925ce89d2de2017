//! How well a rate and an inherent loss explain the observed loss.
//!
//! The model of libwebrtc f3ae3eb, `loss_based_bwe_v2.cc`: a byte is lost with the inherent probability, and what is sent above
//! the rate is lost, too. The objective is the logarithm of the likelihood with a preference for higher rates.

use airlane_core::{BitRate, Bytes};

use super::loss_observations::{Observation, Observations};
use super::loss_settings::LossSettings;
use super::rate::{UNLIMITED, kilobits};

/// A candidate for the estimate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Channel {
    /// The rate above which bytes are lost.
    pub(super) rate: BitRate,
    /// The loss below it.
    pub(super) inherent_loss: f64,
}

impl Channel {
    /// The inherent loss within its bounds, which are narrow for high rates.
    pub(super) fn bounded(self, settings: &LossSettings) -> Self {
        let balance = settings.inherent_loss_balance.0 as f64 / self.rate.0 as f64;
        let upper = (settings.inherent_loss_offset + balance).min(1.0);
        Self { inherent_loss: self.inherent_loss.max(settings.inherent_loss_min).min(upper), ..self }
    }

    /// With the inherent loss that fits the observations better: steps of Newton's method.
    pub(super) fn fitted(mut self, settings: &LossSettings, observations: &Observations) -> Self {
        for _ in 0..settings.newton_iterations {
            let (mut first, mut second) = (0.0, 0.0);
            for (weight, one) in observations.weighted() {
                let p = self.loss(one);
                let (lost, received) = (kilobytes(one.lost), kilobytes(one.size.saturating_sub(one.lost)));
                first += weight * (lost / p - received / (1.0 - p));
                second -= weight * (lost / (p * p) + received / ((1.0 - p) * (1.0 - p)));
            }
            // It is negative unless nothing was observed.
            let second = if second < 0.0 { second } else { -1e-6 };
            self.inherent_loss -= settings.newton_step * first / second;
            self = self.bounded(settings);
        }
        self
    }

    /// The objective, which the best candidate maximises.
    pub(super) fn objective(
        &self,
        settings: &LossSettings,
        observations: &Observations,
        average_loss: f64,
    ) -> f64 {
        let bias = self.bias(settings, average_loss);
        let mut objective = 0.0;
        for (weight, one) in observations.weighted() {
            let p = self.loss(one);
            let (lost, received) = (kilobytes(one.lost), kilobytes(one.size.saturating_sub(one.lost)));
            objective += weight * (lost * libm::log(p) + received * libm::log(1.0 - p));
            objective += weight * bias * kilobytes(one.size);
        }
        objective
    }

    /// The probability that a byte of this observation is lost.
    fn loss(&self, one: &Observation) -> f64 {
        let inherent = self.inherent_loss.clamp(0.0, 1.0);
        let excess = if one.rate > self.rate && self.rate != UNLIMITED {
            (one.rate.0 - self.rate.0) as f64 / one.rate.0 as f64
        } else {
            0.0
        };
        (inherent + (1.0 - inherent) * excess).clamp(1e-6, 1.0 - 1e-6)
    }

    /// The preference for this rate, per kB; negative at a high loss.
    fn bias(&self, settings: &LossSettings, average_loss: f64) -> f64 {
        if self.rate == UNLIMITED {
            return 0.0;
        }
        let excess = settings.bias_loss - average_loss;
        let adjusted = |bias: f64| bias * excess / (settings.bias_smoothing + excess.abs());
        adjusted(settings.bias) * kilobits(self.rate)
            + adjusted(settings.log_bias) * libm::log(1.0 + kilobits(self.rate))
    }
}

fn kilobytes(size: Bytes) -> f64 {
    size.0 as f64 / 1_000.0
}
