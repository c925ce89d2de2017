//! A data radio bearer: PDCP over RLC, both ends of both directions.
//!
//! It is driven by the MAC. SDUs are submitted, grants are filled with PDUs, PDUs that were
//! decoded are handed to the other end, and SDUs come out there in order. A PDU that was lost is
//! simply never handed over.

use airlane_core::{Bytes, Cx, Direction, Duration, Instant, PacketRef};

use crate::pdcp::PdcpConfig;
use crate::rlc::queue::TransmitQueue;
use crate::rlc::source::Source;
use crate::rlc::um;
use crate::rlc::{Aqm, Pdu, UmConfig};

/// The mode of RLC (TS 36.322 v17.0 §4.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Unacknowledged mode.
    Um,
}

/// What a data radio bearer is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// What the MAC needs for each PDU besides its own bytes (its subheader, TS 36.321 §6.1.2);
    /// taken from the grant for each PDU, and counted in what `transmit` says it used.
    pub pdu_overhead: Bytes,
}

impl BearerConfig {
    /// The constants of ns-3.37 (`src/lte/model/lte-rlc-um.cc`, `lte-rlc-am.cc`, `lte-pdcp.cc`).
    #[must_use]
    pub const fn lena() -> Self {
        Self {
            mode: RlcMode::Um,
            buffer: Bytes(10 * 1024),
            aqm: Aqm::DropTail,
            pdcp: PdcpConfig { sn_bits: 12, discard: None },
            um: UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(100) },
            pdu_overhead: Bytes::ZERO,
        }
    }

    /// What deployed networks configure for a default bearer (QCI 9).
    #[must_use]
    pub const fn typical() -> Self {
        Self {
            mode: RlcMode::Um,
            buffer: Bytes(512 * 1024),
            aqm: Aqm::DropTail,
            pdcp: PdcpConfig { sn_bits: 12, discard: Some(Duration::from_millis(150)) },
            um: UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(50) },
            pdu_overhead: Bytes::ZERO,
        }
    }
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

/// RLC of one direction: the transmitting side at one end, the receiving side at the other.
#[derive(Debug)]
enum Rlc {
    Um { transmitter: um::Transmitter, receiver: um::Receiver },
}

/// One direction of the bearer.
#[derive(Debug)]
struct OneWay {
    source: Source,
    rlc: Rlc,
}

impl OneWay {
    fn new(config: &BearerConfig) -> Self {
        let rlc = match config.mode {
            RlcMode::Um => Rlc::Um {
                transmitter: um::Transmitter::new(&config.um),
                receiver: um::Receiver::new(&config.um),
            },
        };
        Self { source: Source::new(TransmitQueue::new(config.buffer, config.aqm, &config.pdcp)), rlc }
    }

    #[inline]
    fn next_timeout(&self) -> Instant {
        let rlc = match &self.rlc {
            Rlc::Um { receiver, .. } => receiver.next_timeout(),
        };
        rlc.min(self.source.queue.expires_at())
    }

    fn handle_timeout(&mut self, cx: &mut Cx<'_>, deliver: &mut Vec<PacketRef>) {
        self.source.queue.expire(cx);
        match &mut self.rlc {
            Rlc::Um { receiver, .. } => receiver.handle_timeout(cx, &mut self.source.sdus, deliver),
        }
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
}

impl RadioBearer {
    /// A bearer that carries nothing yet.
    #[must_use]
    pub fn new(config: &BearerConfig) -> Self {
        Self {
            downlink: OneWay::new(config),
            uplink: OneWay::new(config),
            pdu_overhead: u32::try_from(config.pdu_overhead.get()).expect("a MAC subheader is a few bytes"),
            timeout: Instant::FAR_FUTURE,
        }
    }

    /// Takes an SDU in for sending. If the transmit queue is full, it is dropped.
    #[inline]
    pub fn submit(&mut self, cx: &mut Cx<'_>, direction: Direction, packet: PacketRef) {
        let source = &mut self.way_mut(direction).source;
        let begun = source.begun();
        source.queue.enqueue(cx, packet, begun);
        self.timeout = self.timeout.min(self.way(direction).source.queue.expires_at());
    }

    /// What the transmitter of this direction has to send.
    #[inline]
    #[must_use]
    pub fn buffer_status(&self, direction: Direction, now: Instant) -> BufferStatus {
        let way = self.way(direction);
        let head_of_line = way.source.head_since().map(|since| now.saturating_since(since));
        match &way.rlc {
            Rlc::Um { transmitter, .. } => BufferStatus {
                new: Bytes(way.source.pdu_estimate(transmitter.header())),
                head_of_line,
                ..BufferStatus::default()
            },
        }
    }

    /// Fills a grant with PDUs and tells how much of it they take.
    #[inline]
    pub fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        direction: Direction,
        grant: Bytes,
        out: &mut Vec<Pdu>,
    ) -> Bytes {
        let overhead = self.pdu_overhead;
        let grant = u32::try_from(grant.get()).expect("a transport block is shorter than 4 GiB");
        let mut left = grant;
        let OneWay { source, rlc } = self.way_mut(direction);
        match rlc {
            Rlc::Um { transmitter, .. } => {
                while let Some(pdu) = transmitter.transmit(cx, source, left.saturating_sub(overhead)) {
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
        let way = self.way_mut(direction);
        for pdu in pdus {
            match (pdu, &mut way.rlc) {
                (Pdu::Data(pdu), Rlc::Um { receiver, .. }) => {
                    receiver.receive(cx, &mut way.source.sdus, pdu, deliver);
                }
            }
        }
        self.update_timeout();
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

    /// Packets inside.
    #[must_use]
    pub fn packets_held(&self) -> usize {
        [&self.downlink, &self.uplink].map(|way| way.source.queue.len() + way.source.sdus.held()).iter().sum()
    }

    /// Bytes of SDUs and PDCP headers that have not been sent yet.
    #[inline]
    #[must_use]
    pub fn queue(&self, direction: Direction) -> Bytes {
        Bytes(self.way(direction).source.backlog())
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

    #[inline]
    fn way_mut(&mut self, direction: Direction) -> &mut OneWay {
        match direction {
            Direction::Downlink => &mut self.downlink,
            Direction::Uplink => &mut self.uplink,
        }
    }
}

#[cfg(test)]
mod tests;
