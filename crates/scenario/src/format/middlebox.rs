//! Functions in the path between the internet and the radio.

use airlane_core::{CellId, Instant, Seeds};
use airlane_middlebox::{self as middlebox, Fault, PepConfig};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tcp, tagged};
use crate::quantity::{Rate, Share, Size, Time};

/// A function in the path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Middlebox {
    /// Lightweight PEP: it reports to servers which packets have passed, and does not change packets.
    Pep(Pep),
    /// Split-connection proxy: it terminates every TCP connection on both sides.
    SplitProxy(Box<SplitProxy>),
}
tagged!(Middlebox by "kind" { "pep" => Pep(Pep), "split-proxy" => SplitProxy(Box<SplitProxy>) });

/// The lightweight PEP. It observes TCP flows to the UEs, up to `flows`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pep {
    /// Place in the network.
    pub at: MiddleboxPlace,
    /// Secret from which the keys of the flows are derived. The servers have the same secret.
    pub secret: String,
    /// Number of segments per message.
    pub ack_every: u32,
    /// Maximum delay of a message with fewer segments.
    pub max_delay: Time,
    /// Minimum time between two messages of a flow.
    pub min_interval: Time,
    /// Number of segments after a gap that make it a loss.
    pub reordering: u32,
    /// Maximum number of observed connections. Other connections pass without observation.
    pub flows: u32,
    /// Maximum number of ranges beyond a gap that are stored for each connection.
    pub ranges: u32,
    /// Idle time after which a flow can be replaced by a new one.
    pub idle: Time,
    /// Fault of the PEP.
    pub fault: PepFault,
}

/// The split-connection proxy. It terminates TCP connections, up to `connections`. Each of the two sides has
/// its own congestion controller and options.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitProxy {
    /// Place in the network.
    pub at: MiddleboxPlace,
    /// When the proxy connects to the far end.
    pub connect: ConnectOrder,
    /// Maximum number of bytes that one direction of a connection holds: the offered window, received bytes,
    /// and unacknowledged bytes.
    pub buffer: Size,
    /// Maximum number of bytes that all connections together hold.
    pub memory: Size,
    /// Initial window of the connections towards the UEs.
    pub initial_window: ProxyInitialWindow,
    /// Rate of the interface towards the UEs, which has an unlimited queue. By default, there is no limit,
    /// and a window leaves at once.
    pub interface_rate: Option<Rate>,
    /// Maximum number of connections.
    pub connections: u32,
    /// What happens to further connections.
    pub when_full: WhenFull,
    /// Time limit for establishing a connection on both sides.
    pub connect_timeout: Time,
    /// How long a peer may leave waiting data unacknowledged before both connections are reset.
    pub stall_timeout: Time,
    /// Idle time after which both connections are reset.
    pub idle_timeout: Time,
    /// Duration of TIME-WAIT after a connection was closed.
    pub time_wait: Time,
    /// TCP settings towards the core network and the internet, with the same keys as the TCP of a flow.
    pub core: Tcp,
    /// TCP settings towards the UEs.
    pub ran: Tcp,
}

/// Initial window of a split-connection proxy's connections towards the UEs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum ProxyInitialWindow {
    /// `ran.initial_window`.
    Fixed,
    /// The mean congestion window of the flow's other connections towards the UE, or that of the last one that has ended
    /// (RFC 9040). The first connection of a flow has `ran.initial_window`.
    Shared(SharedWindow),
}
tagged!(ProxyInitialWindow by "kind" { "fixed" => Fixed, "shared" => Shared(SharedWindow) });

/// Initial window that connections take from each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SharedWindow {
    /// Maximum initial window in segments.
    pub max: u32,
}

/// When a split-connection proxy connects to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectOrder {
    /// On the SYN, which the proxy answers at once.
    AtOnce,
    /// After the handshake with the sender of the SYN.
    AfterHandshake,
    /// On the SYN, which the proxy answers after the far end has answered.
    FarEndFirst,
}

