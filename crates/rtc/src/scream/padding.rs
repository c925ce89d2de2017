//! When libwebrtc fills its media up with padding (`scream_network_controller.cc`, `MaybeCreatePacerConfig`).

use airlane_core::{Duration, Instant};

/// `PeriodicPadding`: from the end of a period of padding to the next.
const PAUSE: Duration = Duration::from_secs(3);
/// `PaddingDuration`.
const PERIOD: Duration = Duration::from_secs(3);
/// `AllowPaddingAfterLastCongestionTimeout`: no padding for this time after the window became smaller.
const AFTER_DECREASE: Duration = Duration::from_secs(1);

/// The periods of padding. The first begins at the first update.
#[derive(Clone, Debug, Default)]
pub(super) struct Padding {
    end: Option<Instant>,
    allowed: bool,
    /// No padding before this, because the window became smaller.
    blocked_until: Instant,
}

impl Padding {
    pub(super) const fn allowed(&self) -> bool {
        self.allowed
    }

    /// `decreased_at` is when the window last became smaller.
    pub(super) fn update(&mut self, now: Instant, decreased_at: Option<Instant>) {
        let longest = AFTER_DECREASE + Duration::from_nanos(1); // "at most" in libwebrtc
        self.blocked_until = decreased_at.map_or(Instant::ZERO, |at| at + longest);
        if now < self.blocked_until {
            self.end = self.end.map(|end| end.min(now));
            self.allowed = false;
            return;
        }
        self.allowed = match self.end {
            Some(end) if now < end => true,
            Some(end) if now.saturating_since(end) < PAUSE => false,
            Some(_) | None => {
                self.end = Some(now + PERIOD);
                true
            }
        };
    }

    /// When the period, or the pause after it, ends.
    pub(super) fn next_change(&self) -> Option<Instant> {
        self.end.map(|end| if self.allowed { end } else { self.blocked_until.max(end + PAUSE) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_is_sent_for_three_seconds_of_six_and_stops_at_a_decrease() {
        let mut padding = Padding::default();
        let mut allowed = |ms: u64, decreased: Option<u64>| {
            padding.update(Instant::from_millis(ms), decreased.map(Instant::from_millis));
            padding.allowed()
        };
        assert!(allowed(0, None) && allowed(2_999, None));
        assert!(!allowed(3_000, None) && !allowed(5_999, None));
        assert!(allowed(6_000, None));
        assert!(!allowed(7_000, Some(6_900)), "less than a second after a decrease");
        assert!(!allowed(9_999, Some(6_900)), "a pause of 3 s begins with it");
        assert!(allowed(10_000, Some(6_900)));
    }

    /// A change that is due leads to a later one, or a driver would call without end.
    #[test]
    fn a_decrease_at_the_end_of_a_pause_delays_the_next_period() {
        let mut padding = Padding::default();
        padding.update(Instant::from_millis(0), None);
        padding.update(Instant::from_millis(3_000), None);
        assert_eq!(padding.next_change(), Some(Instant::from_millis(6_000)));
        padding.update(Instant::from_millis(6_000), Some(Instant::from_millis(5_800)));
        assert!(!padding.allowed());
        let next = padding.next_change().expect("a pause ends");
        assert!(next > Instant::from_millis(6_800), "a second after the decrease");
        padding.update(next, Some(Instant::from_millis(5_800)));
        assert!(padding.allowed());
    }
}
