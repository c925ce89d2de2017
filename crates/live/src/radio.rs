//! The radio information of a running cell, for a radio network information service (`docs/radio-information.md`).
//!
//! [`Watch`] looks at a run at constant intervals of virtual time, and notes what happens between them. It has no
//! clock, and looking changes no result. A run and its repetition give the same reports.
//!
//! [`Message`] is what a live run writes to the socket of its service, one line of JSON each.

mod bearers;
mod meter;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use airlane_assembly::{Built, ReportEvent};
use airlane_core::{Duration, Instant, UeId};
use airlane_net::rni::{self, UeRecord};
use airlane_scenario::Resolved;
use serde::{Deserialize, Serialize};

pub use bearers::UeUse;
pub use meter::{CellUse, HandoverStatus, Happening, Quality, What};
use meter::{MeasurementReport, Meter, Observer};

/// The version of [`Message`].
pub const VERSION: u32 = 1;
/// The interval between samples of buffers, for the number of active UEs: TS 36.314 §4.1.3 allows at most
/// 100 ms (unverified).
const SAMPLE: Duration = Duration::from_millis(10);
/// `Trigger` of GS MEC 012: EVENT_A2 and EVENT_A3.
const TRIGGER_A2: i64 = 11;
const TRIGGER_A3: i64 = 12;
/// The shortest intervals that a service may ask for.
const SHORTEST: Every =
    Every { period: Duration::from_millis(1).as_nanos(), measure: Duration::from_millis(10).as_nanos() };

/// Intervals of reports, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Every {
    /// Between the records of a UE.
    pub period: u64,
    /// The period of layer 2 measurements.
    pub measure: u64,
}

impl Every {
    /// Whether a run can report so often.
    #[must_use]
    pub const fn is_possible(self) -> bool {
        const MOST: u64 = Duration::from_secs(86_400).as_nanos();
        SHORTEST.period <= self.period
            && SHORTEST.measure <= self.measure
            && self.period <= MOST
            && self.measure <= MOST
    }
}

/// The constants of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// Version of the messages.
    pub version: u32,
    /// The beginning of the run, in ns since the beginning of 1970.
    pub epoch: u64,
    /// For each cell, whether its UEs have a second bearer.
    pub second_bearer: Vec<bool>,
    /// Whether UEs send measurement reports.
    pub measures: bool,
}

impl Facts {
    /// The constants of a run that began at `epoch`.
    #[must_use]
    pub fn new(scenario: &Resolved, epoch: u64) -> Self {
        let second_bearer = scenario.cell.iter().map(|cell| cell.l4s_bearer.is_some()).collect();
        Self { version: VERSION, epoch, second_bearer, measures: scenario.handover.is_some() }
    }
}

/// The state of the network at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// In ns since the beginning of the run.
    pub at: u64,
    /// A record of each UE, with the address that servers see.
    #[serde(with = "as_bodies")]
    pub records: Vec<UeRecord>,
    /// Whether subscribers get these records, too.
    pub is_due: bool,
    /// The measurements of a period, if it ends now.
    pub measured: Option<Measured>,
    /// Events since the report before.
    pub happenings: Vec<Happening>,
}

/// The measurements of layer 2 in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measured {
    /// By cell.
    pub cells: Vec<CellUse>,
    /// Measurements of each UE.
    pub ues: Vec<UeUse>,
}

/// A line from a live run to its service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Message {
    /// The first one.
    Begin(Facts),
    /// All messages after the first.
    Report(Report),
    /// The run has another service. The connection ends.
    Busy,
}

/// Observes a run.
#[derive(Debug)]
pub struct Watch {
    every: Every,
    meter: Arc<Mutex<Meter>>,
    /// For each cell, the share of its resource blocks that carried data in the last period of measurement.
    loads: Vec<f64>,
    addresses: BTreeMap<u32, [u8; 4]>,
    /// The next sample of buffers, the end of the period of measurement, and the next records.
    sample_at: Instant,
    measured_at: Instant,
    records_at: Instant,
}

impl Watch {
    /// Observes a run from now on. UEs have the addresses of simulated ones, except those in `addresses`.
    pub fn begin(
        built: &mut Built,
        scenario: &Resolved,
        addresses: BTreeMap<u32, [u8; 4]>,
        every: Every,
    ) -> Self {
        let prbs = scenario.cell.iter().map(|cell| cell.resource_blocks_per_second()).collect();
        let releases_bearers = scenario.cell.iter().map(|cell| cell.rrc.releases_to_idle()).collect();
        let meter = Arc::new(Mutex::new(Meter::new(prbs, releases_bearers)));
        built.observe(Box::new(Observer(Arc::clone(&meter))));
        let now = built.now();
        let mut watch = Self {
            every,
            meter,
            loads: vec![],
            addresses,
            sample_at: next_multiple(now, SAMPLE),
            measured_at: now,
            records_at: now,
        };
        watch.set_every(now, every);
        watch
    }

    /// Changes the intervals. The period of measurement begins again.
    pub fn set_every(&mut self, now: Instant, every: Every) {
        self.every = every;
        self.measured_at = now + Duration::from_nanos(every.measure);
        self.records_at = next_multiple(now, Duration::from_nanos(every.period));
        self.lock().begin();
    }

