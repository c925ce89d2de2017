//! The radio access technology of a cell, and the settings that NR adds: subcarriers, directions of slots, tables of
//! link adaptation, overhead, timing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::tagged;
use crate::quantity::Time;

/// Radio access technology of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Radio {
    /// LTE with FDD.
    Lte,
    /// 5G NR.
    Nr(Nr),
}
tagged!(Radio by "kind" { "lte" => Lte, "nr" => Nr(Nr) });

/// Settings of an NR cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nr {
    /// Subcarrier spacing. A slot of 14 symbols takes 1 ms at 15 kHz, 0.5 ms at 30 kHz, and so on.
    pub subcarrier_spacing: SubcarrierSpacing,
    /// Directions of the slots.
    pub duplex: Duplex,
    /// Table of modulation and coding schemes of both directions (TS 38.214 tables 5.1.3.1-1 to -3).
    pub mcs_table: NrTable,
    /// Table of channel quality indicators (TS 38.214 tables 5.2.2.1-2 to -4).
    pub cqi_table: NrTable,
    /// Error rates of the LDPC code.
    pub ldpc: LdpcErrors,
    /// Antennas and layers of both directions.
    pub mimo: Mimo,
    /// Symbols of PDCCH at the begin of each slot with a downlink.
    pub control_symbols: u8,
    /// Symbols of PUCCH and SRS in each slot with an uplink.
    pub uplink_control_symbols: u8,
    /// Symbols of each transport block with DM-RS, and without data.
    pub dmrs_symbols: u8,
    /// Resource elements of a resource block and slot for CSI-RS, PT-RS and SSB, on average over the slots of the
    /// downlink (TS 38.214 section 5.1.3.2, xOverhead): 0, 6, 12 or 18.
    pub overhead_elements: u8,
    /// Slots from a downlink assignment to its PDSCH, at least: in TDD the assignment is in the last slot with a
    /// downlink that is early enough.
    pub k0: u8,
    /// Slots from a PDSCH to its HARQ feedback. If that slot has no uplink, the next one that has.
    pub k1: u8,
    /// Slots from an uplink grant to its PUSCH, at least, as with `k0`.
    pub k2: u8,
    /// Slots from the slot of HARQ feedback or of a PUSCH until the gNB can schedule the retransmission.
    pub gnb_processing: u8,
    /// Symbols that the UE needs from the end of a PDSCH to its HARQ feedback (TS 38.214 section 5.3, N1). `k1` must
    /// leave them. After half of them the UE passes the packets of the block on. 0 for no processing time.
    #[schemars(range(min = 0, max = 280))]
    pub n1: f64,
    /// Symbols that the UE needs from the end of a grant to its PUSCH (TS 38.214 section 6.4, N2). `k2` must leave them.
    /// A packet can be in a block half of them after its arrival at the UE. 0 for no processing time.
    #[schemars(range(min = 0, max = 280))]
    pub n2: f64,
    /// Time from the arrival of a packet at the gNB until it can be in a block.
    pub gnb_transmit_processing: Time,
    /// Time from the end of a PUSCH until the gNB passes its packets on.
    pub gnb_receive_processing: Time,
}

/// Antennas and layers: a block has one code word on all of its layers. The SINR of a layer is a table, fitted to the
/// singular values of channels with this correlation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mimo {
    /// Antennas of the gNB, each with both directions: 1, 2 or 4.
    pub gnb_antennas: u8,
    /// Receiving antennas of UEs: 1, 2 or 4.
    pub ue_antennas: u8,
    /// Transmitting antennas of UEs: 1, 2 or 4.
    pub ue_transmit_antennas: u8,
    /// Maximum number of layers of the downlink, from 1 to 4. How many are used is `mac.rank`.
    pub layers: u8,
    /// Maximum number of layers of the uplink, from 1 to 4.
    pub uplink_layers: u8,
    /// Correlation between the antennas of a side.
    pub correlation: Correlation,
    /// How the gNB precodes the downlink.
    pub precoding: Precoding,
}

/// Correlation between antennas (TS 38.101-4 section B.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Correlation {
    /// None.
    Low,
    /// 0.3 at the gNB, 0.9 at the UE.
    Medium,
    /// 0.3 at the gNB, 0.3874 at the UE.
    MediumA,
    /// 0.9 on both sides.
    High,
}

/// Precoding of the downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Precoding {
    /// Along the singular vectors of the channel, which the gNB of TDD knows from SRS.
    Singular,
    /// The best precoder of the type I codebook (TS 38.214 section 5.2.2.2.1), which the UE reports.
    Codebook,
}

/// Subcarrier spacing (TS 38.211 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SubcarrierSpacing {
    /// Slots of 1 ms; FR1.
    #[serde(rename = "15 kHz")]
    Khz15,
    /// Slots of 0.5 ms; FR1.
    #[serde(rename = "30 kHz")]
    Khz30,
    /// Slots of 0.25 ms; FR1 and FR2.
    #[serde(rename = "60 kHz")]
    Khz60,
    /// Slots of 0.125 ms; FR2.
    #[serde(rename = "120 kHz")]
    Khz120,
}

impl SubcarrierSpacing {
    /// The numerology: the spacing is 15 kHz times two to this power.
    #[must_use]
    pub const fn numerology(self) -> u8 {
        match self {
            Self::Khz15 => 0,
            Self::Khz30 => 1,
            Self::Khz60 => 2,
            Self::Khz120 => 3,
        }
    }
}

/// Directions of the slots of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Duplex {
    /// Both directions in each slot, on two carriers.
    Fdd,
    /// A pattern of directions, on one carrier.
    Tdd(Tdd),
}
tagged!(Duplex by "kind" { "fdd" => Fdd, "tdd" => Tdd(Tdd) });

/// Settings of TDD.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tdd {
    /// Directions of the slots, repeated from the start of the run: D for downlink, U for uplink, S for special
    /// slots, such as "DDDSU" or "DDDDDDDSUU".
    pub pattern: String,
    /// Downlink symbols at the begin of a special slot, with those of PDCCH.
    pub special_downlink_symbols: u8,
    /// Uplink symbols at the end of a special slot. They carry SRS and no PUSCH. The symbols between are the guard
    /// period.
    pub special_uplink_symbols: u8,
}

/// A table of TS 38.214.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NrTable {
    /// Table 1, up to 64QAM.
    #[serde(rename = "64qam")]
    Qam64,
    /// Table 2, up to 256QAM.
    #[serde(rename = "256qam")]
    Qam256,
    /// Table 3, up to 64QAM with low spectral efficiency.
    #[serde(rename = "64qam-low-se")]
    Qam64LowSe,
}

/// Error rates of the LDPC code: each is fitted to a public link simulation. They disagree by about 3 dB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum LdpcErrors {
    /// Sionna 1.2.1: belief propagation with a known channel.
    #[serde(rename = "sionna")]
    Sionna,
    /// 5G-LENA.
    #[serde(rename = "5g-lena")]
    FiveGLena,
    /// OpenAirInterface.
    #[serde(rename = "oai")]
    OpenAirInterface,
}
