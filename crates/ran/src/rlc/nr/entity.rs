//! RLC and the receiving PDCP of one direction of a bearer of NR.

use airlane_core::{Bytes, Cx, DropCause, Instant, PacketRef};

use super::{NrConfig, NrRlc, am, header, um};
use crate::pdcp::nr::Receiver as PdcpReceiver;
use crate::rlc::entity::{PduGrant, RlcMode};
use crate::rlc::source::Source;
use crate::rlc::store::CONTROL;
use crate::rlc::{DataPdu, Pdu, StatusPdu};

/// Memory is reserved for this many PDUs of a block when it first carries some: without concatenation, a block with TCP
/// acknowledgments has many.
const PDUS_RESERVED: usize = 64;

/// Both sides of RLC for the data of one direction, and PDCP at its receiver.
#[derive(Debug)]
pub(crate) struct NrEntity {
    rlc: Mode,
    pub(crate) pdcp: PdcpReceiver,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is in a box of its own")]
enum Mode {
    Um { transmitter: um::Transmitter, receiver: um::Receiver },
    Am { transmitter: am::Transmitter, receiver: am::Receiver, reports: am::status::NrReports },
}

impl NrEntity {
    pub(crate) fn new(config: &NrConfig) -> Self {
        let rlc = match &config.rlc {
            NrRlc::Um(um) => {
                Mode::Um { transmitter: um::Transmitter::new(um), receiver: um::Receiver::new(um) }
            }
            NrRlc::Am(am) => Mode::Am {
                transmitter: am::Transmitter::new(am),
                receiver: am::Receiver::new(am),
                reports: am::status::NrReports::default(),
            },
        };
        Self { rlc, pdcp: PdcpReceiver::new(&config.reordering) }
    }

    pub(crate) fn mode(&self) -> RlcMode {
        match &self.rlc {
            Mode::Um { .. } => RlcMode::Um,
            Mode::Am { .. } => RlcMode::Am,
        }
    }

    pub(crate) fn next_timeout(&self) -> Instant {
        let rlc = match &self.rlc {
            Mode::Um { receiver, .. } => receiver.next_timeout(),
            Mode::Am { transmitter, receiver, .. } => transmitter.next_timeout().min(receiver.next_timeout()),
        };
        rlc.min(self.pdcp.next_timeout())
    }

    pub(crate) fn handle_timeout(
        &mut self,
        cx: &mut Cx<'_>,
        source: &mut Source,
        deliver: &mut Vec<PacketRef>,
    ) {
        match &mut self.rlc {
            Mode::Um { receiver, .. } => receiver.handle_timeout(cx.now),
            Mode::Am { transmitter, receiver, .. } => {
                receiver.handle_timeout(cx.now);
                transmitter.handle_timeout(cx.now, source);
            }
        }
        if self.pdcp.next_timeout() <= cx.now {
            self.pdcp.handle_timeout(cx.now, deliver);
            self.discard_lost(cx, source);
        }
    }

    /// Discards the SDUs of unacknowledged mode that PDCP no longer waits for.
    fn discard_lost(&self, cx: &mut Cx<'_>, source: &mut Source) {
        match self.rlc {
            Mode::Um { .. } => {
                while let Some(lost) = source.sdus.pop_below(self.pdcp.first_missing()) {
                    if let Some(packet) = lost {
                        cx.discard(packet, DropCause::Radio);
                    }
                }
                source.sdus.release_taken();
            }
            Mode::Am { .. } => {} // RLC does not give them up
        }
    }

    /// Whether there is new data that may be sent now. Without, there may be other data.
    #[inline]
    pub(crate) fn has_new_data(&self, source: &Source) -> bool {
        let is_full = match &self.rlc {
            Mode::Um { .. } => false,
            Mode::Am { transmitter, .. } => transmitter.is_full(),
        };
        !is_full && !source.is_empty()
    }

    /// Data for retransmission, and new data. `overhead` is that of the MAC for each PDU.
    pub(crate) fn amounts(&self, source: &Source, overhead: u32) -> [Bytes; 2] {
        match &self.rlc {
            Mode::Um { transmitter, .. } => {
                [Bytes::ZERO, Bytes(source.parts_estimate(transmitter.headers(), overhead))]
            }
            Mode::Am { transmitter, .. } => [
                Bytes(transmitter.retransmission_estimate(overhead)),
                Bytes(match transmitter.is_full() {
                    true => source.begun_estimate(transmitter.headers(), overhead),
                    false => source.parts_estimate(transmitter.headers(), overhead),
                }),
            ],
        }
    }

