//! One end of an application with many QUIC connections: opened and accepted during the run, reused, and
//! closed.
//!
//! A client calls [`QuicHost::open`] to get a connection, with its own port, whose first packet leaves with
//! the next flush. A listening host accepts all connections. Ports are assigned in order from the dynamic
//! range (RFC 6335 §6). A closed connection is kept until its packets need no more answers (RFC 9000 §10.2).

use airlane_core::{
    Bytes, Cx, Direction, DropCause, Duration, Event, FlowId, Header, Instant, Packet, PacketRef, Payload,
    SocketPair, Topic,
};
use airlane_net::pep;
use airlane_quic::{QuicConfig, QuicEndpoint, Role};
use airlane_transport::Path;

use crate::pep_message;
use crate::tcp_host::DYNAMIC_PORTS;

/// A connection and its bookkeeping.
#[derive(Debug)]
struct Connection {
    sockets: SocketPair,
    endpoint: QuicEndpoint,
    /// True if data was read, written or the connection closed since the last flush.
    touched: bool,
    /// Decodes the messages of a PEP about this connection, if the host uses one.
    pep: Option<pep::Receiver>,
}

/// The connections of an application at one end of a flow.
#[derive(Debug)]
pub struct QuicHost {
    config: QuicConfig,
    flow: FlowId,
    direction: Direction,
    role: Role,
    open: Vec<Connection>,
    next_port: u16,
    opened: u64,
    /// Keys for the messages of a PEP, if the host uses one.
    keys: Option<pep::Keys>,
}

impl QuicHost {
    /// An end that opens connections and sends in this direction. It does not report the state of its
    /// senders: in results, a flow's sender is the end that sends its data.
    #[must_use]
    pub fn client(config: QuicConfig, flow: FlowId, direction: Direction) -> Self {
        let config = QuicConfig { sends_data: false, ..config };
        Self::new(config, flow, direction, Role::Client)
    }

    /// An end that accepts connections on every port and sends in this direction.
    #[must_use]
    pub fn server(config: QuicConfig, flow: FlowId, direction: Direction) -> Self {
        Self::new(config, flow, direction, Role::Server)
    }

    fn new(config: QuicConfig, flow: FlowId, direction: Direction, role: Role) -> Self {
        let open = Vec::with_capacity(64);
        let next_port = *DYNAMIC_PORTS.start();
        Self { config, flow, direction, role, open, next_port, opened: 0, keys: None }
    }

    /// The end with connections that use the messages of a PEP.
    #[must_use]
    pub fn with_pep(self, keys: pep::Keys) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Opens a connection to a port of a server.
    pub fn open(&mut self, cx: &Cx<'_>, server: u16, server_port: u16) -> SocketPair {
        let sockets = SocketPair { server, server_port, ue_port: self.free_port() };
        self.add(sockets).endpoint.connect(cx);
        sockets
    }

    fn free_port(&mut self) -> u16 {
        loop {
            let port = self.next_port;
            self.next_port = port.checked_add(1).unwrap_or(*DYNAMIC_PORTS.start());
            if !self.open.iter().any(|connection| connection.sockets.ue_port == port) {
                return port;
            }
        }
    }

    fn add(&mut self, sockets: SocketPair) -> &mut Connection {
        let path = Path { flow: self.flow, direction: self.direction, sockets };
        let endpoint = QuicEndpoint::new(self.config.clone(), path, self.role, crate::PORT);
        let pep = self.keys.as_ref().map(|keys| keys.receiver(sockets));
        let endpoint = match &pep {
            Some(receiver) => {
                let key = receiver.key().clone();
                endpoint.with_identifier(Box::new(move |datagram| key.identifier(datagram)))
            }
            None => endpoint,
        };
        self.opened += 1;
        self.open.push(Connection { sockets, endpoint, touched: true, pep });
        self.open.last_mut().expect("just added")
    }

