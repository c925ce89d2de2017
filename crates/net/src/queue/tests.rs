use std::collections::BTreeMap;

use airlane_core::{Duration, Ecn, Event, FlowId, Probe, Seeds, Topic, TopicSet};

use super::*;
use crate::bench_top::{BenchTop, packet};

const MS: u64 = 1_000_000;

fn offer(top: &mut BenchTop, queue: &mut impl QueueDiscipline, size: u32, ecn: Ecn, now_ns: u64) -> bool {
    let mut fresh = packet(FlowId(0), size, Instant::from_nanos(now_ns));
    fresh.ecn = ecn;
    let fresh = top.pool.insert(fresh);
    let live = top.pool.live();
    top.call(now_ns, |cx| queue.enqueue(cx, fresh, Bytes::ZERO));
    top.pool.live() == live
}

#[test]
fn drop_tail_keeps_both_limits() {
    let mut top = BenchTop::new();
    let mut queue = DropTail::new(Limit { bytes: Bytes(1_000), packets: 3, overhead: 0 });
    let taken = [600, 401, 400, 28, 28].map(|size| offer(&mut top, &mut queue, size, Ecn::NotCapable, 0));
    assert_eq!(taken, [true, false, true, false, false]); // 1000 bytes wait: the queue is full
    let first = top.call(0, |cx| queue.dequeue(cx)).unwrap();
    assert_eq!(top.pool.consume(first.packet).size, Bytes(600));
    let taken = [28, 28].map(|size| offer(&mut top, &mut queue, size, Ecn::NotCapable, 0));
    assert_eq!(taken, [true, true]);
    assert!(!offer(&mut top, &mut queue, 28, Ecn::NotCapable, 0)); // three packets wait
    assert_eq!(queue.backlog(), Backlog { bytes: Bytes(456), packets: 3 });
    assert_eq!(queue.statistics(), QueueStatistics { overflows: 4, ..QueueStatistics::default() });
    assert_eq!(top.pool.discarded(DropCause::QueueFull), 4);
}

#[test]
fn overheads_and_what_is_ahead_count_against_the_limit() {
    let mut top = BenchTop::new();
    let mut queue = DropTail::new(Limit::bytes(Bytes(300)).with_overhead(2));
    let mut offer = |size, ahead| {
        let fresh = top.pool.insert(packet(FlowId(0), size, Instant::ZERO));
        top.call(0, |cx| queue.enqueue(cx, fresh, Bytes(ahead)));
        queue.backlog()
    };
    let of = |bytes, packets| Backlog { bytes: Bytes(bytes), packets };
    assert_eq!(offer(98, 0), of(100, 1));
    assert_eq!(offer(98, 101), of(100, 1)); // 100 + 101 + 100 is one too many
    assert_eq!(offer(98, 100), of(200, 2));
}

/// 300 packets arrive at time 0; one is removed per millisecond.
fn drain(mut queue: CoDel, ecn: Ecn) -> (u64, u64, BenchTop) {
    let mut top = BenchTop::new();
    for _ in 0..300 {
        assert!(offer(&mut top, &mut queue, 1_500, ecn, 0));
    }
    let mut marked = 0;
    for ms in 1..=300 {
        if let Some(head) = top.call(ms * MS, |cx| queue.dequeue(cx)) {
            marked += u64::from(top.pool.consume(head.packet).ecn == Ecn::CongestionExperienced);
        }
    }
    assert_eq!(queue.statistics().marks, marked);
    (queue.statistics().managed_drops, marked, top)
}

#[test]
fn codel_drops_on_its_schedule() {
    // The sojourn is k ms at time k: the target of 5 ms is reached at 5, so the first drop
    // comes at 105 ms, the next 100/sqrt(1) later at 205, then 70.7 ms later at 275.7, so at
    // 276. The next would be due at 333. 297 packets last for as many milliseconds.
    let queue = CoDel::new(Limit::NONE, codel::Parameters::default());
    let (dropped, marked, top) = drain(queue, Ecn::Capable0);
    assert_eq!((dropped, marked), (3, 0));
    assert_eq!(top.pool.discarded(DropCause::QueueManagement), 3);
    assert_eq!((top.pool.consumed(), top.pool.live()), (297, 0));
}

#[test]
fn codel_marks_those_that_can_be_marked() {
    let marking = codel::Parameters { ecn: true, ..codel::Parameters::default() };
    let (dropped, marked, top) = drain(CoDel::new(Limit::NONE, marking), Ecn::Capable0);
    assert_eq!((dropped, marked), (0, 3));
    assert_eq!(top.pool.consumed(), 300);
    let (dropped, marked, _) = drain(CoDel::new(Limit::NONE, marking), Ecn::NotCapable);
    assert_eq!((dropped, marked), (3, 0));
}

#[test]
fn a_short_stay_is_left_alone() {
    let mut top = BenchTop::new();
    let mut queue = CoDel::new(Limit::NONE, codel::Parameters::default());
    for ms in 0..1_000 {
        offer(&mut top, &mut queue, 1_500, Ecn::NotCapable, ms * MS);
        let stay = Duration::from_millis(4).as_nanos();
        let head = top.call(ms * MS + stay, |cx| queue.dequeue(cx)).unwrap();
        top.pool.consume(head.packet);
    }
    assert_eq!(queue.statistics(), QueueStatistics::default());
}

/// A probe that counts marks.
struct Marks(u64);

