//! Measurements in a run: those of layer 2 (TS 36.314, whose clauses are cited from descriptions of it, unverified),
//! and events of UEs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use airlane_core::{CellId, Direction, Duration, Event, HandoverStep, Instant, Probe, Topic, TopicSet, UeId};
use airlane_net::rni::UeRecord;

/// The slot of an LTE cell, in which each of its resource blocks can be used once.
const SLOT: Duration = Duration::from_millis(1);

/// The use of a cell in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::rnis) struct CellUse {
    /// Used resource blocks, downlink and uplink, in percent.
    pub(in crate::rnis) prbs: [i64; 2],
    /// The mean number of UEs with data, downlink and uplink.
    pub(in crate::rnis) active: [i64; 2],
}

/// Something that happened to a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rnis) struct Happening {
    /// In ns: in the meter since the beginning of the run, in a report since 1970.
    pub(in crate::rnis) at: u64,
    pub(in crate::rnis) ue: u32,
    pub(in crate::rnis) what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rnis) enum What {
    /// A handover is in this state.
    Handover { status: HandoverStatus, from: u32, to: u32 },
    /// The bearer was established in this cell.
    Established { cell: u32 },
    /// The bearer was released.
    Released { cell: u32 },
    /// The gateway sends to this cell.
    PathSwitched { cell: u32 },
}

/// `HoStatus` of GS MEC 012.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rnis) enum HandoverStatus {
    InPreparation = 1,
    InExecution = 2,
    Completed = 3,
    Rejected = 4,
    Cancelled = 5,
}

/// The state of a UE, from what has happened to it.
#[derive(Clone, Copy, Debug, Default)]
struct Way {
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
    prbs: Vec<u16>,
    used: Vec<[u64; 2]>,
    /// Sums over samples of the UEs with data, and the number of samples.
    active: Vec<[u64; 2]>,
    samples: u64,
    ways: BTreeMap<u32, Way>,
    happenings: Vec<Happening>,
}

impl Meter {
    pub(super) fn new(prbs: Vec<u16>) -> Self {
        let cells = prbs.len();
        let (used, active) = (vec![[0; 2]; cells], vec![[0; 2]; cells]);
        Self { prbs, used, active, samples: 0, ways: BTreeMap::new(), happenings: vec![] }
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
        let slots = period.as_nanos() / SLOT.as_nanos();
        let cells = self.prbs.iter().zip(&mut self.used).zip(&mut self.active);
        let uses = cells.map(|((prbs, used), active)| {
            let (used, active) = (core::mem::take(used), core::mem::take(active));
            // TS 36.314 §4.1.1: 100 times the used over the available blocks, rounded down.
            let percent = |used: u64| (used * 100 / (u64::from(*prbs) * slots).max(1)) as i64;
            // The mean, rounded to an integer.
            let mean = |sum: u64| ((2 * sum + self.samples) / (2 * self.samples).max(1)) as i64;
            CellUse { prbs: used.map(percent), active: active.map(mean) }
        });
        let uses = uses.collect();
        self.samples = 0;
        uses
    }

    pub(super) fn take_happenings(&mut self) -> Vec<Happening> {
        core::mem::take(&mut self.happenings)
    }

    fn on_handover(&mut self, now: Instant, ue: UeId, step: HandoverStep) {
        let way = self.ways.entry(ue.0).or_default();
        let (before, at) = (*way, now.as_nanos());
        let mut add = |what| self.happenings.push(Happening { at, ue: ue.0, what });
        let handover = |status| What::Handover { status, from: before.from, to: before.to };
        match step {
            HandoverStep::Reported { from: CellId(from), to: CellId(to), .. } => {
                (way.from, way.to) = (from, to);
            }
            HandoverStep::Decided => {
                way.under_way = true;
                add(handover(HandoverStatus::InPreparation));
            }
            HandoverStep::PreparationFailed => {
                way.under_way = false;
                add(handover(HandoverStatus::Rejected));
            }
            HandoverStep::Started => add(handover(HandoverStatus::InExecution)),
            HandoverStep::Arrived => {
                (way.under_way, way.released) = (false, false);
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
                *way = Way { from, to: from, under_way: false, ..before };
            }
            HandoverStep::Reestablished { to: CellId(to) } => way.to = to,
            HandoverStep::Released => {
                way.released = true;
                if !before.released {
                    add(What::Released { cell: before.from });
                }
            }
            HandoverStep::AccessFailed | HandoverStep::Forwarded { .. } => {}
        }
    }
}

/// Passes events on to the meter.
pub(super) struct Observer(pub(super) Arc<Mutex<Meter>>);

impl Probe for Observer {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::TransportBlock).with(Topic::Handover)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let mut meter = self.0.lock().expect("no panic while it is locked");
        match *event {
            Event::TransportBlock { cell, direction, prbs, .. } => {
                let at = match direction {
                    Direction::Downlink => 0,
                    Direction::Uplink => 1,
                };
                meter.used[cell.index()][at] += u64::from(prbs);
            }
            Event::Handover { ue, step, .. } => meter.on_handover(now, ue, step),
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
        let mut meter = Meter::new(vec![50]);
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
        let mut meter = Meter::new(vec![50, 50, 50]);
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
}