    /// The STATUS PDU for the data of this direction that may be sent now.
    pub(crate) fn status_estimate(&self, now: Instant) -> Bytes {
        match &self.rlc {
            Mode::Um { .. } => Bytes::ZERO,
            Mode::Am { receiver, .. } => Bytes(u64::from(receiver.status_estimate(now))),
        }
    }

    /// Fills a grant with PDUs, each with the MAC's overhead: STATUS for the data of the other direction, which is `back`,
    /// then retransmissions, then new data. Returns the bytes that are left.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        cx: &mut Cx<'_>,
        source: &mut Source,
        back: &mut Self,
        grant: PduGrant,
        out: &mut Vec<Pdu>,
    ) -> u32 {
        let PduGrant { mut left, overhead } = grant;
        if out.capacity() < PDUS_RESERVED {
            out.reserve_exact(PDUS_RESERVED - out.len());
        }
        match &mut self.rlc {
            Mode::Um { transmitter, .. } => {
                while let Some(pdu) = transmitter.transmit(cx, source, header::largest(left, overhead)) {
                    left -= pdu.size + header::subheader(overhead, pdu.size);
                    out.push(Pdu::Data(pdu));
                }
            }
            Mode::Am { transmitter, .. } => {
                let space = header::largest(left, overhead);
                if let Mode::Am { receiver, reports, .. } = &mut back.rlc
                    && let Some(pdu) = receiver.status(cx.now, space, reports)
                {
                    left -= pdu.size + header::subheader(overhead, pdu.size);
                    out.push(Pdu::Status(pdu));
                }
                while let Some(pdu) = transmitter.transmit(cx, source, header::largest(left, overhead)) {
                    left -= pdu.size + header::subheader(overhead, pdu.size);
                    out.push(Pdu::Data(pdu));
                }
            }
        }
        left
    }

    /// A data PDU arrives at the other end.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        source: &mut Source,
        pdu: &DataPdu,
        deliver: &mut Vec<PacketRef>,
    ) {
        let index = match &mut self.rlc {
            Mode::Um { receiver, .. } => {
                if !receiver.receive(cx.now, pdu) {
                    return;
                }
                // PDCP may have given it up.
                let Some(index) = source.sdus.index_at(pdu.from - u64::from(pdu.offset)) else { return };
                index
            }
            Mode::Am { transmitter, receiver, .. } => {
                if !receiver.receive(cx.now, pdu) {
                    return;
                }
                (pdu.sn - transmitter.first()) as usize
            }
        };
        let (count, packet) = source.sdus.take(index);
        if count == CONTROL {
            return source.sdus.reception.report_arrives();
        }
        self.pdcp.receive(cx, count, packet, deliver);
        if matches!(self.rlc, Mode::Um { .. }) {
            source.sdus.release_taken();
        }
    }

    pub(crate) fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu) {
        match &mut self.rlc {
            Mode::Um { .. } => unreachable!("there are STATUS PDUs in acknowledged mode only"),
            Mode::Am { transmitter, reports, .. } => transmitter.receive_status(source, pdu, reports),
        }
    }

    /// How often an SDU reached the maximum number of retransmissions.
    pub(crate) fn failures(&self) -> u64 {
        match &self.rlc {
            Mode::Um { .. } => 0,
            Mode::Am { transmitter, .. } => transmitter.failures(),
        }
    }

    /// True if the transmitter has a confirmation for the SDU in this range of the stream.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, source: &Source) -> bool {
        match &self.rlc {
            Mode::Um { .. } => false,
            Mode::Am { transmitter, .. } => transmitter.has_confirmed(from, to, source.position()),
        }
    }

    /// Re-establishes both sides of RLC, whose SDUs have been removed. PDCP keeps its state.
    pub(crate) fn restart(&mut self) {
        match &mut self.rlc {
            Mode::Um { transmitter, receiver } => receiver.reestablish(transmitter.reestablish()),
            Mode::Am { transmitter, receiver, .. } => receiver.reestablish(transmitter.reestablish()),
        }
    }

    /// Data that were to follow a PDU without a poll may no longer be able to follow it.
    pub(crate) fn after_shrinking(&mut self, now: Instant, source: &Source) {
        if let Mode::Am { transmitter, .. } = &mut self.rlc {
            transmitter.handle_timeout(now, source);
        }
    }
}
