//! A player that fetches a video in segments, each at a bitrate of its choice (DASH, ISO/IEC 23009-1).
//!
//! It asks for one segment at a time, and for the next as soon as the one before is there and the buffer has room for
//! it; a segment can be played when all of it has come. Every segment of a bitrate has the same size.

use std::sync::Arc;

use airlane_core::{BitRate, Bytes, Duration, Instant, PlaybackStep};

use super::adaptation::{Adaptation, Rule};
use super::playout::{Playout, PlayoutRules};

/// A video in segments, and how it is played.
#[derive(Clone, Debug, PartialEq)]
pub struct SegmentedVideo {
    /// The bitrates that there are, in ascending order.
    pub bitrates: Arc<[BitRate]>,
    /// How long a segment plays; the last may be shorter.
    pub segment: Duration,
    /// How long all of it plays.
    pub length: Duration,
    /// When the picture moves.
    pub rules: PlayoutRules,
    /// Media that the player buffers at most: at least a segment more than the picture needs to move.
    pub buffer: Duration,
    /// How it chooses.
    pub rule: Rule,
}

/// A segment that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Its bitrate.
    pub bitrate: BitRate,
    /// How long it plays.
    pub media: Duration,
    /// Its bytes.
    pub bytes: Bytes,
}

/// One view of such a video.
#[derive(Clone, Debug)]
pub struct SegmentedView {
    video: SegmentedVideo,
    adaptation: Adaptation,
    playout: Playout,
    /// Media that has come.
    media: Duration,
    /// The segment under way, and when it was asked for.
    under_way: Option<(Segment, Instant)>,
}

impl SegmentedView {
    /// A view of which nothing has come.
    #[must_use]
    pub fn new(video: SegmentedVideo) -> Self {
        let adaptation = Adaptation::new(video.rule.clone(), Arc::clone(&video.bitrates), video.segment);
        let playout = Playout::new(video.rules, video.length);
        Self { video, adaptation, playout, media: Duration::ZERO, under_way: None }
    }

    /// Plays until `now`. Call it before anything else that happens now.
    pub fn advance(&mut self, now: Instant) -> Option<PlaybackStep> {
        self.playout.advance(now)
    }

    /// The segment that the player asks for now, if it does.
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

    /// The segment under way is there. Returns how far the view has come: the media, and what happens to the picture.
    ///
    /// # Panics
    /// If none was asked for.
    pub fn arrive(&mut self, now: Instant) -> (PlaybackStep, Option<PlaybackStep>) {
        let (segment, asked_at) = self.under_way.take().expect("a segment was asked for");
        self.adaptation.measure(segment.bytes, now - asked_at);
        self.media += segment.media;
        let Segment { bitrate, media, bytes } = segment;
        (PlaybackStep::Fetched { bytes, media, bitrate }, self.playout.receive(now, self.media))
    }

    /// True when all segments have come.
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

    /// When to advance, and to ask.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let change = self.playout.next_change();
        if self.under_way.is_some() || self.is_fetched() || !self.playout.is_playing() {
            return change;
        }
        change - self.full().min(self.playout.level())
    }

    /// The level up to which there is room for a segment more.
    fn full(&self) -> Duration {
        self.video.buffer.saturating_sub(self.video.segment)
    }
}

#[cfg(test)]
mod tests;
