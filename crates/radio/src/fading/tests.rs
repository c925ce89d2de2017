use airlane_core::Seeds;
use pulp::Scalar;

use super::*;

const CARRIER: f64 = 2120e6;

fn link(profile: Profile, speed_m_s: f64, seed: u64) -> Fading {
    let grid = Arc::new(FrequencyGrid::new(profile, 100, 4));
    Fading::new(&grid, speed_m_s, CARRIER, &mut Seeds::new(seed).stream("fading"))
}

#[test]
fn a_channel_is_coherent_until_half_of_the_correlation() {
    let correlation = libm::j0(2.0 * core::f64::consts::PI * HALF_CORRELATION);
    assert!((correlation * correlation - 0.5).abs() < 1e-3, "{correlation}");
    // 3 and 50 km/h at 2.12 GHz are 5.9 and 98 Hz: 30 and 1.8 ms.
    let lasts = |speed_m_s: f64, ms: u64| {
        link(Profile::Epa, speed_m_s, 1).is_coherent_over(Duration::from_millis(ms))
    };
    assert_eq!(
        [(0.83, 29), (0.83, 32), (13.9, 1), (13.9, 2)].map(|(v, ms)| lasts(v, ms)),
        [true, false, true, false]
    );
    assert!(lasts(0.0, 100_000));
}

#[test]
fn profiles_are_normalised_and_spread_as_tabulated() {
    // RMS delay spreads of TS 36.104 Table B.2-1. The EPA taps themselves give 43 ns.
    for (profile, spread_ns) in [(Profile::Epa, 45.0), (Profile::Eva, 357.0), (Profile::Etu, 991.0)] {
        let taps = profile.taps();
        let moment = |n: i32| -> f64 { taps.iter().map(|&(d, p)| p * if n == 1 { d } else { d * d }).sum() };
        let total: f64 = taps.iter().map(|t| t.1).sum();
        assert!((total - 1.0).abs() < 1e-12);
        let spread = (moment(2) - moment(1) * moment(1)).sqrt() * 1e9;
        assert!((spread - spread_ns).abs() < 2.5, "{profile:?}: {spread}");
    }
    assert_eq!(Profile::Flat.taps(), [(0.0, 0.25); 4]);
}

/// The profiles of TR 38.901 whose taps are all Rayleigh.
fn without_sight() -> [Profile; 3] {
    [DelayLine::A, DelayLine::B, DelayLine::C].map(|line| Profile::Tdl(line, Duration::from_nanos(100)))
}

#[test]
fn power_is_exponential_with_mean_one() {
    let older = [Profile::Epa, Profile::Eva, Profile::Etu, Profile::Flat];
    for profile in older.into_iter().chain(without_sight()) {
        let mut below = [0_u32; 5];
        let levels = [0.01, 0.1, 0.5, 1.0, 3.0];
        let (mut sum, mut n) = (0.0, 0_u32);
        let mut out = [0.0; 100];
        for seed in 0..1000 {
            let fading = link(profile, 16.7, seed);
            for k in 0..100_u64 {
                fading.gains(Instant::from_millis(37 * k), &mut out);
                for g in [out[0], out[99]] {
                    sum += f64::from(g);
                    n += 1;
                    levels.iter().zip(&mut below).for_each(|(&l, b)| *b += u32::from(f64::from(g) < l));
                }
            }
        }
        let n = f64::from(n);
        assert!((sum / n - 1.0).abs() < 0.01, "{profile:?}: mean {}", sum / n);
        for (level, count) in levels.iter().zip(below) {
            let expected = 1.0 - libm::exp(-level);
            let got = f64::from(count) / n;
            // A finite number of oscillators bounds the peaks; the distribution agrees to 0.01.
            assert!((got - expected).abs() < 0.01, "{profile:?} below {level}: {got} against {expected}");
            assert!(
                (got / expected - 1.0).abs() < 0.12,
                "{profile:?} below {level}: {got} against {expected}"
            );
        }
    }
}

/// Time average of h(t + lag) h*(t) of one tap, over `count` samples `every_us` apart.
fn autocorrelation(tap: &Taps, lag_us: u32, count: u32, every_us: u32) -> (f64, f64) {
    let (mut re, mut im) = (0.0, 0.0);
    for k in 0..count {
        let at = |micros| tap.at::<_, 16>(Scalar, micros);
        let (now, then) = (at(k * every_us), at(k * every_us + lag_us));
        let (a, b, c, d) = (now.re[0], now.im[0], then.re[0], then.im[0]);
        re += f64::from(c * a + d * b);
        im += f64::from(d * a - c * b);
    }
    (re / f64::from(count), im / f64::from(count))
}

