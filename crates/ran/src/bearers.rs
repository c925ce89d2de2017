//! The bearers of a UE: the default one, perhaps one for L4S, and dedicated ones of QoS classes.
//!
//! The traffic flow templates of a dedicated bearer match the packets of certain flows, downlink and uplink; those of the
//! L4S bearer match packets with ECT(1) or CE too. All other packets use the default bearer. Each bearer has its own PDCP
//! and RLC and its own logical channel (`dedicated`).
//!
//! Bearers of NR are those of as many QoS flows, which [`sdap`](crate::sdap) maps to them, with the same filters.
//!
//! The scheduler sees one backlog per UE, the sum; a policy that respects QoS sees the bearers. The queues of the bearers
//! are not coupled, unlike those of [`dualpi2`](airlane_net::dualpi2) in one bearer.

use airlane_core::{BitRate, Bytes, Cx, Direction, DropCause, Duration, FlowId, Instant, PacketRef, Stream};
use airlane_net::queue::Waiting;

use crate::bearer::{BearerConfig, Departure, HandoverMode, HandoverStatistics, RadioBearer};
use crate::pdcp::NumberedSdu;
use crate::qos::{BearerDemand, QosClass};
use crate::rlc::Pdu;
use crate::sdap::Qfi;
use crate::x2::{ForwardingTarget, SnStatusTransfer};

mod bucket;
mod dedicated;
mod signalling;

use dedicated::DedicatedBearers;
use signalling::{Signalling, SignallingPdu};

/// The EPS bearer identity of the default bearer (TS 24.007 §11.2.3.1.5: 5 to 15). Others follow.
pub(crate) const DEFAULT_BEARER: u8 = 5;

/// A bearer for packets with ECT(1) or CE, and its priorities and those of the default bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct L4sBearerConfig {
    /// The bearer itself.
    pub bearer: BearerConfig,
    /// Prioritised bit rate of its logical channel, which has the higher priority.
    pub rate: BitRate,
    /// Prioritised bit rate of the default bearer's logical channel.
    pub default_rate: BitRate,
    /// Bucket size duration of both.
    pub bucket: Duration,
}

/// The bearer of a QoS class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DedicatedBearerConfig {
    /// Its class.
    pub class: QosClass,
    /// Guaranteed bit rate of either direction (GBR, GFBR), of classes that have one.
    pub guaranteed: Option<BitRate>,
    /// Maximum bit rate of either direction (MBR, MFBR); packets above it are discarded.
    pub maximum: Option<BitRate>,
}

/// A transport block: the RLC PDUs of the bearers of a UE.
#[derive(Debug, Default)]
pub(crate) struct MacPdu {
    pdus: Vec<Pdu>,
    /// For a UE with several bearers, the place of each and the end of its PDUs, in their order.
    ends: Vec<(u8, usize)>,
    signalling: Option<SignallingPdu>,
}

impl MacPdu {
    pub(crate) fn with_capacity(pdus: usize) -> Self {
        Self { pdus: Vec::with_capacity(pdus), ends: Vec::new(), signalling: None }
    }

    pub(crate) fn clear(&mut self) {
        self.pdus.clear();
        self.ends.clear();
        self.signalling = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pdus.is_empty() && self.signalling.is_none()
    }

    /// The PDUs of the bearer at this place are complete.
    fn end_of(&mut self, place: u8) {
        self.ends.push((place, self.pdus.len()));
    }

    /// The PDUs of each bearer that has any, in their order.
    fn by_bearer(&self) -> impl Iterator<Item = (u8, &[Pdu])> {
        let mut begin = 0;
        let parts = self.ends.iter().map(move |&(place, end)| {
            let part = &self.pdus[begin..end];
            begin = end;
            (place, part)
        });
        parts.filter(|(_, pdus)| !pdus.is_empty())
    }
}

/// The place of a direction.
pub(crate) const fn way(direction: Direction) -> usize {
    match direction {
        Direction::Downlink => 0,
        Direction::Uplink => 1,
    }
}

/// The bearers of one UE.
#[derive(Debug)]
pub(crate) struct Bearers {
    default: RadioBearer,
    /// `None` for a UE that has the default bearer alone, and no limit of its rate.
    dedicated: Option<Box<DedicatedBearers>>,
    /// `None` for a UE that is always connected.
    signalling: Option<Box<Signalling>>,
}

