use airlane_core::Seeds;

use super::*;
use crate::congestion::RateSample;

const SEGMENT: u32 = 1448;

/// A flow over a path that delivers one segment per millisecond with a round trip of 40 ms: its
/// bandwidth-delay product is 40 segments.
struct Flow {
    bbr: Bbr,
    window: SegmentWindow,
    now: Instant,
    delivered: u64,
    lost: u64,
    phase: Phase,
}

impl Flow {
    fn new() -> Self {
        let mut bbr = Bbr::new(Seeds::new(7).stream("test"));
        let window = SegmentWindow::new(SEGMENT, 10);
        bbr.on_established(&window, Instant::ZERO, Some(Duration::from_millis(40)));
        Self { bbr, window, now: Instant::ZERO, delivered: 1, lost: 0, phase: Phase::Open }
    }

    /// An ACK of one segment, `per_ms` of them delivered in the last millisecond's worth of the
    /// last 40 ms, with `in_flight` in the network.
    fn ack(&mut self, per_ms: u64, rtt_ms: u64, in_flight: u32, newly_lost: u32) {
        self.now += Duration::from_millis(1);
        self.delivered += per_ms;
        self.lost += u64::from(newly_lost);
        let sample = DeliverySample {
            now: self.now,
            delivered: self.delivered,
            delivered_at: self.now,
            lost: self.lost,
            newly_delivered: per_ms as u32,
            newly_lost,
            window_limited: true,
            in_flight,
            prior_in_flight: in_flight + per_ms as u32,
            rtt: Some(Duration::from_millis(rtt_ms)),
            srtt: Duration::from_millis(rtt_ms),
            next_send_at: self.now,
            phase: self.phase,
            rate: Some(RateSample {
                delivered: 40 * per_ms,
                interval: Duration::from_millis(40),
                prior_delivered: self.delivered.saturating_sub(40 * per_ms),
                app_limited: false,
                lost: 0,
                in_flight_when_sent: in_flight,
                retransmission: false,
            }),
        };
        self.bbr.on_delivery(&mut self.window, &sample);
    }

    fn acks(&mut self, n: u64, in_flight: u32) {
        for _ in 0..n {
            self.ack(1, 40, in_flight, 0);
        }
    }
}

/// Ten segments in 40 ms are 362 000 B/s; times 739/256 and 0.99, 8 bits each: 8.276 Mbit/s.
#[test]
fn the_first_rate_is_the_initial_window_per_round_trip() {
    let flow = Flow::new();
    let rate = flow.bbr.pacing_rate().unwrap().bits_per_second();
    assert!((8_274_000..8_278_000).contains(&rate), "{rate}");
}

