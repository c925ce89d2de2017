use super::*;
use crate::noise;

const BAND_1: PathLoss = PathLoss::Friis { frequency_hz: 2120e6 };
const TWO_GHZ: f64 = 2e9;

/// Points on the ground, this far apart.
fn flat(distance_m: f64) -> RadioPath {
    RadioPath { distance_m, ground_m: distance_m, site_height_m: 0.0, ue_height_m: 0.0, line_of_sight: true }
}

/// Antennas at these heights, this far apart along the ground.
fn path(ground_m: f64, site: f64, ue: f64, line_of_sight: bool) -> RadioPath {
    let (site, ue) = (Position { z: site, ..Position::default() }, Position { x: ground_m, y: 0.0, z: ue });
    RadioPath::between(&site, &ue, line_of_sight)
}

fn close(law: &PathLoss, path: &RadioPath, expected: f64) {
    let loss = law.loss(path).0;
    assert!((loss - expected).abs() < 1e-3, "{law:?} over {path:?}: {loss}, expected {expected}");
}

fn tr36814(scene: Scene, frequency_hz: f64, building_height_m: f64) -> PathLoss {
    let surroundings = Surroundings { scene, street_width_m: 20.0, building_height_m };
    PathLoss::Macro36814 { frequency_hz, surroundings }
}

#[test]
fn free_space_by_hand() {
    // 20 log10(4 pi * 100 m * 2.12 GHz / c) = 20 log10(8886.6) = 78.974 dB.
    close(&BAND_1, &flat(100.0), 78.974);
    // Twice the distance, 6.02 dB more.
    assert!((BAND_1.loss(&flat(200.0)).0 - BAND_1.loss(&flat(100.0)).0 - 6.0206).abs() < 1e-4);
}

#[test]
fn nearness_gives_no_gain() {
    assert_eq!(BAND_1.loss(&flat(0.0)), Decibel(0.0));
    // c / (4 pi f) = 11.25 mm.
    assert_eq!(BAND_1.loss(&flat(0.011)), Decibel(0.0));
    assert!(BAND_1.loss(&flat(0.012)).0 > 0.0);
}

#[test]
fn log_distance_by_hand() {
    let law = PathLoss::LogDistance { exponent: 3.0, reference_m: 1.0, reference_loss: Decibel(46.67) };
    assert!((law.loss(&flat(1000.0)).0 - (46.67 + 90.0)).abs() < 1e-9);
    assert_eq!(law.loss(&flat(0.0)), Decibel(46.67));
    let gain = PathLoss::LogDistance { exponent: 2.0, reference_m: 1.0, reference_loss: Decibel(-3.0) };
    assert_eq!(gain.loss(&flat(1.0)), Decibel(0.0));
}

#[test]
fn the_reference_distances_agree_with_the_peer() {
    for row in crate::reference::rows(include_str!("../../data/mcs_vs_distance_ns3.csv")) {
        // 30 dBm over 100 PRBs is 10 dBm each.
        let received = 10.0 - BAND_1.loss(&flat(row[0])).0;
        let snr = received - noise::prb_noise(180e3, Decibel(7.0)).0;
        assert!((snr - row[1]).abs() < 0.02, "{} m: {snr:.2} dB, peer {:.2}", row[0], row[1]);
    }
}

#[test]
fn cost_231_hata_by_hand() {
    let suburban = PathLoss::Cost231Hata { frequency_hz: TWO_GHZ, city: City::Suburban };
    let city = PathLoss::Cost231Hata { frequency_hz: TWO_GHZ, city: City::Metropolitan };
    // f = 2000 MHz, h_b = 30 m, h_m = 1.5 m, d = 1 km:
    //   a(h_m) = (1.1 * 3.30103 - 0.7) * 1.5 - (1.56 * 3.30103 - 0.8) = 4.39670 - 4.34961 = 0.04709
    //   46.3 + 33.9 * 3.30103 - 13.82 * 1.47712 - 0.04709 = 46.3 + 111.90492 - 20.41382 - 0.04709
    close(&suburban, &path(1000.0, 30.0, 1.5, true), 137.7440);
    // C_m = 3 dB in metropolitan centres.
    close(&city, &path(1000.0, 30.0, 1.5, true), 140.7440);
    // 44.9 - 6.55 * 1.47712 = 35.22486 dB a decade.
    close(&suburban, &path(10_000.0, 30.0, 1.5, true), 172.9689);
    // The loss decreases with the UE's height: 1.1 * 3.30103 - 0.7 = 2.93113 dB per metre.
    close(&suburban, &path(1000.0, 30.0, 2.5, true), 137.7440 - 2.9311);
    // At 10 m the formula would give 137.744 - 2 * 35.225 = 67.29 dB; free space over the slant
    // distance of 30.2035 m has 20 log10(4 pi * 30.2035 * 2e9 / c) = 20 log10(2532.07) = 68.0695
    // dB.
    close(&suburban, &path(10.0, 30.0, 1.5, true), 68.0695);
    assert_eq!(suburban.heights().map(|h| h.site_m), Some(30.0..=200.0));
}

