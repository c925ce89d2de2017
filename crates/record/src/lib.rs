//! Sinks: observers of a run that turn its events into tables.
//!
//! A [`Recorder`] is a probe. It knows the flows and cells in advance, sums events during the run, and
//! returns [`Table`]s at the end: `flows`, `flow_series`, `timeouts`, `cells` and `cell_series` of every run, and
//! those of its logs (`log.rs`) that the run has. Names of columns contain units. A [`Capture`] observes the same
//! events ([`Sinks`]) and is the only sink that writes files.
//!
//! Conventions of all tables:
//! - The measured window of a flow is `[max(start, warm-up), end]`; the end is that of the run, the
//!   flow's stop, or its completion, whichever comes first. A summary counts the events inside;
//!   series and timeouts cover the whole run.
//! - Only packets with payload in the flow's data direction count as its packets.
//! - A value that does not exist (a mean of no values) is `NaN`.
//!
//! Not included: qlog.

mod bearers;
mod capture;
mod carriers;
mod cell;
mod codes;
mod connections;
mod coverage;
mod deliveries;
mod describe;
mod flow;
mod flows;
mod frames;
mod handover;
mod histogram;
mod information;
mod log;
mod losses;
mod meaning;
mod media;
mod pages;
mod path_model;
mod paths;
mod pep;
mod pings;
mod proxy;
mod ran_log;
mod recorder;
mod returns;
mod scg;
mod series;
mod sinks;
mod streams;
mod table;
mod timeouts;
mod track;
mod verdicts;
mod views;

pub use bearers::BearerDescription;
pub use capture::{Capture, CaptureError, CaptureFlow, CaptureParameters, CapturePoint, CaptureSubflow};
pub use describe::{CellDescription, FlowDescription, RecorderParameters};
pub use histogram::Histogram;
pub use meaning::{Better, Figure, Meaning, OverFlows, Scale, View};
pub use recorder::Recorder;
pub use sinks::Sinks;
pub use table::{Column, Table};
pub use views::Satisfaction;
