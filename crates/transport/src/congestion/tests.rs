use airlane_core::{Bytes, Duration, Instant, Seeds};

use super::*;

fn controller(kind: CongestionKind, segment_size: u32, window: u32, hystart: bool) -> Controller {
    of(&ControllerSetup { hystart, ..ControllerSetup::new(kind) }, segment_size, window)
}

fn of(setup: &ControllerSetup<'_>, segment_size: u32, window: u32) -> Controller {
    Controller::new(setup, SegmentWindow::new(segment_size, window), Seeds::new(1).stream("test"))
}

const PLAIN_CUBIC: ControllerSetup<'static> =
    ControllerSetup { hystart: false, ..ControllerSetup::new(CongestionKind::Cubic) };

/// A controller with Veno's test.
fn judging(kind: CongestionKind, window: u32) -> Controller {
    of(
        &ControllerSetup { discriminator: LossDiscrimination::Veno, ..ControllerSetup::new(kind) },
        1448,
        window,
    )
}

fn enter(c: &mut Controller, phase: Phase, sent_to: u64) {
    c.on_phase(&PhaseChange { phase, sent_to, delivery: None });
}

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
    LossEpisode {
        now: Instant::from_millis(now_ms),
        in_flight_segments: 0,
        window_segments: 0,
        marked: false,
        lost_segments: 1,
        newest_lost: 0,
    }
}

#[test]
fn reno_doubles_in_slow_start_then_adds_one_per_window() {
    let mut c = controller(CongestionKind::NewReno, 1448, 10, true);
    c.on_ack(&ack(0, 10));
    assert_eq!(c.window_segments(), 20);
    c.on_loss(&loss(0));
    assert_eq!(c.ssthresh_segments(), 10);
    c.on_recovery_exit();
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
        let mut c = controller(kind, 1448, 10, true);
        c.on_ack(&AckSample { window_limited: false, max_outstanding_segments: 5, ..ack(0, 5) });
        assert_eq!(c.window_segments(), 10);
        c.on_ack(&AckSample { window_limited: false, max_outstanding_segments: 6, ..ack(0, 5) });
        assert_eq!(c.window_segments(), 15);
    }
}

