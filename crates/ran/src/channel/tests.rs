use airlane_core::Seeds;
use airlane_radio::blockage::{BlockageLaw, Crossings, Screen};
use airlane_radio::shadowing::Field;
use airlane_radio::{LevyWalk, Sector};

use super::*;
use crate::numerology::RbgLayout;

const FRIIS: PathLoss = PathLoss::Friis { frequency_hz: 2e9 };
const NORTH: Sector =
    Sector { gain: Decibel(14.0), azimuth_deg: 90.0, beamwidth_deg: 70.0, front_to_back: Decibel(20.0) };

fn budget(path_loss: PathLoss) -> LinkBudget {
    LinkBudget {
        path_loss,
        tx_power: Dbm(46.0),
        noise: noise::prb_noise(180e3, Decibel(9.0)),
        gain: Decibel(0.0),
        penetration_loss: Decibel(0.0),
        prbs: 100,
        rbgs: 25,
        subcarriers: 12,
    }
}

fn plain() -> Scenery {
    Scenery {
        site: Position::default(),
        antenna: Antenna::ISOTROPIC,
        line_of_sight_draw: 0.0,
        shadowing: None,
    }
}

fn shadowed(seed: u64, config: ShadowingConfig) -> Scenery {
    let field = |name: &str| Field::new(&mut Seeds::new(seed).stream(name));
    let shadowing = Shadowing::new(field("own"), field("site"), config.site_correlation);
    Scenery { shadowing: Some((config, Arc::new(shadowing))), ..plain() }
}

/// Mean SNR in dB of a UE at this position.
fn snr(budget: LinkBudget, scenery: &Scenery, ue: Position) -> f64 {
    let mut channel = Channel::new(budget, scenery.clone(), None, true);
    let factor = channel.mean_sinr(Instant::ZERO, &mut Mobility::Static(ue));
    Decibel::from_linear(f64::from(factor)).0
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-4, "{a} against {b}");
}

#[test]
fn the_budget_by_hand() {
    // 46 dBm over 100 PRBs is 26 dBm; a PRB's noise is -174 + 52.5527 + 9 = -112.4473 dBm; the loss
    // of TR 25.814 at 1 km is 128.1 dB: 26 - 128.1 + 112.4473 = 10.3473 dB.
    let far = Position::on_ground(1000.0, 0.0);
    close(snr(budget(PathLoss::Macro25814), &plain(), far), 10.3473);
    // 20 dB of wall.
    let indoors = LinkBudget { penetration_loss: Decibel(20.0), ..budget(PathLoss::Macro25814) };
    close(snr(indoors, &plain(), far), -9.6527);
}

#[test]
fn a_sector_gains_ahead_and_loses_behind() {
    let sector = Scenery { antenna: Antenna::Sector(NORTH), ..plain() };
    let here = |x, y| snr(budget(FRIIS), &sector, Position::on_ground(x, y));
    let omni = snr(budget(FRIIS), &plain(), Position::on_ground(0.0, 500.0));
    close(here(0.0, 500.0), omni + 14.0);
    close(here(0.0, -500.0), omni - 6.0);
}

#[test]
fn line_of_sight_ends_where_its_probability_falls_below_the_draw() {
    use airlane_radio::path_loss::{Scene, Surroundings};
    let surroundings =
        Surroundings { scene: Scene::UrbanMacro, street_width_m: 20.0, building_height_m: 20.0 };
    let law = PathLoss::Macro36814 { frequency_hz: 2e9, surroundings };
    let at = |line_of_sight_draw, d| {
        let scenery = Scenery { site: Position { x: 0.0, y: 0.0, z: 25.0 }, line_of_sight_draw, ..plain() };
        snr(budget(law), &scenery, Position { x: d, y: 0.0, z: 1.5 })
    };
    // P(100 m) = 0.347671: 78.0206 dB with line of line_of_sight_draw, 97.7381 dB without.
    close(at(0.3476, 100.0), 26.0 + 112.4473 - 78.0206);
    close(at(0.3477, 100.0), 26.0 + 112.4473 - 97.7381);
    // All UEs within 18 m have line of line_of_sight_draw: 28 + 22 log10(17) + 6.0206 = 61.090 dB there. At 19 m
    // P = 0.986, and without line of sight 136.8245 - 39.0864 * (3 - log10(19)) = 69.547 dB.
    let fall = at(0.999, 17.0) - at(0.999, 19.0);
    assert!((fall - 8.457).abs() < 0.01, "{fall}");
}

