//! A radio network that is driven by hand, with due timeouts before each input, does what it does in an engine.

use airlane_core::{
    Cx, Direction, Duration, FlowId, Header, Instant, Node, Packet, PacketPool, Payload, Port, Seeds,
    Silence, Stream, TopicSet, UdpHeader, UeId,
};
use airlane_engine::{Exit, Network, Simulation};
use airlane_net::gtp;
use airlane_ran::RadioNetwork;
use airlane_scenario::{Scenario, expand};

use crate::build;

const UES: u64 = 3;
/// A narrow cell with a short queue: some packets are lost.
const CELL: &str = r#"
network = "lena"
[[cell]]
name = "a"
position = ["0 m", "0 m"]
resource_blocks = 25
rlc = { mode = "um", buffer = "20000 B", aqm = "drop-tail" }
[channel]
path_loss = "friis"
fading = { model = "eva", speed = "36 km/h" }
[[ue]]
name = "near"
position = ["800 m", "0 m"]
[[ue]]
name = "middle"
position = ["1100 m", "0 m"]
[[ue]]
name = "far"
position = ["1400 m", "0 m"]
"#;
const FLOW: &str = "[[flow]]\napp = \"bulk\"\ntransport = \"tcp\"\nto = ";

/// A radio network with a flow to each UE.
fn radio_network() -> RadioNetwork {
    let flows = ["near", "middle", "far"].map(|ue| format!("{FLOW}\"{ue}\"\n")).concat();
    let scenario = Scenario::parse(&(CELL.to_owned() + &flows), "cell.toml").and_then(|one| one.resolve());
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let built = build(&scenario, 1).unwrap();
    let (channel, ues) = (scenario.channel.as_ref(), expand::ues(&scenario));
    let config = super::configuration(built.construction.setup(), channel.unwrap(), &ues).unwrap();
    let mut network = RadioNetwork::new(&config, Seeds::new(1));
    (0..3).map(UeId).for_each(|ue| assert_eq!(network.add_flow(ue), FlowId(ue.0)));
    network
}

/// An input: its time, port and packet.
type Input = (Instant, Port, Packet);

/// Bursts and pauses of a few milliseconds, at times that are no multiples of a slot and at some that are.
fn inputs(ports: &RadioNetwork) -> Vec<Input> {
    let mut draws: Stream = Seeds::new(3).stream("inputs");
    let mut now = Instant::ZERO;
    let mut inputs = Vec::new();
    for serial in 0..6000 {
        now += match draws.below(100) {
            0 => Duration::from_millis(draws.below(60)),
            1..10 => Duration::from_millis(1),
            _ => Duration::from_nanos(draws.below(120_000)),
        };
        let ue = draws.below(UES) as usize;
        let direction = if draws.chance(0.7) { Direction::Downlink } else { Direction::Uplink };
        let header = Header::Udp(UdpHeader { serial });
        let payload = Payload::Length(40 + draws.below(1360) as u32);
        let mut packet = Packet::new(FlowId(ue as u32), direction, header, payload, now);
        let port = match direction {
            Direction::Downlink => {
                packet.size += gtp::OVERHEAD;
                ports.s1u_port(0)
            }
            Direction::Uplink => ports.ue_port(ue),
        };
        inputs.push((now, port, packet));
    }
    inputs
}

/// A packet that left: when, and its number.
type Left = (Instant, u64);

fn left(at: Instant, packet: &Packet) -> Left {
    let Header::Udp(udp) = packet.header else { unreachable!("only datagrams enter") };
    (at, udp.serial)
}

fn by_hand(inputs: &[Input], end: Instant) -> Vec<Left> {
    let (mut ran, mut pool, mut outbox) = (radio_network(), PacketPool::default(), Vec::new());
    let mut found = Vec::new();
    let mut call = |ran: &mut RadioNetwork, now, input: Option<&Input>| {
        let (topics, probe) = (TopicSet::NONE, &mut Silence);
        let packet = input.map(|(_, port, packet)| (*port, pool.insert(packet.clone())));
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe };
        match packet {
            Some((port, packet)) => ran.handle_packet(&mut cx, port, packet),
            None => ran.handle_timeout(&mut cx),
        }
        for (_, packet) in outbox.drain(..) {
            found.push(left(now, &pool.consume(packet)));
        }
        assert_eq!(pool.live(), ran.packets_held());
    };
    let mut run_to = |ran: &mut RadioNetwork, to: Instant, input: Option<&Input>| {
        while let Some(due) = ran.next_timeout().filter(|due| *due <= to) {
            call(ran, due, None);
        }
        if input.is_some() {
            call(ran, to, input);
        }
    };
    for input in inputs {
        run_to(&mut ran, input.0, Some(input));
    }
    run_to(&mut ran, end, None);
    found
}

fn in_an_engine(inputs: &[Input], end: Instant) -> Vec<Left> {
    let mut network = Network::new();
    let ran = radio_network();
    let ports: Vec<_> =
        core::iter::once(ran.s1u_port(0)).chain((0..UES as usize).map(|ue| ran.ue_port(ue))).collect();
    let ran = network.add(Box::new(ran));
    let exit = network.add(Box::new(Exit::new()));
    for port in ports {
        network.connect((ran, port), (exit, 0));
    }
    let mut simulation = Simulation::new(network, 1024);
    for (at, port, packet) in inputs {
        simulation.inject((ran, *port), packet.clone(), *at, &mut Silence);
    }
    simulation.advance(end, &mut Silence);
    let found = core::iter::from_fn(|| simulation.take(exit)).map(|gone| left(gone.at, &gone.packet));
    found.collect()
}

#[test]
fn a_network_driven_by_hand_does_what_it_does_in_an_engine() {
    let inputs = inputs(&radio_network());
    let end = inputs.last().unwrap().0 + Duration::from_secs(2);
    let (hand, engine) = (by_hand(&inputs, end), in_an_engine(&inputs, end));
    println!("{} of {} packets left", hand.len(), inputs.len());
    assert!(hand.len() > 3000 && hand.len() < inputs.len(), "{} left: none was lost, or most", hand.len());
    assert_eq!(hand, engine);
}