/// RFC 9438 §4.2 by hand: W_max = 100 and β = 717/1024 give cwnd 70 after the loss and K = cbrt(30
/// / 0.4) = 4.217 s. One round trip is 100 ms. W_est has no effect because it is slow at this
/// window (0.53 segments per window, so 70 + 0.53 * 42 = 92 at K); the window must be back at 100
/// at K and at 0.4 * 3^3 + 100 = 110.8 three seconds later.
#[test]
fn cubic_is_back_at_w_max_after_k() {
    let mut c = controller(CongestionKind::Cubic, 1448, 100, false);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
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

/// RFC 9438 §4.2 by hand: after a loss at 100 segments of 1448 bytes W_max is 144,800 bytes and K = cbrt(30 / 0.4) =
/// 4.217 s, known when the next epoch begins.
#[test]
fn cubic_says_which_curve_it_follows() {
    let mut c = controller(CongestionKind::Cubic, 1448, 100, false);
    assert_eq!(c.cubic_curve(), None);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    let told = c.cubic_curve().expect("a loss sets it up");
    assert_eq!((told.w_max, told.k), (Bytes(144_800), None));
    c.on_ack(&ack(1, 2));
    let k = c.cubic_curve().and_then(|curve| curve.k).expect("the epoch has begun");
    assert!(k.abs_diff(Duration::from_millis(4_217)) < Duration::from_millis(5), "{k:?}");
    assert_eq!(controller(CongestionKind::NewReno, 1448, 100, false).cubic_curve(), None);
}

/// RFC 9438 §4.3: at a small window W_est determines the window. From 14 after a loss at 20,
/// Reno-friendly growth is 3(1-β)/(1+β) = 0.53 segments per window: 10 windows add 5.3.
#[test]
fn cubic_is_reno_friendly_at_small_windows() {
    let mut c = controller(CongestionKind::Cubic, 1448, 20, false);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
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
    let mut c = controller(CongestionKind::Cubic, 1448, 16, true);
    // Minimum round trip 40 ms; ACKs 1 ms apart: the train exceeds (40 + 1) / 2 ms at the ACK 21 ms
    // after the start of the round. Delays stay at the minimum so that only the train counts.
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
    let mut c = controller(CongestionKind::Cubic, 1448, 16, true);
    let sample = |i: u64, rtt, acked_to| AckSample {
        rtt: Some(Duration::from_millis(rtt)),
        acked_to,
        sent_to: 1000 * (1 + i / 10),
        ..ack(100 + 10 * i, 1)
    };
    c.on_ack(&sample(0, 40, 1)); // sets the minimum; ACKs are 10 ms apart, so no train forms
    // A new round in which every delay is 46 ms, above 40 + 40/8 = 45: eight samples are taken, the
    // ninth decides.
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
    for kind in CongestionKind::ALL {
        let mut c = controller(kind, 1448, 40, true);
        if c.needs().path_model {
            continue; // their window is restored with the model, at the end of recovery
        }
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

/// Kelly 2003 §3: at 800 segments a loss subtracts 100, and 700 delivered segments add 7.
#[test]
fn scalable_loses_an_eighth_and_gains_a_hundredth() {
    let mut c = controller(CongestionKind::Scalable, 1448, 800, true);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 700);
    for _ in 0..350 {
        c.on_ack(&ack(1, 2));
    }
    assert_eq!(c.window_segments(), 707);
}

/// Below 100 segments: one segment per window, as Reno.
#[test]
fn scalable_is_reno_at_small_windows() {
    let mut c = controller(CongestionKind::Scalable, 1448, 16, true);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 14);
    for _ in 0..14 {
        c.on_ack(&ack(1, 1));
    }
    assert_eq!(c.window_segments(), 15);
}

/// A Vegas controller that has just sent up to 1000, on an idle path.
fn vegas(window: u32) -> Controller {
    let mut c = controller(CongestionKind::Vegas, 1448, window, true);
    let start = Instant::ZERO;
    let srtt = Duration::ZERO;
    c.on_restart(&Restart { now: start, last_sent_at: start, sent_to: 1000, app_limited: false, srtt });
    c
}

/// A round of Vegas: `samples` ACKs with this round trip, the last of which ends the round.
fn vegas_round(c: &mut Controller, number: u64, rtt_us: u64, samples: u64) {
    for i in 0..samples {
        let last = i + 1 == samples;
        let acked_to = if last { number * 1000 + 1 } else { number * 1000 };
        let now = Instant::from_millis(number * 100 + i);
        c.on_arrival(&Arrival { now, acked_to, rtt: Some(Duration::from_micros(rtt_us)) });
        c.on_ack(&AckSample { acked_to, sent_to: (number + 1) * 1000, ..ack(number * 100 + i, 1) });
    }
}

/// Brakmo and Peterson 1995 §5 at a window of 40 over an empty path of 100 ms: a round trip of
/// 104 ms means 40 * 4/100 = 1.6 waiting segments (grow), 107 ms 2.8 (stay), 113 ms 5.2 (shrink).
#[test]
fn vegas_keeps_two_to_four_segments_in_the_queue() {
    let mut c = vegas(80);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 40);
    vegas_round(&mut c, 1, 100_000, 10); // none waiting: grows, and measures the empty path
    assert_eq!(c.window_segments(), 41);
    vegas_round(&mut c, 2, 104_000, 10);
    assert_eq!(c.window_segments(), 42);
    vegas_round(&mut c, 3, 107_000, 10);
    assert_eq!(c.window_segments(), 42);
    vegas_round(&mut c, 4, 113_000, 10);
    assert_eq!(c.window_segments(), 41);
    // Two samples in a round are too few: grows as Reno, by one per 41 delivered.
    vegas_round(&mut c, 5, 113_000, 2);
    assert_eq!(c.window_segments(), 41);
}

