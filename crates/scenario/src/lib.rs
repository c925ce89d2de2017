//! Scenario files: the user's text, its checks and defaults.
//!
//! - [`Scenario`] is a file as written; [`Scenario::resolve`] fills in the presets, makes all
//!   checks and returns a [`Resolved`] scenario, which contains every value.
//! - [`mod@format`] is the format as types, [`quantity`] its quantities: a number with a unit in
//!   one text. [`fn@schema`] is its JSON Schema.
//! - [`applications`] and [`transports`] are what flows consist of: settings, rules, and the nodes at both [`endpoints`].
//! - Errors are [`ScenarioError`]s that name file, line, key and value, and the correct form.
//!
//! `airlane_assembly` builds the network from a resolved scenario and runs it.

pub mod applications;
mod bandwidth;
mod check;
mod document;
pub mod endpoints;
pub mod expand;
mod extensions;
pub mod files;
pub mod format;
mod kernels;
mod layout;
mod map;
pub mod middlebox;
mod pages;
mod preset;
pub mod real;
pub mod rnis;
mod schema;
mod technology;
pub mod transports;

/// The parts of a user's own congestion controller.
pub mod controller {
    pub use airlane_core::{BitRate, Duration, Instant};
    pub use airlane_transport::congestion::{
        AckSample, Arrival, CongestionController, DeliverySample, LossCause, LossEpisode, LostSegment,
        MakeController, Needs, OwnController, OwnControllers, PhaseChange, RateSample, Restart, Script,
        ScriptAck, ScriptEvent, ScriptRequest, ScriptedController, SegmentWindow, Snapshot, TimeoutEpisode,
    };
}

/// The parts of a user's own rate controller of calls.
pub mod rate_controller {
    pub use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};
    pub use airlane_rtc::{
        Bounds, CallParameters, Feedback, MakeRateController, OwnRateControllers, Pace, PacketKind,
        PacketReport, Probe, ProbeId, RateController, RateEvent, RateRequest, RateScript,
        ScriptedRateController, SentPacket,
    };
}

/// The parts of a user's own scheduler policy.
pub mod scheduler {
    pub use airlane_core::{Bytes, Duration, UeId};
    pub use airlane_ran::scheduler::{
        Candidates, MakeScheduler, OwnScheduler, SchedulerCell, SchedulerPolicy,
    };
}

/// The parts of a user's own scheduler of Multipath TCP.
pub mod path_scheduler {
    pub use airlane_core::{Bytes, Duration, Instant};
    pub use airlane_transport::SubflowState;
    pub use airlane_transport::mptcp::{MakeScheduler, Scheduler, SchedulerData, SchedulerPath};
}

pub use airlane_settings::{SettingsError as ScenarioError, quantity};
pub use document::Scenario;
pub use extensions::{Controllers, Extensions, PathSchedulers, RateControllers, Schedulers};
pub use files::Files;
pub use format::Resolved;
pub use real::RealEnd;
pub use schema::schema;
pub use transports::quic_of;
