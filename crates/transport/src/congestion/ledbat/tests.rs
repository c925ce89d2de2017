//! Expected values by hand from the sections that the module names.

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// 1 / min(16, ceil(120 ms / base)).
#[test]
fn gains() {
    let rows = [
        (1, 16),
        (8, 15),
        (10, 12),
        (15, 8),
        (20, 6),
        (25, 5),
        (30, 4),
        (50, 3),
        (80, 2),
        (100, 2),
        (120, 1),
        (150, 1),
        (300, 1),
    ];
    for (base_ms, divisor) in rows {
        assert!((gain(ms(base_ms)) * f64::from(divisor) - 1.0).abs() < 1e-9, "{base_ms} ms");
    }
}

struct Flow {
    law: LedbatPlusPlus,
    window: SegmentWindow,
    now: Instant,
}

impl Flow {
    fn new(segments: u32) -> Self {
        let window = SegmentWindow::new(1000, segments);
        Self { law: LedbatPlusPlus::new(&window), window, now: Instant::ZERO }
    }

    /// The acknowledgments of a window, evenly over a round trip.
    fn round(&mut self, rtt: Duration) {
        let acks = u64::from(self.window.segments);
        (0..acks).for_each(|_| self.ack(rtt / acks, rtt));
    }

    /// An acknowledgment of a segment after a time.
    fn ack(&mut self, after: Duration, rtt: Duration) {
        self.now += after;
        let outstanding = self.window.segments;
        let ack = AckSample {
            now: self.now,
            delivered_segments: 1,
            may_grow: true,
            window_limited: true,
            max_outstanding_segments: outstanding,
            outstanding_segments: outstanding,
            rtt: Some(rtt),
            srtt: rtt,
            acked_to: 0,
            sent_to: 0,
        };
        self.law.on_ack(&mut self.window, &ack);
    }

    /// In congestion avoidance, long before the next slowdown.
    fn steady(segments: u32, base: Duration) -> Self {
        let mut flow = Self::new(segments);
        flow.law.on_rtt(Instant::ZERO, base);
        flow.window.ssthresh = segments;
        flow.law.slowdown = Slowdown::Waits(Instant::FAR_FUTURE);
        flow
    }
}

/// A base of 60 ms has GAIN 1/2: half a segment for each.
#[test]
fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
    let mut flow = Flow::new(10);
    flow.round(ms(60));
    assert_eq!(flow.window.segments, 15);
    flow.round(ms(105)); // 45 ms are not more
    assert!(flow.window.in_slow_start());
    flow.round(ms(106));
    assert!(!flow.window.in_slow_start());
}

/// Base 120 ms, GAIN 1: one segment each round trip; at twice the target 1 - W, at most half of the window.
#[test]
fn a_round_trip_below_and_above_the_target() {
    let mut flow = Flow::steady(100, ms(120));
    flow.round(ms(179));
    assert!((flow.law.exact.segments - 101.0).abs() < 0.01, "{}", flow.law.exact.segments);
    let mut flow = Flow::steady(100, ms(120));
    (0..4).for_each(|_| flow.law.on_rtt(Instant::ZERO, ms(186))); // a tenth above the target
    assert!((flow.law.step() - (1.0 - 10.0)).abs() < 1e-9, "{}", flow.law.step());
    (0..4).for_each(|_| flow.law.on_rtt(Instant::ZERO, ms(400)));
    assert!((flow.law.step() + 50.0).abs() < 1e-9);
}

/// Two round trips after slow start, two round trips with a window of two segments, then slow start to the window before.
/// The next slowdown begins after nine times as long as both took. Each begins or ends with the first acknowledgment from
/// its time on: at most a round trip of 130 ms over two segments later in a slowdown, over 64 and more otherwise.
#[test]
fn slowdowns_take_a_tenth_of_the_time() {
    let (rtt, mut flow) = (ms(130), Flow::steady(64, ms(120)));
    flow.law.slowdown = Slowdown::Before;
    let mut phases = vec![(flow.now, flow.law.slowdown)];
    while phases.len() < 11 {
        flow.ack(rtt / u64::from(flow.window.segments), rtt);
        if flow.law.slowdown != phases[phases.len() - 1].1 {
            phases.push((flow.now, flow.law.slowdown));
        }
        if matches!(flow.law.slowdown, Slowdown::Holds(..)) {
            assert_eq!(flow.window.segments, SLOWDOWN_WINDOW);
        }
    }
    let mut took = rtt * 2;
    for cycle in phases[1..].windows(4).step_by(3) {
        let [
            (waits, Slowdown::Waits(_)),
            (holds, Slowdown::Holds(..)),
            (ramps, Slowdown::Ramps(_)),
            (end, _),
        ] = *cycle
        else {
            panic!("{cycle:?}")
        };
        let wait = if waits == phases[1].0 { took } else { took * 9 };
        assert!((wait..=wait + rtt / 64).contains(&(holds - waits)), "{:?} and not {wait:?}", holds - waits);
        assert!((rtt * 2..=rtt * 2 + rtt / 2).contains(&(ramps - holds)), "{:?}", ramps - holds);
        took = end - holds;
    }
}

#[test]
fn the_base_forgets_after_ten_minutes() {
    let mut law = LedbatPlusPlus::new(&SegmentWindow::new(1000, 10));
    law.on_rtt(Instant::from_millis(60_000), ms(40));
    for minute in 2..=10 {
        law.on_rtt(Instant::from_millis(60_000 * minute), ms(50));
        assert_eq!(law.base(), ms(40));
    }
    law.on_rtt(Instant::from_millis(60_000 * 11), ms(50));
    assert_eq!(law.base(), ms(50));
}
