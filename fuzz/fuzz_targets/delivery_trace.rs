//! A delivery trace is refused with an error, or can be replayed.
#![no_main]

use airlane_net::DeliveryTrace;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match DeliveryTrace::parse(text, "fuzz.down") {
        Ok(trace) => {
            let _ = format!("{trace:?}");
        }
        Err(error) => assert!(!error.help.is_empty()),
    }
});
