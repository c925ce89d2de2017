//! Data that arrives over several paths, put in order.

use std::collections::BTreeMap;

use crate::{Duration, Instant};

/// Data that arrived before data in front of it.
#[derive(Clone, Copy, Debug)]
struct Held {
    end: u64,
    at: Instant,
    path: usize,
}

/// Held data that can be read now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Released {
    /// The path over which it arrived.
    pub path: usize,
    /// The bytes.
    pub bytes: u64,
    /// How long they have waited.
    pub waited: Duration,
}

/// The positions that have arrived, counted from zero.
#[derive(Debug, Default)]
pub struct Order {
    /// Position expected next.
    next: u64,
    /// Data behind a gap, by its start.
    beyond: BTreeMap<u64, Held>,
    beyond_bytes: u64,
}

impl Order {
    /// The position that is expected next.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// Bytes behind a gap.
    #[must_use]
    pub const fn held(&self) -> u64 {
        self.beyond_bytes
    }

    /// Number of pieces behind a gap, as they have arrived.
    #[must_use]
    pub fn pieces(&self) -> usize {
        self.beyond.len()
    }

    /// `len` bytes from `start` on arrived over a path. Returns how many of them are new, and adds what can be read
    /// besides them to `released`.
    pub fn receive(
        &mut self,
        now: Instant,
        path: usize,
        (start, len): (u64, u64),
        released: &mut Vec<Released>,
    ) -> u64 {
        let (mut at, end) = (start, start + len);
        let mut fresh = 0;
        while end > at.max(self.next) {
            at = at.max(self.next);
            let before = self.beyond.range(..=at).next_back().map(|(_, held)| held.end);
            if let Some(covered) = before.filter(|covered| *covered > at) {
                at = covered;
                continue;
            }
            let until = self.beyond.range(at..).next().map_or(end, |(next, _)| end.min(*next));
            if at == self.next {
                self.next = until;
                self.release(now, released);
            } else {
                self.beyond.insert(at, Held { end: until, at: now, path });
                self.beyond_bytes += until - at;
            }
            fresh += until - at;
            at = until;
        }
        fresh
    }

    /// Held data that follows can be read.
    fn release(&mut self, now: Instant, released: &mut Vec<Released>) {
        while let Some(first) = self.beyond.first_entry()
            && *first.key() <= self.next
        {
            let (start, held) = first.remove_entry();
            self.next = held.end;
            self.beyond_bytes -= held.end - start;
            let waited = now.saturating_since(held.at);
            released.push(Released { path: held.path, bytes: held.end - start, waited });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data at 10, 30 and 20, each ten bytes long, and then the data in front of them.
    #[test]
    fn pieces_are_released() {
        let (mut order, mut released) = (Order::default(), vec![]);
        let mut receive = |start, len| {
            let fresh = order.receive(Instant::ZERO, 0, (start, len), &mut released);
            (fresh, order.pieces(), order.next())
        };
        assert_eq!(receive(10, 10), (10, 1, 0));
        assert_eq!(receive(30, 10), (10, 2, 0));
        assert_eq!(receive(15, 10), (5, 3, 0)); // 20 to 25
        assert_eq!(receive(20, 10), (5, 4, 0)); // 25 to 30
        assert_eq!(receive(0, 20), (10, 0, 40));
        assert_eq!(receive(41, 1), (1, 1, 40));
        assert_eq!(receive(40, 1), (1, 0, 42));
    }
}
