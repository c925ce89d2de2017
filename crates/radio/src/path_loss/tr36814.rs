//! The scenes of 3GPP TR 36.814 v9.2.0 Annex B.1.2 (those of Report ITU-R M.2135-1): path loss with
//! and without line of sight, the probability of line of sight, and the shadowing.

use airlane_core::Decibel;

use super::{Heights, RadioPath};

/// The speed of light as rounded in the table, m/s (note 1).
const C: f64 = 3.0e8;
/// Minimum distance of the table in metres.
const NEAREST_M: f64 = 10.0;
/// Effective environment height in urban scenes, metres (note 1).
const ENVIRONMENT_HEIGHT_M: f64 = 1.0;

/// A scene of Table B.1.2.1-1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scene {
    /// UMa: antennas above the roofs of a city.
    UrbanMacro,
    /// UMi: antennas below them (hexagonal layout).
    UrbanMicro,
    /// RMa: open country.
    RuralMacro,
}

/// A scene and its surroundings. UMi does not use the two lengths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Surroundings {
    /// The scene.
    pub scene: Scene,
    /// W: width of streets in metres, 5 to 50.
    pub street_width_m: f64,
    /// h: mean height of buildings in metres, 5 to 50.
    pub building_height_m: f64,
}

/// The heights of the last column of the table, without UE heights of 1 m and below in cities, for
/// which there is no break point with line of sight.
pub(super) fn heights(scene: Scene) -> Heights {
    match scene {
        Scene::UrbanMacro => Heights { site_m: 10.0..=150.0, ue_m: 1.5..=10.0 },
        Scene::UrbanMicro => Heights { site_m: 10.0..=10.0, ue_m: 1.5..=2.5 },
        Scene::RuralMacro => Heights { site_m: 10.0..=150.0, ue_m: 1.0..=10.0 },
    }
}

/// The loss in dB (Table B.1.2.1-1).
pub(super) fn loss(path: &RadioPath, frequency_hz: f64, around: &Surroundings) -> f64 {
    let d = path.ground_m.max(NEAREST_M);
    match (around.scene, path.line_of_sight) {
        (Scene::UrbanMacro | Scene::UrbanMicro, true) => urban_los(path, d, frequency_hz),
        (Scene::UrbanMicro, false) => 36.7 * libm::log10(d) + 22.7 + 26.0 * libm::log10(frequency_hz / 1e9),
        (Scene::RuralMacro, true) => rural_los(path, d, frequency_hz, around.building_height_m),
        (Scene::UrbanMacro | Scene::RuralMacro, false) => macro_nlos(path, d, frequency_hz, around),
    }
}

/// d'_BP of note 1, in metres: where the slope of urban line of sight doubles.
fn urban_break_point(path: &RadioPath, frequency_hz: f64) -> f64 {
    let effective = |height: f64| height - ENVIRONMENT_HEIGHT_M;
    4.0 * effective(path.site_height_m) * effective(path.ue_height_m) * frequency_hz / C
}

fn urban_los(path: &RadioPath, d: f64, frequency_hz: f64) -> f64 {
    let log_ghz = libm::log10(frequency_hz / 1e9);
    if d < urban_break_point(path, frequency_hz) {
        return 22.0 * libm::log10(d) + 28.0 + 20.0 * log_ghz;
    }
    let log_height = |height: f64| libm::log10(height - ENVIRONMENT_HEIGHT_M);
    40.0 * libm::log10(d) + 7.8 - 18.0 * log_height(path.site_height_m) - 18.0 * log_height(path.ue_height_m)
        + 2.0 * log_ghz
}

/// d_BP of note 2, in metres.
fn rural_break_point(path: &RadioPath, frequency_hz: f64) -> f64 {
    2.0 * core::f64::consts::PI * path.site_height_m * path.ue_height_m * frequency_hz / C
}

