//! Links to the only cell as a part of the network, and as a node of their own: the same events in the same order.

use airlane_core::{BitRate, PacketRef, Port, Stream};
use airlane_net::{Aqm, Link, LinkPair, LinkParameters, RandomLoss, Tandem, Tunnel, codel, red};

use super::*;

/// A packet that left the network, or was dropped: when, by which flow, when it was sent, and its port or cause.
type Seen = (Instant, FlowId, Instant, Result<Port, DropCause>);

#[derive(Default)]
struct Drops(Vec<Seen>);

impl Probe for Drops {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Dropped)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        if let Event::Dropped { packet, cause } = event {
            self.0.push((now, packet.flow, packet.sent_at, Err(*cause)));
        }
    }
}

/// The network, the links before it if they are a node, and what was seen.
struct Path {
    links: Option<Tandem>,
    ran: RadioNetwork,
    pool: PacketPool,
    seen: Drops,
    calls: u32,
}

impl Path {
    fn call(&mut self, now: Instant, to_ran: bool, act: impl FnOnce(&mut dyn Node, &mut Cx<'_>)) {
        let (mut outbox, topics) = (Outbox::new(), self.seen.topics());
        let mut cx = Cx { now, pool: &mut self.pool, outbox: &mut outbox, topics, probe: &mut self.seen };
        self.calls += 1;
        match &mut self.links {
            Some(links) if !to_ran => act(links, &mut cx),
            _ => act(&mut self.ran, &mut cx),
        }
        for (port, packet) in outbox {
            if to_ran || self.links.is_none() {
                let packet = self.pool.consume(packet);
                self.seen.0.push((now, packet.flow, packet.sent_at, Ok(port)));
            } else {
                self.leave_links(now, packet);
            }
        }
    }

    fn leave_links(&mut self, now: Instant, packet: PacketRef) {
        let port = self.ran.s1u_port(0);
        self.call(now, true, |ran, cx| ran.handle_packet(cx, port, packet));
    }

    fn run_to(&mut self, end: Instant) {
        loop {
            let ran = self.ran.next_timeout().unwrap_or(Instant::FAR_FUTURE);
            let links = self.links.as_ref().and_then(Node::next_timeout).unwrap_or(Instant::FAR_FUTURE);
            if ran.min(links) > end {
                return;
            }
            // At one instant the links come first.
            self.call(ran.min(links), ran < links, |node, cx| node.handle_timeout(cx));
        }
    }

    fn send(&mut self, now: Instant, direction: Direction, flow: u32, payload: u32) {
        self.run_to(now);
        let header = Header::Udp(UdpHeader::default());
        let packet = Packet::new(FlowId(flow), direction, header, Payload::Length(payload), now);
        let packet: PacketRef = self.pool.insert(packet);
        match direction {
            Direction::Downlink => {
                let port = if self.links.is_some() { Link::INPUT } else { RadioNetwork::BACKHAUL };
                self.call(now, false, |node, cx| node.handle_packet(cx, port, packet));
            }
            Direction::Uplink => {
                let port = self.ran.ue_port(flow as usize);
                self.call(now, true, |ran, cx| ran.handle_packet(cx, port, packet));
            }
        }
    }
}

fn links(delays_us: [u64; 2]) -> LinkPair {
    let link = |mbits: u64, delay_us, queue, loss| {
        let (rate, delay) = (Some(BitRate(1_000_000 * mbits)), Duration::from_nanos(1_000 * delay_us));
        Link::new(LinkParameters {
            rate,
            delay,
            queue: Some(Bytes(queue)),
            loss,
            ..LinkParameters::default()
        })
    };
    let stream: Stream = Seeds::new(5).stream("loss");
    let first = link(200, delays_us[0], 60_000, Some(RandomLoss::new(0.01, stream)));
    LinkPair::fuse(first, Tunnel::To(CellId(0)), link(150, delays_us[1], 20_000, None))
}

/// Bursts of downlink packets with pauses, and single uplink packets, for 400 ms.
fn play(path: &mut Path) {
    let mut stream = Seeds::new(6).stream("arrivals");
    let (mut now, end) = (Instant::ZERO, Instant::from_millis(400));
    while now < end {
        now += Duration::from_nanos(match stream.below(120) {
            0 => 20_000_000,
            1..4 => 1_000_000,
            _ => stream.below(60_000),
        });
        match stream.below(10) {
            0 => path.send(now, Direction::Uplink, stream.below(3) as u32, 40),
            // The last flow has no UE.
            k => path.send(now, Direction::Downlink, (k % 4) as u32, 100 + stream.below(1_300) as u32),
        }
    }
    path.run_to(end + Duration::from_millis(500));
    let held = path.ran.packets_held() + path.links.as_ref().map_or(0, Node::packets_held);
    assert_eq!(path.pool.live(), held);
}

fn processing_of(us: u64) -> ProcessingTimes {
    let [enb_transmit, ue_receive, ue_transmit, enb_receive] =
        [3, 2, 4, 1].map(|times| Duration::from_micros(us * times));
    ProcessingTimes { enb_transmit, ue_receive, ue_transmit, enb_receive }
}

#[test]
fn links_within_the_network_change_no_event() {
    let red = red::Parameters { min_threshold: 2.0, max_threshold: 8.0, ..red::Parameters::default() };
    let queues = [Aqm::DropTail, Aqm::CoDel(codel::Parameters::default()), Aqm::Red(red)];
    let paths = [([2_000, 700], 0), ([0, 0], 0), ([100, 5_000], 0), ([2_000, 700], 300), ([0, 0], 1_000)];
    let throttles = [None, Some(ThrottleBy::Share), Some(ThrottleBy::Queue)];
    let of_throttle = throttles.map(|by| (Aqm::DropTail, paths[3], by));
    let cases = queues.into_iter().flat_map(|aqm| paths.map(|path| (aqm, path, None)));
    for (aqm, (delays_us, processing_us), by) in cases.chain(of_throttle) {
        let mut config = network(3, IDEAL);
        // Every UE but the first begins an episode, or is in one.
        config.cells[0].early_throttling = by.map(|by| ThrottleConfig {
            bearers: 1,
            within: Duration::from_millis(1),
            ramp: Duration::from_millis(20),
            hold: Duration::from_millis(200),
            by,
        });
        config.cells[0].processing = processing_of(processing_us);
        config.cells[0].resource_blocks = 25;
        config.cells[0].bearer.buffer = Bytes(20_000);
        config.cells[0].bearer.aqm = aqm;
        let mut paths = [false, true].map(|contained| {
            let mut ran = RadioNetwork::new(&config, Seeds::new(1));
            assert!(ran.can_contain_backhaul());
            let tandem = if contained {
                ran.contain_backhaul(links(delays_us));
                None
            } else {
                Some(Tandem::new(links(delays_us)))
            };
            Path { links: tandem, ran, pool: PacketPool::default(), seen: Drops::default(), calls: 0 }
        });
        paths.iter_mut().for_each(play);
        let [apart, contained] = &paths;
        for cause in [DropCause::RandomLoss, DropCause::QueueFull, DropCause::NoRoute] {
            assert!(apart.seen.0.iter().any(|seen| seen.3 == Err(cause)), "{cause:?}");
        }
        assert!(apart.seen.0.iter().filter(|seen| seen.3.is_ok()).count() > 500);
        assert_eq!(apart.seen.0, contained.seen.0, "{aqm:?} {delays_us:?} {processing_us} {by:?}");
        assert!(contained.calls < apart.calls, "{} calls, {} without", contained.calls, apart.calls);
    }
}
