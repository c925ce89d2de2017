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
        minimum_coupling_loss: None,
        prbs: 100,
        rbgs: 25,
        subcarriers: 12,
    }
}

fn plain() -> Scenery {
    Scenery {
        site: Position::default(),
        antenna: Antenna::ISOTROPIC,
        wrap_around: None,
        sight: Sight::Draw(0.0),
        environment: None,
        inside_m: None,
        shadowing: None,
        path_loss_map: None,
        clutter_loss_map: None,
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
    let at = |draw, d| {
        let sight = Sight::Draw(draw);
        let scenery = Scenery { site: Position { x: 0.0, y: 0.0, z: 25.0 }, sight, ..plain() };
        snr(budget(law), &scenery, Position { x: d, y: 0.0, z: 1.5 })
    };
    // P(100 m) = 0.347671: 78.0206 dB with line of sight, 97.7381 dB without.
    close(at(0.3476, 100.0), 26.0 + 112.4473 - 78.0206);
    close(at(0.3477, 100.0), 26.0 + 112.4473 - 97.7381);
    // All UEs within 18 m have line of sight: 28 + 22 log10(17) + 6.0206 = 61.090 dB there. At 19 m
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
            let mut measured = |second: u64, relevant_from| {
                let end = Instant::from_millis(1000 * second);
                let period = RsrpPeriod { end, length: Duration::from_millis(200), relevant_from };
                channel.rsrp_over(period, &mut ue, &mut None)
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
/// People at 1 to 2 m from the UE.
fn blockage() -> Blockage {
    let people = Crossings {
        screen: Screen::HUMAN,
        interval: Duration::from_secs(2),
        speed_m_s: 0.8,
        distance_m: (1.0, 2.0),
    };
    let law = BlockageLaw { crossings: vec![people], direct: 9.0 };
    Blockage::new(law, 28e9, Seeds::new(1), "ue/0/site/0/blockage".to_owned())
}

#[test]
fn blockage_reduces_sinr_and_rsrp_alike() {
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

/// The blocked path is that from the nearest copy of a site, which is steeper than that from the site itself.
#[test]
fn blockage_is_on_the_path_from_the_nearest_copy() {
    let axes = [[200.0, 0.0], [100.0, 200.0 * 0.75_f64.sqrt()]];
    let wrap = WrapAround::hexagonal([0.0, 0.0], axes, 2);
    let (site, ue) = (Position { x: -400.0, y: 0.0, z: 10.0 }, Position { x: 420.0, y: 0.0, z: 1.5 });
    let copy = wrap.nearest(&site, &ue);
    assert!(copy.ground_distance(&ue) < 0.5 * site.ground_distance(&ue));
    let wrapped = Scenery { site, wrap_around: Some(wrap), ..plain() };
    let copied = Scenery { site: copy, ..plain() };
    let gains = |scenery: Scenery| -> Vec<f32> {
        let mut channel =
            Channel::new(budget(FRIIS), scenery, None, true).disturbed_by(None, Some(blockage()));
        let mut ue = Mobility::Static(ue);
        let mut gain = |ms| {
            let now = Instant::from_millis(ms);
            channel.mean_sinr(now, &mut ue);
            channel.burst_gain(now)
        };
        (0..20_000).step_by(20).map(&mut gain).collect()
    };
    assert_eq!(gains(wrapped), gains(copied.clone()));
    assert_ne!(gains(copied), gains(Scenery { site, ..plain() }));
}

fn urban_micro() -> PathLoss {
    use airlane_radio::large_scale::{ChannelReport, ChannelScenario, LargeScale};
    PathLoss::LargeScale(LargeScale::new(ChannelReport::Tr38901, ChannelScenario::UrbanMicro, 2e9))
}

#[test]
fn a_minimum_coupling_loss_counts_the_antennas() {
    // At 10 m, the loss of Friis at 2.12 GHz is 59 dB, and 45 dB with 14 dBi.
    let sector = Scenery { antenna: Antenna::Sector(NORTH), ..plain() };
    let limited = LinkBudget { minimum_coupling_loss: Some(Decibel(70.0)), ..budget(FRIIS) };
    close(snr(limited.clone(), &sector, Position::on_ground(0.0, 10.0)), 26.0 - 70.0 + 112.4473);
    let far = Position::on_ground(0.0, 5000.0);
    close(snr(limited, &sector, far), snr(budget(FRIIS), &sector, far));
}

#[test]
fn a_ue_at_the_edge_hears_the_copy_of_a_site_behind_it() {
    let axes = [[200.0, 0.0], [100.0, 173.205_080_756_887_73]];
    let wrap = WrapAround::hexagonal([0.0, 0.0], axes, 0);
    let scenery = Scenery { wrap_around: Some(wrap), ..plain() };
    let at = |scenery: &Scenery, x| snr(budget(FRIIS), scenery, Position::on_ground(x, 0.0));
    // With a single site, copies of it are 200 m apart: 150 m to the east is 50 m to the west.
    close(at(&scenery, 150.0), at(&plain(), -50.0));
    close(at(&scenery, 80.0), at(&plain(), 80.0));
    close(at(&scenery, 10_030.0), at(&plain(), 30.0));
    // An antenna that points east is heard from the back there.
    let east = Antenna::Sector(Sector { azimuth_deg: 0.0, ..NORTH });
    let pointed = Scenery { antenna: east, ..scenery };
    close(at(&pointed, 150.0), at(&plain(), 50.0) - 6.0);
}

#[test]
fn a_building_counts_in_distance_and_not_in_sight() {
    // P(outdoors 18 m) = 1 in UMi, P(43 m) = 0.6: with a draw of 0.9, only the UE 25 m inside is in sight.
    let sight = Sight::Draw(0.9);
    let street = Scenery { site: Position { x: 0.0, y: 0.0, z: 10.0 }, sight, ..plain() };
    let indoors = Scenery { inside_m: Some(25.0), ..street.clone() };
    let at = |scenery: &Scenery| snr(budget(urban_micro()), scenery, Position { x: 43.0, y: 0.0, z: 1.5 });
    // d3D = sqrt(43² + 8.5²) = 43.832 m: 32.4 + 21 lg d + 20 lg 2 = 72.8982 dB seen, 22.4 + 35.3 lg d + 21.3 lg 2
    // = 86.7672 dB hidden.
    close(at(&indoors), 26.0 - 72.8982 + 112.4473);
    close(at(&street), 26.0 - 86.7672 + 112.4473);
}

#[test]
fn a_line_of_sight_is_a_field_with_its_probability() {
    let field = |seed| {
        let seeds = Seeds::new(seed);
        let of_site = || Field::new(&mut seeds.stream("site/0/line-of-sight"));
        let sight = Sight::Field(Arc::new(Shadowing::new(of_site(), of_site(), 0.0)), 50.0);
        Scenery { sight, ..plain() }
    };
    let seen = |seed, x| field(seed).is_in_sight(0.3, &Position::on_ground(x, 40.0));
    const SEEDS: u64 = 2000;
    let share = |of: &dyn Fn(u64) -> bool| (0..SEEDS).filter(|seed| of(*seed)).count() as f64 / SEEDS as f64;
    // Standard error sqrt(0.21 / 2000) = 0.0102, times four.
    assert!((share(&|seed| seen(seed, 100.0)) - 0.3).abs() < 0.041);
    // Two metres apart the state is nearly always the same; two correlation distances apart it is
    // not: independent ones agree with 0.58.
    let alike = |apart: f64| share(&|seed| seen(seed, 100.0) == seen(seed, 100.0 + apart));
    assert!(alike(1.0) > 0.9, "{}", alike(1.0));
    assert!((alike(300.0) - 0.58).abs() < 0.06, "{}", alike(300.0));
}

fn raster(text: &str, kind: airlane_radio::LossKind) -> Option<Arc<Raster>> {
    Some(Arc::new(Raster::parse(text, kind).unwrap()))
}

/// 26 dBm on a PRB, and its noise of -112.4473 dBm.
#[test]
fn rasters_by_hand() {
    use airlane_radio::LossKind::{Clutter, PathLoss as Total};
    let config =
        ShadowingConfig { deviation: Some(Decibel(8.0)), correlation_m: Some(50.0), site_correlation: 0.5 };
    // The centres are 10 m apart, at 995 m and 1005 m to the east.
    let steps = "ncols 2 nrows 1 xllcorner 990 yllcorner -5 cellsize 10\n";
    let map = raster(&format!("{steps} 120 130"), Total);
    let mapped = Scenery { path_loss_map: map.clone(), ..plain() };
    let at = |scenery: &Scenery, x: f64| snr(budget(FRIIS), scenery, Position::on_ground(x, 0.0));
    close(at(&mapped, 1000.0), 26.0 - 125.0 + 112.4473);
    close(at(&mapped, 1003.0), 26.0 - 128.0 + 112.4473);
    close(at(&mapped, 1011.0), 26.0 - 250.0 + 112.4473);
    // The antenna to the north has 14 dBi less 12 (90° / 70°)² dB towards the east, 19.84 dB; walls are added.
    let sector = Scenery { antenna: Antenna::Sector(NORTH), ..mapped.clone() };
    close(at(&sector, 1000.0), 26.0 - 125.0 + 112.4473 + 14.0 - 12.0 * (90.0 / 70.0) * (90.0 / 70.0));
    let indoors = LinkBudget { penetration_loss: Decibel(20.0), ..budget(FRIIS) };
    close(snr(indoors, &mapped, Position::on_ground(1000.0, 0.0)), 26.0 - 145.0 + 112.4473);
    // A loss at the place of the UE is added, to a law with its shadowing as well.
    let clutter = raster(&format!("{steps} 0 9"), Clutter);
    let both = Scenery { clutter_loss_map: clutter.clone(), ..mapped };
    close(at(&both, 1000.0), 26.0 - 125.0 - 4.5 + 112.4473);
    let shady = Scenery { clutter_loss_map: clutter, ..shadowed(1, config) };
    for (x, added) in [(1000.0, 4.5), (1008.0, 9.0), (1011.0, 0.0)] {
        close(at(&shady, x), at(&shadowed(1, config), x) - added);
    }
}

/// The bound in docs/limitations.md: the difference of neighbours, over their distance, times the step.
#[test]
fn a_raster_is_looked_at_again_after_a_step() {
    let wall = raster(
        "ncols 2 nrows 1 xllcorner 0 yllcorner -5 cellsize 10\n80 100",
        airlane_radio::LossKind::PathLoss,
    );
    let scenery = Scenery { path_loss_map: wall, ..plain() };
    for (step_m, largest_db) in [(SERVING_STEP_M, 0.5), (STEP_M, 2.0)] {
        let mut channel = Channel::new(budget(FRIIS), scenery.clone(), None, false);
        let movement = airlane_radio::mobility::Movement::Line(
            airlane_radio::mobility::Course::Heading(0.0),
            airlane_radio::mobility::SpeedLaw::Constant(1.0),
        );
        let mut ue = movement.begin(Position::on_ground(6.0, 0.0), || Seeds::new(1).stream("unused"));
        let mut largest = 0.0_f64;
        for ms in (0..8000).step_by(10) {
            let now = Instant::from_millis(ms);
            let kept = if step_m == STEP_M {
                channel.interference(now, &mut ue, &mut None)
            } else {
                channel.mean_sinr(now, &mut ue)
            };
            let exact = snr(budget(FRIIS), &scenery, ue.position_at(now));
            largest = largest.max((Decibel::from_linear(f64::from(kept)).0 - exact).abs());
        }
        assert!(largest <= largest_db + 1e-4 && largest > 0.9 * largest_db, "{step_m} m: {largest} dB");
    }
}
