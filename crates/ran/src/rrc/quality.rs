//! Handover by the quality of the serving cell, as ns-3's A2A4RsrqHandoverAlgorithm: the UE reports that its
//! serving cell is worse than a threshold (event A2), and the quality of its neighbours (event A4). The eNB hands
//! the UE over if the best neighbour is better than the serving cell.
//!
//! The quantity is RSRQ (TS 36.214 §5.1.3, as the 89600 VSA help of Keysight quotes it;
//! unverified): N · RSRP / RSSI. RSSI is the received power over N resource blocks, from all cells of the carrier
//! and with noise, in the OFDM symbols with reference signals. It depends on the load of the cells: an idle cell
//! sends its reference signals alone. Both eNB and UE calculate with the reported values of TS 36.133 table 9.1.7-1.
//!
//! As in ns-3, hysteresis and time to trigger are zero, the intervals of the reports are constant, and the eNB
//! keeps the latest reported value of each neighbour until the UE changes its cell. (The inequalities of TS
//! 36.331 §5.5.4.3 and §5.5.4.5 are those in the source of ns-3.37, lte-ue-rrc.cc; unverified.)
//!
//! The source of a handover evaluates the reports. Here the UE's side does it at the time of the report, because
//! both kinds of reports take the same time: the result is the same.

use airlane_core::{CellId, Dbm, Decibel, Duration, Instant};

use airlane_radio::TransmissionMode;

use super::measurement::Filter;
use crate::config::CellConfig;

/// reportInterval of event A2 (a2-a4-rsrq-handover-algorithm.cc).
const A2_INTERVAL: Duration = Duration::from_millis(240);
/// reportInterval of event A4, there.
const A4_INTERVAL: Duration = Duration::from_millis(480);
/// The threshold of event A4, there: it reports every neighbour that the UE receives at all.
const A4_THRESHOLD: Reported = Reported(0);
/// Resource elements of a PRB in an OFDM symbol.
const ELEMENTS: f64 = 12.0;
/// Resource elements of them with reference signals of one antenna port (TS 36.211 §6.10.1.2).
const ELEMENTS_PER_PORT: f64 = 2.0;

/// A reported value of RSRQ (TS 36.133 §9.1.7): 0 below -19.5 dB, then steps of half a dB, 34 from -3 dB on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reported(pub u8);

impl Reported {
    /// The greatest.
    pub const MAX: Self = Self(34);

    /// The reported value of a quality.
    #[must_use]
    pub fn of(rsrq: Decibel) -> Self {
        Self((rsrq.0 * 2.0 + 40.0).floor().clamp(0.0, f64::from(Self::MAX.0)) as u8)
    }

    /// As the threshold of an event: the lowest quality that has this value; of 0, -20 dB.
    #[must_use]
    pub fn threshold(self) -> Decibel {
        Decibel(f64::from(self.0) / 2.0 - 20.0)
    }
}

/// The resource elements that count in RSSI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rssi {
    /// All of the measured symbols (TS 36.214): it depends on load.
    AllElements,
    /// Those of the reference signals of one port, as ns-3 counts them: it does not depend on load.
    ReferenceSignals,
}

/// The configuration of a UE and its eNB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QualityRule {
    /// ServingCellThreshold: event A2 holds while the serving cell is below it.
    pub serving_threshold: Reported,
    /// NeighbourCellOffset: how much greater the reported value of a neighbour must be.
    pub neighbour_offset: u8,
    /// How RSSI is measured.
    pub rssi: Rssi,
}

/// The contribution of a cell to RSSI.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Emission {
    /// Its carrier; only cells of one carrier are summed.
    pub(crate) carrier: usize,
    /// Antenna ports with reference signals.
    pub(crate) ports: u8,
    /// The share of its PRBs that carry data.
    pub(crate) load: f64,
}

