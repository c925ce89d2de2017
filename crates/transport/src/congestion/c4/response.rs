//! The response of C4 to signs of congestion.

use super::signals::{loss_threshold, mark_threshold_1024, scaled, sensitivity_1024};
use super::{C4, CRUISE, RECOVER, RECOVER_AGAIN, State};

/// C4_BETA_LOSS_1024: the largest reduction.
const BETA_MAX_1024: u64 = 256;
/// C4_NB_PACKETS_BEFORE_LOSS.
const PACKETS_BEFORE_LOSS: u64 = 20;

/// A sign of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Delay,
    Marks,
    Loss,
}

impl C4 {
    /// The reduction for a signal, in 1/1024.
    fn beta(&self, signal: Signal) -> u64 {
        let over = |excess: u64, threshold: u64| (excess * 1024 / threshold.max(1)).min(BETA_MAX_1024);
        match signal {
            Signal::Loss => u64::midpoint(BETA_MAX_1024, scaled(sensitivity_1024(self.rate), BETA_MAX_1024)),
            Signal::Delay => over(self.delay_excess, self.delay_threshold),
            Signal::Marks => {
                let threshold = mark_threshold_1024(self.rate);
                over(self.marks.clone().update().saturating_sub(threshold), threshold)
            }
        }
    }

    /// The response to a sign (`c4_notify_congestion`). In Probing and Pushing the rate is not reduced: recovery follows, and
    /// evaluates the growth at its end.
    fn notify(&mut self, signal: Signal) {
        self.notified = true;
        let beta = self.beta(signal);
        if signal != Signal::Delay {
            self.delay_excess = 0;
        }
        if self.state == State::Recovery {
            if self.alpha == RECOVER {
                self.alpha = RECOVER_AGAIN;
                self.era_delivered = self.delivered; // recovery lasts longer
            }
            self.marked_after_push |= signal == Signal::Marks;
            return;
        }
        if !matches!(self.state, State::Probing | State::Pushing) {
            self.rate -= scaled(beta, self.rate);
            if signal == Signal::Loss {
                self.set_max_rtt(self.max_rtt - scaled(beta, self.max_rtt));
            }
        }
        self.enter_recovery(signal == Signal::Marks);
    }

    /// An increased round trip (`c4_initial_handle_rtt_excess`, `c4_handle_rtt_excess`).
    pub(super) fn judge_delay(&mut self) {
        if self.delay_excess == 0 {
            return;
        }
        if self.state != State::Initial {
            if self.alpha_before > CRUISE {
                self.notify(Signal::Delay);
            }
        } else if self.flat_eras > 1 && self.rate_before >= self.rate {
            self.exit_initial();
        }
    }

    /// Marks are reported: a sign where their average share is above the threshold.
    pub(super) fn judge_marks(&mut self) {
        if self.marks.update() <= mark_threshold_1024(self.rate) {
            return;
        }
        if self.state == State::Initial {
            self.judge_delay();
        } else {
            self.notify(Signal::Marks);
        }
    }

    /// A segment is lost (`c4_loss_threshold`): a sign where the smoothed share of lost segments is above the threshold.
    /// Returns whether it is one.
    pub(super) fn judge_loss(&mut self, number: u64) -> bool {
        if self.losses.on_lost(number) <= loss_threshold(self.rate) {
            return false;
        }
        if self.state == State::Initial {
            self.startup_packets += 1;
            if self.startup_packets > PACKETS_BEFORE_LOSS {
                self.exit_initial();
            }
        } else {
            self.notify(Signal::Loss);
        }
        true
    }
}
