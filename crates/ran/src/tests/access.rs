//! Random access by hand: in two steps, and of connected UEs whose scheduling requests are not answered.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use airlane_core::{ConnectionCause, ConnectionStep, Duration, HandoverStep};

use super::sleep::{Steps, connection};
use super::world::{driver, road};
use super::*;
use crate::config::RequestLimit;
use crate::numerology::{Duplex, Numerology, TddPattern};
use crate::rrc::connection::ConnectionConfig;
use crate::rrc::contention::MessageA;
use crate::rrc::radio_link::RadioLinkConfig;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// The start of a slot of 0.5 ms.
fn slot(number: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(500) * number
}

/// A network with connections, of which a probe records something: by default, their steps.
struct Recorded<P = Steps> {
    ran: RadioNetwork,
    pool: PacketPool,
    outbox: Outbox,
    probe: P,
}

impl<P: Probe + Default> Recorded<P> {
    fn new(config: &RanConfig, seed: u64) -> Self {
        let ran = RadioNetwork::new(config, Seeds::new(seed));
        Self { ran, pool: PacketPool::default(), outbox: Outbox::new(), probe: P::default() }
    }

    /// A UE has data at a time.
    fn send(&mut self, now: Instant, ue: u32, bytes: u32) {
        self.run_to(now);
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(FlowId(ue), Direction::Uplink, header, Payload::Length(bytes), now);
        let packet = self.pool.insert(packet);
        let port = self.ran.ue_port(ue as usize);
        self.call(now, |ran, cx| ran.handle_packet(cx, port, packet));
    }

    fn run_to(&mut self, end: Instant) {
        while let Some(now) = self.ran.next_timeout().filter(|now| *now < end) {
            self.call(now, RadioNetwork::handle_timeout);
        }
    }

