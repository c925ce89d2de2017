//! A movement trace is refused with an error, or its nodes can be followed.
#![no_main]

use airlane_core::Instant;
use airlane_radio::mobility::{PathFollower, Movements};
use libfuzzer_sys::fuzz_target;

/// Coordinates that a file may name, in metres.
const FARTHEST_M: f64 = 1e7;

fuzz_target!(|text: &str| {
    match Movements::parse(text) {
        Ok(movements) => {
            for node in movements.nodes() {
                let path = movements.path(node).expect("it is listed").clone();
                let mut follower = PathFollower::new(path, 1.5);
                for at in [0, 1, 999, 30_000, 1_000_000_000].map(Instant::from_millis) {
                    let place = follower.position_at(at);
                    assert!(place.x.abs() <= FARTHEST_M && place.y.abs() <= FARTHEST_M, "{place:?} at {at}");
                    let velocity = follower.velocity_at(at);
                    assert!(velocity.x.is_finite() && velocity.y.is_finite(), "{velocity:?} at {at}");
                }
            }
        }
        Err(error) => assert!(!error.help.is_empty()),
    }
});
