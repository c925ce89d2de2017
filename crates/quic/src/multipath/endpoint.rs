//! One end of a connection with one stream of data.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use airlane_core::{
    Cx, Direction, Duration, Ecn, Event, FlowId, Header, Instant, Packet, Payload, Topic, UdpHeader,
};
use airlane_transport::Path;
use bytes::{Bytes, BytesMut};
use noq_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint, PathEvent, PathId, PathStatus,
    Side, StreamEvent, StreamId, Transmit, VarInt,
};

use super::data::DataLog;
use super::frames::{StreamData, stream_data};
use super::paths::LivePath;
use super::scheduler::{Candidate, Turns};
use super::sender::next_call;
use super::setup::{MultipathConfig, SERVER, Setup, network_path};
use crate::identity::Ids;
use crate::time::{LastTime, QuinnInstant, from_quinn};
use crate::{QuicEvent, Readable, Role, setup};

/// The data that applications write: zeros, which are copied only into packets.
static ZEROS: [u8; 65_536] = [0; 65_536];

/// noq gives up a connection with more than 1,024 chunks of a stream (noq-proto 1.4.0, `connection/assembler.rs`:
/// `MAX_CHUNKS`), once it holds 2,048. It joins neighbouring ones only once. With more pieces than this, data are read out of
/// order.
const PIECES_MAX: usize = 900;

/// The stream of the data, the first that the client opens.
fn data_stream() -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, 0)
}

/// One end of a connection.
pub struct MultipathEndpoint {
    pub(super) config: MultipathConfig,
    pub(super) flow: FlowId,
    direction: Direction,
    pub(super) role: Role,
    place: String,
    ids: Ids,
    endpoint: Endpoint,
    pub(super) connection: Option<(ConnectionHandle, Connection)>,
    /// noq's paths, by number, until it has forgotten them.
    pub(super) live: Vec<LivePath>,
    /// Whether the access of each path is there, as far as the host knows.
    pub(super) present: Vec<bool>,
    /// The statuses that the peer has asked for, of paths that do not exist yet.
    pub(super) statuses: Vec<(PathId, PathStatus)>,
    /// Number of notices that have been handled.
    pub(super) noticed: usize,
    /// The handshake is confirmed (RFC 9001 §4.1.2).
    pub(super) confirmed: bool,
    /// Whether to try to open paths: something has changed since the last attempt.
    pub(super) may_open: bool,
    turns: Turns,
    /// The paths among which it chooses, for one datagram.
    candidates: Vec<Candidate>,
    /// Whether the application has data for which there is no room.
    waiting: Arc<AtomicU32>,
    /// The buffer for noq's datagrams.
    scratch: Vec<u8>,
    arrived: BytesMut,
    last_time: LastTime,
    due: Instant,
    serial: u64,
    /// The data of the direction that the transfer has, and the frames of a datagram.
    data: DataLog,
    frames: Vec<StreamData>,
    /// STREAM frames that noq has processed.
    processed: u64,
    /// The stream is read out of order, and how much of it has been read in order.
    is_unordered: bool,
    delivered: u64,
    pub(super) reported: super::reports::Reported,
}

impl core::fmt::Debug for MultipathEndpoint {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("MultipathEndpoint").field("flow", &self.flow).field("live", &self.live).finish()
    }
}

impl MultipathEndpoint {
    /// An end that sends along `path`.
    ///
    /// # Panics
    /// Without a path, or if an MTU is below 1228 bytes.
    #[must_use]
    pub fn new(config: MultipathConfig, path: Path, role: Role) -> Self {
        assert!(!config.paths.is_empty(), "a connection has a path");
        let place = setup::place(&path);
        let ids = Ids::new(config.quic.seeds.stream(&format!("{place}/quic/{}/ids", role.name())));
        let waiting = Arc::<AtomicU32>::default();
        let setup =
            Setup { config: &config, role, place: &place, ids: ids.clone(), waiting: Arc::clone(&waiting) };
        let endpoint = setup.endpoint();
        let paths = config.paths.len();
        Self {
            flow: path.flow,
            direction: path.direction,
            role,
            ids,
            endpoint,
            connection: None,
            live: vec![],
            present: config.paths.iter().map(|path| path.present).collect(),
            statuses: vec![],
            noticed: 0,
            confirmed: false,
            may_open: false,
            turns: Turns::new(config.scheduler.clone(), paths),
            candidates: vec![],
            waiting,
            scratch: Vec::new(),
            arrived: BytesMut::new(),
            last_time: LastTime::default(),
            due: Instant::FAR_FUTURE,
            serial: 0,
            data: DataLog::new(path.flow, u64::from(VarInt::from(data_stream())), config.quic.send_window),
            frames: vec![],
            processed: 0,
            is_unordered: false,
            delivered: 0,
            reported: super::reports::Reported::default(),
            place,
            config,
        }
    }

