//! The bearers of a UE: the default one, and perhaps a dedicated one for L4S.
//!
//! The traffic flow templates of the L4S bearer, downlink and uplink, match packets with ECT(1) or CE, or packets of
//! certain flows; all others use the default bearer. Each bearer has its own PDCP and RLC and its own logical channel. A transport block takes
//! their data as logical channel prioritization does (TS 36.321 v17.0 §5.4.3.1, whose steps are known here from
//! descriptions of it): the L4S channel has the higher priority, first each channel gets its prioritised bit rate,
//! and the rest goes to the higher priority. The standard defines this for the uplink; here it is the rule in the
//! downlink too, where the eNB is free.
//!
//! Bearers of NR are those of two QoS flows, which [`sdap`](crate::sdap) maps to them, with the same filters.
//!
//! The scheduler sees one backlog per UE, the sum. The queues of the bearers are not coupled, unlike those of
//! [`dualpi2`](airlane_net::dualpi2) in one bearer.

use airlane_core::{
    BitRate, Bytes, Cx, Direction, DropCause, Duration, Ecn, FlowId, Instant, Packet, PacketRef, Stream,
};
use airlane_net::queue::Waiting;

use crate::bearer::{BearerConfig, Departure, HandoverMode, HandoverStatistics, RadioBearer, RlcConfig};
use crate::pdcp::NumberedSdu;
use crate::rlc::Pdu;
use crate::sdap::{Drb, Qfi, Sdap};
use crate::x2::{ForwardingTarget, SnStatusTransfer};

mod signalling;

use signalling::{Signalling, SignallingPdu};

/// EPS bearer identities (TS 24.007 §11.2.3.1.5: 5 to 15).
pub(crate) const DEFAULT_BEARER: u8 = 5;
const L4S_BEARER: u8 = 6;

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

/// A transport block: the RLC PDUs of the default bearer, then those of the L4S bearer.
#[derive(Debug, Default)]
pub(crate) struct MacPdu {
    pdus: Vec<Pdu>,
    of_default: usize,
    signalling: Option<SignallingPdu>,
}

impl MacPdu {
    pub(crate) fn with_capacity(pdus: usize) -> Self {
        Self { pdus: Vec::with_capacity(pdus), of_default: 0, signalling: None }
    }

    pub(crate) fn clear(&mut self) {
        self.pdus.clear();
        self.of_default = 0;
        self.signalling = None;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pdus.is_empty() && self.signalling.is_none()
    }
}

/// The variable Bj of a logical channel (TS 36.321 v17.0 §5.4.3.1), in bits times nanoseconds per second.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    rate: BitRate,
    most: i128,
    level: i128,
    filled: Instant,
}

/// A byte in the unit of a bucket.
const BYTE: i128 = 8_000_000_000;

impl Bucket {
    const fn new(rate: BitRate, duration: Duration, now: Instant) -> Self {
        let most = rate.0 as i128 * duration.as_nanos() as i128;
        Self { rate, most, level: 0, filled: now }
    }

    /// The bytes that the channel may send before others, now.
    fn fill(&mut self, now: Instant) -> u64 {
        let more = i128::from(self.rate.0) * i128::from((now - self.filled).as_nanos());
        self.filled = now;
        self.level = self.most.min(self.level + more);
        u64::try_from(self.level / BYTE).unwrap_or(0)
    }

    const fn take(&mut self, bytes: u64) {
        self.level -= bytes as i128 * BYTE;
    }
}

/// The data radio bearers of a UE of NR.
const DEFAULT_DRB: Drb = Drb(0);
const LOW_LATENCY_DRB: Drb = Drb(1);

/// The ECN fields by their number.
const ECN_FIELDS: [Ecn; 4] = [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::CongestionExperienced];

/// True if packets with this ECN field use the bearer for L4S: by its templates in LTE, by the mapping of their QoS flow
/// in NR.
fn is_low_latency(rlc: &RlcConfig, ecn: Ecn) -> bool {
    match rlc {
        RlcConfig::Tm | RlcConfig::Um(_) | RlcConfig::Am(_) => {
            matches!(ecn, Ecn::Capable1 | Ecn::CongestionExperienced)
        }
        RlcConfig::Nr(_) => {
            let mut sdap = Sdap::new(DEFAULT_DRB);
            sdap.map(Qfi::LOW_LATENCY, LOW_LATENCY_DRB);
            sdap.bearer_of(Qfi::of(ecn)) == LOW_LATENCY_DRB
        }
    }
}

