//! The tables of the LTE shared channels: MCS, transport block size, CQI.
//!
//! Sources: TS 36.213 v8.8.0 Tables 7.1.7.1-1 and 8.6.1-1 (MCS to modulation and `I_TBS`),
//! 7.1.7.2.1-1 (transport block sizes) and 7.2.3-1 (CQI). Not included: transport blocks over
//! several layers, format 1C sizes, the reserved MCS 29 to 31, and 256QAM.
//!
//! ```
//! use airlane_core::Direction;
//! use airlane_radio::Mcs;
//!
//! let mcs = Mcs::new(28);
//! assert_eq!(mcs.transport_block_bits(100, Direction::Downlink), 75_376);
//! ```

mod tbs;

use airlane_core::{Bytes, Direction};

pub use tbs::MAX_PRB;

use crate::link_tables::LinkTables;

/// A modulation of the shared channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Modulation {
    /// Two bits per symbol.
    Qpsk,
    /// Four bits per symbol.
    Qam16,
    /// Six bits per symbol.
    Qam64,
    /// Eight bits per symbol; in NR only.
    Qam256,
}

impl Modulation {
    /// All modulations, in ascending density.
    pub const ALL: [Self; 4] = [Self::Qpsk, Self::Qam16, Self::Qam64, Self::Qam256];
    /// The modulations of LTE in release 8.
    pub const LTE: [Self; 3] = [Self::Qpsk, Self::Qam16, Self::Qam64];

    /// Coded bits per symbol: `Q_m`.
    #[must_use]
    pub const fn bits_per_symbol(self) -> u32 {
        match self {
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
        }
    }

    /// Position in [`Modulation::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A modulation and coding scheme, 0 to 28: `I_MCS` without its reserved values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mcs(u8);

/// TS 36.213 v8.8.0 Table 7.1.7.1-1.
const DOWNLINK_I_TBS: [u8; 29] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26];

/// TS 36.213 v8.8.0 Table 8.6.1-1.
const UPLINK_I_TBS: [u8; 29] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24, 25, 26,
];

/// Information bits per symbol of each downlink MCS: 3GPP R1-081483, interpolated between the CQI
/// entries as in ns-3.37 `lte-amc.cc`, in hundredths.
const MCS_EFFICIENCY_X100: [u16; 29] = [
    15, 19, 23, 31, 38, 49, 60, 74, 88, 103, 118, 133, 148, 170, 191, 216, 241, 257, 273, 303, 332, 361, 390,
    421, 452, 482, 512, 533, 555,
];

/// The efficiencies as numbers.
const MCS_EFFICIENCY: [f64; 29] = {
    let (mut efficiency, mut mcs) = ([0.0; 29], 0);
    while mcs < 29 {
        efficiency[mcs] = MCS_EFFICIENCY_X100[mcs] as f64 / 100.0;
        mcs += 1;
    }
    efficiency
};

impl Mcs {
    /// The lowest scheme.
    pub const MIN: Self = Self(0);
    /// The highest scheme.
    pub const MAX: Self = Self(28);

    /// The scheme of this index. Panics above 28.
    #[must_use]
    pub const fn new(index: u8) -> Self {
        assert!(index <= 28, "I_MCS 29 to 31 are reserved");
        Self(index)
    }

    /// All 29 schemes, ascending.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=28).map(Self)
    }

    /// `I_MCS`.
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// The row of the transport block size table.
    #[must_use]
    pub const fn i_tbs(self, direction: Direction) -> usize {
        match direction {
            Direction::Downlink => DOWNLINK_I_TBS[self.0 as usize] as usize,
            Direction::Uplink => UPLINK_I_TBS[self.0 as usize] as usize,
        }
    }

    /// The modulation. In the uplink, a UE of category 5 is assumed, the only category of release 8
    /// that transmits 64QAM.
    #[must_use]
    pub const fn modulation(self, direction: Direction) -> Modulation {
        let (qpsk_last, qam16_last) = match direction {
            Direction::Downlink => (9, 16), // Table 7.1.7.1-1
            Direction::Uplink => (10, 20),  // Table 8.6.1-1
        };
        if self.0 <= qpsk_last {
            Modulation::Qpsk
        } else if self.0 <= qam16_last {
            Modulation::Qam16
        } else {
            Modulation::Qam64
        }
    }

    /// Information bits per symbol (3GPP R1-081483), as defined for the downlink.
    #[must_use]
    #[inline]
    pub const fn spectral_efficiency(self) -> f64 {
        MCS_EFFICIENCY[self.0 as usize]
    }

    /// The highest MCS whose [`spectral_efficiency`](Self::spectral_efficiency) is not above this one; the
    /// lowest if all are.
    #[must_use]
    #[inline]
    pub fn of_efficiency(bits_per_symbol: f64) -> Self {
        let fit = MCS_EFFICIENCY.partition_point(|efficiency| *efficiency <= bits_per_symbol);
        Self(fit.saturating_sub(1) as u8)
    }

    /// Size of the transport block on `n_prb` PRBs, in bits without CRC; zero for zero PRBs. Panics
    /// above [`MAX_PRB`].
    ///
    /// One cell differs from ns-3.37: at `I_TBS` 6 on one PRB, ns-3.37 has 88 bits and the standard
    /// has 328.
    #[must_use]
    pub const fn transport_block_bits(self, n_prb: usize, direction: Direction) -> u32 {
        if n_prb == 0 {
            return 0;
        }
        assert!(n_prb <= MAX_PRB, "no LTE carrier is wider than 110 PRBs");
        tbs::TRANSPORT_BLOCK_BITS[self.i_tbs(direction)][n_prb - 1]
    }

    /// Size of the transport block on `n_prb` PRBs in whole bytes; every entry of the table is
    /// a multiple of eight.
    #[must_use]
    pub const fn transport_block(self, n_prb: usize, direction: Direction) -> Bytes {
        Bytes((self.transport_block_bits(n_prb, direction) / 8) as u64)
    }
}

