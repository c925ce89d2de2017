//! The simulator in a browser: converts and forwards, without decisions of its own.
//!
//! The bindings use wasm-bindgen. Plain exports would not suffice: the crates below that read a clock and
//! random numbers for TLS (`web-time`, `getrandom`) import both from JavaScript through wasm-bindgen.
//!
//! A run advances by calls of [`Run::advance`]. Between two calls its worker can receive a message to stop.
//! Numbers of tables become typed arrays. Counts become numbers, which JavaScript represents exactly up to
//! 2⁵³; [`Outcome::bytes`] has all of their bits.

mod call_controllers;
mod controllers;
mod error;
mod files;
mod outcome;
mod run;
mod scenario;

use wasm_bindgen::prelude::*;

pub use call_controllers::OwnCalls;
pub use controllers::Own;
pub use files::Files;
pub use outcome::Outcome;
pub use run::Run;
pub use scenario::Scenario;

/// The version of the core.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// The JSON Schema of the scenario format.
#[wasm_bindgen]
#[must_use]
pub fn schema() -> String {
    airlane_scenario::schema()
}

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = console)]
    fn error(message: &str);
}

/// Writes the messages of failed assertions to the console; otherwise only the end of the module is
/// visible.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| error(&panic.to_string())));
}
