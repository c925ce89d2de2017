//! NADA in equilibrium, against RFC 8698.

use airlane_core::{BitRate, Bytes, Duration};
use airlane_rtc::{Bounds, Nada, NadaSettings, ReportTiming};

use crate::call::{Call, Sizes, Source};
use crate::figures::Figures;
use crate::link::Marker;
use crate::trace::Trace;

const BOUNDS: Bounds = Bounds { min: BitRate(150_000), start: BitRate(150_000), max: BitRate(1_500_000) };

/// A call of packets of 255 bytes, with 20 ms of propagation in each direction and a report each 100 ms.
fn call(kbps: u64, source: Source) -> Trace {
    let mut call = Call::new(&[(0, kbps)], Marker::Never, 20, 20);
    call.source = source;
    call.packet = Bytes(255);
    call.reports = ReportTiming::Interval(Duration::from_millis(100));
    call.run(Box::new(Nada::new(NadaSettings::default(), BOUNDS)), 120)
}

/// The queue that a flow keeps is `XREF * RMAX / r`, whether its packets are spaced evenly or come in paced frames. It consists of
/// whole packets: half of one of 255 bytes is 1020 bit/r, 6.8 % of the 15 kbit/r.
#[test]
fn the_queue_settles_at_the_equilibrium() {
    let figures = Figures::new("nada.csv", include_str!("../../../../python/airlane/data/rtc/nada.csv"));
    for (kbps, key) in [
        (300, "equilibrium 0.3"),
        (500, "equilibrium 0.5"),
        (600, "equilibrium 0.6"),
        (1000, "equilibrium 1.0"),
        (1250, "equilibrium 1.25"),
    ] {
        let figure = figures.get(key, "queuing delay at equilibrium = XREF x RMAX / r");
        for source in [Source::Smooth, Source::Frames { per_second: 30, sizes: Sizes::Constant }] {
            let trace = call(kbps, source);
            let delay = trace.queue_ms(60.0, 120.0, 50);
            println!("{kbps} kbit/s, {source:?}: {delay:.1} ms, figure {figure:.1} ms");
            assert!(
                (delay - figure).abs() < 0.068 * figure,
                "{kbps} kbit/s, {source:?}: {delay}, not {figure} ms"
            );
            let rate = 1e3 * trace.rate(60.0, 120.0);
            assert!((rate - kbps as f64).abs() < 0.01 * kbps as f64, "the link is full: {rate}");
        }
    }
}

/// RFC 8698 section 4.3: the ramp-up stops at a queue of `QBOUND`, 50 ms, if reports are in time; a packet of 255 bytes at
/// 1 Mbit/s is 2 ms more.
#[test]
fn the_ramp_up_builds_a_short_queue() {
    let trace = call(1000, Source::Smooth);
    assert!(trace.rate(5.0, 6.0) > 0.99, "{}", trace.rate(5.0, 6.0));
    let most = trace.queue_ms(0.0, 120.0, 100);
    assert!(15.0 < most && most <= 52.0, "{most}");
}