#[test]
fn shadowing_takes_the_deviation_of_the_law_or_its_own() {
    let law = PathLoss::Macro25814;
    let own = ShadowingConfig { deviation: None, correlation_m: None, site_correlation: 0.5 };
    let wide = ShadowingConfig { deviation: Some(Decibel(16.0)), correlation_m: None, ..own };
    let far = Position::on_ground(1000.0, 0.0);
    let shift = |config| snr(budget(law), &shadowed(1, config), far) - 10.3473;
    // Twice the 8 dB of TR 25.814 doubles the shift.
    assert!(shift(own).abs() > 0.1);
    close(shift(wide), 2.0 * shift(own));
    // Over seeds its deviation is 8 dB: standard error 8 / sqrt(2 * 1000) = 0.18 dB, times four.
    let square: f64 = (0..1000)
        .map(|seed| snr(budget(law), &shadowed(seed, own), far) - 10.3473)
        .map(|shift| shift * shift)
        .sum();
    assert!(((square / 1000.0).sqrt() - 8.0).abs() < 0.72, "{}", (square / 1000.0).sqrt());
}

#[test]
fn a_walk_meets_the_same_hills_however_often_it_is_looked_at() {
    use airlane_radio::mobility::{Disc, LevyLaw};
    let config =
        ShadowingConfig { deviation: Some(Decibel(8.0)), correlation_m: Some(50.0), site_correlation: 0.5 };
    let disc = Disc { centre: Position::on_ground(0.0, 0.0), radius_m: 250.0 };
    let look = |every_ms: u64| {
        let start = Position::on_ground(30.0, 40.0);
        let walk = LevyWalk::new(LevyLaw::default(), disc, start, Seeds::new(5).stream("walk"));
        let mut walk = Mobility::LevyWalk(walk);
        let mut channel = Channel::new(budget(FRIIS), shadowed(5, config), None, true);
        let looks = (0..=120_000 / every_ms).map(|k| {
            let now = Instant::from_millis(k * every_ms);
            (now, channel.mean_sinr(now, &mut walk).to_bits())
        });
        looks.filter(|(at, _)| at.as_nanos() % 1_000_000_000 == 0).collect::<Vec<_>>()
    };
    let seldom = look(1000);
    assert_eq!(look(10), seldom);
    assert_eq!(look(50), seldom);
    assert_eq!(seldom.len(), 121);
    assert!(seldom.iter().any(|(_, bits)| *bits != seldom[0].1), "the walk never moved");
}

/// The maximum error of the path loss within a step of a UE among several cells, as in
/// docs/limitations.md.
#[test]
fn a_path_loss_is_kept_until_the_ue_has_moved() {
    let walk = |x: f64| Mobility::Static(Position::on_ground(x, 0.0));
    let look = |channel: &mut Channel, ms: u64, x: f64| {
        let walking = airlane_radio::mobility::Movement::Line(
            airlane_radio::mobility::Course::Heading(0.0),
            airlane_radio::mobility::SpeedLaw::Constant(10.0),
        );
        let start = Position::on_ground(x - 10.0 * ms as f64 / 1e3, 0.0);
        let mut ue = walking.begin(start, || Seeds::new(1).stream("unused"));
        channel.mean_sinr(Instant::from_millis(ms), &mut ue)
    };
    let exact = |x: f64| {
        let mut channel = Channel::new(budget(PathLoss::Macro25814), plain(), None, true);
        channel.mean_sinr(Instant::ZERO, &mut walk(x))
    };
    let mut channel = Channel::new(budget(PathLoss::Macro25814), plain(), None, false);
    assert_eq!(look(&mut channel, 0, 35.0), exact(35.0));
    assert_eq!(look(&mut channel, 20, 35.2), exact(35.0), "0.2 m are no step");
    assert_eq!(look(&mut channel, 30, 35.3), exact(35.3), "0.3 m are one");
    // 37.6 log10(35.25 / 35) = 0.116 dB, and 0.46 dB over the step of one metre for other cells.
    let apart = |a: f64, b: f64| Decibel::from_linear(f64::from(exact(a)) / f64::from(exact(b))).0;
    close(apart(35.0, 35.0 + SERVING_STEP_M), 0.116_2);
    close(apart(35.0, 35.0 + STEP_M), 0.460_0);
    // A lone cell is computed each 10 ms, independent of the distance.
    let mut lone = Channel::new(budget(PathLoss::Macro25814), plain(), None, true);
    look(&mut lone, 0, 35.0);
    assert_eq!(look(&mut lone, 10, 35.01), exact(35.01));
}

