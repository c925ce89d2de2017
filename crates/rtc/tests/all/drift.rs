//! Calls whose ends have clocks of different rates.

use airlane_core::{BitRate, Duration, Instant};
use airlane_rtc::{
    Bounds, Gcc, GccSettings, Nada, NadaSettings, RateController, ReportTiming, Scream, ScreamSettings,
};

use crate::call::Call;
use crate::link::Marker;
use crate::trace::Trace;

const BOUNDS: Bounds = Bounds { min: BitRate(150_000), start: BitRate(300_000), max: BitRate(2_500_000) };

fn controller(name: &str) -> Box<dyn RateController> {
    match name {
        "gcc" => Box::new(Gcc::new(BOUNDS, GccSettings::default(), Instant::ZERO)),
        "scream" => Box::new(Scream::new(ScreamSettings::draft(), BOUNDS)),
        "scream of ericsson" => Box::new(Scream::new(ScreamSettings::ericsson(), BOUNDS)),
        "scream of libwebrtc" => Box::new(Scream::new(ScreamSettings::libwebrtc(), BOUNDS)),
        _ => Box::new(Nada::new(NadaSettings::default(), BOUNDS)),
    }
}

/// Ten minutes on 1 Mbit/s, with a clock of the receiver that is faster by this.
fn call(name: &str, ppm: i64) -> Trace {
    let mut call = Call::new(&[(0, 1000)], Marker::Never, 25, 25);
    call.clock_ppm = ppm;
    if name == "nada" {
        call.reports = ReportTiming::Interval(Duration::from_millis(100));
    }
    call.run(controller(name), 600)
}

/// The rate in Mbit/s and the median time in the queue in ms, in the last two minutes.
fn ended(name: &str, ppm: i64) -> (f64, f64) {
    let trace = call(name, ppm);
    let ended = (trace.rate(480.0, 600.0), trace.queue_ms(480.0, 600.0, 50));
    println!("{name}, {ppm} ppm: {ended:?}");
    ended
}

/// 100 ppm are 0.1 ms in a second and 60 ms in ten minutes. GCC follows the trend of the delay over a fraction of a second.
/// SCReAM drains a queue that seems never to be empty, and then measures the smallest delay again.
#[test]
fn gcc_and_scream_hardly_depend_on_drift() {
    for (name, rate_part, queue_ms) in [
        ("gcc", 0.005, 0.1),
        ("scream", 0.03, 2.0),
        ("scream of ericsson", 0.03, 4.0),
        ("scream of libwebrtc", 0.03, 4.0),
    ] {
        let (rate, queue) = ended(name, 0);
        for ppm in [-100, 100] {
            let (drifting, waiting) = ended(name, ppm);
            assert!((drifting - rate).abs() < rate_part * rate, "{name}, {ppm} ppm: {drifting}, not {rate}");
            assert!((waiting - queue).abs() < queue_ms, "{name}, {ppm} ppm: {waiting}, not {queue} ms");
        }
    }
}

/// NADA compares the delay with the smallest of the last ten minutes. With a faster clock of the receiver, the difference grows by
/// what the clock has gained; with a slower one, the queue does.
#[test]
fn nada_takes_drift_for_a_queue() {
    let (rate, queue) = ended("nada", 0);
    let (fast_rate, fast_queue) = ended("nada", 100);
    assert!(fast_rate < 0.6 * rate && fast_queue < 1.0, "{fast_rate} of {rate}, {fast_queue} ms");
    let (slow_rate, slow_queue) = ended("nada", -100);
    assert!(slow_rate > 0.99 * rate, "{slow_rate} of {rate}");
    assert!((40.0..60.0).contains(&(slow_queue - queue)), "{slow_queue}, not {queue} ms");
}
