//! PEP messages: what a lightweight performance-enhancing proxy reports to a server about the packets
//! that passed it, as bytes. The format is specified in `docs/pep-wire-format.md`, whose sections are
//! cited here. It is carried over UDP, versioned, and authenticated with a key per flow.
//!
//! Not included: the agreement on the key (it is provisioned), and the UDP port at the server.
//!
//! ```
//! use airlane_net::pep::{Key, Message, Receiver};
//!
//! let key = Key::derive(b"provisioned", 7);
//! let message = Message { flow: 7, serial: 1, ..Message::default() };
//! let mut bytes = Vec::new();
//! message.encode(&key, &mut bytes);
//! let mut receiver = Receiver::new(key, 7);
//! assert_eq!(receiver.accept(&bytes), Ok(message));
//! assert!(receiver.accept(&bytes).is_err()); // a replay
//! ```

mod receiver;
#[cfg(test)]
mod tests;

pub use receiver::{Keys, Receiver};

use core::net::{IpAddr, SocketAddr};

use airlane_core::{FlowId, SackBlock, SocketPair};

/// §3.1: the version of the format.
pub const VERSION: u8 = 1;
/// §3.2: maximum number of ranges, of holes and of opaque identifiers of a message.
pub const LIST_MAX: usize = 8;
/// §3: the longest message in bytes: head, body and tag.
pub const LENGTH_MAX: usize = HEAD + TCP_BODY + 2 * LIST_MAX * BLOCK + TAG;

const HEAD: usize = 28;
const TCP_BODY: usize = 16;
const BLOCK: usize = 8;
const TAG: usize = 16;

/// §5.1: the number of a connection in messages. For a flow with one connection it is the number of the flow;
/// for a flow with several it is composed of the numbers of the flow and the server, the server's port and
/// the UE's port, 16 bits each.
///
/// # Panics
/// If a flow of several connections has a number above 65535; no router has so many ports.
#[must_use]
pub fn flow_identifier(flow: FlowId, sockets: SocketPair) -> u64 {
    if sockets == SocketPair::default() {
        return u64::from(flow.0);
    }
    let flow = u16::try_from(flow.0).expect("a router has 65536 ports");
    let parts = [flow, sockets.server, sockets.server_port, sockets.ue_port];
    parts.iter().fold(0, |identifier, part| identifier << 16 | u64::from(*part))
}

/// §5.2: a connection by its addresses, as real hosts know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Addresses {
    /// The protocol number of IP: 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The server's address and port.
    pub server: SocketAddr,
    /// The client's address and port.
    pub client: SocketAddr,
}

impl Addresses {
    /// §5.2: the number of the connection in messages, for a PEP and a server that share a secret.
    #[must_use]
    pub fn identifier(&self, secret: &[u8]) -> u64 {
        let mut hasher = blake3::Hasher::new_derive_key("airlane 2026-11 PEP message v1 flow identifier");
        hasher.update(&[self.protocol]);
        for end in [self.server, self.client] {
            let address = match end.ip() {
                IpAddr::V4(v4) => v4.to_ipv6_mapped(),
                IpAddr::V6(v6) => v6,
            };
            hasher.update(&address.octets()).update(&end.port().to_be_bytes());
        }
        let hash = hasher.update(secret).finalize();
        u64::from_be_bytes(core::array::from_fn(|at| hash.as_bytes()[at]))
    }
}

/// §4.2: number of bytes of a datagram that enter its identifier, at most.
pub const IDENTIFIED: usize = 64;

/// §3.1: identifiers are TCP sequence numbers.
const SPACE_TCP: u8 = 0;
/// §3.1: identifiers are opaque.
const SPACE_OPAQUE: u8 = 1;

/// A list of at most [`LIST_MAX`] items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct List<T> {
    items: [T; LIST_MAX],
    len: u8,
}

impl<T: Copy + Default> List<T> {
    /// Adds an item, or returns false if the list is full.
    pub fn push(&mut self, item: T) -> bool {
        let free = usize::from(self.len) < LIST_MAX;
        if free {
            self.items[usize::from(self.len)] = item;
            self.len += 1;
        }
        free
    }

    /// Its items.
    #[must_use]
    pub fn as_slice(&self) -> &[T] {
        &self.items[..usize::from(self.len)]
    }
}

/// The observed part of a TCP flow, in sequence numbers (§4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpReport {
    /// The last observed segment.
    pub newest: SackBlock,
    /// Where the observation began.
    pub first: u32,
    /// All bytes from `first` to here were observed.
    pub cumulative: u32,
    /// The ranges observed beyond that.
    pub ranges: List<SackBlock>,
    /// The ranges that were not observed, and will not be unless they are sent again: the PEP-NACK.
    pub holes: List<SackBlock>,
}

/// The observed part of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Of a TCP flow.
    Tcp(TcpReport),
    /// Of a flow whose packet numbers cannot be read: identifiers that both the server and the PEP
    /// compute (§4.2).
    Opaque(List<u64>),
}

/// True if the datagram has the form of a PEP message; its origin is not checked.
#[must_use]
pub fn is_message(datagram: &[u8]) -> bool {
    lengths(datagram).is_some()
}

/// A PEP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The PEP that sends it.
    pub pep: u32,
    /// The flow, with its number in the provisioning.
    pub flow: u64,
    /// Increases each time the PEP loses its state.
    pub instance: u32,
    /// Counts the messages of an instance about this flow, from 1.
    pub serial: u32,
    /// Microseconds between the newest observed packet and this message.
    pub delay_us: u32,
    /// The observation.
    pub body: Body,
}

