//! A simulation that is driven from outside: packets in and out, a network that changes.

use super::*;

/// The ports of a network with a watch that passes packets on to an exit.
fn passage(log: &Log) -> (Simulation, NodeId, NodeId) {
    let mut network = Network::new();
    let watch = network.add(watch("watch", log, 5));
    let exit = network.add(Box::new(Exit::new()));
    network.connect((watch, 3), (exit, 7));
    (Simulation::new(network, 8), watch, exit)
}

fn seen(log: &Log) -> Vec<(u64, &'static str)> {
    log.lock().unwrap().clone()
}

#[test]
fn what_is_injected_comes_out_with_its_time() {
    let log = Log::default();
    let (mut simulation, watch, exit) = passage(&log);
    assert_eq!(simulation.next_event(), None);
    simulation.inject((watch, 3), packet(ms(0)), ms(10), &mut Silence);
    assert_eq!((simulation.now(), simulation.next_event()), (ms(10), Some(ms(15))));
    simulation.check_conservation().unwrap(); // the exit holds it
    let Departure { port, at, packet } = simulation.take(exit).unwrap();
    assert_eq!((port, at, packet.payload.len()), (7, ms(10), 100));
    assert_eq!(simulation.take(exit), None);
    assert_eq!(simulation.take(watch), None);
    assert_eq!(simulation.check_conservation().unwrap().consumed, 1);
}

#[test]
fn what_is_due_comes_before_what_is_injected() {
    // The watch asks for a call 5 ms after a packet. A packet that is injected 5 ms and more after the
    // last finds that this call was made, at its own time.
    let log = Log::default();
    let (mut simulation, watch, _) = passage(&log);
    for at in [10, 15, 30] {
        simulation.inject((watch, 0), packet(ms(at)), ms(at), &mut Silence);
    }
    assert_eq!(seen(&log), [(10, "watch"), (15, "late"), (15, "watch"), (20, "late"), (30, "watch")]);
    assert_eq!(simulation.pool().discarded(DropCause::NoRoute), 3); // port 0 leads nowhere
}

#[test]
#[should_panic(expected = "the run is at 0.010000000 s, after 0.009000000 s")]
fn nothing_is_injected_into_the_past() {
    let (mut simulation, watch, _) = passage(&Log::default());
    simulation.advance(ms(10), &mut Silence);
    simulation.inject((watch, 3), packet(ms(9)), ms(9), &mut Silence);
}

#[test]
fn a_node_that_was_lent_out_is_asked_again() {
    let log = Log::default();
    let (mut simulation, watch, _) = passage(&log);
    simulation.advance(ms(1), &mut Silence);
    simulation.node_mut::<Watch>(watch).unwrap().deadline = Some(ms(4));
    assert_eq!(simulation.next_event(), Some(ms(4)));
    simulation.advance(ms(5), &mut Silence);
    assert_eq!(seen(&log), [(4, "late")]);
}

#[test]
fn nodes_come_and_go_while_it_runs() {
    let log = Log::default();
    let (mut simulation, watch, exit) = passage(&log);
    simulation.advance(ms(2), &mut Silence);
    let [first, second] = [("first", 3), ("second", 3)].map(|(name, at)| {
        let id = simulation.add(beeper(name, &log, at, 10));
        simulation.connect((id, 0), (watch, 3)); // port 1 leads nowhere
        id
    });
    simulation.advance(ms(3), &mut Silence);
    let order = [(3, "first"), (3, "watch"), (3, "second"), (3, "watch")];
    assert_eq!(seen(&log), order);
    assert_eq!(std::iter::from_fn(|| simulation.take(exit)).count(), 2);

    // The first is removed; a wire that leads to it is no error, but a drop.
    simulation.connect((watch, 9), (first, 0));
    let _ = simulation.remove(first).unwrap();
    simulation.inject((watch, 9), packet(ms(13)), ms(13), &mut Silence);
    assert!(seen(&log)[4..].iter().all(|(_, name)| *name != "first"), "{:?}", seen(&log));
    let before = simulation.pool().discarded(DropCause::NoRoute);
    simulation.disconnect((second, 0));
    simulation.advance(ms(23), &mut Silence);
    assert_eq!(simulation.pool().discarded(DropCause::NoRoute) - before, 2); // both of its packets at 23
    simulation.check_conservation().unwrap();
}

#[test]
fn a_node_that_holds_packets_stays() {
    let mut network = Network::new();
    let store = network.add(Box::new(Store { kept: Vec::new(), claimed: None }));
    let mut simulation = Simulation::new(network, 8);
    simulation.inject((store, 0), packet(ms(1)), ms(1), &mut Silence);
    let error = simulation.remove(store).map(|_| ()).unwrap_err();
    assert_eq!(error, InUse { node: store, held: 1 });
    assert_eq!(error.to_string(), "NodeId(0) holds 1 packets and cannot be removed");
}

#[test]
fn a_step_costs_the_same_in_a_large_network() {
    // 100,000 idle nodes; 10,000 steps visit one of them in each. A node that is asked counts.
    struct Idle(Arc<std::sync::atomic::AtomicU64>);
    impl Node for Idle {
        fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
            cx.pool.consume(packet);
        }
        fn next_timeout(&self) -> Option<Instant> {
            self.0.fetch_add(1, Ordering::Relaxed);
            None
        }
        fn packets_held(&self) -> usize {
            self.0.fetch_add(1, Ordering::Relaxed);
            0
        }
    }
    let asked = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let mut network = Network::new();
    let idle: Vec<_> = (0..100_000).map(|_| network.add(Box::new(Idle(asked.clone())))).collect();
    let mut simulation = Simulation::new(network, 8);
    simulation.advance(ms(1), &mut Silence);
    let before = asked.load(Ordering::Relaxed);
    for step in 2..10_002 {
        simulation.inject((idle[step as usize], 0), packet(ms(step)), ms(step), &mut Silence);
        let _ = simulation.next_event();
    }
    assert_eq!(asked.load(Ordering::Relaxed) - before, 10_000);
}

#[test]
fn it_can_be_built_on_one_thread_and_driven_on_another() {
    let log = Log::default();
    let (mut simulation, watch, exit) = passage(&log);
    let out = std::thread::spawn(move || {
        simulation.inject((watch, 3), packet(ms(1)), ms(1), &mut Silence);
        simulation.take(exit)
    });
    assert!(out.join().unwrap().is_some());
}

#[test]
fn wires_follow_a_node_that_gets_more_ports() {
    let log = Log::default();
    let (mut simulation, watch, exit) = passage(&log);
    for port in [4, 5, 100, 40_000] {
        simulation.connect((watch, port), (exit, port));
        for port in [3, 4, port] {
            simulation.inject((watch, port), packet(ms(1)), ms(1), &mut Silence);
            assert_eq!(simulation.take(exit).map(|left| left.port), Some(if port == 3 { 7 } else { port }));
        }
    }
}
