//! The timing wheel: at most one timer per node, popped in the order `(at, node)`.
//!
//! Eleven levels of 64 slots cover every nanosecond of 64 bits. A timer is stored at the level of
//! the highest 6-bit digit in which it differs from the time of the last pop, in the slot given by
//! this digit. All timers at a lower level are therefore earlier than those at a higher level, and
//! within a level a lower slot is earlier. When the earliest slot holds several timers they are
//! distributed over the levels below, relative to the earliest of them. (The idea is that of
//! hierarchical timing wheels, Varghese and Lauck, SOSP 1987, with the exact order of a radix heap,
//! Ahuja et al., JACM 37(2), 1990.)
//!
//! Since a node has one timer, its entry in the table is found by the node's number: arming
//! allocates nothing, and re-arming unlinks the old entry.

use airlane_core::{Instant, NodeId};

/// Bits of a digit, which is the index of a slot within a level.
const DIGIT_BITS: u32 = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
/// Digits of a 64-bit time.
const LEVELS: usize = 64_usize.div_ceil(DIGIT_BITS as usize);
/// `Entry::place` of a node without a timer.
const IDLE: u16 = u16::MAX;
/// `Entry::place` of a node whose timer is due now and is in `Wheel::ready`.
const READY: u16 = u16::MAX - 1;

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    next: u32,
    previous: u32,
    /// `level * SLOTS + slot`, or one of the two marks above.
    place: u16,
}

/// One timer per node, in total order.
#[derive(Clone, Debug)]
pub struct Wheel {
    /// An entry per node, and a sentinel that belongs to no list. Lists end at the sentinel. Its links are written but
    /// never read, which saves a branch, and its time stays zero.
    entries: Vec<Entry>,
    /// The first timer of each slot.
    heads: Box<[[u32; SLOTS]; LEVELS]>,
    /// A bit per slot that holds a timer.
    occupied: [u64; LEVELS],
    /// A bit per level that holds a timer.
    levels: u16,
    /// Time of the last pop.
    elapsed: u64,
    /// Nodes due at `elapsed`, the greatest first.
    ready: Vec<u32>,
}

