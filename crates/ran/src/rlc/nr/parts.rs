//! The received segments of incomplete SDUs.

/// Bytes `[from, to)` of one SDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    sn: u32,
    from: u32,
    to: u32,
}

/// Memory is reserved for this many segments with the first one.
const RESERVED: usize = 64;

/// Segments in the order of sequence numbers and bytes, joined where they touch.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<Part>);

impl Parts {
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Reserves memory, so that a loss after warm-up does not allocate.
    pub(crate) fn warm_up(&mut self) {
        if self.0.capacity() == 0 {
            self.0.reserve(RESERVED);
        }
    }

    /// Adds a segment, joins it with those it touches, and returns the joint range.
    pub(crate) fn merge(&mut self, sn: u32, from: u32, to: u32) -> (u32, u32) {
        self.warm_up();
        let low = self.0.partition_point(|part| (part.sn, part.to) < (sn, from));
        let touching = self.0[low..].iter().take_while(|part| part.sn == sn && part.from <= to);
        let (mut joined, mut count) = (Part { sn, from, to }, 0);
        for part in touching {
            joined = Part { sn, from: joined.from.min(part.from), to: joined.to.max(part.to) };
            count += 1;
        }
        if count == 0 {
            self.0.insert(low, joined);
        } else {
            self.0[low] = joined;
            self.0.drain(low + 1..low + count);
        }
        (joined.from, joined.to)
    }

    /// The segments of an SDU, as ranges of its bytes.
    pub(crate) fn of(&self, sn: u32) -> impl Iterator<Item = (u32, u32)> + Clone + '_ {
        let low = self.0.partition_point(|part| part.sn < sn);
        self.0[low..].iter().take_while(move |part| part.sn == sn).map(|part| (part.from, part.to))
    }

    /// True if a byte is missing before the last byte that was received of this SDU.
    pub(crate) fn has_gap(&self, sn: u32) -> bool {
        let mut parts = self.of(sn);
        parts.next().is_some_and(|(from, _)| from > 0 || parts.next().is_some())
    }

    /// Removes the segments of an SDU.
    pub(crate) fn remove(&mut self, sn: u32) {
        self.0.retain(|part| part.sn != sn);
    }

    /// Removes the segments of all SDUs below `sn`.
    pub(crate) fn remove_below(&mut self, sn: u32) {
        self.0.retain(|part| part.sn >= sn);
    }
}
