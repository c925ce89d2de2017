use airlane_core::{Duration, Seeds};

use super::leg::Walker;
use super::levy::flight_seconds;
use super::*;

mod fcd;
mod setdest;

const DISC: Disc = Disc { centre: Position { x: 40.0, y: -10.0, z: 1.5 }, radius_m: 250.0 };

fn walker(seed: u64) -> LevyWalk {
    let mut stream = Seeds::new(seed).stream("ue/0/mobility");
    let start = Placement::UniformInDistance.draw(&DISC, &mut stream);
    LevyWalk::new(LevyLaw::default(), DISC, start, stream)
}

#[test]
fn placements_have_their_mean_distance() {
    let mut stream = Seeds::new(1).stream("placement");
    // Mean distance of a uniform point of a disc 2R/3, of a uniform distance R/2.
    for (placement, expected) in
        [(Placement::UniformInArea, 500.0 / 3.0), (Placement::UniformInDistance, 125.0)]
    {
        let n = 20_000;
        let (mut sum, mut x) = (0.0, 0.0);
        for _ in 0..n {
            let p = placement.draw(&DISC, &mut stream);
            assert!(DISC.contains(&p));
            assert_eq!(p.z, 1.5);
            sum += DISC.centre.ground_distance(&p);
            x += p.x - 40.0;
        }
        // Standard deviations 59 m and 72 m of the distance, 125 m at most of x: five standard
        // errors of 20 000.
        assert!((sum / f64::from(n) - expected).abs() < 2.6, "{placement:?} {}", sum / f64::from(n));
        assert!((x / f64::from(n)).abs() < 4.5);
    }
}

#[test]
fn flights_and_pauses_have_their_tails() {
    let law = LevyLaw::default();
    let mut stream = Seeds::new(2).stream("law");
    // P(x > 400) / P(x > 100) for a tail x^-1.6 cut at 1000.
    let n = 200_000;
    let flights: Vec<f64> = (0..n).map(|_| law.flight_m.draw(&mut stream)).collect();
    assert!(flights.iter().all(|&l| (5.0..=1000.0).contains(&l)));
    let over = |v: &[f64], x: f64| v.iter().filter(|&&l| l > x).count() as f64;
    let tail = |x: f64, a: f64, max: f64| libm::pow(x, -a) - libm::pow(max, -a);
    let expected = tail(400.0, 1.6, 1000.0) / tail(100.0, 1.6, 1000.0);
    let got = over(&flights, 400.0) / over(&flights, 100.0);
    assert!((got / expected - 1.0).abs() < 0.1, "{got} against {expected}");
    let pauses: Vec<f64> = (0..n).map(|_| law.pause_s.draw(&mut stream)).collect();
    assert!(pauses.iter().all(|&s| (10.0..=7200.0).contains(&s)));
    let expected = tail(1000.0, 0.8, 7200.0) / tail(100.0, 0.8, 7200.0);
    let got = over(&pauses, 1000.0) / over(&pauses, 100.0);
    assert!((got / expected - 1.0).abs() < 0.1, "{got} against {expected}");
}

#[test]
fn stable_laws_of_known_form() {
    let mut stream = Seeds::new(3).stream("stable");
    let uncut = |exponent| PowerLaw { exponent, scale: 1.0, min: 0.0, max: f64::INFINITY };
    let n = 100_000;
    // Exponent 1 is Cauchy: P(|x| < 1) = 1/2. Exponent 2 is normal with variance 2:
    // P(|x| < 1) = erf(1/2) = 0.5205.
    for (exponent, expected) in [(1.0, 0.5), (2.0, 0.520_5)] {
        let law = uncut(exponent);
        let below = (0..n).filter(|_| law.draw(&mut stream) < 1.0).count() as f64 / f64::from(n);
        assert!((below - expected).abs() < 0.008, "{exponent}: {below}");
    }
}

#[test]
#[should_panic(expected = "leaves nothing")]
fn an_empty_law_is_found_out() {
    let law = PowerLaw { exponent: 2.0, scale: 1.0, min: 50.0, max: 60.0 };
    law.draw(&mut Seeds::new(3).stream("stable"));
}