impl Probe for Marks {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Marked)
    }
    fn observe(&mut self, _: Instant, event: &Event<'_>) {
        let Event::Marked { packet } = event else { panic!("not asked for: {event:?}") };
        assert_eq!(packet.ecn, Ecn::CongestionExperienced);
        self.0 += 1;
    }
}

/// Every discipline, with parameters at which its rule acts.
fn every_rule(ecn: bool) -> [Aqm; 5] {
    let codel = codel::Parameters { interval: Duration::from_millis(20), ecn, ..Default::default() };
    [
        Aqm::DropTail,
        Aqm::Red(red::Parameters { weight: 0.1, ecn, ..Default::default() }),
        Aqm::CoDel(codel),
        Aqm::FqCoDel(fq_codel::Parameters { codel, queues: 4, ..Default::default() }),
        Aqm::Pie(pie::Parameters {
            max_burst: Duration::ZERO,
            alpha: 12.5,
            beta: 125.0,
            ecn,
            ..Default::default()
        }),
    ]
}

/// Random arrivals, departures and expiries: bytes and packets are conserved, the limit holds,
/// flows stay in order, marks are reported, and nothing but ECN-capable packets is marked.
fn storm(aqm: &Aqm, seed: u64) -> QueueStatistics {
    let limit = Limit { bytes: Bytes(60_000), packets: 70, overhead: 3 };
    let seeds = Seeds::new(seed);
    let mut queue = Discipline::new(aqm, limit, || seeds.stream("queue"));
    let mut s = seeds.stream("storm");
    let (mut top, mut marks, mut outbox) = (BenchTop::new(), Marks(0), Vec::new());
    let (mut now, mut arrived, mut left, mut marked) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut since: BTreeMap<u32, u64> = BTreeMap::new();
    for step in 0..4_000_u64 {
        now += s.below(2 * MS);
        let topics = marks.topics();
        let at = Instant::from_nanos(now);
        let mut cx = Cx { now: at, pool: &mut top.pool, outbox: &mut outbox, topics, probe: &mut marks };
        let busy = (step / 500).is_multiple_of(2); // fills up, then drains
        if s.chance(if busy { 0.6 } else { 0.4 }) {
            let mut fresh = packet(FlowId(s.below(6) as u32), 28 + s.below(1_473) as u32, at);
            fresh.ecn = if s.chance(0.5) { Ecn::Capable1 } else { Ecn::NotCapable };
            let fresh = cx.pool.insert(fresh);
            let ahead = Bytes(s.below(1_500));
            queue.enqueue(&mut cx, fresh, ahead);
            arrived += 1;
            assert!(queue.backlog().bytes <= limit.bytes && queue.backlog().packets <= limit.packets);
        } else if s.chance(0.02) {
            queue.expire(&mut cx, at - Duration::from_nanos(now.min(20 * MS)));
            assert!(
                queue.oldest().is_none_or(|oldest| now <= 20 * MS || at - oldest < Duration::from_millis(20))
            );
        } else if let Some(head) = queue.dequeue(&mut cx) {
            let packet = cx.pool.consume(head.packet);
            assert_eq!(u64::from(head.size), packet.size.get() + 3);
            assert_eq!(head.since, packet.sent_at);
            let last = since.insert(packet.flow.0, head.since.as_nanos());
            assert!(last.is_none_or(|last| last <= head.since.as_nanos()), "out of order");
            assert_ne!(packet.ecn, Ecn::Capable0);
            marked += u64::from(packet.ecn == Ecn::CongestionExperienced);
            left += 1;
        }
        assert_eq!(queue.backlog().packets as u64, top.pool.live() as u64);
        assert_eq!(queue.oldest().is_none(), queue.backlog().packets == 0);
        assert_eq!(queue.backlog().packets == 0, queue.backlog().bytes == Bytes::ZERO);
    }
    let (statistics, pool) = (queue.statistics(), &top.pool);
    assert_eq!(pool.discarded(DropCause::QueueFull), statistics.overflows);
    assert_eq!(pool.discarded(DropCause::QueueManagement), statistics.managed_drops);
    let gone = statistics.overflows + statistics.managed_drops + pool.discarded(DropCause::Discarded);
    assert_eq!(arrived, left + gone + queue.backlog().packets as u64);
    assert_eq!(marks.0, statistics.marks);
    assert!(marked <= statistics.marks);
    // The remaining packets leave, and then the backlog is 0 bytes.
    while let Some(head) = top.call(now, |cx| queue.dequeue(cx)) {
        top.pool.consume(head.packet);
    }
    assert_eq!(queue.backlog(), Backlog::default());
    assert_eq!(top.pool.live(), 0);
    statistics
}

#[test]
fn whatever_happens_is_conserved() {
    for ecn in [false, true] {
        for aqm in every_rule(ecn) {
            let mut total = QueueStatistics::default();
            for seed in 0..20 {
                let QueueStatistics { overflows, managed_drops, marks } = storm(&aqm, seed);
                total.overflows += overflows;
                total.managed_drops += managed_drops;
                total.marks += marks;
            }
            // Each discipline took part, and each dropped or marked as it should.
            let managed = aqm != Aqm::DropTail;
            assert!(managed || total.overflows > 100, "{aqm:?}: {total:?}");
            assert_eq!(total.managed_drops > 100, managed, "{aqm:?}: {total:?}");
            assert_eq!(total.marks > 20, managed && ecn, "{aqm:?}: {total:?}");
        }
    }
}

#[test]
fn a_rule_that_draws_repeats_with_its_stream() {
    for aqm in every_rule(false) {
        assert_eq!(storm(&aqm, 7), storm(&aqm, 7));
    }
}
