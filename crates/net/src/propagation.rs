//! The last part of every link: a constant delay, with one ring and one timer.

use std::collections::VecDeque;

use airlane_core::{Bytes, Cx, Duration, Instant, PacketRef, Port};

use crate::LinkStatistics;

/// Packets on their way to the other end, oldest first.
#[derive(Debug)]
pub(crate) struct Propagation {
    delay: Duration,
    ring: VecDeque<(Instant, PacketRef)>,
}

impl Propagation {
    pub(crate) fn new(delay: Duration) -> Self {
        Self { delay, ring: VecDeque::with_capacity(64) }
    }

    /// A packet whose last bit was sent at `at`.
    pub(crate) fn launch(&mut self, at: Instant, packet: PacketRef) {
        self.ring.push_back((at + self.delay, packet));
    }

    /// The arrival time of the oldest packet.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.ring.front().map(|&(at, _)| at)
    }

    /// Sends the packets that have arrived by now out of the port.
    pub(crate) fn deliver(&mut self, cx: &mut Cx<'_>, port: Port, statistics: &mut LinkStatistics) {
        while let Some(&(at, _)) = self.ring.front()
            && at <= cx.now
        {
            let (_, packet) = self.ring.pop_front().expect("there is a front");
            statistics.delivered += 1;
            statistics.delivered_bytes += Bytes(cx.pool.get(&packet).size.get());
            cx.send(port, packet);
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.ring.len()
    }
}
