//! Steps by hand, and intervals over a path without a queue.

use std::collections::VecDeque;

use airlane_core::{Bytes, Seeds};

use super::*;
use crate::recovery::Phase;

const SEGMENT: u32 = 1448;
const MBPS: f64 = 1e6;

fn vivace(rate_mbps: f64) -> Vivace {
    let window = SegmentWindow::new(SEGMENT, 10);
    Vivace { rate: rate_mbps * MBPS, ..Vivace::new(&window, Seeds::new(1).stream("vivace")) }
}

fn measured(rate_mbps: f64, utility: f64) -> Measured {
    Measured { rate: rate_mbps * MBPS, utility }
}

/// Three pairs around 100 Mbit/s. Each gain is the utility of the higher rate less that of the lower.
fn probes(gains: [f64; 3]) -> Vec<Measured> {
    gains.iter().flat_map(|gain| [measured(95.0, 60.0), measured(105.0, 60.0 + gain)]).collect()
}

fn rate_mbps(vivace: &Vivace) -> f64 {
    vivace.rate / MBPS
}

fn assert_rate(vivace: &Vivace, expected_mbps: f64) {
    assert!(
        (rate_mbps(vivace) - expected_mbps).abs() < 1e-4,
        "{} and not {expected_mbps}",
        rate_mbps(vivace)
    );
}

/// Ten segments of 1448 bytes in 100 ms are 1.1584 Mbit/s, at 40 ms 2.5 times as much, and at 200 ms no less.
#[test]
fn the_first_rate_is_the_initial_window_in_at_most_100_ms() {
    for (rtt_ms, expected) in [(40, 2.896), (200, 1.1584)] {
        let window = SegmentWindow::new(SEGMENT, 10);
        let mut vivace = Vivace::new(&window, Seeds::new(1).stream("vivace"));
        vivace.on_established(&window, Instant::ZERO, Some(Duration::from_millis(rtt_ms)));
        vivace.scale(Duration::from_millis(10)); // once only
        assert_rate(&vivace, expected);
    }
}

#[test]
fn starting_doubles_the_rate_until_the_utility_falls() {
    let mut vivace = vivace(10.0);
    vivace.judge_start(measured(10.0, 7.9));
    vivace.judge_start(measured(20.0, 14.8));
    assert_rate(&vivace, 40.0);
    vivace.judge_start(measured(40.0, 14.8)); // no growth
    assert_rate(&vivace, 20.0);
    assert_eq!((vivace.mode, vivace.rounds), (Mode::Probing, 1));
}

/// Two of three pairs for more rate; all three for less.
#[test]
fn pairs_that_agree() {
    for (gains, agreed) in [
        ([1.0, 1.0, 1.0], Some(true)),
        ([1.0, -1.0, 1.0], Some(true)),
        ([-1.0, 1.0, -1.0], None),
        ([-1.0, -1.0, -1.0], Some(false)),
    ] {
        assert_eq!(Vivace::agreed(&probes(gains)), agreed, "{gains:?}");
    }
    assert_eq!(Vivace::agreed(&probes([1.0; 3])[..4]), None, "too few");
}

/// A gain of 20 over 10 Mbit/s, 20 x 1.048576 per 2^20 bits, is a step of 20 / 10 x 1.048576^2 = 2.199023 Mbit/s from the
/// higher rate of the probes. With one pair against, a third less: 1.466015.
#[test]
fn the_first_step_is_the_mean_gradient_of_the_probes() {
    for (gains, step) in [([20.0; 3], 2.199_023), ([20.0, -7.0, 20.0], 1.466_015)] {
        let mut vivace = Vivace { mode: Mode::Probing, ..vivace(100.0) };
        vivace.judge_probes(&probes(gains));
        assert_rate(&vivace, 105.0 + step);
        assert_eq!((vivace.mode, vivace.upwards, vivace.rounds), (Mode::Moving, true, 1));
        assert!((vivace.latest.utility - 80.0).abs() < 1e-9);
    }
    let mut down = Vivace { mode: Mode::Probing, ..vivace(100.0) };
    down.judge_probes(&probes([-20.0; 3]));
    assert_rate(&down, 95.0 - 2.199_023);
    assert!((down.latest.rate - 95.0 * MBPS).abs() < 1e-6);
    // No agreement: the same rate again.
    let mut again = Vivace { mode: Mode::Probing, ..vivace(100.0) };
    again.judge_probes(&probes([-20.0, 20.0, -20.0]));
    assert_rate(&again, 100.0);
    assert_eq!((again.mode, again.rounds), (Mode::Probing, 2));
}

