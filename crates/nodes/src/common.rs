//! The settings that all kinds of nodes share.

use std::net::{IpAddr, SocketAddr};

use airlane_settings::explained;
use airlane_settings::quantity::Time;
use ipnet::IpNet;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Defaults of the section `[node]`, for the defaults of each kind.
pub const DEFAULTS: &str = r#"
[node]
threads = 0
drain = "10 s"
log = { level = "info", format = "text" }
"#;

/// The section `[node]`, which all kinds share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Common {
    /// Number of worker threads; 0 for one per core.
    pub threads: u16,
    /// How long the work that has begun may take to end after SIGTERM.
    pub drain: Time,
    /// Address of the HTTP server for metrics and health. Without an address there is no such server.
    pub admin: Option<Address>,
    /// Messages on the standard error.
    pub log: Log,
}

/// An address and a port of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Address(pub SocketAddr);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        text.parse().map(Self).map_err(|_| {
            let help = "write an address and a port, such as \"127.0.0.1:9100\" or \"[::1]:9100\"";
            D::Error::custom(explained("not an address with a port", help))
        })
    }
}

/// An IP network; a single address is a network of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Network(pub IpNet);

impl Network {
    /// Whether an address is in the network. An IPv4 address in the form of an IPv6 address counts as an IPv4 address.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        self.0.contains(&address.to_canonical())
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let parsed = text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
        parsed.map(Self).map_err(|_| {
            let help =
                "write an address with the length of its prefix, such as \"10.0.0.0/8\" or \"2001:db8::/32\"";
            D::Error::custom(explained("not an IP network", help))
        })
    }
}

/// Messages on the standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// The least important messages that are written.
    pub level: Level,
    /// Format of the log.
    pub format: Format,
}

/// Importance of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// The node cannot go on.
    Error,
    /// Trouble outside of the node, or a limit that is reached.
    Warn,
    /// Begin and end of the node and of its connections to others.
    Info,
    /// Each connection, request or message.
    Debug,
}

/// Form of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// A line of text.
    Text,
    /// A JSON object per line.
    Json,
}

/// A time as tokio measures it.
pub(crate) const fn time(time: Time) -> std::time::Duration {
    std::time::Duration::from_nanos(time.0.as_nanos())
}
