use airlane_core::{BitRate, FlowId, Seeds, Stream, UeId};

use super::*;
use crate::bench_top::BenchTop;
use crate::{Gateway, Hold, LinkParameters, Policer, RateStep};

/// A packet that left, or the number of packets dropped so far.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    Left { at_ns: u64, flow: FlowId, size: Bytes },
    Dropped { at_ns: u64, by_cause: [u64; 3] },
}

/// An observer behind the second link, and the packets that it sees.
#[derive(Default)]
struct Behind {
    seen: Vec<Seen>,
    dropped: [u64; 3],
}

impl Behind {
    fn look(&mut self, top: &mut BenchTop, at_ns: u64) {
        let causes = [DropCause::QueueFull, DropCause::QueueManagement, DropCause::RandomLoss];
        let by_cause = causes.map(|cause| top.pool.discarded(cause));
        if by_cause != self.dropped {
            self.dropped = by_cause;
            self.seen.push(Seen::Dropped { at_ns, by_cause });
        }
        let left = top.sent().into_iter();
        self.seen.extend(left.map(|(_, flow, size)| Seen::Left { at_ns, flow, size }));
    }
}

/// Times, in ns, and sizes of packets.
type Arrivals = Vec<(u64, u32)>;

fn give(top: &mut BenchTop, node: &mut dyn Node, flow: usize, (at_ns, size): (u64, u32)) {
    top.give(node, Link::INPUT, FlowId(flow as u32), size, at_ns);
}

fn of_tandem(arrivals: &Arrivals, [first, second]: [LinkParameters; 2], tunnel: Tunnel) -> Vec<Seen> {
    let (mut top, mut behind) = (BenchTop::new(), Behind::default());
    let mut tandem = Tandem::new(LinkPair::fuse(Link::new(first), tunnel, Link::new(second)));
    let mut next = 0;
    loop {
        let arrival = arrivals.get(next).map_or(u64::MAX, |arrival| arrival.0);
        let due = tandem.next_timeout().map_or(u64::MAX, Instant::as_nanos);
        let now = arrival.min(due);
        if now == u64::MAX {
            assert_eq!(tandem.packets_held(), 0);
            return behind.seen;
        }
        if due == now {
            top.call(now, |cx| tandem.handle_timeout(cx));
        } else {
            give(&mut top, &mut tandem, next, arrivals[next]);
            next += 1;
        }
        behind.look(&mut top, now);
    }
}

fn of_three(arrivals: &Arrivals, [first, second]: [LinkParameters; 2], tunnel: Tunnel) -> Vec<Seen> {
    let (mut top, mut behind) = (BenchTop::new(), Behind::default());
    let (mut first, mut second, mut gateway) = (Link::new(first), Link::new(second), Gateway::new());
    for flow in 0..arrivals.len() as u32 {
        gateway.add_flow(FlowId(flow), UeId(0));
    }
    gateway.attach(UeId(0), 0);
    let port = match tunnel {
        Tunnel::To(_) => Gateway::INTERNET,
        Tunnel::End => Gateway::enb(0),
    };
    let mut next = 0;
    loop {
        let arrival = arrivals.get(next).map_or(u64::MAX, |arrival| arrival.0);
        let [one, two] =
            [&first, &second].map(|link| link.next_timeout().map_or(u64::MAX, Instant::as_nanos));
        let now = arrival.min(one).min(two);
        if now == u64::MAX {
            assert_eq!(first.packets_held() + second.packets_held(), 0);
            return behind.seen;
        }
        if two == now {
            top.call(now, |cx| second.handle_timeout(cx));
        } else {
            if one == now {
                top.call(now, |cx| first.handle_timeout(cx));
            } else {
                give(&mut top, &mut first, next, arrivals[next]);
                next += 1;
            }
            for packet in top.packets() {
                top.call(now, |cx| gateway.handle_packet(cx, port, packet));
            }
            for packet in top.packets() {
                top.call(now, |cx| second.handle_packet(cx, Link::INPUT, packet));
            }
        }
        behind.look(&mut top, now);
    }
}

/// Bursts of packets.
fn arrivals(draws: &mut Stream, packets: usize, mean_gap_ns: f64) -> Arrivals {
    let mut now = 0;
    let mut one = || {
        // A third of the packets come together with the one before.
        now += (3.0 * mean_gap_ns * (draws.uniform() - 1.0 / 3.0).max(0.0)) as u64;
        (now, 100 + (1400.0 * draws.uniform()) as u32)
    };
    (0..packets).map(|_| one()).collect()
}

