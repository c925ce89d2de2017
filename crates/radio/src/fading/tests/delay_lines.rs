//! The tapped delay lines of TR 38.901.

use super::*;

const SPREAD: Duration = Duration::from_nanos(300);
/// PRBs of 30 kHz.
const SPACING: f64 = 360e3;

fn all() -> [Profile; 5] {
    DelayLine::ALL.map(|line| Profile::Tdl(line, SPREAD))
}

#[test]
fn the_delay_spread_is_that_of_the_key() {
    for nanos in [10, 100, 363, 1000] {
        for line in DelayLine::ALL {
            let taps = Profile::Tdl(line, Duration::from_nanos(nanos)).taps();
            let total: f64 = taps.iter().map(|tap| tap.1).sum();
            assert!((total - 1.0).abs() < 1e-12);
            let mean: f64 = taps.iter().map(|&(d, p)| p * d).sum();
            let square: f64 = taps.iter().map(|&(d, p)| p * d * d).sum();
            let spread = (square - mean * mean).sqrt() / (nanos as f64 * 1e-9);
            // The rounded powers of the table of TDL-D give 0.9937.
            assert!((spread - 1.0).abs() < 0.007, "{line:?}: {spread}");
        }
    }
}

#[test]
fn first_taps_have_the_tabulated_k_factor() {
    for (line, k_db, of_all_db) in [(DelayLine::D, 13.3, 8.98), (DelayLine::E, 22.0, 9.27)] {
        let profile = Profile::Tdl(line, SPREAD);
        let specular = profile.specular().expect("a line of sight");
        assert!((10.0 * libm::log10(specular.k_factor) - k_db).abs() < 1e-9);
        assert_eq!(specular.doppler, 0.7);
        // Over all other taps: −0.2 dB over the sum of −13.5, −18.8, … dB, computed by hand.
        let rest: f64 = profile.scattered().iter().map(|tap| tap.1).sum();
        assert!((10.0 * libm::log10((1.0 - rest) / rest) - of_all_db).abs() < 0.01, "{rest}");
    }
    assert!(Profile::Tdl(DelayLine::C, SPREAD).specular().is_none());
}

/// Gains of the first and of other PRBs, of many links at one time.
fn covariances(profile: Profile, lags: &[usize]) -> Vec<f64> {
    const LINKS: u32 = 6000;
    let grid = Arc::new(FrequencyGrid::with_spacing(profile, 273, 16, SPACING));
    let mut stream = Seeds::new(12).stream("links");
    let (mut out, mut products) = (vec![0.0; 273], vec![0.0; lags.len()]);
    for _ in 0..LINKS {
        Fading::new(&grid, 10.0, CARRIER, &mut stream).gains(Instant::ZERO, &mut out);
        for (product, &lag) in products.iter_mut().zip(lags) {
            *product += f64::from((out[0] - 1.0) * (out[lag] - 1.0)) / f64::from(LINKS);
        }
    }
    products
}

/// With a constant part of power a² at delay zero and Gaussian taps of powers P, the covariance of powers at two
/// frequencies is |R|² + 2 a² Re R, R = Σ P e^(j 2π Δf τ).
#[test]
fn prbs_correlate_as_the_profile_says_with_and_without_a_line_of_sight() {
    let lags = [0_usize, 1, 2, 5, 10, 40, 200];
    for profile in all() {
        let scattered = profile.scattered();
        let constant = 1.0 - scattered.iter().map(|tap| tap.1).sum::<f64>();
        for (found, lag) in covariances(profile, &lags).into_iter().zip(lags) {
            let (mut re, mut im) = (0.0, 0.0);
            for &(delay, power) in &scattered {
                let angle = 2.0 * core::f64::consts::PI * SPACING * lag as f64 * delay;
                re += power * libm::cos(angle);
                im += power * libm::sin(angle);
            }
            let expected = re * re + im * im + 2.0 * constant * re;
            let bound = if constant > 0.5 { 0.02 } else { 0.08 };
            assert!((found - expected).abs() < bound, "{profile:?} lag {lag}: {found} against {expected}");
        }
    }
}

/// The K-factor of a PRB from the moments of its power: with mean one and variance V, the scattered part is
/// 1 − √(1 − V).
#[test]
fn the_k_factor_of_a_prb_is_that_of_all_taps() {
    for (line, expected_db) in [(DelayLine::D, 8.98), (DelayLine::E, 9.27)] {
        let grid = Arc::new(FrequencyGrid::with_spacing(Profile::Tdl(line, SPREAD), 24, 2, SPACING));
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        let mut out = [0.0; 24];
        for seed in 0..3000 {
            let fading = Fading::new(&grid, 20.0, CARRIER, &mut Seeds::new(seed).stream("k"));
            for k in 0..8 {
                fading.gains(Instant::from_millis(41 * k), &mut out);
                for gain in [out[0], out[23]] {
                    sum += f64::from(gain);
                    squares += f64::from(gain) * f64::from(gain);
                    count += 1.0;
                }
            }
        }
        let mean = sum / count;
        assert!((mean - 1.0).abs() < 0.01, "{line:?}: {mean}");
        let variance = squares / count / (mean * mean) - 1.0;
        let scattered = 1.0 - (1.0 - variance).sqrt();
        let found = 10.0 * libm::log10(1.0 / scattered - 1.0);
        assert!((found - expected_db).abs() < 0.2, "{line:?}: {found} dB against {expected_db} dB");
    }
}

