//! The RAN log: one row per transmission of a transport block.

use std::collections::BTreeMap;

use airlane_core::{CellId, Decibel, Direction, Duration, Event, Instant, Topic, TopicSet, UeId};

use crate::RecorderParameters;
use crate::flows::Flows;
use crate::log::{FinishedRun, Log};
use crate::table::{Column, Table, direction_name};

/// HARQ processes of a UE in one direction: eight on each of two layers (FDD, TS 36.213 §7), or sixteen (TS 38.214 §5.1).
const PROCESSES: usize = 16;

/// The state of one HARQ process at the sender, the eNB or the UE, when it sent a block.
#[derive(Clone, Copy, Debug, Default)]
struct Process {
    /// Toggles with each new block (TS 36.321 §5.3.2.2).
    new_data_indicator: bool,
    cqi: Option<u8>,
    queue: u64,
    uplink: UplinkKnowledge,
}

/// Of a block of the uplink: the UE's power headroom, and what the cell expected.
#[derive(Clone, Copy, Debug, Default)]
struct UplinkKnowledge {
    headroom: Option<Decibel>,
    expected_bler: Option<f32>,
    reported_headroom: Option<Decibel>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    slot: u64,
    cell: u32,
    ue: u32,
    queue: u64,
    bytes: u32,
    prbs: u16,
    direction: Direction,
    process: u8,
    attempt: u8,
    mcs: u8,
    cqi: Option<u8>,
    new_data_indicator: bool,
    decoded: bool,
    uplink: UplinkKnowledge,
}

/// Observes the MAC.
#[derive(Debug)]
pub(crate) struct RanLog {
    /// The name of each UE, and of each cell, by index.
    ues: Vec<String>,
    cells: Vec<String>,
    /// The length of a slot (a TTI) of each cell, by index.
    slots: Vec<Duration>,
    /// By UE, direction and process.
    processes: Vec<[[Process; PROCESSES]; 2]>,
    /// Those of the uplink by UE and cell, if UEs send to several cells at once.
    by_cell: Option<BTreeMap<(UeId, CellId), [Process; PROCESSES]>>,
    rows: Vec<Row>,
}

impl RanLog {
    /// An empty log.
    fn new(ues: Vec<String>, cells: Vec<String>, slots: Vec<Duration>) -> Self {
        let processes = vec![Default::default(); ues.len()];
        Self { ues, cells, slots, processes, by_cell: None, rows: Vec::new() }
    }

    fn process(&mut self, cell: CellId, ue: UeId, direction: Direction, process: u8) -> Option<&mut Process> {
        let processes = match (direction, &mut self.by_cell) {
            (Direction::Uplink, Some(by_cell)) => by_cell.entry((ue, cell)).or_default(),
            _ => &mut self.processes.get_mut(ue.index())?[direction as usize],
        };
        processes.get_mut(usize::from(process))
    }

    fn on_event(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::Assigned {
                cell,
                ue,
                direction,
                process,
                cqi,
                queue,
                headroom,
                expected_bler,
                reported_headroom,
            } => {
                if let Some(process) = self.process(cell, ue, direction, process) {
                    (process.cqi, process.queue) = (cqi, queue.get());
                    process.uplink = UplinkKnowledge { headroom, expected_bler, reported_headroom };
                }
            }
            Event::TransportBlock {
                cell,
                ue,
                direction,
                process,
                mcs,
                prbs,
                bytes,
                attempt,
                decoded,
                ..
            } => {
                // A block is reported at the end of its slot.
                let slot = now.as_nanos() / self.slots[cell.index()].as_nanos() - 1;
                let Some(known) = self.process(cell, ue, direction, process) else { return };
                known.new_data_indicator ^= attempt == 0;
                let Process { new_data_indicator, cqi, queue, uplink } = *known;
                let bytes = u32::try_from(bytes.get()).expect("a transport block is below 4 GB");
                let (CellId(cell), UeId(ue)) = (cell, ue);
                self.rows.push(Row {
                    slot,
                    cell,
                    ue,
                    queue,
                    bytes,
                    prbs,
                    direction,
                    process,
                    attempt,
                    mcs,
                    cqi,
                    new_data_indicator,
                    decoded,
                    uplink,
                });
            }
            _ => {}
        }
    }

    /// Takes the rows as the table `ran_log`, in the order in which blocks were received.
    fn take_table(&mut self) -> Table {
        let taken = core::mem::take(&mut self.rows);
        let rows = || taken.iter();
        let count = |of: fn(&Row) -> u64| rows().map(of);
        let slot_of = |row: &Row| self.slots[row.cell as usize];
        let start = |row: &Row| (Instant::ZERO + slot_of(row) * row.slot).as_secs_f64();
        let mut table = Table::default();
        table.push_f64("t_s", rows().map(start)).means("beginning of the slot");
        table.push_count("slot", count(|row| row.slot)).means("number of the slot");
        table.push("cell", Column::labels(&self.cells, rows().map(|row| row.cell))).means("cell");
        table.push("ue", Column::labels(&self.ues, rows().map(|row| row.ue))).means("UE");
        let directions = [Direction::Downlink, Direction::Uplink].map(|d| direction_name(d).to_owned());
        table
            .push("direction", Column::labels(&directions, rows().map(|row| row.direction as u32)))
            .means("direction of the block");
        table.push_count("harq_process", count(|row| u64::from(row.process))).means("HARQ process");
        table
            .push_count("transmission", count(|row| u64::from(row.attempt) + 1))
            .means("number of the transmission, from 1");
        table.push_count("ndi", count(|row| u64::from(row.new_data_indicator))).means("new data indicator");
        table.push_count("mcs", count(|row| u64::from(row.mcs))).means("MCS");
        table.push_count("prbs", count(|row| u64::from(row.prbs))).means("PRBs of the block");
        table.push_count("tb_bytes", count(|row| u64::from(row.bytes))).means("size of the block");
        table
            .push("decoded", Column::Bool(rows().map(|row| row.decoded).collect()))
            .means("whether it was decoded");
        table
            .push_f64("cqi", rows().map(|row| row.cqi.map_or(f64::NAN, f64::from)))
            .means("lowest CQI of the resource block groups");
        table.push_count("rlc_queue_bytes", count(|row| row.queue)).means("bytes in the queue of the UE");
        let of_uplink = |of: fn(UplinkKnowledge) -> Option<f64>| {
            taken.iter().map(move |row| of(row.uplink).unwrap_or(f64::NAN))
        };
        table
            .push_f64("headroom_db", of_uplink(|known| known.headroom.map(|headroom| headroom.0)))
            .means("power headroom on these PRBs");
        table
            .push_f64("expected_bler", of_uplink(|known| known.expected_bler.map(f64::from)))
            .means("error rate that the cell expected");
        table
            .push_f64(
                "reported_headroom_db",
                of_uplink(|known| known.reported_headroom.map(|headroom| headroom.0)),
            )
            .means("power headroom on these PRBs by the latest report");
        table
    }
}

