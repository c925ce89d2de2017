//! Dual connectivity ([`crate::dual`]): UEs with a secondary node, whose bearers are above those of two cell groups.
//!
//! The secondary cell group of a UE is a UE of the radio network too. These follow those of the configuration, have no ports,
//! and no observer sees them: events about them name the UE that they belong to.

use std::sync::Arc;

use airlane_core::{Bytes, CellId, Cx, Dbm, Direction, DropCause, Event, Instant, PacketRef, Port, Probe};
use airlane_core::{Seeds, Topic, TopicSet, UeId};

use super::RadioNetwork;
use crate::bearers::way;
use crate::build;
use crate::config::RanConfig;
use crate::dual::CellGroup;
use crate::dual::pdcp::{Output, SplitBearer};
use crate::dual::scg::Scg;
use crate::slot::Ports;
use crate::ue::{Membership, Ue};

/// The UEs with a secondary node.
#[derive(Debug)]
pub(super) struct DualConnectivity {
    /// Ascending by UE.
    pub(super) bearers: Vec<SplitBearer>,
    /// The secondary cell groups of the same UEs.
    pub(super) groups: Vec<Scg>,
    /// The UE of each secondary cell group, from the number of the first one on.
    masters: Arc<[UeId]>,
    first_secondary: u32,
    /// When the first bearer has something to do.
    due: Instant,
    output: Output,
}

impl DualConnectivity {
    /// `None` if no UE has a secondary node. `bearers` are ascending by UE; the secondary cell groups follow `first_secondary`
    /// in their order.
    pub(super) fn new(
        bearers: Vec<SplitBearer>,
        groups: Vec<Scg>,
        first_secondary: usize,
    ) -> Option<Box<Self>> {
        let masters = bearers.iter().map(|bearer| bearer.leg(CellGroup::Master)).collect();
        (!bearers.is_empty()).then(|| {
            Box::new(Self {
                bearers,
                groups,
                masters,
                first_secondary: first_secondary as u32,
                due: Instant::ZERO,
                output: Output::default(),
            })
        })
    }

    /// The place of the bearer of a UE or of its secondary cell group.
    fn place(&self, ue: UeId) -> Option<usize> {
        match ue.0.checked_sub(self.first_secondary) {
            Some(place) => Some(place as usize),
            None => self.masters.binary_search(&ue).ok(),
        }
    }

    /// The place of the bearer of a UE that has a secondary node.
    pub(super) fn place_of(&self, ue: UeId) -> usize {
        self.place(ue).expect("the UE has a secondary node")
    }

    /// When the first bearer has something to do.
    pub(super) const fn due(&self) -> Instant {
        self.due
    }

    pub(super) fn find_due(&mut self) {
        let bearers = self.bearers.iter().map(SplitBearer::due);
        self.due = bearers.chain(self.groups.iter().map(Scg::due)).min().unwrap_or(Instant::FAR_FUTURE);
    }

    pub(super) fn packets_held(&self) -> usize {
        self.bearers.iter().map(SplitBearer::packets_held).sum()
    }

    /// An observer behind which secondary cell groups have the numbers of their UEs.
    pub(super) fn names(&self) -> Names {
        Names { masters: Arc::clone(&self.masters), first_secondary: self.first_secondary }
    }
}

/// The UEs of the secondary cell groups.
pub(super) struct Names {
    masters: Arc<[UeId]>,
    first_secondary: u32,
}

impl Names {
    /// Calls `act` with an observer of events about UEs.
    pub(super) fn observe<R>(&self, cx: &mut Cx<'_>, act: impl FnOnce(&mut Cx<'_>) -> R) -> R {
        let mut renaming = Renaming { names: self, to: &mut *cx.probe };
        act(&mut Cx {
            now: cx.now,
            pool: &mut *cx.pool,
            outbox: &mut *cx.outbox,
            topics: cx.topics,
            probe: &mut renaming,
        })
    }
}

/// An observer that gives events about secondary cell groups the numbers of their UEs.
struct Renaming<'a> {
    names: &'a Names,
    to: &'a mut dyn Probe,
}

impl Probe for Renaming<'_> {
    fn topics(&self) -> TopicSet {
        self.to.topics()
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let mut event = *event;
        if let Event::TransportBlock { ue, .. }
        | Event::PowerHeadroom { ue, .. }
        | Event::Unsent { ue, .. }
        | Event::Assigned { ue, .. } = &mut event
            && let Some(place) = ue.0.checked_sub(self.names.first_secondary)
        {
            *ue = self.names.masters[place as usize];
        }
        self.to.observe(now, &event);
    }
}

