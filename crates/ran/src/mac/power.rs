//! Uplink power control, open loop: TS 36.213 v8.8.0 §5.1.1.1.
//!
//! P = min(Pmax, 10 log10(M) + P0 + α·PL) over the M PRBs of a PUSCH. The path loss is that of the
//! uplink carrier before fading; a UE would take it from the filtered RSRP of the downlink. Not
//! included: ΔTF and f(i) (the closed loop), the minimum power, the reduction of the maximum power (MPR: P_CMAX is
//! the UE's maximum power), and power control of PUCCH.
//!
//! Without power control, each granted PRB has the power that it would have if full power were
//! spread over the whole band, independent of the number of granted PRBs. This is ns-3's behaviour
//! with its power control off. A UE that sends to several cells shares its power among them
//! ([`super::shared_power`]).

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
    /// The power at the latest path loss.
    latest: OpenLoopPower,
}

/// The power of a PRB at a path loss, before the limit of the UE's power.
#[derive(Clone, Copy, Debug)]
struct OpenLoopPower {
    /// SINR of a PRB at full power over the band, from which the path loss follows.
    mean: f32,
    path_loss_db: f64,
    /// Power of a PRB relative to full power over the band.
    factor: f32,
}

impl PuschPower {
    /// For a UE with this maximum power, in this cell.
    pub(crate) fn new(cell: &CellConfig, most: Dbm) -> Self {
        let noise = cell.prb_noise();
        Self::over(cell.mac.uplink.power_control, noise, most, cell.resource_blocks)
    }

    /// For this UE in another cell.
    pub(crate) fn moved_to(&self, cell: &CellConfig) -> Self {
        Self::new(cell, self.spread + Decibel::from_linear(f64::from(self.prbs)))
    }

    fn over(control: Option<PowerControl>, noise: Dbm, most: Dbm, prbs: u16) -> Self {
        let spread = most - Decibel::from_linear(f64::from(prbs));
        Self {
            control,
            noise,
            spread,
            prbs: f32::from(prbs),
            latest: OpenLoopPower { mean: f32::NAN, path_loss_db: 0.0, factor: 1.0 },
        }
    }

    /// Whether there is power control.
    pub(crate) const fn is_controlled(&self) -> bool {
        self.control.is_some()
    }

    /// The power at the path loss of this SINR, if there is power control.
    #[inline]
    fn open_loop(&mut self, mean: f32) -> Option<OpenLoopPower> {
        let control = self.control?;
        if self.latest.mean != mean {
            self.latest = self.of_formula(control, mean);
        }
        Some(self.latest)
    }

    /// SINR before fading of a PUSCH on `granted` PRBs, relative to `mean`, the SINR of the whole
    /// band at full power. Other cells leave the share `left` of the maximum power.
    pub(crate) fn factor(&mut self, mean: f32, granted: u16, left: f32) -> f32 {
        let most = self.prbs * left / f32::from(granted.max(1));
        most.min(self.asked(mean))
    }

    /// Whether a PUSCH on `granted` PRBs has less power than the formula asks for, from the same share.
    #[inline]
    pub(crate) fn is_limited(&mut self, mean: f32, granted: u16, left: f32) -> bool {
        self.asked(mean) * f32::from(granted) > self.prbs * left
    }

    /// The power of a PRB without the limit of the UE's power, relative to full power over the band.
    #[inline]
    fn asked(&mut self, mean: f32) -> f32 {
        self.open_loop(mean).map_or(1.0, |power| power.factor)
    }

    /// The path loss in dB, if there is power control.
    #[inline]
    pub(crate) fn path_loss_db(&mut self, mean: f32) -> Option<f64> {
        self.open_loop(mean).map(|power| power.path_loss_db)
    }

    /// Type 1 power headroom of a PUSCH on `granted` PRBs: P_CMAX less the power of the formula (TS 36.213 §5.1.1.2,
    /// TS 38.213 §7.7.1), if there is power control.
    pub(crate) fn headroom(&mut self, mean: f32, granted: u16) -> Option<Decibel> {
        self.open_loop(mean)?;
        self.latest_headroom(granted)
    }

