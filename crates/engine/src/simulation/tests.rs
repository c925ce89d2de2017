use std::sync::{Arc, Mutex};

use airlane_core::{
    Direction, Duration, FlowId, Header, Packet, PacketRef, Payload, Port, Silence, UdpHeader,
};

use super::*;

type Log = Arc<Mutex<Vec<(u64, &'static str)>>>;

mod embedding;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn packet(now: Instant) -> Packet {
    Packet::new(FlowId(0), Direction::Downlink, Header::Udp(UdpHeader::default()), Payload::Length(100), now)
}

/// Sends a packet out of ports 0 and 1 every period.
struct Beeper {
    name: &'static str,
    log: Log,
    at: Instant,
    period: Duration,
}

impl Node for Beeper {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, _: Port, packet: PacketRef) {
        cx.pool.consume(packet);
    }
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.log.lock().unwrap().push((cx.now.as_nanos() / 1_000_000, self.name));
        for port in 0..2 {
            let packet = cx.pool.insert(packet(cx.now));
            cx.send(port, packet);
        }
        self.at += self.period;
    }
    fn next_timeout(&self) -> Option<Instant> {
        Some(self.at)
    }
}

/// Forwards packets, and requests a call some time after the last one.
struct Watch {
    name: &'static str,
    log: Log,
    patience: Duration,
    deadline: Option<Instant>,
}

impl Node for Watch {
    fn handle_packet(&mut self, cx: &mut Cx<'_>, port: Port, packet: PacketRef) {
        self.log.lock().unwrap().push((cx.now.as_nanos() / 1_000_000, self.name));
        self.deadline = Some(cx.now + self.patience);
        cx.send(port, packet);
    }
    fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        assert_eq!(self.deadline, Some(cx.now));
        self.log.lock().unwrap().push((cx.now.as_nanos() / 1_000_000, "late"));
        self.deadline = None;
    }
    fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }
}

/// Keeps packets, and can report a wrong number of them.
struct Store {
    kept: Vec<PacketRef>,
    claimed: Option<usize>,
}

impl Node for Store {
    fn handle_packet(&mut self, _: &mut Cx<'_>, _: Port, packet: PacketRef) {
        self.kept.push(packet);
    }
    fn packets_held(&self) -> usize {
        self.claimed.unwrap_or(self.kept.len())
    }
}

fn beeper(name: &'static str, log: &Log, first_ms: u64, period_ms: u64) -> Box<Beeper> {
    let period = Duration::from_millis(period_ms);
    Box::new(Beeper { name, log: log.clone(), at: ms(first_ms), period })
}

fn watch(name: &'static str, log: &Log, patience_ms: u64) -> Box<Watch> {
    Box::new(Watch { name, log: log.clone(), patience: Duration::from_millis(patience_ms), deadline: None })
}

#[test]
fn one_instant_is_worked_off_in_order() {
    let log = Log::default();
    let mut network = Network::new();
    // Added in this order, so `a` comes before `b` when both are due at 10 ms.
    let a = network.add(beeper("a", &log, 10, 100));
    let b = network.add(beeper("b", &log, 10, 100));
    let left = network.add(watch("left", &log, 1_000));
    let right = network.add(watch("right", &log, 1_000));
    let last = network.add(watch("last", &log, 1_000));
    network.connect((a, 0), (left, 0));
    network.connect((a, 1), (right, 0));
    network.connect((b, 0), (right, 0));
    network.connect((left, 0), (last, 0));
    let mut simulation = Simulation::new(network, 8);
    simulation.run_until(ms(10), &mut Silence);
    // Breadth first: both packets of `a`, then the packets that they cause, and only then `b`.
    let seen: Vec<_> = log.lock().unwrap().iter().map(|&(at, name)| (at, name)).collect();
    assert_eq!(seen, [(10, "a"), (10, "left"), (10, "right"), (10, "last"), (10, "b"), (10, "right")]);
    // Transferred: a->left, a->right, left->last, b->right. Dropped: the packet of `last`, two of
    // `right`, and the one that `b` sent out of port 1.
    let counters = simulation.counters();
    assert_eq!((counters.events, counters.packets), (2, 4));
    assert_eq!(simulation.pool().discarded(DropCause::NoRoute), 4);
    assert_eq!(simulation.check_conservation().unwrap().inserted, 4);
    assert_eq!(simulation.now(), ms(10));
}

