//! A data radio bearer: PDCP over RLC, both ends of both directions.
//!
//! It is driven by the MAC. The MAC submits SDUs, fills grants with PDUs and passes the decoded
//! PDUs to the other end, which delivers SDUs in order, or in transparent mode in the order of
//! arrival. Lost PDUs are not passed on. In transparent mode they have no sequence number, so the
//! MAC reports them to the bearer.
//!
//! ```
//! use airlane_core::*;
//! use airlane_ran::bearer::{BearerConfig, RadioBearer, RlcConfig};
//! use airlane_ran::pdcp::PdcpConfig;
//! use airlane_ran::rlc::{Aqm, UmConfig};
//!
//! let (mut pool, mut outbox) = (PacketPool::default(), Vec::new());
//! let now = Instant::ZERO;
//! let header = Header::Udp(UdpHeader { serial: 0 });
//! let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1372), now);
//! let packet = pool.insert(packet);
//! let (topics, probe) = (TopicSet::NONE, &mut Silence);
//! let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe };
//!
//! let config = BearerConfig {
//!     rlc: RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(50) }),
//!     buffer: Bytes(512 * 1024),
//!     aqm: Aqm::DropTail,
//!     pdcp: PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true },
//!     pdu_overhead: Bytes::ZERO,
//! };
//! let mut bearer = RadioBearer::new(&config, |_| Seeds::new(1).stream("queue"));
//! bearer.submit(&mut cx, Direction::Downlink, packet);
//! // An IP packet of 1400 bytes, a PDCP header of 2 and an RLC header of 2.
//! assert_eq!(bearer.buffer_status(Direction::Downlink, now).total(), Bytes(1404));
//! let (mut block, mut delivered) = (Vec::new(), Vec::new());
//! let used = bearer.transmit(&mut cx, Direction::Downlink, Bytes(2000), &mut block);
//! assert_eq!(used, Bytes(1404));
//! bearer.receive(&mut cx, Direction::Downlink, &block, &mut delivered);
//! assert_eq!(delivered.len(), 1);
//! ```

use airlane_core::{Bytes, Cx, Direction, DropCause, Duration, Instant, PacketRef, Stream};
use airlane_net::queue::Waiting;

use crate::pdcp::{PdcpConfig, RetransmissionQueue};
use crate::rlc::entity::{Entity, Opposite, PduGrant};
pub use crate::rlc::entity::{RlcConfig, RlcMode};
use crate::rlc::nr::NrRlc;
use crate::rlc::queue::TransmitQueue;
use crate::rlc::source::Source;
use crate::rlc::{Aqm, Pdu};

mod handover;

use handover::Suspension;
pub use handover::{Departure, HandoverMode, HandoverStatistics};

/// Parameters of a data radio bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerConfig {
    /// RLC.
    pub rlc: RlcConfig,
    /// Byte limit of each direction's transmit queue: SDUs, with PDCP headers, that have not been
    /// sent completely.
    pub buffer: Bytes,
    /// The discipline of the transmit queues besides their limit.
    pub aqm: Aqm,
    /// PDCP.
    pub pdcp: PdcpConfig,
    /// Overhead of the MAC per PDU (its subheader, TS 36.321 §6.1.2). It is taken from the grant
    /// and included in the bytes that `transmit` reports as used. In NR, a PDU of up to 255 bytes
    /// has one byte less, because L has 8 instead of 16 bits (TS 38.321 v18.5.0 §6.1.2).
    pub pdu_overhead: Bytes,
}

impl BearerConfig {
    /// Whether it has RLC of NR, as the bearers of a cell of NR do.
    pub(crate) const fn is_of_nr(&self) -> bool {
        matches!(self.rlc, RlcConfig::Nr(_))
    }

