//! The radio link of a UE: radio link failure, and the re-establishment of the connection.
//!
//! Layer 1 evaluates the link once per radio frame (TS 36.213 v17.0 §4.2.1) by the error rate that a
//! PDCCH would have had ([`RadioLink::observe`]; TS 36.133 v17.0 §7.6). Layer 3 counts its indications
//! and keeps the timers (TS 36.331 v17.0 §7.3.1):
//!
//! ```text
//!             N310 out-of-sync               T310, RLC, MAC, T304
//!   in sync ───────────────────► T310 runs ──────────────────────► searching (T311)
//!      ▲    ◄───────────────────                                        │      │
//!      │      N311 in-sync                                  cell chosen │      │ T311
//!      │                                                                ▼      ▼
//!      └────────────────────── re-established ◄────────────── requesting (T301) ──► idle
//! ```
//!
//! With our error curve of PDCCH (`mac::control`), Qout (10 %) is a steady SINR of −5.06 dB and Qin
//! (2 %) one of −3.24 dB. A varying SINR is evaluated by the mean of the error rate, as in the
//! definition; deep fades have a larger weight than in a mean of SINRs.
//!
//! A [`Failure`], returned by any call, suspends bearers and resets MAC (TS 36.331 §5.3.7.2); the caller
//! executes each [`Step`].
//!
//! Not included: T312, DRX, the parameters of the hypothetical PDCCH that differ between Qout and Qin
//! (TS 36.133 tables 7.6.1-1 and -2: DCI format, aggregation level and power), AS security (assumed
//! active), and offsets and Squal of the S criterion.

use airlane_core::{CellId, Dbm, Duration, Instant};

use crate::mac::control::error_rate;

/// Error rate of a hypothetical PDCCH above which a link is out of sync (TS 36.133 v17.0 §7.6.1).
const Q_OUT: f64 = 0.10;
/// Error rate of a hypothetical PDCCH below which a link is in sync (TS 36.133 v17.0 §7.6.1).
const Q_IN: f64 = 0.02;
/// A radio frame: the period at which the link is evaluated (TS 36.213 v17.0 §4.2.1).
pub const FRAME: Duration = Duration::from_millis(10);
/// Radio frames over which a link is found out of sync: 200 ms (TS 36.133 v17.0 §7.6.2.1).
const OUT_FRAMES: usize = 20;
/// Radio frames over which a link is found in sync: 100 ms (TS 36.133 v17.0 §7.6.2.1).
const IN_FRAMES: usize = 10;

/// Timers and constants of a radio link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioLinkConfig {
    /// N310: consecutive out-of-sync indications that start T310.
    pub n310: u8,
    /// N311: consecutive in-sync indications that stop it.
    pub n311: u8,
    /// T310: how long a link may have problems.
    pub t310: Duration,
    /// T304: the maximum duration of a handover.
    pub t304: Duration,
    /// T311: how long the UE searches for a cell.
    pub t311: Duration,
    /// T301: how long it waits for the answer to its request.
    pub t301: Duration,
    /// One search for a cell (T_search of TS 36.133 v17.0 §6.1.2: 100 ms for a known cell).
    pub search: Duration,
    /// Time from the choice of a cell until its answer: the UE's own 50 ms (TS 36.133 v17.0 §6.1.2),
    /// system information, random access, request and answer.
    pub access: Duration,
    /// q-RxLevMin: RSRP above which a cell is suitable (TS 36.304 v17.0 §5.2.3.2).
    pub q_rx_lev_min: Dbm,
}

impl Default for RadioLinkConfig {
    /// N310, N311, T310 and T311 of TS 36.331 v17.0 §9.2.5. The other values have no default there: T301 and
    /// T304 of 1 s are the upper end of what networks set, system information takes the 80 ms of a period of
    /// SIB1 (§5.2.1.2), the access itself takes 20 ms, and −140 dBm is the minimum of q-RxLevMin (§6.3.4).
    fn default() -> Self {
        Self {
            n310: 1,
            n311: 1,
            t310: Duration::from_millis(1000),
            t304: Duration::from_millis(1000),
            t311: Duration::from_millis(1000),
            t301: Duration::from_millis(1000),
            search: Duration::from_millis(100),
            access: Duration::from_millis(150),
            q_rx_lev_min: Dbm(-140.0),
        }
    }
}

/// Why a UE has to re-establish its connection (TS 36.331 v17.0 §5.3.7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// T310 has expired.
    OutOfSync,
    /// RLC has reached the maximum number of retransmissions of a PDU.
    RlcMaximum,
    /// Random access has failed.
    RandomAccess,
    /// T304 has expired.
    Handover,
}

