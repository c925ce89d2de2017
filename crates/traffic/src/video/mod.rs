//! Video: players that fetch media over a transport and play it.

mod playout;
mod progressive;
mod sink;

pub use playout::{Playout, PlayoutRules};
pub use progressive::{ProgressiveView, ReadLimit, Video};
pub use sink::VideoSink;
