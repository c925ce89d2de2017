//! CQI reports of a UE: their measurement, and when the scheduler can use them.
//!
//! A report is a function of the slot of its measurement, so it is computed only when the scheduler needs
//! it. Most reports are not near the best ones and are never needed.

use std::collections::VecDeque;

use airlane_core::Instant;
use airlane_radio::{Cqi, Mobility};

use crate::channel::BlockSinr;
use crate::config::{CellConfig, CqiReference, CqiReport, MacConfig, OutOfRange, RankRule};
use crate::interference::{Air, Moment, Noise, SNAPSHOT_PERIOD, Snapshot};
use crate::link::{Radio, ServingLink};
use crate::mac::drx::Drx;
use crate::mac::gaps::Gaps;
use crate::mac::grid::RbgSet;
use crate::mac::phy::{LinkAdaptation, SlotFormat};
use crate::mac::scheduler::MAX_RBGS;
use crate::numerology::Numerology;

/// The parts of a UE that its measurements need.
pub(crate) struct MeasuringUe<'a> {
    pub(crate) mobility: &'a mut Mobility,
    /// `None` if it listens all the time.
    pub(crate) drx: Option<&'a mut Drx>,
    /// `None` if it has no measurement gaps.
    pub(crate) gaps: Option<&'a Gaps>,
}

impl ServingLink {
    /// Makes the measurements that are due up to `slot`, and puts the newest usable report into force. A UE that sleeps
    /// makes none: after its sleep, its latest report before it is in force until the next one. Those of a gap are left out.
    pub(crate) fn measure_cqi(
        &mut self,
        slot: u64,
        ue: MeasuringUe<'_>,
        radio: Radio<'_>,
        amc: &LinkAdaptation,
        scratch: &mut [f32],
    ) {
        if ue.drx.is_none() && ue.gaps.is_none() && self.has_steady_reports(ue.mobility, radio.air) {
            return self.downlink.cqi.measure_steady(slot, &radio.cell.mac);
        }
        self.measure_each(slot, ue, radio, amc, scratch);
    }

    /// True if the reports depend only on the slot of their measurement.
    pub(crate) fn has_steady_reports(&self, mobility: &Mobility, air: &Air) -> bool {
        air.is_quiet() && self.downlink.channel.has_no_bursts() && mobility.is_static()
    }

    /// [`Self::measure_cqi`] for a UE whose reports depend on more than the slot of their measurement.
    fn measure_each(
        &mut self,
        slot: u64,
        MeasuringUe { mobility, mut drx, gaps }: MeasuringUe<'_>,
        radio: Radio<'_>,
        amc: &LinkAdaptation,
        scratch: &mut [f32],
    ) {
        let Radio { cell: serving, air } = radio;
        let now = serving.numerology.start_of(slot);
        let mac = &serving.mac;
        let mean = self.downlink.channel.mean_sinr(now, mobility);
        while let Some(measured) = self.downlink.cqi.next_due(slot, mac) {
            let measured = match &mut drx {
                Some(drx) => self.measured_while_awake(measured, now, drx, radio),
                None => Some(measured),
            };
            let is_sent = |slot: &u64| gaps.is_none_or(|gaps| gaps.let_send(&serving.numerology, *slot));
            let Some(measured) = measured.filter(is_sent) else { continue };
            let flat = self.downlink.channel.is_flat() && air.is_quiet();
            let snapshot = air.snapshot(now, &mut self.neighbours, mobility);
            let mean = mean * self.downlink.channel.burst_gain(serving.numerology.start_of(measured));
            let input = MeasurementInput { slot: measured, mean, snapshot };
            if flat {
                let measurement = Measurement { serving, amc, points: self.downlink.cqi.rbg_size };
                self.downlink.cqi.push_flat(input, |mean| measurement.flat(mean));
                continue;
            }
            let mut report = Report::of(input);
            // A UE whose report was needed may need this one, too. Where PDCCH can be missed, it looks at the same
            // fading of other cells in this slot.
            let is_shared = self.downlink.cqi.current.asked && mac.control_errors;
            // One that is in force after a sleep, or during a gap and after it, is too old to be computed then.
            let stays = drx.is_some() || gaps.is_some();
            if !air.is_quiet() && (is_shared || stays || !may_wait(serving)) {
                self.make_report(&mut report, radio, amc, scratch);
            }
            self.downlink.cqi.pending.push_back(report);
        }
        self.downlink.cqi.advance(slot, mac.cqi_delay);
    }