    /// The end of a connection, as long as the connection is kept. It will be flushed.
    pub fn connection(&mut self, sockets: SocketPair) -> Option<&mut QuicEndpoint> {
        let connection = self.open.iter_mut().find(|connection| connection.sockets == sockets)?;
        connection.touched = true;
        Some(&mut connection.endpoint)
    }

    /// Connections opened or accepted so far.
    #[must_use]
    pub const fn opened(&self) -> u64 {
        self.opened
    }

    /// Number of connections that are kept now.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.open.len()
    }

    /// Handles a packet. Returns the packet without its bytes, if it belongs to a connection that is kept, or
    /// that was accepted with it. The caller reads the data and reports it with [`Self::report`].
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) -> Option<Packet> {
        let arrived = cx.pool.get(&packet);
        let sockets = arrived.sockets;
        let known = self.open.iter().any(|connection| connection.sockets == sockets);
        let belongs = match (&arrived.header, &arrived.payload) {
            (Header::Udp(_), Payload::Bytes(datagram)) => {
                known || (self.role == Role::Server && QuicEndpoint::opens(datagram))
            }
            _ => false,
        };
        if !belongs {
            cx.discard(packet, DropCause::Endpoint);
            return None;
        }
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        if !known {
            self.add(sockets);
        }
        let mut packet = cx.pool.consume(packet);
        let length = Payload::Length(packet.payload.len());
        if let Payload::Bytes(datagram) = core::mem::replace(&mut packet.payload, length)
            && let Some(endpoint) = self.connection(sockets)
        {
            endpoint.handle_datagram(cx, packet.ecn, datagram);
        }
        Some(packet)
    }

    /// True for a message of a PEP.
    #[must_use]
    pub fn is_message(&self, cx: &Cx<'_>, packet: &PacketRef) -> bool {
        let Payload::Bytes(datagram) = &cx.pool.get(packet).payload else { return false };
        pep_message::is_one(datagram, self.keys.is_some())
    }

    /// Handles a message of a PEP about a connection, which may use it.
    pub fn handle_message(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        let sockets = cx.pool.get(&packet).sockets;
        let connection = self.open.iter_mut().find(|connection| connection.sockets == sockets);
        let Some(connection) = connection else { return cx.discard(packet, DropCause::Endpoint) };
        let Some(receiver) = &mut connection.pep else { return cx.discard(packet, DropCause::Endpoint) };
        let message = pep_message::take(cx, self.flow, receiver, packet);
        if let Some(pep::Message { delay_us, body: pep::Body::Opaque(identifiers), .. }) = message {
            let delay = Duration::from_micros(u64::from(delay_us));
            connection.endpoint.on_seen(cx, identifiers.as_slice(), delay);
            connection.touched = true;
        }
    }

    /// Reports the stream bytes that became readable with a packet.
    pub fn report(cx: &mut Cx<'_>, packet: &Packet, in_order: u64) {
        if cx.wants(Topic::Delivered) {
            cx.emit(&Event::Delivered { packet, in_order: Bytes(in_order), fresh: None });
        }
    }

    /// To be called at [`Self::next_timeout`], until it returns `None`: handles the timer of the next due
    /// connection that was not flushed since.
    pub fn handle_timeout(&mut self, cx: &Cx<'_>) -> Option<SocketPair> {
        let due = |connection: &&mut Connection| {
            !connection.touched && connection.endpoint.next_timeout() <= cx.now
        };
        let connection = self.open.iter_mut().find(due)?;
        connection.endpoint.handle_timeout(cx);
        connection.touched = true;
        Some(connection.sockets)
    }

    /// Sends the pending data. To be called after all other calls that may have changed the state.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        let mut over = false;
        for connection in self.open.iter_mut().filter(|connection| connection.touched) {
            connection.touched = false;
            connection.endpoint.flush(cx);
            over |= connection.endpoint.is_drained();
        }
        if over {
            self.open.retain(|connection| !connection.endpoint.is_drained());
        }
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        let due = self.open.iter().map(|connection| connection.endpoint.next_timeout());
        due.min().unwrap_or(Instant::FAR_FUTURE)
    }
}
