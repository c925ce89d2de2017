use airlane_core::Seeds;

use super::*;
use crate::geometry::Position;

fn model(report: ChannelReport, scenario: ChannelScenario, correlated_shadowing: bool) -> ClusterModel {
    ClusterModel::new(&LargeScale::new(report, scenario, 6e9), correlated_shadowing)
}

fn link(line_of_sight: bool, indoor: bool) -> ClusterLink {
    let site = Position { x: 0.0, y: 0.0, z: 10.0 };
    let ue = Position { x: 100.0, y: 0.0, z: 1.5 };
    ClusterLink {
        path: RadioPath::between(&site, &ue, line_of_sight),
        indoor,
        bearing_deg: 0.0,
        outdoor_m: 100.0,
    }
}

fn near(ours: f64, expected: f64, tolerance: f64) {
    assert!((ours - expected).abs() <= tolerance, "{ours}, expected {expected}");
}

#[test]
fn spreads_by_hand() {
    // Powers 1 and 3 at 0 and 4: mean 3, variance (9 + 3) / 4 = 3.
    near(spread::linear(&[(0.0, 1.0), (4.0, 3.0)]), 3.0_f64.sqrt(), 1e-12);
    // Across north: 350 and 10 degrees are 20 degrees apart, 10 from their mean.
    near(spread::circular_deg(&mut [(350.0, 0.5), (10.0, 0.5)]), 10.0, 1e-9);
    near(spread::circular_deg(&mut [(-10.0, 0.5), (370.0, 0.5)]), 10.0, 1e-9);
    // Four equal rays around the circle: the cut leaves 0, 90, 180, 270, with 135 as their mean:
    // variance (135² + 45²) / 2 = 10125.
    let mut around = [(0.0, 1.0), (90.0, 1.0), (180.0, 1.0), (270.0, 1.0)];
    near(spread::circular_deg(&mut around), 10_125.0_f64.sqrt(), 1e-9);
    // TR 38.901 Annex A, 10 degrees to either side: the root of -2 ln cos 10 degrees is 0.174979, 10.0256 degrees.
    near(spread::logarithmic_deg(&[(350.0, 0.5), (10.0, 0.5)]), 10.0256, 1e-4);
}

#[test]
fn the_circular_spread_is_the_minimum_over_rotations() {
    let mut stream = Seeds::new(3).stream("test");
    for _ in 0..50 {
        let rays: Vec<(f64, f64)> =
            (0..12).map(|_| (stream.uniform_in(0.0, 360.0), stream.uniform())).collect();
        // TR 25.996 Annex A as it is written: turn by Δ, take the deviations from the mean within half a turn.
        let wrapped = |angle: f64| angle - 360.0 * (angle / 360.0).round();
        let power: f64 = rays.iter().map(|ray| ray.1).sum();
        let at = |turn: f64| {
            let mean = rays.iter().map(|ray| ray.1 * wrapped(ray.0 + turn)).sum::<f64>() / power;
            let off = |angle: f64| wrapped(wrapped(angle + turn) - mean);
            (rays.iter().map(|ray| ray.1 * off(ray.0) * off(ray.0)).sum::<f64>() / power).sqrt()
        };
        let least = (0..3600).map(|tenth| at(f64::from(tenth) / 10.0)).fold(f64::INFINITY, f64::min);
        near(spread::circular_deg(&mut rays.clone()), least, 1e-9);
    }
}

#[test]
fn every_correlation_matrix_has_a_root() {
    for report in [ChannelReport::Tr36873, ChannelReport::Tr38900, ChannelReport::Tr38901] {
        for scenario in [
            ChannelScenario::UrbanMacro,
            ChannelScenario::UrbanMicro,
            ChannelScenario::RuralMacro,
            ChannelScenario::OpenOffice,
        ] {
            for condition in model(report, scenario, true).conditions {
                for &(i, j, coefficient) in &condition.column.correlations {
                    let product: f64 =
                        (0..PARAMETERS).map(|k| condition.root[i][k] * condition.root[j][k]).sum();
                    near(product, coefficient, 1e-9);
                }
            }
        }
    }
}

