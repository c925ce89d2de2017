//! The tables of MCS and CQI.

/// A modulation and a target code rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// Coded bits per symbol: `Q_m`.
    pub modulation_order: u8,
    /// Target code rate times 1024: `R × 1024`, as in the tables.
    pub rate_x1024: f64,
}

impl Scheme {
    /// Target code rate: `R`.
    #[must_use]
    pub const fn rate(self) -> f64 {
        self.rate_x1024 / 1024.0
    }

    /// Information bits per symbol.
    #[must_use]
    pub const fn efficiency(self) -> f64 {
        self.modulation_order as f64 * self.rate()
    }
}

/// Rows of a table, as modulation order and code rate times 1024.
type Rows = [(u8, f64)];

const QPSK: u8 = 2;
const QAM16: u8 = 4;
const QAM64: u8 = 6;
const QAM256: u8 = 8;

fn row(rows: &Rows, index: usize) -> Option<Scheme> {
    rows.get(index).map(|&(modulation_order, rate_x1024)| Scheme { modulation_order, rate_x1024 })
}

/// A table of modulation and coding schemes for the PDSCH, and for a PUSCH without transform precoding
/// (TS 38.214 §5.1.3.1, §6.1.4.1). The indices that it reserves are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McsTable {
    /// Table 1, up to 64QAM.
    Qam64,
    /// Table 2, up to 256QAM.
    Qam256,
    /// Table 3, up to 64QAM with low spectral efficiency.
    Qam64LowSe,
}

impl McsTable {
    const fn rows(self) -> &'static Rows {
        match self {
            Self::Qam64 => MCS_TABLE_1,
            Self::Qam256 => MCS_TABLE_2,
            Self::Qam64LowSe => MCS_TABLE_3,
        }
    }

    /// The scheme of an MCS; `None` if the table has no such MCS or reserves it.
    #[must_use]
    pub fn scheme(self, mcs: u8) -> Option<Scheme> {
        row(self.rows(), usize::from(mcs))
    }

    /// The highest MCS. The lowest is 0.
    #[must_use]
    pub const fn highest(self) -> u8 {
        self.rows().len() as u8 - 1
    }
}

/// A table of channel quality indicators (TS 38.214 §5.2.2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CqiTable {
    /// Table 1, up to 64QAM, for a block error rate of 0.1.
    Qam64,
    /// Table 2, up to 256QAM, for a block error rate of 0.1.
    Qam256,
    /// Table 3, up to 64QAM, for a block error rate of 0.00001.
    Qam64LowSe,
}

impl CqiTable {
    /// The scheme of a CQI from 1 to 15; `None` for CQI 0, which is out of range, and above 15.
    #[must_use]
    pub fn scheme(self, cqi: u8) -> Option<Scheme> {
        let rows = match self {
            Self::Qam64 => CQI_TABLE_1,
            Self::Qam256 => CQI_TABLE_2,
            Self::Qam64LowSe => CQI_TABLE_3,
        };
        row(rows, usize::from(cqi).checked_sub(1)?)
    }
}

/// TS 38.214 table 5.1.3.1-1.
const MCS_TABLE_1: &Rows = &[
    (QPSK, 120.0),
    (QPSK, 157.0),
    (QPSK, 193.0),
    (QPSK, 251.0),
    (QPSK, 308.0),
    (QPSK, 379.0),
    (QPSK, 449.0),
    (QPSK, 526.0),
    (QPSK, 602.0),
    (QPSK, 679.0),
    (QAM16, 340.0),
    (QAM16, 378.0),
    (QAM16, 434.0),
    (QAM16, 490.0),
    (QAM16, 553.0),
    (QAM16, 616.0),
    (QAM16, 658.0),
    (QAM64, 438.0),
    (QAM64, 466.0),
    (QAM64, 517.0),
    (QAM64, 567.0),
    (QAM64, 616.0),
    (QAM64, 666.0),
    (QAM64, 719.0),
    (QAM64, 772.0),
    (QAM64, 822.0),
    (QAM64, 873.0),
    (QAM64, 910.0),
    (QAM64, 948.0),
];

