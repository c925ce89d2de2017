//! Scenario files: what a user writes, checked and filled in, and the network that it becomes.
//!
//! - [`Scenario`] is a file as it was written; [`Scenario::resolve`] fills in the presets, checks
//!   everything and gives a [`Resolved`] scenario, in which every value stands.
//! - [`mod@format`] is the format as types, [`quantity`] its quantities: a number and a unit in one
//!   text. [`fn@schema`] is its JSON Schema.
//! - Mistakes are [`ScenarioError`]s that name file, line, key and value, and what would be right.

mod aqm;
mod backhaul;
mod bandwidth;
mod check;
mod counts;
mod de;
mod decimal;
mod document;
mod endpoints;
mod error;
mod expand;
mod files;
pub mod format;
mod layout;
mod links;
mod middlebox;
mod pages;
mod preset;
mod proxies;
pub mod quantity;
mod radio;
mod rnis;
mod run;
mod schema;
mod settings;
mod sinks;
mod tree;
mod viewing;
mod web;
mod wiring;

/// What a congestion controller of a user's own is made of.
pub mod controller {
    pub use airlane_transport::congestion::{
        AckSample, CongestionController, LossCause, LossEpisode, MakeController, OwnController,
        OwnControllers, SegmentWindow, Snapshot, TimeoutEpisode,
    };
}

pub use airlane_record::CaptureError;
pub use counts::HandoverCounts;
pub use document::Scenario;
pub use error::ScenarioError;
pub use format::Resolved;
pub use run::{Built, Controllers, Drops, Meta, RunOutput, build, build_with, run};
pub use schema::schema;
