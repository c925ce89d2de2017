//! The host under test: its sockets and connections, in virtual time.

use std::collections::{BTreeMap, VecDeque};

use airlane_core::{
    AccEcnOption, Cx, Direction, Duration, Ecn, FlowId, Header, Instant, PacketPool, SackBlock, SackList,
    Silence, TcpFlags, TcpHeader, TcpSynOptions, TcpTimestamps, TopicSet,
};
use airlane_transport::{ConnectionState, Path, TcpEndpoint, TcpInfo, info::state, refusal};

use crate::calls::Interest;
use crate::host::{SocketOptions, config};
use crate::script::{EcnField, Segment, SegmentOption};
use crate::shell::Settings;
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
    /// Initial sequence numbers: ours, and the peer's once its SYN has arrived.
    local: u32,
    remote: Option<u32>,
    /// Sequence number of our SYN in the script.
    script_local: u32,
    /// Linux has no state of it any more: segments are answered with a RST.
    pub(crate) gone: bool,
    /// An error that the next call reports.
    pub(crate) error: Option<&'static str>,
    /// Bytes that the application has written, and the notifications of its zero-copy sends.
    pub(crate) written: u64,
    pub(crate) zero_copy: ZeroCopy,
    /// The socket that listens for it.
    listener: Option<i64>,
    /// Timestamps that were sent, as the script writes them and as they were.
    stamps: BTreeMap<u32, u32>,
    first_stamp: Option<(u32, u32)>,
}

/// A segment that the host sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) at: Instant,
    pub(crate) connection: usize,
    pub(crate) header: TcpHeader,
    pub(crate) payload: u32,
    pub(crate) ecn: Ecn,
}

/// Where segments without an address go: as in packetdrill, to the connection that was opened last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum UnderTest {
    Nothing,
    Listener(i64),
    Connection(usize),
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
    pub(crate) arriving_mss: Option<u32>,
    pool: PacketPool,
}

