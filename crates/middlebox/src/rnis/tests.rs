use airlane_core::{Bytes, Duration, Outbox, PacketPool, Seeds, Silence, TopicSet};
use airlane_net::rni::{Consumer, Unused, ue_address};

use super::*;

/// A service, and its notifications so far: time, receiver, bytes.
struct Bench {
    service: Rnis,
    pool: PacketPool,
    to_ran: Vec<Subscription>,
    to_servers: Vec<(Instant, FlowId, Vec<u8>)>,
}

impl Bench {
    fn new(fault: Option<RnisFault>) -> Self {
        let chance = Seeds::new(1).stream("fault");
        let service = Rnis::new(fault.map(|fault| (fault, chance)));
        Self { service, pool: PacketPool::default(), to_ran: vec![], to_servers: vec![] }
    }

    fn call(&mut self, now: Instant, act: impl FnOnce(&mut Rnis, &mut Cx<'_>)) {
        let (mut outbox, mut silence) = (Outbox::new(), Silence);
        let mut cx = Cx {
            now,
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut silence,
        };
        act(&mut self.service, &mut cx);
        for (port, packet) in outbox {
            let packet = self.pool.consume(packet);
            let Payload::Bytes(bytes) = packet.payload else { panic!("messages are bytes") };
            if port == Rnis::RAN {
                self.to_ran.push(Subscription::decode(&bytes).unwrap());
            } else {
                self.to_servers.push((now, packet.flow, bytes.into()));
            }
        }
    }

    fn give(&mut self, ms: u64, port: Port, bytes: Vec<u8>) {
        self.call(Instant::from_millis(ms), |service, cx| {
            let packet = rni::packet(cx, FlowId(0), bytes);
            service.handle_packet(cx, port, packet);
        });
    }

    fn subscribe(&mut self, ms: u64, flow: u32, until: Option<u64>) {
        let until = until.map(Instant::from_millis);
        let asked = Subscription { flow: FlowId(flow), ue: ue_address(0), until };
        self.give(ms, Rnis::SERVERS, asked.encode());
    }

    fn say(&mut self, ms: u64) {
        self.give(ms, Rnis::RAN, record(ms).encode(0));
    }

    fn said(&self, flow: u32) -> Vec<u64> {
        let consumer = Consumer::new(FlowId(flow), ue_address(0));
        let own = self.to_servers.iter().filter(|(_, to, _)| to.0 == flow);
        own.filter_map(|(at, _, bytes)| consumer.accept(bytes, *at).ok())
            .map(|record| record.measured_at.as_nanos() / 1_000_000)
            .collect()
    }
}

fn record(ms: u64) -> UeRecord {
    let measured_at = Instant::from_millis(ms);
    UeRecord { measured_at, ue: ue_address(0), block: Bytes(2292), ..UeRecord::default() }
}

#[test]
fn subscribers_get_copies_until_they_leave() {
    let mut bench = Bench::new(None);
    bench.say(1); // no subscription
    bench.subscribe(2, 7, None);
    bench.subscribe(3, 8, Some(20));
    bench.say(10);
    bench.say(20); // the second has expired
    bench.subscribe(25, 7, Some(25));
    bench.say(30);
    assert_eq!((bench.said(7), bench.said(8)), (vec![10, 20], vec![10]));
    let wanted: Vec<bool> = bench.to_ran.iter().map(|asked| asked.until.is_none()).collect();
    assert_eq!(wanted, [true, true, false]);
    assert_eq!(bench.pool.live(), 0);
}

#[test]
fn the_last_to_expire_stops_the_enbs() {
    let mut bench = Bench::new(None);
    bench.subscribe(0, 7, Some(15));
    bench.say(10);
    bench.say(20);
    assert_eq!(bench.said(7), [10]);
    assert_eq!(bench.to_ran.last().unwrap().until, Some(Instant::from_millis(20)));
}

#[test]
fn faults_are_what_they_are_called() {
    let ms = Instant::from_millis;
    let run = |fault| {
        let mut bench = Bench::new(Some(fault));
        bench.subscribe(0, 7, None);
        (1..=100).for_each(|n| bench.say(10 * n));
        while let Some(at) = bench.service.next_timeout() {
            bench.call(at, |service, cx| service.handle_timeout(cx));
        }
        assert_eq!(bench.pool.live(), 0);
        bench
    };
    let silent = run(RnisFault::Silent { from: ms(200), until: ms(900) }).said(7);
    assert_eq!((silent.len(), silent[18], silent[19]), (30, 190, 900));
    let late = run(RnisFault::Late { from: ms(500), by: Duration::from_millis(300) });
    let delays: Vec<u64> = late.to_servers.iter().map(|(at, ..)| at.as_nanos() / 1_000_000).collect();
    assert_eq!((delays.len(), delays[48], delays[49], delays[99]), (100, 490, 800, 1300));
    let reordered = run(RnisFault::Reorders(0.5)).said(7);
    assert!(!reordered.is_sorted());
    assert!(reordered.len() >= 99);
    assert_eq!(run(RnisFault::WrongUe { from: ms(510) }).said(7).len(), 50);
    let nonsense = run(RnisFault::Nonsense(1.0));
    assert_eq!(nonsense.to_servers.len(), 100);
    // A change of bytes may be irrelevant, for example in the name of a network.
    assert!(nonsense.said(7).len() < 10, "{}", nonsense.said(7).len());
    let consumer = Consumer::new(FlowId(7), ue_address(0));
    let wrong = run(RnisFault::WrongUe { from: ms(0) });
    assert!(
        wrong.to_servers.iter().all(|(at, _, bytes)| consumer.accept(bytes, *at) == Err(Unused::OtherUe))
    );
}

#[test]
fn strangers_are_not_listened_to() {
    let mut bench = Bench::new(None);
    bench.give(0, Rnis::SERVERS, b"hello".to_vec());
    bench.give(0, Rnis::RAN, vec![]);
    bench.give(0, Rnis::RAN, record(0).encode(1));
    assert!(bench.to_ran.is_empty() && bench.to_servers.is_empty());
    assert_eq!(bench.pool.discarded(DropCause::Endpoint), 2);
}
