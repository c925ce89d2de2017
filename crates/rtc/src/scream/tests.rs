//! Both algorithms under reports made by hand.

use airlane_core::{BitRate, Bytes, Duration, Ecn, Instant};

use super::{Scream, ScreamSettings};
use crate::{Bounds, Feedback, PacketKind, PacketReport, RateController, SentPacket};

const BOUNDS: Bounds = Bounds { min: BitRate(50_000), start: BitRate(300_000), max: BitRate(20_000_000) };
const RTT: Duration = Duration::from_millis(50);

fn all() -> [(&'static str, ScreamSettings); 3] {
    [
        ("draft", ScreamSettings::draft().with_l4s()),
        ("Ericsson", ScreamSettings::ericsson().with_l4s()),
        ("libwebrtc", ScreamSettings::libwebrtc()),
    ]
}

/// A sender that fills the window each round trip, and the reports about its packets of 1000 bytes.
struct Sender {
    scream: Scream,
    sequence: u64,
    now: Instant,
}

impl Sender {
    fn new(settings: ScreamSettings) -> Self {
        Self { scream: Scream::new(settings, BOUNDS), sequence: 0, now: Instant::from_millis(1000) }
    }

    fn send(&mut self) -> SentPacket {
        let sequence = self.sequence;
        self.sequence += 1;
        let sent =
            SentPacket { sequence, at: self.now, size: Bytes(1000), kind: PacketKind::Video, probe: None };
        self.scream.on_sent(&sent);
        sent
    }

    /// A round trip: packets for a little more than the target, of which the first `lost` do not arrive, and a report.
    fn round(&mut self, lost: usize, ecn: Ecn) {
        let count = (self.scream.target().bytes_in(RTT).get() / 1000 + 2) as usize;
        let packets: Vec<PacketReport> = (0..count)
            .map(|index| {
                let sent = self.send();
                let arrived = (index >= lost).then(|| sent.at + Duration::from_millis(25));
                PacketReport { sent, arrived, ecn }
            })
            .collect();
        self.now += RTT;
        let feedback = Feedback { packets: &packets, in_flight: Bytes::ZERO, held: Duration::ZERO };
        self.scream.on_feedback(self.now, &feedback);
    }
}

#[test]
fn without_congestion_the_target_grows_and_with_marks_it_falls() {
    for (name, settings) in all() {
        let mut sender = Sender::new(settings);
        for _ in 0..60 {
            sender.round(0, Ecn::Capable1);
        }
        let grown = sender.scream.target();
        assert!(grown > BitRate(2_000_000), "{name}: {grown:?}");
        for _ in 0..60 {
            sender.round(0, Ecn::CongestionExperienced);
        }
        assert!(sender.scream.target() < grown, "{name}: {:?}", sender.scream.target());
    }
}

#[test]
fn a_loss_takes_three_tenths_of_the_draft_at_once_and_of_libwebrtc_after_three_round_trips() {
    for (name, settings, rounds) in
        [("draft", ScreamSettings::draft(), 1), ("libwebrtc", ScreamSettings::libwebrtc(), 3)]
    {
        let mut sender = Sender::new(settings);
        for _ in 0..60 {
            sender.round(0, Ecn::NotCapable);
        }
        let bits = |sender: &Sender| sender.scream.target().bits_per_second() as f64;
        for round in 1..=rounds {
            let before = bits(&sender);
            sender.round(1, Ecn::NotCapable);
            let kept = bits(&sender) / before;
            // The increase of the same report adds an MSS, which is up to a tenth of the window, and up to 2 %.
            let (low, high) = if round == rounds { (0.7, 0.82) } else { (0.99, 1.12) };
            assert!(low <= kept && kept <= high, "{name}, round {round}: {kept}");
        }
    }
}