/// Draft §4.3.2.2: the rate is found in the first round; three more bring no growth, and Startup
/// ends. Drain then lasts until the data in flight is at most the bandwidth-delay product.
#[test]
fn startup_ends_after_three_rounds_without_growth() {
    let mut flow = Flow::new();
    let mut rounds_seen = 0;
    while flow.bbr.mode == Mode::Startup {
        flow.ack(1, 40, 100, 0);
        rounds_seen = flow.bbr.rounds;
    }
    assert_eq!(rounds_seen, 4);
    assert_eq!((flow.bbr.mode, flow.bbr.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    // 40 segments and three bursts of the Startup rate: 1 448 000 B/s * 2.887 * 0.99 in a
    // millisecond are 2.86 segments, so 2 each; 46 is even.
    assert_eq!(flow.window.ssthresh, 46);
    flow.ack(1, 40, 60, 0);
    assert_eq!(flow.bbr.mode, Mode::Drain);
    flow.ack(1, 40, 40, 0);
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth);
    assert_ne!(flow.bbr.cycle, 1, "the first phase is never the one that drains");
}

/// Its model of the path: one segment per millisecond is 1448 x 8 kbit/s, and the target in flight
/// is 40 segments and three bursts.
#[test]
fn it_says_what_it_thinks_of_the_path() {
    let mut flow = Flow::new();
    let told = |flow: &Flow| flow.bbr.path_model(&flow.window, 17).unwrap();
    let first = told(&flow);
    assert_eq!((first.state, first.full_reached, first.max_bandwidth), ("Startup", false, BitRate(0)));
    assert_eq!(first.gains.map(|gain| (1000.0 * gain).round()), [2887.0, 2887.0]);
    while flow.bbr.mode == Mode::Startup {
        flow.acks(1, 100);
    }
    let drain = told(&flow);
    assert_eq!((drain.state, drain.full_rounds, drain.full_reached), ("Drain", 3, true));
    flow.acks(400, 40);
    let model = told(&flow);
    assert_eq!((model.state, model.round, model.in_flight), ("ProbeBW", flow.bbr.rounds, 17));
    let rate = model.max_bandwidth.bits_per_second();
    // Rates are whole numbers of 2^-24 segments per microsecond: 690.5 bit/s each.
    assert!(rate.abs_diff(11_584_000) < 691, "{rate}");
    assert_eq!(model.delivery_rate, model.max_bandwidth);
    assert_eq!(model.min_rtt, Some(Duration::from_millis(40)));
    assert_eq!(model.target, flow.bbr.inflight(SEGMENT, flow.bbr.bandwidth.get(), UNIT));
    assert_eq!((model.bandwidth_short, model.inflight_short, model.inflight_long), (None, None, None));
}

/// A cycle has eight phases of a round trip; the gains are 1.25, 0.75 and six times 1, and the
/// pacing rate follows them, less one per cent.
#[test]
fn probe_bandwidth_cycles_its_gain() {
    let mut flow = Flow::new();
    flow.acks(400, 40);
    assert_eq!(flow.bbr.mode, Mode::ProbeBandwidth);
    while flow.bbr.cycle != 0 {
        flow.acks(1, 40);
    }
    assert_eq!(flow.bbr.pacing_gain, 320);
    // 1448 B/ms * 1.25 * 0.99 = 1 791 900 B/s.
    let rate = flow.bbr.pacing_rate().unwrap().bits_per_second() / 8;
    assert!((1_791_000..1_792_500).contains(&rate), "{rate}");
    // It ends when 1.25 times the bandwidth-delay product is in flight: 50, three bursts of 2, two
    // for probing.
    flow.acks(60, 50);
    assert_eq!(flow.bbr.cycle, 0);
    flow.acks(1, 60);
    assert_eq!((flow.bbr.cycle, flow.bbr.pacing_gain), (1, 192));
    flow.acks(1, 40); // drained
    assert_eq!((flow.bbr.cycle, flow.bbr.pacing_gain), (2, UNIT));
    flow.acks(41, 40); // one round trip each
    assert_eq!(flow.bbr.cycle, 3);
    // Twice the bandwidth-delay product, 80; one segment for an ACK that arrives earlier than the
    // rate predicts; three bursts of two: 87, rounded up to an even number.
    assert_eq!(flow.window.segments, 88);
}

/// Draft §4.3.5: after ten seconds without a smaller round trip the window is reduced to four
/// segments for 200 ms and a round trip, and then restored.
#[test]
fn probe_rtt_holds_four_segments_for_200_ms() {
    let mut flow = Flow::new();
    flow.acks(400, 40);
    let window = flow.window.segments;
    while flow.bbr.mode != Mode::ProbeRtt {
        flow.ack(1, 45, 40, 0);
        assert!(flow.now < Instant::from_millis(11_000));
    }
    // The ten seconds began with the connection: no later sample was smaller.
    assert_eq!(flow.now, Instant::from_millis(10_001));
    assert_eq!(flow.window.segments, 4);
    assert!(flow.bbr.holds_back());
    let began = flow.now;
    while flow.bbr.mode == Mode::ProbeRtt {
        flow.ack(1, 45, 4, 0);
    }
    let took = flow.now - began;
    assert!((200..=210).contains(&took.as_millis()), "{took:?}");
    assert!(flow.window.segments >= window, "{} after {window}", flow.window.segments);
    assert_eq!(flow.bbr.min_rtt_us, Some(45_000));
}

/// Draft §4.2.3.4: recovery begins with the segments in flight and conserves packets for a round
/// trip; afterwards the window is restored.
#[test]
fn recovery_conserves_packets_and_gives_the_window_back() {
    let mut flow = Flow::new();
    flow.acks(400, 40);
    let window = flow.window.segments;
    let window_segments = flow.window.segments;
    let episode = LossEpisode {
        now: flow.now,
        in_flight_segments: 38,
        window_segments,
        marked: false,
        lost_segments: 1,
        newest_lost: 0,
    };
    flow.bbr.on_loss(&mut flow.window, &episode, LossCause::Congestion);
    flow.phase = Phase::Recovery;
    flow.ack(1, 40, 38, 2);
    assert_eq!(flow.window.segments, 39);
    flow.ack(1, 40, 30, 0);
    assert_eq!(flow.window.segments, 39);
    flow.phase = Phase::Open;
    flow.ack(1, 40, 30, 0);
    assert!(flow.window.segments.abs_diff(window) <= 2, "{} for {window}", flow.window.segments);
}

/// Two intervals between losses that delivered one segment a millisecond and lost a quarter: a
/// policer at 0.75 of the arrival rate. Its rate is used for 48 round trips.
#[test]
fn a_policer_is_found_and_left_again() {
    let mut flow = Flow::new();
    flow.acks(400, 40);
    assert_eq!(flow.bbr.policer.rate(), None);
    let mut found_after = 0;
    while flow.bbr.policer.rate().is_none() {
        flow.ack(1, 40, 40, u32::from(found_after % 4 == 0));
        found_after += 1;
        assert!(found_after < 1000);
    }
    // Two intervals, each until a loss after the fourth start of a round trip of 40 segments.
    assert!((240..=328).contains(&found_after), "{found_after}");
    let rate = flow.bbr.policer.rate().unwrap();
    let one_per_ms = BW_UNIT / 1000;
    assert!(rate.abs_diff(one_per_ms) * 100 <= one_per_ms * 3, "{rate} for {one_per_ms}");
    assert_eq!(flow.bbr.pacing_gain, UNIT);
    let rounds = flow.bbr.rounds;
    while flow.bbr.policer.rate().is_some() {
        flow.acks(1, 40);
    }
    assert_eq!(flow.bbr.rounds - rounds, 48);
}

/// Half of the acknowledgments arrive at once every 20 ms: 20 segments more than the rate predicts,
/// for which the window is then increased.
#[test]
fn bursts_of_acknowledgments_widen_the_window() {
    let mut flow = Flow::new();
    flow.acks(400, 40);
    let narrow = flow.window.segments;
    for _ in 0..40 {
        flow.now += Duration::from_millis(19);
        flow.ack(20, 40, 40, 0);
    }
    let bw = BW_UNIT / 1000;
    let extra = flow.bbr.aggregation.window(bw);
    assert!((15..=20).contains(&extra), "{extra}");
    assert!(flow.window.segments > narrow + 10, "{} after {narrow}", flow.window.segments);
}
