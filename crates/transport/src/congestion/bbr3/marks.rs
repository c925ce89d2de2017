//! The response to congestion marks of google/bbr (branch v3, `net/ipv4/tcp_bbr.c`), an option: the draft specifies
//! none (§3.7).
//!
//! Once per round trip, a moving average of the marked share is updated. Outside of probing, a round trip with a
//! mark reduces the short-term bound of the data in flight by a third of that average. A probe ends when more than
//! half of a sample is marked, and Startup after two such round trips. As there, marks have an effect once the minimum
//! round trip is at most a limit, 5 ms in google/bbr, whose marks are those of a shallow queue in a data centre.
//! Left out: another path after lasting marks (PLB).

use std::collections::VecDeque;

use airlane_core::Duration;

use super::{Bbr3, DeliverySample, Mode, RateSample, SegmentWindow, UNIT};

/// `bbr_ecn_alpha_gain`, `bbr_ecn_factor` and `bbr_ecn_thresh`.
const GAIN: u64 = UNIT / 16;
const FACTOR: u64 = UNIT / 3;
const THRESHOLD: u64 = UNIT / 2;
/// `bbr_full_ecn_cnt`: Startup ends after this many round trips with as many marks.
const STARTUP_ROUNDS: u32 = 2;
/// Memory is reserved for this many acknowledgments with marks in a round trip.
const RESERVED: usize = 256;

/// The marks that were reported.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    /// Marks have an effect once the minimum round trip was at most this.
    rtt_max: Duration,
    eligible: bool,
    /// The average of the marked share, which begins at one (`bbr_ecn_alpha_init`).
    alpha: u64,
    /// Segments delivered and packets marked at the last update of the average.
    updated: (u64, u64),
    /// Marked packets so far, and before the first entry of the history.
    marked: u64,
    marked_before: u64,
    /// Segments delivered and packets marked after each acknowledgment with marks of the last round trip.
    history: VecDeque<(u64, u64)>,
    /// Marks that came with the current acknowledgment.
    new: bool,
    in_round: bool,
    startup_rounds: u32,
    /// More than half of the current sample is marked.
    pub(super) too_many: bool,
}

impl Marks {
    pub(super) fn new(rtt_max: Duration) -> Self {
        Self {
            rtt_max,
            eligible: false,
            alpha: UNIT,
            updated: (0, 0),
            marked: 0,
            marked_before: 0,
            history: VecDeque::with_capacity(RESERVED),
            new: false,
            in_round: false,
            startup_rounds: 0,
            too_many: false,
        }
    }

    /// Packets that an acknowledgment reports as marked.
    pub(super) fn on_marks(&mut self, packets: u32) {
        self.marked += u64::from(packets);
        self.new |= packets > 0;
    }

    /// Packets reported as marked since this many segments were delivered (`rate_sample.delivered_ce`).
    fn since(&mut self, delivered: u64) -> u64 {
        while let Some(&(at, marked)) = self.history.front()
            && at <= delivered
        {
            self.marked_before = marked;
            self.history.pop_front();
        }
        self.marked - self.marked_before
    }

    /// `bbr_update_ecn_alpha`: updates the average, and returns the marked share of the round trip.
    fn end_round(&mut self, delivered: u64) -> Option<u64> {
        let (segments, marked) = (delivered - self.updated.0, self.marked - self.updated.1);
        self.updated = (delivered, self.marked);
        let share = (marked * UNIT).checked_div(segments)?;
        self.alpha = ((UNIT - GAIN) * self.alpha / UNIT + GAIN * share / UNIT).min(UNIT);
        Some(share)
    }

    /// The average, in 1/256.
    #[cfg(test)]
    pub(super) const fn alpha(&self) -> u64 {
        self.alpha
    }

    /// `bbr_ecn_cut`: the part of the bound that is left.
    pub(super) const fn cut(&self) -> u64 {
        UNIT - self.alpha * FACTOR / UNIT
    }

    /// True if marks were reported in the round trip that ends now.
    pub(super) const fn take_round(&mut self) -> bool {
        core::mem::replace(&mut self.in_round, false)
    }

    /// `bbr_reset_congestion_signals`.
    pub(super) const fn forget_round(&mut self) {
        self.in_round = false;
    }
}

impl Bbr3 {
    /// Processes the marks of an acknowledgment with a rate sample.
    pub(super) fn update_marks(
        &mut self,
        window: &SegmentWindow,
        sample: &DeliverySample,
        rate: &RateSample,
    ) {
        let Some(marks) = &mut self.marks else { return };
        if core::mem::take(&mut marks.new) {
            marks.history.push_back((sample.delivered, marks.marked));
            marks.in_round |= marks.eligible;
        }
        marks.eligible |= self.min_rtt.is_some_and(|rtt| rtt <= marks.rtt_max);
        let marked = marks.since(rate.prior_delivered);
        marks.too_many = marks.eligible && marked > 0 && marked * UNIT > rate.delivered * THRESHOLD;
        if !self.round_start || !marks.eligible {
            return;
        }
        let Some(share) = marks.end_round(sample.delivered) else { return };
        marks.startup_rounds = if share >= THRESHOLD { marks.startup_rounds + 1 } else { 0 };
        if self.mode == Mode::Startup && !self.full_pipe.ever && marks.startup_rounds >= STARTUP_ROUNDS {
            self.full_pipe.ever = true;
            let volume = self.inflight(window, self.max_bandwidth.get(), UNIT);
            self.inflight_long = Some(volume.max(self.loss.inflight_latest()));
        }
    }
}