    fn call(&mut self, now: Instant, f: impl FnOnce(&mut RadioNetwork, &mut Cx<'_>)) {
        let Self { ran, pool, outbox, probe } = self;
        let topics = probe.topics();
        f(ran, &mut Cx { now, pool, outbox, topics, probe });
    }
}

impl Recorded {
    /// When a step was taken.
    fn when(&self, kind: impl Fn(&ConnectionStep) -> bool) -> Vec<Instant> {
        self.probe.0.iter().filter(|(.., step)| kind(step)).map(|(at, ..)| *at).collect()
    }
}

const fn connects(step: &ConnectionStep) -> bool {
    matches!(step, ConnectionStep::Connected { .. })
}

const fn is_preamble(step: &ConnectionStep) -> bool {
    matches!(step, ConnectionStep::Preamble { .. })
}

/// A cell of NR with slots of 0.5 ms, of which each fifth has an uplink, and connections of idle UEs.
fn nr(ues: usize, connection: ConnectionConfig) -> RanConfig {
    let mut config = network(ues, sr(10));
    let cell = &mut config.cells[0];
    cell.numerology = Numerology::nr(1, 2, Duplex::Tdd(TddPattern::new("DDDSU", 10, 2)));
    cell.tables = Arc::new(airlane_radio::nr::NrTables::new(airlane_radio::nr::LinkSettings::FR1));
    (cell.resource_blocks, cell.downlink_hz, cell.uplink_hz) = (273, 3.5e9, 3.5e9);
    (cell.mac.downlink_latency, cell.mac.grant_to_pusch) = (1, 1);
    (cell.mac.harq_round_trip, cell.mac.uplink_round_trip) = (4, 3);
    cell.connection = Some(Arc::new(connection));
    config
}

const MESSAGE_A: MessageA = MessageA {
    preambles: 8,
    pusch_after: Duration::from_millis(1),
    window: Duration::from_millis(10),
    most: 2,
};

fn two_steps(message_a: MessageA) -> ConnectionConfig {
    let mut config = connection();
    config.access.message_a = Some(message_a);
    config
}

/// The occasion that is due at 1 ms, in slot 2, is in slot 4. In four steps, the response is sent at 2 + 4 = 6 ms and
/// allows Msg3 from 12 ms on, in slot 24, which has an uplink and ends at 12.5 ms. In two steps, the PUSCH is sent from 3 ms
/// on, in slot 9, which ends at 5 ms.
#[test]
fn two_steps_save_the_response_and_the_wait_for_its_grant() {
    let access = |config| {
        let mut network: Recorded = Recorded::new(&nr(1, config), 1);
        network.send(Instant::ZERO, 0, 100);
        network.run_to(ms(500));
        assert_eq!(network.when(is_preamble), [ms(2)]);
        assert_eq!(network.when(connects).len(), 1);
        network.when(|step| *step == ConnectionStep::Requested)
    };
    assert_eq!(access(connection()), [slot(25)]);
    assert_eq!(access(two_steps(MESSAGE_A)), [slot(10)]);
}

/// Two UEs with one preamble for MsgA collide twice, then part with 54 preambles of four steps. The PUSCH of the first
/// MsgA would be in slot 9, so that its window ends at 4.5 + 10 ms.
#[test]
fn after_the_last_message_a_access_has_four_steps() {
    let mut config = two_steps(MessageA { preambles: 1, ..MESSAGE_A });
    config.access.backoff = Duration::ZERO;
    let mut network: Recorded = Recorded::new(&nr(2, config), 1);
    for ue in 0..2 {
        network.send(Instant::ZERO, ue, 100);
    }
    network.run_to(ms(2_000));
    let collisions = network.when(|step| matches!(step, ConnectionStep::Preamble { collides: true, .. }));
    // Occasions are due at 1, 11, 21, 31 ms, in slots 4, 24, 44, 64.
    assert_eq!(collisions[..4], [ms(2), ms(2), ms(22), ms(22)]);
    assert_eq!(network.when(connects).len(), 2);
    assert_eq!(network.outbox.len(), 2);
}

/// The share of MsgA whose preamble no other UE sends is (1 - 1/8)^(n - 1).
#[test]
fn preambles_of_message_a_collide_as_the_closed_form_says() {
    for ues in [2, 6] {
        let (mut alone, mut all) = (0, 0);
        for seed in 0..400 {
            let mut network: Recorded = Recorded::new(&nr(ues, two_steps(MESSAGE_A)), seed);
            for ue in 0..ues as u32 {
                network.send(Instant::ZERO, ue, 100);
            }
            network.run_to(ms(5));
            all += ues;
            alone += network
                .when(|step| matches!(step, ConnectionStep::Preamble { number: 1, collides: false }))
                .len();
        }
        let (share, expected) = (alone as f64 / all as f64, libm::pow(7.0 / 8.0, ues as f64 - 1.0));
        let error = libm::sqrt(expected * (1.0 - expected) * ues as f64 / all as f64);
        assert!((share - expected).abs() < 4.0 * error, "{ues} UEs: {share} for {expected}");
    }
}

const CROWD: usize = 60;

/// A cell that grants one UE in each slot, and has 60 UEs.
fn crowd(most: Option<u32>, connection: ConnectionConfig) -> RanConfig {
    let access = UplinkAccess::SchedulingRequest {
        period: 10,
        processing: 3,
        initial_grant: Bytes(100),
        limit: most.map(|most| RequestLimit { prohibit: 0, most }),
    };
    let mut config = network(CROWD, access);
    config.cells[0].mac.uplink.grants_per_slot = 1;
    config.cells[0].connection = Some(Arc::new(connection));
    config
}

/// The data of these UEs comes at once, in all 600 packets, after one packet of each.
fn crowded<P: Probe + Default>(config: &RanConfig) -> Recorded<P> {
    let mut network = Recorded::new(config, 1);
    for ue in 0..CROWD as u32 {
        network.send(ms(10 * u64::from(ue)), ue, 100);
    }
    network.run_to(ms(1_500));
    // All are connected. Now each has ten packets, for 60 slots of first grants and more.
    for ue in 0..CROWD as u32 {
        for _ in 0..10 {
            network.send(ms(1_500), ue, 1_000);
        }
    }
    network.run_to(ms(8_000));
    network
}

#[test]
fn a_connected_ue_without_a_grant_begins_random_access_and_loses_nothing() {
    let network: Recorded = crowded(&crowd(Some(4), connection()));
    let unanswered = network.when(|step| *step == ConnectionStep::RequestsUnanswered);
    assert!(!unanswered.is_empty());
    // Four requests at intervals of 10 ms, and the opportunity after them.
    assert!(unanswered.iter().all(|at| *at >= ms(1_540)), "{:?}", unanswered[0]);
    assert_eq!(network.outbox.len(), 11 * CROWD);
    assert_eq!(network.pool.live(), network.outbox.len() + network.ran.packets_held());
}

#[test]
fn without_a_limit_ues_wait_for_their_grants() {
    let network: Recorded = crowded(&crowd(None, connection()));
    assert!(network.when(|step| *step == ConnectionStep::RequestsUnanswered).is_empty());
    assert_eq!(network.outbox.len(), 11 * CROWD);
}

/// Random access of a connected UE that fails with its only preamble releases it. The data in its bearers waits from then on,
/// whatever the time since its first connection.
#[test]
fn data_of_a_ue_that_has_lost_its_connection_waits_from_then_on() {
    let mut config = connection();
    (config.access.most_preambles, config.access.preambles) = (1, 4);
    config.t300 = Duration::from_millis(200);
    let network: Recorded = crowded(&crowd(Some(1), config));
    let (mut unanswered, mut released) = (BTreeSet::new(), BTreeMap::new());
    let mut compared = 0;
    for (at, ue, step) in &network.probe.0 {
        match *step {
            ConnectionStep::RequestsUnanswered => {
                unanswered.insert(*ue);
            }
            ConnectionStep::Released if unanswered.remove(ue) => {
                released.insert(*ue, *at);
            }
            ConnectionStep::Connected { waited, took } => {
                let Some(from) = released.remove(ue) else { continue };
                assert_eq!(waited, *at - took - from, "{ue:?}");
                compared += 1;
            }
            _ => {}
        }
    }
    assert!(compared > 0);
}

/// The cell sends the release 2 s after the connection was made, and the UE leaves it 60 ms after it has the message: two
/// packets of the UE wait for that.
#[test]
fn the_first_packet_during_a_release_begins_the_wait() {
    let mut network: Recorded = Recorded::new(&nr(1, connection()), 1);
    network.send(Instant::ZERO, 0, 100);
    network.run_to(ms(1_000));
    let connected = network.when(connects)[0];
    let sent = connected + Duration::from_millis(2_030);
    network.send(sent, 0, 100);
    network.send(sent + Duration::from_millis(5), 0, 100);
    network.run_to(ms(4_000));
    let released = network.when(|step| *step == ConnectionStep::Released)[0];
    let waits = |step: &ConnectionStep| match *step {
        ConnectionStep::Connected { waited, .. } => Some(waited),
        _ => None,
    };
    let waits: Vec<_> = network.probe.0.iter().filter_map(|(.., step)| waits(step)).collect();
    assert_eq!(waits, [Duration::ZERO, released - sent]);
    assert!(released > sent + Duration::from_millis(5), "{released:?}");
}

/// Why UEs set up connections, and how many of them lost their links.
#[derive(Default)]
struct Causes {
    data: usize,
    paging: usize,
    link_failures: usize,
}

impl Probe for Causes {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Connection).with(Topic::Handover)
    }
    fn observe(&mut self, _: Instant, event: &Event<'_>) {
        match *event {
            Event::Connection { step: ConnectionStep::Began { cause }, .. } => match cause {
                ConnectionCause::Data => self.data += 1,
                ConnectionCause::Paging => self.paging += 1,
            },
            Event::Handover { step: HandoverStep::LinkFailed { .. }, .. } => self.link_failures += 1,
            _ => {}
        }
    }
}

