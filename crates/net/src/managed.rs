//! A one-way link with any queue discipline.
//!
//! [`crate::Link`] computes when a packet will be delivered as soon as it arrives. This is not
//! possible with active queue management, since the queue decides when a packet is removed. Here
//! the transmitter asks the queue each time it becomes free, which costs two timers per packet
//! under load instead of one.
//!
//! Called late, it replays each transmission at its own time, so that a discipline always sees the
//! correct sojourn time.

use airlane_core::{Bytes, Cx, DropCause, Instant, Node, PacketRef, Port};

use crate::propagation::Propagation;
use crate::queue::{Discipline, QueueDiscipline, Waiting};
use crate::{Link, LinkParameters, LinkStatistics, RandomLoss, Schedule, at};

/// A one-way link with a queue discipline, from port [`Link::INPUT`] to port [`Link::OUTPUT`].
pub struct ManagedLink {
    schedule: Schedule,
    loss: Option<RandomLoss>,
    queue: Discipline,
    transmitter: Transmitter,
    propagation: Propagation,
    statistics: LinkStatistics,
}

enum Transmitter {
    /// No packet waits.
    Idle,
    /// Packets wait, but no transmission may begin before this time.
    Held(Instant),
    /// Sending until this time.
    Busy(Instant, PacketRef),
}

impl ManagedLink {
    /// An idle link. The queue is a separate argument; `parameters.queue` is not used here.
    ///
    /// # Panics
    /// If `parameters.queue` is not `None`.
    #[must_use]
    pub fn new(parameters: LinkParameters, mut queue: Discipline) -> Self {
        let LinkParameters { rate, delay, queue: limit, rate_steps, holds, loss, .. } = parameters;
        assert!(limit.is_none(), "the discipline has the limit of the queue");
        let schedule = Schedule::new(rate, rate_steps, holds);
        if let Discipline::Abc(abc) = &mut queue {
            abc.set_rates(&schedule);
        }
        Self {
            schedule,
            loss,
            queue,
            transmitter: Transmitter::Idle,
            propagation: Propagation::new(delay),
            statistics: LinkStatistics::default(),
        }
    }

    /// Counters of the link so far.
    #[must_use]
    pub fn statistics(&self) -> LinkStatistics {
        self.statistics.with_queue(self.queue.statistics())
    }

    /// The queue.
    #[must_use]
    pub fn queue(&self) -> &Discipline {
        &self.queue
    }

    /// The transmitter's next change, if one is due.
    fn next_change(&self) -> Option<Instant> {
        match self.transmitter {
            Transmitter::Idle => None,
            Transmitter::Held(until) | Transmitter::Busy(until, _) => Some(until),
        }
    }

    /// Handles everything that was due up to now, at its own time.
    fn catch_up(&mut self, cx: &mut Cx<'_>) {
        while let Some(change) = self.next_change()
            && change <= cx.now
        {
            let ended = core::mem::replace(&mut self.transmitter, Transmitter::Idle);
            if let Transmitter::Busy(end, packet) = ended {
                self.propagation.launch(end, packet);
            }
            self.begin(&mut at(cx, change));
        }
        self.propagation.deliver(cx, Link::OUTPUT, &mut self.statistics);
    }

    /// The transmitter is free: it takes the next packet from the queue, if it may. An empty queue
    /// is asked too, because a discipline may need to know that it is empty.
    fn begin(&mut self, cx: &mut Cx<'_>) {
        if self.queue.backlog().packets > 0 {
            let opening = self.schedule.opening(cx.now);
            if opening > cx.now {
                self.transmitter = Transmitter::Held(opening);
                return;
            }
        }
        if let Some(Waiting { packet, size, .. }) = self.queue.dequeue(cx) {
            let end = self.schedule.transmission_end(cx.now, Bytes(u64::from(size)));
            self.transmitter = Transmitter::Busy(end, packet);
        }
    }
}

impl Node for ManagedLink {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.statistics.arrived += 1;
        if RandomLoss::takes(&mut self.loss, cx, &packet) {
            self.statistics.random_drops += 1;
            cx.discard(packet, DropCause::RandomLoss);
            return;
        }
        self.catch_up(cx);
        self.queue.enqueue(cx, packet, Bytes::ZERO);
        if matches!(self.transmitter, Transmitter::Idle) {
            self.begin(cx);
        }
        self.statistics.queue_max = self.statistics.queue_max.max(self.queue.backlog().bytes);
        self.catch_up(cx); // without a rate the transmission ends at once
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.catch_up(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        match (self.next_change(), self.propagation.next()) {
            (Some(change), Some(arrival)) => Some(change.min(arrival)),
            (change, arrival) => change.or(arrival),
        }
    }

    fn packets_held(&self) -> usize {
        let sending = usize::from(matches!(self.transmitter, Transmitter::Busy(..)));
        self.queue.backlog().packets + sending + self.propagation.len()
    }
}

#[cfg(test)]
mod tests;
