//! The secondary cell group of a UE: its addition, the change of its PSCell, its release, and its failure (TS 37.340 v17
//! §10.2, §10.3, §10.5; TS 38.331 v17 §5.7.3).
//!
//! ```text
//!             B1 of a cell                   the UE has the command            random access
//!   no SCG ────────────────► in preparation ────────────────────────► executed ─────────────► active
//!     ▲                                                                   ▲                     │
//!     │                                          A3 of another cell, in preparation             │
//!     ├── A2 of the PSCell, in preparation, the UE has the command ◄────────────────────────────┤
//!     └── SCG failure: T310 has expired, RLC has reached its maximum, or random access has failed
//! ```
//!
//! The UE measures the candidates in each [`PERIOD`] and filters them (TS 38.331 §5.5.3). An event is reported when its
//! condition has been fulfilled for the time to trigger. With a signal that allows it the SCG is active from the start.
//!
//! A handover of the master node ends the SCG, or interrupts it ([`super::ScgAtHandover`]); no event is reported meanwhile.
//!
//! Simplifications: the thresholds have no hysteresis, messages of RRC are not lost, and the network does not refuse a node.

use airlane_core::{CellId, Dbm, Decibel, Duration, Instant};

use crate::rrc::measurement::Filter;
use crate::rrc::radio_link::{FRAME, Failure, RadioLink, RadioLinkConfig, Step};

/// How often the UE measures: the period of layer 1 for a cell without gaps is several of the default SMTC periods of 20 ms
/// (choice).
pub(crate) const PERIOD: Duration = Duration::from_millis(40);
/// Filter coefficient k: fc4, the default (TS 38.331 §6.3.2, FilterCoefficient).
const COEFFICIENT: u8 = 4;

/// When the UE has which PSCell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScgConfig {
    /// Event B1: a cell with a higher RSRP is added.
    pub add_above: Dbm,
    /// Event A2: the SCG is released when the RSRP of its PSCell is lower.
    pub release_below: Dbm,
    /// Event A3: a cell that is better by more than this becomes the PSCell.
    pub change_offset: Decibel,
    /// Time to trigger of the events.
    pub time_to_trigger: Duration,
    /// From a report until the UE has the command.
    pub preparation: Duration,
    /// From the command until the random access to a PSCell has succeeded.
    pub execution: Duration,
    /// From a failure until a cell may be added again.
    pub retry_after: Duration,
    /// Radio link monitoring of the PSCell.
    pub radio_link: RadioLinkConfig,
}

/// An event that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trigger {
    Add(CellId),
    Change(CellId),
    Release,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// No SCG.
    Absent,
    /// The random access to a cell succeeds then.
    Executed { cell: CellId, until: Instant },
    /// This is the PSCell.
    Active(CellId),
}

/// What happens to the SCG.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The UE has this PSCell from the start.
    Begin(CellId),
    /// The UE reports an event for this cell.
    Report(CellId),
    /// The UE leaves its PSCell for another, or without one.
    Leave(CellId),
    /// The PSCell can be used.
    Add(CellId),
    /// The SCG has failed.
    Fail(CellId),
}

/// The SCG of a UE.
#[derive(Debug)]
pub(crate) struct Scg {
    config: ScgConfig,
    /// The cells that it may have.
    candidates: Vec<CellId>,
    state: State,
    /// The event whose condition is fulfilled, and since when; whether it was reported, and when the UE has the command.
    trigger: Option<(Trigger, Instant)>,
    command_at: Option<Instant>,
    /// Filtered RSRP, by candidate.
    rsrp: Vec<Filter>,
    link: RadioLink,
    measures_at: Instant,
    frame_at: Instant,
    /// No cell is added before.
    blocked_until: Instant,
    /// How often RLC of the SCG has reached its maximum of retransmissions.
    rlc_maxima: u64,
    /// The PSCell from the start, until that was observed.
    first: Option<CellId>,
    /// The PSCell to which the UE returns after a handover of its master node.
    kept: Option<CellId>,
}

