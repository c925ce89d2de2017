//! The host under test: its sockets and connections, in virtual time.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{
    Bytes, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, MptcpOption, Packet, PacketPool, Payload,
    SackList, Seeds, Silence, SocketPair, TcpFlags, TcpHeader, TopicSet,
};
use airlane_transport::mptcp::{MptcpConnection, MptcpSettings, SchedulerKind, SubflowPath};
use airlane_transport::{
    ConnectionState, Path, ReceiveWindowKind, ResetIn, TcpConfig, TcpEndpoint, TcpInfo, info::state, refusal,
};

use crate::calls::Interest;
use crate::host::{SocketOptions, config};
use crate::numbering::Numbering;
use crate::script::{Call, EcnField, Segment};
use crate::shell::Settings;
use crate::stack::{Answer, Device, Sent, Stack};
use crate::zero_copy::ZeroCopy;

/// A descriptor's socket.
#[derive(Debug, Default)]
pub(crate) struct Socket {
    pub(crate) options: SocketOptions,
    pub(crate) listening: bool,
    pub(crate) nonblocking: bool,
    pub(crate) connection: Option<usize>,
    /// Connections that `accept` has not returned.
    pub(crate) backlog: VecDeque<usize>,
    /// `shutdown` of the receive direction.
    pub(crate) shut_read: bool,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) endpoint: TcpEndpoint,
    /// Multipath TCP with one subflow, in the place of the endpoint.
    multipath: Option<Box<MptcpConnection>>,
    /// Numbers of the connection in the script.
    numbering: Numbering,
    /// Linux has no state of the connection any more: segments are answered with a RST.
    pub(crate) gone: bool,
    /// An error that the next call reports.
    pub(crate) error: Option<&'static str>,
    /// Bytes that the application has written, and the notifications of its zero-copy sends.
    pub(crate) written: u64,
    pub(crate) zero_copy: ZeroCopy,
    /// The socket that listens for it.
    listener: Option<i64>,
}

/// The connection of segments without an address: as in packetdrill, the one that was opened last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderTest {
    Nothing,
    Listener(i64),
    Connection(usize),
}

/// Bytes of timestamps with their padding (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 12;

impl Connection {
    fn next_timeout(&self) -> Instant {
        self.multipath.as_ref().map_or_else(|| self.endpoint.next_timeout(), |one| one.next_timeout())
    }
}

/// A connection over Multipath TCP with one subflow. Its receive window is half of TCP's, because a subflow announces a
/// scale for twice the window of the connection.
fn multipath(config: &TcpConfig, path: &Path, initiator: bool) -> MptcpConnection {
    let halved = |bytes: Bytes| Bytes(bytes.get() / 2);
    let receive_window = match config.receive_window {
        ReceiveWindowKind::Autotuned { initial, max } => {
            ReceiveWindowKind::Autotuned { initial: halved(initial), max: halved(max) }
        }
        ReceiveWindowKind::Fixed(size) => ReceiveWindowKind::Fixed(halved(size)),
        other => other,
    };
    let only = SubflowPath {
        sockets: SocketPair::default(),
        port: 0,
        address: 0,
        announced: None,
        present: true,
        backup: false,
    };
    let settings = MptcpSettings {
        tcp: TcpConfig { receive_window, ..config.clone() },
        paths: vec![only],
        scheduler: SchedulerKind::MinRtt,
        coupling: None,
        notices: vec![],
    };
    let draws = Seeds::new(1).stream("packetdrill");
    MptcpConnection::new(settings, (path.flow, path.direction), initiator, draws)
}

/// The host.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) settings: Settings,
    pub(crate) now: Instant,
    pub(crate) sockets: BTreeMap<i64, Socket>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) sent: VecDeque<Sent>,
    under_test: UnderTest,
    /// Interest lists of `epoll` by descriptor.
    pub(crate) interests: BTreeMap<i64, Vec<Interest>>,
    /// Segment size of the device.
    mss: u16,
    /// Size of the segments that arrive, if `--mss` gives it: a larger one is several that were joined
    /// on their way up (GRO).
    arriving_mss: Option<u32>,
    pool: PacketPool,
}

impl Machine {
    pub(crate) fn new(now: Instant, device: Device) -> Self {
        Self {
            settings: Settings::default(),
            now,
            sockets: BTreeMap::new(),
            connections: Vec::new(),
            sent: VecDeque::new(),
            under_test: UnderTest::Nothing,
            interests: BTreeMap::new(),
            mss: device.mss(),
            arriving_mss: device.arriving,
            pool: PacketPool::default(),
        }
    }

