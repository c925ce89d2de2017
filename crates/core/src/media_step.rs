//! Steps of the media of a call.

use crate::{BitRate, Bytes, Duration};

/// A step of real-time media. Frames of video are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediaStep {
    /// The encoder has made a frame.
    Captured {
        /// The frame.
        frame: u64,
        /// Its size without headers.
        size: Bytes,
        /// The packets that it takes.
        packets: u32,
        /// Whether it is a key frame.
        key: bool,
        /// The target of the rate controller, with all headers.
        target: BitRate,
        /// The rate of the encoder, without headers.
        rate: BitRate,
        /// The quality at this rate, as VMAF: 0 to 100.
        quality: f32,
    },
    /// The encoder has left a frame out, because too much waits to be sent.
    Skipped,
    /// The last packet of a frame has left the sender for the first time.
    Sent {
        /// The frame.
        frame: u64,
    },
    /// All packets of a frame have arrived.
    Completed {
        /// The frame.
        frame: u64,
    },
    /// A frame is on the display.
    Shown {
        /// The frame.
        frame: u64,
        /// Time from the arrival of its first packet.
        buffered: Duration,
        /// The time since the frame before it was shown, if this was a freeze.
        freeze: Option<Duration>,
    },
    /// A frame was decoded, but a newer one was due at the same time and is shown in its place.
    Late {
        /// The frame.
        frame: u64,
    },
    /// The receiver continues behind a frame that it cannot decode.
    Lost {
        /// The frame.
        frame: u64,
        /// How many of its packets have arrived.
        received: u32,
    },
    /// The rates of the sender.
    Rate {
        /// The target of the rate controller, with all headers.
        target: BitRate,
        /// The rate of the video encoder, without headers.
        encoder: BitRate,
        /// Bytes that wait in the pacer.
        waiting: Bytes,
    },
}
