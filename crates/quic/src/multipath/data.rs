//! Which path has carried the data of a connection, for reports.

use std::collections::BTreeMap;

use airlane_core::order::{Order, Released};
use airlane_core::{Bytes, Cx, Duration, Event, FlowId, SubflowStep, Topic};

use super::frames::StreamData;

/// The data that paths have carried last, by position: the end, and the path. Neighbours over the same path are one.
#[derive(Debug, Default)]
struct Carried(BTreeMap<u64, (u64, usize)>);

impl Carried {
    /// A path carries data. Returns the number of these bytes that another path had carried last.
    fn carry(&mut self, (start, end): (u64, u64), path: usize) -> u64 {
        let before = self.0.range(..start).next_back().map(|(at, (end, _))| (*at, *end));
        let from = before.filter(|(_, until)| *until > start).map_or(start, |(at, _)| at);
        let known: Vec<_> = self.0.range(from..end).map(|(at, (end, by))| (*at, *end, *by)).collect();
        let mut by_others = 0;
        for (at, until, by) in known {
            self.0.remove(&at);
            if at < start {
                self.0.insert(at, (start, by));
            }
            if until > end {
                self.0.insert(end, (until, by));
            }
            by_others += if by == path { 0 } else { until.min(end) - at.max(start) };
        }
        let previous = self.0.range_mut(..start).next_back().map(|(_, one)| one);
        match previous {
            Some((until, by)) if *until == start && *by == path => *until = end,
            _ => drop(self.0.insert(start, (end, path))),
        }
        by_others
    }

    /// Forgets what is in front of a position.
    fn forget(&mut self, to: u64) {
        while self.0.first_key_value().is_some_and(|(_, (end, _))| *end <= to) {
            self.0.pop_first();
        }
    }
}

/// The data of one direction of a stream, at the end that sends it or at the other.
#[derive(Debug)]
pub(super) struct DataLog {
    flow: FlowId,
    stream: u64,
    carried: Carried,
    /// The end of the data that was sent.
    sent_to: u64,
    /// Data this far behind it is never sent again.
    kept: u64,
    order: Order,
    released: Vec<Released>,
}

impl DataLog {
    /// The data of a stream; a sender keeps at most `window` bytes.
    pub(super) fn new(flow: FlowId, stream: u64, window: Bytes) -> Self {
        let kept = window.get().saturating_mul(2);
        let carried = Carried::default();
        Self { flow, stream, carried, sent_to: 0, kept, order: Order::default(), released: vec![] }
    }

    fn report(&self, cx: &mut Cx<'_>, path: usize, step: SubflowStep) {
        if cx.wants(Topic::Subflow) {
            cx.emit(&Event::Subflow { flow: self.flow, subflow: path as u8, step });
        }
    }

    /// Data in order.
    pub(super) const fn in_order(&self) -> u64 {
        self.order.next()
    }

    /// Number of pieces of data that have arrived behind a gap.
    pub(super) fn pieces(&self) -> usize {
        self.order.pieces()
    }

    /// A datagram with this data is sent. Returns whether some of it was sent before.
    pub(super) fn on_sent(&mut self, cx: &mut Cx<'_>, path: usize, data: StreamData, srtt: Duration) -> bool {
        if data.stream != self.stream || data.length == 0 {
            return false;
        }
        let end = data.offset + data.length;
        let fresh = end.saturating_sub(self.sent_to.max(data.offset));
        self.sent_to = self.sent_to.max(end);
        let again = self.carried.carry((data.offset, end), path);
        self.carried.forget(self.sent_to.saturating_sub(self.kept));
        for (bytes, again) in [(fresh, false), (again, true)] {
            if bytes > 0 {
                self.report(cx, path, SubflowStep::Scheduled { bytes: Bytes(bytes), again, srtt });
            }
        }
        fresh < data.length
    }

    /// A datagram with this data arrives.
    pub(super) fn on_arrived(&mut self, cx: &mut Cx<'_>, path: usize, data: StreamData) {
        if data.stream != self.stream || data.length == 0 {
            return;
        }
        let expected = self.order.next();
        let mut released = core::mem::take(&mut self.released);
        let fresh = self.order.receive(cx.now, path, (data.offset, data.length), &mut released);
        let again = self.carried.carry((data.offset, data.offset + data.length), path);
        self.carried.forget(self.order.next().saturating_sub(self.kept));
        let ahead = if fresh > 0 { data.offset.saturating_sub(expected) } else { 0 };
        let step = SubflowStep::Arrived { fresh: Bytes(fresh), again: Bytes(again), ahead: Bytes(ahead) };
        self.report(cx, path, step);
        for Released { path, bytes, waited } in released.drain(..) {
            self.report(cx, path, SubflowStep::Released { bytes: Bytes(bytes), waited });
        }
        self.released = released;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_another_path_has_carried_are_counted() {
        let mut carried = Carried::default();
        assert_eq!(carried.carry((0, 10), 0) + carried.carry((10, 20), 0) + carried.carry((20, 30), 1), 0);
        assert_eq!(carried.0.len(), 2);
        assert_eq!(carried.carry((5, 25), 1), 15); // 5 to 20 of path 0
        assert_eq!(carried.carry((0, 30), 0), 25);
        assert_eq!(carried.carry((12, 14), 0), 0);
        carried.forget(30);
        assert!(carried.0.is_empty());
    }
}
