//! PDCP of NR above the two legs of a bearer: COUNTs, routing, data recovery and reordering (TS 38.323 v17).
//!
//! *Downlink.* SDUs wait in the queue of PDCP, whose discipline and limit are those of the PSCell. An SDU gets its COUNT when a
//! node desires data. Where both do, it goes to the one that would deliver it first.
//!
//! *Uplink.* The UE gives each PDU at once to the RLC entity of a leg (TS 38.323 §5.2.1): to that of the primary path, or, if
//! the data in both reach ul-DataSplitThreshold, to the one with less data.
//!
//! *The SCG is lost.* PDUs that were given to it and were not delivered go to the MCG in the order of their COUNTs (§5.5).
//! Those that were delivered without a confirmation are not sent again: the status report of PDCP, which data recovery
//! triggers (§5.4.1), confirms them. The other node continues after the delay of X2, over which the data are forwarded.
//!
//! The COUNT of a packet is noted in the pool, so that legs need not know it.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{Bytes, CellId, Cx, Direction, DropCause, Duration, Instant, PacketRef, Stream, UeId};

use super::flow_control::{Leg, Node, Status};
use super::link::Passage;
use super::{BearerType, CellGroup, InterNodeLink, ScgAtHandover, SecondaryNodeConfig};
use crate::bearer::{BearerConfig, RlcConfig};
use crate::bearers::way;
use crate::pdcp::nr::{Receiver, ReorderingConfig};
use crate::rlc::queue::TransmitQueue;

/// How often the master node reports at most: choice; half a frame. The time between reports is not specified.
const REPORT_PERIOD: Duration = Duration::from_millis(5);

/// The PDUs and SDUs that a bearer gives to RLC and to the upper layers.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// PDUs for a leg.
    pub(crate) to_legs: Vec<(CellGroup, Direction, PacketRef)>,
    /// SDUs for the upper layers, by direction.
    pub(crate) delivered: [Vec<PacketRef>; 2],
}

/// The bearer of a UE with a secondary node: both ends of both directions.
#[derive(Debug)]
pub(crate) struct SplitBearer {
    config: SecondaryNodeConfig,
    /// The cell groups of the UE.
    legs: [UeId; 2],
    /// Whether there is an SCG.
    has_scg: bool,
    /// False while the UE is between two master nodes.
    has_mcg: bool,
    /// SDUs of the downlink without a COUNT.
    queue: TransmitQueue,
    /// PDUs of the downlink that must be sent again, by COUNT.
    again: BTreeMap<u32, PacketRef>,
    /// TX_NEXT, by direction.
    next: [u32; 2],
    /// The downlink of each leg: what PDCP knows, and what its node knows.
    flow: [Leg; 2],
    nodes: [Node; 2],
    /// X2 or Xn from and to the secondary node.
    to_master: Passage,
    from_master: Passage,
    /// Reports of the master node on their way, and when they arrive.
    reports: VecDeque<(Instant, Status)>,
    /// When it sends the next one, and when it may.
    report_at: Instant,
    may_report_at: Instant,
    /// By direction.
    receivers: [Receiver; 2],
    /// Byte limit of the uplink.
    uplink_buffer: Bytes,
    /// PDCP is on its way to another node until then.
    moves_until: Instant,
}

impl SplitBearer {
    /// A bearer of a UE without an SCG. `secondary` is the bearer of a cell that can be its PSCell.
    pub(crate) fn new(
        config: &SecondaryNodeConfig,
        legs: [UeId; 2],
        secondary: &BearerConfig,
        stream: impl FnOnce() -> Stream,
    ) -> Self {
        let reordering = ReorderingConfig { t_reordering: config.t_reordering, out_of_order: false };
        let node = |link, period, group| Node::new(link, period, group, config.kind);
        let sdap = match &super::leg(secondary, config.kind).rlc {
            RlcConfig::Nr(nr) => nr.sdap.size(Direction::Downlink),
            RlcConfig::Tm | RlcConfig::Um(_) | RlcConfig::Am(_) => 0,
        };
        Self {
            config: config.clone(),
            legs,
            has_scg: false,
            has_mcg: true,
            queue: TransmitQueue::new(secondary.buffer, &secondary.aqm, &secondary.pdcp, sdap, stream),
            again: BTreeMap::new(),
            next: [0; 2],
            flow: [Leg::default(), Leg::default()],
            nodes: [
                node(config.x2.delay, REPORT_PERIOD, CellGroup::Master),
                node(Duration::ZERO, Duration::ZERO, CellGroup::Secondary),
            ],
            to_master: Passage::default(),
            from_master: Passage::default(),
            reports: VecDeque::new(),
            report_at: Instant::FAR_FUTURE,
            may_report_at: Instant::ZERO,
            receivers: [Receiver::new(&reordering), Receiver::new(&reordering)],
            uplink_buffer: secondary.buffer,
            moves_until: Instant::ZERO,
        }
    }

