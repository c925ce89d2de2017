//! Expected values by hand from the rules that the module states.

use airlane_core::{Bytes, CellUse, Seeds};

use super::*;
use crate::congestion::RateSample;
use crate::recovery::Phase;

const SEGMENT: u32 = 1000;

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

struct Flow {
    law: Pbe,
    window: SegmentWindow,
    delivered: u64,
}

impl Flow {
    /// A connection whose handshake took 40 ms.
    fn new() -> Self {
        let window = SegmentWindow::new(SEGMENT, 10);
        let mut law = Pbe::new(&window, Seeds::new(1).stream("pbe"));
        law.on_established(&window, at(40), Some(ms(40)));
        Self { law, window, delivered: 1 }
    }

    /// A report of a cell with 50 blocks a millisecond, all of them with 100 bytes of this UE: 5 MB/s, and 4.66 MB/s of
    /// payload.
    fn report(&mut self, now: u64) {
        let cell_use = CellUse {
            offered_prbs: 50 * now,
            used_prbs: 50 * now,
            ue_prbs: 50 * now,
            repeated_prbs: 0,
            ue_bytes: 5000 * now,
            active_ues: 1,
        };
        let information = RadioInformation {
            measured_at: at(now),
            transport_block: Bytes(5000),
            resource_blocks: 50,
            cqi: 9,
            queue: Bytes::ZERO,
            cell_use: Some(cell_use),
        };
        self.law.on_radio_information(&mut self.window, &information);
    }

    /// Ten packets arrive.
    fn ack(&mut self, now: u64, rtt: u64) {
        self.ack_at(now, rtt, None);
    }

    /// The same, with a delivery rate.
    fn ack_at(&mut self, now: u64, rtt: u64, rate: Option<RateSample>) {
        self.delivered += 10;
        self.law.on_delivery(
            &mut self.window,
            &DeliverySample {
                now: at(now),
                delivered: self.delivered,
                delivered_at: at(now),
                lost: 0,
                newly_delivered: 10,
                newly_lost: 0,
                in_flight: 10,
                prior_in_flight: 20,
                window_limited: true,
                rtt: Some(ms(rtt)),
                srtt: ms(rtt),
                next_send_at: at(now),
                phase: Phase::Open,
                rate,
            },
        );
    }

    fn mbytes(&self) -> f64 {
        self.law.pacing_rate().expect("it paces").0 as f64 / 8e6
    }
}

fn started() -> Flow {
    let mut flow = Flow::new();
    flow.report(90);
    flow.report(100);
    flow.ack(100, 40);
    flow
}

/// Half of 120 ms after the first acknowledgment with counts, half of 4.66 MB/s; then all of it, with 67 ms of it in
/// flight: 312.2 packets.
#[test]
fn the_rate_reaches_the_fair_share_in_three_round_trips() {
    let mut flow = started();
    assert_eq!(flow.law.state, State::Start(Some(at(100))));
    flow.report(160);
    flow.ack(160, 40);
    assert!((flow.mbytes() - 2.33).abs() < 0.01, "{}", flow.mbytes());
    flow.report(220);
    flow.ack(220, 40);
    assert_eq!(flow.law.state, State::Cell);
    assert!((flow.mbytes() - 4.66).abs() < 0.01, "{}", flow.mbytes());
    assert_eq!(flow.window.segments, 313);
}

/// Six subframes have 28 packets. 67 ms are in time, 68 ms are not; a packet in time begins the count again.
#[test]
fn late_packets_in_sequence_mean_another_bottleneck() {
    let mut flow = started();
    flow.report(220);
    flow.ack(220, 40);
    for (now, rtt) in [(221, 68), (222, 68), (223, 67), (224, 68), (225, 68)] {
        flow.ack(now, rtt);
        assert_eq!(flow.law.state, State::Cell, "{now}");
    }
    flow.ack(226, 68);
    assert_eq!(flow.law.state, State::Drain(at(266)));
    flow.report(266);
    flow.ack(266, 68);
    assert_eq!(flow.law.state, State::Elsewhere);
    // Packets in time are not enough: BBR has not measured the rate of the cell.
    for now in 267..272 {
        flow.ack(now, 40);
    }
    assert_eq!(flow.law.state, State::Elsewhere);
    let bbr = |flow: &Flow| flow.law.bbr.pacing_rate().unwrap().0 as f64 / 8e6;
    assert!((flow.mbytes() - bbr(&flow)).abs() < 0.01 && flow.mbytes() < 4.0, "{}", flow.mbytes());
    // With nearly that rate, BBR would send more than the fair share.
    let rate = RateSample {
        delivered: 180,
        interval: ms(40),
        prior_delivered: flow.delivered,
        app_limited: false,
        lost: 0,
        in_flight_when_sent: 20,
        retransmission: false,
    };
    flow.ack_at(272, 40, Some(rate)); // 4.5 MB/s
    assert_eq!(flow.law.state, State::Elsewhere);
    assert!(bbr(&flow) > 5.0 && (flow.mbytes() - 4.66).abs() < 0.01, "{}", flow.mbytes());
}

/// Without counts, or with old ones, it is BBR.
#[test]
fn without_counts_it_is_bbr() {
    let mut flow = Flow::new();
    flow.ack(80, 40);
    assert_eq!(flow.law.pacing_rate(), flow.law.bbr.pacing_rate());
    let mut flow = started();
    flow.report(220);
    flow.ack(220, 40);
    flow.ack(330, 40);
    assert_eq!(flow.law.pacing_rate(), flow.law.bbr.pacing_rate());
    assert_eq!(flow.window.segments, flow.law.bbr_window.segments);
}
