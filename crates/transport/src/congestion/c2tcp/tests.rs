//! Expected values by hand from the code that the module names.

use super::super::CubicConfig;
use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Flow {
    law: C2tcp,
    window: SegmentWindow,
    now: Instant,
}

impl Flow {
    /// A flow in congestion avoidance with a minimum round trip of 40 ms: the set point is 60 ms.
    fn steady(segments: u32) -> Self {
        let law = C2tcp::new(C2tcpConfig::CODE, Cubic::new(CubicConfig::RFC9438, false, false));
        let mut window = SegmentWindow::new(1000, segments);
        window.ssthresh = segments;
        let mut flow = Self { law, window, now: Instant::ZERO };
        flow.law.rtt_min = Some(ms(40));
        flow
    }

    /// C2TCP's part of an acknowledgment of a segment after a time.
    fn ack(&mut self, after: Duration, rtt: Duration) {
        self.now += after;
        let ack = self.sample(rtt, true);
        self.law.on_rtt(&mut self.window, &ack, rtt);
    }

    fn sample(&self, rtt: Duration, window_limited: bool) -> AckSample {
        AckSample {
            now: self.now,
            delivered_segments: 1,
            may_grow: true,
            window_limited,
            max_outstanding_segments: self.window.segments,
            outstanding_segments: self.window.segments,
            rtt: Some(rtt),
            srtt: rtt,
            acked_to: 0,
            sent_to: 0,
        }
    }
}

/// 60 / 40 is 1 in whole numbers, and so is 60 / 60; 60 / 20 is 3.
#[test]
fn a_good_acknowledgment_grows_by_the_set_point_over_the_round_trip() {
    for (rtt, segments) in [(40, 11), (60, 11)] {
        let mut flow = Flow::steady(10);
        (0..10).for_each(|_| flow.ack(ms(1), ms(rtt)));
        assert_eq!(flow.window.segments, segments, "{rtt} ms");
    }
    // With α = 3 the set point is 120 ms: three segments for each window.
    let mut flow = Flow::steady(10);
    flow.law.alpha = 300;
    (0..10).for_each(|_| flow.ack(ms(1), ms(40)));
    assert_eq!(flow.window.segments, 12, "30 segments count: 10 and 11 of them make a segment each");
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut flow = Flow::steady(10);
    flow.now += ms(1);
    let ack = AckSample { max_outstanding_segments: 2, ..flow.sample(ms(40), false) };
    (0..30).for_each(|_| flow.law.on_rtt(&mut flow.window, &ack, ms(40)));
    assert_eq!(flow.window.segments, 10);
}

/// The first reduction after 60 ms above the set point, the next ones 60, 42.4 and 34.6 ms apart.
#[test]
fn reductions_come_as_in_codel() {
    let mut flow = Flow::steady(100);
    let mut reduced = Vec::new();
    for _ in 0..2200 {
        flow.window.segments = 100;
        flow.ack(ms(1) / 10, ms(80));
        if flow.window.segments == 1 {
            reduced.push((flow.now - Instant::ZERO).as_nanos() / 100_000);
        }
        flow.law.tuning_at = Some(Instant::FAR_FUTURE);
    }
    // In tenths of a millisecond: strictly after 0.1 + 60 ms; then 60, 60 / √2 = 42.43 and 60 / √3 = 34.64 ms later.
    assert_eq!(reduced, [602, 1203, 1628, 1975]);
    assert_eq!(flow.window.ssthresh, 70, "CUBIC's threshold: 717/1024 of 100");
}

#[test]
fn one_good_acknowledgment_begins_the_interval_again() {
    let mut flow = Flow::steady(100);
    flow.law.tuning_at = Some(Instant::FAR_FUTURE);
    flow.ack(ms(1), ms(80));
    flow.ack(ms(59), ms(80));
    flow.ack(ms(1), ms(60));
    flow.ack(ms(30), ms(80));
    flow.ack(ms(60), ms(80));
    assert!(flow.window.segments >= 100);
    flow.ack(ms(1), ms(80));
    assert_eq!(flow.window.segments, 1);
}

/// From the code's integers: 150 - 2 (100 - 80) 150 / 100 = 90, at least 100; 300 - 2 (100 - 80) 300 / 100 = 180;
/// 150 + (80 - 40) 75 / 40 = 225; at most 1000.
#[test]
fn alpha_follows_the_target() {
    assert_eq!(tuned(150, 100, 80), 100);
    assert_eq!(tuned(300, 100, 80), 180);
    assert_eq!(tuned(300, 1000, 80), 100, "not below zero");
    assert_eq!(tuned(150, 40, 80), 225);
    assert_eq!(tuned(900, 40, 400), 1000);
    assert_eq!(tuned(150, 80, 80), 150);
    assert_eq!(tuned(150, 0, 80), 150);
}

/// The mean of half a second, against twice the minimum when there is no target.
#[test]
fn alpha_moves_twice_a_second() {
    let mut flow = Flow::steady(10);
    (0..5).for_each(|_| flow.ack(ms(100), ms(40)));
    assert_eq!(flow.law.alpha, 150);
    flow.ack(ms(100), ms(40));
    assert_eq!((flow.law.alpha, flow.law.target), (225, Some(80)));
    (0..4).for_each(|_| flow.ack(ms(100), ms(40)));
    assert_eq!(flow.law.alpha, 225);
}

/// `bictcp_acked` ends before C2TCP's part then.
#[test]
fn the_first_second_of_an_epoch_has_no_reduction() {
    let mut flow = Flow::steady(100);
    flow.law.tuning_at = Some(Instant::FAR_FUTURE);
    let mut least = 100;
    for _ in 0..1100 {
        flow.now += ms(1);
        let ack = flow.sample(ms(300), true);
        flow.law.on_ack(&mut flow.window, &ack);
        least = least.min(flow.window.segments);
        if flow.now < Instant::ZERO + ms(1000) {
            assert!(least >= 100, "{:?}", flow.now);
        }
    }
    assert_eq!(least, 2, "one, and CUBIC's slow start of the same acknowledgment");
}
