//! A player that fetches a video in segments, choosing the bitrate of each (DASH, ISO/IEC 23009-1).
//!
//! It requests one segment at a time, and the next one as soon as the previous one has arrived and the buffer
//! has room for it. A segment can be played when all of it has arrived. All segments of a bitrate have the
//! same size.

use std::sync::Arc;

use airlane_core::{BitRate, Bytes, Duration, Instant, PlaybackStep};

use super::adaptation::{Adaptation, Rule};
use super::playout::{Playout, PlayoutRules};

/// A video in segments, and how it is played.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentedVideo {
    /// The available bitrates, in ascending order.
    pub bitrates: Arc<[BitRate]>,
    /// The playing time of a segment; the last may be shorter.
    pub segment: Duration,
    /// The playing time of the video.
    pub length: Duration,
    /// The rules for starting and resuming playback.
    pub rules: PlayoutRules,
    /// Maximum media in the buffer: at least a segment more than playback needs to start or resume.
    pub buffer: Duration,
    /// The rule for the bitrate.
    pub rule: Rule,
}

/// A requested segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Bitrate of the segment.
    pub bitrate: BitRate,
    /// Playing time of the segment.
    pub media: Duration,
    /// Size of the segment.
    pub bytes: Bytes,
}

/// A view of a segmented video.
#[derive(Clone, Debug)]
pub struct SegmentedView {
    video: SegmentedVideo,
    adaptation: Adaptation,
    playout: Playout,
    /// Playing time of the media received.
    media: Duration,
    /// The segment under way, and the time of its request.
    under_way: Option<(Segment, Instant)>,
}

impl SegmentedView {
    /// A view without media.
    #[must_use]
    pub fn new(video: SegmentedVideo) -> Self {
        let adaptation = Adaptation::new(video.rule.clone(), Arc::clone(&video.bitrates), video.segment);
        let playout = Playout::new(video.rules, video.length);
        Self { video, adaptation, playout, media: Duration::ZERO, under_way: None }
    }

    /// Plays until `now`. To be called before all other calls at this time.
    pub fn advance(&mut self, now: Instant) -> Option<PlaybackStep> {
        self.playout.advance(now)
    }

    /// The segment that the player requests now, if any.
    pub fn ask(&mut self, now: Instant) -> Option<Segment> {
        if self.under_way.is_some() || self.is_fetched() || self.playout.level() > self.full() {
            return None;
        }
        let media = self.video.segment.min(self.video.length - self.media);
        let bitrate = self.adaptation.choose(self.playout.level());
        let bits = u128::from(bitrate.bits_per_second()) * u128::from(media.as_nanos());
        let segment = Segment { bitrate, media, bytes: Bytes(bits.div_ceil(8_000_000_000) as u64) };
        self.under_way = Some((segment, now));
        Some(segment)
    }

    /// The segment under way has arrived. Returns the step for the media, and the step for playback if there
    /// is one.
    ///
    /// # Panics
    /// If no segment was requested.
    pub fn arrive(&mut self, now: Instant) -> (PlaybackStep, Option<PlaybackStep>) {
        let (segment, asked_at) = self.under_way.take().expect("a segment was asked for");
        self.adaptation.measure(segment.bytes, now - asked_at);
        self.media += segment.media;
        let Segment { bitrate, media, bytes } = segment;
        (PlaybackStep::Fetched { bytes, media, bitrate }, self.playout.receive(now, self.media))
    }

    /// True when all segments have arrived.
    #[must_use]
    pub fn is_fetched(&self) -> bool {
        self.media >= self.video.length
    }

    /// True when all was played.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.playout.has_ended()
    }

    /// Media in the buffer when last advanced.
    #[must_use]
    pub fn level(&self) -> Duration {
        self.playout.level()
    }

    /// The time to advance, and to request.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let change = self.playout.next_change();
        if self.under_way.is_some() || self.is_fetched() || !self.playout.is_playing() {
            return change;
        }
        change - self.full().min(self.playout.level())
    }

    /// The level up to which there is room for another segment.
    fn full(&self) -> Duration {
        self.video.buffer.saturating_sub(self.video.segment)
    }
}

#[cfg(test)]
mod tests;
