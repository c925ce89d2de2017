//! A one-way link that delivers at the opportunities of a recorded trace.
//!
//! Each opportunity carries up to 1500 bytes of the queue, in order. It finishes a packet that the
//! previous opportunity left unfinished, takes further packets while bytes are left, and may leave
//! the last of them unfinished. Unused bytes are lost. A packet enters the propagation delay when
//! its last byte has been carried. An opportunity at the instant of an arrival is over: it carries
//! none of that packet.
//!
//! Called late, it replays each opportunity at its own time. While the queue is empty,
//! opportunities need no timer.

use std::sync::Arc;

use airlane_core::{Bytes, Cx, DropCause, Duration, Instant, Node, PacketRef, Port};

use crate::propagation::Propagation;
use crate::queue::{Discipline, QueueDiscipline, Waiting};
use crate::trace::{Cursor, DeliveryTrace, OPPORTUNITY};
use crate::{Link, LinkStatistics, RandomLoss, at};

/// A link with a delivery trace, from port [`Link::INPUT`] to port [`Link::OUTPUT`].
pub struct TraceLink {
    trace: Arc<DeliveryTrace>,
    cursor: Cursor,
    loss: Option<RandomLoss>,
    queue: Discipline,
    /// The unfinished packet, and its bytes that are still to be carried.
    unfinished: Option<(PacketRef, Bytes)>,
    propagation: Propagation,
    statistics: LinkStatistics,
}

impl TraceLink {
    /// An idle link. The trace begins at time zero.
    #[must_use]
    pub fn new(
        trace: Arc<DeliveryTrace>,
        delay: Duration,
        mut queue: Discipline,
        loss: Option<RandomLoss>,
    ) -> Self {
        if let Discipline::Abc(abc) = &mut queue {
            abc.set_trace(&trace);
        }
        Self {
            trace,
            cursor: Cursor::default(),
            loss,
            queue,
            unfinished: None,
            propagation: Propagation::new(delay),
            statistics: LinkStatistics::default(),
        }
    }

    /// Counters of the link so far. A partly carried packet does not count as waiting.
    #[must_use]
    pub fn statistics(&self) -> LinkStatistics {
        self.statistics.with_queue(self.queue.statistics())
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Discipline {
        &self.queue
    }

    fn has_work(&self) -> bool {
        self.unfinished.is_some() || self.queue.backlog().packets > 0
    }

    /// Uses the opportunities up to now, each at its own time.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        while self.has_work() {
            let time = self.cursor.time(&self.trace);
            if time > cx.now {
                break;
            }
            self.cursor.advance(&self.trace);
            self.use_opportunity(&mut at(cx, time));
        }
        if !self.has_work() {
            self.cursor.skip_past(&self.trace, cx.now);
        }
        self.propagation.deliver(cx, Link::OUTPUT, &mut self.statistics);
    }

    fn use_opportunity(&mut self, cx: &mut Cx<'_>) {
        let mut room = OPPORTUNITY;
        while room > Bytes::ZERO {
            let next = self.unfinished.take().or_else(|| {
                let Waiting { packet, size, .. } = self.queue.dequeue(cx)?;
                Some((packet, Bytes(u64::from(size))))
            });
            let Some((packet, left)) = next else { return };
            let carried = left.min(room);
            room -= carried;
            if carried == left {
                self.propagation.launch(cx.now, packet);
            } else {
                self.unfinished = Some((packet, left - carried));
            }
        }
    }
}

