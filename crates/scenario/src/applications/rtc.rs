//! Calls: real-time audio and video with a rate controller.

use airlane_core::{BitRate, Direction, Duration, Instant, Node};
use airlane_rtc::media::{
    Audio, EncoderModel, FeedbackFormat, MediaReceiver, MediaSender, Pause, ReceiverConfig, SenderConfig,
    Video, without_headers,
};
use airlane_rtc::wire::{MediaStream, Ssrcs};
use airlane_rtc::{Bounds, CallParameters};
use airlane_traffic::CallEnd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Application;
use super::rtc_controller::RtcController;
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, Resolved, tagged};
use crate::quantity::{Rate, Share, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// Bounds of the rates of video and of controllers, in bit/s: a frame of 10 B in its packet 5 times a second, and 1 Gbit/s.
const RATES: [u64; 2] = [10_000, 1_000_000_000];
/// Bounds of the number of frames per second. A choice.
const FRAME_RATES: [f64; 2] = [1.0, 240.0];
/// Bounds of width and height of a frame. A choice; VP8 has 14 bits for each (RFC 6386 section 9.1).
const SIDES: [u32; 2] = [16, 16_384];
/// Maximum number of frames of a flow, a choice: each is a row of results.
pub(super) const FRAMES_MAX: f64 = 10_000_000.0;
/// The largest packet of audio, without headers. A choice below the 1200 B of libwebrtc's largest packet.
const AUDIO_PAYLOAD_MAX: u64 = 1_000;
/// The longest interval of transport-wide feedback. A report has the differences between arrivals as 16 bits with sign, in units of
/// 250 µs: up to 8191.75 ms (draft-holmer-rmcat-transport-wide-cc-extensions-01 section 3.1.5), and its arrivals all fall into one
/// interval.
const FEEDBACK_INTERVAL_MAX: Duration = Duration::from_secs(8);

/// A call: audio and video over RTP, at the rate of a controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rtc {
    /// Law that sets the rate of the media.
    pub controller: RtcController,
    /// The video.
    pub video: RtcVideo,
    /// The audio.
    pub audio: RtcAudio,
    /// Format of the feedback about arrivals. By default, it is that of the controller: RFC 8888 for NADA, SCReAM and your
    /// own, transport-wide for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<RtcFeedback>,
    /// Interval of transport-wide feedback.
    pub feedback_interval: Time,
    /// Whether the receiver asks for lost packets of video, and the sender repeats them (RFC 4585, RFC 4588).
    pub nack: bool,
    /// Repair packets in relation to the packets of video that they protect (forward error correction by exclusive or,
    /// RFC 8627). They count for the rate.
    pub fec: Share,
    /// The pacer of the sender.
    pub pacer: RtcPacer,
    /// Whether both ends send media. By default, media travels in the direction of the flow alone, and feedback in the
    /// other.
    pub both: bool,
    /// Times in which no media is sent (RFC 8867 section 5.8). By default, there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Vec<RtcPause>>,
}

/// A time in which no media is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtcPause {
    /// Start.
    pub at: Time,
    /// Duration.
    pub duration: Time,
}

/// Format of the feedback about arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RtcFeedback {
    /// Transport-wide congestion control (draft-holmer-rmcat-transport-wide-cc-extensions-01).
    TransportWide,
    /// RFC 8888, which tells ECN marks: each 100 ms with NADA, at the times of libwebrtc with its SCReAM, and else with
    /// the last packet of each frame, after 16 packets, and at the latest after 40 ms.
    Rfc8888,
}

/// Video.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtcVideo {
    /// Lowest rate, with all headers.
    pub min: Rate,
    /// First rate, with all headers.
    pub start: Rate,
    /// Highest rate, with all headers.
    pub max: Rate,
    /// Frames per second.
    pub frame_rate: f64,
    /// Width of a frame in pixels, from which the quality follows.
    pub width: u32,
    /// Height of a frame in pixels.
    pub height: u32,
    /// The encoder.
    pub encoder: RtcEncoder,
}

/// The statistical model of an encoder (RFC 8593 section 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtcEncoder {
    /// Reaction latency: the encoder follows a new rate at most once in this time (`tau_v`).
    pub reaction: Time,
    /// Number of frames of a transient, which a key frame or a large change of the rate begins (`K_d`).
    pub transient_frames: u32,
    /// Size of the first frame of a transient, in mean frames (`K_B` over `B0`).
    pub transient_size: f64,
    /// Change of the rate that begins a transient.
    pub transient_change: Share,
    /// Scale of the Laplace distribution of intervals (`SCALE_t`).
    pub interval_scale: f64,
    /// Scale of the Laplace distribution of sizes (`SCALE_B`).
    pub size_scale: f64,
}