impl Scg {
    /// The SCG of a UE that may have these PSCells.
    pub(crate) fn new(config: &ScgConfig, candidates: Vec<CellId>) -> Self {
        Self {
            config: *config,
            state: State::Absent,
            trigger: None,
            command_at: None,
            rsrp: vec![Filter::default(); candidates.len()],
            candidates,
            link: RadioLink::new(config.radio_link),
            measures_at: Instant::ZERO,
            frame_at: Instant::ZERO,
            blocked_until: Instant::ZERO,
            rlc_maxima: 0,
            first: None,
            kept: None,
        }
    }

    /// The UE is removed: nothing is due any more.
    pub(crate) fn end(&mut self) {
        (self.state, self.trigger, self.command_at) = (State::Absent, None, None);
        (self.first, self.kept, self.measures_at) = (None, None, Instant::FAR_FUTURE);
    }

    /// The UE leaves its master node, and the SCG if there is one; with `keeps` it returns to its PSCell.
    pub(crate) fn leave_master(&mut self, keeps: bool) -> Option<Action> {
        let (left, executed) = match self.state {
            State::Active(cell) => (Some(cell), Some(cell)),
            State::Executed { cell, .. } => (None, Some(cell)),
            State::Absent => (None, None),
        };
        self.kept = executed.or(self.kept).filter(|_| keeps);
        (self.state, self.trigger, self.command_at) = (State::Absent, None, None);
        self.blocked_until = Instant::FAR_FUTURE;
        left.map(Action::Leave)
    }

    /// The UE has arrived at a master node.
    pub(crate) fn enter_master(&mut self, now: Instant) {
        self.blocked_until = now;
        if let Some(cell) = self.kept.take() {
            self.state = State::Executed { cell, until: now + self.config.execution };
        }
    }

    pub(crate) fn candidates(&self) -> &[CellId] {
        &self.candidates
    }

    /// The PSCell, if the SCG can be used.
    pub(crate) const fn active(&self) -> Option<CellId> {
        match self.state {
            State::Active(cell) => Some(cell),
            State::Absent | State::Executed { .. } => None,
        }
    }

    /// The best candidate is active from the start, if its RSRP allows it.
    pub(crate) fn start(&mut self, rsrp: &[Dbm]) -> Option<CellId> {
        let (place, best) = best_of(rsrp.iter().map(|dbm| Some(dbm.0)))?;
        (best > self.config.add_above.0).then(|| {
            let cell = self.candidates[place];
            self.state = State::Active(cell);
            self.first = Some(cell);
            cell
        })
    }

    /// The PSCell from the start, once.
    pub(crate) fn begin(&mut self) -> Option<Action> {
        self.first.take().map(Action::Begin)
    }

    /// When something is due.
    pub(crate) fn due(&self) -> Instant {
        let link = self.active().map_or(Instant::FAR_FUTURE, |_| self.frame_at);
        let access = match self.state {
            State::Executed { until, .. } => until,
            State::Absent | State::Active(_) => Instant::FAR_FUTURE,
        };
        let command = self.command_at.unwrap_or(Instant::FAR_FUTURE);
        self.measures_at.min(link).min(access).min(command)
    }

    /// Whether the UE measures now.
    pub(crate) fn measures(&self, now: Instant) -> bool {
        self.measures_at <= now
    }

    /// The RSRP of the candidates; minus infinity for one that is not received.
    pub(crate) fn measure(&mut self, now: Instant, rsrp: &[Dbm]) -> Option<Action> {
        self.measures_at = now + PERIOD;
        for (filter, measured) in self.rsrp.iter_mut().zip(rsrp) {
            match measured.0 == f64::NEG_INFINITY {
                true => *filter = Filter::default(),
                false => _ = filter.sample(measured.0, COEFFICIENT),
            }
        }
        if self.command_at.is_some() || matches!(self.state, State::Executed { .. }) {
            return None;
        }
        let found = self.find_trigger(now);
        self.trigger = found.map(|trigger| match self.trigger {
            Some((same, since)) if same == trigger => (same, since),
            _ => (trigger, now),
        });
        let (trigger, since) = self.trigger?;
        (since + self.config.time_to_trigger <= now).then(|| {
            self.command_at = Some(now + self.config.preparation);
            match (trigger, self.state) {
                (Trigger::Add(cell) | Trigger::Change(cell), _) => Action::Report(cell),
                (Trigger::Release, State::Active(cell)) => Action::Report(cell),
                (Trigger::Release, _) => unreachable!("only an SCG is released"),
            }
        })
    }

