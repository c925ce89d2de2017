//! The utility of a monitor interval: more rate is better, a growing round trip and losses are worse.

use std::collections::VecDeque;

use super::intervals::{MonitorInterval, RttSample};

/// Exponent of the rate (`kSendingRateExponent`; t in the paper).
const RATE_EXPONENT: f64 = 0.9;
/// Coefficient of the round trip's gradient (`kLatencyCoefficient`; b).
const LATENCY: f64 = 900.0;
/// Coefficient of the share of lost packets (`kVivaceLossCoefficient`; c).
const LOSS: f64 = 11.35;
/// A change of the round trip in an interval below which it has no effect while the rate doubles, in microseconds
/// (`CalculateUtilityProportional`).
const STARTING_TOLERANCE_US: f64 = 1_000.0;
/// Intervals of the trend (`kRttHistoryLen`).
const TREND_INTERVALS: usize = 6;
/// Gain of the mean trend (`kAlpha`), a factor between trends of different orders (`kBeta`), and the deviations that are
/// tolerated (`kInflationToleranceGainHigh` and `kInflationToleranceGainLow`, which are equal).
const TREND_GAIN: f64 = 0.1;
const TREND_ORDER: f64 = 100.0;
const TREND_DEVIATIONS: f64 = 2.0;
/// The trend, in microseconds per interval, below which the least one counts as unset (`DetermineToleranceInflation`).
const TREND_LEAST: f64 = 1e-6;

/// The utility at a rate in Mbit/s, a gradient of the round trip in seconds per second, and a share of lost packets.
pub(super) fn utility(rate_mbps: f64, gradient: f64, loss: f64) -> f64 {
    let penalty = LATENCY * gradient.max(0.0) + LOSS * loss;
    libm::pow(rate_mbps, RATE_EXPONENT) - penalty * rate_mbps
}

/// Round trips of an interval as a line over the packets.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Slope in microseconds per microsecond in which packets are sent.
    gradient: f64,
    /// Mean in microseconds.
    mean: f64,
    /// Deviation over the mean round trip.
    error: f64,
}

impl Line {
    /// The least-squares line; `gap_us` is the time of a packet at the interval's rate.
    ///
    /// The deviation is from a line whose slope by time is applied to numbers of packets, as in `ComputeRttGradientError`.
    /// At more than a few microseconds per packet this is nearly the deviation from the mean.
    fn fit(samples: &[RttSample], gap_us: f64) -> Self {
        let reliable = || samples.iter().filter(|sample| sample.reliable);
        let count = reliable().count() as f64;
        if count < 2.0 {
            return Self::default();
        }
        let place = |sample: &RttSample| sample.place as f64;
        let place_mean = reliable().map(place).sum::<f64>() / count;
        let mean = reliable().map(|sample| sample.rtt_us).sum::<f64>() / count;
        let (mut squares, mut products) = (0.0, 0.0);
        for sample in reliable() {
            let from_mean = place(sample) - place_mean;
            squares += from_mean * from_mean;
            products += from_mean * (sample.rtt_us - mean);
        }
        if squares <= 0.0 {
            return Self { mean, ..Self::default() };
        }
        let gradient = products / squares / gap_us;
        let deviation = |sample: &RttSample| sample.rtt_us - mean - gradient * (place(sample) - place_mean);
        let variance = reliable().map(deviation).map(|d| d * d).sum::<f64>() / count;
        Self { gradient, mean, error: libm::sqrt(variance) / mean }
    }
}

/// The trend of the round trip over intervals, which shows a slow growth that is below the noise in each of them
/// (`DetermineToleranceInflation`).
#[derive(Clone, Debug, Default)]
struct Trend {
    /// Mean round trips of the last intervals in microseconds.
    means: VecDeque<f64>,
    mean: f64,
    deviation: f64,
    /// Zero before the first.
    least: f64,
    last: f64,
}

impl Trend {
    /// True if the round trip grows more than its trend did so far.
    fn grows(&mut self, mean_us: f64) -> bool {
        self.means.push_back(mean_us);
        if self.means.len() > TREND_INTERVALS {
            self.means.pop_front();
        }
        self.means.len() == TREND_INTERVALS && self.is_exceeded_by(self.slope())
    }

    /// The least-squares slope in microseconds per interval.
    fn slope(&self) -> f64 {
        let middle = (self.means.len() - 1) as f64 / 2.0;
        let mean = self.means.iter().sum::<f64>() / self.means.len() as f64;
        let (mut squares, mut products) = (0.0, 0.0);
        for (place, value) in self.means.iter().enumerate() {
            let from_middle = place as f64 - middle;
            squares += from_middle * from_middle;
            products += from_middle * (value - mean);
        }
        products / squares
    }