/// In slow start 20 segments at 120 ms over an empty path of 100 ms have 4 waiting, more than
/// gamma: the window becomes the product of the rate, 20/120, and the empty path's round trip, 16.7
/// -> 17.
#[test]
fn vegas_leaves_slow_start_when_more_than_gamma_waits() {
    let mut c = vegas(10);
    vegas_round(&mut c, 1, 100_000, 10);
    // Nine ACKs of the round and the one that ends it: one segment each.
    assert_eq!(c.window_segments(), 20);
    for i in 0..9 {
        let now = Instant::from_millis(200 + i);
        c.on_arrival(&Arrival { now, acked_to: 2000, rtt: Some(Duration::from_micros(120_000)) });
    }
    let last = AckSample { acked_to: 2001, sent_to: 3000, ..ack(210, 1) };
    c.on_ack(&last);
    // (20 * 100001 / 120001) + 1 = 16 + 1
    assert_eq!((c.window_segments(), c.ssthresh_segments()), (17, 17));
}

/// Vegas reacts only in the open phase; elsewhere it grows as Reno.
#[test]
fn vegas_rests_outside_of_the_open_phase() {
    let mut c = vegas(40);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    enter(&mut c, Phase::Disorder, 0);
    vegas_round(&mut c, 1, 100_000, 20);
    assert_eq!(c.window_segments(), 21); // one per window of 20
    enter(&mut c, Phase::Open, 2000);
    vegas_round(&mut c, 2, 200_000, 4); // 21 * 100/100 = 21 waiting
    assert_eq!(c.window_segments(), 20);
}

/// Fu and Liew 2003 §III at a window of 40 over an empty path of 100 ms. At 105 ms, N =
/// 40 (1 - 100/105) = 1.9 < 3: the loss is random, the window keeps four fifths. At 112 ms,
/// N = 4.3: half.
#[test]
fn veno_tells_random_loss_by_the_queue() {
    for (rtt_us, kept) in [(105_000, 32), (112_000, 20)] {
        let mut c = controller(CongestionKind::Veno, 1448, 80, true);
        c.on_loss(&loss(0));
        c.on_recovery_exit();
        // At 80 segments without a sample: no queue is known, four fifths.
        assert_eq!(c.window_segments(), 64);
        c.on_window_validation(40, 40);
        for (i, rtt) in [100_000, 100_000, 100_000, rtt_us].into_iter().enumerate() {
            let now = Instant::from_millis(i as u64);
            c.on_arrival(&Arrival { now, acked_to: 1, rtt: Some(Duration::from_micros(rtt)) });
            c.on_ack(&ack(i as u64, 1));
        }
        assert_eq!(c.window_segments(), 40);
        c.on_loss(&loss(10));
        assert_eq!(c.ssthresh_segments(), kept, "{rtt_us}");
    }
}

/// With more than beta segments waiting, 40 of them at 200 ms over 100 ms, the window grows only
/// every other time that a window was delivered: in four windows by two segments.
#[test]
fn veno_grows_every_other_round_in_congestion() {
    let mut c = controller(CongestionKind::Veno, 1448, 80, true);
    c.on_window_validation(80, 80);
    let mut deliver = |n: u32, rtt_us| {
        for i in 0..n {
            let now = Instant::from_millis(u64::from(i));
            c.on_arrival(&Arrival { now, acked_to: 1, rtt: Some(Duration::from_micros(rtt_us)) });
            c.on_ack(&ack(u64::from(i), 1));
        }
        c.window_segments()
    };
    deliver(3, 100_000);
    let window = deliver(4 * 82, 200_000);
    assert_eq!(window, 82);
}

