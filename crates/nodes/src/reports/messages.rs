//! Which messages of PEPs are accepted, without a socket.
//!
//! Each message passes these checks in order: its source, its form, whether it names an open connection (§5.2 of
//! `docs/pep-wire-format.md`), its tag, its serial, the rate of its source. A source is charged for authentic messages
//! only: others may have any source address, and a charge for them would let everybody silence a PEP. Sources of which
//! no authentic message has come for a while share one rate before all of this, so that a flood costs little. Nothing
//! is kept for a message that is not authentic.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airlane_core::{Duration, Instant};
use airlane_net::pep::{self, Addresses, Body, Key, Receiver, Rejected};
use airlane_wire::protocol;

use crate::common::Network;

/// Maximum number of sources whose rate is known; the source that has been silent for the longest time is forgotten
/// first.
const SOURCES_MAX: usize = 1024;
/// A source that has been silent for this long is forgotten.
const SOURCE_IDLE: Duration = Duration::from_secs(10);
/// The part of a second for which a source may send without waiting.
const BURST: Duration = Duration::from_millis(100);

/// A connection as its server names it.
pub(crate) trait Connection: Copy + Ord {
    /// The protocol and the ends of the connection, if the name has them.
    fn addresses(&self) -> Option<Addresses>;
}

impl Connection for Addresses {
    fn addresses(&self) -> Option<Addresses> {
        Some(*self)
    }
}

/// A message that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted<C> {
    pub(crate) connection: C,
    pub(crate) delay: Duration,
    pub(crate) body: Body,
}

/// Why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Refusal {
    /// From an address outside of the networks of the PEPs.
    Source,
    /// More messages than the source may send.
    Rate,
    /// The message has not the form of a message.
    Malformed,
    /// The connection does not exist.
    Connection,
    /// The message was not made with the key.
    Forged,
    /// Received before, or too old.
    Replayed,
    /// The identifiers are of another protocol than the connection's.
    Space,
}

impl Refusal {
    /// All reasons.
    pub(super) const ALL: [Self; 7] = [
        Self::Source,
        Self::Rate,
        Self::Malformed,
        Self::Connection,
        Self::Forged,
        Self::Replayed,
        Self::Space,
    ];

    /// The name of the reason in metrics.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Rate => "rate",
            Self::Malformed => "malformed",
            Self::Connection => "connection",
            Self::Forged => "forged",
            Self::Replayed => "replayed",
            Self::Space => "space",
        }
    }
}

/// Tokens of a source.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn most(rate: f64) -> f64 {
        (rate * BURST.as_nanos() as f64 / 1e9).max(1.0)
    }

    fn full(rate: f64, at: Instant) -> Self {
        Self { tokens: Self::most(rate), at }
    }

    /// Takes a token, if there is one.
    fn take(&mut self, rate: f64, now: Instant) -> bool {
        let elapsed = now.saturating_since(self.at).as_nanos() as f64 / 1e9;
        self.tokens = (self.tokens + elapsed * rate).min(Self::most(rate));
        self.at = now;
        let has_one = self.tokens >= 1.0;
        if has_one {
            self.tokens -= 1.0;
        }
        has_one
    }
}

/// An open connection.
struct Open<C> {
    connection: C,
    /// Number of this entry: another connection may have the same addresses later.
    number: u64,
    protocol: u8,
    receiver: Receiver,
}

/// The receivers of all connections.
pub(super) struct Messages<C> {
    secret: Vec<u8>,
    peps: Vec<Network>,
    clients: Vec<Network>,
    rate: f64,
    /// Rates of sources that have sent authentic messages.
    sources: BTreeMap<IpAddr, Bucket>,
    /// Rate of all other sources together.
    strangers: Bucket,
    /// The open connections by their identifiers, and their identifiers.
    open: BTreeMap<u64, Open<C>>,
    identifiers: BTreeMap<C, u64>,
}

