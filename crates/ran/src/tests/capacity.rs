//! The capacity that a queue with ABC's marks receives, compared with what a full queue is served.

use airlane_net::abc::Parameters;
use airlane_net::queue::Aqm;

use super::nr_cell::nr;
use super::*;

/// The queues of the cell have ABC's marks.
fn marked(mut config: RanConfig) -> RanConfig {
    config.cells[0].bearer.aqm = Aqm::Abc(Parameters::default());
    config
}

/// All UEs have data at all times. The bytes of IP packets that one receives in the second half of a second are within
/// 3 % of the capacity that is known then, which includes the headers of PDCP, RLC and MAC.
fn compare(config: &RanConfig) {
    let ues = config.ues.len();
    let mut d = Driver::new(config);
    let every_us = 8;
    for k in 0..1_000_000 / every_us {
        let now = Instant::ZERO + Duration::from_micros(k * every_us);
        d.send(now, k as u32 % ues as u32, Direction::Downlink, 1_472);
        if k * every_us == 500_000 {
            d.arrived.clear();
        }
    }
    let bytes: u64 = d.arrived.iter().filter(|(.., flow)| flow.0 == 0).count() as u64 * 1_500;
    let capacity = d.ran.downlink_capacity(Instant::from_millis(1_000), 0).expect("it has had blocks");
    let (served, known) = (bytes as f64 * 2.0, capacity);
    assert!((0.97..=1.0).contains(&(served / known)), "{ues} UEs: {served} of {known} bytes per second");
}

#[test]
fn a_queue_knows_the_rate_at_which_it_is_served() {
    for ues in [1, 2, 5] {
        compare(&marked(network(ues, IDEAL)));
        compare(&marked(nr(IDEAL, ues)));
    }
}

#[test]
fn no_block_is_expected_in_blank_subframes() {
    let mut config = marked(network(2, IDEAL));
    config.cells[0].mac.blank_subframes = 0b10_1010_1010;
    compare(&config);
}

/// Before the first block nothing is known; without a radio nothing can be sent.
#[test]
fn without_blocks_the_capacity_is_unknown() {
    let mut d = Driver::new(&marked(network(1, IDEAL)));
    assert_eq!(d.ran.downlink_capacity(Instant::ZERO, 0), None);
    d.send(Instant::from_millis(1), 0, Direction::Downlink, 100);
    d.run_to(Instant::from_millis(100));
    // A block of 100 bytes tells what a whole slot would carry.
    let alone = d.ran.downlink_capacity(Instant::from_millis(100), 0).expect("one block");
    assert!(alone > 1e6, "{alone}");
}
