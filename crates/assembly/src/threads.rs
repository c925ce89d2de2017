//! The threads of one run.

use airlane_ran::RadioNetwork;

use crate::Built;

/// Work of a step of all cells from which it is divided among threads, in UEs; choice. With less, 19 cells of LTE with ten
/// UEs each are slower on two threads than on one.
const LEAST_WORK: usize = 120;

impl Built {
    /// From now on [`Self::run`] has at most this many threads, if the radio network has several cells, whose parts of a
    /// slot are then done side by side. Results do not depend on it. In a browser a run has one thread.
    pub fn use_threads(&mut self, threads: usize) {
        self.use_threads_from(LEAST_WORK, threads);
    }

    /// The same, where a step of a slot is divided among the threads if it has at least this work
    /// ([`RadioNetwork::work_side_by_side`]).
    pub fn use_threads_from(&mut self, least_work: usize, threads: usize) {
        let radio =
            self.places.mobile.and_then(|mobile| self.simulation.node_mut::<RadioNetwork>(mobile.radio));
        let most = radio.filter(|_| threads > 1).map_or(1, |radio| radio.work_side_by_side(least_work));
        self.threads = threads.clamp(1, most);
    }

    /// The number of threads.
    #[must_use]
    pub const fn threads(&self) -> usize {
        self.threads
    }

    /// Number of steps of slots so far in which the work of cells was divided among the threads.
    #[must_use]
    pub fn shared_steps(&self) -> u64 {
        let radio = self.places.mobile.and_then(|mobile| self.simulation.node::<RadioNetwork>(mobile.radio));
        radio.map_or(0, RadioNetwork::steps_side_by_side)
    }

    /// Calls this on a pool of the run's threads; on the calling thread if it is one, or there can be no more.
    pub(crate) fn on_threads<T: Send>(&mut self, work: impl FnOnce(&mut Self) -> T + Send) -> T {
        #[cfg(not(target_family = "wasm"))]
        if self.threads > 1 {
            let named = |index| format!("airlane slot {index}");
            let pool =
                rayon_core::ThreadPoolBuilder::new().num_threads(self.threads).thread_name(named).build();
            if let Ok(pool) = pool {
                return pool.install(|| work(self));
            }
        }
        work(self)
    }
}