    /// The UE in the slots of the cell of a cell group.
    pub(crate) const fn leg(&self, group: CellGroup) -> UeId {
        self.legs[group as usize]
    }

    /// The cell group of a leg.
    pub(crate) fn group_of(&self, leg: UeId) -> CellGroup {
        if self.legs[0] == leg { CellGroup::Master } else { CellGroup::Secondary }
    }

    /// Whether a cell can be the PCell of the UE.
    pub(crate) fn can_be_master(&self, cell: CellId) -> bool {
        self.config.masters.contains(&cell)
    }

    pub(crate) const fn has_scg(&self) -> bool {
        self.has_scg
    }

    /// Whether a handover of the master node keeps the SCG.
    pub(crate) fn keeps_scg(&self) -> bool {
        self.config.at_handover == ScgAtHandover::Keep
    }

    /// X2 between PDCP and the RLC entity of the MCG.
    fn x2(&self) -> Option<&InterNodeLink> {
        self.has_scg.then_some(&self.config.x2)
    }

    /// Whether the downlink has data that no leg has.
    pub(crate) fn has_backlog(&self) -> bool {
        self.queue.len() > 0 || !self.again.is_empty()
    }

    /// Bytes of SDUs in PDCP.
    pub(crate) fn downlink_queue(&self) -> Bytes {
        Bytes(self.queue.backlog())
    }

    /// The cell groups that the bearer may use.
    fn allows(&self, group: CellGroup) -> bool {
        if group == CellGroup::Master && !self.has_mcg {
            return false;
        }
        match self.config.bearer {
            BearerType::Mcg => group == CellGroup::Master,
            BearerType::Scg => (group == CellGroup::Secondary) == self.has_scg,
            BearerType::Split => group == CellGroup::Master || self.has_scg,
        }
    }

    /// An SDU of the downlink arrives.
    pub(crate) fn submit_downlink(&mut self, cx: &mut Cx<'_>, packet: PacketRef, out: &mut Output) {
        self.queue.enqueue(cx, packet, 0);
        self.feed(cx, out);
    }

    /// An SDU of the uplink arrives, while the legs have these amounts of data.
    pub(crate) fn submit_uplink(
        &mut self,
        cx: &mut Cx<'_>,
        packet: PacketRef,
        backlogs: [Bytes; 2],
        out: &mut Output,
    ) {
        let total = backlogs[0] + backlogs[1];
        if total + cx.pool.get(&packet).size > self.uplink_buffer {
            return cx.discard(packet, DropCause::QueueFull);
        }
        let [master, secondary] = CellGroup::BOTH.map(|group| self.allows(group));
        let splits = self.config.uplink_split_threshold.is_some_and(|threshold| total >= threshold);
        let group = match (master, secondary) {
            // Without a cell group, RLC of the MCG keeps the data.
            (_, false) => CellGroup::Master,
            (false, true) => CellGroup::Secondary,
            (true, true) if splits && backlogs[0] <= backlogs[1] => CellGroup::Master,
            (true, true) if splits => CellGroup::Secondary,
            (true, true) => self.config.uplink,
        };
        let now = cx.now;
        self.number(cx, Direction::Uplink, &packet, now);
        out.to_legs.push((group, Direction::Uplink, packet));
    }

    /// Gives a COUNT to an SDU that entered PDCP at this time.
    fn number(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: &PacketRef, entered: Instant) {
        let next = &mut self.next[way(direction)];
        cx.pool.note_count(packet, *next, entered);
        *next += 1;
    }

    /// Gives data of the downlink to the nodes that desire some.
    pub(crate) fn feed(&mut self, cx: &mut Cx<'_>, out: &mut Output) {
        if cx.now < self.moves_until {
            return;
        }
        while self.has_backlog()
            && let Some(group) = self.choose()
        {
            let packet = match self.again.pop_first() {
                Some((_, packet)) => packet,
                None => {
                    let Some(waiting) = self.queue.dequeue(cx) else { break };
                    self.number(cx, Direction::Downlink, &waiting.packet, waiting.since);
                    waiting.packet
                }
            };
            let size = cx.pool.get(&packet).size;
            self.flow[group as usize].send(size.get());
            match group {
                CellGroup::Master => {
                    let x2 = self.has_scg.then_some(&self.config.x2);
                    self.to_master.enter(cx.now, x2, packet, size);
                    self.arrive_at_master(cx, out);
                }
                CellGroup::Secondary => {
                    self.nodes[group as usize].arrive(cx.now, size.get());
                    out.to_legs.push((group, Direction::Downlink, packet));
                }
            }
        }
    }

