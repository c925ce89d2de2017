//! Sinks: observers of a run that turn its events into tables.
//!
//! A [`Recorder`] is a probe. It knows the flows and cells in advance, sums events during the run, and
//! returns five [`Table`]s at the end: `flows`, `flow_series`, `timeouts`, `cells`, `cell_series`. On
//! request, it also returns `ue_series`; further tables are `handovers` if UEs are handed over, `pep` and
//! `pep_series` if there is a PEP or a sender that can use one, `codes` if a receiver sends any, `views` if
//! videos are watched, `pings` if echo messages are sent, `verdicts` if a sender distinguishes losses, and
//! `rnis` if there is a radio network information service. Names of columns contain units. Further sinks
//! are optional ([`Sinks`]): a [`RanLog`] of transport blocks, [`Deliveries`] per millisecond, [`Losses`] by
//! cause, the [`ProxySeries`] of buffers, the [`PathModels`] of senders, and a [`Capture`], the only one
//! that writes files.
//!
//! Conventions of all tables:
//! - The measured window of a flow is `[max(start, warm-up), end]`; the end is that of the run, the
//!   flow's stop, or its completion, whichever comes first. A summary counts the events inside;
//!   series and timeouts cover the whole run.
//! - Only packets with payload in the flow's data direction count as its packets.
//! - A value that does not exist (a mean of no values) is `NaN`.
//!
//! Not included: qlog.

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
mod pings;
mod proxy;
mod ran_log;
mod recorder;
mod returns;
mod series;
mod sinks;
mod streams;
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