#[test]
fn autocorrelation_follows_bessel() {
    let doppler = 100.0;
    let mut stream = Seeds::new(5).stream("taps");
    let taps: Vec<Taps> = (0..2000).map(|_| Taps::new(1, None, doppler, &mut stream)).collect();
    for step in 0..=30 {
        // f_d tau from 0 to 3.
        let lag_us = step * 1000;
        let expected = libm::j0(2.0 * core::f64::consts::PI * doppler * f64::from(lag_us) * 1e-6);
        let (mut mean_re, mut mean_im) = (0.0, 0.0);
        for (i, tap) in taps.iter().enumerate() {
            // The first ten are averaged long enough (200 s, 20 000 turns) to be checked one by
            // one, over the 1.5 turns in which eight oscillators integrate J0; a single tap repeats
            // later.
            let (re, im) = autocorrelation(tap, lag_us, if i < 10 { 20_000 } else { 50 }, 9_973);
            if i < 10 && step <= 15 {
                let error = (re - expected).abs().max(im.abs());
                assert!(error < 0.03, "tap {i} lag {lag_us}: {re} {im} {expected}");
            }
            mean_re += re / taps.len() as f64;
            mean_im += im / taps.len() as f64;
        }
        assert!((mean_re - expected).abs() < 0.02, "lag {lag_us} us: {mean_re} against {expected}");
        assert!(mean_im.abs() < 0.02);
    }
}

#[test]
fn prbs_correlate_as_the_delay_profile_says() {
    for profile in [Profile::Epa, Profile::Eva, Profile::Etu].into_iter().chain(without_sight()) {
        let grid = Arc::new(FrequencyGrid::new(profile, 100, 4));
        let lags = [1_usize, 3, 10, 30, 80];
        let mut product = [0.0; 5];
        let n = 4000;
        let mut stream = Seeds::new(11).stream("links");
        let mut out = [0.0; 100];
        for _ in 0..n {
            Fading::new(&grid, 10.0, CARRIER, &mut stream).gains(Instant::ZERO, &mut out);
            for (p, &lag) in product.iter_mut().zip(&lags) {
                *p += f64::from((out[0] - 1.0) * (out[lag] - 1.0)) / f64::from(n);
            }
        }
        for (got, lag) in product.iter().zip(lags) {
            // Gaussian taps: the covariance of powers is |Σ P e^(j 2π Δf τ)|².
            let (mut re, mut im) = (0.0, 0.0);
            for (delay, power) in profile.taps() {
                let angle = 2.0 * core::f64::consts::PI * 180e3 * lag as f64 * delay;
                re += power * libm::cos(angle);
                im += power * libm::sin(angle);
            }
            let expected = re * re + im * im;
            assert!((got - expected).abs() < 0.1, "{profile:?} {lag} PRBs apart: {got} against {expected}");
        }
    }
}

#[test]
fn fades_are_crossed_as_often_as_rice_says() {
    // Downward crossings of amplitude rho per second: sqrt(2 pi) f_d rho exp(-rho²), rho = 0.5.
    let doppler = max_doppler(16.7, CARRIER);
    let rho = 0.5_f64;
    let expected = (2.0 * core::f64::consts::PI).sqrt() * doppler * rho * libm::exp(-rho * rho);
    let mut crossings = 0_u32;
    let mut out = [0.0; 100];
    for seed in 0..40 {
        let fading = link(Profile::Eva, 16.7, seed);
        let mut above = false;
        for k in 0..10_000_u64 {
            // 5 s at 0.5 ms: 17 samples in a turn of the fastest oscillator.
            fading.gains(Instant::ZERO + Duration::from_micros(500 * k), &mut out);
            let now_above = out[50] > (rho * rho) as f32;
            crossings += u32::from(above && !now_above);
            above = now_above;
        }
    }
    let per_second = f64::from(crossings) / 200.0;
    assert!((per_second / expected - 1.0).abs() < 0.05, "{per_second} against {expected}");
}

#[test]
fn a_gain_is_a_function_of_time() {
    let fading = link(Profile::Eva, 16.7, 1);
    let times = [5_u64, 1000, 17, 86_400_000];
    let mut first = [[0.0; 100]; 4];
    let mut again = [[0.0; 100]; 4];
    times.iter().zip(&mut first).for_each(|(&t, out)| fading.gains(Instant::from_millis(t), out));
    times.iter().zip(&mut again).rev().for_each(|(&t, out)| fading.gains(Instant::from_millis(t), out));
    assert_eq!(first, again);
    assert_ne!(first[0], first[2]);
    let (mut a, mut b) = ([0.0; 100], [0.0; 100]);
    link(Profile::Eva, 16.7, 1).gains(Instant::from_millis(17), &mut a);
    assert_eq!(a, first[2]);
    link(Profile::Eva, 16.7, 2).gains(Instant::from_millis(17), &mut b);
    assert_ne!(a, b);
}

