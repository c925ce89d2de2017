//! A valid scenario.

use airlane_assembly::build_from;

use airlane_scenario::{Extensions, Resolved};
use wasm_bindgen::prelude::*;

use crate::call_controllers::{OwnCalls, rate_controllers};
use crate::controllers::{Own, controllers};
use crate::error::scenario_error;
use crate::{Files, Run};

/// A resolved scenario.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Scenario {
    resolved: Resolved,
    files: airlane_scenario::Files,
}

#[wasm_bindgen]
impl Scenario {
    /// Reads TOML. `overrides` is a JSON object: values by dotted path.
    ///
    /// # Errors
    /// The first error in it.
    #[wasm_bindgen(constructor)]
    pub fn new(text: &str, file_name: &str, overrides: &str, files: &Files) -> Result<Self, JsValue> {
        let overrides: serde_json::Map<String, serde_json::Value> = serde_json::from_str(overrides)
            .map_err(|e| js_sys::Error::new(&format!("overrides are not a JSON object: {e}")))?;
        let resolve = || {
            let mut scenario = airlane_scenario::Scenario::parse(text, file_name)?.with_files(files.given());
            for (path, value) in &overrides {
                scenario.set(path, value)?;
            }
            scenario.resolve()
        };
        let resolved = resolve().map_err(|e| scenario_error(&e))?;
        Ok(Self { resolved, files: files.given() })
    }

    /// Every value as JSON.
    #[must_use]
    pub fn json(&self) -> String {
        self.resolved.to_json()
    }

    /// The files that a run reads.
    #[must_use]
    pub fn files(&self) -> Vec<String> {
        self.resolved.files().into_iter().map(str::to_owned).collect()
    }

    /// A new run. `own` implements the congestion controller `own` of the scenario, `calls` its rate controller of calls
    /// with this name; packets are captured at the points that the scenario names if `capture` is true.
    ///
    /// # Errors
    /// If it needs a controller that is missing.
    pub fn run(
        &self,
        seed: u64,
        own: Option<Own>,
        calls: Option<OwnCalls>,
        capture: bool,
    ) -> Result<Run, JsValue> {
        let own = Extensions {
            controllers: controllers(own),
            rate_controllers: rate_controllers(calls),
            ..Extensions::default()
        };
        let help = "a browser has no kernel; use transport = \"tcp\"";
        self.resolved.with_flows().map_err(|e| scenario_error(&e))?;
        self.resolved.without_kernels(help).map_err(|e| scenario_error(&e))?;
        let built = build_from(&self.resolved, seed, &own, &self.files);
        let mut built = built.map_err(|e| scenario_error(&e))?;
        if capture {
            built.capture_to_memory();
        }
        Ok(Run::new(built, &self.resolved))
    }
}
