//! Uplink power control, open loop: TS 36.213 v8.8.0 §5.1.1.1.
//!
//! P = min(Pmax, 10 log10(M) + P0 + α·PL) over the M PRBs of a PUSCH. The path loss is that of the
//! uplink carrier before fading; a UE would take it from the filtered RSRP of the downlink. Not
//! included: ΔTF and f(i) (the closed loop), the minimum power, and power control of PUCCH.
//!
//! Without power control, each granted PRB has the power that it would have if full power were
//! spread over the whole band, independent of the number of granted PRBs. This is ns-3's behaviour
//! with its power control off.

use airlane_core::{Dbm, Decibel};

use crate::config::{CellConfig, PowerControl};

/// The power budget of a UE's uplink.
#[derive(Clone, Debug)]
pub(crate) struct PuschPower {
    control: Option<PowerControl>,
    /// Noise of a PRB at the eNB.
    noise: Dbm,
    /// Power of a PRB when the UE's maximum is spread over the whole band.
    spread: Dbm,
    /// Number of PRBs of the band.
    prbs: f32,
    /// SINR of a PRB at `spread`, and the SINR that results from P0 + α·PL.
    wanted: (f32, f32),
}

impl PuschPower {
    /// For a UE with this maximum power, in this cell.
    pub(crate) fn new(cell: &CellConfig, most: Dbm) -> Self {
        let noise = cell.prb_noise();
        Self::over(cell.mac.uplink.power_control, noise, most, cell.resource_blocks)
    }

    /// The same UE in another cell.
    pub(crate) fn moved_to(&self, cell: &CellConfig) -> Self {
        Self::new(cell, self.spread + Decibel::from_linear(f64::from(self.prbs)))
    }

    fn over(control: Option<PowerControl>, noise: Dbm, most: Dbm, prbs: u16) -> Self {
        let spread = most - Decibel::from_linear(f64::from(prbs));
        Self { control, noise, spread, prbs: f32::from(prbs), wanted: (f32::NAN, 1.0) }
    }

    /// SINR before fading of a PUSCH on `granted` PRBs, relative to `mean`, the SINR of the whole
    /// band at full power.
    pub(crate) fn factor(&mut self, mean: f32, granted: u16) -> f32 {
        let Some(control) = self.control else { return 1.0 };
        if self.wanted.0 != mean {
            self.wanted = (mean, self.asked_for(control, mean));
        }
        (self.prbs / f32::from(granted.max(1))).min(self.wanted.1)
    }

    fn asked_for(&self, control: PowerControl, mean: f32) -> f32 {
        let received = self.noise.0 + 10.0 * libm::log10(f64::from(mean).max(1e-12));
        let path_loss = self.spread.0 - received;
        Decibel(control.p0.0 + control.alpha * path_loss - self.spread.0).linear() as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 23 dBm, 100 PRBs (3 dBm each), noise −116.4 dBm: SINR of the band at a path loss.
    fn mean(path_loss_db: f64) -> f32 {
        Decibel(3.0 - path_loss_db + 116.4).linear() as f32
    }

    fn power_db(control: PowerControl, path_loss_db: f64, granted: u16) -> f64 {
        let mut power = PuschPower::over(Some(control), Dbm(-116.4), Dbm(23.0), 100);
        3.0 + 10.0 * libm::log10(f64::from(power.factor(mean(path_loss_db), granted)))
    }

    #[test]
    fn the_formula_of_the_standard() {
        let control = PowerControl { p0: Dbm(-80.0), alpha: 0.8 };
        // PL 70 dB: −80 + 56 = −24 dBm per PRB for any number.
        assert!((power_db(control, 70.0, 1) + 24.0).abs() < 1e-3);
        assert!((power_db(control, 70.0, 50) + 24.0).abs() < 1e-3);
        // PL 120 dB: +16 dBm a PRB. Five of them would need 23 dBm exactly; ten share 23 dBm.
        assert!((power_db(control, 120.0, 4) - 16.0).abs() < 1e-3);
        assert!((power_db(control, 120.0, 10) - 13.0).abs() < 1e-3);
        // With full compensation every PRB is received at P0.
        let full = PowerControl { p0: Dbm(-90.0), alpha: 1.0 };
        assert!((power_db(full, 88.0, 20) + 2.0).abs() < 1e-3);
    }

    #[test]
    fn without_it_the_band_is_at_full_power() {
        let mut power = PuschPower::over(None, Dbm(-116.4), Dbm(23.0), 100);
        assert_eq!(power.factor(5.0, 1), 1.0);
    }
}
