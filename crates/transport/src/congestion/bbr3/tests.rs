//! Expected values from draft-ietf-ccwg-bbr-06, computed by hand.

use airlane_core::{Bytes, Seeds};

use super::*;

const SEGMENT: u32 = 1448;

/// A flow over a path that delivers one segment per millisecond with a round trip of 40 ms: its
/// bandwidth-delay product is 40 segments.
struct Flow {
    bbr: Bbr3,
    window: SegmentWindow,
    now: Instant,
    delivered: u64,
    lost: u64,
    phase: Phase,
    /// Segments delivered per 40 ms in the samples.
    rate: u64,
    window_limited: bool,
}

impl Flow {
    fn new() -> Self {
        let mut bbr = Bbr3::new(Seeds::new(7).stream("test"));
        let window = SegmentWindow::new(SEGMENT, 10);
        bbr.on_established(&window, Instant::ZERO, Some(Duration::from_millis(40)));
        let phase = Phase::Open;
        let (delivered, lost, rate) = (1, 0, 40);
        Self { bbr, window, now: Instant::ZERO, delivered, lost, phase, rate, window_limited: false }
    }

    /// A flow in Down after its first probe.
    fn steady() -> Self {
        let mut flow = Self::new();
        flow.until(Mode::Down, 40);
        flow
    }

    /// An ACK of one segment after a millisecond, with `in_flight` segments in the network, of
    /// which `lost` were lost in the last round trip.
    fn ack_with(&mut self, rtt_ms: u64, in_flight: u32, lost: u64) {
        self.now += Duration::from_millis(1);
        self.delivered += 1;
        let rtt = Duration::from_millis(rtt_ms);
        let sample = DeliverySample {
            now: self.now,
            delivered: self.delivered,
            delivered_at: self.now,
            lost: self.lost,
            newly_delivered: 1,
            newly_lost: 0,
            in_flight,
            prior_in_flight: in_flight + 1,
            window_limited: self.window_limited,
            rtt: Some(rtt),
            srtt: rtt,
            next_send_at: self.now,
            phase: self.phase,
            rate: Some(RateSample {
                delivered: self.rate,
                interval: Duration::from_millis(40),
                prior_delivered: self.delivered.saturating_sub(40),
                app_limited: false,
                lost,
                in_flight_when_sent: in_flight,
                retransmission: false,
            }),
        };
        self.bbr.on_delivery(&mut self.window, &sample);
    }

    fn ack(&mut self, in_flight: u32) {
        self.ack_with(40, in_flight, 0);
    }

    fn until(&mut self, mode: Mode, in_flight: u32) {
        let limit = self.now + Duration::from_secs(20);
        while self.bbr.mode != mode {
            self.ack(in_flight);
            assert!(self.now < limit, "{:?} and not {mode:?}", self.bbr.mode);
        }
    }

    /// A segment that was sent with `in_flight`, of which `lost` have been lost since.
    fn lose(&mut self, number: u64, in_flight: u32, lost: u64) {
        self.lost += 1;
        let lost = LostSegment {
            now: self.now,
            number,
            in_flight_when_sent: in_flight,
            delivered_when_sent: 0,
            lost,
            delivered: self.delivered,
            app_limited: false,
        };
        self.bbr.on_segment_lost(&mut self.window, &lost);
    }
}

/// §5.6.2: ten segments of 1448 bytes in 40 ms are 362 000 B/s; times 2.77 they are 1 002 740 B/s
/// (1 002 570 with the gain in 1/256).
#[test]
fn the_first_rate_is_the_initial_window_per_round_trip() {
    assert_eq!(Flow::new().bbr.pacing_rate, 1_002_570);
}

/// §5.3.1.2: one round trip finds the rate, three more grow less than a quarter. §5.3.2: Drain paces
/// at half the rate until the data in flight equals the bandwidth-delay product.
#[test]
fn startup_then_drain() {
    let mut flow = Flow::new();
    flow.until(Mode::Drain, 100);
    assert_eq!(flow.bbr.rounds, 4);
    assert_eq!(flow.bbr.mode.gains(), (128, 512));
    // 1448 B/ms * 0.5 * 0.99.
    assert!(flow.bbr.pacing_rate.abs_diff(716_760) < 100, "{}", flow.bbr.pacing_rate);
    flow.ack(41);
    assert_eq!(flow.bbr.mode, Mode::Drain);
    // Down has nothing to drain, and changes to Cruise at once.
    flow.ack(40);
    assert_eq!(flow.bbr.mode, Mode::Cruise);
    assert_eq!(Mode::Down.gains(), (230, 512));
}

