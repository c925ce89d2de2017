//! UEs with several carriers that sleep.

use super::carriers::{ALWAYS, ON_DEMAND, PCELL, SCELL, carriers, in_order};
use super::sleep::{connection, drx};
use super::*;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// Two carriers of a UE with DRX.
fn sleeping(activation: ActivationPolicy) -> RanConfig {
    let mut config = carriers(&[25, 25], activation);
    for cell in &mut config.cells {
        cell.drx = Some(drx());
    }
    config
}

/// When the first block of each cell was received from a time on.
fn first_blocks(d: &Driver, from: Instant) -> [Option<Instant>; 2] {
    [PCELL, SCELL].map(|cell| {
        d.meter.downlink_cells.iter().find(|(at, of, _)| *of == cell && *at >= from).map(|(at, ..)| *at)
    })
}

/// 30 kB each second, which is another phase of the cycle of 320 ms. A block of 25 resource blocks has some 2.3 kB, so that
/// both cells send in the first slot of the Active Time, which is one.
#[test]
fn both_cells_wait_for_one_active_time() {
    let mut d = Driver::new(&sleeping(ALWAYS));
    let mut waited = 0;
    for second in 1..100 {
        let at = ms(second * 1_000);
        (0..30).for_each(|_| d.send(at, 0, Direction::Downlink, 1_000));
        d.run_to(at + Duration::from_millis(900));
        let [primary, secondary] = first_blocks(&d, at);
        let first = primary.expect("a block within a cycle");
        assert_eq!(secondary, Some(first), "second {second}");
        assert!(first < at + Duration::from_millis(320), "{first}");
        waited += u32::from(first > at + Duration::from_millis(10));
    }
    // The on-duration has 10 ms of 320 ms.
    assert!((85..=99).contains(&waited), "{waited} of 99 waited");
    assert!(d.meter.carriers.is_empty());
    in_order(&d);
    d.conserved();
}

/// Blocks of both cells fail, with the same numbers of processes: each is repeated in its own time, although the UE sleeps
/// whenever it can, and its SCells come and go.
#[test]
fn every_packet_arrives_once_at_a_ue_that_sleeps_between_its_blocks() {
    for command in [false, true] {
        let mut config = carriers(&[50, 25, 6], ON_DEMAND);
        config.channel.fading =
            Some(FadingConfig { profile: Profile::Eva, speed_mps: 16.7, prb_spacing_hz: None });
        config.ues[0].start = Start::At(Position::on_ground(3_000.0, 0.0));
        for cell in &mut config.cells {
            let inactivity = Duration::from_millis(2);
            cell.drx = Some(DrxConfig { inactivity, command, ..drx() });
            cell.bearer = BearerConfig { buffer: Bytes(1 << 20), ..bearers::lena(RlcMode::Am) };
            cell.mac.control_errors = true;
        }
        let mut d = Driver::new(&config);
        for burst in 0..60 {
            for part in 0..60 {
                d.send(ms(100 + 331 * burst + part / 10), 0, Direction::Downlink, 1000);
            }
        }
        d.run_to(ms(60_000));
        let failed = d.meter.downlink_blocks.iter().filter(|block| !block.decoded).count();
        let activations =
            d.meter.carriers.iter().filter(|(.., step, _)| *step == CarrierStep::Activated).count();
        assert!(failed > 20 && activations > 20, "{failed} {activations}");
        assert_eq!(d.arrived.len(), 60 * 60);
        in_order(&d);
        d.conserved();
    }
}

/// A UE is released 2 s after its last packet. Its SCell is left then, and commanded and activated again after each set-up
/// of its connection, 24 ms after the command; before, no block is on it.
#[test]
fn a_connection_has_its_secondary_cells_from_its_end_on_to_its_release() {
    let mut config = carriers(&[25, 25], ALWAYS);
    for cell in &mut config.cells {
        cell.mac.uplink.access = sr(10);
        cell.connection = Some(Arc::new(connection()));
    }
    let mut d = Driver::new(&config);
    for k in 0..20 {
        let (at, seen) = (ms(100 + 8_037 * k), d.meter.carriers.len());
        (0..60).for_each(|_| d.send(at, 0, Direction::Downlink, 1_000));
        d.run_to(at + Duration::from_millis(8_000));
        let steps = &d.meter.carriers[seen..];
        let [commanded, activated, deactivated] = steps[..] else { panic!("{steps:?}") };
        assert!(steps.iter().all(|step| step.1 == SCELL), "{steps:?}");
        let expected =
            [(CarrierStep::Commanded, 1), (CarrierStep::Activated, 2), (CarrierStep::Deactivated, 1)];
        assert_eq!([commanded, activated, deactivated].map(|(.., step, active)| (step, active)), expected);
        // On the air two slots after it is scheduled, and 24 ms.
        assert_eq!(activated.0 - commanded.0, Duration::from_millis(26));
        let arrived = d.arrived.iter().filter(|one| one.0 >= at).map(|one| one.0);
        let (first, last) = arrived.fold((Instant::FAR_FUTURE, at), |of, one| (of.0.min(one), of.1.max(one)));
        // The first packets are in the block with the command, which has been received three slots later.
        assert_eq!(first, commanded.0 + Duration::from_millis(3));
        assert!(commanded.0 > at + Duration::from_millis(110), "{commanded:?} after {at}");
        assert!(deactivated.0 >= last.max(at + Duration::from_millis(2_000)), "{deactivated:?} after {last}");
        assert!(deactivated.0 < at + Duration::from_millis(4_000), "{deactivated:?} after {last}");
    }
    assert_eq!(d.arrived.len(), 20 * 60);
    in_order(&d);
    d.conserved();
}