#[test]
fn the_macro_cell_of_25_814_by_hand() {
    let law = PathLoss::Macro25814;
    close(&law, &path(1000.0, 30.0, 1.5, true), 128.1);
    close(&law, &path(100.0, 30.0, 1.5, false), 128.1 - 37.6);
    // 128.1 + 37.6 * log10(0.035) = 128.1 - 37.6 * 1.455932, also for smaller distances.
    close(&law, &path(35.0, 30.0, 1.5, true), 73.3570);
    close(&law, &path(1.0, 30.0, 1.5, true), 73.3570);
    assert_eq!(law.shadowing(&flat(100.0)), Some((Decibel(8.0), 50.0)));
}

#[test]
fn urban_macro_by_hand() {
    let law = tr36814(Scene::UrbanMacro, TWO_GHZ, 20.0);
    let at = |d, sight| path(d, 25.0, 1.5, sight);
    // d'_BP = 4 * 24 * 0.5 * 2e9 / 3e8 = 320 m; before it 22 * 2 + 28 + 20 * 0.30103.
    close(&law, &at(100.0, true), 78.0206);
    // Behind it 120 + 7.8 - 18 * 1.380211 + 18 * 0.30103 + 2 * 0.30103.
    close(&law, &at(1000.0, true), 108.9768);
    // 161.04 - 7.1 * 1.30103 + 7.5 * 1.30103 - (24.37 - 3.7 * 0.64) * 1.39794 + 0 + 6.0206
    //   - (3.2 * 1.246129^2 - 4.97) = 161.04 - 9.23731 + 9.75773 - 30.75748 + 6.0206 + 0.00092
    close(&law, &at(1000.0, false), 136.8245);
    // 43.42 - 3.1 * 1.39794 = 39.08639 dB a decade.
    close(&law, &at(100.0, false), 97.7381);
    // The two slopes meet at the break point except for the table's rounding.
    let step = law.loss(&at(320.1, true)).0 - law.loss(&at(319.9, true)).0;
    assert!(step.abs() < 0.1, "a step of {step} dB at the break point");
    // Below 10 m the loss is constant.
    assert_eq!(law.loss(&at(3.0, false)), law.loss(&at(10.0, false)));
}

#[test]
fn urban_micro_by_hand() {
    let law = tr36814(Scene::UrbanMicro, TWO_GHZ, 20.0);
    let at = |d, sight| path(d, 10.0, 1.5, sight);
    // 36.7 * 2 + 22.7 + 26 * 0.30103.
    close(&law, &at(100.0, false), 103.9268);
    // d'_BP = 4 * 9 * 0.5 * 2e9 / 3e8 = 120 m.
    close(&law, &at(100.0, true), 78.0206);
    // 40 * 2.69897 + 7.8 - 18 * 0.954243 + 18 * 0.30103 + 2 * 0.30103.
    close(&law, &at(500.0, true), 104.6030);
}

#[test]
fn rural_macro_by_hand() {
    let law = tr36814(Scene::RuralMacro, 0.8e9, 5.0);
    let at = |d, sight| path(d, 35.0, 1.5, sight);
    // 5^1.72 = 15.93046; 20 log10(40 pi * 500 * 0.8 / 3) + 0.47791 * 2.69897 - 0.70094
    //   + 0.002 * 0.69897 * 500 = 84.48298 + 1.28988 - 0.70094 + 0.69897.
    close(&law, &at(500.0, true), 85.7709);
    // d_BP = 2 pi * 35 * 1.5 * 0.8e9 / 3e8 = 879.65 m, where the loss is 91.3256 dB; behind it
    // 40 log10(2000 / 879.65) = 14.2689 more.
    close(&law, &at(2000.0, true), 105.5945);
    // 161.04 - 9.23731 + 7.5 * 0.69897 - (24.37 - 3.7 / 49) * 1.544068 + 0 - 1.9382 + 0.00092.
    close(&law, &at(1000.0, false), 117.5953);
    assert_eq!(law.shadowing(&at(500.0, true)), Some((Decibel(4.0), 37.0)));
    assert_eq!(law.shadowing(&at(900.0, true)), Some((Decibel(6.0), 37.0)));
    assert_eq!(law.shadowing(&at(900.0, false)), Some((Decibel(8.0), 120.0)));
}

