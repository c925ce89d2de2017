//! The observed parts of a TCP flow: a cumulative position and ranges beyond it, bounded.

use airlane_core::SackBlock;
use airlane_net::pep::{LIST_MAX, List, TcpReport};

/// Observed data beyond a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    left: u32,
    right: u32,
    /// Segments observed above the hole before it.
    above: u8,
}

/// The identifiers of the last datagrams, newest last. Each message repeats them, because no message is
/// retransmitted.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    identifiers: [u64; LIST_MAX],
    passed: usize,
}

impl Recent {
    pub(crate) fn on_datagram(&mut self, identifier: u64) {
        self.identifiers[self.passed % LIST_MAX] = identifier;
        self.passed += 1;
    }

    pub(crate) fn report(&self) -> List<u64> {
        let mut report = List::default();
        let oldest = self.passed.saturating_sub(LIST_MAX);
        (oldest..self.passed).for_each(|at| assert!(report.push(self.identifiers[at % LIST_MAX])));
        report
    }
}

/// The effect of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentEffect {
    /// New data, or known data.
    Data,
    /// New data, and with it a hole is certain.
    Hole,
    /// There is no room to store the segment.
    NoRoom,
}

/// The observation of one flow.
#[derive(Debug)]
pub(crate) struct Observation {
    first: u32,
    cumulative: u32,
    newest: SackBlock,
    /// In ascending order, separate from each other and from the cumulative part.
    ranges: Vec<Range>,
    /// Number of segments above a hole that make it certain.
    reordering: u8,
}

/// Sequence numbers compare modulo 2^32 (RFC 9293 §3.4).
const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

impl Observation {
    /// Starts at `first`, with room for `ranges` ranges.
    pub(crate) fn new(first: u32, ranges: usize, reordering: u8) -> Self {
        let newest = SackBlock { left: first, right: first };
        Self { first, cumulative: first, newest, ranges: Vec::with_capacity(ranges), reordering }
    }

    /// The segment `[left, right)` passes.
    pub(crate) fn on_segment(&mut self, left: u32, right: u32) -> SegmentEffect {
        self.newest = SackBlock { left, right };
        if !before(self.cumulative, right) {
            return SegmentEffect::Data;
        }
        if !before(self.cumulative, left) {
            self.advance(right);
            return SegmentEffect::Data;
        }
        // The ranges that overlap or touch it are [from, to).
        let from = self.ranges.partition_point(|r| before(r.right, left));
        let to = self.ranges.partition_point(|r| !before(right, r.left));
        if from < to {
            let touched = self.ranges[from];
            let last = self.ranges[to - 1].right;
            self.ranges[from] = Range {
                left: if before(left, touched.left) { left } else { touched.left },
                right: if before(last, right) { right } else { last },
                above: touched.above,
            };
            self.ranges.drain(from + 1..to);
        } else {
            if self.ranges.len() == self.ranges.capacity() {
                return SegmentEffect::NoRoom;
            }
            let above = self.ranges.get(from).map_or(0, |next| next.above);
            self.ranges.insert(from, Range { left, right, above });
        }
        let mut certain = false;
        for range in &mut self.ranges[..=from] {
            range.above = range.above.saturating_add(1);
            certain |= range.above == self.reordering;
        }
        if certain { SegmentEffect::Hole } else { SegmentEffect::Data }
    }

    /// The client acknowledges everything before `position`, which is no longer relevant.
    pub(crate) fn on_client_ack(&mut self, position: u32) {
        if before(self.cumulative, position) {
            self.advance(position);
        }
    }

    fn advance(&mut self, to: u32) {
        self.cumulative = to;
        let reached = self.ranges.partition_point(|r| !before(self.cumulative, r.left));
        for range in self.ranges.drain(..reached) {
            if before(self.cumulative, range.right) {
                self.cumulative = range.right;
            }
        }
    }

    /// The report, with the range of the newest segment first.
    pub(crate) fn report(&self) -> TcpReport {
        let mut report = TcpReport {
            newest: self.newest,
            first: self.first,
            cumulative: self.cumulative,
            ..TcpReport::default()
        };
        let block = |r: &Range| SackBlock { left: r.left, right: r.right };
        let has_newest = |r: &&Range| !before(self.newest.left, r.left) && before(self.newest.left, r.right);
        let newest = self.ranges.iter().find(has_newest).map(block);
        let others = self.ranges.iter().map(block).filter(|r| Some(*r) != newest);
        newest.into_iter().chain(others).take(LIST_MAX).for_each(|r| assert!(report.ranges.push(r)));
        let mut hole_from = self.cumulative;
        for range in &self.ranges {
            if range.above >= self.reordering
                && !report.holes.push(SackBlock { left: hole_from, right: range.left })
            {
                break;
            }
            hole_from = range.right;
        }
        report
    }
}