/// The autocorrelation of the first tap: K e^(j 2π 0.7 f_d τ) + J0(2π f_d τ); of the others J0.
#[test]
fn a_line_of_sight_shifts_the_first_tap_by_its_doppler() {
    let doppler = 100.0;
    for (line, k_db) in [(DelayLine::D, 13.3), (DelayLine::E, 22.0)] {
        let profile = Profile::Tdl(line, SPREAD);
        let k = libm::pow(10.0, k_db / 10.0);
        let count = profile.scattered().len();
        let mut stream = Seeds::new(5).stream("taps");
        let taps: Vec<Taps> =
            (0..1000).map(|_| Taps::new(count, profile.specular(), doppler, &mut stream)).collect();
        for lag_us in [0, 1000, 3000, 7000, 12_000] {
            let turns = doppler * f64::from(lag_us) * 1e-6;
            let scattered = libm::j0(2.0 * core::f64::consts::PI * turns);
            let angle = 2.0 * core::f64::consts::PI * 0.7 * turns;
            let expected = ((k * libm::cos(angle) + scattered) / k, k * libm::sin(angle) / k);
            let (mut re, mut im) = (0.0, 0.0);
            for tap in &taps {
                let (a, b) = autocorrelation(tap, lag_us, 60, 9_973);
                (re, im) = (re + a / (k * 1000.0), im + b / (k * 1000.0));
            }
            assert!(
                (re - expected.0).abs() < 0.02 && (im - expected.1).abs() < 0.02,
                "{line:?} {lag_us}: {re} {im}"
            );
        }
    }
}

/// Every point computed directly from the taps.
#[test]
fn the_widest_carrier_is_the_transform_of_its_taps() {
    for profile in all() {
        for (n_prb, rbg_size) in [(275, 16), (273, 16), (106, 8), (24, 2)] {
            let grid = Arc::new(FrequencyGrid::with_spacing(profile, n_prb, rbg_size, SPACING));
            let fading = Fading::new(&grid, 30.0, CARRIER, &mut Seeds::new(2).stream("fading"));
            let taps = fading.taps().at::<_, 24>(Scalar, 987_000);
            let (mut out, mut rbgs) = (vec![0.0; n_prb], vec![0.0; grid.n_rbg()]);
            fading.gains(Instant::from_millis(987), &mut out);
            fading.gains_at_rbg(Instant::from_millis(987), &mut rbgs);
            let power = |place: f64| {
                let (mut re, mut im) = (0.0, 0.0);
                for ((delay, power), (&a, &b)) in
                    profile.scattered().into_iter().zip(taps.re.iter().zip(&taps.im))
                {
                    let angle = -2.0 * core::f64::consts::PI * place * SPACING * delay;
                    let (c, s) = (power.sqrt() * libm::cos(angle), power.sqrt() * libm::sin(angle));
                    re += f64::from(a) * c - f64::from(b) * s;
                    im += f64::from(a) * s + f64::from(b) * c;
                }
                re * re + im * im
            };
            let middle = (n_prb as f64 - 1.0) / 2.0;
            for (k, &g) in out.iter().enumerate() {
                let expected = power(k as f64 - middle);
                assert!((f64::from(g) - expected).abs() < 3e-5, "{profile:?} {n_prb} PRBs, PRB {k}");
            }
            for (k, &g) in rbgs.iter().enumerate() {
                let at = (k as f64 + 0.5) * rbg_size as f64 - 0.5;
                assert!((f64::from(g) - power(at - middle)).abs() < 3e-5, "{profile:?} RBG {k}");
            }
        }
    }
}

#[test]
fn a_few_prbs_of_a_wide_carrier_are_the_same_as_among_all() {
    for profile in all() {
        let grid = Arc::new(FrequencyGrid::with_spacing(profile, 273, 16, SPACING));
        let fading = Fading::new(&grid, 20.0, CARRIER, &mut Seeds::new(7).stream("fading"));
        let (mut all, mut few) = (vec![0.0; 273], vec![f32::NAN; 273]);
        let at = Instant::from_millis(1234);
        fading.gains(at, &mut all);
        fading.gains_in(at, [16..48, 256..273].into_iter(), &mut few);
        assert_eq!((&few[16..48], &few[256..]), (&all[16..48], &all[256..]), "{profile:?}");
    }
}
