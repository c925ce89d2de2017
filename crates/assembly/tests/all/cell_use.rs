//! The counts that PBE-CC uses, against the transport blocks of the run.

use std::sync::{Arc, Mutex};

use airlane_assembly::build;
use airlane_core::{Direction, Event, Instant, Probe, Topic, TopicSet};
use airlane_scenario::Scenario;

/// Two phones in a cell of 50 resource blocks of LTE, in which first transmissions fail.
const TWO: &str = r#"
network = "typical"
[run]
duration = "3 s"
warmup = "0 s"
[rnis]
[channel]
fading = { model = "epa", speed = "3 km/h" }
[[cell]]
name = "a"
resource_blocks = 50
[[ue]]
name = "phone"
position = ["200 m", "0 m"]
[[ue]]
name = "other"
position = ["300 m", "0 m"]
[[flow]]
to = "phone"
transport = { kind = "tcp", congestion = "pbe" }
[[flow]]
to = "other"
transport = { kind = "tcp", congestion = "cubic" }
"#;

/// Sums of the downlink.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    all: u64,
    own: u64,
    repeated: u64,
    bytes: u64,
}

struct Blocks(Arc<Mutex<Sums>>);

impl Probe for Blocks {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::TransportBlock)
    }

    fn observe(&mut self, _: Instant, event: &Event<'_>) {
        let Event::TransportBlock { ue, direction: Direction::Downlink, prbs, bytes, attempt, .. } = event
        else {
            return;
        };
        let mut sums = self.0.lock().unwrap();
        sums.all += u64::from(*prbs);
        if ue.0 == 0 {
            sums.own += u64::from(*prbs);
            sums.repeated += if *attempt > 0 { u64::from(*prbs) } else { 0 };
            sums.bytes += if *attempt == 0 { bytes.get() } else { 0 };
        }
    }
}

/// A block is counted when it is scheduled, and reported when it was received: those of at most eight slots are between.
#[test]
fn the_counts_are_those_of_the_transport_blocks() {
    let scenario = Scenario::parse(TWO, "two.toml").and_then(|s| s.resolve()).unwrap();
    let mut run = build(&scenario, 1).unwrap();
    let sums = Arc::new(Mutex::new(Sums::default()));
    run.observe(Box::new(Blocks(sums.clone())));
    let mut last = None;
    for step in 1..=30 {
        run.advance(Instant::from_millis(100 * step));
        let counts = run.radio_information()[0].cell_use.expect("a flow needs it");
        let seen = *sums.lock().unwrap();
        assert_eq!(counts.offered_prbs, 50 * 100 * step, "a slot each millisecond");
        for (counted, received) in
            [(counts.used_prbs, seen.all), (counts.ue_prbs, seen.own), (counts.repeated_prbs, seen.repeated)]
        {
            assert!((received..=received + 8 * 50).contains(&counted), "{counts:?} {seen:?}");
        }
        assert!((seen.bytes..=seen.bytes + 8 * 5000).contains(&counts.ue_bytes), "{counts:?} {seen:?}");
        assert!((1..=2).contains(&counts.active_ues));
        last = Some((counts, seen));
    }
    let (counts, seen) = last.unwrap();
    assert!(seen.repeated > 50 && counts.used_prbs > 100_000 && counts.ue_prbs > 30_000, "{counts:?}");
}
