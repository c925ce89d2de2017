//! A cell that is not LTE: slots of 0.5 ms, 16 HARQ processes, TDD, and tables of its own. It shows that a cell needs
//! no more than a numerology and a set of tables.

use airlane_core::{Bytes, CellId, Direction, Duration, FlowId, Instant, UeId};
use airlane_radio::link_tables::{Allocation, LTE, LinkTables};
use airlane_radio::{CodeScheme, CodedBlock, Cqi, Mcs, Modulation, Profile};

use std::collections::BTreeSet;

use super::world::{World, driver, road};
use super::*;
use crate::numerology::{
    Duplex, HarqTiming, Numerology, PuschSizes, RbgLayout, SlotKind, TddPattern, UplinkHarq,
};

/// MCS and CQI of LTE, with transport blocks that depend on the symbols of the slot, and a code without a gap.
#[derive(Debug)]
struct Tables;

/// Symbols of a slot for control and reference signals.
const OVERHEAD: u8 = 2;
/// Largest code block in bits.
const CODE_BLOCK: u64 = 8448;

impl LinkTables for Tables {
    fn name(&self) -> &str {
        "test"
    }
    fn highest_mcs(&self) -> Mcs {
        Mcs::new(27)
    }
    fn widest(&self) -> u16 {
        275
    }
    fn modulation(&self, mcs: Mcs, _: Direction) -> Modulation {
        LTE.modulation(mcs, Direction::Downlink)
    }
    fn efficiency(&self, mcs: Mcs) -> f64 {
        LTE.efficiency(mcs)
    }
    fn mcs_of(&self, cqi: Cqi) -> Mcs {
        LTE.mcs_of(cqi).min(self.highest_mcs())
    }
    fn transport_block(&self, mcs: Mcs, Allocation { prbs, symbols, .. }: Allocation, _: Direction) -> Bytes {
        let elements = u32::from(prbs) * 12 * u32::from(symbols - OVERHEAD);
        Bytes((f64::from(elements) * self.efficiency(mcs) / 8.0) as u64)
    }
    fn coded_block(&self, mcs: Mcs, transport_block: Bytes, direction: Direction) -> CodedBlock {
        let modulation = self.modulation(mcs, direction);
        let code_rate = self.efficiency(mcs) / f64::from(modulation.bits_per_symbol());
        let bits = transport_block.get() * 8;
        let count = bits.div_ceil(CODE_BLOCK).max(1);
        let each = bits as f64 / count as f64;
        CodedBlock::of_code(CodeScheme { modulation, code_rate }, (count as u32, each.max(1.0)), Decibel(0.0))
    }
}

const SLOT: Duration = Duration::from_micros(500);

fn numerology() -> Numerology {
    Numerology {
        slot: SLOT,
        subcarrier_spacing_hz: 30_000,
        subcarriers_per_prb: 12,
        rbg: RbgLayout { sizes: &[(36, 2), (72, 4), (144, 8), (275, 16)] },
        pusch_sizes: PuschSizes::Any,
        harq: HarqTiming { processes: 16, feedback: 2, uplink: UplinkHarq::Asynchronous },
        duplex: Duplex::Tdd(TddPattern::new("DDDSU", 10, 2)),
    }
}

/// A carrier of 20 MHz in 50 PRBs (51 in TS 38.101-1) at 3.5 GHz.
fn make_tdd(cell: &mut CellConfig) {
    (cell.numerology, cell.tables, cell.resource_blocks) = (numerology(), Arc::new(Tables), 50);
    (cell.downlink_hz, cell.uplink_hz) = (3.5e9, 3.5e9);
    // A block is on the air in the slot after its assignment. Five slots after an acknowledgment, or after a block of
    // the uplink, the eNB can act on it.
    (cell.mac.downlink_latency, cell.mac.harq_round_trip, cell.mac.grant_to_pusch) = (2, 8, 2);
    cell.mac.uplink_round_trip = 8;
}

fn tdd(ues: usize) -> RanConfig {
    let mut config = network(ues, IDEAL);
    make_tdd(&mut config.cells[0]);
    config
}

