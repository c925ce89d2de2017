//! Flows whose ends are sockets of a Linux kernel.

use core::fmt;
use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Announced, Tcp};
use crate::quantity::{Size, Time};

/// TCP of a Linux kernel, which runs as a guest in virtual time (`airlane kernel build`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// The kernel, by its name in `airlane kernel list`: a version such as "6.12", or the name of a build of your own.
    pub kernel: String,
    /// Which ends of the flow are sockets of the kernel.
    pub ends: KernelEnds,
    /// The simulated TCP of the other end, with ends = "server" or "ue". Its keys are those of kind = "tcp".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer: Option<Box<Tcp>>,
    /// Congestion control of the kernel's ends, by its name in the kernel, such as "reno", "cubic" or "bbr".
    pub congestion: String,
    /// Parameters of the network namespaces of the kernel's ends. A name without a dot belongs to `net.ipv4`, such as `tcp_ecn`.
    /// By default, the kernel's own values apply, except that the limits of TCP's memory are set to those of a host
    /// with several gigabytes.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, Parameter>,
    /// Maximum size of an IP packet.
    pub mtu: Size,
    /// Whether the interfaces merge segments that arrive together (generic receive offload), as on most hosts.
    pub gro: bool,
    /// Whether the sender builds segments larger than a packet, which the interface divides (generic segmentation
    /// offload), as on each host. If false, each packet passes through TCP alone, as in the simulated one.
    pub gso: bool,
    /// Bytes per write of a bulk application.
    pub write_size: Size,
    /// Requests and replies over one connection, instead of the application of the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
    /// Multipath TCP of the kernel over several accesses, with an interface of the UE, or of the host of a wired network, for
    /// each. It opens the connection. Without it, the flow has one path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<KernelMptcp>,
    /// Programs of this machine that run at the two ends, instead of the application of the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exec: Option<Exec>,
}

/// The ends of a flow that are sockets of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum KernelEnds {
    /// Both.
    Both,
    /// The server; the other end is the simulated TCP.
    Server,
    /// The UE, or the host of a wired network; the server is the simulated TCP.
    Ue,
}

impl Kernel {
    /// The simulated TCP of the server, or of the other end, if it is not the kernel's.
    #[must_use]
    pub fn simulated(&self, server: bool) -> Option<&Tcp> {
        let of_kernel = match self.ends {
            KernelEnds::Both => true,
            KernelEnds::Server => server,
            KernelEnds::Ue => !server,
        };
        if of_kernel { None } else { self.peer.as_deref() }
    }
}

/// Settings of the path managers of the kernel's Multipath TCP (ip-mptcp(8)). All paths besides the first have an endpoint,
/// which opens a subflow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelMptcp {
    /// Names of the accesses that the connection uses; it begins on the first of them. By default, these are all accesses of
    /// the UE, or of the host of a wired network: "internet" and all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// Names of the paths whose endpoints are backups; the first path cannot be one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Vec<String>>,
    /// Paths on which the server has an address of its own and announces it: its path manager has an endpoint of the kind
    /// `signal`, and the host opens the subflow when it knows the address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub announced: Option<Announced>,
}

/// Requests and replies: the receiver of the flow's data connects and asks, one request after the other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Requests {
    /// Size of a request.
    pub request: Size,
    /// Size of a reply.
    pub reply: Size,
    /// Number of requests. If absent, there is no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Time between the begins of two requests, if the reply has arrived by then. If absent, a request follows each
    /// reply at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Time>,
}

/// Programs at the ends of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Exec {
    /// Command of the server, whose address is 10.0.0.1. It starts 100 ms before the flow.
    pub server: String,
    /// Command at the UE, or the host.
    pub ue: String,
}

/// The value of a parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Parameter(pub String);

impl<'de> Deserialize<'de> for Parameter {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Value;
        impl Visitor<'_> for Value {
            type Value = Parameter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number, or a string such as \"4096 131072 6291456\"")
            }
            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Parameter, E> {
                Ok(Parameter(number.to_string()))
            }
            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Parameter, E> {
                Ok(Parameter(number.to_string()))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Parameter, E> {
                Ok(Parameter(text.to_owned()))
            }
        }
        from.deserialize_any(Value)
    }
}

impl JsonSchema for Parameter {
    fn schema_name() -> Cow<'static, str> {
        "Parameter".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The value of a parameter of the kernel.",
            "anyOf": [{ "type": "integer" }, { "type": "string" }],
        })
    }
}