    /// The smallest descriptor that is free: 0 to 2 are the standard streams.
    pub(crate) fn new_descriptor(&self) -> i64 {
        (3..).find(|fd| !self.sockets.contains_key(fd)).expect("descriptors do not end")
    }

    pub(crate) fn listen(&mut self, fd: i64) {
        self.under_test = UnderTest::Listener(fd);
        if let Some(socket) = self.sockets.get_mut(&fd) {
            socket.listening = true;
        }
    }

    fn open(&mut self, options: &SocketOptions, listener: Option<i64>) -> Result<usize, String> {
        let mut config = config(&self.settings, options, self.mss)?;
        let index = self.connections.len();
        let local = 0x0100_0000 * (index as u32 + 1);
        config.initial_sequence = local;
        let path = Path::new(FlowId(index as u32), Direction::Downlink);
        let multipath = options.multipath.then(|| Box::new(multipath(&config, &path, listener.is_none())));
        let mut endpoint = TcpEndpoint::new(config, path);
        endpoint.set_waiting(!options.nodelay, options.cork);
        if let Some(size) = self.arriving_mss {
            endpoint.joins_segments_of(size);
        }
        self.connections.push(Connection {
            endpoint,
            multipath,
            numbering: Numbering::new(Some(local)),
            gone: false,
            error: None,
            written: 0,
            zero_copy: ZeroCopy::default(),
            listener,
        });
        self.under_test = UnderTest::Connection(index);
        Ok(index)
    }

    /// Opens a connection actively.
    pub(crate) fn connect(&mut self, fd: i64) -> Result<(), String> {
        let Some(options) = self.sockets.get(&fd).map(|s| s.options.clone()) else {
            return Err(format!("connect on the descriptor {fd}, which is not open"));
        };
        let index = self.open(&options, None)?;
        if let Some(socket) = self.sockets.get_mut(&fd) {
            socket.connection = Some(index);
        }
        if self.connections[index].multipath.is_some() {
            self.on_multipath(index, MptcpConnection::connect);
        } else {
            self.on(index, TcpEndpoint::connect);
        }
        Ok(())
    }

