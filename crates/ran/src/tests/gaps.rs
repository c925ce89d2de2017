//! UEs with measurement gaps: what is sent when, by hand, and what that costs.

use std::collections::BTreeMap;

use super::nr_cell::nr;
use super::*;
use crate::numerology::{HarqTiming, UplinkHarq};

/// Gap pattern 0: 6 ms from 14 ms of each 40 ms on.
const PATTERN_0: GapConfig = GapConfig {
    repetition: Duration::from_millis(40),
    length: Duration::from_millis(6),
    offset: Some(Duration::from_millis(14)),
    coverage: None,
};

fn with_gaps(mut config: RanConfig, gaps: GapConfig) -> RanConfig {
    config.ues.iter_mut().for_each(|ue| ue.measurement_gaps = Some(gaps));
    config
}

/// Each millisecond of a second, this many packets of 1400 bytes for each of the UEs.
fn load(d: &mut Driver, ues: u32, direction: Direction, packets: u32) {
    for k in 0..1_000_u64 {
        for ue in 0..ues {
            (0..packets).for_each(|_| d.send(Instant::from_millis(k), ue, direction, 1400));
        }
    }
}

fn micros(of: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(of)
}

/// Whether a gap of [`PATTERN_0`] has a part of this time, in microseconds.
fn in_gap(from: u64, until: u64) -> bool {
    (from..until).step_by(500).any(|at| (14_000..20_000).contains(&(at % 40_000)))
}

/// The subframes of blocks that were received at these times, by their place in the period.
fn places(received: impl IntoIterator<Item = Instant>) -> BTreeMap<u64, usize> {
    let mut places = BTreeMap::new();
    received.into_iter().for_each(|at| *places.entry((at.as_nanos() / 1_000_000 - 1) % 40).or_default() += 1);
    places
}

/// Blocks of subframes 10 to 13 would be acknowledged in the gap, and that of 16 in subframe 20, right behind it: 30 of 40
/// subframes are left.
#[test]
fn the_downlink_of_lte_keeps_thirty_of_forty_subframes() {
    let rate = |config: &RanConfig| {
        let mut d = Driver::new(config);
        load(&mut d, 1, Direction::Downlink, 20);
        d.conserved();
        (d.arrived.len() as f64, places(d.meter.downlink_blocks.iter().map(|block| block.at)))
    };
    let (without, _) = rate(&network(1, IDEAL));
    let (with, places) = rate(&with_gaps(network(1, IDEAL), PATTERN_0));
    assert_eq!(Vec::from_iter(places.keys().copied()), Vec::from_iter((0..10).chain(20..40)));
    assert!((with / without - 0.75).abs() < 0.005, "{with} of {without} packets");
}

/// A PUSCH of subframes 14 to 20 would be in a gap or right behind it, and one of subframes 18 to 23 has its grant there.
#[test]
fn the_uplink_of_lte_keeps_thirty_of_forty_subframes() {
    let rate = |config: &RanConfig| {
        let mut d = Driver::new(config);
        load(&mut d, 1, Direction::Uplink, 10);
        d.conserved();
        (d.arrived.len() as f64, places(d.meter.uplink_at.iter().copied()))
    };
    let (without, _) = rate(&network(1, IDEAL));
    let (with, places) = rate(&with_gaps(network(1, IDEAL), PATTERN_0));
    assert_eq!(Vec::from_iter(places.keys().copied()), Vec::from_iter((0..14).chain(24..40)));
    assert!((with / without - 0.75).abs() < 0.01, "{with} of {without} packets");
}

/// At 0 dB no block of MCS 28 is decoded: each is sent four times, outside of the gaps.
#[test]
fn retransmissions_wait_for_the_end_of_a_gap() {
    let mut config = with_gaps(network(1, IDEAL), PATTERN_0);
    config.ues[0].start = Start::At(Position::on_ground(19_000.0, 0.0));
    config.ues[0].fixed_mcs = Some(Mcs::new(28));
    let mut d = Driver::new(&config);
    load(&mut d, 1, Direction::Downlink, 20);
    d.run_to(Instant::from_millis(1_200));
    let blocks = &d.meter.downlink_blocks;
    let attempts = |attempt: u8| blocks.iter().filter(|block| block.attempt == attempt).count();
    assert!(attempts(1) > 100 && attempts(1) == attempts(3), "{} and {}", attempts(1), attempts(3));
    let places = places(blocks.iter().map(|block| block.at));
    assert!(places.keys().all(|place| !(10..20).contains(place)), "{places:?}");
    d.conserved();
}