impl RadioNetwork {
    /// Builds the secondary cell groups of UEs, and their bearers.
    pub(super) fn add_secondary_nodes(&mut self, config: &RanConfig, seeds: Seeds) {
        let first = self.ues.len();
        let environment = Arc::clone(&self.environment);
        let scenes = environment.scenes(seeds);
        let (mut bearers, mut groups) = (Vec::new(), Vec::new());
        for (index, ue) in config.ues.iter().enumerate() {
            let Some(node) = &ue.secondary_node else { continue };
            let id = UeId(self.ues.len() as u32);
            let mut group = build::build_secondary_group(id, index, ue, &scenes, Instant::ZERO);
            let mut scg = Scg::new(&node.scg, node.cells.clone());
            let mut rsrp = vec![Dbm(f64::NEG_INFINITY); config.cells.len()];
            group.measure(Instant::ZERO, &mut rsrp);
            let of_candidates: Vec<_> = node.cells.iter().map(|cell| rsrp[cell.index()]).collect();
            let pscell = scg.start(&of_candidates);
            let link = group.links.primary_mut();
            if let Some(cell) = pscell.filter(|cell| *cell != link.cell) {
                link.enter(id, cell, &config.cells[cell.index()]);
                group.reset_drx(&config.cells[cell.index()], Instant::ZERO);
            }
            self.ues.push(group);
            let of_pscell = &config.cells[node.cells[0].index()].bearer;
            let stream = || seeds.stream(&format!("ue/{index}/queue/pdcp"));
            let mut bearer = SplitBearer::new(node, [UeId(index as u32), id], of_pscell, stream);
            if pscell.is_some() {
                bearer.add_scg(Instant::ZERO);
            }
            bearers.push(bearer);
            groups.push(scg);
            for cell in &mut self.cells {
                cell.downlink.add_ue();
                cell.restrictions.add_ue();
            }
        }
        self.dual = DualConnectivity::new(bearers, groups, first);
    }

    /// Whether a UE has a secondary node.
    #[inline]
    pub(super) fn has_secondary_node(&self, ue: UeId) -> bool {
        self.dual.is_some() && self.ues[ue.index()].membership != Membership::Alone
    }

    /// Whether a UE can have a cell as its PCell: with a secondary node, those of its master nodes.
    pub(super) fn can_be_pcell(&self, ue: UeId, cell: CellId) -> bool {
        let dual = self.dual.as_ref().filter(|_| self.has_secondary_node(ue));
        dual.is_none_or(|dual| dual.bearers[dual.place_of(ue)].can_be_master(cell))
    }

