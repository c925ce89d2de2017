//! Cells of NR: from the format to `airlane_ran`.

use std::sync::Arc;

use airlane_core::{Bytes, Decibel, Direction, Duration};
use airlane_radio::layers::{Antennas, Correlation, LayerTable, LineOfSight, Precoding};
use airlane_radio::link_tables::{Allocation, LinkTables, LteTables};
use airlane_radio::nr::{CqiTable, Ldpc, LinkSettings, McsTable, NrTables};
use airlane_ran::config::ProcessingTimes;
use airlane_ran::layers::Layers;
use airlane_ran::numerology::{self, Numerology, SYMBOLS, TddPattern};

use crate::format::{self, Cell, Duplex, LdpcErrors, Nr, NrTable, Radio};

/// The settings of a cell of NR; `None` for LTE.
pub(crate) const fn nr(cell: &Cell) -> Option<&Nr> {
    match &cell.radio {
        Some(Radio::Nr(nr)) => Some(nr),
        Some(Radio::Lte) | None => None,
    }
}

/// The slot length of a cell.
pub(crate) fn slot(cell: &Cell) -> Duration {
    nr(cell).map_or(Numerology::LTE.slot, |nr| numerology::nr::slot(nr.subcarrier_spacing.numerology()))
}

/// Of the pattern of a cell's slots: those with a downlink, those with an uplink, and all.
pub(crate) fn slot_directions(cell: &Cell) -> [u8; 3] {
    let Some(Duplex::Tdd(tdd)) = nr(cell).map(|nr| &nr.duplex) else { return [1; 3] };
    let count = |of: fn(&u8) -> bool| tdd.pattern.bytes().filter(of).count() as u8;
    [count(|slot| b"DS".contains(slot)), count(|slot| *slot == b'U'), count(|_| true)]
}

impl Cell {
    /// Resource blocks of its slots in each second, of the downlink and of the uplink.
    #[must_use]
    pub fn resource_blocks_per_second(&self) -> [u64; 2] {
        let [downlink, uplink, all] = slot_directions(self).map(u64::from);
        let each = u64::from(self.resource_blocks) * (1_000_000_000 / slot(self).as_nanos());
        [downlink, uplink].map(|slots| each * slots / all)
    }
}

/// The largest transport block of the downlink of a cell.
pub(crate) fn largest_block(cell: &Cell) -> Bytes {
    let (_, tables) = numerology(cell);
    let layers = nr(cell).map_or(1, |nr| nr.mimo.layers);
    let whole = Allocation { prbs: cell.resource_blocks, symbols: SYMBOLS, layers };
    tables.transport_block(tables.highest_mcs(), whole, Direction::Downlink)
}

/// The numerology of a cell, and its tables of link adaptation.
pub(super) fn numerology(cell: &Cell) -> (Numerology, Arc<dyn LinkTables>) {
    let Some(nr) = nr(cell) else { return (Numerology::LTE, Arc::new(LteTables)) };
    let numerology = Numerology::nr(nr.subcarrier_spacing.numerology(), nr.k1.into(), duplex(nr));
    (numerology, Arc::new(NrTables::new(tables(nr))))
}

/// The directions of slots.
pub(crate) fn duplex(nr: &Nr) -> numerology::Duplex {
    match &nr.duplex {
        Duplex::Fdd => numerology::Duplex::Fdd,
        Duplex::Tdd(tdd) => numerology::Duplex::Tdd(TddPattern::new(
            &tdd.pattern,
            tdd.special_downlink_symbols,
            tdd.special_uplink_symbols,
        )),
    }
}

/// The layers of a cell, of the downlink and of the uplink; `None` in LTE. `sight` is the line of sight of its channel.
pub(super) fn layers(cell: &Cell, sight: LineOfSight) -> [Option<Layers>; 2] {
    let Some(Nr { mimo, .. }) = nr(cell) else { return [None; 2] };
    let correlation = match mimo.correlation {
        format::Correlation::Low => Correlation::Low,
        format::Correlation::Medium => Correlation::Medium,
        format::Correlation::MediumA => Correlation::MediumA,
        format::Correlation::High => Correlation::High,
    };
    let precoding = match mimo.precoding {
        format::Precoding::Singular => Precoding::Singular,
        format::Precoding::Codebook => Precoding::Codebook,
    };
    let layers = |tx, rx, precoding, most| {
        let table = LayerTable::new(Antennas { tx, rx }, correlation, precoding, sight);
        Layers { table: table.expect("checked when the scenario was resolved"), most }
    };
    // The precoder of the uplink is one of a codebook (TS 38.211 §6.3.1.5), which the gNB chooses.
    let uplink =
        layers(mimo.ue_transmit_antennas, mimo.gnb_antennas, Precoding::Codebook, mimo.uplink_layers);
    [Some(layers(mimo.gnb_antennas, mimo.ue_antennas, precoding, mimo.layers)), Some(uplink)]
}

/// The settings of the tables of a cell.
pub(crate) fn tables(nr: &Nr) -> LinkSettings {
    LinkSettings {
        mcs_table: match nr.mcs_table {
            NrTable::Qam64 => McsTable::Qam64,
            NrTable::Qam256 => McsTable::Qam256,
            NrTable::Qam64LowSe => McsTable::Qam64LowSe,
        },
        cqi_table: match nr.cqi_table {
            NrTable::Qam64 => CqiTable::Qam64,
            NrTable::Qam256 => CqiTable::Qam256,
            NrTable::Qam64LowSe => CqiTable::Qam64LowSe,
        },
        ldpc: match nr.ldpc {
            LdpcErrors::Sionna => Ldpc::Sionna,
            LdpcErrors::FiveGLena => Ldpc::FiveGLena,
            LdpcErrors::OpenAirInterface => Ldpc::OpenAirInterface,
        },
        control_symbols: nr.control_symbols,
        uplink_control_symbols: nr.uplink_control_symbols,
        dmrs_symbols: nr.dmrs_symbols,
        overhead_per_prb: nr.overhead_elements.into(),
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

impl Timing {
    /// That of NR.
    pub(super) fn of_nr(nr: &Nr) -> Self {
        let [k0, k1, k2, gnb] = [nr.k0, nr.k1, nr.k2, nr.gnb_processing].map(u32::from);
        Self {
            downlink_latency: k0 + 1, // the slot of the block itself
            assigned_ahead: k0 > 0,
            grant_to_pusch: k2,
            harq_round_trip: k0 + k1 + gnb,
            uplink_round_trip: gnb + k2,
        }
    }
}

/// Length of a symbol of 15 kHz in T_proc,1 and T_proc,2 (TS 38.214 §5.3, §6.4): 2192 of 30,720,000 in a second.
const SYMBOL_NS: f64 = 2192.0 / 30_720_000.0 * 1e9;

/// The processing times of a cell; none in LTE. The packets of a block take half of the UE's processing time to its
/// feedback, and those of a PUSCH half of that from its grant, as in TR 37.910 clause 5.7.1.1 (unverified).
pub(super) fn processing(cell: &Cell) -> ProcessingTimes {
    let Some(nr) = nr(cell) else { return ProcessingTimes::NONE };
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
pub(super) fn power_of_prb(cell: &Cell) -> Decibel {
    let wider = nr(cell).map_or(1, |nr| 1 << nr.subcarrier_spacing.numerology());
    if wider == 1 { Decibel(0.0) } else { Decibel::from_linear(f64::from(wider)) }
}