#[derive(Debug)]
struct L4sBearer {
    bearer: RadioBearer,
    /// The ECN fields of the packets that use it.
    takes: [bool; 4],
    /// Flows whose packets use it, or do not, whatever their ECN field; by number.
    mapped: Vec<(FlowId, bool)>,
    /// Of each direction: of this bearer's channel, and of the default one's.
    buckets: [[Bucket; 2]; 2],
    /// Data that it outputs at a re-establishment.
    departure: Departure,
}

impl L4sBearer {
    /// Fills a block from both logical channels.
    fn multiplex(
        &mut self,
        default: &mut RadioBearer,
        cx: &mut Cx<'_>,
        direction: Direction,
        grant: Bytes,
        block: &mut MacPdu,
    ) -> Bytes {
        let waiting = [self.bearer.demand(direction, cx.now), default.demand(direction, cx.now)];
        let mut shares = [0; 2];
        let mut left = grant.get();
        for ((share, bucket), waiting) in
            shares.iter_mut().zip(&mut self.buckets[way(direction)]).zip(waiting)
        {
            *share = bucket.fill(cx.now).min(waiting.get()).min(left);
            bucket.take(*share);
            left -= *share;
        }
        for (share, waiting) in shares.iter_mut().zip(waiting) {
            let more = (waiting.get() - *share).min(left);
            *share += more;
            left -= more;
        }
        // The default bearer comes first in the block, so that the L4S bearer can use what it leaves.
        let used = default.transmit(cx, direction, Bytes(shares[1] + left), &mut block.pdus);
        block.of_default = block.pdus.len();
        used + self.bearer.transmit(cx, direction, grant - used, &mut block.pdus)
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
    l4s: Option<Box<L4sBearer>>,
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
        let name = |direction| match direction {
            Direction::Downlink => "downlink",
            Direction::Uplink => "uplink",
        };
        let l4s = l4s.map(|config| {
            let channel =
                [config.rate, config.default_rate].map(|rate| Bucket::new(rate, config.bucket, now));
            Box::new(L4sBearer {
                mapped: Vec::new(),
                takes: ECN_FIELDS.map(|ecn| is_low_latency(&config.bearer.rlc, ecn)),
                bearer: RadioBearer::new(&config.bearer, |way| stream(&format!("l4s/{}", name(way)))),
                buckets: [channel; 2],
                departure: Departure::default(),
            })
        });
        let signalling = has_signalling.then(Box::default);
        Self { default: RadioBearer::new(config, |way| stream(name(way))), l4s, signalling }
    }