    /// The slot of a measurement that was due in a slot: that slot, if the UE listened; or the latest one before it fell
    /// asleep, if that is not known yet. `None` without a new measurement.
    fn measured_while_awake(
        &self,
        due: u64,
        now: Instant,
        drx: &mut Drx,
        Radio { cell, air }: Radio<'_>,
    ) -> Option<u64> {
        let reports = &self.downlink.cqi;
        let at = cell.numerology.start_of(due);
        let awake = drx.latest_active(at, now);
        if awake == at || !reports.is_valid() {
            return Some(due);
        }
        let known = reports.pending.back().unwrap_or(&reports.current).input.slot;
        let period = u64::from(cell.mac.cqi_period.max(1));
        let slot = cell.numerology.slot_from(awake).saturating_sub(1);
        let latest = (slot + period - reports.offset % period) / period * period;
        let latest = (latest + reports.offset % period).checked_sub(period)?;
        // Interference of a time that is long past is not known any more.
        (latest > known && air.is_quiet() && self.downlink.channel.has_no_bursts()).then_some(latest)
    }

    /// Computes the report in force at a time outside of the slots of the scheduler, if there is one. The interference of
    /// a measurement is forgotten after some time: a UE that has had no downlink data since then measures again.
    pub(crate) fn compute_report(
        &mut self,
        now: Instant,
        mobility: &mut Mobility,
        radio: Radio<'_>,
        amc: &LinkAdaptation,
        scratch: &mut [f32],
    ) {
        let current = &self.downlink.cqi.current;
        let is_computed = current.is_made() || radio.air.is_quiet();
        if self.downlink.cqi.valid && !is_computed && !self.neighbours.knows(current.input.snapshot) {
            let slot = now.as_nanos() / radio.cell.numerology.slot.as_nanos();
            self.measure_cqi(slot, MeasuringUe { mobility, drx: None, gaps: None }, radio, amc, scratch);
        }
        if self.downlink.cqi.valid {
            self.reported_cqi(mobility, radio, amc, scratch);
        }
    }

    /// The report in force, which must exist: one CQI per sub-band, and the number of layers to
    /// which they apply.
    pub(crate) fn reported_cqi(
        &mut self,
        mobility: &mut Mobility,
        radio: Radio<'_>,
        amc: &LinkAdaptation,
        scratch: &mut [f32],
    ) -> (&[Cqi; MAX_RBGS], u8) {
        if let Some(slot) = self.downlink.cqi.steady_in_force(&radio.cell.mac) {
            self.update_steady(slot, mobility, radio, amc);
        }
        self.downlink.cqi.current.asked = true;
        if !self.downlink.cqi.current.is_made() {
            let mut report = self.downlink.cqi.current;
            self.make_report(&mut report, radio, amc, scratch);
            self.downlink.cqi.put_into_force(report);
        }
        if let Some(bwp) = &self.bwp {
            let measured = radio.cell.numerology.start_of(self.downlink.cqi.current.input.slot);
            if let Some(rbgs) = bwp.reported_rbgs(measured) {
                self.downlink.cqi.extend(rbgs);
            }
        }
        self.downlink.cqi.known()
    }

