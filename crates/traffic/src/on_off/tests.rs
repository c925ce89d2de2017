//! The durations against their distributions, and the rate against its closed form.

use airlane_core::{BitRate, Bytes, Seeds};

use super::*;

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn process([off, on]: [Period; 2], run: u64) -> OnOff {
    let seeds = Seeds::new(run);
    OnOff::new([off, on], Instant::ZERO, ["off", "on"].map(|name| seeds.stream(name)))
}

/// The share of the time up to `end` in which it is on.
fn share_on(periods: [Period; 2], run: u64, end: Duration) -> f64 {
    let (mut process, mut at, mut on) = (process(periods, run), Instant::ZERO, Duration::ZERO);
    let end = Instant::ZERO + end;
    while at < end {
        let change = process.next_change().min(end);
        if process.active() > 0 {
            on += change - at;
        }
        at = change;
        process.change();
    }
    on.as_secs_f64() / end.as_secs_f64()
}

/// Mean and standard error over independent runs.
fn over_runs(runs: u64, one: impl Fn(u64) -> f64) -> (f64, f64) {
    let values: Vec<f64> = (1..=runs).map(one).collect();
    let mean = values.iter().sum::<f64>() / runs as f64;
    let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (runs - 1) as f64;
    (mean, (variance / runs as f64).sqrt())
}

/// Off for 300 ms, on for 200 ms: 8000 bits take 20 ms at 400 kbit/s. Each period on sends ten datagrams, the last
/// at its end.
#[test]
fn constant_periods_by_hand() {
    let periods = [Period::Constant(ms(300)), Period::Constant(ms(200))];
    let stop = Instant::from_millis(1_400);
    let mut sender = OnOffSender::new(process(periods, 1), BitRate(400_000), Bytes(1000), Bytes(1000), stop);
    let mut times = Vec::new();
    while sender.next_at() != Instant::FAR_FUTURE {
        times.push(sender.next_at().as_nanos() / 1_000_000);
        assert_eq!(sender.take_due(sender.next_at()), Some(times.len() as u64 - 1));
    }
    let expected: Vec<u64> =
        [300, 800, 1300].into_iter().flat_map(|on| (1..=10).map(move |k| on + 20 * k)).collect();
    assert_eq!(times, expected.into_iter().filter(|at| *at < 1_400).collect::<Vec<_>>());
    // At 300 kbit/s, 26 2/3 ms each: 7.5 fit into a period, and the half waits for the next one.
    let mut slower = OnOffSender::new(process(periods, 1), BitRate(300_000), Bytes(1000), Bytes(1000), stop);
    let mut seventh = Vec::new();
    for _ in 0..8 {
        seventh.push(slower.next_at().as_nanos());
        slower.take_due(slower.next_at());
    }
    assert_eq!(seventh[6], 486_666_667);
    assert_eq!(seventh[7], 800_000_000 + 13_333_334); // each of the eight was rounded up
}

#[test]
fn a_limit_ends_it() {
    let periods = [Period::Constant(ms(0)), Period::Constant(ms(200))];
    let sender = || {
        OnOffSender::new(
            process(periods, 1),
            BitRate(400_000),
            Bytes(1000),
            Bytes(1000),
            Instant::from_millis(1_000),
        )
    };
    let sent = |mut sender: OnOffSender| {
        while sender.take_due(sender.next_at().min(Instant::from_millis(5_000))).is_some() {}
        (sender.sent(), sender.has_reached_limit())
    };
    // Without times off, one each 20 ms, until before 1 s.
    assert_eq!(sent(sender()), (49, false));
    assert_eq!(sent(sender().with_limit(7)), (7, true));
}

