use airlane_core::{BitRate, Bytes, Duration, FlowId, Seeds};

use super::*;
use crate::bench_top::BenchTop;
use crate::queue::{Aqm, CoDel, DropTail, Limit};
use crate::{Hold, RateStep, codel, pie, red};

const MS: u64 = 1_000_000;

/// One packet of `size` bytes of flow `k` at the k-th time; returns the packets that left the link
/// and their times.
fn run(top: &mut BenchTop, link: &mut dyn Node, arrivals: &[(u64, u32)]) -> Vec<(u64, FlowId)> {
    let mut left = Vec::new();
    for (flow, &(at, size)) in (0..).zip(arrivals) {
        left.extend(top.run(link, at));
        top.give(link, Link::INPUT, FlowId(flow), size, at);
        left.extend(top.sent().into_iter().map(|(_, flow, _)| (at, flow)));
    }
    left.extend(top.run(link, u64::MAX));
    left
}

#[test]
fn with_drop_tail_it_is_the_plain_link_to_the_nanosecond() {
    let mut drops = 0;
    for seed in 0..50 {
        let mut stream = Seeds::new(seed).stream("arrivals");
        let mut now = 0;
        let arrivals: Vec<(u64, u32)> = (0..2_000)
            .map(|_| {
                now += if stream.chance(0.3) { 0 } else { stream.below(2 * MS) };
                (now, 28 + stream.below(1473) as u32)
            })
            .collect();
        let mut time = || Instant::from_nanos(stream.below(2_000 * MS));
        let rate_steps = (0..4).map(|k| RateStep { at: time(), rate: BitRate(3_000_000 << k) }).collect();
        let hold = |from: Instant| Hold { from, until: from + Duration::from_millis(70) };
        let parameters = LinkParameters {
            rate: Some(BitRate(7_000_001)),
            delay: Duration::from_micros(1_234),
            queue: None,
            rate_steps,
            holds: vec![hold(time()), hold(time())],
            loss: Some(RandomLoss::with_splitmix64(0.02, seed)),
            ..LinkParameters::default()
        };
        let limit = Bytes(30_000);
        let mut plain = Link::new(LinkParameters { queue: Some(limit), ..parameters.clone() });
        let mut managed =
            ManagedLink::new(parameters, Discipline::DropTail(DropTail::new(Limit::bytes(limit))));
        let (mut top_a, mut top_b) = (BenchTop::new(), BenchTop::new());
        let left = run(&mut top_a, &mut plain, &arrivals);
        assert_eq!(left, run(&mut top_b, &mut managed, &arrivals), "seed {seed}");
        assert_eq!(*plain.statistics(), managed.statistics(), "seed {seed}");
        drops += plain.statistics().queue_drops;
        assert_eq!((top_a.pool.live(), top_b.pool.live()), (0, 0));
    }
    assert!(drops > 5_000, "{drops}"); // the queue was full, not idle
}

/// Ten seconds of full packets at 10.5 Mbit/s into a link of 10 Mbit/s; returns the delays of those
/// that left in the last five seconds, sorted, in nanoseconds, and the drops of the queue.
fn overload(queue: Discipline) -> (Vec<u64>, LinkStatistics) {
    let mut top = BenchTop::new();
    let parameters = LinkParameters { rate: Some(BitRate(10_000_000)), ..LinkParameters::default() };
    let mut link = ManagedLink::new(parameters, queue);
    let arrivals: Vec<(u64, u32)> = (0..8_750).map(|k| (k * 8_000 * MS / 7_000, 1_500)).collect();
    let left = run(&mut top, &mut link, &arrivals);
    let late = left.iter().filter(|&&(at, _)| at > 5_000 * MS);
    let mut delays: Vec<u64> = late.map(|&(at, flow)| at - arrivals[flow.index()].0).collect();
    delays.sort_unstable();
    assert_eq!(top.pool.live(), 0);
    (delays, link.statistics())
}

