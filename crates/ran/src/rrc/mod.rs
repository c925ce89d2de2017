//! Radio resource control (TS 36.331), as far as it is here: measurements, handover, and the loss of a
//! radio link.

pub mod handover;
pub mod measurement;
pub(crate) mod monitor;
pub mod radio_link;
pub(crate) mod random_access;
pub mod x2ap;

pub use monitor::MeasurementReport;
