//! The radio access network as one node: all cells and UEs, processed slot by slot.
//!
//! Ports: `0..cells` lead to the gateway (S1-U of each eNB), the next one to a radio network information service,
//! and those from `cells + 1` on to the upper layers of each UE. A slot is processed only if there is backlog,
//! HARQ feedback or a bearer's timer, so an idle network costs nothing.

use std::sync::Arc;

use airlane_core::{
    CellId, Cx, Direction, DropCause, Duration, Event, Header, Instant, Node, PacketRef, Port, Seeds, Topic,
    UeId,
};
use airlane_net::FlowPaths;

mod backhaul;
mod bearers;
mod capacity;
mod carriers;
mod connection;
mod dual;
mod gaps;
mod handover;
mod information;
mod look;
mod membership;
mod processing;
mod radio_link;
mod scg;
mod service;
mod side_by_side;
mod wake;

use backhaul::Backhaul;
use bearers::BearerControl;
pub use bearers::BearerRequest;
use capacity::CapacityReports;
use connection::Connections;
use dual::DualConnectivity;
use handover::HandoverState;
use information::Publisher;
pub use look::{CellQuality, ReportEvent, UeLook};
use processing::Processing;
use service::Plan;
use side_by_side::{Notes, SideBySide};
use wake::Alarms;

use crate::build::{self, Environment};
use crate::config::{CellConfig, RanConfig};
use crate::interference::Air;
use crate::link::ServingLink;
use crate::mac::downlink::DownlinkMac;
use crate::mac::phy::Phy;
use crate::mac::restrictions::Restrictions;
use crate::mac::sleep::Phase;
use crate::mac::uplink::UplinkMac;
use crate::numerology::Numerology;
use crate::rrc::MeasurementReport;
use crate::rrc::monitor::Monitor;
use crate::slot::{Ports, Slot};
use crate::ue::{Membership, Ue};

/// Maximum number of cells and UEs: each has a port.
const MOST_PORTS: usize = 65_000;

/// Packets that a block can deliver when it closes a gap; more than these take memory when it happens first.
const DELIVERED_AT_ONCE: usize = 1024;

/// A cell with its state.
#[derive(Debug)]
pub(crate) struct Cell {
    pub(crate) clock: SlotClock,
    pub(crate) config: CellConfig,
    pub(crate) phy: Phy,
    pub(crate) downlink: DownlinkMac,
    pub(crate) uplink: UplinkMac,
    pub(crate) restrictions: Restrictions,
    pub(crate) notes: Notes,
}

impl Cell {
    /// A UE leaves the cell: its blocks on the air are lost.
    fn forget(&mut self, ue: UeId) {
        self.downlink.forget(ue.0);
        self.uplink.forget(ue.0);
        self.restrictions.forget(ue.0);
    }

    /// Resets the MAC of a UE.
    fn reset_mac(&mut self, ue: UeId, link: &mut ServingLink) {
        self.forget(ue);
        link.reset_mac(ue, &self.config);
    }
}

/// The slots of a cell.
#[derive(Debug, Default)]
pub(crate) struct SlotClock {
    /// The latest slot that was processed, and its start.
    number: u64,
    at: Option<Instant>,
    /// The next slot to be processed, and its start.
    next: u64,
    next_at: Instant,
}

impl SlotClock {
    /// Slots that begin before this time are over.
    fn skip_to(&mut self, numerology: &Numerology, at: Instant) {
        if self.next_at < at {
            self.next = numerology.slot_from(at);
            self.next_at = numerology.start_of(self.next);
        }
    }

    /// Begins the slot that starts now, if there is one.
    fn begin(&mut self, numerology: &Numerology, now: Instant) {
        self.skip_to(numerology, now);
        if self.next_at == now {
            (self.number, self.at) = (self.next, Some(now));
            self.next += 1;
            self.next_at = now + numerology.slot;
        }
    }
}

