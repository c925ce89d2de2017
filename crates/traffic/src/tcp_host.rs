//! One end of an application with many TCP connections: opened and accepted during the run, reused, and
//! closed.
//!
//! A client calls [`TcpHost::open`] to get a connection, with its own port, whose SYN leaves immediately. A
//! listening host accepts all connections. Data flows in both directions on each. Ports are assigned in order
//! from the dynamic range (RFC 6335 §6), and the host that closes first keeps a connection in TIME-WAIT.

use std::collections::VecDeque;

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload,
    SocketPair, Topic, TopicSet,
};
use airlane_net::pep;
use airlane_transport::{ConnectionState, Path, TcpConfig, TcpEndpoint, TcpStats, refusal};

use crate::{packets, pep_message};

/// The dynamic ports (RFC 6335 §6).
pub(crate) const DYNAMIC_PORTS: core::ops::RangeInclusive<u16> = 49_152..=65_535;
/// How long the end that closed first answers a repeated FIN: TIME-WAIT, four minutes in RFC 9293 §3.4.1 and
/// one minute in Linux (TCP_TIMEWAIT_LEN).
const TIME_WAIT: Duration = Duration::from_secs(60);
/// The topics that a quiet host does not report: the state of its sender, which has no data of the flow.
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
    /// True if data was written, read or the connection closed since the last flush.
    touched: bool,
    /// True if the peer had closed before this end did.
    passive: bool,
    /// Decodes the messages of a PEP about this connection, if the host uses one.
    pep: Option<pep::Receiver>,
}

impl Connection {
    fn settle(&mut self) {
        self.touched = false;
        self.due = self.endpoint.next_timeout();
    }
}

/// Bytes that arrived on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The connection.
    pub sockets: SocketPair,
    /// Bytes in order, passed to the application.
    pub bytes: u64,
    /// The peer has closed, and no more data will arrive.
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
    /// Connections in TIME-WAIT, and its end.
    time_wait: Vec<(Instant, Connection)>,
    next_port: u16,
    opened: u64,
    /// Connections that were reset, until they are queried.
    lost: VecDeque<SocketPair>,
    /// Counters of the removed connections.
    gone: TcpStats,
    /// Maximum number of bytes that the application reads before the next setting; `u64::MAX` for
    /// no limit.
    appetite: u64,
    /// Keys for the messages of a PEP, if the host uses one.
    keys: Option<pep::Keys>,
}

impl TcpHost {
    /// An end that opens connections and sends in this direction. It does not report the state of its
    /// senders: in results, a flow's sender is the end that sends its data.
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

    /// The end with connections that use the messages of a PEP.
    #[must_use]
    pub fn with_pep(self, keys: pep::Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// An end that accepts connections on every port and sends in this direction.
    #[must_use]
    pub fn server(config: TcpConfig, flow: FlowId, direction: Direction) -> Self {
        Self { listens: true, ..Self::client(config, flow, direction) }
    }

    /// Opens a connection to a port of a server: the SYN leaves now. Data that is written before the
    /// connection is established waits.
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

    /// Writes this many bytes on a connection; [`Self::flush`] sends them.
    pub fn write(&mut self, sockets: SocketPair, bytes: u64) {
        if let Some(connection) = self.find(sockets) {
            connection.endpoint.supply(bytes);
            connection.touched = true;
        }
    }

    /// Bytes written on a connection and not sent yet, because of its windows. An application that chooses
    /// the next data as late as possible keeps this number low (Linux's TCP_NOTSENT_LOWAT).
    #[must_use]
    pub fn unsent(&self, sockets: SocketPair) -> u64 {
        let connection = self.open.iter().find(|connection| connection.sockets == sockets);
        connection.map_or(0, |connection| connection.endpoint.unsent())
    }

    /// The application reads at most this many bytes, on all connections together, until the next call;
    /// unread data stays in the connection, whose window closes. `u64::MAX`, the initial value, is no limit.
    pub const fn set_appetite(&mut self, bytes: u64) {
        self.appetite = bytes;
    }

    /// Bytes that are readable but unread.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.open.iter().map(|connection| connection.endpoint.readable()).sum()
    }

