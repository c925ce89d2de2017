//! Video streaming: content, player and criteria of a satisfied viewer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HttpVersion, tagged};
use crate::quantity::{Rate, Size, Time};

/// Progressive download: a video in one file, fetched by one HTTP request and played during the download.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Bitrate of the video.
    pub bitrate: Rate,
    /// Duration of the video.
    pub length: Time,
    /// Playback starts when this much of the video is buffered.
    pub start_buffer: Time,
    /// Playback resumes after a stall when this much of the video is buffered.
    pub resume_buffer: Time,
    /// Maximum playback buffer. A player with a full buffer stops reading, and the receive window of the
    /// transport closes. By default, there is no limit.
    pub buffer: Option<Time>,
    /// A player with a full buffer reads again when this many bytes fit.
    pub read_block: Size,
    /// Number of views, and the HTTP requests of the player.
    pub watching: Watching,
    /// Criteria of a satisfied viewer.
    pub satisfied: Satisfied,
}

/// A video in segments, each fetched by an HTTP request at a bitrate that the player chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dash {
    /// Available bitrates, in ascending order.
    pub bitrates: Vec<Rate>,
    /// Duration of a segment.
    pub segment: Time,
    /// Duration of the video.
    pub length: Time,
    /// Playback starts when this much of the video is buffered.
    pub start_buffer: Time,
    /// Playback resumes after a stall when this much of the video is buffered.
    pub resume_buffer: Time,
    /// Maximum playback buffer. The player requests a segment when the segment fits.
    pub buffer: Time,
    /// Rule that selects the bitrate of the next segment.
    pub rule: DashRule,
    /// The version of HTTP: 1.1 over TCP, or 3 over QUIC.
    pub http: HttpVersion,
    /// Number of views, and the HTTP requests of the player.
    pub watching: Watching,
    /// Criteria of a satisfied viewer.
    pub satisfied: Satisfied,
}

/// Rule that selects the bitrate of the next segment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DashRule {
    /// By the throughput of the last segments.
    Rate(RateRule),
    /// By the level of the playback buffer: BOLA-BASIC (Spiteri, Urgaonkar and Sitaraman, IEEE/ACM ToN 2020).
    Bola(BolaRule),
}
tagged!(DashRule by "kind" { "rate" => Rate(RateRule), "bola" => Bola(BolaRule) });

/// Rule by throughput: the highest bitrate below a fraction of the harmonic mean of past throughputs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// Maximum ratio of bitrate to throughput.
    pub safety: f64,
    /// Number of past segments in the harmonic mean.
    pub samples: u8,
}

/// BOLA's parameters. V follows from the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BolaRule {
    /// γp: weight of stalls, in segments.
    pub gamma_p: f64,
    /// Buffer level above which the player leaves the lowest bitrate. γp follows from it. By default,
    /// `gamma_p` applies.
    pub buffer_low: Option<Time>,
}

/// Number of views, and the HTTP requests of the player over one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watching {
    /// Number of views, one after another.
    pub views: u32,
    /// Mean of the exponentially distributed pause between views.
    pub pause: Time,
    /// Size of an HTTP request: request line and header fields.
    pub request: Size,
    /// Size of status line and header fields of a response.
    pub response_head: Size,
    /// How long an idle connection is kept open.
    pub keep_alive: Time,
}

/// Criteria of a satisfied viewer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Satisfied {
    /// Maximum start-up delay.
    pub startup: Time,
    /// Maximum number of stalls.
    pub stalls: u32,
    /// Maximum total duration of stalls.
    pub stalled: Time,
}