    /// The event whose condition is fulfilled.
    fn find_trigger(&self, now: Instant) -> Option<Trigger> {
        let of = |cell: CellId| {
            let place = self.candidates.iter().position(|other| *other == cell)?;
            self.rsrp[place].value()
        };
        let best =
            best_of(self.rsrp.iter().map(Filter::value)).map(|(place, dbm)| (self.candidates[place], dbm));
        match self.state {
            State::Active(cell) => {
                let own = of(cell).unwrap_or(f64::NEG_INFINITY);
                match best {
                    Some((other, dbm)) if other != cell && dbm > own + self.config.change_offset.0 => {
                        Some(Trigger::Change(other))
                    }
                    _ => (own < self.config.release_below.0).then_some(Trigger::Release),
                }
            }
            State::Absent if now >= self.blocked_until => {
                let (cell, _) = best.filter(|(_, dbm)| *dbm > self.config.add_above.0)?;
                Some(Trigger::Add(cell))
            }
            State::Absent | State::Executed { .. } => None,
        }
    }

    /// Whether the link is evaluated now.
    pub(crate) fn evaluates(&self, now: Instant) -> bool {
        self.active().is_some() && self.frame_at <= now
    }

    /// The linear SINR of PDCCH, 0 if it is not sent, and how often RLC has reached its maximum so far.
    pub(crate) fn evaluate(&mut self, now: Instant, sinr: f32, rlc_maxima: u64) -> Option<Action> {
        self.frame_at = now + FRAME;
        let cell = self.active()?;
        let reached = core::mem::replace(&mut self.rlc_maxima, rlc_maxima) < rlc_maxima;
        let mut failed = self.link.observe(now, sinr).is_some();
        failed |= reached && self.link.fail(now, Failure::RlcMaximum).is_some();
        while let Some(step) = self.link.handle_timeout(now) {
            failed |= matches!(step, Step::Failed(_));
        }
        failed.then(|| self.fail(now, cell))
    }

    fn fail(&mut self, now: Instant, cell: CellId) -> Action {
        self.state = State::Absent;
        (self.trigger, self.command_at) = (None, None);
        self.blocked_until = now + self.config.retry_after;
        Action::Fail(cell)
    }

    /// A command or a random access that is due. `is_on` tells whether the radio of a cell is on.
    pub(crate) fn step(&mut self, now: Instant, is_on: impl Fn(CellId) -> bool) -> Option<Action> {
        if let State::Executed { cell, until } = self.state
            && until <= now
        {
            if !is_on(cell) {
                return Some(self.fail(now, cell));
            }
            self.state = State::Active(cell);
            self.link.connected();
            self.frame_at = now + FRAME;
            return Some(Action::Add(cell));
        }
        if self.command_at.is_none_or(|at| at > now) {
            return None;
        }
        self.command_at = None;
        let (trigger, _) = self.trigger.take()?;
        let left = self.active();
        self.state = match trigger {
            Trigger::Add(cell) | Trigger::Change(cell) => {
                State::Executed { cell, until: now + self.config.execution }
            }
            Trigger::Release => State::Absent,
        };
        left.map(Action::Leave)
    }
}

/// The place and the value of the highest, the first of equal ones.
fn best_of(values: impl Iterator<Item = Option<f64>>) -> Option<(usize, f64)> {
    let known = values.enumerate().filter_map(|(place, value)| Some((place, value?)));
    known.fold(None, |best, (place, value)| match best {
        Some((_, most)) if most >= value => best,
        _ => Some((place, value)),
    })
}

#[cfg(test)]
mod tests;
