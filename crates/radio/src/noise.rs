//! Thermal noise, and the SINR of each PRB from its received signals.
//!
//! Powers are relative to the noise of one PRB, so that the loops over PRBs can use `f32`:
//! signal-to-noise and interference-to-noise ratios are within 10^±15.

use airlane_core::{Dbm, Decibel};

/// Thermal noise density kT in dBm/Hz at 290 K, rounded as in ns-3.37
/// `lte-spectrum-value-helper.cc` (10 log10(1.380649e-23 · 290 / 1 mW) = −173.98).
pub const THERMAL_NOISE_DBM_HZ: f64 = -174.0;

/// The noise of one PRB of this bandwidth in a receiver with this noise figure.
#[must_use]
pub fn prb_noise(bandwidth_hz: f64, noise_figure: Decibel) -> Dbm {
    Dbm(THERMAL_NOISE_DBM_HZ + 10.0 * libm::log10(bandwidth_hz)) + noise_figure
}

/// The power on each PRB when `total` is spread evenly over `n_prb`.
#[must_use]
pub fn prb_power(total: Dbm, n_prb: usize) -> Dbm {
    total - Decibel::from_linear(n_prb as f64)
}

/// The mean signal-to-noise ratio of a PRB, linear: the transmit power on one PRB less the path
/// loss, over the receiver's noise. Also used for the interference-to-noise ratio of a neighbour.
#[must_use]
pub fn prb_snr(sent: Dbm, loss: Decibel, noise: Dbm) -> f32 {
    (sent - loss - noise).linear_f32()
}

/// Another cell's signal at this receiver.
#[derive(Clone, Copy, Debug)]
pub struct Interferer<'a> {
    /// Mean interference-to-noise ratio of a PRB on which it transmits, linear.
    pub prb_inr: f32,
    /// Linear fading gain per PRB; empty without fading.
    pub gains: &'a [f32],
    /// Fraction of its power on each PRB, 0 to 1; empty if it transmits on all.
    pub activity: &'a [f32],
}

/// The linear SINR of each PRB: `prb_snr` times the fading gain, over noise and interference.
/// `gains` is empty without fading. Slices that are not empty have the length of `out`.
pub fn sinr(prb_snr: f32, gains: &[f32], interferers: &[Interferer<'_>], out: &mut [f32]) {
    if interferers.is_empty() {
        if gains.is_empty() {
            out.fill(prb_snr);
        } else {
            assert_eq!(gains.len(), out.len(), "one gain per PRB");
            out.iter_mut().zip(gains).for_each(|(o, &g)| *o = prb_snr * g);
        }
        return;
    }
    out.fill(1.0);
    for other in interferers {
        add_interference(other, out);
    }
    if gains.is_empty() {
        out.iter_mut().for_each(|o| *o = prb_snr / *o);
    } else {
        assert_eq!(gains.len(), out.len(), "one gain per PRB");
        out.iter_mut().zip(gains).for_each(|(o, &g)| *o = prb_snr * g / *o);
    }
}

fn add_interference(other: &Interferer<'_>, out: &mut [f32]) {
    let n = out.len();
    assert!(other.gains.is_empty() || other.gains.len() == n, "one gain per PRB");
    assert!(other.activity.is_empty() || other.activity.len() == n, "one activity per PRB");
    let inr = other.prb_inr;
    match (other.gains.is_empty(), other.activity.is_empty()) {
        (true, true) => out.iter_mut().for_each(|o| *o += inr),
        (false, true) => out.iter_mut().zip(other.gains).for_each(|(o, &g)| *o += inr * g),
        (true, false) => out.iter_mut().zip(other.activity).for_each(|(o, &a)| *o += inr * a),
        (false, false) => {
            let both = other.gains.iter().zip(other.activity);
            out.iter_mut().zip(both).for_each(|(o, (&g, &a))| *o += inr * g * a);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path_loss::{PathLoss, RadioPath};

    #[test]
    fn noise_of_a_prb_by_hand() {
        // -174 + 10 log10(180 000) + 9 = -174 + 52.553 + 9.
        assert!((prb_noise(180e3, Decibel(9.0)).0 + 112.447).abs() < 1e-3);
        assert!((prb_power(Dbm(30.0), 100).0 - 10.0).abs() < 1e-12);
    }

    #[test]
    fn interference_adds_to_noise() {
        let mut out = [0.0; 3];
        sinr(8.0, &[], &[], &mut out);
        assert_eq!(out, [8.0; 3]);
        sinr(8.0, &[0.5, 1.0, 2.0], &[], &mut out);
        assert_eq!(out, [4.0, 8.0, 16.0]);
        let flat = Interferer { prb_inr: 1.0, gains: &[], activity: &[] };
        sinr(8.0, &[], &[flat, flat, flat], &mut out);
        assert_eq!(out, [2.0; 3]);
        // 1 + 4 * (1, 0.25, 0.5) * (0, 1, 0.5) = (1, 2, 2).
        let partial = Interferer { prb_inr: 4.0, gains: &[1.0, 0.25, 0.5], activity: &[0.0, 1.0, 0.5] };
        sinr(8.0, &[1.0, 1.0, 0.5], &[partial], &mut out);
        assert_eq!(out, [8.0, 4.0, 2.0]);
        let idle = Interferer { prb_inr: 4.0, gains: &[], activity: &[0.0, 1.0, 0.0] };
        let fading = Interferer { prb_inr: 2.0, gains: &[1.0, 1.5, 0.0], activity: &[] };
        // 1 + (0, 4, 0) + (2, 3, 0) = (3, 8, 1).
        sinr(24.0, &[], &[idle, fading], &mut out);
        assert_eq!(out, [8.0, 3.0, 24.0]);
    }

    fn straight(distance_m: f64) -> RadioPath {
        let far = crate::Position::on_ground(distance_m, 0.0);
        RadioPath::between(&crate::Position::default(), &far, true)
    }

    #[test]
    fn two_cells_at_the_peers_distances() {
        // 25 PRBs, eNB 30 dBm, UE noise figure 9 dB, EARFCN 100: both cells send on all PRBs.
        let law = PathLoss::Friis { frequency_hz: 2120e6 };
        let noise = prb_noise(180e3, Decibel(9.0));
        let sent = prb_power(Dbm(30.0), 25);
        let mut out = [0.0];
        for row in crate::reference::rows(include_str!("../data/interference_ns3.csv")) {
            let inr = prb_snr(sent, law.loss(&straight(row[1])), noise);
            let other = Interferer { prb_inr: inr, gains: &[], activity: &[] };
            sinr(prb_snr(sent, law.loss(&straight(row[0])), noise), &[], &[other], &mut out);
            let error = f64::from(out[0]) / row[2] - 1.0;
            assert!(error.abs() < 0.01, "{} m, {} m: {} against {}", row[0], row[1], out[0], row[2]);
        }
    }
}
