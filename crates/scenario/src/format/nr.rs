//! The radio access technology of a cell, and the settings that NR adds: subcarriers, directions of slots, tables of
//! link adaptation, overhead, timing.

use std::sync::Arc;

use airlane_core::{Bytes, Decibel, Direction, Duration};
use airlane_radio::Cqi;
use airlane_radio::layers::{self, Antennas, LayerTable, LineOfSight};
use airlane_radio::link_tables::{Allocation, LinkTables, LteTables};
use airlane_radio::nr::{CqiTable, Ldpc, LinkSettings, McsTable, NrTables};
use airlane_ran::config::ProcessingTimes;
use airlane_ran::layers::Layers;
use airlane_ran::numerology::{self, Numerology, SYMBOLS, TddPattern};
use airlane_transport::congestion::BlockSizes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Cell, tagged};
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

/// Length of a symbol of 15 kHz in T_proc,1 and T_proc,2 (TS 38.214 §5.3, §6.4): 2192 of 30,720,000 in a second.
const SYMBOL_NS: f64 = 2192.0 / 30_720_000.0 * 1e9;

impl Cell {
    /// The settings of a cell of NR; `None` for LTE.
    pub(crate) const fn nr(&self) -> Option<&Nr> {
        match &self.radio {
            Some(Radio::Nr(nr)) => Some(nr),
            Some(Radio::Lte) | None => None,
        }
    }

    /// The slot length of a self.
    pub fn slot(&self) -> Duration {
        self.nr().map_or(Numerology::LTE.slot, |nr| numerology::nr::slot(nr.subcarrier_spacing.numerology()))
    }

    /// Of the pattern of a cell's slots: those with a downlink, those with an uplink, and all.
    pub fn slot_directions(&self) -> [u8; 3] {
        let Some(Duplex::Tdd(tdd)) = self.nr().map(|nr| &nr.duplex) else { return [1; 3] };
        let count = |of: fn(&u8) -> bool| tdd.pattern.bytes().filter(of).count() as u8;
        [count(|slot| b"DS".contains(slot)), count(|slot| *slot == b'U'), count(|_| true)]
    }

    /// Resource blocks of its slots in each second, of the downlink and of the uplink.
    #[must_use]
    pub fn resource_blocks_per_second(&self) -> [u64; 2] {
        let [downlink, uplink, all] = self.slot_directions().map(u64::from);
        let each = u64::from(self.resource_blocks) * (1_000_000_000 / self.slot().as_nanos());
        [downlink, uplink].map(|slots| each * slots / all)
    }

    /// The largest transport block of the downlink of a self.
    pub(crate) fn largest_block(&self) -> Bytes {
        let (_, tables) = self.numerology();
        let layers = self.nr().map_or(1, |nr| nr.mimo.layers);
        let whole = Allocation { prbs: self.resource_blocks, symbols: SYMBOLS, layers };
        tables.transport_block(tables.highest_mcs(), whole, Direction::Downlink)
    }

    /// The sizes of the transport blocks that the cell sends at each CQI.
    pub(crate) fn block_sizes(&self) -> BlockSizes {
        let Some(nr) = self.nr() else { return BlockSizes::Table(self.mac.cqi_to_mcs.config().blocks()) };
        let (_, tables) = self.numerology();
        let (layers, carrier) = (nr.mimo.layers, self.resource_blocks);
        let allocation = Allocation { prbs: carrier, symbols: SYMBOLS, layers };
        let whole = core::array::from_fn(|cqi| match cqi {
            0 => 0,
            _ => {
                let mcs = tables.mcs_of(Cqi::new(cqi as u8));
                tables.transport_block(mcs, allocation, Direction::Downlink).get() as u32
            }
        });
        BlockSizes::Proportional { carrier, whole }
    }

    /// The numerology of a cell, and its tables of link adaptation.
    pub(super) fn numerology(&self) -> (Numerology, Arc<dyn LinkTables>) {
        let Some(nr) = self.nr() else { return (Numerology::LTE, Arc::new(LteTables)) };
        let numerology = Numerology::nr(nr.subcarrier_spacing.numerology(), nr.k1.into(), nr.directions());
        (numerology, Arc::new(NrTables::new(nr.tables())))
    }