/// The slot that ends at this time.
fn slot_before(at: Instant) -> u64 {
    assert_eq!(at.as_nanos() % SLOT.as_nanos(), 0, "{at} is no boundary of slots");
    at.as_nanos() / SLOT.as_nanos() - 1
}

/// More than the cell carries, for a second.
fn overload(d: &mut Driver, direction: Direction, us: u64) {
    for k in 0..1_000_000 / us {
        d.send(Instant::from_nanos(k * us * 1000), 0, direction, 1400);
    }
    d.conserved();
}

/// Goodput in Mbit/s from 200 ms on.
fn goodput_of(d: &Driver) -> f64 {
    let window = d.arrived.iter().filter(|(at, ..)| (200..1000).contains(&(at.as_nanos() / 1_000_000)));
    window.count() as f64 * 1400.0 * 8.0 / 0.8 / 1e6
}

#[test]
fn reports_are_of_slots_with_data() {
    let mut cell = tdd(1).cells.remove(0);
    // DDDSU: before slot 5 comes an uplink slot, and before that a special one.
    assert_eq!([3, 4, 5, 6, 9, 10].map(|slot| cell.data_slot_before(slot, true)), [2, 3, 3, 5, 8, 8]);
    assert_eq!([3, 4, 5, 6, 9, 10].map(|slot| cell.data_slot_before(slot, false)), [2, 2, 2, 5, 7, 7]);
    // Without subframes 0 to 8, slots 18 and 19 of a frame are left: a special slot and one of the uplink.
    cell.mac.blank_subframes = 0b1_1111_1111;
    assert_eq!([18, 19, 38].map(|slot| cell.data_slot_before(slot, true)), [17, 18, 18]);
    let mut lte = crate::tests::cell(IDEAL);
    assert_eq!([0, 1, 8].map(|slot| lte.data_slot_before(slot, false)), [0, 0, 7]);
    lte.mac.blank_subframes = 1 << 7 | 1 << 6;
    assert_eq!([7, 8, 9].map(|slot| lte.data_slot_before(slot, false)), [5, 5, 8]);
}

/// Blocks that were sent for the first time from 200 ms on, and those of them that failed, by UE.
fn first_blocks(d: &Driver, ues: usize) -> Vec<(u32, u32)> {
    let mut found = vec![(0, 0); ues];
    let late = |block: &&Block| block.attempt == 0 && block.at >= Instant::from_millis(200);
    for block in d.meter.downlink_blocks.iter().filter(late) {
        let (sent, failed) = &mut found[block.ue.index()];
        *sent += 1;
        *failed += u32::from(!block.decoded);
    }
    found
}

/// Two cells with five UEs each, whose reports are of different slots of the pattern. Every UE is nearer to its own cell by
/// a little, so that the other one is nearly as strong.
fn interfering(target_bler: f64) -> RanConfig {
    let mut config = tdd(10);
    config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler };
    config.cells[0].mac.cqi_period = 5;
    let other = CellConfig { position: Position::on_ground(500.0, 0.0), ..config.cells[0].clone() };
    config.cells.push(other);
    for (index, ue) in config.ues.iter_mut().enumerate() {
        let cell = index / 5;
        ue.cell = Some(CellId(cell as u32));
        ue.start = Start::At(Position::on_ground([180.0, 320.0][cell], 5.0 * index as f64));
    }
    config
}

#[test]
fn under_interference_first_blocks_fail_as_often_as_they_should() {
    let mut d = Driver::new(&interfering(0.1));
    for k in 0..40_000_u64 {
        d.send(Instant::from_nanos(k * 50_000), (k % 10) as u32, Direction::Downlink, 1400);
    }
    d.conserved();
    for (ue, (sent, failed)) in first_blocks(&d, 10).into_iter().enumerate() {
        // n failures of N first blocks move the offset by (N - n) / 18 - n / 2 steps. It stays between -27 and 3:
        // n is within 0.9 * 30 / 0.5 of N / 10.
        let excess = f64::from(failed) - 0.1 * f64::from(sent);
        assert!(sent > 300 && excess.abs() <= 54.0, "UE {ue}: {failed} of {sent}");
        assert!(f64::from(failed) < 0.2 * f64::from(sent), "UE {ue}: {failed} of {sent}");
    }
}

