//! Checks of videos.

use airlane_core::{Bytes, Duration};

use super::{Checked, Place};
use crate::format::{
    BolaRule, Dash, DashRule, Flow, FlowDirection, HttpVersion, RateRule, Transport, Video, Watching,
};
use crate::quantity::{Size, Time};

/// The maximum length of a video: a day.
const LENGTH_MAX: Duration = Duration::from_secs(86_400);
/// The maximum and the minimum length of a segment.
const SEGMENT_MAX: Duration = Duration::from_secs(60);
const SEGMENT_MIN: Duration = Duration::from_millis(100);
/// The highest bitrate: 1 Gbit/s.
const BITRATE_MAX: u64 = 1_000_000_000;
/// Maximum number of bitrates of a video.
const BITRATES_MAX: usize = 64;
/// Maximum number of throughputs that the rule by rate stores.
const SAMPLES_MAX: u8 = 32;
/// Maximum number of views of one viewer.
const VIEWS_MAX: u32 = 100_000;

/// A flow with a video in one file.
pub(super) fn video(video: &Video, flow: &Flow, at: &Place<'_>) -> Checked {
    let over_tcp = matches!(flow.transport, Transport::Tcp(_));
    at.require(over_tcp, "app", "a progressive download needs TCP", "use transport = \"tcp\"")?;
    watched(&video.watching, flow, at)?;
    length(video.length, at)?;
    bitrate(video.bitrate.0.bits_per_second(), "app.bitrate", at)?;
    at.at_least(video.read_block, Size(Bytes(1)), "app.read_block", "out of range")?;
    if let Some(buffer) = video.buffer {
        let block = video.bitrate.0.transmission_time(video.read_block.0);
        let least = video.start_buffer.0.max(video.resume_buffer.0) + block;
        let help = format!(
            "it must be above {}: the larger of start_buffer and resume_buffer, plus one read_block",
            Time(least)
        );
        at.require(buffer.0 > least, "app.buffer", "playback would never start", &help)?;
    }
    at.positive(video.satisfied.startup, "app.satisfied.startup")
}

/// A flow with a video in segments.
pub(super) fn dash(dash: &Dash, flow: &Flow, at: &Place<'_>) -> Checked {
    carried(dash, flow, at)?;
    watched(&dash.watching, flow, at)?;
    length(dash.length, at)?;
    let some = (1..=BITRATES_MAX).contains(&dash.bitrates.len());
    at.require(some, "app.bitrates", "not a valid number of bitrates", "list 1 to 64")?;
    for (i, rate) in dash.bitrates.iter().enumerate() {
        let key = format!("app.bitrates.{i}");
        bitrate(rate.0.bits_per_second(), &key, at)?;
        let above = i == 0 || rate.0 > dash.bitrates[i - 1].0;
        at.require(above, &key, "not above the bitrate before it", "list the bitrates in ascending order")?;
    }
    let known = (SEGMENT_MIN..=SEGMENT_MAX).contains(&dash.segment.0);
    at.require(known, "app.segment", "out of range", "it must be from 100 ms to 60 s")?;
    let least = dash.start_buffer.0.max(dash.resume_buffer.0) + dash.segment.0;
    let help = format!(
        "it must be at least {}: the larger of start_buffer and resume_buffer, plus one segment",
        Time(least)
    );
    at.require(dash.buffer.0 >= least, "app.buffer", "playback would never start", &help)?;
    match &dash.rule {
        DashRule::Rate(rule) => rate_rule(rule, at)?,
        DashRule::Bola(rule) => bola(rule, dash, at)?,
    }
    at.positive(dash.satisfied.startup, "app.satisfied.startup")
}

fn rate_rule(rule: &RateRule, at: &Place<'_>) -> Checked {
    let share = rule.safety > 0.0 && rule.safety <= 2.0;
    at.require(share, "app.rule.safety", "out of range", "it must be above 0 and at most 2")?;
    let some = (1..=SAMPLES_MAX).contains(&rule.samples);
    at.require(some, "app.rule.samples", "out of range", "it must be from 1 to 32")
}

fn bola(rule: &BolaRule, dash: &Dash, at: &Place<'_>) -> Checked {
    let positive = rule.gamma_p > 0.0 && rule.gamma_p <= 1_000.0;
    at.require(positive, "app.rule.gamma_p", "out of range", "it must be above 0 and at most 1000")?;
    let help = format!("it must be above {}, the length of a segment", dash.segment);
    at.require(dash.buffer.0 > dash.segment.0, "app.buffer", "too small for BOLA", &help)?;
    let Some(low) = rule.buffer_low else { return Ok(()) };
    let high = dash.buffer.0.saturating_sub(dash.segment.0);
    let help = format!("it must be above 0 s and below {}, the buffer minus a segment", Time(high));
    let between = low.0 > Duration::ZERO && low.0 < high;
    at.require(between, "app.rule.buffer_low", "out of range", &help)
}

/// The transport must match the version of HTTP.
fn carried(dash: &Dash, flow: &Flow, at: &Place<'_>) -> Checked {
    match &flow.transport {
        Transport::Tcp(_) => {
            let help = "use http = \"1.1\", or \"3\" with transport = \"quic\"";
            let what = "DASH over TCP uses HTTP/1.1";
            at.require(dash.http == HttpVersion::One, "app.http", what, help)
        }
        Transport::Quic(_) => {
            let help = "use http = \"3\", or transport = \"tcp\"";
            at.require(dash.http == HttpVersion::Three, "app.http", "QUIC carries HTTP/3 only", help)
        }
        Transport::Udp(_) | Transport::Kernel(_) | Transport::Icmp | Transport::External => {
            let help = "use transport = \"tcp\", or \"quic\" with http = \"3\"";
            at.fail("transport", "DASH needs TCP or QUIC", help)
        }
    }
}

fn watched(watching: &Watching, flow: &Flow, at: &Place<'_>) -> Checked {
    let down = flow.direction == FlowDirection::Downlink;
    at.require(down, "direction", "a video is a download", "leave it out, or write \"downlink\"")?;
    let help = "leave it out: a video ends when it has played";
    at.require(flow.stop.is_none(), "stop", "it cannot be combined with a video", help)?;
    let at = at.under("app.watching");
    at.require(
        (1..=VIEWS_MAX).contains(&watching.views),
        "views",
        "out of range",
        "it must be from 1 to 100000",
    )?;
    at.at_least(watching.request, Size(Bytes(1)), "request", "out of range")?;
    at.at_least(watching.response_head, Size(Bytes(1)), "response_head", "out of range")?;
    at.positive(watching.keep_alive, "keep_alive")
}

fn length(length: Time, at: &Place<'_>) -> Checked {
    at.positive(length, "app.length")?;
    at.require(length.0 <= LENGTH_MAX, "app.length", "longer than a day", "it must be at most 86400 s")
}

fn bitrate(bits_per_second: u64, key: &str, at: &Place<'_>) -> Checked {
    let known = (1_000..=BITRATE_MAX).contains(&bits_per_second);
    at.require(known, key, "out of range", "it must be from 1 kbit/s to 1 Gbit/s")
}