/// 10 segments of 1448 bytes each 10 ms are 1448 bytes/ms. With a round trip of 100 ms the path
/// holds 100 segments, which becomes the window for any previous window.
#[test]
fn westwood_restarts_from_bandwidth_times_smallest_round_trip() {
    let mut c = controller(CongestionKind::Westwood, 1448, 400, true);
    c.on_established(Instant::ZERO, None);
    let mut acked_to = 1;
    for i in 0..1000 {
        acked_to += 14_480;
        let now = Instant::from_millis(10 * (i + 1));
        let rtt = Some(Duration::from_millis(if i == 150 { 100 } else { 130 }));
        c.on_arrival(&Arrival { now, acked_to, rtt });
    }
    c.on_loss(&loss(2000));
    assert_eq!(c.ssthresh_segments(), 200); // half, while recovery lasts
    c.on_recovery_exit();
    // Each stage of the filter rounds down: 1441 after the first, 1434 after the second, and
    // 1434 * 100 / 1448 = 99.03.
    assert_eq!((c.window_segments(), c.ssthresh_segments()), (99, 99));
}

/// Three duplicate ACKs count three segments; the following cumulative ACK of four counts the
/// remaining one: the sum is what was delivered.
#[test]
fn westwood_counts_what_duplicates_stood_for_once() {
    let run = |acks: &[u64]| {
        let mut c = controller(CongestionKind::Westwood, 1000, 10, true);
        c.on_established(Instant::ZERO, None);
        let rtt = Some(Duration::from_millis(100));
        c.on_arrival(&Arrival { now: Instant::ZERO, acked_to: 1, rtt });
        for (i, acked_to) in acks.iter().enumerate() {
            let now = Instant::from_millis(10 + i as u64);
            c.on_arrival(&Arrival { now, acked_to: *acked_to, rtt });
        }
        // Ends the first interval of the bandwidth estimate, 101 ms long.
        c.on_arrival(&Arrival { now: Instant::from_millis(101), acked_to: *acks.last().unwrap(), rtt });
        c.on_loss(&loss(0));
        c.on_recovery_exit();
        c.window_segments()
    };
    let with_duplicates = [1, 1, 1, 80_001];
    let plain = [20_001, 40_001, 60_001, 80_001];
    assert_eq!(run(&with_duplicates), run(&plain));
}

/// A controller with Veno's test, after slow start, with a window of 40, an empty path of 100 ms
/// and then this round trip.
fn discriminating(kind: CongestionKind, rtt_us: u64) -> Controller {
    let mut c = judging(kind, 80);
    c.on_window_validation(40, 40);
    assert!(c.needs().arrivals);
    for (i, rtt) in [100_000, 100_000, 100_000, rtt_us].into_iter().enumerate() {
        let now = Instant::from_millis(i as u64);
        c.on_arrival(&Arrival { now, acked_to: 1, rtt: Some(Duration::from_micros(rtt)) });
    }
    c
}

fn loss_at_40(now_ms: u64) -> LossEpisode {
    LossEpisode { window_segments: 40, ..loss(now_ms) }
}

/// At a window of 40 over 100 ms, 105 ms mean 1.9 segments in the queue: random, with any controller, and
/// the window is kept. 112 ms mean 4.3: congestion, and each controller reduces the window by its own law
/// (1/2; 717/1024; 7/8). Without a discriminator 105 ms have the same effect.
#[test]
fn a_random_loss_costs_nothing_with_any_law() {
    for (kind, kept) in
        [(CongestionKind::NewReno, 20), (CongestionKind::Cubic, 28), (CongestionKind::Scalable, 35)]
    {
        let mut c = discriminating(kind, 105_000);
        assert_eq!(c.on_loss(&loss_at_40(10)), LossCause::Random);
        c.on_recovery_exit();
        assert_eq!((c.window_segments(), c.ssthresh_segments()), (40, 40), "{kind:?}");
        let plain = || controller(kind, 1448, 40, true);
        for mut c in [discriminating(kind, 112_000), plain()] {
            assert_eq!(c.on_loss(&loss_at_40(10)), LossCause::Congestion);
            c.on_recovery_exit();
            assert_eq!(c.window_segments(), kept, "{kind:?}");
        }
    }
}

