//! Reports of PEPs on the connections, for `mdcc`.
//!
//! A PEP knows a connection by its addresses, and a datagram by a hash of its beginning (`docs/pep-wire-format.md` §4.2
//! and §5.2). quinn has one socket for all connections. [`Naming`] is around it, computes the hash of each datagram
//! that leaves, and hands it to the sender that has just announced a packet.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};
use std::task::{Context, Poll};

use airlane_core::{Duration, Instant};
use airlane_net::pep::{Addresses, Body, Key};
use airlane_wire::protocol;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

use super::lines::Line;
use crate::reports::Host;

/// The connections by their addresses.
pub(super) struct Reported {
    secret: Vec<u8>,
    listen: SocketAddr,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    by_addresses: BTreeMap<Addresses, Ends>,
    count: u64,
}

/// The connections between two addresses: a client may have several at one port (RFC 9000 §5.2).
struct Ends {
    /// Number of this entry: there may be another entry for the addresses later.
    number: u64,
    key: Key,
    lines: Vec<Arc<Line>>,
}

impl Debug for Reported {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reported").field("listen", &self.listen).finish_non_exhaustive()
    }
}

impl Reported {
    /// No report yet, at a server with this address and the secret of the PEPs.
    pub(super) fn new(secret: &[u8], listen: SocketAddr) -> Arc<Self> {
        Arc::new(Self { secret: secret.to_vec(), listen, known: RwLock::default() })
    }

    /// The addresses of a path. `local` is the address of this machine, if the kernel has said so.
    fn addresses(&self, local: Option<IpAddr>, client: SocketAddr) -> Addresses {
        let server = local.unwrap_or(self.listen.ip()).to_canonical();
        Addresses {
            protocol: protocol::UDP,
            server: SocketAddr::new(server, self.listen.port()),
            client: SocketAddr::new(client.ip().to_canonical(), client.port()),
        }
    }

    /// PEPs may report this connection, whose path has these ends, until the result is dropped.
    pub(super) fn add(
        self: &Arc<Self>,
        line: &Arc<Line>,
        local: Option<IpAddr>,
        client: SocketAddr,
    ) -> Entry {
        let addresses = self.addresses(local, client);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let number = known.count;
        known.count += 1;
        let ends = known.by_addresses.entry(addresses).or_insert_with(|| Ends {
            number,
            key: Key::derive(&self.secret, addresses.identifier(&self.secret)),
            lines: Vec::new(),
        });
        ends.lines.push(line.clone());
        Entry { all: self.clone(), addresses, line: line.clone() }
    }

    /// A datagram leaves. Of several connections with its addresses, the one whose packet has no name yet made it.
    fn name(&self, local: Option<IpAddr>, client: SocketAddr, datagram: &[u8]) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(ends) = known.by_addresses.get(&self.addresses(local, client)) else { return };
        let identifier = ends.key.identifier(datagram);
        let _ = ends.lines.iter().any(|line| line.senders.name(identifier));
    }
}

/// A connection that PEPs may report.
#[derive(Debug)]
pub(super) struct Entry {
    all: Arc<Reported>,
    addresses: Addresses,
    line: Arc<Line>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut known = self.all.known.write().unwrap_or_else(PoisonError::into_inner);
        let Some(ends) = known.by_addresses.get_mut(&self.addresses) else { return };
        ends.lines.retain(|line| !Arc::ptr_eq(line, &self.line));
        if ends.lines.is_empty() {
            known.by_addresses.remove(&self.addresses);
        }
    }
}

impl Host for Arc<Reported> {
    type Connection = Addresses;

    fn connections(&mut self) -> BTreeMap<Addresses, u64> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.by_addresses.iter().map(|(addresses, ends)| (*addresses, ends.number)).collect()
    }

    fn report(&mut self, _: Instant, addresses: &Addresses, delay: Duration, body: &Body) -> bool {
        let Body::Opaque(identifiers) = body else { return false };
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let Some(lines) = known.by_addresses.get(addresses).map(|ends| ends.lines.clone()) else {
            return false;
        };
        // quinn locks a connection while it sends, which needs the table.
        drop(known);
        lines.iter().for_each(|line| line.seen(identifiers.as_slice(), delay));
        true
    }
}

/// The socket of all connections, which names each datagram.
#[derive(Debug)]
pub(super) struct Naming {
    pub(super) socket: Arc<dyn AsyncUdpSocket>,
    pub(super) reported: Arc<Reported>,
}

impl AsyncUdpSocket for Naming {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    /// quinn calls this after a sender has announced the packet, and before the next one of its connection.
    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.reported.name(transmit.src_ip, transmit.destination, transmit.contents);
        self.socket.try_send(transmit)
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Each datagram is sent alone, so that it has a name.
    fn max_transmit_segments(&self) -> usize {
        1
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}
