//! The simulator in a browser: converts and forwards, decides nothing.
//!
//! The bindings are those of wasm-bindgen. Plain exports would not do: the crates below that read a clock and draw
//! randomness for TLS (`web-time`, `getrandom`) import both from JavaScript through wasm-bindgen.
//!
//! A run advances by calls of [`Run::advance`]. Between two of them the worker that it is in hears whether it is to
//! go on. Numbers of tables become typed arrays. Counts become numbers, which JavaScript holds exactly up to 2⁵³;
//! [`Outcome::bytes`] has all of their bits.

mod controllers;
mod error;
mod files;
mod outcome;
mod run;
mod scenario;

use wasm_bindgen::prelude::*;

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

/// What a failed assertion says goes to the console: without, only that the module has ended.
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| error(&panic.to_string())));
}
