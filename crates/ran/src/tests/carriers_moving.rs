//! UEs with several carriers that are handed over.

use std::collections::BTreeSet;

use super::carriers::{ALWAYS, ON_DEMAND};
use super::world::{OfCarriers, World, road};
use super::*;

const UE: UeId = UeId(0);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// The other cell at the site of a cell.
const fn beside(cell: CellId) -> CellId {
    CellId((cell.0 + 3) % 6)
}

/// Three sites 400 m apart, each with two carriers: cells k and k + 3 are at site k. UEs report cells of the carrier of
/// their primary cell only, or all.
fn road_with_two_carriers(ues: usize, activation: ActivationPolicy, reports_all: bool) -> RanConfig {
    let mut config = road(ues);
    for cell in &mut config.cells {
        cell.bearer.pdcp.discard = None;
        cell.bearer.buffer = Bytes(1 << 22);
    }
    for site in 0..3 {
        let cell = config.cells[site].clone();
        config.cells.push(CellConfig { downlink_hz: 1840e6, uplink_hz: 1745e6, ..cell });
    }
    if !reports_all {
        for (at, cell) in (0..).zip(&mut config.cells) {
            let same_carrier = |other: &u32| *other != at && other / 3 == at / 3;
            cell.neighbours = Some((0..6).filter(same_carrier).map(CellId).collect());
        }
    }
    let pair = |cell: u32| (CellId(cell), vec![beside(CellId(cell))]);
    let secondary: Arc<SecondaryCells> = Arc::new((0..6).map(pair).collect());
    for ue in &mut config.ues {
        ue.cell = Some(CellId(0));
        ue.aggregation = Some(CarrierAggregation {
            secondary: Arc::clone(&secondary),
            uplink: Arc::default(),
            activation,
            events: None,
        });
    }
    config
}

/// Each packet has arrived once.
fn nothing_lost_or_doubled(world: &World, sent: usize) {
    let once: BTreeSet<_> = world.arrived.iter().map(|one| (one.flow.0, one.port, one.sent_at)).collect();
    assert_eq!((once.len(), world.arrived.len()), (sent, sent));
}

/// A UE drives along three sites. At each handover its SCell is left when it leaves its primary cell, and the other cell of
/// the new site is commanded and activated after it has arrived there.
#[test]
fn the_secondary_cell_is_that_of_the_site_after_each_handover() {
    let mut world = World::new(&road_with_two_carriers(1, KEPT, false));
    let mut sent = 0;
    for at in 0..5_000 {
        for part in 0..3 {
            let now = ms(at) + Duration::from_micros(100 * part);
            world.send(now, (UE, FlowId(0)), Direction::Downlink);
            sent += 1;
        }
        world.conserved();
    }
    world.run_to(ms(8_000));
    nothing_lost_or_doubled(&world, sent);
    use CarrierStep::{Activated, Commanded, Deactivated};
    let scell = |cell, step| OfCarriers::Scell(UE, CellId(cell), step);
    let stay = |cell| [scell(cell, Commanded), scell(cell, Activated)];
    let go = |cell| [OfCarriers::Left(UE), scell(cell, Deactivated), OfCarriers::Arrived(UE)];
    let mut expected = stay(3).to_vec();
    for cell in 3..5 {
        expected.extend(go(cell));
        expected.extend(stay(cell + 1));
    }
    assert_eq!(world.handovers.of_carriers, expected);
    world.conserved();
}

/// SCells that are activated when more than one packet waits.
const SOON: ActivationPolicy = ActivationPolicy { threshold: Bytes(2_000), ..ON_DEMAND };
/// And that no timer deactivates.
const KEPT: ActivationPolicy = ActivationPolicy { deactivation_timer: None, ..SOON };

