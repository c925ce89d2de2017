//! The geometry of a network against the calibration of the channel: the same drop from two programs, one of which has
//! no notion of cells and slots.

use airlane_radio::WrapAround;
use airlane_radio::calibration::Calibration;
use airlane_radio::large_scale::{ChannelReport, ChannelScenario, LargeScale};
use airlane_radio::panel::Panel;

use super::*;
use crate::build::Environment;

const INTER_SITE_M: f64 = 200.0;
const UES: usize = 800;
const REFERENCE_UES: u32 = 6000;
const ANTENNA: Panel = Panel::new(10, 1, 102.0);

/// UMi of TR 38.901 at 6 GHz: 19 sites with three sectors each, UEs on the floors of buildings.
fn street_canyons() -> RanConfig {
    let axes = [[INTER_SITE_M, 0.0], [INTER_SITE_M / 2.0, INTER_SITE_M * 0.75_f64.sqrt()]];
    let mut config = network(1, IDEAL);
    let (cell, ue) = (config.cells.remove(0), config.ues.remove(0));
    for i in -2..=2_i32 {
        for j in (-2..=2_i32).filter(|j| (i + j).abs() <= 2) {
            let (i, j) = (f64::from(i), f64::from(j));
            let position = Position { x: i * axes[0][0] + j * axes[1][0], y: j * axes[1][1], z: 10.0 };
            config.cells.extend([0.0, 120.0, 240.0].map(|azimuth_deg| CellConfig {
                position,
                antenna: Antenna::Panel { panel: ANTENNA, azimuth_deg },
                downlink_hz: 6e9,
                uplink_hz: 6e9,
                ..cell.clone()
            }));
        }
    }
    let start = Start::AroundSites { inter_site_distance_m: INTER_SITE_M, height_m: 1.5, least_m: 10.0 };
    let building =
        BuildingLaw { indoor: 0.8, low_loss: Some(0.5), depth_m: 25.0, storeys: [4, 8], storey_m: 3.0 };
    config.ues = vec![UeConfig { cell: None, start, building: Some(building), ..ue }; UES];
    config.flows.clear();
    config.channel.path_loss = PathLossModel::LargeScale {
        report: ChannelReport::Tr38901,
        scenario: ChannelScenario::UrbanMicro,
        optional_nlos: false,
    };
    config.channel.shadowing =
        Some(ShadowingConfig { deviation: None, correlation_m: None, site_correlation: 0.0 });
    config.channel.links.wrap_around = Some(WrapAround::hexagonal([0.0, 0.0], axes, 2));
    config
}

/// Coupling gain and geometry of each UE in dB, sorted, from the RSRP of all cells.
fn dropped(config: &RanConfig) -> [Vec<f64>; 2] {
    let mut ues = Environment::new(config).ues(config, Seeds::new(1));
    let cell = &config.cells[0];
    let subcarriers = Decibel::from_linear(12.0 * f64::from(cell.resource_blocks)).0;
    let mut found = [vec![], vec![]];
    for ue in &mut ues {
        let mobility = &mut ue.mobility;
        let link = ue.links.primary_mut();
        let mut gains = vec![link.downlink.channel.rsrp(Instant::ZERO, mobility, &mut None)];
        for other in link.neighbours.channels_mut() {
            gains.push(other.downlink.rsrp(Instant::ZERO, mobility, &mut None));
        }
        let gains: Vec<f64> =
            gains.iter().map(|rsrp| Decibel(rsrp.0 - cell.tx_power.0 + subcarriers).linear()).collect();
        // The UE is in the cell that it receives best.
        assert!(gains.iter().all(|gain| *gain <= gains[0] * (1.0 + 1e-6)));
        found[0].push(Decibel::from_linear(gains[0]).0);
        found[1].push(Decibel::from_linear(gains[0] / gains[1..].iter().sum::<f64>()).0);
    }
    found.iter_mut().for_each(|values| values.sort_by(f64::total_cmp));
    found
}

/// The same from the calibration.
fn calibrated() -> [Vec<f64>; 2] {
    let channel = LargeScale::new(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, 6e9);
    let curves = Calibration::new(channel, ANTENNA).unwrap().run(REFERENCE_UES, Seeds::new(1));
    let mut found = [curves.coupling_gain_db, curves.geometry_db];
    found.iter_mut().for_each(|values| values.sort_by(f64::total_cmp));
    found
}

/// The largest distance of two empirical distribution functions.
fn distance(ours: &[f64], theirs: &[f64]) -> f64 {
    let below = |values: &[f64], x: f64| values.partition_point(|v| *v <= x) as f64 / values.len() as f64;
    let both = ours.iter().chain(theirs);
    both.map(|x| (below(ours, *x) - below(theirs, *x)).abs()).fold(0.0, f64::max)
}

#[test]
fn a_drop_is_that_of_the_calibration() {
    let reference = calibrated();
    // Kolmogorov and Smirnov, 0.1 %: 1.95 sqrt(1 / 800 + 1 / 6000) = 0.0734.
    const LIMIT: f64 = 0.0734;
    let away = |config: &RanConfig| {
        let [gain, geometry] = dropped(config);
        [distance(&gain, &reference[0]), distance(&geometry, &reference[1])]
    };
    let config = street_canyons();
    let same = away(&config);
    assert!(same.iter().all(|distance| *distance < LIMIT), "{same:?}");
    // Each part has an effect that this test sees: the edge of the grid, buildings, the downtilt.
    let mut edged = config.clone();
    edged.channel.links.wrap_around = None;
    let mean = |config: &RanConfig| dropped(config)[1].iter().sum::<f64>() / UES as f64;
    // The same UEs, of which those in the outer ring have fewer interferers.
    let (ended, repeated) = (mean(&edged), mean(&config));
    assert!(ended > repeated + 0.3, "{ended} dB against {repeated} dB");
    let mut outdoors = config.clone();
    outdoors.ues.iter_mut().for_each(|ue| ue.building = None);
    assert!(away(&outdoors)[0] > 0.3, "{:?}", away(&outdoors));
    let mut level = config;
    for cell in &mut level.cells {
        if let Antenna::Panel { panel, .. } = &mut cell.antenna {
            panel.tilt_deg = 90.0;
        }
    }
    assert!(away(&level)[1] > LIMIT, "{:?}", away(&level));
}