/// The radio access network.
#[derive(Debug)]
pub struct RadioNetwork {
    cells: Vec<Cell>,
    ues: Vec<Ue>,
    /// `None` for one that was removed.
    flows: Vec<Option<UeId>>,
    /// The UEs of flows with several.
    paths: FlowPaths,
    environment: Arc<Environment>,
    air: Air,
    monitor: Option<Monitor>,
    /// `None` during a call that uses it.
    handover: Option<Box<HandoverState>>,
    /// The earliest start of a slot that has not been processed.
    next_at: Instant,
    /// True if a cell has work in its next slot.
    busy: bool,
    /// The slot lengths of the cells, each once.
    slots: Vec<Duration>,
    /// The time before which no bearer's timer is due.
    bearers_due: Instant,
    deliverable: Vec<PacketRef>,
    downlink_due: Vec<PacketRef>,
    uplink_due: Vec<PacketRef>,
    touched: Vec<u32>,
    /// The period of position reports, and the time of the next; [`Instant::FAR_FUTURE`] for none.
    survey: (Duration, Instant),
    publisher: Publisher,
    capacity_reports: CapacityReports,
    control: BearerControl,
    plan: Plan,
    backhaul: Option<Box<Backhaul>>,
    /// When the next packet leaves it.
    backhaul_due: Instant,
    /// `None` during a call that uses them, or if all UEs are always connected.
    connections: Option<Box<Connections>>,
    /// Messages of RRC that have arrived, and their UEs.
    messages: Vec<(u32, u8)>,
    /// UEs whose scheduling requests were not answered, in this slot.
    unanswered: Vec<u32>,
    /// When UEs that sleep will listen to what waits for them.
    alarms: Alarms,
    /// Packets that are being processed; `None` if that takes no time.
    processing: Option<Box<Processing>>,
    /// `None` during a call that uses it, or if no UE has a secondary node.
    dual: Option<Box<DualConnectivity>>,
    /// PDUs that cell groups of UEs with a secondary node have delivered.
    from_legs: Vec<(u32, Direction, PacketRef)>,
    /// `None` if the cells work one after another.
    side_by_side: Option<Box<SideBySide>>,
}

impl RadioNetwork {
    /// Builds the network. Positions, movements and fading draw from named streams of `seeds`.
    ///
    /// # Panics
    /// If a UE names a cell, or a flow a UE, that does not exist, or if there are more than 65,000
    /// ports.
    #[must_use]
    pub fn new(config: &RanConfig, seeds: Seeds) -> Self {
        assert!(config.cells.len() + config.ues.len() <= MOST_PORTS, "too many cells and UEs for the ports");
        assert!(config.flows.iter().all(|ue| ue.index() < config.ues.len()), "a flow leads to no UE");
        assert!(config.handover.is_none() || config.measurements.is_some(), "handovers need measurements");
        for cell in config.cells.iter().filter(|cell| cell.early_throttling.is_some()) {
            // The throttle does not know UEs that arrive or wait, and packets in a handover do not pass it.
            assert!(config.handover.is_none(), "early throttling in a network with handovers");
            assert!(cell.service.is_empty(), "early throttling in a cell with outages");
        }
        let serving = || config.cells.iter().filter(|cell| !cell.interferer);
        let is_on_demand = |cell: &CellConfig| cell.connection.is_some();
        assert!(
            serving().all(is_on_demand) || !serving().any(is_on_demand),
            "connections in some cells only"
        );
        let environment = Environment::new(config);
        let (mut cells, ues) = (build::cells(config), environment.ues(config, seeds));
        if let [cell] = &mut cells[..] {
            cell.downlink.keep_candidates(ues.len(), config.channel.fading.is_none());
        }
        for (ue, settings) in ues.iter().zip(&config.ues) {
            if let Some(at) = settings.bearer_set_up {
                cells[ue.cell().index()].restrictions.announce(at, ue.id.0);
            }
        }
        let mut air = Air::new(&config.cells);
        if config.measurements.is_some_and(|measurements| measurements.quality.is_some()) {
            air.count_use();
        }
        let monitor = |measurements| {
            Monitor::new(measurements, config.ues.len(), &config.cells, build::neighbours(config))
        };
        let mut network = Self {
            cells,
            handover: HandoverState::new(config, &ues, seeds).map(Box::new),
            ues,
            flows: config.flows.iter().copied().map(Some).collect(),
            paths: FlowPaths::default(),
            environment,
            air,
            monitor: config.measurements.map(monitor),
            next_at: Instant::ZERO,
            busy: false,
            slots: build::slot_lengths(config),
            bearers_due: Instant::FAR_FUTURE,
            deliverable: Vec::with_capacity(DELIVERED_AT_ONCE),
            downlink_due: Vec::with_capacity(64),
            uplink_due: Vec::with_capacity(64),
            touched: Vec::with_capacity(64),
            survey: (Duration::MAX, Instant::FAR_FUTURE),
            publisher: Publisher::idle(),
            capacity_reports: CapacityReports::NONE,
            control: BearerControl::default(),
            plan: Plan::new(config),
            backhaul: None,
            backhaul_due: Instant::FAR_FUTURE,
            connections: Connections::new(config, seeds).map(Box::new),
            messages: Vec::new(),
            unanswered: Vec::new(),
            alarms: Alarms::default(),
            processing: Processing::of(config),
            dual: None,
            from_legs: Vec::new(),
            side_by_side: None,
        };
        network.add_secondary_nodes(config, seeds);
        (0..network.ues.len()).for_each(|ue| network.begin_ue(Instant::ZERO, ue));
        network
    }

