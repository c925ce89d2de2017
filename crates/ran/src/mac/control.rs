//! The control region: whether a UE decodes PDCCH.
//!
//! PCFICH and PDCCH (TS 36.211 §6.7, §6.8) are spread over the whole band at the start of each
//! slot, in QPSK. A UE that misses either receives no assignment and no grant.
//!
//! The error rate is a closed form over the SINR of the band, fitted to 3GPP R4-081920 in the form
//! used by ns-3.37 (`data/pdcch_bler_ns3.csv`): a Gaussian distribution function, within 0.4 dB of
//! the figures from 80 % down to 0.5 %. Their source has no values above −1 dB; the closed form is
//! extrapolated there. Not included: aggregation levels, the number of control channel elements,
//! and errors of PUCCH and PHICH.

use airlane_core::Stream;
use airlane_radio::{Modulation, mutual_information};

/// SINR at which half of the messages are missed, in dB.
const MEDIAN_DB: f64 = -8.07;
/// Width of the distribution function in dB.
const WIDTH_DB: f64 = 2.35;
/// Linear SINR above which fewer than one message in 10^7 is missed: +5.2 dB.
pub(crate) const SAFE: f32 = 3.3;

/// Probability that a UE misses PCFICH or PDCCH at this linear SINR of the whole band.
pub(crate) fn error_rate(sinr: f32) -> f64 {
    if sinr >= SAFE {
        return 0.0;
    }
    let sinr_db = 10.0 * libm::log10(f64::from(sinr).max(1e-9));
    0.5 * libm::erfc((sinr_db - MEDIAN_DB) / WIDTH_DB * core::f64::consts::FRAC_1_SQRT_2)
}

/// The SINR of a flat band with the same information, in QPSK, as these PRBs have on average.
pub(crate) fn effective_sinr(sinr: &[f32]) -> f32 {
    mutual_information::sinr_of(Modulation::Qpsk, mutual_information::mean_of(Modulation::Qpsk, sinr))
}

/// Whether a message is missed. Above the safe SINR no random number is drawn.
pub(crate) fn is_missed(sinr: f32, draws: &mut Stream) -> bool {
    if sinr >= SAFE {
        return false;
    }
    let draw = draws.uniform();
    let bound = BOUNDS.iter().find(|(from, _)| sinr >= *from);
    bound.is_none_or(|(_, most)| draw < *most) && draw < error_rate(sinr)
}

/// Linear SINRs, and an upper bound of the error rate from each on: most draws need only the bound.
const BOUNDS: [(f32, f64); 4] = [(2.0, 2e-6), (1.0, 4e-4), (0.5, 0.02), (0.25, 0.25)];

#[cfg(test)]
mod tests {
    use super::*;

    /// The SINR at which the closed form has this error rate.
    fn sinr_db(target: f64) -> f64 {
        let (mut low, mut high) = (-30.0, 10.0);
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            let linear = libm::pow(10.0, middle / 10.0) as f32;
            if error_rate(linear) > target { low = middle } else { high = middle }
        }
        0.5 * (low + high)
    }

    #[test]
    fn the_closed_form_follows_the_figures() {
        let mut compared = 0;
        for line in include_str!("../../data/pdcch_bler_ns3.csv").lines().filter(|l| !l.starts_with('#')) {
            let Some((at, bler)) = line.split_once(',') else { continue };
            let (Ok(at), Ok(bler)) = (at.parse::<f64>(), bler.parse::<f64>()) else { continue };
            if (0.005..0.8).contains(&bler) {
                let ours = sinr_db(bler);
                assert!((ours - at).abs() < 0.4, "{bler}: {ours:.2} dB against {at} dB");
                compared += 1;
            }
        }
        assert!(compared > 25, "{compared}");
    }

    #[test]
    fn a_fading_band_counts_as_the_flat_one_that_tells_as_much() {
        assert!((effective_sinr(&[0.5; 25]) - 0.5).abs() < 1e-3);
        let mixed = effective_sinr(&[0.1, 0.9]);
        assert!(mixed < 0.5 && mixed > 0.1, "{mixed}");
    }

    #[test]
    fn the_bounds_hold() {
        for k in 0..10_000 {
            let sinr = 0.2 + k as f32 * 4e-4;
            let bound = BOUNDS.iter().find(|(from, _)| sinr >= *from);
            assert!(bound.is_none_or(|(_, most)| error_rate(sinr) < *most), "{sinr}");
        }
        // At the first SINR to which each applies.
        assert!(BOUNDS.iter().all(|&(from, most)| error_rate(from) < most && error_rate(from) > most / 4.0));
    }

    #[test]
    fn nothing_is_drawn_where_nothing_can_go_wrong() {
        assert!(error_rate(SAFE) == 0.0 && error_rate(0.99 * SAFE) < 1e-7);
        assert!(error_rate(1e-6) > 0.999);
    }
}
