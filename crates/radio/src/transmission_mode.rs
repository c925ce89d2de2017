//! Transmission modes of TS 36.213 v8.8.0 §7.1 as a gain and a number of layers.
//!
//! A simple model of antennas: a mode scales the SINR of every PRB, on each of its layers, by a
//! constant. It does not reproduce that diversity makes fades shallower, nor that the layers cannot
//! be separated in some places. Modes 4 and up are not included.

use airlane_core::Decibel;

/// The transmission mode of an eNB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TransmissionMode {
    /// Mode 1: one antenna port.
    #[default]
    SingleAntenna,
    /// Mode 2: transmit diversity (space-frequency block code), one layer.
    TransmitDiversity,
    /// Mode 3: open-loop spatial multiplexing, two layers with a transport block each; with one
    /// layer, transmit diversity (TS 36.213 v8.8.0 §7.1.3).
    SpatialMultiplexing,
}

impl TransmissionMode {
    /// The gain of the mode in the SINR of each layer: 4.2 dB for transmit diversity, −2.8 dB for
    /// spatial multiplexing. The values of ns-3.37 (`lte-ue-phy.cc`, attributes `TxMode2Gain` and
    /// `TxMode3Gain`), which takes them from the measurements of S. Catreux, L. J. Greenstein and
    /// V. Erceg, "Some results and insights on the performance gains of MIMO systems", IEEE JSAC
    /// 21(5), 2003.
    #[must_use]
    pub const fn gain(self) -> Decibel {
        match self {
            Self::SingleAntenna => Decibel(0.0),
            Self::TransmitDiversity => Decibel(4.2),
            Self::SpatialMultiplexing => Decibel(-2.8),
        }
    }

    /// The factor by which the SINR increases if one layer is sent instead of all.
    #[must_use]
    pub fn one_layer_gain(self) -> f32 {
        match self {
            Self::SingleAntenna | Self::TransmitDiversity => 1.0,
            Self::SpatialMultiplexing => {
                Decibel(Self::TransmitDiversity.gain().0 - self.gain().0).linear() as f32
            }
        }
    }

    /// Maximum number of transport blocks sent at once.
    #[must_use]
    pub const fn layers(self) -> u8 {
        match self {
            Self::SingleAntenna | Self::TransmitDiversity => 1,
            Self::SpatialMultiplexing => 2,
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
        assert_eq!((mode.layers(), mode.one_layer_gain()), (1, 1.0));
        assert_eq!(TransmissionMode::default().gain().linear(), 1.0);
    }

    #[test]
    fn multiplexing_on_one_layer_is_diversity() {
        let mode = TransmissionMode::SpatialMultiplexing;
        assert_eq!(mode.layers(), 2);
        let one = mode.gain().linear() * f64::from(mode.one_layer_gain());
        assert!((one - TransmissionMode::TransmitDiversity.gain().linear()).abs() < 1e-6);
    }
}
