//! PBE-CC (Xie, Yi and Jamieson, "PBE-CC: Congestion Control via Endpoint-Centric, Physical-Layer Bandwidth Measurements",
//! SIGCOMM 2020): the sender follows the rate that the cell has for its UE, as long as the cell is the bottleneck.
//!
//! The rate is R (P + I / N): the bits R of a resource block of the UE, its blocks P, the idle blocks I of the cell, and the
//! number N of active UEs; with all blocks of the cell divided by N it is the fair share. A part is lost to retransmissions
//! and to headers ([`capacity`]). A connection begins with a rate that reaches the fair share in three round trips. Then
//! the rate is that of the cell, until the packets of six subframes were more than 27 ms later than the minimum round trip:
//! the bottleneck is elsewhere. The sender then halves its rate for a round trip and is BBR, with the fair share as the
//! highest rate. It goes back when the packets of six subframes are in time, and BBR has measured the rate of the cell.
//!
//! The paper was not read, only its abstract, and no code of the authors is public: all of this is known from descriptions
//! (unverified). The formula of the rate and the share of headers are also those of another project that decodes the control
//! channel and names the page of the paper (`PHYSICAL_TO_TRANSPORT_OVERHEAD`).
//!
//! *Departures.* The counts come from a radio network information service instead of the UE's decoder, so that they reach the
//! sender without the way through the UE and its acknowledgments. The share of retransmissions is counted, where the paper
//! computes it from an error rate of bits. The delay is that of the round trip, where the UE measures one way. Counts older
//! than 100 ms are not used, as with MELD; without counts the sender is BBR. The data in flight is limited to what the rate
//! sends in the longest delay that is in time (choice). A cell other than the UE's primary one is not counted.

mod capacity;
#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Duration, Instant, Stream};

use self::capacity::{CellCounts, Rates};
use super::{
    AckSample, Bbr, CongestionController, DeliverySample, LossCause, LossEpisode, Needs, PhaseChange,
    RadioInformation, Restart, SegmentWindow, Snapshot, TimeoutEpisode,
};

/// Round trips until the fair share (unverified).
const START_ROUNDS: f64 = 3.0;
/// The longest time by which a packet in time is later than the minimum: three retransmissions of 8 ms and 3 ms of jitter (unverified).
const DELAY_MAX: Duration = Duration::from_millis(3 * 8 + 3);
/// Subframes whose packets decide about the bottleneck (unverified).
const SUBFRAMES: f64 = 6.0;
const SUBFRAME_S: f64 = 1e-3;
/// The share of its rate at which BBR begins, for a round trip (unverified).
const DRAIN_GAIN: f64 = 0.5;
/// Age from which on counts are not used (that of MELD).
const AGE_MAX: Duration = Duration::from_millis(100);
/// Minimum window in segments, as of BBR (draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3.2).
const WINDOW_MIN: f64 = 4.0;

/// Where the bottleneck is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not known: the rate grows from this time on.
    Start(Option<Instant>),
    Cell,
    /// Elsewhere, with half of the rate until this time.
    Drain(Instant),
    Elsewhere,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct Pbe {
    state: State,
    counts: CellCounts,
    /// BBR, which follows the connection in every state, and the window that it would have.
    bbr: Bbr,
    bbr_window: SegmentWindow,
    /// Packets in sequence that were late, or in time.
    late: u32,
    in_time: u32,
    /// Bytes per second; `None` before the first acknowledgment.
    rate: Option<f64>,
}

/// BBR's model of the path.
#[derive(Clone, Copy, Debug)]
struct Path {
    rtt_min: Duration,
    /// Bytes per second.
    bandwidth: f64,
}

impl Pbe {
    /// A controller in its initial state; the stream is for BBR.
    #[must_use]
    pub fn new(window: &SegmentWindow, stream: Stream) -> Self {
        Self {
            state: State::Start(None),
            counts: CellCounts::default(),
            bbr: Bbr::new(stream),
            bbr_window: *window,
            late: 0,
            in_time: 0,
            rate: None,
        }
    }

    fn path(&self) -> Option<Path> {
        let model = self.bbr.path_model(&self.bbr_window, 0)?;
        Some(Path { rtt_min: model.min_rtt?, bandwidth: model.max_bandwidth.0 as f64 / 8.0 })
    }

    /// Counts packets that arrived with this round trip.
    fn count(&mut self, arrived: u32, rtt: Duration, path: Path) {
        if rtt > path.rtt_min + DELAY_MAX {
            (self.late, self.in_time) = (self.late + arrived, 0);
        } else {
            (self.late, self.in_time) = (0, self.in_time + arrived);
        }
    }