#[test]
fn nothing_is_on_the_air_in_blank_subframes() {
    let mut config = tdd(1);
    config.cells[0].mac.blank_subframes = !(1 << 1 | 1 << 6) & 0x3ff;
    let mut d = Driver::new(&config);
    overload(&mut d, Direction::Downlink, 500);
    // Their second slots, 3 and 13, are special ones.
    let slots: BTreeSet<_> = d.meter.downlink_blocks.iter().map(|b| slot_before(b.at) % 20).collect();
    assert_eq!(slots.into_iter().collect::<Vec<_>>(), [2, 3, 12, 13]);
}

#[test]
fn the_downlink_carries_what_the_pattern_and_the_blocks_allow() {
    let mut d = Driver::new(&tdd(1));
    overload(&mut d, Direction::Downlink, 150);
    // MCS 27 has 5.33 bits per symbol. 50 PRBs of 12 subcarriers over 12 symbols are 7200 resource elements: blocks of
    // 4797 bytes in three slots of 2.5 ms. A special slot has 8 symbols for data: 4800 elements, 3198 bytes. A PDU has
    // a header of 2 bytes and 1.5 bytes for each SDU of 1430 bytes but the last: with 4.4 and 3.2 SDUs, 7 and 5 bytes.
    let sdus = (3.0 * (4797.0 - 7.0) + (3198.0 - 5.0)) / 1430.0;
    let expected = sdus * 1400.0 * 8.0 / 2.5e-3 / 1e6;
    let found = goodput_of(&d);
    assert!((found / expected - 1.0).abs() < 0.003, "{found} against {expected} Mbit/s");
    // With eight processes a block would wait: one is busy for up to 12 slots, of which more than 8 carry blocks.
    assert!(d.meter.downlink_blocks.iter().any(|block| block.process >= 8));
    for block in &d.meter.downlink_blocks {
        let kind = numerology().duplex.kind(slot_before(block.at));
        assert!(matches!(kind, SlotKind::Downlink | SlotKind::Special { .. }), "{block:?} in {kind:?}");
    }
}

#[test]
fn the_uplink_carries_what_the_pattern_and_the_blocks_allow() {
    let mut d = Driver::new(&tdd(1));
    overload(&mut d, Direction::Uplink, 600);
    // One slot in five: 4797 bytes each 2.5 ms, as above.
    let expected = (4797.0 - 7.0) / 1430.0 * 1400.0 * 8.0 / 2.5e-3 / 1e6;
    let found = goodput_of(&d);
    assert!((found / expected - 1.0).abs() < 0.004, "{found} against {expected} Mbit/s");
    assert!(!d.meter.uplink_at.is_empty());
    for &at in &d.meter.uplink_at {
        assert_eq!(numerology().duplex.kind(slot_before(at)), SlotKind::Uplink);
    }
}