/// A mark means congestion, two round trips are not enough, and a timeout is not classified.
#[test]
fn what_is_not_known_to_be_random_is_congestion() {
    let mut c = discriminating(CongestionKind::NewReno, 105_000);
    assert_eq!(c.on_loss(&LossEpisode { marked: true, ..loss_at_40(10) }), LossCause::Congestion);
    assert_eq!(c.ssthresh_segments(), 20);

    let mut c = judging(CongestionKind::NewReno, 40);
    for _ in 0..2 {
        let rtt = Some(Duration::from_millis(100));
        c.on_arrival(&Arrival { now: Instant::ZERO, acked_to: 1, rtt });
    }
    assert_eq!(c.on_loss(&loss_at_40(10)), LossCause::Congestion);

    let mut c = discriminating(CongestionKind::NewReno, 105_000);
    let now = Instant::from_millis(10);
    c.on_timeout(&TimeoutEpisode { now, new_episode: true, restart_segments: 1, acked_to: 1, sent_to: 2 });
    assert_eq!((c.window_segments(), c.ssthresh_segments()), (1, 20));
}

/// `picoquic_cubic_enter_recovery` at 100 segments: W_max is 100 and the window 7/8 of it. At 80, less than
/// before, W_max is 7/8 of 80 and the window 7/8 of that, unless half of 80 is more.
#[test]
fn cubic_of_picoquic_falls_as_its_source_says() {
    let cubic = |beta_1024| {
        let cubic = CubicConfig { beta_1024, ..CubicConfig::PICOQUIC_2020 };
        of(
            &ControllerSetup { laws: LawParameters { cubic, ..LawParameters::DEFAULT }, ..PLAIN_CUBIC },
            1440,
            100,
        )
    };
    let mut c = cubic(896);
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 87);
    c.on_window_validation(80, 87);
    c.on_loss(&loss(1000));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 61); // 7/8 of 70
    let mut c = cubic(205); // 0.2
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 50);
}

/// After a loss at 100 segments, the Reno window starts from 50 and gains one segment per window: after 5 s
/// at 400 segments a second it is sqrt(50^2 + 2 * 2000) = 81, and the cubic curve determines the window, K =
/// cbrt(100 / 8 / 0.4) = 3.15 s.
#[test]
fn a_spurious_timeout_gives_picoquic_its_curve_back() {
    let make = |cubic| {
        let mut c = of(
            &ControllerSetup { laws: LawParameters { cubic, ..LawParameters::DEFAULT }, ..PLAIN_CUBIC },
            1440,
            100,
        );
        c.on_loss(&loss(0));
        c.on_recovery_exit();
        (0..400).for_each(|i| c.on_ack(&AckSample { window_limited: true, ..ack(10 * i, 4) }));
        let before = c.window_segments();
        let snapshot = c.snapshot();
        let timeout = TimeoutEpisode {
            now: Instant::from_millis(4_000),
            new_episode: true,
            restart_segments: 2,
            acked_to: 0,
            sent_to: 0,
        };
        c.on_timeout(&timeout);
        assert_eq!(c.window_segments(), 2);
        c.on_undo(&snapshot);
        assert_eq!(c.window_segments(), before);
        (0..100).for_each(|i| c.on_ack(&AckSample { window_limited: true, ..ack(4_010 + 10 * i, 4) }));
        (before, c.window_segments())
    };
    let (before, after) = make(CubicConfig::PICOQUIC_2020);
    // W(4 s) = 100 + 0.4 (4 - 3.15)^3 is the plateau; W(5 s) = 100 + 0.4 (5 - 3.15)^3 = 102.5.
    assert!((99..=101).contains(&before), "{before}");
    assert!((102..=104).contains(&after), "{after}");
    // RFC 9438 starts a new curve at the window before the loss.
    let (_, fresh) = make(CubicConfig::RFC9438);
    assert!(fresh > 104, "{fresh}");
}