    /// The leg that desires data and would deliver first: the secondary node if both are equal.
    fn choose(&self) -> Option<CellGroup> {
        let wait = |group: CellGroup| {
            let link = if group == CellGroup::Master {
                self.x2().map_or(Duration::ZERO, |x2| x2.delay)
            } else {
                Duration::ZERO
            };
            self.flow[group as usize].wait(link)
        };
        let desires = |group: &CellGroup| self.allows(*group) && self.flow[*group as usize].has_room();
        let groups = [CellGroup::Secondary, CellGroup::Master].into_iter().filter(desires);
        groups.min_by(|one, other| wait(*one).total_cmp(&wait(*other)))
    }

    /// PDUs leave X2 towards the master node.
    fn arrive_at_master(&mut self, cx: &Cx<'_>, out: &mut Output) {
        while let Some(packet) = self.to_master.leave(cx.now) {
            self.nodes[0].arrive(cx.now, cx.pool.get(&packet).size.get());
            out.to_legs.push((CellGroup::Master, Direction::Downlink, packet));
        }
    }

    /// PDUs leave X2 towards the secondary node.
    fn arrive_from_master(&mut self, cx: &mut Cx<'_>, out: &mut Output) {
        while let Some(packet) = self.from_master.leave(cx.now) {
            self.receive(cx, Direction::Uplink, packet, out);
        }
    }

    /// RLC of a leg has delivered a PDU.
    pub(crate) fn take_from_leg(
        &mut self,
        cx: &mut Cx<'_>,
        group: CellGroup,
        direction: Direction,
        packet: PacketRef,
        out: &mut Output,
    ) {
        let size = cx.pool.get(&packet).size;
        match direction {
            Direction::Downlink => {
                self.nodes[group as usize].deliver(cx.now, size.get());
                self.report(cx.now, group);
                self.receive(cx, direction, packet, out);
            }
            Direction::Uplink if group == CellGroup::Master => {
                let x2 = self.has_scg.then_some(&self.config.x2);
                self.from_master.enter(cx.now, x2, packet, size);
                self.arrive_from_master(cx, out);
            }
            Direction::Uplink => self.receive(cx, direction, packet, out),
        }
    }

    fn receive(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef, out: &mut Output) {
        let (count, _) = cx.pool.count_of(&packet);
        let way = way(direction);
        self.receivers[way].receive(cx, count, Some(packet), &mut out.delivered[way]);
    }

    /// The node of a leg has news: at once where PDCP is, and otherwise in a report.
    fn report(&mut self, now: Instant, group: CellGroup) {
        let leg = group as usize;
        if group == CellGroup::Master && self.has_scg {
            self.report_at = self.report_at.min(now.max(self.may_report_at));
        } else {
            self.flow[leg].update(self.nodes[leg].status(now));
        }
    }

    /// When the next PDU, report or timer is due.
    pub(crate) fn due(&self) -> Instant {
        let report = self.reports.front().map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        let timers =
            self.receivers.iter().map(Receiver::next_timeout).fold(self.queue.expires_at(), Instant::min);
        let moves = if self.has_backlog() && self.moves_until > Instant::ZERO {
            self.moves_until
        } else {
            Instant::FAR_FUTURE
        };
        [self.to_master.due(), self.from_master.due(), report, self.report_at, moves]
            .into_iter()
            .fold(timers, Instant::min)
    }

    /// Handles what is due.
    pub(crate) fn handle_timeout(&mut self, cx: &mut Cx<'_>, out: &mut Output) {
        let now = cx.now;
        if self.moves_until <= now {
            self.moves_until = Instant::ZERO;
        }
        self.arrive_at_master(cx, out);
        self.arrive_from_master(cx, out);
        while let Some((at, status)) = self.reports.front().copied()
            && at <= now
        {
            let _ = self.reports.pop_front();
            self.flow[0].update(status);
        }
        if self.report_at <= now {
            self.report_at = Instant::FAR_FUTURE;
            self.may_report_at = now + REPORT_PERIOD;
            let status = self.nodes[0].status(now);
            self.reports.push_back((now + self.config.x2.delay, status));
        }
        for (receiver, delivered) in self.receivers.iter_mut().zip(&mut out.delivered) {
            if receiver.next_timeout() <= now {
                receiver.handle_timeout(now, delivered);
            }
        }
        self.queue.expire(cx);
        self.feed(cx, out);
    }

