//! One cell as a whole, driven by hand.

use std::sync::Arc;

use airlane_core::{
    Bytes, CarrierStep, CellId, Cx, Dbm, Decibel, Direction, DropCause, Duration, Event, FlowId, Header,
    Instant, Node, Outbox, Packet, PacketPool, Payload, Probe, Seeds, Topic, TopicSet, UdpHeader, UeId,
};
use airlane_net::gtp;
use airlane_radio::link_tables::LteTables;
use airlane_radio::{AmcRule, Antenna, BurstLaw, CqiToMcs, Mcs, Position, Profile, TransmissionMode};

use crate::bearer::{BearerConfig, RlcConfig, RlcMode};
use crate::config::*;
use crate::network::RadioNetwork;
use crate::numerology::Numerology;
use crate::rlc::UmConfig;
use crate::rrc::MeasurementReport;
use crate::rrc::measurement::{EventA3, MeasurementConfig};
use meter::{Block, GridMeter};

mod access;
mod backhaul;
mod bandwidth_parts;
pub(crate) mod bearers;
mod capacity;
mod carriers;
mod carriers_moving;
mod carriers_sleeping;
mod carriers_uplink;
mod drop;
mod gaps;
mod link_limits;
mod membership;
mod meter;
mod nr_bearer;
mod nr_cell;
mod power;
mod retransmissions;
mod sleep;
mod tdd;
mod world;

pub(crate) fn cell(access: UplinkAccess) -> CellConfig {
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
                access,
                amc: AmcRule::MUTUAL_INFORMATION,
                pucch_resource_blocks: 0,
                grants_per_slot: 8,
                sounding_period: 40,
                power_control: None,
                headroom: None,
            },
        },
        bearer: BearerConfig { buffer: Bytes(512 * 1024), ..bearers::lena(RlcMode::Um) },
        l4s_bearer: None,
        max_ues: None,
        interferer: false,
        neighbours: None,
        service: Vec::new(),
    }
}