impl Bearers {
    /// Bearers in their initial state. `stream` gives the random stream of a transmit queue by its name.
    pub(crate) fn new(
        config: &BearerConfig,
        l4s: Option<&L4sBearerConfig>,
        has_signalling: bool,
        now: Instant,
        stream: impl Fn(&str) -> Stream,
    ) -> Self {
        let dedicated = l4s.map(|config| {
            let stream = |way| stream(&format!("l4s/{}", name(way)));
            Box::new(DedicatedBearers::with_l4s(config, now, stream))
        });
        let signalling = has_signalling.then(Box::default);
        Self { default: RadioBearer::new(config, |way| stream(name(way))), dedicated, signalling }
    }

    /// Sets up the bearer of a class for the packets of a flow, or adds the flow to it. `config` makes the configuration of
    /// the bearer, and `stream` the random stream of a transmit queue by its name.
    pub(crate) fn set_up(
        &mut self,
        flow: FlowId,
        qos: &DedicatedBearerConfig,
        now: Instant,
        config: impl FnOnce() -> BearerConfig,
        stream: impl Fn(&str) -> Stream,
    ) {
        let stream = |way| stream(&format!("qi/{}/{}", qos.class.qi, name(way)));
        self.dedicated_mut(now).set_up(flow, qos, now, config, stream);
    }

    /// Limits the rates of the bearers without guaranteed bit rate together, downlink and uplink (AMBR).
    pub(crate) fn limit_aggregate(&mut self, rates: [Option<BitRate>; 2], now: Instant) {
        self.dedicated_mut(now).limit_aggregate(rates, now);
    }

    fn dedicated_mut(&mut self, now: Instant) -> &mut DedicatedBearers {
        self.dedicated.get_or_insert_with(|| Box::new(DedicatedBearers::new(now)))
    }

    fn each(&self) -> impl Iterator<Item = &RadioBearer> {
        let dedicated = self.dedicated.iter().flat_map(|dedicated| &dedicated.bearers);
        core::iter::once(&self.default).chain(dedicated.map(|one| &one.bearer))
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut RadioBearer> {
        let dedicated = self.dedicated.iter_mut().flat_map(|dedicated| &mut dedicated.bearers);
        core::iter::once(&mut self.default).chain(dedicated.map(|one| &mut one.bearer))
    }

    /// The bearer at a place, of which 0 is that of the default bearer.
    fn at(&mut self, place: u8) -> &mut RadioBearer {
        match (place.checked_sub(1), &mut self.dedicated) {
            (Some(place), Some(dedicated)) => &mut dedicated.bearers[usize::from(place)].bearer,
            _ => &mut self.default,
        }
    }

    /// Gives the packets of a flow to a QoS flow, whatever their ECN field.
    pub(crate) fn map_flow(&mut self, flow: FlowId, to: Qfi) {
        if let Some(dedicated) = &mut self.dedicated {
            dedicated.map_to_qos_flow(flow, to);
        }
    }

    /// [`RadioBearer::submit`], to the bearer whose template matches.
    #[inline]
    pub(crate) fn submit(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef) {
        if self.dedicated.is_none() {
            return self.default.submit(cx, direction, packet);
        }
        self.submit_to_one(cx, direction, packet);
    }

    /// [`Self::submit`], for a UE with several bearers or a limit of its rate.
    fn submit_to_one(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef) {
        let Some(dedicated) = &mut self.dedicated else { return };
        let content = cx.pool.get(&packet);
        let place = dedicated.place_for(content);
        if !dedicated.admits(place, direction, content.size, cx.now) {
            return cx.discard(packet, DropCause::QueueManagement);
        }
        self.at(place).submit(cx, direction, packet);
    }

    /// [`RadioBearer::certain_room`]; 0 if a packet may be for another bearer than the default one.
    #[inline]
    pub(crate) fn certain_room(&self, direction: Direction) -> u64 {
        if self.dedicated.is_none() { self.default.certain_room(direction) } else { 0 }
    }

    /// [`RadioBearer::store`], in the default bearer.
    #[inline]
    pub(crate) fn store(&mut self, direction: Direction, arrived: Waiting) -> bool {
        self.default.store(direction, arrived)
    }

    /// The bytes that a packet counts in the queue of the default bearer.
    #[inline]
    pub(crate) fn sdu_size(&self, packet: Bytes) -> u32 {
        self.default.sdu_size(packet)
    }

    /// True if the downlink queue of a bearer has ABC's marks.
    pub(crate) fn needs_capacity(&self) -> bool {
        self.each().any(RadioBearer::needs_capacity)
    }

    /// The downlink of the UE could have this rate from `now` on, in bytes per second.
    pub(crate) fn report_capacity(&mut self, now: Instant, rate: f64) {
        self.each_mut().for_each(|bearer| bearer.report_capacity(now, rate));
    }

    /// [`RadioBearer::backlog`], the sum.
    #[inline(always)]
    pub(crate) fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        let of_default = self.default.backlog(direction, now);
        let of_data = match &self.dedicated {
            Some(dedicated) => {
                let others = dedicated.bearers.iter().map(|one| one.bearer.backlog(direction, now));
                others.fold(of_default, |sum, one| sum + one)
            }
            None => of_default,
        };
        match &self.signalling {
            Some(signalling) => of_data + signalling.backlog(direction),
            None => of_data,
        }
    }

