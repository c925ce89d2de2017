//! A packet with processing times, and UEs at the edge of coverage.

use super::*;

#[test]
fn packets_are_processed_before_and_after_the_air() {
    let us = Duration::from_micros;
    let mut config = network(1, IDEAL);
    config.cells[0].processing = ProcessingTimes {
        enb_transmit: us(900),
        ue_receive: us(200),
        ue_transmit: us(1_100),
        enb_receive: us(300),
    };
    let mut d = Driver::new(&config);
    // Arrives at 10.2 ms, is in the queue at 11.1, scheduled at 12, on the air in slot 14, received at 15, and leaves
    // 0.2 ms later: 5 ms in all.
    d.send(Instant::from_nanos(10_200_000), 0, Direction::Downlink, 1400);
    // Arrives at 30.2 ms, is in the queue at 31.3: known in slot 32, at the eNB in 33, sent in 37, received at 38, and
    // leaves 0.3 ms later.
    d.send(Instant::from_nanos(30_200_000), 0, Direction::Uplink, 1400);
    assert_eq!(d.ran.packets_held(), 1);
    d.run_to(Instant::from_millis(100));
    assert_eq!(
        d.arrived,
        [
            (Instant::from_nanos(15_200_000), 2, 5.0, FlowId(0)),
            (Instant::from_nanos(38_300_000), 0, 8.1, FlowId(0))
        ]
    );
    assert_eq!(d.ran.next_timeout(), None, "an idle network has no slot to process");
    d.conserved();
}

/// One UE at this distance, with more downlink data than it gets in a second: the MCS of its blocks, and the megabits that
/// arrived.
fn at_distance(metres: f64, rule: OutOfRange) -> (Vec<u8>, f64) {
    let mut config = network(1, IDEAL);
    config.cells[0].mac.out_of_range = rule;
    config.ues[0].start = Start::At(Position::on_ground(metres, 0.0));
    let mut d = Driver::new(&config);
    for k in 0..1_000 {
        d.send(Instant::from_millis(k), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    (d.meter.downlink_mcs, d.arrived.len() as f64 * 1400.0 * 8.0 / 1e6)
}

#[test]
fn a_ue_out_of_range_has_the_lowest_mcs_as_long_as_harq_decodes_it() {
    // 30 dBm and noise of -174 dBm/Hz on 18 MHz with a noise figure of 7 dB, -94.4 dBm: 0 dB at a loss of 124.4 dB, which
    // is at 18.7 km (39.0 dB at 1 m). The CQI is 0 from about -4 dB on, at 30 km. Four transmissions of MCS 0 add up, 6 dB,
    // and are decoded until about -11 dB, at 66 km.
    let (mcs, megabits) = at_distance(40_000.0, OutOfRange::LowestMcs);
    assert!(mcs.len() > 200 && mcs.iter().all(|&mcs| mcs == 0), "{} blocks", mcs.len());
    // A block of 2792 bits (TS 36.213 table 7.1.7.2.1-1, 100 PRBs) takes up to four slots.
    assert!(megabits > 0.25 * 2.79 * 0.8, "{megabits} Mbit");
    assert_eq!(at_distance(40_000.0, OutOfRange::Unscheduled), (vec![], 0.0));
    for rule in [OutOfRange::LowestMcs, OutOfRange::Unscheduled] {
        assert_eq!(at_distance(200_000.0, rule), (vec![], 0.0), "beyond what HARQ decodes");
        assert!(at_distance(10_000.0, rule).1 > 5.0);
    }
}
