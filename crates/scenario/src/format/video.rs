//! Videos, how they are watched, and what their viewers put up with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HttpVersion, tagged};
use crate::quantity::{Rate, Size, Time};

/// A video that is one file, fetched by one HTTP request and played while it comes.
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
    /// How often it is watched, and over what kind of HTTP.
    pub watching: Watching,
    /// When a viewer counts as satisfied.
    pub satisfied: Satisfied,
}

/// A video in segments, each fetched by an HTTP request at a bitrate that the player chooses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dash {
    /// The bitrates that there are, in ascending order.
    pub bitrates: Vec<Rate>,
    /// How long a segment plays.
    pub segment: Time,
    /// How long all of it plays.
    pub length: Time,
    /// The picture starts when so much of it has come.
    pub start_buffer: Time,
    /// It moves again when so much has come after it stood still.
    pub resume_buffer: Time,
    /// What the player buffers at most: it asks for a segment when that has room.
    pub buffer: Time,
    /// How it chooses.
    pub rule: DashRule,
    /// The version of HTTP: 1.1 over TCP, or 3 over QUIC.
    pub http: HttpVersion,
    /// How often it is watched, and over what kind of HTTP.
    pub watching: Watching,
    /// When a viewer counts as satisfied.
    pub satisfied: Satisfied,
}

/// How a player chooses the bitrate of the next segment.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum DashRule {
    /// By the throughput of the last segments.
    Rate(RateRule),
    /// By what the buffer holds: BOLA-BASIC (Spiteri, Urgaonkar and Sitaraman, IEEE/ACM ToN 2020).
    Bola(BolaRule),
}
tagged!(DashRule by "kind" { "rate" => Rate(RateRule), "bola" => Bola(BolaRule) });

/// A rule by throughput: the highest bitrate below a share of its harmonic mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RateRule {
    /// The share of the throughput that a bitrate may take.
    pub safety: f64,
    /// Segments whose throughput counts.
    pub samples: u8,
}

/// BOLA's parameters. V follows from the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BolaRule {
    /// How strongly stalls are avoided: γp, in segments.
    pub gamma_p: f64,
    /// The level at which the lowest bitrate is left; γp follows from it. None for `gamma_p` as it is.
    pub buffer_low: Option<Time>,
}

/// How often a video is watched, and the requests that fetch it over one connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Watching {
    /// How many times, each after the one before has ended.
    pub views: u32,
    /// The mean of the pause between, which is exponentially distributed.
    pub pause: Time,
    /// A request: its line and fields.
    pub request: Size,
    /// Line and fields of a response.
    pub response_head: Size,
    /// How long an idle connection is kept.
    pub keep_alive: Time,
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
