//! The smallest one-way delay, above which the delay is a queue's (RFC 6817).

use std::collections::VecDeque;

use airlane_core::{Duration, Instant};

/// `BASE_HISTORY` and the length of its intervals (RFC 6817 section 2.5: 10 minutes in all). libwebrtc's SCReAM has the same
/// (`BaseDelayWindowLength` and `BaseDelayHistoryUpdateInterval` in `scream_v2_parameters.cc`, maitrungduc1410/webrtc
/// f3ae3eb). RFC 8698 section 5.1.1 has tens of minutes.
const INTERVALS: usize = 10;
const INTERVAL: Duration = Duration::from_secs(60);

/// The smallest one-way delay of the last minutes. The clocks of sender and receiver may differ by any constant.
#[derive(Clone, Debug, Default)]
pub(crate) struct BaseDelay {
    current_ns: Option<i64>,
    earlier_ns: VecDeque<i64>,
    since: Instant,
}

impl BaseDelay {
    /// The queue delay of a packet, which counts towards the base.
    pub(crate) fn queue_delay(&mut self, now: Instant, delay_ns: i64) -> Duration {
        match self.current_ns {
            Some(current) if now.saturating_since(self.since) >= INTERVAL => {
                self.earlier_ns.push_back(current);
                if self.earlier_ns.len() > INTERVALS {
                    self.earlier_ns.pop_front();
                }
                self.current_ns = Some(delay_ns);
                self.since = now;
            }
            Some(current) => self.current_ns = Some(current.min(delay_ns)),
            None => {
                self.current_ns = Some(delay_ns);
                self.since = now;
            }
        }
        let base = self.earlier_ns.iter().copied().chain(self.current_ns).min().unwrap_or(delay_ns);
        Duration::from_nanos((delay_ns - base).max(0) as u64)
    }

    /// Forgets all.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_between_the_clocks_has_no_effect() {
        let mut base = BaseDelay::default();
        let ms = |ms: i64| ms * 1_000_000;
        assert_eq!(base.queue_delay(Instant::ZERO, ms(-5_000)), Duration::ZERO);
        assert_eq!(base.queue_delay(Instant::ZERO, ms(-4_993)), Duration::from_millis(7));
    }

    #[test]
    fn the_base_delay_of_eleven_minutes_ago_is_forgotten() {
        let mut base = BaseDelay::default();
        base.queue_delay(Instant::ZERO, 0);
        let later = |minutes: u64| Instant::from_millis(60_000 * minutes);
        for minute in 1..=10 {
            assert_eq!(base.queue_delay(later(minute), 5_000_000), Duration::from_millis(5), "{minute}");
        }
        assert_eq!(base.queue_delay(later(11), 5_000_000), Duration::ZERO);
    }
}
