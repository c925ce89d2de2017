//! The path from the internet to the primary cell of all UEs, as a part of the network.
//!
//! It is known in advance when each packet on this path arrives, and only slots use what has arrived. So packets are
//! taken from the path when a slot begins, each with the time of its arrival, and need no events of their own. An
//! arrival has an event where it may be seen at its own time: when it makes an idle network busy, or when the queue of
//! its bearer may not store it. Information that the network publishes between slots includes what has arrived before.

use std::collections::VecDeque;

use airlane_core::{CellId, Cx, Direction, DropCause, Instant, PacketRef, Port, Topic};
use airlane_net::queue::Waiting;
use airlane_net::{LinkPair, Passage};

use super::RadioNetwork;
use crate::ue::Ue;

/// The port of the primary cell.
const FIRST_CELL: Port = 0;

/// The path, and the packets on it.
#[derive(Debug)]
pub(super) struct Backhaul {
    links: LinkPair,
    /// In the order of their times.
    arrivals: VecDeque<Arrival>,
    /// Packets for which the second link will have no room, and when they are dropped.
    overflows: VecDeque<(Instant, PacketRef)>,
    /// The number of arrivals before the next slot, of which it is known whether their queues store them.
    known: usize,
    /// When the first of the others arrives.
    unknown_at: Instant,
    /// Bytes of known arrivals that will be stored, by UE.
    coming: Vec<u64>,
    /// When the other known ones arrive, each with an event.
    events: VecDeque<Instant>,
    /// The first of these events and of the overflows.
    event_at: Instant,
}

/// A packet that leaves the path. It has not entered the tunnel yet: a queue that stores it takes it from there.
#[derive(Debug)]
struct Arrival {
    at: Instant,
    packet: PacketRef,
    /// Its UE, and its size in the queue of the UE's bearer; 0 bytes if its flow has no UE.
    ue: u32,
    size: u32,
    /// Whether the queue of its bearer is certain to have room for it.
    is_stored: bool,
}

impl Backhaul {
    fn new(links: LinkPair, ues: usize) -> Self {
        Self {
            links,
            arrivals: VecDeque::with_capacity(64),
            overflows: VecDeque::new(),
            known: 0,
            unknown_at: Instant::FAR_FUTURE,
            coming: vec![0; ues],
            events: VecDeque::new(),
            event_at: Instant::FAR_FUTURE,
        }
    }

    pub(super) fn packets_held(&self) -> usize {
        self.arrivals.len() + self.overflows.len()
    }

    /// When the first packet arrives or is dropped.
    #[inline]
    fn due(&self) -> Instant {
        let arrival = self.arrivals.front().map_or(Instant::FAR_FUTURE, |next| next.at);
        self.overflows.front().map_or(arrival, |next| next.0.min(arrival))
    }

    fn find_event(&mut self) {
        let event = self.events.front().copied().unwrap_or(Instant::FAR_FUTURE);
        self.event_at = self.overflows.front().map_or(event, |next| next.0.min(event));
    }

    #[inline]
    fn find_unknown(&mut self) {
        self.unknown_at = self.arrivals.get(self.known).map_or(Instant::FAR_FUTURE, |next| next.at);
    }

    #[inline]
    fn push(&mut self, arrival: Arrival) {
        self.unknown_at = self.unknown_at.min(arrival.at);
        self.arrivals.push_back(arrival);
    }

    /// Removes the packet that arrives at `until` or before, which is not certain to be stored; drops those that overflow
    /// by then.
    #[inline]
    fn pop(&mut self, cx: &mut Cx<'_>, until: Instant) -> Option<Arrival> {
        if !self.overflows.is_empty() {
            self.drop_overflows(cx, until);
        }
        if self.arrivals.front()?.at > until {
            return None;
        }
        let arrival = self.arrivals.pop_front()?;
        if self.known > 0 {
            self.known -= 1;
            self.events.pop_front();
            self.find_event();
        }
        self.find_unknown();
        Some(arrival)
    }

