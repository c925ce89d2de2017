//! Measurements of a UE: the reported quantities of its cells, and event A3, which triggers a report.
//!
//! The processing of a sample: received power of reference signals over the measurement period
//! (layer 1, TS 36.133 v17.0 §8.1.2.2: 200 ms) → [`Filter`] (layer 3, TS 36.331 v17.0 §5.5.3.2) →
//! [`EventA3`] (§5.5.4.4) with its time to trigger (§5.5.4.1). This is pure logic: the caller
//! supplies time and samples.
//!
//! Events A2 and A4 are in [`super::quality`]. Not included: other events, offsets of single cells and frequencies (Ocn, Ofn),
//! measurements that wait for measurement gaps, speed-dependent scaling, and the accuracy that TS 36.133 §9 allows. (TS 36.133
//! §8.1.2.2: unverified. ns-3 has the same 200 ms: `m_ueMeasurementsFilterPeriod` in `src/lte/model/lte-ue-phy.cc`.)
//!
//! ```
//! use airlane_core::{CellId, Dbm, Decibel, Duration, Instant};
//! use airlane_ran::rrc::measurement::{EventA3, MeasurementConfig, Measurements};
//!
//! let config = MeasurementConfig {
//!     period: Duration::from_millis(200),
//!     filter_coefficient: 4,
//!     event: EventA3 {
//!         offset: Decibel(0.0),
//!         hysteresis: Decibel(3.0),
//!         time_to_trigger: Duration::from_millis(256),
//!     },
//!     report_interval: Duration::from_millis(240),
//!     quality: None,
//! };
//! let mut ue = Measurements::new(config, 2);
//! let mut report = |ms, neighbour| {
//!     let rsrp = [Dbm(-90.0), Dbm(neighbour)];
//!     ue.sample(Instant::from_millis(ms), CellId(0), &rsrp)
//! };
//! assert_eq!(report(200, -95.0), None);
//! assert_eq!(report(400, -80.0), None); // filtered: −87.5 dBm, not 3 dB better
//! assert_eq!(report(600, -80.0), None); // −83.75 dBm: the time to trigger begins
//! assert_eq!(report(800, -80.0), None); // 200 ms
//! assert_eq!(report(1000, -80.0), Some(CellId(1)));
//! ```

use airlane_core::{CellId, Dbm, Decibel, Duration, Instant};

use super::quality::QualityRule;

/// The measurement configuration of a UE.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementConfig {
    /// The period of layer 1's samples for layer 3.
    pub period: Duration,
    /// k: the weight of a new sample is 2^(-k/4). 0 disables the filter.
    pub filter_coefficient: u8,
    /// When a report is due.
    pub event: EventA3,
    /// reportInterval: the period at which a report is repeated while the event lasts.
    pub report_interval: Duration,
    /// Events A2 and A4 on RSRQ instead of event A3.
    pub quality: Option<QualityRule>,
}

/// Event A3: a neighbour becomes better than the serving cell by an offset.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EventA3 {
    /// a3-Offset: the required difference of the neighbour; -15 to 15 dB in steps of half a dB.
    pub offset: Decibel,
    /// Hysteresis, to enter and to leave; 0 to 15 dB in steps of half a dB.
    pub hysteresis: Decibel,
    /// How long the entering condition must be fulfilled.
    pub time_to_trigger: Duration,
}

impl EventA3 {
    /// Inequality A3-1: Mn − Hys > Mp + Off.
    #[must_use]
    pub fn entered(&self, neighbour: Dbm, serving: Dbm) -> bool {
        neighbour.0 - self.hysteresis.0 > serving.0 + self.offset.0
    }

    /// Inequality A3-2: Mn + Hys < Mp + Off.
    #[must_use]
    pub fn left(&self, neighbour: Dbm, serving: Dbm) -> bool {
        neighbour.0 + self.hysteresis.0 < serving.0 + self.offset.0
    }
}

/// Layer 3 filtering of one quantity (TS 36.331 v17.0 §5.5.3.2), in dB as it is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filter {
    value: Option<f64>,
}

impl Filter {
    /// Fₙ = (1 − a) Fₙ₋₁ + a Mₙ with a = 2^(−k/4); the first sample is used unfiltered.
    pub fn sample(&mut self, measured: f64, coefficient: u8) -> f64 {
        let weight = libm::exp2(-f64::from(coefficient) / 4.0);
        let filtered = self.value.map_or(measured, |before| (1.0 - weight) * before + weight * measured);
        self.value = Some(filtered);
        filtered
    }

    /// The latest filtered value.
    #[must_use]
    pub const fn value(&self) -> Option<f64> {
        self.value
    }
}

/// The state of event A3 for a neighbour.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Trigger {
    /// The entering condition is not fulfilled.
    Idle,
    /// It has been fulfilled since this time.
    Waiting(Instant),
    /// It was fulfilled for the time to trigger, and the leaving condition has not been fulfilled
    /// since. The time is that of the latest report.
    Reported(Instant),
}

/// The measurements of one UE.
#[derive(Clone, Debug)]
pub struct Measurements {
    config: MeasurementConfig,
    rsrp: Vec<Filter>,
    triggers: Vec<Trigger>,
}

