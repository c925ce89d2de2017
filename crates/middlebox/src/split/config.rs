//! How a split-connection proxy is set up.

use airlane_core::{Bytes, CellId, Duration, Instant, Seeds};
use airlane_transport::TcpConfig;

use super::key::Key;
use crate::node::Side;

/// When the proxy connects to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectOrder {
    /// When a SYN comes, which it answers at the same time.
    AtOnce,
    /// When the handshake with whoever sent the SYN is complete.
    AfterHandshake,
    /// When a SYN comes, which it answers only when the far end has answered: a refusal is passed on as one.
    FarEndFirst,
}

/// What becomes of a connection for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// It passes as it is.
    PassThrough,
    /// Its SYN is answered with a RST.
    Refuse,
}

/// How a split-connection proxy is set up.
#[derive(Clone, Debug)]
pub struct SplitConfig {
    /// Its number.
    pub id: u32,
    /// Its end of the connections on the side of the core.
    pub core: TcpConfig,
    /// Its end of those on the side of the radio.
    pub ran: TcpConfig,
    /// When it connects to the far end.
    pub connect: ConnectOrder,
    /// Most bytes that one direction of one connection may keep: offered, come, or not acknowledged.
    pub buffer: Bytes,
    /// Most bytes that all of them together may keep.
    pub memory: Bytes,
    /// Connections at a time.
    pub connections: usize,
    /// What becomes of more.
    pub when_full: WhenFull,
    /// How long a connection may take to stand on both sides.
    pub connect_timeout: Duration,
    /// How long a peer may leave unacknowledged what waits for it.
    pub stall_timeout: Duration,
    /// How long both peers may say nothing.
    pub idle_timeout: Duration,
    /// How long the numbers of a closed connection are kept to answer stragglers.
    pub time_wait: Duration,
    /// The cell, where it stands in an eNB: what it sends goes through the tunnel of S1-U.
    pub cell: Option<CellId>,
    /// Where its initial sequence numbers come from.
    pub seeds: Seeds,
}

impl SplitConfig {
    /// Two full segments: with less than that a direction would not come on.
    pub(super) fn reserve(&self) -> u64 {
        2 * u64::from(self.core.mtu.max(self.ran.mtu))
    }

    /// The set-up of the end towards a side.
    pub(super) fn towards(&self, side: Side, key: Key, now: Instant) -> TcpConfig {
        // RFC 6528 §3: a clock of 4 µs, and what nobody else can know.
        let mut secret = self.seeds.stream(&key.stream(self.id));
        let [core, ran] = [secret.bits() as u32, secret.bits() as u32];
        let (config, offset) = match side {
            Side::Core => (&self.core, core),
            Side::Ran => (&self.ran, ran),
        };
        let clock = (now.as_nanos() / 4_000) as u32;
        TcpConfig { initial_sequence: clock.wrapping_add(offset), ..config.clone() }
    }
}
