//! The timers of connections: a binary heap with the position of each connection, so that a moved timer
//! leaves no old entry behind.

use airlane_core::Instant;

/// The place of a slot that is not in the heap.
const NOWHERE: u32 = u32::MAX;

/// A timer for each slot of a table.
#[derive(Debug, Default)]
pub(super) struct Timers {
    /// Slots; none is later than its children.
    heap: Vec<u32>,
    /// By slot: its due time, and its position in the heap.
    due: Vec<(Instant, u32)>,
}

impl Timers {
    /// The earliest timer.
    #[inline]
    pub(super) fn first(&self) -> Option<(Instant, u32)> {
        self.heap.first().map(|&slot| (self.due[slot as usize].0, slot))
    }

    /// The time at which a slot is due; [`Instant::FAR_FUTURE`] for never.
    #[inline]
    pub(super) fn due(&self, slot: u32) -> Instant {
        self.due.get(slot as usize).map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    /// Sets a slot's timer; [`Instant::FAR_FUTURE`] removes it.
    pub(super) fn set(&mut self, slot: u32, at: Instant) {
        if self.due.len() <= slot as usize {
            self.due.resize(slot as usize + 1, (Instant::FAR_FUTURE, NOWHERE));
            self.heap.reserve(self.due.len() - self.heap.len());
        }
        let place = self.due[slot as usize].1;
        self.due[slot as usize].0 = at;
        match (place == NOWHERE, at == Instant::FAR_FUTURE) {
            (true, true) => {}
            (true, false) => {
                self.due[slot as usize].1 = self.heap.len() as u32;
                self.heap.push(slot);
                self.rise(self.heap.len() - 1);
            }
            (false, true) => self.remove(place as usize),
            (false, false) => {
                let place = self.rise(place as usize);
                self.sink(place);
            }
        }
    }

    fn remove(&mut self, place: usize) {
        let gone = self.heap.swap_remove(place);
        self.due[gone as usize].1 = NOWHERE;
        if let Some(&moved) = self.heap.get(place) {
            self.due[moved as usize].1 = place as u32;
            let place = self.rise(place);
            self.sink(place);
        }
    }

    /// Ties are resolved by the lower slot, so that the order does not depend on the history of the
    /// heap.
    fn before(&self, a: usize, b: usize) -> bool {
        let key = |place: usize| (self.due[self.heap[place] as usize].0, self.heap[place]);
        key(a) < key(b)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        self.due[self.heap[a] as usize].1 = a as u32;
        self.due[self.heap[b] as usize].1 = b as u32;
    }

    fn rise(&mut self, mut place: usize) -> usize {
        while place > 0 && self.before(place, (place - 1) / 2) {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
        place
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let (left, right) = (2 * place + 1, 2 * place + 2);
            let mut least = place;
            if left < self.heap.len() && self.before(left, least) {
                least = left;
            }
            if right < self.heap.len() && self.before(right, least) {
                least = right;
            }
            if least == place {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn the_first_is_always_the_earliest() {
        let mut draw = Seeds::new(7).stream("timers");
        let (mut timers, mut plain) = (Timers::default(), vec![Instant::FAR_FUTURE; 40]);
        for _ in 0..5_000 {
            let slot = draw.below(40) as u32;
            let at =
                if draw.chance(0.2) { Instant::FAR_FUTURE } else { Instant::from_millis(draw.below(50)) };
            timers.set(slot, at);
            plain[slot as usize] = at;
            assert_eq!(timers.due(slot), at);
            let least = (0..40_u32).map(|slot| (plain[slot as usize], slot)).min();
            assert_eq!(timers.first(), least.filter(|(at, _)| *at != Instant::FAR_FUTURE));
        }
    }
}