/// Half of the blocks of several UEs at the edge fail. Their synchronous retransmissions are 8 ms later, or 16 or more with
/// a gap, and each has as many resource blocks as before. UEs without gaps keep their 8 ms.
#[test]
fn synchronous_retransmissions_are_suspended_for_whole_round_trips() {
    let mut config = network(6, sr(5));
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 20.0, prb_spacing_hz: None });
    for (k, ue) in config.ues.iter_mut().enumerate() {
        ue.start = Start::At(Position::on_ground(8_000.0, 0.0));
        ue.measurement_gaps = (k < 4).then_some(PATTERN_0);
    }
    let mut d = Driver::new(&config);
    load(&mut d, 6, Direction::Uplink, 2);
    d.run_to(Instant::from_millis(2_000));
    assert!(d.meter.uplink_most <= 100, "{} PRBs in one slot", d.meter.uplink_most);
    let mut latest = BTreeMap::new();
    let mut waits: [BTreeMap<u64, usize>; 2] = Default::default();
    for block in &d.meter.uplink_blocks {
        let sent = block.at.as_nanos() / 1_000_000 - 1;
        let has_gaps = block.ue.0 < 4;
        assert!(!has_gaps || !(14..24).contains(&(sent % 40)), "UE {:?} sends in {sent}", block.ue);
        let before = latest.insert((block.ue, block.process), (sent, block.prbs));
        let Some((before, prbs)) = before.filter(|_| block.attempt > 0) else { continue };
        assert_eq!(prbs, block.prbs);
        *waits[usize::from(has_gaps)].entry(sent - before).or_default() += 1;
    }
    let [without, with] = waits;
    assert_eq!(Vec::from_iter(without.keys().copied()), [8], "{without:?}");
    assert!(with.keys().all(|wait| wait % 8 == 0), "{with:?}");
    assert!(with[&16] > 20 && with[&8] > with[&16], "{with:?}");
    d.conserved();
}

/// NR, slots DDDSU of 0.5 ms, k1 = 2 and k2 = 1: nothing of a block is in a gap, whatever the direction, and the rest of the
/// slots is used.
#[test]
fn nothing_of_a_block_of_nr_is_in_a_gap() {
    let config = with_gaps(nr(IDEAL, 1), PATTERN_0);
    let duplex = config.cells[0].numerology.duplex;
    let sends = |slot: u64| !in_gap((slot.max(1) - 1) * 500, (slot + 1) * 500);
    let receives = |slot: u64| !in_gap(slot * 500, (slot + 1) * 500);
    let control = |pusch: u64| duplex.control_slot(pusch, 1).is_some_and(receives);
    let mut d = Driver::new(&config);
    load(&mut d, 1, Direction::Downlink, 60);
    d.conserved();
    let slot = |at: Instant| at.as_nanos() / 500_000 - 1;
    let used = Vec::from_iter(d.meter.downlink_blocks.iter().map(|block| slot(block.at)));
    let free = |slot: &u64| {
        duplex.downlink_symbols(*slot) > 0 && receives(*slot) && sends(duplex.next_uplink(*slot + 2))
    };
    let window =
        |slots: Vec<u64>| Vec::from_iter(slots.into_iter().filter(|slot| (400..1900).contains(slot)));
    assert_eq!(window(used), window((0..2000).filter(free).collect()));

    let mut d = Driver::new(&config);
    load(&mut d, 1, Direction::Uplink, 10);
    d.conserved();
    let used = Vec::from_iter(d.meter.uplink_at.iter().map(|at| slot(*at)));
    let free = |slot: &u64| duplex.has_uplink(*slot) && sends(*slot) && control(*slot);
    assert_eq!(window(used), window((0..2000).filter(free).collect()));
}