    /// Checks the parameters; the error names a key and its valid values.
    ///
    /// # Errors
    /// If a sequence number length is not in the specification.
    pub fn check(&self) -> Result<(), InvalidBearer> {
        let of_lte = ("pdcp.sn_bits", self.pdcp.sn_bits, &[7, 12, 15, 18][..], "7, 12, 15 or 18");
        // TS 38.323 v18.5.0 §6.3.2.
        let of_nr = ("pdcp.sn_bits", self.pdcp.sn_bits, &[12, 18][..], "12 or 18");
        let (pdcp, rlc) = match &self.rlc {
            RlcConfig::Tm => (of_lte, None),
            RlcConfig::Um(um) => (of_lte, Some(("rlc.sn_bits", um.sn_bits, &[5, 10][..], "5 or 10"))),
            RlcConfig::Am(am) => (of_lte, Some(("rlc.sn_bits", am.sn_bits, &[10, 16][..], "10 or 16"))),
            RlcConfig::Nr(nr) => (
                of_nr,
                Some(match &nr.rlc {
                    NrRlc::Um(um) => ("rlc.sn_bits", um.sn_bits, &[6, 12][..], "6 or 12"),
                    NrRlc::Am(am) => ("rlc.sn_bits", am.sn_bits, &[12, 18][..], "12 or 18"),
                }),
            ),
        };
        for (key, value, allowed, right) in core::iter::once(pdcp).chain(rlc) {
            if !allowed.contains(&value) {
                return Err(InvalidBearer { key, value, right });
            }
        }
        Ok(())
    }
}

/// An invalid parameter of a bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBearer {
    /// The field of [`BearerConfig`].
    pub key: &'static str,
    /// Its value.
    pub value: u8,
    /// The valid values.
    pub right: &'static str,
}

/// The buffer status of a transmitter (TS 36.322 v17.0 §4.5), including RLC headers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// A STATUS PDU that may be sent now.
    pub control: Bytes,
    /// Data for retransmission.
    pub retransmission: Bytes,
    /// Data for the first transmission.
    pub new: Bytes,
    /// The waiting time of the oldest SDU of which no byte has been sent.
    pub head_of_line: Option<Duration>,
}

impl BufferStatus {
    /// The sum.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.control + self.retransmission + self.new
    }
}

/// An SDU that a handover forwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Its COUNT.
    pub count: u32,
    /// Its size with the PDCP header.
    pub size: Bytes,
    /// It has been delivered, but the sender has no confirmation.
    pub delivered: bool,
}

/// One direction of the bearer.
#[derive(Debug)]
struct OneWay {
    direction: Direction,
    source: Source,
    rlc: Entity,
}

impl OneWay {
    fn new(config: &BearerConfig, direction: Direction, stream: impl FnOnce() -> Stream) -> Self {
        // RLC UM has no confirmations, so nothing is kept for retransmission.
        let bound = config.pdcp.retransmission_queue.filter(|_| config.rlc.mode() == RlcMode::Am);
        let is_besides = |queue: &RetransmissionQueue| {
            queue.holds_waiting && !queue.shares_buffer && queue.limit != RetransmissionQueue::UNLIMITED
        };
        let besides = bound.filter(is_besides);
        let buffer = config.buffer + besides.map_or(Bytes::ZERO, |queue| queue.limit);
        let sdap = match &config.rlc {
            RlcConfig::Tm | RlcConfig::Um(_) | RlcConfig::Am(_) => 0,
            RlcConfig::Nr(nr) => nr.sdap.size(direction),
        };
        let queue = TransmitQueue::new(buffer, &config.aqm, &config.pdcp, sdap, stream);
        let source = Source::new(queue, bound, config.pdcp.sn_bits);
        Self { direction, source, rlc: Entity::new(&config.rlc) }
    }

    #[inline]
    fn next_timeout(&self) -> Instant {
        self.rlc.next_timeout().min(self.source.queue.expires_at())
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>, deliver: &mut Vec<PacketRef>) {
        self.source.queue.expire(cx);
        self.rlc.handle_timeout(cx, &mut self.source, deliver);
    }

