//! Bounds that libwebrtc's own tests have, and figures of a link with one capacity.

use airlane_core::{BitRate, Duration};
use airlane_rtc::Bounds;

use crate::link::{NoTraffic, Path, Run, Step, sent_per_second};
use crate::tcp::Tcp;
use crate::{gcc, video};

const NO_MAXIMUM: BitRate = BitRate(100_000_000);

/// The crate goog_cc with the loss-based settings of f3ae3eb, 1 Mbit/s, 50 ms each way, 300 ms of queue, 300 s: mean rate from
/// 20 s on 933 kbit/s, target 845 to 1033 kbit/s, a period of 15 s, a queue of at most 43 ms.
#[test]
fn alone_on_a_link_it_is_a_sawtooth() {
    let mut controller = gcc(video());
    let mut path = Path::new(BitRate(1_000_000), Duration::from_millis(50));
    path.pacing = Some(1.1);
    let steps = Run::new(path, &mut controller).advance(Duration::from_secs(300), &mut NoTraffic);
    let steady = &steps[20_000..];
    let sent = sent_per_second(steady);
    let mean = sent.iter().sum::<f64>() / sent.len() as f64;
    assert!((mean / 933.0 - 1.0).abs() < 0.05, "{mean} kbit/s");
    let targets = || steady.iter().map(|step| step.target.0 as f64 / 1e3);
    let (low, high) = (targets().fold(f64::MAX, f64::min), targets().fold(0.0, f64::max));
    assert!((low / 845.0 - 1.0).abs() < 0.01 && (high / 1033.0 - 1.0).abs() < 0.01, "{low} to {high} kbit/s");
    let period = 280.0 / falls(steady) as f64;
    assert!((period / 15.0 - 1.0).abs() < 0.3, "{period} s");
    let queue = steady.iter().map(|step| step.queue_ms).fold(0.0, f64::max);
    assert!(queue <= 43.5, "{queue} ms");
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
    path.pacing = Some(1.1);
    path.queue = Duration::from_secs(60);
    let mut run = Run::new(path, &mut controller);
    run.advance(Duration::from_secs(10), &mut Tcp::new(Duration::from_millis(100)));
    let estimate = run.controller().estimate().0 / 1_000;
    assert!(estimate < 750, "{estimate} kbit/s");
}

/// RFC 8867 section 5.6 with one long TCP flow: the media is not held at its minimum of 150 kbit/s.
#[test]
fn tcp_leaves_more_than_the_minimum() {
    let mut controller = gcc(video());
    let mut path = Path::new(BitRate(2_000_000), Duration::from_millis(50));
    path.pacing = Some(1.1);
    let mut run = Run::new(path, &mut controller);
    let steps = run.advance(Duration::from_secs(120), &mut Tcp::new(Duration::from_millis(100)));
    let sent = sent_per_second(&steps[60_000..]);
    let mean = sent.iter().sum::<f64>() / sent.len() as f64;
    assert!(mean > 160.0, "{mean} kbit/s");
}
