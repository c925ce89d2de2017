//! Progressive download of a video.

use airlane_core::{Bytes, Node};
use airlane_record::Satisfaction;
use airlane_traffic::{self as traffic, GroupLaw, Media, PlayoutRules, ReadLimit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use super::viewing::{self, PageBefore, Satisfied, Watching, check_bitrate, check_length};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved, tagged};
use crate::quantity::{Rate, Size, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// Maximum number of groups of pictures of a video.
const GROUPS_MAX: u64 = 1_000_000;

/// Progressive download: a video in one file, fetched by one HTTP request and played during the download.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Video {
    /// Mean bitrate of the video.
    pub bitrate: Rate,
    /// How the bitrate varies within the video.
    pub variation: Variation,
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
    /// Page that the viewer opens before each video.
    pub page: VideoPage,
    /// Number of views, and the HTTP requests of the player.
    pub watching: Watching,
    /// Criteria of a satisfied viewer.
    pub satisfied: Satisfied,
}

/// How the bitrate of a video varies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Variation {
    /// Constant bitrate.
    None,
    /// Groups of pictures of log-normally distributed sizes. The mean bitrate of each video is exact.
    LogNormal(LogNormalGroups),
}
tagged!(Variation by "kind" { "none" => None, "log-normal" => LogNormal(LogNormalGroups) });

/// Groups of pictures of log-normally distributed sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogNormalGroups {
    /// Playing time of a group of pictures.
    pub group: Time,
    /// Standard deviation of the sizes over their mean.
    pub coefficient: f64,
    /// Time in which the autocorrelation of the logarithms of the sizes falls to 1/e. With 0 s, the groups are
    /// independent.
    pub correlation: Time,
}

/// Page before a video.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum VideoPage {
    /// The player requests the video at once.
    None,
    /// A web page, drawn from a set for each video. The video is requested when its document has arrived, with
    /// the other objects of the page, from a separate server.
    Web(PageBefore),
}
tagged!(VideoPage by "kind" { "none" => None, "web" => Web(PageBefore) });

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
        if let VideoPage::Web(page) = &self.page {
            page.check(&at.under("app.page"))?;
        }
        self.check_variation(at)?;
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
        viewing::node(end, carrier, || self.media(), &self.watching, self.page())
    }

    fn satisfaction(&self) -> Option<Satisfaction> {
        Some(self.satisfied.criteria())
    }

    fn has_one_connection(&self) -> bool {
        false
    }

    fn pages(&self) -> Option<&str> {
        self.page().map(|page| page.pages.as_str())
    }

    fn pages_mut(&mut self) -> Option<&mut String> {
        match &mut self.page {
            VideoPage::None => None,
            VideoPage::Web(page) => Some(&mut page.pages),
        }
    }
}

impl Video {
    const fn page(&self) -> Option<&PageBefore> {
        match &self.page {
            VideoPage::None => None,
            VideoPage::Web(page) => Some(page),
        }
    }

    fn check_variation(&self, at: &Place<'_>) -> Checked {
        let Variation::LogNormal(law) = &self.variation else { return Ok(()) };
        let at = at.under("app.variation");
        at.positive(law.group, "group")?;
        let help = "a video has at most 1000000 groups of pictures";
        let groups = self.length.0.as_nanos() / law.group.0.as_nanos();
        at.require(groups <= GROUPS_MAX, "group", "too short", help)?;
        let known = (0.0..=10.0).contains(&law.coefficient);
        at.require(known, "coefficient", "out of range", "it must be from 0 to 10")
    }

    fn media(&self) -> Media {
        let limit = self.buffer.map(|buffer| ReadLimit { buffer: buffer.0, block: self.read_block.0 });
        Media::File(traffic::Video {
            bitrate: self.bitrate.0,
            groups: match &self.variation {
                Variation::None => None,
                Variation::LogNormal(law) => Some(GroupLaw {
                    group: law.group.0,
                    coefficient: law.coefficient,
                    correlation: law.correlation.0,
                }),
            },
            length: self.length.0,
            rules: PlayoutRules { start: self.start_buffer.0, resume: self.resume_buffer.0 },
            limit,
        })
    }
}