    /// Calls an endpoint, and collects the segments that it sends.
    pub(crate) fn on<R>(&mut self, index: usize, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>) -> R) -> R {
        let (mut outbox, mut silence) = (Vec::new(), Silence);
        let mut cx = Cx {
            now: self.now,
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut silence,
        };
        let readable = self.connections[index].endpoint.readable();
        let result = act(&mut self.connections[index].endpoint, &mut cx);
        // In TIME-WAIT, Linux has neither blocks nor marks to report.
        let over = self.connections[index].endpoint.info(self.now).state == state::TIME_WAIT;
        for (_, packet) in outbox {
            let packet = self.pool.consume(packet);
            if let Header::Tcp(mut header) = packet.header {
                if over {
                    header.sack = SackList::default();
                    header.accurate_ecn = None;
                    header.flags.0 &= !TcpFlags::ACE;
                }
                let (payload, ecn) = (packet.payload.len(), packet.ecn);
                let (at, connection) = (self.now, index);
                self.sent.push_back(Sent { at, connection, header, payload, ecn, option: None });
            }
            self.pool.recycle(packet);
        }
        self.note_end(index);
        let c = &mut self.connections[index];
        let acknowledged = if c.gone { u64::MAX } else { c.endpoint.acknowledged_to() };
        let (more, notice, gone) =
            (c.endpoint.readable() > readable, c.zero_copy.on_acknowledged(acknowledged), c.gone);
        for (event, happened) in [("EPOLLIN", more), ("EPOLLERR", notice), ("EPOLLHUP", gone)] {
            if happened {
                self.wake(index, event);
            }
        }
        result
    }

    /// Calls a connection over Multipath TCP, and collects the segments that it sends.
    ///
    /// # Panics
    /// If the connection is one of TCP.
    pub(crate) fn on_multipath<R>(
        &mut self,
        index: usize,
        act: impl FnOnce(&mut MptcpConnection, &mut Cx<'_>) -> R,
    ) -> R {
        let (mut outbox, mut silence) = (Vec::new(), Silence);
        let mut cx = Cx {
            now: self.now,
            pool: &mut self.pool,
            outbox: &mut outbox,
            topics: TopicSet::NONE,
            probe: &mut silence,
        };
        let connection = self.connections[index].multipath.as_mut().expect("a connection over Multipath TCP");
        let result = act(connection, &mut cx);
        for (_, packet) in outbox {
            let packet = self.pool.consume(packet);
            if let Header::Tcp(header) = packet.header {
                let (payload, ecn, option) = (packet.payload.len(), packet.ecn, packet.mptcp().copied());
                self.sent.push_back(Sent { at: self.now, connection: index, header, payload, ecn, option });
            }
            self.pool.recycle(packet);
        }
        result
    }

    /// Whether the handshake of a connection is complete.
    pub(crate) fn is_established(&self, index: usize) -> bool {
        let connection = &self.connections[index];
        match &connection.multipath {
            Some(multipath) => multipath.is_established(),
            None => connection.endpoint.state() == ConnectionState::Established,
        }
    }

    /// A segment of a connection over Multipath TCP arrives.
    fn receive_multipath(
        &mut self,
        index: usize,
        header: TcpHeader,
        segment: &Segment,
    ) -> Result<(), String> {
        let option = self.connections[index].numbering.option(segment)?;
        let (was_established, now) = (self.is_established(index), self.now);
        let ecn = segment.ecn.map_or(Ecn::NotCapable, EcnField::sent);
        let payload = Payload::Length(segment.payload);
        let mut packet =
            Packet::new(FlowId(index as u32), Direction::Uplink, Header::Tcp(header), payload, now);
        packet.set_ecn(ecn);
        option.into_iter().for_each(|option| packet.set_mptcp(option));
        self.on_multipath(index, |connection, cx| {
            let packet = cx.pool.insert(packet);
            connection.handle_packet(cx, packet);
        });
        let is_new = !was_established && self.is_established(index);
        if let Some(fd) = self.connections[index].listener.filter(|_| is_new)
            && let Some(socket) = self.sockets.get_mut(&fd)
        {
            socket.backlog.push_back(index);
        }
        self.flush(index);
        Ok(())
    }

    /// Notes that a connection ended, for later calls and segments.
    fn note_end(&mut self, index: usize) {
        let now = self.now;
        let c = &mut self.connections[index];
        let ended = match c.endpoint.state() {
            ConnectionState::Reset => Some(match c.endpoint.ended_by_reset() {
                Some(ResetIn::SynSent) => "ECONNREFUSED",
                Some(ResetIn::CloseWait) => "EPIPE",
                Some(ResetIn::SynReceived | ResetIn::Other) | None => "ECONNRESET",
            }),
            ConnectionState::TimedOut => Some("ETIMEDOUT"),
            ConnectionState::Closed => (c.endpoint.info(now).state == state::CLOSE).then_some(""),
            _ => None,
        };
        if let Some(error) = ended
            && !c.gone
        {
            c.gone = true;
            c.error = (!error.is_empty()).then_some(error);
        }
        // A connection that ended in SYN-RECEIVED leaves nothing: segments go to the socket that listens.
        if let Some(fd) = c.listener
            && c.endpoint.state() == ConnectionState::Listen
        {
            c.gone = true;
            self.under_test = UnderTest::Listener(fd);
        }
    }

    /// Sends what may be sent.
    pub(crate) fn flush(&mut self, index: usize) {
        if self.connections[index].multipath.is_some() {
            self.on_multipath(index, MptcpConnection::flush);
        } else if !self.connections[index].gone {
            self.on(index, TcpEndpoint::flush);
        }
    }

    /// Settings that also have an effect on open connections.
    fn apply_settings(&mut self) {
        let options = self.settings.sysctl.get("tcp_ecn_option").is_none_or(|value| value != "0");
        for connection in &mut self.connections {
            connection.endpoint.send_ecn_options(options);
        }
    }

    /// The connection of a descriptor.
    pub(crate) fn connection(&self, fd: i64) -> Option<usize> {
        self.sockets.get(&fd)?.connection
    }

    /// The state of the connection under test.
    fn state(&self) -> TcpInfo {
        match self.under_test {
            UnderTest::Connection(index) => self.connections[index].endpoint.info(self.now),
            UnderTest::Listener(_) => TcpInfo { state: state::LISTEN, ..TcpInfo::default() },
            UnderTest::Nothing => TcpInfo { state: state::CLOSE, ..TcpInfo::default() },
        }
    }

    /// Closes a descriptor.
    pub(crate) fn close(&mut self, fd: i64) -> bool {
        let Some(socket) = self.sockets.remove(&fd) else { return false };
        for index in socket.backlog {
            self.on(index, TcpEndpoint::abort);
        }
        let Some(index) = socket.connection else { return true };
        if self.connections[index].multipath.is_some() {
            self.on_multipath(index, |connection, _| connection.close());
            self.flush(index);
            return true;
        }
        if self.connections[index].gone {
            return true;
        }
        if self.connections[index].endpoint.state() == ConnectionState::SynSent {
            self.connections[index].gone = true; // RFC 9293 §3.10.4: the state is deleted
        } else if socket.options.aborts {
            self.on(index, TcpEndpoint::abort);
        } else {
            self.connections[index].endpoint.close();
            self.flush(index);
        }
        true
    }
}

