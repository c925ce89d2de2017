//! A player that downloads one file and plays the received part (HTML5 progressive download).
//!
//! Without a limit it reads everything the transport has, as a server without rate control sends it. With a
//! limit it stops reading while this much media is buffered, and continues block by block: the transport's
//! window closes and the sender waits. Players throttle servers without rate control in this way (Rao et al.,
//! "Network characteristics of video streaming traffic", CoNEXT 2011, §5).

use airlane_core::{BitRate, Bytes, Duration, Instant, PlaybackStep, Stream};

use super::groups::{GroupLaw, Groups};
use super::playout::{Playout, PlayoutRules};

/// A video in one file, and its playback.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Video {
    /// The mean bitrate of the whole file.
    pub bitrate: BitRate,
    /// The law of the sizes of its groups of pictures; `None` for a constant bitrate.
    pub groups: Option<GroupLaw>,
    /// Playing time of the video.
    pub length: Duration,
    /// The rules for starting and resuming playback.
    pub rules: PlayoutRules,
    /// The limit of the player's buffer; `None` for no limit.
    pub limit: Option<ReadLimit>,
}

/// The limit of a player's buffer, above which it does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadLimit {
    /// Maximum media in the buffer.
    pub buffer: Duration,
    /// Room at which the viewer reads again, in bytes.
    pub block: Bytes,
}

impl Video {
    /// Bytes of the file, rounded up.
    #[must_use]
    pub fn size(&self) -> Bytes {
        let bits = u128::from(self.bitrate.bits_per_second()) * u128::from(self.length.as_nanos());
        Bytes(bits.div_ceil(8_000_000_000) as u64)
    }
}

/// A view of a progressive video.
#[derive(Clone, Debug)]
pub struct ProgressiveView {
    video: Video,
    /// The groups of pictures of this video; `None` for a constant bitrate.
    groups: Option<Groups>,
    playout: Playout,
    fetched: Bytes,
    /// Playing time of these bytes.
    media: Duration,
}

impl ProgressiveView {
    /// A view without media, of a video whose groups of pictures are drawn if its bitrate is variable.
    #[must_use]
    pub fn new(video: Video, draws: &mut Stream) -> Self {
        let groups = video.groups.map(|law| Groups::draw(&law, video.size(), video.length, draws));
        let playout = Playout::new(video.rules, video.length);
        Self { video, groups, playout, fetched: Bytes::ZERO, media: Duration::ZERO }
    }

    /// Plays until `now`. To be called before all other calls at this time.
    pub fn advance(&mut self, now: Instant) -> Option<PlaybackStep> {
        self.playout.advance(now)
    }

    /// True if the player's buffer is limited.
    #[must_use]
    pub const fn is_limited(&self) -> bool {
        self.video.limit.is_some()
    }

    /// Bytes that the player can read from the transport now.
    #[must_use]
    pub fn room(&self) -> Bytes {
        let left = self.left();
        let Some(limit) = self.video.limit else { return left };
        let room = limit.buffer.saturating_sub(self.playout.level());
        if room < self.block_media(limit) { Bytes::ZERO } else { self.bytes_in(room).min(left) }
    }

    /// Reads this many bytes, at most [`Self::room`]. Returns the step for the media, and the step for playback if
    /// there is one.
    pub fn take(&mut self, now: Instant, bytes: Bytes) -> (PlaybackStep, Option<PlaybackStep>) {
        let before = self.media;
        self.fetched += bytes;
        self.media = if self.left() == Bytes::ZERO { self.video.length } else { self.media_of(self.fetched) };
        let (media, bitrate) = (self.media - before, self.video.bitrate);
        (PlaybackStep::Fetched { bytes, media, bitrate }, self.playout.receive(now, self.media))
    }

    /// Bytes of the file that have not arrived.
    #[must_use]
    pub fn left(&self) -> Bytes {
        self.video.size().saturating_sub(self.fetched)
    }

    /// True when all was played.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.playout.has_ended()
    }

    /// The time to advance; and, if bytes wait in the transport, the time at which there will be room for them.
    #[must_use]
    pub fn next_timeout(&self, bytes_wait: bool) -> Instant {
        let change = self.playout.next_change();
        match self.video.limit {
            Some(limit) if bytes_wait && self.playout.is_playing() && self.room() == Bytes::ZERO => {
                // The level at which a block fits; the scenario check rejects a limit below a block.
                let fits = limit.buffer.saturating_sub(self.block_media(limit));
                change - fits.min(self.playout.level())
            }
            _ => change,
        }
    }

    /// The playing time of the next block, or of the rest of the file. A block of small groups of pictures may play
    /// for longer than the player can buffer: it reads again before playback needs media to start or to resume.
    fn block_media(&self, limit: ReadLimit) -> Duration {
        let bytes = limit.block.min(self.left());
        let media = match &self.groups {
            None => self.media_of(bytes),
            Some(groups) => groups.media_of(self.fetched + bytes) - self.media,
        };
        let needed = self.video.rules.start.max(self.video.rules.resume);
        (media + Duration::from_nanos(1)).min(limit.buffer.saturating_sub(needed)) // rounded up
    }

    /// Bytes of the next media of this playing time.
    fn bytes_in(&self, media: Duration) -> Bytes {
        match &self.groups {
            None => self.video.bitrate.bytes_in(media),
            Some(groups) => groups.bytes_of(self.media + media).saturating_sub(self.fetched),
        }
    }

    /// Playing time of the first bytes.
    fn media_of(&self, bytes: Bytes) -> Duration {
        if let Some(groups) = &self.groups {
            return groups.media_of(bytes);
        }
        let bit_ns = u128::from(bytes.get()) * 8_000_000_000;
        Duration::from_nanos((bit_ns / u128::from(self.video.bitrate.bits_per_second())) as u64)
    }
}

#[cfg(test)]
mod tests;
