//! The tables of the forecaster, which are computed once: the motion of a rate in a tick, the likelihood of a count at a
//! rate, and the number of packets that arrive within some ticks that begin at a rate.
//!
//! Bins of rates, their edges and the cut of the Brownian motion are those of `process.cc` and `sampledfunction.cc`, counts
//! those of `processforecaster.cc`, of the code that the head of the module names.

use std::sync::OnceLock;

use super::{TICK, TICKS};

/// Bins of rates: 256 from 0 to 1000 packets/s (`receiver.hh`, `NUM_BINS`, `MAX_ARRIVAL_RATE`), and one above them
/// (`sampledfunction.cc`).
pub(super) const BINS: usize = 257;
/// Width of a bin, in packets/s.
const WIDTH: f64 = 1000.0 / 256.0;
/// A tick, in seconds.
const TICK_S: f64 = TICK.as_nanos() as f64 / 1e9;
/// Standard deviation of the rate after one second, in packets/s (`receiver.hh`, `BROWNIAN_MOTION_RATE`).
const MOTION: f64 = 200.0;
/// Events per second that end an outage, a rate of 0 (`receiver.hh`, `OUTAGE_ESCAPE_RATE`).
const ESCAPE: f64 = 1.0;
/// Standard deviations at which the motion in a tick is cut (`process.cc`).
const CUT: f64 = 5.0;
/// The Gaussian is a table in these steps, in packets/s, with the value of the middle of a step (`process.cc`: 128 steps a
/// bin from -1000 to 1000).
const STEP: f64 = 2000.0 / 32768.0;
/// Counts of a forecast are below this in each tick (`receiver.hh`, `MAX_ARRIVALS_PER_TICK`).
const FORECAST_LIMIT: usize = 30;
/// Largest number of packets in a tick; more count as this number. A choice: six times what the highest rate delivers,
/// after which only the highest bins are likely.
pub(super) const COUNT_MAX: usize = 128;

/// A number for each bin.
pub(super) type Bins = [f64; BINS];

/// The tables.
#[derive(Debug)]
pub(super) struct Model {
    motion: Motion,
    /// For each count, the likelihood of each rate, relative to that of the likeliest.
    likelihood: Vec<Bins>,
    /// For each number of ticks, the probability of each number of packets or fewer within them, by the bin in which they
    /// begin.
    at_most: Vec<Vec<Bins>>,
}

impl Model {
    /// The tables of all flows, which the first one computes.
    pub(super) fn get() -> &'static Self {
        static MODEL: OnceLock<Model> = OnceLock::new();
        MODEL.get_or_init(Self::new)
    }

    fn new() -> Self {
        let motion = Motion::new();
        let likelihood = (0..=COUNT_MAX).map(likelihood).collect();
        let at_most = at_most(&motion);
        Self { motion, likelihood, at_most }
    }

    /// Moves a distribution on by a tick.
    pub(super) fn evolve(&self, mass: &Bins) -> Bins {
        self.motion.evolve(mass)
    }

    /// The likelihood of each rate if `count` packets arrived in a tick.
    pub(super) fn likelihood(&self, count: usize) -> &Bins {
        &self.likelihood[count.min(COUNT_MAX)]
    }

    /// The largest count of a forecast for `tick + 1` ticks.
    pub(super) fn count_max(&self, tick: usize) -> usize {
        self.at_most[tick].len() - 1
    }

    /// The probability of at most `count` packets within `tick + 1` ticks, if the rate has this distribution.
    pub(super) fn at_most(&self, tick: usize, count: usize, mass: &Bins) -> f64 {
        dot(mass, &self.at_most[tick][count])
    }
}

/// The packets that a rate in the middle of a bin delivers in a tick. The first bin means a rate of exactly 0.
fn mean(bin: usize) -> f64 {
    if bin == 0 { 0.0 } else { (bin as f64 + 0.5) * WIDTH * TICK_S }
}