    /// Reports the position of each UE ([`Event::UePosition`]) at time zero and then with this period.
    pub fn report_positions(&mut self, every: Duration) {
        assert!(!every.is_zero(), "positions are reported at instants apart");
        self.survey = (every, Instant::ZERO);
    }

    /// Reports the positions that are due at `until` or before.
    fn report_due_positions(&mut self, cx: &mut Cx<'_>, until: Instant) {
        let (every, due) = &mut self.survey;
        while *due <= until {
            for ue in self.ues.iter_mut().filter(|ue| ue.is_present && cx.topics.wants(Topic::UePosition)) {
                if matches!(ue.membership, Membership::Secondary(_)) {
                    continue; // the UE itself is among them
                }
                let here = ue.mobility.position_at(*due);
                let rrc = ue.rrc_state(&self.cells[ue.cell().index()].config);
                let position_m = [here.x, here.y];
                let listened = ue.drx.as_ref().map(|drx| drx.listened(*due));
                let event = Event::UePosition { ue: ue.id, position_m, cell: ue.cell(), rrc, listened };
                cx.probe.observe(*due, &event);
            }
            *due += *every;
        }
    }

    /// The port that leads to the gateway from this cell.
    #[must_use]
    pub fn s1u_port(&self, cell: usize) -> Port {
        cell as Port
    }

    /// The port that leads to a radio network information service.
    #[must_use]
    pub fn information_port(&self) -> Port {
        self.cells.len() as Port
    }

    fn first_ue_port(&self) -> Port {
        self.cells.len() as Port + 1
    }

    /// The cell that serves a UE now.
    #[must_use]
    pub fn serving_cell(&self, ue: UeId) -> CellId {
        self.ues[ue.index()].cell()
    }

    /// Bytes in the transmit queue of a UE's bearer, headers included.
    #[must_use]
    pub fn queue(&self, ue: UeId, direction: Direction) -> airlane_core::Bytes {
        let queue = || self.ues[ue.index()].bearers.queue(direction);
        self.queue_of_split(ue, direction).unwrap_or_else(queue)
    }