    /// The state with these rates of the cell.
    fn next_state(&self, now: Instant, rates: Rates, path: Path, segment: f64) -> State {
        let packets = libm::ceil(SUBFRAMES * SUBFRAME_S * rates.available / segment).max(1.0) as u32;
        match self.state {
            State::Start(None) => State::Start(Some(now)),
            State::Start(Some(since)) if started(now, since, path) >= 1.0 => State::Cell,
            State::Start(_) | State::Cell if self.late >= packets => State::Drain(now + path.rtt_min),
            State::Drain(until) if until <= now => State::Elsewhere,
            State::Elsewhere if self.in_time >= packets && path.bandwidth >= rates.available => State::Cell,
            same => same,
        }
    }

    /// Sets rate and window.
    fn apply(&mut self, window: &mut SegmentWindow, now: Instant) {
        let Some(path) = self.path() else { return };
        let segment = f64::from(window.segment_size());
        let bbr = self.bbr.pacing_rate().map_or(0.0, |rate| rate.0 as f64 / 8.0);
        let Some(rates) = self.counts.rates(now, AGE_MAX) else {
            self.rate = Some(bbr);
            window.segments = self.bbr_window.segments;
            return;
        };
        self.state = self.next_state(now, rates, path, segment);
        let rate = match self.state {
            State::Start(since) => rates.fair * since.map_or(0.0, |since| started(now, since, path)),
            State::Cell => rates.available,
            State::Drain(_) => DRAIN_GAIN * path.bandwidth,
            State::Elsewhere => bbr.min(rates.fair),
        };
        let longest = (path.rtt_min + DELAY_MAX).as_secs_f64();
        let rate = rate.max(WINDOW_MIN * segment / longest);
        self.rate = Some(rate);
        window.segments = match self.state {
            State::Elsewhere => self.bbr_window.segments,
            State::Start(_) | State::Cell | State::Drain(_) => {
                libm::ceil(rate * longest / segment).max(WINDOW_MIN) as u32
            }
        };
    }
}

/// The share of the start that has passed.
fn started(now: Instant, since: Instant, path: Path) -> f64 {
    let whole = START_ROUNDS * path.rtt_min.as_secs_f64();
    (now.saturating_since(since).as_secs_f64() / whole.max(SUBFRAME_S)).min(1.0)
}

impl CongestionController for Pbe {
    fn needs(&self) -> Needs {
        self.bbr.needs().and(Needs::RADIO_INFORMATION)
    }

    fn on_established(&mut self, window: &SegmentWindow, now: Instant, rtt: Option<Duration>) {
        self.bbr.on_established(window, now, rtt);
    }

    fn on_restart(&mut self, _: &mut SegmentWindow, restart: &Restart) {
        self.bbr.on_restart(&mut self.bbr_window, restart);
    }

    fn on_radio_information(&mut self, _: &mut SegmentWindow, information: &RadioInformation) {
        let span = self.path().map_or(Duration::ZERO, |path| path.rtt_min);
        self.counts.add(information, span);
    }

    fn on_ack(&mut self, _: &mut SegmentWindow, _: &AckSample) {}

    fn on_delivery(&mut self, window: &mut SegmentWindow, sample: &DeliverySample) {
        self.bbr.on_delivery(&mut self.bbr_window, sample);
        if let (Some(rtt), Some(path)) = (sample.rtt, self.path()) {
            self.count(sample.newly_delivered, rtt, path);
        }
        self.apply(window, sample.now);
    }

    fn on_phase(&mut self, _: &SegmentWindow, change: &PhaseChange) {
        self.bbr.on_phase(&self.bbr_window, change);
    }

    fn threshold(&mut self, window: &SegmentWindow) -> u32 {
        window.segments
    }

    fn on_loss(&mut self, _: &mut SegmentWindow, episode: &LossEpisode, cause: LossCause) {
        self.bbr.on_loss(&mut self.bbr_window, episode, cause);
    }

    fn on_recovery_exit(&mut self, _: &mut SegmentWindow) {}

    fn on_timeout(&mut self, window: &mut SegmentWindow, timeout: &TimeoutEpisode) {
        self.bbr.on_timeout(&mut self.bbr_window, timeout);
        window.restart_from(timeout.restart_segments);
    }

    fn on_undo(&mut self, _: &mut SegmentWindow, snapshot: &Snapshot) {
        self.bbr.on_undo(&mut self.bbr_window, snapshot);
    }

    fn on_segment_size(&mut self, window: &SegmentWindow) {
        self.bbr_window.resize_segments(window.segment_size());
    }

    fn send_quantum(&self, segment_size: u32) -> u32 {
        self.bbr.send_quantum(segment_size)
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate.map_or_else(|| self.bbr.pacing_rate(), |rate| Some(BitRate((rate * 8.0) as u64)))
    }

    fn holds_back(&self) -> bool {
        self.state == State::Elsewhere && self.bbr.holds_back()
    }
}
