//! Two connections whose segments a test may change, hold back or repeat.

use std::collections::VecDeque;

use airlane_core::{
    Cx, Direction, Duration, FlowId, Header, Instant, MptcpOption, Packet, PacketPool, Seeds, Silence,
    SocketPair, TcpFlags, TopicSet,
};

use super::{MptcpConnection, MptcpSettings, PathNews, PathNotice, SchedulerKind, SubflowPath};
use crate::{ConnectionState, TcpConfig};

const HOST: usize = 0;
const SERVER: usize = 1;
const SECOND: [u8; 4] = [10, 5, 0, 1];

/// The ends, and the segments on their way with the end that receives them.
struct Pair {
    now: Instant,
    pool: PacketPool,
    ends: [MptcpConnection; 2],
    wire: VecDeque<(usize, Packet)>,
    /// The segments that the ends have sent, with their sender.
    seen: Vec<(usize, Packet)>,
}

fn ms(time: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(time)
}

fn flags(packet: &Packet) -> TcpFlags {
    let Header::Tcp(header) = packet.header else { panic!("only TCP here") };
    header.flags
}

fn path(index: u16) -> SubflowPath {
    SubflowPath {
        sockets: SocketPair { server: 0, server_port: 5203, ue_port: 10_000 + index },
        port: index,
        address: index as u8,
        announced: None,
        present: true,
        backup: false,
    }
}

impl Pair {
    /// A connection over these paths; its host has sent the first SYN, and both ends have data.
    fn new(paths: [SubflowPath; 2], notices: Vec<PathNotice>) -> Self {
        let end = |direction, initiator: bool| {
            let settings = MptcpSettings {
                tcp: TcpConfig::linux(),
                paths: paths.to_vec(),
                scheduler: SchedulerKind::MinRtt,
                coupling: None,
                notices: if initiator { notices.clone() } else { vec![] },
            };
            let draws = Seeds::new(1).stream(if initiator { "host" } else { "server" });
            let mut end = MptcpConnection::new(settings, (FlowId(0), direction), initiator, draws);
            end.supply(20_000);
            end
        };
        let ends = [end(Direction::Uplink, true), end(Direction::Downlink, false)];
        let (wire, seen) = (VecDeque::new(), vec![]);
        let mut pair = Self { now: ms(0), pool: PacketPool::default(), ends, wire, seen };
        pair.act(HOST, MptcpConnection::connect);
        pair
    }

