//! A scenario file is refused with an error that fits on a screen, or becomes a resolved scenario that
//! resolves to itself.
#![no_main]

use airlane_scenario::{Resolved, Scenario};
use libfuzzer_sys::fuzz_target;

/// A message of more than this fills a screen.
const SCREEN: usize = 80 * 24;

fuzz_target!(|text: &str| {
    match Scenario::parse(text, "fuzz.toml").and_then(|scenario| scenario.resolve()) {
        Ok(resolved) => {
            let json = resolved.to_json();
            let again = Resolved::from_json(&json).expect("what was written can be read");
            assert_eq!(again.to_json(), json);
        }
        Err(error) => assert!(error.to_string().len() < SCREEN, "{error}"),
    }
});