/// UEs with a packet every 0.7 s lose their links between cells that reach 40 m, some of them while they are released. None
/// has data in the downlink, so that none is paged.
#[test]
fn a_ue_that_loses_its_link_during_a_release_is_not_paged() {
    const UES: usize = 24;
    let mut config = road(UES);
    for cell in &mut config.cells {
        cell.tx_power = Dbm(-32.0);
        cell.mac.control_errors = true;
        cell.mac.uplink.access = sr(10);
        let inactivity = Duration::from_millis(100);
        cell.connection = Some(Arc::new(ConnectionConfig { inactivity, ..connection() }));
    }
    for (k, ue) in config.ues.iter_mut().enumerate() {
        *ue = driver(2.0 * k as f64);
    }
    let radio_link = RadioLinkConfig {
        t310: Duration::from_millis(100),
        t311: Duration::from_secs(10),
        q_rx_lev_min: Dbm(-200.0),
        ..RadioLinkConfig::default()
    };
    let handover = config.handover.as_mut().expect("cells of a road have handovers");
    handover.radio_link = Some(radio_link);
    let mut network: Recorded<Causes> = Recorded::new(&config, 1);
    for k in 0..8 {
        for ue in 0..UES as u32 {
            network.send(ms(700 * k + 23 * u64::from(ue)), ue, 100);
        }
    }
    network.run_to(ms(8_000));
    let Causes { data, paging, link_failures } = network.probe;
    assert!(data > UES && link_failures > UES, "{data} connections, {link_failures} link failures");
    assert_eq!(paging, 0);
}

