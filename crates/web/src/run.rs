//! A run in progress.

use airlane_assembly::Built;
use airlane_core::{Duration, Instant};
use airlane_scenario::Resolved;
use wasm_bindgen::prelude::*;

use crate::Outcome;

/// A run, from its start to its end.
#[wasm_bindgen]
pub struct Run {
    built: Built,
    now: Instant,
    end: Instant,
}

#[wasm_bindgen]
impl Run {
    /// Continues for this simulated time; true at the end of the run.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let step = Duration::from_nanos((seconds * 1e9) as u64);
        self.now = self.end.min(self.now + step);
        self.built.advance(self.now);
        self.now == self.end
    }

    /// The current simulated time, in seconds.
    #[must_use]
    pub fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// The end of the run, in simulated seconds.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.end.as_secs_f64()
    }

    /// The results of a run that has reached its end.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let captures = self.built.take_captures();
        Outcome { output: self.built.finish(), captures }
    }
}

impl Run {
    pub(crate) fn new(mut built: Built, scenario: &Resolved) -> Self {
        // A page shows how far a run is, and nothing of the network within it.
        built.fuse();
        Self { built, now: Instant::ZERO, end: Instant::ZERO + scenario.run.duration.0 }
    }
}