    /// A report of a measurement in this slot, which may not have been computed, is in force.
    fn update_steady(
        &mut self,
        slot: u64,
        mobility: &mut Mobility,
        Radio { cell: serving, air }: Radio<'_>,
        amc: &LinkAdaptation,
    ) {
        let (channel, reports) = (&mut self.downlink.channel, &mut self.downlink.cqi);
        // Without fading all reports are equal.
        if reports.current.input.slot == slot || (channel.is_flat() && reports.current.is_made()) {
            return;
        }
        let at = serving.numerology.start_of(slot);
        let mean = channel.mean_sinr(at, mobility);
        let snapshot = air.snapshot(at, &mut self.neighbours, mobility);
        reports.put_into_force(Report::of(MeasurementInput { slot, mean, snapshot }));
        if channel.is_flat() {
            let measurement = Measurement { serving, amc, points: reports.rbg_size };
            let flat = measurement.flat(mean);
            (reports.current.rank, reports.current.robust) = (flat.rank, flat.robust);
            reports.current.cqi[..reports.subbands].fill(flat.cqi);
        }
    }

    fn make_report(
        &mut self,
        report: &mut Report,
        Radio { cell: serving, air }: Radio<'_>,
        amc: &LinkAdaptation,
        scratch: &mut [f32],
    ) {
        let MeasurementInput { slot, mean, snapshot } = report.input;
        let reports = &self.downlink.cqi;
        let measurement = Measurement { serving, amc, points: reports.rbg_size };
        let moment = Moment { snapshot, fading: serving.numerology.start_of(slot) };
        let noise = match serving.mac.cqi_reference {
            // The last completed slot with data: the slot of the measurement was not over.
            CqiReference::PdschInterference => {
                let sent = serving.data_slot_before(slot, !amc.has_empty_special_slots());
                air.data_noise(self.cell, sent, RbgSet::MAX, moment, &mut self.neighbours)
            }
            CqiReference::ControlRegion => air.control_noise(self.cell, moment, &mut self.neighbours),
        };
        let out = &mut report.cqi[..reports.subbands];
        let channel = &mut self.downlink.channel;
        let Some(layers) = &serving.layers else {
            channel.sinr(moment.fading, mean, scratch);
            if let Some(noise) = noise {
                noise.weaken(scratch);
            }
            report.rank = measurement.report(scratch, out);
            report.robust = measurement.needs_robust(out, scratch);
            return;
        };
        let seen = mean / noise.map_or(1.0, Noise::mean);
        report.rank = layers.rank(serving.mac.rank, seen, channel.gains(moment.fading));
        let sinr = BlockSinr { mean, layers: layers.gain(report.rank, seen) };
        channel.layered_sinr(moment.fading, sinr, scratch);
        if let Some(noise) = noise {
            noise.weaken(scratch);
        }
        measurement.cqi(scratch, out);
        report.robust = measurement.needs_robust(out, scratch);
    }
}

/// When a UE measures and reports to a cell.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReportTimes {
    numerology: Numerology,
    period: u64,
    phase: u64,
    delay: u64,
}

impl ReportTimes {
    /// Those of a UE with this index.
    pub(crate) fn of(cell: &CellConfig, ue: usize) -> Self {
        let period = u64::from(cell.mac.cqi_period.max(1));
        let delay = cell.mac.cqi_delay.into();
        Self { numerology: cell.numerology, period, phase: phase_of(cell, ue), delay }
    }

    /// When the scheduler can use the first report that is measured at `from` or later.
    pub(crate) fn first_in_use(&self, from: Instant) -> Instant {
        let Self { numerology, period, phase, delay } = *self;
        let slot = numerology.slot_from(from).saturating_sub(phase).next_multiple_of(period) + phase;
        numerology.start_of(slot + delay)
    }
}

/// The first slot in which a UE with this index measures for its reports to a cell.
fn phase_of(cell: &CellConfig, ue: usize) -> u64 {
    ue as u64 % u64::from(cell.mac.cqi_period.max(1))
}

/// Whether, among several cells, a report may be computed after its measurement. It can be needed until
/// the next one comes into force, and the interference of other cells is kept for two snapshots.
fn may_wait(cell: &CellConfig) -> bool {
    let mac = &cell.mac;
    cell.numerology.slot * u64::from(mac.cqi_period.max(1) - 1 + mac.cqi_delay) <= SNAPSHOT_PERIOD
}