#[test]
fn a_loss_that_slow_start_tolerates_is_none() {
    let make = |loss_max_ppm| {
        let slow_start = SlowStartRules { loss_max_ppm, ..SlowStartRules::LAW };
        of(&ControllerSetup { slow_start, ..PLAIN_CUBIC }, 1440, 10)
    };
    let few = LossEpisode { lost_segments: 2, newest_lost: 101, ..loss(0) };
    let mut c = make(200_000);
    assert_eq!(c.on_loss(&few), LossCause::Unreported);
    c.on_recovery_exit();
    assert_eq!((c.window_segments(), c.ssthresh()), (10, None));
    c.on_ack(&ack(1, 10));
    assert_eq!(c.window_segments(), 20); // slow start continues
    // Two more right after them make four in a row: 0.228.
    let more = LossEpisode { newest_lost: 103, ..few };
    assert_eq!(c.on_loss(&more), LossCause::Congestion);
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 14);
    // Slow start is over: each loss counts.
    c.on_ack(&ack(2, 10));
    assert_eq!(c.on_loss(&LossEpisode { newest_lost: 900, lost_segments: 1, ..few }), LossCause::Congestion);
    assert_eq!(make(0).on_loss(&few), LossCause::Congestion);
}

#[test]
fn a_risen_round_trip_ends_the_first_slow_start() {
    for (rtt_exit, kind) in
        [(true, CongestionKind::NewReno), (true, CongestionKind::Cubic), (false, CongestionKind::Cubic)]
    {
        let slow_start = SlowStartRules { rtt_exit, ..SlowStartRules::LAW };
        let mut c =
            of(&ControllerSetup { slow_start, hystart: false, ..ControllerSetup::new(kind) }, 1440, 10);
        let sample = |i: u64| Duration::from_millis(if i < 10 { 40 } else { 60 });
        (0..40).for_each(|i| c.on_ack(&AckSample { rtt: Some(sample(i)), ..ack(2 * i, 1) }));
        // The 7 + 7 + 6th sample from the tenth on, each of which let the window grow by one.
        assert_eq!(c.ssthresh_segments(), if rtt_exit { 10 + 23 } else { u32::MAX }, "{kind:?}");
    }
}

/// CUBIC after a loss at 100 segments: two seconds in use, then `limited_ms` in which the application sends little but
/// never nothing, then a second in use. The windows at the end of the three parts.
fn limited_cubic(epoch: CubicEpoch, limited_ms: u64) -> [u32; 3] {
    let cubic = CubicConfig { epoch, ..CubicConfig::RFC9438 };
    let mut c = of(
        &ControllerSetup { laws: LawParameters { cubic, ..LawParameters::DEFAULT }, ..PLAIN_CUBIC },
        1448,
        100,
    );
    c.on_loss(&loss(0));
    c.on_recovery_exit();
    assert_eq!(c.window_segments(), 70);
    let end = 2_000 + limited_ms;
    [(0, 2_000, true), (2_000, end, false), (end, end + 1_000, true)].map(|(from, to, used)| {
        for now in (from..to).step_by(10) {
            let delivered = if used { c.window_segments() / 10 } else { 1 };
            c.on_ack(&AckSample { window_limited: used, ..ack(now, delivered) });
        }
        c.window_segments()
    })
}

/// RFC 9438 §5.8: the curve continues where it was when the application limited the sender. At 0.4 (t - K)^3 + 100 with
/// K = cbrt(30 / 0.4) = 4.22 s, the window after 2 s is 95.6 and after 3 s 99.3 (the distance to W_max is
/// rounded down: 96 and 100); at 8 s, without the exclusion, 121.6,
/// at 33 s 9,614, of which a window that grows by half in a round trip reaches a part.
#[test]
fn the_curve_of_cubic_waits_for_the_application() {
    let never = limited_cubic(CubicEpoch::Linux, 0);
    assert_eq!(never, [96, 96, 100]);
    for limited_ms in [500, 5_000, 30_000] {
        assert_eq!(limited_cubic(CubicEpoch::Rfc9438, limited_ms), never, "{limited_ms}");
    }
    assert_eq!(limited_cubic(CubicEpoch::Rfc9438, 0), never);
    let [_, before, after] = limited_cubic(CubicEpoch::Linux, 5_000);
    assert_eq!((before, (115..125).contains(&after)), (96, true), "{after}");
    let [_, before, after] = limited_cubic(CubicEpoch::Linux, 30_000);
    assert!(before == 96 && after > 1_000, "{after}");
}

