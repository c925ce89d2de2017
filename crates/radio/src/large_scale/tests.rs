use airlane_core::Seeds;

use super::*;
use crate::geometry::Position;

fn model(report: ChannelReport, scenario: ChannelScenario, ghz: f64) -> LargeScale {
    LargeScale::new(report, scenario, ghz * 1e9)
}

/// Antennas at these heights, this far apart along the ground.
fn path(ground_m: f64, site: f64, ue: f64, line_of_sight: bool) -> RadioPath {
    let (site, ue) = (Position { z: site, ..Position::default() }, Position { x: ground_m, y: 0.0, z: ue });
    RadioPath::between(&site, &ue, line_of_sight)
}

fn close(ours: Decibel, expected: f64) {
    assert!((ours.0 - expected).abs() < 5e-3, "{ours:?}, expected {expected}");
}

#[test]
fn urban_macro_by_hand() {
    let uma = model(ChannelReport::Tr38901, ChannelScenario::UrbanMacro, 6.0);
    // d3D = sqrt(100² + 23.5²) = 102.724 m; d'BP = 4 · 24 · 0.5 · 6e9 / 3e8 = 960 m.
    // 28 + 22 lg 102.724 + 20 lg 6 = 28 + 44.2567 + 15.5630.
    close(uma.loss(&path(100.0, 25.0, 1.5, true), 1.0), 87.820);
    // Beyond: d3D = 2000.138 m. 28 + 40 lg 2000.138 + 15.5630 - 9 lg (960² + 23.5²)
    // = 28 + 132.0424 + 15.5630 - 53.6842.
    close(uma.loss(&path(2000.0, 25.0, 1.5, true), 1.0), 121.921);
    // 13.54 + 39.08 lg 102.724 + 15.5630 - 0 = 13.54 + 78.6160 + 15.5630.
    close(uma.loss(&path(100.0, 25.0, 1.5, false), 1.0), 107.719);
    // Seven floors up, 0.6 dB per metre: d3D = sqrt(100² + 5.5²) = 100.151 m.
    // 13.54 + 78.1856 + 15.5630 - 0.6 · 18.
    close(uma.loss(&path(100.0, 25.0, 19.5, false), 1.0), 96.489);
    // 32.4 + 20 lg 6 + 30 lg 102.724 = 32.4 + 15.5630 + 60.3501.
    close(LargeScale { optional_nlos: true, ..uma }.loss(&path(100.0, 25.0, 1.5, false), 1.0), 108.313);
    // TR 38.900 begins with free space: 32.4 + 20 lg 102.724 + 15.5630 = 32.4 + 40.2334 + 15.5630.
    let old = model(ChannelReport::Tr38900, ChannelScenario::UrbanMacro, 6.0);
    close(old.loss(&path(100.0, 25.0, 1.5, true), 1.0), 88.196);
}

#[test]
fn lte_scenarios_by_hand() {
    // 22.7 + 36.7 lg 100.361 + 26 lg 2 = 22.7 + 73.4575 + 7.8268.
    let umi = model(ChannelReport::Tr36873, ChannelScenario::UrbanMicro, 2.0);
    close(umi.loss(&path(100.0, 10.0, 1.5, false), 1.0), 103.984);
    // 3D-UMa at W = h = 20 m: 161.04 - 7.1 lg 20 + 7.5 lg 20 - (24.37 - 3.7 (20/25)²) lg 25
    // + (43.42 - 3.1 lg 25)(lg 1000.276 - 3) + 20 lg 2 - (3.2 lg² 17.625 - 4.97)
    // = 161.04 - 9.2373 + 9.7577 - 30.7575 + 0.0047 + 6.0206 - 0.0003.
    let uma = model(ChannelReport::Tr36873, ChannelScenario::UrbanMacro, 2.0);
    close(uma.loss(&path(1000.0, 25.0, 1.5, false), 1.0), 136.828);
}

