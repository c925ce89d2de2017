//! Reflections by hand, and the distributions of steps and positions.

use airlane_core::Seeds;

use super::*;

const CORNERS: [[f64; 2]; 2] = [[0.0, 0.0], [100.0, 80.0]];

fn law(step: Step) -> WalkLaw {
    WalkLaw { corners_m: CORNERS, speed_mps: [2.0, 4.0], step }
}

/// The corners of a path that begins at a point with a velocity: time in ms, and where.
fn corners(from: [f64; 2], velocity: [f64; 2], ms: u64) -> Vec<(u64, f64, f64)> {
    let law = law(Step::Time(Duration::from_secs(1)));
    let mut rest = Some((Velocity { x: velocity[0], y: velocity[1] }, Duration::from_millis(ms)));
    let mut at = (Position { x: from[0], y: from[1], z: 1.5 }, Instant::ZERO);
    let mut corners = Vec::new();
    while let Some((velocity, span)) = rest {
        let leg;
        (leg, rest) = walk(&law, at, velocity, span);
        at = (leg.to, leg.end);
        assert_eq!(leg.to.z, 1.5);
        corners.push((leg.end.as_nanos() / 1_000_000, leg.to.x, leg.to.y));
    }
    corners
}

#[test]
fn a_side_reflects_as_a_mirror() {
    // 10 m to the right side in 1 s, and 20 m back in 2 s.
    assert_eq!(corners([90.0, 50.0], [10.0, 0.0], 3_000), [(1_000, 100.0, 50.0), (3_000, 80.0, 50.0)]);
    // The other component is kept: 0.5 s to the side, 1.5 s from it.
    assert_eq!(corners([95.0, 50.0], [10.0, -4.0], 2_000), [(500, 100.0, 48.0), (2_000, 85.0, 42.0)]);
    // Into a corner and back.
    assert_eq!(corners([90.0, 70.0], [10.0, 10.0], 2_000), [(1_000, 100.0, 80.0), (2_000, 90.0, 70.0)]);
    // Top, then left, then across to the right: 16 s at 10 m/s and 5 m/s.
    let path = corners([20.0, 75.0], [-10.0, 5.0], 16_000);
    assert_eq!(path, [(1_000, 10.0, 80.0), (2_000, 0.0, 75.0), (12_000, 100.0, 25.0), (16_000, 60.0, 5.0)]);
    // A step that ends on a side has no rest, and one that begins there is reflected at once.
    assert_eq!(corners([90.0, 50.0], [10.0, 0.0], 1_000), [(1_000, 100.0, 50.0)]);
    assert_eq!(corners([100.0, 50.0], [10.0, 5.0], 1_000), [(1_000, 90.0, 55.0)]);
    assert_eq!(corners([0.0, 0.0], [-10.0, -5.0], 1_000), [(1_000, 10.0, 5.0)]);
    // Along a side.
    assert_eq!(corners([50.0, 80.0], [-10.0, 0.0], 1_000), [(1_000, 40.0, 80.0)]);
}

/// Each leg up to the next draw, reflected or not, adds up to the length of the step.
#[test]
fn steps_have_their_length_and_speeds_their_range() {
    for step in [Step::Time(Duration::from_secs(7)), Step::Distance(40.0)] {
        let start = Position::on_ground(50.0, 40.0);
        let mut walk = RandomWalk::new(law(step), start, Seeds::new(1).stream("walk"));
        let (mut metres, mut time, mut legs, mut speeds) = (0.0, Duration::ZERO, 0, Vec::new());
        let mut steps = 0;
        while steps < 2_000 {
            let Leg { from, to, begin, end } = walk.leg;
            metres += from.distance(&to);
            time += end - begin;
            legs += 1;
            if walk.rest.is_none() {
                match step {
                    Step::Time(span) => assert_eq!(time, span),
                    Step::Distance(length) => assert!((metres - length).abs() < 1e-6, "{metres} m"),
                }
                speeds.push(metres / time.as_secs_f64());
                (metres, time) = (0.0, Duration::ZERO);
                steps += 1;
            }
            walk.next_leg();
        }
        assert!(legs > steps, "sides reflected some of them");
        assert!(speeds.iter().all(|speed| (1.999_999..4.000_001).contains(speed)));
        // Uniform from 2 to 4 m/s: standard deviation 0.577, five standard errors of 2000.
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        assert!((mean - 3.0).abs() < 5.0 * 0.577 / 2_000_f64.sqrt(), "{mean} m/s");
    }
}

