//! Steps by hand.

use airlane_core::Bytes;

use super::*;
use crate::congestion::CubicConfig;

const SEGMENT: u32 = 1448;

/// A law with a window of these segments, and the window.
fn abc(segments: u32, fallback: bool) -> (Abc, SegmentWindow) {
    let window = SegmentWindow::new(SEGMENT, segments);
    let cubic = Cubic::new(CubicConfig::RFC9438, false, true);
    (Abc::new(AbcConfig { fallback }, &window, cubic), window)
}

/// An acknowledgment of these segments of `in_flight`, at this time.
fn delivery(now_ms: u64, delivered: u32, in_flight: u32) -> DeliverySample {
    DeliverySample {
        now: Instant::from_millis(now_ms),
        delivered: now_ms,
        delivered_at: Instant::from_millis(now_ms),
        lost: 0,
        newly_delivered: delivered,
        newly_lost: 0,
        in_flight: in_flight - delivered,
        prior_in_flight: in_flight,
        window_limited: true,
        rtt: Some(Duration::from_millis(100)),
        srtt: Duration::from_millis(100),
        next_send_at: Instant::from_millis(now_ms),
        phase: Phase::Open,
        rate: None,
    }
}

fn marks(delivered: u32, marked: u32) -> MarkSample {
    MarkSample {
        now: Instant::ZERO,
        delivered_segments: delivered,
        marked_segments: marked,
        delivered_bytes: Bytes(u64::from(delivered * SEGMENT)),
        marked_bytes: Bytes(u64::from(marked * SEGMENT)),
        srtt: Duration::from_millis(100),
        acked_to: 0,
        sent_to: 0,
        recovering: false,
    }
}

/// An acknowledgment of `delivered` segments, `marked` of them with a brake, with the whole window in flight.
fn step((abc, window): &mut (Abc, SegmentWindow), now_ms: u64, delivered: u32, marked: u32) -> u32 {
    let in_flight = window.segments.max(delivered);
    abc.on_marks(window, &marks(delivered, marked));
    abc.on_delivery(window, &delivery(now_ms, delivered, in_flight));
    window.segments
}

const fn episode() -> LossEpisode {
    LossEpisode {
        now: Instant::ZERO,
        in_flight_segments: 0,
        window_segments: 0,
        marked: false,
        lost_segments: 1,
        newest_lost: 0,
    }
}

#[test]
fn accelerates_double_the_window_and_brakes_empty_it_to_five_segments() {
    let mut law = abc(10, false);
    // Ten accelerates; ten of ten delivered are no more than a window, so that no other segment comes.
    assert_eq!(step(&mut law, 100, 10, 0), 20);
    // Of twenty, half brake: as many in as out. 30 delivered in all are more than 20: one more.
    assert_eq!(step(&mut law, 200, 20, 10), 21);
    assert_eq!(step(&mut law, 300, 1, 1), 20);
    // Nothing but brakes, two in each acknowledgment. 11 are counted; at 17, more than the window of 16, and at 11, more
    // than 7, a segment comes for a window. A window that two brakes would take below five stays.
    let windows: Vec<u32> = (0..9).map(|now| step(&mut law, 400 + now, 2, 2)).collect();
    assert_eq!(windows, [18, 16, 15, 13, 11, 9, 7, 6, 6]);
}

/// 49 of 100 accelerate: each window of w segments then brings 1 − 0.02 w, so that the window comes to 50 from either
/// side.
#[test]
fn the_window_settles_where_its_growth_meets_the_brakes() {
    for first in [20, 200] {
        let mut law = abc(first, false);
        let mut accelerated = 0_u32;
        for n in 1..40_000_u32 {
            let accelerates = n * 49 / 100 > accelerated;
            accelerated += u32::from(accelerates);
            step(&mut law, u64::from(n), 1, u32::from(!accelerates));
        }
        let window = law.1.segments;
        assert!((47..=53).contains(&window), "{first}: {window}");
    }
}

#[test]
fn losses_do_not_change_it_without_the_second_window() {
    let mut law = abc(10, false);
    step(&mut law, 100, 10, 0);
    let (abc, window) = &mut law;
    abc.on_loss(window, &episode(), LossCause::Congestion);
    abc.on_recovery_exit(window);
    assert_eq!(window.segments, 20);
    let timeout = TimeoutEpisode {
        now: Instant::from_millis(900),
        new_episode: true,
        restart_segments: 1,
        acked_to: 0,
        sent_to: 0,
    };
    abc.on_timeout(window, &timeout);
    assert_eq!(window.segments, 1);
    // The next report brings ABC's window back, and one accelerate.
    assert_eq!(step(&mut law, 1_000, 1, 0), 21);
}

#[test]
fn the_second_window_is_cubics() {
    let mut law = abc(10, true);
    // Both grow alike without marks.
    assert_eq!(step(&mut law, 100, 10, 0), 20);
    assert_eq!((law.0.segments, law.0.other.segments), (20, 20));
    // A loss: CUBIC keeps 717/1024, 14 segments; ABC's window stays.
    let (abc, window) = &mut law;
    abc.on_loss(window, &episode(), LossCause::Congestion);
    assert_eq!((window.segments, abc.segments), (14, 20));
    // It was spurious: the window is back.
    abc.on_undo(window, &Snapshot::default());
    assert_eq!(window.segments, 20);
    // A random loss changes neither.
    abc.on_loss(window, &episode(), LossCause::Random);
    assert_eq!(window.segments, 20);
    // Brakes: ABC's is the smaller one.
    assert_eq!(step(&mut law, 200, 12, 12), 9);
}

#[test]
fn both_windows_are_at_most_twice_what_is_in_flight() {
    let mut law = abc(100, true);
    let (abc, window) = &mut law;
    abc.on_marks(window, &marks(2, 0));
    abc.on_delivery(window, &delivery(100, 2, 20)); // the application sends little
    assert_eq!((window.segments, abc.segments, abc.other.segments), (45, 45, 45));
    // A single acknowledgment of all that is in flight is no sign of that.
    let mut law = all_in_flight();
    assert_eq!(step(&mut law, 100, 40, 20), 40);
}

fn all_in_flight() -> (Abc, SegmentWindow) {
    let mut law = abc(40, true);
    law.0.other.segments = 60;
    law
}

/// Without a report of marks there is no accelerate: the window is CUBIC's, also without the second window.
#[test]
fn without_feedback_it_is_cubic() {
    for fallback in [true, false] {
        let (mut abc, mut window) = abc(10, fallback);
        abc.on_delivery(&mut window, &delivery(100, 10, 10));
        assert_eq!((window.segments, abc.segments), (20, 10));
        abc.on_ecn(&mut window, &LossEpisode { marked: true, ..episode() });
        assert_eq!(window.segments, 14);
    }
}

/// 20 segments in 100 ms are 289.6 kB/s; twice that is 4.6336 Mbit/s.
#[test]
fn it_paces_at_twice_the_window_in_a_round_trip() {
    let mut law = abc(10, false);
    assert_eq!(law.0.pacing_rate(), None);
    step(&mut law, 100, 10, 0);
    assert_eq!(law.0.pacing_rate(), Some(BitRate(4_633_600)));
}