impl Machine {
    pub(crate) fn new(now: Instant, mss: u16) -> Self {
        Self {
            settings: Settings::default(),
            now,
            sockets: BTreeMap::new(),
            connections: Vec::new(),
            sent: VecDeque::new(),
            under_test: UnderTest::Nothing,
            interests: BTreeMap::new(),
            mss,
            arriving_mss: None,
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
        let mut endpoint = TcpEndpoint::new(config, path);
        endpoint.set_waiting(!options.nodelay, options.cork);
        if let Some(size) = self.arriving_mss {
            endpoint.joins_segments_of(size);
        }
        self.connections.push(Connection {
            endpoint,
            local,
            remote: None,
            script_local: 0,
            gone: false,
            error: None,
            written: 0,
            zero_copy: ZeroCopy::default(),
            listener,
            stamps: BTreeMap::new(),
            first_stamp: None,
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
        self.on(index, TcpEndpoint::connect);
        Ok(())
    }

    /// Calls an endpoint, and collects what it sends.
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
                self.sent.push_back(Sent { at: self.now, connection: index, header, payload, ecn });
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

    /// Notes that a connection ended, for later calls and segments.
    fn note_end(&mut self, index: usize) {
        let now = self.now;
        let c = &mut self.connections[index];
        let ended = match c.endpoint.state() {
            ConnectionState::Reset => Some("ECONNRESET"),
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
    }

    /// Sends what may be sent.
    pub(crate) fn flush(&mut self, index: usize) {
        if !self.connections[index].gone {
            self.on(index, TcpEndpoint::flush);
        }
    }

    /// Settings that also have an effect on open connections.
    pub(crate) fn apply_settings(&mut self) {
        let options = self.settings.sysctl.get("tcp_ecn_option").is_none_or(|value| value != "0");
        for connection in &mut self.connections {
            connection.endpoint.send_ecn_options(options);
        }
    }

    /// The earliest timer.
    pub(crate) fn next_timeout(&self) -> Instant {
        let timers = self.connections.iter().filter(|c| !c.gone).map(|c| c.endpoint.next_timeout());
        timers.min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// Handles the timers of the next instant at which one is due.
    pub(crate) fn step(&mut self) {
        self.now = self.now.max(self.next_timeout());
        for index in 0..self.connections.len() {
            if !self.connections[index].gone && self.connections[index].endpoint.next_timeout() <= self.now {
                self.on(index, TcpEndpoint::handle_timeout);
                self.flush(index);
            }
        }
    }

    /// Lets time pass. Timers of the instant itself come after what happens then, because those of a kernel
    /// are rounded up.
    pub(crate) fn advance(&mut self, to: Instant) {
        while self.next_timeout() < to {
            self.step();
        }
        self.now = self.now.max(to);
    }

    /// The connection of a descriptor.
    pub(crate) fn connection(&self, fd: i64) -> Option<usize> {
        self.sockets.get(&fd)?.connection
    }

    /// The state of the connection under test.
    pub(crate) fn info(&self) -> TcpInfo {
        match self.under_test {
            UnderTest::Connection(index) => self.connections[index].endpoint.info(self.now),
            UnderTest::Listener(_) => TcpInfo { state: state::LISTEN, ..TcpInfo::default() },
            UnderTest::Nothing => TcpInfo { state: state::CLOSE, ..TcpInfo::default() },
        }
    }

    /// A segment arrives.
    pub(crate) fn receive(&mut self, segment: &Segment) -> Result<(), String> {
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
        if !self.connections[index].checks_out(segment) {
            return Ok(());
        }
        let header = self.connections[index].header(segment)?;
        let ecn = match segment.ecn {
            None | Some(EcnField::NotCapable) => Ecn::NotCapable,
            Some(EcnField::Capable0 | EcnField::Capable) => Ecn::Capable0,
            Some(EcnField::Capable1) => Ecn::Capable1,
            Some(EcnField::Marked) => Ecn::CongestionExperienced,
        };
        let opens = segment.flags.contains('S') && !segment.flags.contains('.');
        if opens && self.connections[index].endpoint.state() == ConnectionState::SynSent {
            return Err("a simultaneous open".to_owned());
        }
        if self.connections[index].gone {
            if let Some(header) = refusal(&header, segment.payload) {
                let (at, connection) = (self.now, index);
                self.sent.push_back(Sent { at, connection, header, payload: 0, ecn: Ecn::NotCapable });
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

    /// Closes a descriptor.
    pub(crate) fn close(&mut self, fd: i64) -> bool {
        let Some(socket) = self.sockets.remove(&fd) else { return false };
        for index in socket.backlog {
            self.on(index, TcpEndpoint::abort);
        }
        let Some(index) = socket.connection else { return true };
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

impl Connection {
    /// False for a segment that Linux drops before TCP sees it: signed, without a key on this end.
    fn checks_out(&self, segment: &Segment) -> bool {
        !segment.options.iter().flatten().any(|option| *option == SegmentOption::Md5)
    }

    /// The header of a segment that arrives, with sequence numbers and timestamps as they are.
    fn header(&mut self, segment: &Segment) -> Result<TcpHeader, String> {
        let flags = flags(segment)?;
        let syn = flags.has(TcpFlags::SYN);
        if syn && self.remote.is_none() {
            self.remote = Some(segment.start);
        }
        // In a SYN, scripts write sequence numbers in full, elsewhere relative to the SYNs.
        let base = if syn { 0 } else { self.remote.unwrap_or(0) };
        let local = if syn { self.local.wrapping_sub(self.script_local) } else { self.local };
        let mut header = TcpHeader {
            sequence: segment.start.wrapping_add(base),
            acknowledgment: segment.ack.unwrap_or(0).wrapping_add(local),
            window: segment.window.unwrap_or(0),
            flags,
            ..TcpHeader::default()
        };
        for option in segment.options.iter().flatten() {
            match option {
                SegmentOption::Mss(mss) => header.syn.mss = Some(*mss),
                SegmentOption::WindowScale(scale) => header.syn.window_scale = Some(*scale),
                SegmentOption::SackPermitted => header.syn.sack_permitted = true,
                SegmentOption::Sack(blocks) => {
                    for (left, right) in blocks {
                        let (left, right) = (left.wrapping_add(local), right.wrapping_add(local));
                        header.sack.push(SackBlock { left, right });
                    }
                }
                SegmentOption::Timestamps(value, echo) => {
                    let echo_reply = self.stamp_of(*echo);
                    header.timestamps = Some(TcpTimestamps { value: *value, echo_reply });
                }
                SegmentOption::Md5 => {}
                SegmentOption::FastOpen(_) => return Err("Fast Open".to_owned()),
                SegmentOption::AccurateEcn(counters) => header.accurate_ecn = Some(accurate_ecn(counters)?),
                SegmentOption::Other(text) => return Err(format!("the option {text:?}")),
            }
        }
        if !syn {
            header.syn = TcpSynOptions::default();
        }
        Ok(header)
    }

    /// Our timestamp that the script writes so.
    fn stamp_of(&self, written: u32) -> u32 {
        match (self.stamps.get(&written), self.first_stamp) {
            (Some(stamp), _) => *stamp,
            (None, Some((first, real))) if written != 0 => real.wrapping_add(written.wrapping_sub(first)),
            _ => written,
        }
    }

    /// The script writes our timestamp so. Returns the timestamp in the script's units.
    pub(crate) fn learn_stamp(&mut self, written: u32, real: u32) -> u32 {
        self.stamps.insert(written, real);
        let (first, base) = *self.first_stamp.get_or_insert((written, real));
        first.wrapping_add(real.wrapping_sub(base))
    }

    /// The script gives our SYN this sequence number.
    pub(crate) fn learn_start(&mut self, written: u32) {
        self.script_local = written;
    }

    /// Our sequence number as the script writes it: relative to our SYN, but in a SYN in full. A RST in answer to
    /// a segment without a connection has the number 0 (RFC 9293 §3.10.7.1).
    pub(crate) fn local_number(&self, number: u32, syn: bool) -> u32 {
        if number == 0 {
            return 0;
        }
        let number = number.wrapping_sub(self.local);
        if syn { number.wrapping_add(self.script_local) } else { number }
    }

    /// The peer's sequence number as the script writes it.
    pub(crate) fn remote_number(&self, number: u32, syn: bool) -> u32 {
        if syn { number } else { number.wrapping_sub(self.remote.unwrap_or(0)) }
    }
}

/// The flags of a segment.
pub(crate) fn flags(segment: &Segment) -> Result<TcpFlags, String> {
    let mut bits = 0;
    for letter in segment.flags.chars() {
        bits |= match letter {
            'S' => TcpFlags::SYN,
            'F' => TcpFlags::FIN,
            'R' => TcpFlags::RST,
            'P' => TcpFlags::PSH,
            '.' => TcpFlags::ACK,
            'E' => TcpFlags::ECE,
            'W' => TcpFlags::CWR,
            'A' => TcpFlags::AE,
            _ => return Err("urgent data".to_owned()),
        };
    }
    if let Some(ace) = segment.ace {
        bits |= TcpFlags::of_ace(u32::from(ace));
    }
    if segment.urgent.is_some() {
        return Err("urgent data".to_owned());
    }
    Ok(TcpFlags(bits))
}

/// An AccECN option: its order is that of its first counter, `e0b` or `e1b`.
fn accurate_ecn(counters: &[(String, u32)]) -> Result<AccEcnOption, String> {
    let names: Vec<&str> = counters.iter().map(|(name, _)| &**name).collect();
    let order = match names.as_slice() {
        [] | ["e0b"] | ["e0b", "ceb"] | ["e0b", "ceb", "e1b"] => 0,
        ["e1b"] | ["e1b", "ceb"] | ["e1b", "ceb", "e0b"] => 1,
        _ => return Err(format!("an AccECN option with the counters {}", names.join(" "))),
    };
    let values: Vec<u32> = counters.iter().map(|(_, value)| *value).collect();
    Ok(AccEcnOption::new(order, &values))
}

/// A span in whole microseconds, for texts.
pub(crate) fn seconds(span: Duration) -> String {
    format!("{}.{:06}", span.as_micros() / 1_000_000, span.as_micros() % 1_000_000)
}