/// Audio.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum RtcAudio {
    /// Opus (RFC 7587) at a constant rate.
    Opus(Opus),
    /// No audio.
    None,
}
tagged!(RtcAudio by "kind" { "opus" => Opus(Opus), "none" => None });

/// Opus at a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Opus {
    /// Rate without headers.
    pub rate: Rate,
    /// Time in a packet.
    pub packet: Time,
}

/// The pacer of a sender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtcPacer {
    /// Packets leave in bursts of what the rate gives in this time.
    pub burst: Time,
    /// The pacer sends faster than its rate, if what waits would wait longer than this on average.
    pub queue_limit: Time,
    /// The encoder leaves frames out while a packet of video has waited longer than this.
    pub skip_after: Time,
}

impl Application for Rtc {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::of(other).unwrap_or_else(|| Refusal {
            key: "transport",
            message: "a call needs UDP".to_owned(),
            help: "use transport = \"udp\"".to_owned(),
        })
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        self.controller.check(at)?;
        self.video.check(at)?;
        let frames = self.video.frame_rate * flow.time_to_send(scenario).as_secs_f64();
        let help = format!("it gives {frames:.0} frames, and the limit is {FRAMES_MAX}");
        at.require(
            frames <= FRAMES_MAX,
            "app.video.frame_rate",
            "too high for the duration of the run",
            &help,
        )?;
        if let RtcAudio::Opus(opus) = &self.audio {
            let in_range = (Duration::from_millis(1)..=Duration::from_millis(120)).contains(&opus.packet.0);
            at.require(in_range, "app.audio.packet", "out of range", "it must be from 1 ms to 120 ms")?;
            let payload = opus.rate.0.bytes_in(opus.packet.0).get();
            let help =
                format!("it gives packets of {payload} B, which must be from 1 B to {AUDIO_PAYLOAD_MAX} B");
            at.require((1..=AUDIO_PAYLOAD_MAX).contains(&payload), "app.audio.rate", "out of range", &help)?;
        }
        let help = "it must be from 0 % to 100 %";
        at.require((0.0..=1.0).contains(&self.fec.0), "app.fec", "out of range", help)?;
        at.positive(self.feedback_interval, "app.feedback_interval")?;
        at.require(
            self.feedback_interval.0 <= FEEDBACK_INTERVAL_MAX,
            "app.feedback_interval",
            "too long",
            "it must be at most 8 s: a report cannot tell longer times between arrivals",
        )?;
        at.positive(self.pacer.queue_limit, "app.pacer.queue_limit")?;
        at.positive(self.pacer.skip_after, "app.pacer.skip_after")?;
        self.check_pauses(&at.under("app"))
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        let Carrier::Udp(ecn) = carrier else { carrier.mismatch() };
        let sends = self.both || end.is_source();
        let receives = self.both || !end.is_source();
        let sender = sends.then(|| {
            let call = CallParameters {
                flow: &end.one.name,
                bounds: self.bounds(),
                frame_rate: self.video.frame_rate,
                start: end.start,
                ecn,
            };
            let controller = self.controller.controller(&call, &end.setup.extensions.rate_controllers);
            let draws = end.draws(stream_name(end.data.direction));
            MediaSender::new(self.sender(end), controller, draws).with_pauses(self.pauses())
        });
        let receiver = receives.then(|| MediaReceiver::new(self.receiver(end)).with_pauses(self.pauses()));
        Box::new(CallEnd::new(end.path, ecn, sender, receiver).with_media(end.data))
    }

    fn rate_controller(&self) -> Option<&str> {
        Some(self.controller.name())
    }

    fn carries_both_directions(&self) -> bool {
        self.both
    }

    fn goes_between_ues(&self) -> bool {
        true
    }
}

/// The name of the random stream of an encoder.
const fn stream_name(direction: Direction) -> &'static str {
    match direction {
        Direction::Downlink => "encoder",
        Direction::Uplink => "encoder/uplink",
    }
}

/// The sources of the end that sends in this direction.
const fn sources(direction: Direction) -> Ssrcs {
    match direction {
        Direction::Downlink => Ssrcs { first: 0x1000 },
        Direction::Uplink => Ssrcs { first: 0x2000 },
    }
}

impl Rtc {
    fn check_pauses(&self, at: &Place<'_>) -> Checked {
        let pauses = self.pauses.as_deref().unwrap_or_default();
        pauses
            .iter()
            .enumerate()
            .try_for_each(|(i, pause)| at.positive(pause.duration, &format!("pauses.{i}.duration")))?;
        let apart = pauses.windows(2).all(|pair| pair[0].at.0 + pair[0].duration.0 < pair[1].at.0);
        at.require(
            apart,
            "pauses",
            "one begins before or when the one above it ends",
            "sort them by `at`, with time between them",
        )
    }

    fn pauses(&self) -> Vec<Pause> {
        let pauses = self.pauses.iter().flatten();
        pauses
            .map(|pause| {
                let from = Instant::ZERO + pause.at.0;
                Pause { from, until: from + pause.duration.0 }
            })
            .collect()
    }

