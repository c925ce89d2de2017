//! The constants of the estimate by loss, read as those of `settings.rs`.

use airlane_core::{BitRate, Duration};

/// The estimate by loss, version 2: `loss_based_bwe_v2.cc`. Loss is counted in bytes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LossSettings {
    /// The least duration of an observation, in the time of sending.
    pub(super) observation_min: Duration,
    /// The number of observations that count.
    pub(super) window: usize,
    /// The number of observations before the first estimate.
    pub(super) observations_min: u64,
    /// The candidates for the next estimate, as multiples of the last.
    pub(super) candidate_factors: Vec<f64>,
    /// The weight of an observation relative to the next.
    pub(super) temporal_weight: f64,
    /// The same for the average of the loss.
    pub(super) average_weight: f64,
    /// The preference for a higher rate, per kbit/s,
    pub(super) bias: f64,
    /// and per natural logarithm of a rate in kbit/s.
    pub(super) log_bias: f64,
    /// Above this loss the preference is for lower rates.
    pub(super) bias_loss: f64,
    /// How smoothly the preference changes there.
    pub(super) bias_smoothing: f64,
    /// The first estimate of the inherent loss, which does not depend on the rate.
    pub(super) inherent_loss: f64,
    /// The least inherent loss.
    pub(super) inherent_loss_min: f64,
    /// The greatest inherent loss is this
    pub(super) inherent_loss_offset: f64,
    /// plus this rate divided by the estimate.
    pub(super) inherent_loss_balance: BitRate,
    /// The steps of Newton's method for the inherent loss.
    pub(super) newton_iterations: u32,
    /// Their size.
    pub(super) newton_step: f64,
    /// The upper bound of the estimate is this rate
    pub(super) upper_bound_balance: BitRate,
    /// divided by the excess of the average loss over this.
    pub(super) upper_bound_offset: f64,
    /// The factor by which the estimate may grow
    pub(super) increase_factor_max: f64,
    /// in this time.
    pub(super) increase_window: Duration,
    /// The estimate does not grow beyond this multiple of the acknowledged rate,
    pub(super) ramp_up: f64,
    /// or this, as long as the acknowledged rate
    pub(super) ramp_up_in_hold: f64,
    /// is below this multiple of the rate of the last hold.
    pub(super) hold_threshold: f64,
    /// How long the rate is held after the first decrease.
    pub(super) hold: Duration,
    /// The factor of that time with each further one.
    pub(super) hold_factor: u64,
    /// The longest such time.
    pub(super) hold_max: Duration,
    /// How long padding may be sent to raise the estimate.
    pub(super) padding: Duration,
    /// The observation with the greatest loss is not removed from the average if it was sent at this multiple of the median
    /// rate.
    pub(super) median_factor: f64,
    /// The least rate of all: `modules/remote_bitrate_estimator/include/bwe_defines.h`.
    pub(super) rate_min: BitRate,
}

impl Default for LossSettings {
    fn default() -> Self {
        Self {
            observation_min: Duration::from_millis(250),
            window: 15,
            observations_min: 3,
            candidate_factors: vec![1.02, 1.0, 0.95],
            temporal_weight: 0.9,
            average_weight: 0.9,
            bias: 0.0002,
            log_bias: 0.02,
            bias_loss: 0.2,
            bias_smoothing: 0.002,
            inherent_loss: 0.01,
            inherent_loss_min: 1e-3,
            inherent_loss_offset: 0.05,
            inherent_loss_balance: BitRate(100_000),
            newton_iterations: 1,
            newton_step: 0.75,
            upper_bound_balance: BitRate(100_000),
            upper_bound_offset: 0.05,
            increase_factor_max: 1.3,
            increase_window: Duration::from_millis(300),
            ramp_up: 1.5,
            ramp_up_in_hold: 1.2,
            hold_threshold: 1.3,
            hold: Duration::from_millis(300),
            hold_factor: 2,
            hold_max: Duration::from_secs(60),
            padding: Duration::from_secs(2),
            median_factor: 2.0,
            rate_min: BitRate(5_000),
        }
    }
}
