use super::*;

fn ack(now_ms: u64, delivered: u32) -> AckSample {
    AckSample {
        now: Instant::from_millis(now_ms),
        delivered_segments: delivered,
        may_grow: true,
        window_limited: true,
        max_outstanding_segments: 1000,
        outstanding_segments: 10,
        rtt: None,
        srtt: Duration::from_millis(100),
        acked_to: 0,
        sent_to: 0,
    }
}

fn loss(now_ms: u64) -> LossEpisode {
    LossEpisode { now: Instant::from_millis(now_ms), in_flight_segments: 0 }
}

#[test]
fn reno_doubles_in_slow_start_then_adds_one_per_window() {
    let mut c = Controller::new(CongestionKind::NewReno, 1448, 10, true);
    c.on_ack(&ack(0, 10));
    assert_eq!(c.window_segments(), 20);
    c.on_loss(&loss(0));
    assert_eq!(c.ssthresh_segments(), 10);
    c.on_recovery_exit(Instant::ZERO);
    assert_eq!(c.congestion_window(), Bytes(14480));
    for _ in 0..9 {
        c.on_ack(&ack(1, 1));
    }
    assert_eq!(c.window_segments(), 10);
    c.on_ack(&ack(1, 1));
    assert_eq!(c.window_segments(), 11);
}

#[test]
fn a_window_that_was_not_used_does_not_grow() {
    for kind in [CongestionKind::NewReno, CongestionKind::Cubic] {
        let mut c = Controller::new(kind, 1448, 10, true);
        c.on_ack(&AckSample { window_limited: false, max_outstanding_segments: 5, ..ack(0, 5) });
        assert_eq!(c.window_segments(), 10);
        c.on_ack(&AckSample { window_limited: false, max_outstanding_segments: 6, ..ack(0, 5) });
        assert_eq!(c.window_segments(), 15);
    }
}

/// RFC 9438 §4.2 by hand: W_max = 100 and β = 717/1024 give cwnd 70 after the loss and
/// K = cbrt(30 / 0.4) = 4.217 s. One round trip is 100 ms. With W_est switched off by its
/// slowness at this window (0.53 segments per window, so 70 + 0.53 * 42 = 92 at K), the window
/// must be back at 100 at K and at 0.4 * 3^3 + 100 = 110.8 three seconds later.
#[test]
fn cubic_is_back_at_w_max_after_k() {
    let mut c = Controller::new(CongestionKind::Cubic, 1448, 100, false);
    c.on_loss(&loss(0));
    c.on_recovery_exit(Instant::ZERO);
    assert_eq!(c.window_segments(), 70);
    let mut at_k = 0;
    for step in 0..72 {
        let now = 1 + step * 100;
        // A window's worth of ACKs, two segments each, spread over the round trip.
        let acks = u64::from(c.window_segments() / 2);
        for i in 0..acks {
            c.on_ack(&ack(now + i * 100 / acks, 2));
        }
        if step == 42 {
            at_k = c.window_segments();
        }
    }
    assert!((98..=101).contains(&at_k), "{at_k}");
    let end = c.window_segments();
    assert!((107..=112).contains(&end), "{end}");
}

/// RFC 9438 §4.3: at a small window W_est rules. From 14 after a loss at 20, Reno-friendly
/// growth is 3(1-β)/(1+β) = 0.53 segments per window: 10 windows bring 5.3.
#[test]
fn cubic_is_reno_friendly_at_small_windows() {
    let mut c = Controller::new(CongestionKind::Cubic, 1448, 20, false);
    c.on_loss(&loss(0));
    c.on_recovery_exit(Instant::ZERO);
    let start = c.window_segments();
    assert_eq!(start, 14);
    for round in 0..10 {
        for i in 0..c.window_segments() {
            c.on_ack(&ack(round * 20 + u64::from(i), 1));
        }
    }
    let grown = c.window_segments() - start;
    assert!((4..=6).contains(&grown), "{grown}");
}

#[test]
fn hystart_leaves_on_a_long_train() {
    let mut c = Controller::new(CongestionKind::Cubic, 1448, 16, true);
    // Smallest round trip 40 ms; ACKs 1 ms apart: the train passes (40 + 1) / 2 ms at the ACK
    // 21 ms after the round began. Delays stay at the minimum so that only the train counts.
    for i in 0..30 {
        let sample = AckSample {
            rtt: Some(Duration::from_millis(40)),
            acked_to: 2 + i,
            sent_to: 1000,
            ..ack(100 + i, 1)
        };
        c.on_ack(&sample);
    }
    // 16 at the start and one per ACK for the 21 ACKs before the one at +21 ms.
    assert_eq!(c.ssthresh_segments(), 16 + 21);
}

#[test]
fn hystart_leaves_on_delay_after_nine_samples() {
    let mut c = Controller::new(CongestionKind::Cubic, 1448, 16, true);
    let sample = |i: u64, rtt, acked_to| AckSample {
        rtt: Some(Duration::from_millis(rtt)),
        acked_to,
        sent_to: 1000 * (1 + i / 10),
        ..ack(100 + 10 * i, 1)
    };
    c.on_ack(&sample(0, 40, 1)); // sets the minimum; ACKs are 10 ms apart, so no train forms
    // A new round whose every delay is 46 ms, above 40 + 40/8 = 45: eight samples are taken,
    // the ninth decides.
    for i in 0..8 {
        c.on_ack(&sample(10 + i, 46, 1001 + i));
    }
    assert_eq!(c.ssthresh(), None);
    let window = c.window_segments();
    c.on_ack(&sample(18, 46, 1010));
    assert_eq!(c.ssthresh_segments(), window);
}

#[test]
fn undo_restores_the_larger_values() {
    for kind in [CongestionKind::NewReno, CongestionKind::Cubic] {
        let mut c = Controller::new(kind, 1448, 40, true);
        let before = c.snapshot();
        let timeout = TimeoutEpisode {
            now: Instant::ZERO,
            new_episode: true,
            restart_segments: 1,
            acked_to: 0,
            sent_to: 0,
        };
        c.on_timeout(&timeout);
        assert_eq!(c.congestion_window(), Bytes(1448));
        c.on_undo(&before);
        assert_eq!((c.window_segments(), c.ssthresh()), (40, None));
    }
}
