use airlane_core::{BitRate, Duration, Ecn};

use super::*;
use crate::bench_top::{BenchTop, packet};
use crate::{Discipline, Link, LinkParameters, ManagedLink};

const MS: u64 = 1_000_000;

fn offer(top: &mut BenchTop, queue: &mut FqCoDel, flow: u32, size: u32, now_ns: u64) {
    let fresh = top.pool.insert(packet(FlowId(flow), size, Instant::from_nanos(now_ns)));
    top.call(now_ns, |cx| queue.enqueue(cx, fresh, Bytes::ZERO));
}

fn take(top: &mut BenchTop, queue: &mut FqCoDel, now_ns: u64) -> Option<u32> {
    let head = top.call(now_ns, |cx| queue.dequeue(cx))?;
    Some(top.pool.consume(head.packet).flow.0)
}

fn with_quantum(quantum: u64) -> Parameters {
    Parameters { quantum: Bytes(quantum), ..Parameters::default() }
}

#[test]
fn flows_have_buckets_of_their_own_mostly() {
    // 100 flows in 1024 buckets: 100 * 99 / 2 / 1024 = 4.8 pairs expected to share one.
    let mut buckets: Vec<usize> = (0..100).map(|flow| bucket(FlowId(flow), 1024)).collect();
    buckets.sort_unstable();
    assert!(buckets[99] < 1024);
    buckets.dedup();
    assert!((90..=100).contains(&buckets.len()), "{}", buckets.len());
    assert_eq!(bucket(FlowId(77), 1), 0);
}

#[test]
fn turns_are_counted_in_bytes() {
    let (mut top, mut queue) = (BenchTop::new(), FqCoDel::new(Limit::NONE, with_quantum(1_500)));
    for _ in 0..3 {
        offer(&mut top, &mut queue, 1, 1_500, 0);
    }
    for _ in 0..6 {
        offer(&mut top, &mut queue, 2, 750, 0);
    }
    offer(&mut top, &mut queue, 3, 1_000, 0);
    offer(&mut top, &mut queue, 3, 1_000, 0);
    // A turn is 1500 bytes: one packet of flow 1, two of flow 2; flow 3 sends two packets, is 500
    // bytes in debt, and done anyhow.
    let order: Vec<u32> = core::iter::from_fn(|| take(&mut top, &mut queue, 0)).collect();
    assert_eq!(order, [1, 2, 2, 3, 3, 1, 2, 2, 1, 2, 2]);
    assert_eq!((queue.new.len(), queue.old.len()), (0, 0));
}

#[test]
fn a_new_flow_goes_first_but_only_once_per_round() {
    let (mut top, mut queue) = (BenchTop::new(), FqCoDel::new(Limit::NONE, with_quantum(1_500)));
    for _ in 0..4 {
        offer(&mut top, &mut queue, 1, 1_500, 0);
        offer(&mut top, &mut queue, 2, 1_500, 0);
    }
    assert_eq!([(); 3].map(|()| take(&mut top, &mut queue, 0).unwrap()), [1, 2, 1]);
    // Flow 3 is new and overtakes. When it comes back it is no longer new: its empty queue went
    // to the end of the old ones, behind 2, and 3's turn is before 1's.
    offer(&mut top, &mut queue, 3, 100, 0);
    assert_eq!(take(&mut top, &mut queue, 0), Some(3));
    assert_eq!(take(&mut top, &mut queue, 0), Some(2));
    offer(&mut top, &mut queue, 3, 100, 0);
    let rest: Vec<u32> = core::iter::from_fn(|| take(&mut top, &mut queue, 0)).collect();
    assert_eq!(rest, [3, 1, 2, 1, 2]);
}

#[test]
fn at_the_limit_the_largest_queue_loses_half_from_its_head() {
    let parameters = Parameters { packets: 10, ..Parameters::default() };
    let (mut top, mut queue) = (BenchTop::new(), FqCoDel::new(Limit::NONE, parameters));
    for k in 0..7 {
        offer(&mut top, &mut queue, 1, 1_000, k);
    }
    for k in 7..10 {
        offer(&mut top, &mut queue, 2, 1_000, k);
    }
    assert_eq!(queue.statistics().overflows, 0);
    offer(&mut top, &mut queue, 2, 100, 10); // the eleventh
    assert_eq!(queue.statistics().overflows, 4); // half of flow 1's seven, rounded up
    assert_eq!(queue.backlog(), Backlog { bytes: Bytes(6_100), packets: 7 });
    assert_eq!(queue.oldest(), Some(Instant::from_nanos(4)));
    // No more than 64 at once.
    let parameters = Parameters { packets: 300, ..Parameters::default() };
    let mut queue = FqCoDel::new(Limit::NONE, parameters);
    for _ in 0..301 {
        offer(&mut top, &mut queue, 1, 1_000, 0);
    }
    assert_eq!(queue.statistics().overflows, BATCH_MAX as u64);
}

