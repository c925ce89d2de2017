//! Detects a token-bucket policer: two intervals between losses, each of at least four round trips
//! with a fifth of the segments lost, that delivered at nearly the same rate. That rate is then
//! used for 48 round trips (draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.3 leaves this open;
//! in Linux it is the "long-term bandwidth").

use super::{BW_UNIT, Bbr, DeliverySample, UNIT};

/// Minimum and maximum number of round trips of an interval.
const INTERVAL_ROUNDS: u32 = 4;
const INTERVAL_ROUNDS_MAX: u32 = 4 * INTERVAL_ROUNDS;
/// Lost per delivered, in 1/256: about a fifth.
const LOSS_THRESHOLD: u64 = 50;
/// Two intervals agree within an eighth, or within 4 kbit/s.
const RATIO: u64 = UNIT / 8;
const DIFFERENCE_BYTES: u64 = 4000 / 8;
/// Round trips for which the rate is used.
const USE_ROUNDS: u32 = 48;

/// The values of an ACK that the detection uses.
pub(super) struct Episode<'a> {
    pub(super) sample: &'a DeliverySample,
    pub(super) lost: u32,
    pub(super) app_limited: bool,
    pub(super) round_start: bool,
    /// True if the controller is in ProbeBW.
    pub(super) probing: bool,
}

/// The result of the detection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    None,
    /// A policer was found: send at its rate.
    Policed,
    /// The rate of the policer was used long enough: probe again.
    TryAgain,
}

/// The state of the detection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    in_use: bool,
    sampling: bool,
    /// Rate of the last interval; zero for none.
    rate: u64,
    rounds: u32,
    since_ms: u64,
    since_delivered: u64,
    since_lost: u64,
}

impl Policer {
    /// The policer's rate while it is in use.
    pub(super) fn rate(&self) -> Option<u64> {
        self.in_use.then_some(self.rate)
    }

    /// Resets the detection.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    fn begin_interval(&mut self, sample: &DeliverySample) {
        self.since_ms = super::milliseconds(sample.delivered_at);
        self.since_delivered = sample.delivered;
        self.since_lost = sample.lost;
        self.rounds = 0;
    }

    fn begin(&mut self, sample: &DeliverySample) {
        self.forget();
        self.begin_interval(sample);
    }

    /// Adds an ACK.
    pub(super) fn sample(&mut self, segment_size: u32, episode: &Episode<'_>) -> Finding {
        let sample = episode.sample;
        if self.in_use {
            if episode.probing && episode.round_start {
                self.rounds += 1;
                if self.rounds >= USE_ROUNDS {
                    self.begin(sample);
                    return Finding::TryAgain;
                }
            }
            return Finding::None;
        }
        // The first loss shows that the tokens are used up.
        if !self.sampling {
            if episode.lost == 0 {
                return Finding::None;
            }
            self.begin_interval(sample);
            self.sampling = true;
        }
        if episode.app_limited {
            self.begin(sample);
            return Finding::None;
        }
        self.rounds += u32::from(episode.round_start);
        if self.rounds > INTERVAL_ROUNDS_MAX {
            self.begin(sample);
            return Finding::None;
        }
        if self.rounds < INTERVAL_ROUNDS || episode.lost == 0 {
            return Finding::None;
        }
        self.end_interval(segment_size, sample)
    }

    fn end_interval(&mut self, segment_size: u32, sample: &DeliverySample) -> Finding {
        let lost = sample.lost - self.since_lost;
        let delivered = sample.delivered - self.since_delivered;
        let span_ms = super::milliseconds(sample.delivered_at).saturating_sub(self.since_ms);
        if delivered == 0 || lost * UNIT < LOSS_THRESHOLD * delivered || span_ms == 0 {
            return Finding::None;
        }
        let rate = delivered * BW_UNIT / (span_ms * 1000);
        if self.rate > 0 {
            let difference = rate.abs_diff(self.rate);
            let bytes = Bbr::bytes_per_second(segment_size, difference, UNIT);
            if difference * UNIT <= RATIO * self.rate || bytes <= DIFFERENCE_BYTES {
                self.rate = u64::midpoint(rate, self.rate);
                self.in_use = true;
                self.rounds = 0;
                return Finding::Policed;
            }
        }
        self.rate = rate;
        self.begin_interval(sample);
        Finding::None
    }
}