    /// [`Self::headroom`] at the path loss that was used last, if one was.
    pub(crate) fn latest_headroom(&self, granted: u16) -> Option<Decibel> {
        let OpenLoopPower { mean, factor, .. } = self.latest;
        let is_known = self.control.is_some() && !mean.is_nan();
        is_known.then(|| Decibel::from_linear(f64::from(self.prbs / (factor * f32::from(granted.max(1))))))
    }

    /// The power of a PUSCH on `granted` PRBs, at the path loss that was used last.
    pub(crate) fn sent(&self, granted: u16) -> Dbm {
        let most = self.spread + Decibel::from_linear(f64::from(self.prbs));
        match self.latest_headroom(granted) {
            Some(headroom) => most - Decibel(headroom.0.max(0.0)),
            None => self.spread + Decibel::from_linear(f64::from(granted.max(1))),
        }
    }

    fn of_formula(&self, control: PowerControl, mean: f32) -> OpenLoopPower {
        let received = self.noise.0 + 10.0 * libm::log10(f64::from(mean).max(1e-12));
        let path_loss_db = self.spread.0 - received;
        let factor = Decibel(control.p0.0 + control.alpha * path_loss_db - self.spread.0).linear() as f32;
        OpenLoopPower { mean, path_loss_db, factor }
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
        3.0 + 10.0 * libm::log10(f64::from(power.factor(mean(path_loss_db), granted, 1.0)))
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
    fn headroom_is_what_is_left_and_negative_beyond_the_limit() {
        let control = PowerControl { p0: Dbm(-80.0), alpha: 0.8 };
        let mut power = PuschPower::over(Some(control), Dbm(-116.4), Dbm(23.0), 100);
        // PL 120 dB: +16 dBm a PRB, so that 23 dBm leave 7 dB for one, 0 dB for five, and -3 dB for ten.
        let at = mean(120.0);
        for (granted, expected) in [(1, 7.0), (5, 7.0 - 6.99), (10, -3.0)] {
            let headroom = power.headroom(at, granted).unwrap().0;
            assert!((headroom - expected).abs() < 0.01, "{granted} PRBs: {headroom} dB");
            assert_eq!(power.is_limited(at, granted, 1.0), headroom < 0.0);
        }
        assert!((power.path_loss_db(at).unwrap() - 120.0).abs() < 1e-3);
    }

    #[test]
    fn without_it_the_band_is_at_full_power() {
        let mut power = PuschPower::over(None, Dbm(-116.4), Dbm(23.0), 100);
        assert_eq!(power.factor(5.0, 1, 1.0), 1.0);
        assert!(power.headroom(5.0, 1).is_none() && !power.is_limited(5.0, 100, 1.0));
    }

    #[test]
    fn other_cells_leave_a_share_of_the_power() {
        let control = PowerControl { p0: Dbm(-80.0), alpha: 0.8 };
        let mut power = PuschPower::over(Some(control), Dbm(-116.4), Dbm(23.0), 100);
        // PL 120 dB: +16 dBm a PRB. A quarter of 23 dBm is 17 dBm: enough for one, and two share it with 14 dBm each.
        let at = mean(120.0);
        for (granted, each) in [(1, 16.0), (2, 14.0), (4, 11.0)] {
            let factor = power.factor(at, granted, 0.25);
            assert!((3.0 + 10.0 * libm::log10f(factor) - each).abs() < 0.05, "{granted} PRBs: {factor}");
            assert_eq!(power.is_limited(at, granted, 0.25), granted > 1);
        }
        let mut spread = PuschPower::over(None, Dbm(-116.4), Dbm(23.0), 100);
        assert_eq!([25, 50].map(|granted| spread.factor(5.0, granted, 0.25)), [1.0, 0.5]);
        assert_eq!([25, 50].map(|granted| spread.is_limited(5.0, granted, 0.25)), [false, true]);
    }
}
