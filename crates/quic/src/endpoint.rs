//! One end of one connection.

use std::sync::atomic::Ordering;

use airlane_core::{
    Bytes, Cx, Duration, Ecn, Event, Header, Instant, Packet, Payload, Port, Topic, UdpHeader,
};
use airlane_transport::Path;
use airlane_transport::congestion::RadioInformation;
use bytes::BytesMut;
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, FrameStats, StreamEvent,
    StreamId, Transmit, VarInt, WriteError,
};

use crate::congestion::{Expiry, Judged, MAX_ACK_DELAY, SenderEvents, State, StateReport};
use crate::reassembly::Reassembly;
use crate::setup::{QuicConfig, QuicCrypto, Role, Setup, address};
use crate::time::{LastTime, QuinnInstant, from_quinn, span_from_quinn, to_quinn};

/// The data that applications write: zeros, which are copied only into packets.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// Bytes that are reserved for datagrams together.
const ROOM: usize = 16_384;

/// Half of the smallest maximum datagram size (RFC 9000 §14). A datagram up to this size has room left for each frame
/// but STREAM and CRYPTO, which fill what is there.
const SHORT: usize = 600;

/// Smallest size to which a datagram is padded (RFC 9000 §14.1).
const MIN_INITIAL_DATAGRAM: usize = 1200;

/// Timer granularity (RFC 9002 §6.1.2).
const GRANULARITY: Duration = Duration::from_millis(1);

/// An event for the application at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuicEvent {
    /// The handshake is complete.
    Connected,
    /// The peer opened streams: [`QuicEndpoint::accept`] returns them.
    Opened,
    /// There may be data to read.
    Readable(StreamId),
    /// There may be room to write.
    Writable(StreamId),
    /// The peer has acknowledged all of a stream.
    Finished(StreamId),
    /// The connection is over.
    Lost,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readable {
    /// Bytes in order.
    pub bytes: u64,
    /// True if there is no more data.
    pub at_end: bool,
}

/// Computes the identifier of a datagram at a PEP.
pub type Identifier = Box<dyn Fn(&[u8]) -> u64 + Send>;

/// One end of a connection.
pub struct QuicEndpoint {
    setup: Setup,
    /// True if the sender has a timer or paces in addition to quinn.
    has_times: bool,
    path: Path,
    port: Port,
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The buffer for quinn's datagrams, with room for a full one.
    scratch: Vec<u8>,
    /// Room for the datagrams that arrive. quinn keeps parts of the room until they are read; then the room is used
    /// again.
    arrived: BytesMut,
    last_time: LastTime,
    due: Instant,
    /// Arrival time of the peer's last datagram.
    heard_at: Instant,
    /// Computes a PEP's identifiers, if the PEP is used.
    identifier: Option<Identifier>,
    /// True if a timeout was passed to quinn since it last sent.
    timer_fired: bool,
    /// True once the handshake is confirmed (RFC 9001 §4.1.2): all packets are 1-RTT packets.
    confirmed: bool,
    serial: u64,
    /// Number of frames sent that elicit an acknowledgment.
    eliciting: u64,
    /// The streams whose last write left data with the application, because there was no room for it.
    waiting: Vec<StreamId>,
    reassembly: Reassembly,
    reporter: Reporter,
}

/// The last reported state of the sender.
#[derive(Debug, Default)]
struct Reporter {
    lost_packets: u64,
    probes: u64,
    /// Packets that will repeat the content of lost ones.
    to_resend: u64,
    rttvar: Duration,
    state: State,
}

impl core::fmt::Debug for QuicEndpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let connected = self.connection.is_some();
        f.debug_struct("QuicEndpoint").field("path", &self.path).field("connected", &connected).finish()
    }
}

impl QuicEndpoint {
    /// An end that sends along `path` through `port`.
    ///
    /// # Panics
    /// If an MTU is below 1228 bytes.
    #[must_use]
    pub fn new(config: QuicConfig, path: Path, role: Role, port: Port) -> Self {
        let setup = Setup::new(config, path, role);
        let endpoint = setup.endpoint();
        let has_times = setup.sender.lock().has_times();
        Self {
            setup,
            has_times,
            path,
            port,
            endpoint,
            connection: None,
            scratch: Vec::new(),
            arrived: BytesMut::new(),
            last_time: LastTime::default(),
            due: Instant::FAR_FUTURE,
            heard_at: Instant::ZERO,
            identifier: None,
            timer_fired: false,
            confirmed: false,
            serial: 0,
            eliciting: 0,
            waiting: Vec::new(),
            reassembly: Reassembly::default(),
            reporter: Reporter::default(),
        }
    }

