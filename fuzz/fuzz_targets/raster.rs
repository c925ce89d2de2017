//! A raster is refused with an error, or its losses can be read at any place.
#![no_main]

use airlane_radio::{LossKind, Position, Raster};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match Raster::parse(text, LossKind::PathLoss) {
        Ok(raster) => {
            let [[west, south], [east, north]] = raster.extent();
            for (x, y) in [(west, south), (east, north), ((west + east) / 2.0, south), (f64::MAX, 0.0), (f64::NAN, 0.0)] {
                if let Some(loss) = raster.at(&Position::on_ground(x, y)) {
                    let rounded = 1e-9;
                    assert!((0.0..=Raster::UNREACHED.0 + rounded).contains(&loss.0), "{loss:?}");
                }
            }
            assert!(raster.roughness().0.is_finite());
        }
        Err(error) => assert!(!error.help.is_empty()),
    }
});
