//! When the UEs of a network measure, and their reports.

use std::collections::VecDeque;

use airlane_core::{CellId, Dbm, Decibel, Duration, Instant, UeId};

use super::measurement::{MeasurementConfig, Measurements};
use super::quality::{Emission, QualityEvents, QualityRule, Rssi};
use crate::config::CellConfig;
use crate::interference::Air;
use crate::network::{CellQuality, ReportEvent};
use crate::ue::Ue;

/// A UE's report that starts a handover.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasurementReport {
    /// The time.
    pub at: Instant,
    /// The UE.
    pub ue: UeId,
    /// The best of the cells that fulfil the condition.
    pub target: CellId,
}

/// The state of handovers by the quality of the serving cell.
#[derive(Debug)]
struct Quality {
    rule: QualityRule,
    ues: Vec<QualityEvents>,
    /// By cell: its contribution to the received power, and its resource blocks for the downlink in a period.
    emissions: Vec<Emission>,
    most: Vec<u64>,
    /// Cells that only interfere, whose load is constant.
    constant: Vec<bool>,
    /// Resource blocks used until the latest sample.
    used: Vec<u64>,
    /// RSRP before fading at the latest sample, by UE and cell.
    before: Vec<Vec<Option<Dbm>>>,
    rsrp: Vec<Dbm>,
    samples: Vec<Decibel>,
}

impl Quality {
    fn new(config: &MeasurementConfig, rule: QualityRule, ues: usize, cells: &[CellConfig]) -> Self {
        let events = QualityEvents::new(rule, config.filter_coefficient, cells.len());
        Self {
            rule,
            ues: vec![events; ues],
            emissions: Emission::of_cells(cells.iter(), |_| 0.0),
            most: cells.iter().map(|cell| blocks_in(cell, config.period)).collect(),
            constant: cells.iter().map(|cell| cell.interferer).collect(),
            used: vec![0; cells.len()],
            before: vec![vec![None; cells.len()]; ues],
            rsrp: vec![Dbm(0.0); cells.len()],
            samples: vec![Decibel(0.0); cells.len()],
        }
    }

    /// A sample of a UE. Returns the target of a handover if its eNB decides on one.
    fn sample(
        &mut self,
        now: Instant,
        period: Duration,
        ue: &mut Ue,
        silent: &[bool],
        is_neighbour: impl Fn(CellId) -> bool,
    ) -> Option<CellId> {
        let index = ue.id.index();
        let link = ue.links.primary_mut();
        let before = &mut self.before[index];
        link.measure_mean_rsrp(now, period, &mut ue.mobility, before, &mut self.rsrp);
        for (rsrp, _) in self.rsrp.iter_mut().zip(silent).filter(|(_, silent)| **silent) {
            rsrp.0 = f64::NEG_INFINITY;
        }
        let noise = link.downlink.channel.noise();
        self.rule.rssi.quality(&self.rsrp, &self.emissions, noise, &mut self.samples);
        self.ues[index].sample(now, link.cell, &self.samples, is_neighbour)
    }

    /// The load of each cell in the slots that were scheduled in the period.
    fn measure_load(&mut self, air: &Air) {
        for (cell, now) in air.used().iter().enumerate() {
            if !self.constant[cell] {
                let most = self.most[cell] as f64;
                self.emissions[cell].load = ((now - self.used[cell]) as f64 / most).min(1.0);
            }
            self.used[cell] = *now;
        }
    }
}

/// Resource blocks of the slots of a cell that have a downlink, in a period.
fn blocks_in(cell: &CellConfig, period: Duration) -> u64 {
    let slots = (period.as_nanos() / cell.numerology.slot.as_nanos()).max(1);
    let with_downlink = (0..slots).filter(|slot| cell.numerology.duplex.downlink_symbols(*slot) > 0).count();
    with_downlink as u64 * u64::from(cell.resource_blocks)
}

/// The measurements of all UEs.
#[derive(Debug)]
pub(crate) struct Monitor {
    config: MeasurementConfig,
    next_sample: Instant,
    /// The earliest end of a time to trigger; `FAR_FUTURE` if there is none.
    next_timeout: Instant,
    ues: Vec<Measurements>,
    /// `None` with event A3.
    quality: Option<Quality>,
    reports: VecDeque<MeasurementReport>,
    samples: Vec<Dbm>,
    /// For each cell, the cells that its UEs report.
    neighbours: Vec<Vec<CellId>>,
    /// By cell: whether its radio is off, and whether UEs must not report it for now.
    silent: Vec<bool>,
    shunned: Vec<bool>,
}

impl Monitor {
    pub(crate) fn new(
        config: MeasurementConfig,
        ues: usize,
        cells: &[CellConfig],
        neighbours: Vec<Vec<CellId>>,
    ) -> Self {
        let quality = config.quality.map(|rule| Quality::new(&config, rule, ues, cells));
        let cells = neighbours.len();
        assert!(config.period > Duration::ZERO, "UEs would measure all the time");
        Self {
            config,
            next_sample: Instant::ZERO + config.period,
            next_timeout: Instant::FAR_FUTURE,
            ues: vec![Measurements::new(config, cells); ues],
            quality,
            reports: VecDeque::with_capacity(ues),
            samples: vec![Dbm(0.0); cells],
            neighbours,
            silent: vec![false; cells],
            shunned: vec![false; cells],
        }
    }

