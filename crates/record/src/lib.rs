//! Sinks: what listens to a run and turns its events into tables.
//!
//! A [`Recorder`] is a probe. It knows beforehand which flows and cells there are, adds events up
//! as they come, and gives five [`Table`]s at the end: `flows`, `flow_series`, `timeouts`,
//! `cells`, `cell_series`, on request `ue_series`, `handovers` where UEs are handed over, `pep` and
//! `pep_series` where there is a PEP or a sender that would listen to one, `codes` where a receiver sends any,
//! `views` where a video is watched, `verdicts` where a sender tells losses apart, and `rnis` where there is a radio network information service.
//! Names of columns carry units. On request others listen beside it
//! ([`Sinks`]): a [`RanLog`] of transport blocks, [`Deliveries`] by the millisecond, [`Losses`] by cause, the
//! [`ProxySeries`] of buffers, the [`PathModels`] of senders, and a [`Capture`],
//! the only one that writes files.
//!
//! Conventions of all tables:
//! - The measured window of a flow is `[max(start, warm-up), end]`; the end is that of the run,
//!   the flow's stop, or its completion, whichever comes first. A summary counts what happens
//!   inside; series and timeouts cover the whole run.
//! - Only packets with payload that go in the flow's data direction count as its packets.
//! - A value that does not exist (a mean of nothing) is `NaN`.
//!
//! Left out: qlog.

mod capture;
mod cell;
mod codes;
mod coverage;
mod deliveries;
mod describe;
mod flow;
mod handover;
mod histogram;
mod information;
mod losses;
mod pages;
mod path_model;
mod pep;
mod proxy;
mod ran_log;
mod recorder;
mod series;
mod sinks;
mod table;
mod timeouts;
mod track;
mod verdicts;
mod views;

pub use capture::{Capture, CaptureError, CaptureFlow, CaptureParameters, CapturePoint};
pub use deliveries::Deliveries;
pub use describe::{CellDescription, FlowDescription, RecorderParameters};
pub use histogram::Histogram;
pub use losses::Losses;
pub use path_model::PathModels;
pub use proxy::ProxySeries;
pub use ran_log::{RanLog, RanLogParameters};
pub use recorder::Recorder;
pub use sinks::Sinks;
pub use table::{Column, Table};
pub use views::Satisfaction;
