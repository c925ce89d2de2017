//! UEs that sleep: DRX, and connections on demand.

use std::sync::Arc;

use airlane_core::{ConnectionCause, ConnectionStep, Duration, RrcState};

use super::world::{World, road};
use super::*;
use crate::config::DrxConfig;
use crate::energy::Phase;
use crate::rrc::connection::{ConnectionConfig, RrcMessage};
use crate::rrc::contention::{ContentionConfig, Detection};

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn long(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(super) fn drx() -> DrxConfig {
    DrxConfig {
        on_duration: long(10),
        inactivity: long(100),
        long_cycle: long(320),
        short: None,
        retransmission: [long(8), long(8)],
        command: false,
    }
}

pub(super) fn connection() -> ConnectionConfig {
    let message = |direction, bytes, after| RrcMessage { direction, bytes, after: long(after) };
    let messages = [
        message(Direction::Uplink, 7, 0),
        message(Direction::Downlink, 32, 4),
        message(Direction::Uplink, 33, 15),
        message(Direction::Downlink, 141, 50),
        message(Direction::Uplink, 13, 20),
    ];
    ConnectionConfig {
        released: RrcState::Idle,
        inactivity: long(2_000),
        paging_cycle: long(1_280),
        paging_listen: long(2),
        paging_delay: long(20),
        messages: messages.to_vec(),
        release_bytes: 12,
        t300: long(1_000),
        t3417: long(5_000),
        access: ContentionConfig {
            period: long(10),
            preambles: 54,
            response_after: long(4),
            window: long(10),
            responses: 3,
            msg3_after: long(6),
            resolution: long(48),
            backoff: long(20),
            most_preambles: 10,
            detection: Detection::Certain,
            message_a: None,
        },
    }
}

fn sleeping(ues: usize, drx: Option<DrxConfig>, connection: Option<ConnectionConfig>) -> RanConfig {
    let mut config = network(ues, sr(10));
    (config.cells[0].drx, config.cells[0].connection) = (drx, connection.map(Arc::new));
    config
}

#[test]
fn a_packet_waits_for_the_on_duration_and_the_next_does_not() {
    let mut d = Driver::new(&sleeping(1, Some(drx()), None));
    let mut late = 0;
    for second in 1..100 {
        // Each second has another phase of the cycle: 1000 is 3 · 320 + 40.
        d.send(ms(second * 1_000), 0, Direction::Downlink, 1_000);
        d.run_to(ms(second * 1_000 + 340));
        d.send(ms(second * 1_000 + 350), 0, Direction::Downlink, 1_000);
        d.run_to(ms(second * 1_000 + 900));
        let [.., first, second] = d.arrived[..] else { panic!("both arrive") };
        assert!(first.2 < 316.0, "{} ms is more than a cycle", first.2);
        // 350 ms after the first was sent, and at most 100 ms after it was received if it was late.
        assert!(second.2 < 6.0 || first.2 < 250.0, "{} and {} ms", first.2, second.2);
        late += u32::from(first.2 > 20.0);
    }
    assert!((85..=99).contains(&late), "{late} of 99 waited");
    d.conserved();
}

/// Uplink data never waits for DRX.
#[test]
fn a_request_wakes_the_ue() {
    let mut d = Driver::new(&sleeping(1, Some(drx()), None));
    for k in 1..50 {
        d.send(ms(k * 1_037), 0, Direction::Uplink, 100);
    }
    d.run_to(ms(60_000));
    assert_eq!(d.arrived.len(), 49);
    assert!(d.arrived.iter().all(|arrived| arrived.2 < 40.0), "{:?}", d.arrived);
}

#[test]
fn drx_sleeps_between_on_durations_and_costs_no_slots() {
    let mut d = Driver::new(&sleeping(1, Some(drx()), None));
    d.run_to(ms(32_000));
    assert_eq!(d.ran.next_timeout(), None);
    let energy = d.ran.energy(UeId(0), ms(32_000)).expect("it is counted");
    // The on-duration of the first cycle may be cut off by the start of the run.
    let listened = energy.listened().as_millis_f64();
    assert!((990.0..=1_000.0).contains(&listened), "{listened}");
    assert_eq!(energy.total(), long(32_000));
}

#[test]
fn data_for_a_released_ue_is_paged_and_that_from_one_is_not() {
    let mut d = Driver::new(&sleeping(2, Some(drx()), Some(connection())));
    for k in 0..40 {
        d.send(ms(k * 4_037), 0, Direction::Downlink, 500);
        d.send(ms(k * 4_037), 1, Direction::Uplink, 500);
    }
    d.run_to(ms(200_000));
    assert_eq!(d.arrived.len(), 80);
    d.conserved();
    let delays = |flow: u32| d.arrived.iter().filter(move |one| one.3 == FlowId(flow)).map(|one| one.2);
    let extremes = |flow: u32| (delays(flow).fold(f64::MAX, f64::min), delays(flow).fold(0.0, f64::max));
    let (paged, own) = (extremes(0), extremes(1));
    // Random access and messages take 4 + 15 + 50 + 20 ms and some ten milliseconds on the air, paging up to 1280 ms more.
    assert!(paged.0 > 110.0 && paged.1 < 20.0 + 1_280.0 + 200.0, "{paged:?}");
    assert!(own.0 > 110.0 && own.1 < 200.0, "{own:?}");
    let energy = d.ran.energy(UeId(1), ms(200_000)).expect("it is counted");
    assert_eq!(energy.total(), long(200_000));
    let connected = energy.spent(Phase::Connected).as_secs_f64();
    assert!((80.0..100.0).contains(&connected), "40 times 2 s and the wait for an on-duration: {connected}");
}

/// What two UEs of a network did.
#[derive(Default)]
pub(super) struct Steps(pub(super) Vec<(Instant, UeId, ConnectionStep)>);

impl Probe for Steps {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Connection)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        if let Event::Connection { ue, step, .. } = *event {
            self.0.push((now, ue, step));
        }
    }
}