    #[cold]
    fn drop_overflows(&mut self, cx: &mut Cx<'_>, until: Instant) {
        while let Some((at, _)) = self.overflows.front()
            && *at <= until
            && let Some((_, packet)) = self.overflows.pop_front()
        {
            cx.discard(packet, DropCause::QueueFull);
        }
        self.find_event();
    }
}

impl RadioNetwork {
    /// Where packets enter the path of [`Self::contain_backhaul`].
    pub const BACKHAUL: Port = Port::MAX;

    /// True if [`Self::contain_backhaul`] changes no result: the first cell is the primary cell of all UEs, which none
    /// leaves, and only slots use what has arrived. A change of service comes between slots.
    #[must_use]
    pub fn can_contain_backhaul(&self) -> bool {
        self.handover.is_none()
            && self.connections.is_none()
            && self.dual.is_none()
            && self.cells.iter().all(|cell| cell.config.service.is_empty())
            && self.ues.iter().all(|ue| ue.cell() == CellId(0))
            && self.backhaul.is_none()
    }

    /// From now on packets from the internet enter at [`Self::BACKHAUL`], and pass these links within the network. For a
    /// run that is inspected only after its end: until the next slot, a queue may lack what has arrived.
    ///
    /// # Panics
    /// If [`Self::can_contain_backhaul`] is false.
    pub fn contain_backhaul(&mut self, links: LinkPair) {
        assert!(self.can_contain_backhaul(), "these links have to be a node of their own");
        self.backhaul = Some(Box::new(Backhaul::new(links, self.ues.len())));
    }

    /// A packet enters the path.
    pub(super) fn enter_backhaul(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let processing = self.first_processing();
        let Some(backhaul) = &mut self.backhaul else { return cx.discard(packet, DropCause::NoRoute) };
        let entering = cx.pool.get(&packet);
        let (flow, bytes) = (entering.flow, entering.size);
        let due = match backhaul.links.pass(cx, &packet) {
            Passage::Leaves(at) => {
                let at = at + processing;
                let (mut of, mut size) = (0, 0);
                if let Some(Some(ue)) = self.flows.get(flow.index())
                    && ue.index() < backhaul.coming.len()
                {
                    (of, size) = (ue.0, self.ues[ue.index()].bearers.sdu_size(bytes));
                }
                backhaul.push(Arrival { at, packet, ue: of, size, is_stored: false });
                at
            }
            Passage::Overflows(at) => {
                backhaul.links.tunnel().pass(cx.pool.get_mut(&packet));
                backhaul.overflows.push_back((at, packet));
                backhaul.find_event();
                at
            }
            Passage::Refused(cause) => return cx.discard(packet, cause),
        };
        self.backhaul_due = self.backhaul_due.min(due);
        self.take_arrived(cx, cx.now);
        self.look_ahead(cx);
    }

    /// Finds what happens to the packets that arrive before the next slot or with it. Until then queues lose nothing, so
    /// it is known which packets fit.
    #[inline(always)]
    pub(super) fn look_ahead(&mut self, cx: &Cx<'_>) {
        if let Some(backhaul) = &self.backhaul
            && self.busy
            && backhaul.unknown_at <= self.next_at
        {
            self.look_at_arrivals(cx);
        }
    }

    #[inline(never)]
    fn look_at_arrivals(&mut self, cx: &Cx<'_>) {
        let Some(backhaul) = &mut self.backhaul else { return };
        let is_observed = cx.wants(Topic::Tunnelled) || cx.wants(Topic::SduDelivered);
        let has_effects = is_observed || !self.cells.iter().all(|cell| cell.restrictions.ignore_packets());
        // The UE of the previous arrival, and the room that is left in its queue.
        let mut last = (u32::MAX, 0);
        while let Some(arrival) = backhaul.arrivals.get_mut(backhaul.known)
            && arrival.at <= self.next_at
        {
            if arrival.size > 0 && !has_effects {
                let (ue, size) = (arrival.ue as usize, u64::from(arrival.size));
                if last.0 != arrival.ue {
                    let Ue { bearers, links, drx, .. } = &self.ues[ue];
                    // Data may wake up a UE with several carriers, which sleeps.
                    let is_simple = drx.is_none() || links.is_single();
                    let room = if is_simple { bearers.certain_room(Direction::Downlink) } else { 0 };
                    last = (arrival.ue, room.saturating_sub(backhaul.coming[ue]));
                }
                if size <= last.1 {
                    arrival.is_stored = true;
                    last.1 -= size;
                    backhaul.coming[ue] += size;
                }
            }
            if !arrival.is_stored {
                backhaul.events.push_back(arrival.at);
            }
            backhaul.known += 1;
        }
        backhaul.find_unknown();
        backhaul.find_event();
    }

