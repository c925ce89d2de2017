//! A data radio bearer: PDCP over RLC, both ends of both directions.
//!
//! It is driven by the MAC. SDUs are submitted, grants are filled with PDUs, PDUs that were
//! decoded are handed to the other end, and SDUs come out there in order, or in transparent mode as
//! they come. A PDU that was lost is never handed over; in transparent mode, which could not tell,
//! the bearer hears of it.
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

use airlane_core::{Bytes, Cx, Direction, Duration, Instant, PacketRef, Stream};

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

/// What a data radio bearer is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct BearerConfig {
    /// Mode of RLC.
    pub mode: RlcMode,
    /// Byte limit of each direction's transmit queue: SDUs and PDCP headers of which nothing, or
    /// not all, has been sent.
    pub buffer: Bytes,
    /// What acts on the transmit queues besides their limit.
    pub aqm: Aqm,
    /// PDCP.
    pub pdcp: PdcpConfig,
    /// RLC in unacknowledged mode.
    pub um: UmConfig,
    /// RLC in acknowledged mode.
    pub am: AmConfig,
    /// What the MAC needs for each PDU besides its own bytes (its subheader, TS 36.321 §6.1.2);
    /// taken from the grant for each PDU, and counted in what `transmit` says it used.
    pub pdu_overhead: Bytes,
}

impl BearerConfig {
    /// The constants of ns-3.37 (`src/lte/model/lte-rlc-um.cc`, `lte-rlc-am.cc`, `lte-pdcp.cc`),
    /// which has no discard timer. Its quirk of sending a STATUS PDU alone is not among them.
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

    /// What deployed networks configure for a default bearer: the values that srsRAN 4G ships for
    /// QCI 9 (`srsenb/rb.conf.example`), maxRetxThreshold that of its downlink. The buffer of
    /// 512 KiB is a choice: srsRAN counts SDUs, and operators do not say.
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

    /// What is wrong with it, if anything: a key, and what would be right.
    ///
    /// # Errors
    /// A sequence number length that the specification does not have.
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

/// A value that a bearer cannot have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidBearer {
    /// The field of [`BearerConfig`].
    pub key: &'static str,
    /// What it was.
    pub value: u8,
    /// What it may be.
    pub right: &'static str,
}

/// What a transmitter has to send (TS 36.322 v17.0 §4.5), RLC headers included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferStatus {
    /// A STATUS PDU that may be sent now.
    pub control: Bytes,
    /// Data to be sent again.
    pub retransmission: Bytes,
    /// Data to be sent for the first time.
    pub new: Bytes,
    /// How long the oldest SDU of which a byte was never sent has been waiting.
    pub head_of_line: Option<Duration>,
}

impl BufferStatus {
    /// All of it.
    #[must_use]
    pub fn total(&self) -> Bytes {
        self.control + self.retransmission + self.new
    }
}

/// An SDU that a handover would have to forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unconfirmed {
    /// Its COUNT.
    pub count: u32,
    /// Its size with the PDCP header.
    pub size: Bytes,
    /// It has been delivered, only the sender does not know.
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
        // Nothing is confirmed in unacknowledged mode, so nothing is kept until it is.
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

    fn receive_status(&mut self, pdu: StatusPdu) {
        match &mut self.rlc {
            Rlc::Tm | Rlc::Um { .. } => unreachable!("there are STATUS PDUs in acknowledged mode only"),
            Rlc::Am { transmitter, reports, .. } => {
                transmitter.receive_status(&mut self.source, pdu, reports);
            }
        }
    }

    /// The STATUS PDU for the data of this direction that may be sent now, at most.
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
    /// A bearer that carries nothing yet. `stream` gives the random stream of a transmit queue
    /// whose discipline draws.
    ///
    /// # Panics
    /// If the configuration is not one that [`BearerConfig::check`] accepts.
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

    /// Takes an SDU in for sending. If the transmit queue is full, it is dropped.
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

    /// What the transmitter of this direction has to send.
    #[must_use]
    pub fn buffer_status(&self, direction: Direction, now: Instant) -> BufferStatus {
        if self.is_suspended() {
            return BufferStatus::default();
        }
        let [control, retransmission, new] = self.amounts(direction, now);
        let head_of_line = self.way(direction).source.head_since().map(|since| now.saturating_since(since));
        BufferStatus { control, retransmission, new, head_of_line }
    }

    /// [`BufferStatus::total`] of it, for who asks in every slot.
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

    /// Control, data to be sent again, and new data.
    fn amounts(&self, direction: Direction, now: Instant) -> [Bytes; 3] {
        let way = self.way(direction);
        match &way.rlc {
            // Each SDU needs room of its own, or it would never find enough.
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

    /// Fills a grant with PDUs, STATUS first, then what is sent again, then new data, and tells
    /// how much of it they take.
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

    /// The PDUs of a transport block that was decoded arrive at the other end. SDUs that become
    /// deliverable are appended to `deliver`, in order.
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

    /// The PDUs of a transport block that HARQ has given up, which will never be received. The
    /// other modes see it by their sequence numbers.
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

    /// When to call `handle_timeout`, if nothing else happens first.
    #[inline]
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        (self.timeout != Instant::FAR_FUTURE).then_some(self.timeout)
    }

    /// Lets the timers act that have expired. SDUs that become deliverable are appended to the
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

    /// What an IP packet of this size is as an SDU with its PDCP header.
    #[must_use]
    pub fn sdu_size(&self, packet: Bytes) -> u32 {
        self.downlink.source.queue.size_of(packet)
    }

    /// Packets inside.
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

    /// How often RLC told that the maximum of retransmissions of a PDU was reached
    /// (TS 36.322 v17.0 §5.2.1), which the upper layers may take for a radio link failure.
    #[must_use]
    pub fn radio_link_failures(&self, direction: Direction) -> u64 {
        match &self.way(direction).rlc {
            Rlc::Tm | Rlc::Um { .. } => 0,
            Rlc::Am { transmitter, .. } => transmitter.failures(),
        }
    }

    /// The SDUs that have a COUNT and whose delivery the receiver has not confirmed, in the order
    /// of COUNT: what a lossless handover forwards (TS 36.323 v17.0 §5.2.1.1). None but in
    /// acknowledged mode.
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

    /// The way of this direction, and the way back.
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
