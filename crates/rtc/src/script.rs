//! A rate controller written as a script: a user's class in Python.
//!
//! The script is called with each report of the receiver and, if it asks for this, at a constant interval. It requests a
//! target, and optionally a pacing rate.

use airlane_core::{BitRate, Duration, Instant};

use crate::{Bounds, CallParameters, Feedback, Pace, RateController, SentPacket};

/// The pacing rate as a multiple of the target, if a script requests none: that of GCC in libwebrtc.
const PACING_PERCENT: u64 = 110;
/// The lowest and the highest pacing rate in Mbit/s, those of scripts over TCP and QUIC.
const PACING_MBPS: [f64; 2] = [0.001, 1e6];

/// An event that a script handles.
#[derive(Clone, Copy, Debug)]
pub enum RateEvent<'a> {
    /// A report of the receiver.
    Feedback {
        /// The time of its arrival.
        now: Instant,
        /// The report.
        feedback: &'a Feedback<'a>,
        /// The last round-trip time that RTCP has measured; `None` before the first.
        rtt: Option<Duration>,
    },
    /// The interval of the script has passed.
    Timer {
        /// The time.
        now: Instant,
    },
}

/// The request of a script after a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRequest {
    /// The rate of all media with their headers, in Mbit/s, finite and not negative.
    pub target_mbps: f64,
    /// The pacing rate in Mbit/s; `None` for the rate that follows from the target.
    pub pacing_mbps: Option<f64>,
}

/// The script's object for one sender.
pub trait RateScript: Send {
    /// Passes an event, after updating the object's target to `bounded`, in Mbit/s, if its last request was beyond a bound
    /// of the call. `None` if the script failed; it is then not called again.
    fn call(&mut self, bounded: Option<f64>, event: RateEvent<'_>) -> Option<RateRequest>;
}

/// The controller of a sender.
pub struct ScriptedRateController {
    /// `None` once it has failed.
    script: Option<Box<dyn RateScript>>,
    bounds: Bounds,
    target: BitRate,
    /// The target in Mbit/s, if the script has requested one beyond a bound.
    bounded: Option<f64>,
    pacing: Option<BitRate>,
    rtt: Option<Duration>,
    /// The interval of the timer, and when it expires next.
    timer: Option<(Duration, Instant)>,
}

impl ScriptedRateController {
    /// A controller that begins at the first rate of the call. Without a script, it stays there.
    #[must_use]
    pub fn new(
        script: Option<Box<dyn RateScript>>,
        interval: Option<Duration>,
        call: &CallParameters<'_>,
    ) -> Self {
        Self {
            script,
            bounds: call.bounds,
            target: call.bounds.start,
            bounded: None,
            pacing: None,
            rtt: None,
            timer: interval.map(|interval| (interval, call.start + interval)),
        }
    }

    fn call(&mut self, event: RateEvent<'_>) {
        let bounded = self.bounded.take();
        let Some(wanted) = self.script.as_mut().and_then(|script| script.call(bounded, event)) else {
            self.script = None;
            self.timer = None;
            return;
        };
        let [min_mbps, _, max_mbps] = self.bounds.in_mbps();
        let target_mbps = wanted.target_mbps.clamp(min_mbps, max_mbps);
        self.bounded = (target_mbps != wanted.target_mbps).then_some(target_mbps);
        self.target = BitRate((target_mbps * 1e6).round() as u64);
        let [least, most] = PACING_MBPS;
        self.pacing = wanted.pacing_mbps.map(|mbps| BitRate((mbps.clamp(least, most) * 1e6) as u64));
    }
}

impl RateController for ScriptedRateController {
    fn on_sent(&mut self, _: &SentPacket) {}

    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>) {
        self.call(RateEvent::Feedback { now, feedback, rtt: self.rtt });
    }

    fn on_round_trip(&mut self, _: Instant, rtt: Duration) {
        self.rtt = Some(rtt);
    }

    fn on_timeout(&mut self, now: Instant) {
        if let Some((interval, at)) = &mut self.timer
            && *at <= now
        {
            *at += *interval;
            self.call(RateEvent::Timer { now });
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.timer.map(|(_, at)| at)
    }

    fn target(&self) -> BitRate {
        self.target
    }

    fn pace(&self) -> Pace {
        let rate = self.pacing.unwrap_or(BitRate(self.target.0 * PACING_PERCENT / 100));
        Pace { rate: Some(rate), window: None, padding: BitRate(0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airlane_core::{Bytes, Ecn};

    const MBPS: u64 = 1_000_000;

    /// Expects a target that was brought into the bounds, or none, at each event, and answers with the request.
    struct Requests(std::vec::IntoIter<(Option<f64>, Option<RateRequest>)>);

    impl RateScript for Requests {
        fn call(&mut self, bounded: Option<f64>, _: RateEvent<'_>) -> Option<RateRequest> {
            let (expected, request) = self.0.next().expect("it is not called again after a failure");
            assert_eq!(bounded, expected);
            request
        }
    }

    fn controller(requests: Vec<(Option<f64>, Option<RateRequest>)>) -> ScriptedRateController {
        let bounds = Bounds { min: BitRate(MBPS), start: BitRate(2 * MBPS), max: BitRate(3 * MBPS) };
        let start = Instant::from_millis(10);
        let call = CallParameters { flow: "call", bounds, frame_rate: 30.0, start, ecn: Ecn::NotCapable };
        let script = Box::new(Requests(requests.into_iter()));
        ScriptedRateController::new(Some(script), Some(Duration::from_millis(50)), &call)
    }

    fn feed(controller: &mut ScriptedRateController) -> (u64, u64) {
        let feedback = Feedback { packets: &[], in_flight: Bytes::ZERO, held: Duration::ZERO };
        controller.on_feedback(Instant::from_millis(20), &feedback);
        (controller.target().0, controller.pace().rate.expect("it paces").0)
    }

    #[test]
    fn a_request_is_brought_into_the_bounds_of_the_call() {
        let ask = |target_mbps, pacing_mbps| Some(RateRequest { target_mbps, pacing_mbps });
        let asked = vec![
            (None, ask(2.5, None)),
            (None, ask(0.0, Some(0.0))),
            (Some(1.0), ask(1e300, Some(1e300))),
            (Some(3.0), ask(2.0, None)),
        ];
        let mut one = controller(asked);
        assert_eq!(one.target().0, 2 * MBPS, "the first rate before any request");
        assert_eq!(feed(&mut one), (2_500_000, 2_750_000));
        assert_eq!(feed(&mut one), (MBPS, 1_000));
        assert_eq!(feed(&mut one), (3 * MBPS, 1_000_000 * MBPS));
        assert_eq!(feed(&mut one), (2 * MBPS, 2_200_000));
    }

    #[test]
    fn a_script_that_failed_is_not_called_again() {
        let mut one = controller(vec![(None, None)]);
        assert_eq!(feed(&mut one), (2 * MBPS, 2_200_000));
        assert_eq!((feed(&mut one).0, one.next_timeout()), (2 * MBPS, None));
    }

    #[test]
    fn the_timer_expires_at_each_interval_from_the_start() {
        let ask = RateRequest { target_mbps: 1.5, pacing_mbps: None };
        let mut one = controller(vec![(None, Some(ask)); 2]);
        for ms in [60, 110] {
            assert_eq!(one.next_timeout(), Some(Instant::from_millis(ms)));
            one.on_timeout(Instant::from_millis(ms));
        }
        assert_eq!(one.target().0, 1_500_000);
    }
}
