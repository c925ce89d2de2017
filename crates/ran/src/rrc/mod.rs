//! Radio resource control (TS 36.331), as far as it is here: measurements.

pub mod measurement;
pub(crate) mod monitor;

pub use monitor::MeasurementReport;