impl Wheel {
    /// A wheel for nodes 0 to `nodes` - 1.
    ///
    /// # Panics
    /// With more than 2^31 nodes.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        assert!(nodes < 1 << 31, "a wheel has room for 2^31 nodes, not {nodes}");
        let nil = nodes as u32;
        let idle = Entry { at: 0, next: nil, previous: nil, place: IDLE };
        Self {
            entries: vec![idle; nodes + 1],
            heads: Box::new([[nil; SLOTS]; LEVELS]),
            occupied: [0; LEVELS],
            levels: 0,
            elapsed: 0,
            ready: Vec::with_capacity(nodes),
        }
    }

    /// Makes room for nodes 0 to `nodes` - 1. It at least doubles the table when it is full, so that the
    /// cost per node that is added one by one does not grow.
    ///
    /// # Panics
    /// With more than 2^31 nodes.
    pub fn make_room(&mut self, nodes: usize) {
        let old = self.nil();
        if nodes <= old as usize {
            return;
        }
        let room = nodes.max(2 * old as usize);
        assert!(room < 1 << 31, "a wheel has room for 2^31 nodes, not {room}");
        let nil = room as u32;
        let end = |node: &mut u32| {
            if *node == old {
                *node = nil;
            }
        };
        // The sentinel's number is also the mark of every end of a list.
        for entry in &mut self.entries {
            end(&mut entry.next);
            end(&mut entry.previous);
        }
        self.heads.as_flattened_mut().iter_mut().for_each(end);
        let idle = Entry { at: 0, next: nil, previous: nil, place: IDLE };
        self.entries[old as usize] = idle;
        self.entries.resize(room + 1, idle);
        self.ready.reserve(room - self.ready.len());
    }

    /// The time of the earliest timer.
    #[must_use]
    pub fn next(&self) -> Option<Instant> {
        if !self.ready.is_empty() {
            return Some(Instant::from_nanos(self.elapsed));
        }
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let mut node = self.heads[level][slot];
        let mut earliest = u64::MAX;
        while node != self.nil() {
            let entry = &self.entries[node as usize];
            earliest = earliest.min(entry.at);
            node = entry.next;
        }
        Some(Instant::from_nanos(earliest))
    }

    /// Sets the node's timer, replacing an armed one.
    ///
    /// # Panics
    /// If `at` is before the last pop, or if the node's old timer is due at this instant.
    #[inline(always)]
    pub fn arm(&mut self, node: NodeId, at: Instant) {
        let at = at.as_nanos();
        match self.entries[node.index()].place {
            IDLE => {}
            READY => is_due_now(node),
            _ => self.unlink(node.0),
        }
        if at > self.elapsed {
            self.link(node.0, at);
        } else {
            self.arm_now(node, at);
        }
    }

    /// Sets a timer for the time of the last pop.
    #[cold]
    #[inline(never)]
    fn arm_now(&mut self, node: NodeId, at: u64) {
        assert!(at == self.elapsed, "a timer of {node:?} at {at} ns, which is past");
        if self.ready.is_empty() {
            return self.link(node.0, at);
        }
        (self.entries[node.index()].at, self.entries[node.index()].place) = (at, READY);
        let after = self.ready.partition_point(|&other| other > node.0);
        self.ready.insert(after, node.0);
    }

    /// Removes the earliest timer, if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Instant) -> Option<(Instant, NodeId)> {
        let limit = limit.as_nanos();
        if let Some(node) = self.ready.pop() {
            self.entries[node as usize].place = IDLE;
            return Some((Instant::from_nanos(self.elapsed), NodeId(node)));
        }
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros() as usize;
        let slot = self.occupied[level].trailing_zeros() as usize;
        let nil = self.nil();
        let first = self.heads[level][slot];
        let entry = &mut self.entries[first as usize];
        if entry.next == nil {
            if entry.at > limit {
                return None;
            }
            entry.place = IDLE;
            self.elapsed = entry.at;
            self.clear(level, slot);
        } else {
            self.spread((level, slot), limit)?;
            let first = self.ready.pop().expect("the earliest of the slot is ready");
            self.entries[first as usize].place = IDLE;
            return Some((Instant::from_nanos(self.elapsed), NodeId(first)));
        }
        Some((Instant::from_nanos(self.elapsed), NodeId(first)))
    }

    /// Moves the earliest timers of a slot to `ready` and the others to lower levels; `None` if the
    /// earliest is after the limit.
    fn spread(&mut self, (level, slot): (usize, usize), limit: u64) -> Option<()> {
        let nil = self.nil();
        let first = self.heads[level][slot];
        let mut earliest = u64::MAX;
        let mut node = first;
        while node != nil {
            let entry = &self.entries[node as usize];
            earliest = earliest.min(entry.at);
            node = entry.next;
        }
        if earliest > limit {
            return None;
        }
        self.clear(level, slot);
        self.elapsed = earliest;
        let (mut last, mut ascends) = (u32::MAX, 0);
        node = first;
        while node != nil {
            let entry = &mut self.entries[node as usize];
            if entry.at == earliest {
                entry.place = READY;
                ascends += usize::from(node > last);
                last = node;
                self.ready.push(node);
                node = entry.next;
            } else {
                node = self.link_run(node);
            }
        }
        self.order_ready(ascends);
        Some(())
    }

    /// Puts the timers that are due into order, of which so many have a greater number than the one before. Nodes that
    /// were armed in their order are in that order here, or in the reverse.
    #[inline]
    fn order_ready(&mut self, ascends: usize) {
        if ascends + 1 == self.ready.len() {
            self.ready.reverse();
        } else if ascends > 0 {
            self.ready.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The end of a list.
    #[inline]
    fn nil(&self) -> u32 {
        self.entries.len() as u32 - 1
    }

    #[inline(always)]
    fn link(&mut self, node: u32, at: u64) {
        // The lowest bit is set so that equal times count as different in digit 0.
        let highest_bit = 63 - ((at ^ self.elapsed) | 1).leading_zeros();
        let level = (highest_bit / DIGIT_BITS) as usize;
        let slot = (at >> (level as u32 * DIGIT_BITS)) as usize % SLOTS;
        let nil = self.nil();
        let head = core::mem::replace(&mut self.heads[level][slot], node);
        self.entries[head as usize].previous = node;
        let place = (level * SLOTS + slot) as u16;
        self.entries[node as usize] = Entry { at, next: head, previous: nil, place };
        self.occupied[level] |= 1 << slot;
        self.levels |= 1 << level;
    }

    /// Links a timer and the timers behind it in its old list that have the same time: they stay linked to each other.
    /// Returns the next timer of the old list.
    #[inline]
    fn link_run(&mut self, first: u32) -> u32 {
        let Entry { at, mut next, .. } = self.entries[first as usize];
        // The time of the sentinel is zero, which is no time to come.
        let alone = self.entries[next as usize].at != at;
        self.link(first, at);
        if alone {
            return next;
        }
        let Entry { next: behind, place, .. } = self.entries[first as usize];
        self.entries[first as usize].next = next;
        let mut last = first;
        while self.entries[next as usize].at == at {
            let entry = &mut self.entries[next as usize];
            entry.place = place;
            (last, next) = (next, entry.next);
        }
        self.entries[last as usize].next = behind;
        self.entries[behind as usize].previous = last;
        next
    }

    fn unlink(&mut self, node: u32) {
        let Entry { next, previous, place, .. } = self.entries[node as usize];
        let nil = self.nil();
        let (level, slot) = (usize::from(place) / SLOTS, usize::from(place) % SLOTS);
        self.entries[next as usize].previous = previous;
        if previous != nil {
            self.entries[previous as usize].next = next;
        } else if next != nil {
            self.heads[level][slot] = next;
        } else {
            self.clear(level, slot);
        }
    }

    /// Empties a slot's list.
    #[inline]
    fn clear(&mut self, level: usize, slot: usize) {
        self.heads[level][slot] = self.nil();
        self.occupied[level] &= !(1 << slot);
        // No branch, because whether the list is now empty is hard to predict.
        self.levels &= !(u16::from(self.occupied[level] == 0) << level);
    }
}

#[cold]
fn is_due_now(node: NodeId) -> ! {
    panic!("{node:?} has a timer that is due now; it cannot be moved")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use airlane_core::{Seeds, Stream};

    use super::*;

    fn pop(wheel: &mut Wheel) -> Option<(u64, u32)> {
        wheel.pop_until(Instant::FAR_FUTURE).map(|(at, node)| (at.as_nanos(), node.0))
    }

    #[test]
    fn equal_times_come_by_node() {
        let mut wheel = Wheel::new(5);
        for node in [3, 0, 4, 1] {
            wheel.arm(NodeId(node), Instant::from_nanos(77));
        }
        assert_eq!(pop(&mut wheel), Some((77, 0)));
        wheel.arm(NodeId(2), Instant::from_nanos(77)); // is added to the timers that are due
        wheel.arm(NodeId(0), Instant::from_nanos(78));
        let rest: Vec<_> = std::iter::from_fn(|| pop(&mut wheel)).collect();
        assert_eq!(rest, [(77, 1), (77, 2), (77, 3), (77, 4), (78, 0)]);
    }

    #[test]
    fn a_limit_is_kept_and_moves_nothing() {
        let mut wheel = Wheel::new(3);
        wheel.arm(NodeId(0), Instant::from_nanos(1_000));
        wheel.arm(NodeId(1), Instant::from_nanos(1_001));
        assert_eq!(wheel.pop_until(Instant::from_nanos(999)), None);
        wheel.arm(NodeId(2), Instant::from_nanos(10));
        let order: Vec<_> = std::iter::from_fn(|| pop(&mut wheel)).collect();
        assert_eq!(order, [(10, 2), (1_000, 0), (1_001, 1)]);
    }

    #[test]
    fn the_ends_of_time_are_in_range() {
        let mut wheel = Wheel::new(2);
        wheel.arm(NodeId(0), Instant::from_nanos(u64::MAX - 1));
        wheel.arm(NodeId(1), Instant::ZERO);
        assert_eq!(pop(&mut wheel), Some((0, 1)));
        assert_eq!(pop(&mut wheel), Some((u64::MAX - 1, 0)));
        assert_eq!(pop(&mut wheel), None);
    }

    #[test]
    #[should_panic(expected = "which is past")]
    fn time_never_goes_back() {
        let mut wheel = Wheel::new(2);
        wheel.arm(NodeId(0), Instant::from_nanos(5));
        pop(&mut wheel);
        wheel.arm(NodeId(1), Instant::from_nanos(4));
    }

    /// A span from a wide range of scales, with many ties.
    fn span(stream: &mut Stream) -> u64 {
        match stream.below(4) {
            0 => stream.below(4),
            1 => stream.below(1 << 12),
            2 => 1_000_000 * stream.below(3),
            _ => stream.bits() >> (20 + stream.below(44)),
        }
    }

    #[test]
    fn pops_as_an_ordered_set_does() {
        for seed in 0..200 {
            let mut stream = Seeds::new(seed).stream("wheel");
            let mut nodes = 1 + stream.below(60) as u32;
            let mut wheel = Wheel::new(nodes as usize);
            let mut reference = BTreeSet::new();
            let mut armed: Vec<Option<u64>> = vec![None; nodes as usize];
            let mut now = 0;
            for _ in 0..3_000 {
                let node = stream.below(u64::from(nodes)) as u32;
                if stream.chance(0.6) && armed[node as usize] != Some(now) {
                    let at = now + span(&mut stream);
                    if let Some(old) = armed[node as usize].replace(at) {
                        reference.remove(&(old, node));
                    }
                    reference.insert((at, node));
                    wheel.arm(NodeId(node), Instant::from_nanos(at));
                    continue;
                }
                if stream.chance(0.01) {
                    armed.push(None);
                    nodes += 1;
                    wheel.make_room(nodes as usize);
                }
                let next = reference.first().map(|&(at, _)| Instant::from_nanos(at));
                assert_eq!(wheel.next(), next, "seed {seed}");
                let limit = now + span(&mut stream);
                let expected = reference.first().copied().filter(|&(at, _)| at <= limit);
                let popped = wheel.pop_until(Instant::from_nanos(limit));
                assert_eq!(popped.map(|(at, node)| (at.as_nanos(), node.0)), expected, "seed {seed}");
                if let Some((at, node)) = expected {
                    reference.remove(&(at, node));
                    armed[node as usize] = None;
                    now = at;
                }
            }
        }
    }
}