#[test]
fn a_timer_that_moves_later_is_armed_again_only_when_it_fires() {
    let log = Log::default();
    let mut network = Network::new();
    // Packets at 0, 1, ..., 99 ms, each moving the deadline to 30 ms later.
    let source = network.add(beeper("beep", &log, 0, 1));
    let watch = network.add(watch("watch", &log, 30));
    network.connect((source, 0), (watch, 0));
    let mut simulation = Simulation::new(network, 8);
    simulation.run_until(ms(99), &mut Silence);
    // The timer of the watch is armed at 0 for 30. At 30 the source is called first and moves the
    // deadline to 60, so the timer fires early and is armed for 60; the same happens at 60 and 90.
    let counters = simulation.counters();
    assert_eq!(counters.timers_stale, 3);
    assert_eq!(counters.events, 100);
    // The 99 moves of the deadline arm nothing: each timer that was armed has fired or is still armed.
    assert!(counters.timers_armed <= counters.events + counters.timers_stale + 2, "{counters:?}");

    // The source stops; the deadline after the last packet at 99 ms is 129 ms.
    simulation.node_mut::<Beeper>(source).unwrap().at = Instant::FAR_FUTURE;
    simulation.run_until(ms(1_000), &mut Silence);
    assert_eq!(log.lock().unwrap().last(), Some(&(129, "late")));
    assert!(simulation.node::<Watch>(watch).unwrap().deadline.is_none());
    assert!(simulation.node::<Beeper>(watch).is_none());
}

#[test]
fn a_run_in_pieces_is_the_same_run() {
    let logs: Vec<_> = [1_u64, 7, 50]
        .map(|step| {
            let log = Log::default();
            let mut network = Network::new();
            let fast = network.add(beeper("fast", &log, 3, 2));
            let slow = network.add(beeper("slow", &log, 0, 9));
            let watch = network.add(watch("watch", &log, 1));
            network.connect((fast, 1), (watch, 0));
            network.connect((slow, 0), (watch, 1));
            let mut simulation = Simulation::new(network, 1);
            for end in (step..350 + step).step_by(step as usize) {
                simulation.advance(ms(end.min(350)), &mut Silence);
            }
            let seen = log.lock().unwrap().clone();
            (seen, simulation.counters())
        })
        .into();
    assert_eq!(logs[0], logs[1]);
    assert_eq!(logs[0], logs[2]);
    assert!(logs[0].0.len() > 200);
}

#[test]
fn a_node_that_misplaces_a_packet_is_found_out() {
    let log = Log::default();
    let mut network = Network::new();
    let source = network.add(beeper("beep", &log, 0, 10));
    let store = network.add(Box::new(Store { kept: Vec::new(), claimed: None }));
    network.connect((source, 0), (store, 0));
    let mut simulation = Simulation::new(network, 8);
    simulation.run_until(ms(45), &mut Silence);
    // Beeps at 0, 10, 20, 30, 40: five kept, and five out of a port without a wire.
    let figures = Conservation { inserted: 10, consumed: 0, discarded: 5, live: 5, held: 5 };
    assert_eq!(simulation.check_conservation(), Ok(figures));
    simulation.node_mut::<Store>(store).unwrap().claimed = Some(4);
    let error = simulation.check_conservation().unwrap_err();
    assert_eq!(
        error.to_string(),
        "10 packets made; 0 delivered + 5 dropped + 5 under way, of which nodes hold 4"
    );
}

#[test]
#[should_panic(expected = "packets are not conserved")]
fn a_run_ends_with_the_check() {
    let log = Log::default();
    let mut network = Network::new();
    let source = network.add(beeper("beep", &log, 0, 10));
    let store = network.add(Box::new(Store { kept: Vec::new(), claimed: Some(0) }));
    network.connect((source, 0), (store, 0));
    Simulation::new(network, 8).run_until(ms(5), &mut Silence);
}

#[test]
#[should_panic(expected = "is connected already")]
fn a_port_leads_to_one_place() {
    let log = Log::default();
    let mut network = Network::new();
    let source = network.add(beeper("beep", &log, 0, 10));
    network.connect((source, 0), (source, 1));
    network.connect((source, 0), (source, 2));
}
