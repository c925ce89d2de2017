//! RLC and PDCP of the bearers of a cell's UEs.

use airlane_core::Bytes;
use airlane_ran::bearer::{BearerConfig, RlcConfig};
use airlane_ran::pdcp::nr::ReorderingConfig;
use airlane_ran::pdcp::{PdcpConfig, RetransmissionQueue};
use airlane_ran::rlc;
use airlane_ran::rlc::nr::{NrConfig, NrRlc};
use airlane_ran::sdap::SdapHeaders;
use airlane_settings::{Checked, Place};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Aqm, Cell, tagged};
use crate::check::PACKET;
use crate::quantity::{Size, Time};

/// Radio link control: of LTE (TS 36.322), or that of NR (TS 38.322) together with the reordering of its PDCP
/// (TS 38.323), in a cell of either.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub enum Rlc {
    /// Acknowledged mode.
    Am(RlcAm),
    /// Unacknowledged mode.
    Um(RlcUm),
    /// Transparent mode.
    Tm(RlcTm),
    /// Acknowledged mode of NR.
    #[serde(rename = "nr-am")]
    NrAm(RlcNrAm),
    /// Unacknowledged mode of NR.
    #[serde(rename = "nr-um")]
    NrUm(RlcNrUm),
}
tagged!(Rlc by "mode" {
    "am" => Am(RlcAm),
    "um" => Um(RlcUm),
    "tm" => Tm(RlcTm),
    "nr-am" => NrAm(RlcNrAm),
    "nr-um" => NrUm(RlcNrUm),
});

impl Rlc {
    /// Size and queue discipline of the transmission buffer.
    pub fn queue(&self) -> (Size, &Aqm) {
        match self {
            Self::Am(RlcAm { buffer, aqm, .. })
            | Self::Um(RlcUm { buffer, aqm, .. })
            | Self::Tm(RlcTm { buffer, aqm })
            | Self::NrAm(RlcNrAm { buffer, aqm, .. })
            | Self::NrUm(RlcNrUm { buffer, aqm, .. }) => (*buffer, aqm),
        }
    }

    /// Whether it confirms delivery.
    pub(crate) const fn is_acknowledged(&self) -> bool {
        matches!(self, Self::Am(_) | Self::NrAm(_))
    }
}

/// Acknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcAm {
    /// Bits of the sequence number: 10 or 16.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-PollRetransmit.
    pub poll_retransmit: Time,
    /// t-Reordering.
    pub reordering: Time,
    /// t-StatusProhibit.
    pub status_prohibit: Time,
    /// pollPDU: number of PDUs after which a poll is sent; none for infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: number of bytes after which a poll is sent; none for infinity.
    pub poll_byte: Option<Size>,
    /// maxRetxThreshold.
    pub max_retransmissions: u8,
    /// Whether a STATUS PDU uses a whole transmission opportunity, as in ns-3.
    pub status_alone: bool,
}

/// Unacknowledged mode.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcUm {
    /// Bits of the sequence number: 5 or 10.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-Reordering.
    pub reordering: Time,
}

/// Transparent mode: no header, no segmentation, no reordering. LTE uses it for control channels only. On a
/// data bearer it serves as a baseline for the other modes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcTm {
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
}

/// Acknowledged mode of NR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcNrAm {
    /// Bits of the sequence number: 12 or 18.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-PollRetransmit.
    pub poll_retransmit: Time,
    /// t-Reassembly.
    pub reassembly: Time,
    /// t-StatusProhibit.
    pub status_prohibit: Time,
    /// pollPDU: number of PDUs after which a poll is sent; none for infinity.
    pub poll_pdu: Option<u32>,
    /// pollByte: number of bytes after which a poll is sent; none for infinity.
    pub poll_byte: Option<Size>,
    /// maxRetxThreshold.
    pub max_retransmissions: u8,
    /// t-Reordering of PDCP.
    pub reordering: Time,
    /// outOfOrderDelivery of PDCP: packets are delivered in the order of their arrival.
    pub out_of_order: bool,
}

/// Unacknowledged mode of NR.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RlcNrUm {
    /// Bits of the sequence number: 6 or 12.
    pub sn_bits: u8,
    /// Size of the transmission buffer.
    pub buffer: Size,
    /// Queue discipline of the transmission buffer.
    pub aqm: Aqm,
    /// t-Reassembly.
    pub reassembly: Time,
    /// t-Reordering of PDCP.
    pub reordering: Time,
    /// outOfOrderDelivery of PDCP: packets are delivered in the order of their arrival.
    pub out_of_order: bool,
}

/// Packet data convergence protocol (TS 36.323).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pdcp {
    /// Bits of the sequence number: 7, 12, 15 or 18; with RLC of NR, 12 or 18.
    pub sn_bits: u8,
    /// discardTimer; none for infinity.
    pub discard_timer: Option<Time>,
    /// Maximum number of bytes of SDUs that RLC AM has sent and not confirmed. An SDU that does not fit waits
    /// in the RLC buffer. By default, there is no limit.
    pub retransmission_queue: Option<Size>,
    /// With `retransmission_queue`: whether the limit of the RLC buffer applies to the sum of both queues. If
    /// false, it applies to the RLC buffer only.
    pub shares_buffer: bool,
    /// Whether SDUs get their sequence number on arrival, up to the limit of `retransmission_queue` if there is one,
    /// and not with the transmission of their first byte. A seamless handover then also drops them.
    pub holds_waiting: bool,
}