    fn audio(&self) -> Option<Audio> {
        match &self.audio {
            RtcAudio::Opus(opus) => Some(Audio { rate: opus.rate.0, interval: opus.packet.0 }),
            RtcAudio::None => None,
        }
    }

    /// The bounds of the media: those of the video and the rate of the audio.
    fn bounds(&self) -> Bounds {
        let audio = self.audio().map_or(0, |audio| audio.wire_rate().0);
        let with_audio = |rate: Rate| BitRate(rate.0.0 + audio);
        let video = &self.video;
        Bounds { min: with_audio(video.min), start: with_audio(video.start), max: with_audio(video.max) }
    }

    fn sender(&self, end: &Endpoint<'_>) -> SenderConfig {
        SenderConfig {
            ssrcs: sources(end.data.direction),
            video: Video { model: self.video.model(), pixels: self.video.width * self.video.height },
            audio: self.audio(),
            start: end.start,
            stop: end.stop_or_end(),
            retransmits: self.nack,
            repair: self.fec.0,
            burst: self.pacer.burst.0,
            queue_limit: self.pacer.queue_limit.0,
            skip_after: self.pacer.skip_after.0,
        }
    }

    fn receiver(&self, end: &Endpoint<'_>) -> ReceiverConfig {
        ReceiverConfig {
            ssrc: sources(end.data.direction).of(MediaStream::Video),
            sender: sources(end.data.direction.reversed()),
            feedback: match self.feedback {
                Some(RtcFeedback::Rfc8888) => self.controller.by_stream(),
                None if self.controller.takes_rfc8888() => self.controller.by_stream(),
                None | Some(RtcFeedback::TransportWide) => {
                    FeedbackFormat::TransportWide(self.feedback_interval.0)
                }
            },
            nack: self.nack,
            repair: self.fec.0 > 0.0,
        }
    }
}

impl RtcVideo {
    fn model(&self) -> EncoderModel {
        let encoder = &self.encoder;
        EncoderModel {
            frame_rate: self.frame_rate,
            rates: [self.min, self.max].map(|rate| without_headers(rate.0, self.frame_rate)),
            reaction: encoder.reaction.0,
            transient_frames: encoder.transient_frames,
            transient_size: encoder.transient_size,
            transient_change: encoder.transient_change.0,
            interval_scale: encoder.interval_scale,
            size_scale: encoder.size_scale,
        }
    }

    fn check(&self, at: &Place<'_>) -> Checked {
        let at = at.under("app.video");
        for (rate, key) in [(self.min, "min"), (self.start, "start"), (self.max, "max")] {
            check_rate(rate, key, &at)?;
        }
        at.require(self.min.0 <= self.start.0, "start", "below min", "it must be from min to max")?;
        at.require(self.start.0 <= self.max.0, "start", "above max", "it must be from min to max")?;
        check_frame_rate(self.frame_rate, &at)?;
        for (side, key) in [(self.width, "width"), (self.height, "height")] {
            let known = (SIDES[0]..=SIDES[1]).contains(&side);
            at.require(known, key, "out of range", "it must be from 16 to 16384")?;
        }
        let frame = without_headers(self.min.0, self.frame_rate).0;
        let help = "the headers of its packets leave no room for frames: raise it, or lower frame_rate";
        at.require(frame > 0, "min", "too low for the frame rate", help)?;
        self.encoder.check(&at.under("encoder"))
    }
}

impl RtcEncoder {
    fn check(&self, at: &Place<'_>) -> Checked {
        at.require(
            (2..=1_000).contains(&self.transient_frames),
            "transient_frames",
            "out of range",
            "it must be from 2 to 1000",
        )?;
        let known = (1.0..=f64::from(self.transient_frames)).contains(&self.transient_size);
        let help =
            "it must be from 1 to transient_frames, so that the other frames of a transient have a size";
        at.require(known, "transient_size", "out of range", help)?;
        for (scale, key) in [(self.interval_scale, "interval_scale"), (self.size_scale, "size_scale")] {
            at.require((0.0..=1.0).contains(&scale), key, "out of range", "it must be from 0 to 1")?;
        }
        Ok(())
    }
}

pub(super) fn check_rate(rate: Rate, key: &str, at: &Place<'_>) -> Checked {
    let known = (RATES[0]..=RATES[1]).contains(&rate.0.bits_per_second());
    at.require(known, key, "out of range", "it must be from 10 kbit/s to 1 Gbit/s")
}

/// A number of frames per second.
pub(super) fn check_frame_rate(frame_rate: f64, at: &Place<'_>) -> Checked {
    let [low, high] = FRAME_RATES;
    let known = (low..=high).contains(&frame_rate);
    at.require(known, "frame_rate", "out of range", "it must be from 1 to 240")
}