#[test]
fn no_loss_without_a_line_of_sight_is_below_that_with_one() {
    for scenario in [
        ChannelScenario::UrbanMacro,
        ChannelScenario::UrbanMicro,
        ChannelScenario::RuralMacro,
        ChannelScenario::OpenOffice,
    ] {
        for report in [ChannelReport::Tr36873, ChannelReport::Tr38900, ChannelReport::Tr38901] {
            for ground_m in [0.0, 10.0, 99.0, 960.0, 5000.0] {
                let loss = |los| model(report, scenario, 3.5).loss(&path(ground_m, 25.0, 1.5, los), 1.0);
                assert!(loss(false) >= loss(true), "{report:?} {scenario:?} {ground_m}");
                assert!(loss(true).0 > 30.0);
            }
        }
    }
}

#[test]
fn slopes_meet_at_the_break_point() {
    // UMa: 960 m at 6 GHz. UMi: 4 · 9 · 0.5 · 20 = 360 m. RMa: 2π 35 · 1.5 · 20 = 6597.3 m.
    for (scenario, break_m, site_m) in [
        (ChannelScenario::UrbanMacro, 960.0, 25.0),
        (ChannelScenario::UrbanMicro, 360.0, 10.0),
        (ChannelScenario::RuralMacro, 6597.345, 35.0),
    ] {
        let model = model(ChannelReport::Tr38901, scenario, 6.0);
        let loss = |ground_m| model.loss(&path(ground_m, site_m, 1.5, true), 1.0).0;
        assert!((loss(break_m - 0.01) - loss(break_m + 0.01)).abs() < 2e-3, "{scenario:?}");
        // Ten times farther, 40 dB more but for the small difference of 3D and ground.
        assert!((loss(10.0 * break_m) - loss(break_m) - 40.0).abs() < 0.02, "{scenario:?}");
    }
}

#[test]
fn line_of_sight_by_hand() {
    let p = |scenario, d, h| model(ChannelReport::Tr38901, scenario, 6.0).line_of_sight_probability(d, h);
    let near =
        |ours: f64, expected: f64| assert!((ours - expected).abs() < 5e-5, "{ours}, expected {expected}");
    // 18/100 + e^(-100/36) (1 - 0.18) = 0.18 + 0.062177 · 0.82.
    near(p(ChannelScenario::UrbanMicro, 100.0, 1.5), 0.230_98);
    // 0.18 + e^(-100/63) · 0.82 = 0.18 + 0.204478 · 0.82 = 0.347672.
    near(p(ChannelScenario::UrbanMacro, 100.0, 1.5), 0.347_67);
    // At 19.5 m: (0.65)^1.5 · 1.25 · e^(-2/3) = 0.524047 · 1.25 · 0.513417 = 0.336318; times 1.336318.
    near(p(ChannelScenario::UrbanMacro, 100.0, 19.5), 0.464_60);
    near(p(ChannelScenario::RuralMacro, 1010.0, 1.5), 0.367_88);
    // Open office: e^(-15/70.8) at 20 m, 0.54 e^(-11/211.7) at 60 m; mixed: e^(-3.8/4.7) at 5 m.
    near(p(ChannelScenario::OpenOffice, 20.0, 1.0), 0.809_07);
    near(p(ChannelScenario::OpenOffice, 60.0, 1.0), 0.512_66);
    near(p(ChannelScenario::MixedOffice, 5.0, 1.0), 0.445_52);
    for scenario in [ChannelScenario::UrbanMacro, ChannelScenario::UrbanMicro, ChannelScenario::OpenOffice] {
        assert_eq!(p(scenario, 5.0, 1.5), 1.0);
        (0..400).for_each(|tens| assert!((0.0..=1.0).contains(&p(scenario, f64::from(tens) * 10.0, 22.5))));
    }
}

