//! Sinks: what listens to a run and turns its events into tables.
//!
//! A [`Recorder`] is a probe. It knows beforehand which flows and cells there are, adds events up
//! as they come, and gives five [`Table`]s at the end: `flows`, `flow_series`, `timeouts`,
//! `cells`, `cell_series`. Names of columns carry units. Nothing here writes files.
//!
//! Conventions of all tables:
//! - The measured window of a flow is `[max(start, warm-up), end]`; the end is that of the run,
//!   the flow's stop, or its completion, whichever comes first. A summary counts what happens
//!   inside; series and timeouts cover the whole run.
//! - Only packets with payload that go in the flow's data direction count as its packets.
//! - A value that does not exist (a mean of nothing) is `NaN`.
//!
//! Left out: packet captures, qlog.

mod cell;
mod describe;
mod flow;
mod histogram;
mod recorder;
mod series;
mod table;
mod timeouts;

pub use describe::{CellDescription, FlowDescription, RecorderParameters};
pub use histogram::Histogram;
pub use recorder::Recorder;
pub use table::{Column, Table};