#[test]
fn at_rest_nothing_changes() {
    let fading = link(Profile::Etu, 0.0, 3);
    let (mut a, mut b) = ([0.0; 100], [0.0; 100]);
    fading.gains(Instant::ZERO, &mut a);
    fading.gains(Instant::from_millis(60_000), &mut b);
    assert_eq!(a, b);
}

#[test]
fn a_group_is_seen_at_its_middle() {
    // Three PRBs per group: the middle of a group is its second PRB, also in the last group, which
    // has two. Five PRBs per group, ten groups: the middle is the third.
    for (rbg_size, n_rbg, middle) in [(3, 17, 1), (5, 10, 2), (1, 50, 0)] {
        let grid = Arc::new(FrequencyGrid::new(Profile::Etu, 50, rbg_size));
        assert_eq!((grid.n_prb(), grid.n_rbg(), grid.profile()), (50, n_rbg, Profile::Etu));
        let fading = Fading::new(&grid, 3.0, CARRIER, &mut Seeds::new(9).stream("fading"));
        let (mut prb, mut rbg) = ([0.0; 50], [0.0; 50]);
        fading.gains(Instant::from_millis(123), &mut prb);
        fading.gains_at_rbg(Instant::from_millis(123), &mut rbg[..n_rbg]);
        for (k, g) in rbg[..n_rbg].iter().enumerate() {
            assert!((g - prb[rbg_size * k + middle]).abs() < 1e-5, "group {k} of {rbg_size}");
        }
    }
}

#[test]
fn folding_the_band_changes_nothing() {
    // Every point computed directly, with the phasors of TS 36.104's taps and the tap values of the
    // link.
    for (n_prb, rbg_size) in [(6, 1), (15, 2), (25, 2), (50, 3), (75, 4), (100, 4)] {
        let grid = Arc::new(FrequencyGrid::new(Profile::Eva, n_prb, rbg_size));
        let fading = Fading::new(&grid, 30.0, CARRIER, &mut Seeds::new(2).stream("fading"));
        let taps = fading.taps().at::<_, 9>(Scalar, 987_000);
        let mut out = vec![0.0; n_prb];
        fading.gains(Instant::from_millis(987), &mut out);
        for (k, &g) in out.iter().enumerate() {
            let f = (k as f64 - (n_prb as f64 - 1.0) / 2.0) * 180e3;
            let (mut re, mut im) = (0.0, 0.0);
            for ((delay, power), (&a, &b)) in
                Profile::Eva.taps().into_iter().zip(taps.re.iter().zip(&taps.im))
            {
                let angle = -2.0 * core::f64::consts::PI * f * delay;
                let (c, s) = (power.sqrt() * libm::cos(angle), power.sqrt() * libm::sin(angle));
                re += f64::from(a) * c - f64::from(b) * s;
                im += f64::from(a) * s + f64::from(b) * c;
            }
            assert!((f64::from(g) - (re * re + im * im)).abs() < 1e-5, "{n_prb} PRBs, PRB {k}");
        }
    }
}

#[test]
fn one_path_fades_all_prbs_alike() {
    let fading = link(Profile::Flat, 1.0, 4);
    let mut out = [0.0; 100];
    fading.gains(Instant::from_millis(7), &mut out);
    assert!(out.iter().all(|&g| g == out[0]));
}

