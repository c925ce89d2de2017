//! Prague, the congestion control of L4S: DCTCP's response to marks with a rate that depends less on the round
//! trip, and pacing in short bursts.
//!
//! Of draft-briscoe-iccrg-prague-congestion-control-04 only the first page could be opened. The rules are those of
//! the authors' L4STeam/udp_prague (e8e343533a7c, `prague_cc.cpp`), and in slow start, which that one does not have,
//! those of their `tcp_prague` in google/bbr (23cbf7e1bc8b): it grows as NewReno's, paced at twice the window per
//! round trip, until the first mark or loss; the first mark halves the window. The detection of a classic bottleneck
//! is off by default, as in `tcp_prague`. Left out: the mode without a window for round trips below 2 ms, and small
//! packets at low rates.
//!
//! Packets are sent with ECT(1) if feedback is accurate. If the peer has classic ECN only, they have ECT(0), and a
//! mark halves the window (RFC 9331 §4.2, §4.3; of these sections only the titles could be verified: "Prerequisite
//! Transport Feedback" and "Prerequisite Congestion Response").

mod classic;

use airlane_core::{BitRate, Duration, Instant};

use self::classic::ClassicBottleneck;
use super::fractional_window::FractionalWindow;
use super::marks::{MarkedShare, OncePerRound};
use super::{AckSample, CongestionController, LossCause, LossEpisode, MarkSample, Needs, SegmentWindow};

/// Flows with shorter round trips grow as if theirs were this long (`REF_RTT`).
const REFERENCE_RTT: Duration = Duration::from_millis(25);
/// After this many virtual round trips without a mark, and one more for each of these rates, the window grows by the
/// data that makes a queue of this delay (`MIN_STEP`, `RATE_STEP`, `QUEUE_GROWTH`).
const ROUNDS_TO_GROWTH: u64 = 7;
const BYTES_PER_SECOND_PER_ROUND: f64 = 1_920_000.0;
const GROWTH_DELAY_S: f64 = 0.001;
/// Longest burst (`BURST_TIME`).
const BURST_S: f64 = 0.000_25;
/// The pacing rate alternates by this factor, and the window has this much room above the rate (`RATE_OFFSET`).
const OFFSET: f64 = 1.03;
/// Smallest window in segments (`MIN_PKT_WIN`).
const WINDOW_MIN: u32 = 2;
/// Pacing in slow start (`tcp_prague`), and without accurate feedback, as of other laws in Linux
/// (tcp_pacing_ca_ratio).
const SLOW_START_FACTOR: f64 = 2.0;
const CLASSIC_FACTOR: f64 = 1.2;

/// Parameters of Prague.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PragueConfig {
    /// The sender responds as a classic one at a bottleneck that it classifies as classic (`prague_ecn_fallback`).
    pub classic_fallback: bool,
}

impl PragueConfig {
    /// The defaults of `tcp_prague`.
    pub const LINUX: Self = Self { classic_fallback: false };
}

/// The controller.
#[derive(Clone, Copy, Debug)]
pub struct Prague {
    exact: FractionalWindow,
    share: MarkedShare,
    /// Time of the last update of the share; `None` without accurate feedback.
    updated_at: Option<Instant>,
    reductions: OncePerRound,
    /// Marked segments of the current acknowledgment, which do not let the window grow.
    marked: u32,
    /// Virtual round trips to wait for faster growth.
    rounds_to_growth: u64,
    srtt: Duration,
    segment_size: u32,
    /// Bytes per second.
    rate: f64,
    slow_start: bool,
    now: Instant,
    classic: Option<ClassicBottleneck>,
    /// True if the current acknowledgment has updated the share of marks.
    updated: bool,
}

impl Prague {
    /// A controller in its initial state.
    #[must_use]
    pub fn new(window: &SegmentWindow, config: PragueConfig) -> Self {
        Self {
            exact: FractionalWindow::new(window),
            share: MarkedShare::from_first_mark(),
            updated_at: None,
            reductions: OncePerRound::NONE,
            marked: 0,
            rounds_to_growth: ROUNDS_TO_GROWTH,
            srtt: Duration::ZERO,
            segment_size: window.segment_size(),
            rate: 0.0,
            slow_start: true,
            now: Instant::ZERO,
            classic: config.classic_fallback.then(ClassicBottleneck::new),
            updated: false,
        }
    }

    fn virtual_rtt(&self) -> Duration {
        self.srtt.max(REFERENCE_RTT)
    }

    /// Sets the window from the exact one, and the rate. In slow start, and without accurate feedback, the window has
    /// no room above the rate.
    fn apply(&mut self, window: &mut SegmentWindow) {
        self.exact.segments = self.exact.segments.max(1.0);
        self.slow_start = window.in_slow_start();
        let segments = if self.slow_start || self.updated_at.is_none() {
            (self.exact.segments as u32).max(WINDOW_MIN)
        } else {
            ((self.exact.segments * OFFSET) as u32 + 1).max(WINDOW_MIN)
        };
        self.exact.set(window, segments);
        if !self.slow_start {
            window.ssthresh = window.ssthresh.min(window.segments);
        }
        self.segment_size = window.segment_size();
        let srtt = self.srtt.as_secs_f64();
        if srtt > 0.0 {
            self.rate = self.exact.segments * f64::from(self.segment_size) / srtt;
        }
    }

    fn rounds_at_this_rate(&self) -> u64 {
        (self.rate / BYTES_PER_SECOND_PER_ROUND) as u64 + ROUNDS_TO_GROWTH
    }

