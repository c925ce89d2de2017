//! The playout buffer of a video player: what has arrived is played at the speed of the clock.
//!
//! Media counts as time. It comes in order ([`Playout::receive`]) and leaves while the picture moves
//! ([`Playout::advance`]). The picture starts when enough of it has come, stands still when the buffer runs dry,
//! and moves again when enough has come once more: the states of an HTML media element that is told to play and
//! waits for data (HTML Living Standard §4.8.11.7, `HAVE_CURRENT_DATA` and above).

use airlane_core::{Duration, Instant, PlaybackStep};

/// When the picture moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayoutRules {
    /// It starts when so much has come.
    pub start: Duration,
    /// It moves again when so much has come after it stood still.
    pub resume: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nothing was played yet.
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
    /// Media that has arrived, and what of it was played at `at`.
    received: Duration,
    played: Duration,
    at: Instant,
}

impl Playout {
    /// A video of `length` of which nothing has come.
    #[must_use]
    pub const fn new(rules: PlayoutRules, length: Duration) -> Self {
        let (received, played, at) = (Duration::ZERO, Duration::ZERO, Instant::ZERO);
        Self { rules, length, state: State::Waiting, received, played, at }
    }

    /// Plays until `now`. Call it before anything else that happens now.
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

    /// The first `received` of the media are there now.
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

    /// True while the picture moves.
    #[must_use]
    pub fn is_playing(&self) -> bool {
        self.state == State::Playing
    }

    /// True when all was played.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.state == State::Ended
    }

    /// When [`Self::advance`] has something to tell, if nothing more arrives.
    #[must_use]
    pub fn next_change(&self) -> Instant {
        if self.is_playing() { self.at + self.level() } else { Instant::FAR_FUTURE }
    }
}

#[cfg(test)]
mod tests;
