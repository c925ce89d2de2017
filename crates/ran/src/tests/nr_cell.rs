//! A cell of NR: the times of feedback, requests and configured grants by hand.

use std::collections::BTreeSet;

use airlane_core::{Direction, Duration, FlowId, Instant};
use airlane_radio::Profile;
use airlane_radio::nr::{LinkSettings, NrTables};

use super::*;
use crate::numerology::{Duplex, Numerology, TddPattern};

/// 100 MHz at 3.5 GHz, slots of 0.5 ms; k0 = 0, k1 = 2, k2 = 1, and two slots for the gNB.
pub(super) fn nr(access: UplinkAccess, ues: usize) -> RanConfig {
    let mut config = network(ues, access);
    let cell = &mut config.cells[0];
    cell.numerology = Numerology::nr(1, 2, Duplex::Tdd(TddPattern::new("DDDSU", 10, 2)));
    cell.tables = Arc::new(NrTables::new(LinkSettings::FR1));
    (cell.resource_blocks, cell.downlink_hz, cell.uplink_hz) = (273, 3.5e9, 3.5e9);
    (cell.mac.downlink_latency, cell.mac.grant_to_pusch) = (1, 1);
    (cell.mac.harq_round_trip, cell.mac.uplink_round_trip) = (4, 3);
    config
}

fn arrivals(d: &Driver) -> Vec<Instant> {
    d.arrived.iter().map(|(at, ..)| *at).collect()
}

/// The start of a slot.
fn slot(number: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(500) * number
}

/// Slots 0 to 2 are D, 3 is S, 4 is U. A packet that arrives in a slot is sent in the next one with a downlink, and has
/// arrived when that slot is over.
#[test]
fn a_packet_of_the_downlink_is_sent_in_the_next_slot_with_a_downlink() {
    for (arrives_in, sent_in) in [(0, 1), (1, 2), (2, 3), (3, 5), (4, 5)] {
        let mut d = Driver::new(&nr(IDEAL, 1));
        d.send(slot(10 + arrives_in) + Duration::from_micros(100), 0, Direction::Downlink, 1000);
        d.run_to(Instant::from_millis(100));
        assert_eq!(arrivals(&d), [slot(10 + sent_in + 1)]);
        d.conserved();
    }
}

/// A cell with this k0.
fn with_k0(k0: u32) -> RanConfig {
    let mut config = nr(IDEAL, 1);
    let mac = &mut config.cells[0].mac;
    (mac.downlink_latency, mac.assigned_ahead, mac.harq_round_trip) = (k0 + 1, true, k0 + 4);
    config
}

/// With k0 = 1 an assignment is sent at least one slot before its block: for slot 0 of the next period in slot 3, the
/// last one with a downlink, and none in slot 4.
#[test]
fn an_assignment_is_sent_in_a_slot_with_a_downlink() {
    for (arrives_in, sent_in) in [(0, 2), (1, 3), (2, 5), (3, 6), (4, 6)] {
        let mut d = Driver::new(&with_k0(1));
        d.send(slot(10 + arrives_in) + Duration::from_micros(100), 0, Direction::Downlink, 1000);
        d.run_to(Instant::from_millis(100));
        assert_eq!(arrivals(&d), [slot(10 + sent_in + 1)], "arrives in slot {arrives_in}");
        d.conserved();
    }
}

/// A slot may have assignments for several later ones: none of the downlink stays empty.
#[test]
fn every_slot_of_the_downlink_is_used_with_any_k0() {
    for k0 in 0..=7 {
        let mut d = Driver::new(&with_k0(k0));
        for k in 0..20_000_u64 {
            d.send(Instant::from_nanos(k * 10_000), 0, Direction::Downlink, 1400);
        }
        d.conserved();
        let mut used = d.meter.downlink_blocks.iter().map(|block| block.at.as_nanos() / 500_000 - 1);
        let first = used.next().unwrap();
        let last = d.meter.downlink_blocks.last().unwrap().at.as_nanos() / 500_000 - 1;
        let wanted = (first..=last).filter(|slot| slot % 5 != 4);
        let used: BTreeSet<_> = used.chain([first]).collect();
        assert_eq!(used.into_iter().collect::<Vec<_>>(), wanted.collect::<Vec<_>>(), "k0 = {k0}");
    }
}

/// UE 0 has opportunities in slots 0, 10, 20; those slots have no uplink, so it asks in slots 4, 14 and 24. The gNB
/// knows of the request two slots later, and the grant for slot 9 is sent in slot 8, one slot ahead.
#[test]
fn a_request_is_answered_in_the_next_slot_with_an_uplink() {
    let sr = |processing| UplinkAccess::SchedulingRequest {
        period: 10,
        processing,
        initial_grant: Bytes(100),
        limit: None,
    };
    for (processing, received) in [(2, 10), (4, 10), (5, 15)] {
        let mut d = Driver::new(&nr(sr(processing), 1));
        d.send(slot(0) + Duration::from_micros(100), 0, Direction::Uplink, 50);
        d.run_to(Instant::from_millis(100));
        assert_eq!(arrivals(&d), [slot(received)], "{processing} slots of processing");
        d.conserved();
    }
    // The grant of a request holds 100 bytes; the report in it asks for the rest. It is received when slot 10 begins,
    // and the next grant is sent in slot 13 for slot 14.
    let mut d = Driver::new(&nr(sr(2), 1));
    d.send(slot(0) + Duration::from_micros(100), 0, Direction::Uplink, 1400);
    d.run_to(Instant::from_millis(100));
    assert_eq!(arrivals(&d), [slot(15)]);
}