impl<C: Connection> Messages<C> {
    pub(super) fn new(secret: Vec<u8>, peps: Vec<Network>, clients: Vec<Network>, rate: u32) -> Self {
        let (sources, open, identifiers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let rate = f64::from(rate);
        let strangers = Bucket::full(rate, Instant::ZERO);
        Self { secret, peps, clients, rate, sources, strangers, open, identifiers }
    }

    /// Takes the connections that are open now, each with a number that no other connection with its addresses has. The
    /// receiver of a connection lives as long as the connection; a new connection gets a new receiver.
    pub(super) fn connections(&mut self, now: &BTreeMap<C, u64>) {
        let same = |open: &Open<C>| now.get(&open.connection) == Some(&open.number);
        self.open.retain(|_, open| same(open));
        let open = &self.open;
        self.identifiers.retain(|_, identifier| open.contains_key(identifier));
        for (connection, number) in now {
            if self.identifiers.contains_key(connection) {
                continue;
            }
            let Some(addresses) = connection.addresses() else { continue };
            if !contains(&self.clients, addresses.client.ip()) {
                continue;
            }
            let identifier = addresses.identifier(&self.secret);
            let receiver = Receiver::new(Key::derive(&self.secret, identifier), identifier);
            let (connection, number, protocol) = (*connection, *number, addresses.protocol);
            self.open.insert(identifier, Open { connection, number, protocol, receiver });
            self.identifiers.insert(connection, identifier);
        }
    }

    /// Judges a datagram.
    pub(super) fn judge(
        &mut self,
        now: Instant,
        source: IpAddr,
        datagram: &[u8],
    ) -> Result<Accepted<C>, Refusal> {
        let source = source.to_canonical();
        if !contains(&self.peps, source) {
            return Err(Refusal::Source);
        }
        if !self.sources.contains_key(&source) && !self.strangers.take(self.rate, now) {
            return Err(Refusal::Rate);
        }
        if !pep::is_message(datagram) {
            return Err(Refusal::Malformed);
        }
        let identifier = u64::from_be_bytes(datagram[8..16].try_into().expect("the form was checked"));
        let open = self.open.get_mut(&identifier).ok_or(Refusal::Connection)?;
        let message = open.receiver.accept(datagram).map_err(refused)?;
        match (open.protocol, &message.body) {
            (protocol::TCP, Body::Tcp(_)) | (protocol::UDP, Body::Opaque(_)) => {}
            _ => return Err(Refusal::Space),
        }
        let delay = Duration::from_micros(u64::from(message.delay_us));
        let accepted = Accepted { connection: open.connection, delay, body: message.body };
        self.charge(now, source).map(|()| accepted)
    }

    /// Takes a token of the source, which has sent an authentic message.
    fn charge(&mut self, now: Instant, source: IpAddr) -> Result<(), Refusal> {
        if !self.sources.contains_key(&source) && self.sources.len() >= SOURCES_MAX {
            let silent = self.sources.iter().min_by_key(|(_, bucket)| bucket.at).map(|(source, _)| *source);
            silent.and_then(|source| self.sources.remove(&source));
        }
        let full = Bucket::full(self.rate, now);
        let bucket = self.sources.entry(source).or_insert(full);
        if bucket.take(self.rate, now) { Ok(()) } else { Err(Refusal::Rate) }
    }

    /// Forgets sources that have been silent.
    pub(super) fn forget(&mut self, now: Instant) {
        self.sources.retain(|_, bucket| now.saturating_since(bucket.at) < SOURCE_IDLE);
    }
}

/// Whether one of the networks has the address. An empty list has all addresses.
fn contains(networks: &[Network], address: IpAddr) -> bool {
    networks.is_empty() || networks.iter().any(|network| network.0.contains(&address))
}

fn refused(rejected: Rejected) -> Refusal {
    match rejected {
        Rejected::Malformed => Refusal::Malformed,
        Rejected::Forged => Refusal::Forged,
        Rejected::Replayed => Refusal::Replayed,
    }
}

#[cfg(test)]
mod tests;
