//! SCReAM v2, a window-based controller that reacts to queue delay, loss and ECN marks.
//!
//! The reference window says how many bytes a round trip carries; the target for the media follows from it. See
//! [`ScreamSettings`] for the two algorithms and their sources.
//!
//! Left out: the sharing of a window among several streams, the adaptation of the MSS to the rate, the draft's
//! compensation for competing flows (which it doubts, see its "Discussion"), and that libwebrtc drops frames when its
//! pacer holds more than 100 ms. A window that is full without reports is a matter of the sender's pacer, which lets one packet
//! through each 500 ms, as libwebrtc's does; Ericsson's implementation opens the whole window then (EricssonResearch/scream
//! c8f84c3, `ScreamV2Tx.cpp`, `isOkToTransmit`).

mod delay;
mod draft;
mod flight;
mod libwebrtc;
mod loss;
mod marks;
mod media;
mod padding;
mod settings;
mod window;

#[cfg(test)]
mod tests;

use airlane_core::{BitRate, Bytes, Duration, Instant};

use draft::Draft;
use flight::Flight;
use libwebrtc::Libwebrtc;
use padding::Padding;
pub use settings::{DraftOptions, ScreamSettings, ScreamVariant};

use crate::{Bounds, Feedback, Pace, RateController, SentPacket};

#[derive(Clone, Debug)]
enum Algorithm {
    Draft(Draft),
    Libwebrtc(Libwebrtc, Padding),
}

/// SCReAM v2.
#[derive(Clone, Debug)]
pub struct Scream {
    bounds: Bounds,
    flight: Flight,
    algorithm: Algorithm,
}

impl Scream {
    /// A controller with these parameters and bounds of the target.
    #[must_use]
    pub fn new(settings: ScreamSettings, bounds: Bounds) -> Self {
        let (algorithm, adapts) = match settings.variant {
            ScreamVariant::Draft(options) => (Algorithm::Draft(Draft::new(settings, options, bounds)), true),
            ScreamVariant::Libwebrtc => {
                (Algorithm::Libwebrtc(Libwebrtc::new(settings, bounds), Padding::default()), false)
            }
        };
        Self { bounds, flight: Flight::new(adapts), algorithm }
    }

    /// The smoothed round-trip time; 25 ms before the first report. That of the draft has the time for which reports are
    /// held, libwebrtc's has not.
    fn smoothed_rtt(&self) -> Duration {
        match &self.algorithm {
            Algorithm::Draft(draft) => draft.smoothed_rtt(),
            Algorithm::Libwebrtc(libwebrtc, _) => libwebrtc.smoothed_rtt(),
        }
    }

    fn note_in_flight(&mut self) {
        let in_flight = self.flight.in_flight();
        match &mut self.algorithm {
            Algorithm::Draft(draft) => draft.note_in_flight(in_flight),
            Algorithm::Libwebrtc(libwebrtc, _) => libwebrtc.note_in_flight(in_flight),
        }
    }
}

impl RateController for Scream {
    fn on_sent(&mut self, packet: &SentPacket) {
        self.flight.on_sent(packet);
        self.note_in_flight();
    }

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.note_in_flight();
        let news = self.flight.on_feedback(now, feedback, self.smoothed_rtt());
        if news.packets == 0 {
            return;
        }
        match &mut self.algorithm {
            Algorithm::Draft(draft) => draft.update(now, &news),
            Algorithm::Libwebrtc(libwebrtc, padding) => {
                libwebrtc.update(now, &news, feedback.held);
                padding.update(now, libwebrtc.decreased_at());
            }
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Algorithm::Libwebrtc(libwebrtc, padding) = &mut self.algorithm {
            padding.update(now, libwebrtc.decreased_at());
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match &self.algorithm {
            Algorithm::Draft(_) => None,
            Algorithm::Libwebrtc(_, padding) => padding.next_change(),
        }
    }

    fn on_queue(&mut self, now: Instant, waiting: Bytes) {
        if let Algorithm::Draft(draft) = &mut self.algorithm {
            draft.media().on_queue(now, waiting);
        }
    }

    fn on_frame(&mut self, now: Instant, wire_size: Bytes) {
        if let Algorithm::Draft(draft) = &mut self.algorithm {
            let target = draft.target();
            draft.media().on_frame(now, wire_size, target);
        }
    }

    fn target(&self) -> BitRate {
        match &self.algorithm {
            Algorithm::Draft(draft) => draft.target(),
            Algorithm::Libwebrtc(libwebrtc, _) => libwebrtc.target(),
        }
    }

    fn pace(&self) -> Pace {
        let target = self.target();
        let (rate, window, padding) = match &self.algorithm {
            Algorithm::Draft(draft) => (draft.pacing_rate(), draft.send_window(), BitRate(0)),
            Algorithm::Libwebrtc(libwebrtc, padding) => {
                let padded = padding.allowed() && target < self.bounds.max;
                let padding = if padded { target } else { BitRate(0) };
                (libwebrtc.pacing_rate(), libwebrtc.send_window(), padding)
            }
        };
        Pace { rate: Some(rate), window: Some(window), padding }
    }
}