    /// Reads the rest of one connection, up to the limit; `None` if there is nothing to read.
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

    /// No more data will be written on a connection: a FIN follows the written data.
    pub fn close(&mut self, sockets: SocketPair) {
        if let Some(connection) = self.find(sockets) {
            connection.passive = connection.endpoint.at_end();
            connection.endpoint.shutdown();
            connection.touched = true;
        }
    }

    /// Removes a connection that was reset, or given up without an answer: the connection and its data under way are
    /// lost. To be called after [`Self::flush`].
    pub fn poll_lost(&mut self) -> Option<SocketPair> {
        self.lost.pop_front()
    }

    /// Connections opened or accepted so far.
    #[must_use]
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// Number of connections now, except those in TIME-WAIT.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open.len()
    }

    /// Payload bytes acknowledged by peers, and those delivered here, on all connections.
    #[must_use]
    pub fn totals(&self) -> [Bytes; 2] {
        let each = self.open.iter().chain(self.time_wait.iter().map(|(_, c)| c)).map(|c| c.endpoint.stats());
        let sum = |a: [Bytes; 2], s: TcpStats| [a[0] + s.bytes_acked, a[1] + s.bytes_delivered];
        each.fold([self.gone.bytes_acked, self.gone.bytes_delivered], sum)
    }

    /// Handles a segment. Returns the data it made readable, which has been read; `None` for
    /// nothing new.
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

    /// Handles a message of a PEP about a connection, which may use it.
    pub fn handle_message(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let sockets = cx.pool.get(&packet).sockets;
        let flow = self.flow;
        let Some(connection) = self.find(sockets) else { return cx.discard(packet, DropCause::Endpoint) };
        let Some(receiver) = &mut connection.pep else { return cx.discard(packet, DropCause::Endpoint) };
        pep_message::report(cx, (flow, receiver), packet, &mut connection.endpoint);
        connection.touched = true;
    }

    /// Handles a segment of a closed connection: in TIME-WAIT it is acknowledged (RFC 9293 §3.10.7.4);
    /// without a connection it is answered with a RST (§3.10.7.1).
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
            packets::send(cx, packet, false);
        }
    }

    /// To be called at [`Self::next_timeout`].
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

    /// Sends the pending data. To be called after all other calls that may have changed the state.
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

    /// Removes the connections that are closed on both sides, were reset, or given up.
    #[cold]
    fn retire(&mut self, now: Instant) {
        let mut index = 0;
        while index < self.open.len() {
            if !has_ended(&self.open[index].endpoint) {
                index += 1;
                continue;
            }
            let connection = self.open.remove(index);
            if was_lost(&connection.endpoint) {
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

    /// Calls with the topics that this host reports.
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

/// True if a connection has ended or has nothing left to do.
fn has_ended(endpoint: &TcpEndpoint) -> bool {
    match endpoint.state() {
        // The endpoint of a connection does not listen for others: the host does.
        ConnectionState::Listen => endpoint.ended_by_reset().is_some(),
        ConnectionState::SynSent | ConnectionState::SynReceived | ConnectionState::Established => false,
        ConnectionState::Closed | ConnectionState::Reset | ConnectionState::TimedOut => true,
    }
}

/// True if a connection was reset, or given up.
fn was_lost(endpoint: &TcpEndpoint) -> bool {
    endpoint.ended_by_reset().is_some()
        || matches!(endpoint.state(), ConnectionState::Reset | ConnectionState::TimedOut)
}

/// The limit less these bytes; `u64::MAX` is no limit.
const fn less(appetite: u64, bytes: u64) -> u64 {
    if appetite == u64::MAX { appetite } else { appetite - bytes }
}

/// True if a segment requests a connection.
fn opens(header: &airlane_core::TcpHeader) -> bool {
    use airlane_core::TcpFlags;
    header.flags.has(TcpFlags::SYN) && !header.flags.has(TcpFlags::ACK)
}

fn add(sum: &mut TcpStats, stats: &TcpStats) {
    sum.bytes_acked += stats.bytes_acked;
    sum.bytes_delivered += stats.bytes_delivered;
}