/// With configured grants there is no request: a packet is sent in the next occasion. UE 0 has one in slots 4, 14, 24;
/// UE 1 takes the next ones with an uplink, 9, 19 and 29.
#[test]
fn a_configured_grant_needs_no_request() {
    let grant = UplinkAccess::ConfiguredGrant { period: 10, offset: 4, size: Bytes(100), mcs: Mcs::new(4) };
    for (ue, arrives_in, sent_in) in [(0, 0, 4), (0, 3, 4), (0, 4, 14), (1, 0, 9), (1, 8, 9), (1, 9, 19)] {
        let mut d = Driver::new(&nr(grant, 2));
        d.send(slot(arrives_in) + Duration::from_micros(100), ue, Direction::Uplink, 50);
        d.run_to(Instant::from_millis(100));
        assert_eq!(arrivals(&d), [slot(sent_in + 1)], "UE {ue} in slot {arrives_in}");
        d.conserved();
    }
    // The report in the block of slot 4, received in slot 5, gets a dynamic grant for the rest in slot 9.
    let mut d = Driver::new(&nr(grant, 1));
    d.send(slot(0) + Duration::from_micros(100), 0, Direction::Uplink, 1400);
    d.run_to(Instant::from_millis(100));
    assert_eq!(arrivals(&d), [slot(10)]);
    d.conserved();
}

/// The resource blocks of occasions are not granted to others, and the uplink is never oversold.
#[test]
fn occasions_and_grants_share_the_band() {
    let grant = UplinkAccess::ConfiguredGrant { period: 5, offset: 0, size: Bytes(300), mcs: Mcs::new(4) };
    let mut d = Driver::new(&nr(grant, 12));
    for k in 0..2000_u64 {
        for ue in 0..12 {
            d.send(Instant::from_nanos(k * 250_000), ue, Direction::Uplink, 200 + 100 * ue);
        }
    }
    d.conserved();
    // 300 bytes at MCS 4 need 16 PRBs: twelve occasions in each slot with an uplink reserve 192 of 273. Those of the up to
    // eight UEs with grants on the other 81 stay empty.
    assert!((150..=273).contains(&d.meter.uplink_most), "{}", d.meter.uplink_most);
    // Each UE has at least the bytes of its occasions: 300 in each of 200 slots with an uplink, less a fifth for headers
    // and for packets of which the last part has not been sent.
    for ue in 0..12 {
        let packets = d.arrived.iter().filter(|arrived| arrived.3 == FlowId(ue)).count() as u32;
        assert!(packets * (200 + 100 * ue) >= 200 * 300 * 4 / 5, "UE {ue}: {packets} packets");
    }
}

/// Feedback of the downlink with k1 = 2: blocks of slots 0 to 2 of a period are acknowledged in its slot 4, those of
/// slot 3 in slot 4 of the next period. The gNB sends again two slots later, in the next slot with enough symbols.
#[test]
fn a_block_is_sent_again_after_its_feedback() {
    let mut config = nr(IDEAL, 1);
    config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
    config.ues[0].start = Start::At(Position::on_ground(2500.0, 0.0));
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 20.0, prb_spacing_hz: None });
    let mut d = Driver::new(&config);
    for k in 0..6000_u64 {
        d.send(Instant::from_nanos(k * 500_000), 0, Direction::Downlink, 1000);
    }
    d.conserved();
    let (blocks, mut failed) = (&d.meter.downlink_blocks, 0);
    let sent_in = |block: &Block| (block.at.as_nanos() / 500_000) - 1;
    for (place, block) in blocks.iter().enumerate().filter(|(_, block)| !block.decoded && block.attempt < 3) {
        let again = blocks[place + 1..].iter().find(|other| other.process == block.process);
        let Some(again) = again.filter(|again| again.attempt == block.attempt + 1) else { continue };
        let sent = sent_in(block);
        let acknowledged = sent - sent % 5 + if sent % 5 == 3 { 9 } else { 4 };
        let whole = |slot: u64| slot % 5 < 3 || (slot % 5 == 3 && sent % 5 == 3);
        let earliest = (acknowledged + 2..).find(|slot| whole(*slot)).unwrap();
        assert!(sent_in(again) >= earliest, "{block:?}, {again:?}");
        failed += u32::from(sent_in(again) == earliest);
    }
    assert!(failed > 50, "{failed} were sent again as early as possible");
}
