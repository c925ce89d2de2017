//! A TCP connection that carries bytes: an application writes and reads them, and segments have them as payload.
//!
//! [`TcpEndpoint`] counts bytes; this type stores them, by their offset in the stream. The endpoint decides as always,
//! so a stream behaves as the endpoint of a simulated application does.
//!
//! Memory is bounded: bytes that are written wait for their acknowledgment in a buffer of a given size, and the
//! receive window limits those that wait to be read.

use airlane_core::{Bytes, Cx, Event, Header, Instant, Outbox, Packet, PacketRef, Payload, Topic, TopicSet};

use crate::content::{Content, PagePool};
use crate::{ConnectionState, Path, TcpConfig, TcpEndpoint, TcpStats};

/// A TCP endpoint with its bytes.
#[derive(Debug)]
pub struct TcpStream {
    endpoint: TcpEndpoint,
    pages: PagePool,
    sent: Content,
    received: Content,
    /// Maximum number of written bytes that are not acknowledged.
    send_buffer: u64,
    /// Offset behind the last byte written, and behind the last one sent.
    written: u64,
    sent_to: u64,
    syn_sent: bool,
    /// Packets of the endpoint, still without bytes.
    scratch: Outbox,
    /// Bytes of one segment.
    buffer: Vec<u8>,
}

impl TcpStream {
    /// A stream that listens until [`Self::connect`] is called.
    ///
    /// # Panics
    /// If the MTU leaves no room for the headers and some payload.
    #[must_use]
    pub fn new(config: TcpConfig, path: Path, send_buffer: Bytes) -> Self {
        Self {
            endpoint: TcpEndpoint::new(config, path),
            pages: PagePool::default(),
            sent: Content::default(),
            received: Content::default(),
            send_buffer: send_buffer.get(),
            written: 0,
            sent_to: 0,
            syn_sent: false,
            scratch: Outbox::new(),
            buffer: Vec::new(),
        }
    }

    /// Opens actively.
    pub fn connect(&mut self, cx: &mut Cx<'_>) {
        self.on_endpoint(cx, TcpEndpoint::connect);
    }

    /// The state of the connection.
    #[must_use]
    pub const fn state(&self) -> ConnectionState {
        self.endpoint.state()
    }

    /// Counters and current state.
    #[must_use]
    pub fn stats(&self) -> TcpStats {
        self.endpoint.stats()
    }

