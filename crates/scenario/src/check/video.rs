//! Checks of videos.

use airlane_core::Bytes;

use super::{Checked, Place};
use crate::format::{Flow, FlowDirection, Satisfied, Transport, Video};
use crate::quantity::{Size, Time};

/// The longest video: a day.
const LENGTH_MAX_S: u64 = 86_400;
/// The highest bitrate: 1 Gbit/s.
const BITRATE_MAX: u64 = 1_000_000_000;

/// A flow by which a video is watched.
pub(super) fn video(video: &Video, flow: &Flow, at: &Place<'_>) -> Checked {
    watched(flow, at)?;
    length(video.length, at)?;
    bitrate(video.bitrate.0.bits_per_second(), "app.bitrate", at)?;
    at.at_least(video.read_block, Size(Bytes(1)), "app.read_block", "reads nothing")?;
    if let Some(buffer) = video.buffer {
        let block = video.bitrate.0.transmission_time(video.read_block.0);
        let least = video.start_buffer.0.max(video.resume_buffer.0) + block;
        let help = format!("above {}: what the picture needs to move, and a block", Time(least));
        at.require(buffer.0 > least, "app.buffer", "the picture would wait for ever", &help)?;
    }
    satisfied(video.satisfied, at)
}

fn watched(flow: &Flow, at: &Place<'_>) -> Checked {
    let tcp = matches!(flow.transport, Transport::Tcp(_));
    at.require(tcp, "app", "a video is fetched over TCP", "use transport = \"tcp\"")?;
    let down = flow.direction == FlowDirection::Downlink;
    at.require(down, "direction", "a video is watched where it arrives", "leave it out, or `downlink`")?;
    let help = "leave it out: a video ends when it was played";
    at.require(flow.stop.is_none(), "stop", "nobody stops a video", help)
}

fn length(length: Time, at: &Place<'_>) -> Checked {
    at.positive(length, "app.length")?;
    let short = length.0.as_nanos() <= LENGTH_MAX_S * 1_000_000_000;
    at.require(short, "app.length", "longer than a day", "at most 86400 s")
}

fn bitrate(bits_per_second: u64, key: &str, at: &Place<'_>) -> Checked {
    let known = (1_000..=BITRATE_MAX).contains(&bits_per_second);
    at.require(known, key, "no bitrate of a video", "from 1 kbit/s to 1 Gbit/s")
}

fn satisfied(satisfied: Satisfied, at: &Place<'_>) -> Checked {
    at.positive(satisfied.startup, "app.satisfied.startup")
}