    /// Discards all packets, and restarts RLC.
    fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        self.empty(cx).into_iter().for_each(|packet| cx.discard(packet, cause));
    }

    /// Removes all packets, and restarts RLC.
    fn empty(&mut self, cx: &mut Cx<'_>) -> Vec<PacketRef> {
        let Source { queue, sdus, .. } = &mut self.source;
        let (mut packets, mut begun) = (Vec::new(), Vec::new());
        queue.drain(cx, |waiting| packets.push(waiting.packet));
        sdus.drain(&mut begun);
        packets.extend(begun.into_iter().filter_map(|sdu| sdu.packet));
        sdus.reception.end(&mut packets);
        packets.extend(core::iter::from_fn(|| sdus.reception.take_late()));
        sdus.reception.lose_report();
        if let Some(nr) = self.rlc.nr_mut() {
            nr.pdcp.end(sdus.next_count(), &mut packets);
        }
        self.source.drain_again(|_, sdu| packets.extend(sdu.packet));
        self.rlc.restart(&mut self.source);
        packets
    }

    fn packets_held(&self) -> usize {
        self.source.packets_held() + self.rlc.nr().map_or(0, |nr| nr.pdcp.held())
    }

    /// [`Entity::after_shrinking`].
    #[cold]
    fn after_shrinking(&mut self, cx: &Cx<'_>) {
        self.rlc.after_shrinking(cx.now, &self.source);
    }
}

/// One data radio bearer of one UE.
#[derive(Debug)]
pub struct RadioBearer {
    downlink: OneWay,
    uplink: OneWay,
    pdu_overhead: u32,
    /// The earliest timeout of either direction; `FAR_FUTURE` if there is none.
    timeout: Instant,
    suspension: Suspension,
    status_report: bool,
    handover: HandoverStatistics,
}

impl RadioBearer {
    /// A bearer in its initial state. `stream` gives the random stream of a transmit queue whose
    /// discipline draws.
    ///
    /// # Panics
    /// If [`BearerConfig::check`] rejects the configuration.
    #[must_use]
    pub fn new(config: &BearerConfig, stream: impl Fn(Direction) -> Stream) -> Self {
        if let Err(wrong) = config.check() {
            panic!("a bearer is made from a checked configuration: {wrong:?}");
        }
        Self {
            downlink: OneWay::new(config, Direction::Downlink, || stream(Direction::Downlink)),
            uplink: OneWay::new(config, Direction::Uplink, || stream(Direction::Uplink)),
            pdu_overhead: u32::try_from(config.pdu_overhead.get()).expect("a MAC subheader is a few bytes"),
            timeout: Instant::FAR_FUTURE,
            suspension: Suspension::default(),
            status_report: config.pdcp.status_report,
            handover: HandoverStatistics::default(),
        }
    }

    /// Queues an SDU for transmission, or drops it if the transmit queue is full.
    #[inline]
    pub fn submit(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef) {
        let way = self.ways_mut(direction).0;
        let closing = way.source.submit(cx, packet);
        let expires_at = way.source.queue.expires_at();
        if closing {
            way.after_shrinking(cx);
        }
        self.timeout = self.timeout.min(expires_at);
    }

    /// Bytes of SDUs that are certain to be stored whenever they arrive, if no others do.
    #[inline]
    pub(crate) fn certain_room(&self, direction: Direction) -> u64 {
        self.way(direction).source.certain_room()
    }

    /// Stores an SDU for which there is room, and which has arrived at its time. True if it is certain that there is data
    /// to be sent now.
    #[inline]
    pub(crate) fn store(&mut self, direction: Direction, arrived: Waiting) -> bool {
        let way = self.ways_mut(direction).0;
        way.source.queue.store(arrived);
        let (expires_at, sends) = (way.source.queue.expires_at(), way.rlc.has_new_data(&way.source));
        self.timeout = self.timeout.min(expires_at);
        sends == Some(true) && !self.is_suspended()
    }

    /// [`TransmitQueue::needs_capacity`], of the downlink.
    pub(crate) fn needs_capacity(&self) -> bool {
        self.downlink.source.queue.needs_capacity()
    }

    /// [`TransmitQueue::report_capacity`], of the downlink.
    pub(crate) fn report_capacity(&mut self, now: Instant, rate: f64) {
        self.downlink.source.queue.report_capacity(now, rate);
    }