impl Log for RanLog {
    fn requested(parameters: &RecorderParameters) -> Option<Self> {
        let cells = || parameters.cells.iter();
        parameters.ran_log.then(|| {
            let (names, slots) = (cells().map(|cell| cell.name.clone()), cells().map(|cell| cell.slot));
            let by_cell = parameters.uplink_carriers.then(BTreeMap::new);
            Self { by_cell, ..Self::new(parameters.hosts.clone(), names.collect(), slots.collect()) }
        })
    }

    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Assigned).with(Topic::TransportBlock)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>, _: &Flows) {
        self.on_event(now, event);
    }

    fn extend(&mut self, parameters: &RecorderParameters) {
        self.processes.resize(parameters.hosts.len(), Default::default());
        self.ues.clone_from(&parameters.hosts);
    }

    fn take_rows(&mut self, least: usize, _: &RecorderParameters) -> Option<(&'static str, Table)> {
        (self.rows.len() >= least).then(|| ("ran_log", self.take_table()))
    }

    fn finish(mut self: Box<Self>, _: &FinishedRun<'_>) -> Vec<(&'static str, Table)> {
        vec![("ran_log", self.take_table())]
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Bytes;

    use super::*;

    fn block(process: u8, attempt: u8, decoded: bool) -> Event<'static> {
        let (cell, ue, direction) = (CellId(0), UeId(1), Direction::Downlink);
        let bytes = Bytes(1_000);
        let (mcs, prbs, power_limited) = (9, 12, false);
        Event::TransportBlock {
            cell,
            ue,
            direction,
            process,
            mcs,
            prbs,
            bytes,
            attempt,
            decoded,
            power_limited,
        }
    }

    fn assigned(process: u8, cqi: u8, queue: u64) -> Event<'static> {
        let (ue, direction) = (UeId(1), Direction::Downlink);
        let (cqi, queue) = (Some(cqi), Bytes(queue));
        let (headroom, expected_bler, reported_headroom) = (None, None, None);
        let cell = CellId(0);
        Event::Assigned {
            cell,
            ue,
            direction,
            process,
            cqi,
            queue,
            headroom,
            expected_bler,
            reported_headroom,
        }
    }

    #[test]
    fn the_indicator_toggles_with_new_data_and_stays_for_what_is_sent_again() {
        let mut log = RanLog::new(
            vec!["a".to_owned(), "b".to_owned()],
            vec!["north".to_owned()],
            vec![Duration::from_millis(1)],
        );
        let at = Instant::from_millis;
        log.on_event(at(5), &assigned(0, 11, 700));
        log.on_event(at(6), &assigned(3, 7, 300));
        log.on_event(at(8), &block(0, 0, false));
        log.on_event(at(9), &block(3, 0, true));
        log.on_event(at(13), &assigned(0, 12, 900));
        log.on_event(at(16), &block(0, 1, true));
        log.on_event(at(17), &block(0, 0, true));
        let table = log.take_table();
        let integers = |name: &str| match table.column(name) {
            Some(Column::I64(values)) => values.clone(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(integers("slot"), [7, 8, 15, 16]);
        assert_eq!(integers("harq_process"), [0, 3, 0, 0]);
        assert_eq!(integers("transmission"), [1, 1, 2, 1]);
        assert_eq!(integers("ndi"), [1, 1, 1, 0]);
        assert_eq!(integers("rlc_queue_bytes"), [700, 300, 900, 900]);
        assert_eq!(table.column("cqi"), Some(&Column::F64(vec![11.0, 7.0, 12.0, 12.0])));
        assert_eq!(table.column("decoded"), Some(&Column::Bool(vec![false, true, true, true])));
        let Some(Column::Labels { labels, of }) = table.column("ue") else { panic!("no labels") };
        assert_eq!((labels[1].as_str(), of.as_slice()), ("b", &[1, 1, 1, 1][..]));
    }
}
