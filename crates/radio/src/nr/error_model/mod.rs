//! The error rate of transport blocks with LDPC codes, in three families.
//!
//! The closed form is that of [`crate::bler`]: the normal approximation, with a gap in dB. Public link simulations of
//! NR in white noise disagree by about 3 dB on this gap, and none of them states why. So there are three named gaps,
//! each fitted to one source, and no mean of them:
//!
//! - [`Ldpc::Sionna`], 0.9 dB: what decoding by belief propagation costs, with a known noise and channel. Its source
//!   is the only one that states both.
//! - [`Ldpc::FiveGLena`], 3.3 to 5 dB: the curves of a proprietary link simulator, which 5G-LENA uses.
//! - [`Ldpc::OpenAirInterface`], 2.5 to 4 dB, with a waterfall that is several times as wide.
//!
//! The width of the waterfall is that of the normal approximation and of a normal error of the SNR, in dB, that all
//! symbols of a block share. A retransmission has the same share of this variance as the first transmission.

use airlane_core::Decibel;

use super::{CodeBlocks, Scheme};
use crate::bler::{CodeScheme, CodedBlock};
use crate::mutual_information;
use crate::tables::Modulation;

/// A family of error rates of the LDPC code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ldpc {
    /// NVlabs/sionna 1.2.1.
    #[default]
    Sionna,
    /// 5G-LENA.
    FiveGLena,
    /// OpenAirInterface.
    OpenAirInterface,
}

/// The parameters of a family.
#[derive(Debug)]
pub(super) struct Fit {
    /// By modulation, the coefficients of the [`regressors`] of the gap in dB.
    pub gap: [[f64; REGRESSORS]; 4],
    /// Standard deviation of the SNR in dB.
    pub deviation_db: f64,
}

/// Number of [`regressors`].
pub(super) const REGRESSORS: usize = 5;

/// The regressors of the gap: a constant, the code rate and its square, and the loss of short code blocks, which is
/// larger at high rates.
pub(super) fn regressors(code_rate: f64, code_block_bits: f64) -> [f64; REGRESSORS] {
    let rate_squared = code_rate * code_rate;
    let rate_to_8 = rate_squared * rate_squared * rate_squared * rate_squared;
    [1.0, code_rate, rate_squared, 1.0 / code_block_bits.sqrt(), rate_to_8 / code_block_bits.sqrt()]
}

impl Ldpc {
    /// All families.
    pub const ALL: [Self; 3] = [Self::Sionna, Self::FiveGLena, Self::OpenAirInterface];

    /// The name of the family in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sionna => "sionna",
            Self::FiveGLena => "5g-lena",
            Self::OpenAirInterface => "oai",
        }
    }

    pub(super) const fn fit(self) -> &'static Fit {
        match self {
            Self::Sionna => &SIONNA,
            Self::FiveGLena => &FIVE_G_LENA,
            Self::OpenAirInterface => &OPEN_AIR_INTERFACE,
        }
    }

    /// The additional SNR that a code block of this many bits needs, compared with the normal approximation.
    #[must_use]
    pub fn gap(self, scheme: CodeScheme, code_block_bits: f64) -> Decibel {
        let coefficients = &self.fit().gap[scheme.modulation.index()];
        Decibel(
            coefficients.iter().zip(regressors(scheme.code_rate, code_block_bits)).map(|(c, x)| c * x).sum(),
        )
    }

    /// A transport block of these code blocks as input of the channel decoder.
    ///
    /// # Panics
    /// If the scheme has neither QPSK nor 16QAM, 64QAM or 256QAM.
    #[must_use]
    pub fn coded_block(self, scheme: Scheme, blocks: CodeBlocks) -> CodedBlock {
        self.code_blocks(scheme, blocks.count, blocks.bits)
    }

    /// A code block of this many bits with its CRC.
    ///
    /// # Panics
    /// If the scheme has neither QPSK nor 16QAM, 64QAM or 256QAM.
    #[must_use]
    pub fn code_block(self, scheme: Scheme, bits: u32) -> CodedBlock {
        self.code_blocks(scheme, 1, bits)
    }

    fn code_blocks(self, scheme: Scheme, count: u32, bits: u32) -> CodedBlock {
        let (scheme, bits) = (scheme.code(), f64::from(bits));
        self.with_width(scheme, CodedBlock::of_code(scheme, (count, bits), self.gap(scheme, bits)))
    }

    /// The block with the variance of this family's SNR.
    pub(super) fn with_width(self, scheme: CodeScheme, block: CodedBlock) -> CodedBlock {
        block.with_variance(1.0 + shared_variance(scheme, block.code_block_bits(), self.fit().deviation_db))
    }
}