    /// [`RadioBearer::has_backlog`], of any of them.
    #[inline(always)]
    pub(crate) fn has_backlog(&self, direction: Direction, now: Instant) -> bool {
        self.default.has_backlog(direction, now)
            || self.dedicated.as_ref().is_some_and(|dedicated| {
                dedicated.bearers.iter().any(|one| one.bearer.has_backlog(direction, now))
            })
            || self.signalling.as_ref().is_some_and(|bearers| bearers.backlog(direction) > Bytes::ZERO)
    }

    /// [`RadioBearer::transmit`], of both logical channels.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        grant: Bytes,
        block: &mut MacPdu,
    ) -> Bytes {
        let mut of_signalling = Bytes::ZERO;
        if let Some((pdu, used)) = self.signalling.as_mut().and_then(|s| s.transmit(direction, grant)) {
            (block.signalling, of_signalling) = (Some(pdu), used);
        }
        let grant = grant - of_signalling;
        let of_data = match &mut self.dedicated {
            Some(dedicated) => dedicated.multiplex(&mut self.default, cx, direction, grant, block),
            None => self.default.transmit(cx, direction, grant, &mut block.pdus),
        };
        of_signalling + of_data
    }

    /// [`RadioBearer::receive`], demultiplexed.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        block: &MacPdu,
        deliver: &mut Vec<PacketRef>,
    ) {
        if let (Some(signalling), Some(pdu)) = (&mut self.signalling, block.signalling) {
            signalling.receive(direction, pdu);
        }
        if block.ends.is_empty() {
            return self.default.receive(cx, direction, &block.pdus, deliver);
        }
        for (place, pdus) in block.by_bearer() {
            self.at(place).receive(cx, direction, pdus, deliver);
        }
    }

    /// [`RadioBearer::lose`].
    pub(crate) fn lose(&mut self, cx: &mut Cx<'_>, direction: Direction, block: &MacPdu) {
        if let (Some(signalling), Some(pdu)) = (&mut self.signalling, block.signalling) {
            signalling.lose(direction, pdu);
        }
        if block.ends.is_empty() {
            return self.default.lose(cx, direction, &block.pdus);
        }
        for (place, pdus) in block.by_bearer() {
            self.at(place).lose(cx, direction, pdus);
        }
    }

    /// Sends a message over the signalling bearers, in place of one on its way.
    pub(crate) fn submit_signalling(&mut self, direction: Direction, message: u8, bytes: u32) {
        if let Some(signalling) = &mut self.signalling {
            signalling.submit(direction, message, bytes);
        }
    }

    /// The message that has arrived over the signalling bearers in a direction, once.
    pub(crate) fn take_message(&mut self, direction: Direction) -> Option<u8> {
        self.signalling.as_mut()?.take_arrived(direction)
    }

    /// Forgets the messages of the signalling bearers.
    pub(crate) fn clear_signalling(&mut self) {
        if let Some(signalling) = &mut self.signalling {
            signalling.clear();
        }
    }

    /// The MAC was reset: parts of messages that were on the air are lost.
    pub(crate) fn lose_signalling(&mut self) {
        if let Some(signalling) = &mut self.signalling {
            signalling.lose_all();
        }
    }

    /// [`RadioBearer::release`], of the only bearer.
    pub(crate) fn release(&mut self, cx: &mut Cx<'_>) -> [Vec<PacketRef>; 2] {
        assert!(self.dedicated.is_none(), "a leg of a split bearer has no other bearer beside it");
        self.default.release(cx)
    }

    /// [`RadioBearer::discard`].
    pub(crate) fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        self.each_mut().for_each(|bearer| bearer.discard(cx, cause));
    }

    /// [`RadioBearer::next_timeout`], the earliest.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match &self.dedicated {
            Some(_) => self.each().filter_map(RadioBearer::next_timeout).min(),
            None => self.default.next_timeout(),
        }
    }

    /// [`RadioBearer::handle_timeout`].
    pub(crate) fn handle_timeout(
        &mut self,
        cx: &mut Cx<'_>,
        downlink: &mut Vec<PacketRef>,
        uplink: &mut Vec<PacketRef>,
    ) {
        self.each_mut().for_each(|bearer| bearer.handle_timeout(cx, downlink, uplink));
    }

    /// Packets held.
    pub(crate) fn packets_held(&self) -> usize {
        self.each().map(RadioBearer::packets_held).sum()
    }

    /// [`RadioBearer::queue`], the sum.
    #[inline]
    pub(crate) fn queue(&self, direction: Direction) -> Bytes {
        match &self.dedicated {
            Some(_) => self.each().fold(Bytes::ZERO, |sum, bearer| sum + bearer.queue(direction)),
            None => self.default.queue(direction),
        }
    }

    /// [`RadioBearer::radio_link_failures`], the sum.
    pub(crate) fn radio_link_failures(&self, direction: Direction) -> u64 {
        self.each().map(|bearer| bearer.radio_link_failures(direction)).sum()
    }

    /// [`RadioBearer::suspend`].
    pub(crate) fn suspend(&mut self) {
        self.each_mut().for_each(RadioBearer::suspend);
    }

    /// [`RadioBearer::resume`].
    pub(crate) fn resume(&mut self) {
        self.each_mut().for_each(RadioBearer::resume);
    }

    /// [`RadioBearer::leave`], of all bearers.
    pub(crate) fn leave(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.default.leave(cx, mode, out);
        if let Some(dedicated) = &mut self.dedicated {
            dedicated
                .depart(out, |bearer, departure| bearer.leave(cx, bearer.handover_mode(mode), departure));
        }
    }

    /// [`RadioBearer::begin_anew`], of all bearers.
    pub(crate) fn begin_anew(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.default.begin_anew(cx, mode, out);
        if let Some(dedicated) = &mut self.dedicated {
            dedicated.depart(out, |bearer, departure| {
                bearer.begin_anew(cx, bearer.handover_mode(mode), departure)
            });
        }
    }

    /// [`RadioBearer::arrive`].
    pub(crate) fn arrive(&mut self, cx: &mut Cx<'_>) {
        self.each_mut().for_each(|bearer| bearer.arrive(cx));
    }

    /// True until the SN STATUS TRANSFERs of all bearers have arrived.
    pub(crate) fn awaits_sn_status(&self) -> bool {
        self.each().any(RadioBearer::awaits_sn_status)
    }

    /// [`RadioBearer::handover_statistics`], the sum.
    pub(crate) fn handover_statistics(&self) -> HandoverStatistics {
        let each = self.each().map(RadioBearer::handover_statistics);
        each.fold(HandoverStatistics::default(), HandoverStatistics::plus)
    }

    /// The bearer with this identity.
    fn by_e_rab(&mut self, e_rab: u8) -> &mut RadioBearer {
        self.at(e_rab - DEFAULT_BEARER)
    }

    /// Appends the demands of the bearers in the downlink, for a scheduler policy. Those of signalling count as the default
    /// bearer's.
    pub(crate) fn demands(&mut self, now: Instant, out: &mut Vec<BearerDemand>) {
        let direction = Direction::Downlink;
        let of_signalling = self.signalling.as_ref().map_or(Bytes::ZERO, |all| all.backlog(direction));
        let backlog = self.default.backlog(direction, now) + of_signalling;
        if backlog > Bytes::ZERO {
            let waited = self.default.head_of_line(direction, now);
            out.push(BearerDemand { class: QosClass::DEFAULT, backlog, waited, guaranteed: Bytes::ZERO });
        }
        if let Some(dedicated) = &mut self.dedicated {
            dedicated.demands(now, out);
        }
    }
}

/// The name of a direction in those of random streams.
const fn name(direction: Direction) -> &'static str {
    match direction {
        Direction::Downlink => "downlink",
        Direction::Uplink => "uplink",
    }
}

impl ForwardingTarget for Bearers {
    fn fresh(&mut self, cx: &Cx<'_>, packet: PacketRef) -> NumberedSdu {
        let Some(dedicated) = &self.dedicated else { return self.default.fresh(cx, packet) };
        let place = dedicated.place_for(cx.pool.get(&packet));
        NumberedSdu { e_rab: DEFAULT_BEARER + place, ..self.at(place).fresh(cx, packet) }
    }

    fn accept_forwarded(&mut self, cx: &mut Cx<'_>, sdu: NumberedSdu) {
        self.by_e_rab(sdu.e_rab).accept_forwarded(cx, sdu);
    }

    fn accept_sn_status(&mut self, cx: &mut Cx<'_>, status: &SnStatusTransfer) {
        self.by_e_rab(status.e_rab).accept_sn_status(cx, status);
    }
}

#[cfg(test)]
mod tests;
