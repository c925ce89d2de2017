//! UEs that send to several cells.

use super::carriers::{ALWAYS, ON_DEMAND, PCELL, SCELL, carriers, in_order, with_uplink};
use super::*;
use crate::numerology::{Duplex, Numerology};

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Packets of 1000 bytes to send each millisecond, this many, from 100 ms on.
fn load(d: &mut Driver, packets: u32, milliseconds: u64) {
    for at in 0..milliseconds {
        (0..packets).for_each(|_| d.send(ms(100 + at), 0, Direction::Uplink, 1000));
    }
}

/// Bytes in decoded blocks of a cell from 400 ms to 1400 ms.
fn carried(d: &Driver, cell: CellId) -> u64 {
    let window = d.meter.uplink_blocks.iter().filter(|block| (ms(400)..ms(1400)).contains(&block.at));
    window.filter(|block| block.cell == cell && block.decoded).map(|block| block.bytes).sum()
}

fn blocks_of(d: &Driver, cell: CellId) -> impl Iterator<Item = Instant> {
    d.meter.uplink_blocks.iter().filter(move |block| block.cell == cell).map(|block| block.at)
}

/// The UE at this distance.
fn at(distance_m: f64, mut config: RanConfig) -> RanConfig {
    config.ues[0].start = Start::At(Position::on_ground(distance_m, 0.0));
    config
}

/// Bytes that each cell of a saturated UE carries.
fn saturated(config: &RanConfig) -> [u64; 2] {
    let mut d = Driver::new(config);
    load(&mut d, 20, 1300);
    d.run_to(ms(1400));
    in_order(&d);
    d.conserved();
    [PCELL, SCELL].map(|cell| carried(&d, cell))
}

/// Near its cells, each carrier has the blocks of a cell of its own: 100 and 50 resource blocks.
#[test]
fn uplink_carriers_add_up() {
    let alone = |prbs: u16| {
        let mut config = with_uplink(carriers(&[prbs], ALWAYS));
        config.ues[0].aggregation = None;
        saturated(&config)[0]
    };
    let both = saturated(&with_uplink(carriers(&[100, 50], ALWAYS)));
    // Power headroom reports are in other blocks.
    for (ours, alone) in both.into_iter().zip([alone(100), alone(50)]) {
        assert!((ours as f64 / alone as f64 - 1.0).abs() < 1e-3, "{ours} and {alone}");
    }
}

/// Without an uplink of its own, an SCell has no block of the uplink.
#[test]
fn a_cell_that_is_not_named_receives_nothing() {
    let mut config = with_uplink(carriers(&[50, 50, 50], ALWAYS));
    let last = SecondaryCells::from([(PCELL, vec![CellId(2)])]);
    config.ues[0].aggregation.as_mut().unwrap().uplink = Arc::new(last);
    let mut d = Driver::new(&config);
    load(&mut d, 20, 300);
    d.run_to(ms(500));
    assert_eq!([0, 1, 2].map(|cell| blocks_of(&d, CellId(cell)).count() > 200), [true, false, true]);
    d.conserved();
}

/// The bytes of a burst are granted once, however many carriers there are: the buffer status reaches the eNB in the slot
/// after the first packets, and what the grants of both cells have in excess is less than a block of each.
#[test]
fn cells_share_one_buffer_status() {
    for prbs in [[6, 6], [25, 6], [50, 100]] {
        let mut config = with_uplink(carriers(&prbs, ALWAYS));
        config.cells[0].mac.uplink.access = sr(10);
        let mut d = Driver::new(&config);
        load(&mut d, 60, 1);
        d.run_to(ms(1000));
        assert_eq!(d.arrived.len(), 60);
        let bytes: u64 =
            d.meter.uplink_blocks.iter().filter(|one| one.attempt == 0).map(|one| one.bytes).sum();
        println!("{prbs:?}: {bytes} bytes, {} blocks", d.meter.uplink_blocks.len());
        assert!((60_000..60_000 + 9_000).contains(&bytes), "{prbs:?}: {bytes}");
        d.conserved();
    }
}

/// With data for the uplink alone, the command is in a block without data; and the timer of the SCell restarts with grants.
#[test]
fn the_uplink_activates_an_scell_and_keeps_it_active() {
    let mut d = Driver::new(&with_uplink(carriers(&[25, 25], ON_DEMAND)));
    load(&mut d, 20, 300);
    d.run_to(ms(3000));
    let steps: Vec<_> = d.meter.carriers.iter().map(|(_, _, step, _)| *step).collect();
    assert_eq!(steps, [CarrierStep::Commanded, CarrierStep::Activated, CarrierStep::Deactivated]);
    let [commanded, activated, left] = [0, 1, 2].map(|step| d.meter.carriers[step].0);
    // The block of the command is on the air two slots after its decision.
    assert_eq!(activated, commanded + Duration::from_millis(26));
    let first = blocks_of(&d, SCELL).next().unwrap();
    let last = blocks_of(&d, SCELL).last().unwrap();
    println!("commanded {commanded}, activated {activated}, blocks {first} to {last}, left {left}");
    assert!((5..=7).contains(&(first - activated).as_millis()), "{first} after {activated}");
    // A grant is four slots ahead of its block, which is received one slot later.
    let of_timer = Duration::from_millis(80 - 5);
    assert!(left >= last + of_timer && left <= last + of_timer + Duration::from_millis(30), "{left}, {last}");
    in_order(&d);
    d.conserved();
}