/// The variance of a code block's information that an error of the SNR with this standard deviation causes, relative
/// to the dispersion: both at the SNR where the mean information is that of the block.
pub(super) fn shared_variance(scheme: CodeScheme, code_block_bits: f64, deviation_db: f64) -> f64 {
    const STEP_DB: f64 = 0.25;
    if deviation_db <= 0.0 {
        return 0.0;
    }
    let (modulation, of_symbol) = (scheme.modulation, scheme.efficiency());
    let sinr = mutual_information::sinr_of(modulation, of_symbol as f32);
    let step = Decibel(STEP_DB).linear() as f32;
    let (below, above) =
        (mutual_information::at(modulation, sinr / step), mutual_information::at(modulation, sinr * step));
    let slope_per_db = (above.mean - below.mean) / (2.0 * STEP_DB);
    let symbols = code_block_bits / of_symbol;
    let shared = slope_per_db * deviation_db;
    symbols * shared * shared / mutual_information::at(modulation, sinr).variance
}

impl Scheme {
    /// The modulation; `None` for another order than 2, 4, 6 or 8.
    #[must_use]
    pub fn modulation(self) -> Option<Modulation> {
        Modulation::ALL.into_iter().find(|m| m.bits_per_symbol() == u32::from(self.modulation_order))
    }

    pub(super) fn code(self) -> CodeScheme {
        let modulation = self.modulation().expect("QPSK, 16QAM, 64QAM or 256QAM");
        CodeScheme { modulation, code_rate: self.rate() }
    }
}

/// Rows in the order of [`Modulation::ALL`]. A test repeats the fits.
static SIONNA: Fit = Fit {
    gap: [
        [0.982, -0.408, -0.037, 2.556, 0.000], // Qpsk
        [1.020, -0.575, 0.310, 2.211, 0.000],  // Qam16
        [0.617, 0.853, -0.935, 3.299, 0.000],  // Qam64
        [0.191, 1.810, -1.244, -0.325, 0.000], // Qam256
    ],
    deviation_db: 0.00,
};

static FIVE_G_LENA: Fit = Fit {
    gap: [
        [6.656, -8.319, 4.224, -0.578, 369.486], // Qpsk
        [3.746, -0.287, -1.935, 6.628, 424.791], // Qam16
        [1.992, 4.844, -5.145, 13.141, 82.639],  // Qam64
        [3.048, 1.695, -2.757, 25.599, 46.955],  // Qam256
    ],
    deviation_db: 0.15,
};

/// The curves are of one allocation, and of 64QAM at most: no term of the size of code blocks, and 256QAM as 64QAM.
static OPEN_AIR_INTERFACE: Fit = Fit {
    gap: [
        [3.480, -2.736, 0.000, 0.000, 0.000], // Qpsk
        [3.910, -1.810, 0.000, 0.000, 0.000], // Qam16
        [4.814, -3.256, 0.000, 0.000, 0.000], // Qam64
        [4.814, -3.256, 0.000, 0.000, 0.000], // as 64QAM
    ],
    deviation_db: 0.66,
};

#[cfg(test)]
mod tests;