/// Whether no report of a cell depends on the blocks that other cells decide in the slot of its measurement: it is
/// computed later, or does not depend on blocks.
pub(crate) fn are_independent(cell: &CellConfig) -> bool {
    let is_later = cell.mac.cqi_delay > 0 && !cell.mac.control_errors && may_wait(cell);
    is_later || cell.mac.cqi_reference == CqiReference::ControlRegion
}

/// Computes the report of a measurement.
struct Measurement<'a> {
    serving: &'a CellConfig,
    amc: &'a LinkAdaptation,
    /// Number of SINRs per sub-band.
    points: usize,
}

impl Measurement<'_> {
    /// The report of a channel without fading and interference.
    fn flat(&self, mean: f32) -> FlatReport {
        let (mut sinr, mut out) = ([mean], [Cqi::OUT_OF_RANGE]);
        let rank = if let Some(layers) = &self.serving.layers {
            let rank = layers.rank(self.serving.mac.rank, mean, None);
            sinr = [mean * layers.gain(rank, mean).steady];
            self.cqi(&sinr, &mut out);
            rank
        } else {
            self.report(&mut sinr, &mut out)
        };
        FlatReport { mean, cqi: out[0], rank, robust: self.needs_robust(&out, &sinr) }
    }

    /// Whether a UE with these CQIs gets the lowest MCS where it reports 0: its mean CQI is below 1, and that MCS is
    /// decodable.
    fn needs_robust(&self, cqi: &[Cqi], sinr: &[f32]) -> bool {
        let sum: usize = cqi.iter().map(|cqi| usize::from(cqi.index())).sum();
        sum < cqi.len()
            && self.serving.mac.out_of_range == OutOfRange::LowestMcs
            && self.amc.lowest_is_decodable(sinr)
    }

    /// The CQI of each sub-band and the rank to which they apply, from the SINRs of a layer when
    /// all layers are sent.
    fn report(&self, sinr: &mut [f32], out: &mut [Cqi]) -> u8 {
        let mode = self.serving.transmission_mode;
        self.cqi(sinr, out);
        if mode.layers() == 1 || self.serving.mac.rank == RankRule::Full {
            return mode.layers();
        }
        let mut alone = [Cqi::OUT_OF_RANGE; MAX_RBGS];
        let alone = &mut alone[..out.len()];
        sinr.iter_mut().for_each(|sinr| *sinr *= mode.one_layer_gain());
        self.cqi(sinr, alone);
        let (single, each) = (self.carried(alone), self.carried(out));
        let is_robust = single == 0 && self.serving.mac.out_of_range == OutOfRange::LowestMcs;
        if single > u64::from(mode.layers()) * each || is_robust {
            out.copy_from_slice(alone);
            return 1;
        }
        mode.layers()
    }

    /// The bytes of transport blocks of one sub-band each.
    fn carried(&self, cqi: &[Cqi]) -> u64 {
        let bytes = &self.amc.rbg_bytes[0][SlotFormat::Whole as usize];
        cqi.iter().map(|cqi| u64::from(bytes[usize::from(cqi.index())])).sum()
    }

    /// The CQI of each sub-band, or that of the whole band for all of them.
    fn cqi(&self, sinr: &[f32], out: &mut [Cqi]) {
        match self.serving.mac.cqi_report {
            CqiReport::Subband => self.amc.amc.subband_cqi(sinr, self.points, out),
            CqiReport::Wideband => out.fill(self.amc.amc.wideband_cqi(sinr)),
        }
    }
}

/// The input of a report.
#[derive(Clone, Copy, Debug)]
struct MeasurementInput {
    /// The slot of the measurement.
    slot: u64,
    /// SINR before fading and interference.
    mean: f32,
    snapshot: Snapshot,
}