    /// Additive increase: a segment per window of unmarked segments and virtual round trip, scaled so that the rate
    /// grows as with the virtual round trip; after a time without marks, more.
    fn increase(&mut self, unmarked: u32) {
        let (srtt, virtual_rtt) = (self.srtt.as_secs_f64(), self.virtual_rtt().as_secs_f64());
        let scale = (srtt / virtual_rtt) * (srtt / virtual_rtt);
        let fast = self.rate * GROWTH_DELAY_S / f64::from(self.segment_size);
        let step = if self.rounds_to_growth == 0 { fast.max(1.0) } else { 1.0 };
        self.exact.segments += f64::from(unmarked) * scale * step / self.exact.segments;
    }

    /// The share of marks that a reduction responds to.
    fn responded(&mut self, window: &SegmentWindow) -> f64 {
        let Some(classic) = &mut self.classic else { return self.share.alpha() };
        classic.on_reduction(window.ssthresh);
        self.share.alpha().max(classic.least_share())
    }

    /// Judges the bottleneck by the round trip of an acknowledgment.
    fn judge(&mut self, rtt: Option<Duration>) {
        let updated = core::mem::take(&mut self.updated);
        let Some(classic) = &mut self.classic else { return };
        if let Some(rtt) = rtt {
            classic.on_rtt(rtt);
        }
        if updated {
            classic.on_round();
        }
    }
}

/// True if the sender used the window: at least half of it, because pacing often holds it below.
const fn is_used(window: &SegmentWindow, ack: &AckSample) -> bool {
    ack.window_limited || window.segments < 2 * ack.max_outstanding_segments
}

impl CongestionController for Prague {
    fn needs(&self) -> Needs {
        Needs { marks: true, scalable: true, pacing: true, ..Needs::NOTHING }
    }

    fn on_established(&mut self, _: &SegmentWindow, now: Instant, rtt: Option<Duration>) {
        self.now = now;
        if let Some(rtt) = rtt.filter(|rtt| !rtt.is_zero()) {
            self.srtt = rtt;
            self.rate = self.exact.segments * f64::from(self.segment_size) / rtt.as_secs_f64();
        }
    }

    fn on_ack(&mut self, window: &mut SegmentWindow, ack: &AckSample) {
        self.exact.follow(window);
        (self.srtt, self.now) = (ack.srtt, ack.now);
        self.judge(ack.rtt);
        let marked = core::mem::take(&mut self.marked);
        if ack.may_grow && is_used(window, ack) {
            let mut unmarked = ack.delivered_segments.saturating_sub(marked);
            if window.in_slow_start() {
                window.segments = self.exact.segments as u32;
                let left = window.slow_start(unmarked);
                self.exact.segments += f64::from(unmarked - left);
                unmarked = left;
            }
            if unmarked > 0 {
                self.increase(unmarked);
            }
        }
        self.apply(window);
    }

    fn on_marks(&mut self, window: &mut SegmentWindow, sample: &MarkSample) {
        self.exact.follow(window);
        (self.srtt, self.now) = (sample.srtt, sample.now);
        let packets = (u64::from(sample.delivered_segments), u64::from(sample.marked_segments));
        let least = self.virtual_rtt();
        if self.share.on_marks(sample, packets, least) {
            self.updated_at = Some(sample.now);
            self.updated = self.share.has_begun();
            self.rounds_to_growth = self.rounds_to_growth.saturating_sub(1);
        }
        self.marked = sample.marked_segments;
        if sample.marked_segments == 0 || sample.recovering {
            return;
        }
        if self.reductions.begins(sample, least) {
            self.rounds_to_growth = self.rounds_at_this_rate();
            self.exact.segments *= 1.0 - self.responded(window) / 2.0;
            let segments = (self.exact.segments as u32).max(WINDOW_MIN);
            (window.segments, window.ssthresh) = (segments, segments);
            self.apply(window);
        }
    }

    fn on_loss(&mut self, window: &mut SegmentWindow, _: &LossEpisode, cause: LossCause) {
        self.exact.follow(window);
        match cause {
            LossCause::Congestion => {
                // The virtual round trips in which a flow with the reference round trip grows back to this rate.
                let (reference, virtual_rtt) =
                    (REFERENCE_RTT.as_secs_f64(), self.virtual_rtt().as_secs_f64());
                let segments = self.rate / 2.0 / f64::from(self.segment_size) * reference;
                self.rounds_to_growth = (segments * reference / virtual_rtt) as u64;
                if let Some(classic) = &mut self.classic {
                    classic.on_reduction(window.ssthresh);
                }
                window.reduce_to(self.threshold(window));
                self.exact.segments = f64::from(window.ssthresh);
            }
            LossCause::Random => window.keep(),
            LossCause::Unreported => {}
        }
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        self.exact.follow(window);
        (self.exact.segments / 2.0) as u32
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        if self.rate <= 0.0 {
            return None;
        }
        let factor = if self.slow_start {
            SLOW_START_FACTOR
        } else {
            match self.updated_at {
                None => CLASSIC_FACTOR,
                Some(at) if self.now.saturating_since(at) < self.virtual_rtt() / 2 => OFFSET,
                Some(_) => 1.0 / OFFSET,
            }
        };
        Some(BitRate((self.rate * factor * 8.0) as u64))
    }

    fn send_quantum(&self, segment_size: u32) -> u32 {
        ((self.rate * BURST_S / f64::from(segment_size)) as u32).max(1)
    }
}
