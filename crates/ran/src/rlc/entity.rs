//! RLC of one direction of a bearer: the transmitting side at one end, the receiving side at the other.
//!
//! This is the only place that knows the modes of RLC (TS 36.322 v17.0 §4.2.1). A bearer asks an [`Entity`], and the
//! MAC asks the bearer; both treat a [`Pdu`] as opaque. RLC of NR (TS 38.322) is one variant, which knows its own modes.

use airlane_core::{Bytes, Cx, Instant, PacketRef};

use super::nr::{NrConfig, NrEntity};
use super::source::Source;
use super::store::Ranges;
use super::{AmConfig, Pdu, StatusPdu, UmConfig, am, tm, um};

/// The mode of RLC, with the settings of that mode.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RlcConfig {
    /// Transparent mode.
    Tm,
    /// Unacknowledged mode.
    Um(UmConfig),
    /// Acknowledged mode.
    Am(AmConfig),
    /// RLC and PDCP of NR.
    Nr(NrConfig),
}

/// The mode of RLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RlcMode {
    /// Transparent mode.
    Tm,
    /// Unacknowledged mode.
    Um,
    /// Acknowledged mode.
    Am,
}

impl RlcConfig {
    /// The mode.
    #[must_use]
    pub const fn mode(&self) -> RlcMode {
        match self {
            Self::Tm => RlcMode::Tm,
            Self::Um(_) => RlcMode::Um,
            Self::Am(_) => RlcMode::Am,
            Self::Nr(nr) => nr.rlc.mode(),
        }
    }
}

/// Both sides of RLC for the data of one direction.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a bearer is touched each slot; 400 bytes beat an indirection")]
pub(crate) enum Entity {
    Tm,
    Um {
        transmitter: um::Transmitter,
        receiver: um::Receiver,
    },
    Am {
        transmitter: am::Transmitter,
        receiver: am::Receiver,
        reports: am::Reports,
        /// A block with a STATUS PDU has no other PDU.
        status_alone: bool,
    },
    Nr(Box<NrEntity>),
}

/// No handover mode applies to it: without RLC's help, PDCP cannot determine which SDUs have arrived.
const TM_STAYS: &str = "a bearer in transparent mode stays in its cell";

/// A grant of the MAC to a bearer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PduGrant {
    /// Bytes that are left.
    pub(crate) left: u32,
    /// Bytes that the MAC adds to each PDU.
    pub(crate) overhead: u32,
}

/// The direction of a bearer that is opposite to that of this entity.
pub(crate) struct Opposite<'a> {
    pub(crate) rlc: &'a mut Entity,
    pub(crate) source: &'a mut Source,
}

impl Entity {
    pub(crate) fn new(config: &RlcConfig) -> Self {
        match config {
            RlcConfig::Tm => Self::Tm,
            RlcConfig::Um(um) => {
                Self::Um { transmitter: um::Transmitter::new(um), receiver: um::Receiver::new(um) }
            }
            RlcConfig::Am(am) => Self::Am {
                transmitter: am::Transmitter::new(am),
                receiver: am::Receiver::new(am),
                reports: am::Reports::default(),
                status_alone: am.status_alone,
            },
            RlcConfig::Nr(nr) => Self::Nr(Box::new(NrEntity::new(nr))),
        }
    }

    pub(crate) fn mode(&self) -> RlcMode {
        match self {
            Self::Tm => RlcMode::Tm,
            Self::Um { .. } => RlcMode::Um,
            Self::Am { .. } => RlcMode::Am,
            Self::Nr(nr) => nr.mode(),
        }
    }

    #[inline]
    pub(crate) fn next_timeout(&self) -> Instant {
        match self {
            Self::Tm => Instant::FAR_FUTURE,
            Self::Um { receiver, .. } => receiver.next_timeout(),
            Self::Am { transmitter, receiver, .. } => transmitter.next_timeout().min(receiver.next_timeout()),
            Self::Nr(nr) => nr.next_timeout(),
        }
    }

    pub(crate) fn handle_timeout(
        &mut self,
        cx: &mut Cx<'_>,
        source: &mut Source,
        deliver: &mut Vec<PacketRef>,
    ) {
        match self {
            Self::Tm => {}
            Self::Um { receiver, .. } => receiver.handle_timeout(cx, &mut source.sdus, deliver),
            Self::Am { transmitter, receiver, .. } => {
                receiver.handle_timeout(cx.now);
                transmitter.handle_timeout(cx.now, source);
            }
            Self::Nr(nr) => nr.handle_timeout(cx, source, deliver),
        }
    }

