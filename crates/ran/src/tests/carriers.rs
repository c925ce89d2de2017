//! UEs with several carriers: by hand, and against a UE with one carrier.

use super::*;
use crate::numerology::{Duplex, TddPattern};

pub(super) const PCELL: CellId = CellId(0);
pub(super) const SCELL: CellId = CellId(1);
pub(super) const ALWAYS: ActivationPolicy = ActivationPolicy {
    starts_active: true,
    threshold: Bytes(0),
    deactivation_timer: None,
    delay: ActivationDelay::Lte(Duration::from_millis(24)),
};
pub(super) const ON_DEMAND: ActivationPolicy = ActivationPolicy {
    starts_active: false,
    threshold: Bytes(9_000),
    deactivation_timer: Some(Duration::from_millis(80)),
    ..ALWAYS
};

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// One UE with these carriers of LTE, each with this many resource blocks.
pub(super) fn carriers(resource_blocks: &[u16], activation: ActivationPolicy) -> RanConfig {
    let mut config = network(1, IDEAL);
    let cell = |(at, &resource_blocks): (usize, &u16)| CellConfig {
        resource_blocks,
        downlink_hz: 2120e6 + 20e6 * at as f64,
        uplink_hz: 1930e6 + 20e6 * at as f64,
        ..config.cells[0].clone()
    };
    config.cells = resource_blocks.iter().enumerate().map(cell).collect();
    let secondary = (1..resource_blocks.len() as u32).map(CellId).collect();
    let secondary = Arc::new(SecondaryCells::from([(PCELL, secondary)]));
    config.ues[0].aggregation =
        Some(CarrierAggregation { secondary, uplink: Arc::default(), activation, events: None });
    config
}

/// Packets of 1000 bytes each millisecond, this many, from 100 ms on.
pub(super) fn load(d: &mut Driver, packets: u32, milliseconds: u64) {
    for at in 0..milliseconds {
        (0..packets).for_each(|_| d.send(ms(100 + at), 0, Direction::Downlink, 1000));
    }
}

/// Bytes in blocks of a cell from 400 ms to 1400 ms.
fn carried(d: &Driver, cell: CellId) -> u64 {
    let window = d.meter.downlink_cells.iter().filter(|(at, ..)| (ms(400)..ms(1400)).contains(at));
    window.filter(|(_, of, _)| *of == cell).map(|(.., bytes)| bytes.get()).sum()
}

/// The UE sends to all carriers, whose cells adapt to its power.
pub(super) fn with_uplink(mut config: RanConfig) -> RanConfig {
    config.cells.iter_mut().for_each(power::adapt);
    let aggregation = config.ues[0].aggregation.as_mut().unwrap();
    aggregation.uplink = Arc::clone(&aggregation.secondary);
    config
}

pub(super) fn in_order(d: &Driver) {
    let sent = d.arrived.iter().map(|(at, _, delay, _)| (at.as_secs_f64() * 1e3 - delay).round());
    assert!(sent.is_sorted(), "packets have overtaken each other");
}

/// Each carrier has the blocks of a cell of its own: 100 and 50 resource blocks.
#[test]
fn carriers_add_up() {
    let alone = |prbs: u16| {
        let mut config = carriers(&[prbs], ALWAYS);
        config.ues[0].aggregation = None;
        let mut d = Driver::new(&config);
        load(&mut d, 20, 1300);
        d.run_to(ms(1400));
        carried(&d, PCELL)
    };
    let mut d = Driver::new(&carriers(&[100, 50], ALWAYS));
    load(&mut d, 20, 1300);
    d.run_to(ms(1400));
    assert_eq!([carried(&d, PCELL), carried(&d, SCELL)], [alone(100), alone(50)]);
    assert!(d.meter.carriers.is_empty());
    in_order(&d);
    d.conserved();
}

