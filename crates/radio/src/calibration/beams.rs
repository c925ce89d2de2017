//! The gain of a panel as a table, because a drop asks for it some hundred million times.

use crate::clusters::Ray;
use crate::panel::Panel;

/// Steps per degree. Half a degree is a twentieth of the beam of ten rows (10 degrees).
const STEPS: f64 = 2.0;
/// Steps from the zenith to the nadir, and around.
const ZENITHS: usize = 361;
const AZIMUTHS: usize = 720;

/// Linear gains by zenith angle and azimuth from the beam.
#[derive(Clone, Debug)]
pub(super) struct GainTable {
    gains: Vec<f32>,
}

impl GainTable {
    pub(super) fn new(panel: &Panel) -> Self {
        let gain = |zenith: usize, azimuth: usize| {
            panel.gain(zenith as f64 / STEPS, azimuth as f64 / STEPS).linear() as f32
        };
        let gains =
            (0..ZENITHS).flat_map(|zenith| (0..AZIMUTHS).map(move |azimuth| gain(zenith, azimuth))).collect();
        Self { gains }
    }

    /// Power of a ray through the antenna of a sector.
    pub(super) fn power(&self, ray: &Ray, sector_deg: f64) -> f64 {
        let zenith = ((ray.zenith_deg * STEPS + 0.5) as usize).min(ZENITHS - 1);
        let turns = (ray.azimuth_deg - sector_deg) / 360.0;
        let around = (turns - libm::floor(turns)) * AZIMUTHS as f64;
        let azimuth = (around + 0.5) as usize % AZIMUTHS;
        ray.power * f64::from(self.gains[zenith * AZIMUTHS + azimuth])
    }
}