/// §5.3.2: Drain ends after three round trips even if the path is not drained.
#[test]
fn drain_is_given_up_after_three_round_trips() {
    let mut flow = Flow::new();
    flow.until(Mode::Drain, 100);
    let began = flow.bbr.rounds;
    flow.until(Mode::Down, 100);
    assert_eq!(flow.bbr.rounds, began + 4);
}

/// §5.3.1.3: six separate losses in a round trip of recovery, and more than 2 % of the flight, end
/// Startup; the bound is the amount delivered in that round trip, 40, or the estimated
/// bandwidth-delay product, 40.
#[test]
fn losses_end_startup() {
    let lossy_round = |ranges: u64, of_flight: u64| {
        let mut flow = Flow::new();
        for _ in 0..45 {
            flow.ack(80);
        }
        flow.phase = Phase::Recovery;
        for i in 0..ranges {
            flow.lose(100 + 2 * i, 80, 1 + i);
        }
        flow.rate = 60; // still growing: no plateau
        for _ in 0..41 {
            flow.ack_with(40, 80, of_flight);
        }
        flow
    };
    let flow = lossy_round(6, 6);
    assert!(flow.bbr.full_pipe.ever && flow.bbr.mode != Mode::Startup);
    assert_eq!(flow.bbr.inflight_long, Some(60));
    assert_eq!(lossy_round(5, 6).bbr.mode, Mode::Startup);
    assert_eq!(lossy_round(6, 1).bbr.mode, Mode::Startup); // 1 of 80 is below 2 %
}

/// §5.3.3.8: with 40 segments in the path a Reno flow would have its next loss after 40 round trips,
/// of which one is random; that is earlier than 2 to 3 s.
#[test]
fn small_paths_are_probed_as_often_as_reno_would() {
    let mut flow = Flow::steady();
    let began = flow.now;
    flow.until(Mode::Refill, 40);
    let rounds = (flow.now - began).as_millis() / 40;
    assert!((38..=41).contains(&rounds), "{rounds}");
}

/// §5.3.3: Down until the path is drained, Cruise, Refill for a round trip, Up at 1.25 until three
/// round trips bring no growth, then Down again; the filter of the rate advances once per cycle.
#[test]
fn a_cycle_goes_through_its_four_states() {
    let mut flow = Flow::steady();
    let cycles = flow.bbr.cycles;
    flow.ack(39);
    assert_eq!(flow.bbr.mode, Mode::Cruise);
    // 1448 B/ms * 0.99, and a window of twice the bandwidth-delay product with room for the early
    // segment.
    assert!(flow.bbr.pacing_rate.abs_diff(1_433_520) < 100, "{}", flow.bbr.pacing_rate);
    flow.until(Mode::Refill, 40);
    assert_eq!(flow.bbr.cycles, cycles + 1);
    let refill = flow.now;
    flow.until(Mode::Up, 40);
    assert_eq!((flow.now - refill).as_millis(), 40);
    assert_eq!(flow.bbr.mode.gains(), (320, 576));
    let up = flow.now;
    flow.until(Mode::Down, 50);
    // Three round trips; the first begins with Up.
    assert_eq!((flow.now - up).as_millis(), 120);
}

/// §5.5.10.2: two of 50 are more than 2 %. Losses exceeded the threshold with the second: 49 were in
/// flight before it, and the prefix (0.02 * 49 - 1) / 0.98 is negative, so zero. That is above 0.7
/// of the target of 40.
#[test]
fn a_loss_while_probing_bounds_the_flight() {
    let mut flow = Flow::steady();
    flow.until(Mode::Up, 40);
    flow.ack(50);
    flow.lose(1000, 50, 1); // 2 % exactly is not too much
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Up, None));
    flow.lose(1001, 50, 2);
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Down, Some(49)));
    // Only once per probe.
    flow.lose(1002, 30, 3);
    assert_eq!(flow.bbr.inflight_long, Some(49));
    flow.ack(45);
    assert_eq!((flow.bbr.mode, flow.window.segments), (Mode::Down, 49)); // the bound itself
    // §5.3.3.9: Cruise leaves 15 % free: 49 - 7 = 42; the flow first drains below that.
    flow.until(Mode::Cruise, 40);
    assert_eq!(flow.window.segments, 42);
}