/// 20 kB arrive at 100 ms, of which the first slot sees one packet. The block of the next one has the command. It is on
/// the air two slots later, in subframe 103, and the SCell is in use at 103 + 24 ms. A block has been received three slots
/// after its decision. The timer has 80 ms from the last one on.
#[test]
fn an_scell_is_activated_and_deactivated_in_time() {
    let mut d = Driver::new(&carriers(&[25, 25], ON_DEMAND));
    load(&mut d, 20, 100);
    d.run_to(ms(2000));
    let blocks = |cell: CellId| d.meter.downlink_cells.iter().filter(move |(_, of, _)| *of == cell);
    assert_eq!(blocks(PCELL).next().map(|(at, ..)| *at), Some(ms(103)));
    assert_eq!(blocks(SCELL).next().map(|(at, ..)| *at), Some(ms(127 + 3)));
    let last = blocks(SCELL).next_back().map_or(Instant::ZERO, |(at, ..)| *at);
    let expiry = last - Duration::from_millis(3) + Duration::from_millis(80);
    let steps = [
        (ms(101), CarrierStep::Commanded),
        (ms(127), CarrierStep::Activated),
        (expiry, CarrierStep::Deactivated),
    ];
    let expected = steps.map(|(at, step)| (at, SCELL, step, 1 + u32::from(step == CarrierStep::Activated)));
    assert_eq!(d.meter.carriers, expected);
    in_order(&d);
    d.conserved();
}

/// Below the threshold, nothing happens; nor does the UE listen to the SCell.
#[test]
fn a_short_queue_activates_nothing() {
    let mut d = Driver::new(&carriers(&[25, 25], ON_DEMAND));
    for at in 0..1000 {
        d.send(ms(100 + at), 0, Direction::Downlink, 1000);
    }
    d.run_to(ms(2000));
    assert!(d.meter.carriers.is_empty() && d.meter.downlink_cells.iter().all(|(_, cell, _)| *cell == PCELL));
    assert_eq!(d.arrived.len(), 1000);
    d.conserved();
}

/// A command whose block is given up is repeated in another block.
#[test]
fn a_lost_command_is_repeated() {
    let mut config = carriers(&[25, 25], ON_DEMAND);
    // At this distance no block of MCS 28 decodes; without HARQ each block is sent once.
    config.cells[0].mac.harq = false;
    config.ues[0].fixed_mcs = Some(Mcs::new(28));
    config.ues[0].start = Start::At(Position::on_ground(20_000.0, 0.0));
    let mut d = Driver::new(&config);
    load(&mut d, 20, 30);
    d.run_to(ms(500));
    let commands = d.meter.carriers.iter().filter(|(.., step, _)| *step == CarrierStep::Commanded);
    assert!(
        commands.count() > 5 && d.meter.carriers.iter().all(|(.., step, _)| *step == CarrierStep::Commanded)
    );
    d.conserved();
}

/// In acknowledged mode nothing is lost where blocks fail and carriers come and go; and there is no more than one copy.
#[test]
fn every_packet_arrives_once_over_carriers_that_fade() {
    let mut config = carriers(&[50, 25, 6], ON_DEMAND);
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 16.7, prb_spacing_hz: None });
    config.ues[0].start = Start::At(Position::on_ground(3_000.0, 0.0));
    for cell in &mut config.cells {
        cell.bearer = BearerConfig { buffer: Bytes(1 << 20), ..bearers::lena(RlcMode::Am) };
    }
    let mut d = Driver::new(&config);
    let mut sent = 0;
    for burst in 0..20 {
        for _ in 0..60 {
            d.send(ms(100 + 200 * burst), 0, Direction::Downlink, 1000);
            sent += 1;
        }
    }
    d.run_to(ms(20_000));
    let failed = d.meter.downlink_blocks.iter().filter(|block| !block.decoded).count();
    let activations = d.meter.carriers.iter().filter(|(.., step, _)| *step == CarrierStep::Activated).count();
    assert!(failed > 20 && activations > 10, "{failed} {activations}");
    assert_eq!(d.arrived.len(), sent);
    in_order(&d);
    d.conserved();
}