    /// Moves a UE to another cell in the MAC: blocks on the air in either direction are lost, which
    /// RLC recovers. Does nothing if the cell is already its primary one.
    ///
    /// # Panics
    /// If the cell does not exist, or an SCell of the UE is active.
    pub fn change_cell(&mut self, now: Instant, ue: UeId, target: CellId) {
        assert!(target.index() < self.cells.len(), "there is no such cell");
        self.skip_idle_slots(now);
        let links = &mut self.ues[ue.index()].links;
        assert_eq!(links.active_carriers(), 1, "SCells are released before the primary cell changes");
        let link = links.primary_mut();
        if link.cell == target {
            return;
        }
        self.cells[link.cell.index()].forget(ue);
        let config = &self.cells[target.index()].config;
        link.enter(ue, target, config);
        self.move_secondary_links(ue);
        let config = &self.cells[target.index()].config;
        self.ues[ue.index()].bearers.lose_signalling();
        self.ues[ue.index()].reset_drx(config, now);
        if let Some(monitor) = &mut self.monitor {
            monitor.change_cell(ue);
        }
        self.find_work();
        self.wake(now, ue.0);
    }

    /// Resets the MAC of a UE in all cells that serve it: blocks on the air are lost.
    fn reset_mac(&mut self, ue: UeId, now: Instant) {
        let ue_of = &mut self.ues[ue.index()];
        ue_of.bearers.lose_signalling();
        ue_of.reset_drx(&self.cells[ue_of.cell().index()].config, now);
        for link in self.ues[ue.index()].links.iter_mut() {
            self.cells[link.cell.index()].reset_mac(ue, link);
        }
    }

    /// Removes the oldest measurement report; `None` if there is none or UEs do not measure.
    pub fn take_measurement_report(&mut self) -> Option<MeasurementReport> {
        self.monitor.as_mut()?.take()
    }

    /// New work in an idle network is handled in the next slot that begins.
    ///
    /// # Panics
    /// If a slot before `now` has not been processed: the driver of a node handles due timeouts before inputs.
    #[inline]
    fn skip_idle_slots(&mut self, now: Instant) {
        if self.next_at < now {
            self.skip_to(now);
        }
    }

    #[cold]
    fn skip_to(&mut self, now: Instant) {
        assert!(!self.busy, "an input at {now}, before the slot at {} was processed", self.next_at);
        for cell in &mut self.cells {
            cell.clock.skip_to(&cell.config.numerology, now);
        }
        self.find_next_slot();
    }

    fn find_next_slot(&mut self) {
        let next = self.cells.iter().map(|cell| cell.clock.next_at).min();
        self.next_at = next.unwrap_or(Instant::FAR_FUTURE);
    }

    /// Finds whether a cell has work in its next slot. To be called after work was done, or has become void.
    fn find_work(&mut self) {
        self.busy = self.cells.iter().any(|cell| cell.downlink.is_busy() || cell.uplink.is_busy());
    }

    /// The start of the next slot with work, if nothing arrives first.
    #[inline]
    fn next_work(&self) -> Instant {
        if self.busy {
            return self.next_at;
        }
        if self.bearers_due == Instant::FAR_FUTURE {
            return Instant::FAR_FUTURE;
        }
        self.next_timers()
    }

    /// The start of the next slot that runs timers of bearers.
    fn next_timers(&self) -> Instant {
        let due = self.bearers_due.as_nanos();
        let starts = self.slots.iter().map(|slot| Instant::ZERO + *slot * due.div_ceil(slot.as_nanos()));
        starts.min().unwrap_or(Instant::FAR_FUTURE).max(self.next_at)
    }

    /// Makes the measurements of UEs that are due until then.
    fn measure_until(&mut self, until: Instant) {
        if let Some(monitor) = &mut self.monitor {
            while monitor.next() <= until {
                monitor.measure(&mut self.ues, &self.air);
            }
        }
    }

    /// When UEs measure, or something is reported or published.
    #[inline]
    fn next_report(&self) -> Instant {
        let next = self.survey.1.min(self.publisher.due()).min(self.capacity_reports.due);
        self.monitor.as_ref().map_or(next, |monitor| next.min(monitor.next()))
    }

