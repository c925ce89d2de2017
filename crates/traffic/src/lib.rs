//! Applications on transport endpoints, as nodes. Each has one port, [`PORT`].
//!
//! A [`TcpSource`] opens a connection at its start time and sends; a [`TcpSink`] listens and
//! reads whatever arrives at once. [`UdpSource`] and [`UdpSink`] are the same for datagrams at
//! a constant rate. The sending side connects, so there is no request message.
//!
//! Left out so far: web pages, video, bursts, and applications that read slowly.

mod tcp;
mod udp;

pub use tcp::{TcpSink, TcpSource, Transfer};
pub use udp::{UdpSink, UdpSource};

/// The only port of an endpoint.
pub const PORT: airlane_core::Port = 0;
