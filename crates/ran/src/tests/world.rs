//! A network with handovers, driven by hand: the gateway switches paths at once.

use airlane_core::{
    Bytes, CarrierStep, CellId, Cx, Decibel, Direction, Duration, Event, FlowId, HandoverStep, Header,
    Instant, Node, Outbox, Packet, PacketPool, Payload, Port, Probe, Seeds, Topic, TopicSet, UdpHeader, UeId,
};
use airlane_net::gtp;
use airlane_net::signalling::Message;
use airlane_radio::Position;
use airlane_radio::mobility::{Course, SpeedLaw};

use super::{IDEAL, bearers, network};
use crate::bearer::{BearerConfig, HandoverMode};
use crate::config::*;
use crate::network::RadioNetwork;
use crate::rrc::handover::HandoverConfig;
use crate::rrc::measurement::{EventA3, MeasurementConfig};
use crate::rrc::radio_link::RadioLinkConfig;

/// Counts handovers.
#[derive(Default)]
pub(super) struct Handovers {
    pub(super) started: usize,
    pub(super) arrived: usize,
    pub(super) link_failures: usize,
    /// What happened to a UE with several carriers, in order.
    pub(super) of_carriers: Vec<OfCarriers>,
}

/// A change of the serving cells of a UE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfCarriers {
    /// It left its primary cell.
    Left(UeId),
    /// It arrived in another one.
    Arrived(UeId),
    /// A secondary cell of it was commanded, activated or deactivated.
    Scell(UeId, CellId, CarrierStep),
}

impl Probe for Handovers {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Handover).with(Topic::Carrier)
    }
    fn observe(&mut self, _: Instant, event: &Event<'_>) {
        self.of_carriers.extend(match *event {
            Event::Handover { ue, step: HandoverStep::Started, .. } => Some(OfCarriers::Left(ue)),
            Event::Handover { ue, step: HandoverStep::Arrived, .. } => Some(OfCarriers::Arrived(ue)),
            Event::Carrier { ue, cell, step, .. } => Some(OfCarriers::Scell(ue, cell, step)),
            _ => None,
        });
        match event {
            Event::Handover { step: HandoverStep::Started, .. } => self.started += 1,
            Event::Handover { step: HandoverStep::Arrived, .. } => self.arrived += 1,
            Event::Handover { step: HandoverStep::LinkFailed { .. }, .. } => self.link_failures += 1,
            _ => {}
        }
    }
}

/// A packet that left the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrived {
    pub(super) at: Instant,
    pub(super) port: Port,
    pub(super) flow: FlowId,
    pub(super) sent_at: Instant,
}

pub(super) struct World {
    pub(super) ran: RadioNetwork,
    pub(super) pool: PacketPool,
    outbox: Outbox,
    pub(super) handovers: Handovers,
    /// The cell to which the gateway sends the packets of each UE.
    path: Vec<CellId>,
    pub(super) arrived: Vec<Arrived>,
}

impl World {
    pub(super) fn new(config: &RanConfig) -> Self {
        let ran = RadioNetwork::new(config, Seeds::new(1));
        Self {
            path: (0..config.ues.len() as u32).map(|ue| ran.serving_cell(UeId(ue))).collect(),
            ran,
            pool: PacketPool::with_capacity(1024),
            outbox: Outbox::new(),
            handovers: Handovers::default(),
            arrived: Vec::new(),
        }
    }