impl Emission {
    /// Those of all cells, of which some have a load.
    pub(crate) fn of_cells<'a>(
        cells: impl Iterator<Item = &'a CellConfig> + Clone,
        load_of: impl Fn(usize) -> f64,
    ) -> Vec<Self> {
        let carrier = |cell: &CellConfig| {
            let mut all = cells.clone();
            all.position(|other| other.downlink_hz == cell.downlink_hz).expect("it is among them")
        };
        let emission = |(index, cell): (usize, &CellConfig)| Self {
            carrier: carrier(cell),
            ports: if cell.transmission_mode == TransmissionMode::SingleAntenna { 1 } else { 2 },
            load: if cell.interferer { 1.0 } else { load_of(index) },
        };
        cells.clone().enumerate().map(emission).collect()
    }
}

impl Rssi {
    /// Sent resource elements of a PRB, each with the power of a reference signal.
    fn elements(self, emission: &Emission) -> f64 {
        let reference = ELEMENTS_PER_PORT * f64::from(emission.ports);
        match self {
            Self::AllElements => reference + (ELEMENTS - reference) * emission.load,
            Self::ReferenceSignals => ELEMENTS_PER_PORT,
        }
    }

    /// RSRQ of each cell in dB, from its RSRP and the power of the noise in a PRB. A cell with an RSRP of minus
    /// infinity is not received, and has a quality of minus infinity.
    pub(crate) fn quality(self, rsrp: &[Dbm], emissions: &[Emission], noise: Dbm, out: &mut [Decibel]) {
        let milliwatts = |power: Dbm| libm::pow(10.0, power.0 / 10.0);
        let noise_elements = match self {
            Self::AllElements => ELEMENTS,
            Self::ReferenceSignals => ELEMENTS_PER_PORT,
        };
        for (cell, emission) in emissions.iter().enumerate() {
            if rsrp[cell].0 == f64::NEG_INFINITY {
                out[cell] = Decibel(f64::NEG_INFINITY);
                continue;
            }
            let on_carrier =
                rsrp.iter().zip(emissions).filter(|(_, other)| other.carrier == emission.carrier);
            let received = on_carrier.map(|(power, other)| milliwatts(*power) * self.elements(other));
            let rssi = milliwatts(noise) / ELEMENTS * noise_elements + received.sum::<f64>();
            out[cell] = Decibel(10.0 * libm::log10(milliwatts(rsrp[cell]) / rssi));
        }
    }
}

/// The state of both events of a UE, and the knowledge of its eNB.
#[derive(Clone, Debug)]
pub(crate) struct QualityEvents {
    rule: QualityRule,
    filter_coefficient: u8,
    rsrq: Vec<Filter>,
    /// The time of the next report of event A2 while it lasts.
    serving_due: Option<Instant>,
    /// Neighbours for which event A4 lasts, and the time of their next report.
    triggered: Vec<bool>,
    neighbours_due: Option<Instant>,
    /// The latest reported value of each neighbour.
    known: Vec<Option<Reported>>,
}

impl QualityEvents {
    pub(crate) fn new(rule: QualityRule, filter_coefficient: u8, cells: usize) -> Self {
        Self {
            rule,
            filter_coefficient,
            rsrq: vec![Filter::default(); cells],
            serving_due: None,
            triggered: vec![false; cells],
            neighbours_due: None,
            known: vec![None; cells],
        }
    }

    /// Adds a sample of each cell. Returns the target of a handover if the eNB decides on one.
    pub(crate) fn sample(
        &mut self,
        now: Instant,
        serving: CellId,
        rsrq: &[Decibel],
        is_neighbour: impl Fn(CellId) -> bool,
    ) -> Option<CellId> {
        assert_eq!(rsrq.len(), self.rsrq.len(), "one sample per cell");
        for (cell, measured) in (0..).map(CellId).zip(rsrq) {
            if measured.0 == f64::NEG_INFINITY {
                self.rsrq[cell.index()] = Filter::default();
                self.forget(cell);
            } else {
                self.rsrq[cell.index()].sample(measured.0, self.filter_coefficient);
            }
        }
        let Some(own) = self.quality(serving) else {
            self.change_cell();
            return None;
        };
        // Event A2 first, as the first of the two measurement identities.
        let threshold = self.rule.serving_threshold.threshold();
        let target = match self.serving_due {
            None if own < threshold => self.report_serving(now, own),
            Some(_) if own > threshold => {
                self.serving_due = None;
                None
            }
            _ => None,
        };
        self.update_neighbours(now, |cell| cell != serving && is_neighbour(cell));
        target
    }

