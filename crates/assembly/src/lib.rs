//! From a scenario to a network and its run: wiring, growth, embedding, results.
//!
//! [`build`] makes the network of a resolved scenario, and [`run()`] runs it from its beginning to its end. A program with
//! a clock and packets of its own steps [`Built`], and adds UEs and flows to it. This is the only crate that knows all
//! parts.

mod backhaul;
mod bearers;
mod construction;
mod counts;
mod embedding;
mod energy;
mod fusing;
mod information;
mod links;
mod look;
mod membership;
mod middlebox;
mod proxies;
mod radio;
mod run;
mod sinks;
mod threads;
mod wiring;

pub use airlane_ran::{CellQuality, ReportEvent, UeLook};
pub use airlane_record::CaptureError;
pub use airlane_scenario::transports::KernelPath;
pub use counts::HandoverCounts;
pub use embedding::{FlowEnd, KernelFlow};
pub use membership::Added;
pub use run::{Built, Drops, Meta, RunOutput, build, build_from, build_with, run};
