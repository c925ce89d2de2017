//! Whether the source reports: for `/readyz`, metrics and messages.

use std::time::{Duration, Instant};

use crate::Running;
use crate::common::time;
use crate::rnis::metrics::Metrics;
use crate::rnis::settings;

/// The state of the source.
pub(in crate::rnis) struct Watched {
    /// The longest time between reports.
    most: Duration,
    metrics: Metrics,
    running: Running,
    reported_at: Instant,
    /// Whether there was a report since the last begin.
    is_up: bool,
    /// The last reason for which the source was lost, so that an unchanged reason is written once.
    why: Option<String>,
}

impl Watched {
    pub(in crate::rnis) fn new(source: &settings::Source, metrics: Metrics, running: Running) -> Self {
        running.wait_for(Some("the source has not begun".to_owned()));
        let most = time(source.period) + time(source.stall);
        Self { most, metrics, running, reported_at: Instant::now(), is_up: false, why: None }
    }

    /// The source has begun.
    pub(in crate::rnis) fn begun(&mut self) {
        self.metrics.source_begins.inc();
    }

    /// The source has reported.
    pub(in crate::rnis) fn reported(&mut self) {
        self.metrics.source_reports.inc();
        self.reported_at = Instant::now();
        if !self.is_up {
            tracing::info!("the source reports");
            self.set(None);
        }
    }

    /// The source was lost.
    pub(in crate::rnis) fn lost(&mut self, why: String) {
        self.set(Some(why));
    }

    /// Looks whether it still reports.
    pub(in crate::rnis) fn look(&mut self) {
        let age = self.reported_at.elapsed();
        self.metrics.source_age.set(age.as_secs_f64());
        if self.is_up && age > self.most {
            self.metrics.source_stalls.inc();
            self.set(Some(format!("the source has not reported for {:.1} s", self.most.as_secs_f64())));
        }
    }

    fn set(&mut self, why: Option<String>) {
        if let Some(why) = why.as_ref().filter(|why| self.why.as_ref() != Some(why)) {
            tracing::warn!(%why, "no radio information");
        }
        self.is_up = why.is_none();
        self.metrics.source_up.set(self.is_up.into());
        self.running.wait_for(why.clone());
        self.why = why;
    }
}
