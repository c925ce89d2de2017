//! The session under a clock that a test winds.

use airlane_core::Duration;
use real_clock::{AfterStall, HostClock, Report, session};

/// A clock that is exact but for a stall, once, from this time on.
struct Wound {
    now_ns: u64,
    stall: Option<(u64, u64)>,
}

impl HostClock for Wound {
    fn now_ns(&mut self) -> u64 {
        self.now_ns
    }
    fn wait_until(&mut self, ns: u64) {
        self.now_ns = self.now_ns.max(ns);
        if let Some((_, span)) = self.stall.filter(|(from, _)| self.now_ns >= *from) {
            self.now_ns += span;
            self.stall = None;
        }
    }
}

const START: u64 = 77_000_000_000;

fn run(stall: Option<(u64, u64)>, after_stall: AfterStall) -> (Report, u64) {
    let mut clock = Wound { now_ns: START, stall };
    let report = session(&mut clock, Duration::from_millis(2_000), after_stall).unwrap();
    (report, clock.now_ns - START)
}

#[test]
fn a_session_takes_as_long_as_the_clock_says() {
    let (report, took) = run(None, AfterStall::Replay);
    assert!((2_000_000_000..2_010_000_000).contains(&took), "{took} ns");
    // One datagram each 100 ms; the last ones may still be on their way.
    assert!((17..=21).contains(&report.delays.len()), "{:?}", report.delays);
    assert!(report.stalls.is_empty());
}

#[test]
fn after_a_stall_the_host_replays_or_jumps() {
    let (exact, _) = run(None, AfterStall::Replay);
    let stall = Some((START + 1_000_000_000, 300_000_000));
    // Replayed: the missed events happen at their own times, so the delays are those without the stall, and the
    // session ends with the clock.
    let (replayed, took) = run(stall, AfterStall::Replay);
    assert_eq!(replayed.delays, exact.delays);
    assert!((2_000_000_000..2_010_000_000).contains(&took), "{took} ns");
    // Jumped: the same virtual time, 300 ms later on the clock.
    let (jumped, took) = run(stall, AfterStall::Jump);
    assert_eq!(jumped.delays, exact.delays);
    assert!((2_300_000_000..2_310_000_000).contains(&took), "{took} ns");
    for report in [replayed, jumped] {
        assert!(matches!(report.stalls[..], [by] if by >= Duration::from_millis(299)), "{:?}", report.stalls);
    }
}