/// What happens to a connection above the limit of a split-connection proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It passes unchanged.
    PassThrough,
    /// The proxy answers its SYN with a RST.
    Refuse,
}

/// Place of a middlebox in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MiddleboxPlace {
    /// Between the internet and the gateway of the mobile core.
    Gateway,
    /// In each eNB, at its end of S1-U.
    Enb,
}

/// A fault of a PEP, or of the path from it to the server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PepFault {
    /// No fault.
    None,
    /// It stops observing.
    Dies(Dies),
    /// It sends false reports.
    Lies(Lies),
    /// A percentage of its messages is lost.
    Loses(ShareOf),
    /// A percentage of its messages is sent after the next one.
    Reorders(ShareOf),
    /// A percentage of its messages is sent twice.
    Duplicates(ShareOf),
    /// A percentage of its messages is truncated to the first half.
    Truncates(ShareOf),
    /// An attacker without the key sends a message with each message of the PEP.
    Forges,
    /// An attacker replays the first message with each later message.
    Replays,
}
tagged!(PepFault by "kind" {
    "none" => None,
    "dies" => Dies(Dies),
    "lies" => Lies(Lies),
    "loses" => Loses(ShareOf),
    "reorders" => Reorders(ShareOf),
    "duplicates" => Duplicates(ShareOf),
    "truncates" => Truncates(ShareOf),
    "forges" => Forges,
    "replays" => Replays,
});

/// A PEP that stops observing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dies {
    /// Time at which the PEP stops.
    pub at: Time,
    /// Time at which it restarts without state. By default, it does not restart.
    pub until: Option<Time>,
}

/// A PEP that sends false reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lies {
    /// Start of the fault.
    pub from: Time,
    /// Content of the false reports.
    pub claim: Claim,
}

/// Content of false reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// It has seen all data up to the highest observed sequence number.
    Everything,
    /// It has seen a mebibyte beyond the highest observed sequence number.
    Unsent,
    /// The last observed data is missing.
    Holes,
}

/// A percentage of the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareOf {
    /// Percentage of messages, at random.
    pub share: Share,
}

impl Pep {
    /// The configuration of the PEP in front of the gateway, or of that of a cell.
    pub fn config(&self, cell: Option<CellId>, seeds: Seeds) -> PepConfig {
        let id = cell.map_or(0, |cell| cell.0);
        let chance = seeds.stream(&format!("middlebox/{id}/fault"));
        PepConfig {
            id,
            secret: self.secret.clone().into_bytes(),
            flows: self.flows as usize,
            ranges: self.ranges as usize,
            ack_every: self.ack_every,
            max_delay: self.max_delay.0,
            min_interval: self.min_interval.0,
            reordering: u8::try_from(self.reordering).expect("checked when the scenario was resolved"),
            idle: self.idle.0,
            cell,
            fault: self.fault.config().map(|fault| (fault, chance)),
        }
    }
}

impl PepFault {
    fn config(&self) -> Option<Fault> {
        let at = |time: Time| Instant::ZERO + time.0;
        Some(match self {
            Self::None => return None,
            Self::Dies(dies) => {
                Fault::Dies { at: at(dies.at), until: dies.until.map_or(Instant::FAR_FUTURE, at) }
            }
            Self::Lies(lies) => {
                let claim = match lies.claim {
                    Claim::Everything => middlebox::Claim::Everything,
                    Claim::Unsent => middlebox::Claim::Unsent,
                    Claim::Holes => middlebox::Claim::Holes,
                };
                Fault::Lies { from: at(lies.from), claim }
            }
            Self::Loses(share) => Fault::Loses(share.share.0),
            Self::Reorders(share) => Fault::Reorders(share.share.0),
            Self::Duplicates(share) => Fault::Duplicates(share.share.0),
            Self::Truncates(share) => Fault::Truncates(share.share.0),
            Self::Forges => Fault::Forges,
            Self::Replays => Fault::Replays,
        })
    }
}