/// The SCells of a UE are left when the radio of its PCell is switched off, and are activated again when it is on.
#[test]
fn without_its_primary_cell_a_ue_has_no_carrier() {
    let mut config = carriers(&[25, 25], ALWAYS);
    let (at, duration) = (ms(300), Duration::from_millis(100));
    config.cells[0].service = vec![ServiceChange { at, duration, kind: ServiceKind::Outage }];
    let mut d = Driver::new(&config);
    load(&mut d, 5, 600);
    d.run_to(ms(3000));
    let during = d.meter.downlink_cells.iter().filter(|(at, ..)| (ms(300)..ms(403)).contains(at));
    assert_eq!(during.count(), 0);
    let steps: Vec<_> = d.meter.carriers.iter().map(|(_, _, step, _)| *step).collect();
    assert_eq!(steps, [CarrierStep::Deactivated, CarrierStep::Commanded, CarrierStep::Activated]);
    d.conserved();
}

/// The PCell continues while the radio of the SCell is off.
#[test]
fn without_a_secondary_cell_a_ue_has_the_primary_one() {
    let mut config = carriers(&[25, 25], ALWAYS);
    let (at, duration) = (ms(300), Duration::from_millis(100));
    config.cells[1].service = vec![ServiceChange { at, duration, kind: ServiceKind::Outage }];
    let mut d = Driver::new(&config);
    load(&mut d, 5, 600);
    d.run_to(ms(3000));
    let during = || d.meter.downlink_cells.iter().filter(|(at, ..)| (ms(303)..ms(400)).contains(at));
    assert!(during().count() > 90 && during().all(|(_, cell, _)| *cell == PCELL));
    d.conserved();
}

/// The SCell of a UE that is removed is left at that time, and not when its timer would expire.
#[test]
fn a_removed_ue_leaves_its_carriers() {
    let mut d = Driver::new(&carriers(&[25, 25], ON_DEMAND));
    load(&mut d, 20, 50);
    d.run_to(ms(150));
    d.call(ms(150), |ran, cx| ran.remove_ue(cx, UeId(0)));
    d.run_to(ms(1000));
    let [commanded, activated] = [(ms(101), CarrierStep::Commanded, 1), (ms(127), CarrierStep::Activated, 2)];
    let expected = [commanded, activated, (ms(150), CarrierStep::Deactivated, 1)];
    assert_eq!(d.meter.carriers, expected.map(|(at, step, active)| (at, SCELL, step, active)));
}

/// NR at 30 kHz, DDDSU, k1 = 2, and 20 ms between bursts of synchronization signals. The command is in slot 201
/// at 100.5 ms, and acknowledged in the next slot with an uplink at least two slots later, 204, which ends at 102.5 ms; the
/// UE has processed it at 105.5 ms. The next burst is from 120 to 125 ms, and the UE measures from 130 ms on: in slot
/// 260, with a period of two slots, and the report is in use four slots later, at 132 ms. That is a slot of the uplink; the
/// first block is sent in the next one, and has been received at 133 ms.
#[test]
fn an_activation_of_nr_waits_for_synchronization_signals() {
    let policy = ActivationPolicy {
        delay: ActivationDelay::Nr { ssb_period: Duration::from_millis(20) },
        ..ON_DEMAND
    };
    let mut config = carriers(&[51, 51], policy);
    for (at, cell) in config.cells.iter_mut().enumerate() {
        cell.numerology = Numerology::nr(1, 2, Duplex::Tdd(TddPattern::new("DDDSU", 10, 2)));
        (cell.downlink_hz, cell.uplink_hz) = (3.5e9 + 2e7 * at as f64, 3.5e9 + 2e7 * at as f64);
        cell.tables = Arc::new(airlane_radio::nr::NrTables::new(airlane_radio::nr::LinkSettings::FR1));
        (cell.mac.downlink_latency, cell.mac.grant_to_pusch) = (1, 1);
        (cell.mac.harq_round_trip, cell.mac.uplink_round_trip) = (4, 3);
    }
    let mut d = Driver::new(&config);
    load(&mut d, 40, 100);
    d.run_to(ms(500));
    let steps: Vec<_> = d.meter.carriers.iter().map(|&(at, _, step, _)| (at, step)).take(2).collect();
    assert_eq!(
        steps,
        [(ms(100) + Duration::from_micros(500), CarrierStep::Commanded), (ms(132), CarrierStep::Activated)]
    );
    let first = d.meter.downlink_cells.iter().find(|(_, cell, _)| *cell == SCELL).map(|(at, ..)| *at);
    assert_eq!(first, Some(ms(133)));
    d.conserved();
}
