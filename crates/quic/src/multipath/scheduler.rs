//! Which path may send the next datagram with data.
//!
//! noq has no interface for schedulers: it offers the data to its paths in the order of their numbers, and a path sends
//! while its congestion window and its pacer let it. Another order comes from the windows: [`super::sender::PathSender`]
//! shows noq a window of zero where the scheduler has not chosen the path. What congestion control does not limit
//! (acknowledgments, path validation, probes) leaves on any path.

use airlane_core::Duration;
use airlane_transport::mptcp::Shares;

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

/// A path that may send data when it has room.
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
    /// Number of paths of the connection.
    paths: usize,
    /// The path of the last datagram.
    last: usize,
    /// With weights only.
    shares: Option<Shares>,
}

impl Turns {
    pub(super) fn new(kind: MultipathScheduler, paths: usize) -> Self {
        let shares = match &kind {
            MultipathScheduler::Weighted(weights) => {
                let mut shares = Shares::new(weights.clone());
                // Data may leave before the first choice.
                shares.use_paths((0..paths).map(|_| false));
                Some(shares)
            }
            _ => None,
        };
        Self { kind, paths, last: paths.saturating_sub(1), shares }
    }

    /// Whether noq's own order applies.
    pub(super) fn is_noq(&self) -> bool {
        self.kind == MultipathScheduler::Noq
    }

    /// Says which paths may send when they have room.
    pub(super) fn use_paths(&mut self, candidates: &[Candidate]) {
        if let Some(shares) = &mut self.shares {
            let is_one = |place: usize| candidates.iter().any(|one| one.place == place);
            shares.use_paths((0..self.paths).map(is_one));
        }
    }

    /// The path that sends next, of those whose bit is not set in `tried`; `None` if there is none.
    pub(super) fn choose(&self, candidates: &[Candidate], tried: u64) -> Option<usize> {
        let left = candidates.iter().filter(|one| tried >> one.place & 1 == 0);
        let places = left.clone().map(|one| one.place);
        match &self.kind {
            MultipathScheduler::Noq => places.min(),
            MultipathScheduler::MinRtt => left.min_by_key(|one| (one.srtt, one.place)).map(|one| one.place),
            MultipathScheduler::RoundRobin => {
                places.min_by_key(|place| (place + self.paths - self.last - 1) % self.paths)
            }
            MultipathScheduler::Weighted(_) => self.shares.as_ref()?.least(places),
        }
    }

    /// A path has sent a datagram with data.
    pub(super) fn on_sent(&mut self, place: usize, bytes: u64) {
        self.last = place;
        if let Some(shares) = &mut self.shares {
            shares.on_sent(place, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(kind: MultipathScheduler, sends: usize) -> Vec<usize> {
        let mut turns = Turns::new(kind, 3);
        let candidates = [(0, 30), (1, 20), (2, 20)]
            .map(|(place, ms)| Candidate { place, srtt: Duration::from_millis(ms) });
        turns.use_paths(&candidates);
        (0..sends)
            .map(|_| {
                let place = turns.choose(&candidates, 0).unwrap();
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