    /// Makes the measurements, and reports and publishes what is due by then.
    #[inline]
    fn report_until(&mut self, cx: &mut Cx<'_>, until: Instant) {
        if self.next_report() <= until {
            self.measure_until(until);
            self.report_due_positions(cx, until);
            self.report_capacities(until);
            self.publish_due(cx, until);
        }
    }

    /// Processes the slots that begin now: the cells take each step in the order of their numbers.
    fn process(&mut self, cx: &mut Cx<'_>) {
        for cell in &mut self.cells {
            cell.clock.begin(&cell.config.numerology, cx.now);
        }
        self.find_next_slot();
        self.receive_blocks(cx);
        self.bearer_timers(cx);
        if !self.messages.is_empty() {
            self.receive_messages(cx);
        }
        self.wake_touched(cx);
        self.air.begin_uplink(cx.now);
        self.send_blocks(cx);
        if self.plan.off > 0 {
            self.wait_for_radio(cx);
        }
        if !self.unanswered.is_empty() {
            self.access_for_requests(cx);
        }
        self.find_work();
        if !self.touched.is_empty() {
            self.wake_touched(cx); // UEs that fell asleep
        }
        if self.dual.is_some() {
            self.serve_split(cx);
        }
    }

    /// Runs one step in every cell whose slot begins now and whose radio is on, in their order.
    #[inline]
    fn each_cell(
        &mut self,
        cx: &mut Cx<'_>,
        step: impl Fn(&mut DownlinkMac, &mut UplinkMac, &mut Slot<'_, '_>),
    ) {
        self.each_cell_that(cx, |cell| cell.restrictions.is_on, step);
    }

    #[inline]
    fn each_cell_that(
        &mut self,
        cx: &mut Cx<'_>,
        takes_it: impl Fn(&Cell) -> bool,
        step: impl Fn(&mut DownlinkMac, &mut UplinkMac, &mut Slot<'_, '_>),
    ) {
        let (first_ue, now) = (self.first_ue_port(), Some(cx.now));
        let begins = |cell: &Cell| cell.clock.at == now && takes_it(cell);
        for (index, cell) in self.cells.iter_mut().enumerate().filter(|(_, cell)| begins(cell)) {
            let mut slot = Slot {
                cx: &mut *cx,
                number: cell.clock.number,
                id: CellId(index as u32),
                cell: &cell.config,
                phy: &mut cell.phy,
                restrictions: &mut cell.restrictions,
                air: &mut self.air,
                ues: &mut self.ues,
                deliverable: &mut self.deliverable,
                touched: &mut self.touched,
                messages: &mut self.messages,
                unanswered: &mut self.unanswered,
                events: &mut cell.notes.events,
                from_legs: &mut self.from_legs,
                ports: Ports { s1u: index as Port, first_ue },
                bearers_due: self.bearers_due,
            };
            step(&mut cell.downlink, &mut cell.uplink, &mut slot);
            self.bearers_due = slot.bearers_due;
        }
    }

    /// Runs the bearer timers that are due and finds the next.
    fn bearer_timers(&mut self, cx: &mut Cx<'_>) {
        if self.bearers_due > cx.now {
            return;
        }
        self.bearers_due = Instant::FAR_FUTURE;
        let first_ue = self.first_ue_port();
        for ue in &mut self.ues {
            if ue.bearers.next_timeout().is_some_and(|at| at <= cx.now) {
                ue.bearers.handle_timeout(cx, &mut self.downlink_due, &mut self.uplink_due);
                self.touched.push(ue.id.0);
                if ue.membership != Membership::Alone {
                    let leg = ue.id.0;
                    let of = |direction| move |packet| (leg, direction, packet);
                    self.from_legs.extend(self.downlink_due.drain(..).map(of(Direction::Downlink)));
                    self.from_legs.extend(self.uplink_due.drain(..).map(of(Direction::Uplink)));
                }
                let ports = Ports { s1u: ue.cell().0 as Port, first_ue };
                ports.send(cx, Direction::Downlink, ue.id.0, &mut self.downlink_due);
                ports.send(cx, Direction::Uplink, ue.id.0, &mut self.uplink_due);
            }
            if let Some(at) = ue.bearers.next_timeout() {
                self.bearers_due = self.bearers_due.min(at);
            }
        }
    }