    /// Bytes of one PDU of new data with its header, where that is all there may be to send; `None` where more has to
    /// be considered.
    #[inline(always)]
    pub(crate) fn only_new_data(&self, source: &Source) -> Option<u64> {
        match self {
            Self::Um { transmitter, .. } => Some(source.pdu_estimate(transmitter.header())),
            Self::Tm | Self::Am { .. } | Self::Nr(_) => None,
        }
    }

    /// Whether there is new data that may be sent; `None` where the bytes have to be computed to know it.
    #[inline(always)]
    pub(crate) fn has_new_data(&self, source: &Source) -> Option<bool> {
        match self {
            Self::Um { .. } => Some(!source.is_empty()),
            // Without new data, there may be some for retransmission.
            Self::Am { transmitter, .. } => (!transmitter.is_stalled() && !source.is_empty()).then_some(true),
            Self::Nr(nr) => nr.has_new_data(source).then_some(true),
            Self::Tm => None,
        }
    }

    /// Data for retransmission, and new data. `overhead` is that of the MAC for each PDU.
    pub(crate) fn amounts(&self, source: &Source, overhead: u32) -> [Bytes; 2] {
        match self {
            // The status includes the overhead of each SDU, since a grant without it would be too small.
            Self::Tm => {
                let overhead = u64::from(overhead) * source.waiting();
                [Bytes::ZERO, Bytes(source.backlog() + overhead)]
            }
            Self::Um { transmitter, .. } => [Bytes::ZERO, Bytes(source.pdu_estimate(transmitter.header()))],
            Self::Am { transmitter, .. } => [
                Bytes(transmitter.retransmission_estimate()),
                match transmitter.is_stalled() {
                    true => Bytes::ZERO,
                    false => Bytes(source.pdu_estimate(transmitter.header())),
                },
            ],
            Self::Nr(nr) => nr.amounts(source, overhead),
        }
    }

