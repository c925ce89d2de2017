//! The source of radio information: a scenario that runs at real speed, in a thread of its own.

mod meter;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Instant, SystemTime};

use airlane_core::{Duration, Instant as Virtual};
use airlane_net::rni::{UeRecord, ue_address};
use airlane_scenario::{Built, Resolved, Scenario, build};
use tokio::sync::mpsc;

use super::settings::Source;
use crate::error::NodeError;
pub(super) use meter::{CellUse, Happening, What};
use meter::{Meter, Observer};

/// The interval between samples of buffers, for the number of active UEs: TS 36.314 §4.1.3 allows at most
/// 100 ms (unverified).
const SAMPLE: Duration = Duration::from_millis(10);
/// Reports that wait for the service.
const WAITING_MAX: usize = 256;

/// The state of the network at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct Report {
    /// In ns since the beginning of 1970.
    pub(super) at: u64,
    /// A record of each UE; its time counts from 1970, too.
    pub(super) records: Vec<UeRecord>,
    /// Whether subscribers get these records, too.
    pub(super) is_due: bool,
    /// The use of each cell in the last complete period of measurement; empty before the first.
    pub(super) cells: Vec<CellUse>,
    /// Number of cells.
    pub(super) cell_count: u32,
    /// For each cell, whether its UEs have a second bearer.
    pub(super) second_bearer: Vec<bool>,
    /// Events since the report before.
    pub(super) happenings: Vec<Happening>,
}

/// Reads the scenario, for a run without a planned end.
pub(super) fn read(path: &Path) -> Result<Resolved, String> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|e| format!("{name}: cannot be read ({e}); expected a scenario in TOML"))?;
    let scenario = Scenario::parse(&text, &name).and_then(|one| one.resolve()).map_err(|e| e.to_string())?;
    if scenario.cell.is_empty() {
        return Err(format!("{name}: the network is wired; choose a scenario with a cell"));
    }
    let (endless, _) = scenario.for_real(&[], &[]).map_err(|e| e.to_string())?;
    Ok(endless)
}

/// Starts the run, which ends when the receiver is dropped.
pub(super) fn start(settings: &Source) -> Result<mpsc::Receiver<Report>, NodeError> {
    let wrong = |what: String| NodeError::new(what, "");
    let scenario = read(&settings.scenario).map_err(wrong)?;
    let (seed, period, measure) = (settings.seed, settings.period.0, settings.measure.0);
    let mut run = Run::new(scenario, seed, measure).map_err(wrong)?;
    let (to_service, reports) = mpsc::channel(WAITING_MAX);
    let begin = move || run.follow_clock(period, &to_service);
    thread::Builder::new()
        .name("rnis-source".to_owned())
        .spawn(begin)
        .map_err(|e| NodeError::new(format!("cannot start a thread: {e}"), ""))?;
    Ok(reports)
}

/// A run with what is measured in it.
struct Run {
    scenario: Resolved,
    seed: u64,
    measure: Duration,
    built: Built,
    meter: Arc<Mutex<Meter>>,
    cells: Vec<CellUse>,
    /// The next sample of buffers, and the end of the period of measurement.
    sample_at: Virtual,
    measured_at: Virtual,
}

impl Run {
    fn new(scenario: Resolved, seed: u64, measure: Duration) -> Result<Self, String> {
        let (built, meter) = observed(&scenario, seed)?;
        let first = Virtual::ZERO;
        let (sample_at, measured_at) = (first + SAMPLE, first + measure);
        Ok(Self { scenario, seed, measure, built, meter, cells: vec![], sample_at, measured_at })
    }

    /// Advances the run with the clock. Reports at each multiple of `period`, and when something has happened.
    fn follow_clock(&mut self, period: Duration, to_service: &mpsc::Sender<Report>) {
        loop {
            let (began, epoch) = (Instant::now(), since_1970());
            let mut records_at = Virtual::ZERO + period;
            loop {
                let next = self.sample_at.min(self.measured_at).min(records_at);
                if next >= self.built.end() {
                    break;
                }
                let due = began + std::time::Duration::from_nanos(next.as_nanos());
                thread::sleep(due.saturating_duration_since(Instant::now()));
                let happenings = self.advance(next);
                let is_due = next == records_at;
                if is_due {
                    records_at += period;
                }
                if !is_due && happenings.is_empty() {
                    continue;
                }
                let report = self.report(epoch, happenings, is_due);
                if to_service.blocking_send(report).is_err() {
                    return; // the service has ended
                }
            }
            self.seed += 1;
            match observed(&self.scenario, self.seed) {
                Ok((built, meter)) => (self.built, self.meter) = (built, meter),
                Err(error) => return tracing::error!(%error, "the scenario cannot begin again"),
            }
            (self.sample_at, self.measured_at) = (Virtual::ZERO + SAMPLE, Virtual::ZERO + self.measure);
        }
    }

    /// Advances to `at`, and takes the sample and the measurement that are due there.
    fn advance(&mut self, at: Virtual) -> Vec<Happening> {
        self.built.advance(at);
        if at == self.sample_at {
            let records = self.built.radio_information();
            let uplinks: Vec<bool> = records.iter().map(|one| self.waits_uplink(one)).collect();
            self.lock().sample(&records, &uplinks);
            self.sample_at += SAMPLE;
        }
        if at == self.measured_at {
            let cells = self.lock().take_uses(self.measure);
            self.cells = cells;
            self.measured_at += self.measure;
        }
        self.lock().take_happenings()
    }

    /// The state now.
    fn report(&mut self, epoch: u64, mut happenings: Vec<Happening>, is_due: bool) -> Report {
        let since_1970 = |at: Virtual| epoch + at.as_nanos();
        let at = since_1970(self.built.now());
        let mut records = self.built.radio_information();
        for record in &mut records {
            record.measured_at = Virtual::from_nanos(at);
        }
        happenings.iter_mut().for_each(|one| one.at += epoch);
        let cell_count = self.scenario.cell.len() as u32;
        let second_bearer = self.scenario.cell.iter().map(|cell| cell.l4s_bearer.is_some()).collect();
        Report { at, records, is_due, cells: self.cells.clone(), cell_count, second_bearer, happenings }
    }

    /// Whether data waits in the uplink buffer of the UE of a record.
    fn waits_uplink(&self, record: &UeRecord) -> bool {
        let ue = airlane_net::rni::ue_of(record.ue).map(airlane_core::UeId);
        ue.and_then(|ue| self.built.look(ue)).is_some_and(|look| look.queue_uplink.get() > 0)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Meter> {
        self.meter.lock().expect("no panic while it is locked")
    }
}

/// A run at its beginning, with its meter.
fn observed(scenario: &Resolved, seed: u64) -> Result<(Built, Arc<Mutex<Meter>>), String> {
    let mut built = build(scenario, seed).map_err(|e| e.to_string())?;
    let prbs = scenario.cell.iter().map(|cell| cell.resource_blocks).collect();
    let meter = Arc::new(Mutex::new(Meter::new(prbs)));
    built.observe(Box::new(Observer(Arc::clone(&meter))));
    Ok((built, meter))
}

fn since_1970() -> u64 {
    // A clock before 1970 or after 2554 is not set.
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or_default()
}

/// The UE of a happening, by its address.
pub(super) const fn address(ue: u32) -> [u8; 4] {
    ue_address(ue)
}
