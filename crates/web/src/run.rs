//! A run under way.

use airlane_core::{Duration, Instant};
use airlane_scenario::{Built, Resolved};
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
    /// Goes on for these simulated seconds; true at the end of the run.
    pub fn advance(&mut self, seconds: f64) -> bool {
        let step = Duration::from_nanos((seconds * 1e9) as u64);
        self.now = self.end.min(self.now + step);
        self.built.run_until(self.now);
        self.now == self.end
    }

    /// Where it is, in simulated seconds.
    #[must_use]
    pub fn now_s(&self) -> f64 {
        self.now.as_secs_f64()
    }

    /// Where it ends.
    #[must_use]
    pub fn end_s(&self) -> f64 {
        self.end.as_secs_f64()
    }

    /// What a run that has come to its end leaves behind.
    #[must_use]
    pub fn finish(mut self) -> Outcome {
        let captures = self.built.take_captures();
        Outcome { output: self.built.finish(), captures }
    }
}

impl Run {
    pub(crate) fn new(built: Built, scenario: &Resolved) -> Self {
        Self { built, now: Instant::ZERO, end: Instant::ZERO + scenario.run.duration.0 }
    }
}