/// §5.5.10.2: never below 0.7 of the target.
#[test]
fn the_bound_is_no_lower_than_beta() {
    let mut flow = Flow::steady();
    flow.until(Mode::Up, 40);
    flow.lose(1000, 10, 1);
    assert_eq!(flow.bbr.inflight_long, Some(28)); // 0.7 * 40
}

/// §5.5.10.3: a round trip with a loss in Cruise reduces the short-term bounds to the delivered
/// amount, 30 in 40 ms, but not below 0.7 of their old values (the first time, of the window). Refill
/// resets them.
#[test]
fn a_loss_while_cruising_follows_what_is_delivered() {
    let mut flow = Flow::steady();
    flow.until(Mode::Cruise, 39);
    let window = flow.window.segments;
    flow.rate = 30;
    for _ in 0..41 {
        flow.ack(39); // a round trip at that rate, so that the filter has no higher one
    }
    flow.lose(1000, 40, 1);
    for _ in 0..41 {
        flow.ack(39);
    }
    let per_ms = |n: u64| n * BW_UNIT / 40_000;
    assert_eq!(flow.bbr.bandwidth_short, Some(per_ms(30)));
    assert_eq!(flow.bbr.inflight_short, Some(30.max(window * 7 / 10)));
    assert_eq!(flow.bbr.bandwidth(), per_ms(30));
    flow.rate = 10; // below 0.7 * 30 = 21
    for _ in 0..41 {
        flow.ack(39);
    }
    flow.lose(2000, 40, 1);
    for _ in 0..41 {
        flow.ack(39);
    }
    assert_eq!(flow.bbr.bandwidth_short, Some(per_ms(30) * 7 / 10));
    flow.until(Mode::Refill, 39);
    assert_eq!((flow.bbr.bandwidth_short, flow.bbr.inflight_short), (None, None));
}

/// §5.3.3.4: at the bound, Up increases it by 1, 2, 4 ... segments in the following round trips.
#[test]
fn probing_up_raises_the_bound_faster_and_faster() {
    let mut flow = Flow::steady();
    flow.until(Mode::Up, 40);
    flow.bbr.inflight_long = Some(40);
    flow.window_limited = true;
    let mut bounds = Vec::new();
    for round in 0..4 {
        for _ in 0..40 {
            flow.ack(40);
        }
        bounds.push(flow.bbr.inflight_long.unwrap());
        assert_eq!(flow.bbr.mode, Mode::Up, "{round}");
    }
    // 40 segments are acknowledged in each round trip. The slope doubles at its start; the window
    // follows one segment behind, which causes rounding.
    let growth: Vec<u32> = bounds.windows(2).map(|w| w[1] - w[0]).collect();
    assert!(bounds[0] <= 42, "{bounds:?}");
    assert!(growth.windows(2).all(|w| w[1] > w[0]), "{bounds:?}");
    assert!((8..=20).contains(&(bounds[3] - 40)), "{bounds:?}"); // 1 + 2 + 4 + 8 = 15
}

/// §5.3.4: after five seconds without a smaller round trip, half of the bandwidth-delay product for
/// 200 ms and a round trip; then Cruise, with the window restored.
#[test]
fn probe_rtt_halves_the_flight_every_five_seconds() {
    let mut flow = Flow::steady();
    while flow.bbr.mode != Mode::ProbeRtt {
        flow.ack_with(45, 40, 0);
        assert!(flow.now < Instant::from_millis(6000));
    }
    assert_eq!(flow.now, Instant::from_millis(5001));
    assert_eq!(flow.window.segments, 20);
    assert!(flow.bbr.holds_back());
    flow.ack_with(45, 20, 0); // from here on, with at most that many in flight
    let began = flow.now;
    while flow.bbr.mode == Mode::ProbeRtt {
        flow.ack_with(41, 20, 0);
    }
    assert_eq!(flow.bbr.mode, Mode::Cruise);
    assert!((200..=242).contains(&(flow.now - began).as_millis()), "{:?}", flow.now - began);
    assert!(flow.window.segments > 60, "{}", flow.window.segments);
    // The 40 ms from the beginning are valid for ten seconds.
    assert_eq!(flow.bbr.min_rtt, Some(Duration::from_millis(40)));
}