/// The blocks of the uplink by UE and the time at which they have been received, how many of them are repetitions, and the
/// random accesses of connected UEs.
#[derive(Default)]
struct Blocks {
    received: BTreeMap<(Instant, UeId), usize>,
    repetitions: usize,
    accesses: usize,
}

impl Probe for Blocks {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::TransportBlock).with(Topic::Connection)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        match *event {
            Event::TransportBlock { ue, direction: Direction::Uplink, attempt, .. } => {
                *self.received.entry((now, ue)).or_default() += 1;
                self.repetitions += usize::from(attempt > 0);
            }
            Event::Connection { step: ConnectionStep::RequestsUnanswered, .. } => self.accesses += 1,
            _ => {}
        }
    }
}

impl Blocks {
    fn check_one_in_a_slot(&self) {
        let twice: Vec<_> = self.received.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "{} of {} slots: {twice:?}", twice.len(), self.received.len());
    }
}

/// A grant for slots 4, 9, 14, ... is decided 2 ms before, and that of Msg3 1 ms before.
#[test]
fn a_ue_with_a_grant_does_not_send_msg3_in_its_slot() {
    let mut connection = connection();
    connection.access.msg3_after = Duration::from_millis(1);
    connection.access.period = Duration::from_millis(1);
    let of_nr = nr(CROWD, connection.clone());
    let mut config = crowd(Some(1), connection);
    let access = config.cells[0].mac.uplink.access;
    config.cells = of_nr.cells;
    config.cells[0].mac.uplink.access = access;
    config.cells[0].mac.uplink.grants_per_slot = 1;
    (config.cells[0].mac.grant_to_pusch, config.cells[0].mac.uplink_round_trip) = (4, 6);
    crowded::<Blocks>(&config).probe.check_one_in_a_slot();
}

/// With a round trip of six slots and eight processes, a block is repeated in the slot of another process. Bursts spoil blocks.
#[test]
fn a_ue_that_repeats_a_block_does_not_send_msg3_in_its_slot() {
    let mut connection = connection();
    connection.access.period = Duration::from_millis(1);
    let mut config = crowd(Some(1), connection);
    config.cells[0].mac.uplink_round_trip = 6;
    let (good, bad) = (Duration::from_millis(20), Duration::from_millis(10));
    config.channel.uplink_bursts = Some(BurstLaw { good, bad, depth: Decibel(60.0) });
    config.ues.iter_mut().for_each(|ue| ue.start = Start::At(Position::on_ground(10_000.0, 0.0)));
    let blocks = crowded::<Blocks>(&config).probe;
    blocks.check_one_in_a_slot();
    assert!(blocks.repetitions > 500 && blocks.accesses > 500, "{} {}", blocks.repetitions, blocks.accesses);
}