    /// When a packet is due on the path; [`Instant::FAR_FUTURE`] if the next slot may take it.
    #[inline(always)]
    pub(super) fn next_arrival(&self) -> Instant {
        match &self.backhaul {
            None => Instant::FAR_FUTURE,
            Some(_) if !self.busy => self.backhaul_due,
            Some(backhaul) if backhaul.unknown_at <= self.next_at => {
                backhaul.event_at.min(backhaul.unknown_at)
            }
            Some(backhaul) => backhaul.event_at,
        }
    }

    /// Takes the packets that have left the path by `until`, at their times, up to one that makes an idle network busy:
    /// slots may come before the others. Returns true if any was due.
    #[inline(always)]
    pub(super) fn take_arrived(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let is_due = self.backhaul_due <= until;
        if is_due {
            self.take_all_arrived(cx, until);
        }
        is_due
    }

    #[inline(never)]
    fn take_all_arrived(&mut self, cx: &mut Cx<'_>, until: Instant) {
        let was_busy = self.busy;
        while self.backhaul_due <= until && self.busy == was_busy {
            self.take_stored(cx, until);
            let Some(backhaul) = &mut self.backhaul else { return };
            self.backhaul_due = backhaul.due();
            if self.backhaul_due > until {
                return;
            }
            let arrival = backhaul.pop(cx, self.backhaul_due);
            self.backhaul_due = backhaul.due();
            let tunnel = backhaul.links.tunnel();
            if let Some(Arrival { at, packet, .. }) = arrival {
                tunnel.pass(cx.pool.get_mut(&packet));
                let called = core::mem::replace(&mut cx.now, at);
                self.receive(cx, FIRST_CELL, packet);
                cx.now = called;
            }
        }
    }

    /// Takes the first packets, as long as they are certain to be stored: what [`Self::receive`] does with them. They are
    /// known, so the network is busy.
    #[inline]
    fn take_stored(&mut self, cx: &mut Cx<'_>, until: Instant) {
        while let Some((at, ue)) = self.take_stored_of_one_carrier(until) {
            self.use_carriers(&mut cx.at(at), ue);
        }
    }

    /// The same, up to the first packet that may concern other cells of a UE with several carriers. Returns the time of this
    /// packet, and its UE.
    #[inline]
    fn take_stored_of_one_carrier(&mut self, until: Instant) -> Option<(Instant, usize)> {
        let (Some(backhaul), [cell, ..]) = (&mut self.backhaul, &mut self.cells[..]) else { return None };
        while let Some(&Arrival { at, ue, size, is_stored: true, .. }) = backhaul.arrivals.front()
            && at <= until
            && let Some(Arrival { packet, .. }) = backhaul.arrivals.pop_front()
        {
            backhaul.known -= 1;
            backhaul.coming[ue as usize] -= u64::from(size);
            let ue = &mut self.ues[ue as usize];
            let sends = ue.bearers.store(Direction::Downlink, Waiting { packet, since: at, size });
            if let Some(at) = ue.bearers.next_timeout() {
                self.bearers_due = self.bearers_due.min(at);
            }
            let Ue { id, bearers, links, .. } = ue;
            let wakes_others = links.may_wake_others(Direction::Downlink);
            let link = links.primary_mut();
            match sends {
                true => cell.downlink.activate(*id, link),
                false => cell.downlink.accept(*id, link, bearers, at),
            }
            if wakes_others {
                return Some((at, id.index()));
            }
        }
        None
    }
}