/// The factor is the whole half of the number of steps and one, to the power of 1.2: 2^1.2 = 2.297397, 3^1.2 = 3.737193.
#[test]
fn steps_in_one_direction_are_amplified() {
    let factors = (1..=5).map(|rounds| Vivace { rounds, ..vivace(1.0) }.amplifier());
    for (factor, expected) in factors.zip([1.0, 1.0, 2.297_397, 2.297_397, 3.737_193]) {
        assert!((factor - expected).abs() < 1e-6, "{factor}");
    }
    // 100 to 102 Mbit/s with a gain of 1: 0.549756 Mbit/s in the second round; of 2 in the third: 2.297397 x 1.099512.
    let mut vivace = Vivace { mode: Mode::Moving, latest: measured(100.0, 60.0), ..vivace(102.0) };
    vivace.judge_step(measured(102.0, 61.0));
    assert_rate(&vivace, 102.549_756);
    vivace.judge_step(measured(104.0, 63.0));
    assert_rate(&vivace, 102.549_756 + 2.526_015);
    assert_eq!((vivace.mode, vivace.rounds), (Mode::Moving, 3));
}

/// Steps that are too large: 5 % of the rate, then 10 %, 15 %. A smaller one takes an increment back.
#[test]
fn the_bound_of_a_step_grows_while_steps_reach_it() {
    let mut vivace = vivace(100.0);
    let steps: Vec<f64> = [50e6, 50e6, 50e6, 1e6, 50e6].map(|step| vivace.bounded(step)).into();
    for (step, expected) in steps.iter().zip([5e6, 10e6, 15e6, 1e6, 15e6]) {
        assert!((step - expected).abs() < 1.0, "{steps:?}");
    }
    assert!((vivace.bounded(1.0) - STEP_MIN).abs() < 1e-9);
}

/// The utility falls at the higher rate: the rate goes back by the gradient, 2 / 2 x 1.048576^2, and is probed.
#[test]
fn a_step_that_made_it_worse_is_undone() {
    let mut vivace = Vivace { mode: Mode::Moving, rounds: 4, latest: measured(100.0, 60.0), ..vivace(102.0) };
    vivace.judge_step(measured(102.0, 58.0));
    assert_rate(&vivace, 102.0 - 1.099_512);
    assert_eq!((vivace.mode, vivace.rounds), (Mode::Probing, 1));
    // The utility falls because the rate does, against the direction: go on.
    let mut on = Vivace { mode: Mode::Moving, latest: measured(100.0, 60.0), ..self::vivace(98.0) };
    on.judge_step(measured(98.0, 58.0));
    assert_rate(&on, 98.0 + 1.099_512);
    assert_eq!(on.mode, Mode::Moving);
    // No difference of rates has no gradient: the least step.
    let mut flat = Vivace { mode: Mode::Moving, latest: measured(100.0, 60.0), ..self::vivace(100.0) };
    flat.judge_step(measured(100.0, 58.0));
    assert_rate(&flat, 99.5);
}

#[test]
fn the_smallest_rate_starts_again() {
    let mut vivace = Vivace { mode: Mode::Probing, increments: 3, ..vivace(0.5) };
    vivace.judge_probes(&probes([-20.0; 3]));
    assert_eq!((vivace.mode, vivace.increments), (Mode::Probing, 0), "below the least");
    assert_rate(&vivace, 0.5);
    vivace.judge_probes(&probes([-20.0, 20.0, -20.0]));
    assert_eq!((vivace.mode, vivace.rounds), (Mode::Starting, 1));
    assert_rate(&vivace, 0.5);
}

/// A paced sender over a path without a queue: each packet is acknowledged after a round trip.
struct Flow {
    vivace: Vivace,
    window: SegmentWindow,
    now: Instant,
    sent: VecDeque<(Instant, u64)>,
    next: u64,
    next_at: Instant,
    /// Gaps of the pacing rate between packets.
    gaps: u64,
}

impl Flow {
    const RTT: Duration = Duration::from_millis(50);

    fn new() -> Self {
        let window = SegmentWindow::new(SEGMENT, 10);
        let mut vivace = Vivace::new(&window, Seeds::new(1).stream("vivace"));
        vivace.on_established(&window, Instant::ZERO, Some(Self::RTT));
        let (now, next_at) = (Instant::ZERO, Instant::ZERO);
        Self { vivace, window, now, sent: VecDeque::new(), next: 0, next_at, gaps: 1 }
    }