    /// The next time at which [`Self::look`] is due.
    #[must_use]
    pub fn due(&self) -> Instant {
        self.sample_at.min(self.measured_at).min(self.records_at)
    }

    /// Looks at the run, which is at the time of [`Self::due`]: a report if records are due or something has happened.
    pub fn look(&mut self, built: &mut Built) -> Option<Report> {
        let now = built.now();
        if now == self.sample_at {
            let records = built.radio_information();
            let uplinks: Vec<bool> = records.iter().map(|one| waits_uplink(built, one)).collect();
            self.lock().sample(&records, &uplinks);
            self.sample_at += SAMPLE;
        }
        let measured = (now == self.measured_at).then(|| self.measure(built));
        let is_due = now == self.records_at;
        if is_due {
            self.records_at += Duration::from_nanos(self.every.period);
        }
        let reports = self.lock().take_reports();
        let mut happenings = self.lock().take_happenings();
        happenings.extend(reports.into_iter().filter_map(|one| self.reported(built, one)));
        happenings.sort_by_key(|one| one.at);
        if !is_due && measured.is_none() && happenings.is_empty() {
            return None;
        }
        let mut records = built.radio_information();
        for record in &mut records {
            record.ue = self.address(record.ue);
        }
        for one in &mut happenings {
            one.ue = self.address(one.ue);
        }
        Some(Report { at: now.as_nanos(), records, is_due, measured, happenings })
    }

    /// The measurements of the period that ends now.
    fn measure(&mut self, built: &mut Built) -> Measured {
        let period = Duration::from_nanos(self.every.measure);
        self.measured_at += period;
        let known: Vec<_> = built.radio_information().iter().filter_map(|one| rni::ue_of(one.ue)).collect();
        let mut meter = self.lock();
        let cells = meter.take_uses(period);
        let ue = |number: u32| {
            let look = built.look(UeId(number))?;
            let (ue, cell) = (self.address(rni::ue_address(number)), look.cell.0);
            Some(UeUse { ue, cell, timing_advance: look.timing_advance(), ..meter.take_ue(UeId(number)) })
        };
        let ues = known.into_iter().filter_map(ue).collect();
        drop(meter);
        self.loads = cells.iter().map(|one| one.prbs[0] as f64 / 100.0).collect();
        Measured { cells, ues }
    }

    /// A measurement report with its values: those that the filter has now, less than [`SAMPLE`] later.
    fn reported(&self, built: &Built, one: MeasurementReport) -> Option<Happening> {
        let known = built.cell_qualities(one.ue, &self.loads);
        let quality = |cell: u32| {
            let found = known.iter().find(|quality| quality.cell.0 == cell)?;
            Some(Quality { cell, rsrp: found.reported_rsrp(), rsrq: found.reported_rsrq() })
        };
        let (trigger, neighbour) = match built.report_event()? {
            ReportEvent::A2 => (TRIGGER_A2, None),
            ReportEvent::A3 => (TRIGGER_A3, quality(one.to)),
        };
        let what = What::Reported { trigger, serving: quality(one.from)?, neighbour };
        Some(Happening { at: one.at, ue: rni::ue_address(one.ue.0), what })
    }

    /// The address that servers see for that of a simulated UE.
    fn address(&self, simulated: [u8; 4]) -> [u8; 4] {
        let ue = rni::ue_of(simulated);
        ue.and_then(|ue| self.addresses.get(&ue).copied()).unwrap_or(simulated)
    }

    fn lock(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().expect("no panic while it is locked")
    }
}

/// Whether data waits in the uplink buffer of the UE of a record.
fn waits_uplink(built: &Built, record: &UeRecord) -> bool {
    let ue = rni::ue_of(record.ue).map(UeId);
    ue.and_then(|ue| built.look(ue)).is_some_and(|look| look.queue_uplink.get() > 0)
}

/// The first multiple of an interval after `now`.
fn next_multiple(now: Instant, of: Duration) -> Instant {
    let of = of.as_nanos();
    Instant::from_nanos((now.as_nanos() / of + 1) * of)
}

/// Records as the bodies of their notifications (`docs/radio-information.md`, section 2), whose reader checks them.
mod as_bodies {
    use serde::de::Error as _;
    use serde::ser::{Error as _, SerializeSeq};
    use serde::{Deserialize, Deserializer, Serializer};
    use serde_json::value::RawValue;

    use super::UeRecord;

    pub(super) fn serialize<S: Serializer>(records: &[UeRecord], to: S) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(Some(records.len()))?;
        for record in records {
            let body = String::from_utf8(record.encode(0)).map_err(S::Error::custom)?;
            list.serialize_element(&RawValue::from_string(body).map_err(S::Error::custom)?)?;
        }
        list.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<UeRecord>, D::Error> {
        let bodies: Vec<Box<RawValue>> = Deserialize::deserialize(from)?;
        let decoded = bodies.iter().map(|body| UeRecord::decode(body.get().as_bytes()));
        decoded.collect::<Result<_, _>>().map_err(|e| D::Error::custom(format!("a record is {e:?}")))
    }
}
