//! Which messages of PEPs are accepted, without a socket.
//!
//! Each message passes these checks in order, the cheap ones first: its source, the rate of its source, its
//! form, whether it names an open connection (§5.2 of `docs/pep-wire-format.md`), its tag, its serial. Memory is
//! bounded: nothing is kept for a message that fails one of them but the rate of its source, and that for a
//! bounded number of sources.

use std::collections::BTreeMap;
use std::net::IpAddr;

use airlane_core::{Duration, Instant};
use airlane_net::pep::{self, Addresses, Body, Key, Receiver, Rejected, TcpReport};

use super::shared::{self, KEY};
use crate::common::Network;

/// Maximum number of sources whose rate is known.
const SOURCES_MAX: usize = 1024;
/// A source that has been silent for this long is forgotten.
const SOURCE_IDLE: Duration = Duration::from_secs(10);
/// The part of a second for which a source may send at once.
const BURST: Duration = Duration::from_millis(100);
/// `IPPROTO_TCP`.
const TCP: u8 = 6;

/// The result for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted(Accepted),
    Refused(Refusal),
}

/// A message that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Accepted {
    pub(super) key: [u8; KEY],
    pub(super) delay: Duration,
    pub(super) report: TcpReport,
}

/// Why a message is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    /// From an address outside of the networks of the PEPs.
    Source,
    /// More messages than the source may send.
    Rate,
    /// Not in the form of a message.
    Malformed,
    /// There is no such connection under this congestion control.
    Connection,
    /// Not made with the key.
    Forged,
    /// Received before, or too old.
    Replayed,
    /// With identifiers that are not TCP's.
    Opaque,
}

impl Refusal {
    /// All of them.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "for the agent"))]
    pub(super) const ALL: [Self; 7] = [
        Self::Source,
        Self::Rate,
        Self::Malformed,
        Self::Connection,
        Self::Forged,
        Self::Replayed,
        Self::Opaque,
    ];

    /// Its name in metrics.
    #[cfg_attr(not(feature = "bpf"), expect(dead_code, reason = "for the agent"))]
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Rate => "rate",
            Self::Malformed => "malformed",
            Self::Connection => "connection",
            Self::Forged => "forged",
            Self::Replayed => "replayed",
            Self::Opaque => "opaque",
        }
    }
}

/// Tokens of a source.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    at: Instant,
}

/// An open connection.
struct Open {
    key: [u8; KEY],
    /// When it began to be under this congestion control: another connection may have the same addresses later.
    began: u64,
    receiver: Receiver,
}

/// The receivers of all connections.
pub(super) struct Messages {
    secret: Vec<u8>,
    peps: Vec<Network>,
    clients: Vec<Network>,
    rate: f64,
    sources: BTreeMap<IpAddr, Bucket>,
    /// The open connections by their identifiers, and their identifiers.
    open: BTreeMap<u64, Open>,
    identifiers: BTreeMap<[u8; KEY], u64>,
}

impl Messages {
    pub(super) fn new(secret: Vec<u8>, peps: Vec<Network>, clients: Vec<Network>, rate: u32) -> Self {
        let (sources, open, identifiers) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { secret, peps, clients, rate: f64::from(rate), sources, open, identifiers }
    }

    /// Takes the connections that are open now, each with the time at which it began. The receiver of a connection
    /// lives as long as the connection; another one with its addresses gets another receiver.
    pub(super) fn connections(&mut self, now: &BTreeMap<[u8; KEY], u64>) {
        let same = |open: &Open| now.get(&open.key) == Some(&open.began);
        self.open.retain(|_, open| same(open));
        let open = &self.open;
        self.identifiers.retain(|_, identifier| open.contains_key(identifier));
        for (key, began) in now {
            if self.identifiers.contains_key(key) {
                continue;
            }
            let Some((server, client)) = shared::ends(key) else { continue };
            if !contains(&self.clients, client.ip()) {
                continue;
            }
            let identifier = Addresses { protocol: TCP, server, client }.identifier(&self.secret);
            let receiver = Receiver::new(Key::derive(&self.secret, identifier), identifier);
            self.open.insert(identifier, Open { key: *key, began: *began, receiver });
            self.identifiers.insert(*key, identifier);
        }
    }

    /// Judges a datagram.
    pub(super) fn judge(&mut self, now: Instant, source: IpAddr, datagram: &[u8]) -> Verdict {
        match self.accept(now, source, datagram) {
            Ok(accepted) => Verdict::Accepted(accepted),
            Err(refusal) => Verdict::Refused(refusal),
        }
    }

    fn accept(&mut self, now: Instant, source: IpAddr, datagram: &[u8]) -> Result<Accepted, Refusal> {
        let source = source.to_canonical();
        if !contains(&self.peps, source) {
            return Err(Refusal::Source);
        }
        self.charge(now, source)?;
        if !pep::is_message(datagram) {
            return Err(Refusal::Malformed);
        }
        let identifier = u64::from_be_bytes(datagram[8..16].try_into().expect("the form was checked"));
        let open = self.open.get_mut(&identifier).ok_or(Refusal::Connection)?;
        let message = open.receiver.accept(datagram).map_err(refused)?;
        let Body::Tcp(report) = message.body else { return Err(Refusal::Opaque) };
        Ok(Accepted { key: open.key, delay: Duration::from_micros(u64::from(message.delay_us)), report })
    }

    /// Takes a token of the source.
    fn charge(&mut self, now: Instant, source: IpAddr) -> Result<(), Refusal> {
        let most = (self.rate * BURST.as_nanos() as f64 / 1e9).max(1.0);
        if !self.sources.contains_key(&source) && self.sources.len() >= SOURCES_MAX {
            return Err(Refusal::Rate);
        }
        let bucket = self.sources.entry(source).or_insert(Bucket { tokens: most, at: now });
        let elapsed = now.saturating_since(bucket.at).as_nanos() as f64 / 1e9;
        bucket.tokens = (bucket.tokens + elapsed * self.rate).min(most);
        bucket.at = now;
        if bucket.tokens < 1.0 {
            return Err(Refusal::Rate);
        }
        bucket.tokens -= 1.0;
        Ok(())
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
