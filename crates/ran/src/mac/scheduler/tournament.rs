//! A tournament tree: the UE with the highest key, while single keys change.

/// A key, and the UE that has it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    key: f64,
    ue: u32,
}

/// The keys of UEs. A change costs as many comparisons as the tree has levels, the highest key none.
#[derive(Debug)]
pub(super) struct Tournament {
    /// Level by level: the root is at 1, the two below entry `i` are at `2i` and `2i + 1`, and UE `u` is at
    /// `leaves + u`. An entry is the better of the two below it, the left one of equal ones.
    entries: Vec<Entry>,
    leaves: usize,
}

impl Tournament {
    /// Keys of zero for at least this many UEs.
    pub(super) fn new(ues: usize) -> Self {
        let leaves = ues.next_power_of_two();
        let mut entries = vec![Entry { key: 0.0, ue: 0 }; 2 * leaves];
        for (entry, ue) in entries[leaves..].iter_mut().zip(0..) {
            entry.ue = ue;
        }
        for at in (1..leaves).rev() {
            entries[at] = entries[2 * at];
        }
        Self { entries, leaves }
    }

    /// Makes room for this many UEs.
    pub(super) fn grow_to(&mut self, ues: usize) {
        if ues > self.leaves {
            let mut larger = Self::new(ues);
            for &Entry { key, ue } in &self.entries[self.leaves..] {
                larger.set(ue, key);
            }
            *self = larger;
        }
    }

    /// Sets the key of a UE, which is not negative.
    pub(super) fn set(&mut self, ue: u32, key: f64) {
        let mut at = self.leaves + ue as usize;
        if self.entries[at].key == key {
            return;
        }
        let mut better = Entry { key, ue };
        self.entries[at] = better;
        while at > 1 {
            let other = self.entries[at ^ 1];
            let other_is_left = at & 1 == 1;
            if other.key > better.key || (other_is_left && other.key == better.key) {
                better = other;
            }
            at /= 2;
            if self.entries[at] == better {
                return; // this UE neither leads nor led here
            }
            self.entries[at] = better;
        }
    }

    /// The highest key, and the first UE that has it; `None` if all keys are zero.
    pub(super) fn first(&self) -> Option<(f64, u32)> {
        let Entry { key, ue } = self.entries[1];
        (key > 0.0).then_some((key, ue))
    }
}

#[cfg(test)]
mod tests {
    use airlane_core::Seeds;

    use super::*;

    #[test]
    fn it_finds_what_a_search_finds() {
        let mut draws = Seeds::new(1).stream("keys");
        for ues in [1, 2, 3, 5, 8, 100] {
            let (mut tree, mut keys) = (Tournament::new(ues), vec![0.0; ues]);
            assert_eq!(tree.first(), None);
            for _ in 0..2000 {
                let ue = (draws.uniform() * ues as f64) as usize;
                // Few values, so that many are equal.
                keys[ue] = (draws.uniform() * 4.0).floor();
                tree.set(ue as u32, keys[ue]);
                let high = keys.iter().copied().fold(0.0, f64::max);
                let first = keys.iter().position(|key| *key == high).expect("it is one of them");
                assert_eq!(tree.first(), (high > 0.0).then_some((high, first as u32)));
            }
        }
    }

    #[test]
    fn it_keeps_its_keys_when_it_grows() {
        let mut tree = Tournament::new(2);
        tree.set(0, 3.0);
        tree.set(1, 5.0);
        tree.grow_to(3);
        tree.set(2, 4.0);
        tree.set(1, 0.0);
        assert_eq!(tree.first(), Some((4.0, 2)));
        tree.set(2, 0.0);
        assert_eq!(tree.first(), Some((3.0, 0)));
    }
}
