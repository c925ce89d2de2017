//! Dual connectivity of a UE with a master node of LTE (EN-DC) or of NR (NR-DC), and a secondary node of NR (TS 37.340 v17).
//!
//! The UE has a MAC entity for each cell group (TS 37.340 §4.2.2): the master cell group (MCG) with a cell of LTE or NR, and the
//! secondary cell group (SCG) with a cell of NR, its PSCell. Each cell group is a UE of its own in the slots of its cell, with
//! its own RLC entities, HARQ, CQI reports, PDCCH and uplink; both have the same position and movement. Above them is one
//! PDCP entity of NR in each direction (`pdcp::SplitBearer`), which is in the secondary node while there is an SCG (of EN-DC:
//! option 3x), and otherwise in the master node.
//!
//! ```text
//!                     S1-U, of NR-DC: NG-U
//!                            │
//!               ┌── PDCP in the secondary node ──┐
//!     X2 or Xn (delay, rate)                     │
//!               │                                │
//!     RLC, MAC of the master node      RLC, MAC of the secondary node     each with delivery status to PDCP
//!               └──── PDCP of the UE: reordering ┘
//! ```
//!
//! The core network of EN-DC is the EPC. That of NR-DC is the 5GC, with which SDAP is above PDCP (TS 37.340 §4.2.2).
//!
//! In a handover between master nodes the UE leaves both cell groups with the command. PDUs that were not delivered are sent
//! again after its arrival, as when the SCG is lost.
//!
//! Not included: PDCP duplication, several bearers, SCells of either cell group, a limit on the sum of both transmit powers
//! of EN-DC (each cell group has the power of the UE, as that of each frequency range is apart in NR-DC, TS 38.213 v18
//! §7.6.2), a single transmitter for both uplinks, and signalling over SRB3.

pub(crate) mod flow_control;
pub(crate) mod link;
pub(crate) mod pdcp;
pub(crate) mod scg;

use airlane_core::{BitRate, Bytes, CellId, Duration};

use crate::bearer::{BearerConfig, RlcConfig};
use crate::pdcp::PdcpConfig;
use crate::pdcp::nr::ReorderingConfig;
use crate::rlc::Aqm;
use crate::rlc::nr::NrConfig;
use crate::sdap::SdapHeaders;

pub use scg::ScgConfig;

/// The legs of a bearer while there is an SCG (TS 37.340 §4.2.2). Without an SCG each is an MCG bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BearerType {
    /// The MCG alone, with PDCP of NR.
    Mcg,
    /// The SCG alone.
    Scg,
    /// Both.
    Split,
}

/// A cell group. The number is that of its leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellGroup {
    /// The master cell group.
    Master = 0,
    /// The secondary cell group.
    Secondary = 1,
}

impl CellGroup {
    /// Both.
    pub(crate) const BOTH: [Self; 2] = [Self::Master, Self::Secondary];
}

/// A variant of dual connectivity with a secondary node of NR (TS 37.340 §4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DualConnectivityKind {
    /// The master node is of LTE, the core network is the EPC.
    EnDc,
    /// The master node is of NR, the core network is the 5GC.
    NrDc,
}

/// The SCG in a handover between master nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScgAtHandover {
    /// It is released (TS 37.340 §10.8). A cell is added again by its signal.
    Release,
    /// The secondary node and the PSCell are kept (TS 37.340 §10.7, without a change of the secondary node): after its arrival
    /// the UE has the random access to the PSCell.
    Keep,
}

/// X2-U or Xn-U between the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterNodeLink {
    /// One-way delay.
    pub delay: Duration,
    /// Rate of each direction; `None` for no limit.
    pub rate: Option<BitRate>,
}

/// The secondary node of a UE.
#[derive(Clone, Debug, PartialEq)]
pub struct SecondaryNodeConfig {
    /// The variant.
    pub kind: DualConnectivityKind,
    /// The cells that can be the PCell, ascending: of LTE in EN-DC, and of NR in NR-DC. None of them can be the PSCell.
    pub masters: Vec<CellId>,
    /// The cells that can be its PSCell, without duplicates; at least one.
    pub cells: Vec<CellId>,
    /// When which of them is.
    pub scg: ScgConfig,
    /// The effect of a handover of the master node on the SCG.
    pub at_handover: ScgAtHandover,
    /// The type of the bearer.
    pub bearer: BearerType,
    /// The link between the nodes.
    pub x2: InterNodeLink,
    /// t-Reordering of PDCP in both directions; `None` for infinity.
    pub t_reordering: Option<Duration>,
    /// The cell group of the primary path of the uplink (primaryPath, TS 38.331 §6.3.2).
    pub uplink: CellGroup,
    /// ul-DataSplitThreshold: from this many bytes on, the uplink of a split bearer uses both cell groups; `None` for infinity.
    pub uplink_split_threshold: Option<Bytes>,
}

/// Bytes that the queue of a leg can have. PDCP bounds the queues, so that this is never reached.
const LEG_BUFFER: Bytes = Bytes(1 << 40);

/// Bits of PDCP's sequence numbers: those of a high rate (TS 38.323 v17 §6.3.2).
const SN_BITS: u8 = 18;

/// RLC and below of a bearer, for one leg. What PDCP and SDAP do for both legs is left out, but their headers count in each
/// PDU. With the EPC there is no SDAP (TS 37.340 §4.2.2).
pub(crate) fn leg(bearer: &BearerConfig, kind: DualConnectivityKind) -> BearerConfig {
    let rlc = match &bearer.rlc {
        RlcConfig::Nr(nr) => RlcConfig::Nr(NrConfig {
            reordering: ReorderingConfig { out_of_order: true, ..nr.reordering },
            sdap: match kind {
                DualConnectivityKind::EnDc => SdapHeaders { downlink: false, uplink: false },
                DualConnectivityKind::NrDc => nr.sdap,
            },
            ..*nr
        }),
        of_lte => *of_lte,
    };
    let pdcp =
        PdcpConfig { sn_bits: SN_BITS, discard: None, retransmission_queue: None, status_report: false };
    BearerConfig { rlc, pdcp, buffer: LEG_BUFFER, aqm: Aqm::DropTail, ..bearer.clone() }
}