/// Far from the sides the directions are independent: after n steps of length l, the mean of the squared distance
/// is n l². It is close to exponential, so its standard error over 2000 walkers is 2.2 %.
#[test]
fn the_squared_distance_grows_with_the_number_of_steps() {
    let law =
        WalkLaw { corners_m: [[-1e6, -1e6], [1e6, 1e6]], speed_mps: [3.0, 3.0], step: Step::Distance(6.0) };
    let at = Instant::from_millis(100 * 2_000); // 100 steps of 2 s
    let squared = |seed| {
        let start = Position::on_ground(0.0, 0.0);
        let mut walk = RandomWalk::new(law, start, Seeds::new(seed).stream("walk"));
        walk.position_at(at).ground_distance(&start)
    };
    let mean = (0..2_000).map(|seed| squared(seed) * squared(seed)).sum::<f64>() / 2_000.0;
    assert!((mean / 3_600.0 - 1.0).abs() < 0.11, "{mean} m² for 3600 m²");
}

/// Reflection preserves the uniform distribution. 4000 walkers that start in one corner are spread over 20 squares of
/// 20 m each after half an hour: chi-squared with 19 degrees of freedom exceeds 49 once in 5000 times.
#[test]
fn positions_become_uniform() {
    for step in [Step::Time(Duration::from_secs(10)), Step::Distance(30.0)] {
        let mut counts = [0_u32; 20];
        for seed in 0..4_000 {
            let mut walk = RandomWalk::new(law(step), Position::default(), Seeds::new(seed).stream("walk"));
            let Position { x, y, .. } = walk.position_at(Instant::from_millis(1_800_000));
            counts[(x / 20.0).min(4.0) as usize + 5 * (y / 20.0).min(3.0) as usize] += 1;
        }
        let squares =
            counts.iter().map(|count| (f64::from(*count) - 200.0) * (f64::from(*count) - 200.0) / 200.0);
        let chi_squared: f64 = squares.sum();
        assert!(chi_squared < 49.0, "{step:?}: {chi_squared}, {counts:?}");
    }
}

#[test]
fn a_walker_is_never_outside_and_does_not_jump() {
    let law = WalkLaw { corners_m: [[-0.7, 0.1], [0.6, 1.3]], ..law(Step::Distance(5.0)) };
    let mut walk = RandomWalk::new(law, Position::on_ground(0.0, 0.7), Seeds::new(3).stream("walk"));
    let mut last = walk.position_at(Instant::ZERO);
    let mut sides = 0;
    for step in 1..=100_000_u64 {
        let here = walk.position_at(Instant::from_millis(10 * step));
        assert!((-0.7..=0.6).contains(&here.x) && (0.1..=1.3).contains(&here.y), "{here:?}");
        assert!(here.distance(&last) <= 0.04 + 1e-8, "{here:?} after {last:?}");
        sides += u32::from(walk.rest.is_some());
        last = here;
    }
    assert!(sides > 10_000, "most steps meet a side");
}

#[test]
fn the_path_does_not_depend_on_the_number_of_queries() {
    let walker = |seed| {
        let start = Position::on_ground(10.0, 10.0);
        RandomWalk::new(law(Step::Distance(1.0)), start, Seeds::new(seed).stream("walk"))
    };
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