fn limited(mbps: u64, queue: u64) -> LinkParameters {
    LinkParameters {
        rate: Some(BitRate(mbps * 1_000_000)),
        delay: Duration::from_micros(700),
        queue: Some(Bytes(queue)),
        ..LinkParameters::default()
    }
}

#[test]
fn it_does_what_the_three_nodes_do() {
    let mut draws = Seeds::new(1).stream("arrivals");
    let ms = Instant::from_millis;
    let varied = || LinkParameters {
        rate_steps: vec![
            RateStep { at: ms(50), rate: BitRate(3_000_000) },
            RateStep { at: ms(90), rate: BitRate(9_000_000) },
        ],
        holds: vec![Hold { from: ms(20), until: ms(31) }],
        loss: Some(RandomLoss::new(0.1, Seeds::new(2).stream("loss"))),
        policer: Some(Policer { rate: BitRate(7_000_000), burst: Bytes(9_000) }),
        ..limited(8, 6_000)
    };
    let held = || LinkParameters { holds: vec![Hold { from: ms(60), until: ms(75) }], ..limited(9, 5_000) };
    let instant = LinkParameters::default;
    let pairs: [fn() -> [LinkParameters; 2]; 4] = [
        || [limited(10, 9_000), limited(8, 5_000)],
        || [limited(8, 9_000), limited(1_000, 5_000)],
        || [LinkParameters::default(), limited(8, 5_000)],
        || [limited(8, 5_000), LinkParameters::default()],
    ];
    for gap_ns in [300_000.0, 900_000.0, 3_000_000.0] {
        let arrivals = arrivals(&mut draws, 400, gap_ns);
        for tunnel in [Tunnel::To(CellId(0)), Tunnel::End] {
            for pair in pairs {
                assert_eq!(of_tandem(&arrivals, pair(), tunnel), of_three(&arrivals, pair(), tunnel));
            }
            for pair in [|varied, held| [varied, held], |_, held| [held, LinkParameters::default()]] {
                let [one, other] = [(), ()].map(|()| pair(varied(), held()));
                assert_eq!(of_tandem(&arrivals, one, tunnel), of_three(&arrivals, other, tunnel));
            }
            let [one, other] = [(), ()].map(|()| [instant(), instant()]);
            assert_eq!(of_tandem(&arrivals, one, tunnel), of_three(&arrivals, other, tunnel));
        }
    }
}

#[test]
fn it_overflows_where_the_second_queue_does() {
    // At 10 Mbit/s a packet of 1500 bytes takes 1.2 ms, and in the tunnel at 1 Mbit/s 12.288 ms: the first is sent, the
    // second waits, the third and the fourth find 1536 of 2000 bytes in the queue.
    let arrivals = vec![(0, 1500); 4];
    let seen = of_tandem(&arrivals, [limited(10, 9_000), limited(1, 2_000)], Tunnel::To(CellId(0)));
    let left = |flow, at_ns| Seen::Left { at_ns, flow: FlowId(flow), size: Bytes(1536) };
    let dropped = |at_ns, packets| Seen::Dropped { at_ns, by_cause: [packets, 0, 0] };
    let expected = [
        dropped(3 * 1_200_000 + 700_000, 1),
        dropped(4 * 1_200_000 + 700_000, 2),
        left(0, 1_200_000 + 700_000 + 12_288_000 + 700_000),
        left(1, 1_200_000 + 700_000 + 2 * 12_288_000 + 700_000),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn some_links_stay_nodes_of_their_own() {
    let plain = || Link::new(limited(10, 9_000));
    assert!(LinkPair::can_fuse(&plain(), &plain()));
    let lossy = LinkParameters {
        loss: Some(RandomLoss::new(0.1, Seeds::new(2).stream("loss"))),
        ..limited(10, 9_000)
    };
    assert!(LinkPair::can_fuse(&Link::new(lossy.clone()), &plain()));
    assert!(!LinkPair::can_fuse(&plain(), &Link::new(lossy)));
    let detour = crate::Detour {
        from: Instant::ZERO,
        until: Instant::from_millis(1),
        extra: Duration::from_millis(9),
    };
    let reorders = LinkParameters { detours: vec![detour], ..limited(10, 9_000) };
    assert!(!LinkPair::can_fuse(&Link::new(reorders), &plain()));
}
