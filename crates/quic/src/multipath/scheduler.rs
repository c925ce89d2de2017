//! Which path may send the next datagram with data.
//!
//! noq has no interface for schedulers: it offers the data to its paths in the order of their numbers, and a path sends
//! while its congestion window and its pacer let it. Another order comes from the windows: [`super::sender::PathSender`]
//! shows noq a window of zero where the scheduler has not chosen the path. What congestion control does not limit
//! (acknowledgments, path validation, probes) leaves on any path.

use airlane_core::Duration;

/// The choice of a scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MultipathScheduler {
    /// noq's own: the paths in the order in which they were opened.
    Noq,
    /// The path with the smallest round-trip time.
    MinRtt,
    /// One after the other.
    RoundRobin,
    /// The path that has sent least for its weight; the weights are in the order of the paths.
    Weighted(Vec<u32>),
}

/// A path that may send data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    /// Its place among the paths of the connection.
    pub(super) place: usize,
    /// Its smoothed round-trip time.
    pub(super) srtt: Duration,
}

/// A scheduler at work.
#[derive(Debug)]
pub(super) struct Turns {
    kind: MultipathScheduler,
    /// The path of the last datagram.
    last: usize,
    /// Bytes that each path has sent.
    sent: Vec<u64>,
}

impl Turns {
    pub(super) fn new(kind: MultipathScheduler, paths: usize) -> Self {
        Self { kind, last: paths.saturating_sub(1), sent: vec![0; paths] }
    }

    /// Whether noq's own order applies.
    pub(super) fn is_noq(&self) -> bool {
        self.kind == MultipathScheduler::Noq
    }

    /// The path that sends next; `None` without candidates.
    pub(super) fn choose(&self, candidates: impl Iterator<Item = Candidate>) -> Option<usize> {
        let paths = self.sent.len();
        let chosen = match &self.kind {
            MultipathScheduler::Noq => candidates.min_by_key(|one| one.place),
            MultipathScheduler::MinRtt => candidates.min_by_key(|one| (one.srtt, one.place)),
            MultipathScheduler::RoundRobin => {
                candidates.min_by_key(|one| (one.place + paths - self.last - 1) % paths)
            }
            MultipathScheduler::Weighted(weights) => {
                let weight = |place: usize| u128::from(weights.get(place).copied().unwrap_or(1).max(1));
                // The share of one is less than that of another if sent / weight is less.
                candidates.min_by(|a, b| {
                    let [of_a, of_b] = [a, b].map(|one| u128::from(self.sent[one.place]));
                    (of_a * weight(b.place)).cmp(&(of_b * weight(a.place)))
                })
            }
        };
        chosen.map(|one| one.place)
    }

    /// A path has sent a datagram with data.
    pub(super) fn on_sent(&mut self, place: usize, bytes: u64) {
        self.last = place;
        self.sent[place] += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(kind: MultipathScheduler, sends: usize) -> Vec<usize> {
        let mut turns = Turns::new(kind, 3);
        let all = [(0, 30), (1, 20), (2, 20)];
        (0..sends)
            .map(|_| {
                let candidates = all.map(|(place, ms)| Candidate { place, srtt: Duration::from_millis(ms) });
                let place = turns.choose(candidates.into_iter()).unwrap();
                turns.on_sent(place, 1_200);
                place
            })
            .collect()
    }

    #[test]
    fn each_scheduler_has_its_order() {
        assert_eq!(chosen(MultipathScheduler::Noq, 2), [0, 0]);
        assert_eq!(chosen(MultipathScheduler::MinRtt, 2), [1, 1]);
        assert_eq!(chosen(MultipathScheduler::RoundRobin, 4), [0, 1, 2, 0]);
        let weighted = chosen(MultipathScheduler::Weighted(vec![4, 1, 1]), 600);
        let count = |place: usize| weighted.iter().filter(|one| **one == place).count();
        assert_eq!([0, 1, 2].map(count), [400, 100, 100]);
    }
}
