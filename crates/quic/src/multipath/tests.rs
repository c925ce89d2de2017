//! Two ends over wires without a queue, one for each path, which lose datagrams in the intervals that a test says.

use std::collections::BTreeMap;

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Duration, Event, FlowId, Instant, Outbox, PacketPool, PacketRef,
    Payload, Probe, Seeds, SocketPair, SubflowStep, Topic, TopicSet,
};
use airlane_transport::Path;
use airlane_transport::mptcp::{PathNews, PathNotice};

use super::{MultipathConfig, MultipathEndpoint, MultipathScheduler, PathSetup};
use crate::{QuicConfig, QuicEvent, Role};

const CLIENT: usize = 0;
const SERVER: usize = 1;

/// The reports about the paths.
#[derive(Debug, Default, PartialEq)]
struct Heard {
    established: Vec<(u8, Instant)>,
    arrived: [u64; 3],
    again: [u64; 3],
    /// When new data arrived last.
    last: [Option<Instant>; 3],
    reinjected: u64,
    failures: Vec<(u8, Instant)>,
    restored: usize,
}

impl Probe for Heard {
    fn topics(&self) -> TopicSet {
        TopicSet::NONE.with(Topic::Subflow)
    }
    fn observe(&mut self, now: Instant, event: &Event<'_>) {
        let Event::Subflow { subflow, step, .. } = *event else { return };
        match step {
            SubflowStep::Established => self.established.push((subflow, now)),
            SubflowStep::Arrived { fresh, again, .. } => {
                self.arrived[usize::from(subflow)] += fresh.get();
                self.again[usize::from(subflow)] += again.get();
                self.last[usize::from(subflow)] = Some(now);
            }
            SubflowStep::Scheduled { bytes: Bytes(bytes), again: true, .. } => self.reinjected += bytes,
            SubflowStep::Failed => self.failures.push((subflow, now)),
            SubflowStep::Restored => self.restored += 1,
            _ => {}
        }
    }
}

/// A transfer over several wires.
#[derive(Clone)]
struct Transfer {
    bytes: u64,
    downlink: bool,
    /// Delay of each wire in ms, and the intervals in ms in which it loses everything.
    wires: Vec<(u64, Vec<(u64, u64)>)>,
    scheduler: MultipathScheduler,
    backup: Option<usize>,
    path_idle: u64,
    /// The window of the stream.
    window: u64,
    notices: Vec<(u64, usize, PathNews)>,
}

impl Transfer {
    fn new(bytes: u64, wires: &[u64]) -> Self {
        Self {
            bytes,
            downlink: true,
            wires: wires.iter().map(|ms| (*ms, vec![])).collect(),
            scheduler: MultipathScheduler::Noq,
            backup: None,
            path_idle: 15_000,
            window: 1_250_000,
            notices: vec![],
        }
    }
}