/// Idle time within the time that is excluded is excluded once.
#[test]
fn idle_time_of_a_limited_cubic_counts_once() {
    let run = |pause_ms: u64| {
        let cubic = CubicConfig { epoch: CubicEpoch::Rfc9438, ..CubicConfig::RFC9438 };
        let mut c = of(
            &ControllerSetup { laws: LawParameters { cubic, ..LawParameters::DEFAULT }, ..PLAIN_CUBIC },
            1448,
            100,
        );
        c.on_loss(&loss(0));
        c.on_recovery_exit();
        let mut drive = |from: u64, to: u64, used: bool| {
            for now in (from..to).step_by(10) {
                let delivered = if used { c.window_segments() / 10 } else { 1 };
                c.on_ack(&AckSample { window_limited: used, ..ack(now, delivered) });
            }
            c.window_segments()
        };
        drive(0, 2_000, true);
        drive(2_000, 2_500, false);
        let (from, srtt) = (2_500 + pause_ms, Duration::from_millis(100));
        let [last_sent_at, now] = [2_500, from].map(Instant::from_millis);
        c.on_restart(&Restart { now, last_sent_at, sent_to: 0, app_limited: true, srtt });
        let mut drive = |from: u64, to: u64, used: bool| {
            for now in (from..to).step_by(10) {
                let delivered = if used { c.window_segments() / 10 } else { 1 };
                c.on_ack(&AckSample { window_limited: used, ..ack(now, delivered) });
            }
            c.window_segments()
        };
        drive(from, from + 500, false);
        drive(from + 500, from + 1_500, true)
    };
    assert_eq!([0, 1_000, 20_000].map(run), [100; 3]);
}

/// RFC 9406: a quarter of the growth in conservative slow start, and congestion avoidance from the window after five
/// rounds of it, with any law; CUBIC without the choice has HyStart of Linux.
#[test]
fn any_law_takes_hystart_plus_plus() {
    for kind in [CongestionKind::NewReno, CongestionKind::Cubic, CongestionKind::Scalable] {
        let algorithm = Some(SlowStartAlgorithm::HyStartPlusPlus);
        let slow_start = SlowStartRules { algorithm, ..SlowStartRules::LAW };
        let setup = ControllerSetup { slow_start, paced: true, ..ControllerSetup::new(kind) };
        let mut c = of(&setup, 1000, 10);
        let (mut acked, mut now) = (0, Instant::from_millis(1000));
        // Windows of segments of a byte: the data in flight is the window.
        let mut round = |c: &mut Controller, rtt_ms: u64| {
            for _ in 0..c.window_segments() {
                acked += 1;
                now += Duration::from_micros(100);
                let window = c.window_segments();
                c.on_ack(&AckSample {
                    now,
                    delivered_segments: 1,
                    may_grow: true,
                    window_limited: true,
                    max_outstanding_segments: window,
                    outstanding_segments: window,
                    rtt: Some(Duration::from_millis(rtt_ms)),
                    srtt: Duration::from_millis(rtt_ms),
                    acked_to: acked,
                    sent_to: acked + u64::from(window),
                });
            }
        };
        round(&mut c, 40);
        round(&mut c, 40);
        assert_eq!((c.window_segments(), c.ssthresh()), (40, None), "{kind:?}");
        // The third window has the acknowledgments 31 to 70. A round of HyStart++ that began before it ends with the 34th;
        // the eighth sample after that enters conservative slow start (CSS). 12 segments grow the window by one, 28 by a
        // quarter: 40 + 12 + 28/4.
        round(&mut c, 60);
        assert_eq!((c.window_segments(), c.ssthresh()), (59, None), "{kind:?}");
        // 59 segments, of which three are left for later: 59 + 56/4.
        round(&mut c, 60);
        assert_eq!(c.window_segments(), 73, "{kind:?}");
        // Rounds of CSS end with the first acknowledgment of a segment sent after their begin. After n acknowledgments the
        // window is 52 + (n - 42)/4, and a round that begins with n ends with n + window(n - 1) + 1: those of 34, 78, 139,
        // 216, 312 with 78, 139, 216, 312, 432. The fifth ends slow start, at 52 + 390/4 = 149 segments.
        (0..4).for_each(|_| round(&mut c, 60));
        assert_eq!(c.ssthresh(), Some(Bytes(149 * 1000)), "{kind:?}");
    }
}

