//! The laws whose response to marks differs from that to losses.

use airlane_core::{BitRate, Bytes, Duration, Instant, Seeds};

use crate::congestion::{
    AckSample, CongestionKind, Controller, ControllerSetup, LawParameters, LossEpisode, MarkSample,
    PragueConfig, SegmentWindow,
};

fn controller(setup: &ControllerSetup<'_>, window: u32) -> Controller {
    Controller::new(setup, SegmentWindow::new(1_000, window), Seeds::new(1).stream("test"))
}

/// A window that is reduced to half of this by a loss, so that slow start is over.
fn after_loss(setup: &ControllerSetup<'_>, twice: u32) -> Controller {
    let mut c = controller(setup, twice);
    c.on_established(Instant::ZERO, Some(Duration::from_micros(12_500)));
    c.on_loss(&episode(false));
    c.on_recovery_exit();
    c
}

const fn episode(marked: bool) -> LossEpisode {
    LossEpisode {
        now: Instant::ZERO,
        in_flight_segments: 0,
        window_segments: 0,
        marked,
        lost_segments: 1,
        newest_lost: 0,
    }
}

/// An acknowledgment up to `acked` thousands, with as much sent again, of which these segments are delivered, and
/// marked.
fn marks(now_ms: u64, acked: u64, delivered: u32, marked: u32) -> MarkSample {
    MarkSample {
        now: Instant::from_millis(now_ms),
        delivered_segments: delivered,
        marked_segments: marked,
        delivered_bytes: Bytes(u64::from(delivered) * 1_000),
        marked_bytes: Bytes(u64::from(marked) * 1_000),
        srtt: Duration::from_micros(12_500),
        acked_to: acked * 1_000,
        sent_to: (acked + u64::from(delivered)) * 1_000,
        recovering: false,
    }
}

fn ack(delivered: u32, srtt_us: u64) -> AckSample {
    AckSample {
        now: Instant::from_millis(50),
        delivered_segments: delivered,
        may_grow: true,
        window_limited: true,
        max_outstanding_segments: 1_000,
        outstanding_segments: 10,
        rtt: None,
        srtt: Duration::from_micros(srtt_us),
        acked_to: 0,
        sent_to: 0,
    }
}

const fn setup(kind: CongestionKind) -> ControllerSetup<'static> {
    ControllerSetup { hystart: false, ..ControllerSetup::new(kind) }
}

/// RFC 8257 §3.3, with alpha = 1 at first and g = 1/16. Half of the first window is marked: alpha = 1 - 0.5/16 =
/// 0.96875, and the window 100 (1 - 0.484375) = 51. The rest of the window has no further effect. A window without
/// marks: alpha = 0.96875 15/16 = 0.9082. One of 50 with 10 marks: alpha = 0.9082 - (0.9082 - 0.2)/16 = 0.8639, and
/// the window 51 (1 - 0.432) = 28.
#[test]
fn dctcp_reduces_by_half_of_the_share_of_marks() {
    let mut c = controller(&setup(CongestionKind::Dctcp), 100);
    c.on_marks(&marks(10, 100, 100, 50));
    assert_eq!((c.window_segments(), c.ssthresh_segments()), (51, 51));
    c.on_marks(&marks(15, 150, 50, 50));
    assert_eq!(c.window_segments(), 51);
    let mut c = controller(&setup(CongestionKind::Dctcp), 100);
    c.on_marks(&marks(10, 100, 100, 50));
    c.on_marks(&marks(20, 201, 100, 0));
    c.on_marks(&marks(30, 302, 50, 10));
    assert_eq!(c.window_segments(), 28);
    // During a reduction after a loss, marks have no effect.
    c.on_marks(&MarkSample { recovering: true, ..marks(40, 500, 50, 50) });
    assert_eq!(c.window_segments(), 28);
}

/// A window of 20 grows by a segment per round trip of 50 ms. At 12.5 ms, half of the reference, it grows by (1/2)² of
/// that: the rate then grows as that of a flow with 25 ms. 20.25, 20.497, 20.741, 20.982 and 21.22 after one to five
/// round trips.
#[test]
fn prague_grows_as_with_the_reference_round_trip() {
    for (srtt_us, windows) in [(50_000, [21, 21, 22, 23, 24]), (12_500, [20, 20, 20, 20, 21])] {
        let mut c = after_loss(&setup(CongestionKind::Prague), 40);
        let grown = windows.map(|_| {
            c.on_ack(&ack(20, srtt_us));
            c.window_segments()
        });
        assert_eq!(grown, windows, "{srtt_us}");
    }
}