#[test]
fn the_bits_are_the_same_everywhere() {
    // FNV-1a over the bits of 10 000 gains: the same in debug and release builds, on any machine,
    // and in any later version whose results are unchanged.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let fading = link(Profile::Eva, 16.7, 42);
    let mut out = [0.0; 100];
    for k in 0..100 {
        fading.gains(Instant::from_millis(13 * k), &mut out);
        for g in out {
            hash = (hash ^ u64::from(g.to_bits())).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    assert_eq!(hash, 0x199d_c3f6_1e97_e2b7, "{hash:#018x}");
}

/// The traces of ns-3 are sampled 200 kHz apart. Wider steps make the PRBs of a group differ more,
/// as the covariance of the delay profile predicts.
#[test]
fn wider_spacing_decorrelates_neighbours() {
    let correlation = |spacing: f64| {
        let grid = Arc::new(FrequencyGrid::with_spacing(Profile::Eva, 100, 4, spacing));
        let (mut product, mut square, mut sum, mut n) = (0.0, 0.0, 0.0, 0.0);
        for seed in 0..3000 {
            let fading = Fading::new(&grid, 0.0, 2e9, &mut Seeds::new(seed).stream("spacing"));
            let mut gains = [0.0; 100];
            fading.gains(Instant::ZERO, &mut gains);
            let (a, b) = (f64::from(gains[40]), f64::from(gains[43]));
            product += a * b;
            square += 0.5 * (a * a + b * b);
            sum += 0.5 * (a + b);
            n += 1.0;
        }
        let mean = sum / n;
        (product / n - mean * mean) / (square / n - mean * mean)
    };
    // For Rayleigh taps the correlation of two powers is |Σ p e^(−2πi Δf τ)|². 3000 draws estimate
    // it to about 0.04 (two standard errors of a correlation of exponential variables).
    for spacing in [180e3, 200e3, 400e3] {
        let (mut re, mut im, mut total) = (0.0, 0.0, 0.0);
        for (delay, power) in Profile::Eva.taps() {
            let angle = 2.0 * core::f64::consts::PI * 3.0 * spacing * delay;
            re += power * libm::cos(angle);
            im += power * libm::sin(angle);
            total += power;
        }
        let expected = (re * re + im * im) / (total * total);
        let found = correlation(spacing);
        assert!((found - expected).abs() < 0.06, "{spacing} Hz: {found} against {expected}");
    }
}

#[test]
fn a_few_prbs_are_the_same_as_among_all() {
    let bands = [1, 6, 15, 25, 50, 75, 99, 100, 110].into_iter();
    for (n_prb, rbg_size) in bands.flat_map(|n_prb| [(n_prb, 1), (n_prb, 8)]) {
        let grid = Arc::new(FrequencyGrid::new(Profile::Etu, n_prb, rbg_size));
        let fading = Fading::new(&grid, 20.0, CARRIER, &mut Seeds::new(7).stream("fading"));
        let mut all = vec![0.0; n_prb];
        let at = Instant::from_millis(1234);
        fading.gains(at, &mut all);
        for (from, to) in [(0, 1), (0, n_prb), (n_prb / 3, n_prb / 2 + 1), (n_prb - 1, n_prb)] {
            let mut few = vec![f32::NAN; n_prb];
            fading.gains_in(at, [from..to, from..from + 1].into_iter(), &mut few);
            assert_eq!(few[from..to], all[from..to], "{n_prb} PRBs in groups of {rbg_size}, {from}..{to}");
        }
    }
}

#[test]
fn vectors_of_any_width_give_the_same() {
    let now = Instant::from_millis(1234);
    let older = [Profile::Epa, Profile::Eva, Profile::Etu, Profile::Flat];
    let newer = DelayLine::ALL.map(|line| Profile::Tdl(line, Duration::from_nanos(300)));
    for profile in older.into_iter().chain(newer) {
        for prbs in (1..=110).chain([273, 275]) {
            let grid = Arc::new(FrequencyGrid::new(profile, prbs, 1 + prbs % 4));
            let fading = Fading::new(&grid, 30.0, CARRIER, &mut Seeds::new(7).stream("fading"));
            for response in [&grid.prbs, &grid.rbgs] {
                let (mut in_vectors, mut one_by_one) =
                    (vec![0.0; response.points], vec![0.0; response.points]);
                fading.evaluate(response, now, &mut in_vectors);
                let out = &mut one_by_one[..];
                All { taps: fading.taps(), response, micros: micros(now), out }.with_simd(Scalar);
                assert_eq!(in_vectors, one_by_one, "{profile:?}, {prbs} PRBs");
            }
        }
    }
}

#[test]
fn taps_that_are_drawn_later_are_the_same() {
    for profile in [Profile::Flat, Profile::Eva, Profile::Tdl(DelayLine::D, Duration::from_nanos(300))] {
        let grid = Arc::new(FrequencyGrid::new(profile, 100, 4));
        let stream = || Seeds::new(3).stream("fading");
        let at_once = Fading::new(&grid, 30.0, CARRIER, &mut stream());
        let later = Fading::on_demand(&grid, 30.0, CARRIER, stream());
        let (mut one, mut other) = ([0.0; 100], [1.0; 100]);
        at_once.gains(Instant::from_millis(1234), &mut one);
        later.clone().gains(Instant::from_millis(1234), &mut other);
        assert_eq!(one, other, "{profile:?}");
        assert!(later.taps.get().is_none(), "a link that nothing asks has no taps");
        let band = core::iter::once(0..100);
        later.gains_in(Instant::from_millis(1234), band, &mut other);
        assert_eq!(one, other, "{profile:?}");
    }
}

mod delay_lines;
