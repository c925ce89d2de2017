//! The simulation behind the table: channels of several antennas, their precoding and reception, and the
//! fit of the layers.
//!
//! The channel of a PRB is `H = √(K/(K+1)) 1 + √(1/(K+1)) L_rx G L_txᵀ`: G has independent complex Gaussian
//! entries, `L Lᵀ` are the correlation matrices of TS 36.101 v17.9.0 B.2.3 (TS 38.101-4 B.2.3.1), and K is the
//! power of the line of sight over that of all other taps. Every PRB of every tapped delay line without a
//! line of sight has this distribution with K = 0, whatever its delays: each tap is Gaussian with the same
//! correlation, and so is their sum. One table therefore serves all of them. The line of sight has the same
//! phase at all antennas (all arrays are perpendicular to it), so that it carries one layer.

use core::array::from_fn;

use airlane_core::{Seeds, Stream};

use super::matrix::{Complex, MAX, Matrix};
use super::{Antennas, Correlation, LayerGain, LayerTable, LineOfSight, Precoding};
use crate::mutual_information;
use crate::tables::Modulation;

/// Number of channels that are drawn.
pub const DRAWS: usize = 10_000;

/// Seed of the channels to which the table is fitted.
pub const FITTED: u64 = 1;

/// Linear SINR above which a layer counts as having this one, if there are several: 33 dB, where 256QAM is
/// less than 0.001 bit below its maximum.
const CEILING: f64 = 2000.0;

/// A channel that was drawn.
#[derive(Clone, Copy, Debug)]
struct Draw {
    /// Power gain of the first pair of antennas.
    pair: f64,
    /// The squared singular values, the largest first.
    squares: [f64; MAX],
    /// `Hᴴ H`.
    gram: Matrix,
}

/// Channels of one kind.
#[derive(Clone, Debug)]
pub struct Channels {
    antennas: Antennas,
    draws: Vec<Draw>,
}

impl Channels {
    /// Draws channels.
    #[must_use]
    pub fn draw(antennas: Antennas, correlation: Correlation, sight: LineOfSight, seed: u64) -> Self {
        let name = format!("layers/{antennas:?}/{correlation:?}/{sight:?}");
        let mut stream = Seeds::new(seed).stream(&name);
        let (alpha, beta) = correlation.parameters();
        let (tx, rx) = (usize::from(antennas.tx), usize::from(antennas.rx));
        let to_tx = correlation_matrix(tx, alpha).cholesky(tx).transposed();
        let to_rx = correlation_matrix(rx, beta).cholesky(rx);
        let k = sight.k_factor();
        let (seen, scattered) = ((k / (k + 1.0)).sqrt(), (1.0 / (k + 1.0)).sqrt());
        let mut sight = Matrix::default();
        sight.0[..rx].iter_mut().for_each(|row| row[..tx].fill(Complex::new(seen, 0.0)));
        let mut one = || {
            let scatter = to_rx.product(&gaussian(rx, tx, &mut stream)).product(&to_tx);
            let channel = sight.plus(&scatter.scaled(scattered));
            let gram = channel.adjoint().product(&channel);
            Draw { pair: channel.0[0][0].squared(), squares: gram.eigenvalues(), gram }
        };
        Self { antennas, draws: (0..DRAWS).map(|_| one()).collect() }
    }

    /// Power gain of the first pair of antennas, one on average, of each channel.
    pub fn pairs(&self) -> impl Iterator<Item = f64> {
        self.draws.iter().map(|draw| draw.pair)
    }

    /// The linear SINR of each of `rank` layers after precoding and reception, in each channel, where
    /// `snr` is the mean SNR of one pair of antennas with the whole power.
    #[must_use]
    pub fn layers(&self, precoding: Precoding, rank: u8, snr: f64) -> Vec<[f64; MAX]> {
        let count = usize::from(rank);
        match precoding {
            Precoding::Singular => {
                let of = |draw: &Draw| {
                    from_fn(
                        |i| if i < count { draw.squares[i].max(0.0) * snr / f64::from(rank) } else { 0.0 },
                    )
                };
                self.draws.iter().map(of).collect()
            }
            Precoding::Codebook => {
                let book = codebook(self.antennas.tx, rank);
                self.draws.iter().map(|draw| best(&book, draw, count, snr)).collect()
            }
        }
    }

