use airlane_core::{BitRate, Duration, Instant};

use crate::link::{MediaLimit, Path};

pub(crate) fn second(at: u64) -> Instant {
    Instant::from_millis(at * 1_000)
}

/// The pacer's rate before the first feedback, as a multiple of the target: libwebrtc f3ae3eb, `goog_cc_network_control.cc`,
/// `kDefaultPaceMultiplier`.
const PACE_WITHOUT_FEEDBACK: f64 = 2.5;
/// The same with feedback: `kDefaultPaceMultiplierWithSendSideBwe`.
pub(crate) const PACE: f64 = 1.1;

/// The capacity of RFC 8867 section 5.1.
fn rfc8867_5_1(delay: Duration) -> Path {
    let mut path = Path::new(BitRate(1_000_000), delay);
    for (at, capacity) in [(40, 2_500_000), (60, 600_000), (80, 1_000_000)] {
        path.capacity.push((second(at), BitRate(capacity)));
    }
    path.pacing = Some(PACE_WITHOUT_FEEDBACK);
    path
}

/// A path of `data/goog_cc.csv`, and the greatest rate of the media on it.
pub(crate) struct Condition {
    pub(crate) name: &'static str,
    pub(crate) path: Path,
    pub(crate) max: BitRate,
}

/// All of them.
pub(crate) fn all() -> Vec<Condition> {
    let delay = Duration::from_millis(50);
    let steps = rfc8867_5_1(delay);
    let lossy = |loss| Path { loss, ..Path::new(BitRate(2_500_000), delay) };
    let paths = [
        ("steps", steps.clone()),
        ("steps with a pace of 1.1", Path { pacing: Some(PACE), ..steps.clone() }),
        ("steps with frames at once and the RTT", Path { pacing: None, measures_rtt: true, ..steps.clone() }),
        ("steps at 100 ms each way", Path { delay: Duration::from_millis(100), ..steps }),
        ("loss of 2 %", lossy(20)),
        ("loss of 10 %", lossy(100)),
        ("loss of 30 %", lossy(300)),
        ("a limited application", limited_application()),
    ];
    let mut all: Vec<Condition> =
        paths.into_iter().map(|(name, path)| Condition { name, path, max: BitRate(1_500_000) }).collect();
    let path = Path::new(BitRate(10_000_000), delay);
    all.push(Condition { name: "10 Mbit/s", path, max: BitRate(100_000_000) });
    all
}

/// The application limits the rate, the capacity falls for a while, and the rate before is probed after that.
fn limited_application() -> Path {
    let mut path = Path::new(BitRate(1_000_000), Duration::from_millis(20));
    path.queue = Duration::from_secs(3);
    path.capacity.extend([(second(30), BitRate(80_000)), (second(32), BitRate(1_000_000))]);
    path.media_limit = Some(MediaLimit { from: second(20), until: second(60), rate: BitRate(200_000) });
    path
}