    fn setup(&self) -> Setup<'_> {
        let (ids, waiting) = (self.ids.clone(), Arc::clone(&self.waiting));
        Setup { config: &self.config, role: self.role, place: &self.place, ids, waiting }
    }

    /// Begins a connection over the first path; [`Self::flush`] sends its first packet.
    ///
    /// # Panics
    /// If this end is a server.
    pub fn connect(&mut self, cx: &Cx<'_>) {
        let config = self.setup().client();
        let now = self.last_time.quinn_of(cx.now);
        let connected = self.endpoint.connect(now, config, SERVER, "server");
        self.connection = Some(connected.expect("the settings are those of a client"));
        self.discover(cx.now, 0);
    }

    /// A datagram arrives over the path at this place, with the bytes of the peer's noq.
    pub fn handle_datagram(&mut self, cx: &mut Cx<'_>, place: usize, ecn: Ecn, datagram: Box<[u8]>) {
        let ecn = match ecn {
            Ecn::NotCapable => None,
            Ecn::Capable0 => Some(EcnCodepoint::Ect0),
            Ecn::Capable1 => Some(EcnCodepoint::Ect1),
            Ecn::CongestionExperienced => Some(EcnCodepoint::Ce),
        };
        self.frames.clear();
        if !self.config.quic.sends_data {
            let read = stream_data(&datagram, |data| self.frames.push(data));
            debug_assert!(read.is_some(), "all frames of noq are known");
        }
        self.arrived.extend_from_slice(&datagram);
        let (now, data) = (self.last_time.quinn_of(cx.now), self.arrived.split());
        cx.pool.keep_datagram(datagram);
        self.scratch.clear();
        let from = network_path(self.role, place);
        match self.endpoint.handle(now, from, ecn, data, &mut self.scratch) {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) if self.connection.is_none() => {
                let config = self.setup().server();
                let accepted = self.endpoint.accept(incoming, now, &mut self.scratch, Some(config));
                self.connection = accepted.ok();
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.endpoint.ignore(incoming),
            // A stateless reset: its peer has closed, and would ignore it.
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.discover(cx.now, place);
        self.may_open = true;
        self.note_arrived(cx, place);
    }

    /// Reports the data of a datagram that noq has processed; it ignores those of paths that it has forgotten.
    fn note_arrived(&mut self, cx: &mut Cx<'_>, place: usize) {
        let Some((_, connection)) = self.connection.as_mut().filter(|_| !self.frames.is_empty()) else {
            return;
        };
        let processed = connection.stats().frame_rx.stream;
        if core::mem::replace(&mut self.processed, processed) != processed {
            let frames = core::mem::take(&mut self.frames);
            frames.iter().for_each(|data| self.data.on_arrived(cx, place, *data));
            self.frames = frames;
        }
    }

    /// To be called at [`Self::next_timeout`].
    pub fn handle_timeout(&mut self, cx: &Cx<'_>) {
        if self.due > cx.now {
            return;
        }
        let now = self.last_time.quinn_of(cx.now);
        self.take_notices(cx.now, now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.keep_alive(cx.now);
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub const fn next_timeout(&self) -> Instant {
        self.due
    }

    /// The next event for the application; all events of streams are about its one.
    pub fn poll(&mut self, cx: &mut Cx<'_>) -> Option<QuicEvent> {
        use noq_proto::Event;
        let id = quinn_proto::StreamId::new(quinn_proto::Side::Client, quinn_proto::Dir::Bi, 0);
        loop {
            let (_, connection) = self.connection.as_mut()?;
            return Some(match connection.poll()? {
                Event::Connected => {
                    self.on_connected(cx);
                    QuicEvent::Connected
                }
                Event::HandshakeConfirmed => {
                    (self.confirmed, self.may_open) = (true, true);
                    continue;
                }
                Event::Path(event) => {
                    self.on_path_event(cx, event);
                    continue;
                }
                Event::ConnectionLost { .. } => QuicEvent::Lost,
                Event::Stream(StreamEvent::Opened { .. }) => {
                    // Its data are announced with an event of their own only if more arrive.
                    connection.streams().accept(Dir::Bi);
                    QuicEvent::Readable(id)
                }
                Event::Stream(StreamEvent::Readable { .. }) => QuicEvent::Readable(id),
                Event::Stream(StreamEvent::Writable { .. }) => QuicEvent::Writable(id),
                Event::Stream(StreamEvent::Finished { .. }) => QuicEvent::Finished(id),
                _ => continue,
            });
        }
    }

    /// Opens the stream. False if the peer does not allow it.
    pub fn open(&mut self) -> bool {
        let opened = self.connection.as_mut().and_then(|(_, connection)| connection.streams().open(Dir::Bi));
        debug_assert!(opened.is_none_or(|id| id == data_stream()), "there is one stream");
        opened.is_some()
    }

    /// Writes up to this number of zero bytes, as many as flow control and the send window allow, and returns their number.
    /// [`QuicEvent::Writable`] reports when there is room again.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let mut stream = connection.send_stream(data_stream());
        let (mut written, mut waits) = (0, false);
        while written < bytes {
            let chunk = (bytes - written).min(ZEROS.len() as u64) as usize;
            match stream.write_chunks(&mut &mut [Bytes::from_static(&ZEROS[..chunk])][..]) {
                Ok(some) => written += some as u64,
                Err(error) => {
                    waits = error == noq_proto::WriteError::Blocked;
                    break;
                }
            }
        }
        self.waiting.store(u32::from(waits), Ordering::Relaxed);
        written
    }

    /// Ends this end's direction of the stream.
    pub fn finish(&mut self) {
        self.waiting.store(0, Ordering::Relaxed);
        if let Some((_, connection)) = &mut self.connection {
            // Fails only for a stream that the peer has stopped or the connection has lost.
            let _ = connection.send_stream(data_stream()).finish();
        }
    }

    /// Reads everything that has arrived in order, and discards its content.
    pub fn read(&mut self) -> Readable {
        self.is_unordered |= self.data.pieces() > PIECES_MAX;
        let mut readable = Readable::default();
        let Some((_, connection)) = &mut self.connection else { return readable };
        let mut stream = connection.recv_stream(data_stream());
        let Ok(mut chunks) = stream.read(!self.is_unordered) else { return readable };
        let mut complete = false;
        loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => readable.bytes += chunk.bytes.len() as u64,
                Ok(None) => {
                    complete = true;
                    break;
                }
                Err(_) => break,
            }
        }
        // The result says whether flow control has an update for the peer; `flush` polls in any case.
        let _ = chunks.finalize();
        if self.is_unordered {
            readable.bytes = self.data.in_order() - self.delivered;
        }
        self.delivered += readable.bytes;
        Readable { at_end: complete, ..readable }
    }

    /// Closes the connection at once.
    pub fn close(&mut self, cx: &Cx<'_>) {
        let now = self.last_time.quinn_of(cx.now);
        if let Some((_, connection)) = &mut self.connection {
            connection.close(now, VarInt::from_u32(0), Bytes::new());
        }
    }

    /// Sends the pending datagrams. To be called after all other calls that may have changed the state.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        let now = self.last_time.quinn_of(cx.now);
        self.open_paths(cx.now, now);
        self.serve_endpoint();
        self.settle(cx, now);
        let mut tried = 0;
        while let Some((place, transmit)) = self.next_datagram(now, &mut tried) {
            self.send(cx, place, transmit.ecn);
        }
        self.serve_endpoint();
        let timeout = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let own = self.live.iter().map(|path| next_call(&path.sender)).min().unwrap_or(Instant::FAR_FUTURE);
        let notice = self.next_notice().min(self.next_keep_alive());
        // A timer that is already due would be called at this instant without end.
        let soon = cx.now + Duration::from_nanos(1);
        self.due = timeout.map_or(Instant::FAR_FUTURE, from_quinn).min(own).min(notice).max(soon);
    }

    /// Passes the connection's requests to the endpoint, and its answers back.
    fn serve_endpoint(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    /// Writes noq's next datagram to the buffer, and returns it with the place of its path. `tried` has a bit for each path on
    /// which noq had nothing to send, or was not allowed to by its pacer.
    fn next_datagram(&mut self, now: QuinnInstant, tried: &mut u64) -> Option<(usize, Transmit)> {
        self.connection.as_ref()?;
        if self.turns.is_noq() || !self.confirmed && self.live.len() < 2 {
            return self.poll_transmit(now);
        }
        let mut candidates = core::mem::take(&mut self.candidates);
        self.find_candidates(&mut candidates);
        self.turns.use_paths(&candidates);
        let sent = self.scheduled_datagram(now, &candidates, tried);
        self.candidates = candidates;
        sent
    }

    /// The same on one of these paths, if the scheduler has them.
    fn scheduled_datagram(
        &mut self,
        now: QuinnInstant,
        candidates: &[Candidate],
        tried: &mut u64,
    ) -> Option<(usize, Transmit)> {
        loop {
            let chosen = self.turns.choose(candidates, *tried);
            self.limit_to(*tried | chosen.map_or(0, |place| 1 << place));
            if let Some(sent) = self.poll_transmit(now) {
                return Some(sent);
            }
            *tried |= 1 << chosen?;
        }
    }

    fn poll_transmit(&mut self, now: QuinnInstant) -> Option<(usize, Transmit)> {
        let (_, connection) = self.connection.as_mut()?;
        self.scratch.clear();
        let transmit = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.scratch)?;
        Some((self.place_of(&transmit), transmit))
    }

    /// Sends the datagram in the buffer.
    fn send(&mut self, cx: &mut Cx<'_>, place: usize, ecn: Option<EcnCodepoint>) {
        self.frames.clear();
        let mut retransmission = false;
        if self.config.quic.sends_data {
            let read = stream_data(&self.scratch, |data| self.frames.push(data));
            debug_assert!(read.is_some(), "all frames of noq are known");
            if read == Some(true) {
                self.on_probe(cx, place);
            }
            let srtt = self.srtt(place);
            let bytes: u64 = self.frames.iter().map(|data| data.length).sum();
            if bytes > 0 {
                self.turns.on_sent(place, bytes);
            }
            for data in &self.frames {
                retransmission |= self.data.on_sent(cx, place, *data, srtt);
            }
        }
        if let Some(live) = self.live.iter_mut().rev().find(|path| path.place == place) {
            live.sent_at = cx.now;
        }
        let path = self.config.paths[place];
        let payload = match cx.pool.spare_datagram(self.scratch.len()) {
            Some(mut spare) => {
                spare.copy_from_slice(&self.scratch);
                spare
            }
            None => self.scratch.as_slice().into(),
        };
        let header = Header::Udp(UdpHeader { serial: self.serial });
        self.serial += 1;
        let mut packet = Packet::new(self.flow, self.direction, header, Payload::Bytes(payload), cx.now);
        packet.sockets = path.sockets;
        packet.ecn = match ecn {
            Some(EcnCodepoint::Ect0) if self.config.quic.ecn => Ecn::Capable0,
            Some(EcnCodepoint::Ect1) if self.config.quic.ecn => Ecn::Capable1,
            _ => Ecn::NotCapable,
        };
        let packet = cx.pool.insert(packet);
        if cx.wants(Topic::Sent) {
            cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission });
        }
        cx.send(path.port, packet);
    }

    /// The path over which the peer's datagrams with these sockets arrive.
    #[must_use]
    pub fn place_of_port(&self, ue_port: u16) -> Option<usize> {
        self.config.paths.iter().position(|path| path.sockets.ue_port == ue_port)
    }

    fn on_path_event(&mut self, cx: &mut Cx<'_>, event: PathEvent) {
        match event {
            PathEvent::Established { id, .. } => self.on_established(cx, id),
            PathEvent::Abandoned { id, .. } => self.on_abandoned(cx, id),
            PathEvent::Discarded { id, .. } => self.live.retain(|path| path.id != id),
            PathEvent::RemoteStatus { id, status, .. } => self.on_remote_status(id, status),
            _ => {}
        }
    }
}