/// Where RSRP is computed before fading, no fade could have raised it to the wanted value.
#[test]
fn no_fade_lifts_rsrp_beyond_the_largest() {
    use airlane_radio::{FrequencyGrid, Profile};
    let mut largest = f64::NEG_INFINITY;
    for (profile, prbs) in [(Profile::Epa, 6), (Profile::Eva, 50), (Profile::Etu, 100)] {
        let rbg_size = RbgLayout::LTE.size(prbs);
        let grid = Arc::new(FrequencyGrid::new(profile, usize::from(prbs), usize::from(rbg_size)));
        for seed in 0..50 {
            // At walking speed, so that the five samples of a period fade together.
            let fading = Fading::new(&grid, 1.0, 2e9, &mut Seeds::new(seed).stream("fading"));
            let budget = LinkBudget { prbs, rbgs: prbs.div_ceil(rbg_size), ..budget(FRIIS) };
            let mut channel = Channel::new(budget, plain(), Some(fading), false);
            let mut ue = Mobility::Static(Position::on_ground(300.0, 0.0));
            let mean = channel.rsrp(Instant::ZERO, &mut ue, &mut None);
            let mut measured = |second: u64, wanted| {
                let when = (Instant::from_millis(1000 * second), Duration::from_millis(200), wanted);
                channel.rsrp_over(when, &mut ue, &mut None)
            };
            for second in 1..400 {
                let faded = measured(second, Dbm(f64::NEG_INFINITY));
                largest = largest.max((faded - mean).0);
                assert_eq!(measured(second, mean + Decibel(11.9)), faded);
                assert_eq!(measured(second, mean + Decibel(12.1)), mean);
            }
        }
    }
    // 60,000 exponential draws, for a flat band, reach 10 log10(ln 60,000) = 10.4 dB.
    assert!((5.0..LARGEST_FADE.0).contains(&largest), "{largest} dB");
}

/// A blocked path reduces the SINR of both directions and RSRP by the same factor, and recovers.
#[test]
fn blockage_reduces_sinr_and_rsrp_alike() {
    let people = Crossings {
        screen: Screen::HUMAN,
        interval: Duration::from_secs(2),
        speed_m_s: 0.8,
        distance_m: (1.0, 2.0),
    };
    let blockage = || {
        let law = BlockageLaw { crossings: vec![people], direct: 9.0 };
        Blockage::new(law, 28e9, Seeds::new(1), "ue/0/site/0/blockage".to_owned())
    };
    let scenery = Scenery { site: Position { x: 0.0, y: 0.0, z: 1.0 }, ..plain() };
    let channel = || Channel::new(budget(FRIIS), scenery.clone(), None, true);
    let blocked = || channel().disturbed_by(None, Some(blockage()));
    let (mut down, mut up, mut open) = (blocked(), blocked(), channel());
    let mut ue = Mobility::Static(Position { x: 100.0, y: 0.0, z: 1.0 });
    let (mut least, mut most) = (1.0_f32, 0.0_f32);
    for ms in (0..60_000).step_by(5) {
        let now = Instant::from_millis(ms);
        assert_eq!(down.mean_sinr(now, &mut ue), open.mean_sinr(now, &mut ue));
        up.mean_sinr(now, &mut ue);
        let gain = down.burst_gain(now);
        assert_eq!((up.burst_gain(now), open.burst_gain(now)), (gain, 1.0));
        let [with, without] = [&mut down, &mut open].map(|channel| channel.rsrp(now, &mut ue, &mut None));
        assert!(((with - without).0 - 10.0 * libm::log10(f64::from(gain))).abs() < 1e-4, "{ms} ms");
        (least, most) = (least.min(gain), most.max(gain));
    }
    assert!(!down.has_no_bursts() && open.has_no_bursts());
    // A person at 2 m takes 9.6 dB of the direct path (by hand, in `airlane_radio::blockage`), one at 1 m some more:
    // at most 0.9 · 10^-0.96 + 0.1 is left.
    assert!((0.1..0.2).contains(&least) && most > 0.99, "{least} {most}");
}