/// §5.5.11.2: a spurious loss is undone, and the probe starts again.
#[test]
fn a_spurious_loss_is_taken_back() {
    let mut flow = Flow::steady();
    flow.until(Mode::Up, 40);
    flow.ack(50);
    flow.lose(1000, 50, 1);
    flow.lose(1001, 50, 2);
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Down, Some(49)));
    flow.lose(1002, 50, 3); // of the same recovery: the state saved before it stays
    flow.bbr.on_undo(&mut flow.window, &Snapshot::default());
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Refill, None));
    let refill = flow.now;
    flow.until(Mode::Up, 40);
    assert_eq!((flow.now - refill).as_millis(), 40);
    // Only once: a second undo does not resume a probe.
    flow.until(Mode::Down, 50);
    flow.bbr.on_undo(&mut flow.window, &Snapshot::default());
    assert_eq!(flow.bbr.mode, Mode::Down);
}

/// §5.5.11.2: if the losses that ended Startup were spurious, it continues until it finds the plateau; the
/// window is at least the previous one.
#[test]
fn startup_goes_on_after_a_spurious_loss() {
    let mut flow = Flow::new();
    for _ in 0..45 {
        flow.ack(80);
    }
    let window = flow.window.segments;
    let episode = LossEpisode {
        now: flow.now,
        in_flight_segments: 80,
        window_segments: window,
        marked: false,
        lost_segments: 6,
        newest_lost: 110,
    };
    for i in 0..6 {
        flow.lose(100 + 2 * i, 80, 1 + i);
    }
    flow.bbr.on_loss(&mut flow.window, &episode, LossCause::Congestion);
    flow.phase = Phase::Recovery;
    flow.rate = 60;
    for _ in 0..41 {
        flow.ack_with(40, 80, 6);
    }
    assert!(flow.bbr.full_pipe.ever && flow.bbr.mode != Mode::Startup);
    flow.window.segments = 10;
    flow.bbr.on_undo(&mut flow.window, &Snapshot::default());
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Startup, None));
    assert!(flow.window.segments >= window);
    flow.phase = Phase::Open;
    flow.ack(80);
    assert_eq!(flow.bbr.mode, Mode::Startup);
    flow.until(Mode::Drain, 80);
}

/// §5.3.3.6: an Up after one that lost too much ends as soon as the data in flight reaches the bound. A round
/// trip later, without a loss, it probes again at once, and continues.
#[test]
fn a_probe_after_a_loss_is_cautious() {
    let mut flow = Flow::steady();
    flow.until(Mode::Up, 40);
    flow.ack(50);
    for i in 0..3 {
        flow.lose(1000 + i, 50, 1 + i);
    }
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Down, Some(49)));
    flow.until(Mode::Cruise, 30);
    flow.ack_with(39, 40, 0); // a shorter round trip, so that ProbeRTT does not start
    flow.until(Mode::Up, 40);
    flow.ack(48);
    assert_eq!(flow.bbr.mode, Mode::Up);
    flow.ack(49);
    assert_eq!(flow.bbr.mode, Mode::Down);
    let down = flow.now;
    flow.until(Mode::Refill, 45);
    assert_eq!((flow.now - down).as_millis(), 40, "not the two seconds of Cruise");
    flow.until(Mode::Up, 45);
    for _ in 0..30 {
        flow.ack(49);
        assert_eq!(flow.bbr.mode, Mode::Up);
    }
}

/// §5.6.3: a millisecond at 1448 B/ms is one segment, but the minimum is two; at 100 times that
/// rate it is 64 KiB, 45 segments.
#[test]
fn the_quantum_is_a_millisecond_within_bounds() {
    let mut flow = Flow::new();
    flow.bbr.pacing_rate = 1_448_000;
    assert_eq!(flow.bbr.send_quantum(SEGMENT), 2);
    flow.bbr.pacing_rate = 14_480_000;
    assert_eq!(flow.bbr.send_quantum(SEGMENT), 10);
    flow.bbr.pacing_rate = 144_800_000;
    assert_eq!(flow.bbr.send_quantum(SEGMENT), 45);
}

