//! The times when UEs had no usable link.
//!
//! In one direction of a UE, a *failure* is a transmission of a block that was not decoded, a slot in which
//! the MAC sent nothing although there was data ([`Event::Unsent`](airlane_core::Event::Unsent): CQI 0, or a
//! grant that the UE missed), or a lost connection. An *outage* is a period from the first to the last of
//! consecutive failures without a decoded block, if it is at least [`LEAST`]. A period without transmission
//! attempts is not an outage.

use airlane_core::{Direction, Duration, Instant, UeId};

use crate::table::{Column, Table, direction_name};

/// The time after which a UE's link is out of sync (TS 36.133 v17.0 §7.6.2.1).
const LEAST: Duration = Duration::from_millis(200);

/// A time without a usable link.
#[derive(Clone, Copy, Debug)]
struct Outage {
    ue: u32,
    direction: Direction,
    from: Instant,
    until: Instant,
    /// True if a block was decoded afterwards.
    over: bool,
}

/// Failures of each UE since its last decoded block, by direction: the first and the last.
#[derive(Debug, Default)]
pub(crate) struct CoverageLog {
    failing: Vec<[Option<(Instant, Instant)>; 2]>,
    outages: Vec<Outage>,
}

impl CoverageLog {
    /// Makes room for this many UEs.
    pub(crate) fn resize(&mut self, ues: usize) {
        self.failing.resize(ues, [None; 2]);
    }

    pub(crate) fn new(ues: usize) -> Self {
        Self { failing: vec![[None; 2]; ues], outages: Vec::new() }
    }

    /// A transmission of a block ended.
    #[inline]
    pub(crate) fn on_block(&mut self, now: Instant, ue: UeId, direction: Direction, decoded: bool) {
        if !decoded {
            self.on_failure(now, ue, direction);
        } else if self.failing.get(ue.index()).is_some_and(|failing| failing[direction as usize].is_some()) {
            self.close(ue.index(), direction, true);
        }
    }

    /// A failure.
    #[cold]
    pub(crate) fn on_failure(&mut self, now: Instant, ue: UeId, direction: Direction) {
        if let Some(failing) = self.failing.get_mut(ue.index()) {
            failing[direction as usize].get_or_insert((now, now)).1 = now;
        }
    }

    #[cold]
    fn close(&mut self, ue: usize, direction: Direction, over: bool) {
        if let Some((from, until)) = self.failing[ue][direction as usize].take()
            && until - from >= LEAST
        {
            self.outages.push(Outage { ue: ue as u32, direction, from, until, over });
        }
    }

    /// The table `outages`, by UE and then in time.
    pub(crate) fn into_table(mut self, ue_names: &[String]) -> Table {
        for ue in 0..self.failing.len() {
            self.close(ue, Direction::Downlink, false);
            self.close(ue, Direction::Uplink, false);
        }
        self.outages.sort_by_key(|o| (o.ue, o.from, o.direction as u8));
        let seconds = |of: fn(&Outage) -> Instant| self.outages.iter().map(move |o| of(o).as_secs_f64());
        let mut table = Table::default();
        table.push_text("ue", self.outages.iter().map(|o| ue_names[o.ue as usize].as_str())).means("UE");
        table
            .push_text("direction", self.outages.iter().map(|o| direction_name(o.direction)))
            .means("direction of the failures");
        table.push("from_s", Column::F64(seconds(|o| o.from).collect())).means("first failure");
        table.push("until_s", Column::F64(seconds(|o| o.until).collect())).means("last failure");
        table
            .push("over", Column::Bool(self.outages.iter().map(|o| o.over).collect()))
            .means("whether a block was decoded afterwards");
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_what_fails_for_long_and_only_that() {
        let mut log = CoverageLog::new(2);
        let (at, down, up) = (Instant::from_millis, Direction::Downlink, Direction::Uplink);
        // 199 ms: a fade. A second of failures in the uplink that began within it, without a decoded block
        // until the end.
        log.on_block(at(1), UeId(0), down, true);
        log.on_block(at(10), UeId(0), down, false);
        log.on_failure(at(209), UeId(0), down);
        log.on_block(at(210), UeId(0), down, true);
        log.on_failure(at(100), UeId(0), up);
        log.on_block(at(1100), UeId(0), up, false);
        // Another UE: 200 ms, then no transmissions, then a decoded block.
        log.on_block(at(300), UeId(1), down, false);
        log.on_block(at(500), UeId(1), down, false);
        log.on_block(at(9000), UeId(1), down, true);
        // A single failure, for any time of the next transmission.
        log.on_block(at(9100), UeId(1), down, false);
        let table = log.into_table(&["a".to_owned(), "b".to_owned()]);
        let text = |values: &[&str]| Some(Column::Text(values.iter().map(|&v| v.to_owned()).collect()));
        assert_eq!(table.column("ue"), text(&["a", "b"]).as_ref());
        assert_eq!(table.column("direction"), text(&["uplink", "downlink"]).as_ref());
        assert_eq!(table.column("from_s"), Some(&Column::F64(vec![0.1, 0.3])));
        assert_eq!(table.column("until_s"), Some(&Column::F64(vec![1.1, 0.5])));
        assert_eq!(table.column("over"), Some(&Column::Bool(vec![false, true])));
    }
}
