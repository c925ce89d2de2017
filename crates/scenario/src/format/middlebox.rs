//! Functions in the path between the internet and the radio.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Tcp, tagged};
use crate::quantity::{Rate, Share, Size, Time};

/// A function in the path.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Middlebox {
    /// The lightweight PEP: tells servers what has passed, and leaves it as it is.
    Pep(Pep),
    /// The split-connection proxy: the far end of every TCP connection to each side.
    SplitProxy(Box<SplitProxy>),
}
tagged!(Middlebox by "kind" { "pep" => Pep(Pep), "split-proxy" => SplitProxy(Box<SplitProxy>) });

/// The lightweight PEP. It watches every TCP flow to the UEs for which it has room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pep {
    /// Where it stands.
    pub at: MiddleboxPlace,
    /// What the keys of the flows are derived from; the servers know it too.
    pub secret: String,
    /// Segments to one message.
    pub ack_every: u32,
    /// How long fewer segments than that wait for a message.
    pub max_delay: Time,
    /// Shortest time between two messages about a flow.
    pub min_interval: Time,
    /// Segments seen above a hole that make it certain.
    pub reordering: u32,
    /// Connections watched at a time; more pass unwatched.
    pub flows: u32,
    /// Ranges beyond a hole that are remembered for each of them.
    pub ranges: u32,
    /// After so long a silence, a flow gives way to a new one.
    pub idle: Time,
    /// What is wrong with it.
    pub fault: PepFault,
}

/// The split-connection proxy. It takes every TCP connection for which it has room, and is its far end to both
/// sides: two connections, each with a congestion controller and options of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplitProxy {
    /// Where it stands.
    pub at: MiddleboxPlace,
    /// When it connects to the far end.
    pub connect: ConnectOrder,
    /// Most bytes that one direction of a connection keeps: offered, come, or not acknowledged.
    pub buffer: Size,
    /// Most bytes that all directions together keep.
    pub memory: Size,
    /// What its interface towards the UEs sends at, behind a queue without end; none for no limit, so that a window
    /// leaves in one instant.
    pub interface_rate: Option<Rate>,
    /// Connections at a time.
    pub connections: u32,
    /// What becomes of more.
    pub when_full: WhenFull,
    /// How long a connection may take to stand on both sides.
    pub connect_timeout: Time,
    /// How long a peer may leave unacknowledged what waits for it, before both are reset.
    pub stall_timeout: Time,
    /// How long both peers may say nothing, before both are reset.
    pub idle_timeout: Time,
    /// How long it answers stragglers of a connection that was closed.
    pub time_wait: Time,
    /// Its connections to the core network and the internet: what a flow may say of its TCP.
    pub core: Tcp,
    /// Its connections to the UEs.
    pub ran: Tcp,
}

/// When a split-connection proxy connects to the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectOrder {
    /// When a SYN comes, which it answers at once.
    AtOnce,
    /// When the handshake with whoever sent the SYN is complete.
    AfterHandshake,
    /// When a SYN comes, which it answers only when the far end has answered.
    FarEndFirst,
}

/// What becomes of a connection for which a split-connection proxy has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// It passes as it is.
    PassThrough,
    /// Its SYN is answered with a RST.
    Refuse,
}

/// Where a middlebox stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MiddleboxPlace {
    /// Between the internet and the gateway of the mobile core.
    Gateway,
    /// In each eNB, at its end of S1-U.
    Enb,
}

/// What can be wrong with a PEP, or with the way from it to the server.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum PepFault {
    /// Nothing.
    None,
    /// It stops to watch.
    Dies(Dies),
    /// It says what is not so.
    Lies(Lies),
    /// A share of its messages is lost.
    Loses(ShareOf),
    /// A share of its messages leaves after the next one.
    Reorders(ShareOf),
    /// A share of its messages leaves twice.
    Duplicates(ShareOf),
    /// A share of its messages arrives without its second half.
    Truncates(ShareOf),
    /// A stranger sends a message with each of its own, without the key.
    Forges,
    /// A stranger sends the first message again with each other.
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

/// A PEP that stops to watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dies {
    /// When.
    pub at: Time,
    /// When it is back, knowing nothing; none for never.
    pub until: Option<Time>,
}

/// A PEP that says what is not so.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lies {
    /// From when on.
    pub from: Time,
    /// What it says.
    pub claim: Claim,
}

/// What a lying PEP says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Claim {
    /// That it has seen everything up to the highest that it has seen.
    Everything,
    /// That it has seen a mebibyte more than that.
    Unsent,
    /// That what it has seen last is missing.
    Holes,
}

/// A share of the messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShareOf {
    /// Which, at random.
    pub share: Share,
}