    /// Adds UEs whose bearer has data to send to the lists of their cells.
    fn wake_touched(&mut self, cx: &mut Cx<'_>) {
        let mut touched = core::mem::take(&mut self.touched);
        for index in touched.drain(..) {
            self.wake(cx.now, index);
            if !self.ues[index as usize].links.is_single() {
                self.use_carriers(cx, index as usize);
            }
            if self.ues[index as usize].gaps.is_some() {
                self.follow_gaps(cx.now, index as usize);
            }
        }
        self.touched = touched;
    }

    /// Adds a UE whose bearer has data to send to the lists of its primary cell.
    #[inline]
    fn wake(&mut self, now: Instant, index: u32) {
        let Ue { id, bearers, links, drx, phase, alarm, .. } = &mut self.ues[index as usize];
        if *phase == Phase::Released {
            return; // PDCP status reports after a change of its cell wait for the connection
        }
        let link = links.primary_mut();
        let cell = &mut self.cells[link.cell.index()];
        let has_data = bearers.has_backlog(Direction::Downlink, now);
        if link.downlink.active && !has_data {
            cell.downlink.note_change(index);
        } else if !link.downlink.active && has_data {
            let listens_from = drx.as_ref().map_or(now, |drx| drx.next_active(now));
            if listens_from > now {
                self.alarms.set(listens_from, *id, alarm);
            } else {
                cell.downlink.activate(*id, link);
                self.busy = true;
            }
        }
        if !link.uplink.active && bearers.has_backlog(Direction::Uplink, now) {
            cell.uplink.activate(*id, link);
            self.busy = true;
        }
    }

    /// A packet arrives at an eNB or a UE.
    fn receive(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        let cells = self.cells.len();
        let (index, direction) = if usize::from(port) < cells {
            if matches!(cx.pool.get(&packet).header, Header::Signalling) {
                return self.receive_signalling(cx, CellId(u32::from(port)), packet);
            }
            let arrived = cx.pool.get(&packet);
            let ue = match self.flows.get(arrived.flow.index()) {
                Some(Some(ue)) => *ue,
                Some(None) | None => match self.paths.of(arrived) {
                    Some(ue) => ue,
                    None => return cx.discard(packet, DropCause::NoRoute),
                },
            };
            if cx.wants(Topic::Tunnelled) {
                let cell = CellId(u32::from(port));
                cx.emit_about(&packet, |packet| Event::Tunnelled { cell, packet });
            }
            cx.pool.get_mut(&packet).size -= airlane_net::gtp::OVERHEAD;
            (ue.index(), Direction::Downlink)
        } else {
            let Some(ue) = usize::from(port).checked_sub(cells + 1) else {
                return self.receive_request(cx, packet);
            };
            if !self.ues[ue].is_present {
                return cx.discard(packet, DropCause::NoRoute);
            }
            (ue, Direction::Uplink)
        };
        let (ue, cell) = (UeId(index as u32), CellId(u32::from(port)));
        let Some(packet) = self.hold(cx, direction, ue, cell, packet) else { return };
        self.admit(cx, direction, ue, cell, packet);
    }