impl Default for Message {
    fn default() -> Self {
        let body = Body::Tcp(TcpReport::default());
        Self { pep: 0, flow: 0, instance: 0, serial: 0, delay_us: 0, body }
    }
}

/// Why a message is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// Too short, too long, or of an unknown version or identifier space.
    Malformed,
    /// Not made with the key of the flow, or of another flow.
    Forged,
    /// It was received before, or is too old to decide.
    Replayed,
}

/// The key of a flow.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// §5: the key of a flow from the secret that PEP and server share.
    #[must_use]
    pub fn derive(secret: &[u8], flow: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("airlane 2026-11 PEP message v1 flow key");
        hasher.update(&flow.to_be_bytes()).update(secret);
        Self(*hasher.finalize().as_bytes())
    }

    /// §3.3: the tag of a message, over all bytes before the tag.
    #[must_use]
    pub fn tag(&self, bytes: &[u8]) -> [u8; TAG] {
        let hash = blake3::keyed_hash(&self.0, bytes);
        core::array::from_fn(|at| hash.as_bytes()[at])
    }

    /// §4.2: the identifier of a datagram.
    #[must_use]
    pub fn identifier(&self, datagram: &[u8]) -> u64 {
        let hash = blake3::keyed_hash(&self.0, &datagram[..datagram.len().min(IDENTIFIED)]);
        u64::from_be_bytes(core::array::from_fn(|at| hash.as_bytes()[at]))
    }

    /// The tag is compared in constant time.
    fn verifies(&self, bytes: &[u8], tag: &[u8]) -> bool {
        let made = self.tag(bytes);
        let differing = made.iter().zip(tag).fold(0, |sum, (a, b)| sum | (a ^ b));
        tag.len() == TAG && core::hint::black_box(differing) == 0
    }
}

impl Message {
    /// Appends the message as bytes.
    pub fn encode(&self, key: &Key, out: &mut Vec<u8>) {
        let begin = out.len();
        let (space, ranges, holes) = match &self.body {
            Body::Tcp(report) => (SPACE_TCP, report.ranges.len, report.holes.len),
            Body::Opaque(ids) => (SPACE_OPAQUE, ids.len, 0),
        };
        out.extend([VERSION << 4 | space, ranges << 4 | holes, 0, 0]);
        out.extend(self.pep.to_be_bytes());
        out.extend(self.flow.to_be_bytes());
        for word in [self.instance, self.serial, self.delay_us] {
            out.extend(word.to_be_bytes());
        }
        match &self.body {
            Body::Tcp(report) => {
                put_block(out, report.newest);
                out.extend(report.first.to_be_bytes());
                out.extend(report.cumulative.to_be_bytes());
                let lists = [&report.ranges, &report.holes];
                lists.iter().flat_map(|list| list.as_slice()).for_each(|block| put_block(out, *block));
            }
            Body::Opaque(ids) => ids.as_slice().iter().for_each(|id| out.extend(id.to_be_bytes())),
        }
        let tag = key.tag(&out[begin..]);
        out.extend(tag);
    }

    /// Decodes a message made with this key. A [`Receiver`] checks whether it is new.
    ///
    /// # Errors
    /// [`Rejected::Malformed`] or [`Rejected::Forged`].
    pub fn decode(bytes: &[u8], key: &Key) -> Result<Self, Rejected> {
        let (ranges, holes) = lengths(bytes).ok_or(Rejected::Malformed)?;
        let (signed, tag) = bytes.split_at(bytes.len() - TAG);
        if !key.verifies(signed, tag) {
            return Err(Rejected::Forged);
        }
        let body = if signed[0] & 0x0f == SPACE_TCP {
            let mut report = TcpReport {
                newest: block(signed, HEAD),
                first: word(signed, HEAD + 8),
                cumulative: word(signed, HEAD + 12),
                ..TcpReport::default()
            };
            let at = |index| block(signed, HEAD + TCP_BODY + BLOCK * index);
            (0..ranges).for_each(|i| assert!(report.ranges.push(at(i)), "lengths() has seen to it"));
            (ranges..ranges + holes).for_each(|i| assert!(report.holes.push(at(i)), "see above"));
            Body::Tcp(report)
        } else {
            let mut ids = List::default();
            (0..ranges).for_each(|i| assert!(ids.push(long(signed, HEAD + BLOCK * i)), "see above"));
            Body::Opaque(ids)
        };
        Ok(Self {
            pep: word(signed, 4),
            flow: long(signed, 8),
            instance: word(signed, 16),
            serial: word(signed, 20),
            delay_us: word(signed, 24),
            body,
        })
    }
}

/// §3.2: the number of ranges and of holes of the message, if its length is exactly what they need.
fn lengths(bytes: &[u8]) -> Option<(usize, usize)> {
    let [first, counts, ..] = bytes else { return None };
    let (ranges, holes) = (usize::from(counts >> 4), usize::from(counts & 0x0f));
    let body = match (first >> 4, first & 0x0f) {
        (VERSION, SPACE_TCP) => TCP_BODY,
        (VERSION, SPACE_OPAQUE) if holes == 0 => 0,
        _ => return None,
    };
    let fits = ranges <= LIST_MAX && holes <= LIST_MAX;
    (fits && bytes.len() == HEAD + body + BLOCK * (ranges + holes) + TAG).then_some((ranges, holes))
}

fn put_block(out: &mut Vec<u8>, block: SackBlock) {
    out.extend(block.left.to_be_bytes());
    out.extend(block.right.to_be_bytes());
}

fn block(bytes: &[u8], at: usize) -> SackBlock {
    SackBlock { left: word(bytes, at), right: word(bytes, at + 4) }
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_be_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}
