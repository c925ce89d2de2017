//! Video in segments (DASH).

use airlane_core::{Duration, Node};
use airlane_record::Satisfaction;
use airlane_traffic::{BolaParameters, Media, PlayoutRules, Rule, SegmentedVideo};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use super::http::HttpVersion;
use super::viewing::{self, Satisfied, Watching, check_bitrate, check_length};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved, tagged};
use crate::quantity::{Rate, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// The maximum and the minimum length of a segment.
const SEGMENT_MAX: Duration = Duration::from_secs(60);
const SEGMENT_MIN: Duration = Duration::from_millis(100);
/// Maximum number of bitrates of a video.
const BITRATES_MAX: usize = 64;
/// Maximum number of throughputs that the rule by rate stores.
const SAMPLES_MAX: u8 = 32;

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

impl Application for Dash {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Tcp, Protocol::Quic]
    }

    fn refusal(&self, _: Protocol) -> Refusal {
        Refusal {
            key: "transport",
            message: "DASH needs TCP or QUIC".to_owned(),
            help: "use transport = \"tcp\", or \"quic\" with http = \"3\"".to_owned(),
        }
    }

    fn check(&self, flow: &Flow, _: &Resolved, at: &Place<'_>) -> Checked {
        if flow.transport.protocol() == Protocol::Quic {
            let help = "use http = \"3\", or transport = \"tcp\"";
            at.require(self.http == HttpVersion::Three, "app.http", "QUIC carries HTTP/3 only", help)?;
        } else {
            let help = "use http = \"1.1\", or \"3\" with transport = \"quic\"";
            at.require(self.http == HttpVersion::One, "app.http", "DASH over TCP uses HTTP/1.1", help)?;
        }
        self.watching.check(flow, at)?;
        check_length(self.length, at)?;
        let some = (1..=BITRATES_MAX).contains(&self.bitrates.len());
        at.require(some, "app.bitrates", "not a valid number of bitrates", "list 1 to 64")?;
        for (i, rate) in self.bitrates.iter().enumerate() {
            let key = format!("app.bitrates.{i}");
            check_bitrate(rate.0.bits_per_second(), &key, at)?;
            let above = i == 0 || rate.0 > self.bitrates[i - 1].0;
            at.require(
                above,
                &key,
                "not above the bitrate before it",
                "list the bitrates in ascending order",
            )?;
        }
        let known = (SEGMENT_MIN..=SEGMENT_MAX).contains(&self.segment.0);
        at.require(known, "app.segment", "out of range", "it must be from 100 ms to 60 s")?;
        let least = self.start_buffer.0.max(self.resume_buffer.0) + self.segment.0;
        let help = format!(
            "it must be at least {}: the larger of start_buffer and resume_buffer, plus one segment",
            Time(least)
        );
        at.require(self.buffer.0 >= least, "app.buffer", "playback would never start", &help)?;
        match &self.rule {
            DashRule::Rate(rule) => rule.check(at)?,
            DashRule::Bola(rule) => rule.check(self, at)?,
        }
        at.positive(self.satisfied.startup, "app.satisfied.startup")
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        viewing::node(end, carrier, || self.media(), &self.watching, None)
    }

    fn satisfaction(&self) -> Option<Satisfaction> {
        Some(self.satisfied.criteria())
    }

    fn has_one_connection(&self) -> bool {
        false
    }
}

impl Dash {
    fn media(&self) -> Media {
        let bitrates: Vec<_> = self.bitrates.iter().map(|rate| rate.0).collect();
        let segment = self.segment.0.as_nanos() as f64;
        let buffer = self.buffer.0.as_nanos() as f64 / segment;
        let rule = match &self.rule {
            DashRule::Rate(rate) => Rule::Rate { safety: rate.safety, samples: rate.samples },
            DashRule::Bola(bola) => Rule::Bola(match bola.buffer_low {
                None => BolaParameters::from_gamma(&bitrates, bola.gamma_p, buffer),
                Some(low) => {
                    BolaParameters::from_levels(&bitrates, low.0.as_nanos() as f64 / segment, buffer)
                }
            }),
        };
        Media::Segments(SegmentedVideo {
            bitrates: bitrates.into(),
            segment: self.segment.0,
            length: self.length.0,
            rules: PlayoutRules { start: self.start_buffer.0, resume: self.resume_buffer.0 },
            buffer: self.buffer.0,
            rule,
        })
    }
}

impl RateRule {
    fn check(&self, at: &Place<'_>) -> Checked {
        let share = self.safety > 0.0 && self.safety <= 2.0;
        at.require(share, "app.rule.safety", "out of range", "it must be above 0 and at most 2")?;
        let some = (1..=SAMPLES_MAX).contains(&self.samples);
        at.require(some, "app.rule.samples", "out of range", "it must be from 1 to 32")
    }
}

impl BolaRule {
    fn check(&self, dash: &Dash, at: &Place<'_>) -> Checked {
        let positive = self.gamma_p > 0.0 && self.gamma_p <= 1_000.0;
        at.require(positive, "app.rule.gamma_p", "out of range", "it must be above 0 and at most 1000")?;
        let help = format!("it must be above {}, the length of a segment", dash.segment);
        at.require(dash.buffer.0 > dash.segment.0, "app.buffer", "too small for BOLA", &help)?;
        let Some(low) = self.buffer_low else { return Ok(()) };
        let high = dash.buffer.0.saturating_sub(dash.segment.0);
        let help = format!("it must be above 0 s and below {}, the buffer minus a segment", Time(high));
        let between = low.0 > Duration::ZERO && low.0 < high;
        at.require(between, "app.rule.buffer_low", "out of range", &help)
    }
}
