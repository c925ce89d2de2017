use airlane_core::{Ecn, FlowId, Seeds};

use super::*;
use crate::bench_top::{BenchTop, packet};

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A controller in operation whose burst allowance is used up.
fn at(probability: f64, delay_ms: u64) -> Controller {
    let parameters = Parameters::default();
    Controller {
        probability,
        delay: ms(delay_ms),
        burst_allowance: Duration::ZERO,
        ..Controller::new(parameters)
    }
}

fn updated(mut controller: Controller, delay_ms: u64) -> f64 {
    controller.update(ms(delay_ms));
    controller.probability()
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-12, "{found} instead of {expected}");
}

#[test]
fn the_probability_moves_with_the_distance_and_the_trend() {
    // 0.125 * (0.065 - 0.015) + 1.25 * (0.065 - 0) = 0.0875, divided as the probability is small.
    near(updated(at(0.0, 0), 65), 0.0875 / 2048.0);
    near(updated(at(5e-6, 0), 65), 5e-6 + 0.0875 / 512.0);
    near(updated(at(5e-5, 0), 65), 5e-5 + 0.0875 / 128.0);
    near(updated(at(5e-4, 0), 65), 5e-4 + 0.0875 / 32.0);
    near(updated(at(5e-3, 0), 65), 5e-3 + 0.0875 / 8.0);
    near(updated(at(5e-2, 0), 65), 5e-2 + 0.0875 / 2.0);
    // At the target with constant delay, nothing changes.
    near(updated(at(0.3, 15), 15), 0.3);
    // From 65 ms down to 25: 0.125 * 0.010 - 1.25 * 0.040 = -0.04875.
    near(updated(at(0.3, 65), 25), 0.251_25);
}

#[test]
fn steps_are_capped_and_bounds_hold() {
    // 0.125 * 0.485 + 1.25 * 0.5 = 0.685625, but at most 2 % once the probability is 10 %.
    near(updated(at(0.1, 0), 500), 0.12);
    near(updated(at(0.995, 0), 500), 1.0);
    near(updated(at(0.001, 400), 0), 0.0);
}

#[test]
fn an_empty_queue_decays_the_probability() {
    // 0.125 * -0.015 = -0.001875, then 98 % of it.
    near(updated(at(0.5, 0), 0), (0.5 - 0.001_875) * 0.98);
    near(updated(at(0.5, 1), 0), 0.5 - 0.001_875 - 1.25 * 0.001);
}

#[test]
fn a_burst_is_let_through() {
    let mut controller = Controller::new(Parameters::default());
    for _ in 0..9 {
        controller.update(ms(100));
        assert!(!controller.signals(Bytes(100_000), || 0.0)); // 150 ms are ten periods
    }
    controller.update(ms(100));
    assert!(controller.signals(Bytes(100_000), || 0.0));
    // Only without congestion, that is, twice below 7.5 ms with probability 0, is the burst
    // allowance renewed.
    let calm = |probability, before, now| {
        let mut controller = at(probability, before);
        controller.update(ms(now));
        controller.burst_allowance
    };
    assert_eq!(calm(0.0, 7, 7), ms(150));
    assert_eq!(calm(0.0, 8, 7), Duration::ZERO);
    assert_eq!(calm(0.5, 7, 7), Duration::ZERO);
}

#[test]
fn what_is_safe_is_not_dropped() {
    let controller = at(0.15, 20);
    assert!(controller.signals(Bytes(2_049), || 0.149));
    assert!(!controller.signals(Bytes(2_049), || 0.151));
    assert!(!controller.signals(Bytes(2_048), || 0.0)); // two packets
    assert!(!at(0.15, 7).signals(Bytes(100_000), || 0.0)); // below half the target
    assert!(at(0.25, 7).signals(Bytes(100_000), || 0.0)); // but not from 20 % on
}

#[test]
fn marks_end_at_a_tenth() {
    for (probability, ecn, drops, marks) in
        [(0.1, Ecn::Capable0, 0, 1), (0.1, Ecn::NotCapable, 1, 0), (0.101, Ecn::Capable0, 1, 0)]
    {
        let parameters = Parameters { ecn: true, ..Parameters::default() };
        // Draws until one is below the probability.
        let mut found = (0, 0);
        for seed in 0..200 {
            let (mut top, stream) = (BenchTop::new(), Seeds::new(seed).stream("pie"));
            let mut pie = Pie::new(Limit::NONE, parameters, stream);
            for _ in 0..3 {
                let fresh = top.pool.insert(packet(FlowId(0), 1_500, Instant::ZERO));
                top.call(0, |cx| pie.enqueue(cx, fresh, Bytes::ZERO));
            }
            pie.controller = Controller { parameters, ..at(probability, 20) };
            let mut fresh = packet(FlowId(0), 1_500, Instant::ZERO);
            fresh.ecn = ecn;
            let fresh = top.pool.insert(fresh);
            top.call(0, |cx| pie.enqueue(cx, fresh, Bytes::ZERO));
            let statistics = pie.statistics();
            found.0 += statistics.managed_drops;
            found.1 += statistics.marks;
        }
        // 200 draws at about 0.1: 20, standard deviation 4.2.
        let around = |k: u64| if k > 0 { (5..40).contains(&k) } else { true };
        assert!(around(found.0) && around(found.1), "{found:?}");
        assert_eq!((found.0 > 0, found.1 > 0), (drops > 0, marks > 0));
    }
}

#[test]
fn updates_are_made_up_for_exactly() {
    // One is called each millisecond, the other only when packets arrive or leave.
    let parameters = Parameters::default();
    let make = || Pie::new(Limit::NONE, parameters, Seeds::new(1).stream("pie"));
    let (mut diligent, mut lazy, mut stream) = (make(), make(), Seeds::new(2).stream("arrivals"));
    let (mut top_a, mut top_b) = (BenchTop::new(), BenchTop::new());
    for at_ms in 0..20_000_u64 {
        let now = at_ms * MS;
        diligent.catch_up(Instant::from_nanos(now));
        let arrives = stream.chance(if (at_ms / 2_000).is_multiple_of(2) { 0.02 } else { 0.0005 });
        let leaves = stream.chance(0.01);
        for (top, pie) in [(&mut top_a, &mut diligent), (&mut top_b, &mut lazy)] {
            if arrives {
                let fresh = top.pool.insert(packet(FlowId(0), 1_500, Instant::from_nanos(now)));
                top.call(now, |cx| pie.enqueue(cx, fresh, Bytes::ZERO));
            }
            if leaves && let Some(head) = top.call(now, |cx| pie.dequeue(cx)) {
                top.pool.consume(head.packet);
            }
        }
        assert_eq!(diligent.backlog(), lazy.backlog());
    }
    lazy.catch_up(Instant::from_nanos(20_000 * MS));
    diligent.catch_up(Instant::from_nanos(20_000 * MS));
    assert_eq!(diligent.controller.probability.to_bits(), lazy.controller.probability.to_bits());
    assert_eq!(diligent.updates, lazy.updates);
    assert_eq!(diligent.statistics(), lazy.statistics());
    assert!(lazy.statistics().managed_drops > 10);
}
