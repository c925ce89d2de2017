//! Comparison of the process with its closed forms, and of its datagrams with the process.

use airlane_core::{BitRate, Bytes, Seeds};

use super::*;

fn parameters(reading: Reading, hurst: f64) -> BurstParameters {
    BurstParameters { active: 3.0, length: Duration::from_millis(100), hurst, reading }
}

fn bursts(p: BurstParameters, run: u64) -> Bursts {
    Bursts::new(p, Instant::ZERO, Seeds::new(run).stream("ppbp"))
}

/// Burst-seconds in each of `count` bins of `bin` seconds that follow `from`.
fn burst_seconds(p: BurstParameters, run: u64, from: u64, bin: f64, count: usize) -> Vec<f64> {
    let mut process = bursts(p, run);
    let (mut at, mut sums) = (0.0, vec![0.0; count]);
    let (from, end) = (from as f64, from as f64 + bin * count as f64);
    while at < end {
        let change = process.next_change().as_secs_f64();
        let mut left: f64 = f64::max(at, from);
        while left < change.min(end) {
            let index = ((left - from) / bin) as usize;
            let right = change.min(end).min(from + bin * (index + 1) as f64);
            let right = if right > left { right } else { change.min(end) };
            if let Some(sum) = sums.get_mut(index) {
                *sum += process.active() as f64 * (right - left);
            }
            left = right;
        }
        at = change;
        process.change();
    }
    sums
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let m = mean(values);
    values.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (values.len() - 1) as f64
}

/// Mean and standard error over independent runs.
fn over_runs(runs: u64, one: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (1..=runs).map(one).collect();
    (mean(&values), (variance(&values) / runs as f64).sqrt())
}

/// Mean number of active bursts at time t of a process that began empty: arrivals/s · E[min(length, t)]; the
/// mean of min(length, t) is scale·a/(a-1) - scale^a t^(1-a)/(a-1) for t above the scale. Returns its mean
/// from `s` to `t`.
fn mean_active_between(p: BurstParameters, s: f64, t: f64) -> f64 {
    let (a, k) = (p.shape(), p.scale_s());
    let integral =
        |t: f64| k * a / (a - 1.0) * t - libm::pow(k, a) * libm::pow(t, 2.0 - a) / (a - 1.0) / (2.0 - a);
    p.arrivals_per_s() * (integral(t) - integral(s)) / (t - s)
}

#[test]
fn both_readings_say_what_they_mean() {
    let (module, literal) = (parameters(Reading::Module, 0.7), parameters(Reading::Literal, 0.7));
    assert!((module.shape() - 1.6).abs() < 1e-12);
    // Three begin in a second (gaps above 3 s, one in e^9, are redrawn), 0.1 s · 1.6 / 0.6 long.
    assert!((module.arrivals_per_s() - 3.0).abs() < 0.004);
    assert!((module.mean_length_s() - 0.1 * 1.6 / 0.6).abs() < 1e-12);
    assert!((module.mean_active() - 0.8).abs() < 0.001);
    assert!((literal.mean_length_s() - 0.1).abs() < 1e-12);
    assert!((literal.mean_active() - 3.0).abs() < 1e-12);
    assert!((literal.scale_s() - 0.0375).abs() < 1e-12);
}

/// 600 runs of 20 s from the tenth second on. The standard error of their mean is about 1 % of it, measured
/// from the runs themselves; the tolerance is four of them, so that an error of 5 % in the mean fails.
#[test]
fn as_many_bursts_are_under_way_as_the_closed_form_says() {
    for reading in [Reading::Module, Reading::Literal] {
        let p = parameters(reading, 0.7);
        let expected = mean_active_between(p, 10.0, 30.0);
        let (ours, error) = over_runs(600, |run| burst_seconds(p, run, 10, 20.0, 1)[0] / 20.0);
        assert!(error < 0.0125 * expected, "{reading:?}: {error} of {expected} tells too little");
        assert!((ours - expected).abs() < 4.0 * error, "{reading:?}: {ours} against {expected}, ± {error}");
    }
}