impl Node for TraceLink {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.statistics.arrived += 1;
        if RandomLoss::takes(&mut self.loss, cx, &packet) {
            self.statistics.random_drops += 1;
            cx.discard(packet, DropCause::RandomLoss);
            return;
        }
        self.catch_up(cx);
        self.queue.enqueue(cx, packet, Bytes::ZERO);
        self.statistics.queue_max = self.statistics.queue_max.max(self.queue.backlog().bytes);
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let opportunity = self.has_work().then(|| self.cursor.time(&self.trace));
        match (opportunity, self.propagation.next()) {
            (Some(opportunity), Some(arrival)) => Some(opportunity.min(arrival)),
            (opportunity, arrival) => opportunity.or(arrival),
        }
    }

    fn packets_held(&self) -> usize {
        self.queue.backlog().packets + usize::from(self.unfinished.is_some()) + self.propagation.len()
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::FlowId;

    use super::*;
    use crate::bench_top::BenchTop;
    use crate::codel;
    use crate::queue::{CoDel, DropTail, Limit};

    const MS: u64 = 1_000_000;

    fn link(trace: &str, delay_ms: u64, limit: Limit) -> TraceLink {
        let trace = Arc::new(DeliveryTrace::parse(trace, "test").unwrap());
        let queue = Discipline::DropTail(DropTail::new(limit));
        TraceLink::new(trace, Duration::from_millis(delay_ms), queue, None)
    }

    fn ms(left: &[(u64, FlowId)]) -> Vec<(u64, u32)> {
        left.iter().map(|&(at, flow)| (at / MS, flow.0)).collect()
    }

    #[test]
    fn an_opportunity_carries_1500_bytes_of_whatever_waits() {
        let mut top = BenchTop::new();
        let mut link = link("2\n5\n5\n9\n", 10, Limit::NONE);
        // 500 + 800 + 400 + 1500 + 1400 bytes.
        for (flow, size) in [500, 800, 400, 1500, 1400].into_iter().enumerate() {
            top.give(&mut link, Link::INPUT, FlowId(flow as u32), size, MS);
        }
        // At 2: the first two, and 200 of the third. At 5: its other 200, and 1300 of the fourth;
        // again at 5: its last 200, and 1300 of the fifth. At 9: its last 100. And 10 ms of delay.
        let left = ms(&top.run(&mut link, 100 * MS));
        assert_eq!(left, [(12, 0), (12, 1), (15, 2), (15, 3), (19, 4)]);
        assert_eq!((link.packets_held(), top.pool.live()), (0, 0));
    }

    #[test]
    fn what_is_not_used_is_lost() {
        let mut top = BenchTop::new();
        let mut link = link("1\n2\n3\n4\n10\n", 0, Limit::NONE);
        top.give(&mut link, Link::INPUT, FlowId(0), 100, 0);
        // The opportunities at 2, 3 and 4 pass unused, and so does the one at 10, which is before
        // the arrival.
        assert_eq!(ms(&top.run(&mut link, 5 * MS)), [(1, 0)]);
        assert_eq!(link.next_timeout(), None);
        top.give(&mut link, Link::INPUT, FlowId(1), 100, 10 * MS);
        // The next period: 10 + 1. The rest of that opportunity carries nothing of the next packet.
        assert_eq!(link.next_timeout(), Some(Instant::from_millis(11)));
        assert_eq!(ms(&top.run(&mut link, 11 * MS)), [(11, 1)]);
        top.give(&mut link, Link::INPUT, FlowId(2), 100, 11 * MS);
        assert_eq!(ms(&top.run(&mut link, 100 * MS)), [(12, 2)]);
    }

    #[test]
    fn a_saturated_link_delivers_the_rate_of_the_trace() {
        let mut top = BenchTop::new();
        let mut link = link("3\n3\n4\n10\n", 0, Limit::bytes(Bytes(60_000)));
        // 4 opportunities in 10 ms; ten packets of 1000 bytes come in that time, every 1 ms.
        for n in 0..1_000_u64 {
            let left = top.run(&mut link, n * MS);
            assert!(left.len() < 5);
            top.give(&mut link, Link::INPUT, FlowId(0), 1_000, n * MS);
        }
        // Up to 999 ms: 99 rounds of 6000 bytes, and 993, 993, 994 ms: 598500 bytes. At 3 ms the
        // packets of 0, 1, 2 ms are carried; at 4 ms only that of 3 ms waits, and 500 bytes are
        // lost. From then on the queue always has enough: 598000 bytes.
        let statistics = link.statistics();
        assert_eq!(statistics.delivered, 598);
        assert_eq!(statistics.queue_max, Bytes(60_000));
        assert_eq!(statistics.queue_drops, 1_000 - 598 - link.packets_held() as u64);
        assert_eq!(top.pool.discarded(DropCause::QueueFull), statistics.queue_drops);
    }

    #[test]
    fn called_late_it_replays_each_opportunity() {
        // CoDel sees the correct sojourn time even if the link is not called for 400 ms: one packet
        // per millisecond leaves, the k-th at k ms, so the drops are those of a link that was
        // called in time.
        let trace = Arc::new(DeliveryTrace::parse("1\n", "test").unwrap());
        let codel = || Discipline::CoDel(CoDel::new(Limit::NONE, codel::Parameters::default()));
        let mut results = Vec::new();
        for late in [false, true] {
            let mut top = BenchTop::new();
            let mut link = TraceLink::new(trace.clone(), Duration::ZERO, codel(), None);
            for flow in 0..350 {
                top.give(&mut link, Link::INPUT, FlowId(flow), 1_500, 0);
            }
            let left = if late {
                top.call(400 * MS, |cx| link.handle_timeout(cx));
                top.sent().into_iter().map(|(_, flow, _)| flow).collect::<Vec<_>>()
            } else {
                top.run(&mut link, 400 * MS).into_iter().map(|(_, flow)| flow).collect()
            };
            results.push((left, link.statistics()));
        }
        assert_eq!(results[0], results[1]);
        assert_eq!(results[0].1.managed_drops, 4); // at 105, 205, 276 and 334 ms
    }
}
