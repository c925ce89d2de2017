//! One slot of one cell: the state that its steps share.

use core::ops::IndexMut;

use airlane_core::{CellId, Cx, Direction, Event, Instant, PacketRef, Port, Topic, TopicSet, UeId};
use airlane_net::gtp::OVERHEAD;

use crate::config::CellConfig;
use crate::interference::Air;
use crate::link::{Radio, ServingLink};
use crate::mac::phy::Phy;
use crate::mac::restrictions::Restrictions;
use crate::ue::{Membership, Ue};

/// The slot that is being processed.
pub(crate) struct Slot<'a, 'c> {
    pub(crate) cx: &'a mut Cx<'c>,
    /// Slots since the start of the run.
    pub(crate) number: u64,
    pub(crate) id: CellId,
    pub(crate) cell: &'a CellConfig,
    pub(crate) phy: &'a mut Phy,
    pub(crate) restrictions: &'a mut Restrictions,
    /// The transmissions of all cells.
    pub(crate) air: &'a mut Air,
    pub(crate) ues: &'a mut [Ue],
    /// SDUs that a bearer has just delivered.
    pub(crate) deliverable: &'a mut Vec<PacketRef>,
    /// UEs whose bearer may now have data to send.
    pub(crate) touched: &'a mut Vec<u32>,
    /// Messages of RRC that have arrived, and their UEs.
    pub(crate) messages: &'a mut Vec<(u32, u8)>,
    /// UEs that have sent all their scheduling requests without a grant.
    pub(crate) unanswered: &'a mut Vec<u32>,
    /// Events of the steps of the cell alone, until [`Self::report`].
    pub(crate) events: &'a mut Vec<Event<'static>>,
    /// PDUs that cell groups of UEs with a secondary node have delivered.
    pub(crate) from_legs: &'a mut Vec<(u32, Direction, PacketRef)>,
    pub(crate) ports: Ports,
    /// The time before which no bearer's timer is due.
    pub(crate) bearers_due: Instant,
}

/// The UEs that the steps of a cell alone may look at, by index in the network.
pub(crate) trait UeSet: IndexMut<usize, Output = Ue> {
    /// Those of the set, ascending.
    fn each(&self) -> impl Iterator<Item = &Ue>;
}

impl UeSet for [Ue] {
    fn each(&self) -> impl Iterator<Item = &Ue> {
        self.iter()
    }
}

/// The part of a slot that its cell does not share with other cells: steps with nothing else may run at the same time as
/// those of other cells. They change the cell and its UEs only, and leave what they report in `events`.
pub(crate) struct CellSlot<'a, U: UeSet + ?Sized> {
    pub(crate) now: Instant,
    /// The topics that are observed.
    pub(crate) topics: TopicSet,
    /// See [`Slot`], as for the following.
    pub(crate) number: u64,
    pub(crate) id: CellId,
    pub(crate) cell: &'a CellConfig,
    pub(crate) phy: &'a mut Phy,
    pub(crate) restrictions: &'a mut Restrictions,
    pub(crate) air: &'a Air,
    pub(crate) ues: &'a mut U,
    pub(crate) touched: &'a mut Vec<u32>,
    pub(crate) unanswered: &'a mut Vec<u32>,
    pub(crate) events: &'a mut Vec<Event<'static>>,
}

impl<U: UeSet + ?Sized> CellSlot<'_, U> {
    /// The link of a UE with this cell.
    #[inline]
    pub(crate) fn link(&mut self, ue: u32) -> &mut ServingLink {
        self.ues[ue as usize].links.with_mut(self.id)
    }

    /// Whether a UE misses the PDCCH in this slot.
    pub(crate) fn misses_control(&mut self, ue: u32) -> bool {
        let Ue { mobility, links, .. } = &mut self.ues[ue as usize];
        let radio = Radio { cell: self.cell, air: self.air };
        links.with_mut(self.id).misses_control(self.now, mobility, radio, self.phy.sinr_mut())
    }
}

/// From this many packets on, those that a block delivers are fetched together (choice).
const FETCHED: usize = 8;

/// The numbering of ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ports {
    pub(crate) s1u: Port,
    pub(crate) first_ue: Port,
}

impl Ports {
    /// Forwards SDUs: to the UE's upper layers, or through the tunnel to the gateway.
    pub(crate) fn send(self, cx: &mut Cx<'_>, direction: Direction, ue: u32, sdus: &mut Vec<PacketRef>) {
        if sdus.len() >= FETCHED {
            cx.pool.fetch(sdus);
        }
        for packet in sdus.drain(..) {
            if cx.wants(Topic::SduDelivered) {
                let (ue, queued_at) = (UeId(ue), cx.pool.entered_at(&packet));
                cx.emit_about(&packet, |packet| Event::SduDelivered { ue, direction, packet, queued_at });
            }
            match direction {
                Direction::Downlink => cx.send(self.first_ue + ue as Port, packet),
                Direction::Uplink => {
                    cx.pool.get_mut(&packet).size += OVERHEAD;
                    if cx.wants(Topic::Tunnelled) {
                        let cell = CellId(u32::from(self.s1u));
                        cx.emit_about(&packet, |packet| Event::Tunnelled { cell, packet });
                    }
                    cx.send(self.s1u, packet);
                }
            }
        }
    }
}

impl Slot<'_, '_> {
    /// The part of the slot that belongs to the cell alone.
    #[inline]
    pub(crate) fn own(&mut self) -> CellSlot<'_, [Ue]> {
        CellSlot {
            now: self.cx.now,
            topics: self.cx.topics,
            number: self.number,
            id: self.id,
            cell: self.cell,
            phy: self.phy,
            restrictions: self.restrictions,
            air: self.air,
            ues: self.ues,
            touched: self.touched,
            unanswered: self.unanswered,
            events: self.events,
        }
    }

    /// Reports the events of the steps of the cell alone, in their order.
    #[inline]
    pub(crate) fn report(&mut self) {
        for event in self.events.drain(..) {
            self.cx.emit(&event);
        }
    }

    /// The link of a UE with this cell.
    #[inline]
    pub(crate) fn link(&mut self, ue: u32) -> &mut ServingLink {
        self.ues[ue as usize].links.with_mut(self.id)
    }

    /// Forwards the SDUs that a bearer delivered when it received a block.
    pub(crate) fn deliver(&mut self, direction: Direction, ue: u32) {
        self.touched.push(ue);
        if let Some(message) = self.ues[ue as usize].bearers.take_message(direction) {
            self.messages.push((ue, message));
        }
        self.note_timer(ue);
        if self.ues[ue as usize].membership != Membership::Alone {
            let delivered = self.deliverable.drain(..);
            return self.from_legs.extend(delivered.map(|packet| (ue, direction, packet)));
        }
        // The primary cell has the bearers, and with them the path to the gateway.
        let s1u = self.ues[ue as usize].cell().0 as Port;
        Ports { s1u, ..self.ports }.send(self.cx, direction, ue, self.deliverable);
    }

    /// Whether a UE misses the PDCCH in this slot.
    pub(crate) fn misses_control(&mut self, ue: u32) -> bool {
        self.own().misses_control(ue)
    }

    /// A bearer was used: its timers may have changed.
    pub(crate) fn note_timer(&mut self, ue: u32) {
        if let Some(at) = self.ues[ue as usize].bearers.next_timeout() {
            self.bearers_due = self.bearers_due.min(at);
        }
    }
}
