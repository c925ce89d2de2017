//! Optional outputs of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Size;

/// Optional outputs of a run. They do not change the simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// Capture points. Each has its own pcapng file.
    pub pcap: Vec<CapturePoint>,
    /// Number of bytes of each packet in a capture.
    pub snaplen: Size,
    /// Whether to log each transport block (table `ran_log`).
    pub ran_log: bool,
    /// Whether to write the bytes that each UE, and the server from it, receives in each millisecond (table
    /// `deliveries`).
    pub deliveries: bool,
    /// Whether to write each packet that the network dropped, with the cause (table `losses`).
    pub losses: bool,
    /// Whether to write the time series of split-proxy buffers (table `proxy_series`).
    pub proxy_series: bool,
    /// Whether to write the path model of BBR senders (table `path_model`).
    pub path_model: bool,
    /// Whether to count the energy of UEs that listen all the time (table `energy`), as is done of those that sleep.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub energy: bool,
    /// Whether each end of a QUIC flow writes a qlog file (draft-ietf-quic-qlog-main-schema).
    pub qlog: bool,
}

/// A capture point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum CapturePoint {
    /// The server's interface.
    #[serde(rename = "server")]
    Server,
    /// The interface of each UE, or of the host in a wired network.
    #[serde(rename = "ue")]
    Ue,
    /// The S1-U interface of each eNB, with GTP-U headers.
    #[serde(rename = "s1-u")]
    S1u,
}