    /// The largest STATUS PDU for the data of this direction that may be sent now.
    #[inline]
    pub(crate) fn status_estimate(&self, now: Instant) -> Bytes {
        match self {
            Self::Tm | Self::Um { .. } => Bytes::ZERO,
            Self::Am { receiver, .. } => Bytes(u64::from(receiver.status_estimate(now))),
            Self::Nr(nr) => nr.status_estimate(now),
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
        match self {
            Self::Tm => {
                while let Some(pdu) = tm::transmit(cx, source, left.saturating_sub(overhead)) {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
            Self::Um { transmitter, .. } => {
                while let Some(pdu) = transmitter.transmit(cx, source, left.saturating_sub(overhead)) {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
            Self::Am { transmitter, status_alone, .. } => {
                let mut rest_is_usable = true;
                if let Self::Am { receiver, reports, .. } = back
                    && let Some(pdu) = receiver.status(cx.now, left.saturating_sub(overhead), reports)
                {
                    left -= pdu.size + overhead;
                    out.push(Pdu::Status(pdu));
                    rest_is_usable = !*status_alone;
                }
                while rest_is_usable
                    && let Some(pdu) = transmitter.transmit(cx, source, left.saturating_sub(overhead))
                {
                    left -= pdu.size().get() as u32 + overhead;
                    out.push(pdu);
                }
            }
            Self::Nr(nr) => {
                let Self::Nr(back) = back else { unreachable!("both directions have one configuration") };
                left = nr.transmit(cx, source, back, grant, out);
            }
        }
        left
    }

    /// The PDUs of a decoded transport block arrive at the other end. `back` is the other direction, to whose data
    /// STATUS PDUs belong.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        cx: &mut Cx<'_>,
        source: &mut Source,
        back: Opposite<'_>,
        pdus: &[Pdu],
        deliver: &mut Vec<PacketRef>,
    ) {
        for pdu in pdus {
            match (pdu, &mut *self) {
                (Pdu::Data(pdu), Self::Tm) => tm::receive(&mut source.sdus, pdu, deliver),
                (Pdu::Data(pdu), Self::Um { receiver, .. }) => {
                    receiver.receive(cx, &mut source.sdus, pdu, deliver);
                }
                (Pdu::Data(pdu), Self::Am { receiver, .. }) => {
                    receiver.receive(cx.now, &mut source.sdus, pdu, deliver);
                }
                (Pdu::Data(pdu), Self::Nr(nr)) => nr.receive(cx, source, pdu, deliver),
                (Pdu::Status(pdu), _) => back.rlc.receive_status(back.source, *pdu),
            }
        }
    }

    fn receive_status(&mut self, source: &mut Source, pdu: StatusPdu) {
        match self {
            Self::Tm | Self::Um { .. } => unreachable!("there are STATUS PDUs in acknowledged mode only"),
            Self::Am { transmitter, reports, .. } => transmitter.receive_status(source, pdu, reports),
            Self::Nr(nr) => nr.receive_status(source, pdu),
        }
    }

    /// The PDUs of a block that will never be received. The other modes detect this by sequence numbers.
    pub(crate) fn lose(&mut self, cx: &mut Cx<'_>, source: &mut Source, pdus: &[Pdu]) {
        match self {
            Self::Tm => {
                for pdu in pdus {
                    let Pdu::Data(pdu) = pdu else {
                        unreachable!("there is no STATUS PDU in transparent mode")
                    };
                    tm::lose(cx, &mut source.sdus, pdu);
                }
            }
            Self::Um { .. } | Self::Am { .. } | Self::Nr(_) => {}
        }
    }

    /// How often a PDU reached the maximum number of retransmissions.
    pub(crate) fn failures(&self) -> u64 {
        match self {
            Self::Tm | Self::Um { .. } => 0,
            Self::Am { transmitter, .. } => transmitter.failures(),
            Self::Nr(nr) => nr.failures(),
        }
    }

    /// True if the transmitter has a confirmation for this range of the stream.
    pub(crate) fn has_confirmed(&self, from: u64, to: u64, source: &Source) -> bool {
        match self {
            Self::Tm | Self::Um { .. } => false,
            Self::Am { transmitter, .. } => transmitter.has_confirmed(from, to, source.position()),
            Self::Nr(nr) => nr.has_confirmed(from, to, source),
        }
    }

    /// The received ranges of the stream.
    pub(crate) fn received(&self, source: &Source) -> Ranges {
        match self {
            Self::Tm => unreachable!("{TM_STAYS}"),
            Self::Um { receiver, .. } => receiver.received(),
            Self::Am { transmitter, receiver, .. } => {
                let mut ranges = Ranges::until(transmitter.start_of(receiver.first_missing(), source));
                receiver.add_received(&mut ranges);
                ranges
            }
            // Complete SDUs have been delivered, the segments of others are discarded.
            Self::Nr(_) => Ranges::until(0),
        }
    }

    /// Re-establishes both sides, whose SDUs have been removed.
    pub(crate) fn restart(&mut self, source: &mut Source) {
        source.restart();
        let position = source.position();
        match self {
            Self::Tm => {}
            Self::Um { transmitter, receiver } => receiver.reestablish(transmitter.reestablish(), position),
            Self::Am { transmitter, receiver, .. } => receiver.reestablish(transmitter.reestablish()),
            Self::Nr(nr) => nr.restart(),
        }
    }

    /// Data that were to follow a PDU without a poll may no longer be able to follow it.
    #[cold]
    pub(crate) fn after_shrinking(&mut self, now: Instant, source: &Source) {
        match self {
            Self::Tm | Self::Um { .. } => {}
            Self::Am { transmitter, .. } => transmitter.handle_timeout(now, source),
            Self::Nr(nr) => nr.after_shrinking(now, source),
        }
    }

    /// Removes an SDU that PDCP of NR holds behind a gap, and that will be sent again.
    pub(crate) fn take_back(&mut self, count: u32) -> Option<PacketRef> {
        self.nr_mut()?.pdcp.take_back(count)
    }

    /// Layer 2 of NR, if it is that.
    pub(crate) fn nr(&self) -> Option<&NrEntity> {
        match self {
            Self::Tm | Self::Um { .. } | Self::Am { .. } => None,
            Self::Nr(nr) => Some(nr),
        }
    }

    /// [`Self::nr`] for a caller that changes it.
    pub(crate) fn nr_mut(&mut self) -> Option<&mut NrEntity> {
        match self {
            Self::Tm | Self::Um { .. } | Self::Am { .. } => None,
            Self::Nr(nr) => Some(nr),
        }
    }
}
