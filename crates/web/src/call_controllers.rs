//! Rate controllers of calls written in JavaScript, as [`controllers`](crate::controllers) of connections are.

use std::sync::Arc;

use airlane_scenario::RateControllers;
use airlane_scenario::rate_controller::{
    CallParameters, Duration, Ecn, MakeRateController, OwnRateControllers, RateController, RateEvent,
    RateRequest, RateScript, ScriptedRateController,
};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const INTERFACE: &str = r"
/** Makes and calls rate controllers of calls, each known by a number. A target is NaN if the controller has failed. */
export interface OwnCalls {
  /** The interval of the timer; NaN for none. */
  timer_ms(): number;
  make(min_mbps: number, start_mbps: number, max_mbps: number): number;
  /** `bounded` is the target where it was brought into the bounds, else NaN. `packets` has five numbers of each packet:
   * sequence, size, sent_s, arrived_s (NaN if it is missing), and 1 for a congestion mark. `rtt_ms` is NaN without one. */
  on_feedback(controller: number, bounded: number, now_s: number, packets: Float64Array, in_flight: number, rtt_ms: number): number;
  on_timer(controller: number, bounded: number, now_s: number): number;
  /** The rate that it paces at in Mbit/s; NaN for the one that follows from the target. */
  pacing_mbps(controller: number): number;
}
";

#[wasm_bindgen]
extern "C" {
    /// The object that creates and calls the rate controllers of a run.
    #[wasm_bindgen(typescript_type = "OwnCalls")]
    #[derive(Clone, Debug)]
    pub type OwnCalls;

    #[wasm_bindgen(method)]
    fn timer_ms(this: &OwnCalls) -> f64;
    #[wasm_bindgen(method)]
    fn make(this: &OwnCalls, min_mbps: f64, start_mbps: f64, max_mbps: f64) -> u32;
    #[wasm_bindgen(method)]
    fn on_feedback(
        this: &OwnCalls,
        controller: u32,
        bounded: f64,
        now_s: f64,
        packets: &[f64],
        in_flight: f64,
        rtt_ms: f64,
    ) -> f64;
    #[wasm_bindgen(method)]
    fn on_timer(this: &OwnCalls, controller: u32, bounded: f64, now_s: f64) -> f64;
    #[wasm_bindgen(method)]
    fn pacing_mbps(this: &OwnCalls, controller: u32) -> f64;
}

/// The rate controllers that a scenario may name: a single one, `own`.
pub(crate) fn rate_controllers(own: Option<OwnCalls>) -> RateControllers {
    own.into_iter().map(|own| ("own".to_owned(), OwnRateControllers(Arc::new(Maker(own))))).collect()
}

#[derive(Debug)]
struct Maker(OwnCalls);

impl MakeRateController for Maker {
    fn make(&self, call: &CallParameters<'_>) -> Box<dyn RateController> {
        let [min_mbps, start_mbps, max_mbps] = call.bounds.in_mbps();
        let controller = self.0.make(min_mbps, start_mbps, max_mbps);
        let script = Box::new(JavaScript { own: self.0.clone(), controller });
        let timer_ms = self.0.timer_ms();
        let interval = (!timer_ms.is_nan()).then(|| Duration::from_nanos((timer_ms * 1e6) as u64));
        Box::new(ScriptedRateController::new(Some(script), interval, call))
    }
}

/// The controller of one sender.
struct JavaScript {
    own: OwnCalls,
    controller: u32,
}

impl RateScript for JavaScript {
    fn call(&mut self, bounded: Option<f64>, event: RateEvent<'_>) -> Option<RateRequest> {
        let (own, controller, bounded) = (&self.own, self.controller, bounded.unwrap_or(f64::NAN));
        let target_mbps = match event {
            RateEvent::Feedback { now, feedback, rtt } => {
                let mut packets = Vec::with_capacity(5 * feedback.packets.len());
                for report in feedback.packets {
                    packets.extend([
                        report.sent.sequence as f64,
                        report.sent.size.get() as f64,
                        report.sent.at.as_secs_f64(),
                        report.arrived.map_or(f64::NAN, |at| at.as_secs_f64()),
                        f64::from(report.ecn == Ecn::CongestionExperienced),
                    ]);
                }
                let (in_flight, rtt_ms) =
                    (feedback.in_flight.get() as f64, rtt.map_or(f64::NAN, |rtt| rtt.as_secs_f64() * 1e3));
                own.on_feedback(controller, bounded, now.as_secs_f64(), &packets, in_flight, rtt_ms)
            }
            RateEvent::Timer { now } => own.on_timer(controller, bounded, now.as_secs_f64()),
        };
        let pacing = own.pacing_mbps(controller);
        (!target_mbps.is_nan())
            .then(|| RateRequest { target_mbps, pacing_mbps: (!pacing.is_nan()).then_some(pacing) })
    }
}