impl Stack for Machine {
    fn now(&self) -> Instant {
        self.now
    }

    fn next_timeout(&self) -> Instant {
        let timers = self.connections.iter().filter(|c| !c.gone).map(Connection::next_timeout);
        timers.min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn step(&mut self, _latest: Instant) {
        self.now = self.now.max(self.next_timeout());
        for index in 0..self.connections.len() {
            if self.connections[index].gone || self.connections[index].next_timeout() > self.now {
                continue;
            }
            if self.connections[index].multipath.is_some() {
                self.on_multipath(index, MptcpConnection::handle_timeout);
            } else {
                self.on(index, TcpEndpoint::handle_timeout);
            }
            self.flush(index);
        }
    }

    // Timers of the instant itself come after the events of the script at this instant, because the timers of a kernel
    // are rounded up.
    fn advance(&mut self, to: Instant) {
        while self.next_timeout() < to {
            self.step(to);
        }
        self.now = self.now.max(to);
    }

    fn sent(&mut self) -> &mut VecDeque<Sent> {
        &mut self.sent
    }

    fn numbering(&mut self, connection: usize) -> &mut Numbering {
        &mut self.connections[connection].numbering
    }

    fn full_segment(&self, sent: &Sent) -> u32 {
        let connection = &self.connections[sent.connection];
        let room = TIMESTAMPS + MptcpOption::DSS_MAPPING_LEN;
        if connection.multipath.is_some() {
            u32::from(self.mss).saturating_sub(room).max(1)
        } else {
            connection.endpoint.info(sent.at).snd_mss
        }
    }

    fn receive(&mut self, segment: &Segment) -> Result<(), String> {
        let index = match self.under_test {
            UnderTest::Connection(index) => index,
            UnderTest::Listener(fd) => {
                let Some(options) = self.sockets.get(&fd).map(|s| s.options.clone()) else {
                    return Err("a segment for a socket that was closed".to_owned());
                };
                self.open(&options, Some(fd))?
            }
            UnderTest::Nothing => return Err("a segment without a connection".to_owned()),
        };
        if segment.is_signed() {
            return Ok(()); // without a key on this end, Linux drops it before TCP sees it
        }
        let header = self.connections[index].numbering.header(segment)?;
        if self.connections[index].multipath.is_some() {
            return self.receive_multipath(index, header, segment);
        }
        let ecn = segment.ecn.map_or(Ecn::NotCapable, EcnField::sent);
        let opens = segment.flags.contains('S') && !segment.flags.contains('.');
        if opens && self.connections[index].endpoint.state() == ConnectionState::SynSent {
            return Err("a simultaneous open".to_owned());
        }
        if self.connections[index].gone {
            if let Some(header) = refusal(&header, segment.payload) {
                let (at, connection) = (self.now, index);
                self.sent.push_back(Sent {
                    at,
                    connection,
                    header,
                    payload: 0,
                    ecn: Ecn::NotCapable,
                    option: None,
                });
            }
            return Ok(());
        }
        let waiting = self.connections[index].endpoint.state() != ConnectionState::Established;
        let payload = segment.payload;
        self.on(index, |endpoint, cx| endpoint.handle_segment(cx, &header, ecn, payload));
        let established = self.connections[index].endpoint.state() == ConnectionState::Established;
        if let Some(fd) = self.connections[index].listener.filter(|_| waiting && established)
            && let Some(socket) = self.sockets.get_mut(&fd)
        {
            socket.backlog.push_back(index);
        }
        self.flush(index);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Answer {
        self.execute(call)
    }

    fn resume(&mut self, call: &Call) -> Answer {
        match &*call.name {
            "connect" => self.connected(call.arguments[0].number().unwrap_or(-1)),
            _ => self.execute(call),
        }
    }

    fn apply(&mut self, settings: &Settings) -> Result<(), String> {
        if settings.paces {
            return Err("a queue that paces segments of several times the segment size (fq)".to_owned());
        }
        self.settings = settings.clone();
        self.apply_settings();
        Ok(())
    }

    fn listens(&self) -> bool {
        self.sockets.values().any(|socket| socket.listening)
    }

    fn info(&mut self) -> Result<Vec<(&'static str, i64)>, String> {
        let fields = self.state().fields();
        Ok(fields.iter().filter_map(|&(name, value)| Some((name, i64::try_from(value).ok()?))).collect())
    }
}

/// A span in whole microseconds, for texts.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{}.{:06}", span.as_micros() / 1_000_000, span.as_micros() % 1_000_000)
}