/// Gaps of 1.5 ms in slots of 1 ms, with an acknowledgment after 4 ms: a block between its gap and that of its
/// acknowledgment is sent.
#[test]
fn blocks_are_sent_between_a_gap_and_the_acknowledgments_in_it() {
    let length = Duration::from_micros(1_500);
    let mut config = with_gaps(network(1, IDEAL), GapConfig { length, ..PATTERN_0 });
    config.cells[0].numerology.harq =
        HarqTiming { processes: 16, feedback: 4, uplink: UplinkHarq::Asynchronous };
    let mut d = Driver::new(&config);
    load(&mut d, 1, Direction::Downlink, 20);
    let places = places(d.meter.downlink_blocks.iter().map(|block| block.at));
    // The gap has subframe 14 and a part of 15; 16 is right behind it.
    let lost = Vec::from_iter((0..40).filter(|place| !places.contains_key(place)));
    assert_eq!(lost, [10, 11, 12, 14, 15]);
}

/// A packet waits at most for the ten subframes that are lost, and on average for 10 · 11 / 2 / 40 ms.
#[test]
fn a_packet_waits_for_ten_subframes_at_most() {
    let delays = |config: &RanConfig| {
        let mut d = Driver::new(config);
        for k in 0..400 {
            d.send(micros(1_000_000 + 41_000 * k + 200), 0, Direction::Downlink, 1_000);
        }
        d.run_to(micros(20_000_000));
        Vec::from_iter(d.arrived.iter().map(|arrived| (arrived.2 * 10.0).round() / 10.0))
    };
    assert!(delays(&network(1, IDEAL)).iter().all(|delay| *delay == 3.8));
    let with = delays(&with_gaps(network(1, IDEAL), PATTERN_0));
    let mean = with.iter().sum::<f64>() / with.len() as f64;
    assert_eq!(with.iter().fold(0.0_f64, |most, delay| most.max(*delay)), 13.8);
    assert!((mean - 3.8 - 55.0 / 40.0).abs() < 1e-6, "{mean}");
}

/// An opportunity for a request is in each twentieth subframe. With gaps of 20 ms period around all of them, the UE cannot
/// ask.
#[test]
fn a_request_waits_for_an_opportunity_outside_of_gaps() {
    let arrive = |repetition: u64, offset: u64| {
        let [repetition, offset] = [repetition, offset].map(Duration::from_millis);
        let gaps = GapConfig { repetition, offset: Some(offset), ..PATTERN_0 };
        let mut d = Driver::new(&with_gaps(network(1, sr(20)), gaps));
        d.send(micros(1_000_500), 0, Direction::Uplink, 12);
        d.run_to(micros(3_000_000));
        Vec::from_iter(d.arrived.iter().map(|arrived| arrived.0.as_nanos() / 1_000_000))
    };
    // Requested in 1020, granted in 1023, sent in 1027.
    assert_eq!(arrive(40, 30), [1_028]);
    // The gap is from 1018 to 1024: requested in 1040.
    assert_eq!(arrive(40, 18), [1_048]);
    // The gap is from 1021 to 1027: granted in 1027.
    assert_eq!(arrive(40, 21), [1_032]);
    assert!(arrive(20, 18).is_empty());
}

/// Cells with a UE that has no gap at any time, and networks without the key, have the same blocks.
#[test]
fn gaps_of_another_ue_change_nothing_for_a_ue_alone_in_its_cell() {
    let run = |gaps: Option<GapConfig>| {
        let mut config = network(2, sr(10));
        config.cells = vec![config.cells[0].clone(), config.cells[0].clone()];
        config.cells[1].downlink_hz += 20e6;
        config.cells[1].uplink_hz += 20e6;
        (config.ues[1].cell, config.ues[1].measurement_gaps) = (Some(CellId(1)), gaps);
        let mut d = Driver::new(&config);
        load(&mut d, 1, Direction::Downlink, 10);
        d.meter.downlink_blocks
    };
    assert_eq!(run(None), run(Some(PATTERN_0)));
}