/// The CQI of each sub-band.
#[derive(Clone, Copy, Debug)]
struct Report {
    input: MeasurementInput,
    cqi: [Cqi; MAX_RBGS],
    /// Number of layers; zero until the report is computed.
    rank: u8,
    /// Sub-bands with CQI 0 may have the lowest MCS.
    robust: bool,
    /// True if a policy has needed it.
    asked: bool,
}

/// The report of a channel that is the same on all PRBs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct FlatReport {
    /// SINR before fading and interference.
    mean: f32,
    cqi: Cqi,
    rank: u8,
    robust: bool,
}

impl Report {
    fn of(input: MeasurementInput) -> Self {
        Self { input, cqi: [Cqi::OUT_OF_RANGE; MAX_RBGS], rank: 0, robust: false, asked: false }
    }

    fn is_made(&self) -> bool {
        self.rank != 0
    }
}

/// Sub-band CQI of a UE: the report in force and those that have not reached the scheduler yet.
#[derive(Debug)]
pub(crate) struct CqiReports {
    current: Report,
    subbands: usize,
    /// Number of PRBs per sub-band.
    rbg_size: usize,
    pending: VecDeque<Report>,
    next: u64,
    offset: u64,
    flat: Option<FlatReport>,
    valid: bool,
    /// The bytes of each RBG by the report in force, in the kind of slot for which they were last needed.
    rbg_bytes: Option<(SlotFormat, [u16; MAX_RBGS])>,
    /// For a UE whose reports depend only on the slot of their measurement: the slots of its first and its
    /// latest measurement.
    steady: Option<(u64, u64)>,
}

impl CqiReports {
    /// Reports of a UE to a cell.
    pub(crate) fn of(cell: &CellConfig, ue: usize) -> Self {
        let prbs = cell.resource_blocks;
        let rbg_size = cell.numerology.rbg_size(prbs);
        Self::new(usize::from(prbs.div_ceil(rbg_size)), usize::from(rbg_size), phase_of(cell, ue))
    }

    fn new(subbands: usize, rbg_size: usize, offset: u64) -> Self {
        Self {
            current: Report::of(MeasurementInput { slot: 0, mean: 0.0, snapshot: Snapshot::default() }),
            subbands,
            rbg_size,
            pending: VecDeque::with_capacity(16),
            next: offset,
            offset,
            flat: None,
            valid: false,
            rbg_bytes: None,
            steady: None,
        }
    }

    /// Whether a report is in force: the first has arrived.
    pub(crate) fn is_valid(&self) -> bool {
        self.valid
    }

    fn put_into_force(&mut self, report: Report) {
        (self.current, self.rbg_bytes) = (report, None);
    }

    /// The report is one of the first sub-bands, those of the default bandwidth part: on the carrier, the others count as
    /// their mean, rounded down, until another report is in force.
    #[cold]
    fn extend(&mut self, reported: usize) {
        let (known, others) = self.current.cqi[..self.subbands].split_at_mut(reported);
        let sum: usize = known.iter().map(|cqi| usize::from(cqi.index())).sum();
        let mean = Cqi::new((sum / reported) as u8);
        if others.iter().any(|cqi| *cqi != mean) {
            others.fill(mean);
            self.rbg_bytes = None;
        }
    }

    /// The bytes of each RBG by a report that has been computed, in a kind of slot. `bytes_of` gives those of a CQI; it
    /// is the same in each call.
    pub(crate) fn rbg_bytes(&mut self, format: SlotFormat, bytes_of: impl Fn(Cqi) -> u16) -> [u16; MAX_RBGS] {
        if let Some((of, bytes)) = &self.rbg_bytes
            && *of == format
        {
            return *bytes;
        }
        let mut bytes = [0; MAX_RBGS];
        let cqi = &self.current.cqi[..self.subbands];
        bytes.iter_mut().zip(cqi).for_each(|(bytes, cqi)| *bytes = bytes_of(*cqi));
        self.rbg_bytes = Some((format, bytes));
        bytes
    }

    /// Whether sub-bands with CQI 0 may have the lowest MCS, by a report that has been computed.
    pub(crate) fn is_robust(&self) -> bool {
        self.current.robust
    }