#[test]
fn large_scale_parameters_have_the_moments_of_the_tables() {
    const DRAWS: u32 = 20_000;
    let mut stream = Seeds::new(1).stream("test");
    let mut draws = |correlated| -> Vec<LinkParameters> {
        let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, correlated);
        (0..DRAWS).map(|_| model.parameters(&link(false, true), &mut stream)).collect()
    };
    let mean = |of: &dyn Fn(&LinkParameters) -> f64, from: &[LinkParameters]| {
        from.iter().map(of).sum::<f64>() / f64::from(DRAWS)
    };
    let lg_delay = |one: &LinkParameters| libm::log10(one.delay_s);
    let crossed = |one: &LinkParameters| (lg_delay(one) + 6.62) / 0.32 * one.shadowing;
    let drawn = draws(true);
    // Into a building: lg DS is -6.62 with 0.32, and correlated with the shadowing by -0.5.
    near(mean(&lg_delay, &drawn), -6.62, 0.01);
    near(mean(&|one| libm::pow(lg_delay(one) + 6.62, 2.0), &drawn), 0.32 * 0.32, 0.005);
    near(mean(&crossed, &drawn), -0.5, 0.02);
    assert!(drawn.iter().all(|one| one.k_db.is_none() && one.departure_deg <= 104.0));
    near(mean(&crossed, &draws(false)), 0.0, 0.03);
}

#[test]
fn powers_of_the_rays_add_up_and_the_line_of_sight_has_its_share() {
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true);
    let mut stream = Seeds::new(2).stream("test");
    for (line_of_sight, indoor) in [(true, false), (false, false), (true, true)] {
        let link = link(line_of_sight, indoor);
        for _ in 0..200 {
            let parameters = model.parameters(&link, &mut stream);
            let rays = model.rays(&link, &parameters, &mut stream);
            let scattered: f64 = rays.scattered.iter().map(|ray| ray.power).sum();
            let sight = rays.line_of_sight.map_or(0.0, |ray| ray.power);
            // What clusters lose that are 25 dB below the strongest is at most 19 / 316 of it.
            assert!((0.93..=1.0 + 1e-9).contains(&(scattered + sight)), "{}", scattered + sight);
            assert_eq!(rays.line_of_sight.is_some(), line_of_sight && !indoor);
            if let Some(k_db) = parameters.k_db {
                let k = libm::pow(10.0, k_db / 10.0);
                near(sight, k / (1.0 + k), 1e-12);
                let ray = rays.line_of_sight.unwrap();
                // The UE is 8.5 m below the site, 100 m away: 4.8585 degrees.
                near(ray.zenith_deg, 94.8585, 1e-3);
            }
            let spreads = rays.spreads();
            assert!(
                spreads.delay_ns >= 0.0
                    && spreads.departure_deg <= 104.0
                    && spreads.zenith_arrival_deg <= 90.0
            );
        }
    }
}

#[test]
fn the_line_of_sight_removes_no_cluster() {
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true);
    let by_sight = model.clone().with_readings(Readings::new(&[Reading::RemovalWithSight]));
    let all = model.clone().with_readings(Readings::new(&[Reading::NoRemoval]));
    let link = link(true, false);
    let mut fewer = 0;
    for seed in 0..50 {
        let clusters = |model: &ClusterModel, k_db: f64| {
            let mut stream = Seeds::new(seed).stream("test");
            let parameters = LinkParameters { k_db: Some(k_db), ..model.parameters(&link, &mut stream) };
            model.rays(&link, &parameters, &mut stream).scattered.len() / 20
        };
        // Equation (7.5-6) does not have the K factor: with the same draws, the same clusters remain.
        assert_eq!(clusters(&model, 0.0), clusters(&model, 30.0));
        assert_eq!(clusters(&all, 30.0), 12);
        assert!(clusters(&model, 0.0) <= 12);
        // With 30 dB of line of sight, every cluster but the first is 25 dB below it.
        assert_eq!(clusters(&by_sight, 30.0), 1);
        fewer += usize::from(clusters(&by_sight, 9.0) < clusters(&model, 9.0));
    }
    assert!(fewer > 25, "{fewer}");
}

