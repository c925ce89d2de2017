//! Measurements in a run: those of layer 2 (TS 36.314; unverified), and events of UEs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use airlane_core::{
    CellId, ConnectionStep, Direction, Duration, Event, HandoverStep, Instant, Probe, Topic, TopicSet, UeId,
};
use airlane_net::rni::{UeRecord, ue_address};
use serde::{Deserialize, Serialize};

use super::bearers::{Sums, UeUse};

/// A period that is not measured.
const NOTHING: Duration = Duration::ZERO;
/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;

/// The use of a cell in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CellUse {
    /// Used resource blocks, downlink and uplink, in percent.
    pub prbs: [i64; 2],
    /// The mean number of UEs with data, downlink and uplink.
    pub active: [i64; 2],
}

/// An event of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Happening {
    /// In ns since the beginning of the run.
    pub at: u64,
    /// The UE's IPv4 address.
    pub ue: [u8; 4],
    /// The event.
    pub what: What,
}

/// Reported values of the reference signals of a cell (TS 36.133 §9.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quality {
    /// The cell.
    pub cell: u32,
    /// RSRP.
    pub rsrp: u8,
    /// RSRQ.
    pub rsrq: u8,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// A handover is in this state.
    Handover {
        /// The state.
        status: HandoverStatus,
        /// The source.
        from: u32,
        /// The target.
        to: u32,
    },
    /// The bearer was established in this cell.
    Established {
        /// The cell.
        cell: u32,
    },
    /// The bearer was released.
    Released {
        /// The cell.
        cell: u32,
    },
    /// The UE has sent a measurement report, by which a handover starts.
    Reported {
        /// `Trigger` of GS MEC 012.
        trigger: i64,
        /// The serving cell.
        serving: Quality,
        /// The reported neighbour, if the event is about it.
        neighbour: Option<Quality>,
    },
    /// The gateway sends to this cell.
    PathSwitched {
        /// The cell.
        cell: u32,
    },
}

/// `HoStatus` of GS MEC 012.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HandoverStatus {
    /// The target is asked.
    InPreparation = 1,
    /// The UE has the command.
    InExecution = 2,
    /// The target serves the UE.
    Completed = 3,
    /// The target has refused.
    Rejected = 4,
    /// The link was lost before.
    Cancelled = 5,
}

/// The state of a UE, from what has happened to it.
#[derive(Clone, Copy, Debug, Default)]
struct UeState {
    from: u32,
    to: u32,
    /// A handover has been asked for, and is not complete.
    under_way: bool,
    released: bool,
}

/// Measures a run.
#[derive(Debug)]
pub(super) struct Meter {
    /// Resource blocks of each cell, and those used in this period.
    /// By cell: resource blocks of a second, of the downlink and of the uplink.
    prbs: Vec<[u64; 2]>,
    used: Vec<[u64; 2]>,
    /// Sums over samples of the UEs with data, and the number of samples.
    active: Vec<[u64; 2]>,
    samples: u64,
    states: BTreeMap<u32, UeState>,
    ues: BTreeMap<u32, [Sums; 2]>,
    happenings: Vec<Happening>,
    /// For each cell, whether its UEs are released to idle, so that their bearers are.
    releases_bearers: Vec<bool>,
    /// Measurement reports whose values are not known yet.
    reports: Vec<MeasurementReport>,
}

/// A measurement report of a UE.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeasurementReport {
    pub(super) at: u64,
    pub(super) ue: UeId,
    pub(super) from: u32,
    pub(super) to: u32,
}

impl Meter {
    /// For cells with this many resource blocks in each second, of the downlink and of the uplink. `releases_bearers`
    /// says whether a cell releases its UEs to idle.
    pub(super) fn new(prbs: Vec<[u64; 2]>, releases_bearers: Vec<bool>) -> Self {
        let cells = prbs.len();
        let (used, active) = (vec![[0; 2]; cells], vec![[0; 2]; cells]);
        let (states, ues) = (BTreeMap::new(), BTreeMap::new());
        let (happenings, reports) = (vec![], vec![]);
        Self { prbs, used, active, samples: 0, states, ues, happenings, releases_bearers, reports }
    }

    /// Counts the UEs with data now. Data waits in RLC or in a HARQ process (TS 36.314 §4.1.3).
    pub(super) fn sample(&mut self, records: &[UeRecord], uplinks: &[bool]) {
        self.samples += 1;
        for (record, uplink) in records.iter().zip(uplinks) {
            let harq = record.harq.as_slice().iter().any(|sent| *sent > 0);
            let Some(cell) = self.active.get_mut(record.cell as usize) else { continue };
            cell[0] += u64::from(harq || record.queue.get() > 0);
            cell[1] += u64::from(*uplink);
        }
    }

