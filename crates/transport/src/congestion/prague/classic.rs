//! Detection of a classic bottleneck: a queue that marks packets with ECT(1) as classic ones.
//!
//! The sources are the function `prague_classic_ecn_detection` of L4STeam/linux (02573a215581, `tcp_prague.c`), its
//! estimator of the round-trip time and its response `prague_classic_ecn_fallback`. They follow Briscoe and Ahmed, "TCP
//! Prague Fall-back on Detection of a Classic ECN AQM" (arXiv 1911.00710), of which only the abstract could be opened:
//! an L4S queue and a classic one differ above all in the variation of the delay.
//!
//! Differences: the logarithm is exact, where Linux carries the remainder of a whole one, and the minimum round-trip
//! time is that of the whole connection (of 300 s in Linux). Linux without the `PRAGUE_ALPHA_BITS` of 20 that its
//! references of delay assume (the branch of 5.15.72) classifies every queue as classic: Greenscreen23,
//! `prague-fallback-experiments`, `linux.diff`.

use airlane_core::Duration;

/// References of the mean deviation and of the depth, in microseconds (`V0_LG`, `D0_LG`).
const DEVIATION_US: f64 = 750.0;
const DEPTH_US: f64 = 2_000.0;
/// Increase of the score for a doubling of the deviation, or of the depth (`V`, `D`).
const WEIGHT: f64 = 0.5;
/// Up to the first score, the response is that of L4S, above the second that of a classic sender. The score is at most
/// the third (`L_STICKY`, `CLASSIC_ECN`, `C_STICKY`).
const SCALABLE: f64 = 8.0;
const CLASSIC: f64 = 9.0;
const SCORE_MAX: f64 = 17.0;
/// The share of marks that a classic response assumes: the window is reduced by half of this (1/2 + 1/8).
const CLASSIC_SHARE: f64 = 0.625;
/// Smallest gain of the average round-trip time, as a negative power of two (`PRAGUE_MAX_SRTT_BITS`).
const GAIN_BITS_MAX: u32 = 18;
/// First mean deviation.
const DEVIATION_FIRST_US: f64 = 1.0;

/// The state of the detection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClassicBottleneck {
    mean_us: Option<f64>,
    deviation_us: f64,
    min_us: f64,
    gain: f64,
    score: f64,
}

impl ClassicBottleneck {
    pub(super) fn new() -> Self {
        Self {
            mean_us: None,
            deviation_us: DEVIATION_FIRST_US,
            min_us: f64::INFINITY,
            gain: gain(u32::MAX),
            score: 0.0,
        }
    }

    /// A round trip was measured.
    pub(super) fn on_rtt(&mut self, rtt: Duration) {
        let rtt_us = rtt.as_secs_f64() * 1e6;
        self.min_us = self.min_us.min(rtt_us);
        let Some(mean_us) = &mut self.mean_us else {
            self.mean_us = Some(rtt_us);
            return;
        };
        let error = rtt_us - *mean_us;
        *mean_us += error * self.gain;
        self.deviation_us += (error.abs() - self.deviation_us) * self.gain / 2.0;
    }

    /// The window is reduced, and the threshold before was this: the averages extend over a few cycles of the window,
    /// which are longer the larger it is.
    pub(super) fn on_reduction(&mut self, ssthresh: u32) {
        self.gain = gain(ssthresh);
    }

    /// The average of marks was updated.
    pub(super) fn on_round(&mut self) {
        let Some(mean_us) = self.mean_us else { return };
        self.score += WEIGHT * libm::log2(self.deviation_us.max(DEVIATION_FIRST_US) / DEVIATION_US);
        let depth_us = mean_us - self.min_us;
        if depth_us > DEPTH_US {
            self.score += WEIGHT * libm::log2(depth_us / DEPTH_US);
        }
        self.score = self.score.clamp(0.0, SCORE_MAX);
    }

    /// The share of marks to respond to at least: none at an L4S queue.
    pub(super) fn least_share(&self) -> f64 {
        CLASSIC_SHARE * (self.score.min(CLASSIC) - SCALABLE).max(0.0) / (CLASSIC - SCALABLE)
    }
}

/// The gain that belongs to a threshold: 2^-(b + b/2 + 1), where 2^b is the threshold.
fn gain(ssthresh: u32) -> f64 {
    let bits = ssthresh.max(1).ilog2();
    1.0 / f64::from(1_u32 << (bits + bits / 2 + 1).min(GAIN_BITS_MAX))
}

#[cfg(test)]
mod tests;
