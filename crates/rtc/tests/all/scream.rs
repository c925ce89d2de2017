//! SCReAM v2 against the tests of libwebrtc, and against measurements of Ericsson's implementation.

use airlane_core::{BitRate, Bytes, Duration, Ecn, Seeds};
use airlane_rtc::{Bounds, ReportTiming, Scream, ScreamSettings, ScreamVariant};

use crate::call::{Call, Sizes, Source};
use crate::figures::Figures;
use crate::link::Marker;
use crate::trace::Trace;

fn figures() -> Figures {
    Figures::new("scream.csv", include_str!("../../../../python/airlane/data/rtc/scream.csv"))
}

fn bounds(min_kbps: u64, start_kbps: u64, max_kbps: u64) -> Bounds {
    let rate = |kbps: u64| BitRate(1000 * kbps);
    Bounds { min: rate(min_kbps), start: rate(start_kbps), max: rate(max_kbps) }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The draft's parameters with its optional parts for a steadier rate.
fn draft_with_options() -> ScreamSettings {
    let mut settings = ScreamSettings::draft();
    if let ScreamVariant::Draft(options) = &mut settings.variant {
        (options.reduce_jitter, options.reduce_undershoot) = (true, true);
    }
    settings
}

fn assert_within(name: &str, value: f64, (low, high): (f64, f64)) {
    println!("{name}: {value:.3}, within {low:.3} to {high:.3}");
    assert!(low <= value && value <= high, "{name}: {value}, not within {low} to {high}");
}

/// Within 10 % of a figure of Ericsson's implementation: the band of whole calls in `airlane validate`. Its measurements on a link
/// repeat within about 5 %, as their author says (`note` in the file), and its algorithm differs from the draft's in what
/// [`ScreamSettings::ericsson`] names.
fn assert_near(name: &str, value: f64, figure: f64) {
    assert_within(name, value, (0.9 * figure, 1.1 * figure));
}

/// A case of libwebrtc's `scream_v2_unittest.cc`: packets of 255 bytes without bursts, a report each 25 ms.
struct ControllerAlone {
    kbps: u64,
    delay_ms: u64,
    jitter_ms: u64,
    ect1: bool,
    seconds: u64,
}

impl ControllerAlone {
    fn run(&self, settings: ScreamSettings) -> Trace {
        // `LeakyBucketNetworkQueue` marks from 4 to 8 ms of delay (`test/cc_feedback_generator.h`).
        let marker = Marker::Ramp { from: ms(4), to: ms(8), with_transmission: false };
        let mut call = Call::new(&[(0, self.kbps)], marker, self.delay_ms, self.delay_ms);
        call.source = Source::Smooth;
        call.packet = Bytes(255);
        call.jitter = ms(self.jitter_ms);
        call.reports = ReportTiming::Interval(ms(25));
        call.ecn = if self.ect1 { Ecn::Capable1 } else { Ecn::NotCapable };
        let settings = if self.ect1 { settings.with_l4s() } else { settings };
        call.run(Box::new(Scream::new(settings, bounds(0, 100, 10_000_000))), self.seconds)
    }
}

/// libwebrtc's bounds hold for each target of its own algorithm. The draft's algorithm swings more, so its mean rate is
/// held to them.
fn controller_alone(key: &str, case: &ControllerAlone, from_s: f64) {
    let figures = figures();
    let end_s = case.seconds as f64;
    let rtt_most = figures.get(key, "smoothed RTT from then on");
    let metric = format!("rate after {from_s} s and from then on");
    let (low, high) = figures.range(key, &metric);
    let trace = case.run(ScreamSettings::libwebrtc());
    let (least, most) = trace.target_kbps(from_s, end_s);
    assert_within(&format!("{key}, smallest target"), least, (low, high));
    assert_within(&format!("{key}, largest target"), most, (low, high));
    assert_within(&format!("{key}, RTT"), trace.smoothed_rtt_ms(from_s), (0.0, rtt_most));
    for (name, settings) in [("draft", ScreamSettings::draft()), ("Ericsson", ScreamSettings::ericsson())] {
        let trace = case.run(settings);
        let (least, most) = trace.target_kbps(from_s, end_s);
        println!("{key}, {name}: targets of {least:.0} to {most:.0} kbit/s");
        assert_within(&format!("{key}, {name}, rate"), 1e3 * trace.rate(from_s, end_s), (low, high));
        assert_within(&format!("{key}, {name}, RTT"), trace.smoothed_rtt_ms(from_s), (0.0, rtt_most));
    }
}

#[test]
fn alone_with_l4s_marks_it_adapts_to_1_mbps() {
    let case = ControllerAlone { kbps: 1000, delay_ms: 25, jitter_ms: 0, ect1: true, seconds: 9 };
    controller_alone("ScreamV2Test.AdaptsEcn1Mbps", &case, 4.0);
}

#[test]
fn alone_by_delay_it_adapts_to_2_mbps() {
    let case = ControllerAlone { kbps: 2000, delay_ms: 10, jitter_ms: 0, ect1: false, seconds: 15 };
    controller_alone("ScreamV2Test.AdaptsDelay2Mbps", &case, 10.0);
}

#[test]
fn alone_by_delay_it_adapts_to_2_mbps_with_reordering() {
    let case = ControllerAlone { kbps: 2000, delay_ms: 10, jitter_ms: 5, ect1: false, seconds: 15 };
    controller_alone("ScreamV2Test.AdaptsDelay2MbpsReordered", &case, 10.0);
}

#[test]
fn alone_the_queue_stays_short_for_a_quarter_of_an_hour() {
    let most = figures().get("ScreamV2Test.Adapts2MbpsLong", "smoothed RTT for 15 min after 5 s");
    let case = ControllerAlone { kbps: 2000, delay_ms: 10, jitter_ms: 0, ect1: false, seconds: 905 };
    for settings in [ScreamSettings::libwebrtc(), ScreamSettings::draft(), ScreamSettings::ericsson()] {
        assert_within("RTT for 15 min", case.run(settings).smoothed_rtt_ms(5.0), (0.0, most));
    }
}

/// libwebrtc's `scream_test.cc` only logs these bounds unless a flag is set, since its runs differ from each other; here
/// the median of the estimates of all seconds of ten runs with other marks is held to them.
fn with_dual_pi2(key: &str, kbps: u64, delay_ms: u64, (from_s, to_s): (u64, u64)) {
    let range = figures().range(key, &format!("estimate of {from_s}-{to_s} s"));
    for (name, settings) in [
        ("draft", ScreamSettings::draft()),
        ("Ericsson", ScreamSettings::ericsson()),
        ("libwebrtc", ScreamSettings::libwebrtc()),
    ] {
        let mut estimates: Vec<f64> = (0..10)
            .flat_map(|seed| {
                let marker = Marker::DualPi2 { target: ms(10) };
                let mut call = Call::new(&[(0, kbps)], marker, delay_ms, delay_ms);
                call.link.random = Seeds::new(seed).stream("link");
                call.ecn = Ecn::Capable1;
                call.packet = Bytes(1200);
                call.source = Source::Frames { per_second: 30, sizes: Sizes::Normal(0.1) };
                call.reports = ReportTiming::Libwebrtc;
                let scream = Scream::new(settings.with_l4s(), bounds(30, 300, 3000));
                call.run(Box::new(scream), to_s + 1).each_second_kbps(from_s, to_s)
            })
            .collect();
        estimates.sort_by(f64::total_cmp);
        let tenth = estimates.len() / 10;
        println!("{key}, {name}: 80 % within {:.0} to {:.0}", estimates[tenth], estimates[9 * tenth]);
        assert_within(&format!("{key}, {name}, median"), estimates[5 * tenth], range);
    }
}

#[test]
fn with_dual_pi2_it_fills_1_mbps() {
    with_dual_pi2("ScreamTest.1000kbit100msEcn", 1000, 50, (3, 10));
}

#[test]
fn with_dual_pi2_it_fills_2_mbps() {
    with_dual_pi2("ScreamTest.2Mbit50msEcn", 2000, 25, (2, 30));
}

/// Ericsson's bandwidth test tool: 50 frames a second from 1 Mbit/s, packets of 1360 bytes and their headers.
fn bandwidth_tool(mbps: u64, ect1: bool, sizes: Sizes, settings: ScreamSettings, seed: u64) -> Trace {
    let mut call = Call::new(&[(0, 1000 * mbps)], Marker::Linux, 12, 13);
    call.packet = Bytes(1400);
    call.link.random = Seeds::new(seed).stream("link");
    call.source = Source::Frames { per_second: 50, sizes };
    call.ecn = if ect1 { Ecn::Capable1 } else { Ecn::NotCapable };
    let mut settings = if ect1 { settings.with_l4s() } else { settings };
    settings.mss = Bytes(1400);
    call.run(Box::new(Scream::new(settings, bounds(1000, 1000, 500_000))), 20)
}

#[test]
fn alone_on_100_mbps_it_leaves_room_for_its_bursts() {
    for settings in [ScreamSettings::draft(), ScreamSettings::ericsson()] {
        for (key, sizes) in [
            ("2024-10-31 fixed frames RTT 25", Sizes::Constant),
            ("2024-10-31 frames +-50 % RTT 25", Sizes::Uniform(0.5)),
        ] {
            let trace = bandwidth_tool(100, true, sizes, settings, 1);
            assert_near(key, trace.rate(10.0, 20.0), figures().get(key, "SCReAM rate"));
        }
    }
}

#[test]
fn on_50_mbps_with_l4s_the_queue_is_a_millisecond() {
    let figures = figures();
    let key = "log l4s";
    for settings in [ScreamSettings::draft(), ScreamSettings::ericsson()] {
        let trace = bandwidth_tool(50, true, Sizes::Constant, settings, 1);
        assert_near("rate", trace.rate(10.0, 20.0), figures.get(key, "rate mean"));
        for percent in [50, 95, 99] {
            let metric = format!("estimated queue delay p{percent}");
            let most = figures.get(key, &metric);
            assert_within(&metric, trace.queue_ms(10.0, 20.0, percent), (0.0, most));
        }
        println!("CE {:.1} %, 35 Mbit/s after {:.1} s", trace.marked(10.0, 20.0), trace.reaches(0.0, 35.0));
    }
}

/// The log shows that the window fell at each loss, so its version did not tolerate any. One run differs much from
/// another, with the time of a loss: 43 to 50 Mbit/s in 10 s.
#[test]
fn on_50_mbps_without_ecn_the_queue_is_short() {
    let figures = figures();
    let key = "log nol4s";
    let runs: Vec<Trace> = (0..9)
        .map(|seed| bandwidth_tool(50, false, Sizes::Constant, ScreamSettings::draft(), seed))
        .collect();
    let median = |value: &dyn Fn(&Trace) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    assert_near("rate", median(&|trace| trace.rate(10.0, 20.0)), figures.get(key, "rate mean"));
    for percent in [95, 99] {
        let metric = format!("estimated queue delay p{percent}");
        let delay = median(&|trace| trace.queue_ms(10.0, 20.0, percent));
        assert_within(&metric, delay, (0.0, figures.get(key, &metric)));
    }
    // The median differs by more than twice from run to run: the log's run is like ours if its median is within their range, and
    // the median of ours at most half more than it.
    let figure = figures.get(key, "estimated queue delay p50");
    assert_within("queue delay p50", median(&|trace| trace.queue_ms(10.0, 20.0, 50)), (0.0, 1.5 * figure));
    let medians = || runs.iter().map(|trace| trace.queue_ms(10.0, 20.0, 50));
    let range = (medians().fold(f64::INFINITY, f64::min), medians().fold(0.0, f64::max));
    assert_within("the log's queue delay p50", figure, range);
    let after = median(&|trace| trace.reaches(0.0, 35.0));
    assert_near("35 Mbit/s after", after, figures.get(key, "transmit rate reaches 35 Mbit/s"));
}

/// The schedule of RFC 8867 section 5.1 as the reference figures have it: reports arrive without delay, and frames vary as
/// in Ericsson's `trace_no_key.txt`, whose standard deviation is 21.6 % of the mean. `scream_v_a.cpp` has packets of 1000
/// bytes and a smallest window of two.
fn capacity_changes(ect1: bool, settings: ScreamSettings) -> Trace {
    let schedule = [(0, 1000), (40, 2500), (60, 600), (80, 1000)];
    let marker =
        if ect1 { Marker::Ramp { from: ms(8), to: ms(12), with_transmission: true } } else { Marker::Never };
    let mut call = Call::new(&schedule, marker, 50, 0);
    call.source = Source::Frames { per_second: 30, sizes: Sizes::Normal(0.216) };
    call.ecn = if ect1 { Ecn::Capable1 } else { Ecn::NotCapable };
    let mut settings = if ect1 { settings.with_l4s() } else { settings };
    (settings.mss, settings.min_window) = (Bytes(1000), Bytes(2000));
    call.run(Box::new(Scream::new(settings, bounds(150, 300, 1500))), 100)
}

/// The reference is Ericsson's code, which has the draft's optional parts for a steadier rate always on.
#[test]
fn capacity_changes_by_delay() {
    let figures = figures();
    let last = "mean rate of the last 10 s";
    for (name, settings) in
        [("Ericsson", ScreamSettings::ericsson()), ("draft with options", draft_with_options())]
    {
        let trace = capacity_changes(false, settings);
        let (fall, rise) = ("5.1 not ECT 60-80 s", "5.1 not ECT 80-100 s");
        assert_near(&format!("{name}, fall"), trace.rate(70.0, 80.0), figures.get(fall, last));
        assert_near(&format!("{name}, return"), trace.rate(90.0, 100.0), figures.get(rise, last));
        for (key, from_s) in [(fall, 60.0), (rise, 80.0)] {
            // The figure has the transmission of a packet of 1000 bytes in it.
            let rate = trace.rate(from_s + 10.0, from_s + 20.0);
            let delay = trace.queue_ms(from_s, from_s + 20.0, 95) + 8.0 / rate;
            assert_near(&format!("{name}, queue p95"), delay, figures.get(key, "queue delay p95"));
        }
        let after = trace.reaches(80.0, 0.8);
        let most = figures.get(rise, "80 % of 1 Mbit/s (1 s mean) after") * 1.1;
        assert_within(&format!("{name}, 80 % of 1 Mbit/s after"), after, (0.0, most));
    }
}

/// Without the options the draft's rate swings: it keeps 0.504 of 0.6 Mbit/s, and 5 % of the packets wait for 109 ms.
#[test]
fn the_options_steady_the_draft() {
    let (plain, steady) =
        (capacity_changes(false, ScreamSettings::draft()), capacity_changes(false, draft_with_options()));
    assert!(steady.rate(70.0, 80.0) > 1.05 * plain.rate(70.0, 80.0));
    assert!(steady.queue_ms(60.0, 80.0, 95) < plain.queue_ms(60.0, 80.0, 95) / 2.0);
}

#[test]
fn capacity_changes_with_l4s_marks() {
    let figures = figures();
    let (high, low) = ("5.1 L4S 40-60 s", "5.1 L4S 60-80 s");
    let last = "mean rate of the last 10 s";
    for (name, settings) in [("Ericsson", ScreamSettings::ericsson()), ("draft", ScreamSettings::draft())] {
        let trace = capacity_changes(true, settings);
        let named = |what: &str| format!("{name}, {what}");
        assert_near(&named("2.5 Mbit/s"), trace.rate(50.0, 60.0), figures.get(high, last));
        let marked = figures.get(high, "CE share of bytes");
        assert_near(&named("CE in percent"), trace.marked(40.0, 60.0), marked);
        // The figure has the transmission of a packet of 1000 bytes at 2.5 Mbit/s in it. Our queue is not longer, and at most 15 %
        // shorter.
        let (delay, figure) = (trace.queue_ms(40.0, 60.0, 95) + 3.2, figures.get(high, "queue delay p95"));
        assert_within(&named("queue p95"), delay, (0.85 * figure, figure));
        // A packet takes 13.3 ms, longer than the 12 ms of queue at which each is marked, so the window is the smallest: two packets of
        // 1000 bytes in 63.3 ms, 253 kbit/s, are the most. The target is less, by how frames differ from it and wait (draft, "Media
        // Rate Control"), for which no law gives a least rate: at most 15 % less than the reference.
        let reference = figures.get(low, last);
        assert_within(&named("0.6 Mbit/s"), trace.rate(70.0, 80.0), (0.85 * reference, 0.253));
        assert_within("0.6 Mbit/s of the reference", reference, (0.0, 0.253));
    }
}