impl Rlc {
    /// The rules of the keys of RLC.
    pub(crate) fn check(&self, at: &Place<'_>) -> Checked {
        let sn_bits = |bits: u8, known: [u8; 2]| {
            let help = format!("it must be {} or {}", known[0], known[1]);
            at.require(known.contains(&bits), "sn_bits", "not an RLC sequence number length", &help)
        };
        match self {
            Self::Am(am) => sn_bits(am.sn_bits, [10, 16])?, // TS 36.322 §6.2.1.4
            Self::Um(um) => sn_bits(um.sn_bits, [5, 10])?,  // TS 36.322 §6.2.1.3
            Self::Tm(_) => {}
            // TS 38.322 §6.2.3.3
            Self::NrAm(am) => sn_bits(am.sn_bits, [12, 18])?,
            Self::NrUm(um) => sn_bits(um.sn_bits, [6, 12])?,
        }
        let (buffer, aqm) = self.queue();
        at.at_least(buffer, PACKET, "buffer", "too small for a full packet")?;
        aqm.check(&at.under("aqm"))?;
        let (&Self::Am(RlcAm { poll_retransmit, poll_pdu, max_retransmissions, .. })
        | &Self::NrAm(RlcNrAm { poll_retransmit, poll_pdu, max_retransmissions, .. })) = self
        else {
            return Ok(());
        };
        // Without polls nothing is ever acknowledged.
        at.positive(poll_retransmit, "poll_retransmit")?;
        at.require(poll_pdu != Some(0), "poll_pdu", "out of range", "it must be 1 or more")?;
        at.require(max_retransmissions > 0, "max_retransmissions", "out of range", "it must be 1 or more")
    }
}

/// The configuration of a bearer: RLC and PDCP.
pub(super) fn bearer(cell: &Cell) -> BearerConfig {
    let limit = cell.pdcp.retransmission_queue.map(|limit| limit.0);
    let unlimited = cell.pdcp.holds_waiting.then_some(RetransmissionQueue::UNLIMITED);
    let pdcp = PdcpConfig {
        sn_bits: cell.pdcp.sn_bits,
        discard: cell.pdcp.discard_timer.map(|t| t.0),
        retransmission_queue: limit.or(unlimited).map(|limit| RetransmissionQueue {
            limit,
            shares_buffer: cell.pdcp.shares_buffer,
            holds_waiting: cell.pdcp.holds_waiting,
        }),
        status_report: true,
    };
    let (buffer, aqm) = cell.rlc.queue();
    let (buffer, aqm) = (buffer.0, aqm.discipline());
    let rlc = match &cell.rlc {
        Rlc::Tm(_) => RlcConfig::Tm,
        Rlc::Um(um) => RlcConfig::Um(rlc::UmConfig { sn_bits: um.sn_bits, t_reordering: um.reordering.0 }),
        Rlc::Am(am) => RlcConfig::Am(rlc::AmConfig {
            sn_bits: am.sn_bits,
            t_poll_retransmit: am.poll_retransmit.0,
            t_reordering: am.reordering.0,
            t_status_prohibit: am.status_prohibit.0,
            poll_pdu: am.poll_pdu,
            poll_byte: am.poll_byte.map(|size| size.0),
            max_retx: am.max_retransmissions,
            status_alone: am.status_alone,
        }),
        Rlc::NrAm(am) => layer_2(
            NrRlc::Am(rlc::nr::AmConfig {
                sn_bits: am.sn_bits,
                t_poll_retransmit: am.poll_retransmit.0,
                t_reassembly: am.reassembly.0,
                t_status_prohibit: am.status_prohibit.0,
                poll_pdu: am.poll_pdu,
                poll_byte: am.poll_byte.map(|size| size.0),
                max_retx: am.max_retransmissions,
            }),
            am.reordering,
            am.out_of_order,
        ),
        Rlc::NrUm(um) => layer_2(
            NrRlc::Um(rlc::nr::UmConfig { sn_bits: um.sn_bits, t_reassembly: um.reassembly.0 }),
            um.reordering,
            um.out_of_order,
        ),
    };
    BearerConfig { rlc, buffer, aqm, pdcp, pdu_overhead: Bytes::ZERO }
}

/// RLC and PDCP of NR, with the headers of SDAP that a default bearer has.
fn layer_2(rlc: NrRlc, reordering: Time, out_of_order: bool) -> RlcConfig {
    let reordering = ReorderingConfig { t_reordering: Some(reordering.0), out_of_order };
    RlcConfig::Nr(NrConfig { rlc, reordering, sdap: SdapHeaders::DEFAULT })
}
