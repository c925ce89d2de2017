//! Scenario files: the user's text, its checks and defaults, and the network built from it.
//!
//! - [`Scenario`] is a file as written; [`Scenario::resolve`] fills in the presets, makes all
//!   checks and returns a [`Resolved`] scenario, which contains every value.
//! - [`mod@format`] is the format as types, [`quantity`] its quantities: a number with a unit in
//!   one text. [`fn@schema`] is its JSON Schema.
//! - Errors are [`ScenarioError`]s that name file, line, key and value, and the correct form.

mod applications;
mod backhaul;
mod bandwidth;
mod check;
mod construction;
mod counts;
mod document;
mod embedding;
mod endpoints;
mod expand;
mod files;
pub mod format;
mod fusing;
mod kernels;
mod layout;
mod links;
mod look;
mod membership;
mod middlebox;
mod pages;
mod preset;
mod proxies;
mod radio;
mod real;
mod rnis;
mod run;
mod schema;
mod sinks;
mod technology;
mod transports;
mod wiring;

/// The parts of a user's own congestion controller.
pub mod controller {
    pub use airlane_core::{BitRate, Duration, Instant};
    pub use airlane_transport::congestion::{
        AckSample, AckTold, Arrival, CongestionController, DeliverySample, LossCause, LossEpisode,
        LostSegment, MakeController, Needs, OwnController, OwnControllers, PhaseChange, RateSample, Restart,
        Script, ScriptedController, SegmentWindow, Snapshot, TimeoutEpisode, Told, Wanted,
    };
}

/// The parts of a user's own scheduler policy.
pub mod scheduler {
    pub use airlane_core::{Bytes, Duration, UeId};
    pub use airlane_ran::scheduler::{
        Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy,
    };
}

pub use airlane_ran::{CellQuality, ReportEvent, UeLook};
pub use airlane_record::CaptureError;
pub use airlane_settings::{SettingsError as ScenarioError, quantity};
pub use counts::HandoverCounts;
pub use document::Scenario;
pub use embedding::{FlowEnd, KernelFlow};
pub use files::Files;
pub use format::Resolved;
pub use membership::Added;
pub use real::RealEnd;
pub use run::{
    Built, Controllers, Drops, Meta, Own, RunOutput, Schedulers, build, build_from, build_with, run,
};
pub use schema::schema;
pub use transports::quic_of;
