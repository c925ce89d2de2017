//! Radio resource control (TS 36.331), limited to connections, measurements, handover, and radio link failure.

pub mod connection;
pub mod contention;
pub mod coverage;
pub mod handover;
pub mod measurement;
pub(crate) mod monitor;
pub mod quality;
pub mod radio_link;
pub mod random_access;
pub mod x2ap;

pub use monitor::MeasurementReport;