    /// The layers of a cell, of the downlink and of the uplink; `None` in LTE. `sight` is the line of sight of its channel.
    pub(super) fn layers(&self, sight: LineOfSight) -> [Option<Layers>; 2] {
        let Some(Nr { mimo, .. }) = self.nr() else { return [None; 2] };
        let correlation = match mimo.correlation {
            Correlation::Low => layers::Correlation::Low,
            Correlation::Medium => layers::Correlation::Medium,
            Correlation::MediumA => layers::Correlation::MediumA,
            Correlation::High => layers::Correlation::High,
        };
        let precoding = match mimo.precoding {
            Precoding::Singular => layers::Precoding::Singular,
            Precoding::Codebook => layers::Precoding::Codebook,
        };
        let layers = |tx, rx, precoding, most| {
            let table = LayerTable::new(Antennas { tx, rx }, correlation, precoding, sight);
            Layers { table: table.expect("checked when the scenario was resolved"), most }
        };
        // The precoder of the uplink is one of a codebook (TS 38.211 §6.3.1.5), which the gNB chooses.
        let uplink = layers(
            mimo.ue_transmit_antennas,
            mimo.gnb_antennas,
            layers::Precoding::Codebook,
            mimo.uplink_layers,
        );
        [Some(layers(mimo.gnb_antennas, mimo.ue_antennas, precoding, mimo.layers)), Some(uplink)]
    }

    /// The processing times of a cell; none in LTE. The packets of a block take half of the UE's processing time to its
    /// feedback, and those of a PUSCH half of that from its grant, as in TR 37.910 clause 5.7.1.1 (unverified).
    pub(super) fn processing(&self) -> ProcessingTimes {
        let Some(nr) = self.nr() else { return ProcessingTimes::NONE };
        let symbol_ns = SYMBOL_NS / f64::from(1 << nr.subcarrier_spacing.numerology());
        let half = |symbols: f64| Duration::from_nanos((symbols / 2.0 * symbol_ns + 0.5) as u64);
        ProcessingTimes {
            enb_transmit: nr.gnb_transmit_processing.0,
            ue_receive: half(nr.n1),
            ue_transmit: half(nr.n2),
            enb_receive: nr.gnb_receive_processing.0,
        }
    }

    /// P0 of a PRB of the cell, relative to the P0 of the configuration, which is for subcarriers of 15 kHz (TS 38.213
    /// §7.1.1: the power has the term 10 log10(2^µ M)).
    pub(super) fn power_of_prb(&self) -> Decibel {
        let wider = self.nr().map_or(1, |nr| 1 << nr.subcarrier_spacing.numerology());
        if wider == 1 { Decibel(0.0) } else { Decibel::from_linear(f64::from(wider)) }
    }
}

impl Nr {
    /// The directions of slots.
    pub(crate) fn directions(&self) -> numerology::Duplex {
        match &self.duplex {
            Duplex::Fdd => numerology::Duplex::Fdd,
            Duplex::Tdd(tdd) => numerology::Duplex::Tdd(TddPattern::new(
                &tdd.pattern,
                tdd.special_downlink_symbols,
                tdd.special_uplink_symbols,
            )),
        }
    }

    /// The settings of the tables of link adaptation.
    pub(crate) fn tables(&self) -> LinkSettings {
        LinkSettings {
            mcs_table: match self.mcs_table {
                NrTable::Qam64 => McsTable::Qam64,
                NrTable::Qam256 => McsTable::Qam256,
                NrTable::Qam64LowSe => McsTable::Qam64LowSe,
            },
            cqi_table: match self.cqi_table {
                NrTable::Qam64 => CqiTable::Qam64,
                NrTable::Qam256 => CqiTable::Qam256,
                NrTable::Qam64LowSe => CqiTable::Qam64LowSe,
            },
            ldpc: match self.ldpc {
                LdpcErrors::Sionna => Ldpc::Sionna,
                LdpcErrors::FiveGLena => Ldpc::FiveGLena,
                LdpcErrors::OpenAirInterface => Ldpc::OpenAirInterface,
            },
            control_symbols: self.control_symbols,
            uplink_control_symbols: self.uplink_control_symbols,
            dmrs_symbols: self.dmrs_symbols,
            overhead_per_prb: self.overhead_elements.into(),
        }
    }

    /// The timing of the MAC, in slots.
    pub(super) fn timing(&self) -> Timing {
        let [k0, k1, k2, gnb] = [self.k0, self.k1, self.k2, self.gnb_processing].map(u32::from);
        Timing {
            downlink_latency: k0 + 1, // the slot of the block itself
            assigned_ahead: k0 > 0,
            grant_to_pusch: k2,
            harq_round_trip: k0 + k1 + gnb,
            uplink_round_trip: gnb + k2,
        }
    }
}

/// The timing of the MAC of a cell, in slots.
pub(super) struct Timing {
    /// From a downlink scheduling decision until the block has been received.
    pub(super) downlink_latency: u32,
    /// The assignment of a downlink block is sent in the slot of the decision.
    pub(super) assigned_ahead: bool,
    /// From the grant of an uplink block to its transmission.
    pub(super) grant_to_pusch: u32,
    /// From the scheduling of a downlink block to that of its retransmission.
    pub(super) harq_round_trip: u32,
    /// From the transmission of an uplink block to its retransmission.
    pub(super) uplink_round_trip: u32,
}
