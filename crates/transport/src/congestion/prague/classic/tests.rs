use airlane_core::Duration;

use super::ClassicBottleneck;

fn after(samples_us: &[u64], ssthresh: u32) -> ClassicBottleneck {
    let mut c = ClassicBottleneck::new();
    c.on_reduction(ssthresh);
    for &us in samples_us {
        c.on_rtt(Duration::from_micros(us));
    }
    c
}

fn near(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
}

/// A threshold of 4 segments: b = 2, and the gain 2^-(2 + 1 + 1) = 1/16. 10 ms, then 26 ms: the mean is 10 + 16/16 =
/// 11 ms, the deviation 1 + (16000 - 1)/32 = 500.96875 us. 11 ms again: the deviation falls by 1/32 to 485.3134765625.
#[test]
fn averages_of_the_round_trip() {
    let c = after(&[10_000, 26_000, 11_000], 4);
    near(c.mean_us.expect("samples were taken"), 11_000.0);
    near(c.deviation_us, 485.313_476_562_5);
    near(c.min_us, 10_000.0);
}

/// b and gain: 1 -> 0, 1/2; 64 -> 6, 2^-10; 100 as 64; 4096 -> 12, 2^-19, at least 2^-18.
#[test]
fn the_gain_follows_the_threshold() {
    for (ssthresh, bits) in [(1, 1), (2, 2), (64, 10), (100, 10), (4_096, 18), (u32::MAX, 18)] {
        let mut c = ClassicBottleneck::new();
        c.on_reduction(ssthresh);
        near(c.gain * f64::from(1_u32 << bits), 1.0);
    }
}

/// A deviation of 3 ms is two doublings of 750 us, and a depth of 8 ms two of 2 ms: each update adds 1/2 (2 + 2) = 2.
/// After four updates the score is 8: still the response of L4S. After five it is 10, more than 9: a classic response,
/// which takes off half of 0.625. The score never exceeds 17. A deviation of 187.5 us, without depth, then takes off 1
/// per update: 17, 16, ... 9, and at 8.5 the response is half of that; it ends at 0.
#[test]
fn the_score_accumulates() {
    let mut c = ClassicBottleneck::new();
    (c.mean_us, c.min_us, c.deviation_us) = (Some(28_000.0), 20_000.0, 3_000.0);
    let shares: Vec<f64> = (0..9)
        .map(|_| {
            c.on_round();
            c.least_share()
        })
        .collect();
    assert_eq!(shares, [0.0, 0.0, 0.0, 0.0, 0.625, 0.625, 0.625, 0.625, 0.625]);
    near(c.score, 17.0);
    (c.mean_us, c.deviation_us) = (Some(20_500.0), 187.5);
    for score in (0..17).rev() {
        c.on_round();
        near(c.score, f64::from(score));
        let share = if score >= 9 { 0.625 } else { 0.0 };
        near(c.least_share(), share);
    }
    c.on_round();
    near(c.score, 0.0);
    c.score = 8.5;
    near(c.least_share(), 0.3125);
}

/// Without a sample there is nothing to judge.
#[test]
fn no_sample_no_score() {
    let mut c = ClassicBottleneck::new();
    c.on_round();
    near(c.score, 0.0);
}
