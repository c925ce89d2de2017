//! The large-scale channel of 3GPP for `airlane.channel`, which checks the values.

use airlane_core::Seeds;
use airlane_radio::calibration::{Calibration, Curves, UeAntennas};
use airlane_radio::clusters::Reading;
use airlane_radio::large_scale::sidelink::{self, Road};
use airlane_radio::large_scale::{BuildingType, ChannelReport, ChannelScenario, LargeScale};
use airlane_radio::panel::Panel;
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

/// Coupling gain and geometry in dB of each UE of a calibration's drop, and the zenith angle at the serving site of
/// the line to it in degrees. `antenna` is the number of elements and their tilt as a zenith angle in degrees.
#[pyfunction]
pub(crate) fn channel_calibration(
    py: Python<'_>,
    report: &str,
    scenario: &str,
    carrier_ghz: f64,
    antenna: (u32, f64),
    drop: (u32, u64),
) -> PyResult<Vec<Vec<f64>>> {
    let (elements, tilt_deg) = antenna;
    let calibration = calibration(report, scenario, carrier_ghz, Panel::new(elements, 1, tilt_deg))?;
    Ok(dropped(py, &calibration, drop))
}

/// The same with clusters, and after them the spreads of the serving link: delay in ns, azimuth of departure and of
/// arrival, zenith of departure and of arrival in degrees. `antennas` are rows, columns and tilt, and whether those of
/// UEs are cross-polarized; `drop` is the number of UEs, the seed, whether the shadowing is correlated with the
/// spreads, and the readings of other implementations that apply.
#[pyfunction]
pub(crate) fn channel_full_calibration(
    py: Python<'_>,
    report: &str,
    scenario: &str,
    carrier_ghz: f64,
    antennas: (u32, u32, f64, bool),
    drop: (u32, u64, bool, Vec<String>),
) -> PyResult<Vec<Vec<f64>>> {
    let (rows, columns, tilt_deg, cross_polarized) = antennas;
    let (ues, seed, correlated_shadowing, readings) = drop;
    let readings: Vec<Reading> = readings.iter().map(|name| reading(name)).collect::<PyResult<_>>()?;
    let ue = if cross_polarized { UeAntennas::CrossPolarized } else { UeAntennas::Vertical };
    let calibration = calibration(report, scenario, carrier_ghz, Panel::new(rows, columns, tilt_deg))?
        .with_clusters(ue, correlated_shadowing)
        .with_readings(&readings);
    Ok(dropped(py, &calibration, (ues, seed)))
}

fn calibration(report: &str, scenario: &str, carrier_ghz: f64, antenna: Panel) -> PyResult<Calibration> {
    Calibration::new(channel(report, scenario, carrier_ghz)?, antenna)
        .ok_or_else(|| unknown("scenario", "one that 3GPP has calibrated", scenario))
}

fn dropped(py: Python<'_>, calibration: &Calibration, drop: (u32, u64)) -> Vec<Vec<f64>> {
    let (ues, seed) = drop;
    let curves = py.detach(|| calibration.run(ues, Seeds::new(seed)));
    let Curves { coupling_gain_db, geometry_db, sight_zenith_deg, spreads } = curves;
    let mut columns = vec![coupling_gain_db, geometry_db, sight_zenith_deg];
    if !spreads.is_empty() {
        columns.push(spreads.iter().map(|one| one.delay_ns).collect());
        columns.push(spreads.iter().map(|one| one.departure_deg).collect());
        columns.push(spreads.iter().map(|one| one.arrival_deg).collect());
        columns.push(spreads.iter().map(|one| one.zenith_departure_deg).collect());
        columns.push(spreads.iter().map(|one| one.zenith_arrival_deg).collect());
    }
    columns
}

fn reading(name: &str) -> PyResult<Reading> {
    Ok(match name {
        "removal-with-sight" => Reading::RemovalWithSight,
        "no-removal" => Reading::NoRemoval,
        "sight-in-first-cluster" => Reading::SightInFirstCluster,
        "logarithmic-spread" => Reading::LogarithmicSpread,
        "zenith-of-outdoor-part" => Reading::ZenithOfOutdoorPart,
        "shadowing-as-loss" => Reading::ShadowingAsLoss,
        "least-distance-of-whole" => Reading::LeastDistanceOfWhole,
        "attachment-by-path-loss" => Reading::AttachmentByPathLoss,
        other => return Err(unknown("readings", "one of airlane.channel.Reading", other)),
    })
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