    /// Sends a packet, or takes an acknowledgment, whichever is earlier. True for a packet.
    fn step(&mut self) -> bool {
        let acked = self.sent.front().map(|(at, _)| *at + Self::RTT);
        if acked.is_none_or(|at| self.next_at < at) {
            self.now = self.next_at;
            let packet = Transmission { now: self.now, number: self.next, bytes: Bytes(SEGMENT.into()) };
            self.vivace.on_sent(&mut self.window, &packet);
            self.sent.push_back((self.now, self.next));
            self.next += 1;
            let rate = self.vivace.pacing_rate().unwrap();
            self.next_at += rate.transmission_time(Bytes(SEGMENT.into())) * self.gaps;
            return true;
        }
        let (at, number) = self.sent.pop_front().unwrap();
        self.now = at + Self::RTT;
        self.vivace.on_transmission_delivered(number);
        let sample = DeliverySample {
            now: self.now,
            delivered: 0,
            delivered_at: self.now,
            lost: 0,
            newly_delivered: 1,
            newly_lost: 0,
            in_flight: self.sent.len() as u32,
            prior_in_flight: self.sent.len() as u32 + 1,
            window_limited: false,
            rtt: Some(Self::RTT),
            srtt: Self::RTT,
            next_send_at: self.next_at,
            phase: Phase::Open,
            rate: None,
        };
        self.vivace.on_delivery(&mut self.window, &sample);
        false
    }

    /// The rates of the next intervals in Mbit/s, with their beginnings.
    fn rates(&mut self, count: usize) -> Vec<(Instant, f64)> {
        let mut rates: Vec<(Instant, f64)> = Vec::new();
        while rates.len() < count {
            let rate = |flow: &Self| flow.vivace.sending_rate();
            let before = rate(self);
            if self.step() && (rate(self) - before).abs() > 1.0 {
                rates.push((self.now, rate(self) / MBPS));
            }
        }
        rates
    }
}

/// Without a queue each interval is better than the one before. An interval at a new rate lasts a round trip, its last
/// packet is acknowledged a round trip later, and the acknowledgment after that one gives the utility.
#[test]
fn intervals_last_a_round_trip_and_their_utility_comes_one_later() {
    let mut flow = Flow::new();
    let rates = flow.rates(4);
    for (at, pair) in rates.windows(2).enumerate() {
        assert!((pair[1].1 / pair[0].1 - 2.0).abs() < 1e-9, "{at}: {rates:?}");
        let gap = Duration::from_secs_f64(f64::from(SEGMENT) * 8.0 / pair[0].1 / MBPS);
        let between = pair[1].0 - pair[0].0;
        assert!(between >= Flow::RTT * 2 && between <= Flow::RTT * 2 + gap * 4, "{at}: {between:?}");
    }
    // Two round trips of the rate are the bound of the window.
    let bound = 2.0 * flow.vivace.sending_rate() * Flow::RTT.as_secs_f64() / f64::from(SEGMENT * 8);
    assert!(flow.window.segments.abs_diff(bound as u32) <= 1);
}

/// Six intervals at 1.05 and 0.95 of the rate, each pair with both; then the rate until their utilities are known.
#[test]
fn probes_are_pairs() {
    let mut flow = Flow::new();
    flow.rates(4);
    while flow.vivace.intervals.useful() > 0 {
        flow.step();
    }
    flow.vivace.enter(Mode::Probing);
    let middle = flow.vivace.rate / MBPS;
    let mut rates = Vec::new();
    for begun in 1..=6 {
        while flow.vivace.intervals.useful() < begun {
            flow.step();
        }
        rates.push(flow.vivace.sending_rate() / MBPS / middle);
    }
    for pair in rates.chunks(2) {
        let (low, high) = (pair[0].min(pair[1]), pair[0].max(pair[1]));
        assert!((low - 0.95).abs() < 1e-9 && (high - 1.05).abs() < 1e-9, "{rates:?}");
    }
    while flow.vivace.mode == Mode::Probing {
        flow.step();
    }
    assert!(flow.vivace.upwards && flow.vivace.rate > 1.05 * middle * MBPS);
}

/// An application that sends a third of the rate for a minute.
#[test]
fn an_unused_rate_does_not_grow() {
    let mut flow = Flow::new();
    flow.rates(4);
    let before = flow.vivace.rate;
    flow.gaps = 3;
    let until = flow.now + Duration::from_secs(60);
    while flow.now < until {
        flow.step();
        assert!(flow.vivace.rate <= before * (1.0 + 1e-9), "{}", flow.vivace.rate);
    }
}
