//! The error rate of transport blocks: a closed form for the turbo code, with HARQ.
//!
//! The normal approximation of Y. Polyanskiy, H. V. Poor, S. Verdú, "Channel coding rate in the
//! finite blocklength regime", IEEE Trans. Inf. Theory 56(5), 2010, eq. 223, with the mean and
//! variance of bit-metric decoding ([`crate::mutual_information`]): a code block of `K` bits
//! over `n` symbols fails with probability
//!
//! > Q((n I − K + ½ log2 n) / √(n V)).
//!
//! A real turbo code is worse than that bound by a gap in dB, a smooth function of code rate,
//! modulation and block length ([`gap()`]) fitted to the curves of ns-3.37. A transport block fails
//! when one of its code blocks does. HARQ with incremental redundancy adds up `n I` and `n V` over
//! the transmissions received ([`HarqSoftState`]).
//!
//! Not included: the gap at a retransmission's lower code rate (that of the first transmission is
//! used), and repetition: once the redundancy exceeds the mother code's rate 1/3, real
//! retransmissions repeat bits instead of adding new ones.
//!
//! ```
//! use airlane_core::Direction::Downlink;
//! use airlane_radio::{CodedBlock, HarqSoftState, Mcs};
//!
//! let mcs = Mcs::new(20);
//! let block = CodedBlock::new(mcs, Downlink, mcs.transport_block(50, Downlink));
//! let mut state = HarqSoftState::default();
//! state.receive(&block, &[10.0; 50]); // 10 dB on each PRB: too low for MCS 20
//! assert!(block.error_rate(&state) > 0.99);
//! state.receive(&block, &[10.0; 50]); // twice the symbols: enough
//! assert!(block.error_rate(&state) < 0.01);
//! ```

mod gap;

use airlane_core::{Bytes, Decibel, Direction};

pub use gap::{gap, gap_regressors};

use crate::mutual_information;
use crate::tables::{Mcs, Modulation};

/// Bits of a CRC (24A on the transport block, 24B on each code block): TS 36.212 v8.8.0 §5.1.1.
const CRC_BITS: u32 = 24;
/// Largest turbo code block in bits: TS 36.212 v8.8.0 §5.1.2.
const MAX_CODE_BLOCK_BITS: u32 = 6144;

/// Effective code rate of each downlink MCS in hundredths: spectral efficiency (R1-081483) over
/// `Q_m`, rounded as in ns-3.37 `lte-mi-error-model.cc`.
const DOWNLINK_CODE_RATE_X100: [u8; 29] = [
    8, 10, 11, 15, 19, 24, 30, 37, 44, 51, // QPSK
    30, 33, 37, 42, 48, 54, 60, // 16QAM
    43, 45, 50, 55, 60, 65, 70, 75, 80, 85, 89, 92, // 64QAM
];

/// The modulation and code rate of an MCS.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodeScheme {
    /// The constellation.
    pub modulation: Modulation,
    /// Information bits per coded bit.
    pub code_rate: f64,
}

impl CodeScheme {
    /// Information bits per symbol.
    #[must_use]
    pub fn efficiency(self) -> f64 {
        self.code_rate * f64::from(self.modulation.bits_per_symbol())
    }

    /// The scheme of an MCS.
    ///
    /// R1-081483 defines efficiencies for the downlink only. In the uplink a transport block of the
    /// same `I_TBS` on the same PRBs carries the same bits. The code rate is therefore the
    /// efficiency of the downlink MCS with that `I_TBS` (if there are two, the one with the denser
    /// modulation) divided by the `Q_m` of the uplink.
    #[must_use]
    pub fn new(mcs: Mcs, direction: Direction) -> Self {
        let modulation = mcs.modulation(direction);
        let code_rate = match direction {
            Direction::Downlink => f64::from(DOWNLINK_CODE_RATE_X100[usize::from(mcs.index())]) / 100.0,
            Direction::Uplink => {
                let i_tbs = mcs.i_tbs(Direction::Uplink);
                let same = Mcs::all().filter(|m| m.i_tbs(Direction::Downlink) == i_tbs).last();
                same.expect("every I_TBS has a downlink MCS").spectral_efficiency()
                    / f64::from(modulation.bits_per_symbol())
            }
        };
        Self { modulation, code_rate }
    }
}

/// A transport block as input of the turbo coder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodedBlock {
    modulation: Modulation,
    /// Number of code blocks.
    count: u32,
    /// `K`: bits of a code block with CRC.
    bits: f64,
    /// `n`: symbols of a code block in one transmission.
    symbols: f64,
    /// `n` times the factor on the variance of the information.
    varying: f64,
    /// The gap as a factor on the SINR, below one.
    backoff: f32,
}

impl CodedBlock {
    /// A transport block of this size sent with this MCS.
    #[must_use]
    pub fn new(mcs: Mcs, direction: Direction, transport_block: Bytes) -> Self {
        Self::with_scheme(CodeScheme::new(mcs, direction), transport_block)
    }

    /// A transport block of this size sent with this modulation and code rate.
    #[must_use]
    pub fn with_scheme(scheme: CodeScheme, transport_block: Bytes) -> Self {
        let (count, bits) = segment(transport_block);
        Self::of_code(scheme, (count, bits), gap(scheme, bits))
    }