    /// A packet enters the bearers of its UE.
    fn admit(&mut self, cx: &mut Cx<'_>, direction: Direction, ue: UeId, cell: CellId, packet: PacketRef) {
        if self.has_secondary_node(ue) {
            return self.enter_split(cx, direction, ue, packet);
        }
        if self.handover.is_some() {
            return self.receive_packet(cx, direction, ue, cell, packet);
        }
        let index = ue.index();
        self.skip_idle_slots(cx.now);
        let ue = &mut self.ues[index];
        let cell = &mut self.cells[ue.cell().index()];
        let queue = || (ue.bearers.queue(Direction::Downlink), cell.config.buffers());
        if !cell.restrictions.admits(cx.now, ue.id.0, direction, queue) {
            return cx.discard(packet, DropCause::QueueManagement);
        }
        ue.bearers.submit(cx, direction, packet);
        if let Some(at) = ue.bearers.next_timeout() {
            self.bearers_due = self.bearers_due.min(at);
        }
        if direction == Direction::Downlink && ue.listens_from(cx.now) > cx.now {
            self.touched.push(ue.id.0);
            return self.wake_touched(cx);
        }
        let Ue { id, bearers, links, .. } = ue;
        let wakes_others = links.may_wake_others(direction);
        let link = links.primary_mut();
        match direction {
            Direction::Downlink => cell.downlink.accept(*id, link, bearers, cx.now),
            Direction::Uplink => cell.uplink.activate(*id, link),
        }
        self.busy = true;
        if wakes_others {
            self.use_carriers(cx, index);
        }
    }
}

impl Node for RadioNetwork {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        if port == Self::BACKHAUL {
            return self.enter_backhaul(cx, packet);
        }
        self.take_arrived(cx, cx.now);
        if let Some(packet) = self.begin_processing(cx.now, port, packet) {
            self.receive(cx, port, packet);
        }
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        match self.dual.as_ref().map(|dual| dual.names()) {
            Some(names) => names.observe(cx, |cx| self.handle_due(cx)),
            None => self.handle_due(cx),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let mut next = self.next_work().min(self.next_arrival()).min(self.next_report()).min(self.plan.due());
        next = next.min(self.next_processed()).min(self.alarms.due());
        if let Some(handover) = &self.handover {
            next = next.min(handover.due());
        }
        if let Some(connections) = &self.connections {
            next = next.min(connections.due());
        }
        if let Some(dual) = &self.dual {
            next = next.min(dual.due());
        }
        (next != Instant::FAR_FUTURE).then_some(next)
    }

    fn packets_held(&self) -> usize {
        let bearers: usize = self.ues.iter().map(|ue| ue.bearers.packets_held()).sum();
        bearers
            + self.handover.as_ref().map_or(0, |h| h.packets_held())
            + self.connections.as_ref().map_or(0, |connections| connections.packets_held())
            + self.backhaul.as_ref().map_or(0, |backhaul| backhaul.packets_held())
            + self.processing.as_ref().map_or(0, |processing| processing.packets_held())
            + self.dual.as_ref().map_or(0, |dual| dual.packets_held())
    }
}

impl RadioNetwork {
    /// Handles everything that is due.
    #[inline]
    fn handle_due(&mut self, cx: &mut Cx<'_>) {
        let called = cx.now;
        loop {
            let work = self.next_work();
            let until = work.min(called);
            if self.plan.due() <= until && self.plan.due() < self.handovers_due() {
                self.change_service(cx);
                continue;
            }
            // A handover may create work for an earlier slot.
            let first = cx.outbox.len();
            if self.handover.is_some() && self.hand_over(cx, until) {
                self.process_received(cx, first);
                continue;
            }
            if self.take_arrived(cx, until) || self.take_processed(cx, until) {
                continue;
            }
            if self.connect_due(cx, until) {
                continue;
            }
            let first = cx.outbox.len();
            if self.dual.is_some() && self.serve_split_due(cx, until) {
                self.process_received(cx, first);
                continue;
            }
            if self.alarms.due() <= until {
                self.ring(&mut cx.at(self.alarms.due()));
                continue;
            }
            if work > called {
                break;
            }
            self.report_until(cx, work);
            let mut cx = cx.at(work);
            let first = cx.outbox.len();
            self.process(&mut cx);
            self.process_received(&mut cx, first);
        }
        self.report_until(cx, called);
        self.look_ahead(cx);
    }
}

/// A network may move to another thread.
const _: () = {
    const fn is_send<T: Send>() {}
    is_send::<RadioNetwork>();
};