    /// The use of each cell since the last call, which was `period` ago.
    pub(super) fn take_uses(&mut self, period: Duration) -> Vec<CellUse> {
        let cells = self.prbs.iter().zip(&mut self.used).zip(&mut self.active);
        let uses = cells.map(|((prbs, used), active)| {
            let (used, active) = (core::mem::take(used), core::mem::take(active));
            // TS 36.314 §4.1.1: 100 times the used over the available blocks, rounded down.
            let there = prbs.map(|prbs| u128::from(prbs) * u128::from(period.as_nanos()));
            let percent = |direction: usize| {
                (u128::from(used[direction]) * 100 * SECOND / there[direction].max(1)) as i64
            };
            // The mean, rounded to an integer.
            let mean = |sum: u64| ((2 * sum + self.samples) / (2 * self.samples).max(1)) as i64;
            CellUse { prbs: [0, 1].map(percent), active: active.map(mean) }
        });
        let uses = uses.collect();
        self.samples = 0;
        uses
    }

    /// The measurements of a UE since the last call.
    pub(super) fn take_ue(&mut self, ue: UeId) -> UeUse {
        let sums = self.ues.entry(ue.0).or_default();
        let [down, up] = [sums[0].take(), sums[1].take()];
        UeUse {
            volume: [down.0, up.0],
            delay: [down.1, up.1],
            throughput: [down.2, up.2],
            ..UeUse::default()
        }
    }

    /// Begins a period.
    pub(super) fn begin(&mut self) {
        self.take_uses(NOTHING);
        self.ues.clear();
    }

    pub(super) fn take_reports(&mut self) -> Vec<MeasurementReport> {
        core::mem::take(&mut self.reports)
    }

    pub(super) fn take_happenings(&mut self) -> Vec<Happening> {
        core::mem::take(&mut self.happenings)
    }

    fn sums(&mut self, ue: UeId, direction: Direction) -> &mut Sums {
        &mut self.ues.entry(ue.0).or_default()[at(direction)]
    }

    fn on_handover(&mut self, now: Instant, ue: UeId, step: HandoverStep) {
        if matches!(step, HandoverStep::Arrived | HandoverStep::LinkFailed { .. }) {
            self.ues.entry(ue.0).or_default().iter_mut().for_each(Sums::reset);
        }
        let state = self.states.entry(ue.0).or_default();
        let (before, at) = (*state, now.as_nanos());
        let mut add = |what| self.happenings.push(Happening { at, ue: ue_address(ue.0), what });
        let handover = |status| What::Handover { status, from: before.from, to: before.to };
        match step {
            HandoverStep::Reported { from: CellId(from), to: CellId(to), .. } => {
                (state.from, state.to) = (from, to);
                self.reports.push(MeasurementReport { at, ue, from, to });
            }
            HandoverStep::Decided => {
                state.under_way = true;
                add(handover(HandoverStatus::InPreparation));
            }
            HandoverStep::PreparationFailed => {
                state.under_way = false;
                add(handover(HandoverStatus::Rejected));
            }
            HandoverStep::Started => add(handover(HandoverStatus::InExecution)),
            HandoverStep::Arrived => {
                (state.under_way, state.released) = (false, false);
                if before.from != before.to && !before.released {
                    add(handover(HandoverStatus::Completed));
                }
                if before.released {
                    add(What::Established { cell: before.to });
                }
            }
            HandoverStep::PathSwitched => add(What::PathSwitched { cell: before.to }),
            HandoverStep::LinkFailed { from: CellId(from), .. } => {
                if before.under_way {
                    add(handover(HandoverStatus::Cancelled));
                }
                *state = UeState { from, to: from, under_way: false, ..before };
            }
            HandoverStep::Reestablished { to: CellId(to) } => state.to = to,
            HandoverStep::Released => {
                state.released = true;
                if !before.released {
                    add(What::Released { cell: before.from });
                }
            }
            HandoverStep::AccessFailed | HandoverStep::Forwarded { .. } => {}
        }
    }

    /// A UE that becomes idle loses its bearers in the radio network, and gets them back with its connection (TS 23.401
    /// §5.3.5 and §5.3.4.1; unverified). An inactive UE keeps them (TS 38.300 §9.2.2; unverified).
    fn on_connection(&mut self, now: Instant, ue: UeId, CellId(cell): CellId, step: ConnectionStep) {
        if !self.releases_bearers.get(cell as usize).is_some_and(|releases| *releases) {
            return;
        }
        let what = match step {
            ConnectionStep::Connected { .. } => What::Established { cell },
            ConnectionStep::Released => What::Released { cell },
            ConnectionStep::Began { .. }
            | ConnectionStep::Preamble { .. }
            | ConnectionStep::RequestsUnanswered
            | ConnectionStep::Failed => return,
        };
        self.happenings.push(Happening { at: now.as_nanos(), ue: ue_address(ue.0), what });
    }
}

