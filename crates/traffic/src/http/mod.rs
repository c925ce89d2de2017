//! HTTP: requests and responses for objects, over connections of any kind.
//!
//! An application (a browser, a player, a download) requests objects from an [`HttpClient`], which reports
//! their arrival. The application is independent of connections. [`HttpOverTcp`] has several per server and
//! sends one request after another on each, or several in a pipeline (RFC 9112 §9.3), or many at once on one
//! of HTTP/2; the other end is an [`HttpServer`]. [`HttpOverQuic`] and [`QuicHttpServer`] are the same for
//! HTTP/3.

mod client;
mod server;
mod three;

use airlane_core::{Bytes, Cx, Duration, Instant, PacketRef};

pub use client::{HttpOverTcp, HttpSettings};
pub use server::HttpServer;
pub use three::{HttpOverQuic, QuicHttpServer};

/// The overhead of a TLS 1.3 record: its header, the type of its content and the tag (RFC 8446 §5.2).
const RECORD: u64 = 5 + 1 + 16;
/// The stream number of data that belongs to no request: TLS's handshake.
const HANDSHAKE: u32 = u32::MAX;

/// A version of HTTP over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    One,
    /// HTTP/2 (RFC 9113).
    Two,
}

/// A requested object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The application's number for it; each request has its own.
    pub id: u32,
    /// The number of its server.
    pub server: u16,
    /// The request on the wire: its line and fields.
    pub request: Bytes,
    /// The status line and fields of the response.
    pub head: Bytes,
    /// The object itself. [`Bytes`] of `u64::MAX` never end.
    pub body: Bytes,
    /// The server's processing time before it can answer.
    pub wait: Duration,
    /// Urgency of the request, 0 to 7; 0 is the most urgent (RFC 9218 §4.1).
    pub urgency: u8,
}

/// An event about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpEvent {
    /// The first byte of the response has arrived.
    Began {
        /// The request.
        id: u32,
    },
    /// A part of the object has arrived, in order.
    Received {
        /// The request.
        id: u32,
        /// The number of bytes of its body.
        bytes: u64,
    },
    /// The whole object has arrived and was reported.
    Completed {
        /// The request.
        id: u32,
    },
}

impl HttpEvent {
    /// The request.
    #[must_use]
    pub const fn id(self) -> u32 {
        match self {
            Self::Began { id } | Self::Received { id, .. } | Self::Completed { id } => id,
        }
    }
}

/// The client's end of HTTP, as an interface for applications, for any version and transport.
///
/// It is driven like a node. The events of a call are returned by [`Self::poll`] afterwards.
/// [`Self::flush`] sends data and is called last.
pub trait HttpClient: core::fmt::Debug + Send + 'static {
    /// Requests an object, as soon as a connection can take the request.
    fn get(&mut self, cx: &mut Cx<'_>, request: Request);
    /// The next event for the application.
    fn poll(&mut self) -> Option<HttpEvent>;
    /// Handles a packet of one of its connections.
    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef);
    /// To be called at [`Self::next_timeout`].
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    fn next_timeout(&self) -> Instant;
    /// Sends the pending data.
    fn flush(&mut self, cx: &mut Cx<'_>);
    /// Closes every connection and discards unfinished requests.
    fn close(&mut self, cx: &mut Cx<'_>);
    /// Connections opened so far.
    fn connections_opened(&self) -> u64;
    /// At most this many bytes are read until the next call: the rest stays in the transport, whose window
    /// closes. Bytes that wait there are read now, up to the limit. Without a call, and by a client without
    /// this function, everything is read at its arrival.
    fn limit_reading(&mut self, _cx: &mut Cx<'_>, _bytes: u64) {}
    /// Bytes that wait in the transport because reading is limited.
    fn unread(&self) -> u64 {
        0
    }
}

/// The messages between the two ends of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Begins TLS.
    Hello,
    /// Requests an object.
    Request {
        /// The number of the request on its connection, from 0 on; both ends count.
        stream: u32,
        /// Bytes of the response's header.
        head: Bytes,
        /// Bytes of its body.
        body: Bytes,
        /// The server's processing time before it can answer.
        wait: Duration,
        /// Urgency of the request.
        urgency: u8,
    },
    /// A part of a response.
    Part {
        /// The request.
        stream: u32,
        /// Bytes before the body: headers of responses and frames.
        overhead: u64,
        /// Bytes of the body.
        body: u64,
        /// True for the last part.
        last: bool,
    },
}
