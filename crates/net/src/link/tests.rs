use airlane_core::FlowId;

use super::*;
use crate::LossStep;
use crate::bench_top::BenchTop;

const MS: u64 = 1_000_000;

/// 10 Mbit/s: a packet of 1500 bytes takes 1.2 ms.
fn ten_megabit() -> LinkParameters {
    LinkParameters {
        rate: Some(BitRate(10_000_000)),
        delay: Duration::from_millis(20),
        ..LinkParameters::default()
    }
}

fn times(left: &[(u64, FlowId)]) -> Vec<u64> {
    left.iter().map(|&(at, _)| at / 1_000).collect()
}

#[test]
fn a_packet_takes_its_transmission_and_the_delay() {
    let mut top = BenchTop::new();
    let mut link = Link::new(ten_megabit());
    top.give(&mut link, Link::INPUT, FlowId(0), 1500, 5 * MS);
    top.give(&mut link, Link::INPUT, FlowId(1), 750, 5 * MS);
    top.give(&mut link, Link::INPUT, FlowId(2), 1500, 7 * MS);
    assert_eq!(link.packets_held(), 3);
    // 5 + 1.2 + 20; then 0.6 more; the third finds the link idle: 7 + 1.2 + 20. Microseconds.
    assert_eq!(times(&top.run(&mut link, 100 * MS)), [26_200, 26_800, 28_200]);
    assert_eq!(link.packets_held(), 0);
    let expected = LinkStatistics {
        arrived: 3,
        delivered: 3,
        delivered_bytes: Bytes(3750),
        queue_max: Bytes(750),
        ..LinkStatistics::default()
    };
    assert_eq!(*link.statistics(), expected);
}

#[test]
fn a_burst_loses_exactly_what_exceeds_the_limit() {
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { queue: Some(Bytes(4_500)), ..ten_megabit() });
    // One goes into transmission, three wait, six of ten are dropped.
    for flow in 0..10 {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1500, 0);
    }
    assert_eq!(top.pool.discarded(DropCause::QueueFull), 6);
    assert_eq!(link.queued(Instant::ZERO), Bytes(4_500));
    // At 1.2 ms the second has begun and makes room for one, not for two.
    top.give(&mut link, Link::INPUT, FlowId(10), 1500, 1_200_000);
    top.give(&mut link, Link::INPUT, FlowId(11), 1500, 1_200_000);
    assert_eq!(top.pool.discarded(DropCause::QueueFull), 7);
    let left = top.run(&mut link, 100 * MS);
    let flows: Vec<_> = left.iter().map(|&(_, flow)| flow.0).collect();
    assert_eq!(flows, [0, 1, 2, 3, 10]);
    assert_eq!(times(&left), [21_200, 22_400, 23_600, 24_800, 26_000]);
    assert_eq!(link.statistics().queue_drops, 7);
    assert_eq!(top.pool.live(), 0);
}

#[test]
fn an_idle_link_accepts_any_packet() {
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { queue: Some(Bytes(100)), ..ten_megabit() });
    top.give(&mut link, Link::INPUT, FlowId(0), 1500, 0);
    top.give(&mut link, Link::INPUT, FlowId(1), 1500, 0);
    assert_eq!(top.run(&mut link, 100 * MS).len(), 1);
}

#[test]
fn a_rate_step_spares_the_packet_in_transmission() {
    let step = RateStep { at: Instant::from_nanos(600_000), rate: BitRate(1_000_000) };
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { rate_steps: vec![step], ..ten_megabit() });
    for flow in 0..3 {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1500, 0);
    }
    // The first keeps its 1.2 ms, the others take 12 ms each.
    assert_eq!(times(&top.run(&mut link, 100 * MS)), [21_200, 33_200, 45_200]);
}

#[test]
fn a_hold_delays_what_has_not_begun() {
    let hold = Hold { from: Instant::from_nanos(2_000_000), until: Instant::from_millis(50) };
    let mut top = BenchTop::new();
    let parameters = LinkParameters { holds: vec![hold], queue: Some(Bytes(3_000)), ..ten_megabit() };
    let mut link = Link::new(parameters);
    for flow in 0..3 {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1500, 0);
    }
    // Begun at 0 and 1.2 ms and delivered as usual, even while the hold lasts; the third begins at
    // 50 ms. It waits meanwhile, so only one of two further packets is accepted.
    assert_eq!(times(&top.run(&mut link, 30 * MS)), [21_200, 22_400]);
    top.give(&mut link, Link::INPUT, FlowId(3), 1500, 30 * MS);
    top.give(&mut link, Link::INPUT, FlowId(4), 1500, 30 * MS);
    assert_eq!(times(&top.run(&mut link, 100 * MS)), [71_200, 72_400]);
    assert_eq!(link.statistics().queue_drops, 1);
}

