//! A data radio bearer: PDCP over RLC, both ends of both directions.
//!
//! It is driven by the MAC. The MAC submits SDUs, fills grants with PDUs and passes the decoded
//! PDUs to the other end, which delivers SDUs in order, or in transparent mode in the order of
//! arrival. Lost PDUs are not passed on. In transparent mode they have no sequence number, so the
//! MAC reports them to the bearer.
//!
//! ```
//! use airlane_core::*;
//! use airlane_ran::bearer::{BearerConfig, RadioBearer};
//!
//! let (mut pool, mut outbox) = (PacketPool::default(), Vec::new());
//! let now = Instant::ZERO;
//! let header = Header::Udp(UdpHeader { serial: 0 });
//! let packet = Packet::new(FlowId(0), Direction::Downlink, header, Payload::Length(1372), now);
//! let packet = pool.insert(packet);
//! let (topics, probe) = (TopicSet::NONE, &mut Silence);
//! let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe };
//!
//! let mut bearer = RadioBearer::new(&BearerConfig::typical(), |_| Seeds::new(1).stream("queue"));
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

use crate::pdcp::PdcpConfig;
use crate::rlc::queue::TransmitQueue;
use crate::rlc::source::Source;
use crate::rlc::{AmConfig, Aqm, Pdu, StatusPdu, UmConfig, am, tm, um};

mod handover;

use handover::Suspension;
pub use handover::{Departure, HandoverMode, HandoverStatistics};

/// The mode of RLC (TS 36.322 v17.0 §4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Transparent mode.
    Tm,
    /// Unacknowledged mode.
    Um,
    /// Acknowledged mode.
    Am,
}

/// Parameters of a data radio bearer.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerConfig {
    /// Mode of RLC.
    pub mode: RlcMode,
    /// Byte limit of each direction's transmit queue: SDUs, with PDCP headers, that have not been
    /// sent completely.
    pub buffer: Bytes,
    /// The discipline of the transmit queues besides their limit.
    pub aqm: Aqm,
    /// PDCP.
    pub pdcp: PdcpConfig,
    /// RLC in unacknowledged mode.
    pub um: UmConfig,
    /// RLC in acknowledged mode.
    pub am: AmConfig,
    /// Overhead of the MAC per PDU (its subheader, TS 36.321 §6.1.2). It is taken from the grant
    /// and included in the bytes that `transmit` reports as used.
    pub pdu_overhead: Bytes,
}

