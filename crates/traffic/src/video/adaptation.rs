//! The choice of the bitrate by a DASH player: by throughput, or by the buffer.
//!
//! [`Rule::Rate`] takes the highest bitrate below the throughput of the last segments, reduced by a margin as
//! in dash.js (its `bandwidthSafetyFactor`). The throughput is their harmonic mean, as in FESTIVE, because a
//! single fast segment has little effect on it (Jiang, Sekar and Zhang, CoNEXT 2012, §4.2).
//!
//! [`Rule::Bola`] uses only the buffer: BOLA-BASIC of Spiteri, Urgaonkar and Sitaraman, "BOLA: Near-Optimal
//! Bitrate Adaptation for Online Videos", IEEE/ACM ToN 28(4), 2020 (INFOCOM 2016). With Q segments in the
//! buffer it takes the bitrate m that maximizes (V υ_m + V γp - Q) / S_m (§IV, equations 10 and 11), where
//! S_m is the size of a segment and υ_m = ln(S_m / S_1) (§IV-A), and requests nothing while Q > V (υ_M + γp)
//! (§V).
//!
//! Differences to dash.js: it derives V and γp from the level at which to leave the lowest bitrate and the
//! level at which to reach the highest, as [`BolaParameters::from_levels`] does (its levels are 10 s and its
//! stable buffer time, and its equations differ slightly: V (υ_1 + γp - 1) and V (υ_M + γp - 1)). It starts
//! by throughput, with a placeholder added to the buffer, and it aborts slow segments. These are not included
//! here, and neither are the paper's variants BOLA-FINITE, -O and -U (§V-D, §V-E).

use std::sync::Arc;

use airlane_core::{BitRate, Bytes, Duration};

/// Maximum number of segments whose throughput a rule by rate stores.
const SAMPLES_MAX: usize = 32;

/// A rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Rule {
    /// By throughput.
    Rate {
        /// The share of the throughput that a bitrate may use.
        safety: f64,
        /// Number of segments whose throughput counts, at most 32.
        samples: u8,
    },
    /// By the buffer.
    Bola(BolaParameters),
}

/// V and γp of BOLA, both in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BolaParameters {
    /// The weight of utility in segments of buffer.
    pub v: f64,
    /// The weight of avoiding stalls.
    pub gamma_p: f64,
}

/// Utilities of bitrates in ascending order: υ_m = ln(S_m / S_1).
fn utility(bitrates: &[BitRate], index: usize) -> f64 {
    libm::log(bits(bitrates[index]) / bits(bitrates[0]))
}

fn bits(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64
}

impl BolaParameters {
    /// For a buffer of this many segments, with this γp: V = (Q_max - 1) / (υ_M + γp) (§IV-B).
    #[must_use]
    pub fn from_gamma(bitrates: &[BitRate], gamma_p: f64, buffer: f64) -> Self {
        let highest = utility(bitrates, bitrates.len() - 1);
        Self { v: (buffer - 1.0) / (highest + gamma_p), gamma_p }
    }

    /// For a buffer of this many segments, such that the lowest bitrate is left at `low` segments: the
    /// solution of equations 13 and 14 (§VI-B), V (υ_M + γp) = Q and V (γp - α) = Q_low with α = (S_1 υ_2 -
    /// S_2 υ_1) / (S_2 - S_1), where Q leaves room for the segment that is being fetched. With a single
    /// bitrate there is no such level, and γp is 5 as in the paper's evaluation.
    #[must_use]
    pub fn from_levels(bitrates: &[BitRate], low: f64, buffer: f64) -> Self {
        let [first, second, ..] = bitrates else { return Self::from_gamma(bitrates, 5.0, buffer) };
        let alpha = bits(*first) * utility(bitrates, 1) / (bits(*second) - bits(*first)); // υ_1 = 0
        let v = (buffer - 1.0 - low) / (utility(bitrates, bitrates.len() - 1) + alpha);
        Self { v, gamma_p: low / v + alpha }
    }
}

/// The state of a rule for a video.
#[derive(Clone, Debug)]
pub struct Adaptation {
    rule: Rule,
    /// In ascending order.
    bitrates: Arc<[BitRate]>,
    utilities: Vec<f64>,
    segment: Duration,
    /// Seconds per bit of the last segments; the oldest is overwritten first.
    seconds_per_bit: [f64; SAMPLES_MAX],
    measured: usize,
}

impl Adaptation {
    /// A rule for a video with these bitrates, in ascending order, and this segment length.
    ///
    /// # Panics
    /// Without bitrates, or if they do not ascend.
    #[must_use]
    pub fn new(rule: Rule, bitrates: Arc<[BitRate]>, segment: Duration) -> Self {
        assert!(!bitrates.is_empty() && bitrates.is_sorted_by(|a, b| a < b), "bitrates ascend");
        let utilities = (0..bitrates.len()).map(|index| utility(&bitrates, index)).collect();
        Self { rule, bitrates, utilities, segment, seconds_per_bit: [0.0; SAMPLES_MAX], measured: 0 }
    }

    /// A segment of this many bytes took this time, from its request on.
    pub fn measure(&mut self, bytes: Bytes, took: Duration) {
        let Rule::Rate { samples, .. } = self.rule else { return };
        let place = self.measured % usize::from(samples).clamp(1, SAMPLES_MAX);
        self.seconds_per_bit[place] = took.as_secs_f64() / (8 * bytes.get()) as f64;
        self.measured += 1;
    }

    /// The bitrate for the next segment, with this level of the buffer.
    #[must_use]
    pub fn choose(&self, level: Duration) -> BitRate {
        let index = match self.rule {
            Rule::Rate { safety, samples } => {
                self.below_throughput(safety, usize::from(samples).clamp(1, SAMPLES_MAX))
            }
            Rule::Bola(parameters) => self.best_score(&parameters, level),
        };
        self.bitrates[index]
    }

    /// The highest below the harmonic mean of the last throughputs; the lowest before the first
    /// measurement.
    fn below_throughput(&self, safety: f64, samples: usize) -> usize {
        let count = self.measured.min(samples);
        if count == 0 {
            return 0;
        }
        let sum: f64 = self.seconds_per_bit[..count].iter().sum();
        let within = |rate: &BitRate| bits(*rate) * sum <= safety * count as f64;
        self.bitrates.iter().rposition(within).unwrap_or(0)
    }

    /// The index of the maximum score; among equal scores the index of the higher bitrate. Bitrates replace sizes,
    /// since they differ only by the constant segment length.
    fn best_score(&self, BolaParameters { v, gamma_p }: &BolaParameters, level: Duration) -> usize {
        let q = level.as_nanos() as f64 / self.segment.as_nanos() as f64;
        let score = |index: usize| (v * (self.utilities[index] + gamma_p) - q) / bits(self.bitrates[index]);
        let mut best = (0, score(0));
        for index in 1..self.bitrates.len() {
            let score = score(index);
            if score >= best.1 {
                best = (index, score);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests;