#[test]
fn codel_holds_the_delay_down_where_drop_tail_fills_up() {
    let limit = Limit::bytes(Bytes(262_144));
    // A full queue of 262144 bytes lasts 209.7 ms, and an excess of 5 % fills it in 4.2 s.
    let (delays, statistics) = overload(Discipline::DropTail(DropTail::new(limit)));
    assert!(delays[delays.len() / 2] > 205 * MS);
    assert!(statistics.queue_drops > 0 && statistics.managed_drops == 0);
    // CoDel finds the drop rate that the overload needs, and then its delay stays near the target.
    let (delays, statistics) = overload(Discipline::CoDel(CoDel::new(limit, codel::Parameters::default())));
    let median = delays[delays.len() / 2];
    assert!((2 * MS..10 * MS).contains(&median), "{median}");
    assert!(delays[delays.len() * 95 / 100] < 30 * MS, "{delays:?}");
    assert_eq!(statistics.queue_drops, 0);
    // 1/21 of the packets exceed the rate; in most of the seconds it drops about as many.
    assert!((300..500).contains(&statistics.managed_drops), "{statistics:?}");
}

#[test]
fn an_infinite_rate_needs_no_queue() {
    let mut top = BenchTop::new();
    let queue = Discipline::CoDel(CoDel::new(Limit::NONE, codel::Parameters::default()));
    let delay = Duration::from_millis(3);
    let mut link = ManagedLink::new(LinkParameters { delay, ..LinkParameters::default() }, queue);
    assert_eq!(
        run(&mut top, &mut link, &[(MS, 1_500), (MS, 1_500)]),
        [(4 * MS, FlowId(0)), (4 * MS, FlowId(1))]
    );
}

#[test]
fn called_late_it_replays() {
    // Three packets at 0 on 10 Mbit/s end at 1.2, 2.4, 3.6 ms; the link is not called until 3 ms.
    let mut top = BenchTop::new();
    let parameters = LinkParameters { rate: Some(BitRate(10_000_000)), ..LinkParameters::default() };
    let queue = Discipline::DropTail(DropTail::new(Limit::NONE));
    let mut link = ManagedLink::new(parameters, queue);
    for flow in 0..3 {
        top.give(&mut link, Link::INPUT, FlowId(flow), 1_500, 0);
    }
    top.call(3 * MS, |cx| link.handle_timeout(cx));
    assert_eq!(top.sent().len(), 2);
    assert_eq!(link.next_timeout(), Some(Instant::from_nanos(3_600_000)));
}

fn under(aqm: &Aqm) -> Discipline {
    Discipline::new(aqm, Limit::bytes(Bytes(262_144)), || Seeds::new(1).stream("queue"))
}

#[test]
fn red_holds_the_average_where_its_probability_meets_the_overload() {
    // 1 packet in 21 exceeds the rate. Gaps are uniform up to 1/p_b, so p_b = 1 / (2 * 21 - 1) =
    // 0.0244, a little above max_p = 0.02: an average of 15 + 15 * 0.0044 / 0.98 = 15.07 packets of
    // 1.2 ms, and the packet itself: 19.3 ms.
    let (delays, statistics) = overload(under(&Aqm::Red(red::Parameters::default())));
    let median = delays[delays.len() / 2];
    assert!((17 * MS..22 * MS).contains(&median), "{median}");
    assert!(delays[delays.len() * 95 / 100] < 40 * MS, "{statistics:?}");
    assert_eq!(statistics.queue_drops, 0);
}

#[test]
fn pie_holds_its_target() {
    let (delays, statistics) = overload(under(&Aqm::Pie(pie::Parameters::default())));
    // The target is 15 ms at the head of the queue; the packet itself takes 1.2 ms.
    let median = delays[delays.len() / 2];
    assert!((12 * MS..20 * MS).contains(&median), "{median}");
    assert!(delays[delays.len() * 95 / 100] < 45 * MS, "{delays:?}");
    assert_eq!(statistics.queue_drops, 0);
    // Over the whole time, 1 in 21 of 8750 packets, less those that the first burst left in the queue.
    assert!((330..430).contains(&statistics.managed_drops), "{statistics:?}");
}