/// A channel quality indicator, 0 (out of range) to 15.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cqi(u8);

/// TS 36.213 v8.8.0 Table 7.2.3-1: code rate times 1024 of CQI 1 to 15.
const CQI_CODE_RATE_X1024: [u16; 15] =
    [78, 120, 193, 308, 449, 602, 378, 490, 616, 466, 567, 666, 772, 873, 948];

impl Cqi {
    /// No MCS reaches the error target.
    pub const OUT_OF_RANGE: Self = Self(0);
    /// The highest CQI.
    pub const MAX: Self = Self(15);

    /// The CQI of this index. Panics above 15.
    #[must_use]
    pub const fn new(index: u8) -> Self {
        assert!(index <= 15, "a CQI has four bits");
        Self(index)
    }

    /// The four-bit index.
    #[inline]
    #[must_use]
    pub const fn index(self) -> u8 {
        self.0
    }

    /// The modulation (Table 7.2.3-1); `None` for CQI 0.
    #[must_use]
    pub const fn modulation(self) -> Option<Modulation> {
        match self.0 {
            0 => None,
            1..=6 => Some(Modulation::Qpsk),
            7..=9 => Some(Modulation::Qam16),
            _ => Some(Modulation::Qam64),
        }
    }

    /// The code rate (Table 7.2.3-1), zero for CQI 0.
    #[must_use]
    pub fn code_rate(self) -> f64 {
        match self.0 {
            0 => 0.0,
            i => f64::from(CQI_CODE_RATE_X1024[i as usize - 1]) / 1024.0,
        }
    }

    /// Information bits per symbol (Table 7.2.3-1): code rate times `Q_m`, zero for CQI 0.
    #[must_use]
    pub fn spectral_efficiency(self) -> f64 {
        self.modulation().map_or(0.0, |m| self.code_rate() * f64::from(m.bits_per_symbol()))
    }

    /// The downlink MCS with the efficiency of this CQI: the even ones. CQI 0 gives MCS 0, as in
    /// ns-3.37; a scheduler that does not serve a UE out of range must check for CQI 0.
    #[must_use]
    pub const fn mcs(self) -> Mcs {
        Mcs(2 * self.0.saturating_sub(1))
    }
}

/// How an eNB maps a downlink CQI to an MCS; TS 36.213 v8.8.0 §7.1.7 leaves this to the vendor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CqiToMcs {
    /// The MCS with the efficiency of the CQI: [`Cqi::mcs`], as in ns-3.37.
    #[default]
    Efficiency,
    /// The table of OpenAirInterface.
    OpenAirInterface,
}

/// OpenAirInterface v1.2.1 (February 2020), array `cqi_to_mcs` in `openair1/PHY/phy_vars.h`, which
/// `schedule_ue_spec` in `openair2/LAYER2/MAC/eNB_scheduler_dlsch.c` indexes with the wideband CQI. The same
/// in v1.1.0 and in `openair2/LAYER2/MAC/mac.h` of commit 883724b (March 2024).
const OPENAIRINTERFACE_MCS: [u8; 16] = [0, 0, 1, 2, 4, 6, 8, 11, 13, 16, 18, 20, 23, 25, 27, 28];

/// Bytes of a downlink transport block of one layer, by CQI and by number of PRBs; zero without PRBs or out
/// of range.
pub type BlocksByCqi = [[u16; MAX_PRB + 1]; 16];

impl CqiToMcs {
    /// The MCS for this CQI. CQI 0 gives MCS 0 in both; a scheduler must check for CQI 0.
    #[must_use]
    pub const fn mcs(self, cqi: Cqi) -> Mcs {
        match self {
            Self::Efficiency => cqi.mcs(),
            Self::OpenAirInterface => Mcs(OPENAIRINTERFACE_MCS[cqi.0 as usize]),
        }
    }

    /// The MCS for this CQI in a set of tables.
    #[must_use]
    pub fn mcs_in(self, tables: &dyn LinkTables, cqi: Cqi) -> Mcs {
        match self {
            Self::Efficiency => tables.mcs_of(cqi),
            Self::OpenAirInterface => self.mcs(cqi),
        }
    }

    /// The resulting transport blocks (TS 36.213 v8.8.0 Table 7.1.7.2.1-1).
    #[must_use]
    pub const fn blocks(self) -> &'static BlocksByCqi {
        const EFFICIENCY: &BlocksByCqi = &blocks_by_cqi(CqiToMcs::Efficiency);
        const OPENAIRINTERFACE: &BlocksByCqi = &blocks_by_cqi(CqiToMcs::OpenAirInterface);
        match self {
            Self::Efficiency => EFFICIENCY,
            Self::OpenAirInterface => OPENAIRINTERFACE,
        }
    }
}

const fn blocks_by_cqi(table: CqiToMcs) -> BlocksByCqi {
    let mut blocks = [[0; MAX_PRB + 1]; 16];
    let mut cqi = 1;
    while cqi < 16 {
        let mcs = table.mcs(Cqi(cqi as u8));
        let mut prbs = 1;
        while prbs <= MAX_PRB {
            blocks[cqi][prbs] = (mcs.transport_block_bits(prbs, Direction::Downlink) / 8) as u16;
            prbs += 1;
        }
        cqi += 1;
    }
    blocks
}

#[cfg(test)]
mod tests;