impl BearerConfig {
    /// The constants of ns-3.37 (`src/lte/model/lte-rlc-um.cc`, `lte-rlc-am.cc`, `lte-pdcp.cc`),
    /// which has no discard timer. That ns-3 sends a STATUS PDU in a block of its own is not
    /// reproduced.
    #[must_use]
    pub const fn lena() -> Self {
        Self {
            mode: RlcMode::Um,
            buffer: Bytes(10 * 1024),
            aqm: Aqm::DropTail,
            pdcp: PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true },
            um: UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(100) },
            am: AmConfig {
                sn_bits: 10,
                t_poll_retransmit: Duration::from_millis(20),
                t_reordering: Duration::from_millis(10),
                t_status_prohibit: Duration::from_millis(10),
                poll_pdu: Some(1),
                poll_byte: Some(Bytes(50)),
                max_retx: 5,
                status_alone: false,
            },
            pdu_overhead: Bytes::ZERO,
        }
    }

    /// Usual values of a default bearer in deployed networks: those that srsRAN 4G ships for QCI 9
    /// (`srsenb/rb.conf.example`), with the maxRetxThreshold of its downlink. The buffer of 512 KiB
    /// is our choice: srsRAN counts SDUs, and operators do not publish theirs.
    #[must_use]
    pub const fn typical() -> Self {
        Self {
            mode: RlcMode::Am,
            buffer: Bytes(512 * 1024),
            aqm: Aqm::DropTail,
            pdcp: PdcpConfig {
                sn_bits: 12,
                discard: Some(Duration::from_millis(150)),
                retransmission_queue: None,
                status_report: true,
            },
            um: UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(50) },
            am: AmConfig {
                sn_bits: 10,
                t_poll_retransmit: Duration::from_millis(120),
                t_reordering: Duration::from_millis(50),
                t_status_prohibit: Duration::from_millis(50),
                poll_pdu: Some(64),
                poll_byte: Some(Bytes(750_000)),
                max_retx: 32,
                status_alone: false,
            },
            pdu_overhead: Bytes::ZERO,
        }
    }

    /// Checks the parameters; the error names a key and its valid values.
    ///
    /// # Errors
    /// If a sequence number length is not in the specification.
    pub fn check(&self) -> Result<(), InvalidBearer> {
        let checks = [
            ("pdcp.sn_bits", self.pdcp.sn_bits, &[7, 12, 15, 18][..], "7, 12, 15 or 18"),
            ("um.sn_bits", self.um.sn_bits, &[5, 10], "5 or 10"),
            ("am.sn_bits", self.am.sn_bits, &[10, 16], "10 or 16"),
        ];
        for (key, value, allowed, right) in checks {
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

/// RLC of one direction: the transmitting side at one end, the receiving side at the other.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a bearer is touched each slot; 400 bytes beat an indirection")]
enum Rlc {
    Tm,
    Um { transmitter: um::Transmitter, receiver: um::Receiver },
    Am { transmitter: am::Transmitter, receiver: am::Receiver, reports: am::Reports },
}

/// One direction of the bearer.
#[derive(Debug)]
struct OneWay {
    direction: Direction,
    source: Source,
    rlc: Rlc,
}

impl OneWay {
    fn new(config: &BearerConfig, direction: Direction, stream: impl FnOnce() -> Stream) -> Self {
        let rlc = match config.mode {
            RlcMode::Tm => Rlc::Tm,
            RlcMode::Um => Rlc::Um {
                transmitter: um::Transmitter::new(&config.um),
                receiver: um::Receiver::new(&config.um),
            },
            RlcMode::Am => Rlc::Am {
                transmitter: am::Transmitter::new(&config.am),
                receiver: am::Receiver::new(&config.am),
                reports: am::Reports::default(),
            },
        };
        // RLC UM has no confirmations, so nothing is kept for retransmission.
        let bound = config.pdcp.retransmission_queue.filter(|_| config.mode == RlcMode::Am);
        let besides = bound.filter(|queue| queue.holds_waiting && !queue.shares_buffer);
        let buffer = config.buffer + besides.map_or(Bytes::ZERO, |queue| queue.limit);
        let queue = TransmitQueue::new(buffer, &config.aqm, &config.pdcp, stream);
        Self { direction, source: Source::new(queue, bound, config.pdcp.sn_bits), rlc }
    }

    #[inline]
    fn next_timeout(&self) -> Instant {
        let rlc = match &self.rlc {
            Rlc::Tm => Instant::FAR_FUTURE,
            Rlc::Um { receiver, .. } => receiver.next_timeout(),
            Rlc::Am { transmitter, receiver, .. } => transmitter.next_timeout().min(receiver.next_timeout()),
        };
        rlc.min(self.source.queue.expires_at())
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>, deliver: &mut Vec<PacketRef>) {
        self.source.queue.expire(cx);
        match &mut self.rlc {
            Rlc::Tm => {}
            Rlc::Um { receiver, .. } => receiver.handle_timeout(cx, &mut self.source.sdus, deliver),
            Rlc::Am { transmitter, receiver, .. } => {
                receiver.handle_timeout(cx.now);
                transmitter.handle_timeout(cx.now, &self.source);
            }
        }
    }

    /// Discards all packets, and restarts RLC.
    fn discard(&mut self, cx: &mut Cx<'_>, cause: DropCause) {
        let Source { queue, sdus, .. } = &mut self.source;
        let (mut packets, mut begun) = (Vec::new(), Vec::new());
        queue.drain(cx, |waiting| packets.push(waiting.packet));
        sdus.drain(&mut begun);
        packets.extend(begun.into_iter().filter_map(|sdu| sdu.packet));
        sdus.reception.end(&mut packets);
        packets.extend(core::iter::from_fn(|| sdus.reception.take_late()));
        sdus.reception.lose_report();
        self.source.drain_again(|_, sdu| packets.extend(sdu.packet));
        packets.into_iter().for_each(|packet| cx.discard(packet, cause));
        self.restart_rlc();
    }

    fn receive_status(&mut self, pdu: StatusPdu) {
        match &mut self.rlc {
            Rlc::Tm | Rlc::Um { .. } => unreachable!("there are STATUS PDUs in acknowledged mode only"),
            Rlc::Am { transmitter, reports, .. } => {
                transmitter.receive_status(&mut self.source, pdu, reports);
            }
        }
    }

    /// The largest STATUS PDU for the data of this direction that may be sent now.
    #[inline]
    fn status_estimate(&self, now: Instant) -> Bytes {
        match &self.rlc {
            Rlc::Tm | Rlc::Um { .. } => Bytes::ZERO,
            Rlc::Am { receiver, .. } => Bytes(u64::from(receiver.status_estimate(now))),
        }
    }
}

/// One data radio bearer of one UE.
#[derive(Debug)]
pub struct RadioBearer {
    downlink: OneWay,
    uplink: OneWay,
    pdu_overhead: u32,
    status_alone: bool,
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
            status_alone: config.am.status_alone,
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

    /// [`BufferStatus::total`] of this direction, without the other fields, for callers in every slot.
    #[inline(always)]
    #[must_use]
    pub fn backlog(&self, direction: Direction, now: Instant) -> Bytes {
        if self.is_suspended() {
            return Bytes::ZERO;
        }
        let way = self.way(direction);
        if let Rlc::Um { transmitter, .. } = &way.rlc {
            return Bytes(way.source.pdu_estimate(transmitter.header()));
        }
        let [control, retransmission, new] = self.amounts(direction, now);
        control + retransmission + new
    }

    /// Control, data for retransmission, and new data.
    fn amounts(&self, direction: Direction, now: Instant) -> [Bytes; 3] {
        let way = self.way(direction);
        match &way.rlc {
            // The status includes the overhead of each SDU, since a grant without it would be too small.
            Rlc::Tm => {
                let overhead = u64::from(self.pdu_overhead) * way.source.waiting();
                [Bytes::ZERO, Bytes::ZERO, Bytes(way.source.backlog() + overhead)]
            }
            Rlc::Um { transmitter, .. } => {
                [Bytes::ZERO, Bytes::ZERO, Bytes(way.source.pdu_estimate(transmitter.header()))]
            }
            Rlc::Am { transmitter, .. } => [
                self.way(opposite(direction)).status_estimate(now),
                Bytes(transmitter.retransmission_estimate()),
                match transmitter.is_stalled() {
                    true => Bytes::ZERO,
                    false => Bytes(way.source.pdu_estimate(transmitter.header())),
                },
            ],
        }
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
        let status_alone = self.status_alone;
        let grant = u32::try_from(grant.get()).expect("a transport block is shorter than 4 GiB");
        let mut left = grant;
        let (OneWay { source, rlc, .. }, back) = self.ways_mut(direction);
        match rlc {
            Rlc::Tm => {
                while let Some(pdu) = tm::transmit(cx, source, left.saturating_sub(overhead)) {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
            Rlc::Um { transmitter, .. } => {
                while let Some(pdu) = transmitter.transmit(cx, source, left.saturating_sub(overhead)) {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
            Rlc::Am { transmitter, .. } => {
                let mut rest_is_usable = true;
                if let Rlc::Am { receiver, reports, .. } = &mut back.rlc
                    && let Some(pdu) = receiver.status(cx.now, left.saturating_sub(overhead), reports)
                {
                    left -= pdu.size + overhead;
                    out.push(Pdu::Status(pdu));
                    rest_is_usable = !status_alone;
                }
                while rest_is_usable
                    && let Some(pdu) = transmitter.transmit(cx, source, left.saturating_sub(overhead))
                {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
        }
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
        for pdu in pdus {
            match (pdu, &mut way.rlc) {
                (Pdu::Data(pdu), Rlc::Tm) => tm::receive(&mut way.source.sdus, pdu, deliver),
                (Pdu::Data(pdu), Rlc::Um { receiver, .. }) => {
                    receiver.receive(cx, &mut way.source.sdus, pdu, deliver);
                }
                (Pdu::Data(pdu), Rlc::Am { receiver, .. }) => {
                    receiver.receive(cx.now, &mut way.source.sdus, pdu, deliver);
                }
                (Pdu::Status(pdu), _) => back.receive_status(*pdu),
            }
        }
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
        match way.rlc {
            Rlc::Tm => {
                for pdu in pdus {
                    let Pdu::Data(pdu) = pdu else {
                        unreachable!("there is no STATUS PDU in transparent mode")
                    };
                    tm::lose(cx, &mut way.source.sdus, pdu);
                }
            }
            Rlc::Um { .. } | Rlc::Am { .. } => {}
        }
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

    /// The size of an IP packet as an SDU with its PDCP header.
    #[must_use]
    pub fn sdu_size(&self, packet: Bytes) -> u32 {
        self.downlink.source.queue.size_of(packet)
    }

    /// Packets held.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        self.downlink.source.packets_held() + self.uplink.source.packets_held()
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
        match &self.way(direction).rlc {
            Rlc::Tm | Rlc::Um { .. } => 0,
            Rlc::Am { transmitter, .. } => transmitter.failures(),
        }
    }

    /// The SDUs that have a COUNT and whose delivery the receiver has not confirmed, in the order
    /// of COUNT: those that a lossless handover forwards (TS 36.323 v17.0 §5.2.1.1). Empty except
    /// in acknowledged mode.
    pub fn unconfirmed(&self, direction: Direction) -> impl Iterator<Item = Unconfirmed> {
        let way = self.way(direction);
        let transmitter = match &way.rlc {
            Rlc::Tm | Rlc::Um { .. } => None,
            Rlc::Am { transmitter, .. } => Some(transmitter),
        };
        transmitter.into_iter().flat_map(|transmitter| {
            way.source.sdus.iter().filter_map(|(count, from, to, packet)| {
                (!transmitter.has_confirmed(from, to, way.source.position())).then_some(Unconfirmed {
                    count,
                    size: Bytes(to - from),
                    delivered: packet.is_none(),
                })
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
