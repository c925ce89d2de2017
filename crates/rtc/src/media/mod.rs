//! The media of a call: encoder, pacer and repair at the sender, assembly, jitter buffer and display at the receiver.

mod arrivals;
mod content;
mod encoder;
mod frames;
mod freeze;
mod history;
mod jitter;
mod nack;
mod pacer;
mod playout;
mod quality;
mod receiver;
mod repair;
mod sender;
#[cfg(test)]
mod tests;

pub use content::without_headers;
pub use encoder::EncoderModel;
pub use receiver::{FeedbackFormat, MediaReceiver, ReceiverConfig};
pub use sender::{Audio, MediaSender, SenderConfig, Video};

use airlane_core::{Duration, Instant, MediaStep};

/// The interval of the reports of senders and receivers (libwebrtc, `modules/rtp_rtcp/source/rtcp_receiver.cc`,
/// `kDefaultVideoReportInterval`).
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// The round-trip time before the first is measured (libwebrtc, `nack_requester.cc`, `kDefaultRtt`).
const RTT_DEFAULT: Duration = Duration::from_millis(100);

/// A time in which a sender makes no media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it begins.
    pub from: Instant,
    /// When media comes again.
    pub until: Instant,
}

impl Pause {
    fn contains(&self, at: Instant) -> bool {
        (self.from..self.until).contains(&at)
    }
}

/// A packet to send.
#[derive(Debug)]
pub struct Datagram {
    /// The payload of UDP.
    pub bytes: Box<[u8]>,
    /// Whether its content was sent before.
    pub repeats: bool,
}

/// The output of an end of a call: packets to send and steps to report, in order.
#[derive(Debug, Default)]
pub struct Output {
    /// Packets to send.
    pub packets: Vec<Datagram>,
    /// Steps to report.
    pub steps: Vec<MediaStep>,
    /// Whether steps are observed. Without an observer, none is built.
    pub observed: bool,
}

impl Output {
    fn step(&mut self, step: impl FnOnce() -> MediaStep) {
        if self.observed {
            self.steps.push(step());
        }
    }
}