    fn is_exceeded_by(&mut self, slope: f64) -> bool {
        if self.least < TREND_LEAST || slope.abs() < self.least / TREND_ORDER {
            (self.mean, self.least, self.deviation, self.last) = (0.0, slope.abs(), slope.abs(), slope);
            return false;
        }
        let outside = (slope - self.mean).abs() > TREND_DEVIATIONS * self.deviation;
        if !outside {
            let change = (slope - self.last).abs();
            self.deviation += TREND_GAIN * (change - self.deviation);
            self.mean += TREND_GAIN * (slope - self.mean);
            self.last = slope;
        }
        self.least = self.least.min(slope.abs());
        outside && slope > 0.0
    }
}

/// The utility function of a connection, with the filters of its round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct UtilityFunction {
    trend: Trend,
}

impl UtilityFunction {
    /// The utility of an interval whose packets have this size in bytes; `starting` while the rate doubles.
    pub(super) fn of(&mut self, interval: &MonitorInterval, packet_bytes: f64, starting: bool) -> f64 {
        let gap_us = packet_bytes * 8e6 / interval.rate;
        let duration_us = interval.duration().as_secs_f64() * 1e6 + gap_us;
        let line = Line::fit(&interval.samples, gap_us);
        let is_noise = line.error >= line.gradient.abs();
        let grows = interval.reliable > 1 && self.trend.grows(line.mean);
        let small = starting && line.gradient.abs() < STARTING_TOLERANCE_US / duration_us;
        let gradient = if (is_noise && !grows) || small { 0.0 } else { line.gradient };
        utility(interval.bytes as f64 * 8.0 / duration_us, gradient, interval.loss())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of the shared file, whose head names its source.
    #[test]
    fn utilities_are_those_of_the_formula() {
        let text = include_str!("../../../../../python/airlane/data/field/vivace_utility.csv");
        let mut rows = 0;
        for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
            let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
            let [rate, gradient, loss, expected] = cells[..] else { panic!("{line}") };
            let value = utility(rate, gradient, loss);
            assert!((value - expected).abs() < 1e-4, "{line}: {value}");
            rows += 1;
        }
        assert_eq!(rows, 20);
    }

    fn samples(rtts_us: &[f64]) -> Vec<RttSample> {
        let sample = |(place, rtt_us): (usize, &f64)| RttSample {
            place: place as u64,
            rtt_us: *rtt_us,
            reliable: true,
        };
        rtts_us.iter().enumerate().map(sample).collect()
    }

    /// Round trips of 100, 101, 102 and 103 ms of packets that are sent each 10 ms: 1 ms in 10 ms. The mean is 101.5 ms.
    /// The line of the deviation rises by 0.1 us per packet, which leaves 1499.85, 499.95, 499.95 and 1499.85 us, in
    /// squares 1,249,750 us^2 on average: 1117.92 us over 101.5 ms are 0.011014.
    #[test]
    fn a_line_through_growing_round_trips() {
        let line = Line::fit(&samples(&[100e3, 101e3, 102e3, 103e3]), 10e3);
        assert!((line.gradient - 0.1).abs() < 1e-9);
        assert!((line.mean - 101.5e3).abs() < 1e-6);
        assert!((line.error - 0.011_014).abs() < 1e-6, "{}", line.error);
    }

    /// The first, third and fifth packet rise by 2 ms per two packets; the others are of a burst of acknowledgments.
    #[test]
    fn unreliable_samples_do_not_count() {
        let mut of_burst = samples(&[100e3, 190e3, 102e3, 190e3, 104e3]);
        of_burst[1].reliable = false;
        of_burst[3].reliable = false;
        let line = Line::fit(&of_burst, 10e3);
        assert!((line.gradient - 0.1).abs() < 1e-9);
        of_burst.truncate(2);
        assert!(Line::fit(&of_burst, 10e3).gradient.abs() < 1e-9); // one sample is no line
    }

    /// Means that rise by 10 us per interval: the first trend sets mean 0 and deviation 10. A trend of 10 is within two
    /// deviations. Then the means rise by 1 ms per interval: at the third of them the slope of the last six is
    /// (-2.5 x 0 - 1.5 x 10 - 0.5 x 20 + 0.5 x 1020 + 1.5 x 2020 + 2.5 x 3020) / 17.5 = 632 us per interval.
    #[test]
    fn a_trend_that_exceeds_those_before_it() {
        let mut trend = Trend::default();
        for interval in 0..8 {
            assert!(!trend.grows(100e3 + 10.0 * f64::from(interval)), "{interval}");
        }
        assert!(trend.grows(101_070.0));
        assert!(trend.grows(102_070.0));
        // A fall is outside of the band, too, and no growth.
        let falls: Vec<bool> = (0..6).map(|i| trend.grows(90e3 - 1e3 * f64::from(i))).collect();
        assert_eq!(falls[3..], [false; 3]);
    }
}