    /// The end with a PEP that uses these identifiers.
    #[must_use]
    pub fn with_identifier(self, identifier: Identifier) -> Self {
        Self { identifier: Some(identifier), ..self }
    }

    /// A PEP reports that datagrams with these identifiers have passed, the newest one this long ago.
    pub fn on_seen(&mut self, cx: &Cx<'_>, identifiers: &[u64], delay: Duration) {
        self.setup.sender.lock().on_seen(cx.now, identifiers, delay);
    }

    /// Begins a connection; [`Self::flush`] sends its first packet.
    pub fn connect(&mut self, cx: &Cx<'_>) {
        let config = self.setup.connect();
        let connected = self.endpoint.connect(to_quinn(cx.now), config, address(Role::Server), "server");
        self.connection = Some(connected.expect("the settings are those of a client"));
    }

    /// A datagram arrives, with the bytes of the peer's quinn.
    pub fn handle_datagram(&mut self, cx: &mut Cx<'_>, ecn: Ecn, datagram: Box<[u8]>) {
        let peer = match self.setup.role {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let ecn = match ecn {
            Ecn::NotCapable => None,
            Ecn::Capable0 => Some(EcnCodepoint::Ect0),
            Ecn::Capable1 => Some(EcnCodepoint::Ect1),
            Ecn::CongestionExperienced => Some(EcnCodepoint::Ce),
        };
        if self.arrived.capacity() < datagram.len() {
            self.arrived.reserve(datagram.len().max(ROOM));
        }
        self.arrived.extend_from_slice(&datagram);
        let (now, data) = (self.last_time.quinn_of(cx.now), self.arrived.split());
        cx.pool.keep_datagram(datagram);
        self.heard_at = cx.now;
        self.scratch.clear();
        match self.endpoint.handle(now, address(peer), None, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let config = self.setup.accept();
                let accepted = self.endpoint.accept(incoming, now, &mut self.scratch, Some(config));
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            // A stateless reset: its peer has closed, and would ignore it.
            Some(DatagramEvent::Response(_)) | None => {}
        }
    }

    /// To be called at [`Self::next_timeout`].
    pub fn handle_timeout(&mut self, cx: &Cx<'_>) {
        if let Some((_, connection)) = &mut self.connection
            && self.due <= cx.now
        {
            connection.handle_timeout(self.last_time.quinn_of(cx.now));
            self.timer_fired = true;
        }
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub const fn next_timeout(&self) -> Instant {
        self.due
    }

    /// The next event for the application.
    pub fn poll(&mut self) -> Option<QuicEvent> {
        use quinn_proto::Event;
        let (_, connection) = self.connection.as_mut()?;
        loop {
            return Some(match connection.poll()? {
                Event::Connected => QuicEvent::Connected,
                Event::ConnectionLost { .. } => QuicEvent::Lost,
                Event::Stream(StreamEvent::Opened { .. }) => QuicEvent::Opened,
                Event::Stream(StreamEvent::Readable { id }) => QuicEvent::Readable(id),
                Event::Stream(StreamEvent::Writable { id }) => QuicEvent::Writable(id),
                Event::Stream(StreamEvent::Finished { id }) => QuicEvent::Finished(id),
                _ => continue,
            });
        }
    }

    /// Opens a bidirectional stream, if the peer allows one more.
    pub fn open(&mut self) -> Option<StreamId> {
        self.connection.as_mut()?.1.streams().open(Dir::Bi)
    }

    /// Opens a unidirectional stream to the peer, if it allows one more.
    pub fn open_one_way(&mut self) -> Option<StreamId> {
        self.connection.as_mut()?.1.streams().open(Dir::Uni)
    }

    /// A bidirectional stream that the peer opened.
    pub fn accept(&mut self) -> Option<StreamId> {
        self.connection.as_mut()?.1.streams().accept(Dir::Bi)
    }

    /// A unidirectional stream that the peer opened.
    pub fn accept_one_way(&mut self) -> Option<StreamId> {
        self.connection.as_mut()?.1.streams().accept(Dir::Uni)
    }

    /// Data written from now on leaves before data of streams with a lower priority; streams begin with 0.
    pub fn set_priority(&mut self, id: StreamId, priority: i32) {
        if let Some((_, connection)) = &mut self.connection {
            // Fails only for a stream that has ended.
            let _ = connection.send_stream(id).set_priority(priority);
        }
    }

    /// Writes these bytes, as many as flow control and the send window allow, and returns their number.
    pub fn write_bytes(&mut self, id: StreamId, bytes: &[u8]) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let written = connection.send_stream(id).write(bytes);
        self.set_waiting(
            id,
            match &written {
                Ok(written) => *written < bytes.len(),
                Err(error) => *error == WriteError::Blocked,
            },
        );
        written.unwrap_or(0)
    }

    /// Writes up to this number of zero bytes, as many as flow control and the send window allow, and
    /// returns their number. [`QuicEvent::Writable`] reports when there is room again.
    pub fn write(&mut self, id: StreamId, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut stream = connection.send_stream(id);
        let (mut written, mut waits) = (0, false);
        while written < bytes {
            let chunk = (bytes - written).min(ZEROS.len() as u64) as usize;
            match stream.write_chunks(&mut [bytes::Bytes::from_static(&ZEROS[..chunk])]) {
                Ok(some) => written += some.bytes as u64,
                Err(error) => {
                    waits = error == WriteError::Blocked;
                    break;
                }
            }
        }
        self.set_waiting(id, waits);
        written
    }

    /// The application has data of this stream for which there is no room, or has none.
    fn set_waiting(&mut self, id: StreamId, waits: bool) {
        let known = self.waiting.iter().position(|stream| *stream == id);
        match (known, waits) {
            (None, true) => self.waiting.push(id),
            (Some(place), false) => drop(self.waiting.swap_remove(place)),
            (Some(_), true) | (None, false) => return,
        }
        self.setup.waiting_streams.store(self.waiting.len() as u32, Ordering::Relaxed);
    }

    /// Ends this end's direction of a stream.
    pub fn finish(&mut self, id: StreamId) {
        self.set_waiting(id, false);
        if let Some((_, connection)) = &mut self.connection {
            // Fails only for a stream that the peer has stopped or the connection has lost.
            let _ = connection.send_stream(id).finish();
        }
    }

    /// Reads everything that has arrived in order, and discards its content.
    pub fn read(&mut self, id: StreamId) -> Readable {
        self.read_with(id, |_| ())
    }

    /// Reads everything that has arrived in order, in parts.
    pub fn read_with(&mut self, id: StreamId, take: impl FnMut(&[u8])) -> Readable {
        let Some((_, connection)) = &mut self.connection else { return Readable::default() };
        self.reassembly.read(connection, id, take)
    }

    /// True once a connection is closed, by either end or by its idle timeout; some of its packets may still
    /// arrive.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_closed())
    }

