//! Random access by hand: in two steps, and of connected UEs whose scheduling requests are not answered.

use std::sync::Arc;

use airlane_core::{ConnectionStep, Duration};

use super::sleep::{Steps, connection};
use super::*;
use crate::config::RequestLimit;
use crate::numerology::{Duplex, Numerology, TddPattern};
use crate::rrc::connection::ConnectionConfig;
use crate::rrc::contention::MessageA;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn long(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A network with connections, whose steps are recorded.
struct Recorded {
    ran: RadioNetwork,
    pool: PacketPool,
    outbox: Outbox,
    steps: Steps,
}

impl Recorded {
    fn new(config: &RanConfig) -> Self {
        let ran = RadioNetwork::new(config, Seeds::new(3));
        Self { ran, pool: PacketPool::default(), outbox: Outbox::new(), steps: Steps::default() }
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
        let Self { ran, pool, outbox, steps } = self;
        let topics = steps.topics();
        f(ran, &mut Cx { now, pool, outbox, topics, probe: steps });
    }

    /// When a step was taken.
    fn when(&self, kind: impl Fn(&ConnectionStep) -> bool) -> Vec<Instant> {
        self.steps.0.iter().filter(|(.., step)| kind(step)).map(|(at, ..)| *at).collect()
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
/// allows Msg3 from 12 ms on, which is slot 24, with an uplink. In two steps, the PUSCH is sent from 3 ms on, in slot 9,
/// at 4.5 ms: 7.5 ms earlier. All later messages are the same, but wait for slots of a pattern of 2.5 ms, of which 7.5 ms
/// are three.
#[test]
fn two_steps_save_the_response_and_the_wait_for_its_grant() {
    let set_up = |config| {
        let mut network = Recorded::new(&nr(1, config));
        network.send(Instant::ZERO, 0, 100);
        network.run_to(ms(500));
        assert_eq!(network.when(is_preamble), [ms(2)]);
        network.when(connects)[0]
    };
    let (four, two) = (set_up(connection()), set_up(two_steps(MESSAGE_A)));
    assert_eq!((four - two).as_millis_f64(), 7.5, "{four:?} and {two:?}");
}

/// Two UEs with one preamble for MsgA collide twice, then part with 54 preambles of four steps. The PUSCH of the first
/// MsgA would be in slot 9, so that its window ends at 4.5 + 10 ms.
#[test]
fn after_the_last_message_a_access_has_four_steps() {
    let mut config = two_steps(MessageA { preambles: 1, ..MESSAGE_A });
    config.access.backoff = Duration::ZERO;
    let mut network = Recorded::new(&nr(2, config));
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
            let mut config = two_steps(MESSAGE_A);
            config.access.backoff = long(100);
            let mut network = Recorded::new(&nr(ues, config));
            network.ran = RadioNetwork::new(&nr(ues, two_steps(MESSAGE_A)), Seeds::new(seed));
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

/// A cell that grants one UE in each slot, to eight UEs that have just connected, and one more with a limit of its
/// requests.
fn crowded(most: Option<u32>) -> (Recorded, usize) {
    const UES: usize = 60;
    let access = UplinkAccess::SchedulingRequest {
        period: 10,
        processing: 3,
        initial_grant: Bytes(100),
        limit: most.map(|most| RequestLimit { prohibit: 0, most }),
    };
    let mut config = network(UES, access);
    config.cells[0].mac.uplink.grants_per_slot = 1;
    config.cells[0].connection = Some(Arc::new(connection()));
    let mut network = Recorded::new(&config);
    for ue in 0..UES as u32 {
        network.send(ms(10 * u64::from(ue)), ue, 100);
    }
    network.run_to(ms(1_500));
    // All are connected. Now each has ten packets, for 60 slots of first grants and more.
    for ue in 0..UES as u32 {
        for _ in 0..10 {
            network.send(ms(1_500), ue, 1_000);
        }
    }
    network.run_to(ms(8_000));
    (network, UES)
}

#[test]
fn a_connected_ue_without_a_grant_begins_random_access_and_loses_nothing() {
    let (network, ues) = crowded(Some(4));
    let unanswered = network.when(|step| *step == ConnectionStep::RequestsUnanswered);
    assert!(!unanswered.is_empty());
    // Four requests at intervals of 10 ms, and the opportunity after them.
    assert!(unanswered.iter().all(|at| *at >= ms(1_540)), "{:?}", unanswered[0]);
    assert_eq!(network.outbox.len(), 11 * ues);
    assert_eq!(network.pool.live(), network.outbox.len() + network.ran.packets_held());
}

#[test]
fn without_a_limit_ues_wait_for_their_grants() {
    let (network, ues) = crowded(None);
    assert!(network.when(|step| *step == ConnectionStep::RequestsUnanswered).is_empty());
    assert_eq!(network.outbox.len(), 11 * ues);
}
