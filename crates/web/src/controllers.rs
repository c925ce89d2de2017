//! Congestion controllers written in JavaScript.
//!
//! A single JavaScript object creates and calls the controllers of a run; each connection has one, with a
//! number. Exceptions of a controller stay in that object: here the window is then NaN, and the controller is
//! not called again.

use std::sync::Arc;

use airlane_scenario::Controllers;
use airlane_scenario::controller::{
    MakeController, OwnController, OwnControllers, Script, ScriptAck, ScriptEvent, ScriptRequest,
    ScriptedController, SegmentWindow,
};
use wasm_bindgen::prelude::*;

#[wasm_bindgen(typescript_custom_section)]
const INTERFACE: &str = r"
/** Makes and calls controllers, each known by a number. A window is NaN if the controller has failed. */
export interface Own {
  per_round(): boolean;
  make(segment_size: number, cwnd: number): number;
  copy(controller: number): number;
  /** The size of segments has changed, and with it the number of segments in the window. */
  resize(controller: number, segment_size: number, cwnd: number): void;
  /** `behind` is the window where it changed behind the controller's back, else NaN; as `rtt_ms` without a sample. */
  on_ack(controller: number, behind: number, now_s: number, delivered: number, may_grow: boolean,
    window_limited: boolean, outstanding: number, rtt_ms: number, srtt_ms: number): number;
  on_loss(controller: number, behind: number, now_s: number, in_flight: number, random: boolean): number;
  on_timeout(controller: number, behind: number, now_s: number, restart: number, new_episode: boolean): number;
  on_undo(controller: number, behind: number, before: number): number;
  /** The rate that it paces at in Mbit/s; NaN for none. */
  pacing_mbps(controller: number): number;
}
";

#[wasm_bindgen]
extern "C" {
    /// The object that creates and calls the controllers of a run.
    #[wasm_bindgen(typescript_type = "Own")]
    #[derive(Clone, Debug)]
    pub type Own;

    #[wasm_bindgen(method)]
    fn per_round(this: &Own) -> bool;
    #[wasm_bindgen(method)]
    fn make(this: &Own, segment_size: u32, cwnd: u32) -> u32;
    #[wasm_bindgen(method)]
    fn copy(this: &Own, controller: u32) -> u32;
    #[wasm_bindgen(method)]
    fn resize(this: &Own, controller: u32, segment_size: u32, cwnd: u32);
    #[wasm_bindgen(method)]
    fn on_ack(
        this: &Own,
        controller: u32,
        behind: f64,
        now_s: f64,
        delivered: u32,
        may_grow: bool,
        window_limited: bool,
        outstanding: u32,
        rtt_ms: f64,
        srtt_ms: f64,
    ) -> f64;
    #[wasm_bindgen(method)]
    fn on_loss(this: &Own, controller: u32, behind: f64, now_s: f64, in_flight: u32, random: bool) -> f64;
    #[wasm_bindgen(method)]
    fn on_timeout(
        this: &Own,
        controller: u32,
        behind: f64,
        now_s: f64,
        restart: u32,
        new_episode: bool,
    ) -> f64;
    #[wasm_bindgen(method)]
    fn on_undo(this: &Own, controller: u32, behind: f64, before: u32) -> f64;
    #[wasm_bindgen(method)]
    fn pacing_mbps(this: &Own, controller: u32) -> f64;
}

/// The controllers that a scenario may name: a single one, `own`.
pub(crate) fn controllers(own: Option<Own>) -> Controllers {
    own.into_iter().map(|own| ("own".to_owned(), OwnControllers(Arc::new(Maker(own))))).collect()
}

#[derive(Debug)]
struct Maker(Own);

impl MakeController for Maker {
    fn make(&self, window: &SegmentWindow) -> Box<dyn OwnController> {
        let controller = self.0.make(window.segment_size(), window.segments);
        let script = Box::new(JavaScript { own: self.0.clone(), controller });
        Box::new(ScriptedController::new(Some(script), self.0.per_round(), window))
    }
}

/// The controller of one connection.
#[derive(Debug)]
struct JavaScript {
    own: Own,
    controller: u32,
}

impl Script for JavaScript {
    fn call(&mut self, behind: Option<u32>, event: ScriptEvent) -> Option<ScriptRequest> {
        let (own, controller, behind) = (&self.own, self.controller, behind.map_or(f64::NAN, f64::from));
        let cwnd = match event {
            ScriptEvent::Ack(ScriptAck {
                now,
                delivered,
                may_grow,
                window_limited,
                outstanding,
                rtt_ms,
                srtt_ms,
            }) => {
                let (now_s, rtt_ms) = (now.as_secs_f64(), rtt_ms.unwrap_or(f64::NAN));
                own.on_ack(
                    controller,
                    behind,
                    now_s,
                    delivered,
                    may_grow,
                    window_limited,
                    outstanding,
                    rtt_ms,
                    srtt_ms,
                )
            }
            ScriptEvent::Loss { now, in_flight, random } => {
                own.on_loss(controller, behind, now.as_secs_f64(), in_flight, random)
            }
            ScriptEvent::Timeout { now, restart, new_episode } => {
                own.on_timeout(controller, behind, now.as_secs_f64(), restart, new_episode)
            }
            ScriptEvent::Undo(before) => own.on_undo(controller, behind, before),
        };
        let pacing = own.pacing_mbps(controller);
        (!cwnd.is_nan()).then(|| ScriptRequest { cwnd, pacing_mbps: (!pacing.is_nan()).then_some(pacing) })
    }

    fn resize(&mut self, segment_size: u32, segments: u32) {
        self.own.resize(self.controller, segment_size, segments);
    }

    fn copy(&self) -> Option<Box<dyn Script>> {
        let controller = self.own.copy(self.controller);
        Some(Box::new(Self { own: self.own.clone(), controller }))
    }
}
