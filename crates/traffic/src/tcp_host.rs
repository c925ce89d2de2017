//! One end of an application that has many TCP connections: opened and accepted while it runs, reused, and closed.
//!
//! A client calls [`TcpHost::open`] and has a connection whose SYN leaves at once, from a port of its own; a host
//! that listens accepts whatever connects to it. Data goes both ways on each. Ports are drawn in order from the
//! dynamic range (RFC 6335 §6), and the host that closes first keeps a connection in TIME-WAIT.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload,
    SocketPair, Topic, TopicSet,
};
use airlane_net::pep;
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint, TcpStats, refusal};

use crate::pep_message;

/// The dynamic ports (RFC 6335 §6).
pub(crate) const DYNAMIC_PORTS: core::ops::RangeInclusive<u16> = 49_152..=65_535;
/// How long whoever closed first answers a FIN that comes again: TIME-WAIT, which RFC 9293 §3.4.1 wants to last
/// four minutes and Linux ends after one (TCP_TIMEWAIT_LEN).
const TIME_WAIT: Duration = Duration::from_secs(60);
/// What a host that is quiet does not tell: the state of its sender, which is not that of the flow's data.
const OF_SENDER: TopicSet = TopicSet::NONE
    .with(Topic::FlowState)
    .with(Topic::PathModel)
    .with(Topic::RttSample)
    .with(Topic::Timeout)
    .with(Topic::SegmentLost)
    .with(Topic::ReceiverCode);

/// A connection and its bookkeeping.
#[derive(Debug)]
struct Connection {
    sockets: SocketPair,
    endpoint: TcpEndpoint,
    due: Instant,
    /// Something was written, read or closed since it was last flushed.
    touched: bool,
    /// The peer had closed before this end did.
    passive: bool,
    /// What reads the messages of a PEP about this connection, if the host listens to one.
    pep: Option<pep::Receiver>,
}

impl Connection {
    fn settle(&mut self) {
        self.touched = false;
        self.due = self.endpoint.next_timeout();
    }
}

/// Bytes that came on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Which.
    pub sockets: SocketPair,
    /// Bytes in order, handed over with this.
    pub bytes: u64,
    /// The peer has closed, and nothing more will come.
    pub at_end: bool,
}

/// The connections of an application at one end of a flow.
#[derive(Debug)]
pub struct TcpHost {
    config: TcpConfig,
    flow: FlowId,
    direction: Direction,
    listens: bool,
    open: Vec<Connection>,
    /// Those that wait in TIME-WAIT, until when.
    time_wait: Vec<(Instant, Connection)>,
    next_port: u16,
    opened: u64,
    /// Connections that were reset, until somebody asks.
    lost: VecDeque<SocketPair>,
    /// Counters of the connections that are gone.
    gone: TcpStats,
    /// Bytes that the application reads before it says more; `u64::MAX` for all that comes.
    appetite: u64,
    /// What the messages of a PEP are read with, if the host listens to one.
    keys: Option<pep::Keys>,
}

impl TcpHost {
    /// An end that opens connections and sends in this direction. It keeps quiet about the state of its
    /// senders: what the results tell of a flow is told by the end that sends its data.
    #[must_use]
    pub fn client(config: TcpConfig, flow: FlowId, direction: Direction) -> Self {
        Self {
            config,
            flow,
            direction,
            listens: false,
            open: Vec::with_capacity(64),
            time_wait: Vec::new(),
            next_port: *DYNAMIC_PORTS.start(),
            opened: 0,
            lost: VecDeque::new(),
            gone: TcpStats::default(),
            appetite: u64::MAX,
            keys: None,
        }
    }

    /// The same end, each of whose connections listens to a PEP.
    #[must_use]
    pub fn with_pep(self, keys: pep::Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// An end that accepts connections on every port and sends in this direction.
    #[must_use]
    pub fn server(config: TcpConfig, flow: FlowId, direction: Direction) -> Self {
        Self { listens: true, ..Self::client(config, flow, direction) }
    }

    /// Opens a connection to a port of a server: the SYN leaves now. What is written before the connection
    /// stands waits for that.
    pub fn open(&mut self, cx: &mut Cx<'_>, server: u16, server_port: u16) -> SocketPair {
        let sockets = SocketPair { server, server_port, ue_port: self.free_port() };
        self.add(sockets);
        self.with_topics(cx, |host, cx| {
            let connection = host.open.last_mut().expect("just added");
            connection.endpoint.connect(cx);
            connection.settle();
        });
        sockets
    }

    fn free_port(&mut self) -> u16 {
        loop {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(*DYNAMIC_PORTS.start());
            let held = |connection: &Connection| connection.sockets.ue_port == port;
            if !self.open.iter().any(held) && !self.time_wait.iter().any(|(_, c)| held(c)) {
                return port;
            }
        }
    }

    fn add(&mut self, sockets: SocketPair) {
        let path = Path { flow: self.flow, direction: self.direction, sockets };
        self.opened += 1;
        self.open.push(Connection {
            sockets,
            endpoint: TcpEndpoint::new(self.config.clone(), path),
            due: Instant::FAR_FUTURE,
            touched: false,
            passive: false,
            pep: self.keys.as_ref().map(|keys| keys.receiver(sockets)),
        });
    }

    fn find(&mut self, sockets: SocketPair) -> Option<&mut Connection> {
        self.open.iter_mut().find(|connection| connection.sockets == sockets)
    }

    /// Writes so many bytes on a connection; [`Self::flush`] sends them.
    pub fn write(&mut self, sockets: SocketPair, bytes: u64) {
        if let Some(connection) = self.find(sockets) {
            connection.endpoint.supply(bytes);
            connection.touched = true;
        }
    }

    /// Bytes written on a connection and not sent yet, because of its windows. An application that decides as
    /// late as it can what to send next keeps this low (TCP_NOTSENT_LOWAT of Linux).
    #[must_use]
    pub fn unsent(&self, sockets: SocketPair) -> u64 {
        let connection = self.open.iter().find(|connection| connection.sockets == sockets);
        connection.map_or(0, |connection| connection.endpoint.unsent())
    }

    /// The application reads no more than so many bytes, on all connections together, until it says so again; what
    /// is not read stays with the connection, whose window closes. `u64::MAX` for all that comes, as at first.
    pub const fn set_appetite(&mut self, bytes: u64) {
        self.appetite = bytes;
    }

    /// Bytes that could be read and were not.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.open.iter().map(|connection| connection.endpoint.readable()).sum()
    }

