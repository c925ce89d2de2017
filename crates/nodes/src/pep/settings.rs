//! The settings of a PEP.

use std::net::IpAddr;
use std::path::PathBuf;

use airlane_core::Duration;
use airlane_middlebox::PepConfig;
use airlane_settings::Wrong;
use airlane_settings::quantity::{Size, Time};
use serde::{Deserialize, Serialize};

use super::filter;
use crate::common::{self, Address, Common, Network};

/// Bytes of a block of the ring; a block is handed over when it is full.
pub(super) const BLOCK: u32 = 128 << 10;
/// Limits of the ring.
const RING_MIN: u64 = 2 * BLOCK as u64;
const RING_MAX: u64 = 1 << 30;
/// Limits of what a rule remembers.
const FLOWS_MAX: u32 = 100_000;
const RANGES_MAX: u32 = 1000;
const RULES_MAX: usize = 64;
/// The longest name of an interface (`IFNAMSIZ` in `linux/if.h`, with its end).
const INTERFACE_MAX: usize = 15;

/// The defaults of a file.
pub(super) fn defaults() -> String {
    format!("{}{}", include_str!("defaults.toml"), common::DEFAULTS)
}

/// A file of settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Settings {
    /// Settings of all kinds.
    pub node: Common,
    /// The interface on which packets are watched.
    pub interface: String,
    /// The number of this PEP in its messages.
    pub id: u32,
    /// User of the process, once the interface is open.
    pub user: Option<String>,
    /// Memory between the kernel and the PEP.
    pub ring: Size,
    /// Maximum number of messages per second.
    pub messages: u32,
    /// The servers that it reports to.
    pub rule: Vec<Rule>,
}

/// Connections that are observed, and where they are reported.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    /// Addresses of the servers.
    pub servers: Vec<Network>,
    /// Ports of the servers; all if the list is empty.
    pub ports: Vec<u16>,
    /// The protocols.
    pub protocols: Vec<Protocol>,
    /// Address to which messages are sent.
    pub report_to: Address,
    /// File with the secret that the servers share.
    pub secret: PathBuf,
    /// The provisioned numbers of the connections with one client. Without them, PEP and server compute identifiers
    /// from addresses (§5.2 of the format).
    pub flow: Option<Flow>,
    /// Number of segments per message.
    pub ack_every: u32,
    /// Maximum delay of a message about fewer segments.
    pub max_delay: Time,
    /// Minimum time between two messages about a connection.
    pub min_interval: Time,
    /// Number of segments after a gap that make it a loss.
    pub reordering: u8,
    /// Maximum number of observed connections.
    pub flows: u32,
    /// Maximum number of ranges beyond a gap that are stored for each connection.
    pub ranges: u32,
    /// Idle time after which a connection is forgotten.
    pub idle: Time,
}

/// The numbers of connections with one client (§5.1 of the format).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Flow {
    /// The number of the flow.
    pub number: u16,
    /// The number of the server.
    #[serde(default)]
    pub server: u16,
    /// The client.
    pub client: IpAddr,
}

/// A protocol that can be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Protocol {
    /// TCP.
    Tcp,
    /// QUIC: any datagrams of UDP.
    Quic,
}

impl Settings {
    /// The rules that types cannot express.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        let require = |ok: bool, key: &str, help: &str| {
            if ok { Ok(()) } else { Err(Wrong::new(key, "out of range", help)) }
        };
        let name = &self.interface;
        require(
            (1..=INTERFACE_MAX).contains(&name.len()) && !name.contains(['/', '\0', ' ']),
            "interface",
            "write the name of an interface as `ip link` prints it, such as \"eth0\"",
        )?;
        let ring = self.ring.0.0;
        require((RING_MIN..=RING_MAX).contains(&ring), "ring", "it must be from 256 KiB to 1 GiB")?;
        require((1..=1_000_000).contains(&self.messages), "messages", "it must be from 1 to 1000000")?;
        require((1..=RULES_MAX).contains(&self.rule.len()), "rule", "write 1 to 64 sections [[rule]]")?;
        for (number, rule) in self.rule.iter().enumerate() {
            rule.check(&|ok, key, help| require(ok, &format!("rule.{number}.{key}"), help))?;
        }
        let help =
            "write fewer rules, networks or ports: the filter in the kernel has at most 4096 instructions";
        require(filter::program(&self.rule).is_some(), "rule", help)
    }
}

impl Rule {
    fn check(&self, require: &dyn Fn(bool, &str, &str) -> Result<(), Wrong>) -> Result<(), Wrong> {
        let second = Duration::from_secs(1);
        require(!self.servers.is_empty(), "servers", "write at least one network")?;
        require(self.ports.len() <= 32, "ports", "write at most 32 ports")?;
        require(!self.protocols.is_empty(), "protocols", "write \"tcp\", \"quic\", or both")?;
        require((1..=1000).contains(&self.ack_every), "ack_every", "it must be from 1 to 1000")?;
        require(self.max_delay.0 <= second, "max_delay", "it must be at most 1 s")?;
        require(self.min_interval.0 <= second, "min_interval", "it must be at most 1 s")?;
        require(self.reordering > 0, "reordering", "it must be from 1 to 255")?;
        require((1..=FLOWS_MAX).contains(&self.flows), "flows", "it must be from 1 to 100000")?;
        require((1..=RANGES_MAX).contains(&self.ranges), "ranges", "it must be from 1 to 1000")?;
        require(self.idle.0 >= second, "idle", "it must be at least 1 s")
    }

    /// The configuration of the protocol.
    pub(super) fn config(&self, id: u32, secret: Vec<u8>) -> PepConfig {
        PepConfig {
            id,
            secret,
            flows: self.flows as usize,
            ranges: self.ranges as usize,
            ack_every: self.ack_every,
            max_delay: self.max_delay.0,
            min_interval: self.min_interval.0,
            reordering: self.reordering,
            idle: self.idle.0,
            cell: None,
            fault: None,
        }
    }
}