#[test]
fn line_of_sight_by_hand() {
    let p = |scene, d| tr36814(scene, TWO_GHZ, 20.0).line_of_sight_probability(d, 1.5);
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a} against {b}");
    // 0.18 * (1 - e^(-100/63)) + e^(-100/63) = 0.18 * 0.795523 + 0.204477.
    near(p(Scene::UrbanMacro, 100.0), 0.347671);
    // 0.18 * (1 - e^(-100/36)) + e^(-100/36) = 0.18 * 0.937823 + 0.062177.
    near(p(Scene::UrbanMicro, 100.0), 0.230985);
    near(p(Scene::RuralMacro, 1010.0), 0.367879);
    for scene in [Scene::UrbanMacro, Scene::UrbanMicro, Scene::RuralMacro] {
        near(p(scene, 0.0), 1.0);
        near(p(scene, 10.0), 1.0);
        let far: Vec<f64> = (1..400).map(|k| p(scene, f64::from(k) * 10.0)).collect();
        assert!(far.windows(2).all(|w| w[1] <= w[0] + 1e-12), "{scene:?} does not fall");
    }
    assert_eq!(BAND_1.line_of_sight_probability(1e6, 1.5), 1.0);
}

#[test]
fn loss_rises_with_distance() {
    let laws = [
        PathLoss::Cost231Hata { frequency_hz: TWO_GHZ, city: City::Suburban },
        tr36814(Scene::UrbanMacro, TWO_GHZ, 20.0),
        tr36814(Scene::UrbanMicro, TWO_GHZ, 20.0),
        tr36814(Scene::RuralMacro, TWO_GHZ, 5.0),
    ];
    for law in laws {
        let heights = law.heights().unwrap();
        let site = 0.5 * (heights.site_m.start() + heights.site_m.end());
        for sight in [true, false] {
            let mut last = 0.0;
            for k in 0..2000 {
                let path = path(f64::from(k) * 5.0, site, 1.5, sight);
                let loss = law.loss(&path).0;
                // The table's urban slopes meet except for rounding.
                assert!(loss >= last - 0.1, "{law:?} over {path:?}: {loss} after {last}");
                last = loss;
            }
        }
    }
}

#[test]
fn what_is_remembered_changes_no_bit() {
    let mut stream = airlane_core::Seeds::new(1).stream("heights");
    let laws = [
        tr36814(Scene::UrbanMacro, TWO_GHZ, 20.0),
        tr36814(Scene::UrbanMicro, TWO_GHZ, 20.0),
        tr36814(Scene::RuralMacro, 800e6, 5.0),
        BAND_1,
    ];
    for law in laws {
        let mut memo = LossMemo::default();
        for _ in 0..500 {
            // Few heights, so that some occur again and some are new.
            let (site, ue) = (10.0 + stream.below(3) as f64, 1.5 + stream.below(2) as f64);
            let path = path(2000.0 * stream.uniform(), site, ue, stream.chance(0.5));
            assert_eq!(law.loss_again(&path, &mut memo).0.to_bits(), law.loss(&path).0.to_bits(), "{path:?}");
        }
    }
}

#[test]
fn the_channel_of_tr38901_is_a_law() {
    use crate::large_scale::{ChannelReport, ChannelScenario, LargeScale};
    let model = LargeScale::new(ChannelReport::Tr38901, ChannelScenario::UrbanMacro, 6e9);
    let law = PathLoss::LargeScale(model);
    // See `large_scale`: 87.820 dB with a line of sight at 100 m, 107.719 dB without.
    close(&law, &path(100.0, 25.0, 1.5, true), 87.820);
    close(&law, &path(100.0, 25.0, 1.5, false), 107.719);
    assert_eq!(
        law.loss_again(&path(100.0, 25.0, 1.5, false), &mut LossMemo::default()),
        law.loss(&path(100.0, 25.0, 1.5, false))
    );
    assert_eq!(law.shadowing(&path(100.0, 25.0, 1.5, false)), Some((Decibel(6.0), 50.0)));
    // The seventh floor is seen more often.
    assert!(law.line_of_sight_probability(100.0, 19.5) > law.line_of_sight_probability(100.0, 1.5) + 0.1);
    let heights = law.heights().unwrap();
    assert!(heights.site_m.contains(&25.0) && !heights.site_m.contains(&30.0));
    assert!(heights.ue_m.contains(&22.5) && !heights.ue_m.contains(&1.0));
}
