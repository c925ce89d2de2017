use airlane_core::{BitRate, Duration, Instant};

use crate::link::{MediaLimit, Path};

pub(crate) fn second(at: u64) -> Instant {
    Instant::from_millis(at * 1_000)
}

/// The capacity of RFC 8867 section 5.1, whose steps are `later` seconds later.
pub(crate) fn rfc8867_5_1(later: u64, delay: Duration) -> Path {
    let mut path = Path::new(BitRate(1_000_000), delay);
    for (at, capacity) in [(40, 2_500_000), (60, 600_000), (80, 1_000_000)] {
        path.capacity.push((second(at + later), BitRate(capacity)));
    }
    path.pacing = Some(2.5);
    path
}

/// The paths of `data/goog_cc.csv`, with their names there.
pub(crate) fn all() -> Vec<(&'static str, Path)> {
    let delay = Duration::from_millis(50);
    let steps = rfc8867_5_1(0, delay);
    let lossy = |loss| Path { loss, ..Path::new(BitRate(2_500_000), delay) };
    let mut limited = Path::new(BitRate(1_000_000), Duration::from_millis(20));
    limited.capacity.extend([(second(30), BitRate(80_000)), (second(33), BitRate(1_000_000))]);
    limited.media_limit = Some(MediaLimit { from: second(20), until: second(60), rate: BitRate(100_000) });
    vec![
        ("steps", steps.clone()),
        ("steps with a pace of 1.1", Path { pacing: Some(1.1), ..steps.clone() }),
        ("steps with frames at once and the RTT", Path { pacing: None, measures_rtt: true, ..steps.clone() }),
        ("steps at 100 ms each way", Path { delay: Duration::from_millis(100), ..steps }),
        ("loss of 2 %", lossy(20)),
        ("loss of 10 %", lossy(100)),
        ("loss of 30 %", lossy(300)),
        ("a limited application", limited),
    ]
}
