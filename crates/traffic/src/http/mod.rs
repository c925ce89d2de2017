//! HTTP: objects asked for and sent, over connections of any kind.
//!
//! An application (a browser, a player, a download) asks an [`HttpClient`] for objects and is told as they come.
//! It knows nothing of connections: [`HttpOverTcp`] has some per server and puts one request after another on each,
//! some into the pipeline (RFC 9112 §9.3), or many at once on one of HTTP/2; the other end is an [`HttpServer`].
//! [`HttpOverQuic`] and [`QuicHttpServer`] are the same for HTTP/3.

mod client;
mod server;
mod three;

use airlane_core::{Bytes, Cx, Duration, Instant, PacketRef};

pub use client::{HttpOverTcp, HttpSettings};
pub use server::HttpServer;
pub use three::{HttpOverQuic, QuicHttpServer};

/// What TLS 1.3 adds to a record: its header, the type of its content and the tag (RFC 8446 §5.2).
const RECORD: u64 = 5 + 1 + 16;
/// The stream of what belongs to none: TLS's handshake.
const HANDSHAKE: u32 = u32::MAX;

/// A version of HTTP over TCP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    /// HTTP/1.1 (RFC 9112).
    One,
    /// HTTP/2 (RFC 9113).
    Two,
}

/// An object that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// What the application calls it; each request has its own.
    pub id: u32,
    /// Which server has it.
    pub server: u16,
    /// The request on the wire: its line and fields.
    pub request: Bytes,
    /// The response's line and fields.
    pub head: Bytes,
    /// The object itself. [`Bytes`] of `u64::MAX` never end.
    pub body: Bytes,
    /// How long the server needs before it can answer.
    pub wait: Duration,
    /// How urgent it is, 0 to 7, the least first (RFC 9218 §4.1).
    pub urgency: u8,
}

/// Something that an application should know about what it asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpEvent {
    /// The first byte of the response has come.
    Began {
        /// Of which request.
        id: u32,
    },
    /// Some of the object has come, in order.
    Received {
        /// Of which request.
        id: u32,
        /// So many bytes of its body.
        bytes: u64,
    },
    /// All of it has come, and was told of.
    Completed {
        /// Of which request.
        id: u32,
    },
}

/// The client's end of HTTP: what an application needs of it, whatever its version and transport.
///
/// It is driven like a node. Whatever a call brings about is told by [`Self::poll`] afterwards, and sent by
/// [`Self::flush`], which is called last.
pub trait HttpClient: core::fmt::Debug + 'static {
    /// Asks for an object, as soon as a connection can take the request.
    fn get(&mut self, cx: &mut Cx<'_>, request: Request);
    /// What the application should know next.
    fn poll(&mut self) -> Option<HttpEvent>;
    /// A packet has come that belongs to one of its connections.
    fn handle_packet(&mut self, cx: &mut Cx<'_>, packet: PacketRef);
    /// The time of [`Self::next_timeout`] has come.
    fn handle_timeout(&mut self, cx: &mut Cx<'_>);
    /// When to call [`Self::handle_timeout`]; [`Instant::FAR_FUTURE`] for never.
    fn next_timeout(&self) -> Instant;
    /// Sends what there is to send.
    fn flush(&mut self, cx: &mut Cx<'_>);
    /// Closes every connection; what was asked for and has not come is forgotten.
    fn close(&mut self, cx: &mut Cx<'_>);
    /// Connections opened so far.
    fn connections_opened(&self) -> u64;
    /// No more than so many bytes are read until the next call: what is not read stays in the transport, whose window
    /// closes. What waits there is read now, as far as that goes. Without a call, and by a client that cannot, all is
    /// read as it comes.
    fn limit_reading(&mut self, _cx: &mut Cx<'_>, _bytes: u64) {}
    /// Bytes that wait in the transport because reading is limited.
    fn unread(&self) -> u64 {
        0
    }
}

/// What the two ends of HTTP say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Begins TLS.
    Hello,
    /// Asks for an object.
    Request {
        /// The number of the request on its connection, from 0 on; both ends count.
        stream: u32,
        /// Bytes of the response's head.
        head: Bytes,
        /// Bytes of its body.
        body: Bytes,
        /// How long the server needs before it can answer.
        wait: Duration,
        /// How urgent it is.
        urgency: u8,
    },
    /// Some of a response.
    Part {
        /// Of which request.
        stream: u32,
        /// Bytes before the body: heads of responses and frames.
        overhead: u64,
        /// Bytes of the body.
        body: u64,
        /// Nothing more follows.
        last: bool,
    },
}