#[test]
fn loss_comes_before_the_queue_and_spares_empty_packets() {
    let loss = RandomLoss::with_splitmix64(0.5, 7);
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { loss: Some(loss.clone()), ..ten_megabit() });
    for n in 0..1_000 {
        // Every second packet has no payload: 20 + 8 bytes of headers.
        top.give(&mut link, Link::INPUT, FlowId(n % 2), if n % 2 == 0 { 1500 } else { 28 }, 0);
    }
    let mut twin = loss;
    let expected = (0..500).filter(|_| twin.strikes()).count() as u64;
    assert_eq!(link.statistics().random_drops, expected);
    assert_eq!(top.pool.discarded(DropCause::RandomLoss), expected);
    let left = top.run(&mut link, 10_000 * MS);
    assert_eq!(left.iter().filter(|&&(_, flow)| flow == FlowId(1)).count(), 500);
    assert_eq!(left.len() as u64, 1_000 - expected);
}

#[test]
fn a_link_without_rate_and_delay_passes_on_at_once() {
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters::default());
    top.give(&mut link, Link::INPUT, FlowId(0), 1500, 3);
    assert_eq!(top.sent(), [(Link::OUTPUT, FlowId(0), Bytes(1500))]);
    assert_eq!((link.next_timeout(), link.packets_held()), (None, 0));
}

#[test]
fn a_policer_drops_what_it_has_no_tokens_for() {
    // 3000 bytes, filled at 1 Mbit/s: 1500 bytes in 12 ms.
    let policer = Policer { rate: BitRate(1_000_000), burst: Bytes(3_000) };
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { policer: Some(policer), ..ten_megabit() });
    for (flow, at) in [(0, 0), (1, 0), (2, 0), (3, 11), (4, 12), (5, 13), (6, 100), (7, 100), (8, 100)] {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1500, at * MS);
    }
    // The bucket is full at 0 and again at 100 ms; at 12 ms it has tokens for one packet.
    let left = top.run(&mut link, 200 * MS);
    let flows: Vec<_> = left.iter().map(|&(_, flow)| flow.0).collect();
    assert_eq!(flows, [0, 1, 4, 6, 7]);
    assert_eq!(link.statistics().policed, 4);
    assert_eq!(top.pool.discarded(DropCause::QueueManagement), 4);
    assert_eq!(top.pool.live(), 0);
}

#[test]
fn a_detour_lets_later_packets_overtake() {
    let at = Instant::from_millis;
    let detours = vec![Detour { from: at(21), until: at(23), extra: Duration::from_millis(10) }];
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { detours, ..ten_megabit() });
    for flow in 0..4 {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1500, 0);
    }
    // They would arrive at 21.2, 22.4, 23.6 and 24.8 ms; the first two take 10 ms more.
    let left = top.run(&mut link, 30 * MS);
    assert_eq!(times(&left), [23_600, 24_800]);
    assert_eq!(link.packets_held(), 2);
    let left = top.run(&mut link, 100 * MS);
    assert_eq!((left[0].1, left[1].1), (FlowId(0), FlowId(1)));
    assert_eq!(times(&left), [31_200, 32_400]);
    assert_eq!(link.packets_held(), 0);
}

#[test]
fn loss_changes_at_its_steps() {
    let step = |ms, probability| LossStep { at: Instant::from_millis(ms), probability };
    let loss = RandomLoss::with_splitmix64(0.0, 7).with_steps(vec![step(10, 1.0), step(20, 0.0)]);
    let mut top = BenchTop::new();
    let mut link = Link::new(LinkParameters { loss: Some(loss), ..ten_megabit() });
    for ms in 0..30 {
        top.give(&mut link, Link::INPUT, FlowId(ms as u32), 1500, ms * MS);
    }
    let flows: Vec<_> = top.run(&mut link, 100 * MS).iter().map(|&(_, flow)| flow.0).collect();
    assert_eq!(flows, (0..10).chain(20..30).collect::<Vec<_>>());
}