/// Its result.
#[derive(Debug, PartialEq)]
struct Outcome {
    received: u64,
    /// When the receiver had read the end.
    ended: Option<Instant>,
    /// Length and hash of all datagrams.
    sent: (usize, u64),
    heard: Heard,
    under_way: usize,
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn ends(transfer: &Transfer) -> [MultipathEndpoint; 2] {
    let seeds = Seeds::new(1);
    let path = |place: usize| PathSetup {
        sockets: SocketPair { server: 0, server_port: 443, ue_port: 10_000 + place as u16 },
        port: place as u16,
        present: true,
        backup: transfer.backup == Some(place),
    };
    let config = |is_client: bool| MultipathConfig {
        quic: QuicConfig {
            sends_data: is_client != transfer.downlink,
            stream_receive_window: Bytes(transfer.window),
            ..QuicConfig::quinn(seeds)
        },
        paths: (0..transfer.wires.len()).map(path).collect(),
        scheduler: transfer.scheduler.clone(),
        path_idle_timeout: Some(Duration::from_millis(transfer.path_idle)),
        notices: transfer
            .notices
            .iter()
            .filter(|_| is_client)
            .map(|(at, subflow, news)| PathNotice { at: ms(*at), subflow: *subflow, news: *news })
            .collect(),
    };
    let path = |direction| Path::new(FlowId(0), direction);
    [
        MultipathEndpoint::new(config(true), path(Direction::Uplink), Role::Client),
        MultipathEndpoint::new(config(false), path(Direction::Downlink), Role::Server),
    ]
}

/// Serves an event as the application of an end. Returns the bytes read, and whether the end has come.
fn serve(
    end: &mut MultipathEndpoint,
    event: QuicEvent,
    by: usize,
    left: &mut Option<u64>,
    to: &Transfer,
) -> (u64, bool) {
    let sends = (by == CLIENT) != to.downlink;
    match event {
        QuicEvent::Connected if by == CLIENT => {
            assert!(end.open());
            if sends {
                *left = Some(to.bytes);
            } else {
                end.write(1);
                end.finish();
            }
        }
        QuicEvent::Readable(_) => {
            let read = end.read();
            if !sends {
                return (read.bytes, read.at_end);
            }
            if read.at_end {
                *left = Some(to.bytes);
            }
        }
        QuicEvent::Finished(_) if sends && by == CLIENT => return (0, true),
        _ => {}
    }
    (0, false)
}

fn run(transfer: &Transfer) -> Outcome {
    let mut ends = ends(transfer);
    let (mut pool, mut heard, mut outbox) = (PacketPool::default(), Heard::default(), Outbox::new());
    let mut wire: BTreeMap<(Instant, usize), (usize, PacketRef)> = BTreeMap::new();
    let mut outcome =
        Outcome { received: 0, ended: None, sent: (0, 0), heard: Heard::default(), under_way: 0 };
    let (mut now, mut left, mut begun) = (Instant::ZERO, None, false);
    while now < ms(60_000) {
        let arrived = wire.first_key_value().is_some_and(|((at, _), _)| *at == now);
        let packet = if arrived { wire.pop_first().map(|(_, packet)| packet) } else { None };
        let topics = heard.topics();
        let mut cx = Cx { now, pool: &mut pool, outbox: &mut outbox, topics, probe: &mut heard };
        if !core::mem::replace(&mut begun, true) {
            ends[CLIENT].connect(&cx);
        }
        if let Some((to, packet)) = packet {
            let packet = cx.pool.consume(packet);
            let Payload::Bytes(datagram) = packet.payload else { panic!("real bytes") };
            let place = ends[to].place_of_port(packet.sockets.ue_port).unwrap();
            ends[to].handle_datagram(&mut cx, place, packet.ecn, datagram);
        }
        for by in [CLIENT, SERVER] {
            ends[by].handle_timeout(&cx);
            while let Some(event) = ends[by].poll(&mut cx) {
                let (bytes, at_end) = serve(&mut ends[by], event, by, &mut left, transfer);
                outcome.received += bytes;
                if at_end {
                    if (by == SERVER) != transfer.downlink {
                        outcome.ended.get_or_insert(now);
                    }
                    if by == CLIENT {
                        ends[by].close(&cx);
                    }
                }
            }
            if let Some(bytes) = left.filter(|_| (by == CLIENT) != transfer.downlink) {
                left = Some(bytes - ends[by].write(bytes)).filter(|left| *left > 0);
                if left.is_none() {
                    ends[by].finish();
                }
            }
            ends[by].flush(&mut cx);
            for (port, packet) in core::mem::take(cx.outbox) {
                let Payload::Bytes(datagram) = &cx.pool.get(&packet).payload else { panic!("bytes") };
                let hash = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
                outcome.sent = (outcome.sent.0 + 1, datagram.iter().fold(outcome.sent.1, hash));
                let (delay, lost) = &transfer.wires[usize::from(port)];
                if lost.iter().any(|(from, until)| (ms(*from)..ms(*until)).contains(&now)) {
                    cx.pool.discard(packet, DropCause::RandomLoss);
                } else {
                    wire.insert((now + Duration::from_millis(*delay), outcome.sent.0), (1 - by, packet));
                }
            }
        }
        let arrival = wire.first_key_value().map_or(Instant::FAR_FUTURE, |((at, _), _)| *at);
        now = arrival.min(ends[CLIENT].next_timeout()).min(ends[SERVER].next_timeout());
    }
    (outcome.heard, outcome.under_way) = (heard, pool.live());
    outcome
}

/// Both directions: all bytes arrive, over both paths, the same in two runs.
#[test]
fn a_transfer_uses_both_paths_and_repeats() {
    for downlink in [true, false] {
        for scheduler in [
            MultipathScheduler::Noq,
            MultipathScheduler::MinRtt,
            MultipathScheduler::RoundRobin,
            MultipathScheduler::Weighted(vec![3, 1]),
        ] {
            let transfer = Transfer { downlink, scheduler, ..Transfer::new(3_000_000, &[20, 30]) };
            let outcome = run(&transfer);
            println!("{downlink} {:?}: {outcome:?}", transfer.scheduler);
            assert_eq!((outcome.received, outcome.under_way), (3_000_000, 0));
            assert_eq!(outcome.heard.arrived.iter().sum::<u64>(), 3_000_000);
            assert_eq!(outcome.heard.established.len(), 2);
            assert!(outcome.heard.arrived[..2].iter().all(|bytes| *bytes > 100_000));
            assert!(outcome.ended.is_some_and(|at| at < ms(3_000)));
            assert_eq!(outcome, run(&transfer));
        }
    }
}

/// A backup sends nothing, until the other path is lost.
#[test]
fn a_backup_sends_when_the_other_path_is_given_up() {
    let backup = Transfer { backup: Some(1), path_idle: 2_000, ..Transfer::new(3_000_000, &[20, 30]) };
    let outcome = run(&backup);
    assert_eq!((outcome.received, outcome.heard.arrived), (3_000_000, [3_000_000, 0, 0]));
    let mut lost = Transfer { bytes: 30_000_000, ..backup };
    lost.wires[0].1 = vec![(500, 60_000)];
    let outcome = run(&lost);
    println!("{outcome:?}");
    assert_eq!(outcome.received, 30_000_000);
    assert!(outcome.heard.arrived[1] > 1_000_000 && outcome.heard.failures[0].0 == 0);
}

/// The first path is lost between 0.5 s and 8 s: without a notice until its idle timeout, with one after it, and used again.
#[test]
fn a_path_that_is_lost_costs_no_byte() {
    for (path_idle, notices) in [
        (2_000, vec![]),
        (15_000, vec![(600, 0, PathNews::Ended), (8_100, 0, PathNews::Began { port: 0 })]),
        (
            15_000,
            vec![
                (400, 0, PathNews::Ending),
                (600, 0, PathNews::Ended),
                (8_100, 0, PathNews::Began { port: 0 }),
            ],
        ),
    ] {
        for downlink in [true, false] {
            let mut transfer = Transfer {
                path_idle,
                downlink,
                notices: notices.clone(),
                ..Transfer::new(45_000_000, &[20, 30])
            };
            (transfer.scheduler, transfer.window) = (MultipathScheduler::MinRtt, 200_000);
            transfer.wires[0].1 = vec![(500, 8_000)];
            let outcome = run(&transfer);
            println!("{downlink} {path_idle} {}: {outcome:?}", notices.len());
            assert_eq!((outcome.received, outcome.under_way), (45_000_000, 0));
            assert!(outcome.heard.last[0] > Some(ms(9_000)), "it is used again");
            assert!(outcome.heard.established.iter().filter(|(path, _)| *path == 0).count() > 1);
        }
    }
}

/// The second path comes back when the first is lost, which was the last one: it is given up then, and not 15 s later. At 200 kB
/// per round trip, the second path takes 6 s even for all of the 20 MB.
#[test]
fn the_last_path_is_given_up_when_another_is_there() {
    for downlink in [true, false] {
        let mut transfer = Transfer {
            downlink,
            notices: vec![
                (600, 1, PathNews::Ended),
                (2_600, 0, PathNews::Ended),
                (2_600, 1, PathNews::Began { port: 1 }),
            ],
            ..Transfer::new(20_000_000, &[20, 30])
        };
        (transfer.scheduler, transfer.window) = (MultipathScheduler::MinRtt, 200_000);
        (transfer.wires[0].1, transfer.wires[1].1) = (vec![(2_500, 60_000)], vec![(500, 2_500)]);
        let outcome = run(&transfer);
        println!("{downlink}: {outcome:?}");
        assert_eq!((outcome.received, outcome.under_way), (20_000_000, 0));
        assert!(outcome.ended.is_some_and(|at| at < ms(2_600 + 6_000 + 1_000)), "{:?}", outcome.ended);
    }
}

/// RFC 9002 §7.7: packets with nothing but ACK frames are not paced. On another path than before, they would change the round trip
/// of the path that they are about, and HyStart would end slow start. From 12 kB, eleven round trips of 80 ms take it to 20 MB.
#[test]
fn acknowledgments_do_not_end_slow_start() {
    for downlink in [true, false] {
        let mut transfer = Transfer { downlink, ..Transfer::new(20_000_000, &[60, 20]) };
        (transfer.scheduler, transfer.window) = (MultipathScheduler::MinRtt, 4_000_000);
        let outcome = run(&transfer);
        assert_eq!((outcome.received, outcome.under_way), (20_000_000, 0));
        assert!(outcome.ended.is_some_and(|at| at < ms(2_000)), "{:?}", outcome.ended);
    }
}