/// A law with a model of the path has its own start, and a law without HyStart of its own takes that of Linux.
#[test]
fn the_slow_start_of_a_law() {
    let with = |kind, algorithm| {
        let slow_start = SlowStartRules { algorithm: Some(algorithm), ..SlowStartRules::LAW };
        of(&ControllerSetup { slow_start, ..ControllerSetup::new(kind) }, 1000, 10)
    };
    let exits = |mut c: Controller| {
        for i in 0..2_000u64 {
            let rtt = Duration::from_millis(if i < 50 { 40 } else { 80 });
            let window = c.window_segments();
            c.on_ack(&AckSample {
                now: Instant::from_millis(1000 + 5 * i),
                delivered_segments: 1,
                may_grow: true,
                window_limited: true,
                max_outstanding_segments: window,
                outstanding_segments: window,
                rtt: Some(rtt),
                srtt: rtt,
                acked_to: i + 1,
                sent_to: i + 1 + u64::from(window),
            });
        }
        c.ssthresh().is_some()
    };
    assert!(exits(with(CongestionKind::NewReno, SlowStartAlgorithm::HyStart)));
    assert!(!exits(with(CongestionKind::NewReno, SlowStartAlgorithm::Standard)));
    assert!(exits(with(CongestionKind::Cubic, SlowStartAlgorithm::HyStart)));
    assert!(!exits(with(CongestionKind::Cubic, SlowStartAlgorithm::Standard)));
}

/// picoquic's test of the round trip also applies next to an algorithm: the 7 + 7 + 6th sample, of 51 ms after seven of
/// 40 ms, ends slow start (the test of [`SlowStartRules::rtt_exit`] derives it). The algorithms alone do not end it:
/// nothing is acknowledged, so no round ends and no window of SEARCH is full, and the acknowledgments are too far apart
/// for a train of HyStart.
#[test]
fn an_increased_round_trip_ends_slow_start_next_to_an_algorithm() {
    let exit_after = |algorithm, rtt_exit| {
        let slow_start = SlowStartRules { algorithm, rtt_exit, ..SlowStartRules::LAW };
        let setup = ControllerSetup { slow_start, ..ControllerSetup::new(CongestionKind::NewReno) };
        let mut c = of(&setup, 1000, 10);
        (0..40u64).find(|i| {
            let rtt = Some(Duration::from_millis(if *i < 7 { 40 } else { 51 }));
            c.on_ack(&AckSample { rtt, ..ack(3 * i, 1) });
            c.ssthresh().is_some()
        })
    };
    let algorithms = [
        SlowStartAlgorithm::Standard,
        SlowStartAlgorithm::HyStart,
        SlowStartAlgorithm::HyStartPlusPlus,
        SlowStartAlgorithm::Search,
    ];
    for algorithm in algorithms {
        assert_eq!(exit_after(Some(algorithm), true), Some(19), "{algorithm:?}");
        assert_eq!(exit_after(Some(algorithm), false), None, "{algorithm:?}");
    }
}