/// Why a UE went to RRC_IDLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// T311 has expired (TS 36.331 v17.0 §5.3.7.6).
    NoSuitableCell,
    /// T301 has expired (§5.3.7.7).
    NoAnswer,
    /// The cell has no context of the UE (§5.3.7.8).
    Rejected,
}

/// The result of a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The connection has failed: suspend the bearers, reset MAC. The UE searches from now on.
    Failed(Failure),
    /// A search is over: pass the result of [`select`] to [`RadioLink::choose`], or wait for the
    /// next search.
    Searched,
    /// The chosen cell answers: call [`RadioLink::connected`] if it has the UE's context, otherwise
    /// [`RadioLink::reject`].
    Answered(CellId),
    /// The UE is in RRC_IDLE; its bearers are released.
    Released(Release),
}

/// The state of the UE's RRC.
#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Connected { t310: Option<Instant> },
    Handover { t304: Instant },
    Searching { t311: Instant, searched: Instant },
    Requesting { t301: Instant, answer: Instant, cell: CellId },
    Idle(Release),
}

/// Error rates of a hypothetical PDCCH in the latest radio frames.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    rates: [f64; OUT_FRAMES],
    seen: usize,
}

impl Window {
    fn push(&mut self, rate: f64) {
        self.rates[self.seen % OUT_FRAMES] = rate;
        self.seen += 1;
    }

    /// The mean over the latest frames; `None` until there are enough.
    fn mean(&self, frames: usize) -> Option<f64> {
        let first = self.seen.checked_sub(frames)?;
        Some((first..self.seen).map(|frame| self.rates[frame % OUT_FRAMES]).sum::<f64>() / frames as f64)
    }
}

/// The radio link of one UE.
#[derive(Clone, Debug)]
pub struct RadioLink {
    config: RadioLinkConfig,
    state: State,
    window: Window,
    /// Consecutive indications of the kind that is counted: out-of-sync, or in-sync while T310 runs.
    indications: u8,
}

impl RadioLink {
    /// A new link.
    #[must_use]
    pub fn new(config: RadioLinkConfig) -> Self {
        assert!(config.n310 > 0 && config.n311 > 0, "an indication counts");
        assert!(config.search > Duration::ZERO, "a UE would search all the time");
        Self { config, state: State::Connected { t310: None }, window: Window::default(), indications: 0 }
    }

    /// Adds the linear SINR of the control region in a radio frame. Returns a failure only if T310 is
    /// zero, or has expired without a call. Outside a connection there is no link to evaluate.
    pub fn observe(&mut self, now: Instant, sinr: f32) -> Option<Failure> {
        let State::Connected { t310 } = self.state else { return None };
        if t310.is_some_and(|at| at <= now) {
            return Some(self.lose(now, Failure::OutOfSync));
        }
        self.window.push(error_rate(sinr));
        let out = self.window.mean(OUT_FRAMES).is_some_and(|rate| rate > Q_OUT);
        let within = self.window.mean(IN_FRAMES).is_some_and(|rate| rate < Q_IN);
        match t310 {
            None => {
                // Between the thresholds there is no indication, and a sequence is not interrupted. A
                // window that improved in its second half can fulfil both conditions; it does not
                // count as out of sync.
                self.indications = match (out, within) {
                    (_, true) => 0,
                    (true, false) => self.indications + 1,
                    (false, false) => self.indications,
                };
                if self.indications >= self.config.n310 {
                    self.indications = 0;
                    let until = now + self.config.t310;
                    self.state = State::Connected { t310: Some(until) }; // TS 36.331 §5.3.11.1
                    return (until <= now).then(|| self.lose(now, Failure::OutOfSync));
                }
            }
            Some(_) => {
                self.indications = match (out, within) {
                    (_, true) => self.indications + 1,
                    (true, false) => 0,
                    (false, false) => self.indications,
                };
                if self.indications >= self.config.n311 {
                    self.indications = 0;
                    self.state = State::Connected { t310: None }; // TS 36.331 §5.3.11.2
                }
            }
        }
        None
    }

    /// The UE has received a handover command: T310 stops, T304 starts (TS 36.331 v17.0 §5.3.5.4).
    ///
    /// # Panics
    /// If the UE has no connection.
    pub fn handover(&mut self, now: Instant) {
        assert!(
            matches!(self.state, State::Connected { .. }),
            "no connection to hand over: {:?}",
            self.state
        );
        self.state = State::Handover { t304: now + self.config.t304 };
    }

