//! The coverage of an access without a radio model: packets are lost while a host is outside of it.

use airlane_core::{Cx, DropCause, Instant, Node, PacketRef, Port, Role};

/// Passes packets on in intervals of time, and loses the others.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// Start and end of each interval, in order.
    intervals: Vec<[Instant; 2]>,
    /// The first interval that has not ended.
    current: usize,
}

impl Coverage {
    /// The port of its input, and of its output.
    pub const PORT: Port = 0;

    /// Coverage in these intervals: each includes its start and not its end, and begins after the one before.
    #[must_use]
    pub const fn new(intervals: Vec<[Instant; 2]>) -> Self {
        Self { intervals, current: 0 }
    }
}

impl Node for Coverage {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        while self.intervals.get(self.current).is_some_and(|[_, until]| *until <= cx.now) {
            self.current += 1;
        }
        if self.intervals.get(self.current).is_some_and(|[from, _]| *from <= cx.now) {
            cx.send(Self::PORT, packet);
        } else {
            cx.discard(packet, DropCause::Radio);
        }
    }

    fn role(&self) -> Role {
        Role::WithoutTimers
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::{Duration, FlowId};

    use super::*;
    use crate::bench_top::BenchTop;

    #[test]
    fn packets_outside_of_the_intervals_are_lost() {
        let at = |ms| Instant::ZERO + Duration::from_millis(ms);
        let mut coverage = Coverage::new(vec![[at(10), at(20)], [at(30), at(40)]]);
        let mut top = BenchTop::new();
        for ms in [9, 10, 19, 20, 29, 30, 40] {
            top.give(&mut coverage, Coverage::PORT, FlowId(ms), 100, u64::from(ms) * 1_000_000);
        }
        let passed: Vec<_> = top.sent().into_iter().map(|(_, flow, _)| flow.0).collect();
        assert_eq!(passed, [10, 19, 30]);
        assert_eq!(top.pool.discarded(DropCause::Radio), 4);
    }
}