#[test]
fn longer_flights_are_faster() {
    // 30.55 * 100^0.11 = 50.70 s, 0.76 * 1000^0.72 = 109.9 s.
    assert!((flight_seconds(100.0) - 50.70).abs() < 0.01);
    assert!((flight_seconds(1000.0) - 109.86).abs() < 0.05);
    let speed = |l: f64| l / flight_seconds(l);
    assert!(speed(5.0) < speed(50.0) && speed(50.0) < speed(499.0));
    // Where the two fits meet they differ by a tenth.
    assert!((flight_seconds(500.0) / flight_seconds(499.999) - 1.0).abs() < 0.11);
}

#[test]
fn a_walker_stays_in_and_does_not_jump() {
    for seed in 0..20 {
        let mut walk = walker(seed);
        let mut last = walk.position_at(Instant::ZERO);
        let mut travelled = 0.0;
        for step in 1..=20_000_u64 {
            let here = walk.position_at(Instant::from_millis(250 * step));
            assert!(DISC.contains(&here), "{here:?}");
            assert_eq!(here.z, 1.5);
            let moved = here.distance(&last);
            // 1000 m in 109.9 s is the fastest flight: 9.10 m/s.
            assert!(moved <= 9.11 * 0.25, "{moved} m in 250 ms");
            travelled += moved;
            last = here;
        }
        assert!(travelled > 20.0, "seed {seed} went {travelled} m in 5000 s");
    }
}

#[test]
fn the_path_does_not_depend_on_who_looks() {
    let (mut often, mut rarely) = (walker(7), walker(7));
    let mut at = Instant::ZERO;
    for _ in 0..100 {
        let mut seen = often.position_at(at);
        for _ in 0..300 {
            at += Duration::from_nanos(100_000_007);
            seen = often.position_at(at);
        }
        assert_eq!(rarely.position_at(at), seen);
    }
    assert_ne!(walker(8).position_at(at), rarely.position_at(at));
}

#[test]
fn a_small_disc_is_crossed_many_times() {
    let disc = Disc { radius_m: 2.0, ..DISC };
    let law =
        LevyLaw { flight_m: PowerLaw { min: 900.0, ..LevyLaw::default().flight_m }, ..LevyLaw::default() };
    let mut walk = LevyWalk::new(law, disc, disc.centre, Seeds::new(4).stream("walk"));
    let mut farthest = 0.0_f64;
    for k in 0..10_000 {
        let here = walk.position_at(Instant::from_millis(10 * k));
        assert!(disc.contains(&here), "{here:?}");
        farthest = farthest.max(disc.centre.distance(&here));
    }
    assert!(farthest > 1.99, "{farthest}");
}

#[test]
fn what_is_static_stays() {
    let here = Position::on_ground(1.0, 2.0);
    let mut ue = Mobility::Static(here);
    assert!(ue.is_static());
    assert_eq!(ue.position_at(Instant::FAR_FUTURE), here);
    assert_eq!(ue.velocity_at(Instant::FAR_FUTURE), Velocity::default());
    assert!(!Mobility::LevyWalk(walker(1)).is_static());
}

#[test]
fn a_straight_line_is_straight() {
    let start = Position { x: 1.0, y: 2.0, z: 1.5 };
    let seconds = |s: u64| Instant::from_millis(1000 * s);
    let north = Line::new(Course::Heading(90.0), 3.0, start);
    let here = north.position_at(seconds(100));
    assert!((here.x - 1.0).abs() < 1e-9 && (here.y - 302.0).abs() < 1e-9 && here.z == 1.5, "{here:?}");
    assert!((north.velocity().speed_mps() - 3.0).abs() < 1e-12);
    // 3, 4, 5: through (4, 6) after 5 s at 1 m/s, and on.
    let through = Line::new(Course::Through(Position::on_ground(4.0, 6.0)), 1.0, start);
    for (s, x, y) in [(0, 1.0, 2.0), (5, 4.0, 6.0), (10, 7.0, 10.0)] {
        let here = through.position_at(seconds(s));
        assert!((here.x - x).abs() < 1e-9 && (here.y - y).abs() < 1e-9, "{here:?}");
    }
    let nowhere = Line::new(Course::Through(start), 1.0, start);
    assert_eq!(nowhere.velocity(), Velocity { x: 1.0, y: 0.0 });
}