#[test]
fn environment_heights_of_high_floors() {
    let uma = model(ChannelReport::Tr38901, ChannelScenario::UrbanMacro, 6.0);
    let mut stream = Seeds::new(1).stream("test");
    let mut draws = |ue_m: f64| -> Vec<f64> {
        (0..4000).map(|_| uma.environment_height_m(100.0, ue_m, &mut stream)).collect()
    };
    assert!(draws(10.5).iter().all(|&h| h == 1.0));
    let high = draws(19.5);
    assert!(high.iter().all(|h| [1.0, 12.0, 15.0, 18.0].contains(h)));
    // C = 0.336318 (see above): 1 m with probability 1/1.336318 = 0.7483, each other height 0.0839.
    let share = |wanted: f64| high.iter().filter(|&&h| h == wanted).count() as f64 / 4000.0;
    assert!((share(1.0) - 0.7483).abs() < 0.03 && (share(18.0) - 0.0839).abs() < 0.02);
    // With an environment of 18 m, the break point is at 4 · 7 · 1.5 · 20 = 840 m.
    let loss = |h| uma.loss(&path(2000.0, 25.0, 19.5, true), h).0;
    assert!(loss(18.0) > loss(1.0) + 3.0);
}

#[test]
fn walls_by_hand() {
    // 6 GHz: glass 3.2, infrared glass 24.8, concrete 29 dB.
    // Low: 5 - 10 lg (0.3 · 0.478630 + 0.7 · 0.001259) = 5 + 8.4024.
    close(BuildingType::LowLoss.wall(6.0), 13.402);
    // High: 5 - 10 lg (0.7 · 0.0033113 + 0.3 · 0.0012589) = 5 + 25.6937.
    close(BuildingType::HighLoss.wall(6.0), 30.694);
    close(BuildingType::TwentyDecibels.wall(2.0), 20.0);
    let entry = BuildingEntry { building: BuildingType::LowLoss, inside_m: 10.0, deviation: -1.0 };
    close(entry.loss(6.0), 13.402 + 5.0 - 4.4);
}

#[test]
fn depth_in_buildings() {
    let mut stream = Seeds::new(2).stream("test");
    let mut mean = |building| {
        let draws = (0..20_000).map(|_| BuildingEntry::draw(building, 25.0, &mut stream).inside_m);
        draws.sum::<f64>() / 20_000.0
    };
    // The smaller of two uniform draws has a third of the range as its mean, a single one half.
    assert!((mean(BuildingType::LowLoss) - 25.0 / 3.0).abs() < 0.15);
    assert!((mean(BuildingType::TwentyDecibels) - 12.5).abs() < 0.15);
}

#[test]
fn shadowing_of_the_tables() {
    let sigma = |report, scenario, los, indoor| {
        model(report, scenario, 2.0).shadowing(&path(100.0, 25.0, 1.5, los), indoor)
    };
    let (lte, nr) = (ChannelReport::Tr36873, ChannelReport::Tr38901);
    assert_eq!(sigma(lte, ChannelScenario::UrbanMicro, true, false), (Decibel(3.0), 10.0));
    assert_eq!(sigma(lte, ChannelScenario::UrbanMicro, false, false), (Decibel(4.0), 13.0));
    assert_eq!(sigma(nr, ChannelScenario::UrbanMicro, false, false), (Decibel(7.82), 13.0));
    assert_eq!(sigma(nr, ChannelScenario::UrbanMacro, false, true), (Decibel(7.0), 7.0));
    assert_eq!(sigma(nr, ChannelScenario::OpenOffice, false, false), (Decibel(8.03), 6.0));
    let rural = model(nr, ChannelScenario::RuralMacro, 6.0);
    // The break point of 25 m and 1.6 m at 6 GHz is at 5027 m.
    assert_eq!(rural.shadowing(&path(5000.0, 25.0, 1.6, true), false).0, Decibel(4.0));
    assert_eq!(rural.shadowing(&path(5050.0, 25.0, 1.6, true), false).0, Decibel(6.0));
    // At 3.5 GHz, it is at 2932 m.
    let lower = model(nr, ChannelScenario::RuralMacro, 3.5);
    assert_eq!(lower.shadowing(&path(4000.0, 25.0, 1.6, true), false).0, Decibel(6.0));
}

#[test]
fn sidelink_by_hand() {
    // 38.77 + 16.7 lg 100 + 18.2 lg 5 = 38.77 + 33.4 + 12.7213; 36.85 + 60 + 18.9 lg 5 (13.2106).
    close(sidelink::loss(sidelink::Road::Urban, true, 100.0, 5.0).0, 84.891);
    close(sidelink::loss(sidelink::Road::Highway, false, 100.0, 5.0).0, 110.061);
}
