//! Several observers as one.

use airlane_core::{Event, Instant, Probe, TopicSet};

use crate::{Capture, CaptureError, Recorder};

/// The recorder, and observers that fill no table.
pub struct Sinks {
    /// Fills the tables.
    pub recorder: Recorder,
    /// Writes packets.
    pub capture: Option<Capture>,
    /// An observer of the program that drives the run.
    pub own: Option<Box<dyn Probe + Send>>,
}

impl Sinks {
    /// True if there is only the recorder: it can then observe directly, which is faster.
    #[must_use]
    pub fn is_recorder_alone(&self) -> bool {
        self.capture.is_none() && self.own.is_none()
    }

    /// Completes the capture files.
    ///
    /// # Errors
    /// If one of them could not be written.
    pub fn finish_capture(&mut self) -> Result<(), CaptureError> {
        self.capture.take().map_or(Ok(()), Capture::finish)
    }

    fn others(&mut self) -> [Option<&mut dyn Probe>; 2] {
        [
            self.capture.as_mut().map(|sink| sink as &mut dyn Probe),
            self.own.as_mut().map(|sink| &mut **sink as &mut dyn Probe),
        ]
    }
}

impl Probe for Sinks {
    fn topics(&self) -> TopicSet {
        let others = [self.capture.as_ref().map(Probe::topics), self.own.as_ref().map(|sink| sink.topics())];
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
