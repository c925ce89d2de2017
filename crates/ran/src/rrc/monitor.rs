//! When the UEs of a network measure, and their reports.

use std::collections::VecDeque;

use airlane_core::{CellId, Dbm, Duration, Instant, UeId};

use super::measurement::{MeasurementConfig, Measurements};
use crate::ue::Ue;

/// A UE's report of event A3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementReport {
    /// The time.
    pub at: Instant,
    /// The UE.
    pub ue: UeId,
    /// The best of the cells that fulfil the condition.
    pub target: CellId,
}

/// The measurements of all UEs.
#[derive(Debug)]
pub(crate) struct Monitor {
    config: MeasurementConfig,
    next_sample: Instant,
    /// The earliest end of a time to trigger; `FAR_FUTURE` if there is none.
    next_timeout: Instant,
    ues: Vec<Measurements>,
    reports: VecDeque<MeasurementReport>,
    samples: Vec<Dbm>,
    /// For each cell, the cells that its UEs report.
    neighbours: Vec<Vec<CellId>>,
    /// By cell: whether its radio is off, and whether UEs must not report it for now.
    silent: Vec<bool>,
    shunned: Vec<bool>,
}

impl Monitor {
    pub(crate) fn new(config: MeasurementConfig, ues: usize, neighbours: Vec<Vec<CellId>>) -> Self {
        let cells = neighbours.len();
        assert!(config.period > Duration::ZERO, "UEs would measure all the time");
        Self {
            config,
            next_sample: Instant::ZERO + config.period,
            next_timeout: Instant::FAR_FUTURE,
            ues: vec![Measurements::new(config, cells); ues],
            reports: VecDeque::with_capacity(ues),
            samples: vec![Dbm(0.0); cells],
            neighbours,
            silent: vec![false; cells],
            shunned: vec![false; cells],
        }
    }

    /// When the next period ends, or a time to trigger if that is before.
    pub(crate) fn next(&self) -> Instant {
        self.next_sample.min(self.next_timeout)
    }

    /// Executes the next due action. At the end of a period every UE samples every cell.
    pub(crate) fn measure(&mut self, ues: &mut [Ue]) {
        if self.next_sample <= self.next_timeout {
            self.sample(ues);
        } else {
            let at = self.next_timeout;
            for (ue, measurements) in ues.iter().zip(&mut self.ues) {
                if let Some(target) = measurements.handle_timeout(at) {
                    self.reports.push_back(MeasurementReport { at, ue: ue.id, target });
                }
            }
        }
        let timeouts = self.ues.iter().filter_map(Measurements::next_timeout);
        self.next_timeout = timeouts.min().unwrap_or(Instant::FAR_FUTURE);
    }

    fn sample(&mut self, ues: &mut [Ue]) {
        let now = self.next_sample;
        self.next_sample = now + self.config.period;
        for (ue, measurements) in ues.iter_mut().zip(&mut self.ues) {
            ue.measure_rsrp(now, &self.config, &mut self.samples);
            for (sample, _) in self.samples.iter_mut().zip(&self.silent).filter(|(_, silent)| **silent) {
                sample.0 = f64::NEG_INFINITY;
            }
            let (neighbours, shunned) = (&self.neighbours[ue.cell.index()], &self.shunned);
            let due = measurements.sample_among(now, ue.cell, &self.samples, |cell| {
                neighbours.contains(&cell) && !shunned[cell.index()]
            });
            if let Some(target) = due {
                self.reports.push_back(MeasurementReport { at: now, ue: ue.id, target });
            }
        }
    }

    /// Removes the oldest report.
    pub(crate) fn take(&mut self) -> Option<MeasurementReport> {
        self.reports.pop_front()
    }

    /// Filtered RSRP of every cell at a UE, by cell; minus infinity for a cell that it does not receive.
    pub(crate) fn rsrp(&self, ue: UeId) -> Vec<Dbm> {
        let cells = (0..self.samples.len() as u32).map(CellId);
        let known = |cell: CellId| self.ues[ue.index()].rsrp(cell).filter(|_| !self.silent[cell.index()]);
        cells.map(|cell| known(cell).unwrap_or(Dbm(f64::NEG_INFINITY))).collect()
    }

    /// The best neighbour of a UE's serving cell, and its RSRP relative to the serving cell in dB.
    pub(crate) fn best_neighbour(&self, ue: UeId, serving: CellId) -> Option<(CellId, f64)> {
        let rsrp = self.rsrp(ue);
        let own = rsrp[serving.index()];
        let mut best: Option<(CellId, f64)> = None;
        for &cell in self.neighbours[serving.index()].iter().filter(|cell| !self.shunned[cell.index()]) {
            let over = rsrp[cell.index()].0 - own.0;
            if over.is_finite() && best.is_none_or(|(_, most)| over > most) {
                best = Some((cell, over));
            }
        }
        best
    }

    /// Switches the radio of a cell off or on.
    pub(crate) fn switch(&mut self, cell: CellId, on: bool) {
        self.silent[cell.index()] = !on;
        self.forget(cell);
    }

    /// Excludes a cell from reports, or admits it again.
    pub(crate) fn shun(&mut self, cell: CellId, shunned: bool) {
        self.shunned[cell.index()] = shunned;
        self.forget(cell);
    }

    /// Deletes pending reports of a cell.
    fn forget(&mut self, cell: CellId) {
        self.ues.iter_mut().for_each(|ue| ue.forget_event(cell));
        self.reports.retain(|report| report.target != cell);
    }

    /// A UE has changed its cell.
    pub(crate) fn change_cell(&mut self, ue: UeId) {
        self.ues[ue.index()].change_cell();
        self.reports.retain(|report| report.ue != ue);
    }
}