#[test]
fn the_line_of_sight_in_the_first_cluster() {
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true)
        .with_readings(Readings::new(&[Reading::SightInFirstCluster]));
    let mut stream = Seeds::new(6).stream("test");
    let link = link(true, false);
    let parameters = LinkParameters { k_db: Some(30.0), ..model.parameters(&link, &mut stream) };
    let rays = model.rays(&link, &parameters, &mut stream);
    assert!(rays.line_of_sight.is_none());
    near(rays.scattered.iter().map(|ray| ray.power).sum(), 1.0, 0.001);
    // c_ZSA is 7 degrees with line of sight: that of a link which is one cluster.
    near(rays.spreads().zenith_arrival_deg, 7.0, 0.2);
}

#[test]
fn readings_of_zenith_and_shadowing() {
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true);
    let drawn = |reading: Option<Reading>| {
        let model = model.clone().with_readings(Readings::new(reading.as_slice()));
        // 40 m away, of which 20 m are in the building.
        let site = Position { x: 0.0, y: 0.0, z: 10.0 };
        let path = RadioPath::between(&site, &Position { x: 40.0, y: 0.0, z: 1.5 }, true);
        let link = ClusterLink { path, indoor: true, bearing_deg: 0.0, outdoor_m: 20.0 };
        model.parameters(&link, &mut Seeds::new(7).stream("test"))
    };
    let usual = drawn(None);
    let outdoor = drawn(Some(Reading::ZenithOfOutdoorPart));
    // Table 7.5-8: lg of the mean falls by 14.8 per km.
    let ratio = outdoor.zenith_departure_deg / usual.zenith_departure_deg;
    near(ratio, libm::pow(10.0, 14.8 * 0.02), 1e-9);
    near(drawn(Some(Reading::ShadowingAsLoss)).shadowing, -usual.shadowing, 1e-12);
}

#[test]
fn rays_of_a_cluster_have_its_spread() {
    // One ray offset each of Table 7.5-3 with both signs: the mean of the squares is one.
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true);
    let mut stream = Seeds::new(4).stream("test");
    let link = link(false, true);
    let narrow = LinkParameters {
        shadowing: 0.0,
        k_db: None,
        delay_s: 1e-7,
        departure_deg: 0.0,
        arrival_deg: 0.0,
        zenith_departure_deg: 0.0,
        zenith_arrival_deg: 0.0,
    };
    let spreads = model.rays(&link, &narrow, &mut stream).spreads();
    // c_ASD, c_ASA and c_ZSA into a building: 5, 8 and 3 degrees.
    near(spreads.departure_deg, 5.0, 0.01);
    near(spreads.arrival_deg, 8.0, 0.01);
    near(spreads.zenith_arrival_deg, 3.0, 0.01);
}

#[test]
fn the_mean_delay_spread_is_near_the_drawn_one() {
    // A cluster model with few, shadowed clusters has less than it was asked for, without bias by distance.
    let model = model(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, true);
    let mut stream = Seeds::new(5).stream("test");
    let mut ratios = 0.0;
    for _ in 0..2000 {
        let link = link(false, false);
        let parameters = model.parameters(&link, &mut stream);
        let spreads = model.rays(&link, &parameters, &mut stream).spreads();
        ratios += spreads.delay_ns / (parameters.delay_s * 1e9);
    }
    let mean = ratios / 2000.0;
    assert!((0.7..1.1).contains(&mean), "{mean}");
}
