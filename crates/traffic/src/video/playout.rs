//! The playout buffer of a video player: received media is played in real time.
//!
//! Media is measured as time. It arrives in order ([`Playout::receive`]) and leaves during playback
//! ([`Playout::advance`]). Playback starts when enough media has arrived, stalls when the buffer is empty,
//! and resumes when enough has arrived again: the states of an HTML media element that is to play and waits
//! for data (HTML Living Standard §4.8.11.7, `HAVE_CURRENT_DATA` and above).

use airlane_core::{Duration, Instant, PlaybackStep};

/// The rules for starting and resuming playback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayoutRules {
    /// Media that must arrive before playback starts.
    pub start: Duration,
    /// Media that must arrive after a stall before playback resumes.
    pub resume: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No media has been played yet.
    Waiting,
    Playing,
    Stalled,
    Ended,
}

/// The playout of one view.
#[derive(Clone, Copy, Debug)]
pub struct Playout {
    rules: PlayoutRules,
    length: Duration,
    state: State,
    /// Playing time of the media received, and of the media played at `at`.
    received: Duration,
    played: Duration,
    at: Instant,
}

impl Playout {
    /// A video of `length` without media.
    #[must_use]
    pub const fn new(rules: PlayoutRules, length: Duration) -> Self {
        let (received, played, at) = (Duration::ZERO, Duration::ZERO, Instant::ZERO);
        Self { rules, length, state: State::Waiting, received, played, at }
    }

    /// Plays until `now`. To be called before all other calls at this time.
    pub fn advance(&mut self, now: Instant) -> Option<PlaybackStep> {
        if self.state != State::Playing {
            return None;
        }
        let dry = self.next_change();
        if now < dry {
            self.played += now - self.at;
            self.at = now;
            return None;
        }
        self.played = self.received;
        self.at = dry;
        let over = self.received >= self.length;
        self.state = if over { State::Ended } else { State::Stalled };
        Some(if over { PlaybackStep::Ended } else { PlaybackStep::Stalled })
    }

    /// The first `received` of the media have arrived.
    pub fn receive(&mut self, now: Instant, received: Duration) -> Option<PlaybackStep> {
        self.received = received.min(self.length);
        let (enough, step) = match self.state {
            State::Waiting => (self.rules.start, PlaybackStep::Started),
            State::Stalled => (self.rules.resume, PlaybackStep::Resumed),
            State::Playing | State::Ended => return None,
        };
        let left = self.length - self.played;
        if self.level() < enough.min(left) {
            return None;
        }
        self.state = State::Playing;
        self.at = now;
        Some(step)
    }

    /// Media in the buffer when last advanced.
    #[must_use]
    pub fn level(&self) -> Duration {
        self.received - self.played
    }

    /// True during playback.
    #[must_use]
    pub fn is_playing(&self) -> bool {
        self.state == State::Playing
    }

    /// True when all was played.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// The time at which [`Self::advance`] returns the next step, if no more media arrives.
    #[must_use]
    pub fn next_change(&self) -> Instant {
        if self.is_playing() { self.at + self.level() } else { Instant::FAR_FUTURE }
    }
}

#[cfg(test)]
mod tests;