/// The sum of the products, in a fixed order that a compiler can compute side by side.
fn dot(one: &Bins, other: &Bins) -> f64 {
    const LANES: usize = 8;
    let mut sums = [0.0; LANES];
    let (ones, others) = (one.chunks_exact(LANES), other.chunks_exact(LANES));
    let rest: f64 = ones.remainder().iter().zip(others.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in ones.zip(others) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Makes the sum 1.
pub(super) fn normalise(mass: &mut Bins) {
    let sum: f64 = mass.iter().sum();
    mass.iter_mut().for_each(|one| *one /= sum);
}

/// The relative likelihoods of a count, a Poisson variable of the rate. In the first bin, a count above 0 is impossible.
fn likelihood(count: usize) -> Bins {
    let log = |bin: usize| match (bin, count) {
        (0, 0) => 0.0,
        (0, _) => f64::NEG_INFINITY,
        _ => count as f64 * libm::log(mean(bin)) - mean(bin),
    };
    let best = (0..BINS).map(log).fold(f64::NEG_INFINITY, f64::max);
    core::array::from_fn(|bin| libm::exp(log(bin) - best))
}

/// The Brownian motion of a tick. Which share of a bin moves to another depends on their distance alone, with two
/// exceptions: the first and the last bin also take the shares of all rates beyond them, and the first, an outage, has
/// shares of its own.
#[derive(Debug)]
struct Motion {
    /// Bins below and above that a rate can reach.
    reach: [usize; 2],
    /// Shares by distance, from the lowest on.
    by_distance: Vec<f64>,
    /// Shares that move to the first bin, by the bin from which, and to the last, by the distance from it.
    to_first: Vec<f64>,
    to_last: Vec<f64>,
    /// Shares of the first bin, an outage, by the bin to which they move.
    from_first: Vec<f64>,
}

impl Motion {
    fn new() -> Self {
        let deviation = MOTION * libm::sqrt(TICK_S);
        // The table has the value half a step above the value that it is asked for, which is an edge of a step.
        let below = |distance: f64| {
            let x = (distance + STEP / 2.0) / deviation;
            libm::erfc(-x / core::f64::consts::SQRT_2) / 2.0
        };
        let edge = |bins: f64| below(bins * WIDTH);
        let cut = CUT * deviation / WIDTH;
        let (down, up) = ((cut - 0.5) as usize + 1, (cut + 0.5) as usize + 1);
        let shares = |distance: i32| edge(f64::from(distance) + 0.5) - edge(f64::from(distance) - 0.5);
        let by_distance = (-(down as i32)..=up as i32).map(shares).collect();
        let to_first = (0..=down).map(|from| edge(0.5 - from as f64)).collect();
        let to_last = (0..=up).map(|distance| 1.0 - edge(distance as f64 - 0.5)).collect();
        let escape = 1.0 - libm::exp(-TICK_S * ESCAPE);
        let leaves = |to: usize| escape * (edge(to as f64 + 1.0) - edge(to as f64));
        let from_first =
            core::iter::once((1.0 - escape) * edge(1.0)).chain((1..=cut as usize + 1).map(leaves));
        Self { reach: [down, up], by_distance, to_first, to_last, from_first: from_first.collect() }
    }

    fn evolve(&self, mass: &Bins) -> Bins {
        let [down, up] = self.reach;
        let last = BINS - 1;
        let mut moved = [0.0; BINS];
        for (to, share) in self.from_first.iter().enumerate() {
            moved[to] = mass[0] * share;
        }
        for (from, &part) in mass.iter().enumerate().skip(1) {
            if part == 0.0 {
                continue;
            }
            let (low, high) = (from.saturating_sub(down).max(1), (from + up).min(last - 1));
            let shares = &self.by_distance[low + down - from..];
            for (to, share) in moved[low..=high].iter_mut().zip(shares) {
                *to += part * share;
            }
            moved[0] += part * self.to_first.get(from).copied().unwrap_or(0.0);
            moved[last] += part * self.to_last.get(last - from).copied().unwrap_or(0.0);
        }
        moved
    }
}

/// The probabilities of each number of packets or fewer, for each number of ticks and each bin in which they begin.
fn at_most(motion: &Motion) -> Vec<Vec<Bins>> {
    let counts = counts_of_a_tick();
    let sizes = (1..=TICKS).map(|ticks| ticks * (FORECAST_LIMIT - 1) + 1);
    let mut tables: Vec<Vec<Bins>> = sizes.map(|size| vec![[0.0; BINS]; size]).collect();
    for bin in 0..BINS {
        let mut mass = [0.0; BINS];
        mass[bin] = 1.0;
        let mut total = vec![1.0];
        for table in &mut tables {
            let tick: Vec<f64> = counts.iter().map(|count| dot(&mass, count)).collect();
            total = convolve(&total, &tick);
            let mut sum = 0.0;
            for (row, probability) in table.iter_mut().zip(&total) {
                sum += probability;
                row[bin] = sum;
            }
            mass = motion.evolve(&mass);
            normalise(&mut mass);
        }
    }
    tables
}

/// The probability of each count of a tick, by bin. Those from the limit on are left out.
fn counts_of_a_tick() -> Vec<Bins> {
    let mut probability: Bins = core::array::from_fn(|bin| libm::exp(-mean(bin)));
    let mut counts = vec![probability];
    for count in 1..FORECAST_LIMIT {
        for (bin, one) in probability.iter_mut().enumerate() {
            *one *= mean(bin) / count as f64;
        }
        counts.push(probability);
    }
    counts
}

fn convolve(one: &[f64], other: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; one.len() + other.len() - 1];
    for (i, a) in one.iter().enumerate() {
        for (sum, b) in sums[i..].iter_mut().zip(other) {
            *sum += a * b;
        }
    }
    sums
}
