use airlane_core::{BitRate, FlowId};

use super::*;
use crate::bench_top::{BenchTop, packet};
use crate::{Discipline, Link, LinkParameters, ManagedLink, RateStep, TraceLink};

const MS: u64 = 1_000_000;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A queue before a link of 12 Mbit/s, which is 1500 bytes in a millisecond.
fn queue() -> Abc {
    let mut queue = Abc::new(Limit::NONE, Parameters::default());
    queue.set_rates(&Schedule::new(Some(BitRate(12_000_000)), vec![], vec![]));
    queue
}

/// Adds packets of 1500 bytes with this ECN field.
fn fill(top: &mut BenchTop, queue: &mut Abc, packets: u32, ecn: Ecn, now_ms: u64) {
    for _ in 0..packets {
        let mut arrived = packet(FlowId(0), 1500, ms(now_ms));
        arrived.set_ecn(ecn);
        let arrived = top.pool.insert(arrived);
        top.call(now_ms * MS, |cx| queue.enqueue(cx, arrived, Bytes::ZERO));
    }
}

/// Takes a packet; true if it accelerates.
fn take(top: &mut BenchTop, queue: &mut Abc, now_ms: u64) -> bool {
    let left = top.call(now_ms * MS, |cx| queue.dequeue(cx)).expect("a packet waits");
    top.pool.consume(left.packet).ecn != Ecn::CongestionExperienced
}

#[track_caller]
fn near(found: Option<f64>, expected: f64) {
    let found = found.expect("a capacity is known");
    assert!((found - expected).abs() < 1e-9, "{found} instead of {expected}");
}

#[test]
fn the_share_follows_capacity_departures_and_delay() {
    let mut top = BenchTop::new();
    let mut queue = queue();
    // One packet in 20 ms is a twentieth of the capacity: all may accelerate.
    near(queue.accelerating(ms(0), 1500), 1.0);
    // At the full rate, 20 packets in 20 ms: 0.98 / 2.
    for now in 1..19 {
        queue.accelerating(ms(now), 1500);
    }
    near(queue.accelerating(ms(19), 1500), 0.49);
    // 48 packets behind it: 49 ms of delay are below the target of 50 ms.
    fill(&mut top, &mut queue, 48, Ecn::Capable0, 20);
    near(queue.accelerating(ms(20), 1500), 0.49);
    // 69 behind it: 70 ms, of which 20 ms are above. (0.98 - 20 / 133) / 2.
    fill(&mut top, &mut queue, 21, Ecn::Capable0, 21);
    near(queue.accelerating(ms(21), 1500), (0.98 - 20.0 / 133.0) / 2.0);
    // 189 behind it: 140 ms above, more than 0.98 * 133.
    fill(&mut top, &mut queue, 120, Ecn::Capable0, 22);
    near(queue.accelerating(ms(22), 1500), 0.0);
}

#[test]
fn the_bucket_turns_the_share_into_marks() {
    let mut top = BenchTop::new();
    let mut queue = queue();
    fill(&mut top, &mut queue, 30, Ecn::Capable0, 0);
    let accelerated: Vec<bool> = (0..1_000)
        .map(|now| {
            fill(&mut top, &mut queue, 1, Ecn::Capable0, now);
            take(&mut top, &mut queue, now)
        })
        .collect();
    // While departures are few the share is 1 and the five tokens stay. From 20 ms on the rate is full, and 0.49 comes
    // for each: 480 in 980 packets, and the tokens above 1.
    assert!(accelerated[..10].iter().all(|accelerates| *accelerates));
    let late = accelerated[20..].iter().filter(|accelerates| **accelerates).count();
    assert!((480..=485).contains(&late), "{late}");
    // With less than half of them, no two follow each other.
    assert!(accelerated[40..].windows(2).all(|two| !(two[0] && two[1])));
    assert_eq!(
        queue.statistics().marks,
        accelerated.iter().filter(|accelerates| !**accelerates).count() as u64
    );
}

#[test]
fn other_packets_are_not_marked_and_a_brake_stays() {
    let mut top = BenchTop::new();
    let mut queue = queue();
    fill(&mut top, &mut queue, 400, Ecn::NotCapable, 0);
    assert!((0..200).all(|now| take(&mut top, &mut queue, now)));
    assert_eq!((queue.statistics().marks, queue.tokens), (0, TOKENS_MAX));
    // A brake of another queue takes no token.
    fill(&mut top, &mut queue, 1, Ecn::CongestionExperienced, 200);
    (200..400).for_each(|now| assert!(take(&mut top, &mut queue, now)));
    assert!(!take(&mut top, &mut queue, 400));
    assert_eq!((queue.statistics().marks, queue.tokens), (1, TOKENS_MAX));
}

