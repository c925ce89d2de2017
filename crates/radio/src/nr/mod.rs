//! The shared channels of NR: modulation and coding schemes, transport blocks, code blocks.
//!
//! Sources: TS 38.214 v18.7.0 and TS 38.212 v18.7.0. Not included: 1024QAM (MCS table 4, CQI table 4), the schemes of
//! a PUSCH with transform precoding (TS 38.214 §6.1.4.1), and the reserved MCS, with which a retransmission changes
//! its modulation.
//!
//! ```
//! use airlane_radio::nr::{BaseGraph, CodeBlocks, McsTable, Resources};
//!
//! // A whole slot of 100 MHz at 30 kHz, with one DM-RS symbol of 12 resource elements per PRB.
//! let slot = Resources { symbols: 14, dmrs_per_prb: 12, overhead_per_prb: 0, prbs: 273 };
//! let scheme = McsTable::Qam256.scheme(27).unwrap();
//! let bits = slot.transport_block_bits(scheme, 4, 1.0);
//! assert_eq!(bits, 1_277_992);
//! let blocks = CodeBlocks::new(bits, scheme.rate());
//! assert_eq!((blocks.graph, blocks.count), (BaseGraph::One, 152));
//! ```

mod error_model;
mod ldpc;
mod link_tables;
mod schemes;
mod transport_block;

pub use error_model::Ldpc;
pub use ldpc::{BaseGraph, CodeBlocks};
pub use link_tables::{LinkSettings, NrTables};
pub use schemes::{CqiTable, McsTable, Scheme};
pub use transport_block::Resources;

#[cfg(test)]
mod tests;
