//! Virtual and augmented reality, and cloud gaming: frames with a delay budget.

use airlane_core::{Bytes, Duration, FrameStream, Node};
use airlane_traffic::{FrameLaw, Frames, TruncatedNormal, XrEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::rtc::{FRAMES_MAX, check_frame_rate, check_rate};
use super::{Application, datagrams};
use crate::check::{Checked, Place};
use crate::endpoints::Endpoint;
use crate::format::{Flow, FlowDirection, Resolved};
use crate::quantity::{Rate, Size, Time};
use crate::transports::{Carrier, Protocol, Refusal};

/// Frames of video to the UE, and pose or control from it, after the traffic models of 3GPP TR 38.838 (clause 5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Xr {
    /// The service, from which the other keys have their defaults.
    pub service: XrService,
    /// Video to the UE.
    pub video: XrVideo,
    /// Streams from the UE.
    pub uplink: XrUplink,
    /// Pose or control, from the UE.
    pub pose: XrPose,
    /// Video from the UE, if it sends any.
    pub uplink_video: XrVideo,
    /// Most application bytes in a packet.
    pub payload: Size,
}

/// A service of 3GPP TR 38.838.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum XrService {
    /// Virtual reality at 30 Mbit/s.
    #[serde(rename = "vr-30")]
    Vr30,
    /// Virtual reality at 45 Mbit/s.
    #[serde(rename = "vr-45")]
    Vr45,
    /// Cloud gaming at 8 Mbit/s.
    #[serde(rename = "cloud-gaming-8")]
    CloudGaming8,
    /// Cloud gaming at 30 Mbit/s.
    #[serde(rename = "cloud-gaming-30")]
    CloudGaming30,
    /// Augmented reality: 30 Mbit/s to the UE, 10 Mbit/s from it.
    Ar,
}

/// A stream of video. The sizes of its frames have a truncated normal distribution, whose mean is the rate over the
/// frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XrVideo {
    /// Mean rate without headers.
    pub rate: Rate,
    /// Frames per second.
    pub frame_rate: f64,
    /// Standard deviation of the size of a frame before truncation, relative to the mean.
    pub deviation: f64,
    /// The smallest frame, relative to the mean.
    pub min: f64,
    /// The largest frame, relative to the mean.
    pub max: f64,
    /// Deviation of frames from their period.
    pub jitter: XrJitter,
    /// Delay budget: a frame whose last packet arrives later counts as missed.
    pub budget: Time,
}

/// Deviation of frames from their period: a truncated normal distribution whose mean is zero. It does not add up from
/// frame to frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XrJitter {
    /// Standard deviation before truncation; 0 for no jitter.
    pub deviation: Time,
    /// The largest deviation, earlier or later.
    pub range: Time,
}

/// Pose or control: messages of one packet at a constant interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct XrPose {
    /// Time from one message to the next.
    pub interval: Time,
    /// Size of a message without headers.
    pub size: Size,
    /// Delay budget.
    pub budget: Time,
}

/// Streams from the UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum XrUplink {
    /// Nothing.
    None,
    /// Pose or control.
    Pose,
    /// Pose or control, and video.
    PoseAndVideo,
}

impl Application for Xr {
    fn transports(&self) -> &'static [Protocol] {
        &[Protocol::Udp]
    }

    fn refusal(&self, other: Protocol) -> Refusal {
        Refusal::of(other).unwrap_or_else(|| Refusal {
            key: "transport",
            message: "frames of XR need UDP".to_owned(),
            help: "use transport = \"udp\"".to_owned(),
        })
    }

    fn check(&self, flow: &Flow, scenario: &Resolved, at: &Place<'_>) -> Checked {
        let help = "use direction = \"downlink\": its video travels to the UE, and pose or control from it";
        at.require(flow.direction == FlowDirection::Downlink, "direction", "not that of XR", help)?;
        datagrams::check_payload(self.payload, at)?;
        self.video.check(&at.under("app.video"))?;
        self.uplink_video.check(&at.under("app.uplink_video"))?;
        at.positive(self.pose.interval, "app.pose.interval")?;
        at.positive(self.pose.budget, "app.pose.budget")?;
        let fits = (Bytes(1)..=self.payload.0).contains(&self.pose.size.0);
        at.require(fits, "app.pose.size", "not the size of a packet", "it must be from 1 B to app.payload")?;
        let seconds = flow.time_to_send(scenario).as_secs_f64();
        let frames = seconds * self.frames_per_second();
        let help = format!("it gives {frames:.0} frames and messages, and the limit is {FRAMES_MAX}");
        at.require(frames <= FRAMES_MAX, "app", "too many frames for the duration of the run", &help)
    }

    fn node(&self, end: &Endpoint<'_>, carrier: Carrier) -> Box<dyn Node> {
        let Carrier::Udp(ecn) = carrier else { carrier.mismatch() };
        let laws = self.laws().into_iter().filter(|law| law.stream.direction() == end.path.direction);
        let streams = laws.map(|law| frames(law, end)).collect();
        Box::new(XrEnd::new(end.path, ecn, self.payload.0, streams))
    }

    fn carries_both_directions(&self) -> bool {
        self.uplink != XrUplink::None
    }
}