    /// Inequalities A4-1 and A4-2; a new neighbour is reported at once.
    fn update_neighbours(&mut self, now: Instant, is_neighbour: impl Fn(CellId) -> bool) {
        let threshold = A4_THRESHOLD.threshold();
        let mut is_new = false;
        for cell in (0..self.rsrq.len() as u32).map(CellId) {
            let quality = self.quality(cell).filter(|_| is_neighbour(cell));
            let triggered = &mut self.triggered[cell.index()];
            match quality {
                Some(quality) if quality > threshold => {
                    is_new |= !*triggered;
                    *triggered = true;
                }
                Some(quality) if quality == threshold => {}
                Some(_) | None => *triggered = false,
            }
        }
        if is_new {
            self.report_neighbours(now);
        } else if !self.triggered.contains(&true) {
            self.neighbours_due = None;
        }
    }

    /// The time of the next report.
    pub(crate) fn next_timeout(&self) -> Option<Instant> {
        self.serving_due.into_iter().chain(self.neighbours_due).min()
    }

    /// Sends the reports that are due. Returns the target of a handover if the eNB decides on one.
    pub(crate) fn handle_timeout(&mut self, now: Instant, serving: CellId) -> Option<CellId> {
        if self.neighbours_due.is_some_and(|at| at <= now) {
            self.report_neighbours(now);
        }
        let own = self.quality(serving)?;
        self.serving_due.filter(|at| *at <= now).and_then(|_| self.report_serving(now, own))
    }

    /// Filtered RSRQ of a cell, once it was measured.
    pub(crate) fn quality(&self, cell: CellId) -> Option<Decibel> {
        self.rsrq[cell.index()].value().map(Decibel)
    }

    fn report_neighbours(&mut self, now: Instant) {
        self.neighbours_due = Some(now + A4_INTERVAL);
        for cell in (0..self.rsrq.len() as u32).map(CellId) {
            if self.triggered[cell.index()] {
                self.known[cell.index()] = self.quality(cell).map(Reported::of);
            }
        }
    }

    /// The eNB receives a report of event A2: it selects the best neighbour, if that is good enough.
    fn report_serving(&mut self, now: Instant, own: Decibel) -> Option<CellId> {
        self.serving_due = Some(now + A2_INTERVAL);
        let mut best: Option<(CellId, Reported)> = None;
        for (cell, known) in (0..).map(CellId).zip(&self.known) {
            if let Some(value) = known.filter(|value| best.is_none_or(|(_, most)| *value > most)) {
                best = Some((cell, value));
            }
        }
        let (target, value) = best.filter(|(_, value)| *value > Reported(0))?;
        let better = i16::from(value.0) - i16::from(Reported::of(own).0);
        (better >= i16::from(self.rule.neighbour_offset)).then_some(target)
    }

    /// Resets the event of this neighbour, and the knowledge of the eNB about it.
    pub(crate) fn forget(&mut self, cell: CellId) {
        self.triggered[cell.index()] = false;
        self.known[cell.index()] = None;
    }

    /// The UE has changed its cell: the events and the knowledge of the eNB are reset; the filters continue.
    pub(crate) fn change_cell(&mut self) {
        (self.serving_due, self.neighbours_due) = (None, None);
        self.triggered.fill(false);
        self.known.fill(None);
    }
}

#[cfg(test)]
mod tests;