    fn each(&self) -> impl Iterator<Item = &RadioBearer> {
        core::iter::once(&self.default).chain(self.l4s.as_ref().map(|l4s| &l4s.bearer))
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut RadioBearer> {
        core::iter::once(&mut self.default).chain(self.l4s.as_mut().map(|l4s| &mut l4s.bearer))
    }

    /// The bearer of a packet, if it is that of L4S.
    fn l4s_for(&mut self, packet: &Packet) -> Option<&mut RadioBearer> {
        let l4s = self.l4s.as_mut()?;
        let own = match l4s.mapped.is_empty() {
            true => None,
            false => l4s.mapped.binary_search_by_key(&packet.flow, |(flow, _)| *flow).ok(),
        };
        let takes = own.map_or(l4s.takes[packet.ecn as usize], |place| l4s.mapped[place].1);
        takes.then_some(&mut l4s.bearer)
    }

    /// Gives the packets of a flow to a QoS flow, whatever their ECN field.
    pub(crate) fn map_flow(&mut self, flow: FlowId, to: Qfi) {
        let Some(l4s) = &mut self.l4s else { return };
        let place = l4s.mapped.partition_point(|(other, _)| *other < flow);
        l4s.mapped.insert(place, (flow, to == Qfi::LOW_LATENCY));
    }

    /// [`RadioBearer::submit`], to the bearer whose template matches.
    #[inline]
    pub(crate) fn submit(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef) {
        match self.l4s_for(cx.pool.get(&packet)) {
            Some(bearer) => bearer.submit(cx, direction, packet),
            None => self.default.submit(cx, direction, packet),
        }
    }

    /// [`RadioBearer::certain_room`]; 0 if a packet may be for another bearer than the default one.
    #[inline]
    pub(crate) fn certain_room(&self, direction: Direction) -> u64 {
        if self.l4s.is_none() { self.default.certain_room(direction) } else { 0 }
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
        let of_data = match &self.l4s {
            Some(l4s) => of_default + l4s.bearer.backlog(direction, now),
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
            || self.l4s.as_ref().is_some_and(|l4s| l4s.bearer.has_backlog(direction, now))
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
        let of_data = match &mut self.l4s {
            Some(l4s) => l4s.multiplex(&mut self.default, cx, direction, grant, block),
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
        let Some(l4s) = &mut self.l4s else {
            return self.default.receive(cx, direction, &block.pdus, deliver);
        };
        let (of_default, of_l4s) = block.pdus.split_at(block.of_default);
        for (bearer, pdus) in [(&mut self.default, of_default), (&mut l4s.bearer, of_l4s)] {
            if !pdus.is_empty() {
                bearer.receive(cx, direction, pdus, deliver);
            }
        }
    }

    /// [`RadioBearer::lose`].
    pub(crate) fn lose(&mut self, cx: &mut Cx<'_>, direction: Direction, block: &MacPdu) {
        if let (Some(signalling), Some(pdu)) = (&mut self.signalling, block.signalling) {
            signalling.lose(direction, pdu);
        }
        let Some(l4s) = &mut self.l4s else { return self.default.lose(cx, direction, &block.pdus) };
        let (of_default, of_l4s) = block.pdus.split_at(block.of_default);
        self.default.lose(cx, direction, of_default);
        l4s.bearer.lose(cx, direction, of_l4s);
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
        assert!(self.l4s.is_none(), "a leg of a split bearer has no other bearer beside it");
        self.default.release(cx)
    }

    /// [`RadioBearer::discard`].
    pub(crate) fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        self.each_mut().for_each(|bearer| bearer.discard(cx, cause));
    }

    /// [`RadioBearer::next_timeout`], of the earlier one.
    #[inline]
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        match &self.l4s {
            Some(l4s) => self.default.next_timeout().into_iter().chain(l4s.bearer.next_timeout()).min(),
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
        let of_default = self.default.queue(direction);
        match &self.l4s {
            Some(l4s) => of_default + l4s.bearer.queue(direction),
            None => of_default,
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

    /// [`RadioBearer::leave`], of all bearers.
    pub(crate) fn leave(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.default.leave(cx, mode, out);
        if let Some(l4s) = &mut self.l4s {
            let L4sBearer { bearer, departure, .. } = &mut **l4s;
            bearer.leave(cx, mode, departure);
            out.downlink.append(&mut departure.downlink);
            out.uplink.append(&mut departure.uplink);
            let of_l4s = |sdu| NumberedSdu { e_rab: L4S_BEARER, ..sdu };
            out.forwarded.extend(departure.forwarded.drain(..).map(of_l4s));
            let of_l4s = |status| SnStatusTransfer { e_rab: L4S_BEARER, ..status };
            out.sn_status.extend(departure.sn_status.drain(..).map(of_l4s));
        }
    }

    /// [`RadioBearer::begin_anew`], of all bearers.
    pub(crate) fn begin_anew(&mut self, cx: &mut Cx<'_>, mode: HandoverMode, out: &mut Departure) {
        self.default.begin_anew(cx, mode, out);
        if let Some(l4s) = &mut self.l4s {
            let L4sBearer { bearer, departure, .. } = &mut **l4s;
            bearer.begin_anew(cx, mode, departure);
            out.downlink.append(&mut departure.downlink);
            out.uplink.append(&mut departure.uplink);
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
        match &mut self.l4s {
            Some(l4s) if e_rab == L4S_BEARER => &mut l4s.bearer,
            _ => &mut self.default,
        }
    }
}

impl ForwardingTarget for Bearers {
    fn fresh(&mut self, cx: &Cx<'_>, packet: PacketRef) -> NumberedSdu {
        let content = cx.pool.get(&packet);
        let size = content.size;
        match self.l4s_for(content) {
            Some(bearer) => {
                let size = bearer.sdu_size(size);
                NumberedSdu { e_rab: L4S_BEARER, count: None, size, packet: Some(packet) }
            }
            None => self.default.fresh(cx, packet),
        }
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