/// Retransmissions of a UE whose channel fades.
#[test]
fn feedback_waits_for_a_slot_with_an_uplink() {
    let mut config = tdd(1);
    config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
    config.ues[0].start = Start::At(Position::on_ground(1500.0, 0.0));
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 20.0, prb_spacing_hz: None });
    let mut d = Driver::new(&config);
    for k in 0..12_000_u64 {
        d.send(Instant::from_nanos(k * 250_000), 0, Direction::Downlink, 1400);
        d.send(Instant::from_nanos(k * 250_000), 0, Direction::Uplink, 200);
    }
    d.conserved();
    let blocks = &d.meter.downlink_blocks;
    let (mut failed, mut alone) = (0, 0);
    for (place, block) in blocks.iter().enumerate().filter(|(_, block)| !block.decoded && block.attempt < 3) {
        let again = blocks[place + 1..].iter().find(|other| other.process == block.process);
        let Some(again) = again.filter(|again| again.attempt == block.attempt + 1) else {
            assert!(block.at > Instant::from_millis(2980), "{block:?} is not repeated");
            continue;
        };
        let sent = slot_before(block.at);
        // In a period, the blocks of slots 0 to 2 are acknowledged in slot 4. That of slot 3 is acknowledged in slot
        // 4 of the next period, since two slots have to pass.
        let acknowledged = sent - sent % 5 + if sent % 5 == 3 { 9 } else { 4 };
        // Assigned five slots later at the earliest, on the air one slot after that.
        let earliest = acknowledged + 5 + 1;
        let sent_again = slot_before(again.at);
        assert!(sent_again >= earliest, "{block:?}, {again:?}");
        // A block of three symbols more does not fit into a special slot.
        let whole = |slot: u64| slot % 5 < 3 || (slot % 5 == 3 && sent % 5 == 3);
        let fits = (earliest..).find(|slot| whole(*slot)).unwrap();
        failed += 1;
        // Blocks that are repeated together may not fit into one slot.
        let others = blocks.iter().filter(|other| !other.decoded && other.process != block.process);
        if others.map(|other| slot_before(other.at).abs_diff(sent)).all(|apart| apart > 15) {
            alone += 1;
            assert_eq!(sent_again, fits, "{block:?}, {again:?}");
        }
    }
    println!("{failed} blocks failed, {alone} of them alone");
    assert!(failed > 100 && alone > 20, "{failed}, {alone}");
}

/// Scheduling requests are sent in slots with an uplink.
#[test]
fn a_request_waits_for_a_slot_with_an_uplink() {
    let mut config = tdd(1);
    config.cells[0].mac.uplink.access = sr(20);
    let mut d = Driver::new(&config);
    d.send(Instant::from_nanos(100_000), 0, Direction::Uplink, 50);
    d.run_to(Instant::from_millis(50));
    // The opportunities of this UE are in slots 0, 20, 40: requests are sent in slots 4, 24, 44. The one of slot 4 is
    // answered in slot 7 at the earliest; the grant for slot 9 has to be sent in slot 7. The block is received when
    // slot 10 begins.
    let [(at, ..)] = d.arrived[..] else { panic!("{:?}", d.arrived) };
    assert_eq!(at, Instant::ZERO + SLOT * 10);
}

/// A UE is handed over from an LTE cell to one with slots of 0.5 ms and back to LTE, while data flows.
#[test]
fn a_ue_moves_between_cells_of_different_numerologies() {
    let mut config = road(1);
    make_tdd(&mut config.cells[1]);
    config.cells[1].tx_power = config.cells[1].tx_power + Decibel(6.0); // for the higher carrier
    config.ues[0] = driver(20.0);
    let mut world = World::new(&config);
    let to = (UeId(0), FlowId(0));
    let mut serving = vec![world.ran.serving_cell(UeId(0))];
    let mut sent = [0_u32; 2];
    for step in 0..14_000_u64 {
        let now = Instant::ZERO + Duration::from_micros(250) * step;
        for (direction, every) in [(Direction::Downlink, 2), (Direction::Uplink, 5)] {
            if step % every == 0 {
                world.send(now, to, direction);
                sent[direction as usize] += 1;
            }
        }
        let cell = world.ran.serving_cell(UeId(0));
        if serving.last() != Some(&cell) {
            serving.push(cell);
        }
        world.conserved();
    }
    world.run_to(Instant::from_millis(6000));
    world.conserved();
    assert_eq!(serving, [0, 1, 2].map(CellId));
    // Lossless: all of them, once, in order.
    for (direction, port) in [(Direction::Downlink, world.ran.ue_port(0)), (Direction::Uplink, 2)] {
        let is_up = direction == Direction::Uplink;
        let of: Vec<_> = world.arrived.iter().filter(|a| (a.port < 3) == is_up).map(|a| a.sent_at).collect();
        assert_eq!(of.len() as u32, sent[direction as usize], "{direction:?} to {port}");
        assert!(of.windows(2).all(|pair| pair[0] < pair[1]), "{direction:?} in order");
    }
    // In the middle cell, packets arrive at the ends of its slots, between those of the others.
    let between = world.arrived.iter().filter(|a| a.at.as_nanos() % 1_000_000 == 500_000).count();
    assert!(between > 500, "{between} packets arrived in the middle of a millisecond");
}
