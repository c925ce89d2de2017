//! Path loss of TR 38.901 Table 7.4.1-1 and TR 36.873 Table 7.2-1, in dB.

use super::{ChannelReport, ChannelScenario, LargeScale};
use crate::path_loss::RadioPath;

/// The speed of light as rounded in the tables, m/s (notes 1 and 5).
const C: f64 = 3.0e8;
/// h: mean height of buildings in metres, RMa of TR 38.901 (its default).
const RURAL_BUILDING_M: f64 = 5.0;
/// W: mean width of streets in metres, the default of RMa and of 3D-UMa.
const STREET_M: f64 = 20.0;
/// h: mean height of buildings in metres, the default of 3D-UMa.
const URBAN_BUILDING_M: f64 = 20.0;

/// Loss with line of sight.
pub(super) fn line_of_sight(model: &LargeScale, path: &RadioPath, environment_height_m: f64) -> f64 {
    use ChannelReport::{Tr36873, Tr38900, Tr38901};
    use ChannelScenario::{MixedOffice, OpenOffice, RuralMacro, UrbanMacro, UrbanMicro};
    // Loss at 1 m and 1 GHz; dB per decade before the break point; factor of the logarithm beyond it.
    let (at_1_m, slope, bend) = match (model.scenario, model.report) {
        (UrbanMacro, Tr38901) | (UrbanMacro | UrbanMicro, Tr36873) => (28.0, 22.0, 9.0),
        (UrbanMacro, Tr38900) => (32.4, 20.0, 10.0),
        (UrbanMicro, Tr38900 | Tr38901) => (32.4, 21.0, 9.5),
        (RuralMacro, _) => return rural_line_of_sight(model, path),
        (MixedOffice | OpenOffice, _) => {
            return 32.4 + 17.3 * libm::log10(path.distance_m) + frequency(model, 20.0);
        }
    };
    let break_m = urban_break_point_m(model, path, environment_height_m);
    let near = at_1_m + frequency(model, 20.0);
    if path.ground_m <= break_m {
        return near + slope * libm::log10(path.distance_m);
    }
    let rise = path.site_height_m - path.ue_height_m;
    near + 40.0 * libm::log10(path.distance_m) - bend * libm::log10(break_m * break_m + rise * rise)
}

/// Loss without line of sight, before the maximum with that of a line of sight.
pub(super) fn no_line_of_sight(model: &LargeScale, path: &RadioPath) -> f64 {
    let decades = libm::log10(path.distance_m);
    let above_m = path.ue_height_m - 1.5;
    match (model.scenario, model.report) {
        // log10(11.75 * 1.5 m) = log10(17.625): in 3D-UMa the height of the UE is in the last term only.
        (ChannelScenario::UrbanMacro, ChannelReport::Tr36873) => {
            macro_loss(model, path, URBAN_BUILDING_M, 1.5) - 0.6 * above_m
        }
        (ChannelScenario::UrbanMacro, ChannelReport::Tr38900 | ChannelReport::Tr38901) => {
            13.54 + 39.08 * decades + frequency(model, 20.0) - 0.6 * above_m
        }
        (ChannelScenario::UrbanMicro, ChannelReport::Tr36873) => {
            22.7 + 36.7 * decades + frequency(model, 26.0) - 0.3 * above_m
        }
        (ChannelScenario::UrbanMicro, ChannelReport::Tr38900 | ChannelReport::Tr38901) => {
            22.4 + 35.3 * decades + frequency(model, 21.3) - 0.3 * above_m
        }
        (ChannelScenario::RuralMacro, _) => macro_loss(model, path, RURAL_BUILDING_M, path.ue_height_m),
        (ChannelScenario::MixedOffice | ChannelScenario::OpenOffice, _) => {
            17.3 + 38.3 * decades + frequency(model, 24.9)
        }
    }
}

/// The optional loss without line of sight, if chosen and if the scenario has one.
pub(super) fn optional(model: &LargeScale, path: &RadioPath) -> Option<f64> {
    let slope = match model.scenario {
        ChannelScenario::UrbanMacro => 30.0,
        ChannelScenario::UrbanMicro | ChannelScenario::MixedOffice | ChannelScenario::OpenOffice => 31.9,
        ChannelScenario::RuralMacro => return None,
    };
    model.optional_nlos.then(|| 32.4 + frequency(model, 20.0) + slope * libm::log10(path.distance_m))
}

/// d'_BP of note 1, in metres.
fn urban_break_point_m(model: &LargeScale, path: &RadioPath, environment_height_m: f64) -> f64 {
    let effective = |height_m: f64| height_m - environment_height_m;
    4.0 * effective(path.site_height_m) * effective(path.ue_height_m) * model.carrier_ghz * 1e9 / C
}

/// d_BP of note 5, in metres.
pub(super) fn rural_break_point_m(model: &LargeScale, path: &RadioPath) -> f64 {
    2.0 * core::f64::consts::PI * path.site_height_m * path.ue_height_m * model.carrier_ghz * 1e9 / C
}

fn rural_line_of_sight(model: &LargeScale, path: &RadioPath) -> f64 {
    let h = libm::pow(RURAL_BUILDING_M, 1.72);
    let near = |d: f64| {
        20.0 * libm::log10(40.0 * core::f64::consts::PI * d * model.carrier_ghz / 3.0)
            + (0.03 * h).min(10.0) * libm::log10(d)
            - (0.044 * h).min(14.77)
            + 0.002 * libm::log10(RURAL_BUILDING_M) * d
    };
    let break_m = rural_break_point_m(model, path);
    if path.ground_m <= break_m {
        near(path.distance_m)
    } else {
        near(break_m) + 40.0 * libm::log10(path.distance_m / break_m)
    }
}

/// The formula of ITU-R M.2135 that RMa and 3D-UMa share.
fn macro_loss(model: &LargeScale, path: &RadioPath, building_m: f64, ue_height_m: f64) -> f64 {
    let site = path.site_height_m;
    let (log_site, log_ue) = (libm::log10(site), libm::log10(11.75 * ue_height_m));
    let shape = building_m / site;
    161.04 - 7.1 * libm::log10(STREET_M) + 7.5 * libm::log10(building_m)
        - (24.37 - 3.7 * shape * shape) * log_site
        + (43.42 - 3.1 * log_site) * (libm::log10(path.distance_m) - 3.0)
        + frequency(model, 20.0)
        - (3.2 * log_ue * log_ue - 4.97)
}

/// `factor` per decade of frequency, zero at 1 GHz.
fn frequency(model: &LargeScale, factor: f64) -> f64 {
    factor * libm::log10(model.carrier_ghz)
}
