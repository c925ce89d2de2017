//! Expected values by hand from the law, with the constants of `c4.c`.

use super::*;
use crate::congestion::RateSample;
use crate::recovery::Phase;

/// A path of 40 ms that delivers a segment of 1000 bytes each millisecond (1 MB/s), and a sender with more in flight than
/// the path delivers in a round trip.
struct Flow {
    c4: C4,
    window: SegmentWindow,
    now: Instant,
    delivered: u64,
    /// Segments delivered in the interval of a sample, 100 ms.
    rate: u64,
    rtt_ms: u64,
}

impl Flow {
    fn new() -> Self {
        let window = SegmentWindow::new(1000, 10);
        let mut c4 = C4::default();
        c4.on_established(&window, Instant::ZERO, Some(Duration::from_millis(40)));
        Self { c4, window, now: Instant::ZERO, delivered: 1, rate: 100, rtt_ms: 40 }
    }

    /// An acknowledgment of a segment that was sent 40 segments ago.
    fn ack(&mut self) {
        self.now += Duration::from_millis(1);
        self.delivered += 1;
        let rtt = Duration::from_millis(self.rtt_ms);
        let sample = DeliverySample {
            now: self.now,
            delivered: self.delivered,
            delivered_at: self.now,
            lost: 0,
            newly_delivered: 1,
            newly_lost: 0,
            in_flight: 40,
            prior_in_flight: 41,
            window_limited: true,
            rtt: Some(rtt),
            srtt: rtt,
            next_send_at: self.now,
            phase: Phase::Open,
            rate: Some(RateSample {
                delivered: self.rate,
                interval: Duration::from_millis(100),
                prior_delivered: self.delivered.saturating_sub(40),
                app_limited: false,
                lost: 0,
                in_flight_when_sent: 40,
                retransmission: false,
            }),
        };
        self.c4.on_delivery(&mut self.window, &sample);
    }

    fn until(&mut self, state: State) {
        for _ in 0..10_000 {
            if self.c4.state == state {
                return;
            }
            self.ack();
        }
        panic!("{:?} and not {state:?}", self.c4.state);
    }

    /// The states of the next acknowledgments, without repetitions.
    fn states(&mut self, acks: u32) -> Vec<State> {
        let mut states = vec![self.c4.state];
        for _ in 0..acks {
            self.ack();
            if states.last() != Some(&self.c4.state) {
                states.push(self.c4.state);
            }
        }
        states
    }

    fn lose(&mut self, number: u64) {
        let lost = LostSegment {
            now: self.now,
            number,
            in_flight_when_sent: 40,
            delivered_when_sent: self.delivered,
            lost: 1,
            delivered: self.delivered,
            app_limited: false,
        };
        self.c4.on_segment_lost(&mut self.window, &lost);
    }
}

/// The rate is known from the first sample on; three eras without growth end Initial, and its window falls by half and
/// to 15/16.
#[test]
fn initial_ends_after_three_flat_eras() {
    let mut flow = Flow::new();
    flow.ack();
    assert_eq!(flow.c4.rate, 1_000_000);
    assert_eq!(flow.c4.pacing_rate, 2_000_000);
    flow.until(State::Recovery);
    // The first acknowledgment, of the second segment, ends the era of the start, in which the rate has grown from 0. Each
    // of three eras without growth then ends when a segment that was sent after its beginning is delivered, 40 later.
    assert_eq!(flow.delivered, 2 + 3 * 40);
    assert_eq!(flow.c4.pacing_rate, 937_500);
    assert_eq!(flow.c4.max_rtt, flow.c4.initial_window / 2);
}

/// Without growth: recovery, two eras of cruising, one of probing at 17/16, and again.
#[test]
fn the_cycle() {
    let mut flow = Flow::new();
    flow.until(State::Cruising);
    assert_eq!(flow.c4.pacing_rate, 1_000_000);
    flow.until(State::Probing);
    assert_eq!(flow.c4.pacing_rate, 1_062_500);
    let cycle = [State::Probing, State::Recovery, State::Cruising];
    assert_eq!(flow.states(41 * 4), [&cycle[..], &cycle[..1]].concat());
}