    /// Reads what was left of one connection, as far as the appetite goes; `None` for nothing.
    pub fn read(&mut self, now: Instant) -> Option<Arrival> {
        let appetite = self.appetite;
        let left = |connection: &&mut Connection| connection.endpoint.readable() > 0;
        let connection = self.open.iter_mut().find(left).filter(|_| appetite > 0)?;
        let bytes = connection.endpoint.read(now, appetite);
        connection.touched = true;
        let (sockets, at_end) = (connection.sockets, connection.endpoint.at_end());
        self.appetite = less(appetite, bytes);
        Some(Arrival { sockets, bytes, at_end })
    }

    /// Nothing more will be written on a connection: a FIN follows what was.
    pub fn close(&mut self, sockets: SocketPair) {
        if let Some(connection) = self.find(sockets) {
            connection.passive = connection.endpoint.at_end();
            connection.endpoint.shutdown();
            connection.touched = true;
        }
    }

    /// A connection that was reset, or given up because nobody answered: what was on its way is gone, and the connection too. To be asked after
    /// [`Self::flush`].
    pub fn poll_lost(&mut self) -> Option<SocketPair> {
        self.lost.pop_front()
    }

    /// Connections opened or accepted so far.
    #[must_use]
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// Connections that exist now, those in TIME-WAIT apart.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open.len()
    }

    /// Payload bytes that peers have acknowledged, and that were handed over here, on all connections.
    #[must_use]
    pub fn totals(&self) -> [Bytes; 2] {
        let each = self.open.iter().chain(self.time_wait.iter().map(|(_, c)| c)).map(|c| c.endpoint.stats());
        let sum = |a: [Bytes; 2], s: TcpStats| [a[0] + s.bytes_acked, a[1] + s.bytes_delivered];
        each.fold([self.gone.bytes_acked, self.gone.bytes_delivered], sum)
    }

    /// A segment arrives. Returns what it brought to be read, read already; `None` for nothing new.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> Option<Arrival> {
        let arrived = cx.pool.get(&packet);
        let (Header::Tcp(header), sockets) = (arrived.header, arrived.sockets) else {
            cx.discard(packet, DropCause::Endpoint);
            return None;
        };
        let known = self.open.iter().position(|connection| connection.sockets == sockets);
        let index = match known {
            Some(index) => index,
            None if self.listens && opens(&header) => {
                self.add(sockets);
                self.open.len() - 1
            }
            None => {
                self.handle_late(cx, packet, sockets);
                return None;
            }
        };
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let packet = cx.pool.consume(packet);
        let payload = packet.payload.len();
        self.with_topics(cx, |host, cx| {
            let connection = &mut host.open[index];
            let endpoint = &mut connection.endpoint;
            let (held_before, ended_before) = (endpoint.held_beyond(), endpoint.at_end());
            let in_order = endpoint.handle_segment(cx, &header, packet.ecn, payload);
            let fresh =
                (in_order + endpoint.held_beyond()).saturating_sub(held_before).min(u64::from(payload));
            if payload > 0 && cx.wants(Topic::Delivered) {
                cx.emit(&Event::Delivered {
                    packet: &packet,
                    in_order: Bytes(in_order),
                    fresh: Some(Bytes(fresh)),
                });
            }
            let bytes = endpoint.read(cx.now, host.appetite);
            host.appetite = less(host.appetite, bytes);
            connection.touched = true;
            let at_end = !ended_before && connection.endpoint.at_end();
            (bytes > 0 || at_end).then_some(Arrival { sockets, bytes, at_end })
        })
    }

    /// A message of a PEP arrives, about a connection that may listen to it.
    pub fn handle_message(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let sockets = cx.pool.get(&packet).sockets;
        let flow = self.flow;
        let Some(connection) = self.find(sockets) else { return cx.discard(packet, DropCause::Endpoint) };
        let Some(receiver) = &mut connection.pep else { return cx.discard(packet, DropCause::Endpoint) };
        pep_message::report(cx, (flow, receiver), packet, &mut connection.endpoint);
        connection.touched = true;
    }

    /// A segment of a connection that is closed: it is answered in TIME-WAIT (RFC 9293 §3.10.7.4), and by a RST
    /// where there is no such connection (§3.10.7.1).
    #[cold]
    fn handle_late(&mut self, cx: &mut Cx<'_>, packet: PacketRef, sockets: SocketPair) {
        let Some(index) = self.time_wait.iter().position(|(_, c)| c.sockets == sockets) else {
            return self.refuse(cx, packet, sockets);
        };
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let packet = cx.pool.consume(packet);
        let Header::Tcp(header) = packet.header else { return };
        let (until, connection) = &mut self.time_wait[index];
        *until = cx.now + TIME_WAIT;
        connection.endpoint.handle_segment(cx, &header, packet.ecn, packet.payload.len());
        connection.endpoint.flush(cx);
    }

    fn refuse(&self, cx: &mut Cx<'_>, packet: PacketRef, sockets: SocketPair) {
        let arrived = cx.pool.get(&packet);
        let (header, payload) = (arrived.header, arrived.payload.len());
        cx.discard(packet, DropCause::NoRoute);
        let Header::Tcp(header) = header else { return };
        if let Some(answer) = refusal(&header, payload) {
            let (header, nothing) = (Header::Tcp(answer), Payload::Length(0));
            let mut packet = Packet::new(self.flow, self.direction, header, nothing, cx.now);
            packet.sockets = sockets;
            if cx.wants(Topic::Sent) {
                cx.emit(&Event::Sent { packet: &packet, retransmission: false });
            }
            let packet = cx.pool.insert(packet);
            cx.send(crate::PORT, packet);
        }
    }

    /// The time of [`Self::next_timeout`] has come.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now;
        self.time_wait.retain(|(until, connection)| {
            let waits = *until > now;
            if !waits {
                add(&mut self.gone, &connection.endpoint.stats());
            }
            waits
        });
        self.with_topics(cx, |host, cx| {
            for connection in host.open.iter_mut().filter(|connection| connection.due <= now) {
                connection.endpoint.handle_timeout(cx);
                connection.touched = true;
            }
        });
    }

    /// Sends what can be sent. To be called after everything else that may have changed something.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        self.with_topics(cx, |host, cx| {
            let mut closed = false;
            for connection in host.open.iter_mut().filter(|connection| connection.touched) {
                connection.endpoint.flush(cx);
                connection.settle();
                closed |= has_ended(&connection.endpoint);
            }
            if closed {
                host.retire(cx.now);
            }
        });
    }

    /// Takes out the connections that are closed on both sides, were reset, or given up.
    #[cold]
    fn retire(&mut self, now: Instant) {
        let mut index = 0;
        while index < self.open.len() {
            if !has_ended(&self.open[index].endpoint) {
                index += 1;
                continue;
            }
            let connection = self.open.remove(index);
            if matches!(connection.endpoint.state(), ConnectionState::Reset | ConnectionState::TimedOut) {
                add(&mut self.gone, &connection.endpoint.stats());
                self.lost.push_back(connection.sockets);
            } else if connection.passive {
                add(&mut self.gone, &connection.endpoint.stats()); // LAST-ACK: its FIN is acknowledged
            } else {
                self.time_wait.push((now + TIME_WAIT, connection));
            }
        }
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let open = self.open.iter().map(|connection| connection.due);
        open.chain(self.time_wait.iter().map(|(until, _)| *until)).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Calls with the topics that this host tells of.
    fn with_topics<R>(&mut self, cx: &mut Cx<'_>, act: impl FnOnce(&mut Self, &mut Cx<'_>) -> R) -> R {
        let topics = cx.topics;
        if !self.listens {
            cx.topics = topics.without(OF_SENDER);
        }
        let result = act(self, cx);
        cx.topics = topics;
        result
    }
}

/// True if a connection has no more to do, or is no more.
fn has_ended(endpoint: &TcpEndpoint) -> bool {
    !matches!(
        endpoint.state(),
        ConnectionState::Listen
            | ConnectionState::SynSent
            | ConnectionState::SynReceived
            | ConnectionState::Established
    )
}

/// What is left of an appetite, which may have no end.
const fn less(appetite: u64, bytes: u64) -> u64 {
    if appetite == u64::MAX { appetite } else { appetite - bytes }
}

/// True if a segment asks for a connection.
fn opens(header: &airlane_core::TcpHeader) -> bool {
    use airlane_core::TcpFlags;
    header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK)
}

fn add(sum: &mut TcpStats, stats: &TcpStats) {
    sum.bytes_acked += stats.bytes_acked;
    sum.bytes_delivered += stats.bytes_delivered;
}
