//! Radio resource control (TS 36.331), as far as it is here: measurements, and the loss of a radio link.

pub mod measurement;
pub(crate) mod monitor;
pub mod radio_link;

pub use monitor::MeasurementReport;
