//! Video: players that fetch media over a transport and play it.

mod adaptation;
mod dash;
mod playout;
mod progressive;
mod sink;

pub use adaptation::{Adaptation, BolaParameters, Rule};
pub use dash::{Segment, SegmentedVideo, SegmentedView};
pub use playout::{Playout, PlayoutRules};
pub use progressive::{ProgressiveView, ReadLimit, Video};
pub use sink::VideoSink;
