//! How much power distance takes: free space and log-distance.
//!
//! Left out: the COST-231 Hata and 3GPP macro models, shadowing, penetration, and antenna
//! patterns (all antennas are isotropic with 0 dBi).

use airlane_core::Decibel;

/// Metres per second in vacuum (exact, SI).
pub const SPEED_OF_LIGHT: f64 = 299_792_458.0;

/// A law of path loss between isotropic antennas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathLoss {
    /// Free space: (4 π d f / c)² (H. T. Friis, Proc. IRE 34(5), 1946).
    Friis {
        /// Carrier frequency in Hz.
        frequency_hz: f64,
    },
    /// `reference_loss` at `reference_m`, then ten times `exponent` dB a decade.
    LogDistance {
        /// Path-loss exponent; 2 is free space.
        exponent: f64,
        /// Distance in metres up to which the loss stays at `reference_loss`.
        reference_m: f64,
        /// Loss at `reference_m`.
        reference_loss: Decibel,
    },
}

impl PathLoss {
    /// The loss over `distance_m` metres, never negative: nearer than c / (4 π f) (11 mm at
    /// 2120 MHz) the free-space formula would give a gain and the loss is held at 0 dB; nearer
    /// than `reference_m` log-distance holds its reference loss.
    #[must_use]
    pub fn loss(&self, distance_m: f64) -> Decibel {
        let loss = match *self {
            Self::Friis { frequency_hz } => {
                let factor = 4.0 * core::f64::consts::PI * distance_m * frequency_hz / SPEED_OF_LIGHT;
                if factor <= 1.0 { 0.0 } else { 20.0 * libm::log10(factor) }
            }
            Self::LogDistance { exponent, reference_m, reference_loss } => {
                let decades =
                    if distance_m <= reference_m { 0.0 } else { libm::log10(distance_m / reference_m) };
                reference_loss.0 + 10.0 * exponent * decades
            }
        };
        Decibel(loss.max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND_1: PathLoss = PathLoss::Friis { frequency_hz: 2120e6 };

    #[test]
    fn free_space_by_hand() {
        // 20 log10(4 pi * 100 m * 2.12 GHz / c) = 20 log10(8886.6) = 78.974 dB.
        assert!((BAND_1.loss(100.0).0 - 78.974).abs() < 1e-3);
        // Twice the distance, 6.02 dB more.
        assert!((BAND_1.loss(200.0).0 - BAND_1.loss(100.0).0 - 6.0206).abs() < 1e-4);
    }

    #[test]
    fn nearness_gives_no_gain() {
        assert_eq!(BAND_1.loss(0.0), Decibel(0.0));
        // c / (4 pi f) = 11.25 mm.
        assert_eq!(BAND_1.loss(0.011), Decibel(0.0));
        assert!(BAND_1.loss(0.012).0 > 0.0);
    }

    #[test]
    fn log_distance_by_hand() {
        let law = PathLoss::LogDistance { exponent: 3.0, reference_m: 1.0, reference_loss: Decibel(46.67) };
        assert!((law.loss(1000.0).0 - (46.67 + 90.0)).abs() < 1e-9);
        assert_eq!(law.loss(0.0), Decibel(46.67));
        let gain = PathLoss::LogDistance { exponent: 2.0, reference_m: 1.0, reference_loss: Decibel(-3.0) };
        assert_eq!(gain.loss(1.0), Decibel(0.0));
    }

    #[test]
    fn the_reference_distances_agree_with_the_peer() {
        use crate::noise;
        for row in crate::reference::rows(include_str!("../data/mcs_vs_distance_ns3.csv")) {
            // 30 dBm over 100 PRBs is 10 dBm each.
            let received = 10.0 - BAND_1.loss(row[0]).0;
            let snr = received - noise::prb_noise(Decibel(7.0)).0;
            assert!((snr - row[1]).abs() < 0.02, "{} m: {snr:.2} dB, peer {:.2}", row[0], row[1]);
        }
    }
}