    /// True once a connection has ended and packets for it are no longer answered (RFC 9000 §10.2).
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.connection.as_ref().is_some_and(|(_, connection)| connection.is_drained())
    }

    /// True if the peer may silently give up the connection before data sent now can reach it: its idle
    /// timeout is less than a probe timeout away (RFC 9000 §10.1.2). The probe timeout is that of a first
    /// sample, whose variance is half of it (RFC 9002 §5.3, §6.2.1): three round trips and the maximum delay
    /// of an acknowledgment.
    #[must_use]
    pub fn may_be_given_up(&self, now: Instant) -> bool {
        let (Some(idle), Some((_, connection))) = (self.setup.config.idle_timeout, &self.connection) else {
            return false;
        };
        let probe_timeout = span_from_quinn(connection.rtt()) * 3 + MAX_ACK_DELAY;
        now.saturating_since(self.heard_at) + probe_timeout >= idle
    }

    /// True for a datagram that requests a connection: an Initial packet of version 1 (RFC 9000 §17.2.2),
    /// whether or not its fixed bit is set (RFC 9287).
    #[must_use]
    pub fn opens(datagram: &[u8]) -> bool {
        datagram.first().is_some_and(|first| first & 0xB0 == 0x80)
            && datagram.get(1..5) == Some(&[0, 0, 0, 1])
    }

    /// Closes the connection at once.
    pub fn close(&mut self, cx: &Cx<'_>) {
        if let Some((_, connection)) = &mut self.connection {
            connection.close(to_quinn(cx.now), VarInt::from_u32(0), bytes::Bytes::new());
        }
    }

    /// Passes the base station's information about the UE to the controller. A measurement older than the
    /// newest known one is ignored.
    pub fn on_radio_information(&mut self, information: RadioInformation) {
        self.setup.sender.lock().controller.on_radio_information(&information);
    }

    /// Sends the pending datagrams. To be called after all other calls that may have changed the state.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
        let now = self.last_time.quinn_of(cx.now);
        let last_sent_at = self.prepare(cx, now);
        self.tell_secrets(cx);
        self.setup.sender.is_asked();
        while let Some(transmit) = self.next_datagram(now) {
            let is_last = self.is_last();
            let counts = self.count_datagram();
            self.send(cx, transmit.ecn, counts);
            if is_last {
                debug_assert!(self.next_datagram(now).is_none(), "nothing is left to send");
                self.setup.sender.has_nothing_to_send();
                break;
            }
        }
        if core::mem::take(&mut self.timer_fired) {
            self.count_probes(cx, last_sent_at);
        }
        let timeout = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let own = if self.has_times { self.own_timeout() } else { Instant::FAR_FUTURE };
        // A timer that is already due would be called at this instant without end.
        let soon = cx.now + Duration::from_nanos(1);
        self.due = timeout.map_or(Instant::FAR_FUTURE, from_quinn).min(own).max(soon);
    }

    /// Writes quinn's next datagram to the buffer.
    fn next_datagram(&mut self, now: QuinnInstant) -> Option<Transmit> {
        let (_, connection) = self.connection.as_mut()?;
        self.scratch.clear();
        let full = usize::from(connection.current_mtu());
        if self.scratch.capacity() != full {
            self.scratch = Vec::with_capacity(full);
        }
        connection.poll_transmit(now, 1, &mut self.scratch)
    }

    /// Counts the datagram in the buffer as sent, if it is in flight: it has a frame that elicits an acknowledgment, or
    /// padding (RFC 9002 §2). quinn pads only datagrams with Initial packets, to 1200 bytes, which no datagram with
    /// nothing but ACK frames reaches: quinn acknowledges at most 64 ranges (`MAX_ACK_BLOCKS`). Returns whether it counts.
    fn count_datagram(&mut self) -> bool {
        let Some((_, connection)) = &self.connection else { return false };
        let frames = eliciting(&connection.stats().frame_tx);
        let elicits = core::mem::replace(&mut self.eliciting, frames) != frames;
        self.setup.sender.count_announced(elicits || self.scratch.len() >= MIN_INITIAL_DATAGRAM)
    }

    /// True if quinn is known to have nothing left to send after the datagram in the buffer: to ask it takes some 700
    /// instructions. It fills each datagram as far as it can (`Connection::populate_packet`), so a short one of the only
    /// packet number space leaves nothing but
    /// - a second probe after a timeout, and
    /// - a probe of the path MTU, while the search has not reached its upper bound.
    fn is_last(&mut self) -> bool {
        let is_short =
            self.scratch.len() <= SHORT && self.scratch.first().is_some_and(|form| form & 0x80 == 0);
        is_short && !self.timer_fired && self.has_full_mtu() && self.is_confirmed()
    }

    /// True if there is no larger path MTU to search for.
    fn has_full_mtu(&self) -> bool {
        let mtu = self.connection.as_ref().map_or(0, |(_, connection)| connection.current_mtu());
        mtu >= self.setup.config.searched_mtu()
    }

    fn is_confirmed(&mut self) -> bool {
        if !self.confirmed
            && let Some((_, connection)) = &self.connection
        {
            self.confirmed = match self.setup.role {
                Role::Server => !connection.is_handshaking(),
                Role::Client => connection.stats().frame_rx.handshake_done > 0,
            };
        }
        self.confirmed
    }

    /// Reports the secrets of a handshake, before any packet that they protect is sent.
    fn tell_secrets(&self, cx: &mut Cx<'_>) {
        if self.setup.config.crypto == QuicCrypto::Tls {
            let lines = self.setup.secrets.take();
            if !lines.is_empty() {
                cx.emit(&Event::Secrets { flow: self.path.flow, lines: &lines });
            }
        }
    }

    /// The time at which the sender needs a call of its own.
    fn own_timeout(&self) -> Instant {
        let sender = self.setup.sender.lock();
        let at = |timeout: Option<Instant>| timeout.unwrap_or(Instant::FAR_FUTURE);
        at(sender.next_timeout()).min(at(sender.paced_until()))
    }

    /// Handles the sender's own timer, if it has one.
    fn expire(&mut self, cx: &mut Cx<'_>) {
        let mut sender = self.setup.sender.lock();
        if sender.next_timeout().is_some_and(|at| at <= cx.now)
            && let Some(expiry) = sender.on_timeout(cx.now)
        {
            drop(sender);
            self.report_timeout(cx, expiry);
        }
    }

    /// Before sending: handles the sender's own timer, reports its changes and lets it decide about data. Returns when
    /// it has sent last.
    fn prepare(&mut self, cx: &mut Cx<'_>, now: QuinnInstant) -> Instant {
        if self.has_times {
            self.expire(cx);
        }
        let mut sender = self.setup.sender.lock();
        sender.begin(now, cx.now);
        let (events, judged) = (sender.take_events(), sender.take_judged());
        let reports = self.setup.config.sends_data;
        let changed = if reports && cx.wants(Topic::FlowState) {
            let state = sender.state();
            (state != self.reporter.state).then(|| sender.report(state))
        } else {
            None
        };
        let window = if events.undone { sender.state().0 } else { Bytes::ZERO };
        if self.has_times {
            sender.settle(cx.now);
        }
        let last_sent_at = sender.last_sent_at();
        drop(sender);
        if reports {
            self.report(cx, events, judged, window);
            if let Some(report) = changed {
                self.report_state(cx, report);
            }
        }
        last_sent_at
    }

    /// quinn does not report when its probe timer fires, but each probe requests an immediate
    /// acknowledgment (draft-ietf-quic-ack-frequency), and only probes for the path MTU also do so.
    fn count_probes(&mut self, cx: &mut Cx<'_>, last_sent_at: Instant) {
        let Some((_, connection)) = &self.connection else { return };
        let stats = connection.stats();
        let probes = stats.frame_tx.immediate_ack - stats.path.sent_plpmtud_probes;
        if probes > core::mem::replace(&mut self.reporter.probes, probes) {
            let mut sender = self.setup.sender.lock();
            if !sender.has_timer() {
                let expiry = sender.on_probe_timeout(cx.now.saturating_since(last_sent_at));
                drop(sender);
                self.report_timeout(cx, expiry);
            }
        }
    }

    fn report_timeout(&self, cx: &mut Cx<'_>, expiry: Expiry) {
        if self.setup.config.sends_data && cx.wants(Topic::Timeout) {
            cx.emit(&Event::Timeout {
                flow: self.path.flow,
                rto: expiry.rto,
                congestion_window: expiry.congestion_window,
                in_flight: expiry.in_flight,
                backoff: expiry.backoff,
                in_recovery: expiry.in_recovery,
            });
        }
    }

    /// Takes quinn's datagram. A full one leaves in its buffer, whose place a spare one takes; others are copied.
    fn take_datagram(&mut self, cx: &mut Cx<'_>) -> Box<[u8]> {
        let length = self.scratch.len();
        let spare = cx.pool.spare_datagram(length);
        if length == self.scratch.capacity() {
            let next = spare.map_or_else(|| Vec::with_capacity(length), Vec::from);
            return core::mem::replace(&mut self.scratch, next).into_boxed_slice();
        }
        match spare {
            Some(mut spare) => {
                spare.copy_from_slice(&self.scratch);
                spare
            }
            None => self.scratch.as_slice().into(),
        }
    }

    /// Sends the datagram in the buffer. One that `counts` as in flight has an identifier at a PEP.
    fn send(&mut self, cx: &mut Cx<'_>, ecn: Option<EcnCodepoint>, counts: bool) {
        if let Some(identifier) = self.identifier.as_ref().filter(|_| counts) {
            self.setup.sender.lock().name_newest(identifier(&self.scratch));
        }
        let header = Header::Udp(UdpHeader { serial: self.serial });
        self.serial += 1;
        let payload = Payload::Bytes(self.take_datagram(cx));
        let mut packet = Packet::new(self.path.flow, self.path.direction, header, payload, cx.now);
        packet.sockets = self.path.sockets;
        packet.ecn = match ecn {
            Some(EcnCodepoint::Ect0) if self.setup.config.ecn && self.setup.scalable => Ecn::Capable1,
            Some(EcnCodepoint::Ect0) if self.setup.config.ecn => Ecn::Capable0,
            Some(EcnCodepoint::Ect1) if self.setup.config.ecn => Ecn::Capable1,
            _ => Ecn::NotCapable,
        };
        let retransmission = self.reporter.to_resend > 0;
        self.reporter.to_resend -= u64::from(retransmission);
        let packet = cx.pool.insert(packet);
        if cx.wants(Topic::Sent) {
            cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission });
        }
        cx.send(self.port, packet);
    }

    /// Reports the events of the sender to observers, with the window that follows from a timeout undone.
    fn report(&mut self, cx: &mut Cx<'_>, events: SenderEvents, judged: Vec<Judged>, window: Bytes) {
        let Some((_, connection)) = &self.connection else { return };
        let flow = self.path.flow;
        for Judged { sent_at, timeout, cause } in judged {
            cx.emit(&Event::LossJudged { flow, sent_at, timeout, verdict: cause.verdict() });
        }
        if events.lost {
            let lost_packets = connection.stats().path.lost_packets;
            let new = lost_packets - self.reporter.lost_packets;
            self.reporter.lost_packets = lost_packets;
            self.reporter.to_resend += new;
            let bytes = Bytes(u64::from(connection.stats().path.current_mtu));
            (0..new).for_each(|_| cx.emit(&Event::SegmentLost { flow, bytes }));
        }
        if events.undone {
            cx.emit(&Event::TimeoutUndone { flow, congestion_window: window });
        }
        if let Some(rtt) = events.rtt {
            let srtt = span_from_quinn(connection.rtt());
            // RFC 9002 §5.3 without the correction for delayed acknowledgments, which quinn does not expose.
            self.reporter.rttvar = (self.reporter.rttvar * 3 + srtt.abs_diff(rtt)) / 4;
            let rto = srtt + (self.reporter.rttvar * 4).max(GRANULARITY);
            cx.emit(&Event::RttSample { flow, rtt, srtt, rto });
        }
    }

    /// Reports the state of the sender.
    fn report_state(&mut self, cx: &mut Cx<'_>, report: StateReport) {
        let (flow, StateReport { state, cubic, domains }) = (self.path.flow, report);
        self.reporter.state = state;
        let (congestion_window, ssthresh, in_flight) = state;
        cx.emit(&Event::FlowState {
            flow,
            congestion_window,
            ssthresh,
            in_flight,
            offered_window: None,
            cubic,
        });
        if let Some((internet, ran, pep_srtt)) = domains.filter(|_| cx.wants(Topic::Pep)) {
            cx.emit(&Event::DomainState { flow, internet, ran, pep_srtt });
        }
    }
}

/// The number of frames that elicit acknowledgments: all but ACK, PADDING and CONNECTION_CLOSE (RFC 9002 §2).
const fn eliciting(sent: &FrameStats) -> u64 {
    sent.stream
        + sent.crypto
        + sent.max_data
        + sent.max_stream_data
        + sent.max_streams_bidi
        + sent.max_streams_uni
        + sent.data_blocked
        + sent.stream_data_blocked
        + sent.streams_blocked_bidi
        + sent.streams_blocked_uni
        + sent.reset_stream
        + sent.stop_sending
        + sent.new_connection_id
        + sent.retire_connection_id
        + sent.new_token
        + sent.path_challenge
        + sent.path_response
        + sent.ping
        + sent.immediate_ack
        + sent.ack_frequency
        + sent.datagram
        + sent.handshake_done as u64
}