/// Every packet of the first report is marked: alpha stays 1 and the window of 20 is halved. It has room of 3 % and a
/// segment above the rate: 10 segments of 1000 bytes in 12.5 ms are 6.4 Mbit/s, and 3 % more at first. Within 25 ms,
/// two round trips, there is no second reduction.
#[test]
fn prague_reduces_once_per_virtual_round_trip() {
    let mut c = after_loss(&setup(CongestionKind::Prague), 40);
    c.on_marks(&marks(100, 20, 20, 20));
    c.on_ack(&AckSample { now: Instant::from_millis(100), ..ack(20, 12_500) });
    assert_eq!((c.window_segments(), c.pacing_rate()), (11, Some(BitRate(6_592_000))));
    c.on_marks(&marks(120, 60, 20, 1));
    assert_eq!(c.window_segments(), 11);
    // alpha = 1 - (1 - 21/60)/16 = 0.959 after 60 packets of which 21 were marked since the first report; 10.0 grows
    // for 19 unmarked packets to 10.475, and is reduced to 5.45: 6 with the room.
    c.on_ack(&AckSample { now: Instant::from_millis(120), ..ack(20, 12_500) });
    c.on_marks(&marks(126, 100, 40, 20));
    assert_eq!(c.window_segments(), 6);
}

/// The first mark ends slow start, with half of the window.
#[test]
fn prague_leaves_slow_start_at_the_first_mark() {
    let mut c = controller(&setup(CongestionKind::Prague), 10);
    c.on_established(Instant::from_millis(40), Some(Duration::from_millis(40)));
    for _ in 0..2 {
        c.on_marks(&MarkSample { srtt: Duration::from_millis(40), ..marks(80, 1, 10, 0) });
        c.on_ack(&ack(10, 40_000));
    }
    // Twice 30 segments of 1000 bytes in 40 ms.
    assert_eq!((c.window_segments(), c.pacing_rate()), (30, Some(BitRate(12_000_000))));
    c.on_marks(&marks(130, 40, 10, 10));
    assert!(!c.window().in_slow_start());
    assert_eq!(c.ssthresh_segments(), 15);
}

/// Round trips of 20 and 60 ms in turn, each with a mark, after a loss: a deep queue that varies much. Once the score is
/// above 9, alpha is 0.625 at least, and a mark takes off 0.3125 of the window; without the fall-back, as much as the
/// average of the marks says: with one mark of 100 packets in each round trip, alpha tends to 0.01.
#[test]
fn prague_falls_back_at_a_classic_queue() {
    let reduced = |classic_fallback| {
        let laws = LawParameters { prague: PragueConfig { classic_fallback }, ..LawParameters::DEFAULT };
        let mut c = after_loss(&ControllerSetup { laws, ..setup(CongestionKind::Prague) }, 400);
        for round in 1..=200_u32 {
            let (now_ms, rtt_ms) = (u64::from(round) * 100, if round % 2 == 0 { 20 } else { 60 });
            c.on_marks(&marks(now_ms, u64::from(round) * 200, 100, 1));
            c.on_ack(&AckSample {
                rtt: Some(Duration::from_millis(rtt_ms)),
                may_grow: false,
                ..ack(100, 40_000)
            });
            if round < 200 {
                c.on_window_validation(200, 200);
            }
        }
        c.window_segments()
    };
    // 200 (1 - 0.3125) 1.03 + 1, and 200 (1 - 0.005) 1.03 + 1.
    assert_eq!((reduced(true), reduced(false)), (142, 205));
}

/// RFC 8511 §3.1: 0.8 and 0.85 (870/1024) after marks, in congestion avoidance; losses, slow start, and other laws are
/// as before.
#[test]
fn abe_reduces_less_at_marks() {
    for (kind, with, without) in [(CongestionKind::NewReno, 80, 50), (CongestionKind::Cubic, 84, 70)] {
        let twice = if kind == CongestionKind::Cubic { 143 } else { 200 };
        for abe in [false, true] {
            let setup =
                ControllerSetup { laws: LawParameters { abe, ..LawParameters::DEFAULT }, ..setup(kind) };
            let mut c = after_loss(&setup, twice);
            assert_eq!(c.window_segments(), 100);
            c.on_ecn(&episode(true));
            assert_eq!(c.ssthresh_segments(), if abe { with } else { without }, "{kind:?}");
            let mut c = after_loss(&setup, twice);
            c.on_loss(&episode(false));
            assert_eq!(c.ssthresh_segments(), without, "{kind:?}");
            let mut c = controller(&setup, 100);
            c.on_ecn(&episode(true));
            assert_eq!(c.ssthresh_segments(), without, "{kind:?} in slow start");
        }
    }
}

/// With the classic flag, a mark halves the window at first. After a hundred windows without a mark the share is
/// (15/16)^100 = 0.16 %: a reduction by less than a segment is none.
#[test]
fn an_echo_reduces_dctcp_by_half_of_the_share() {
    let mut c = controller(&ControllerSetup::new(CongestionKind::Dctcp), 100);
    let mark = |c: &mut Controller| {
        c.on_ecn(&episode(true));
        c.ssthresh_segments()
    };
    assert_eq!(mark(&mut c), 50);
    c.on_recovery_exit();
    for window in 0..100 {
        c.on_echo(&marks(window * 10, 1 + window * 10, 10, 0));
    }
    assert_eq!(mark(&mut c), 50);
    // A window in which all is marked adds a sixteenth: 50 (1 - 0.064 / 2) = 48.4, and a part of a segment is kept.
    c.on_echo(&marks(2000, 2000, 10, 10));
    assert_eq!(mark(&mut c), 49);
    // A loss in between halves what the window is then.
    c.on_loss_while_reducing(40);
    assert_eq!(c.ssthresh_segments(), 20);
}