    /// A UE was added.
    pub(crate) fn add_ue(&mut self) {
        let cells = self.neighbours.len();
        self.ues.push(Measurements::new(self.config, cells));
        if let Some(quality) = &mut self.quality {
            quality.ues.push(QualityEvents::new(quality.rule, self.config.filter_coefficient, cells));
            quality.before.push(vec![None; cells]);
        }
    }

    /// When the next period ends, or a time to trigger if that is before.
    pub(crate) fn next(&self) -> Instant {
        self.next_sample.min(self.next_timeout)
    }

    /// Executes the next due action. At the end of a period every UE samples every cell.
    pub(crate) fn measure(&mut self, ues: &mut [Ue], air: &Air) {
        if self.next_sample <= self.next_timeout {
            self.sample(ues, air);
        } else {
            self.handle_timeouts(ues);
        }
        self.next_timeout = match &self.quality {
            None => self.ues.iter().filter_map(Measurements::next_timeout).min(),
            Some(quality) => quality.ues.iter().filter_map(QualityEvents::next_timeout).min(),
        }
        .unwrap_or(Instant::FAR_FUTURE);
    }

    fn handle_timeouts(&mut self, ues: &[Ue]) {
        let at = self.next_timeout;
        for (index, ue) in ues.iter().enumerate().take(self.ues.len()) {
            let due = match &mut self.quality {
                None => self.ues[index].handle_timeout(at),
                Some(quality) => quality.ues[index].handle_timeout(at, ue.cell()),
            };
            if let Some(target) = due {
                self.reports.push_back(MeasurementReport { at, ue: ue.id, target });
            }
        }
    }

    fn sample(&mut self, ues: &mut [Ue], air: &Air) {
        let now = self.next_sample;
        self.next_sample = now + self.config.period;
        if let Some(quality) = &mut self.quality {
            quality.measure_load(air);
        }
        for (ue, measurements) in ues.iter_mut().zip(&mut self.ues).filter(|(ue, _)| ue.is_present) {
            let link = ue.links.primary_mut();
            link.measure_rsrp(now, &mut ue.mobility, &self.config, &mut self.samples);
            for (sample, _) in self.samples.iter_mut().zip(&self.silent).filter(|(_, silent)| **silent) {
                sample.0 = f64::NEG_INFINITY;
            }
            let (neighbours, shunned) = (&self.neighbours[ue.cell().index()], &self.shunned);
            let is_neighbour = |cell: CellId| neighbours.contains(&cell) && !shunned[cell.index()];
            let better = measurements.sample_among(now, ue.cell(), &self.samples, is_neighbour);
            let due = match &mut self.quality {
                None => better,
                Some(quality) => quality.sample(now, self.config.period, ue, &self.silent, is_neighbour),
            };
            if let Some(target) = due {
                self.reports.push_back(MeasurementReport { at: now, ue: ue.id, target });
            }
            ue.links.primary_mut().neighbours.hold(measurements.in_event());
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

    /// The event that makes UEs report.
    pub(crate) const fn event(&self) -> ReportEvent {
        if self.quality.is_some() { ReportEvent::A2 } else { ReportEvent::A3 }
    }

    /// The cells that a UE has measured. RSRQ is the filtered one if UEs measure it. Otherwise it follows from the
    /// filtered RSRP, from `emissions`, and from the noise of a PRB.
    pub(crate) fn qualities(&self, ue: UeId, emissions: &[Emission], noise: Dbm) -> Vec<CellQuality> {
        let rsrp = self.rsrp(ue);
        let mut rsrq = vec![Decibel(f64::NEG_INFINITY); rsrp.len()];
        match &self.quality {
            None => Rssi::AllElements.quality(&rsrp, emissions, noise, &mut rsrq),
            Some(quality) => {
                for (cell, out) in (0..).map(CellId).zip(&mut rsrq) {
                    *out = quality.ues[ue.index()].quality(cell).unwrap_or(*out);
                }
            }
        }
        let cells = (0..).map(CellId).zip(rsrp.into_iter().zip(rsrq));
        let known = cells.filter(|(_, (rsrp, rsrq))| rsrp.0.is_finite() && rsrq.0.is_finite());
        known.map(|(cell, (rsrp, rsrq))| CellQuality { cell, rsrp, rsrq }).collect()
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
        self.quality.iter_mut().flat_map(|quality| &mut quality.ues).for_each(|ue| ue.forget(cell));
        self.reports.retain(|report| report.target != cell);
    }

    /// A UE has changed its cell.
    pub(crate) fn change_cell(&mut self, ue: UeId) {
        self.ues[ue.index()].change_cell();
        if let Some(quality) = &mut self.quality {
            quality.ues[ue.index()].change_cell();
        }
        self.reports.retain(|report| report.ue != ue);
    }
}