    /// The buffer status of the transmitter of this direction.
    #[must_use]
    pub fn buffer_status(&self, direction: Direction, now: Instant) -> BufferStatus {
        if self.is_suspended() {
            return BufferStatus::default();
        }
        let [control, retransmission, new] = self.amounts(direction, now);
        let head_of_line = self.way(direction).source.head_since().map(|since| now.saturating_since(since));
        BufferStatus { control, retransmission, new, head_of_line }
    }

    /// [`BufferStatus::head_of_line`] of this direction; zero if there is no such SDU.
    #[must_use]
    pub(crate) fn head_of_line(&self, direction: Direction, now: Instant) -> Duration {
        let since = self.way(direction).source.head_since();
        since.map_or(Duration::ZERO, |since| now.saturating_since(since))
    }

    /// [`BufferStatus::total`] of this direction, without the other fields, for callers in every slot.
    #[inline(always)]
    #[must_use]
    pub fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        if self.is_suspended() {
            return Bytes::ZERO;
        }
        let way = self.way(direction);
        if let Some(bytes) = way.rlc.only_new_data(&way.source) {
            return Bytes(bytes);
        }
        let [control, retransmission, new] = self.amounts(direction, now);
        control + retransmission + new
    }

    /// Whether [`Self::backlog`] is not zero.
    #[inline(always)]
    #[must_use]
    pub fn has_backlog(&self, direction: Direction, now: Instant) -> bool {
        if self.is_suspended() {
            return false;
        }
        let way = self.way(direction);
        way.rlc.has_new_data(&way.source).unwrap_or_else(|| self.backlog(direction, now) > Bytes::ZERO)
    }

    /// The bytes of a block that this direction would use, at least: [`Self::backlog`] with the MAC's overhead of a
    /// control PDU, which this leaves out.
    #[must_use]
    pub(crate) fn demand(&self, direction: Direction, now: Instant) -> Bytes {
        match self.backlog(direction, now) {
            Bytes::ZERO => Bytes::ZERO,
            backlog => backlog + Bytes(u64::from(self.pdu_overhead)),
        }
    }

    /// Control, data for retransmission, and new data.
    fn amounts(&self, direction: Direction, now: Instant) -> [Bytes; 3] {
        let way = self.way(direction);
        let [retransmission, new] = way.rlc.amounts(&way.source, self.pdu_overhead);
        [self.way(opposite(direction)).rlc.status_estimate(now), retransmission, new]
    }

    /// Fills a grant with PDUs: STATUS first, then retransmissions, then new data. Returns the
    /// number of bytes they take.
    #[inline]
    pub fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        grant: Bytes,
        out: &mut Vec<Pdu>,
    ) -> Bytes {
        if self.is_suspended() {
            return Bytes::ZERO;
        }
        let overhead = self.pdu_overhead;
        let grant = u32::try_from(grant.get()).expect("a transport block is shorter than 4 GiB");
        let (way, back) = self.ways_mut(direction);
        let of_block = PduGrant { left: grant, overhead };
        let left = way.rlc.transmit(cx, &mut way.source, &mut back.rlc, of_block, out);
        self.update_timeout();
        Bytes(u64::from(grant - left))
    }

    /// The PDUs of a decoded transport block arrive at the other end. SDUs that can then be
    /// delivered are appended to `deliver`, in order.
    #[inline]
    pub fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        pdus: &[Pdu],
        deliver: &mut Vec<PacketRef>,
    ) {
        let (way, back) = self.ways_mut(direction);
        let back = Opposite { rlc: &mut back.rlc, source: &mut back.source };
        way.rlc.receive(cx, &mut way.source, back, pdus, deliver);
        if way.source.sdus.reception.has_news() {
            self.after_sorting(cx, direction);
        }
        self.update_timeout();
    }

    /// The PDUs of a transport block that HARQ has given up and that will never be received. The
    /// other modes detect this by sequence numbers.
    #[inline]
    pub fn lose(&mut self, cx: &mut Cx<'_>, direction: Direction, pdus: &[Pdu]) {
        let way = self.ways_mut(direction).0;
        way.rlc.lose(cx, &mut way.source, pdus);
    }

    /// Discards all packets and returns to the initial state: the bearer is released.
    pub fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        for direction in [Direction::Downlink, Direction::Uplink] {
            self.ways_mut(direction).0.discard(cx, cause);
        }
        self.suspension = Suspension::default();
        self.update_timeout();
        assert_eq!(self.packets_held(), 0, "a bearer that was released holds packets");
    }

    /// Returns to the initial state, and returns the packets that were not delivered, of the downlink and of the uplink.
    pub(crate) fn release(&mut self, cx: &mut Cx<'_>) -> [Vec<PacketRef>; 2] {
        let packets = [self.downlink.empty(cx), self.uplink.empty(cx)];
        self.suspension = Suspension::default();
        self.update_timeout();
        packets
    }

    /// A bearer that was suspended may send again.
    pub(crate) fn resume(&mut self) {
        self.suspension = Suspension::default();
    }

    /// When to call `handle_timeout`, if no packet arrives before.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        (self.timeout != Instant::FAR_FUTURE).then_some(self.timeout)
    }

    /// Handles the timers that have expired. SDUs that can then be delivered are appended to the
    /// list of their direction.
    pub fn handle_timeout(
        &mut self,
        cx: &mut Cx<'_>,
        downlink: &mut Vec<PacketRef>,
        uplink: &mut Vec<PacketRef>,
    ) {
        if self.timeout <= cx.now {
            self.downlink.handle_timeout(cx, downlink);
            self.uplink.handle_timeout(cx, uplink);
            self.update_timeout();
        }
    }

    /// The size of an IP packet as an SDU of the downlink with its headers of PDCP and SDAP.
    #[must_use]
    #[inline]
    pub fn sdu_size(&self, packet: Bytes) -> u32 {
        self.downlink.source.queue.size_of(packet)
    }

    /// Packets held.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        self.downlink.packets_held() + self.uplink.packets_held()
    }

    /// Bytes of SDUs and PDCP headers that have not been sent yet.
    #[inline]
    #[must_use]
    pub fn queue(&self, direction: Direction) -> Bytes {
        Bytes(self.way(direction).source.backlog())
    }

    /// How often RLC indicated that a PDU reached the maximum number of retransmissions (TS 36.322
    /// v17.0 §5.2.1), which the upper layers may treat as a radio link failure.
    #[must_use]
    pub fn radio_link_failures(&self, direction: Direction) -> u64 {
        self.way(direction).rlc.failures()
    }

    /// The SDUs that have a COUNT and whose delivery the receiver has not confirmed, in the order
    /// of COUNT: those that a lossless handover forwards (TS 36.323 v17.0 §5.2.1.1). Empty except
    /// in acknowledged mode.
    pub fn unconfirmed(&self, direction: Direction) -> impl Iterator<Item = Unconfirmed> {
        let way = self.way(direction);
        let has_confirmations = way.rlc.mode() == RlcMode::Am;
        way.source.sdus.iter().filter(move |_| has_confirmations).filter_map(|(count, from, to, packet)| {
            (!way.rlc.has_confirmed(from, to, &way.source)).then_some(Unconfirmed {
                count,
                size: Bytes(to - from),
                delivered: packet.is_none(),
            })
        })
    }

    #[inline]
    fn update_timeout(&mut self) {
        self.timeout = self.downlink.next_timeout().min(self.uplink.next_timeout());
    }

    #[inline]
    fn way(&self, direction: Direction) -> &OneWay {
        match direction {
            Direction::Downlink => &self.downlink,
            Direction::Uplink => &self.uplink,
        }
    }

    /// This direction, and the opposite one.
    #[inline]
    fn ways_mut(&mut self, direction: Direction) -> (&mut OneWay, &mut OneWay) {
        match direction {
            Direction::Downlink => (&mut self.downlink, &mut self.uplink),
            Direction::Uplink => (&mut self.uplink, &mut self.downlink),
        }
    }
}

#[inline]
fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Downlink => Direction::Uplink,
        Direction::Uplink => Direction::Downlink,
    }
}

#[cfg(test)]
mod tests;