pub(crate) fn network(ues: usize, access: UplinkAccess) -> RanConfig {
    RanConfig {
        cells: vec![cell(access)],
        ues: (0..ues)
            .map(|i| UeConfig {
                cell: Some(CellId(0)),
                start: Start::At(Position::on_ground(50.0 + i as f64, 0.0)),
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
            })
            .collect(),
        flows: (0..ues as u32).map(UeId).collect(),
        channel: ChannelConfig {
            path_loss: PathLossModel::Friis,
            shadowing: None,
            fading: None,
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

struct Driver {
    ran: RadioNetwork,
    pool: PacketPool,
    outbox: Outbox,
    meter: GridMeter,
    /// Arrivals: time, port, delay in ms, flow.
    arrived: Vec<(Instant, u16, f64, FlowId)>,
}

impl Driver {
    fn new(config: &RanConfig) -> Self {
        Self {
            ran: RadioNetwork::new(config, Seeds::new(1)),
            pool: PacketPool::with_capacity(1024),
            outbox: Outbox::new(),
            meter: GridMeter::default(),
            arrived: Vec::new(),
        }
    }

    fn call(&mut self, now: Instant, act: impl FnOnce(&mut RadioNetwork, &mut Cx<'_>)) {
        let topics = self.meter.topics();
        let mut cx =
            Cx { now, pool: &mut self.pool, outbox: &mut self.outbox, topics, probe: &mut self.meter };
        act(&mut self.ran, &mut cx);
        for (port, packet) in self.outbox.drain(..) {
            let packet = self.pool.consume(packet);
            self.arrived.push((now, port, (now - packet.sent_at).as_millis_f64(), packet.flow));
        }
    }

    fn run_to(&mut self, end: Instant) {
        while let Some(at) = self.ran.next_timeout().filter(|&at| at <= end) {
            self.call(at, |ran, cx| ran.handle_timeout(cx));
        }
    }

    fn send(&mut self, now: Instant, ue: u32, direction: Direction, payload: u32) {
        self.run_to(now);
        let header = Header::Udp(UdpHeader::default());
        let mut packet = Packet::new(FlowId(ue), direction, header, Payload::Length(payload), now);
        let port = match direction {
            Direction::Downlink => {
                packet.size += gtp::OVERHEAD;
                self.ran.s1u_port(0)
            }
            Direction::Uplink => self.ran.ue_port(ue as usize),
        };
        let packet = self.pool.insert(packet);
        self.call(now, |ran, cx| ran.handle_packet(cx, port, packet));
    }

    fn conserved(&self) {
        assert_eq!(self.pool.live(), self.ran.packets_held());
    }
}

const IDEAL: UplinkAccess = UplinkAccess::IdealBufferStatus { delay: 1 };

fn sr(period: u32) -> UplinkAccess {
    UplinkAccess::SchedulingRequest { period, processing: 3, initial_grant: Bytes(100), limit: None }
}

#[test]
fn a_lone_packet_takes_the_slots_that_the_path_has() {
    let mut d = Driver::new(&network(1, IDEAL));
    // Arrives at 10.2 ms, scheduled at 11, on the air in slot 13, received at 14.
    d.send(Instant::from_nanos(10_200_000), 0, Direction::Downlink, 1400);
    d.run_to(Instant::from_millis(100));
    assert_eq!(d.arrived, [(Instant::from_millis(14), 2, 3.8, FlowId(0))]);
    assert_eq!(d.ran.next_timeout(), None, "an idle network has no slot to process");
    d.conserved();
}

#[test]
fn a_full_cell_carries_what_its_blocks_hold() {
    let mut d = Driver::new(&network(1, IDEAL));
    // 200 Mbit/s offered: 1400 B of payload every 56 µs.
    for k in 0..20_000_u64 {
        d.send(Instant::from_nanos(k * 56_000), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    let window = d.arrived.iter().filter(|(at, ..)| (200..1000).contains(&(at.as_nanos() / 1_000_000)));
    let goodput = window.count() as f64 * 1400.0 * 8.0 / 0.8 / 1e6;
    // MCS 28 on 100 PRBs is a block of 9422 bytes each ms. A PDU has a fixed header of 2 bytes and
    // length fields of 12 bits for all data field elements except the last; 6 or 7 of them share a
    // block, so 9 to 11 bytes are headers: 9411.8 bytes of SDUs of 1430 bytes a slot.
    let expected = 9411.8 / 1430.0 * 1400.0 * 8.0 / 1000.0;
    assert!((goodput / expected - 1.0).abs() < 0.002, "{goodput} against {expected} Mbit/s");
    assert!(d.meter.downlink_mcs.iter().all(|&mcs| mcs == 28));
}

#[test]
fn a_fixed_mcs_is_what_blocks_are_sent_with_and_scheduled_by() {
    // Two UEs at 50 m whose link adaptation gives MCS 28: one is fixed at MCS 4. Round robin assigns the
    // 25 RBGs of a slot evenly, so the rates are in the ratio of the block sizes.
    let mut config = network(2, IDEAL);
    config.cells[0].scheduler = SchedulerKind::RoundRobin;
    config.ues[1].fixed_mcs = Some(Mcs::new(4));
    let mut d = Driver::new(&config);
    for k in 0..20_000_u64 {
        for flow in 0..2 {
            d.send(Instant::from_nanos(k * 56_000), flow, Direction::Downlink, 1400);
        }
    }
    d.conserved();
    let last = |mcs: u8| d.meter.downlink_mcs.iter().filter(|&&m| m == mcs).count();
    assert!(last(4) > 900 && last(28) > 900, "{} and {} blocks", last(4), last(28));
    assert_eq!(last(4) + last(28), d.meter.downlink_mcs.len());
}

#[test]
fn without_segments_a_block_carries_whole_packets() {
    let mut config = network(1, IDEAL);
    config.cells[0].bearer.rlc = RlcConfig::Tm;
    let mut d = Driver::new(&config);
    for k in 0..20_000_u64 {
        d.send(Instant::from_nanos(k * 56_000), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    // Six SDUs of 1430 bytes fit into 9422, and leave 842.
    let window = d.arrived.iter().filter(|(at, ..)| (200..1000).contains(&(at.as_nanos() / 1_000_000)));
    assert_eq!(window.count(), 6 * 800);
}

#[test]
fn a_packet_too_large_for_the_first_grant_is_reported_and_then_sent_whole() {
    let mut config = network(1, sr(10));
    config.cells[0].bearer.rlc = RlcConfig::Tm;
    let mut d = Driver::new(&config);
    d.send(Instant::from_nanos(137_000), 0, Direction::Uplink, 1400);
    d.run_to(Instant::from_millis(100));
    // Requested in slot 10 (its offset is 0); a grant of 100 bytes in 13, whose PUSCH in 17 carries
    // the report alone; known in 18, granted completely, sent in 22, received at 23 ms.
    let at: Vec<Instant> = d.arrived.iter().map(|a| a.0).collect();
    assert_eq!(at, [Instant::from_millis(23)]);
    d.conserved();
}

#[test]
fn what_harq_gives_up_is_gone_without_a_header() {
    // As in `a_missed_assignment_is_sent_again`, and no second attempt.
    let lossy = |direction| {
        far(32_000.0, direction, |cell| {
            (cell.bearer.rlc, cell.mac.control_errors) = (RlcConfig::Tm, true);
            cell.mac.harq_max_transmissions = 1;
        })
    };
    let downlink = lossy(Direction::Downlink);
    let lost = downlink.pool.discarded(DropCause::Radio);
    assert!((5..40).contains(&lost), "{lost} of 200");
    assert_eq!(downlink.arrived.len() as u64 + lost, 200);
    assert_eq!(downlink.ran.packets_held(), 0);
}

/// The mean delay of sparse small uplink packets together with `load` UEs that fill the uplink.
fn uplink_delay(access: UplinkAccess, load: u32) -> f64 {
    let mut d = Driver::new(&network(1 + load as usize, access));
    for k in 0..4000_u64 {
        let now = Instant::from_nanos(1_000_000 * k + 137_000);
        for ue in 1..=load {
            for _ in 0..6 {
                d.send(now, ue, Direction::Uplink, 1400);
            }
        }
        if k % 97 == 0 {
            d.send(now, 0, Direction::Uplink, 12);
        }
    }
    d.conserved();
    assert!(d.meter.uplink_most <= 100, "{} PRBs sold in one slot", d.meter.uplink_most);
    let probes: Vec<f64> = d.arrived.iter().filter(|a| a.3 == FlowId(0)).map(|a| a.2).collect();
    assert!(probes.len() > 30, "only {} probes arrived", probes.len());
    probes.iter().sum::<f64>() / probes.len() as f64
}

#[test]
fn an_ack_waits_for_request_and_grant() {
    // Request at the next of one opportunity per period (on average half a period and half a
    // slot away), 3 slots until the grant, 4 until the PUSCH, 1 on the air.
    for period in [5, 10, 20, 40] {
        let delay = uplink_delay(sr(period), 0);
        let expected = f64::from(period) / 2.0 + 3.0 + 4.0 + 1.0;
        assert!((delay - expected).abs() < 0.15 * expected, "SR every {period} ms: {delay} ms");
    }
    assert!(uplink_delay(IDEAL, 0) < 7.0);
}

#[test]
fn an_ack_waits_longer_in_a_loaded_uplink() {
    let (idle, loaded, crowded) =
        (uplink_delay(sr(10), 0), uplink_delay(sr(10), 4), uplink_delay(sr(10), 60));
    assert!(loaded >= idle * 0.95, "{idle} then {loaded}");
    // 61 UEs in turn at 8 grants per slot: a round lasts 7.6 slots, and the mean wait is half of it.
    assert!((2.5..6.0).contains(&(crowded - idle)), "{idle} then {crowded}");
}

/// One UE at this distance, 200 packets in one direction; returns the packets received, and blocks
/// by attempt.
fn far(distance_m: f64, direction: Direction, change: impl FnOnce(&mut CellConfig)) -> Driver {
    let mut config = network(1, IDEAL);
    change(&mut config.cells[0]);
    config.ues[0].start = Start::At(Position::on_ground(distance_m, 0.0));
    let mut d = Driver::new(&config);
    for k in 0..200_u64 {
        d.send(Instant::from_millis(10 * k), 0, direction, 100);
    }
    d.run_to(Instant::from_millis(4000));
    d.conserved();
    d
}

#[test]
fn a_missed_assignment_is_sent_again() {
    // 10 dBm per PRB, 129 dB over 32 km, noise −114.4 dBm: −4.7 dB, where 7 % are missed.
    let clean = far(32_000.0, Direction::Downlink, |_| ());
    let missed = far(32_000.0, Direction::Downlink, |cell| cell.mac.control_errors = true);
    let late = |d: &Driver| d.arrived.iter().filter(|(_, _, delay, _)| *delay > 8.0).count();
    assert_eq!((clean.arrived.len(), missed.arrived.len()), (200, 200));
    let more = late(&missed) as i64 - late(&clean) as i64;
    assert!((5..25).contains(&more), "{} then {}", late(&clean), late(&missed));
    let near = far(1000.0, Direction::Downlink, |cell| cell.mac.control_errors = true);
    assert_eq!(late(&near), 0);
}

#[test]
fn a_missed_grant_leaves_the_data_with_the_ue() {
    let missed = far(40_000.0, Direction::Uplink, |cell| cell.mac.control_errors = true);
    assert_eq!(missed.arrived.len(), 200);
    let first = missed.arrived.iter().map(|(_, _, delay, _)| *delay);
    assert!(first.fold(0.0, f64::max) > 12.0, "some grants are missed at 40 km");
}

/// Eight processes, in turn: with a round trip of eight slots, a block is sent again in a slot of its own
/// process.
#[test]
fn an_uplink_block_is_sent_again_in_the_slot_of_another_process() {
    let delays = |round_trip: u32| {
        let d = far(40_000.0, Direction::Uplink, |cell| {
            (cell.mac.harq_round_trip, cell.mac.uplink_round_trip) = (round_trip, round_trip)
        });
        assert_eq!(d.arrived.len(), 200, "round trip {round_trip}");
        let delays = d.arrived.iter().map(|(_, _, delay, _)| *delay);
        let (least, most) = delays.fold((f64::INFINITY, 0.0_f64), |(a, b), x| (a.min(x), b.max(x)));
        most - least
    };
    for round_trip in [5, 6, 7, 8, 9, 12, 16, 21] {
        let spread = delays(round_trip);
        assert!(spread >= f64::from(round_trip), "round trip {round_trip}: {spread} ms between delays");
    }
}

/// The same with a UE that always has data: it sends one block per slot, new or retransmitted.
#[test]
fn a_full_uplink_takes_any_round_trip() {
    for round_trip in [5, 6, 7, 8, 9, 12, 16, 21] {
        let mut config = network(1, IDEAL);
        (config.cells[0].mac.harq_round_trip, config.cells[0].mac.uplink_round_trip) =
            (round_trip, round_trip);
        config.ues[0].start = Start::At(Position::on_ground(40_000.0, 0.0));
        let mut d = Driver::new(&config);
        for k in 0..4000_u64 {
            d.send(Instant::from_nanos(k * 250_000), 0, Direction::Uplink, 1400);
        }
        d.run_to(Instant::from_millis(1000));
        d.conserved();
        assert!(d.meter.uplink_most <= 100, "{} PRBs sold in one slot", d.meter.uplink_most);
        assert!(d.arrived.len() > 20, "round trip {round_trip}: {} arrived", d.arrived.len());
    }
}

#[test]
fn concentrated_power_reaches_further() {
    // 23 dBm over 20 km: −4.8 dB on each PRB of the whole band, 17 dB more on two of them.
    let pc = PowerControl { p0: Dbm(-80.0), alpha: 1.0 };
    let mcs = |power: Option<PowerControl>| {
        let d = far(20_000.0, Direction::Uplink, |cell| {
            // The cell knows of the power from the UE's reports.
            (cell.mac.uplink.power_control, cell.mac.uplink.headroom) = (power, Some(power::REPORTS));
        });
        assert_eq!(d.arrived.len(), 200);
        d.meter.uplink_mcs.iter().map(|&m| f64::from(m)).sum::<f64>() / d.meter.uplink_mcs.len() as f64
    };
    let (spread, concentrated) = (mcs(None), mcs(Some(pc)));
    assert!(concentrated > spread + 1.0, "MCS {spread} then {concentrated}");
}

/// Two cells a kilometre apart, and a UE half-way between them in each.
fn two_cells() -> RanConfig {
    let mut config = network(2, IDEAL);
    let mut other = config.cells[0].clone();
    other.position = Position::on_ground(1000.0, 0.0);
    config.cells.push(other);
    for (ue, cell) in config.ues.iter_mut().zip([0, 1]) {
        ue.cell = Some(CellId(cell));
        ue.start = Start::At(Position::on_ground(500.0, 0.0));
    }
    config
}

/// Downlink to both UEs for half a second: mean MCS of the blocks from 100 ms on.
fn saturated(config: &RanConfig, ues: core::ops::Range<u32>) -> f64 {
    let mut d = Driver::new(config);
    for k in 0..5000_u64 {
        for ue in ues.clone() {
            d.send(Instant::from_nanos(k * 100_000), ue, Direction::Downlink, 1400);
        }
        if k == 1000 {
            d.meter.downlink_mcs.clear();
        }
    }
    d.conserved();
    d.meter.downlink_mcs.iter().map(|&m| f64::from(m)).sum::<f64>() / d.meter.downlink_mcs.len() as f64
}

#[test]
fn cqi_follows_the_neighbours_load_or_its_control_region() {
    // At 0 dB link adaptation by mutual information reports MCS 4; without the other cell, at 31
    // dB, MCS 28.
    let config = two_cells();
    assert_eq!(saturated(&config, 0..2), 4.0);
    assert_eq!(saturated(&config, 0..1), 28.0);
    let mut control = config;
    control.cells.iter_mut().for_each(|cell| cell.mac.cqi_reference = CqiReference::ControlRegion);
    assert_eq!(saturated(&control, 0..2), 4.0);
    assert_eq!(saturated(&control, 0..1), 4.0);
}

#[test]
fn a_silent_neighbour_still_covers_the_control_region() {
    // Half-way between two cells PDCCH has 0 dB: one message in 3,400 is missed. 3 dB nearer to the other,
    // at -3 dB, one in 64.
    let mut config = two_cells();
    config.cells[1].tx_power = Dbm(33.0);
    let late = |errors: bool| {
        let mut config = config.clone();
        config.cells.iter_mut().for_each(|cell| cell.mac.control_errors = errors);
        let mut d = Driver::new(&config);
        for k in 0..4000_u64 {
            d.send(Instant::from_millis(15 * k), 0, Direction::Downlink, 200);
        }
        d.run_to(Instant::from_millis(61_000));
        assert_eq!(d.arrived.len(), 4000);
        d.arrived.iter().filter(|(_, _, delay, _)| *delay > 8.0).count()
    };
    assert_eq!(late(false), 0);
    let missed = late(true);
    assert!((35..95).contains(&missed), "{missed} of 4000, 62 expected");
}

#[test]
fn a_ue_that_changes_cell_starts_afresh() {
    let mut config = two_cells();
    config.cells[1].resource_blocks = 50;
    config.cells[1].downlink_hz += 50e6;
    config.cells[1].uplink_hz += 50e6;
    // RLC waits this long for lost PDUs.
    let um = UmConfig { t_reordering: Duration::from_millis(10), ..bearers::LENA_UM };
    config.cells[0].bearer.rlc = RlcConfig::Um(um);
    let mut d = Driver::new(&config);
    let load = |d: &mut Driver, ms: core::ops::Range<u64>| {
        for k in ms {
            for direction in [Direction::Downlink, Direction::Uplink] {
                for _ in 0..2 {
                    d.send(Instant::from_nanos(k * 1_000_000 + 300_000), 0, direction, 1400);
                }
            }
        }
    };
    load(&mut d, 0..50);
    assert_eq!(d.ran.serving_cell(UeId(0)), CellId(0));
    for (ms, cell) in [(50, 1), (100, 0), (150, 1)] {
        let now = Instant::from_nanos(ms * 1_000_000 + 100_000);
        d.run_to(now);
        let before = d.arrived.len();
        d.ran.change_cell(now, UeId(0), CellId(cell));
        assert_eq!(d.ran.serving_cell(UeId(0)), CellId(cell));
        // Blocks that were on the air are lost: a new block takes its three slots.
        d.run_to(now + Numerology::LTE.slot * 2);
        assert_eq!(d.arrived.len(), before);
        load(&mut d, ms + 3..ms + 50);
        assert!(d.arrived.len() > before + 120, "{} after {before}", d.arrived.len());
        d.conserved();
    }
    d.run_to(Instant::from_millis(5000));
    assert_eq!(d.ran.next_timeout(), None, "neither cell has anything left of it");
    d.conserved();
    // A change loses the blocks of the three slots of either direction on the air, of two packets each, and
    // the packets that are partly in them.
    let lost = 2 * 2 * (50 + 3 * 47) - d.arrived.len();
    assert!((1..=3 * 2 * 3 * 3).contains(&lost), "{lost} lost");
}

/// Four UEs with frequency-selective fading and more data than the cell carries: goodput in Mbit/s
/// and the PRBs of each block, from the time when their queues are full.
fn fading_cell(report: CqiReport) -> (f64, Vec<u16>) {
    let mut config = network(4, IDEAL);
    config.cells[0].mac.cqi_report = report;
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Etu, speed_mps: 1.0, prb_spacing_hz: None });
    config.ues.iter_mut().for_each(|ue| ue.start = Start::At(Position::on_ground(2000.0, 0.0)));
    let mut d = Driver::new(&config);
    for k in 0..10_000_u32 {
        d.send(Instant::from_nanos(u64::from(k) * 100_000), k % 4, Direction::Downlink, 1400);
    }
    d.conserved();
    (d.arrived.len() as f64 * 1400.0 * 8.0 / 1e6, d.meter.downlink_prbs.split_off(50))
}

#[test]
fn one_cqi_for_the_band_ends_the_gain_of_frequency_selection() {
    // Proportional fair assigns each group of PRBs to the UE that is best on it. With one CQI for
    // all groups, the best UE is best on all of them, and each block takes the whole band.
    let (selective, parts) = fading_cell(CqiReport::Subband);
    let (blind, whole) = fading_cell(CqiReport::Wideband);
    assert!(whole.len() > 500 && whole.iter().all(|&prbs| prbs == 100), "{whole:?}");
    let shared = parts.iter().filter(|&&prbs| prbs < 100).count();
    assert!(shared as f64 > 0.9 * parts.len() as f64, "{shared} of {}", parts.len());
    println!("{selective:.1} Mbit/s by sub-band, {blind:.1} by the band");
    assert!(selective > 1.05 * blind, "{selective} then {blind} Mbit/s");
}

#[test]
fn a_ue_without_data_measures_and_reports() {
    let mut config = two_cells();
    // 520 m and 480 m: 20 log10(520 / 480) = 0.695 dB better.
    config.ues[0].start = Start::At(Position::on_ground(520.0, 0.0));
    let reports = |hysteresis: f64| {
        let mut config = config.clone();
        config.measurements = Some(MeasurementConfig {
            period: Duration::from_millis(200),
            filter_coefficient: 4,
            event: EventA3 {
                offset: Decibel(0.0),
                hysteresis: Decibel(hysteresis),
                time_to_trigger: Duration::from_millis(256),
            },
            report_interval: Duration::MAX,
            quality: None,
        });
        let mut d = Driver::new(&config);
        assert_eq!(d.ran.next_timeout(), Some(Instant::from_millis(200)));
        d.run_to(Instant::from_millis(1000));
        core::iter::from_fn(|| d.ran.take_measurement_report()).collect::<Vec<_>>()
    };
    // From the first sample at 200 ms on for 256 ms, which ends between two samples.
    let (at, ue, target) = (Instant::from_millis(456), UeId(0), CellId(1));
    assert_eq!(reports(0.6), [MeasurementReport { at, ue, target }]);
    assert_eq!(reports(0.8), []);
}

/// Goodput in Mbit/s of one UE with more data than the cell carries, from 200 ms on.
fn goodput(mode: TransmissionMode, rank: RankRule, distance_m: f64, fading: bool) -> f64 {
    let mut config = network(1, IDEAL);
    (config.cells[0].transmission_mode, config.cells[0].mac.rank) = (mode, rank);
    config.ues[0].start = Start::At(Position::on_ground(distance_m, 0.0));
    if fading {
        // A UE's CQI uses all sub-bands, as this rule does, not the worst of the allocation.
        config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
    }
    config.channel.fading =
        fading.then_some(FadingConfig { profile: Profile::Eva, speed_mps: 10.0, prb_spacing_hz: None });
    let mut d = Driver::new(&config);
    for k in 0..20_000_u64 {
        d.send(Instant::from_nanos(k * 56_000), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    let window = d.arrived.iter().filter(|(at, ..)| (200..1000).contains(&(at.as_nanos() / 1_000_000)));
    window.count() as f64 * 1400.0 * 8.0 / 0.8 / 1e6
}

#[test]
fn two_layers_carry_two_blocks() {
    use TransmissionMode::SpatialMultiplexing;
    // Twice the block of `a_full_cell_carries_what_its_blocks_hold`: MCS 28 on 100 PRBs, 9411.8
    // bytes of SDUs of 1430 bytes, on each of two layers.
    let expected = 2.0 * 9411.8 / 1430.0 * 1400.0 * 8.0 / 1000.0;
    for rank in [RankRule::Full, RankRule::Adaptive] {
        let found = goodput(SpatialMultiplexing, rank, 50.0, false);
        assert!((found / expected - 1.0).abs() < 0.002, "{found} against {expected} Mbit/s");
    }
}

#[test]
fn a_layer_that_fails_alone_is_sent_again_alone() {
    let mut config = network(1, IDEAL);
    config.cells[0].transmission_mode = TransmissionMode::SpatialMultiplexing;
    config.cells[0].mac.mcs_rule = McsRule::Effective { target_bler: 0.1 };
    config.ues[0].start = Start::At(Position::on_ground(3000.0, 0.0));
    config.channel.fading =
        Some(FadingConfig { profile: Profile::Eva, speed_mps: 1.0, prb_spacing_hz: None });
    let mut d = Driver::new(&config);
    for k in 0..20_000_u64 {
        d.send(Instant::from_nanos(k * 56_000), 0, Direction::Downlink, 1400);
    }
    d.conserved();
    let blocks = &d.meter.downlink_blocks;
    let of = |at, process| blocks.iter().find(|b| b.at == at && b.process == process).copied();
    let end = d.ran.next_timeout().expect("it is still sending") - Duration::from_millis(20);
    let (mut alone, mut together) = (0, 0);
    for failed in blocks.iter().filter(|b| b.attempt == 0 && !b.decoded && b.at < end) {
        // Feedback and the slot after it: one HARQ round trip of 8 ms later, or a slot or two more
        // if another block precedes it.
        let again = blocks.iter().find(|b| b.at > failed.at && b.process == failed.process).unwrap();
        assert_eq!(again.attempt, 1, "{failed:?} is not over: its process has no new block");
        assert!((8..=10).contains(&((again.at - failed.at).as_nanos() / 1_000_000)), "{failed:?}, {again:?}");
        let other = failed.process ^ 8;
        match of(failed.at, other) {
            Some(Block { decoded: true, .. }) => {
                alone += 1;
                // No block on the other layer until the process is free on both.
                assert_eq!(of(again.at, other), None, "{failed:?}");
            }
            Some(_) => {
                together += 1;
                assert_eq!(of(again.at, other).map(|b| b.attempt), Some(1), "{failed:?}");
            }
            None => {}
        }
    }
    println!("{} blocks: {alone} failed alone, {together} with the other layer's", blocks.len());
    // Rare: both have the same SINR, which is seldom near the threshold of a block.
    assert!(alone >= 10 && together > 0, "{alone} of {} blocks failed alone", blocks.len());
}

#[test]
fn the_rank_is_the_one_that_carries_more() {
    use TransmissionMode::{SingleAntenna, SpatialMultiplexing, TransmitDiversity};
    // 5.5 dB: each of two layers has 2.7 dB, one with diversity 9.7 dB. 0 dB at 19 km: -2.8 and 4.2.
    for (distance_m, fading) in [(10_000.0, false), (19_000.0, false), (3000.0, true), (300.0, true)] {
        let of = |mode, rank| goodput(mode, rank, distance_m, fading);
        let siso = of(SingleAntenna, RankRule::Full);
        let (one, two) = (of(TransmitDiversity, RankRule::Full), of(SpatialMultiplexing, RankRule::Full));
        let adaptive = of(SpatialMultiplexing, RankRule::Adaptive);
        println!(
            "{distance_m} m, fading {fading}: {siso:.1}, {one:.1}, {two:.1}, adaptive {adaptive:.1} Mbit/s"
        );
        assert!(two < 2.0 * siso);
        assert!(adaptive > 0.98 * one.max(two), "{adaptive} against {one} and {two}");
    }
}

#[test]
fn an_enb_that_polls_serves_on_the_second_report() {
    let access = UplinkAccess::Polled { interval: 27, initial_grant: Bytes(100), polls: 2, processing: 3 };
    let mut config = network(1, access);
    config.cells[0].bearer.rlc = RlcConfig::Tm; // whole packets
    let mut d = Driver::new(&config);
    let crowd = |d: &mut Driver, ms: u64| {
        (0..5).for_each(|_| d.send(Instant::from_nanos(ms * 1_000_000 + 137_000), 0, Direction::Uplink, 52));
    };
    crowd(&mut d, 5);
    d.run_to(Instant::from_millis(90));
    // No requests. Slots 27 and 54 are polled: two PRBs, for 100 bytes, hold 185 bytes at MCS 28 and
    // therefore two packets of 82. The second report arrives at 55 ms and is answered 3 slots later with a
    // grant for the rest, sent in 62.
    let ms = |d: &Driver| -> Vec<u64> { d.arrived.iter().map(|a| a.0.as_nanos() / 1_000_000).collect() };
    assert_eq!(ms(&d), [28, 28, 55, 55, 63]);
    // Silent since slot 62: polled in 89, when there is no data, and in 116, 143.
    d.arrived.clear();
    crowd(&mut d, 100);
    d.run_to(Instant::from_millis(200));
    assert_eq!(ms(&d), [117, 117, 144, 144, 152]);
    d.conserved();
}

#[test]
fn bursts_hit_the_direction_that_hears_them() {
    // In a burst almost all the time, at an SINR below any code rate: no block is received.
    let law =
        BurstLaw { good: Duration::from_micros(1), bad: Duration::from_secs(3600), depth: Decibel(100.0) };
    let arrived = |downlink: bool, uplink: bool| {
        let mut config = network(1, IDEAL);
        config.channel.bursts = downlink.then_some(law);
        config.channel.uplink_bursts = uplink.then_some(law);
        let mut d = Driver::new(&config);
        for k in 10..60_u64 {
            for direction in [Direction::Downlink, Direction::Uplink] {
                d.send(Instant::from_millis(k), 0, direction, 200);
            }
        }
        // AM's status PDUs travel in the other direction: only first transmissions are checked.
        d.run_to(Instant::from_millis(75));
        let up = d.arrived.iter().filter(|a| a.1 == d.ran.s1u_port(0)).count();
        (d.arrived.len() - up, up)
    };
    let (down, up) = arrived(false, false);
    assert!(down == 50 && up == 50, "{down} and {up}");
    assert_eq!(arrived(true, false), (0, 50));
    assert_eq!(arrived(false, true), (50, 0));
}

#[test]
fn the_ues_of_a_cell_are_disturbed_together_in_the_uplink() {
    let law =
        BurstLaw { good: Duration::from_millis(40), bad: Duration::from_millis(40), depth: Decibel(100.0) };
    let mut config = network(2, IDEAL);
    config.channel.uplink_bursts = Some(law);
    config.cells[0].mac.harq = false;
    config.cells[0].bearer.rlc = RlcConfig::Tm;
    let mut d = Driver::new(&config);
    for k in 10..2000_u64 {
        (0..2).for_each(|ue| d.send(Instant::from_millis(k), ue, Direction::Uplink, 52));
    }
    d.run_to(Instant::from_millis(2100));
    let of = |ue| -> Vec<Instant> { d.arrived.iter().filter(|a| a.3 == FlowId(ue)).map(|a| a.0).collect() };
    let (one, other) = (of(0), of(1));
    assert!((600..1400).contains(&one.len()), "about half of 1990: {}", one.len());
    // About half of them if each had its own bursts.
    let common = one.iter().filter(|at| other.contains(at)).count();
    assert!(common * 10 > one.len() * 9, "{common} of {} and {}", one.len(), other.len());
}