    /// Whether the report in force has been computed.
    pub(crate) fn is_known(&self) -> bool {
        self.valid && self.current.is_made()
    }

    /// Makes the measurements up to `slot` and puts the newest usable report into force, without storing
    /// them: the slot of the measurement in force follows from this slot.
    fn measure_steady(&mut self, slot: u64, mac: &MacConfig) {
        if let Some((_, until)) = &mut self.steady {
            *until = slot;
        } else if let Some(first) = self.next_due(slot, mac) {
            (self.steady, self.valid) = (Some((first, slot)), true);
            let none = MeasurementInput { slot: u64::MAX, mean: 0.0, snapshot: Snapshot::default() };
            self.put_into_force(Report::of(none));
        }
    }

    /// [`Self::measure_steady`] up to `slot`, if there has been a measurement.
    pub(crate) fn continue_steady(&mut self, slot: u64) {
        if let Some((_, until)) = &mut self.steady {
            *until = slot;
        }
    }

    /// The slot of the measurement in force.
    fn steady_in_force(&self, mac: &MacConfig) -> Option<u64> {
        let (first, until) = self.steady?;
        let (period, usable) = (u64::from(mac.cqi_period.max(1)), until.saturating_sub(mac.cqi_delay.into()));
        let phase = self.offset % period;
        // The first report is used until another could have arrived.
        Some(if usable > first { usable - (usable - phase) % period } else { first })
    }

    /// The CQI of each sub-band and the number of layers, of a report that has been computed.
    pub(crate) fn known(&self) -> (&[Cqi; MAX_RBGS], u8) {
        assert!(self.valid && self.current.is_made(), "this report was not requested");
        (&self.current.cqi, self.current.rank)
    }

    /// The mean of the sub-bands of a report that has been computed, rounded down.
    pub(crate) fn wideband(&self) -> u8 {
        let (cqi, _) = self.known();
        let sum: usize = cqi[..self.subbands].iter().map(|cqi| usize::from(cqi.index())).sum();
        (sum / self.subbands) as u8
    }

    /// The next slot whose measurement is due, if it is not after `slot`. Reports that can no
    /// longer be used are skipped.
    fn next_due(&mut self, slot: u64, mac: &MacConfig) -> Option<u64> {
        if slot < self.next {
            return None;
        }
        let period = u64::from(mac.cqi_period.max(1));
        if slot >= self.next + period + u64::from(mac.cqi_delay) {
            let phase = self.offset % period;
            let usable = slot.saturating_sub(u64::from(mac.cqi_delay)).max(phase);
            self.next = self.next.max(usable - (usable - phase) % period);
        }
        (self.next <= slot).then(|| {
            let due = self.next;
            self.next += period;
            due
        })
    }

    /// A measurement of a channel that is the same on all PRBs; its report is computed immediately.
    fn push_flat(&mut self, input: MeasurementInput, measure: impl FnOnce(f32) -> FlatReport) {
        let flat = match self.flat {
            Some(flat) if flat.mean == input.mean => {
                let Report { cqi, rank, robust, .. } = &self.current;
                let is_in_force = (cqi[0], *rank, *robust) == (flat.cqi, flat.rank, flat.robust);
                if self.valid && self.pending.is_empty() && is_in_force {
                    return;
                }
                flat
            }
            _ => measure(input.mean),
        };
        self.flat = Some(flat);
        let mut report = Report { rank: flat.rank, robust: flat.robust, ..Report::of(input) };
        report.cqi[..self.subbands].fill(flat.cqi);
        self.pending.push_back(report);
    }

    fn advance(&mut self, slot: u64, delay: u32) {
        while let Some(report) = self.pending.front() {
            // The first report is used before its delay has passed: a UE that has just connected
            // has reported its CQI during connection set-up.
            if self.valid && report.input.slot + u64::from(delay) > slot {
                return;
            }
            let report = *report; // only if it is due
            self.put_into_force(report);
            self.valid = true;
            self.pending.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