#[test]
fn ues_with_one_preamble_collide_until_their_backoffs_part_them() {
    let mut own = connection();
    own.access.preambles = 1;
    own.access.backoff = long(100);
    let mut ran = RadioNetwork::new(&sleeping(2, None, Some(own)), Seeds::new(3));
    let (mut pool, mut outbox, mut steps) = (PacketPool::default(), Outbox::new(), Steps::default());
    let topics = steps.topics();
    for ue in 0..2 {
        let now = ms(5);
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(FlowId(ue), Direction::Uplink, header, Payload::Length(100), now);
        let packet = pool.insert(packet);
        let port = ran.ue_port(ue as usize);
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut steps };
        ran.handle_packet(&mut cx, port, packet);
    }
    while let Some(now) = ran.next_timeout().filter(|now| *now < ms(3_000)) {
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut steps };
        ran.handle_timeout(&mut cx);
    }
    assert_eq!(outbox.len(), 2);
    let of = |kind: &dyn Fn(&ConnectionStep) -> bool| steps.0.iter().filter(|one| kind(&one.2)).count();
    assert_eq!(of(&|step| *step == ConnectionStep::Began { cause: ConnectionCause::Data }), 2);
    assert!(of(&|step| matches!(step, ConnectionStep::Preamble { collides: true, .. })) >= 2);
    assert_eq!(of(&|step| matches!(step, ConnectionStep::Connected { .. })), 2);
    // The first preambles are sent in the occasion at 11 ms, and were lost at the end of the window.
    let second = steps.0.iter().find(|one| matches!(one.2, ConnectionStep::Preamble { number: 2, .. }));
    assert!(second.is_some_and(|one| one.0 >= ms(25)), "{second:?}");
}

/// A UE out of reach gives up at T300, and its packets wait.
#[test]
fn a_ue_that_no_cell_hears_tries_again_and_loses_nothing() {
    let mut config = sleeping(1, None, Some(connection()));
    config.ues[0].start = Start::At(Position::on_ground(3_000_000.0, 0.0));
    let mut d = Driver::new(&config);
    for k in 0..5 {
        d.send(ms(10 + k), 0, Direction::Uplink, 500);
    }
    d.run_to(ms(30_000));
    assert!(d.arrived.is_empty());
    assert_eq!(d.ran.packets_held(), 5);
    d.conserved();
}

/// UEs that drive through three cells, with handovers and link failures, and are released between packets.
#[test]
fn ues_that_move_while_they_sleep_lose_nothing() {
    let mut config = road(4);
    for cell in &mut config.cells {
        cell.mac.uplink.access = sr(10);
        cell.drx = Some(drx());
        cell.connection = Some(Arc::new(ConnectionConfig { inactivity: long(300), ..connection() }));
    }
    let mut world = World::new(&config);
    let mut draws = Seeds::new(5).stream("packets");
    let (mut now, mut sent) = (ms(0), 0);
    for _ in 0..400 {
        now += long(draws.below(40));
        let ue = draws.below(4) as u32;
        let direction = if draws.chance(0.5) { Direction::Downlink } else { Direction::Uplink };
        world.send(now, (UeId(ue), FlowId(ue)), direction);
        sent += 1;
        world.conserved();
        if draws.chance(0.02) {
            now += long(1_500);
        }
    }
    let handovers = world.handovers.arrived;
    world.run_to(now + long(1_000));
    world.conserved();
    let causes = airlane_core::DropCause::ALL.map(|cause| (cause, world.pool.discarded(cause)));
    let dropped: u64 = causes.iter().map(|(_, count)| count).sum();
    println!("{} of {sent} arrived, {handovers} handovers, dropped: {causes:?}", world.arrived.len());
    assert!(handovers > 4, "{handovers}");
    assert_eq!(world.arrived.len() + world.ran.packets_held() + dropped as usize, sent);
    assert!(world.arrived.len() > sent / 2, "{} of {sent}", world.arrived.len());
}
