//! Video: players that fetch media over HTTP and play it.

mod adaptation;
mod dash;
mod groups;
mod playout;
mod progressive;
mod viewer;

pub use adaptation::{Adaptation, BolaParameters, Rule};
pub use dash::{Segment, SegmentedVideo, SegmentedView};
pub use groups::{GroupLaw, Groups};
pub use playout::{Playout, PlayoutRules};
pub use progressive::{ProgressiveView, ReadLimit, Video};
pub use viewer::{Media, PageBefore, Viewer, Viewing};
