//! The arithmetic of the radio of LTE and NR: from the positions of antennas to the decoding of a transport
//! block. No module keeps time or knows a scheduler; each step is validated alone.
//!
//! In the order of the data path: [`geometry`] and [`mobility`] give distances. [`path_loss`], [`large_scale`],
//! [`raster`], [`shadowing`], [`blockage`], [`antenna`] and [`fading`] give the received power. [`noise`], [`bursts`], [`transmission_mode`] and
//! [`layers`] give the SINR of each PRB. [`mutual_information`] gives the information per symbol at that SINR,
//! [`link_adaptation`] the CQI and MCS, [`link_tables`] the transport block, and [`bler`] its error rate,
//! including HARQ retransmissions.

pub mod antenna;
pub mod bler;
pub mod blockage;
pub mod bursts;
pub mod calibration;
pub mod clusters;
pub mod fading;
pub mod geometry;
pub mod large_scale;
pub mod layers;
pub mod link_adaptation;
pub mod link_tables;
pub mod mobility;
pub mod mutual_information;
pub mod noise;
pub mod nr;
pub mod panel;
pub mod path_loss;
pub mod raster;
pub mod shadowing;
pub mod tables;
pub mod transmission_mode;

#[cfg(test)]
mod reference;

pub use antenna::{Antenna, Sector};
pub use bler::{CodeScheme, CodedBlock, HarqSoftState};
pub use bursts::{BurstLaw, Bursts};
pub use fading::{Fading, FrequencyGrid, Profile};
pub use geometry::{Position, WrapAround};
pub use link_adaptation::{Amc, AmcRule};
pub use link_tables::LinkTables;
pub use mobility::{LevyWalk, Mobility, Placement};
pub use mutual_information::SymbolInformation;
pub use path_loss::{LossMemo, PathLoss, RadioPath};
pub use raster::{LossKind, Raster, RasterError};
pub use shadowing::Shadowing;
pub use tables::{BlocksByCqi, Cqi, CqiToMcs, Mcs, Modulation};
pub use transmission_mode::TransmissionMode;
