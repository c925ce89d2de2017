//! The bound of what is sent to an address that has not shown that it receives (RFC 9000 §8.1): three times the bytes
//! that came from it, so that a server cannot be used to flood an address from which others forge packets.
//!
//! quinn-proto 0.11.19 has this bound, with an exception: `Connection::poll_transmit` asks `anti_amplification_blocked`
//! for one byte more than what it has, so that the last datagram may exceed the bound by all of its bytes but one. Its
//! probes then send more than three times as much. [`Limited`] is around the socket, and drops what is above the
//! bound: for quinn, the network has lost it.
//!
//! An address is validated when a packet from it has a connection ID that the server has sent to it, of 64 bits that
//! no other host can know (RFC 9000 §8.1), or by a token. Addresses to which an existing connection moves are left to
//! quinn.

use std::collections::BTreeMap;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use prometheus_client::metrics::counter::Counter;
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, UdpPoller};

/// The bound: bytes sent for each byte received (RFC 9000 §8.1).
const FACTOR: u64 = 3;
/// The least that has come from a client that opens a connection: quinn ignores shorter datagrams (RFC 9000 §14.1).
const INITIAL_MIN: u64 = 1200;
/// Connection IDs with at least 64 bits show that their receiver has received them.
const ID_MIN: usize = 8;
/// Connection IDs that are remembered of an address.
const IDS_MAX: usize = 8;

/// The addresses of connections.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: Mutex<BTreeMap<SocketAddr, Address>>,
    /// The number of those that are not validated.
    limited: AtomicUsize,
    /// Datagrams that were not sent.
    dropped: Counter,
}

/// An address.
#[derive(Debug, Default)]
struct Address {
    /// Connections from it, in all and of those that have validated it.
    connections: u32,
    established: u32,
    /// Whether a packet from it has shown a connection ID of the server.
    shown: bool,
    received: u64,
    sent: u64,
    ids: Vec<Vec<u8>>,
}

impl Address {
    const fn is_limited(&self) -> bool {
        self.established == 0 && !self.shown
    }
}

/// A connection from an address, until it is dropped.
#[derive(Debug)]
pub(super) struct AddressUse {
    all: Arc<Addresses>,
    address: SocketAddr,
    is_established: bool,
}

