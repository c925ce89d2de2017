//! Transmission modes of TS 36.213 v8.8.0 §7.1 as a gain and a number of layers.
//!
//! A stand-in for antennas: a mode scales the SINR of every PRB by a constant. It therefore
//! does not reproduce that diversity also makes fades shallower. Modes 3 and up are left out.

use airlane_core::Decibel;

/// How the eNB uses its antennas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransmissionMode {
    /// Mode 1: one antenna port.
    #[default]
    SingleAntenna,
    /// Mode 2: transmit diversity (space-frequency block code), one layer.
    TransmitDiversity,
}

impl TransmissionMode {
    /// What the mode adds to the SINR: 4.2 dB for transmit diversity, the value of ns-3.37
    /// (`lte-ue-phy.cc`, attribute `TxMode2Gain`), which has it from the measurements of
    /// S. Catreux, L. J. Greenstein and V. Erceg, "Some results and insights on the performance
    /// gains of MIMO systems", IEEE JSAC 21(5), 2003.
    #[must_use]
    pub const fn gain(self) -> Decibel {
        match self {
            Self::SingleAntenna => Decibel(0.0),
            Self::TransmitDiversity => Decibel(4.2),
        }
    }

    /// Transport blocks sent at once.
    #[must_use]
    pub const fn layers(self) -> usize {
        match self {
            Self::SingleAntenna | Self::TransmitDiversity => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn diversity_is_a_gain_on_one_layer() {
        let mode = TransmissionMode::TransmitDiversity;
        assert!((mode.gain().linear() - 2.630).abs() < 1e-3); // 10^0.42
        assert_eq!(mode.layers(), 1);
        assert_eq!(TransmissionMode::default().gain().linear(), 1.0);
    }
}
