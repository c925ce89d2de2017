//! The configuration of a split-connection proxy.

use airlane_core::{Bytes, CellId, Duration, Instant, Seeds};
use airlane_transport::TcpConfig;

use super::key::Key;
use crate::node::Side;

/// When the proxy connects to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectOrder {
    /// At the arrival of a SYN, which the proxy answers at the same time.
    AtOnce,
    /// After the handshake with the sender of the SYN.
    AfterHandshake,
    /// At the arrival of a SYN, which the proxy answers only after the far end has answered: a refusal is forwarded.
    FarEndFirst,
}

/// The treatment of a connection for which there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenFull {
    /// The connection passes unchanged.
    PassThrough,
    /// The SYN is answered with a RST.
    Refuse,
}

/// The configuration of a split-connection proxy.
#[derive(Clone, Debug)]
pub struct SplitConfig {
    /// Number of the proxy.
    pub id: u32,
    /// The proxy's end of the connections on the side of the core.
    pub core: TcpConfig,
    /// The proxy's end of the connections on the side of the radio.
    pub ran: TcpConfig,
    /// The largest initial window, in segments, that a connection to a UE takes from the flow's other connections
    /// (RFC 9040); `None` if each begins with that of `ran`.
    pub shared_window_max: Option<u32>,
    /// The time of the connection to the far end.
    pub connect: ConnectOrder,
    /// Maximum bytes of one direction of one connection: offered, received, or not acknowledged.
    pub buffer: Bytes,
    /// Maximum bytes of all connections together.
    pub memory: Bytes,
    /// Maximum number of connections.
    pub connections: usize,
    /// The treatment of further ones.
    pub when_full: WhenFull,
    /// The maximum time until a connection is established on both sides.
    pub connect_timeout: Duration,
    /// How long a peer may leave waiting data unacknowledged.
    pub stall_timeout: Duration,
    /// How long both peers may be silent.
    pub idle_timeout: Duration,
    /// How long the sequence numbers of a closed connection are kept to answer late segments.
    pub time_wait: Duration,
    /// The cell, if the proxy is in an eNB: its packets pass through the tunnel of S1-U.
    pub cell: Option<CellId>,
    /// The source of its initial sequence numbers.
    pub seeds: Seeds,
}

impl SplitConfig {
    /// Two full segments: with less than that a direction would make no progress.
    pub(super) fn reserve(&self) -> u64 {
        2 * u64::from(self.core.mtu.max(self.ran.mtu))
    }

    /// The configuration of the end towards a side.
    pub(super) fn towards(&self, side: Side, key: Key, now: Instant) -> TcpConfig {
        // RFC 6528 §3: a clock of 4 µs, and a secret.
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