/// A flow that responds to marks of paths up to this round trip.
fn responding(rtt_max_ms: u64) -> Flow {
    let mut flow = Flow::new();
    flow.bbr = flow.bbr.clone().with_marks(Some(Duration::from_millis(rtt_max_ms)));
    flow
}

impl Flow {
    /// An ACK that reports marks.
    fn marked_ack(&mut self, in_flight: u32, marked: u32) {
        let marks = MarkSample {
            now: self.now,
            delivered_segments: 1,
            marked_segments: marked,
            delivered_bytes: Bytes(u64::from(SEGMENT)),
            marked_bytes: Bytes(u64::from(marked * SEGMENT)),
            srtt: Duration::from_millis(40),
            acked_to: 0,
            sent_to: 0,
            recovering: false,
        };
        self.bbr.on_marks(&mut self.window, &marks);
        self.ack(in_flight);
    }
}

/// google/bbr `bbr_check_ecn_too_high_in_startup`: two round trips with half of the packets marked end Startup. The
/// plateau of the rate would end it after three.
#[test]
fn marks_end_startup() {
    let [mut flow, mut other] = [responding(40), responding(40)];
    for acks in 0..200 {
        // Each sample has more than the last: there is no plateau.
        flow.rate += 20;
        other.rate += 20;
        flow.marked_ack(20, u32::from(acks % 2 == 0));
        other.marked_ack(20, u32::from(acks % 3 == 0)); // a third: below the threshold
    }
    assert!(flow.bbr.full_pipe.ever && flow.bbr.mode != Mode::Startup);
    assert_eq!((other.bbr.full_pipe.ever, other.bbr.mode), (false, Mode::Startup));
}

/// google/bbr `bbr_ecn_lower_bounds`: outside of probing, a round trip with marks leaves 1 - alpha / 3 of the bound,
/// where alpha has moved by a sixteenth towards the marked share.
#[test]
fn marks_reduce_the_short_term_bound() {
    let mut flow = responding(40);
    flow.until(Mode::Cruise, 30);
    let rounds = flow.bbr.rounds;
    while flow.bbr.rounds == rounds {
        flow.ack(30);
    }
    assert_eq!(flow.bbr.inflight_short, None);
    let window = flow.window.segments;
    let before = flow.bbr.marks.as_ref().unwrap().alpha();
    for _ in 0..45 {
        flow.marked_ack(30, 1);
    }
    let alpha = flow.bbr.marks.as_ref().unwrap().alpha();
    // At least 39 of the 40 ACKs of the round were marked: 16 * 249 / 256 = 15 more of 256.
    assert!((before * 240 / 256 + 15..=before * 240 / 256 + 16).contains(&alpha), "{before} {alpha}");
    let bound = u64::from(window) * (256 - alpha * 85 / 256) / 256;
    assert_eq!(flow.bbr.inflight_short, Some(bound as u32));
    assert_eq!(flow.bbr.bandwidth_short, None, "marks do not reduce the rate");
}

/// google/bbr `bbr_is_inflight_too_high`: more than half of a sample marked ends Up.
#[test]
fn marks_end_a_probe() {
    let mut flow = responding(40);
    flow.until(Mode::Down, 40);
    flow.until(Mode::Up, 40);
    for _ in 0..20 {
        flow.marked_ack(45, 1);
    }
    assert_eq!(flow.bbr.mode, Mode::Up, "20 of 40 are half");
    flow.marked_ack(45, 1);
    // 0.7 of the target, which is the bandwidth-delay product, is less than what was in flight.
    assert_eq!((flow.bbr.mode, flow.bbr.inflight_long), (Mode::Down, Some(45)));
}

/// On a path with a longer minimum round trip, and without the option, marks change nothing.
#[test]
fn marks_of_a_longer_path_have_no_effect() {
    let mut flows = [responding(39), Flow::new()];
    for acks in 0..20_000_u32 {
        for flow in &mut flows {
            flow.marked_ack(40, acks % 2);
        }
    }
    let [a, b] = flows.map(|f| (f.bbr.mode, f.bbr.rounds, f.bbr.inflight_long, f.window.segments));
    assert_eq!(a, b);
}
