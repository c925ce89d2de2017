//! Several observers as one.

use airlane_core::{Event, Instant, Probe, TopicSet};

use crate::{Capture, CaptureError, Deliveries, Losses, PathModels, ProxySeries, RanLog, Recorder, Table};

/// The recorder, and optional further sinks.
pub struct Sinks {
    /// Fills the tables of every run.
    pub recorder: Recorder,
    /// Writes packets.
    pub capture: Option<Capture>,
    /// Logs transport blocks.
    pub ran_log: Option<RanLog>,
    /// Sums received bytes.
    pub deliveries: Option<Deliveries>,
    /// Lists losses.
    pub losses: Option<Losses>,
    /// Records the buffers of split-connection proxies.
    pub proxies: Option<ProxySeries>,
    /// Records the path models of senders.
    pub models: Option<PathModels>,
    /// An observer of the program that drives the run. It fills no table.
    pub own: Option<Box<dyn Probe + Send>>,
}

impl Sinks {
    /// True if there is only the recorder: it can then observe directly, which is faster.
    #[must_use]
    pub fn is_recorder_alone(&self) -> bool {
        self.capture.is_none()
            && self.ran_log.is_none()
            && self.deliveries.is_none()
            && self.losses.is_none()
            && self.proxies.is_none()
            && self.models.is_none()
            && self.own.is_none()
    }

    /// Completes the capture files.
    ///
    /// # Errors
    /// If one of them could not be written.
    pub fn finish_capture(&mut self) -> Result<(), CaptureError> {
        self.capture.take().map_or(Ok(()), Capture::finish)
    }

    /// Ends the run at `end`, if that is before its planned end.
    pub fn end_at(&mut self, end: Instant) {
        self.recorder.end_at(end);
        if let Some(proxies) = &mut self.proxies {
            proxies.end_at(end);
        }
    }

    /// The tables, by name, once the run has reached its end.
    #[must_use]
    pub fn finish(self) -> Vec<(&'static str, Table)> {
        let mut tables = self.recorder.finish();
        tables.extend(self.ran_log.map(|log| ("ran_log", log.finish())));
        tables.extend(self.deliveries.map(|deliveries| ("deliveries", deliveries.finish())));
        tables.extend(self.losses.map(|losses| ("losses", losses.finish())));
        tables.extend(self.proxies.map(|proxies| ("proxy_series", proxies.finish())));
        tables.extend(self.models.map(|models| ("path_model", models.finish())));
        tables
    }

    fn others(&mut self) -> [Option<&mut dyn Probe>; 7] {
        [
            self.capture.as_mut().map(|sink| sink as &mut dyn Probe),
            self.ran_log.as_mut().map(|sink| sink as &mut dyn Probe),
            self.deliveries.as_mut().map(|sink| sink as &mut dyn Probe),
            self.losses.as_mut().map(|sink| sink as &mut dyn Probe),
            self.proxies.as_mut().map(|sink| sink as &mut dyn Probe),
            self.models.as_mut().map(|sink| sink as &mut dyn Probe),
            self.own.as_mut().map(|sink| &mut **sink as &mut dyn Probe),
        ]
    }
}

impl Probe for Sinks {
    fn topics(&self) -> TopicSet {
        let others = [
            self.capture.as_ref().map(Probe::topics),
            self.ran_log.as_ref().map(Probe::topics),
            self.deliveries.as_ref().map(Probe::topics),
            self.losses.as_ref().map(Probe::topics),
            self.proxies.as_ref().map(Probe::topics),
            self.models.as_ref().map(Probe::topics),
            self.own.as_ref().map(|sink| sink.topics()),
        ];
        others.into_iter().flatten().fold(self.recorder.topics(), TopicSet::union)
    }

    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let topic = event.topic();
        if self.recorder.topics().wants(topic) {
            self.recorder.observe(now, event);
        }
        for sink in self.others().into_iter().flatten() {
            if sink.topics().wants(topic) {
                sink.observe(now, event);
            }
        }
    }
}
