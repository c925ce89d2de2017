//! The cost of a slot of one cell, including its packets: 100 resource blocks under proportional
//! fair, RLC in unacknowledged mode, a standing queue for every UE.

use std::sync::Arc;

use airlane_core::{
    Bytes, CellId, Cx, Dbm, Decibel, Direction, Duration, FlowId, Header, Instant, Node, Outbox, Packet,
    PacketPool, Payload, Seeds, Silence, TopicSet, UdpHeader, UeId,
};
use airlane_net::gtp;
use airlane_radio::link_tables::LteTables;
use airlane_radio::{AmcRule, Antenna, CqiToMcs, Position, Profile, TransmissionMode};
use airlane_ran::RadioNetwork;
use airlane_ran::bearer::{BearerConfig, RlcConfig};
use airlane_ran::config::*;
use airlane_ran::numerology::Numerology;
use airlane_ran::pdcp::PdcpConfig;
use airlane_ran::rlc::{Aqm, UmConfig};
use criterion::{Criterion, criterion_group, criterion_main};

/// Packets in the queue of each UE.
const STANDING: usize = 40;
/// Slots before the measurement, until queues, reports and averages are in a steady state.
const SETTLED: u64 = 1000;

fn bearer() -> BearerConfig {
    BearerConfig {
        rlc: RlcConfig::Um(UmConfig { sn_bits: 10, t_reordering: Duration::from_millis(100) }),
        buffer: Bytes(512 * 1024),
        aqm: Aqm::DropTail,
        pdcp: PdcpConfig { sn_bits: 12, discard: None, retransmission_queue: None, status_report: true },
        pdu_overhead: Bytes::ZERO,
    }
}

fn cell() -> CellConfig {
    CellConfig {
        numerology: Numerology::LTE,
        tables: Arc::new(LteTables),
        position: Position::on_ground(0.0, 0.0),
        antenna: Antenna::ISOTROPIC,
        path_loss_map: None,
        resource_blocks: 100,
        tx_power: Dbm(30.0),
        noise_figure: Decibel(5.0),
        downlink_hz: 2120e6,
        uplink_hz: 1930e6,
        scheduler: SchedulerKind::ProportionalFair { window: 99 },
        early_throttling: None,
        drx: None,
        bandwidth_parts: None,
        connection: None,
        meters_energy: false,
        transmission_mode: TransmissionMode::SingleAntenna,
        layers: None,
        uplink_layers: None,
        processing: ProcessingTimes::NONE,
        mac: MacConfig {
            cqi_period: 2,
            cqi_delay: 4,
            cqi_report: CqiReport::Subband,
            rank: RankRule::Full,
            amc: AmcRule::MUTUAL_INFORMATION,
            cqi_reference: CqiReference::PdschInterference,
            mcs_rule: McsRule::WorstSubband,
            harq: true,
            harq_max_transmissions: 4,
            harq_round_trip: 8,
            uplink_round_trip: 8,
            downlink_latency: 3,
            assigned_ahead: false,
            grant_to_pusch: 4,
            control_errors: false,
            subheaders: false,
            cqi_to_mcs: CqiToMcs::Efficiency,
            out_of_range: OutOfRange::Unscheduled,
            blank_subframes: 0,
            idle_partial_rbg: false,
            uplink: UplinkConfig {
                access: UplinkAccess::IdealBufferStatus { delay: 1 },
                amc: AmcRule::MUTUAL_INFORMATION,
                pucch_resource_blocks: 0,
                grants_per_slot: 8,
                sounding_period: 40,
                power_control: None,
                headroom: None,
            },
        },
        bearer: bearer(),
        l4s_bearer: None,
        max_ues: None,
        interferer: false,
        neighbours: None,
        service: Vec::new(),
    }
}

fn network(ues: usize, fading: Option<FadingConfig>) -> RanConfig {
    let ue = |i: usize| UeConfig {
        cell: Some(CellId(0)),
        start: Start::At(Position::on_ground(50.0 + 3.0 * i as f64, 0.0)),
        movement: Movement::Static,
        tx_power: Dbm(23.0),
        noise_figure: Decibel(7.0),
        penetration_loss: Decibel(0.0),
        building: None,
        bearer_set_up: None,
        fixed_mcs: None,
        aggregate_rates: [None; 2],
        aggregation: None,
        secondary_node: None,
        measurement_gaps: None,
    };
    RanConfig {
        cells: vec![cell()],
        ues: (0..ues).map(ue).collect(),
        flows: (0..ues as u32).map(UeId).collect(),
        channel: ChannelConfig {
            path_loss: PathLossModel::Friis,
            shadowing: None,
            fading,
            bursts: None,
            uplink_bursts: None,
            blockage: None,
            clutter_loss_map: None,
            links: LinkRules::default(),
        },
        measurements: None,
        handover: None,
    }
}

/// The cell, and a server that refills the queue with one packet for each packet that arrives.
struct Cell {
    ran: RadioNetwork,
    pool: PacketPool,
    outbox: Outbox,
    now: Instant,
}

impl Cell {
    fn new(config: &RanConfig) -> Self {
        let mut cell = Self {
            ran: RadioNetwork::new(config, Seeds::new(1)),
            pool: PacketPool::with_capacity(STANDING * config.ues.len()),
            outbox: Outbox::with_capacity(256),
            now: Instant::ZERO,
        };
        for _ in 0..STANDING {
            (0..config.ues.len() as u32).for_each(|ue| cell.give(FlowId(ue)));
        }
        (0..SETTLED).for_each(|_| cell.slot());
        cell
    }

    fn call(&mut self, act: impl FnOnce(&mut RadioNetwork, &mut Cx<'_>)) {
        let Self { ran, pool, outbox, now } = self;
        act(ran, &mut Cx { now: *now, pool, outbox, topics: TopicSet::NONE, probe: &mut Silence });
    }

    fn give(&mut self, flow: FlowId) {
        let header = Header::Udp(UdpHeader::default());
        let mut packet = Packet::new(flow, Direction::Downlink, header, Payload::Length(1400), self.now);
        packet.size += gtp::OVERHEAD;
        let packet = self.pool.insert(packet);
        let port = self.ran.s1u_port(0);
        self.call(|ran, cx| ran.handle_packet(cx, port, packet));
    }

    /// Runs one millisecond.
    fn slot(&mut self) {
        let end = self.now + Duration::from_millis(1);
        while let Some(at) = self.ran.next_timeout().filter(|&at| at <= end) {
            self.now = at;
            self.call(|ran, cx| ran.handle_timeout(cx));
        }
        self.now = end;
        while let Some((_, packet)) = self.outbox.pop() {
            let flow = self.pool.consume(packet).flow;
            self.give(flow);
        }
    }
}

fn slots(c: &mut Criterion) {
    let eva = FadingConfig { profile: Profile::Eva, speed_mps: 60.0 / 3.6, prb_spacing_hz: None };
    for (name, fading) in [("no fading", None), ("eva", Some(eva))] {
        for ues in [1, 20, 100] {
            let mut cell = Cell::new(&network(ues, fading));
            c.bench_function(&format!("slot/{name}, {ues} UEs"), |b| b.iter(|| cell.slot()));
        }
    }
}

criterion_group!(benches, slots);
criterion_main!(benches);
