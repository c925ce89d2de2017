//! A one-way link: rate, propagation delay, a drop-tail queue counted in bytes, random loss.
//!
//! The queue is first-in first-out and the timetable of the transmitter is known in advance. When a
//! packet arrives, it is therefore known when its transmission begins and ends and when it is
//! delivered. The backlog at any time follows from these times. A packet needs at most one timer,
//! that of its delivery.
//!
//! In this order, for each packet that arrives:
//! 1. random loss, for packets with payload only;
//! 2. the policer, if there is one;
//! 3. drop-tail: if the transmitter is busy and the waiting bytes plus this packet exceed the
//!    limit, it is dropped. The packet in transmission does not count as waiting; an idle link
//!    accepts any packet;
//! 4. transmission at the rate in force when it begins, rounded to the nanosecond, then
//!    propagation, and a detour if there is one. Only detours reorder packets. There is no
//!    corruption.
//!
//! A transmission that is due to begin at the instant of an arrival has begun.

use std::collections::VecDeque;

use airlane_core::{BitRate, Bytes, Cx, DropCause, Duration, Instant, Node, PacketRef, Port};

use crate::queue::QueueStatistics;
use crate::tandem::Stage;
use crate::{Hold, RandomLoss, RateStep, Schedule};

/// Parameters of a link.
#[derive(Clone, Debug, Default)]
pub struct LinkParameters {
    /// Bits per second of IP packets; `None` for an infinitely fast link.
    pub rate: Option<BitRate>,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Bytes that may wait for transmission; `None` for no limit.
    pub queue: Option<Bytes>,
    /// Changes of the rate.
    pub rate_steps: Vec<RateStep>,
    /// Pauses of the transmitter.
    pub holds: Vec<Hold>,
    /// Random loss before the queue.
    pub loss: Option<RandomLoss>,
    /// A token bucket before the queue; a packet without enough tokens is dropped.
    pub policer: Option<Policer>,
    /// Times at which packets take longer after the link, so that later packets overtake them.
    pub detours: Vec<Detour>,
}

/// A token bucket that drops (the committed part of RFC 2697): at most `burst` bytes of tokens, filled at
/// `rate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policer {
    /// The rate of its tokens.
    pub rate: BitRate,
    /// Bytes of a full bucket.
    pub burst: Bytes,
}

/// Packets that would arrive in `[from, until)` arrive `extra` later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detour {
    /// First instant of the detour.
    pub from: Instant,
    /// The first instant after it.
    pub until: Instant,
    /// The additional delay.
    pub extra: Duration,
}

/// The token bucket of a policer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bucket {
    policer: Policer,
    /// Time at which the bucket will be full again.
    full_at: Instant,
}

impl Bucket {
    /// Takes tokens for this many bytes; false if there are too few.
    pub(crate) fn takes(&mut self, now: Instant, size: Bytes) -> bool {
        let Policer { rate, burst } = self.policer;
        let full_at = self.full_at.max(now) + rate.transmission_time(size);
        let conforms = full_at - now <= rate.transmission_time(burst);
        if conforms {
            self.full_at = full_at;
        }
        conforms
    }
}

/// Counters of a link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkStatistics {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets dropped because the queue was full.
    pub queue_drops: u64,
    /// Packets that an AQM dropped.
    pub managed_drops: u64,
    /// Packets that an AQM marked with CE instead.
    pub marks: u64,
    /// Packets dropped by the policer.
    pub policed: u64,
    /// Packets lost at random.
    pub random_drops: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub delivered_bytes: Bytes,
    /// The largest backlog so far.
    pub queue_max: Bytes,
}

impl LinkStatistics {
    /// These counters with those of the queue.
    pub(crate) fn with_queue(self, queue: QueueStatistics) -> Self {
        let QueueStatistics { overflows, managed_drops, marks } = queue;
        Self { queue_drops: overflows, managed_drops, marks, ..self }
    }
}

struct InFlight {
    start: Instant,
    deliver_at: Instant,
    packet: PacketRef,
    size: u32,
}

/// A one-way link from port [`Link::INPUT`] to port [`Link::OUTPUT`].
pub struct Link {
    schedule: Schedule,
    delay: Duration,
    limit: Bytes,
    loss: Option<RandomLoss>,
    /// Every packet on the link, oldest first.
    ring: VecDeque<InFlight>,
    /// How many packets of the ring had begun at the last update.
    begun: usize,
    /// Bytes of the other packets.
    waiting: Bytes,
    /// Time at which the transmitter has finished all packets.
    free_at: Instant,
    bucket: Option<Bucket>,
    detours: Vec<Detour>,
    /// Packets on a detour, in the order of their arrival.
    detoured: VecDeque<(Instant, PacketRef)>,
    /// Delivery time of the first packet of the detour; [`Instant::FAR_FUTURE`] if there is none.
    detour_due: Instant,
    /// Delivery time of the oldest packet of the ring; [`Instant::FAR_FUTURE`] if the ring is empty.
    due: Instant,
    statistics: LinkStatistics,
}

impl Link {
    /// The input port.
    pub const INPUT: Port = 0;
    /// The output port.
    pub const OUTPUT: Port = 1;