#[test]
fn the_limit_in_bytes_holds_too() {
    let (mut top, mut queue) =
        (BenchTop::new(), FqCoDel::new(Limit::bytes(Bytes(10_000)), Parameters::default()));
    for _ in 0..10 {
        offer(&mut top, &mut queue, 1, 1_000, 0);
    }
    offer(&mut top, &mut queue, 2, 28, 0);
    assert_eq!(queue.backlog(), Backlog { bytes: Bytes(5_028), packets: 6 });
    // A packet that can never fit takes nothing along but itself, once nothing else is left.
    let mut queue = FqCoDel::new(Limit::bytes(Bytes(500)), Parameters::default());
    offer(&mut top, &mut queue, 1, 501, 0);
    assert_eq!((queue.backlog(), queue.statistics().overflows), (Backlog::default(), 1));
    assert_eq!(take(&mut top, &mut queue, 0), None);
}

#[test]
fn each_flow_has_its_own_codel_and_may_be_marked() {
    // Flow 1 stands for 300 ms, flow 2 comes and goes: only flow 1 is told.
    let codel = codel::Parameters { ecn: true, ..codel::Parameters::default() };
    let parameters = Parameters { codel, ..Parameters::default() };
    let (mut top, mut queue) = (BenchTop::new(), FqCoDel::new(Limit::NONE, parameters));
    for _ in 0..300 {
        let mut fresh = packet(FlowId(1), 1_500, Instant::ZERO);
        fresh.ecn = Ecn::Capable0;
        let fresh = top.pool.insert(fresh);
        top.call(0, |cx| queue.enqueue(cx, fresh, Bytes::ZERO));
    }
    let mut marked = Vec::new();
    for ms in 1..=300 {
        offer(&mut top, &mut queue, 2, 100, ms * MS);
        for _ in 0..2 {
            let Some(head) = top.call(ms * MS, |cx| queue.dequeue(cx)) else { continue };
            let packet = top.pool.consume(head.packet);
            if packet.ecn == Ecn::CongestionExperienced {
                marked.push((ms, packet.flow.0));
            }
        }
    }
    // As CoDel alone: above 5 ms from 5 ms on, first at 105, then at 205, and 70.7 ms later.
    assert_eq!(marked, [(105, 1), (205, 1), (276, 1)]);
    assert_eq!((queue.statistics().marks, queue.statistics().managed_drops), (3, 0));
}

#[test]
fn a_sparse_flow_does_not_wait_behind_bulk_flows() {
    // Three flows of 6 Mbit/s each into a link of 10 Mbit/s, and from 100 ms on
    // (when the others are new no more) one of 200 bytes every 17 ms.
    let mut top = BenchTop::new();
    let parameters = LinkParameters { rate: Some(BitRate(10_000_000)), ..LinkParameters::default() };
    let fq = FqCoDel::new(Limit::bytes(Bytes(1_000_000)), Parameters::default());
    let mut link = ManagedLink::new(parameters, Discipline::FqCoDel(Box::new(fq)));
    let mut arrivals: Vec<(u64, u32, u32)> = Vec::new();
    for flow in 0..3 {
        arrivals.extend((0..5_000).map(|k| (k * 2 * MS + u64::from(flow), flow, 1_500)));
    }
    arrivals.extend((0..582).map(|k| (100 * MS + k * 17 * MS, 3, 200)));
    arrivals.sort_unstable();
    let (mut sent, mut delays, mut bytes) = (Vec::new(), Vec::new(), [0_u64; 4]);
    let note =
        |left: Vec<(u64, FlowId)>, sent: &mut Vec<u64>, delays: &mut Vec<u64>, bytes: &mut [u64; 4]| {
            for (at, flow) in left {
                bytes[flow.index()] += if flow.0 == 3 { 200 } else { 1_500 };
                if flow.0 == 3 {
                    delays.push(at - sent[delays.len()]);
                }
            }
        };
    for (at, flow, size) in arrivals {
        let left = top.run(&mut link, at);
        note(left, &mut sent, &mut delays, &mut bytes);
        if flow == 3 {
            sent.push(at);
        }
        top.give(&mut link, Link::INPUT, FlowId(flow), size, at);
    }
    note(top.run(&mut link, 10_000 * MS), &mut sent, &mut delays, &mut bytes);
    // It is new each time: at most the packet in transmission (1.2 ms) and itself (0.16 ms).
    // One quantum for each active flow, the bound for flows that are not new, were 4.8 ms.
    assert_eq!(delays.len(), 582);
    let worst = delays.iter().max().copied().unwrap_or(0);
    assert!(worst <= Duration::from_micros(1_360).as_nanos(), "{worst}");
    // The others share what is left: 12.5 MB less 582 * 200 bytes.
    let fair = (12_500_000 - 582 * 200) / 3;
    for bulk in &bytes[..3] {
        assert!(bulk.abs_diff(fair) < 10_000, "{bytes:?}");
    }
}