#[test]
fn without_a_capacity_nothing_is_marked() {
    let mut top = BenchTop::new();
    let mut queue = Abc::new(Limit::NONE, Parameters::default());
    fill(&mut top, &mut queue, 400, Ecn::Capable1, 0);
    assert!((0..300).all(|now| take(&mut top, &mut queue, now)));
    // A base station reports 75 kB/s. 20 packets or more wait, which are 0.4 s: no packet accelerates, after four tokens.
    queue.report_capacity(ms(300), 75_000.0);
    let brakes = (300..380).filter(|now| !take(&mut top, &mut queue, *now)).count();
    assert_eq!(brakes, 76);
}

#[test]
fn reports_of_the_last_window_are_averaged() {
    let mut capacity = Abc::new(Limit::NONE, Parameters::default());
    capacity.report_capacity(ms(5), 100.0);
    capacity.report_capacity(ms(10), 200.0);
    capacity.report_capacity(ms(15), 600.0);
    assert_eq!(capacity.capacity.at(ms(16), 1500), Some(300.0));
    assert_eq!(capacity.capacity.at(ms(26), 1500), Some(400.0)); // the first is 21 ms old
    assert_eq!(capacity.capacity.at(ms(90), 1500), Some(600.0)); // the last one holds
}

#[test]
fn the_capacity_of_a_trace_is_its_opportunities_in_the_window() {
    // 5 opportunities each 10 ms, with the last at 10: by hand, those in (now - 20 ms, now].
    let trace = Arc::new(DeliveryTrace::parse("1\n1\n4\n4\n10\n", "test").unwrap());
    let mut queue = Abc::new(Limit::NONE, Parameters::default());
    queue.set_trace(&trace);
    let mut at =
        |(now, packets): (u64, u64)| queue.capacity.at(ms(now), packets * 1500).unwrap() * 0.02 / 1500.0;
    // Of the two at 1 ms and at 4 ms, the second counts when a second packet leaves, or when the instant is over.
    assert_eq!(
        [(1, 1), (1, 2), (3, 1), (4, 1), (4, 3), (10, 1)].map(&mut at),
        [1.0, 2.0, 2.0, 3.0, 4.0, 5.0]
    );
    assert_eq!([(20, 1), (21, 1), (21, 2), (23, 1), (1_000, 1)].map(&mut at), [10.0, 9.0, 10.0, 10.0, 10.0]);
    let gap = Arc::new(DeliveryTrace::parse("1\n2\n100\n", "test").unwrap());
    queue.set_trace(&gap);
    let mut at = |now| queue.capacity.at(ms(now), 1500).unwrap() * 0.02 / 1500.0;
    assert_eq!([2, 20, 21, 22, 99, 101].map(&mut at), [2.0, 2.0, 1.0, 0.0, 0.0, 2.0]);
}

/// The brakes of a link between `from` and `to` milliseconds, with packets of 1500 bytes at each `every`.
fn brakes(
    link: &mut dyn airlane_core::Node,
    top: &mut BenchTop,
    times: core::ops::Range<u64>,
    every: u64,
) -> usize {
    let mut brakes = 0;
    for now in times.step_by(every as usize) {
        let mut arrived = packet(FlowId(0), 1500, ms(now));
        arrived.set_ecn(Ecn::Capable0);
        let arrived = top.pool.insert(arrived);
        top.call(now * MS, |cx| link.handle_timeout(cx));
        top.call(now * MS, |cx| link.handle_packet(cx, Link::INPUT, arrived));
        for left in top.packets() {
            brakes += usize::from(top.pool.consume(left).ecn == Ecn::CongestionExperienced);
        }
    }
    brakes
}

#[test]
fn a_queue_knows_the_capacity_of_its_link() {
    let discipline = || Discipline::Abc(Box::new(Abc::new(Limit::NONE, Parameters::default())));
    // 48 Mbit/s, a quarter of it used: no brakes. From 1 s on 12 Mbit/s, all of it used: 51 %.
    let step = RateStep { at: ms(1_000), rate: BitRate(12_000_000) };
    let rate = Some(BitRate(48_000_000));
    let parameters = LinkParameters { rate, rate_steps: vec![step], ..LinkParameters::default() };
    let mut link = ManagedLink::new(parameters, discipline());
    let mut top = BenchTop::new();
    assert_eq!(brakes(&mut link, &mut top, 0..1_000, 1), 0);
    let late = brakes(&mut link, &mut top, 1_000..2_000, 1);
    assert!((500..=515).contains(&late), "{late}");
    // The same with a trace.
    let trace = Arc::new(DeliveryTrace::parse("1\n1\n1\n1\n", "test").unwrap());
    let mut link = TraceLink::new(trace, airlane_core::Duration::ZERO, discipline(), None);
    let mut top = BenchTop::new();
    assert_eq!(brakes(&mut link, &mut top, 0..1_000, 1), 0);
    let trace = Arc::new(DeliveryTrace::parse("1\n", "test").unwrap());
    let mut link = TraceLink::new(trace, airlane_core::Duration::ZERO, discipline(), None);
    let late = brakes(&mut link, &mut top, 0..1_000, 1);
    assert!((495..=515).contains(&late), "{late}");
}