const fn at(direction: Direction) -> usize {
    match direction {
        Direction::Downlink => 0,
        Direction::Uplink => 1,
    }
}

/// Passes events on to the meter.
pub(super) struct Observer(pub(super) Arc<Mutex<Meter>>);

impl Probe for Observer {
    fn topics(&self) -> TopicSet {
        let blocks = TopicSet::NONE.with(Topic::TransportBlock).with(Topic::Assigned);
        blocks.with(Topic::SduDelivered).with(Topic::Handover).with(Topic::Connection)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let mut meter = self.0.lock().expect("no panic while it is locked");
        match *event {
            Event::Assigned { ue, direction, process, queue, .. } => {
                meter.sums(ue, direction).send(now, process, queue);
            }
            Event::TransportBlock { cell, ue, direction, process, prbs, bytes, decoded, .. } => {
                meter.used[cell.index()][at(direction)] += u64::from(prbs);
                if decoded {
                    meter.sums(ue, direction).receive(now, process, bytes);
                }
            }
            Event::SduDelivered { ue, direction, packet, queued_at } => {
                meter.sums(ue, direction).deliver(now, packet, queued_at);
            }
            Event::Handover { ue, step, .. } => meter.on_handover(now, ue, step),
            Event::Connection { ue, cell, step } => meter.on_connection(now, ue, cell, step),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 50 blocks in 1000 slots are 50,000. 12,345 of them are 24.69 %. In 3 of 4 samples one UE had data, in the
    /// fourth two: a mean of 1.25.
    #[test]
    fn the_use_of_a_cell_by_hand() {
        let mut meter = Meter::new(vec![[50_000; 2]], vec![false]);
        meter.used[0] = [12_345, 50_000];
        let queue = airlane_core::Bytes(1);
        let one = UeRecord { queue, ..UeRecord::default() };
        let idle = UeRecord::default();
        for records in [[one, idle], [one, idle], [one, one], [idle, one]] {
            meter.sample(&records, &[false, true]);
        }
        let expected = CellUse { prbs: [24, 100], active: [1, 1] };
        assert_eq!(meter.take_uses(Duration::from_secs(1)), [expected]);
        assert_eq!(meter.take_uses(Duration::from_secs(1)), [CellUse::default()]);
    }

    #[test]
    fn a_handover_and_a_lost_link() {
        let mut meter = Meter::new(vec![[50_000; 2]; 3], vec![false; 3]);
        let position_m = [0.0; 2];
        let (one, two, three) = (CellId(0), CellId(1), CellId(2));
        let steps = [
            HandoverStep::Reported { from: one, to: two, position_m },
            HandoverStep::Decided,
            HandoverStep::Started,
            HandoverStep::Arrived,
            HandoverStep::PathSwitched,
            HandoverStep::Reported { from: two, to: one, position_m },
            HandoverStep::Decided,
            HandoverStep::LinkFailed { from: two, position_m },
            HandoverStep::Released,
            HandoverStep::Reestablished { to: three },
            HandoverStep::Arrived,
        ];
        for step in steps {
            meter.on_handover(Instant::ZERO, UeId(0), step);
        }
        let seen: Vec<What> = meter.take_happenings().iter().map(|one| one.what).collect();
        let handover = |status, from, to| What::Handover { status, from, to };
        let expected = [
            handover(HandoverStatus::InPreparation, 0, 1),
            handover(HandoverStatus::InExecution, 0, 1),
            handover(HandoverStatus::Completed, 0, 1),
            What::PathSwitched { cell: 1 },
            handover(HandoverStatus::InPreparation, 1, 0),
            handover(HandoverStatus::Cancelled, 1, 0),
            What::Released { cell: 1 },
            What::Established { cell: 2 },
        ];
        assert_eq!(seen, expected);
    }

    /// An idle UE has no bearer; an inactive one of another cell keeps its own.
    #[test]
    fn a_released_ue_loses_its_bearer_only_if_it_becomes_idle() {
        let mut meter = Meter::new(vec![[50_000; 2]; 2], vec![true, false]);
        let waited = Duration::ZERO;
        let steps = [
            ConnectionStep::Began { cause: airlane_core::ConnectionCause::Paging },
            ConnectionStep::Preamble { number: 1, collides: false },
            ConnectionStep::Connected { waited, took: waited },
            ConnectionStep::Released,
            ConnectionStep::Failed,
        ];
        for (cell, step) in [CellId(0), CellId(1)].into_iter().flat_map(|cell| steps.map(|step| (cell, step)))
        {
            meter.on_connection(Instant::ZERO, UeId(0), cell, step);
        }
        let seen: Vec<What> = meter.take_happenings().iter().map(|one| one.what).collect();
        assert_eq!(seen, [What::Established { cell: 0 }, What::Released { cell: 0 }]);
    }
}