#[test]
fn speeds_follow_their_law() {
    let mut stream = Seeds::new(5).stream("speed");
    assert_eq!(SpeedLaw::Constant(2.0).draw(&mut stream), 2.0);
    // 40 km/h with variance 5 (km/h)^2, almost never truncated.
    let law = SpeedLaw::Normal { mean_mps: 40.0 / 3.6, deviation_mps: 5.0_f64.sqrt() / 3.6 };
    let n = 100_000;
    let kmh: Vec<f64> = (0..n).map(|_| 3.6 * law.draw(&mut stream)).collect();
    let mean = kmh.iter().sum::<f64>() / f64::from(n);
    let variance = kmh.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / f64::from(n - 1);
    // Five standard errors: sqrt(5 / n) of the mean, 5 sqrt(2 / n) of the variance.
    assert!((mean - 40.0).abs() < 0.036, "{mean}");
    assert!((variance - 5.0).abs() < 0.112, "{variance}");
    // Truncated at zero: the mean of a normal distribution above -1 sigma is mu + sigma phi(-1) /
    // Phi(1) = 1.2876.
    let law = SpeedLaw::Normal { mean_mps: 1.0, deviation_mps: 1.0 };
    let speeds: Vec<f64> = (0..n).map(|_| law.draw(&mut stream)).collect();
    assert!(speeds.iter().all(|&v| v > 0.0));
    assert!((speeds.iter().sum::<f64>() / f64::from(n) - 1.2876).abs() < 0.013);
}

fn waypoints(area: Area, pause: [u64; 2], seed: u64) -> RandomWaypoint {
    let law = WaypointLaw { area, speed_mps: [1.0, 3.0], pause: pause.map(Duration::from_secs) };
    RandomWaypoint::new(law, DISC.centre, Seeds::new(seed).stream("ue/0/mobility"))
}

#[test]
fn random_waypoints_stay_in_their_area() {
    let [low, high] = [[-100.0, -50.0], [60.0, 200.0]];
    for area in [Area::Disc(DISC), Area::Rectangle(low, high)] {
        let inside = |here: &Position| match area {
            Area::Disc(disc) => disc.contains(here),
            Area::Rectangle(..) => {
                (low[0]..=high[0]).contains(&here.x) && (low[1]..=high[1]).contains(&here.y)
            }
        };
        let mut walk = waypoints(area, [0, 20], 3);
        let mut last = walk.position_at(Instant::ZERO);
        let (mut stood, mut farthest) = (0, 0.0_f64);
        for k in 1..40_000_u64 {
            let now = Instant::from_millis(100 * k);
            let here = walk.position_at(now);
            let speed = walk.velocity_at(now).speed_mps();
            assert!(inside(&here) && here.z == 1.5, "{here:?}");
            assert!(here.distance(&last) <= 0.3 + 1e-9, "at most 3 m/s");
            assert!(speed == 0.0 || (1.0 - 1e-9..=3.0 + 1e-9).contains(&speed), "{speed}");
            stood += u64::from(speed == 0.0);
            farthest = farthest.max(here.distance(&DISC.centre));
            last = here;
        }
        // Legs last about a minute, pauses ten seconds.
        assert!((2_000..12_000).contains(&stood), "{stood}");
        assert!(farthest > 100.0);
    }
}

#[test]
fn waypoints_do_not_depend_on_who_looks() {
    let (mut often, mut rarely) =
        (waypoints(Area::Disc(DISC), [0, 0], 9), waypoints(Area::Disc(DISC), [0, 0], 9));
    let mut at = Instant::ZERO;
    for _ in 0..100 {
        let mut seen = often.position_at(at);
        for _ in 0..50 {
            at += Duration::from_nanos(700_000_003);
            seen = often.position_at(at);
        }
        assert_eq!(rarely.position_at(at), seen);
    }
}

#[test]
fn the_mean_speed_of_waypoints_is_the_harmonic_one() {
    // Legs of length l at speed v last l / v: the mean over time is the harmonic mean of the law,
    // (3 - 1) / ln(3 / 1) = 1.8205 m/s (Yoon et al. 2003, eq. 6).
    let mut metres = 0.0;
    for seed in 0..40 {
        let mut walk = waypoints(Area::Disc(DISC), [0, 0], seed);
        for k in 0..20_000_u64 {
            metres += walk.velocity_at(Instant::from_millis(1000 * (1_000 + k))).speed_mps();
        }
    }
    let mean = metres / 800_000.0;
    assert!((mean - 1.8205).abs() < 0.02, "{mean}");
}
