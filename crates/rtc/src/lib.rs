//! Real-time media without I/O: the rate controllers of calls, their media, and their packets.
//!
//! A [`RateController`] learns from the feedback about its packets how much a path carries. It reads no clock and opens no
//! socket: sent packets, feedback and timeouts arrive with the time of the call.

mod base_delay;
mod constant;
mod controller;
mod gcc;
pub mod media;
mod nada;
mod own;
mod report_timing;
mod scream;
mod script;
mod smooth;
pub mod wire;

pub use constant::Constant;
pub use controller::{
    Bounds, Feedback, Pace, PacketKind, PacketReport, Probe, ProbeId, RateController, SentPacket,
};
pub use gcc::{Gcc, GccSettings};
pub use nada::{Nada, NadaSettings};
pub use own::{CallParameters, MakeRateController, OwnRateControllers};
pub use report_timing::{PendingReport, ReportHistory, ReportTiming};
pub use scream::{DraftOptions, Scream, ScreamSettings, ScreamVariant};
pub use script::{RateEvent, RateRequest, RateScript, ScriptedRateController};