    /// Random access at the target has succeeded, the chosen cell has re-established the
    /// connection, or an idle UE has set up a new one: a link without history.
    pub fn connected(&mut self) {
        *self = Self::new(self.config);
    }

    /// RLC or MAC reports a failure (TS 36.331 v17.0 §5.3.11.3). Failures of MAC count only outside
    /// a handover, where T304 decides. During re-establishment nothing can fail.
    pub fn fail(&mut self, now: Instant, failure: Failure) -> Option<Failure> {
        let counts = match self.state {
            State::Connected { .. } => true,
            State::Handover { .. } => failure != Failure::RandomAccess,
            State::Searching { .. } | State::Requesting { .. } | State::Idle(_) => false,
        };
        counts.then(|| self.lose(now, failure))
    }

    /// The UE requests re-establishment in this cell: T311 stops, T301 starts (TS 36.331 v17.0 §5.3.7.3).
    ///
    /// # Panics
    /// If it is not searching.
    pub fn choose(&mut self, now: Instant, cell: CellId) {
        assert!(matches!(self.state, State::Searching { .. }), "not searching: {:?}", self.state);
        let (t301, answer) = (now + self.config.t301, now + self.config.access);
        self.state = State::Requesting { t301, answer, cell };
    }

    /// The chosen cell has no context of the UE (TS 36.331 v17.0 §5.3.7.8).
    pub fn reject(&mut self) {
        self.state = State::Idle(Release::Rejected);
    }

    /// True while the UE is served: not in a handover, a search or RRC_IDLE.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Connected { .. })
    }

    /// True while T310 runs.
    #[must_use]
    pub const fn has_problems(&self) -> bool {
        matches!(self.state, State::Connected { t310: Some(_) })
    }

    /// Why the UE is in RRC_IDLE, if it is.
    #[must_use]
    pub const fn released(&self) -> Option<Release> {
        if let State::Idle(release) = self.state { Some(release) } else { None }
    }

    /// When to call [`handle_timeout`](Self::handle_timeout).
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        match self.state {
            State::Connected { t310 } => t310,
            State::Handover { t304 } => Some(t304),
            State::Searching { t311, searched } => Some(t311.min(searched)),
            State::Requesting { t301, answer, .. } => Some(t301.min(answer)),
            State::Idle(_) => None,
        }
    }

    /// Handles the timer that is due; to be called until it returns `None`.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<Step> {
        if self.next_timeout().is_none_or(|at| at > now) {
            return None;
        }
        match self.state {
            State::Connected { .. } => Some(Step::Failed(self.lose(now, Failure::OutOfSync))),
            State::Handover { .. } => Some(Step::Failed(self.lose(now, Failure::Handover))), // §5.3.5.6
            // A search that ends together with T311 still counts.
            State::Searching { t311, searched } if searched <= t311 => {
                self.state = State::Searching { t311, searched: searched + self.config.search };
                Some(Step::Searched)
            }
            State::Searching { .. } => Some(self.release(Release::NoSuitableCell)),
            State::Requesting { t301, answer, cell } if answer <= t301 => {
                self.state = State::Requesting { t301, answer: Instant::FAR_FUTURE, cell };
                Some(Step::Answered(cell))
            }
            State::Requesting { .. } => Some(self.release(Release::NoAnswer)),
            State::Idle(_) => None,
        }
    }

    /// T311 starts, the UE searches (TS 36.331 v17.0 §5.3.7.2).
    fn lose(&mut self, now: Instant, failure: Failure) -> Failure {
        self.state = State::Searching { t311: now + self.config.t311, searched: now + self.config.search };
        failure
    }

    fn release(&mut self, release: Release) -> Step {
        self.state = State::Idle(release);
        Step::Released(release)
    }
}

/// The suitable cell with the best reception: Srxlev > 0 (TS 36.304 v17.0 §5.2.3.2), by RSRP per cell.
#[must_use]
pub fn select(rsrp: &[Dbm], q_rx_lev_min: Dbm) -> Option<CellId> {
    let mut best: Option<(CellId, Dbm)> = None;
    for (cell, &power) in (0..).map(CellId).zip(rsrp) {
        if power > q_rx_lev_min && best.is_none_or(|(_, most)| power > most) {
            best = Some((cell, power));
        }
    }
    best.map(|(cell, _)| cell)
}

#[cfg(test)]
mod tests;
