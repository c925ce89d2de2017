//! Frames of an application of XR, and their streams.

use crate::{Bytes, Direction, Duration, Instant};

/// A stream of frames of an application of XR (3GPP TR 38.838 clause 5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameStream {
    /// Rendered video, to the UE.
    Video,
    /// Pose and control, from the UE. Each message is a frame.
    Pose,
    /// Video of the scene, from the UE.
    UplinkVideo,
}

impl FrameStream {
    /// How many streams there are.
    pub const COUNT: usize = 3;
    /// The name of each in results, in the order of their numbers.
    pub const NAMES: [&'static str; Self::COUNT] = ["video", "pose", "uplink-video"];

    /// The direction in which it is sent.
    #[must_use]
    pub const fn direction(self) -> Direction {
        match self {
            Self::Video => Direction::Downlink,
            Self::Pose | Self::UplinkVideo => Direction::Uplink,
        }
    }

    /// Its name in results and in the names of random streams.
    #[must_use]
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A frame that was sent, in packets with consecutive serials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentFrame {
    /// Its stream.
    pub stream: FrameStream,
    /// Send time of its packets.
    pub sent_at: Instant,
    /// Serial of its first packet.
    pub first: u64,
    /// Number of its packets.
    pub packets: u32,
    /// Its size without headers.
    pub size: Bytes,
    /// The delay within which its last packet has to arrive.
    pub budget: Duration,
}