    /// Calls an end, and puts what it sends on the wire.
    fn act(&mut self, end: usize, what: impl FnOnce(&mut MptcpConnection, &mut Cx<'_>)) {
        let (mut outbox, mut probe) = (vec![], Silence);
        let (now, topics) = (self.now, TopicSet::NONE);
        let mut cx = Cx { now, pool: &mut self.pool, outbox: &mut outbox, topics, probe: &mut probe };
        what(&mut self.ends[end], &mut cx);
        self.ends[end].read(now, u64::MAX);
        self.ends[end].flush(&mut cx);
        for (_, packet) in outbox {
            let packet = self.pool.consume(packet);
            self.seen.push((end, packet.clone()));
            self.wire.push_back((1 - end, packet));
        }
    }

    fn deliver(&mut self, end: usize, packet: Packet) {
        let packet = self.pool.insert(packet);
        self.act(end, |one, cx| one.handle_packet(cx, packet));
    }

    /// Delivers segments, each after it was changed, and calls the ends when timers are due, up to this time.
    fn run(&mut self, until: Instant, mut change: impl FnMut(&mut MptcpConnection, &mut Packet)) {
        while self.now < until {
            if let Some((end, mut packet)) = self.wire.pop_front() {
                self.now += Duration::from_micros(100);
                change(&mut self.ends[end], &mut packet);
                self.deliver(end, packet);
                continue;
            }
            let next = self.ends.iter().map(MptcpConnection::next_timeout).min().unwrap_or(until);
            self.now = self.now.max(next.min(until));
            for end in [HOST, SERVER] {
                if self.ends[end].next_timeout() <= self.now {
                    self.act(end, MptcpConnection::handle_timeout);
                }
            }
        }
    }

    /// Whether the second subflow is open and confirmed at the server, and its port at the host.
    fn second(&self) -> (bool, u16) {
        let server = &self.ends[SERVER];
        let confirmed = server.subflows[1].as_ref().is_some_and(|one| one.can_signal());
        (confirmed, server.settings.paths[1].sockets.ue_port)
    }

    /// The first SYN of the second subflow.
    fn join(&self) -> Packet {
        let is_join = |packet: &Packet| matches!(packet.mptcp(), Some(MptcpOption::JoinSyn { .. }));
        self.seen.iter().map(|(_, packet)| packet).find(|packet| is_join(packet)).unwrap().clone()
    }
}

fn unchanged(_: &mut MptcpConnection, _: &mut Packet) {}

/// The access of the second subflow ends, and a new subflow is opened from another port. A late SYN from the old port and
/// one with a wrong token leave it.
#[test]
fn a_join_that_is_late_or_has_a_wrong_token_does_not_end_a_subflow() {
    let notice = |at, news| PathNotice { at: ms(at), subflow: 1, news };
    let notices = vec![notice(1_000, PathNews::Ended), notice(2_000, PathNews::Began { port: 60_000 })];
    let mut pair = Pair::new([path(0), path(1)], notices);
    pair.run(ms(900), unchanged);
    assert_eq!(pair.second(), (true, 10_001));
    pair.run(ms(1_900), unchanged);
    assert_eq!(pair.second(), (false, 10_001));
    pair.run(ms(2_900), unchanged);
    assert_eq!(pair.second(), (true, 60_000));

    let late = pair.join();
    let mut wrong = late.clone();
    wrong.sockets.ue_port = 60_001;
    let Some(MptcpOption::JoinSyn { address, backup, token, nonce }) = late.mptcp().copied() else {
        panic!()
    };
    wrong.set_mptcp(MptcpOption::JoinSyn { address, backup, token: token ^ 1, nonce });
    for packet in [wrong.clone(), late] {
        pair.deliver(SERVER, packet);
        assert_eq!(pair.second(), (true, 60_000));
    }
    // From the port of the subflow, too.
    wrong.sockets.ue_port = 60_000;
    pair.deliver(SERVER, wrong);
    assert_eq!(pair.second(), (true, 60_000));
}

/// In place of the third segment of a join, an announcement confirms the subflow; its echo does not.
#[test]
fn an_echo_of_an_address_confirms_no_subflow() {
    for hmac in [Some(1), None] {
        let mut pair = Pair::new([path(0), path(1)], vec![]);
        let mut seen = 0;
        pair.run(ms(100), |_, packet| {
            if packet.sockets.ue_port == 10_001 && flags(packet).0 & TcpFlags::SYN == 0 {
                packet.set_mptcp(MptcpOption::AddAddr { id: 1, address: SECOND, hmac });
                seen += 1;
            }
        });
        assert!(seen > 0);
        assert_eq!(pair.second().0, hmac.is_some(), "{hmac:?}");
    }
}

/// As long as no subflow can carry the option, nothing counts; then the address is announced four times without an echo, the
/// time between which doubles.
#[test]
fn only_announcements_that_were_sent_count() {
    let second = SubflowPath { announced: Some((true, SECOND)), ..path(1) };
    let mut pair = Pair::new([path(0), second], vec![]);
    let silence = |end: &mut MptcpConnection, packet: &mut Packet| {
        if end.initiator
            && let Some(first) = &mut end.subflows[0]
        {
            first.failed = true;
        }
        if matches!(packet.mptcp(), Some(MptcpOption::AddAddr { .. })) {
            packet.sockets.ue_port = 1; // lost
        }
    };
    let announced = |pair: &Pair| {
        let is_one = |packet: &Packet| matches!(packet.mptcp(), Some(MptcpOption::AddAddr { .. }));
        pair.seen.iter().filter(|(_, packet)| is_one(packet)).count()
    };
    let fail = |pair: &mut Pair, failed| {
        if let Some(first) = &mut pair.ends[HOST].subflows[0] {
            first.failed = failed;
        }
    };
    pair.run(ms(50), silence);
    fail(&mut pair, true);
    pair.run(ms(20_000), silence);
    assert!(pair.ends[HOST].has_joined);
    assert_eq!(announced(&pair), 0);
    fail(&mut pair, false);
    let mut times = vec![];
    for step in 20_000..40_000 {
        let before = announced(&pair);
        pair.run(ms(step + 1), |_, packet| {
            if matches!(packet.mptcp(), Some(MptcpOption::AddAddr { .. })) {
                packet.sockets.ue_port = 1; // lost
            }
        });
        times.extend((announced(&pair) > before).then_some(step));
    }
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(times.len(), 4, "{times:?}");
    assert!(gaps.windows(2).all(|pair| pair[1].abs_diff(2 * pair[0]) <= 4), "{gaps:?}");
}

/// A RST with MP_FASTCLOSE ends the connection: the other subflow sends a RST, that on which it has arrived none.
#[test]
fn a_reset_is_not_answered_with_a_reset() {
    let mut pair = Pair::new([path(0), path(1)], vec![]);
    pair.run(ms(900), unchanged);
    pair.seen.clear();
    pair.act(HOST, MptcpConnection::abort);
    let is_close = |packet: &Packet| matches!(packet.mptcp(), Some(MptcpOption::FastClose(_)));
    assert_eq!(pair.seen.iter().filter(|(_, packet)| is_close(packet)).count(), 2);
    pair.run(ms(2_000), unchanged);
    let answers = pair.seen.iter().filter(|(end, _)| *end == SERVER);
    let answers: Vec<_> =
        answers.map(|(_, one)| (one.sockets.ue_port, flags(one).has(TcpFlags::RST))).collect();
    assert_eq!(answers, [(10_001, true)]);
    for subflow in pair.ends[SERVER].subflows.iter().flatten() {
        assert_eq!((subflow.endpoint.state(), subflow.ended), (ConnectionState::Reset, true));
    }
    assert_eq!(pair.ends[SERVER].next_timeout(), Instant::FAR_FUTURE);
}
