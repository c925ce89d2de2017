use airlane_core::{Ecn, FlowId, Seeds};

use super::*;
use crate::bench_top::{BenchTop, packet};

const MS: u64 = 1_000_000;

fn stream() -> Stream {
    Seeds::new(1).stream("red")
}

fn detector(average: f64, parameters: Parameters) -> Detector {
    Detector { average, idle_since: None, ..Detector::new(parameters) }
}

fn offer(top: &mut BenchTop, red: &mut Red, ecn: Ecn, now_ns: u64) {
    let mut fresh = packet(FlowId(0), 1_000, Instant::from_nanos(now_ns));
    fresh.ecn = ecn;
    let fresh = top.pool.insert(fresh);
    top.call(now_ns, |cx| red.enqueue(cx, fresh, Bytes::ZERO));
}

#[test]
fn the_average_follows_the_length_and_decays_while_idle() {
    let parameters = Parameters { weight: 0.25, ..Parameters::default() };
    let (mut top, mut red) = (BenchTop::new(), Red::new(Limit::NONE, parameters, stream()));
    // The k-th arrival finds k packets: 0; 0.25 * 1; 0.25 + 0.25 * 1.75; 0.6875 + 0.25 * 2.3125.
    for average in [0.0, 0.25, 0.6875, 1.265_625] {
        offer(&mut top, &mut red, Ecn::NotCapable, 0);
        assert_eq!(red.average(), average);
    }
    for _ in 0..4 {
        let head = top.call(MS, |cx| red.dequeue(cx)).unwrap();
        top.pool.consume(head.packet);
    }
    // Empty from 1 ms to 3 ms, two packet times: the average decays by 0.75^2.
    offer(&mut top, &mut red, Ecn::NotCapable, 3 * MS);
    assert!((red.average() - 1.265_625 * 0.5625).abs() < 1e-12);
    // The queue is no longer empty: 0.711914 + 0.25 * (1 - 0.711914).
    offer(&mut top, &mut red, Ecn::NotCapable, 9 * MS);
    assert!((red.average() - 0.783_935_546_875).abs() < 1e-12, "{}", red.average());
}

#[test]
fn below_the_lower_threshold_nothing_is_dropped() {
    let mut low = detector(4.999, Parameters::default());
    assert_eq!(low.judge(|| 0.0), Verdict::Accept);
    assert_eq!(low.count, None);
}

#[test]
fn the_probability_grows_with_the_average_and_with_the_count() {
    // Half-way between 5 and 15: p_b = 0.02 / 2.
    let half = || detector(10.0, Parameters::default());
    assert_eq!(half().judge(|| 0.009_999), Verdict::Signal);
    assert_eq!(half().judge(|| 0.010_001), Verdict::Accept);
    // After 49 packets without a signal: 0.01 / (1 - 0.49) = 0.0196.
    let later = || Detector { count: Some(48), ..half() };
    assert_eq!(later().judge(|| 0.0196), Verdict::Signal);
    assert_eq!(later().judge(|| 0.0197), Verdict::Accept);
    // With the largest draws, the hundredth packet is certain to be dropped.
    let mut unlucky = half();
    let gap = (1..).find(|_| unlucky.judge(|| 0.999_999) == Verdict::Signal);
    assert_eq!(gap, Some(100));
    assert_eq!(unlucky.count, Some(0));
}

#[test]
fn the_gap_between_signals_is_uniform() {
    // Uniform over 1..=100: mean 50.5, standard deviation 28.9. (Geometric would be 100.)
    let (mut detector, mut stream) = (detector(10.0, Parameters::default()), stream());
    let (mut signals, mut packets) = (0, 0_u32);
    while signals < 4_000 {
        packets += 1;
        signals += u32::from(detector.judge(|| stream.uniform()) == Verdict::Signal);
    }
    let mean = f64::from(packets) / f64::from(signals);
    // After a signal the count begins at 1, not at 0 as at first: gaps are 1..=99, mean 50.
    assert!((mean - 50.0).abs() < 5.0 * 28.9 / 4_000_f64.sqrt(), "{mean}");
}

#[test]
fn above_the_upper_threshold_it_is_gentle_if_asked() {
    let gentle = |average| detector(average, Parameters::default());
    assert!((gentle(15.0).base_probability() - 0.02).abs() < 1e-12);
    assert!((gentle(22.5).base_probability() - 0.51).abs() < 1e-12); // 0.02 + 0.98 / 2
    assert_eq!(gentle(29.9).judge(|| 0.999), Verdict::Accept);
    assert_eq!(gentle(30.0).judge(|| 0.999), Verdict::Drop);
    let strict = |average| detector(average, Parameters { gentle: false, ..Parameters::default() });
    assert_eq!(strict(14.9).judge(|| 0.999), Verdict::Accept);
    assert_eq!(strict(15.0).judge(|| 0.999), Verdict::Drop);
}

#[test]
fn a_signal_is_a_mark_where_it_can_be() {
    for (ecn, average, drops, marks) in [
        (Ecn::Capable0, 10.0, 0, 1),
        (Ecn::NotCapable, 10.0, 1, 0),
        (Ecn::Capable0, 40.0, 1, 0), // beyond twice the upper threshold: dropped, not marked
    ] {
        let parameters = Parameters { ecn: true, weight: 1e-9, ..Parameters::default() };
        let (mut top, mut red) = (BenchTop::new(), Red::new(Limit::NONE, parameters, stream()));
        red.detector = Detector { count: Some(1_000), ..detector(average, parameters) }; // a signal is due
        offer(&mut top, &mut red, ecn, 0);
        let statistics = red.statistics();
        assert_eq!((statistics.managed_drops, statistics.marks), (drops, marks));
        assert_eq!(red.backlog().packets as u64, marks);
    }
}