    pub(super) fn call<R>(
        &mut self,
        now: Instant,
        act: impl FnOnce(&mut RadioNetwork, &mut Cx<'_>) -> R,
    ) -> R {
        let topics = self.handovers.topics();
        let (pool, outbox, probe) = (&mut self.pool, &mut self.outbox, &mut self.handovers);
        let out = act(&mut self.ran, &mut Cx { now, pool, outbox, topics, probe });
        self.deliver(now);
        out
    }

    /// Takes what the network has sent, and answers as the gateway.
    fn deliver(&mut self, now: Instant) {
        let mut switches = Vec::new();
        for (port, packet) in self.outbox.drain(..) {
            let packet = self.pool.consume(packet);
            if packet.header == Header::Signalling {
                switches.extend(Message::decode(&packet.payload));
            } else {
                self.arrived.push(Arrived { at: now, port, flow: packet.flow, sent_at: packet.sent_at });
            }
        }
        for message in switches {
            let Message::PathSwitchRequest { ue, cell } = message else { panic!("{message:?}") };
            let left = core::mem::replace(&mut self.path[ue.index()], cell);
            self.answer(now, left, Message::EndMarker { ue });
            self.answer(now, cell, Message::PathSwitchRequestAcknowledge { ue });
        }
    }

    fn answer(&mut self, now: Instant, cell: CellId, answer: Message) {
        self.call(now, |ran, cx| {
            let packet = answer.packet(cx);
            ran.handle_packet(cx, ran.s1u_port(cell.index()), packet);
        });
    }

    pub(super) fn run_to(&mut self, end: Instant) {
        while let Some(at) = self.ran.next_timeout().filter(|at| *at <= end) {
            self.call(at, |ran, cx| ran.handle_timeout(cx));
        }
    }

    pub(super) fn add_ue(&mut self, now: Instant, config: &UeConfig) -> (UeId, FlowId) {
        self.run_to(now);
        let ue = self.ran.add_ue(config, now, Seeds::new(1));
        self.path.push(self.ran.serving_cell(ue));
        (ue, self.ran.add_flow(ue))
    }

    /// A packet for or from a UE.
    pub(super) fn send(&mut self, now: Instant, (ue, flow): (UeId, FlowId), direction: Direction) {
        self.run_to(now);
        let (header, payload) = (Header::Udp(UdpHeader::default()), Payload::Length(1000));
        let mut packet = Packet::new(flow, direction, header, payload, now);
        let port = match direction {
            Direction::Downlink => {
                packet.size += gtp::OVERHEAD;
                self.ran.s1u_port(self.path[ue.index()].index())
            }
            Direction::Uplink => self.ran.ue_port(ue.index()),
        };
        let packet = self.pool.insert(packet);
        self.call(now, |ran, cx| ran.handle_packet(cx, port, packet));
    }

    pub(super) fn conserved(&self) {
        assert_eq!(self.pool.live(), self.ran.packets_held());
    }
}

/// Three cells 400 m apart on a line; their UEs drive along it.
pub(super) fn road(ues: usize) -> RanConfig {
    let mut config = network(ues, IDEAL);
    config.cells[0].bearer = BearerConfig { buffer: Bytes(100_000), ..bearers::typical() };
    for k in 1..3 {
        let mut cell = config.cells[0].clone();
        cell.position = Position::on_ground(400.0 * f64::from(k), 0.0);
        config.cells.push(cell);
    }
    for (k, ue) in config.ues.iter_mut().enumerate() {
        *ue = driver(150.0 * k as f64);
    }
    config.measurements = Some(MeasurementConfig {
        period: Duration::from_millis(40),
        filter_coefficient: 0,
        event: EventA3 {
            offset: Decibel(0.0),
            hysteresis: Decibel(0.5),
            time_to_trigger: Duration::from_millis(40),
        },
        report_interval: Duration::from_millis(240),
        quality: None,
    });
    config.handover = Some(HandoverConfig {
        mode: HandoverMode::Lossless,
        x2: bearers::X2,
        report: Duration::from_millis(10),
        preparation: Duration::from_millis(5),
        command: Duration::from_millis(15),
        interruption: Duration::from_millis(30),
        occasions: None,
        radio_link: Some(RadioLinkConfig::default()),
    });
    config
}

/// A UE that starts here and drives east, in the cell that it receives best.
pub(super) fn driver(x_m: f64) -> UeConfig {
    UeConfig {
        cell: None,
        start: Start::At(Position::on_ground(x_m, 20.0)),
        movement: Movement::Line(Course::Heading(0.0), SpeedLaw::Constant(200.0)),
        ..network(1, IDEAL).ues.remove(0)
    }
}