impl Addresses {
    /// No address yet; `dropped` counts sends that are cut off.
    pub(super) fn new(dropped: Counter) -> Arc<Self> {
        Arc::new(Self { dropped, ..Self::default() })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<SocketAddr, Address>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes an address, and counts the limited ones.
    fn change<T>(
        &self,
        known: &mut BTreeMap<SocketAddr, Address>,
        address: SocketAddr,
        change: impl FnOnce(&mut Address) -> T,
    ) -> Option<T> {
        let one = known.get_mut(&address)?;
        let before = one.is_limited();
        let result = change(one);
        let after = one.is_limited() && one.connections > 0;
        if one.connections == 0 {
            known.remove(&address);
        }
        match (before, after) {
            (true, false) => drop(self.limited.fetch_sub(1, Ordering::Relaxed)),
            (false, true) => drop(self.limited.fetch_add(1, Ordering::Relaxed)),
            _ => {}
        }
        Some(result)
    }

    /// A connection begins; its address may be validated by a token.
    pub(super) fn begin(self: &Arc<Self>, address: SocketAddr, is_validated: bool) -> AddressUse {
        let mut known = self.lock();
        known.entry(address).or_insert_with(|| {
            self.limited.fetch_add(1, Ordering::Relaxed);
            Address::default()
        });
        self.change(&mut known, address, |one| {
            one.connections += 1;
            one.received += INITIAL_MIN;
            one.established += u32::from(is_validated);
        });
        AddressUse { all: self.clone(), address, is_established: is_validated }
    }

    fn is_any_limited(&self) -> bool {
        self.limited.load(Ordering::Relaxed) > 0
    }

    /// Datagrams have arrived, each of which has `stride` bytes but the last.
    fn received(&self, from: SocketAddr, bytes: &[u8], stride: usize) {
        let mut known = self.lock();
        self.change(&mut known, from, |one| {
            one.received += bytes.len() as u64;
            let shows = |datagram: &[u8]| one.ids.iter().any(|id| is_to(datagram, id));
            one.shown |= bytes.chunks(stride.max(1)).any(shows);
        });
    }

    /// The number of bytes that may be sent to an address, of datagrams with `segment` bytes each but the last.
    fn may_send(&self, to: SocketAddr, bytes: &[u8], segment: usize) -> usize {
        let mut known = self.lock();
        let Some(one) = known.get_mut(&to).filter(|one| one.is_limited()) else { return bytes.len() };
        let left = (one.received * FACTOR).saturating_sub(one.sent);
        let left = usize::try_from(left).unwrap_or(usize::MAX);
        let sent = if bytes.len() <= left { bytes.len() } else { left / segment.max(1) * segment };
        one.sent += sent as u64;
        for datagram in bytes[..sent].chunks(segment.max(1)) {
            if let Some(id) = source_id(datagram).filter(|id| id.len() >= ID_MIN)
                && !one.ids.iter().any(|known| known == id)
            {
                one.ids.truncate(IDS_MAX - 1);
                one.ids.insert(0, id.to_vec());
            }
        }
        if sent < bytes.len() {
            self.dropped.inc();
        }
        sent
    }
}

impl AddressUse {
    /// The handshake is complete, which only a client can do that receives at its address.
    pub(super) fn establish(&mut self) {
        if !std::mem::replace(&mut self.is_established, true) {
            let mut known = self.all.lock();
            self.all.change(&mut known, self.address, |one| one.established += 1);
        }
    }
}

impl Drop for AddressUse {
    fn drop(&mut self) {
        let mut known = self.all.lock();
        self.all.change(&mut known, self.address, |one| {
            one.connections -= 1;
            one.established -= u32::from(self.is_established);
        });
    }
}

/// The source connection ID of a packet with a long header (RFC 8999 §5.1).
fn source_id(datagram: &[u8]) -> Option<&[u8]> {
    let (behind, _) = destination_id(datagram)?;
    let (length, rest) = behind.split_first()?;
    rest.get(..usize::from(*length))
}

/// The destination connection ID of a packet with a long header, and the bytes behind it.
fn destination_id(datagram: &[u8]) -> Option<(&[u8], &[u8])> {
    let (first, rest) = datagram.split_first()?;
    if first & 0x80 == 0 {
        return None;
    }
    let (length, rest) = rest.get(4..)?.split_first()?; // behind the version
    let (id, behind) = rest.split_at_checked(usize::from(*length))?;
    Some((behind, id))
}

/// Whether a packet is for this connection ID. A short header has it behind its first byte (RFC 8999 §5.2).
fn is_to(datagram: &[u8], id: &[u8]) -> bool {
    match destination_id(datagram) {
        Some((_, destination)) => destination == id,
        None => datagram.first().is_some_and(|first| first & 0x80 == 0) && datagram[1..].starts_with(id),
    }
}

/// The socket of all connections, with the bound.
#[derive(Debug)]
pub(super) struct Limited {
    pub(super) socket: Arc<dyn AsyncUdpSocket>,
    pub(super) addresses: Arc<Addresses>,
}

impl AsyncUdpSocket for Limited {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        self.socket.clone().create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        if !self.addresses.is_any_limited() {
            return self.socket.try_send(transmit);
        }
        let whole = transmit.contents.len();
        let segment = transmit.segment_size.unwrap_or(whole);
        match self.addresses.may_send(transmit.destination, transmit.contents, segment) {
            0 if whole > 0 => Ok(()),
            sent => self.socket.try_send(&Transmit { contents: &transmit.contents[..sent], ..*transmit }),
        }
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        let count = ready!(self.socket.poll_recv(cx, buffers, meta))?;
        if self.addresses.is_any_limited() {
            for (buffer, meta) in buffers.iter().zip(meta.iter()).take(count) {
                self.addresses.received(meta.addr, &buffer[..meta.len], meta.stride);
            }
        }
        Poll::Ready(Ok(count))
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.socket.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.socket.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.socket.may_fragment()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: [u8; 8] = *b"serverid";