/// In acknowledged mode nothing is lost where blocks fail, and carriers come and go with blocks on the air; and there is no
/// more than one copy.
#[test]
fn every_packet_that_is_sent_arrives_once() {
    for access in [IDEAL, sr(5)] {
        let mut config = at(3_000.0, with_uplink(carriers(&[50, 25, 6], ON_DEMAND)));
        config.channel.fading =
            Some(FadingConfig { profile: Profile::Eva, speed_mps: 16.7, prb_spacing_hz: None });
        config.ues[0].aggregation.as_mut().unwrap().activation.deactivation_timer =
            Some(Duration::from_millis(20));
        for cell in &mut config.cells {
            cell.mac.uplink.access = access;
            cell.mac.control_errors = true;
            cell.bearer = BearerConfig { buffer: Bytes(1 << 20), ..bearers::lena(RlcMode::Am) };
        }
        let mut d = Driver::new(&config);
        for burst in 0..40 {
            (0..90).for_each(|_| d.send(ms(100 + 150 * burst), 0, Direction::Uplink, 1000));
        }
        d.run_to(ms(30_000));
        let failed = d.meter.uplink_blocks.iter().filter(|block| !block.decoded).count();
        let activated = |one: &&(_, _, CarrierStep, _)| one.2 == CarrierStep::Activated;
        let activations = d.meter.carriers.iter().filter(activated).count();
        println!("{failed} blocks failed, {activations} activations");
        assert!(failed > 20 && activations > 20, "{failed} {activations}");
        assert_eq!(d.arrived.len(), 40 * 90);
        in_order(&d);
        d.conserved();
    }
}

/// From near to far, two carriers carry up to twice as much as the primary one, and not less than it; where that needs all
/// power, as much. The numbers of the cells do not matter, although the lower one decides first.
#[test]
fn carriers_share_the_power() {
    let distances_m = [100.0, 1_500.0, 2_000.0, 2_500.0, 3_000.0, 8_000.0, 20_000.0, 40_000.0, 80_000.0];
    for primary in [PCELL, SCELL] {
        let mut last = f64::INFINITY;
        for distance_m in distances_m {
            let mut config = at(distance_m, with_uplink(carriers(&[50, 50], ALWAYS)));
            let other = if primary == PCELL { SCELL } else { PCELL };
            let aggregation = config.ues[0].aggregation.as_mut().unwrap();
            aggregation.secondary = Arc::new(SecondaryCells::from([(primary, vec![other])]));
            aggregation.uplink = Arc::clone(&aggregation.secondary);
            config.ues[0].cell = Some(primary);
            let both = saturated(&config);
            config.ues[0].aggregation = None;
            let one = saturated(&config).iter().sum::<u64>() as f64;
            let ratio = both.iter().sum::<u64>() as f64 / one;
            println!(
                "{distance_m} m, primary {primary:?}: {one} bytes, {both:?} are {ratio:.3} times as many"
            );
            assert!((0.98..=2.01).contains(&ratio) && ratio < last + 0.02, "{distance_m} m: {ratio}");
            last = ratio;
        }
        assert!(last < 1.01, "{last}");
    }
}

/// The same in NR, with a wide and a narrow carrier, of which the latter has other slots.
#[test]
fn carriers_of_other_slots_share_the_power() {
    for (distance_m, has_power) in [(100.0, true), (3_000.0, true), (10_000.0, true), (60_000.0, false)] {
        let cells = |prbs: &[u16]| {
            let mut config = with_uplink(carriers(prbs, ALWAYS));
            config.cells.iter_mut().for_each(|cell| power::nr(cell, cell.resource_blocks));
            if let Some(narrow) = config.cells.get_mut(1) {
                narrow.numerology = Numerology::nr(0, 2, Duplex::Fdd);
            }
            at(distance_m, config)
        };
        let mut one = cells(&[100]);
        one.ues[0].aggregation = None;
        let [one, _] = saturated(&one);
        let [primary, secondary] = saturated(&cells(&[100, 25]));
        println!("{distance_m} m: {one} bytes, or {primary} and {secondary}");
        assert!(primary as f64 > 0.97 * one as f64, "{distance_m} m: {primary} of {one}");
        assert_eq!(secondary > 0, has_power, "{distance_m} m");
    }
}

/// The radio of an SCell fails, and then that of the PCell: what was granted is granted again.
#[test]
fn without_one_cell_a_ue_sends_to_the_other() {
    let mut config = with_uplink(carriers(&[25, 25], ALWAYS));
    let outage = |at: u64| {
        vec![ServiceChange { at: ms(at), duration: Duration::from_millis(100), kind: ServiceKind::Outage }]
    };
    (config.cells[1].service, config.cells[0].service) = (outage(300), outage(600));
    for cell in &mut config.cells {
        cell.bearer = BearerConfig { buffer: Bytes(1 << 22), ..bearers::lena(RlcMode::Am) };
    }
    let mut d = Driver::new(&config);
    load(&mut d, 2, 800);
    d.run_to(ms(4000));
    let during = |from: u64| (ms(from + 2)..ms(from + 100), [PCELL, SCELL]);
    let count = |(time, cells): (core::ops::Range<Instant>, [CellId; 2])| {
        cells.map(|cell| blocks_of(&d, cell).filter(|at| time.contains(at)).count())
    };
    let (without_scell, without_pcell) = (count(during(300)), count(during(600)));
    assert!(without_scell[0] > 90 && without_scell[1] == 0, "{without_scell:?}");
    assert_eq!(without_pcell, [0, 0]);
    assert_eq!(d.arrived.len(), 1600);
    d.conserved();
}