/// The variance of the bits sent in t seconds: 2 ∫ (t - u) R(u) du over 0..t, with the autocovariance R(u) of
/// the number of bursts, arrivals/s · E[(length - u)+]. For a process that began empty at 0, earlier bursts
/// are missing, E[(length - u - s)+] at time s; here the mean over s in `since`. It grows as t^2H.
fn variance_over(p: BurstParameters, t: f64, since: Option<(f64, f64)>) -> f64 {
    let (a, k) = (p.shape(), p.scale_s());
    let tail = |u: f64| {
        if u < k { k * a / (a - 1.0) - u } else { libm::pow(k, a) * libm::pow(u, 1.0 - a) / (a - 1.0) }
    };
    let integral = |u: f64| libm::pow(k, a) * libm::pow(u, 2.0 - a) / (a - 1.0) / (2.0 - a);
    let missing = |u: f64| since.map_or(0.0, |(s, e)| (integral(u + e) - integral(u + s)) / (e - s));
    let steps = 50_000;
    let h = t / f64::from(steps);
    let sum: f64 =
        (0..steps).map(|i| (f64::from(i) + 0.5) * h).map(|u| (t - u) * (tail(u) - missing(u))).sum();
    2.0 * p.arrivals_per_s() * sum * h
}

/// Hurst's parameter from the variance-time plot: log Var over log t, t from 2 to 32 s, has the slope 2H. 300
/// runs of 640 s after 100 s; the tolerances are about twice the spread of other seeds.
#[test]
fn the_variance_grows_as_the_hurst_parameter_says() {
    for (hurst, reading) in [(0.7, Reading::Module), (0.7, Reading::Literal), (0.8, Reading::Module)] {
        let p = parameters(reading, hurst);
        let span = (100.0, 740.0);
        let mut sums = [0.0; 5];
        let runs = 300;
        for run in 1..=runs {
            let fine = burst_seconds(p, run, 100, 2.0, 320);
            for (k, sum) in sums.iter_mut().enumerate() {
                let expected = 2.0 * f64::from(1 << k) * mean_active_between(p, span.0, span.1);
                let of = |part: &[f64]| libm::pow(part.iter().sum::<f64>() - expected, 2.0);
                *sum += mean(&fine.chunks_exact(1 << k).map(of).collect::<Vec<_>>());
            }
        }
        let ours = sums.map(|sum| sum / runs as f64);
        let exact = |since| core::array::from_fn(|k| variance_over(p, 2.0 * f64::from(1 << k), since));
        let slope = |v: &[f64; 5]| libm::log(v[4] / v[0]) / libm::log(16.0);
        let (stationary, begun) = (exact(None), exact(Some(span)));
        assert!((slope(&stationary) - 2.0 * hurst).abs() < 0.06, "{hurst}: {}", slope(&stationary));
        assert!((slope(&ours) - slope(&begun)).abs() < 0.07, "{reading:?} {hurst}: {ours:?}, {begun:?}");
        let ratio = ours[0] / begun[0];
        assert!((ratio - 1.0).abs() < 0.1, "{reading:?} {hurst}: {ours:?}, {begun:?}");
    }
}

/// Datagrams carry the data of the bursts: one for each 1500 bytes, with 1470 of payload; none is lost
/// or late by more than a nanosecond per burst that changed meanwhile.
#[test]
fn datagrams_are_the_bursts_cut_into_pieces() {
    let p = parameters(Reading::Literal, 0.7);
    let (rate, stop) = (BitRate(15_000_000), Instant::ZERO + Duration::from_secs(60));
    let mut sender = PpbpSender::new(bursts(p, 5), rate, Bytes(1470), Bytes(1500), stop);
    let mut times = Vec::new();
    while sender.next_at() != Instant::FAR_FUTURE {
        times.push(sender.next_at());
        assert_eq!(sender.take_due(sender.next_at()), Some(times.len() as u64 - 1));
        assert_eq!(sender.take_due(Instant::ZERO), None);
    }
    let burst_seconds = burst_seconds(p, 5, 0, 60.0, 1)[0];
    assert_eq!(times.len() as u64, (burst_seconds * 15e6 / 12_000.0 - 1e-6) as u64);
    assert_eq!((sender.sent(), sender.payload()), (times.len() as u64, Bytes(1470)));
    // A single burst sends every 0.8 ms; overlapping ones send evenly and faster.
    let mut other = bursts(p, 5);
    for pair in times.windows(2) {
        while other.next_change() <= pair[0] {
            other.change();
        }
        if other.active() > 0 && other.next_change() > pair[1] {
            let expected = 800_000_u64.div_ceil(other.active());
            assert!((pair[1] - pair[0]).as_nanos().abs_diff(expected) <= 1, "{pair:?} {}", other.active());
        }
    }
}

#[test]
fn the_same_seed_makes_the_same_bursts() {
    let p = parameters(Reading::Module, 0.7);
    let times = |run| {
        let mut process = bursts(p, run);
        (0..200).map(|_| (process.next_change(), process.change()).0).collect::<Vec<_>>()
    };
    assert_eq!(times(1), times(1));
    assert_ne!(times(1), times(2));
    assert!(times(1).is_sorted());
}