    /// A transport block of `count` code blocks of `bits` bits with CRC each, in a code that is worse than the normal
    /// approximation by this gap.
    #[must_use]
    pub fn of_code(scheme: CodeScheme, (count, bits): (u32, f64), gap: Decibel) -> Self {
        let symbols = bits / scheme.efficiency();
        let gap_nepers = gap.0 * (core::f64::consts::LN_10 / 10.0);
        let backoff = libm::exp(-gap_nepers) as f32;
        Self { modulation: scheme.modulation, count, bits, symbols, varying: symbols, backoff }
    }

    /// The block with this factor on the variance of the information, for a wider waterfall than that of the normal
    /// approximation.
    #[must_use]
    pub const fn with_variance(&self, factor: f64) -> Self {
        Self { varying: self.symbols * factor, ..*self }
    }

    /// The modulation of the block.
    #[must_use]
    pub const fn modulation(&self) -> Modulation {
        self.modulation
    }

    /// Bits of a code block with its CRC.
    #[must_use]
    pub const fn code_block_bits(&self) -> f64 {
        self.bits
    }

    /// The block without the gap, that is, in the normal approximation alone. The gap is measured from it.
    #[must_use]
    pub const fn without_gap(&self) -> Self {
        Self { backoff: 1.0, ..*self }
    }

    /// Probability that the block cannot be decoded from the received transmissions; one if there
    /// are none.
    #[must_use]
    pub fn error_rate(&self, received: &HarqSoftState) -> f64 {
        if received.symbols <= 0.0 {
            return 1.0;
        }
        let surplus = received.information - self.bits + 0.5 * libm::log2(received.symbols);
        let margin = surplus / received.variance.max(f64::MIN_POSITIVE).sqrt();
        // Q(7) = 1.3e-12: negligible in any run.
        if margin > 7.0 {
            return 0.0;
        }
        if margin < -7.0 {
            return 1.0;
        }
        let one = 0.5 * libm::erfc(margin * core::f64::consts::FRAC_1_SQRT_2);
        if self.count == 1 { one } else { 1.0 - libm::pow(1.0 - one, f64::from(self.count)) }
    }

    /// The error rate of a first transmission at a linear SINR that is the same on all PRBs.
    #[must_use]
    pub fn error_rate_at(&self, sinr: f32) -> f64 {
        let mut state = HarqSoftState::default();
        state.receive_flat(self, sinr);
        self.error_rate(&state)
    }

    /// The linear SINR, the same on all PRBs, at which a first transmission has this error
    /// rate.
    #[must_use]
    pub fn sinr_for(&self, error_rate: f64) -> f32 {
        // The error rate decreases with the SINR: bisection on a logarithmic scale, 2^-8 to 2^12,
        // until the precision of f32 is reached.
        let (mut low, mut high) = (-8.0_f64, 12.0_f64);
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            if self.error_rate_at(libm::exp2(middle) as f32) > error_rate {
                low = middle
            } else {
                high = middle
            }
        }
        libm::exp2(high) as f32
    }
}

impl CodedBlock {
    /// A linear SINR above which a first transmission cannot fail: if every PRB reaches it,
    /// [`CodedBlock::error_rate`] is zero. Infinite if there is no such SINR.
    #[must_use]
    pub fn certain_from(&self) -> f32 {
        // A margin larger than the rounding error of a mean over PRBs.
        const ROUNDING: f64 = 1e-4;
        let is_certain = |sinr: f32| {
            let information = mutual_information::at(self.modulation, sinr).mean * (1.0 - ROUNDING);
            let lowest = mutual_information::sinr_of(self.modulation, information as f32);
            self.error_rate_at(lowest) == 0.0
        };
        // The error rate decreases with the SINR: bisection until the bracket is a quarter of a decibel.
        let (mut low, mut high) = (-8.0_f64, 12.0_f64);
        if !is_certain(libm::exp2(high) as f32) {
            return f32::INFINITY;
        }
        for _ in 0..8 {
            let middle = 0.5 * (low + high);
            if is_certain(libm::exp2(middle) as f32) { high = middle } else { low = middle }
        }
        libm::exp2(high) as f32
    }
}

/// Code block segmentation, TS 36.212 v8.8.0 §5.1.2: the number of code blocks, and the mean number
/// of bits of each with its CRC. Filler bits are ignored, and so is the difference between the two
/// block lengths of a segmentation.
fn segment(transport_block: Bytes) -> (u32, f64) {
    let bits = transport_block.get() as u32 * 8 + CRC_BITS;
    if bits <= MAX_CODE_BLOCK_BITS {
        return (1, f64::from(bits));
    }
    let count = bits.div_ceil(MAX_CODE_BLOCK_BITS - CRC_BITS);
    (count, f64::from(bits + count * CRC_BITS) / f64::from(count))
}

/// The soft buffer of a receiver for one transport block over its transmissions, per code block.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HarqSoftState {
    symbols: f64,
    information: f64,
    variance: f64,
}

impl HarqSoftState {
    /// Adds a transmission over PRBs of these linear SINRs.
    pub fn receive(&mut self, block: &CodedBlock, sinr: &[f32]) {
        if let &[flat] = sinr {
            return self.receive_flat(block, flat);
        }
        let mean = mutual_information::mean_of(block.modulation, sinr);
        self.receive_flat(block, mutual_information::sinr_of(block.modulation, mean));
    }

    /// Adds a transmission whose effective linear SINR is known.
    pub fn receive_flat(&mut self, block: &CodedBlock, sinr: f32) {
        let symbol = mutual_information::at(block.modulation, sinr * block.backoff);
        self.symbols += block.symbols;
        self.information += block.symbols * symbol.mean;
        self.variance += block.varying * symbol.variance;
    }

    /// Clears the state for the next block of the same process.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests;