    /// The linear SINR of a flat channel whose layers carry, with 256QAM, the mean information of these
    /// `rank` layers, in each channel.
    #[must_use]
    pub fn effective(&self, precoding: Precoding, rank: u8, snr: f64) -> Vec<f64> {
        let count = usize::from(rank);
        let of = |layers: &[f64; MAX]| {
            if rank == 1 {
                return layers[0];
            }
            let below = layers[..count].iter().map(|sinr| sinr.min(CEILING) as f32);
            let sum: f64 = below.map(|sinr| mutual_information::at(Modulation::Qam256, sinr).mean).sum();
            f64::from(mutual_information::sinr_of(Modulation::Qam256, (sum / count as f64) as f32))
        };
        self.layers(precoding, rank, snr).iter().map(of).collect()
    }

    /// Bits per resource element of the best number of layers with 256QAM in each channel: those of its own layers, and
    /// those of a table, which has the gain of its first pair of antennas only. Both ascending.
    #[must_use]
    pub fn information(&self, table: &LayerTable, precoding: Precoding, snr: f64) -> [Vec<f64>; 2] {
        let carried = |rank: u8, sinr: f64| {
            f64::from(rank) * mutual_information::at(Modulation::Qam256, sinr as f32).mean
        };
        let mut simulated = vec![0.0_f64; DRAWS];
        for rank in 1..=table.layers() {
            let effective = self.effective(precoding, rank, snr);
            for (best, sinr) in simulated.iter_mut().zip(effective) {
                *best = best.max(carried(rank, sinr));
            }
        }
        let of_pair = |pair: f64| {
            let gains = [pair as f32];
            let rank = table.rank(snr as f32, &gains, table.layers());
            let mut sinr = [0.0];
            table.gain(rank, snr as f32).put_sinr(snr as f32, &gains, &mut sinr);
            carried(rank, f64::from(sinr[0]))
        };
        let mut modelled: Vec<f64> = self.pairs().map(of_pair).collect();
        simulated.sort_unstable_by(f64::total_cmp);
        modelled.sort_unstable_by(f64::total_cmp);
        [simulated, modelled]
    }

    /// The gain of `rank` layers. The spread is the ratio of the standard deviations of the logarithms of
    /// effective SINR and gain of a pair. The factor gives the mean of `log2(1 + SINR)` of the effective
    /// SINRs. The steady factor is the ratio of the constant SINRs with the means of the layers and of a pair.
    #[must_use]
    pub fn fit(&self, precoding: Precoding, rank: u8, snr: f64) -> LayerGain {
        let effective = self.effective(precoding, rank, snr);
        let logs = |values: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            values.map(|value| libm::log(value.max(1e-9))).collect()
        };
        let (pairs, found) = (logs(&mut self.pairs()), logs(&mut effective.iter().copied()));
        let spread = deviation(&found) / deviation(&pairs);
        let mean = |values: &mut dyn Iterator<Item = f64>| {
            values.map(|sinr| libm::log2(1.0 + sinr)).sum::<f64>() / DRAWS as f64
        };
        let wanted = mean(&mut effective.into_iter());
        let shapes: Vec<f64> = pairs.iter().map(|log| libm::exp(spread * log)).collect();
        let (mut low, mut high) = (-20.0, 20.0); // in nepers
        for _ in 0..40 {
            let middle: f64 = 0.5 * (low + high);
            let factor = snr * libm::exp(middle);
            if mean(&mut shapes.iter().map(|shape| shape * factor)) < wanted {
                low = middle;
            } else {
                high = middle;
            }
        }
        let one_pair = mean(&mut self.pairs().map(|gain| gain * snr));
        let steady = (libm::exp2(wanted) - 1.0) / (libm::exp2(one_pair) - 1.0);
        LayerGain { factor: libm::exp(low) as f32, spread: spread as f32, steady: steady as f32 }
    }
}

/// Standard deviation.
fn deviation(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / count).sqrt()
}

/// Independent complex Gaussian entries of mean power one.
fn gaussian(rows: usize, columns: usize, stream: &mut Stream) -> Matrix {
    let mut matrix = Matrix::default();
    for entry in matrix.0[..rows].iter_mut().flat_map(|row| &mut row[..columns]) {
        let (re, im) = (stream.normal(), stream.normal());
        *entry = Complex::new(re, im).scaled(core::f64::consts::FRAC_1_SQRT_2);
    }
    matrix
}