    /// An idle link.
    #[must_use]
    pub fn new(parameters: LinkParameters) -> Self {
        let LinkParameters { rate, delay, queue, rate_steps, holds, loss, policer, detours } = parameters;
        Self {
            schedule: Schedule::new(rate, rate_steps, holds),
            delay,
            limit: queue.unwrap_or(Bytes(u64::MAX)),
            loss,
            ring: VecDeque::with_capacity(64),
            begun: 0,
            waiting: Bytes::ZERO,
            free_at: Instant::ZERO,
            bucket: policer.map(|policer| Bucket { policer, full_at: Instant::ZERO }),
            detours,
            detoured: VecDeque::new(),
            detour_due: Instant::FAR_FUTURE,
            due: Instant::FAR_FUTURE,
            statistics: LinkStatistics::default(),
        }
    }

    /// Counters of the link so far.
    #[must_use]
    pub fn statistics(&self) -> &LinkStatistics {
        &self.statistics
    }

    /// Bytes that wait for transmission at `now`, which is not before the last call.
    pub fn queued(&mut self, now: Instant) -> Bytes {
        self.begin_until(now);
        self.waiting
    }

    /// The waiting bytes, without recording the transmissions that have begun.
    #[must_use]
    pub fn queued_at(&self, now: Instant) -> Bytes {
        let begun = self.ring.iter().skip(self.begun).take_while(|next| next.start <= now);
        begun.fold(self.waiting, |waiting, next| waiting - Bytes(u64::from(next.size)))
    }

    /// True if it has carried nothing so far, and keeps the order of packets.
    pub(crate) fn is_idle(&self) -> bool {
        self.statistics.arrived == 0 && self.detours.is_empty()
    }

    /// True if it drops packets only when its queue is full.
    pub(crate) fn takes_all(&self) -> bool {
        self.loss.is_none() && self.bucket.is_none()
    }

    /// The transmitter of an idle link, and what drops packets before its queue.
    pub(crate) fn into_stage(self) -> (Stage, Option<RandomLoss>, Option<Bucket>) {
        (Stage::new(self.schedule, self.delay, self.limit), self.loss, self.bucket)
    }

    /// Records the transmissions that have begun.
    fn begin_until(&mut self, now: Instant) {
        while let Some(next) = self.ring.get(self.begun)
            && next.start <= now
        {
            self.waiting -= Bytes(u64::from(next.size));
            self.begun += 1;
        }
    }

    /// Delivers the packets that have arrived at the other end.
    fn deliver(&mut self, cx: &mut Cx<'_>) {
        while self.due <= cx.now
            && let Some(front) = self.ring.pop_front()
        {
            self.due = self.ring.front().map_or(Instant::FAR_FUTURE, |next| next.deliver_at);
            // A packet that has arrived has begun, even if this was not recorded.
            if self.begun > 0 {
                self.begun -= 1;
            } else {
                self.waiting -= Bytes(u64::from(front.size));
            }
            self.statistics.delivered += 1;
            self.statistics.delivered_bytes += Bytes(u64::from(front.size));
            if self.detours.is_empty() {
                cx.send(Self::OUTPUT, front.packet);
            } else {
                self.send_or_detour(cx, front.deliver_at, front.packet);
            }
        }
        if self.detour_due <= cx.now {
            self.end_detours(cx);
        }
    }

    #[cold]
    fn send_or_detour(&mut self, cx: &mut Cx<'_>, at: Instant, packet: PacketRef) {
        match self.detours.iter().find(|detour| detour.from <= at && at < detour.until) {
            None => cx.send(Self::OUTPUT, packet),
            Some(detour) => {
                let at = at + detour.extra;
                let place = self.detoured.partition_point(|&(other, _)| other <= at);
                self.detoured.insert(place, (at, packet));
                self.detour_due = self.detoured[0].0;
            }
        }
    }

    /// Delivers the packets whose detour has ended.
    #[cold]
    fn end_detours(&mut self, cx: &mut Cx<'_>) {
        while self.detour_due <= cx.now
            && let Some((_, packet)) = self.detoured.pop_front()
        {
            self.detour_due = self.detoured.front().map_or(Instant::FAR_FUTURE, |&(at, _)| at);
            cx.send(Self::OUTPUT, packet);
        }
    }
}

impl Node for Link {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.statistics.arrived += 1;
        let size = cx.pool.get(&packet).size;
        if RandomLoss::takes(&mut self.loss, cx, &packet) {
            self.statistics.random_drops += 1;
            cx.discard(packet, DropCause::RandomLoss);
            return;
        }
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.takes(cx.now, size)) {
            self.statistics.policed += 1;
            cx.discard(packet, DropCause::QueueManagement);
            return;
        }
        self.begin_until(cx.now);
        if self.free_at > cx.now && self.waiting + size > self.limit {
            self.statistics.queue_drops += 1;
            cx.discard(packet, DropCause::QueueFull);
            return;
        }
        let (start, end) = self.schedule.transmit(self.free_at.max(cx.now), size);
        self.free_at = end;
        if start > cx.now {
            self.waiting += size;
            self.statistics.queue_max = self.statistics.queue_max.max(self.waiting);
        } else {
            self.begun += 1; // as all packets before it
        }
        let size = u32::try_from(size.get()).expect("an IP packet has fewer than 2^32 bytes");
        let deliver_at = end + self.delay;
        self.due = self.due.min(deliver_at);
        self.ring.push_back(InFlight { start, deliver_at, packet, size });
        // Delivers at once if the link has neither rate nor delay, or if an older packet is due.
        if self.due <= cx.now {
            self.deliver(cx);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.deliver(cx);
    }

    fn next_timeout(&self) -> Option<Instant> {
        let next = self.due.min(self.detour_due);
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    fn packets_held(&self) -> usize {
        self.ring.len() + self.detoured.len()
    }
}

#[cfg(test)]
mod tests;
