//! Retransmission times of downlink blocks that were not decoded.
//!
//! Blocks that are sent in one slot fit into one slot together. Each slot that is not blank therefore has
//! room for all waiting blocks of the oldest slot. A block waits at most for its round trip, the blank slots,
//! and one slot for each earlier slot whose blocks were postponed by blank slots.

use std::collections::BTreeMap;

use super::*;

/// Milliseconds from each transmission of a block to its next, in the order of the second transmission.
fn waits(blocks: &[Block]) -> Vec<u64> {
    let mut latest: BTreeMap<(UeId, u8), Block> = BTreeMap::new();
    let mut waits = Vec::new();
    for &block in blocks {
        let before = latest.insert((block.ue, block.process), block);
        if let Some(before) = before.filter(|_| block.attempt > 0) {
            assert_eq!((before.attempt + 1, before.decoded), (block.attempt, false), "{before:?}, {block:?}");
            waits.push((block.at - before.at).as_nanos() / 1_000_000);
        }
    }
    waits
}

/// The number of occurrences of each wait.
fn counted(waits: &[u64]) -> BTreeMap<u64, usize> {
    let mut counted = BTreeMap::new();
    waits.iter().for_each(|wait| *counted.entry(*wait).or_default() += 1);
    counted
}

/// UEs with fading and bursts, each with more data than it can send, in a cell with blank subframes.
fn colliding(ues: usize, blank_subframes: u16, change: impl FnOnce(&mut CellConfig)) -> Driver {
    let mut config = network(ues, IDEAL);
    config.cells[0].mac.blank_subframes = blank_subframes;
    change(&mut config.cells[0]);
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 10.0, prb_spacing_hz: None });
    let (good, bad) = (Duration::from_millis(34), Duration::from_millis(6));
    config.channel.bursts = Some(BurstLaw { good, bad, depth: Decibel(30.0) });
    config.ues.iter_mut().for_each(|ue| ue.start = Start::At(Position::on_ground(2000.0, 0.0)));
    let mut d = Driver::new(&config);
    for k in 0..30_000_u64 {
        d.send(Instant::from_nanos(k * 100_000), (k % ues as u64) as u32, Direction::Downlink, 1400);
    }
    d.conserved();
    d
}

#[test]
fn no_block_waits_for_others_that_are_not_due() {
    // Every block takes the whole band and none is ever decoded: MCS 28 at 0 dB (19 km).
    let mut config = network(1, IDEAL);
    config.ues[0].start = Start::At(Position::on_ground(19_000.0, 0.0));
    config.ues[0].fixed_mcs = Some(Mcs::new(28));
    let found = |config: &RanConfig| {
        let mut d = Driver::new(config);
        for k in 0..20_000_u64 {
            d.send(Instant::from_nanos(k * 100_000), 0, Direction::Downlink, 1400);
        }
        assert!(d.meter.downlink_blocks.iter().all(|block| !block.decoded || block.attempt > 0));
        counted(&waits(&d.meter.downlink_blocks))
    };
    assert_eq!(found(&config).into_keys().collect::<Vec<_>>(), [8]);
    // Subframes 0 and 5 are blank. Blocks sent in 1, 2, 3, 4, 6, 7, 8, 9 are due in 9, 0, 1, 2, 4, 5, 6, 7.
    // Because subframe 0 is blank, those due in 0, 1, 2 are sent in 1, 2, 3; those due in 5, 6, 7 in 6, 7, 8;
    // those due in 9 and 4 immediately.
    config.cells[0].mac.blank_subframes = 1 << 0 | 1 << 5;
    assert_eq!(found(&config).into_keys().collect::<Vec<_>>(), [8, 9]);
    // Subframes 0 to 4 are blank. Blocks sent in 5 to 9 are due in 3 to 7 of the next frame, and are sent in
    // 5 to 9.
    config.cells[0].mac.blank_subframes = 0b11111;
    assert_eq!(found(&config).into_keys().collect::<Vec<_>>(), [10]);
}

#[test]
fn colliding_retransmissions_keep_due_order() {
    // At most 9 ms as above, for any distribution of the blocks of six UEs over the slots.
    for ues in [2, 6] {
        let d = colliding(ues, 1 << 0 | 1 << 5, |_| ());
        let waits = counted(&waits(&d.meter.downlink_blocks));
        println!("{ues} UEs: times between transmissions of a block in ms, and how often: {waits:?}");
        assert!(waits.values().sum::<usize>() > 500, "{waits:?}");
        assert_eq!(waits.into_keys().collect::<Vec<_>>(), [8, 9]);
    }
}

#[test]
fn both_layers_are_sent_again_together_whatever_waits() {
    let d = colliding(6, 1 << 0 | 1 << 5, |cell| {
        cell.transmission_mode = TransmissionMode::SpatialMultiplexing;
    });
    let blocks = &d.meter.downlink_blocks;
    let longest = waits(blocks).into_iter().max();
    assert_eq!(longest, Some(9));
    let sent = |of: Block, process: u8| {
        blocks.iter().any(|b| (b.at, b.ue, b.attempt, b.process) == (of.at, of.ue, of.attempt, process))
    };
    let mut latest: BTreeMap<(UeId, u8), Block> = BTreeMap::new();
    let mut pairs = 0;
    for &block in blocks {
        let other = latest.get(&(block.ue, block.process ^ 8)).copied();
        let before = latest.insert((block.ue, block.process), block);
        // Both were on the air together and failed: both are on the air together again.
        let Some((before, other)) = before.zip(other).filter(|_| block.attempt > 0) else { continue };
        if (other.at, other.attempt, other.decoded) == (before.at, before.attempt, false) {
            assert!(sent(block, block.process ^ 8), "{block:?} without {other:?}");
            pairs += 1;
        }
    }
    assert!(pairs > 100, "{pairs} blocks of two layers were sent again");
}
