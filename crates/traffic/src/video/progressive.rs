//! A player that downloads one file and plays what has come of it (HTML5 progressive download).
//!
//! Without a limit it takes whatever the transport has, as a server without rate control sends it. With one
//! it stops reading while so much media is buffered, and goes on block by block: the transport's window closes
//! and the sender waits, which is how players throttle servers that do not (Rao et al., "Network characteristics
//! of video streaming traffic", CoNEXT 2011, §5).

use airlane_core::{BitRate, Bytes, Duration, Instant, PlaybackStep};

use super::playout::{Playout, PlayoutRules};

/// A video that is one file, and how it is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Video {
    /// The bitrate of all of it.
    pub bitrate: BitRate,
    /// How long it plays.
    pub length: Duration,
    /// When the picture moves.
    pub rules: PlayoutRules,
    /// What the player buffers at most; none for all that comes.
    pub limit: Option<ReadLimit>,
}

/// A player that does not read what it has no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// Media that it buffers at most.
    pub buffer: Duration,
    /// It reads when so many bytes have room.
    pub block: Bytes,
}

impl Video {
    /// Bytes of the file, the last one whole.
    #[must_use]
    pub fn size(&self) -> Bytes {
        let bits = u128::from(self.bitrate.bits_per_second()) * u128::from(self.length.as_nanos());
        Bytes(bits.div_ceil(8_000_000_000) as u64)
    }
}

/// One view of such a video.
#[derive(Clone, Copy, Debug)]
pub struct ProgressiveView {
    video: Video,
    playout: Playout,
    fetched: Bytes,
    /// Media of these bytes.
    media: Duration,
}

impl ProgressiveView {
    /// A view of which nothing has come.
    #[must_use]
    pub fn new(video: Video) -> Self {
        let playout = Playout::new(video.rules, video.length);
        Self { video, playout, fetched: Bytes::ZERO, media: Duration::ZERO }
    }

    /// Plays until `now`. Call it before anything else that happens now.
    pub fn advance(&mut self, now: Instant) -> Option<PlaybackStep> {
        self.playout.advance(now)
    }

    /// True if the player buffers so much and no more.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.video.limit.is_some()
    }

    /// Bytes that the player takes from the transport now.
    #[must_use]
    pub fn room(&self) -> Bytes {
        let left = self.left();
        let Some(limit) = self.video.limit else { return left };
        let room = limit.buffer.saturating_sub(self.playout.level());
        if room < self.block_media(limit) { Bytes::ZERO } else { self.video.bitrate.bytes_in(room).min(left) }
    }

    /// So many bytes came, which is what [`Self::room`] allowed at most. Returns how far the view has come: the
    /// media, and what happens to the picture.
    pub fn take(&mut self, now: Instant, bytes: Bytes) -> (PlaybackStep, Option<PlaybackStep>) {
        let before = self.media;
        self.fetched += bytes;
        self.media = if self.left() == Bytes::ZERO { self.video.length } else { self.media_of(self.fetched) };
        let (media, bitrate) = (self.media - before, self.video.bitrate);
        (PlaybackStep::Fetched { bytes, media, bitrate }, self.playout.receive(now, self.media))
    }

    /// Bytes of the file that have not come.
    #[must_use]
    pub fn left(&self) -> Bytes {
        self.video.size().saturating_sub(self.fetched)
    }

    /// True when all was played.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.playout.has_ended()
    }

    /// When to advance; and, if bytes wait in the transport, when there is room for them.
    #[must_use]
    pub fn next_timeout(&self, bytes_wait: bool) -> Instant {
        let change = self.playout.next_change();
        match self.video.limit {
            Some(limit) if bytes_wait && self.playout.is_playing() && self.room() == Bytes::ZERO => {
                // The level at which a block fits; a limit below a block is refused with the scenario.
                let fits = limit.buffer.saturating_sub(self.block_media(limit));
                change - fits.min(self.playout.level())
            }
            _ => change,
        }
    }

    /// How long the next block plays, or what is left of the file.
    fn block_media(&self, limit: ReadLimit) -> Duration {
        self.media_of(limit.block.min(self.left())) + Duration::from_nanos(1) // rounded up
    }

    fn media_of(&self, bytes: Bytes) -> Duration {
        let bit_ns = u128::from(bytes.get()) * 8_000_000_000;
        Duration::from_nanos((bit_ns / u128::from(self.video.bitrate.bits_per_second())) as u64)
    }
}

#[cfg(test)]
mod tests;