/// The correlation of a uniform linear array of 1, 2 or 4 antennas whose outermost have this one
/// (TS 36.101 v17.9.0 Tables B.2.3.1-1 and -2).
fn correlation_matrix(antennas: usize, outermost: f64) -> Matrix {
    let mut matrix = Matrix::default();
    for row in 0..antennas {
        for column in 0..antennas {
            let apart = row.abs_diff(column) as f64 / (antennas.max(2) - 1) as f64;
            let value = if row == column { 1.0 } else { libm::pow(outermost, apart * apart) };
            matrix.0[row][column] = Complex::new(value, 0.0);
        }
    }
    matrix
}

/// The SINR of each layer behind a receiver of least mean square error, with the precoder for which they
/// carry most.
fn best(book: &[Matrix], draw: &Draw, layers: usize, snr: f64) -> [f64; MAX] {
    let mut best = (f64::NEG_INFINITY, [0.0; MAX]);
    for precoder in book {
        let mut error = precoder.adjoint().product(&draw.gram).product(precoder).scaled(snr);
        (0..layers).for_each(|i| error.0[i][i] = error.0[i][i] + Complex::ONE);
        let mut sinr = error.inverse_diagonal(layers);
        let mut product = 1.0;
        for value in &mut sinr[..layers] {
            *value = 1.0 / *value - 1.0;
            product *= 1.0 + *value;
        }
        if product > best.0 {
            best = (product, sinr);
        }
    }
    best.1
}

/// The precoders of `rank` layers; each has power one in total. TS 38.214 v17.9.0 clause 5.2.2.2.1, type I of a
/// single panel: Table 5.2.2.2.1-1 for two ports, Tables 5.2.2.2.1-5 to -8 for four ports in one row
/// (N1 = 2, N2 = 1, O1 = 4).
fn codebook(ports: u8, rank: u8) -> Vec<Matrix> {
    let quarter = |n: u32| Complex::turn(f64::from(n) / 4.0);
    // The columns are pairs: the beam, and the phase between the two halves of the ports.
    let of = |beam: &dyn Fn(usize) -> u32, phase: &dyn Fn(usize) -> Complex| {
        let half = usize::from(ports / 2);
        let scale = 1.0 / (f64::from(ports) * f64::from(rank)).sqrt();
        let mut precoder = Matrix::default();
        for layer in 0..usize::from(rank) {
            for port in 0..half {
                let steered = Complex::turn(port as f64 * f64::from(beam(layer)) / 8.0).scaled(scale);
                precoder.0[port][layer] = steered;
                precoder.0[half + port][layer] = steered * phase(layer);
            }
        }
        precoder
    };
    let minus = |c: Complex| c.scaled(-1.0);
    let mut book = Vec::new();
    match (ports, rank) {
        (1, 1) => {
            let mut precoder = Matrix::default();
            precoder.0[0][0] = Complex::ONE;
            book.push(precoder);
        }
        (2, 1) => (0..4).for_each(|n| book.push(of(&|_| 0, &|_| quarter(n)))),
        (2, 2) => (0..2).for_each(|n| {
            book.push(of(&|_| 0, &|layer| if layer == 0 { quarter(n) } else { minus(quarter(n)) }));
        }),
        (4, 1) => (0..8).for_each(|l| (0..4).for_each(|n| book.push(of(&|_| l, &|_| quarter(n))))),
        (4, 2..=4) => {
            // The second beam is the same or, for more than two layers always, the orthogonal one.
            let others: &[u32] = if rank == 2 { &[0, 4] } else { &[4] };
            for (l, other) in (0..8).flat_map(|l| others.iter().map(move |other| (l, l + other))) {
                for n in 0..2 {
                    // Layers 2 and 3 of four (layer 2 of three) have the opposite phase; so has the second of two.
                    let negative = |layer: usize| layer >= if rank == 2 { 1 } else { 2 };
                    let beam = move |layer: usize| if layer.is_multiple_of(2) { l } else { other };
                    book.push(of(&beam, &|i| if negative(i) { minus(quarter(n)) } else { quarter(n) }));
                }
            }
        }
        _ => unreachable!("{rank} layers on {ports} ports"),
    }
    book
}

#[cfg(test)]
mod tests;