/// A two-state Markov chain that begins off, with rates a = 1/off and b = 1/on, is on at t with probability
/// a/(a+b) · (1 - e^-(a+b)t). Its mean over the first T seconds, after 2000 runs of each, within four standard errors.
#[test]
fn exponential_periods_give_the_rate_of_a_markov_chain() {
    let (off, on) = (ms(300), ms(100));
    let periods = [Period::Exponential { mean: off }, Period::Exponential { mean: on }];
    let (a, b) = (1.0 / off.as_secs_f64(), 1.0 / on.as_secs_f64());
    for end in [ms(150), ms(1_000), ms(20_000)] {
        let t = end.as_secs_f64();
        let expected = a / (a + b) * (1.0 - (1.0 - libm::exp(-(a + b) * t)) / ((a + b) * t));
        let (ours, error) = over_runs(2_000, |run| share_on(periods, run, end));
        assert!(error < 0.07 * expected, "{t} s: {error} of {expected} tells too little");
        assert!((ours - expected).abs() < 4.0 * error, "{t} s: {ours} against {expected}, ± {error}");
    }
}

/// E[on] / (E[on] + E[off]) in the long run (renewal reward), whatever the distributions.
#[test]
fn the_mean_rate_follows_from_the_mean_periods() {
    let uniform = Period::Uniform { min: ms(50), max: ms(250) };
    let pareto = |shape| Period::Pareto { mean: ms(100), shape };
    let exponential = Period::Exponential { mean: ms(200) };
    for periods in [[uniform, pareto(2.5)], [pareto(3.0), uniform], [exponential, pareto(2.5)]] {
        let [off, on] = periods.map(|period| period.mean_s());
        let expected = on / (on + off);
        // 500 s are more than 1000 cycles: the first time off shifts the mean by less than a tenth of a percent.
        let (ours, error) = over_runs(100, |run| share_on(periods, run, ms(500_000)));
        assert!(error < 0.003 * expected, "{periods:?}: {error} of {expected} tells too little");
        assert!(
            (ours - expected).abs() < 4.0 * error + 0.001 * expected,
            "{periods:?}: {ours} against {expected}, ± {error}"
        );
    }
}

/// P(X > x) = (scale / x)^shape; 100 000 draws, within five standard errors of a binomial share.
#[test]
fn draws_follow_their_law() {
    let n = 100_000;
    let above = |period: Period, seconds: f64| {
        let mut draws = Seeds::new(9).stream("law");
        (0..n).filter(|_| period.draw(&mut draws).as_secs_f64() > seconds).count() as f64 / f64::from(n)
    };
    let check = |period: Period, seconds: f64, expected: f64| {
        let ours = above(period, seconds);
        let error = (expected * (1.0 - expected) / f64::from(n)).sqrt();
        assert!(
            (ours - expected).abs() <= 5.0 * error,
            "{period:?} above {seconds} s: {ours} against {expected}"
        );
    };
    // Shape 1.5 and mean 300 ms: scale 100 ms.
    let pareto = Period::Pareto { mean: ms(300), shape: 1.5 };
    check(pareto, 0.0999, 1.0);
    check(pareto, 0.4, 0.125);
    check(pareto, 10.0, 0.001);
    let exponential = Period::Exponential { mean: ms(500) };
    check(exponential, 0.5, libm::exp(-1.0));
    check(exponential, 2.0, libm::exp(-4.0));
    let uniform = Period::Uniform { min: ms(100), max: ms(500) };
    check(uniform, 0.0999, 1.0);
    check(uniform, 0.2, 0.75);
    check(uniform, 0.5, 0.0);
}

/// A change of the times off leaves the times on as they are.
#[test]
fn each_state_has_its_own_draws() {
    let on = Period::Exponential { mean: ms(100) };
    let lengths = |off: Period| {
        let mut process = process([off, on], 4);
        let mut lengths = Vec::new();
        for _ in 0..20 {
            let begin = process.next_change();
            process.change();
            lengths.push(process.next_change() - begin);
            process.change();
        }
        lengths
    };
    assert_eq!(lengths(Period::Constant(ms(10))), lengths(Period::Uniform { min: ms(1), max: ms(90) }));
}