    /// The application writes bytes. Returns how many of them fit into the send buffer; [`Self::flush`] sends them.
    ///
    /// # Panics
    /// If the application has closed its direction.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        assert!(!self.endpoint.is_closing(), "no write after a close");
        let room = self.send_buffer.saturating_sub(self.written - self.endpoint.acknowledged_to());
        let taken = bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        self.sent.write(&mut self.pages, self.written, &bytes[..taken]);
        self.written += taken as u64;
        self.endpoint.supply(taken as u64);
        taken
    }

    /// Bytes that can be read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.endpoint.readable()
    }

    /// The application reads: appends at most `limit` bytes, and returns how many.
    pub fn read(&mut self, now: Instant, limit: usize, to: &mut Vec<u8>) -> usize {
        let from = self.endpoint.received_to() - self.endpoint.readable();
        let count = self.endpoint.read(now, limit as u64);
        self.received.read(from, count as usize, to);
        self.received.release(&mut self.pages, from + count);
        count as usize
    }

    /// True when the peer has closed and all its data was read.
    #[must_use]
    pub fn at_end(&self) -> bool {
        self.endpoint.at_end()
    }

    /// True when all written data, and the FIN, are acknowledged.
    #[must_use]
    pub fn all_acknowledged(&self) -> bool {
        self.endpoint.all_acknowledged()
    }

    /// The application will neither write nor read any more.
    pub fn close(&mut self) {
        self.endpoint.close();
    }

    /// The application will write no more, but continues to read.
    pub fn shutdown(&mut self) {
        self.endpoint.shutdown();
    }

    /// Aborts the connection with a RST.
    pub fn abort(&mut self, cx: &mut Cx<'_>) {
        self.on_endpoint(cx, TcpEndpoint::abort);
    }

    /// Bytes of memory for data.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.sent.memory() + self.received.memory()
    }

    /// Handles a packet of the connection, which is consumed.
    pub fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef) {
        if cx.wants(Topic::Received) {
            cx.emit_about(&packet, |packet| Event::Received { packet });
        }
        let packet = cx.pool.consume(packet);
        if let Header::Tcp(header) = packet.header {
            if let Payload::Bytes(bytes) = &packet.payload {
                self.keep(&packet, bytes);
            }
            let (ecn, payload) = (packet.ecn, packet.payload.len());
            self.on_endpoint(cx, |endpoint, cx| endpoint.handle_segment(cx, &header, ecn, payload));
            self.release();
        }
        cx.pool.recycle(packet);
    }

    /// Handles the timers that are due.
    pub fn handle_timeout(&mut self, cx: &mut Cx<'_>) {
        self.on_endpoint(cx, TcpEndpoint::handle_timeout);
    }

    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    #[must_use]
    pub fn next_timeout(&self) -> Instant {
        self.endpoint.next_timeout()
    }

    /// Sends what may be sent: data, and an acknowledgment if one is due.
    pub fn flush(&mut self, cx: &mut Cx<'_>) {
        self.on_endpoint(cx, TcpEndpoint::flush);
    }

    /// Calls the endpoint, and gives the bytes to the segments that it sends.
    fn on_endpoint<R>(&mut self, cx: &mut Cx<'_>, act: impl FnOnce(&mut TcpEndpoint, &mut Cx<'_>) -> R) -> R {
        // A segment is reported when it has its bytes.
        let topics = cx.topics.without(TopicSet::NONE.with(Topic::Sent));
        let mut quiet = Cx { now: cx.now, pool: cx.pool, outbox: &mut self.scratch, topics, probe: cx.probe };
        let result = act(&mut self.endpoint, &mut quiet);
        let mut packets = core::mem::take(&mut self.scratch);
        for (port, packet) in packets.drain(..) {
            let retransmission = self.fill(cx.pool.get_mut(&packet));
            if cx.wants(Topic::Sent) {
                cx.emit_about(&packet, |packet| Event::Sent { packet, retransmission });
            }
            cx.send(port, packet);
        }
        self.scratch = packets;
        result
    }

    /// Replaces a length by the bytes. Returns true if the segment was sent before.
    fn fill(&mut self, packet: &mut Packet) -> bool {
        let Packet { header: Header::Tcp(header), payload, .. } = packet else { return false };
        if header.flags.has(airlane_core::TcpFlags::SYN) {
            return core::mem::replace(&mut self.syn_sent, true);
        }
        let Payload::Length(length @ 1..) = *payload else { return false };
        let offset = self.endpoint.offset_sent(header);
        self.buffer.clear();
        self.sent.read(offset, length as usize, &mut self.buffer);
        *payload = Payload::Bytes(self.buffer.as_slice().into());
        let end = offset + u64::from(length);
        let again = end <= self.sent_to;
        self.sent_to = self.sent_to.max(end);
        again
    }

    /// Stores the bytes of a segment that the endpoint may accept. Bytes that the receiver has in order stay as they
    /// are, and those beyond its window are cut off.
    fn keep(&mut self, packet: &Packet, bytes: &[u8]) {
        let Header::Tcp(header) = &packet.header else { return };
        let at = self.endpoint.offset_received(header);
        let from = at.max(self.endpoint.received_to());
        let (end, limit) = (at + bytes.len() as u64, self.endpoint.accepted_to());
        if end > limit && self.endpoint.readable() > 0 {
            return; // it is dropped
        }
        let to = end.min(limit);
        if from < to && self.endpoint.believes(header) {
            let part = &bytes[(from - at) as usize..(to - at) as usize];
            self.received.write(&mut self.pages, from, part);
        }
    }

    /// Forgets bytes that are acknowledged.
    fn release(&mut self) {
        self.sent.release(&mut self.pages, self.endpoint.acknowledged_to());
    }
}
