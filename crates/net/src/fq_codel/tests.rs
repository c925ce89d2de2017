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
    // So do 100 connections of one flow.
    let flow = |flow| (FlowId(flow), SocketPair::default());
    let port = |ue_port| (FlowId(3), SocketPair { server: 2, server_port: 80, ue_port });
    let all = [(0..100).map(flow).collect::<Vec<_>>(), (49_152..49_252).map(port).collect()];
    for connections in all {
        let mut buckets: Vec<usize> = connections.into_iter().map(|c| bucket(c, 1024)).collect();
        buckets.sort_unstable();
        assert!(buckets[99] < 1024);
        buckets.dedup();
        assert!((90..=100).contains(&buckets.len()), "{}", buckets.len());
    }
    assert_eq!(bucket(flow(77), 1), 0);
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
    // A turn is 1500 bytes: one packet of flow 1, two of flow 2; flow 3 sends two packets, has a
    // deficit of 500 bytes, and is empty.
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
    // Flow 3 is new and is served first. When its next packet arrives it is no longer new: its
    // empty queue went to the end of the old queues, behind 2, and its turn is before that of 1.
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
    // A packet that exceeds the limit alone drops only itself, because the queue is then empty.
    let mut queue = FqCoDel::new(Limit::bytes(Bytes(500)), Parameters::default());
    offer(&mut top, &mut queue, 1, 501, 0);
    assert_eq!((queue.backlog(), queue.statistics().overflows), (Backlog::default(), 1));
    assert_eq!(take(&mut top, &mut queue, 0), None);
}

#[test]
fn each_flow_has_its_own_codel_and_may_be_marked() {
    // Flow 1 has a standing queue for 300 ms, flow 2 sends now and then: only flow 1 is marked.
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
    // Three flows of 6 Mbit/s each into a link of 10 Mbit/s, and from 100 ms on (when the others
    // are no longer new) one of 200 bytes every 17 ms.
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
    // It is new each time: at most the packet in transmission (1.2 ms) and itself (0.16 ms). One
    // quantum for each active flow, the bound for flows that are not new, would be 4.8 ms.
    assert_eq!(delays.len(), 582);
    let worst = delays.iter().max().copied().unwrap_or(0);
    assert!(worst <= Duration::from_micros(1_360).as_nanos(), "{worst}");
    // The others share the rest: 12.5 MB less 582 * 200 bytes.
    let fair = (12_500_000 - 582 * 200) / 3;
    for bulk in &bytes[..3] {
        assert!(bulk.abs_diff(fair) < 10_000, "{bytes:?}");
    }
}

/// The result of an overload of 30 s.
#[derive(Default)]
struct Overload {
    /// Time in ms and delay in ms of each packet of the flow that overloads the link.
    fast: Vec<(u64, u64)>,
    /// Delays in ms of the slow flow.
    slow: Vec<u64>,
    /// Drops until 10 s and until 20 s.
    drops: [u64; 2],
}

/// 12 Mbit/s, 1500 bytes a millisecond. Flow 1 offers 1.5 times as much and does not react to drops; flow 2
/// sends 200 bytes every 10 ms.
fn overload(parameters: Parameters) -> Overload {
    let (mut top, mut queue) = (BenchTop::new(), FqCoDel::new(Limit::NONE, parameters));
    let (mut found, mut free_at) = (Overload::default(), 0);
    for tick in 0..60_000_u64 {
        let now = tick * MS / 2;
        if tick % 4 != 3 {
            offer(&mut top, &mut queue, 1, 1_500, now);
        }
        if tick % 20 == 0 {
            offer(&mut top, &mut queue, 2, 200, now);
        }
        while free_at <= now {
            let Some(head) = top.call(now, |cx| queue.dequeue(cx)) else { break };
            free_at = free_at.max(now.saturating_sub(MS / 2)) + u64::from(head.size) * MS / 1_500;
            let delay = (now - head.since.as_nanos()) / MS;
            match top.pool.consume(head.packet).flow {
                FlowId(1) => found.fast.push((now / MS, delay)),
                _ => found.slow.push(delay),
            }
        }
        let until = [tick < 20_000, tick < 40_000];
        for (drops, _) in found.drops.iter_mut().zip(until).filter(|(_, counts)| *counts) {
            *drops = queue.statistics().managed_drops;
        }
    }
    found
}

#[test]
fn an_overload_is_brought_down_to_the_target() {
    // 500 packets a second are too many. CoDel's drops are 100 ms / sqrt(count) apart (RFC 8289 §5.6), so
    // there have been (t / 0.2 s)^2 = 25 t^2 of them after t seconds, and 500 t - 25 t^2 packets wait: most
    // of them, 2500, after 10 s, and none after 20 s. The share of flow 2, 1.3 % of the link, and the first
    // interval without a drop make it a little later.
    let parameters = Parameters::default();
    let found = overload(parameters);
    for (drops, law) in found.drops.into_iter().zip([2_500.0, 10_000.0]) {
        assert!((drops as f64 / law - 1.0).abs() < 0.02, "{drops} drops instead of {law}");
    }
    let target = parameters.codel.target.as_nanos() / MS;
    let above = |&&(at, delay): &&(u64, u64)| at > 1_000 && delay < target;
    let (reached, _) = found.fast.iter().find(above).expect("it comes down to its target");
    assert!((20_000..23_000).contains(reached), "at {reached} ms");
    // The link is never idle in spite of the drops.
    let carried = found.fast.len() as u64 * 1_500 + found.slow.len() as u64 * 200;
    assert!((44_900_000..=45_001_500).contains(&carried), "{carried} bytes in 30 s");
    // The slow flow waits only for the packet in transmission, and loses nothing.
    assert_eq!(found.slow.len(), 3_000);
    assert!(found.slow.iter().all(|&ms| ms <= 2), "{:?} ms in the slow flow", found.slow.iter().max());

    // Without CoDel the queue of the fast flow grows to a third of what it has sent: 10 s after 30 s.
    let never = codel::Parameters { target: Duration::from_secs(100), ..parameters.codel };
    let found = overload(Parameters { codel: never, packets: 100_000, ..parameters });
    assert!(
        found.fast.last().is_some_and(|(_, delay)| (9_500..10_500).contains(delay)),
        "{:?}",
        found.fast.last()
    );
}
