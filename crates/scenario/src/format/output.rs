//! What a run writes beside the tables of every run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Size;

/// What a run writes beside the tables of every run. None of it changes what happens in the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Where packets are captured, each place into a pcapng file of its own; nowhere if empty.
    pub pcap: Vec<CapturePoint>,
    /// Bytes of each packet that a capture keeps.
    pub snaplen: Size,
    /// Whether to log each transport block (table `ran_log`).
    pub ran_log: bool,
    /// Whether to add up by the millisecond what each UE, and the server from it, receives (table
    /// `deliveries`).
    pub deliveries: bool,
    /// Whether to list what the network lost of each flow, and why (table `losses`).
    pub losses: bool,
    /// Whether to follow the buffers of split proxies (table `proxy_series`).
    pub proxy_series: bool,
    /// Whether to follow what senders over BBR think of their paths (table `path_model`).
    pub path_model: bool,
    /// Whether each end of a flow over QUIC writes what happens to it into a qlog file
    /// (draft-ietf-quic-qlog-main-schema).
    pub qlog: bool,
}

/// Where packets are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CapturePoint {
    /// The server's interface.
    #[serde(rename = "server")]
    Server,
    /// The interface of each UE; the host's in a wired network.
    #[serde(rename = "ue")]
    Ue,
    /// Each eNB's interface to the core, with the headers of GTP-U.
    #[serde(rename = "s1-u")]
    S1u,
}
