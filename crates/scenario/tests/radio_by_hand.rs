//! A radio network that is driven by hand, with due timeouts before each input, does what it does in an engine.

use airlane_core::{
    Bytes, CellId, Cx, Dbm, Decibel, Direction, Duration, FlowId, Header, Instant, Node, Packet, PacketPool,
    Payload, Port, Seeds, Silence, Stream, TopicSet, UdpHeader, UeId,
};
use airlane_engine::{Exit, Network, Simulation};
use airlane_net::gtp;
use airlane_radio::link_tables::LTE;
use airlane_radio::{AmcRule, Antenna, CqiToMcs, Position, Profile, TransmissionMode};
use airlane_ran::RadioNetwork;
use airlane_ran::bearer::{BearerConfig, RlcConfig};
use airlane_ran::config::*;
use airlane_ran::numerology::Numerology;
use airlane_ran::pdcp::PdcpConfig;
use airlane_ran::rlc::{Aqm, UmConfig};

const UES: u64 = 3;

fn cell() -> CellConfig {
    CellConfig {
        numerology: Numerology::LTE,
        tables: &LTE,
        position: Position::on_ground(0.0, 0.0),
        antenna: Antenna::ISOTROPIC,
        resource_blocks: 25,
        tx_power: Dbm(30.0),
        noise_figure: Decibel(5.0),
        downlink_hz: 2120e6,
        uplink_hz: 1930e6,
        scheduler: SchedulerKind::ProportionalFair { window: 99 },
        early_throttling: None,
        transmission_mode: TransmissionMode::SingleAntenna,
        mac: MacConfig {
            cqi_period: 2,
            cqi_delay: 4,
            cqi_report: CqiReport::Subband,
            rank: RankRule::Full,
            amc: AmcRule::MUTUAL_INFORMATION,
            cqi_reference: CqiReference::PdschInterference,
            mcs_rule: McsRule::Effective { target_bler: 0.1 },
            harq: true,
            harq_max_transmissions: 4,
            harq_round_trip: 8,
            downlink_latency: 3,
            grant_to_pusch: 4,
            control_errors: true,
            subheaders: true,
            cqi_to_mcs: CqiToMcs::Efficiency,
            blank_subframes: 0,
            idle_partial_rbg: false,
            uplink: UplinkConfig {
                access: UplinkAccess::SchedulingRequest {
                    period: 10,
                    processing: 3,
                    initial_grant: Bytes(100),
                },
                amc: AmcRule::MUTUAL_INFORMATION,
                pucch_resource_blocks: 2,
                grants_per_slot: 8,
                sounding_period: 10,
                power_control: None,
            },
        },
        bearer: BearerConfig {
            rlc: RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(50) }),
            buffer: Bytes(20_000),
            aqm: Aqm::DropTail,
            pdcp: PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true },
            pdu_overhead: Bytes::ZERO,
        },
        max_ues: None,
        interferer: false,
        neighbours: None,
        service: Vec::new(),
    }
}

fn radio_network() -> RadioNetwork {
    let ue = |k: u64| UeConfig {
        cell: Some(CellId(0)),
        start: Start::At(Position::on_ground(800.0 + 300.0 * k as f64, 0.0)),
        movement: Movement::Static,
        tx_power: Dbm(23.0),
        noise_figure: Decibel(7.0),
        penetration_loss: Decibel(0.0),
        bearer_set_up: None,
        fixed_mcs: None,
    };
    let config = RanConfig {
        cells: vec![cell()],
        ues: (0..UES).map(ue).collect(),
        flows: (0..UES as u32).map(UeId).collect(),
        channel: ChannelConfig {
            path_loss: PathLossModel::Friis,
            shadowing: None,
            fading: Some(FadingConfig { profile: Profile::Eva, speed_mps: 10.0, prb_spacing_hz: None }),
            bursts: None,
            uplink_bursts: None,
        },
        measurements: None,
        handover: None,
    };
    RadioNetwork::new(&config, Seeds::new(1))
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
