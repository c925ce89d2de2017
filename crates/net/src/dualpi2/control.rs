//! The base PI2 controller: its parameters, and the probability p'.

use airlane_core::Duration;

use super::Overload;
use crate::updates::Periodic;

/// Parameters of the controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// The target delay.
    pub target: Duration,
    /// The update period (Tupdate).
    pub update: Duration,
    /// Weight of the distance from the target, per second, for one update.
    pub alpha: f64,
    /// Weight of the change since the last update, per second.
    pub beta: f64,
}

impl Default for Gains {
    /// RFC 9332 appendix A.1 and Linux: stable up to a round-trip time of 100 ms.
    fn default() -> Self {
        Self { target: Duration::from_millis(15), update: Duration::from_millis(16), alpha: 0.16, beta: 3.2 }
    }
}

impl Gains {
    /// The parameters for a largest and a typical round-trip time, by the rule of RFC 9332 appendix A.1 as
    /// `tc` applies it: the target is the typical round-trip time, a sixth of the largest if there is none.
    ///
    /// # Panics
    /// If a round-trip time is zero.
    #[must_use]
    pub fn for_round_trips(max: Duration, typical: Option<Duration>) -> Self {
        let target = typical.unwrap_or(max / 6);
        assert!(!max.is_zero() && !target.is_zero(), "round-trip times above zero");
        let update = target.min(max / 3);
        let [max, period] = [max, update].map(Duration::as_secs_f64);
        // 0.1 Tupdate / max^2 and 0.3 / max, in a form that has no rounded decimal fraction.
        Self { target, update, alpha: period / (10.0 * max * max), beta: 3.0 / (10.0 * max) }
    }
}

/// The base probability and what follows from it, independent of any queue.
#[derive(Clone, Debug)]
pub struct Controller {
    gains: Gains,
    coupling: f64,
    /// The largest base probability.
    limit: f64,
    base: f64,
    /// The delay at the last update.
    delay: Duration,
}

impl Controller {
    /// A controller in its initial state.
    ///
    /// # Panics
    /// If the update period is zero or the coupling factor is not above zero.
    #[must_use]
    pub fn new(gains: Gains, coupling: f64, overload: Overload) -> Self {
        assert!(!gains.update.is_zero(), "an update period above zero");
        assert!(coupling > 0.0, "a coupling factor above zero");
        // Without drops, window fairness at overload needs a coupled probability of at most 1 (Linux).
        let limit = match overload {
            Overload::Drop => 1.0,
            Overload::Overflow => (1.0 / coupling).min(1.0),
        };
        Self { gains, coupling, limit, base: 0.0, delay: Duration::ZERO }
    }

    /// The base probability p'.
    #[must_use]
    pub const fn base(&self) -> f64 {
        self.base
    }

    /// The probability of classic signals, p_C = p'^2.
    #[must_use]
    pub fn classic(&self) -> f64 {
        self.base * self.base
    }

    /// The coupled probability of marks, p_CL = k p', at most 1.
    #[must_use]
    pub fn coupled(&self) -> f64 {
        (self.coupling * self.base).min(1.0)
    }

    /// True if marks alone cannot control the L queue any more: k p' is above 1.
    #[must_use]
    pub fn is_overloaded(&self) -> bool {
        self.coupling * self.base > 1.0
    }

    /// Ends an update period at whose end the queue's delay is `delay` (RFC 9332 appendix A.1,
    /// `dualpi2_update`).
    pub fn update(&mut self, delay: Duration) {
        let Gains { target, alpha, beta, .. } = self.gains;
        let before = core::mem::replace(&mut self.delay, delay);
        let [delay, before, target] = [delay, before, target].map(Duration::as_secs_f64);
        let step = alpha * (delay - target) + beta * (delay - before);
        self.base = (self.base + step).clamp(0.0, self.limit);
    }
}

impl Periodic for Controller {
    fn end_period(&mut self, delay: Duration) {
        self.update(delay);
    }

    fn is_at_rest(&self) -> bool {
        self.base == 0.0 && self.delay.is_zero()
    }
}
