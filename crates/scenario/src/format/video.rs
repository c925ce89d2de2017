//! Videos, and what their viewers put up with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::{Rate, Size, Time};

/// A video that is one file, played while it comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// The bitrate of all of it.
    pub bitrate: Rate,
    /// How long it plays.
    pub length: Time,
    /// The picture starts when so much of it has come.
    pub start_buffer: Time,
    /// It moves again when so much has come after it stood still.
    pub resume_buffer: Time,
    /// What the player buffers at most: it stops reading, and the transport's window closes. None for a
    /// player that takes what comes.
    pub buffer: Option<Time>,
    /// A player with a full buffer reads again when so many bytes have room.
    pub read_block: Size,
    /// When a viewer counts as satisfied.
    pub satisfied: Satisfied,
}

/// What a viewer puts up with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satisfied {
    /// The picture starts sooner than this after the viewer asked for the video.
    pub startup: Time,
    /// It stands still no more often than this.
    pub stalls: u32,
    /// And no longer than this in all.
    pub stalled: Time,
}
