//! Antennas of a site: the gain in each direction.
//!
//! A panel has the three-dimensional pattern of [`crate::panel`]. The pattern of a sector is horizontal only, `-min(12 (θ / θ_3dB)², A_m)` (TR 25.814 v7.1.0 Table
//! A.2.1.1-3: θ_3dB = 70°, A_m = 20 dB; TR 36.942 v8.4.0 §4.2.1.1 has 65°). Not included:
//! antennas of UEs other than isotropic.

use airlane_core::Decibel;

use crate::geometry::Position;
use crate::panel::Panel;

/// An antenna.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Antenna {
    /// The same gain in each direction of the plane.
    Omni {
        /// Gain over an isotropic antenna.
        gain: Decibel,
    },
    /// One sector.
    Sector(Sector),
    /// One sector with a panel of elements.
    Panel {
        /// The panel.
        panel: Panel,
        /// Direction of the beam, in degrees from the x axis towards the y axis.
        azimuth_deg: f64,
    },
}

/// One sector of a site.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sector {
    /// Gain over an isotropic antenna at the centre of the beam.
    pub gain: Decibel,
    /// Direction of the beam, in degrees from the x axis towards the y axis.
    pub azimuth_deg: f64,
    /// θ_3dB: width of the beam in degrees, between the directions at −3 dB.
    pub beamwidth_deg: f64,
    /// A_m: maximum attenuation, in the back direction.
    pub front_to_back: Decibel,
}

impl Antenna {
    /// 0 dBi everywhere.
    pub const ISOTROPIC: Self = Self::Omni { gain: Decibel(0.0) };

    /// The gain towards `ue`; directly above or below a sector, that of its beam.
    #[must_use]
    pub fn gain_towards(&self, site: &Position, ue: &Position) -> Decibel {
        match self {
            Self::Omni { gain } => *gain,
            Self::Sector(sector) => {
                let (dx, dy) = (ue.x - site.x, ue.y - site.y);
                if dx == 0.0 && dy == 0.0 {
                    return sector.gain;
                }
                let bearing_deg = libm::atan2(dy, dx) * (180.0 / core::f64::consts::PI);
                sector.gain + sector.pattern(bearing_deg - sector.azimuth_deg)
            }
            Self::Panel { panel, azimuth_deg } => {
                let (dx, dy) = (ue.x - site.x, ue.y - site.y);
                let zenith_deg = 90.0 + libm::atan2(site.z - ue.z, site.ground_distance(ue)).to_degrees();
                let bearing_deg = libm::atan2(dy, dx).to_degrees();
                panel.gain(zenith_deg, bearing_deg - azimuth_deg)
            }
        }
    }
}

impl Sector {
    /// The pattern at this angle from the beam direction, in degrees; zero or less.
    #[must_use]
    pub fn pattern(&self, off_deg: f64) -> Decibel {
        let turns = off_deg / 360.0;
        let theta = (turns - libm::round(turns)) * 360.0; // -180 to 180
        let widths = theta / self.beamwidth_deg;
        Decibel(-(12.0 * widths * widths).min(self.front_to_back.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECTOR: Sector =
        Sector { gain: Decibel(14.0), azimuth_deg: 90.0, beamwidth_deg: 70.0, front_to_back: Decibel(20.0) };

    #[test]
    fn the_pattern_by_hand() {
        assert_eq!(SECTOR.pattern(0.0), Decibel(0.0));
        // 12 * (35 / 70)^2 = 3 dB: half the beam width.
        assert!((SECTOR.pattern(35.0).0 + 3.0).abs() < 1e-12);
        assert!((SECTOR.pattern(-35.0).0 + 3.0).abs() < 1e-12);
        // Between two of three sectors: 12 * (60 / 70)^2 = 8.816 dB.
        assert!((SECTOR.pattern(60.0).0 + 8.8163).abs() < 1e-4);
        // 12 (θ / 70)^2 reaches 20 dB at 70 sqrt(20 / 12) = 90.37 degrees.
        assert!(SECTOR.pattern(90.3).0 > -20.0);
        for behind in [90.4, 120.0, 180.0, -180.0, 240.0] {
            assert_eq!(SECTOR.pattern(behind), Decibel(-20.0), "{behind}");
        }
        // Full turns do not matter.
        assert!((SECTOR.pattern(35.0 + 720.0).0 + 3.0).abs() < 1e-9);
        assert!((SECTOR.pattern(325.0).0 + 3.0).abs() < 1e-9);
    }

    #[test]
    fn the_beam_points_where_it_is_told() {
        let site = Position { x: 100.0, y: 50.0, z: 30.0 };
        let antenna = Antenna::Sector(SECTOR);
        let gain = |x: f64, y: f64| antenna.gain_towards(&site, &Position { x, y, z: 1.5 }).0;
        assert!((gain(100.0, 550.0) - 14.0).abs() < 1e-9); // north, along the beam
        assert!((gain(100.0, -550.0) + 6.0).abs() < 1e-9); // south, behind it
        assert!((gain(600.0, 550.0) - (14.0 - 12.0 * (45.0 * 45.0) / (70.0 * 70.0))).abs() < 1e-9);
        assert_eq!(gain(100.0, 50.0), 14.0);
        assert_eq!(Antenna::ISOTROPIC.gain_towards(&site, &site), Decibel(0.0));
    }

    #[test]
    fn a_panel_points_down_and_to_its_side() {
        let site = Position { x: 0.0, y: 0.0, z: 25.0 };
        let antenna = Antenna::Panel { panel: Panel::new(10, 1, 102.0), azimuth_deg: 90.0 };
        let gain = |x: f64, y: f64| antenna.gain_towards(&site, &Position { x, y, z: 1.5 }).0;
        // 23.5 m below: its beam, 12 degrees down, meets the height of a UE 23.5 / tan 12 = 110.56 m away.
        assert!((gain(0.0, 110.56) - (18.0 - 12.0 * libm::pow(12.0 / 65.0, 2.0))).abs() < 1e-3);
        assert!((gain(0.0, -110.56) - (10.0 - 22.0)).abs() < 1e-3); // behind, 30 dB less than the element's 8
        // On the horizon the ten elements add only 10 lg 0.01493 (see `panel`).
        assert!(gain(0.0, 20_000.0) < 18.0 - 25.0);
    }

    #[test]
    fn three_sectors_cover_the_turn() {
        // The worst direction is between two sectors: 60 degrees from either.
        let site = Position::default();
        for degree in 0..360 {
            let angle = f64::from(degree).to_radians();
            let ue = Position::on_ground(500.0 * libm::cos(angle), 500.0 * libm::sin(angle));
            let best = [90.0, 210.0, 330.0]
                .map(|azimuth_deg| Antenna::Sector(Sector { azimuth_deg, ..SECTOR }))
                .map(|a| a.gain_towards(&site, &ue).0)
                .into_iter()
                .fold(f64::MIN, f64::max);
            assert!(best >= 14.0 - 8.8164, "{degree}: {best}");
        }
    }
}
