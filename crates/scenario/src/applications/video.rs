//! Progressive download of a video.

use airlane_core::{Bytes, Node};
use airlane_record::Satisfaction;
use airlane_traffic::{self as traffic, Media, PlayoutRules, ReadLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use super::viewing::{self, Satisfied, Watching, check_bitrate, check_length};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved};
use crate::quantity::{Rate, Size, Time};
use crate::transports::{Carrier, Protocol, Refusal};

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

impl Application for Video {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Tcp]
    }

    fn refusal(&self, _: Protocol) -> Refusal {
        Refusal {
            key: "app",
            message: "a progressive download needs TCP".to_owned(),
            help: "use transport = \"tcp\"".to_owned(),
        }
    }

    fn check(&self, flow: &Flow, _: &Resolved, at: &Place<'_>) -> Checked {
        self.watching.check(flow, at)?;
        check_length(self.length, at)?;
        check_bitrate(self.bitrate.0.bits_per_second(), "app.bitrate", at)?;
        at.at_least(self.read_block, Size(Bytes(1)), "app.read_block", "out of range")?;
        if let Some(buffer) = self.buffer {
            let block = self.bitrate.0.transmission_time(self.read_block.0);
            let least = self.start_buffer.0.max(self.resume_buffer.0) + block;
            let help = format!(
                "it must be above {}: the larger of start_buffer and resume_buffer, plus one read_block",
                Time(least)
            );
            at.require(buffer.0 > least, "app.buffer", "playback would never start", &help)?;
        }
        at.positive(self.satisfied.startup, "app.satisfied.startup")
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        viewing::node(end, carrier, || self.media(), &self.watching)
    }

    fn satisfaction(&self) -> Option<Satisfaction> {
        Some(self.satisfied.criteria())
    }

    fn has_one_connection(&self) -> bool {
        false
    }
}

impl Video {
    fn media(&self) -> Media {
        let limit = self.buffer.map(|buffer| ReadLimit { buffer: buffer.0, block: self.read_block.0 });
        Media::File(traffic::Video {
            bitrate: self.bitrate.0,
            length: self.length.0,
            rules: PlayoutRules { start: self.start_buffer.0, resume: self.resume_buffer.0 },
            limit,
        })
    }
}
