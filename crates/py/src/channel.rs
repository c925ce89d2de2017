//! The large-scale channel of 3GPP for `airlane.channel`, which checks the values.

use airlane_core::Seeds;
use airlane_radio::calibration::{Calibration, Curves};
use airlane_radio::large_scale::sidelink::{self, Road};
use airlane_radio::large_scale::{BuildingType, ChannelReport, ChannelScenario, LargeScale};
use airlane_radio::panel::Column;
use airlane_radio::{Position, RadioPath};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Path loss of a link in dB, standard deviation of its shadowing in dB, and the distance in metres at which the
/// correlation of that is 1/e. `link` is distance along the ground, heights of site and UE, and environment
/// height, all in metres; `state` is line of sight, indoors, and whether the optional formula is used.
#[pyfunction]
pub(crate) fn channel_loss(
    report: &str,
    scenario: &str,
    carrier_ghz: f64,
    link: (f64, f64, f64, f64),
    state: (bool, bool, bool),
) -> PyResult<(f64, f64, f64)> {
    let (ground_m, site_m, ue_m, environment_m) = link;
    let (line_of_sight, indoor, optional_nlos) = state;
    let model = LargeScale { optional_nlos, ..channel(report, scenario, carrier_ghz)? };
    let site = Position { z: site_m, ..Position::default() };
    let path = RadioPath::between(&site, &Position { x: ground_m, y: 0.0, z: ue_m }, line_of_sight);
    let (sigma, correlation_m) = model.shadowing(&path, indoor);
    Ok((model.loss(&path, environment_m).0, sigma.0, correlation_m))
}

/// Probability of a line of sight at a distance along the ground, in metres and outdoors, to a UE of this height.
#[pyfunction]
pub(crate) fn channel_line_of_sight(
    report: &str,
    scenario: &str,
    outdoor_m: f64,
    ue_m: f64,
) -> PyResult<f64> {
    Ok(channel(report, scenario, 1.0)?.line_of_sight_probability(outdoor_m, ue_m))
}

/// Loss of the external wall in dB and its standard deviation; `building` is "low", "high" or "20 dB".
#[pyfunction]
pub(crate) fn channel_wall(building: &str, carrier_ghz: f64) -> PyResult<(f64, f64)> {
    let building = match building {
        "low" => BuildingType::LowLoss,
        "high" => BuildingType::HighLoss,
        "20 dB" => BuildingType::TwentyDecibels,
        other => return Err(unknown("building", "low, high or 20 dB", other)),
    };
    Ok((building.wall(carrier_ghz).0, building.sigma().0))
}

/// Path loss between vehicles in dB, and the standard deviation of its shadowing. `road` is "urban" or "highway".
#[pyfunction]
pub(crate) fn sidelink_loss(
    road: &str,
    line_of_sight: bool,
    distance_m: f64,
    carrier_ghz: f64,
) -> PyResult<(f64, f64)> {
    let road = match road {
        "urban" => Road::Urban,
        "highway" => Road::Highway,
        other => return Err(unknown("road", "urban or highway", other)),
    };
    let (loss, sigma) = sidelink::loss(road, line_of_sight, distance_m, carrier_ghz);
    Ok((loss.0, sigma.0))
}

/// Coupling gain and geometry in dB of each UE of a calibration's drop. `antenna` is the number of elements and
/// their tilt as a zenith angle in degrees.
#[pyfunction]
pub(crate) fn channel_calibration(
    py: Python<'_>,
    report: &str,
    scenario: &str,
    carrier_ghz: f64,
    antenna: (u32, f64),
    drop: (u32, u64),
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let (elements, tilt_deg) = antenna;
    let (ues, seed) = drop;
    let channel = channel(report, scenario, carrier_ghz)?;
    let calibration = Calibration::new(channel, Column { elements, spacing: 0.5, tilt_deg })
        .ok_or_else(|| unknown("scenario", "one that 3GPP has calibrated", scenario))?;
    let Curves { coupling_gain_db, geometry_db } = py.detach(|| calibration.run(ues, Seeds::new(seed)));
    Ok((coupling_gain_db, geometry_db))
}

fn channel(report: &str, scenario: &str, carrier_ghz: f64) -> PyResult<LargeScale> {
    let report = match report {
        "36.873" => ChannelReport::Tr36873,
        "38.900" => ChannelReport::Tr38900,
        "38.901" => ChannelReport::Tr38901,
        other => return Err(unknown("report", "36.873, 38.900 or 38.901", other)),
    };
    let scenario = match scenario {
        "UMa" => ChannelScenario::UrbanMacro,
        "UMi" => ChannelScenario::UrbanMicro,
        "RMa" => ChannelScenario::RuralMacro,
        "InH-mixed" => ChannelScenario::MixedOffice,
        "InH-open" => ChannelScenario::OpenOffice,
        other => return Err(unknown("scenario", "UMa, UMi, RMa, InH-mixed or InH-open", other)),
    };
    Ok(LargeScale::new(report, scenario, carrier_ghz * 1e9))
}

fn unknown(what: &str, expected: &str, found: &str) -> PyErr {
    PyValueError::new_err(format!("{what}: expected {expected}, not {found:?}"))
}
