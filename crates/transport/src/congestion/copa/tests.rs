//! Expected values by hand, and the steps of mvfst's own tests (`quic/congestion_control/test/CopaTest.cpp`, 00e67c1b).

use super::*;
use crate::recovery::Phase;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Flow {
    copa: Copa,
    window: SegmentWindow,
    now: Instant,
}

impl Flow {
    fn new(config: CopaConfig, segments: u32) -> Self {
        let window = SegmentWindow::new(1000, segments);
        Self { copa: Copa::new(config, &window), window, now: Instant::from_millis(1000) }
    }

    /// After `wait`, an acknowledgment of a segment.
    fn ack(&mut self, wait: Duration, rtt: Duration, srtt: Duration) {
        self.ack_with(wait, rtt, srtt, 0);
    }

    fn ack_with(&mut self, wait: Duration, rtt: Duration, srtt: Duration, newly_lost: u32) {
        self.now += wait;
        let sample = DeliverySample {
            now: self.now,
            delivered: 0,
            delivered_at: self.now,
            lost: 0,
            newly_delivered: 1,
            newly_lost,
            in_flight: 10,
            prior_in_flight: 10,
            window_limited: true,
            rtt: Some(rtt),
            srtt,
            next_send_at: self.now,
            phase: Phase::Open,
            rate: None,
        };
        self.copa.on_delivery(&mut self.window, &sample);
    }
}

const CONSTANT: CopaConfig = CopaConfig { mode_switching: false, ..CopaConfig::PAPER };

/// mvfst, `exitSlowStart` and `TestSteadyStateChanges` with δ = 0.5: 9.8, 9.6, 9.8, 10.0, 9.8. Its first segment doubles
/// nothing; here it grows the window by one in slow start, so this flow begins with nine.
#[test]
fn mvfst_steps_around_the_target() {
    let mut flow = Flow::new(CONSTANT, 9);
    flow.ack(ms(50), ms(50), ms(50));
    let mut step = |wait, rtt, srtt, expected: f64| {
        flow.ack(ms(wait), ms(rtt), ms(srtt));
        assert!(
            (flow.copa.exact.segments - expected).abs() < 0.01,
            "{} and not {expected}",
            flow.copa.exact.segments
        );
    };
    // Target 1/(0.5 x 0.1 s) = 20 segments per second; the rate is 10 / 150 ms.
    step(110, 150, 100, 9.8);
    step(10, 100, 100, 9.6);
    step(10, 50, 100, 9.8);
    step(10, 100, 100, 10.0); // the standing round trip is still 50 ms
    step(110, 100, 100, 9.8);
}

/// Rate 1/(δ d): at δ = 0.04, 10 Mbit/s and 1500 bytes (833 segments per second), the target is the rate of the link at
/// 30 ms; at δ = 0.5 at 2.4 ms.
#[test]
fn targets() {
    for (delta_permille, rate_mbps, queue_us) in
        [(40, 10.0, 30_000), (40, 24.0, 12_500), (50, 12.0, 20_000), (100, 24.0, 5_000), (500, 10.0, 2_400)]
    {
        let mut flow = Flow::new(CopaConfig { delta_permille, mode_switching: false }, 10);
        flow.ack(ms(1), ms(100), ms(100));
        let standing = ms(100) + Duration::from_micros(queue_us);
        let rate = flow.copa.target(standing) / standing.as_secs_f64();
        assert!((rate * 1500.0 * 8.0 / 1e6 - rate_mbps).abs() < 1e-6, "{rate}");
    }
}

#[test]
fn slow_start_doubles_each_round_trip_up_to_the_target() {
    let mut flow = Flow::new(CONSTANT, 10);
    (0..10).for_each(|_| flow.ack(ms(5), ms(50), ms(50)));
    assert_eq!(flow.window.segments, 20);
    // The standing round trip follows after 25 ms, with a target of 55 / (5 x 0.5) = 22 segments.
    (0..5).for_each(|_| flow.ack(ms(5), ms(55), ms(50)));
    assert!(flow.copa.slow_start);
    assert_eq!(flow.window.segments, 25);
    flow.ack(ms(5), ms(55), ms(50));
    assert!(!flow.copa.slow_start);
    assert!((flow.copa.exact.segments - (25.0 - 1.0 / (0.5 * 25.0))).abs() < 1e-9);
}

/// One direction: 1 in the first three round trips after the first, then 2, 4; back to 1 as it turns.
#[test]
fn the_velocity_doubles_from_the_third_repetition() {
    let mut flow = Flow::new(CONSTANT, 100);
    flow.ack(ms(50), ms(50), ms(50));
    flow.ack(ms(50), ms(100), ms(50)); // a target of 4: out of slow start
    let mut velocities = Vec::new();
    for _ in 0..6 {
        flow.ack(ms(50), ms(100), ms(50));
        velocities.push(flow.copa.velocity);
    }
    assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0, 8.0]);
    flow.ack(ms(50), ms(50), ms(50));
    assert!((flow.copa.velocity - 1.0).abs() < f64::EPSILON);
    // At most δ windows: the window doubles in a round trip at most.
    let mut flow = Flow::new(CONSTANT, 8);
    (0..20).for_each(|_| flow.ack(ms(50), ms(50), ms(50)));
    flow.copa.slow_start = false;
    for _ in 0..20 {
        flow.ack(ms(50), ms(50), ms(50));
        assert!(flow.copa.velocity <= flow.copa.exact.segments * 0.5);
    }
}

/// 1/δ: 2, then 3, 4, ... each round trip in which the queue is not empty; half at a loss; 2 again when it is.
#[test]
fn a_standing_queue_of_others_makes_it_competitive() {
    let mut flow = Flow::new(CopaConfig::PAPER, 10);
    flow.ack(ms(50), ms(50), ms(50));
    (0..100).for_each(|_| flow.ack(ms(60), ms(150), ms(50))); // the minimum stays 50
    let inverse = |flow: &Flow| 1.0 / flow.copa.delta;
    let before = inverse(&flow);
    assert!(before > 20.0, "{before}");
    flow.ack_with(ms(160), ms(150), ms(50), 1);
    assert!((inverse(&flow) - before / 2.0).abs() < 1e-6);
    flow.ack(ms(200), ms(52), ms(50));
    assert!((inverse(&flow) - 2.0).abs() < 1e-6);
    // Without mode switching it stays.
    let mut flow = Flow::new(CONSTANT, 10);
    flow.ack(ms(50), ms(50), ms(50));
    (0..100).for_each(|_| flow.ack(ms(60), ms(150), ms(50)));
    assert!((inverse(&flow) - 2.0).abs() < 1e-6);
}

#[test]
fn more_than_thirty_percent_of_losses_reduce_the_window() {
    let reduced = |every: u32| {
        let mut flow = Flow::new(CONSTANT, 1000);
        let mut reductions = 0;
        for i in 0..100 {
            let before = flow.copa.exact.segments;
            flow.ack_with(ms(5), ms(50), ms(50), u32::from(i % every == 0));
            reductions += u32::from(flow.copa.exact.segments < before);
        }
        reductions
    };
    assert_eq!(reduced(3), 0); // 1 lost to 3 delivered
    assert!(reduced(2) > 0); // 1 lost to 2 delivered
}
