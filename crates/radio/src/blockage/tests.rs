use super::*;

/// 28 GHz.
const WAVELENGTH: f64 = SPEED_OF_LIGHT / 28e9;

fn path(ground_m: f64, site_m: f64, ue_m: f64) -> PathGeometry {
    PathGeometry { ground_m, site_m, ue_m }
}

fn loss(path: PathGeometry, screen: Screen, at: (f64, f64)) -> f64 {
    screen_loss(path, screen, at, WAVELENGTH).0
}

/// A horizontal path of 100 m at a height of 1 m, a person in its middle at 2 m from the UE.
/// λ = 0.0107069 m, π/λ = 293.42 per m.
/// Sides: 0.15 m off the path. √(2² + 0.15²) − 2 = 0.0056171 m, √(98² + 0.15²) − 98 = 0.0001148 m; together
/// 0.0057319 m. √(293.42 · 0.0057319) = 1.29685, times π/2 = 2.03709; atan = 1.11439; over π = 0.354721.
/// Feet: 1 m below. √5 − 2 = 0.2360680, √9605 − 98 = 0.0051019; 0.2411699 m. √70.7642 = 8.41214, 13.21376,
/// atan = 1.495262, 0.475957. Head: 0.7 m above. √4.49 − 2 = 0.1189620, √9604.49 − 98 = 0.0025; 0.1214620 m.
/// √35.6394 = 5.96988, 9.37746, atan = 1.464559, 0.466183.
/// 1 − 0.942140 · 0.709442 = 0.331606: 9.5876 dB.
#[test]
fn a_person_in_the_path_by_hand() {
    let found = loss(path(100.0, 1.0, 1.0), Screen::HUMAN, (2.0, 0.0));
    assert!((found - 9.5876).abs() < 0.002, "{found}");
}

/// The same path, and a car 10 m from the UE.
/// Sides: 2.4 m off. √105.76 − 10 = 0.2839681, √8105.76 − 90 = 0.0319943; 0.3159624 m. √92.7097 = 9.62859,
/// 15.12456, atan = 1.504774, 0.478984.
/// Wheels: 1 m below. √101 − 10 = 0.0498756, √8101 − 90 = 0.0055554; 0.0554310 m. √16.26456 = 4.03293, 6.33492,
/// atan = 1.414229, 0.450163. Roof: 0.4 m above. √100.16 − 10 = 0.0079968, √8100.16 − 90 = 0.0008889;
/// 0.0088857 m. √2.607244 = 1.614696, 2.536359, atan = 1.195236, 0.380455.
/// 1 − 0.830618 · 0.957968 = 0.204295: 13.795 dB.
#[test]
fn a_car_in_the_path_by_hand() {
    let found = loss(path(100.0, 1.0, 1.0), Screen::VEHICLE, (10.0, 0.0));
    assert!((found - 13.795).abs() < 0.003, "{found}");
}

/// At the edge of a wide and high screen, half of the field remains: 6.02 dB.
#[test]
fn half_of_the_field_passes_an_edge() {
    let wall = Screen { width_m: 2000.0, height_m: 1000.0 };
    let found = loss(path(100.0, 500.0, 500.0), wall, (20.0, 1000.0));
    assert!((found - 6.02).abs() < 0.05, "{found}");
    // Over the top of a wall that ends at the height of the path.
    let found = loss(path(100.0, 500.0, 500.0), Screen { height_m: 500.0, ..wall }, (20.0, 0.0));
    assert!((found - 6.02).abs() < 0.05, "{found}");
}

#[test]
fn who_is_far_from_the_path_or_below_it_does_nothing() {
    let level = path(100.0, 1.0, 1.0);
    assert!(loss(level, Screen::HUMAN, (2.0, 3.0)) < 0.02);
    assert!(loss(path(100.0, 25.0, 1.5), Screen::VEHICLE, (20.0, 0.0)) < 0.1);
    for distance in [-3.0, 0.0, 100.0, 120.0] {
        assert_eq!(loss(level, Screen::HUMAN, (distance, 0.0)), 0.0);
    }
    // The loss never is a gain, and does not jump where the path enters the shadow.
    for screen in [Screen::HUMAN, Screen::VEHICLE] {
        let mut last = None;
        for i in 0..4000 {
            let found = loss(level, screen, (4.0, f64::from(i) * 1e-3));
            assert!(found > -1e-9, "{found}");
            assert!(last.is_none_or(|last: f64| (last - found).abs() < 0.15), "{last:?} {found}");
            last = Some(found);
        }
    }
}