impl Xr {
    /// The laws of its streams.
    fn laws(&self) -> Vec<FrameLaw> {
        let pose = || {
            let size = self.pose.size.0.get() as f64;
            FrameLaw {
                stream: FrameStream::Pose,
                period: self.pose.interval.0,
                size: TruncatedNormal::new(size, 0.0, [size, size]),
                jitter: None,
                budget: self.pose.budget.0,
            }
        };
        let video = self.video.law(FrameStream::Video);
        match self.uplink {
            XrUplink::None => vec![video],
            XrUplink::Pose => vec![video, pose()],
            XrUplink::PoseAndVideo => vec![video, pose(), self.uplink_video.law(FrameStream::UplinkVideo)],
        }
    }

    /// Frames and messages of all streams.
    fn frames_per_second(&self) -> f64 {
        self.laws().iter().map(|law| 1.0 / law.period.as_secs_f64()).sum()
    }
}

/// The frames of a stream. They begin at a random time within the first period.
fn frames(law: FrameLaw, end: &Endpoint<'_>) -> Frames {
    let mut draws = end.draws(law.stream.name());
    let phase = Duration::from_nanos(draws.below(law.period.as_nanos()));
    Frames::new(law, end.start + phase, end.stop_or_end(), draws)
}

impl XrVideo {
    /// Time from a frame to the next, in whole nanoseconds.
    fn period(&self) -> Duration {
        Duration::from_nanos((1e9 / self.frame_rate).round() as u64)
    }

    fn law(&self, stream: FrameStream) -> FrameLaw {
        let mean = self.rate.0.bits_per_second() as f64 / self.frame_rate / 8.0;
        let [deviation, min, max] = [self.deviation, self.min, self.max].map(|ratio| ratio * mean);
        let (jitter, range) =
            (self.jitter.deviation.0.as_nanos() as f64, self.jitter.range.0.as_nanos() as f64);
        FrameLaw {
            stream,
            period: self.period(),
            size: TruncatedNormal::new(mean, deviation, [min, max]),
            jitter: (jitter > 0.0).then(|| TruncatedNormal::new(0.0, jitter, [-range, range])),
            budget: self.budget.0,
        }
    }

    fn check(&self, at: &Place<'_>) -> Checked {
        check_rate(self.rate, "rate", at)?;
        check_frame_rate(self.frame_rate, at)?;
        at.positive(self.budget, "budget")?;
        let spread = self.deviation;
        at.require((0.0..=1.0).contains(&spread), "deviation", "out of range", "it must be from 0 to 1")?;
        let help = "it must be at least one deviation below 1, and 0 or more";
        let fits = self.min >= 0.0 && self.min <= 1.0 - spread;
        at.require(fits, "min", "not a bound of the sizes", help)?;
        let help = "it must be at least one deviation above 1, and at most 10";
        let fits = self.max >= 1.0 + spread && self.max <= 10.0;
        at.require(fits, "max", "not a bound of the sizes", help)?;
        let at = at.under("jitter");
        let (range, period) = (self.jitter.range.0, self.period());
        let help = format!("it must be less than half of the period of frames, {}", Time(period));
        at.require(range * 2 < period, "range", "frames could overtake each other", &help)?;
        let help = "it must be at most jitter.range";
        at.require(self.jitter.deviation.0 <= range, "deviation", "above the range", help)
    }
}