fn rural_los(path: &RadioPath, d: f64, frequency_hz: f64, building_height_m: f64) -> f64 {
    let h = libm::pow(building_height_m, 1.72);
    let near = |d: f64| {
        20.0 * libm::log10(40.0 * core::f64::consts::PI * d * (frequency_hz / 1e9) / 3.0)
            + (0.03 * h).min(10.0) * libm::log10(d)
            - (0.044 * h).min(14.77)
            + 0.002 * libm::log10(building_height_m) * d
    };
    let break_point = rural_break_point(path, frequency_hz).max(NEAREST_M);
    if d < break_point { near(d) } else { near(break_point) + 40.0 * libm::log10(d / break_point) }
}

fn macro_nlos(path: &RadioPath, d: f64, frequency_hz: f64, around: &Surroundings) -> f64 {
    MacroNlos::new(path, frequency_hz, around).loss(d)
}

/// The parts of the loss of a macro cell without line of sight that depend only on the heights of the
/// antennas.
#[derive(Clone, Copy, Debug)]
pub(super) struct MacroNlos {
    heights_m: [f64; 2],
    base: f64,
    slope: f64,
    frequency: f64,
    ue: f64,
}

impl MacroNlos {
    fn new(path: &RadioPath, frequency_hz: f64, around: &Surroundings) -> Self {
        let (h, site) = (around.building_height_m, path.site_height_m);
        let log_site = libm::log10(site);
        let log_ue = libm::log10(11.75 * path.ue_height_m);
        Self {
            heights_m: [site, path.ue_height_m],
            base: 161.04 - 7.1 * libm::log10(around.street_width_m) + 7.5 * libm::log10(h)
                - (24.37 - 3.7 * (h / site) * (h / site)) * log_site,
            slope: 43.42 - 3.1 * log_site,
            frequency: 20.0 * libm::log10(frequency_hz / 1e9),
            ue: 3.2 * log_ue * log_ue - 4.97,
        }
    }

    fn loss(&self, d: f64) -> f64 {
        self.base + self.slope * (libm::log10(d) - 3.0) + self.frequency - self.ue
    }

    /// [`loss`] with the cached parts for these heights. `memo` must be used with one frequency and one
    /// scene.
    pub(super) fn loss_again(
        memo: &mut Option<Self>,
        path: &RadioPath,
        frequency_hz: f64,
        around: &Surroundings,
    ) -> f64 {
        if path.line_of_sight || around.scene == Scene::UrbanMicro {
            return loss(path, frequency_hz, around);
        }
        let known = memo.filter(|known| known.heights_m == [path.site_height_m, path.ue_height_m]);
        let known = *memo.insert(known.unwrap_or_else(|| Self::new(path, frequency_hz, around)));
        known.loss(path.ground_m.max(NEAREST_M))
    }
}

/// Table B.1.2.1-2.
pub(super) fn line_of_sight_probability(scene: Scene, d: f64) -> f64 {
    let urban = |scale: f64| {
        let far = libm::exp(-d / scale);
        (18.0 / d.max(18.0)) * (1.0 - far) + far
    };
    match scene {
        Scene::UrbanMacro => urban(63.0),
        Scene::UrbanMicro => urban(36.0),
        Scene::RuralMacro => libm::exp(-(d - 10.0).max(0.0) / 1000.0),
    }
}

/// Standard deviation (Table B.1.2.1-1) and correlation distance in metres (Table B.1.2.2.1-4; unverified). The
/// distances of UMa and UMi with line of sight and of RMa are those of TR 38.901 v16.0 Table 7.5-6 as the files
/// `para_*.m` of github.com/getOcr/WiLab-plus state it.
pub(super) fn shadowing(path: &RadioPath, frequency_hz: f64, scene: Scene) -> (Decibel, f64) {
    let (sigma, correlation_m) = match (scene, path.line_of_sight) {
        (Scene::UrbanMacro, true) => (4.0, 37.0),
        (Scene::UrbanMacro, false) => (6.0, 50.0),
        (Scene::UrbanMicro, true) => (3.0, 10.0),
        (Scene::UrbanMicro, false) => (4.0, 13.0),
        (Scene::RuralMacro, true) => {
            let near = path.ground_m < rural_break_point(path, frequency_hz);
            (if near { 4.0 } else { 6.0 }, 37.0)
        }
        (Scene::RuralMacro, false) => (8.0, 120.0),
    };
    (Decibel(sigma), correlation_m)
}