    fn address(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    /// A packet with a long header, from one connection ID to another, of this size.
    fn long(from: &[u8], to: &[u8], size: usize) -> Vec<u8> {
        let mut bytes = vec![0xc0, 0, 0, 0, 1, to.len() as u8];
        bytes.extend(to);
        bytes.push(from.len() as u8);
        bytes.extend(from);
        bytes.resize(size, 0);
        bytes
    }

    #[test]
    fn three_times_the_received_bytes_are_sent_and_no_more() {
        let addresses = Arc::new(Addresses::default());
        let mut from = addresses.begin(address(1), false);
        let to = |bytes: usize| addresses.may_send(address(1), &long(&ID, b"client", bytes), bytes);
        assert_eq!([to(1200), to(324), to(222), to(1200)], [1200, 324, 222, 1200]);
        assert_eq!([to(1200), to(654), to(1)], [0, 654, 0], "3600 in all");
        assert_eq!(addresses.dropped.get(), 2);
        // More from there, though it shows nothing.
        addresses.received(address(1), &long(b"client", b"a guess!", 100), 100);
        assert_eq!([to(301), to(300)], [0, 300]);
        // Other addresses are not limited, and neither is this one after its handshake.
        assert_eq!(addresses.may_send(address(2), &[0; 5000], 1250), 5000);
        from.establish();
        assert_eq!(to(9000), 9000);
        drop(from);
        assert!(addresses.lock().is_empty() && !addresses.is_any_limited());
    }

    #[test]
    fn segments_are_sent_whole() {
        let addresses = Arc::new(Addresses::default());
        let _from = addresses.begin(address(1), false);
        assert_eq!(addresses.may_send(address(1), &[0x40; 5000], 1250), 2500);
        assert_eq!(addresses.may_send(address(1), &[0x40; 1500], 1000), 1000);
        assert_eq!(addresses.may_send(address(1), &[0x40; 100], 100), 100);
    }

    #[test]
    fn an_id_of_the_server_validates_its_receiver() {
        for shown in [long(b"client", &ID, 60), [&[0x40][..], &ID, &[0; 30]].concat()] {
            let addresses = Arc::new(Addresses::default());
            let _from = addresses.begin(address(1), false);
            assert_eq!(addresses.may_send(address(1), &long(&ID, b"client", 1200), 1200), 1200);
            // AddressUse another address, of a part of it, or cut off: nothing is shown.
            addresses.received(address(2), &shown, shown.len());
            addresses.received(address(1), &long(b"client", &ID[..7], 60), 60);
            addresses.received(address(1), &shown[..8], 8);
            addresses.received(address(1), &[], 0);
            assert!(addresses.is_any_limited());
            // Behind another datagram.
            let both = [long(b"client", b"unknown!", 60), shown.clone()].concat();
            addresses.received(address(1), &both, 60);
            assert!(!addresses.is_any_limited());
            assert_eq!(addresses.may_send(address(1), &[0; 50_000], 1250), 50_000);
        }
    }

    /// A forged packet from the address of a connection does not limit the connection.
    #[test]
    fn an_address_with_a_connection_stays_validated() {
        let addresses = Arc::new(Addresses::default());
        let mut first = addresses.begin(address(1), false);
        first.establish();
        let forged = addresses.begin(address(1), false);
        assert_eq!(addresses.may_send(address(1), &[0; 50_000], 1250), 50_000);
        drop(first);
        assert!(addresses.is_any_limited(), "what is left is the forged one");
        let token = addresses.begin(address(1), true);
        assert!(!addresses.is_any_limited());
        drop((forged, token));
        assert!(addresses.lock().is_empty() && !addresses.is_any_limited());
    }
}