/// The carrier at 1.84 GHz has 1.2 dB less path loss than that at 2.12 GHz: a UE that reports all cells is handed over to it
/// at once, and has the former primary cell as its secondary one.
#[test]
fn a_handover_within_a_site_swaps_its_cells() {
    let mut world = World::new(&road_with_two_carriers(1, ALWAYS, true));
    for at in 0..600 {
        world.send(ms(at), (UE, FlowId(0)), Direction::Downlink);
    }
    world.run_to(ms(700));
    assert_eq!(world.ran.serving_cell(UE), CellId(3));
    let of = |step| OfCarriers::Scell(UE, CellId(0), step);
    let steps = [of(CarrierStep::Commanded), of(CarrierStep::Activated)];
    assert_eq!(world.handovers.of_carriers.iter().rev().take(2).rev().copied().collect::<Vec<_>>(), steps);
    nothing_lost_or_doubled(&world, 600);
    world.conserved();
}

/// A UE that stays where the second site is nearest on the first carrier, and the first site is stronger on the other one, is
/// handed over to the former. The cell there of the other carrier serves it too, although it was not in its reach.
#[test]
fn a_secondary_cell_may_be_out_of_reach() {
    let mut config = road_with_two_carriers(1, KEPT, false);
    config.channel.links.strongest_cells = Some(1);
    config.cells[4].tx_power = Dbm(config.cells[4].tx_power.0 - 20.0);
    config.ues[0].start = Start::At(Position::on_ground(250.0, 20.0));
    config.ues[0].movement = Movement::Static;
    let mut world = World::new(&config);
    for at in 0..1_000 {
        world.send(ms(at), (UE, FlowId(0)), Direction::Downlink);
        world.send(ms(at) + Duration::from_micros(100), (UE, FlowId(0)), Direction::Downlink);
    }
    world.run_to(ms(1_500));
    assert_eq!(world.ran.serving_cell(UE), CellId(1));
    let of = |step| OfCarriers::Scell(UE, CellId(4), step);
    assert!(world.handovers.of_carriers.ends_with(&[of(CarrierStep::Commanded), of(CarrierStep::Activated)]));
    nothing_lost_or_doubled(&world, 2_000);
    world.conserved();
}

/// UEs with two carriers that drive, are handed over often, lose their links, and have bursts of packets in both
/// directions: none is lost, none arrives twice, and no UE stays without data.
#[test]
fn every_packet_arrives_once_at_ues_that_drive() {
    for (reports_all, outage) in [(false, false), (true, false), (true, true)] {
        let mut config = road_with_two_carriers(3, SOON, reports_all);
        config.channel.fading =
            Some(FadingConfig { profile: Profile::Eva, speed_mps: 16.7, prb_spacing_hz: None });
        if outage {
            let (at, duration) = (ms(1_500), Duration::from_millis(600));
            config.cells[1].service = vec![ServiceChange { at, duration, kind: ServiceKind::Outage }];
        }
        let mut world = World::new(&config);
        let mut draws = Seeds::new(11).stream("packets");
        let mut sent = 0;
        for at in 0..6_000 {
            let now = ms(at);
            for ue in 0..3 {
                // Bursts of 40 ms in each 200 ms, of four packets a millisecond.
                for part in 0..if (at + 60 * ue) % 200 < 40 { 4 } else { 0 } {
                    let now = now + Duration::from_micros(10 * ue + 100 * part);
                    let up = draws.chance(0.1);
                    let direction = if up { Direction::Uplink } else { Direction::Downlink };
                    world.send(now, (UeId(ue as u32), FlowId(ue as u32)), direction);
                    sent += 1;
                }
            }
            world.conserved();
        }
        world.run_to(ms(12_000));
        let steps = &world.handovers.of_carriers;
        let activated =
            steps.iter().filter(|step| matches!(step, OfCarriers::Scell(.., CarrierStep::Activated))).count();
        println!(
            "{} handovers, {} link failures, {activated} activations",
            world.handovers.arrived, world.handovers.link_failures
        );
        assert!(world.handovers.arrived >= 6 && activated > 30);
        nothing_lost_or_doubled(&world, sent);
        world.conserved();
    }
}