/// TS 38.214 table 5.1.3.1-2.
const MCS_TABLE_2: &Rows = &[
    (QPSK, 120.0),
    (QPSK, 193.0),
    (QPSK, 308.0),
    (QPSK, 449.0),
    (QPSK, 602.0),
    (QAM16, 378.0),
    (QAM16, 434.0),
    (QAM16, 490.0),
    (QAM16, 553.0),
    (QAM16, 616.0),
    (QAM16, 658.0),
    (QAM64, 466.0),
    (QAM64, 517.0),
    (QAM64, 567.0),
    (QAM64, 616.0),
    (QAM64, 666.0),
    (QAM64, 719.0),
    (QAM64, 772.0),
    (QAM64, 822.0),
    (QAM64, 873.0),
    (QAM256, 682.5),
    (QAM256, 711.0),
    (QAM256, 754.0),
    (QAM256, 797.0),
    (QAM256, 841.0),
    (QAM256, 885.0),
    (QAM256, 916.5),
    (QAM256, 948.0),
];

/// TS 38.214 table 5.1.3.1-3.
const MCS_TABLE_3: &Rows = &[
    (QPSK, 30.0),
    (QPSK, 40.0),
    (QPSK, 50.0),
    (QPSK, 64.0),
    (QPSK, 78.0),
    (QPSK, 99.0),
    (QPSK, 120.0),
    (QPSK, 157.0),
    (QPSK, 193.0),
    (QPSK, 251.0),
    (QPSK, 308.0),
    (QPSK, 379.0),
    (QPSK, 449.0),
    (QPSK, 526.0),
    (QPSK, 602.0),
    (QAM16, 340.0),
    (QAM16, 378.0),
    (QAM16, 434.0),
    (QAM16, 490.0),
    (QAM16, 553.0),
    (QAM16, 616.0),
    (QAM64, 438.0),
    (QAM64, 466.0),
    (QAM64, 517.0),
    (QAM64, 567.0),
    (QAM64, 616.0),
    (QAM64, 666.0),
    (QAM64, 719.0),
    (QAM64, 772.0),
];

/// TS 38.214 table 5.2.2.1-2.
const CQI_TABLE_1: &Rows = &[
    (QPSK, 78.0),
    (QPSK, 120.0),
    (QPSK, 193.0),
    (QPSK, 308.0),
    (QPSK, 449.0),
    (QPSK, 602.0),
    (QAM16, 378.0),
    (QAM16, 490.0),
    (QAM16, 616.0),
    (QAM64, 466.0),
    (QAM64, 567.0),
    (QAM64, 666.0),
    (QAM64, 772.0),
    (QAM64, 873.0),
    (QAM64, 948.0),
];

/// TS 38.214 table 5.2.2.1-3.
const CQI_TABLE_2: &Rows = &[
    (QPSK, 78.0),
    (QPSK, 193.0),
    (QPSK, 449.0),
    (QAM16, 378.0),
    (QAM16, 490.0),
    (QAM16, 616.0),
    (QAM64, 466.0),
    (QAM64, 567.0),
    (QAM64, 666.0),
    (QAM64, 772.0),
    (QAM64, 873.0),
    (QAM256, 711.0),
    (QAM256, 797.0),
    (QAM256, 885.0),
    (QAM256, 948.0),
];

/// TS 38.214 table 5.2.2.1-4.
const CQI_TABLE_3: &Rows = &[
    (QPSK, 30.0),
    (QPSK, 50.0),
    (QPSK, 78.0),
    (QPSK, 120.0),
    (QPSK, 193.0),
    (QPSK, 308.0),
    (QPSK, 449.0),
    (QPSK, 602.0),
    (QAM16, 378.0),
    (QAM16, 490.0),
    (QAM16, 616.0),
    (QAM64, 466.0),
    (QAM64, 567.0),
    (QAM64, 666.0),
    (QAM64, 772.0),
];
