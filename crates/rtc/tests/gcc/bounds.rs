//! Bounds that libwebrtc's own tests have, and those that its laws give for a link with one capacity.

use airlane_core::{BitRate, Duration};
use airlane_rtc::Bounds;

use crate::conditions::PACE;
use crate::link::{NoTraffic, Path, Run, Step, sent_per_second};
use crate::tcp::Tcp;
use crate::{gcc, video};

const NO_MAXIMUM: BitRate = BitRate(100_000_000);

/// The laws of libwebrtc's AIMD (`aimd_rate_control.cc`) and detector (`trendline_estimator.cc`) at 1 Mbit/s, 50 ms each way:
///
/// - A fall leads to 85 % of the acknowledged rate less 5 kbit/s, 845 kbit/s at the capacity. The acknowledged rate is that of a
///   second, in which there is a packet of 9.6 kbit more or less: 1 %.
/// - The rate then rises by a packet in twice 300 ms: the round-trip time is 200 ms as long as none is measured, and the detector
///   takes 100 ms. A frame has 3 packets up to 864 kbit/s and 4 above it: R/54 and R/72 in each second.
/// - It is overuse when 4 times 60 groups times the trend, the excess over the capacity, exceeds the threshold, of at least 6 ms: not
///   before 1025 kbit/s. The trend lags behind by half of its 20 groups, the filter of the delay by 9 groups, and the detector by 2
///   more, each of a frame of a thirtieth of a second; reports come each 100 ms and take 50 ms. That is 0.85 s, in which the rate
///   rises by R/72 in each second: 1037 kbit/s.
/// - The queue is what exceeds the capacity until then, the square of the excess over twice the slope, and as much as comes until the
///   sender has reacted: up to a round trip and an interval of reports, 200 ms, of the whole excess.
/// - The rate is held until the queue is empty (its 43 ms last for 0.3 s at 155 kbit/s below the capacity), the trend of 20 groups
///   is level (0.7 s) and a report has said so: up to 1.2 s.
#[test]
fn alone_on_a_link_it_is_a_sawtooth() {
    let mut controller = gcc(video());
    let mut path = Path::new(BitRate(1_000_000), Duration::from_millis(50));
    path.pacing = Some(PACE);
    let steps = Run::new(path, &mut controller).advance(Duration::from_secs(300), &mut NoTraffic);
    let steady = &steps[20_000..];
    let targets = || steady.iter().map(|step| step.target.0 as f64 / 1e3);
    let (low, high) = (targets().fold(f64::MAX, f64::min), targets().fold(0.0, f64::max));
    assert!((low / 845.0 - 1.0).abs() < 0.01, "{low} kbit/s");
    assert!((1_025.0..1_037.0).contains(&high), "{high} kbit/s");
    let excess = high - 1_000.0;
    let until_overuse = excess * excess / (2.0 * 1_000.0 / 72.0);
    let queue = steady.iter().map(|step| step.queue_ms).fold(0.0, f64::max);
    assert!((until_overuse..until_overuse + 0.2 * excess).contains(&queue), "{queue} ms");
    assert!(queue <= 43.5, "{queue} ms, and 43 ms with the crate goog_cc");
    let rise = 54.0 * libm::log(864.0 / low) + 72.0 * libm::log(high / 864.0);
    let period = 280.0 / falls(steady) as f64;
    assert!((rise..rise + 1.2).contains(&period), "{period} s, of which the rise takes {rise} s");
    // The mean of the rise and of the lowest rate, which is held. Bytes of frames and packets are rounded down, up to 5 B in 3.5 kB,
    // and 280 s are no whole number of periods: 0.3 %.
    let expected = (54.0 * (864.0 - low) + 72.0 * (high - 864.0) + low * (period - rise)) / period;
    let sent = sent_per_second(steady);
    let mean = sent.iter().sum::<f64>() / sent.len() as f64;
    assert!((mean / expected - 1.0).abs() < 0.003, "{mean} kbit/s, not {expected}");
}

/// How often the target falls.
fn falls(steps: &[Step]) -> usize {
    steps.windows(2).filter(|pair| pair[1].target < pair[0].target).count()
}

/// The estimate after 2 s without media at 20 ms one way, by probes alone.
fn probed(capacity: BitRate) -> u64 {
    let bounds = Bounds { min: BitRate(5_000), start: BitRate(300_000), max: NO_MAXIMUM };
    let mut controller = gcc(bounds);
    let path = Path { media: false, ..Path::new(capacity, Duration::from_millis(20)) };
    let mut run = Run::new(path, &mut controller);
    run.advance(Duration::from_secs(2), &mut NoTraffic);
    run.controller().estimate().0 / 1_000
}

/// `BweRampupWithInitialProbeTest` of libwebrtc f3ae3eb (`test/peer_scenario/bwe_integration_tests/bwe_ramp_up_test.cc`).
#[test]
fn probes_find_the_capacity() {
    let found = probed(BitRate(3_000_000));
    assert!((2_500..=3_000).contains(&found), "{found} kbit/s of 3000");
    let found = probed(BitRate(500_000));
    assert!((400..=500).contains(&found), "{found} kbit/s of 500");
}

/// `GoogCcScenario.IsFairToTCP` of libwebrtc f3ae3eb (`goog_cc_network_control_unittest.cc`): the queue has no limit there.
#[test]
fn leaves_room_for_tcp() {
    let bounds = Bounds { min: BitRate(5_000), start: BitRate(1_000_000), max: NO_MAXIMUM };
    let mut controller = gcc(bounds);
    let mut path = Path::new(BitRate(1_000_000), Duration::from_millis(50));
    path.pacing = Some(PACE);
    path.queue = Duration::from_secs(60);
    let mut run = Run::new(path, &mut controller);
    run.advance(Duration::from_secs(10), &mut Tcp::new(Duration::from_millis(100)));
    let estimate = run.controller().estimate().0 / 1_000;
    assert!(estimate < 750, "{estimate} kbit/s");
}

/// RFC 8867 section 5.6 with one long TCP flow: the media is not held at its minimum of 150 kbit/s. On average it is above it by
/// more than what the multiplicative increase gives in a second, 8 % (libwebrtc, `aimd_rate_control.cc`).
#[test]
fn tcp_leaves_more_than_the_minimum() {
    let mut controller = gcc(video());
    let mut path = Path::new(BitRate(2_000_000), Duration::from_millis(50));
    path.pacing = Some(PACE);
    let mut run = Run::new(path, &mut controller);
    let steps = run.advance(Duration::from_secs(120), &mut Tcp::new(Duration::from_millis(100)));
    let sent = sent_per_second(&steps[60_000..]);
    let mean = sent.iter().sum::<f64>() / sent.len() as f64;
    assert!(mean > 1.08 * 150.0, "{mean} kbit/s");
}