    /// The SCG is released, or has failed, with these PDUs of both directions that it has not delivered. PDCP of the network
    /// learns it after `informed`.
    pub(crate) fn lose_scg(
        &mut self,
        cx: &mut Cx<'_>,
        undelivered: [Vec<PacketRef>; 2],
        informed: Duration,
        out: &mut Output,
    ) {
        self.has_scg = false;
        self.flow[1].clear();
        self.nodes[1].clear();
        let [downlink, uplink] = undelivered;
        let count = |packet: &PacketRef| cx.pool.count_of(packet).0;
        self.again.extend(downlink.into_iter().map(|packet| (count(&packet), packet)));
        let mut uplink: Vec<_> = uplink.into_iter().map(|packet| (count(&packet), packet)).collect();
        uplink.sort_by_key(|(count, _)| *count);
        out.to_legs
            .extend(uplink.into_iter().map(|(_, packet)| (CellGroup::Master, Direction::Uplink, packet)));
        self.move_pdcp(cx.now, informed);
    }

    /// The UE leaves its master node with these PDUs of both directions that the MCG has not delivered. It has no SCG. PDCP and
    /// the data of the downlink move to the target over X2.
    pub(crate) fn lose_mcg(&mut self, cx: &mut Cx<'_>, undelivered: [Vec<PacketRef>; 2], out: &mut Output) {
        debug_assert!(!self.has_scg, "the SCG is left before");
        self.has_mcg = false;
        for packet in self.to_master.drain() {
            self.nodes[0].arrive(cx.now, cx.pool.get(&packet).size.get());
            self.again.insert(cx.pool.count_of(&packet).0, packet);
        }
        self.flow[0].clear();
        self.nodes[0].clear();
        self.reports.clear();
        self.report_at = Instant::FAR_FUTURE;
        let [downlink, mut uplink] = undelivered;
        let count = |packet: &PacketRef| cx.pool.count_of(packet).0;
        self.again.extend(downlink.into_iter().map(|packet| (count(&packet), packet)));
        uplink.sort_by_key(count);
        out.to_legs.extend(uplink.into_iter().map(|packet| (CellGroup::Master, Direction::Uplink, packet)));
        self.move_pdcp(cx.now, Duration::ZERO);
    }

    /// A master node serves the UE.
    pub(crate) fn regain_mcg(&mut self) {
        self.has_mcg = true;
    }

    /// Packets and bytes of the downlink in PDCP.
    pub(crate) fn waiting(&self, cx: &Cx<'_>) -> (u64, Bytes) {
        let again: u64 = self.again.values().map(|packet| cx.pool.get(packet).size.get()).sum();
        ((self.queue.len() + self.again.len()) as u64, Bytes(self.queue.backlog() + again))
    }

    /// The UE has an SCG.
    pub(crate) fn add_scg(&mut self, now: Instant) {
        self.has_scg = true;
        if now > Instant::ZERO {
            self.move_pdcp(now, Duration::ZERO);
        }
    }

    /// PDCP moves to the other node, over X2.
    fn move_pdcp(&mut self, now: Instant, after: Duration) {
        self.moves_until = now + after + self.config.x2.delay;
        let status = self.nodes[0].status(now);
        self.reports.push_back((self.moves_until, status));
    }

    /// Packets held.
    pub(crate) fn packets_held(&self) -> usize {
        let received: usize = self.receivers.iter().map(Receiver::held).sum();
        self.queue.len() + self.again.len() + self.to_master.len() + self.from_master.len() + received
    }

    /// Discards all packets: the UE is removed.
    pub(crate) fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        let mut packets = Vec::new();
        self.queue.drain(cx, |waiting| packets.push(waiting.packet));
        packets.extend(core::mem::take(&mut self.again).into_values());
        packets.extend(self.to_master.drain());
        packets.extend(self.from_master.drain());
        for (receiver, next) in self.receivers.iter_mut().zip(self.next) {
            receiver.end(next, &mut packets);
        }
        packets.into_iter().for_each(|packet| cx.discard(packet, cause));
        self.reports.clear();
        self.report_at = Instant::FAR_FUTURE;
    }
}
