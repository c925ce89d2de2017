//! UEs and flows that come and go.

use airlane_core::{Direction, DropCause, Duration, Instant, Seeds};

use super::world::{World, driver, road};
use super::*;

fn us(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// UEs come and go at random under load, some of them during a handover.
#[test]
fn no_packet_is_lost_without_a_cause_when_ues_come_and_go() {
    let mut world = World::new(&road(3));
    let mut present: Vec<_> = (0..3).map(|ue| (UeId(ue), FlowId(ue))).collect();
    let mut draws = Seeds::new(7).stream("churn");
    let (mut added, mut removed, mut ended) = (0, 0, Vec::new());
    for step in 0..40_000_u64 {
        let now = us(step * 300);
        world.run_to(now);
        match draws.below(600) {
            0 if present.len() < 12 => {
                let (ue, flow) = world.add_ue(now, &driver(draws.uniform_in(0.0, 600.0)));
                present.push((ue, flow));
                added += 1;
            }
            1 if present.len() > 2 => {
                let (ue, flow) = present.swap_remove(draws.below(present.len() as u64) as usize);
                world.call(now, |ran, cx| ran.remove_ue(cx, ue));
                ended.push((ue, flow));
                removed += 1;
            }
            2 => {
                // A new flow replaces that of a UE.
                let place = draws.below(present.len() as u64) as usize;
                world.ran.remove_flow(present[place].1);
                present[place].1 = world.ran.add_flow(present[place].0);
            }
            _ => {
                let to = present[draws.below(present.len() as u64) as usize];
                let direction = if draws.chance(0.8) { Direction::Downlink } else { Direction::Uplink };
                world.send(now, to, direction);
            }
        }
        if let Some(&gone) = ended.last().filter(|_| step % 100 == 0) {
            // Packets that were under way to or from a UE that was removed.
            world.send(now, gone, Direction::Downlink);
            world.send(now, gone, Direction::Uplink);
        }
        world.conserved();
    }
    let discarded = world.pool.discarded(DropCause::NoRoute);
    println!(
        "{added} added, {removed} removed, {} handovers, {} link failures, {} arrived, {discarded} discarded",
        world.handovers.arrived,
        world.handovers.link_failures,
        world.arrived.len()
    );
    assert!(added > 40 && removed > 40, "{added}, {removed}");
    assert!(world.handovers.arrived > 30, "{}", world.handovers.arrived);
    assert!(world.arrived.len() > 8000 && discarded > 500, "{} and {discarded}", world.arrived.len());
    // Without UEs the network holds nothing.
    let end = us(40_000 * 300);
    for (ue, _) in present {
        world.call(end, |ran, cx| ran.remove_ue(cx, ue));
    }
    assert_eq!((world.pool.live(), world.ran.packets_held()), (0, 0));
    world.run_to(end + Duration::from_secs(2));
    assert_eq!(world.pool.live(), 0);
}

/// A UE that is removed between two cells, while its packets are forwarded over X2.
#[test]
fn a_ue_can_be_removed_during_its_handover() {
    let mut config = road(1);
    config.ues[0] = driver(180.0);
    let mut world = World::new(&config);
    let mut now = Instant::ZERO;
    while world.handovers.started == 0 {
        now += Duration::from_micros(100);
        world.send(now, (UeId(0), FlowId(0)), Direction::Downlink);
    }
    let now = now + Duration::from_millis(3); // X2 takes 6 ms
    world.run_to(now);
    assert!(world.ran.packets_held() > 20, "{} packets", world.ran.packets_held());
    world.call(now, |ran, cx| ran.remove_ue(cx, UeId(0)));
    assert_eq!((world.pool.live(), world.ran.packets_held()), (0, 0));
    world.run_to(now + Duration::from_secs(2));
    assert_eq!((world.handovers.arrived, world.pool.live()), (0, 0));
}

/// A UE without traffic that is there for a while, in reach of all cells, changes nothing for the others.
#[test]
fn an_idle_ue_that_comes_and_goes_changes_nothing() {
    let arrivals = |visited: bool| {
        let mut world = World::new(&road(3));
        for step in 0..12_000_u64 {
            let now = us(step * 250);
            match step {
                2000 if visited => {
                    let (ue, _) = world.add_ue(now, &driver(150.0));
                    assert_eq!(ue, UeId(3));
                }
                9000 if visited => world.call(now, |ran, cx| ran.remove_ue(cx, UeId(3))),
                _ => {}
            }
            let ue = (step % 3) as u32;
            let direction = if step % 5 == 0 { Direction::Uplink } else { Direction::Downlink };
            world.send(now, (UeId(ue), FlowId(ue)), direction);
        }
        (world.arrived, world.handovers.arrived)
    };
    let (with, without) = (arrivals(true), arrivals(false));
    assert!(without.1 >= 3, "{} handovers of the others", without.1);
    assert!(with.1 > without.1, "the visitor is handed over, too");
    assert_eq!(with.0, without.0);
}

/// A UE that is added is served as one that is there from the start, on its port.
#[test]
fn a_ue_that_is_added_is_served() {
    let mut world = World::new(&road(1));
    let now = us(1_234_567);
    let (ue, flow) = world.add_ue(now, &driver(420.0));
    assert_eq!((ue, flow, world.ran.serving_cell(ue)), (UeId(1), FlowId(1), CellId(1)));
    world.send(now, (ue, flow), Direction::Downlink);
    world.run_to(now + Duration::from_millis(10));
    // Scheduled in the slot that begins at 1235 ms, received three slots later.
    let [arrived] = world.arrived[..] else { panic!("{:?}", world.arrived) };
    assert_eq!((arrived.at, arrived.port), (us(1_238_000), world.ran.ue_port(1)));
    // The ports of others do not depend on the number of UEs.
    assert_eq!([world.ran.s1u_port(2), world.ran.information_port(), world.ran.ue_port(0)], [2, 3, 4]);
}

#[test]
#[should_panic(expected = "before the slot at")]
fn an_input_before_an_earlier_slot_was_processed_is_refused() {
    let mut world = World::new(&road(1));
    world.send(us(3_500), (UeId(0), FlowId(0)), Direction::Downlink);
    // The slot at 4 ms is outstanding.
    let packet = Packet::new(
        FlowId(0),
        Direction::Uplink,
        Header::Udp(UdpHeader::default()),
        Payload::Length(100),
        us(10_400),
    );
    let packet = world.pool.insert(packet);
    world.call(us(10_400), |ran, cx| ran.handle_packet(cx, ran.ue_port(0), packet));
}
