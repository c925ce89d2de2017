//! Reports made by hand, and the figures of the tests.

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};

use super::{Nada, NadaSettings};
use crate::{Bounds, Feedback, PacketKind, PacketReport, RateController, SentPacket};

#[path = "../../tests/support/csv.rs"]
mod csv;

/// A figure of `python/airlane/data/rtc/nada.csv`, whose fifth column has the values.
pub(super) fn figure(key: &str) -> f64 {
    let table = include_str!("../../../../python/airlane/data/rtc/nada.csv");
    let row = csv::rows(table).find(|row| row[0] == key).expect("a row with this key");
    row[4].parse().expect("a number")
}

/// Packets of 1250 bytes each 10 ms (1 Mbit/s), one report each 100 ms.
struct Path {
    nada: Nada,
    sequence: u64,
}

impl Path {
    fn new() -> Self {
        let bounds = Bounds { min: BitRate(150_000), start: BitRate(300_000), max: BitRate(1_500_000) };
        Self { nada: Nada::new(NadaSettings::default(), bounds), sequence: 0 }
    }

    /// Ten packets with this queue delay above a propagation of 20 ms; `arrives` says which of them arrive.
    fn report(&mut self, queue_ms: u64, ecn: Ecn, arrives: &dyn Fn(u64) -> bool) {
        let packets: Vec<PacketReport> = (self.sequence..self.sequence + 10)
            .map(|sequence| {
                let at = Instant::from_millis(10 * sequence);
                let sent =
                    SentPacket { sequence, at, size: Bytes(1250), kind: PacketKind::Video, probe: None };
                self.nada.on_sent(&sent);
                let arrived = arrives(sequence).then(|| at + Duration::from_millis(20 + queue_ms));
                PacketReport { sent, arrived, ecn }
            })
            .collect();
        self.sequence += 10;
        let now = Instant::from_millis(10 * self.sequence + 30 + queue_ms);
        let feedback = Feedback { packets: &packets, in_flight: Bytes::ZERO, held: Duration::ZERO };
        self.nada.on_feedback(now, &feedback);
    }
}

#[test]
fn without_a_queue_the_rate_follows_what_is_received() {
    let mut path = Path::new();
    path.report(0, Ecn::NotCapable, &|_| true);
    // The report comes 40 ms after the last packet left: 1 Mbit/s times 1 + 50 / (40 + 100 + 120).
    let gain = figure("gamma 40");
    let target = path.nada.target().bits_per_second() as f64;
    assert!((target - 1e6 * (1.0 + gain)).abs() < 1e3, "{target}");
}

#[test]
fn a_queue_ends_the_ramp_up_for_half_a_second() {
    let mut path = Path::new();
    path.report(0, Ecn::NotCapable, &|_| true);
    let ramped = path.nada.reference;
    path.report(60, Ecn::NotCapable, &|_| true);
    assert!(path.nada.reference < 1.01 * ramped, "a gradual update");
    assert_eq!(path.nada.congestion(), Duration::ZERO, "the smallest of 15 packets has no queue");
    path.report(60, Ecn::NotCapable, &|_| true);
    assert_eq!(path.nada.congestion(), Duration::from_millis(60));
}

#[test]
fn losses_raise_the_signal_and_reduce_the_rate() {
    let mut path = Path::new();
    for _ in 0..10 {
        path.report(0, Ecn::NotCapable, &|_| true);
    }
    let before = path.nada.target();
    for _ in 0..100 {
        path.report(0, Ecn::NotCapable, &|sequence| sequence % 20 != 0);
    }
    // 5 % of loss has a penalty of 250 ms; the last packets of a window may be one more or less of 50.
    let ms = path.nada.congestion().as_millis_f64();
    assert!((ms - figure("loss penalty 0.05")).abs() < 0.25 * figure("loss penalty 0.05"), "{ms}");
    assert!(path.nada.target() < before);
}

#[test]
fn marks_raise_the_signal() {
    let mut path = Path::new();
    for _ in 0..100 {
        path.report(0, Ecn::CongestionExperienced, &|_| true);
    }
    assert_eq!(path.nada.congestion(), Duration::from_micros(3_276_700), "2 ms * 100^2 exceed the field");
}

#[test]
fn the_rate_stays_within_its_bounds() {
    let mut path = Path::new();
    for _ in 0..200 {
        path.report(400, Ecn::NotCapable, &|sequence| sequence % 3 != 0);
        let target = path.nada.target();
        assert!(BitRate(150_000) <= target && target <= BitRate(1_500_000));
    }
}