fn people(interval: Duration) -> Crossings {
    Crossings { screen: Screen::HUMAN, interval, speed_m_s: 0.8, distance_m: (1.0, 2.0) }
}

fn blockage(seed: u64, crossings: Vec<Crossings>, direct: f64) -> Blockage {
    Blockage::new(BlockageLaw { crossings, direct }, 28e9, Seeds::new(seed), "ue/0/blockage".to_owned())
}

const LEVEL: PathGeometry = PathGeometry { ground_m: 100.0, site_m: 1.0, ue_m: 1.0 };

#[test]
fn the_gain_is_a_function_of_time() {
    let all = |step: usize| {
        let mut blockage = blockage(3, vec![people(Duration::from_secs(2))], 8.0);
        let mut times: Vec<u64> = (0..20_000).step_by(step).collect();
        if step > 1 {
            times.reverse();
        }
        times.into_iter().map(|ms| (ms, blockage.gain(Instant::from_millis(ms), LEVEL))).collect::<Vec<_>>()
    };
    let often = all(1);
    for (ms, gain) in all(37) {
        assert_eq!(gain, often[ms as usize].1, "{ms} ms");
    }
}

/// One at a time, each crossing shades the path for about its width over its speed, 0.3 m / 0.8 m/s = 375 ms: the
/// time for which a screen without upper and lower edge takes more than 6.02 dB. With the feet and the head of a
/// person it is shorter, by as much as the formula of the screen says.
#[test]
fn shadows_last_for_the_width_over_the_speed() {
    let depth_db = 10.0 * libm::log10(4.0);
    let half_m = |distance: f64| {
        let shaded =
            |offset_mm: &u32| loss(LEVEL, Screen::HUMAN, (distance, f64::from(*offset_mm) * 1e-3)) > depth_db;
        f64::from((0..300).take_while(shaded).count() as u32) * 1e-3
    };
    let expected_ms =
        (0..100).map(|i| half_m(1.005 + 0.01 * f64::from(i))).sum::<f64>() / 100.0 * 2.0 / 0.8 * 1e3;
    assert!((300.0..375.0).contains(&expected_ms), "{expected_ms} ms");

    let (seconds, step_ms) = (20_000_u64, 20_u64);
    let mut blockage = blockage(4, vec![people(Duration::from_secs(50))], f64::INFINITY);
    let (mut shades, mut within, mut was) = (0_u32, 0_u32, false);
    for step in 0..seconds * 1000 / step_ms {
        let inside = blockage.gain(Instant::from_millis(step * step_ms), LEVEL) < 0.25;
        shades += u32::from(inside && !was);
        within += u32::from(inside);
        was = inside;
    }
    // 400 expected, with a standard deviation of 20.
    assert!((330..470).contains(&shades), "{shades} shadows");
    let mean_ms = step_ms as f64 * f64::from(within) / f64::from(shades);
    assert!((mean_ms / expected_ms - 1.0).abs() < 0.03, "{mean_ms} ms, {expected_ms} ms by the formula");
}

/// The other paths keep 1 / (1 + K) of the power, however deep the shadow is.
#[test]
fn other_paths_limit_the_depth() {
    let crowd = || vec![people(Duration::from_millis(50))];
    let least = |direct| {
        let mut blockage = blockage(5, crowd(), direct);
        (0..20_000).map(|ms| blockage.gain(Instant::from_millis(ms), LEVEL)).fold(1.0, f32::min)
    };
    let (some, none) = (least(9.0), least(f64::INFINITY));
    assert!((some - 0.1).abs() < 0.001, "{some}");
    assert!(none < 1e-4, "{none}");
}

#[test]
fn two_kinds_have_their_own_streams() {
    let cars = Crossings {
        screen: Screen::VEHICLE,
        interval: Duration::from_secs(4),
        speed_m_s: 8.0,
        distance_m: (5.0, 10.0),
    };
    let of = |kinds: Vec<Crossings>| {
        let mut blockage = blockage(6, kinds, f64::INFINITY);
        (0..30_000)
            .map(|ms| 10.0 * libm::log10(f64::from(blockage.gain(Instant::from_millis(ms), LEVEL))))
            .collect::<Vec<_>>()
    };
    let (both, first) =
        (of(vec![people(Duration::from_secs(2)), cars]), of(vec![people(Duration::from_secs(2))]));
    // Losses add up in dB, so that cars only add to those of people.
    assert!(both.iter().zip(&first).all(|(both, first)| both <= &(first + 1e-6)));
    assert!(both.iter().zip(&first).any(|(both, first)| *both < first - 6.0));
}