impl Measurements {
    /// For this many cells.
    #[must_use]
    pub fn new(config: MeasurementConfig, cells: usize) -> Self {
        Self { config, rsrp: vec![Filter::default(); cells], triggers: vec![Trigger::Idle; cells] }
    }

    /// Filtered RSRP of a cell in dBm, once it was measured.
    #[must_use]
    pub fn rsrp(&self, cell: CellId) -> Option<Dbm> {
        self.rsrp[cell.index()].value().map(Dbm)
    }

    /// Adds a sample of each cell, in the order of their numbers. Returns the best neighbour for which a
    /// report is due: a new event A3, if `handle_timeout` was not called after the time to trigger, or the
    /// repetition of its report while it lasts (TS 36.331 v17.0 §5.5.5: reportAmount is infinite).
    pub fn sample(&mut self, now: Instant, serving: CellId, rsrp: &[Dbm]) -> Option<CellId> {
        self.sample_among(now, serving, rsrp, |_| true)
    }

    /// [`Self::sample`] where the event concerns only neighbours of the serving cell. A cell with a sample of minus
    /// infinity is not received: its filter and event state are reset, and nothing is reported if it is the serving
    /// one.
    pub fn sample_among(
        &mut self,
        now: Instant,
        serving: CellId,
        rsrp: &[Dbm],
        is_neighbour: impl Fn(CellId) -> bool,
    ) -> Option<CellId> {
        assert_eq!(rsrp.len(), self.rsrp.len(), "one sample per cell");
        let coefficient = self.config.filter_coefficient;
        for (cell, (filter, measured)) in self.rsrp.iter_mut().zip(rsrp).enumerate() {
            if measured.0 == f64::NEG_INFINITY {
                (*filter, self.triggers[cell]) = (Filter::default(), Trigger::Idle);
            } else {
                filter.sample(measured.0, coefficient);
            }
        }
        let Some(own) = self.rsrp(serving) else {
            self.triggers.fill(Trigger::Idle);
            return None;
        };
        let mut best: Option<(CellId, Dbm)> = None;
        let cells = (0..rsrp.len() as u32).map(CellId);
        // Of a large network, most are not received: that is asked first.
        for cell in cells.filter(|cell| *cell != serving) {
            let Some(theirs) = self.rsrp(cell).filter(|_| is_neighbour(cell)) else { continue };
            if self.step(now, cell, theirs, own) && best.is_none_or(|(_, most)| theirs > most) {
                best = Some((cell, theirs));
            }
        }
        best.map(|(cell, _)| cell)
    }

    /// The neighbours whose event has been entered and not been left.
    pub(crate) fn in_event(&self) -> impl Iterator<Item = CellId> {
        (0..)
            .map(CellId)
            .zip(&self.triggers)
            .filter(|(_, trigger)| **trigger != Trigger::Idle)
            .map(|(cell, _)| cell)
    }

    /// When the time to trigger of a neighbour ends, if that is before the next sample.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let waiting = self.triggers.iter().filter_map(|trigger| match trigger {
            Trigger::Waiting(since) => Some(since.saturating_add(self.config.event.time_to_trigger)),
            Trigger::Idle | Trigger::Reported(_) => None,
        });
        waiting.min()
    }

    /// Between two samples: every sample within the time to trigger fulfilled the condition (TS
    /// 36.331 v17.0 §5.5.4.1). Returns the best of the neighbours for which that time is over.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<CellId> {
        let mut best: Option<(CellId, Dbm)> = None;
        for index in 0..self.triggers.len() {
            let Trigger::Waiting(since) = self.triggers[index] else { continue };
            if now.saturating_since(since) < self.config.event.time_to_trigger {
                continue;
            }
            self.triggers[index] = Trigger::Reported(now);
            let cell = CellId(index as u32);
            let theirs = self.rsrp(cell).expect("it was better than the serving cell");
            if best.is_none_or(|(_, most)| theirs > most) {
                best = Some((cell, theirs));
            }
        }
        best.map(|(cell, _)| cell)
    }

    /// Updates a neighbour's trigger. Returns true if it becomes due.
    fn step(&mut self, now: Instant, cell: CellId, theirs: Dbm, own: Dbm) -> bool {
        let event = self.config.event;
        let interval = self.config.report_interval;
        let trigger = &mut self.triggers[cell.index()];
        let since = match *trigger {
            Trigger::Reported(latest) => {
                let again = now.saturating_since(latest) >= interval;
                if event.left(theirs, own) {
                    *trigger = Trigger::Idle;
                    return false;
                } else if again {
                    *trigger = Trigger::Reported(now);
                }
                return again;
            }
            Trigger::Idle => now,
            Trigger::Waiting(since) => since,
        };
        if !event.entered(theirs, own) {
            *trigger = Trigger::Idle;
            return false;
        }
        let due = now.saturating_since(since) >= event.time_to_trigger;
        *trigger = if due { Trigger::Reported(now) } else { Trigger::Waiting(since) };
        due
    }

    /// Resets the event state of this neighbour.
    pub fn forget_event(&mut self, cell: CellId) {
        self.triggers[cell.index()] = Trigger::Idle;
    }

    /// The UE has changed its cell: the event state is reset (TS 36.331 v17.0 §5.5.6.1); the
    /// filters continue.
    pub fn change_cell(&mut self) {
        self.triggers.fill(Trigger::Idle);
    }
}

#[cfg(test)]
mod tests;