    /// Calls `act` with the bearer of a UE, and passes on what the bearer gives out.
    pub(super) fn with_bearer(
        &mut self,
        cx: &mut Cx<'_>,
        place: usize,
        act: impl FnOnce(&mut SplitBearer, &mut Self, &mut Cx<'_>, &mut Output),
    ) {
        let Some(mut dual) = self.dual.take() else { return };
        let bearer = &mut dual.bearers[place];
        act(bearer, self, cx, &mut dual.output);
        self.pass_on(cx, bearer, &mut dual.output);
        dual.find_due();
        self.dual = Some(dual);
    }

    /// Gives PDUs to the legs of a bearer, and SDUs to the upper layers.
    fn pass_on(&mut self, cx: &mut Cx<'_>, bearer: &SplitBearer, output: &mut Output) {
        for (group, direction, packet) in output.to_legs.drain(..) {
            let ue = &mut self.ues[bearer.leg(group).index()];
            ue.bearers.submit(cx, direction, packet);
            if let Some(at) = ue.bearers.next_timeout() {
                self.bearers_due = self.bearers_due.min(at);
            }
            if self.touched.last() != Some(&ue.id.0) {
                self.touched.push(ue.id.0);
            }
        }
        let master = bearer.leg(CellGroup::Master);
        let ports = Ports { s1u: self.ues[master.index()].cell().0 as Port, first_ue: self.first_ue_port() };
        for direction in [Direction::Downlink, Direction::Uplink] {
            let delivered = &mut output.delivered[way(direction)];
            if cx.wants(Topic::SduDelivered) {
                for packet in &*delivered {
                    let (_, entered) = cx.pool.count_of(packet);
                    cx.pool.note_entry(packet, entered);
                }
            }
            ports.send(cx, direction, master.0, delivered);
        }
        if cx.wants(Topic::QueueDepth) {
            for direction in [Direction::Downlink, Direction::Uplink] {
                let bytes = self.queue_of(bearer, direction);
                cx.emit(&Event::QueueDepth { ue: master, direction, bytes });
            }
        }
    }

    /// Bytes of a bearer that wait for their first transmission.
    fn queue_of(&self, bearer: &SplitBearer, direction: Direction) -> Bytes {
        let of = |group| self.ues[bearer.leg(group).index()].bearers.queue(direction);
        let in_pdcp = match direction {
            Direction::Downlink => bearer.downlink_queue(),
            Direction::Uplink => Bytes::ZERO,
        };
        of(CellGroup::Master) + of(CellGroup::Secondary) + in_pdcp
    }

    /// Bytes of a UE with a secondary node that wait for their first transmission; `None` for any other.
    pub(super) fn queue_of_split(&self, ue: UeId, direction: Direction) -> Option<Bytes> {
        let dual = self.dual.as_ref()?;
        Some(self.queue_of(&dual.bearers[dual.place(ue)?], direction))
    }

    /// A packet enters the bearer of a UE with a secondary node.
    #[cold]
    pub(super) fn enter_split(&mut self, cx: &mut Cx<'_>, direction: Direction, ue: UeId, packet: PacketRef) {
        self.skip_idle_slots(cx.now);
        let Some(place) = self.dual.as_ref().and_then(|dual| dual.place(ue)) else {
            return cx.discard(packet, DropCause::NoRoute);
        };
        self.with_bearer(cx, place, |bearer, network, cx, out| match direction {
            Direction::Downlink => bearer.submit_downlink(cx, packet, out),
            Direction::Uplink => {
                let of = |group| network.ues[bearer.leg(group).index()].bearers.queue(direction);
                bearer.submit_uplink(cx, packet, CellGroup::BOTH.map(of), out);
            }
        });
        self.wake_touched(cx);
    }

    /// RLC of the cell groups has delivered PDUs, or has room for others.
    #[cold]
    pub(super) fn serve_split(&mut self, cx: &mut Cx<'_>) {
        let mut from_legs = core::mem::take(&mut self.from_legs);
        let place_of = |network: &Self, leg| network.dual.as_ref().and_then(|dual| dual.place(UeId(leg)));
        let mut delivered = from_legs.drain(..).peekable();
        while let Some(&(leg, ..)) = delivered.peek() {
            let place = place_of(self, leg).expect("only legs of a split bearer deliver to it");
            self.with_bearer(cx, place, |bearer, _, cx, out| {
                let group = bearer.group_of(UeId(leg));
                while let Some((_, direction, packet)) = delivered.next_if(|(of, ..)| *of == leg) {
                    bearer.take_from_leg(cx, group, direction, packet, out);
                }
            });
        }
        drop(delivered);
        self.from_legs = from_legs;
        let places = self.dual.as_ref().map_or(0, |dual| dual.bearers.len());
        for place in 0..places {
            if self.dual.as_ref().is_some_and(|dual| dual.bearers[place].has_backlog()) {
                self.with_bearer(cx, place, |bearer, _, cx, out| bearer.feed(cx, out));
            }
        }
        self.wake_touched(cx);
    }

    /// Handles the first timers, PDUs and reports of bearers that are due by `until`. Returns false if there are none.
    pub(super) fn serve_split_due(&mut self, cx: &mut Cx<'_>, until: Instant) -> bool {
        let Some(now) = self.dual.as_ref().map(|dual| dual.due).filter(|due| *due <= until) else {
            return false;
        };
        let mut cx = cx.at(now);
        self.skip_idle_slots(now);
        let places = self.dual.as_ref().map_or(0, |dual| dual.bearers.len());
        for place in 0..places {
            if self.dual.as_ref().is_some_and(|dual| dual.bearers[place].due() <= now) {
                self.with_bearer(&mut cx, place, |bearer, _, cx, out| bearer.handle_timeout(cx, out));
            }
            self.serve_scg(&mut cx, place);
        }
        self.wake_touched(&mut cx);
        true
    }

    /// A UE with a secondary node leaves its master node. Returns the packets and bytes of the downlink that move to the target.
    pub(super) fn leave_master(&mut self, cx: &mut Cx<'_>, ue: UeId) -> (u64, Bytes) {
        let Some(dual) = &self.dual else { return (0, Bytes::ZERO) };
        let place = dual.place_of(ue);
        let keeps = dual.bearers[place].keeps_scg();
        self.leave_scg_of(cx, ue, keeps);
        let mut moved = (0, Bytes::ZERO);
        self.with_bearer(cx, place, |bearer, network, cx, out| {
            let of_mcg = &mut network.ues[ue.index()].bearers;
            let undelivered = of_mcg.release(cx);
            of_mcg.suspend();
            bearer.lose_mcg(cx, undelivered, out);
            moved = bearer.waiting(cx);
        });
        moved
    }

    /// A UE with a secondary node has arrived at a master node.
    pub(super) fn enter_master(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        self.ues[ue.index()].bearers.resume();
        let Some(dual) = &mut self.dual else { return };
        let place = dual.place_of(ue);
        dual.groups[place].enter_master(cx.now);
        self.with_bearer(cx, place, |bearer, _, cx, out| {
            bearer.regain_mcg();
            bearer.feed(cx, out);
        });
        self.touched.push(ue.0);
    }

    /// A UE with a secondary node is removed.
    pub(super) fn remove_split(&mut self, cx: &mut Cx<'_>, ue: UeId) {
        let Some(mut dual) = self.dual.take() else { return };
        if let Some(place) = dual.place(ue) {
            let bearer = &mut dual.bearers[place];
            bearer.discard(cx, DropCause::NoRoute);
            dual.groups[place].end();
            let secondary = bearer.leg(CellGroup::Secondary);
            let Ue { bearers, is_present, .. } = &mut self.ues[secondary.index()];
            bearers.discard(cx, DropCause::NoRoute);
            *is_present = false;
            self.reset_mac(secondary, cx.now);
        }
        dual.find_due();
        self.dual = Some(dual);
    }
}