/// Any growth after a probe at 17/16 without a signal begins a push, which continues while the rate grows by three
/// quarters of a quarter, and ends after an era without.
#[test]
fn growth_after_a_probe_pushes() {
    let mut flow = Flow::new();
    flow.until(State::Probing);
    flow.rate = 105;
    flow.until(State::Pushing);
    assert_eq!(flow.c4.rate, 1_050_000);
    assert_eq!(flow.c4.pacing_rate, 1_050_000 * 1256 / 1024);
    let seen = flow.states(41 * 3);
    assert_eq!(seen[..2], [State::Pushing, State::Recovery]);
    // A rate that follows: 1.05 MB/s times 1 + 3/4 * 232/1024 is 1.228 MB/s.
    let mut flow = Flow::new();
    flow.until(State::Probing);
    flow.rate = 105;
    flow.until(State::Pushing);
    flow.rate = 125;
    assert_eq!(flow.states(30), [State::Pushing]);
    assert_eq!(flow.c4.rate, 1_250_000);
    assert_eq!(flow.states(30), [State::Pushing, State::Recovery]);
}

/// In cruising after a probe, an excess of the round trip over the threshold reduces by excess / threshold, up to 1/4.
/// While the era before was cruising, it is taken as jitter.
#[test]
fn delays_count_after_more_than_the_rate() {
    let mut flow = Flow::new();
    flow.until(State::Probing);
    (0..39).for_each(|_| flow.ack());
    let rate = flow.c4.rate;
    assert_eq!(flow.c4.alpha_before, PROBE);
    flow.rtt_ms = 80;
    flow.ack();
    // A probe is not reduced for; recovery follows.
    assert_eq!((flow.c4.state, flow.c4.rate, flow.c4.notified), (State::Recovery, rate, true));
    // In cruising, delays raise the maximum instead.
    let mut flow = Flow::new();
    flow.until(State::Cruising);
    (0..41).for_each(|_| flow.ack());
    flow.rtt_ms = 70;
    (0..30).for_each(|_| flow.ack());
    assert_eq!(flow.c4.state, State::Cruising);
    (0..11).for_each(|_| flow.ack());
    assert_eq!(flow.c4.max_rtt, 70_000);
}

/// At 1 MB/s the loss threshold is 2 % + 0.5 * 61/1024 = 5 %, one loss makes a sixteenth: rate and maximum round trip
/// fall by (1/4 + 963/1024/4)/2. Losses of what was sent before recovery do not count.
#[test]
fn losses_reduce_by_the_sensitivity() {
    let mut flow = Flow::new();
    flow.until(State::Cruising);
    let max_rtt = flow.c4.max_rtt;
    flow.lose(1_000);
    let beta = (256 + 963 * 256 / 1024) / 2;
    assert_eq!(flow.c4.state, State::Recovery);
    assert_eq!(flow.c4.rate, 1_000_000 - 1_000_000 * beta / 1024);
    assert_eq!(flow.c4.max_rtt, max_rtt - max_rtt * beta / 1024);
    let rate = flow.c4.rate;
    flow.delivered -= 1;
    flow.lose(1_001);
    assert_eq!((flow.c4.rate, flow.c4.alpha), (rate, RECOVER));
    flow.delivered += 1;
    // At 758 kB/s the threshold is 17 %: the third in a row exceeds it. It makes recovery slower, not the rate.
    flow.lose(1_002);
    flow.lose(1_003);
    flow.lose(1_004);
    assert_eq!((flow.c4.rate, flow.c4.alpha), (rate, RECOVER_AGAIN));
}

/// A slow flow tolerates losses: below 50 kB/s up to a share of 52 %.
#[test]
fn a_slow_flow_tolerates_losses() {
    let mut flow = Flow::new();
    flow.rate = 4; // 40 kB/s
    flow.until(State::Cruising);
    (0..5).for_each(|i| flow.lose(1_000 + i));
    assert_eq!(flow.c4.state, State::Cruising);
}

/// 4/1.024 ms of the rate, at least two segments, at most 64 KiB.
#[test]
fn bursts() {
    let mut c4 = C4::default();
    for (rate, segments) in [(100_000, 2), (1_024_000, 4), (100_000_000, 65)] {
        c4.pacing_rate = rate;
        assert_eq!(c4.send_quantum(1000), segments);
    }
}
