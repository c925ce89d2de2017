//! Shares of the data among paths, in proportion to weights.

/// Bytes sent by each path, and its weight.
///
/// A path that was not in use has no claim to what it missed: it begins with the smallest share of the others, so that a path
/// that returns after an outage gets its weight from then on, and not all data until it has caught up.
#[derive(Clone, Debug)]
pub struct Shares {
    /// In the order of the paths; 1 where there is none.
    weights: Vec<u32>,
    sent: Vec<u64>,
    in_use: Vec<bool>,
}

impl Shares {
    /// Shares with these weights, in the order of the paths.
    #[must_use]
    pub const fn new(weights: Vec<u32>) -> Self {
        Self { weights, sent: vec![], in_use: vec![] }
    }

    /// The weight of a path, at least 1.
    fn weight(&self, path: usize) -> u128 {
        u128::from(self.weights.get(path).copied().unwrap_or(1).max(1))
    }

    /// Whether the first path has had less for its weight than the second.
    fn order(&self, a: usize, b: usize) -> core::cmp::Ordering {
        (u128::from(self.sent[a]) * self.weight(b)).cmp(&(u128::from(self.sent[b]) * self.weight(a)))
    }

    /// Says which of all paths are in use, each of which may send when it has room.
    pub fn use_paths(&mut self, in_use: impl Iterator<Item = bool>) {
        for (path, is_used) in in_use.enumerate() {
            if path == self.sent.len() {
                self.sent.push(0);
                self.in_use.push(false);
            }
            if is_used && !self.in_use[path] {
                let others = (0..self.sent.len()).filter(|other| self.in_use[*other]);
                if let Some(least) = others.min_by(|a, b| self.order(*a, *b)) {
                    let share = u128::from(self.sent[least]) * self.weight(path) / self.weight(least);
                    self.sent[path] = u64::try_from(share).unwrap_or(u64::MAX);
                }
            }
            self.in_use[path] = is_used;
        }
    }

    /// The path that has sent least for its weight, the first of several; of paths that [`Self::use_paths`] knows.
    #[must_use]
    pub fn least(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        among.min_by(|a, b| self.order(*a, *b))
    }

    /// A path sends this number of bytes.
    pub fn on_sent(&mut self, path: usize, bytes: u64) {
        self.sent[path] += bytes;
    }
}
