//! The tables of an NR cell, for link adaptation and the MAC.

use airlane_core::{Bytes, Direction};

use super::{CodeBlocks, CqiTable, Ldpc, McsTable, Resources, Scheme};
use crate::bler::CodedBlock;
use crate::link_tables::{Allocation, LinkTables, Reference};
use crate::tables::{Cqi, Mcs, Modulation};

/// PRBs of the widest carrier (TS 38.211 §4.4.4.3: `maxNrofPhysicalResourceBlocks`, 275).
const WIDEST: u16 = 275;
/// Resource elements of a PRB in a symbol with DM-RS, which carries nothing else: both CDM groups of configuration
/// type 1, or all three of type 2 (TS 38.211 §7.4.1.1, §6.4.1.1; TS 38.214 §5.1.6.2).
const OF_DMRS_SYMBOL: u16 = 12;
/// The error targets of a CQI (TS 38.214 §5.2.2.1): of tables 1 and 2, and of table 3.
const TARGET: f64 = 0.1;
const TARGET_LOW: f64 = 1e-5;

/// The settings of a cell that determine its blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkSettings {
    /// Modulation and coding schemes of both directions.
    pub mcs_table: McsTable,
    /// Channel quality indicators.
    pub cqi_table: CqiTable,
    /// The family of error rates.
    pub ldpc: Ldpc,
    /// Symbols of PDCCH at the begin of a slot with a downlink.
    pub control_symbols: u8,
    /// Symbols of PUCCH and SRS in a slot with an uplink.
    pub uplink_control_symbols: u8,
    /// Symbols of a block with DM-RS, and without data.
    pub dmrs_symbols: u8,
    /// Resource elements of a PRB of the downlink for CSI-RS, PT-RS and others: `xOverhead`.
    pub overhead_per_prb: u16,
}

impl LinkSettings {
    /// The settings of a carrier of FR1 with one front-loaded and one additional symbol of DM-RS, PDCCH on two symbols,
    /// and 256QAM.
    pub const FR1: Self = Self {
        mcs_table: McsTable::Qam256,
        cqi_table: CqiTable::Qam256,
        ldpc: Ldpc::Sionna,
        control_symbols: 2,
        uplink_control_symbols: 1,
        dmrs_symbols: 2,
        overhead_per_prb: 0,
    };
}

/// The tables of an NR cell (TS 38.214 §5.1.3, §5.2.2.1, §6.1.4).
///
/// A CQI is the highest one whose own scheme meets the error target, in a block of one layer on all symbols that carry
/// data. A block has one code word on up to four layers (TS 38.211 §7.3.1.3).
#[derive(Clone, Debug)]
pub struct NrTables {
    settings: LinkSettings,
    name: String,
    /// By MCS, none below that of a lower one: in table 1, MCS 17 has 0.004 bit less than MCS 16.
    efficiency: Vec<f64>,
    /// The MCS of each CQI.
    mcs_of: [Mcs; 16],
}

impl NrTables {
    /// The tables with these settings.
    #[must_use]
    pub fn new(settings: LinkSettings) -> Self {
        let LinkSettings { mcs_table, cqi_table, .. } = settings;
        let mut highest = 0.0_f64;
        let efficiency: Vec<_> = (0..=mcs_table.highest())
            .filter_map(|mcs| mcs_table.scheme(mcs))
            .map(|scheme| {
                highest = highest.max(scheme.efficiency());
                highest
            })
            .collect();
        let mcs_of = core::array::from_fn(|cqi| {
            let wanted = cqi_table.scheme(cqi as u8).map_or(0.0, Scheme::efficiency);
            let fit = efficiency.partition_point(|efficiency| *efficiency <= wanted);
            Mcs::new(fit.saturating_sub(1) as u8)
        });
        Self { name: format!("nr {settings:?}"), settings, efficiency, mcs_of }
    }

    /// The settings of the tables.
    #[must_use]
    pub const fn settings(&self) -> LinkSettings {
        self.settings
    }

    fn scheme(&self, mcs: Mcs) -> Scheme {
        self.settings.mcs_table.scheme(mcs.index()).expect("an MCS of the table")
    }

    /// Resources of a block on this allocation.
    #[must_use]
    pub fn resources(&self, allocation: Allocation, direction: Direction) -> Resources {
        let of = &self.settings;
        let (control, overhead_per_prb) = match direction {
            Direction::Downlink => (of.control_symbols, of.overhead_per_prb),
            Direction::Uplink => (of.uplink_control_symbols, 0),
        };
        Resources {
            symbols: allocation.symbols.saturating_sub(control),
            dmrs_per_prb: OF_DMRS_SYMBOL * u16::from(of.dmrs_symbols),
            overhead_per_prb,
            prbs: allocation.prbs,
        }
    }

    fn coded(&self, scheme: Scheme, bits: u32) -> CodedBlock {
        self.settings.ldpc.coded_block(scheme, CodeBlocks::new(bits, scheme.rate()))
    }
}

impl LinkTables for NrTables {
    fn name(&self) -> &str {
        &self.name
    }

    fn highest_mcs(&self) -> Mcs {
        Mcs::new(self.settings.mcs_table.highest())
    }

    fn widest(&self) -> u16 {
        WIDEST
    }

    fn modulation(&self, mcs: Mcs, _: Direction) -> Modulation {
        self.scheme(mcs).modulation().expect("the tables have QPSK to 256QAM")
    }

    fn efficiency(&self, mcs: Mcs) -> f64 {
        self.efficiency[usize::from(mcs.index())]
    }

    fn mcs_of(&self, cqi: Cqi) -> Mcs {
        self.mcs_of[usize::from(cqi.index())]
    }

    fn transport_block(&self, mcs: Mcs, allocation: Allocation, direction: Direction) -> Bytes {
        let resources = self.resources(allocation, direction);
        let bits = resources.transport_block_bits(self.scheme(mcs), allocation.layers, 1.0);
        Bytes(u64::from(bits) / 8)
    }

    fn coded_block(&self, mcs: Mcs, transport_block: Bytes, _: Direction) -> CodedBlock {
        self.coded(self.scheme(mcs), transport_block.get() as u32 * 8)
    }

    fn reference(&self, cqi: Cqi, allocation: Allocation, direction: Direction) -> Option<Reference> {
        let scheme = self.settings.cqi_table.scheme(cqi.index())?;
        let resources = self.resources(allocation, direction);
        let bits = resources.transport_block_bits(scheme, allocation.layers, 1.0);
        Some(Reference {
            block: self.coded(scheme, bits),
            error_rate: match self.settings.cqi_table {
                CqiTable::Qam64 | CqiTable::Qam256 => TARGET,
                CqiTable::Qam64LowSe => TARGET_LOW,
            },
        })
    }
}
